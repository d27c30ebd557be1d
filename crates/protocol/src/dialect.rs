//! Three spellings of one model.

mod build;
mod envelope;
mod hints;
pub mod v2;
pub mod words;

pub use envelope::{Envelope, ProtocolName, SenderName};
pub use hints::Hints;
