//! The journal.
pub mod files;
use league_protocol::time::Timestamp;
/// x
pub trait Store<Fact>: Send {
    /// x
    fn append(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError>;
    /// x
    fn last(&self) -> u64;
}
/// x
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// x
    #[error("x")]
    Interrupted,
}
