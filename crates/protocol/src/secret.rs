//! The secret behind a draw, the commitment to it that is published before the round, and the proofs
//! of players.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::token::{hex, unhex};

macro_rules! bytes32 {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 32]);

        impl $name {
            /// The bytes as 64 hex digits.
            pub fn to_hex(&self) -> String {
                hex(&self.0)
            }

            /// Reads 64 hex digits.
            pub fn from_hex(text: &str) -> Option<Self> {
                unhex(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_hex())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                Self::from_hex(&text)
                    .ok_or_else(|| serde::de::Error::custom("expected 64 hex digits"))
            }
        }
    };
}

bytes32! {
    /// The secret from which one match draws its numbers; hidden until the match is over.
    Seed
}
bytes32! {
    /// The hash of a [`Seed`], published before the round.
    Commitment
}

bytes32! {
    /// A player's proof that it joined a match or made a move.
    Proof
}
bytes32! {
    /// The key of one player's proofs in one attempt at a match; hidden until the match is over.
    ProofKey
}

/// Where the chance of a league comes from; it is part of what a commitment covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawMode {
    /// From the operating system.
    Chance,
    /// From a number that a person chose: the league can be repeated, and is not for prizes.
    Reproducible,
}

impl DrawMode {
    /// The word on the wire and in a commitment.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chance => "chance",
            Self::Reproducible => "reproducible",
        }
    }

    /// Reads the word on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Chance, Self::Reproducible]
            .into_iter()
            .find(|mode| mode.as_str() == text)
    }
}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProofKey(…)")
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proof({})", &self.to_hex()[..8])
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commitment({})", &self.to_hex()[..8])
    }
}
