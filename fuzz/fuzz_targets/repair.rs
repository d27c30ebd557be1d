//! No input panics the repair, and a repaired message needs no second repair.

#![no_main]

use league_protocol::finding::{Notes, Reading};
use league_protocol::lenient::{Expected, Repair, repair};
use libfuzzer_sys::fuzz_target;

const TYPES: [&str; 4] = [
    "CHOOSE_PARITY_RESPONSE",
    "GAME_JOIN_ACK",
    "PLAY_RESPONSE",
    "LEAGUE_REGISTER_REQUEST",
];

fn repaired(text: &str) -> Option<String> {
    let expected = Expected {
        types: &TYPES,
        method: None,
        dialect: None,
    };
    match repair(text, &expected, &mut Notes::new(Reading::Lenient))? {
        Repair::Message(message) => Some(message.get().to_owned()),
        Repair::Complaint(_) => None,
    }
}

fuzz_target!(|text: &str| {
    if let Some(once) = repaired(text) {
        assert_eq!(repaired(&once), Some(once));
    }
});
