//! Three spellings of one model: translations at the edge.
//!
//! Each dialect lists its messages as shapes and has two functions: `say` turns the model into a
//! shape, `understand` a shape into the model. Nothing behind this module knows how a message is
//! spelled.

mod body;
mod build;
mod envelope;
mod hints;
mod recognise;
pub mod v1;
pub mod v2;
pub mod v2_api;
pub mod words;

pub(crate) use body::schema;
pub use body::{Body, types};
pub use envelope::{Envelope, ProtocolName, SenderName, Sent};
pub use hints::Hints;
pub use recognise::recognise;
