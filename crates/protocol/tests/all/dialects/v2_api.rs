//! `league.v2` by the API page: what 001 shows is read whole, and what we say is spelled its way.

mod carried;
mod shown;
mod spoken;

use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use league_protocol::message::Message;
use league_protocol::sender::Dialect;

use super::kit::{self, Outcome};

fn read(json: &str, reading: Reading, hints: &Hints<'_>) -> Outcome {
    kit::read(Dialect::V2Api, json, reading, hints)
}

fn whole(message: &Message, hints: &Hints<'_>) -> Option<String> {
    kit::whole(Dialect::V2Api, message, hints)
}

fn said(message: &Message, hints: &Hints<'_>) -> Option<String> {
    kit::said(Dialect::V2Api, message, hints)
}
