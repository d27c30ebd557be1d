//! What agents say to each other.

pub mod rpc;
