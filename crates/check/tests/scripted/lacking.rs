//! Rules whose earlier answer did not come are skipped, so that one cause is told once.

use league_check::listener::{IncomingCall, ScriptedAnswer};
use league_check::verdict::{self, Finding, Verdict};
use serde_json::json;

use crate::player::{fair, stage};

/// Plays the rules of these topics.
async fn play(
    script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static,
    topics: &[&str],
) -> Vec<Finding> {
    let played = stage(script, |_| {}).await;
    let mut rules = played.stage.topics();
    rules.retain(|topic| topics.contains(&topic.name));
    verdict::play(&played.stage, &rules, false, &|_| {}).await
}

/// The verdict of a rule, and what was found.
fn told<'f>(findings: &'f [Finding], id: &str) -> (Verdict, &'f str) {
    let finding = findings.iter().find(|finding| finding.id == id).unwrap();
    (finding.verdict, &finding.found)
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_need_an_answer_are_skipped_if_none_came() {
    let mute = |heard: &IncomingCall| match heard.tool() {
        Some("handle_game_invitation") => ScriptedAnswer::Raw(500, String::new()),
        _ => fair(heard),
    };
    let findings = play(mute, &["invitation", "choice", "news"]).await;
    assert_eq!(told(&findings, "P-JOIN-01").0, Verdict::Fail);
    let others = findings.iter().filter(|finding| finding.id != "P-JOIN-01");
    for finding in others.filter(|finding| finding.topic != "news") {
        let told = (finding.verdict, &*finding.found);
        assert_eq!(
            told,
            (Verdict::Skipped, "needs P-JOIN-01"),
            "{}",
            finding.id
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_need_no_such_answer_are_played() {
    let mute = |heard: &IncomingCall| match heard.tool() {
        Some("choose_parity") => ScriptedAnswer::Raw(500, String::new()),
        _ => fair(heard),
    };
    let findings = play(mute, &["choice", "news"]).await;
    assert_eq!(told(&findings, "P-PICK-01").0, Verdict::Fail);
    assert_eq!(
        told(&findings, "P-PICK-02"),
        (Verdict::Skipped, "needs P-PICK-01")
    );
    // The end of a match follows a choice, the announcement of a round does not.
    assert_eq!(
        told(&findings, "P-NEWS-01"),
        (Verdict::Skipped, "needs P-PICK-01")
    );
    assert_ne!(told(&findings, "P-NEWS-10").0, Verdict::Skipped);
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_of_another_status_is_an_answer() {
    let created = |heard: &IncomingCall| match fair(heard) {
        ScriptedAnswer::Result(result) => {
            let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "result": result});
            ScriptedAnswer::Raw(201, answer.to_string())
        }
        said => said,
    };
    let findings = play(created, &["transport", "JSON-RPC answers"]).await;
    assert_eq!(told(&findings, "P-HTTP-01").0, Verdict::Fail);
    assert_eq!(told(&findings, "P-RPC-02").0, Verdict::Pass);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_after_the_last_connection_are_skipped() {
    let mut played = stage(fair, |_| {}).await;
    played.leave().await;
    let mut rules = played.stage.topics();
    rules.retain(|topic| topic.name == "transport");
    let findings = verdict::play(&played.stage, &rules, false, &|_| {}).await;
    assert_eq!(told(&findings, "P-HTTP-01").0, Verdict::Fail);
    let reason = "needs P-HTTP-01: the agent takes no connections";
    assert_eq!(told(&findings, "P-HTTP-05"), (Verdict::Skipped, reason));
}
