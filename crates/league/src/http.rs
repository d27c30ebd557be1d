//! HTTP: the server and the client, plain or over TLS; the endpoints of agents, and the addresses
//! of this machine.

pub(crate) mod client;
mod connection;
pub(crate) mod connections;
pub(crate) mod descriptors;
pub(crate) mod endpoint;
pub(crate) mod group;
pub(crate) mod local;
pub(crate) mod names;
pub(crate) mod process_status;
pub(crate) mod server;
pub(crate) mod standby;
pub(crate) mod tls;
pub(crate) mod transport;
