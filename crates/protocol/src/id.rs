//! Ids of leagues, players, referees, matches, games and conversations.
//!
//! Each is a separate type, so that a player cannot be passed where a referee is meant. Every id
//! has been checked: it may become part of a file name without another check.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::{SmolStr, SmolStrBuilder};
use thiserror::Error;

/// The longest id that is accepted, in bytes.
pub const MAX_ID_LENGTH: usize = 64;
/// The longest conversation id that is accepted, in bytes.
pub const MAX_CONVERSATION_LENGTH: usize = 128;

/// The id of an unnamed player.
const UNKNOWN: &str = "unknown";

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// The text is empty.
    #[error("an id must not be empty")]
    Empty,
    /// The text is longer than the bound.
    #[error("an id has at most {MAX_ID_LENGTH} characters, this one has {0}")]
    TooLong(usize),
    /// A character that could do harm in a path, a log line or a page.
    #[error("an id starts with a letter or digit and goes on with letters, digits, `_` and `-`")]
    Character,
}

/// Checks a text against `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`.
fn check(text: &str) -> Result<(), IdError> {
    let mut bytes = text.bytes();
    match bytes.next() {
        None => return Err(IdError::Empty),
        Some(first) if !first.is_ascii_alphanumeric() => return Err(IdError::Character),
        Some(_) => {}
    }
    if text.len() > MAX_ID_LENGTH {
        return Err(IdError::TooLong(text.len()));
    }
    if bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        Ok(())
    } else {
        Err(IdError::Character)
    }
}

/// The first eight bytes of a text as one number, so that most ids can be compared without their
/// text.
const fn start_of(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut start, mut place) = (0, 0);
    while place < 8 {
        let byte = if place < bytes.len() { bytes[place] } else { 0 };
        start = start << 8 | byte as u64;
        place += 1;
    }
    start
}

/// Whether the number holds the whole text: ids never contain a zero byte.
const fn is_whole(start: u64) -> bool {
    start & 0xff == 0
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            start: u64,
            text: SmolStr,
        }

        impl $name {
            /// Checks that a text has the form of an id.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                check(text).map(|()| Self::of(SmolStr::new(text)))
            }

            /// The id as it is written.
            pub fn as_str(&self) -> &str {
                &self.text
            }

            fn of(text: SmolStr) -> Self {
                Self { start: start_of(&text), text }
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.start == other.start && (is_whole(self.start) || self.text == other.text)
            }
        }

        impl Eq for $name {}

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                match self.start.cmp(&other.start) {
                    Ordering::Equal if !is_whole(self.start) => self.text.cmp(&other.text),
                    order => order,
                }
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.text.hash(state);
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = SmolStr::deserialize(deserializer)?;
                check(&text).map(|()| Self::of(text)).map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// Names a league: `league_2025_even_odd`.
    LeagueId
}
id! {
    /// Names a player: `P01`.
    PlayerId
}
id! {
    /// Names a referee: `REF01`.
    RefereeId
}
id! {
    /// Names a match inside its league: `R1M1`.
    MatchId
}
id! {
    /// Names a game: `even_odd`.
    GameType
}

impl PlayerId {
    /// The id of the `number`th player, as the documents write it.
    pub fn numbered(number: u32) -> Self {
        Self::of(numbered([("P", number, 2)]))
    }

    /// Stands for a player that no message names.
    pub const fn unknown() -> Self {
        Self {
            start: start_of(UNKNOWN),
            text: SmolStr::new_static(UNKNOWN),
        }
    }

    /// Whether it stands for a player that no message names.
    pub fn is_unknown(&self) -> bool {
        self.text == UNKNOWN
    }
}

impl RefereeId {
    /// The id of the `number`th referee, as the documents write it.
    pub fn numbered(number: u32) -> Self {
        Self::of(numbered([("REF", number, 2)]))
    }
}

impl MatchId {
    /// The id of the `number`th match of a round, as the documents write it.
    pub fn numbered(round: u32, number: u32) -> Self {
        Self::of(numbered([("R", round, 1), ("M", number, 1)]))
    }

