//! Rules about questions to the manager, and about who may ask them.

use serde_json::Value;

use super::{ManagerStage, OfManager};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "queries and tokens",
        rules: rules! {
            "QRY-01" Must "000 §4.9.2": "A query is answered with LEAGUE_QUERY_RESPONSE"
                => "answer the tool `league_query` with LEAGUE_QUERY_RESPONSE", answers;
            "QRY-02" Must "000 §2.4.1": "The answer has a whole envelope, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`", enveloped;
            "QRY-03" Must "000 §4.9.2": "The answer repeats the kind of query and says whether it succeeded"
                => "set `query_type` and `success`", shape;
            "QRY-04" Must "000 §4.9.1": "GET_STANDINGS tells the table with every player in it"
                => "set `data.standings` to a list with a row for each player", standings;
            "QRY-05" Must "000 §4.9.1": "GET_PLAYER_STATS of a player succeeds"
                => "answer GET_PLAYER_STATS with `success` true", stats;
            "QRY-06" Must "ruling 11": "A query about an unknown player fails, and says so"
                => "answer `success` false and `error`", unknown_player;
            "QRY-07" Must "000 §4.10.1": "An unknown kind of query is refused"
                => "answer E002 to a `query_type` that there is not", unknown_kind;
            "QRY-08" Must "000 §4.10.1, ruling 33": "A query without a token is E011"
                => "answer LEAGUE_ERROR E011 if `auth_token` is missing", no_token;
            "QRY-09" Must "000 §4.10.1, ruling 33": "A query with a token that is none is E012"
                => "answer LEAGUE_ERROR E012 to a token that you did not give", wrong_token;
            "QRY-10" Must "ruling 33": "A query with the token of somebody else is E012"
                => "compare the token with that of the sender", borrowed;
            "QRY-11" Should "ruling 33": "A query of a player that nobody knows is E005"
                => "answer LEAGUE_ERROR E005 to an unknown `player:` in `sender`", stranger;
            "QRY-12" Should "ruling 33": "A query of a referee that nobody knows is E013"
                => "answer LEAGUE_ERROR E013 to an unknown `referee:` in `sender`", strange_referee;
            "QRY-13" Must "000 §2.4.2": "A query whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset", offset;
            "QRY-14" Must "ruling 11": "No refusal repeats a token in full"
                => "write `tok-p01-…` instead of the whole token", masked;
            "QRY-15" Must "000 §4.10.1": "A refusal names its code, its name and what it refuses"
                => "set `error_code`, `error_description` and `original_message_type`", error_shape;
            "QRY-16" Should "ruling 23": "get_standings is answered without a token"
                => "answer the tool `get_standings` to anyone", public;
            "QRY-17" Should "ruling 33": "Only an administrator starts the league"
                => "answer `start_league` without the administrator's token with E011 or E012", start;
        },
    }
}

async fn query(act: &OfManager, kind: &str, about: Option<&str>) -> Result<Question, Trouble> {
    let player = act.stage.player(0).await?;
    let league = act.stage.league().await?;
    Ok(act.stage.query(player, &league, kind, about))
}

async fn asked(act: &OfManager, kind: &str, about: Option<&str>) -> Result<Reply, Trouble> {
    act.call(&query(act, kind, about).await?).await
}

async fn answers(act: &OfManager) -> Played {
    let reply = asked(act, "GET_STANDINGS", None).await?;
    reply.of_kind(&["LEAGUE_QUERY_RESPONSE"]).map(drop)
}

async fn enveloped(act: &OfManager) -> Played {
    let question = query(act, "GET_STANDINGS", None).await?;
    let reply = act.call(&question).await?;
    let message = reply.needed()?;
    envelope::protocol(message)?;
    envelope::time(message, "timestamp", false)?;
    envelope::is(message, "sender", "league_manager")?;
    envelope::conversation(&question.params, message)
}

async fn shape(act: &OfManager) -> Played {
    let reply = asked(act, "GET_STANDINGS", None).await?;
    let message = reply.needed()?;
    envelope::is(message, "query_type", "GET_STANDINGS")?;
    hold(message["success"].is_boolean(), || {
        format!("`success` is {}", message["success"])
    })
}

/// The answer to a query that must succeed.
async fn succeeds(act: &OfManager, kind: &str, about: Option<&str>) -> Result<Value, Trouble> {
    let reply = asked(act, kind, about).await?;
    let message = reply.of_kind(&["LEAGUE_QUERY_RESPONSE"])?;
    hold(message["success"] == true, || {
        format!("`success` is {}: {}", message["success"], message["error"])
    })?;
    Ok(message["data"].clone())
}

