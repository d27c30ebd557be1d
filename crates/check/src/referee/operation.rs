//! Rules about manual matches (ruling 3), several matches at once, a referee that is killed and
//! started again, and the end of the league.

use super::again;
use super::fake_player::FakePlayer;
use super::match_run::{self, MatchCourse, MatchRun, capacity, heard, is_report, played, recorded};
use super::matches::drawn_number;
use crate::fake_manager::{AdmissionPolicy, REPORT, is_registration};
use crate::listener::{IncomingCall, ScriptedAnswer};
use crate::prelude::*;
use crate::wire::RoundTrip;

/// The steps of a manual match, in their order.
const STEPS: [&str; 3] = ["collect_choices", "draw_number", "finalize_match"];
/// How often a step is tried until it is due, and the wait in between.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(100);
/// The largest capacity that is tested.
const MAX_AT_ONCE: usize = 8;
/// How long a match may take if its players answer at once.
const QUICK: Duration = Duration::from_secs(10);
/// How long a match may take to end after its referee came back.
const RESUMED: Duration = Duration::from_secs(20);
/// A token that the manager never issued.
const FALSE_TOKEN: &str = "tok-manager-0123456789abcdef";

pub(super) fn manual_rules() -> Topic {
    topic! { "matches stepped by hand":
        "MAN-01" Should[30] "ruling 3": "A match in manual mode asks for no choice by itself"
            => "wait for `collect_choices` if the order says `mode` manual",
            steps!(waits_for_its_steps);
        "MAN-02" Should[30] "ruling 3": "The three steps play the match to its end"
            => "serve `collect_choices`, `draw_number` and `finalize_match`, in this order",
            steps!(is_stepped_to_its_end);
        "MAN-03" Should[30] "ruling 3": "A step that is not due is E007"
            => "answer LEAGUE_ERROR E007 to a step that comes too early",
            steps!(refuses_early_steps);
        "MAN-04" Should[30] "ruling 45": "A step without a good token is refused"
            => "want to see the manager's token, or the step token of the match",
            steps!(refuses_strangers);
        "MAN-05" Should[30] "ruling 3": "A step of a match that plays by itself is E007"
            => "answer LEAGUE_ERROR E007 to steps of a match that is not manual",
            steps!(refuses_steps_of_other_matches);
    }
}

pub(super) fn crowd_rules() -> Topic {
    topic! { "several matches":
        "MANY-01" Must[90] "000 §4.1.1": "As many matches run at once as the referee said"
            => "run `max_concurrent_matches` matches side by side", steps!(runs_them_at_once);
        "MANY-02" Must[90] "000 §4.6.1": "Matches that run at once are not mixed up"
            => "keep the state of each match apart", steps!(keeps_them_apart);
        "MANY-03" Must[90] "ruling 17": "A slow player holds up no other match"
            => "do not wait for one match while another could go on", steps!(is_not_held_up);
        "MANY-04" Should[90] "ruling 39": "A match beyond what the referee runs at once is turned down"
            => "answer `accepted` false when you are full", steps!(turns_down_when_full);
    }
}

pub(super) fn recovery_rules() -> Topic {
    topic! { "recovery" needs "BACK-01":
        "BACK-01" Must[300] "ruling 7": "A referee that was killed and started again registers again"
            => "register every time the referee starts", steps!(registers_again);
        "BACK-02" Should[300] "ruling 39": "The same order after a restart brings the match to its end"
            => "take an order that comes again, whatever was forgotten", steps!(resumes);
        "BACK-03" Should[300] "ruling 39": "A match that was over before the restart ends the same"
            => "keep results where they survive a restart, and tell them again", steps!(remembers);
        "BACK-04" Must[300] "000 §2.11.3": "A registration that fails is tried again"
            => "repeat the registration after a connection that broke or an HTTP error",
            steps!(retries);
    }
}

