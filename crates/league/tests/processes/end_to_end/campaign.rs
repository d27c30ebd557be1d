//! What the tests share that `cargo xtask campaign` runs at length: their size and their chance.

use std::env;

/// A number that the caller of a test may set.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Chance that is the same for the same seed (xorshift).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
