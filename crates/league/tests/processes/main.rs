//! Tests with real processes: screens, whole leagues, the conformance check; and the repository's shape.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]

mod architecture;
mod check;
mod cli;
mod end_to_end;
