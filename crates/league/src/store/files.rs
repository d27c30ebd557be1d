//! x
use super::*;
/// x
#[derive(Clone, Copy, Debug)]
pub enum Durability {
    /// x
    Synced,
    /// x
    Written,
}
/// x
pub struct Journal(u64);
/// x
pub struct Entry<F> {
    /// x
    pub sequence: u64,
    /// x
    pub at: Timestamp,
    /// x
    pub fact: F,
}
impl Journal {
    /// x
    pub fn open<F: serde::de::DeserializeOwned>(
        _p: &std::path::Path,
        _d: Durability,
        _see: impl FnMut(Entry<F>),
    ) -> Result<Self, StoreError> {
        Ok(Self(0))
    }
}
impl<F: serde::Serialize> Store<F> for Journal {
    fn append(&mut self, _at: Timestamp, facts: &[F]) -> Result<u64, StoreError> {
        self.0 += facts.len() as u64;
        for f in facts {
            let _ = serde_json::to_string(f);
        }
        Ok(self.0)
    }
    fn last(&self) -> u64 {
        self.0
    }
}
