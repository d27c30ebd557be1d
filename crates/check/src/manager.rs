//! Rules for managers. The check plays the referees and the players of a whole league, which
//! advances as the rules need it: the beginning, then one round after another.

mod admission;
mod fake_member;
mod fixture;
mod queries;
mod reports;
mod rounds;
pub mod season;
mod standings;

use crate::listener::IncomingCall;
use crate::prelude::*;
use crate::shared;
use fake_member::FakeMember;
use season::{LeagueRecord, MemberRecord};

pub fn topics() -> Vec<Topic> {
    let mut topics = vec![admission::topic()];
    topics.extend(shared::topics());
    topics.extend([
        queries::topic(),
        rounds::topic(),
        rounds::order_rules(),
        reports::topic(),
        reports::recovery_rules(),
        rounds::change_rules(),
        standings::topic(),
        standings::end_rules(),
    ]);
    topics
}

const ANSWERED: &[&str] = &["LEAGUE_QUERY_RESPONSE"];

/// A query of the first player about the league.
fn query(stage: &Stage, kind: &str, about: Option<&str>) -> Question {
    let by = stage.league.players().first();
    let (token, sender) = by.map(|by| (by.token(), by.sender())).unwrap_or_default();
    let mut body = json!({
        "auth_token": token, "league_id": stage.league.id(), "query_type": kind,
    });
    if let Some(player) = about {
        body["query_params"] = json!({"player_id": player});
    }
    let conversation = format!("check-{}", kind.to_ascii_lowercase());
    let message = message("LEAGUE_QUERY", &sender, &conversation, body);
    Question::new("league_query", message)
}

fn standings_query(stage: &Stage, _: &Setting) -> Question {
    query(stage, "GET_STANDINGS", None)
}

/// A situation: the first player was admitted.
async fn admitted(caller: &Caller) -> Result<Setting, Trouble> {
    let player = season::player(&caller.stage, 0).await?;
    Ok(Setting::about(player.id()))
}

/// A situation: a player that has not registered yet.
async fn newcomer(name: &str) -> Result<Setting, Trouble> {
    let opened = FakeMember::open(name.to_owned(), false).await;
    let member = opened.map_err(|error| Trouble::skipped(error.to_string()))?;
    let mut setting = Setting::of(member.request().params);
    setting.keep = Some(Box::new(member));
    Ok(setting)
}

/// A record of the league.
fn record_of(stage: &Stage, league: &Arc<LeagueRecord>, said: Statement) -> Record {
    let league = Some(Arc::clone(league));
    Record {
        league,
        ..stage.record(Value::Null, said)
    }
}

/// The whole league once it has begun.
async fn begun_league(caller: &Caller) -> Records {
    let league = season::begun(&caller.stage).await?;
    Ok(vec![record_of(&caller.stage, &league, Statement::Nothing)])
}

/// The whole league once it is over.
async fn played_league(caller: &Caller) -> Records {
    let league = season::played(&caller.stage).await?;
    Ok(vec![record_of(&caller.stage, &league, Statement::Nothing)])
}

/// The record of a call that a member received.
fn call_record(
    stage: &Stage,
    league: &Arc<LeagueRecord>,
    member: &MemberRecord,
    call: &Arc<IncomingCall>,
) -> Record {
    let whom = match member.is_referee {
        true => "a referee",
        false => "a player",
    };
    let said = Statement::Call(Arc::clone(call), whom);
    record_of(stage, league, said).with("receiver", &*member.id)
}

/// Checks that a query succeeded.
fn succeeded(record: &Record) -> Judgement {
    let message = record.message();
    hold!(message["success"] == true,
        else "`success` is {}: {}", message["success"], message["error"])
}
