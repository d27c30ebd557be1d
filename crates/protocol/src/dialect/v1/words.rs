//! The words that only `league.v1` uses.

use crate::message::Role;
use crate::words;

words! {
    /// A seat.
    RoleWord, InvalidMessage {
        /// The seat that goes first.
        Challenger = "challenger",
        /// The seat that goes second.
        Defender = "defender",
    }
    /// Whether a player comes to a match.
    ReadyWord, InvalidMessage {
        /// It comes.
        Ready = "READY",
        /// It does not.
        Declined = "DECLINED",
    }
    /// Whether a play was taken.
    ValidWord, InvalidMessage {
        /// It was.
        Valid = "VALID",
        /// It was not.
        Invalid = "INVALID",
    }
    /// How a match ended.
    OutcomeWord, InvalidMessage {
        /// One player won.
        Win = "WIN",
        /// Nobody won.
        Draw = "DRAW",
        /// A player did not play.
        Forfeit = "FORFEIT",
    }
}

impl From<Role> for RoleWord {
    fn from(role: Role) -> Self {
        match role {
            Role::A => Self::Challenger,
            Role::B => Self::Defender,
        }
    }
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Challenger => Self::A,
            RoleWord::Defender => Self::B,
        }
    }
}