pub(super) fn end_rules() -> Topic {
    topic! { "end of the league":
        "END-01" Should "ruling 45": "The end of the league is believed from the manager alone"
            => "want to see the manager's token in LEAGUE_COMPLETED",
            Ask::method(|stage, _| completed(stage, FALSE_TOKEN)).registered(),
            [Refused("the end of the league with a wrong token")];
        "END-02" Should "ruling 3": "The end of the league is acknowledged"
            => "answer the tool `notify_league_completed`",
            Ask::method(|stage, _| completed(stage, &manager_token(stage))).registered(), [Taken];
    }
}

/// Orders a new match.
async fn start(
    caller: &Caller,
    course: MatchCourse,
    change: fn(&mut Value),
) -> Result<MatchRun, Trouble> {
    match_run::start(&caller.stage, Some(caller), course, change).await
}

fn manager_token(stage: &Stage) -> String {
    let admission = stage.admission();
    admission.map_or_else(String::new, |admission| admission.manager_token)
}

/// A match that waits for its steps.
async fn manual(caller: &Caller) -> Result<MatchRun, Trouble> {
    let by_hand = |order: &mut Value| order["mode"] = "manual".into();
    let ordered = start(caller, MatchCourse::Decided, by_hand).await?;
    ordered.ack.of_kind(&["START_MATCH_ACK"])?;
    need!(ordered.is_accepted(), else "the referee takes no manual matches")?;
    Ok(ordered)
}

fn step(stage: &Stage, name: &str, match_id: &str) -> Question {
    let token = stage.admission().map(|admission| admission.manager_token);
    Question::new(name, json!({"match_id": match_id, "auth_token": token}))
}

