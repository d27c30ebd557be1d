//! Reads a file with serde and explains in plain words what is wrong with it, and where.
//!
//! Serde stops at the first problem and names a Rust type. So the file is read again with one value
//! replaced to find out which value is expected, and with one key removed to find out its default.
//! Only invalid files pay for that.

use std::fmt::Display;
use std::net::IpAddr;

use league_protocol::time;
use serde::de::{self, DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::Seconds;
use super::loader::Wrong;

/// The maximum number of entries of a list.
const MAX_ENTRIES: usize = 100_000;
/// The maximum length of a text, in bytes.
const MAX_TEXT: usize = 1_024;
/// The maximum length of an invalid value in a message, in characters.
const MAX_EXCERPT: usize = 60;
/// The maximum length of a word that is compared with known words, in characters.
const MAX_WORD: usize = 64;
/// How many other problems of a file are skipped to find out a default.
const MAX_OTHER_PROBLEMS: usize = 100;

const TEXT: &str = "a text of 1 to 1024 bytes";
const ID: &str = "an id: a letter or digit, then up to 63 letters, digits, `_` and `-`";
/// The key whose content only the game checks.
const GAME_SETTINGS: &str = "game_settings";

/// How messages of serde and of the types in `protocol` begin, and their plain wording.
const IN_WORDS: [(&str, &str); 9] = [
    ("struct ", "an object"),
    ("a map", "an object"),
    ("a sequence", "a list"),
    ("a boolean", "`true` or `false`"),
    ("a string", TEXT),
    ("an id ", ID),
    ("the time ", time::EXPECTED),
    ("a time ", time::EXPECTED),
    ("UTC ", time::EXPECTED),
];

/// Declares a struct whose keys are all optional: each field is followed by its default.
macro_rules! with_defaults {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $( $(#[$attribute:meta])* $field:ident: $kind:ty = $default:expr; )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $( $(#[$attribute])* pub $field: $kind, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}
pub(crate) use with_defaults;

/// An unknown key, and the most similar known key.
pub(crate) type Stray = (String, Option<String>);

/// Reads a configuration after `prepare` has filled in values from other files.
pub(crate) fn read<T: DeserializeOwned + Serialize>(
    file: Value,
    prepare: impl Fn(&mut Value),
) -> Result<(T, Vec<Stray>), Wrong> {
    let source = ConfigSource {
        file,
        prepare: &prepare,
    };
    let config = source
        .parse::<T>()
        .map_err(|problem| source.explain::<T>(problem))?;
    let mut strays = Vec::new();
    check(
        &source.file,
        &value_of(&config),
        &mut Vec::new(),
        &mut strays,
    )
    .map_err(|problem| source.explain::<T>(problem))?;
    Ok((config, strays))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// A problem reported by serde, and its place.
#[derive(Debug)]
struct Problem {
    at: Vec<Step>,
    message: String,
}

impl Problem {
    /// The missing key, if that is the problem.
    fn missing_key(&self) -> Option<&str> {
        let key = self.message.strip_prefix("missing field `")?;
        key.strip_suffix('`')
    }
}

struct ConfigSource<'a> {
    file: Value,
    prepare: &'a dyn Fn(&mut Value),
}

impl ConfigSource<'_> {
    fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let mut file = self.file.clone();
        (self.prepare)(&mut file);
        serde_path_to_error::deserialize(file).map_err(|error| Problem {
            at: error.path().iter().filter_map(step).collect(),
            message: error.inner().to_string(),
        })
    }

    fn explain<T: DeserializeOwned + Serialize>(&self, problem: Problem) -> Wrong {
        if let Some(key) = problem.missing_key() {
            let mut at = problem.at.clone();
            at.push(Step::Key(key.to_owned()));
            return Wrong {
                path: path(&at),
                found: "absent".to_owned(),
                expected: self.expected::<T>(&at, "a string"),
                hint: Some(format!("add the key `{key}`")),
            };
        }
        let Problem { at, message } = problem;
        let found = find(&self.file, &at).unwrap_or(&Value::Null);
        let expected = self.expected::<T>(&at, &message);
        let meant = found
            .as_str()
            .filter(|_| message.starts_with("unknown variant"))
            .and_then(|word| nearest(word, expected.split('`').skip(1).step_by(2)));
        let hint = match meant {
            Some(meant) => Some(format!("did you mean `{meant}`?")),
            None => self
                .default_at::<T>(&at)
                .map(|default| format!("leave the key out for the default, `{default}`")),
        };
        Wrong {
            path: path(&at),
            found: excerpt(found),
            expected,
            hint,
        }
    }

    /// What is expected at a place. If serde only says that it should be a text, the type is asked
    /// again with an empty text.
    fn expected<T: DeserializeOwned>(&self, at: &[Step], message: &str) -> String {
        let mut message = message.to_owned();
        if ["a string", "string or map"].contains(&kind(&message)) {
            let mut file = self.file.clone();
            put(&mut file, at, json!(""));
            let asked = ConfigSource { file, ..*self }.parse::<T>();
            if let Some(problem) = asked.err().filter(|problem| problem.at == at) {
                message = problem.message;
            }
        }
        let kind = kind(&message);
        let in_words = IN_WORDS.iter().find(|(start, _)| kind.starts_with(start));
        in_words.map_or(kind, |(_, words)| words).to_owned()
    }

    /// The default of a key; `None` if the key is required.
    fn default_at<T: DeserializeOwned + Serialize>(&self, at: &[Step]) -> Option<Value> {
        let mut file = self.file.clone();
        remove(&mut file, at)?;
        for _ in 0..MAX_OTHER_PROBLEMS {
            let source = ConfigSource { file, ..*self };
            match source.parse::<T>() {
                Ok(config) => return find(&value_of(&config), at).cloned(),
                Err(problem) => {
                    file = source.file;
                    remove(&mut file, &problem.at).filter(|()| problem.missing_key().is_none())?;
                }
            }
        }
        None
    }
}

/// Finds what serde accepts silently: lists in place of objects, empty texts, unknown keys.
fn check(
    found: &Value,
    made: &Value,
    at: &mut Vec<Step>,
    strays: &mut Vec<Stray>,
) -> Result<(), Problem> {
    let problem = |message: &str| Problem {
        at: at.clone(),
        message: message.to_owned(),
    };
    match (found, made) {
        (Value::Object(found), Value::Object(made)) => {
            for (key, value) in found {
                at.push(Step::Key(key.clone()));
                match made.get(key) {
                    None => strays.push((path(at), nearest(key, made.keys().map(String::as_str)))),
                    Some(_) if key == GAME_SETTINGS => {}
                    Some(made) => check(value, made, at, strays)?,
                }
                at.pop();
            }
        }
        (Value::Array(found), Value::Array(made)) => {
            if found.len() > MAX_ENTRIES {
                return Err(problem(&format!("a list of at most {MAX_ENTRIES} entries")));
            }
            for (index, (found, made)) in found.iter().zip(made).enumerate() {
                at.push(Step::Index(index));
                check(found, made, at, strays)?;
                at.pop();
            }
        }
        (Value::Object(_) | Value::Array(_), _) => return Err(problem("a string")),
        (Value::String(text), _) if text.trim().is_empty() || text.len() > MAX_TEXT => {
            return Err(problem(TEXT));
        }
        _ => {}
    }
    Ok(())
}

/// The expected kind of value in a message of serde.
fn kind(message: &str) -> &str {
    message
        .split_once(", expected ")
        .map_or(message, |(_, kind)| kind)
}

fn step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// Formats a place for people: `players[2].player_id`.
fn path(at: &[Step]) -> String {
    let mut path = String::new();
    for step in at {
        match step {
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path.push_str(&format!(".{key}")),
        }
    }
    path
}

fn find<'value>(value: &'value Value, at: &[Step]) -> Option<&'value Value> {
    at.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

fn find_mut<'value>(value: &'value mut Value, at: &[Step]) -> Option<&'value mut Value> {
    at.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

