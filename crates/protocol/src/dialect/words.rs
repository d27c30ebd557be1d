//! Words that more than one dialect uses, and how they map to the model.

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::message::{MatchState, MatchStatus, Role};
use crate::shape::{Parsed, Vocabulary};
use crate::words;
use serde_json::{Value, json};

words! {
    /// Whether a registration is accepted.
    RegisterWord, InvalidMessage {
        /// The agent is in.
        Accepted = "ACCEPTED",
        /// The agent is not in.
        Rejected = "REJECTED",
    }
    /// Even or odd.
    ParityWord, InvalidMove {
        /// Even.
        Even = "even",
        /// Odd.
        Odd = "odd",
    }
    /// A seat, as `league.v2` writes it.
    RoleWord, InvalidMessage {
        /// Seat A.
        A = "PLAYER_A",
        /// Seat B.
        B = "PLAYER_B",
    }
    /// How a match ended.
    StatusWord, InvalidMessage {
        /// One player won.
        Win = "WIN",
        /// Nobody won.
        Draw = "DRAW",
        /// A player did not play.
        TechnicalLoss = "TECHNICAL_LOSS",
    }
    /// Where a match stands.
    StateWord, InvalidMessage {
        /// Players are invited.
        WaitingForPlayers = "WAITING_FOR_PLAYERS",
        /// Moves are asked for.
        CollectingChoices = "COLLECTING_CHOICES",
        /// Chance decides.
        DrawingNumber = "DRAWING_NUMBER",
        /// The result stands.
        Finished = "FINISHED",
    }
    /// What is asked of the manager.
    QueryWord, InvalidMessage {
        /// The table.
        Standings = "GET_STANDINGS",
        /// Every round and its matches.
        Schedule = "GET_SCHEDULE",
        /// A player's next match.
        NextMatch = "GET_NEXT_MATCH",
        /// A player's own figures.
        PlayerStats = "GET_PLAYER_STATS",
    }
    /// How a match goes forward.
    ModeWord, InvalidMessage {
        /// By itself.
        Auto = "auto",
        /// Step by step.
        Manual = "manual",
    }
}

impl From<Role> for RoleWord {
    fn from(role: Role) -> Self {
        match role {
            Role::A => Self::A,
            Role::B => Self::B,
        }
    }
}

impl From<RoleWord> for Role {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::A => Self::A,
            RoleWord::B => Self::B,
        }
    }
}

impl From<MatchStatus> for StatusWord {
    fn from(status: MatchStatus) -> Self {
        match status {
            MatchStatus::Win => Self::Win,
            MatchStatus::Draw => Self::Draw,
            MatchStatus::TechnicalLoss => Self::TechnicalLoss,
        }
    }
}

impl From<StatusWord> for MatchStatus {
    fn from(word: StatusWord) -> Self {
        match word {
            StatusWord::Win => Self::Win,
            StatusWord::Draw => Self::Draw,
            StatusWord::TechnicalLoss => Self::TechnicalLoss,
        }
    }
}

impl From<MatchState> for StateWord {
    fn from(state: MatchState) -> Self {
        match state {
            MatchState::WaitingForPlayers => Self::WaitingForPlayers,
            MatchState::CollectingChoices => Self::CollectingChoices,
            MatchState::DrawingNumber => Self::DrawingNumber,
            MatchState::Finished => Self::Finished,
        }
    }
}

impl From<StateWord> for MatchState {
    fn from(word: StateWord) -> Self {
        match word {
            StateWord::WaitingForPlayers => Self::WaitingForPlayers,
            StateWord::CollectingChoices => Self::CollectingChoices,
            StateWord::DrawingNumber => Self::DrawingNumber,
            StateWord::Finished => Self::Finished,
        }
    }
}

impl Vocabulary for Code {
    fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let code = Self::parse(text);
        if code.is_none() {
            let detail = format!("`{}` is no error code of the league", excerpt(text));
            notes.note(
                Self::InvalidMessage,
                &at.under("000 §2.9.3"),
                "a code of the closed list, from `E001` to `E013`, `E018` or `E021`",
                detail,
            );
        }
        code
    }

    fn schema(_: Reading) -> Value {
        let codes: Vec<_> = Self::ALL.iter().map(|code| code.as_str()).collect();
        json!({"type": "string", "enum": codes})
    }
}

impl Code {
    /// The code as a field.
    pub const fn wire<'a>(self) -> Parsed<'a, Self> {
        Parsed::word(self.as_str(), self)
    }
}
