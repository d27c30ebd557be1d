//! Rules about the manager's order to run a match: START_MATCH and its answer.

use super::match_run::{self, MatchCourse, MatchRun, is_report, played, recorded};
use super::{again, record_of};
use crate::prelude::*;

/// How long the players of a refused match must not be invited.
const QUIET: Duration = Duration::from_millis(700);
/// How long a match may take to end.
const QUICK: Duration = Duration::from_secs(8);

const ACK: &[&str] = &["START_MATCH_ACK"];

pub(super) fn topic() -> Topic {
    topic! { "orders":
        "ORD-01" Should "ruling 4": "An order is answered with START_MATCH_ACK, and taken"
            => "answer the tool `start_match` with START_MATCH_ACK and `accepted` true",
            seen!(first()),
            [Kind(ACK),
             By(|it| hold!(*it.member("accepted") == true,
                 else "`accepted` is {}, because {}", it.member("accepted"), it.member("reason")))];
        "ORD-02" Should "ruling 4": "The acknowledgement names the match"
            => "copy `match_id` from the order", seen!(first()), [Repeats("match_id")];
        "ORD-03" Must "000 §2.4.1": "The acknowledgement has a whole envelope"
            => "set `protocol`, `sender`, `timestamp` and `conversation_id`",
            seen!(first()), [PROTOCOL, Utc("timestamp"), is("sender", Want::Fact("sender"))];
        "ORD-04" Must "000 §2.4.1": "The acknowledgement is in the conversation of the order"
            => "copy `conversation_id` from the order", seen!(first()), SAME_CONVERSATION;
        "ORD-05" Should "ruling 39": "The same order again is acknowledged, and no player is invited twice"
            => "remember the matches that you run, and answer a repeated order as before",
            seen!(repeated(|_| {})), [Kind(ACK), equals("accepted", true), By(invites_once)];
        "ORD-06" Should "ruling 39": "An order for a match that is over brings its report again"
            => "report the result once more if the manager orders a match that is over",
            steps!(reports_again);
        "ORD-07" Should "ruling 39": "The same match with other players is refused"
            => "compare a repeated order with the first one",
            seen!(repeated(|order| order["players"][1]["player_id"] = "P88".into())),
            [By(is_turned_down)];
        "ORD-08" Should "ruling 39": "An order for an earlier attempt at a running match is refused"
            => "compare `attempt` with that of the match that you run",
            seen!(of_an_earlier_attempt()), [By(is_turned_down)];
        "ORD-09" Must "000 §4.1.1": "An order for a game that the referee does not know is refused"
            => "answer `accepted` false to games that you did not register for",
            seen!(refused(|order| order["game_type"] = "three_body_chess".into())),
            [By(is_turned_down), By(invites_nobody)];
        "ORD-10" Should "ruling 39": "An order for another league is refused"
            => "compare `league_id` with the league that let you in",
            seen!(refused(|order| order["league_id"] = "another_league".into())),
            [By(is_turned_down), By(invites_nobody)];
        "ORD-11" Should "ruling 39": "An order for a player against itself is refused"
            => "compare the two players of an order",
            seen!(refused(|order| order["players"][1] = order["players"][0].clone())),
            [By(is_turned_down), By(invites_nobody)];
        "ORD-12" Must "000 §4.12.1": "An order without a match is refused"
            => "answer E003 if `match_id` is missing",
            seen!(refused(|order| remove(order, &["match_id"]))),
            [By(is_turned_down), By(invites_nobody), LeagueErrorOrAnother("E003")];
        "ORD-13" Should "000 §2.4.2": "An order whose time is not in UTC is E021"
            => "answer LEAGUE_ERROR E021 to a time with another offset",
            seen!(refused(|order| order["timestamp"] = OTHER_OFFSET.into())),
            [By(is_turned_down), By(invites_nobody), LeagueError("E021")];
        "ORD-14" Should "ruling 45": "An order without the manager's token is refused"
            => "keep `manager_token` from the registration, and want to see it",
            seen!(refused_by_registered(|order| remove(order, &["auth_token"]))),
            [By(is_turned_down), By(invites_nobody), LeagueError("E011")];
        "ORD-15" Should "ruling 45": "An order with another token is refused"
            => "keep `manager_token` from the registration, and want to see it",
            seen!(refused_by_registered(|order| order["auth_token"] = "tok-manager-0123456789abcdef".into())),
            [By(is_turned_down), By(invites_nobody), LeagueError("E012")];
        "ORD-16" Should "ruling 13": "Unknown members of an order are passed over"
            => "ignore members that you do not know", seen!(with_unknown_members()),
            [By(|it| hold!(!is_refusal(it.reply()),
                 else "the answer is {}", it.reply().describe()))];
    }
}

