//! Rules about recovery: a killed player, an absent manager, the end of the league.

use tokio::time::Instant;

use super::{JOINED, MOVE, choice, choose, choose_legally, game_over, invitation, join, news};
use crate::fake_manager::{AdmissionPolicy, is_registration};
use crate::listener::{IncomingCall, ScriptedAnswer};
use crate::prelude::*;

/// How long a player may wait before it registers again.
const ASKS_AGAIN: Duration = Duration::from_secs(30);
/// How long a player may take to process its admission.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the check watches a player that should not retry at once.
const WATCHED: Duration = Duration::from_secs(2);
/// The most registrations in that time.
const MAX_REGISTRATIONS: usize = 3;
/// How long the manager delays its answer.
const HESITATION: Duration = Duration::from_secs(3);

pub(super) fn topic() -> Topic {
    topic! { "recovery and end" needs "HTTP-01" "BACK-01":
        "BACK-01" Must[300] "000 §2.8.1": "A player that was killed comes up again"
            => "start from what is on disk, or from nothing, without help", steps!(comes_up);
        "BACK-02" Must[300] "ruling 7": "A player that was killed registers again"
            => "register every time the player starts", steps!(restarted_and_back);
        "BACK-03" Must[300] "ruling 35": "A player that was killed comes to its match again"
            => "take an invitation to a match that began before the restart", steps!(joins_again);
        "BACK-04" Should[300] "ruling 35": "A player that was killed after its choice is asked again, and answers"
            => "take a call for a choice in a match that began before the restart",
            steps!(chooses_again);
        "BACK-05" Should[300] "ruling 35": "The end of a match is taken by a player that was killed in it"
            => "take the end of a match that began before the restart", steps!(hears_the_end);
        "BACK-06" Must[300] "000 §2.4.5": "After a restart the player shows its new token"
            => "use the token of the last registration", steps!(shows_its_new_token);
        "BACK-07" Must[300] "000 §5.8": "A manager that answers 503 is asked again"
            => "try again after two seconds when the registration fails",
            steps!(asks_again(ScriptedAnswer::Raw(503, String::new())));
        "BACK-08" Must[300] "000 §5.9.1": "A manager that closes the connection is asked again"
            => "try again after two seconds when the registration fails",
            steps!(asks_again(ScriptedAnswer::Nothing));
        "BACK-09" Should[300] "000 §5.9.1": "A manager that answers nonsense is asked again"
            => "treat an answer that cannot be read like no answer",
            steps!(asks_again(ScriptedAnswer::Raw(200, "<html>one moment please</html>".to_owned())));
        "BACK-10" Should[300] "000 §2.7": "A manager that takes three seconds is waited for"
            => "wait ten seconds for the answer to a registration", steps!(waits);
        "BACK-11" Should[300] "000 §4.2.2": "A player that was rejected does not ask again at once"
            => "tell people the reason, and wait or end", steps!(takes_a_rejection);
        "END-01" Should "000 §4.8.2": "The end of the league is taken"
            => "answer the tool `notify_league_completed`", Ask::method(completed), [Taken];
        "END-02" Should "000 §4.8.2": "The end of the league told twice does no harm"
            => "answer the second time as the first", Ask::method(completed), [Taken];
    }
}

fn set_policy(stage: &Stage, policy: AdmissionPolicy) {
    if let Some(manager) = &stage.manager {
        manager.set_policy(policy);
    }
}

/// Kills the player, changes how the manager takes registrations, and starts the player again;
/// returns the sequence number from which on the new process calls.
async fn restarted(caller: &Caller, policy: AdmissionPolicy) -> Result<usize, Trouble> {
    let stage = &caller.stage;
    need!(!stage.profile().has_session(),
        else "the player keeps sessions of MCP, and they end with it")?;
    set_policy(stage, policy);
    stage.restart().await
}

/// Kills the player, starts it again, and waits until it is admitted.
pub(crate) async fn restarted_and_back(caller: &Caller) -> Judgement {
    caller.stage.admitted()?;
    let before = restarted(caller, AdmissionPolicy::Open).await?;
    caller.stage.registration_after_restart(before).await?;
    caller.stage.connection_after_restart().await?;
    settled(caller).await;
    Ok(())
}

