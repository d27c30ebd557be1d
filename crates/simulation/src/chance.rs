//! Chance from one seed: the same seed gives the same league, on every machine.

/// A stream of numbers by SplitMix64; good enough to spread faults, and nothing secret hangs on it.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of one league among those of a seed.
    pub(crate) fn of_league(seed: u64, league: u64) -> Self {
        let mut whole = Self(seed);
        let first = whole.next();
        Self(first ^ Self(league).next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Whether something happens that happens so often in a million.
    pub(crate) fn happens(&mut self, in_a_million: u32) -> bool {
        in_a_million > 0 && self.below(1_000_000) < u64::from(in_a_million)
    }

    /// One of a list.
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(usize::try_from(self.below(list.len() as u64)).unwrap_or(0))
    }

    /// Thirty-two bytes, as a token or a secret is made of.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for part in bytes.chunks_exact_mut(8) {
            part.copy_from_slice(&self.next().to_be_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_stays_inside_its_bounds() {
        let mut chance = Rng::new(7);
        for _ in 0..10_000 {
            assert!(chance.below(3) < 3);
            assert!((5..=9).contains(&chance.between(5, 9)));
        }
        assert_eq!(chance.below(0), 0);
        assert_eq!(chance.pick::<u8>(&[]), None);
    }

    #[test]
    fn probabilities_zero_and_one_are_certain() {
        let mut chance = Rng::new(7);
        assert!((0..1_000).all(|_| !chance.happens(0) && chance.happens(1_000_000)));
    }

    #[test]
    fn leagues_of_a_seed_differ() {
        let first = Rng::of_league(1, 0).next();
        assert_ne!(first, Rng::of_league(1, 1).next());
        assert_ne!(first, Rng::of_league(2, 0).next());
        assert_eq!(first, Rng::of_league(1, 0).next());
    }
}
