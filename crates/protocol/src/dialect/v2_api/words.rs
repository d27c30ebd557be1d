//! The words that only the API page uses.

use crate::dialect::words::RegisterWord;
use crate::words;

words! {
    /// Whether a registration is accepted.
    RegisteredWord, InvalidMessage {
        /// The agent is in.
        Registered = "REGISTERED",
        /// The agent is not in.
        Rejected = "REJECTED",
    }
    /// How a match ended for the one who is told.
    ResultWord, InvalidMessage {
        /// The receiver won.
        Win = "WIN",
        /// The receiver lost by playing.
        Loss = "LOSS",
        /// Nobody won.
        Draw = "DRAW",
        /// The receiver lost by not playing.
        TechnicalLoss = "TECHNICAL_LOSS",
    }
}

impl From<RegisterWord> for RegisteredWord {
    fn from(word: RegisterWord) -> Self {
        match word {
            RegisterWord::Accepted => Self::Registered,
            RegisterWord::Rejected => Self::Rejected,
        }
    }
}

impl From<RegisteredWord> for RegisterWord {
    fn from(word: RegisteredWord) -> Self {
        match word {
            RegisteredWord::Registered => Self::Accepted,
            RegisteredWord::Rejected => Self::Rejected,
        }
    }
}
