//! The wire itself: addresses, our pool of connections, the server.

mod alarm;
pub mod client;
mod ending;
pub mod endpoint;
pub mod gate;
pub mod machine;
mod patience;
pub mod reach;
pub mod server;