/// Waits until the player has processed its admission: it joins matches then.
async fn settled(caller: &Caller) {
    let stage = &caller.stage;
    let until = Instant::now() + SETTLE_TIMEOUT;
    while Instant::now() < until {
        let match_id = stage.open_match().await;
        let reply = stage.ask(&invitation(stage, &match_id)).await;
        if reply.is_ok_and(|reply| !reply.is_refusal()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn comes_up(caller: &Caller) -> Judgement {
    restarted(caller, AdmissionPolicy::Open).await?;
    caller.stage.connection_after_restart().await?;
    settled(caller).await;
    caller.still_answers("a restart").await
}

async fn joins_again(caller: &Caller) -> Judgement {
    let match_id = join(caller).await?;
    restarted_and_back(caller).await?;
    let question = invitation(&caller.stage, &match_id);
    caller.call(&question).await?.of_kind(JOINED)?;
    choose_legally(caller, &match_id).await
}

async fn chooses_again(caller: &Caller) -> Judgement {
    let match_id = join(caller).await?;
    choose(caller, &match_id).await?;
    restarted_and_back(caller).await?;
    choose_legally(caller, &match_id).await
}

async fn hears_the_end(caller: &Caller) -> Judgement {
    caller.stage.needs("PICK-01")?;
    let match_id = join(caller).await?;
    let question = choice(&caller.stage, &match_id);
    caller.call_within(&question, MOVE).await?;
    restarted_and_back(caller).await?;
    let over = game_over(&caller.stage, &match_id);
    caller.call(&over).await?.taken()
}

async fn shows_its_new_token(caller: &Caller) -> Judgement {
    restarted_and_back(caller).await?;
    let stage = &caller.stage;
    let token = stage.admitted()?.token;
    let question = invitation(stage, &stage.open_match().await);
    let reply = caller.call(&question).await?;
    match reply.of_kind(JOINED)?["auth_token"].as_str() {
        None => Err(Trouble::forgiven("`auth_token` is missing")),
        Some(shown) => hold!(shown == token, else "an old token is shown"),
    }
}

/// Answers the first registration after a restart like this; returns it and the next one, if the
/// player asks again.
async fn registrations(
    caller: &Caller,
    answer: ScriptedAnswer,
) -> Result<(Arc<IncomingCall>, Option<Arc<IncomingCall>>), Trouble> {
    let stage = &caller.stage;
    stage.admitted()?;
    let before = restarted(caller, AdmissionPolicy::Fail(1, answer)).await?;
    let first = stage.registration_after_restart(before).await;
    let second = match &first {
        Ok(first) => {
            // Other calls may come in between.
            let is_another = |call: &IncomingCall| is_registration(call) && call.at > first.at;
            stage.manager_hears(before, ASKS_AGAIN, is_another).await
        }
        Err(_) => None,
    };
    set_policy(stage, AdmissionPolicy::Open);
    let first = first?;
    stage.connection_after_restart().await?;
    settled(caller).await;
    Ok((first, second))
}

async fn asks_again(caller: &Caller, answer: ScriptedAnswer) -> Judgement {
    let (_, second) = registrations(caller, answer).await?;
    hold!(second.is_some(), else "it does not ask again within {} s", ASKS_AGAIN.as_secs())
}

async fn waits(caller: &Caller) -> Judgement {
    let late = Box::new(ScriptedAnswer::Raw(503, String::new()));
    let answer = ScriptedAnswer::Late(HESITATION, late);
    let (first, second) = registrations(caller, answer).await?;
    let hasty = second.is_some_and(|second| second.at - first.at < HESITATION);
    hold!(!hasty, else "it asks again before three seconds have passed")
}

async fn takes_a_rejection(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    stage.admitted()?;
    let policy = AdmissionPolicy::Reject("Registration closed".to_owned());
    let before = restarted(caller, policy).await?;
    let first = stage.registration_after_restart(before).await;
    tokio::time::sleep(WATCHED).await;
    let calls = stage.calls_since(before);
    let count = calls.iter().filter(|call| is_registration(call)).count();
    // The player may have ended; it is started again for the rules that follow.
    restarted_and_back(caller).await?;
    first?;
    hold!(count <= MAX_REGISTRATIONS, else "{count} registrations came in two seconds")
}

fn completed(stage: &Stage, _: &Setting) -> Question {
    let id = stage.player_id();
    let body: Value = json!({
        "total_rounds": 3, "total_matches": 6,
        "champion": {"player_id": id, "display_name": "The player", "points": 9},
        "final_standings": [
            {"rank": 1, "player_id": id, "points": 9}, {"rank": 2, "player_id": "P02", "points": 3},
        ],
    });
    news(stage, "notify_league_completed", "LEAGUE_COMPLETED", body)
}
