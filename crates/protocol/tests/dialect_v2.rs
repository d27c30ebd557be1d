//! `league.v2` as the main document has it: what we say is read strictly without a finding, means
//! the same, and is spelled to the letter. The document's own examples are in `examples.rs`.

#[path = "dialect/kit.rs"]
#[macro_use]
mod kit;
#[path = "dialect/samples.rs"]
mod samples;
#[path = "dialect_v2/spoken.rs"]
mod spoken;
#[path = "dialect/tables.rs"]
mod tables;
#[path = "dialect_v2/wrong.rs"]
mod wrong;

kit! {
    v2, "league.v2", "referee:REF01", "2025-01-15T10:30:00Z", "conv-r1m1-001"
}
