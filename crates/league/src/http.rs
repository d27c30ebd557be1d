//! HTTP: addresses, our pool of connections, the server.

pub(crate) mod advertised;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod gate;
pub(crate) mod interfaces;
pub(crate) mod server;
mod shutdown;
mod timer;
mod write_timeout;