async fn standings(act: &OfManager) -> Played {
    let known = act.stage.player(0).await?.id();
    let told = succeeds(act, "GET_STANDINGS", None).await?;
    let rows = told["standings"].as_array();
    let found = rows.is_some_and(|rows| rows.iter().any(|row| row["player_id"] == *known));
    hold(found, || format!("there is no row for {known}"))
}

async fn stats(act: &OfManager) -> Played {
    let known = act.stage.player(0).await?.id();
    succeeds(act, "GET_PLAYER_STATS", Some(&known))
        .await
        .map(drop)
}

async fn unknown_player(act: &OfManager) -> Played {
    let reply = asked(act, "GET_PLAYER_STATS", Some("P98")).await?;
    let message = reply.needed()?;
    if reply.league_error().is_some() {
        return Err(Trouble::forgiven("a LEAGUE_ERROR came instead"));
    }
    hold(
        message["success"] == false && !message["error"].is_null(),
        || format!("`success` is {}", message["success"]),
    )
}

async fn unknown_kind(act: &OfManager) -> Played {
    let reply = asked(act, "GET_WEATHER", None).await?;
    let failed = reply.member("success") == Some(&Value::from(false));
    hold(failed || reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}

/// Sees that a changed query is refused with a code.
async fn refused(
    act: &OfManager,
    wanted: &str,
    change: impl FnOnce(&mut Value),
) -> Result<Reply, Trouble> {
    let mut question = query(act, "GET_STANDINGS", None).await?;
    change(&mut question.params);
    let reply = act.call(&question).await?;
    hold(reply.league_error() == Some(wanted), || {
        format!("the answer is {} instead of {wanted}", reply.describe())
    })?;
    Ok(reply)
}

fn without_token(message: &mut Value) {
    if let Some(members) = message.as_object_mut() {
        members.remove("auth_token");
    }
}

async fn no_token(act: &OfManager) -> Played {
    refused(act, "E011", without_token).await.map(drop)
}

async fn wrong_token(act: &OfManager) -> Played {
    let change = |message: &mut Value| message["auth_token"] = "tok-p01-0123456789".into();
    refused(act, "E012", change).await.map(drop)
}

async fn borrowed(act: &OfManager) -> Played {
    let token = act.stage.referee(0).await?.token();
    let change = |message: &mut Value| message["auth_token"] = token.into();
    refused(act, "E012", change).await.map(drop)
}

async fn stranger(act: &OfManager) -> Played {
    let change = |message: &mut Value| message["sender"] = "player:P98".into();
    refused(act, "E005", change).await.map(drop)
}

async fn strange_referee(act: &OfManager) -> Played {
    let change = |message: &mut Value| message["sender"] = "referee:REF98".into();
    refused(act, "E013", change).await.map(drop)
}

async fn offset(act: &OfManager) -> Played {
    let change = |message: &mut Value| {
        message["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    };
    refused(act, "E021", change).await.map(drop)
}

async fn masked(act: &OfManager) -> Played {
    let token = act.stage.referee(0).await?.token();
    let mut question = query(act, "GET_STANDINGS", None).await?;
    question.params["auth_token"] = token.clone().into();
    let reply = act.call(&question).await?;
    let text = reply.exchange.came.as_ref().map(|answer| answer.text());
    hold(!text.unwrap_or_default().contains(&token), || {
        "the token that was shown is in the answer".to_owned()
    })
}

async fn error_shape(act: &OfManager) -> Played {
    let mut question = query(act, "GET_STANDINGS", None).await?;
    without_token(&mut question.params);
    let reply = act.call(&question).await?;
    let message = reply.of_kind(&["LEAGUE_ERROR"])?;
    for name in ["error_code", "error_description", "original_message_type"] {
        envelope::text(message, name)?;
    }
    envelope::is(message, "sender", "league_manager")?;
    envelope::time(message, "timestamp", false)
}

async fn public(act: &OfManager) -> Played {
    let reply = act
        .call(&Question::new("get_standings", serde_json::json!({})))
        .await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}

async fn start(act: &OfManager) -> Played {
    let token = act.stage.player(0).await?.token();
    let says = serde_json::json!({"auth_token": token});
    let reply = act.call(&Question::new("start_league", says)).await?;
    if reply.rpc_error() == Some(-32_601) {
        return Err(Trouble::skipped("the manager has no `start_league`", ""));
    }
    reply.refused("`start_league` of a player")
}
