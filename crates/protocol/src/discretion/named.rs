//! Where the values stand whose names are those of secrets, in whatever notation: JSON, headers,
//! forms, tags, sentences.

use std::ops::Range;

use super::{is_secret_name, next_word};

/// The longest tag that is passed over, in characters.
const LONGEST_TAG: usize = 256;
/// Words that stand for no secret.
const NOTHING: [&str; 3] = ["null", "true", "false"];

/// What follows the name of a secret.
enum Value {
    /// A text between these places.
    Text(Range<usize>),
    /// An object or a list.
    Structure,
}

/// Where the values are; `None` where one of them is a whole structure.
pub(super) fn values(text: &str) -> Option<Vec<Range<usize>>> {
    let mut values = Vec::new();
    let (mut from, mut before) = (0, 0);
    while let Some(word) = next_word(text, from) {
        // A name may have two words: `API key`.
        let is_next = text[from..word.start]
            .chars()
            .all(|letter| is_mark(letter) && letter != '\n');
        let name = if is_next { before } else { word.start }..word.end;
        let is_end = text[..word.start].ends_with("</");
        (from, before) = (word.end, word.start);
        if is_end || !is_secret_name(&text[name]) {
            continue;
        }
        match value_after(text, &word) {
            Some(Value::Structure) => return None,
            Some(Value::Text(value)) => {
                (from, before) = (value.end, value.end);
                values.push(value);
            }
            None => {}
        }
    }
    Some(values)
}

/// What may stand around a name or a value.
const fn is_mark(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '\\') || letter.is_whitespace()
}

/// The value of the name that is this word, if it has one.
fn value_after(text: &str, name: &Range<usize>) -> Option<Value> {
    let after = &text[name.end..];
    let is_quoted = after.starts_with(['"', '\'', '\\']);
    let sign = after.trim_start_matches(is_mark);
    let is_listed = sign.starts_with(',') && begins_list(&text[..name.start]);
    let value = match sign.strip_prefix([':', '=', '>']) {
        Some(value) => value.trim_start_matches([':', '=', '>']),
        None if is_listed => &sign[1..],
        None => sign.strip_prefix('<').map(|_| sign)?,
    };
    let value = without_prefix(without_tags(value));
    let start = text.len() - value.len();
    let word = next_word(value, 0).map(|word| &value[word]);
    let says_nothing = |word: &str| value.starts_with(word) && NOTHING.contains(&word);
    let is_next = is_listed && quoted(value).is_none();
    if value.is_empty() || is_next || word.is_some_and(says_nothing) {
        return None;
    }
    if value.starts_with(['{', '[']) {
        return Some(Value::Structure);
    }
    let range = quoted(value).unwrap_or_else(|| {
        let ends: &[char] = match is_quoted {
            true => &[',', '}', ']', '\n'],
            false => &['\n', '<', '"'],
        };
        0..value.find(ends).unwrap_or(value.len())
    });
    let range = start + range.start..start + range.end;
    (!range.is_empty()).then_some(Value::Text(range))
}

/// Whether a text ends where the first entry of a list begins, as in lists of names and values.
fn begins_list(before: &str) -> bool {
    let quote = before.trim_end_matches(is_mark);
    let quote = quote.strip_suffix(['b', 'u']).unwrap_or(quote);
    quote.ends_with(['(', '['])
}

/// A value without the letter by which Python tells texts from bytes.
fn without_prefix(value: &str) -> &str {
    let bare = value.strip_prefix(['b', 'u']);
    bare.filter(|bare| bare.starts_with(['"', '\'']))
        .unwrap_or(value)
}

/// What follows the tags, and the blanks, that a text begins with.
fn without_tags(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(end) = rest.strip_prefix('<').and_then(end_of_tag) {
        rest = rest[end..].trim_start();
    }
    rest
}

/// How long a tag is of which the beginning was read, with its ends.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut letters = tag.char_indices().take(LONGEST_TAG);
    letters.find_map(|(place, letter)| (letter == '>').then_some(place + 2))
}

/// Where the inside of a value in quotes is: it ends with the same quote, and with no other. A text
/// in a text has its quotes behind backslashes, and those of what it quotes behind more.
fn quoted(value: &str) -> Option<Range<usize>> {
    let inner = value.trim_start_matches('\\');
    let depth = value.len() - inner.len();
    let quote = inner
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let start = depth + 1;
    let mut ends = value.match_indices(quote).map(|(place, _)| place);
    let end = ends.find_map(|place| {
        let before = value.get(start..place)?;
        let escapes = before.len() - before.trim_end_matches('\\').len();
        (escapes % (2 * start) == depth).then_some(place - depth)
    });
    Some(start..end.unwrap_or(value.len()))
}
