//! Calls between agents: receiving and answering them, sending them, and keeping record of them.

pub(crate) mod ask;
pub(crate) mod deviations;
pub(crate) mod limiter;
pub(crate) mod observed;
pub(crate) mod outbound;
pub(crate) mod outbox;
pub(crate) mod resources;
pub(crate) mod router;
pub(crate) mod sessions;
pub(crate) mod traffic;
pub(crate) mod transcript;