/// The first order once more, which is acknowledged each time.
pub(crate) async fn question(stage: &Stage) -> Question {
    match played(stage, MatchCourse::Decided).await {
        Ok(match_run) => again(&match_run.order),
        Err(_) => Question::method("ping", json!({})),
    }
}

/// The answer to the first order.
async fn first(caller: &Caller) -> Records {
    let played = recorded(&caller.stage, MatchCourse::Decided).await?;
    let said = Statement::Reply(played.ack.clone());
    Ok(vec![record_of(&caller.stage, played, said)])
}

/// The answer to the first order once more, with a change.
async fn repeated(caller: &Caller, change: fn(&mut Value)) -> Records {
    let stage = &caller.stage;
    let mut question = again(&played(stage, MatchCourse::Decided).await?.order);
    change(&mut question.params);
    let reply = caller.call(&question).await?;
    tokio::time::sleep(QUIET).await;
    let played = recorded(stage, MatchCourse::Decided).await?;
    Ok(vec![record_of(stage, played, Statement::Reply(reply))])
}

async fn reports_again(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    let match_run = played(stage, MatchCourse::Decided).await?;
    let before = stage.call_count();
    caller.call(&again(&match_run.order)).await?;
    let patience = Duration::from_secs(5);
    let report = stage.manager_hears(before, patience, |call| {
        is_report(call, &match_run.match_id)
    });
    hold!(report.await.is_some(), else "no report came within 5 s")
}

/// Orders a new match, with a change.
async fn ordered(caller: &Caller, change: fn(&mut Value)) -> Result<MatchRun, Trouble> {
    match_run::start(&caller.stage, Some(caller), MatchCourse::Decided, change).await
}

/// The answer to a changed order, and whether a player was invited nevertheless.
async fn refused(caller: &Caller, change: fn(&mut Value)) -> Records {
    let MatchRun {
        ack, order, seats, ..
    } = ordered(caller, change).await?;
    if is_refusal(&ack) {
        tokio::time::sleep(QUIET).await;
    }
    let mut invited = seats.iter().filter(|seat| seat.was_told("GAME_INVITATION"));
    let invited = invited.next().map(|seat| seat.setup.id.clone());
    let record = Record::new(caller.stage.kind, order, ack);
    Ok(vec![record.with("invited", invited)])
}

async fn refused_by_registered(caller: &Caller, change: fn(&mut Value)) -> Records {
    caller.stage.admitted()?;
    refused(caller, change).await
}

/// The answer to attempt 1 at a match while attempt 2 is played.
async fn of_an_earlier_attempt(caller: &Caller) -> Records {
    let second = |order: &mut Value| order["attempt"] = 2.into();
    let match_run = match_run::start(&caller.stage, Some(caller), MatchCourse::Watched, second);
    let match_run = match_run.await?;
    hold!(!is_refusal(&match_run.ack), else "an order with the attempt 2 is refused")?;
    let question = again(&match_run.order).with("attempt", 1);
    let reply = caller.call(&question).await?;
    for seat in &match_run.seats {
        seat.wait("GAME_OVER", QUICK).await;
    }
    Ok(vec![Record::new(caller.stage.kind, question.params, reply)])
}

async fn with_unknown_members(caller: &Caller) -> Records {
    let MatchRun {
        ack, order, seats, ..
    } = ordered(caller, |order| {
        order["weather"] = json!({"sky": "clear", "wind": [1, 2, 3]});
    })
    .await?;
    for seat in seats.iter().filter(|_| !is_refusal(&ack)) {
        seat.wait("GAME_OVER", QUICK).await;
    }
    Ok(vec![Record::new(caller.stage.kind, order, ack)])
}

/// Whether an order was turned down, by an error or in the acknowledgement.
fn is_refusal(reply: &Reply) -> bool {
    reply.is_refusal() || reply.member("accepted") == Some(&false.into())
}

fn is_turned_down(record: &Record) -> Judgement {
    let reply = record.reply();
    hold!(is_refusal(reply), else "it is taken: the answer is {}", reply.describe())
}

fn invites_nobody(record: &Record) -> Judgement {
    let invited = record.fact("invited")?;
    hold!(invited.is_null(), else "it is refused, but {invited} is invited")
}

fn invites_once(record: &Record) -> Judgement {
    record.match_record()?.seats.iter().try_for_each(|seat| {
        let count = seat.told("GAME_INVITATION").count();
        hold!(count <= 1, else "{} was invited {count} times", seat.id)
    })
}
