//! Rules about result reports, who may send them and how often; and about a manager that is killed
//! in the middle of its league and started again.

use serde_json::Value;

use super::fixture::Fixture;
use super::season::{self, first_match, player, referee, snapshot};
use super::{ANSWERED, query, standings_query};
use crate::caller::Caller;
use crate::exchange::{Ask, Change, Setting, Situation, remove};
use crate::record::Expect::{By, LeagueError, Refused, Taken};
use crate::record::{Expect, Record, Statement};
use crate::rule::{Judgement, Pending, Topic, Trouble, hold, rules, seen, steps};
use crate::script::OTHER_OFFSET;
use crate::stage::{Question, Stage};

/// A refusal with this code; another code is forgiven.
const fn code(code: &'static str) -> Expect {
    LeagueError {
        code,
        other_is_forgiven: true,
    }
}

pub(super) fn topic() -> Topic {
    Topic {
        name: "reports",
        rules: rules! {
            "REP-01" Must[30] "000 §4.10.1, ruling 33": "A report without a token is E011"
                => "answer LEAGUE_ERROR E011 if `auth_token` is missing",
                report_with(|call, _| remove(call, &["auth_token"])),
                [Refused("a report without a token"), code("E011")];
            "REP-02" Must[30] "000 §4.10.1, ruling 33": "A report with an invalid token is E012"
                => "answer LEAGUE_ERROR E012 to a token that you did not give",
                report_with(|call, _| call["auth_token"] = "tok-ref01-0123456789".into()),
                [Refused("a report with a wrong token"), code("E012")];
            "REP-03" Must[30] "ruling 34": "A report of a player is E012"
                => "believe results from referees alone",
                report_with(by_a_player), [Refused("a report of a player"), code("E012")];
            "REP-04" Must[30] "ruling 34": "A report of a referee that does not run the match is refused"
                => "believe a result only from the referee that has the match",
                report(|caller| Box::pin(by_another(caller))),
                [Refused("a report of another referee"), code("E006")];
            "REP-05" Must[30] "ruling 34": "A report of a match that does not exist is E006"
                => "answer LEAGUE_ERROR E006 to an unknown match",
                report_with(|call, _| call["match_id"] = "R77M7".into()),
                [Refused("a report of no match"), code("E006")];
            "REP-06" Must[30] "ruling 34": "A report of a match of a later round is refused"
                => "take results of matches that were begun, and of no others",
                report(|caller| Box::pin(of_the_next_round(caller))), [Refused("a report of the next round")];
            "REP-07" Must[30] "000 §4.12.1": "A report without a match is refused"
                => "answer E003 if `match_id` is missing",
                report_with(|call, _| remove(call, &["match_id"])),
                [Refused("a report without a match"), code("E003")];
            "REP-08" Must[30] "000 §4.12.1": "A report without a result is refused"
                => "answer E003 if `result` is missing",
                report_with(|call, _| remove(call, &["result"])),
                [Refused("a report without a result"), code("E003")];
            "REP-09" Must[30] "000 §2.4.2": "A report whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset",
                report_with(|call, _| call["timestamp"] = OTHER_OFFSET.into()),
                [Refused("a time with another offset"), code("E021")];
            "REP-10" Must[30] "000 §4.6.2": "The report of the right referee is acknowledged"
                => "answer the tool `report_match_result` with any result", seen!(first_report()), [Taken];
            "REP-11" Must[30] "ruling 26": "The same report again is acknowledged"
                => "answer a repeated report as before, and count it once",
                report(|caller| Box::pin(after_the_report(caller))), [Taken];
            "REP-12" Must[30] "ruling 26": "A report that contradicts the first is refused"
                => "keep the first result, and answer E007 to another one",
                report(|caller| Box::pin(contradicting(caller))),
                [Refused("another result of the same match"), code("E007")];
            "REP-13" Must[30] "ruling 26": "None of this counts twice"
                => "count each match once",
                Ask::new(|caller| Box::pin(reported_twice(caller)), standings_query), [By(counts_it_once)];
        },
    }
}

pub(super) fn recovery_rules() -> Topic {
    Topic {
        name: "recovery",
        rules: rules! {
            "BACK-01" Must[60] "ruling 30": "A manager that was killed and started again knows the table"
                => "write results to disk before you acknowledge them", steps!(remembers_the_table);
            "BACK-02" Must[60] "ruling 30": "The tokens that it gave are still good"
                => "keep the tokens, or their hashes, on disk", steps!(remembers_tokens);
            "BACK-03" Must[60] "ruling 26": "A report from before is acknowledged once more"
                => "keep results where they survive a restart", steps!(remembers_reports);
        },
    }
}

/// A report in a situation that prepared it.
fn report(situation: Situation) -> Ask {
    Ask::new(situation, |_, at| {
        Question::new("report_match_result", at.value.clone())
    })
}

fn report_with(change: Change) -> Ask {
    report(first).with(change)
}

/// A situation: the first match may be reported.
fn first(caller: &Caller) -> Pending<'_, Result<Setting, Trouble>> {
    Box::pin(async { right(caller).await.map(|(_, at)| at) })
}