    /// The round and the number of an id in the form of [`MatchId::numbered`].
    pub fn numbers(&self) -> Option<(u32, u32)> {
        let mut numbers = [0_u32; 2];
        let mut place = 0;
        let (_, rest) = self
            .text
            .as_bytes()
            .split_first()
            .filter(|(first, _)| **first == b'R')?;
        for &byte in rest {
            let number = &mut numbers[place];
            match byte {
                b'M' if place == 0 && *number > 0 => place = 1,
                b'1'..=b'9' => {
                    *number = number
                        .checked_mul(10)?
                        .checked_add(u32::from(byte - b'0'))?
                }
                b'0' if *number > 0 => *number = number.checked_mul(10)?,
                _ => return None,
            }
        }
        let [round, number] = numbers;
        (number > 0).then_some((round, number))
    }

    /// The round in an id such as `R1M3`, if it has that form.
    pub fn round(&self) -> Option<u32> {
        let (round, number) = self.text.strip_prefix('R')?.split_once('M')?;
        number.parse::<u32>().ok()?;
        round.parse().ok()
    }
}

/// Writes words, each followed by a number with at least the given count of digits.
fn numbered<const PARTS: usize>(parts: [(&str, u32, usize); PARTS]) -> SmolStr {
    let mut text = SmolStrBuilder::new();
    for (word, number, least) in parts {
        let mut digits = [b'0'; 10];
        let (mut rest, mut start) = (number, digits.len());
        while rest > 0 || digits.len() - start < least {
            start -= 1;
            digits[start] += (rest % 10) as u8;
            rest /= 10;
        }
        text.push_str(word);
        text.push_str(std::str::from_utf8(&digits[start..]).unwrap_or_default());
    }
    text.finish()
}

/// Ties the messages of one exchange together; free text, cut to a bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConversationId(SmolStr);

impl ConversationId {
    /// Keeps the text as it came, cut at [`MAX_CONVERSATION_LENGTH`].
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        let mut end = text.len().min(MAX_CONVERSATION_LENGTH);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(SmolStr::new(&text[..end]))
    }

    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_texts_are_ids() {
        for good in ["P01", "REF01", "R1M1", "league_2025_even_odd", "a", "0-x_Y"] {
            assert_eq!(PlayerId::new(good).unwrap().as_str(), good);
        }
        let long = "x".repeat(65);
        for bad in [
            "", "..", "../x", "a/b", "-a", "_a", "a b", "a\0", "é", "a%2e", "P01\n", &long,
        ] {
            assert!(PlayerId::new(bad).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn ids_are_equal_and_in_order_as_their_texts_are() {
        let texts = [
            "a",
            "P1",
            "P01",
            "P10",
            "R1M1",
            "R1M10",
            "R10M1",
            "R123M45",
            "R123M456",
            "R123M4567",
            "R123M4568",
            "league_1",
            "league_12",
            "league_13",
            "unknown",
            "-",
        ];
        let ids = texts.map(|text| MatchId::new(text).ok());
        for (a, b) in ids.iter().zip(texts) {
            for (c, d) in ids.iter().zip(texts) {
                if let (Some(a), Some(c)) = (a, c) {
                    assert_eq!((a == c, a.cmp(c)), (b == d, b.cmp(d)), "{b} {d}");
                }
            }
        }
    }

    #[test]
    fn numbered_ids_are_as_the_documents_write_them() {
        for (number, player, referee) in [
            (0, "P00", "REF00"),
            (7, "P07", "REF07"),
            (10, "P10", "REF10"),
            (u32::MAX, "P4294967295", "REF4294967295"),
        ] {
            assert_eq!(PlayerId::numbered(number).as_str(), player);
            assert_eq!(RefereeId::numbered(number).as_str(), referee);
        }
        for (round, number, text) in [(1, 1, "R1M1"), (10, 205, "R10M205"), (0, 0, "R0M0")] {
            assert_eq!(MatchId::numbered(round, number).as_str(), text);
        }
    }

    #[test]
    fn a_conversation_is_cut_between_characters() {
        let text = "é".repeat(100);
        assert_eq!(ConversationId::new(&text).as_str().len(), 128);
        assert_eq!(ConversationId::new(format!("x{text}")).as_str().len(), 127);
    }
}
