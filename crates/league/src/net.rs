//! The wire itself: addresses, our pool of connections, the server.

pub mod client;
pub mod endpoint;
pub mod gate;
mod patience;
pub mod server;
