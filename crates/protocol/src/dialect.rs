//! Three spellings of one model.

mod build;
mod envelope;
mod hints;
pub mod v1;
pub mod v2;
pub mod v2_api;
pub mod words;

pub use envelope::{Envelope, ProtocolName, SenderName};
pub use hints::Hints;
