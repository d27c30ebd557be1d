//! `league.v1`, as 003 shows it: what it shows is read whole, and what we say is what it asks for.

#[path = "dialect/examples_003.rs"]
mod examples_003;
#[path = "dialect/kit.rs"]
#[macro_use]
mod kit;
#[path = "dialect_v1/carried.rs"]
mod carried;
#[path = "dialect/samples.rs"]
mod samples;
#[path = "dialect_v1/shown.rs"]
mod shown;
#[path = "dialect_v1/spoken.rs"]
mod spoken;
#[path = "dialect/tables.rs"]
mod tables;
#[path = "dialect_v1/wrong.rs"]
mod wrong;

kit! {
    v1, "league.v1", "referee", "2025-12-13T22:05:00.000Z",
    "880e8400-e29b-41d4-a716-446655440003"
}
