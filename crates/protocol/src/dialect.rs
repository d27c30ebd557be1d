//! Three spellings of one protocol: how a dialect is recognised, what every message has, and the
//! names that differ.
//!
//! The messages themselves are declared in [`message`](crate::message), a row a member.

mod envelope;
mod hints;
pub mod names;
mod recognise;

pub use crate::message::types;
pub(crate) use envelope::ENVELOPE;
pub use envelope::{Envelope, ProtocolName, SenderName};
pub use hints::Hints;
pub use names::{conversation, player_name};
pub use recognise::recognise;