/// Replaces a value, or adds it to an object that lacks it.
fn put(file: &mut Value, at: &[Step], value: Value) {
    match at.split_last() {
        None => *file = value,
        Some((Step::Key(key), parent)) => {
            if let Some(Value::Object(members)) = find_mut(file, parent) {
                members.insert(key.clone(), value);
            }
        }
        Some((Step::Index(_), _)) => {
            if let Some(place) = find_mut(file, at) {
                *place = value;
            }
        }
    }
}

/// Removes a key from its object; `None` if the place is not a key.
fn remove(file: &mut Value, at: &[Step]) -> Option<()> {
    let (Step::Key(key), parent) = at.split_last()? else {
        return None;
    };
    let members = find_mut(file, parent)?.as_object_mut()?;
    members.remove(key).map(|_| ())
}

fn value_of(config: &impl Serialize) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

/// The beginning of a value, in backticks.
fn excerpt(value: &Value) -> String {
    let text = match value {
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    };
    let mut shown: String = text.chars().take(MAX_EXCERPT).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The most similar known word, if one is similar enough; case is ignored.
fn nearest<'word>(found: &str, known: impl Iterator<Item = &'word str>) -> Option<String> {
    let lower = |word: &str| -> String {
        let letters = word.chars().take(MAX_WORD);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let found = lower(found);
    let near = (found.chars().count() / 3).max(1);
    known
        .map(|word| (strsim::levenshtein(&found, &lower(word)), word))
        .filter(|(distance, _)| *distance <= near)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word.to_owned())
}

