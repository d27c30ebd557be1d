//! `league schema`.

use crate::cli::league;

#[test]
fn schema_of_a_message_in_one_dialect() {
    let arguments = ["schema", "GAME_JOIN_ACK", "--dialect", "v2", "--strict"];
    insta::assert_snapshot!("schema_of_a_message", league(&arguments, ""));
}

#[test]
fn every_message_of_every_dialect_has_a_schema() {
    let list = league(&["schema", "--list"], "");
    insta::assert_snapshot!("schema_list", list);
    let all = league(&["schema"], "");
    assert!(all.starts_with("exit code 0"), "{all}");
    let json = all
        .split("--- ")
        .nth(1)
        .and_then(|out| out.strip_prefix("out\n"));
    let schema: serde_json::Value =
        serde_json::from_str(json.expect("there is output")).expect("it is JSON");
    let definitions = schema["$defs"].as_object().expect("there are definitions");
    let lines_around = 3;
    assert_eq!(definitions.len(), list.lines().count() - lines_around);
}

#[test]
fn machines_get_the_list_as_one_object_a_line() {
    let list = league(
        &["schema", "--list", "--dialect", "v1", "--output", "json"],
        "",
    );
    let first = r#"{"dialect":"v1","message_type":""#;
    let lines = list.lines().filter(|line| line.starts_with(first)).count();
    assert_eq!(lines, list.lines().count() - 3, "{list}");
}

#[test]
fn unknown_name_or_dialect_is_wrong_use() {
    insta::assert_snapshot!(league(&["schema", "GAME_OVR"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not print the schema of `GAME_OVR`
      cause: there is no such message type in any dialect
    hint: list the message types with `league schema --list`
    ");
    insta::assert_snapshot!(league(&["schema", "GAME_START", "--dialect", "v2"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not print the schema of `GAME_START`
      cause: there is no such message type in v2
    hint: list the message types with `league schema --list`
    ");
    insta::assert_snapshot!(league(&["schema", "--dialect", "v3"], ""), @"
    exit code 2
    --- out
    --- errors
    error: invalid value 'v3' for '--dialect <DIALECT>': unknown dialect; choose one of `v2`, `v2-api`, `v1`

    For more information, try '--help'.
    ");
}

#[test]
fn examples_are_written_and_explained_without_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().to_str().unwrap();
    let written = league(&["schema", "--examples", below, "--dialect", "v2"], "");
    let said = format!("29 examples in {below}");
    assert!(written.contains(&said), "{written}");
    // A second time replaces them.
    let again = league(&["schema", "--examples", below, "--output", "json"], "");
    assert!(again.contains(r#"{"examples":72,"#), "{again}");
    for file in [
        "v2/registration/referee_register_request.json",
        "v2/game-flow/game_over.json",
        "v2/errors/game_error.json",
        "v2/league/league_standings_update.json",
        "v1/game-flow/game_result.json",
    ] {
        let file = folder.path().join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("{\n  \"protocol\": "), "{text}");
        let explained = league(&["explain", "--strict", file.to_str().unwrap()], "");
        assert!(explained.starts_with("exit code 0"), "{explained}");
    }
}
