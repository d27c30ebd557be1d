//! Names of things: leagues, players, referees, matches, games, conversations.
//!
//! Each is a type of its own, so that a player cannot be passed where a referee is meant. An id
//! that exists has been checked: it may become part of a file name without a second look.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;
use thiserror::Error;

/// The longest id that is accepted, in bytes.
pub const MAX_ID_LENGTH: usize = 64;
/// The longest conversation id that is accepted, in bytes.
pub const MAX_CONVERSATION_LENGTH: usize = 128;

/// The id of whoever is not named.
const UNKNOWN: &str = "unknown";

/// A text that is no id.
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

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(SmolStr);

        impl $name {
            /// Takes a text that has the form of an id.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                check(text).map(|()| Self(SmolStr::new(text)))
            }

            /// The id as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = SmolStr::deserialize(deserializer)?;
                check(&text).map(|()| Self(text)).map_err(serde::de::Error::custom)
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
        Self(smol_str::format_smolstr!("P{number:02}"))
    }

    /// Stands for a player whom no message names.
    pub const fn unknown() -> Self {
        Self(SmolStr::new_static(UNKNOWN))
    }

    /// Whether it only stands for a player whom no message names.
    pub fn is_unknown(&self) -> bool {
        self.0 == UNKNOWN
    }
}

impl RefereeId {
    /// The id of the `number`th referee, as the documents write it.
    pub fn numbered(number: u32) -> Self {
        Self(smol_str::format_smolstr!("REF{number:02}"))
    }
}

impl MatchId {
    /// The id of the `number`th match of a round, as the documents write it.
    pub fn numbered(round: u32, number: u32) -> Self {
        Self(smol_str::format_smolstr!("R{round}M{number}"))
    }

    /// The round in an id such as `R1M3`, where the id tells one.
    pub fn round(&self) -> Option<u32> {
        let (round, number) = self.0.strip_prefix('R')?.split_once('M')?;
        number.parse::<u32>().ok()?;
        round.parse().ok()
    }
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
    fn a_conversation_is_cut_between_characters() {
        let text = "é".repeat(100);
        assert_eq!(ConversationId::new(&text).as_str().len(), 128);
        assert_eq!(ConversationId::new(format!("x{text}")).as_str().len(), 127);
    }
}