/// The first match, and a correct report of it.
async fn right(caller: &Caller) -> Result<(Fixture, Setting), Trouble> {
    let stage = &caller.stage;
    let fixture = first_match(stage).await?;
    let by = referee(stage, fixture.referee).await?;
    player(stage, 0).await?;
    let report = fixture.report(&stage.league.id(), by, fixture.result());
    let at = Setting {
        subject: fixture.match_id.clone(),
        value: report.params,
        keep: None,
    };
    Ok((fixture, at))
}

fn by_a_player(call: &mut Value, stage: &Stage) {
    if let Some(player) = stage.league.players().first() {
        call["sender"] = player.sender().into();
        call["auth_token"] = player.token().into();
    }
}

async fn by_another(caller: &Caller) -> Result<Setting, Trouble> {
    let (fixture, mut at) = right(caller).await?;
    let mut referees = caller.stage.league.referees().iter().enumerate();
    let other = referees.find(|(place, _)| *place != fixture.referee);
    let Some((_, other)) = other else {
        return Err(Trouble::skipped("there is only one referee", ""));
    };
    at.value["sender"] = other.sender().into();
    at.value["auth_token"] = other.token().into();
    Ok(at)
}

async fn of_the_next_round(caller: &Caller) -> Result<Setting, Trouble> {
    if snapshot(&caller.stage).rounds() < 2 {
        return Err(Trouble::skipped("the league has one round", ""));
    }
    let (_, mut at) = right(caller).await?;
    at.value["match_id"] = "R2M1".into();
    at.value["round_id"] = 2.into();
    Ok(at)
}

/// Reports the first match, once; returns the answer.
async fn first_report(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let stage = &caller.stage;
    let (fixture, at) = right(caller).await?;
    let replies = snapshot(stage).season.replies;
    let reply = match replies.get(&fixture.match_id) {
        Some(reply) => reply.clone(),
        None => season::report(stage, &fixture).await?,
    };
    let said = Statement::Reply(reply);
    Ok(vec![Record::new(stage.kind, at.value, said)])
}

/// A situation: the first match was reported, and its report was taken.
async fn after_the_report(caller: &Caller) -> Result<Setting, Trouble> {
    for record in first_report(caller).await? {
        record.note(caller);
        Taken.judge(&record)?;
    }
    right(caller).await.map(|(_, at)| at)
}

/// A situation: the first match was reported, and a different result of it is sent.
async fn contradicting(caller: &Caller) -> Result<Setting, Trouble> {
    let mut at = after_the_report(caller).await?;
    let (fixture, _) = right(caller).await?;
    let [first, second] = &fixture.players;
    let other = match fixture.outcome().winner {
        Some(0) => second,
        _ => first,
    };
    let result = &mut at.value["result"];
    result["winner"] = other.as_str().into();
    for player in &fixture.players {
        result["score"][player] = if player == other { 3.into() } else { 0.into() };
    }
    result["details"]["status"] = "WIN".into();
    Ok(at)
}

/// A situation: the first match was reported twice; the subject is its players.
async fn reported_twice(caller: &Caller) -> Result<Setting, Trouble> {
    let at = after_the_report(caller).await?;
    let again = Question::new("report_match_result", at.value);
    caller.call(&again).await?;
    let (fixture, _) = right(caller).await?;
    Ok(Setting::about(fixture.players.join(" ")))
}

fn counts_it_once(record: &Record) -> Judgement {
    record.reply()?.needed()?;
    let rows = record.member("data.standings").as_array();
    let rows = rows.ok_or_else(|| Trouble::skipped("no table was told, see QRY-04", ""))?;
    let players = record.fact("subject")?.as_str().unwrap_or_default();
    rows.iter().try_for_each(|row| {
        let (played, id) = (&row["played"], row["player_id"].as_str());
        let took_part = players.split(' ').any(|player| id == Some(player));
        hold(*played == u64::from(took_part), || {
            format!("{} has played {played} matches", row["player_id"])
        })
    })
}

/// Kills the manager and starts it again.
async fn restarted(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    let Some(launched) = &stage.launched else {
        return Err(Trouble::skipped(
            "the manager was not started by the check",
            "let `--launch \"COMMAND\"` start it",
        ));
    };
    launched.end().await;
    let started = launched.start();
    started.map_err(|error| Trouble::broken(format!("it cannot be started again: {error}")))?;
    hold(stage.comes_up().await, || {
        format!("no connection within {:?}", stage.wait)
    })
}

async fn table(caller: &Caller) -> Result<Value, Trouble> {
    player(&caller.stage, 0).await?;
    let question = query(&caller.stage, "GET_STANDINGS", None);
    let reply = caller.call(&question).await?;
    Ok(reply.of_kind(ANSWERED)?["data"]["standings"].clone())
}

async fn remembers_the_table(caller: &Caller) -> Judgement {
    after_the_report(caller).await?;
    let before = table(caller).await?;
    restarted(caller).await?;
    hold(table(caller).await? == before, || {
        "the table is another one after the restart".to_owned()
    })
}

async fn remembers_tokens(caller: &Caller) -> Judgement {
    after_the_report(caller).await?;
    restarted(caller).await?;
    table(caller).await.map(drop)
}

async fn remembers_reports(caller: &Caller) -> Judgement {
    let at = after_the_report(caller).await?;
    restarted(caller).await?;
    let question = Question::new("report_match_result", at.value);
    let reply = caller.call(&question).await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}
