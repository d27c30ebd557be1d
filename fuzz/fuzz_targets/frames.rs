//! Every era of JSON-RPC reads or refuses any bytes without a panic.

#![no_main]

use league_protocol::finding::{Notes, Reading};
use league_protocol::lenient;
use league_protocol::rpc::{Era, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for era in [Era::Simple, Era::LegacyWithBatch, Era::Legacy, Era::Modern] {
        let _ = read(bytes, era);
    }
    let _ = lenient::reply(bytes, 1, &mut Notes::new(Reading::Lenient));
});
