//! What the check says is by the book itself: a player that forgives nothing takes it.

use league::check::listener::{Heard, Said};
use league::check::verdict::Verdict;
use league_protocol::decode::decode;
use league_protocol::finding::Reading;
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::scripted::{fair, stage};

/// Answers an error of a match only if nothing in it has to be forgiven.
fn unforgiving(heard: &Heard) -> Said {
    if heard.tool() != Some("notify_game_error") {
        return fair(heard);
    }
    let raw = to_raw_value(heard.message()).unwrap();
    let findings = match decode(&raw, Reading::Strict, None) {
        Ok(decoded) => decoded.notes.findings,
        Err(notes) => notes.findings,
    };
    if findings.is_empty() {
        return Said::Result(json!({"status": "ok"}));
    }
    let error = json!({"code": -32602, "message": format!("{findings:?}")});
    let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
    Said::Raw(200, answer.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_that_forgives_nothing_takes_an_error_of_a_match() {
    let finding = stage(unforgiving, |_| {}).await.rule("P-NEWS-17").await;
    assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
}
