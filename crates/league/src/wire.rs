//! Calls between agents: receiving and answering them, sending them, and keeping record of them.
//!
//! Incoming calls pass through `router` and `dispatcher`; outgoing calls through `outbox`,
//! `outbound` and `sessions`. The pure parts of decoding and encoding are in
//! `league_protocol::wire`.

pub(crate) mod ask;
pub(crate) mod canonical;
pub(crate) mod dispatcher;
pub(crate) mod limiter;
pub(crate) mod metrics;
pub(crate) mod observed;
pub(crate) mod outbound;
pub(crate) mod outbox;
pub(crate) mod prompts;
pub(crate) mod record;
pub(crate) mod resources;
pub(crate) mod router;
pub(crate) mod sessions;
pub(crate) mod transcript;
pub(crate) mod troubles;
