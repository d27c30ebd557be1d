//! The only source of randomness: tokens, secrets, dice, waits.
//!
//! Randomness comes from the operating system. With a seed, the draws and the choices of strategies
//! come from the seed instead, the same for a named purpose in every run, in whatever order they are
//! drawn. Keys and tokens never do: who knows the seed must not know them.

use league_games::Dice;
use league_protocol::secret::DrawMode;
use sha2::{Digest, Sha256};

/// A source of randomness.
#[derive(Debug, Clone)]
pub(crate) struct Chance(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Seeded { seed: u64 },
}

/// The operating system cannot provide random bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no random bytes: {0}")]
pub(crate) struct NoChance(String);

impl Chance {
    /// Takes randomness from the operating system, or draws and choices from a seed.
    ///
    /// # Errors
    ///
    /// The operating system cannot provide random bytes. It is asked once here, so that later draws
    /// need no error handling.
    pub(crate) fn new(seed: Option<u64>) -> Result<Self, NoChance> {
        system()?;
        Ok(Self(match seed {
            Some(seed) => Source::Seeded { seed },
            None => Source::System,
        }))
    }

    /// Whether draws and choices come from a seed.
    pub(crate) fn is_reproducible(&self) -> bool {
        matches!(self.0, Source::Seeded { .. })
    }

    /// Where the chance of draws comes from.
    pub(crate) fn draw_mode(&self) -> DrawMode {
        match self.0 {
            Source::System => DrawMode::Chance,
            Source::Seeded { .. } => DrawMode::Reproducible,
        }
    }

    /// Returns 32 unpredictable bytes, for keys and tokens.
    pub(crate) fn bytes(&self) -> [u8; 32] {
        system().unwrap_or_else(|error| gone(&error))
    }

    /// Returns 32 bytes for a purpose; with a seed they are always the same for the same purpose.
    pub(crate) fn bytes_for(&self, purpose: &str) -> [u8; 32] {
        match &self.0 {
            Source::System => self.bytes(),
            Source::Seeded { seed } => digest(&[&seed.to_be_bytes(), b"for", purpose.as_bytes()]),
        }
    }

    pub(crate) fn dice_for(&self, purpose: &str) -> Dice {
        Dice::seeded(first_word(self.bytes_for(purpose)))
    }

    /// A random number to spread waits.
    pub(crate) fn number(&self) -> u64 {
        first_word(self.bytes())
    }
}

fn first_word([a, b, c, d, e, f, g, h, ..]: [u8; 32]) -> u64 {
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn system() -> Result<[u8; 32], NoChance> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| NoChance(error.to_string()))?;
    Ok(bytes)
}

/// [`Chance::new`] got bytes, so this should not happen; without them no token would be safe.
#[expect(
    clippy::panic,
    reason = "a token without chance would be worse than no process"
)]
fn gone(error: &NoChance) -> ! {
    panic!("{error}")
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"league chance v1");
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_number_gives_the_same_chance_for_the_same_purpose() {
        let (one, other) = (Chance::new(Some(7)).unwrap(), Chance::new(Some(7)).unwrap());
        other.bytes();
        assert_eq!(one.bytes_for("R1M1"), other.bytes_for("R1M1"));
        assert_ne!(one.bytes_for("R1M1"), one.bytes_for("R1M2"));
        assert_ne!(one.bytes(), one.bytes());
        assert_ne!(
            one.bytes_for("R1M1"),
            Chance::new(Some(8)).unwrap().bytes_for("R1M1")
        );
    }

    #[test]
    fn chance_of_the_system_never_repeats() {
        let chance = Chance::new(None).unwrap();
        assert_ne!(chance.bytes_for("R1M1"), chance.bytes_for("R1M1"));
        assert!(!chance.is_reproducible());
    }
}