/// Reads an integer within bounds; for `deserialize_with`.
pub(crate) fn within<'de, const LEAST: u64, const MOST: u64, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let number = u64::deserialize(from).map_err(|_| D::Error::custom("a whole number"))?;
    T::try_from(number)
        .ok()
        .filter(|_| (LEAST..=MOST).contains(&number))
        .ok_or_else(|| D::Error::custom(range(LEAST, MOST)))
}

/// Reads a duration within bounds in milliseconds; for `deserialize_with`.
pub(crate) fn seconds<'de, const LEAST: u64, const MOST: u64, D>(
    from: D,
) -> Result<Seconds, D::Error>
where
    D: Deserializer<'de>,
{
    bounded::<LEAST, MOST, _>(Seconds::deserialize(from)?)
}

/// Reads a duration within bounds in milliseconds, or null; for `deserialize_with`.
pub(crate) fn optional_seconds<'de, const LEAST: u64, const MOST: u64, D>(
    from: D,
) -> Result<Option<Seconds>, D::Error>
where
    D: Deserializer<'de>,
{
    let seconds = Option::deserialize(from)?;
    seconds.map(bounded::<LEAST, MOST, _>).transpose()
}

fn bounded<const LEAST: u64, const MOST: u64, E: de::Error>(
    seconds: Seconds,
) -> Result<Seconds, E> {
    let (least, most) = (Seconds::of_millis(LEAST), Seconds::of_millis(MOST));
    if (least..=most).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(E::custom(range(least, most)))
    }
}

/// Reads a flag that cannot be turned off; for `deserialize_with`.
pub(crate) fn always<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let on = bool::deserialize(from).unwrap_or(false);
    on.then_some(on).ok_or_else(|| D::Error::custom("`true`"))
}

/// Reads an address; for `deserialize_with`.
pub(crate) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<IpAddr, D::Error> {
    let address = String::deserialize(from).ok();
    address
        .and_then(|address| address.parse().ok())
        .ok_or_else(|| D::Error::custom("an address such as `127.0.0.1`"))
}

fn range(least: impl Display, most: impl Display) -> String {
    format!("from `{least}` to `{most}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slip_finds_its_word_and_stranger_finds_none() {
        let known = ["move_timeout_sec", "max_retries", "bind"];
        for (found, meant) in [
            ("move_timout_sec", Some("move_timeout_sec")),
            ("MOVE_TIMEOUT_SEC", Some("move_timeout_sec")),
            ("max_retry", Some("max_retries")),
            ("bin", Some("bind")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(
                nearest(found, known.into_iter()).as_deref(),
                meant,
                "{found}"
            );
        }
    }
}
