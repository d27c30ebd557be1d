//! Any bytes get an explanation, and a valid message is written again without loss.

#![no_main]

use league_protocol::explain::explain;
use league_protocol::finding::Reading;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    for reading in [Reading::Lenient, Reading::Strict] {
        let explanations = explain(bytes, reading);
        if let [one] = explanations.as_slice()
            && one.valid
            && let Ok(whole @ Value::Object(_)) = serde_json::from_slice(bytes)
        {
            let again = serde_json::from_str::<Value>(one.again.text()).ok();
            assert_eq!(again, Some(whole));
        }
    }
});
