//! Tables of wrong fields, each a change to one place of an example.

use serde_json::Value;

/// Each row of a table: the example with its one place changed, and what is found.
pub(crate) fn rows(
    examples: &[&str],
    table: &'static str,
) -> impl Iterator<Item = (String, &'static str)> {
    table.trim().lines().map(move |row| {
        let cells: Vec<&str> = row.splitn(4, ' ').collect();
        let [message_type, place, value, finding] = cells[..] else {
            panic!("`{row}` has four cells");
        };
        (changed(examples, message_type, place, value), finding)
    })
}

/// The example of a type with one place changed; `-` takes it away.
pub(crate) fn changed(examples: &[&str], message_type: &str, place: &str, value: &str) -> String {
    let mut example = examples
        .iter()
        .map(|text| serde_json::from_str::<Value>(text).expect("it is JSON"))
        .find(|example| example["message_type"] == message_type)
        .expect("there is such an example");
    let (around, name) = place.rsplit_once('/').expect("a place starts with `/`");
    let around = example.pointer_mut(around).and_then(Value::as_object_mut);
    let around = around.expect("there is such a place");
    match value {
        "-" => around.remove(name),
        _ => around.insert(
            name.into(),
            serde_json::from_str(value).expect("it is JSON"),
        ),
    };
    example.to_string()
}
