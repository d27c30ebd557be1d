//! Frames as a hostile peer may send them, each from a seed and a number, and every way to read them.

use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::explain::explain;
use league_protocol::finding::{Notes, Reading};
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::lenient;
use league_protocol::rpc;
use league_protocol::sender::Dialect;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::documents::DOCUMENTS;

/// The most changes to an example.
const MAX_CHANGES: u64 = 6;
/// The most bytes of a frame that follows no example.
const MAX_NOISE: u64 = 300;
/// One frame in so many follows no example.
const ONE_NOISE_IN: u64 = 16;

/// Pieces that readers treat in a way of their own.
const PIECES: [&str; 24] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "\\u0000",
    "\\ud800",
    "1e999",
    "-0",
    "0.5",
    "18446744073709551616",
    "\u{202e}",
    "\u{0}",
    "\n",
    "\"jsonrpc\":\"2.0\",",
    "\"id\":null,",
    "\"protocol\":\"league.v1\",",
    "\"message_type\":\"GAME_RESULT\",",
    "\"accept\":0,",
    "[[[[[[[[",
];

/// Reads bytes in every way that the league reads them.
pub(crate) fn read_in_every_way(bytes: &[u8]) {
    for era in [
        rpc::Era::Simple,
        rpc::Era::LegacyWithBatch,
        rpc::Era::Legacy,
        rpc::Era::Modern,
    ] {
        let _ = rpc::read(bytes, era);
    }
    let league = LeagueId::new("league").expect("an id");
    let game = GameType::new("even_odd").expect("an id");
    let (reader, opponent) = (PlayerId::numbered(1), PlayerId::numbered(2));
    let knowing = Hints {
        league_id: Some(&league),
        game_type: Some(&game),
        reader: Some(&reader),
        opponent: Some(&opponent),
        match_id: None,
        placeholders: false,
        synonyms: false,
        generic_moves: false,
    };
    for reading in [Reading::Lenient, Reading::Strict] {
        let _ = explain(bytes, reading);
        let mut notes = Notes::new(reading);
        let _ = lenient::reply(bytes, 1, &mut notes);
        let Ok(raw) = serde_json::from_slice::<&RawValue>(bytes) else {
            continue;
        };
        for pinned in [
            None,
            Some(Dialect::V2),
            Some(Dialect::V2Api),
            Some(Dialect::V1),
        ] {
            for hints in [Hints::default(), knowing] {
                if let Ok(mut decoded) = decode(raw, reading, pinned) {
                    let _ = decoded.message(&hints);
                }
            }
        }
    }
}

/// The examples of the documents, as bytes, with and without their frames.
pub(crate) fn examples() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for document in DOCUMENTS {
        let examples: Vec<Value> = serde_json::from_str(document).expect("examples are readable");
        for example in examples {
            let example = &example["example"];
            for value in [example, &example["params"], &example["result"]] {
                if value.is_object() {
                    found.push(value.to_string().into_bytes());
                }
            }
        }
    }
    found
}

/// The frames of a campaign.
pub(crate) struct Frames {
    examples: Vec<Vec<u8>>,
}

impl Frames {
    pub(crate) fn new() -> Self {
        Self {
            examples: examples(),
        }
    }

    /// The frame of a number; the same for the same seed.
    pub(crate) fn frame(&self, seed: u64, number: u64) -> Vec<u8> {
        let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number);
        if chance.below(ONE_NOISE_IN) == 0 {
            let length = chance.below(MAX_NOISE);
            return (0..length).map(|_| chance.below(256) as u8).collect();
        }
        let mut frame = self.example(&mut chance).to_vec();
        for _ in 0..=chance.below(MAX_CHANGES) {
            self.change(&mut frame, &mut chance);
        }
        frame
    }

    fn example(&self, chance: &mut Chance) -> &[u8] {
        &self.examples[chance.below(self.examples.len() as u64) as usize]
    }

    fn change(&self, frame: &mut Vec<u8>, chance: &mut Chance) {
        let at = chance.below(frame.len() as u64 + 1) as usize;
        let end = (at + 1 + chance.below(40) as usize).min(frame.len());
        match chance.below(8) {
            0 => frame.truncate(at),
            1 => drop(frame.drain(at..end)),
            2 => {
                let piece = frame[at..end].to_vec();
                frame.splice(at..at, piece);
            }
            // The start of one message and the end of another.
            3 => {
                let other = self.example(chance);
                let from = chance.below(other.len() as u64) as usize;
                frame.splice(at.., other[from..].iter().copied());
            }
            4 | 5 => {
                let piece = PIECES[chance.below(PIECES.len() as u64) as usize];
                frame.splice(at..at, piece.bytes());
            }
            _ => {
                if let Some(byte) = frame.get_mut(at) {
                    *byte = chance.below(256) as u8;
                }
            }
        }
    }
}

/// Chance that is the same for the same seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}
