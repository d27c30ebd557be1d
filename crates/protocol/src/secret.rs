//! The secret behind a draw, and the commitment to it that is published before the round.

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