/// Takes all steps, each as soon as it is due.
async fn finish(caller: &Caller, manual: &MatchRun) -> Judgement {
    for name in STEPS {
        let question = step(&caller.stage, name, &manual.match_id);
        let mut reply = caller.call(&question).await?;
        for _ in 0..TRIES {
            if reply.league_error() != Some("E007") {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            reply = caller.call(&question).await?;
        }
        hold!(!reply.is_refusal(), else "`{name}` is answered with {}", reply.describe())?;
    }
    Ok(())
}

async fn waits_for_its_steps(caller: &Caller) -> Judgement {
    let manual = manual(caller).await?;
    for seat in &manual.seats {
        seat.wait("GAME_INVITATION", Duration::from_secs(5)).await;
    }
    tokio::time::sleep(10 * PAUSE).await;
    let mut seats = manual.seats.iter();
    let asked = seats.find(|seat| seat.was_told("CHOOSE_PARITY_CALL"));
    let asked = asked.map(|seat| &seat.setup.id);
    finish(caller, &manual).await?;
    hold!(asked.is_none(), else "{asked:?} was asked before `collect_choices`")
}

async fn is_stepped_to_its_end(caller: &Caller) -> Judgement {
    let manual = manual(caller).await?;
    finish(caller, &manual).await?;
    manual.ends(Duration::from_secs(5)).await
}

/// Takes a step that must be refused, then plays the match to its end.
async fn refused_step(
    caller: &Caller,
    wrong: impl FnOnce(&MatchRun) -> Question,
    code: &str,
) -> Judgement {
    let manual = manual(caller).await?;
    let reply = caller.call(&wrong(&manual)).await?;
    finish(caller, &manual).await?;
    caller.note(RoundTrip::clone(&reply.trip));
    has_code(&reply, code)
}

fn has_code(reply: &Reply, code: &str) -> Judgement {
    hold!(reply.league_error() == Some(code),
        else "the answer is {} instead of {code}", reply.describe())
}

async fn refuses_early_steps(caller: &Caller) -> Judgement {
    let wrong = |manual: &MatchRun| step(&caller.stage, "finalize_match", &manual.match_id);
    refused_step(caller, wrong, "E007").await
}

async fn refuses_strangers(caller: &Caller) -> Judgement {
    caller.stage.admitted()?;
    for (token, code) in [(Value::Null, "E011"), ("tok-manager-0123".into(), "E012")] {
        let wrong = |manual: &MatchRun| {
            let params = json!({"match_id": manual.match_id, "auth_token": token});
            Question::new("collect_choices", params)
        };
        refused_step(caller, wrong, code).await?;
    }
    Ok(())
}

async fn refuses_steps_of_other_matches(caller: &Caller) -> Judgement {
    let automatic = start(caller, MatchCourse::Watched, |_| {}).await?;
    let question = step(&caller.stage, "collect_choices", &automatic.match_id);
    let reply = caller.call(&question).await?;
    // Other rules judge the outcome of this match.
    let _ = automatic.ends(QUICK).await;
    need!(reply.rpc_error() != Some(-32_601), else "the referee has no `collect_choices`")?;
    has_code(&reply, "E007")
}

/// Waits until no match is running, and returns the capacity of the referee.
async fn free_capacity(caller: &Caller) -> Result<usize, Trouble> {
    let stage = &caller.stage;
    stage.played.takes_orders()?;
    stage.admitted()?;
    played(stage, MatchCourse::Late).await?;
    Ok(capacity(stage))
}

/// Starts this many slow matches, and waits for the ends of the accepted ones.
async fn crowd(caller: &Caller, many: usize) -> Result<Vec<MatchRun>, Trouble> {
    let mut all = Vec::new();
    for _ in 0..many {
        all.push(start(caller, MatchCourse::Watched, |_| {}).await?);
    }
    for taken in all.iter().filter(|ordered| ordered.is_accepted()) {
        taken.ends(QUICK).await?;
    }
    Ok(all)
}

async fn runs_them_at_once(caller: &Caller) -> Judgement {
    let many = free_capacity(caller).await?.min(MAX_AT_ONCE);
    let all = crowd(caller, many).await?;
    let taken = all.iter().filter(|ordered| ordered.is_accepted()).count();
    hold!(taken == all.len(), else "only {taken} of {} were taken", all.len())
}

async fn keeps_them_apart(caller: &Caller) -> Judgement {
    let many = free_capacity(caller).await?.min(MAX_AT_ONCE);
    for running in crowd(caller, many).await? {
        for seat in &running.seats {
            for call in seat.calls() {
                caller.note(RoundTrip::overheard("a player", &call.body));
                let named = call.message().get("match_id");
                hold!(named.is_none_or(|named| *named == *running.match_id),
                    else "{} was told of another match", seat.setup.id)?;
                if call.kind() == "GAME_OVER" {
                    is_won_rightly(&call.message()["game_result"], &running.seats)?;
                }
            }
        }
    }
    Ok(())
}

fn is_won_rightly(result: &Value, seats: &[FakePlayer; 2]) -> Judgement {
    let parity = parity_of(drawn_number(result)?);
    let right = seats.iter().find(|seat| seat.setup.choice == parity);
    let right = right.map(|seat| seat.setup.id.as_str()).unwrap_or_default();
    let winner = &result["winner_player_id"];
    hold!(winner == right, else "the winner is {winner} instead of {right}")
}

async fn is_not_held_up(caller: &Caller) -> Judgement {
    need!(free_capacity(caller).await? >= 2, else "the referee runs one match at a time")?;
    let slow = start(caller, MatchCourse::Watched, |_| {}).await?;
    let quick = start(caller, MatchCourse::Decided, |_| {}).await?;
    quick.ends(QUICK).await?;
    let held_up = slow.seats[0].was_told("GAME_OVER");
    slow.ends(QUICK).await?;
    hold!(!held_up, else "the quick match ended only after the slow one")
}

async fn turns_down_when_full(caller: &Caller) -> Judgement {
    let many = free_capacity(caller).await?;
    need!(many <= MAX_AT_ONCE,
        else "the referee runs {many} matches at once, too many to fill it")?;
    let all = crowd(caller, many + 1).await?;
    let taken = all.iter().filter(|ordered| ordered.is_accepted()).count();
    hold!(taken <= many, else "it said {many} at once and took {taken}")
}

/// Kills the referee and starts it again; returns the sequence number from which on the manager
/// receives its calls.
async fn restarted(caller: &Caller) -> Result<usize, Trouble> {
    let stage = &caller.stage;
    // The restart would cut running matches short.
    if stage.process.is_some() && stage.played.takes_orders().is_ok() {
        played(stage, MatchCourse::Late).await?;
    }
    stage.restart().await
}

/// Kills the referee, starts it again and waits until it has registered.
async fn restarted_and_back(caller: &Caller) -> Judgement {
    let before = restarted(caller).await?;
    caller.stage.registration_after_restart(before).await?;
    caller.stage.connection_after_restart().await
}

async fn registers_again(caller: &Caller) -> Judgement {
    restarted_and_back(caller).await?;
    caller.still_answers("a restart").await
}

async fn resumes(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    stage.played.takes_orders()?;
    if stage.process.is_none() {
        return restarted_and_back(caller).await;
    }
    let running = start(caller, MatchCourse::Watched, |_| {}).await?;
    running.seats[0].wait("CHOOSE_PARITY_CALL", RESUMED).await;
    restarted_and_back(caller).await?;
    let reply = caller.call(&again(&running.order)).await?;
    reply.of_kind(&["START_MATCH_ACK"])?;
    let report = stage.manager_hears(0, RESUMED, |call| is_report(call, &running.match_id));
    hold!(report.await.is_some(), else "the match was not brought to its end")
}

async fn remembers(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    let before = recorded(stage, MatchCourse::Decided).await?;
    let result = |place: usize| {
        let reports = heard(stage, &before.match_id, REPORT);
        let report = reports.get(place);
        report.map(|call| as_played(&call.message()["result"]))
    };
    restarted_and_back(caller).await?;
    caller.call(&again(&before.order)).await?;
    let told = before.reports.len();
    let patience = Duration::from_secs(5);
    let so_far = stage.call_count();
    stage
        .manager_hears(so_far, patience, |_| result(told).is_some())
        .await;
    let second = result(told);
    hold!(second.is_some(), else "the result was not reported again")?;
    hold!(result(0) == second, else "another result was reported than before")
}

/// A result without what the manager opened with its acknowledgement.
fn as_played(result: &Value) -> Value {
    let mut result = result.clone();
    for part in ["/details/draw", "/details/evidence"] {
        if let Some(part) = result.pointer_mut(part) {
            remove(part, &["seed", "players"]);
        }
    }
    result
}

async fn retries(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    stage.admitted()?;
    let set_policy = |policy: AdmissionPolicy| {
        if let Some(manager) = &stage.manager {
            manager.set_policy(policy);
        }
    };
    set_policy(AdmissionPolicy::Fail(1, ScriptedAnswer::Nothing));
    let again = async {
        let before = restarted(caller).await?;
        let first = stage.registration_after_restart(before).await?;
        let is_another = |call: &IncomingCall| is_registration(call) && call.at > first.at;
        Ok(stage.manager_hears(before, stage.wait, is_another).await)
    };
    let again = again.await;
    set_policy(AdmissionPolicy::Open);
    hold!(again?.is_some(), else "the registration was not tried again")
}

fn completed(stage: &Stage, token: &str) -> Question {
    let body = json!({
        "league_id": stage.league_id(), "auth_token": token, "total_rounds": 1,
        "total_matches": 1, "champion": null, "final_standings": [],
    });
    let (kind, conversation) = ("LEAGUE_COMPLETED", "check-completed");
    let message = message(kind, "league_manager", conversation, body);
    Question::new("notify_league_completed", message)
}
