//! `league.v1`, as 003 shows it: what it shows is read whole, and what we say is what it asks for.

mod carried;
mod shown;
mod spoken;

use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use league_protocol::message::Message;
use league_protocol::sender::Dialect;

use super::kit::{self, Outcome};

fn read(json: &str, reading: Reading, hints: &Hints<'_>) -> Outcome {
    kit::read(Dialect::V1, json, reading, hints)
}

fn whole(message: &Message, hints: &Hints<'_>) -> Option<String> {
    kit::whole(Dialect::V1, message, hints)
}

fn said(message: &Message, hints: &Hints<'_>) -> Option<String> {
    kit::said(Dialect::V1, message, hints)
}
