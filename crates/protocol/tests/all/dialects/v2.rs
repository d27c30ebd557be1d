//! `league.v2` as the main document has it: what we say is read strictly without a finding, means
//! the same, and is spelled to the letter. The document's own examples are in `examples.rs`.

mod spoken;

use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use league_protocol::message::Message;
use league_protocol::sender::Dialect;

use super::kit::{self, Outcome};

fn read(json: &str, reading: Reading, hints: &Hints<'_>) -> Outcome {
    kit::read(Dialect::V2, json, reading, hints)
}

fn whole(message: &Message, hints: &Hints<'_>) -> Option<String> {
    kit::whole(Dialect::V2, message, hints)
}

fn said(message: &Message, hints: &Hints<'_>) -> Option<String> {
    kit::said(Dialect::V2, message, hints)
}
