//! Rules about reports of results: whose word counts, and how often.

use serde_json::Value;

use super::fixture::Fixture;
use super::{ManagerStage, OfManager};
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "reports",
        rules: rules! {
            "REP-01" Must "000 §4.10.1, ruling 33": "A report without a token is E011"
                => "answer LEAGUE_ERROR E011 if `auth_token` is missing", no_token, 30;
            "REP-02" Must "000 §4.10.1, ruling 33": "A report with a token that is none is E012"
                => "answer LEAGUE_ERROR E012 to a token that you did not give", wrong_token, 30;
            "REP-03" Must "ruling 34": "A report of a player is E012"
                => "believe results from referees alone", of_player, 30;
            "REP-04" Must "ruling 34": "A report of a referee that does not run the match is refused"
                => "believe a result only from the referee that has the match", of_another, 30;
            "REP-05" Must "ruling 34": "A report of a match that does not exist is E006"
                => "answer LEAGUE_ERROR E006 to an unknown match", unknown_match, 30;
            "REP-06" Must "ruling 34": "A report of a match of a later round is refused"
                => "take results of matches that were begun, and of no others", too_early, 30;
            "REP-07" Must "000 §4.12.1": "A report without a match is refused"
                => "answer E003 if `match_id` is missing", no_match, 30;
            "REP-08" Must "000 §4.12.1": "A report without a result is refused"
                => "answer E003 if `result` is missing", no_result, 30;
            "REP-09" Must "000 §2.4.2": "A report whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset", offset, 30;
            "REP-10" Must "000 §4.6.2": "The report of the right referee is acknowledged"
                => "answer the tool `report_match_result` with any result", taken, 30;
            "REP-11" Must "ruling 26": "The same report again is acknowledged"
                => "answer a repeated report as before, and count it once", repeated, 30;
            "REP-12" Must "ruling 26": "A report that contradicts the first is refused"
                => "keep the first result, and answer E007 to another one", contradicted, 30;
            "REP-13" Must "ruling 26": "None of this counts twice"
                => "count each match once", counted_once, 30;
        },
    }
}

/// The report of the first match as it should be, and the match.
async fn right(act: &OfManager) -> Result<(Fixture, Question), Trouble> {
    let fixture = act.stage.first_match().await?;
    let by = act.stage.referee(fixture.referee).await?;
    let league = act.stage.league().await?;
    let question = fixture.report(&league, by, fixture.result());
    Ok((fixture, question))
}

/// Sees that a changed report is refused; gives the refusal.
async fn refused(
    act: &OfManager,
    what: &str,
    change: impl FnOnce(&mut Value),
) -> Result<Reply, Trouble> {
    let (_, mut question) = right(act).await?;
    change(&mut question.params);
    let reply = act.call(&question).await?;
    reply.refused(what)?;
    Ok(reply)
}

fn code(reply: &Reply, wanted: &str) -> Played {
    if reply.league_error() == Some(wanted) {
        return Ok(());
    }
    let found = format!(
        "it is refused with {} instead of {wanted}",
        reply.describe()
    );
    Err(Trouble::forgiven(found))
}

fn without(message: &mut Value, name: &str) {
    if let Some(members) = message.as_object_mut() {
        members.remove(name);
    }
}

async fn no_token(act: &OfManager) -> Played {
    let change = |message: &mut Value| without(message, "auth_token");
    code(
        &refused(act, "a report without a token", change).await?,
        "E011",
    )
}

async fn wrong_token(act: &OfManager) -> Played {
    let change = |message: &mut Value| message["auth_token"] = "tok-ref01-0123456789".into();
    code(
        &refused(act, "a report with a wrong token", change).await?,
        "E012",
    )
}

async fn of_player(act: &OfManager) -> Played {
    let player = act.stage.player(0).await?;
    let change = |message: &mut Value| {
        message["sender"] = player.sender().into();
        message["auth_token"] = player.token().into();
    };
    code(&refused(act, "a report of a player", change).await?, "E012")
}

