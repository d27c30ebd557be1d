//! The error codes of the league, E001 to E021: name, and whether trying again may help.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $class:ident;)*) => {
        /// A league error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $code)] $variant,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as it is written: `E001`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The name that goes with it: `TIMEOUT_ERROR`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What kind of failure it is.
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }

            /// Whether the same message may succeed if it is sent again.
            pub const fn retryable(self) -> bool {
                !matches!(self.class(), Class::Permanent)
            }

            /// Reads a code: `E001`.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

/// The kinds of failure that 003 tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It may pass by itself: try again.
    Transient,
    /// The same message will fail again.
    Permanent,
    /// Nothing came in time; nobody knows what became of it.
    Timeout,
}

impl Class {
    /// The word for it in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Timeout => "timeout",
        }
    }
}

codes! {
    /// No answer in time.
    Timeout = "E001", "TIMEOUT_ERROR", Timeout;
    /// Not a message that can be understood.
    InvalidMessage = "E002", "INVALID_MESSAGE", Permanent;
    /// A field that is needed is not there.
    MissingField = "E003", "MISSING_REQUIRED_FIELD", Permanent;
    /// Neither `even` nor `odd`, or any other illegal move.
    InvalidMove = "E004", "INVALID_PARITY_CHOICE", Permanent;
    /// Nobody holds this player id.
    PlayerNotRegistered = "E005", "PLAYER_NOT_REGISTERED", Permanent;
    /// No such match, or none of the caller's.
    MatchNotFound = "E006", "MATCH_NOT_FOUND", Permanent;
    /// A step at the wrong time.
    OutOfTurn = "E007", "OUT_OF_TURN", Permanent;
    /// An answer after its deadline.
    DeadlinePassed = "E008", "DEADLINE_PASSED", Permanent;
    /// The agent could not be reached, or cut the line.
    Connection = "E009", "CONNECTION_ERROR", Transient;
    /// Too many calls.
    RateLimited = "E010", "RATE_LIMITED", Transient;
    /// No token where one is needed.
    TokenMissing = "E011", "AUTH_TOKEN_MISSING", Permanent;
    /// A token that is not the sender's.
    TokenInvalid = "E012", "AUTH_TOKEN_INVALID", Permanent;
    /// Nobody holds this referee id.
    RefereeNotRegistered = "E013", "REFEREE_NOT_REGISTERED", Permanent;
    /// A protocol version that this league does not speak.
    VersionMismatch = "E018", "PROTOCOL_VERSION_MISMATCH", Permanent;
    /// A time that is not in UTC.
    InvalidTimestamp = "E021", "INVALID_TIMESTAMP", Permanent;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_and_three_may_be_tried_again() {
        for &code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(code));
        }
        let retryable: Vec<_> = Code::ALL
            .iter()
            .filter(|code| code.retryable())
            .map(|code| code.as_str())
            .collect();
        assert_eq!(retryable, ["E001", "E009", "E010"]);
        assert_eq!(Code::Timeout.class(), Class::Timeout);
        assert_eq!(Code::Connection.class(), Class::Transient);
        assert_eq!(Code::parse("E014"), None);
    }
}
