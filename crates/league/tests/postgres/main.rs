//! Leagues on a real PostgreSQL server: managers that take over from each other, and servers that are
//! killed, cut off and filled up.
//!
//! `cargo xtask postgres` starts the server and runs these tests; a plain `cargo test` leaves them out,
//! as it should need nothing but Rust.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]
#![expect(
    dead_code,
    reason = "the ground is shared with the other leagues, which use all of it"
)]

/// What these leagues share with the others.
#[path = "../processes/end_to_end"]
mod end_to_end {
    pub(crate) mod campaign;
    pub(crate) mod ground;
    pub(crate) mod http;
    pub(crate) mod process;
}
mod away;
mod cluster;
mod cut;
mod fence;
mod field;
mod full;
mod hosting;
mod idle;
mod kills;
mod many;
mod moved;
mod server;
mod serving;
mod takeover;
