//! Leagues of real processes on free ports: from the first registration to the last table.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

#[path = "end_to_end/begun.rs"]
mod begun;
#[path = "end_to_end/bodies.rs"]
mod bodies;
#[path = "end_to_end/bots.rs"]
mod bots;
#[path = "end_to_end/called.rs"]
mod called;
#[path = "end_to_end/configured.rs"]
mod configured;
#[path = "end_to_end/dialects.rs"]
mod dialects;
#[path = "end_to_end/foreign.rs"]
mod foreign;
#[path = "end_to_end/foreign_league.rs"]
mod foreign_league;
#[path = "end_to_end/forgiven.rs"]
mod forgiven;
#[path = "end_to_end/front_door.rs"]
mod front_door;
#[path = "end_to_end/ground.rs"]
mod ground;
#[path = "end_to_end/hostile.rs"]
mod hostile;
#[path = "end_to_end/http.rs"]
mod http;
#[path = "end_to_end/invited.rs"]
mod invited;
#[path = "end_to_end/kills.rs"]
mod kills;
#[path = "end_to_end/machines.rs"]
mod machines;
#[path = "end_to_end/offered.rs"]
mod offered;
#[path = "end_to_end/pages.rs"]
mod pages;
#[path = "end_to_end/peers.rs"]
mod peers;
#[path = "end_to_end/process.rs"]
mod process;
#[path = "end_to_end/quirks.rs"]
mod quirks;
#[path = "end_to_end/quirky.rs"]
mod quirky;
#[path = "end_to_end/refusals.rs"]
mod refusals;
#[path = "end_to_end/scripted.rs"]
mod scripted;
#[path = "end_to_end/separate.rs"]
mod separate;
#[path = "end_to_end/shown.rs"]
mod shown;
#[path = "end_to_end/stdio.rs"]
mod stdio;
#[path = "end_to_end/stepped.rs"]
mod stepped;
#[path = "end_to_end/taken_up.rs"]
mod taken_up;
#[path = "end_to_end/told.rs"]
mod told;
#[path = "end_to_end/traced.rs"]
mod traced;
#[path = "end_to_end/unread.rs"]
mod unread;
#[path = "end_to_end/unruly.rs"]
mod unruly;
#[path = "end_to_end/viewers.rs"]
mod viewers;
#[path = "end_to_end/whole.rs"]
mod whole;
