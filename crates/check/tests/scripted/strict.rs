//! What the check says is by the book itself: a player that forgives nothing takes it.

use league_check::listener::{IncomingCall, ScriptedAnswer};
use league_check::verdict::Verdict;
use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::player::{fair, stage};

/// Answers an error of a match only if nothing in it has to be forgiven.
fn unforgiving(heard: &IncomingCall) -> ScriptedAnswer {
    if heard.tool() != Some("notify_game_error") {
        return fair(heard);
    }
    let raw = to_raw_value(heard.message()).unwrap();
    let findings = match decode(&raw, Reading::Strict, None) {
        Ok(mut decoded) => {
            let _ = decoded.message(&Hints::default());
            decoded.notes.findings
        }
        Err(notes) => notes.findings,
    };
    if findings.is_empty() {
        return ScriptedAnswer::Result(json!({"status": "ok"}));
    }
    let error = json!({"code": -32602, "message": format!("{findings:?}")});
    let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
    ScriptedAnswer::Raw(200, answer.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_that_forgives_nothing_takes_an_error_of_a_match() {
    let finding = stage(unforgiving, |_| {}).await.rule("P-NEWS-17").await;
    assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
}

/// Answers an invitation with members that nobody knows by an error, or by nonsense.
fn answering(refusal: &'static str) -> impl Fn(&IncomingCall) -> ScriptedAnswer {
    move |heard| {
        let known = [
            "protocol",
            "message_type",
            "sender",
            "timestamp",
            "conversation_id",
        ];
        let known = [
            &known[..],
            &["auth_token", "league_id", "round_id", "match_id"],
        ]
        .concat();
        let known = [&known[..], &["game_type", "role_in_match", "opponent_id"]].concat();
        let message = heard.message().as_object().cloned().unwrap_or_default();
        let strange = message.keys().any(|name| !known.contains(&name.as_str()));
        match heard.tool() == Some("handle_game_invitation") && strange {
            true => ScriptedAnswer::Raw(200, refusal.replace("ID", &heard.json["id"].to_string())),
            false => fair(heard),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_strict_may_refuse_what_is_not_by_the_book_and_must_say_so() {
    let error = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"what is this"}}"#;
    let nonsense = r#"{"jsonrpc":"2.0","id":ID,"result":{"message_type":"GAME_OVER"}}"#;
    for (answer, strict, verdict) in [
        (error, true, Verdict::Skipped),
        (error, false, Verdict::Fail),
        (nonsense, true, Verdict::Fail),
        ("<html>no</html>", true, Verdict::Fail),
    ] {
        let played = stage(answering(answer), |_| {}).await;
        let finding = played.judged("P-JOIN-18", strict).await;
        assert_eq!(finding.verdict, verdict, "{answer}: {finding:?}");
    }
}
