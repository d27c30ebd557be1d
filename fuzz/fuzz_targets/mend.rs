//! Whatever the bytes, a message is made out of them or not, and never a panic; what was made out
//! once is made out as it is.

#![no_main]

use league_protocol::finding::{Notes, Reading};
use league_protocol::lenient::{Expected, Mended, mend};
use libfuzzer_sys::fuzz_target;

const TYPES: [&str; 4] = [
    "CHOOSE_PARITY_RESPONSE",
    "GAME_JOIN_ACK",
    "PLAY_RESPONSE",
    "LEAGUE_REGISTER_REQUEST",
];

fn mended(text: &str) -> Option<String> {
    let expected = Expected {
        types: &TYPES,
        method: None,
        dialect: None,
    };
    match mend(text, &expected, &mut Notes::new(Reading::Lenient))? {
        Mended::Message(message) => Some(message.get().to_owned()),
        Mended::Complaint(_) => None,
    }
}

fuzz_target!(|text: &str| {
    if let Some(once) = mended(text) {
        assert_eq!(mended(&once), Some(once));
    }
});
