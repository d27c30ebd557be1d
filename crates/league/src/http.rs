//! HTTP: the server and the client, the endpoints of agents, and the addresses of this machine.

pub(crate) mod client;
mod connection;
pub(crate) mod endpoint;
pub(crate) mod gate;
pub(crate) mod local;
pub(crate) mod server;
