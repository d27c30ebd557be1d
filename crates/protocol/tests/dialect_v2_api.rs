//! `league.v2` by the API page: what 001 shows is read whole, and what we say is spelled its way.

#[path = "dialect_v2_api/carried.rs"]
mod carried;
#[path = "dialect/examples_001.rs"]
mod examples_001;
#[path = "dialect/kit.rs"]
#[macro_use]
mod kit;
#[path = "dialect/samples.rs"]
mod samples;
#[path = "dialect_v2_api/shown.rs"]
mod shown;
#[path = "dialect_v2_api/spoken.rs"]
mod spoken;
#[path = "dialect/tables.rs"]
mod tables;
#[path = "dialect_v2_api/wrong.rs"]
mod wrong;

kit! {
    v2_api, "league.v2", "referee:REF01", "2025-01-15T10:30:00Z", "conv-r1m1-001"
}
