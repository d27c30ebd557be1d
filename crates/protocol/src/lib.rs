//! What agents say to each other.

pub mod decode;
pub mod dialect;
pub mod document;
pub mod encode;
pub mod explain;
pub mod fault;
pub mod finding;
pub mod id;
pub mod lenient;
pub mod message;
pub mod peer;
pub mod redact;
pub mod rpc;
pub mod schema;
pub mod secret;
pub mod sender;
pub mod shape;
pub mod time;
pub mod token;
pub mod tools;
pub mod wire;

/// The protocol version that this crate speaks.
pub const CURRENT_VERSION: &str = "2.1.0";
/// The oldest protocol version that is let in.
pub const MINIMUM_VERSION: &str = "2.0.0";