async fn of_another(act: &OfManager) -> Played {
    let fixture = act.stage.first_match().await?;
    let company = act.stage.company().await?;
    let others = company.referees.iter().enumerate();
    let mut others = others.filter(|(place, _)| *place != fixture.referee);
    let Some((_, other)) = others.next() else {
        return Err(Trouble::skipped("there is only one referee", ""));
    };
    let change = |message: &mut Value| {
        message["sender"] = other.sender().into();
        message["auth_token"] = other.token().into();
    };
    code(
        &refused(act, "a report of another referee", change).await?,
        "E006",
    )
}

async fn unknown_match(act: &OfManager) -> Played {
    let change = |message: &mut Value| message["match_id"] = "R77M7".into();
    code(&refused(act, "a report of no match", change).await?, "E006")
}

async fn too_early(act: &OfManager) -> Played {
    if act.stage.rounds() < 2 {
        return Err(Trouble::skipped("the league has one round", ""));
    }
    let change = |message: &mut Value| {
        message["match_id"] = "R2M1".into();
        message["round_id"] = 2.into();
    };
    refused(act, "a report of the next round", change)
        .await
        .map(drop)
}

async fn no_match(act: &OfManager) -> Played {
    let change = |message: &mut Value| without(message, "match_id");
    code(
        &refused(act, "a report without a match", change).await?,
        "E003",
    )
}

async fn no_result(act: &OfManager) -> Played {
    let change = |message: &mut Value| without(message, "result");
    code(
        &refused(act, "a report without a result", change).await?,
        "E003",
    )
}

async fn offset(act: &OfManager) -> Played {
    let change = |message: &mut Value| {
        message["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    };
    code(
        &refused(act, "a time with another offset", change).await?,
        "E021",
    )
}

/// The first match, reported once and for all.
pub(super) async fn reported(act: &OfManager) -> Result<(Fixture, Question), Trouble> {
    let (fixture, question) = right(act).await?;
    let done = act.stage.season().outcomes.contains_key(&fixture.match_id);
    if !done {
        let reply = act.stage.report(&fixture).await?;
        act.note(reply.exchange.clone());
        hold(!reply.is_refusal(), || {
            format!("the answer is {}", reply.describe())
        })?;
    }
    Ok((fixture, question))
}

async fn taken(act: &OfManager) -> Played {
    reported(act).await.map(drop)
}

async fn repeated(act: &OfManager) -> Played {
    let (_, question) = reported(act).await?;
    let reply = act.call(&question).await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}

async fn contradicted(act: &OfManager) -> Played {
    let (fixture, mut question) = reported(act).await?;
    let [first, second] = &fixture.players;
    let other = match fixture.outcome().winner {
        Some(0) => second,
        _ => first,
    };
    let result = &mut question.params["result"];
    result["winner"] = other.as_str().into();
    for player in &fixture.players {
        result["score"][player] = if player == other { 3.into() } else { 0.into() };
    }
    result["details"]["status"] = "WIN".into();
    let reply = act.call(&question).await?;
    reply.refused("another result of the same match")?;
    code(&reply, "E007")
}

async fn counted_once(act: &OfManager) -> Played {
    let (fixture, question) = reported(act).await?;
    act.call(&question).await?;
    let league = act.stage.league().await?;
    let player = act.stage.player(0).await?;
    let query = act.stage.query(player, &league, "GET_STANDINGS", None);
    let reply = act.call(&query).await?;
    let told = reply.needed()?;
    let rows = told["data"]["standings"].as_array().cloned();
    let rows = rows.ok_or_else(|| Trouble::skipped("no table was told, see QRY-04", ""))?;
    for row in rows {
        let played = &row["played"];
        let took_part = fixture.players.iter().any(|id| row["player_id"] == **id);
        hold(*played == u64::from(took_part), || {
            format!("{} has played {played} matches", row["player_id"])
        })?;
    }
    Ok(())
}
