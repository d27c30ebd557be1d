//! Rules about the manager's order to run a match: START_MATCH and its answer.

use std::time::Duration;

use serde_json::{Value, json};

use super::bout::{Bout, Plot};
use super::seat::Seat;
use super::{OfReferee, RefereeStage, again};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// How long nobody may be invited to a match that was refused.
const QUIET: Duration = Duration::from_millis(700);

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "orders",
        rules: rules! {
            "ORD-01" Should "ruling 4": "An order is answered with START_MATCH_ACK, and taken"
                => "answer the tool `start_match` with START_MATCH_ACK and `accepted` true", taken;
            "ORD-02" Should "ruling 4": "The acknowledgement names the match"
                => "copy `match_id` from the order", names_match;
            "ORD-03" Must "000 §2.4.1": "The acknowledgement has a whole envelope"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`", enveloped;
            "ORD-04" Must "000 §2.4.1": "The acknowledgement is in the conversation of the order"
                => "copy `conversation_id` from the order", conversation;
            "ORD-05" Should "ruling 39": "The same order again is acknowledged, and nobody is invited twice"
                => "remember the matches that you run, and answer a repeated order as before", repeated;
            "ORD-06" Should "ruling 39": "An order for a match that is over brings its report again"
                => "report the result once more if the manager orders a match that is over", told_again;
            "ORD-07" Should "ruling 39": "The same match with other players is refused"
                => "compare a repeated order with the first one", different;
            "ORD-08" Should "ruling 39": "An order for an earlier attempt is refused"
                => "compare `attempt` with that of the match that you have", older;
            "ORD-09" Must "000 §4.1.1": "An order for a game that the referee does not know is refused"
                => "answer `accepted` false to games that you did not register for", unknown_game;
            "ORD-10" Should "ruling 39": "An order for another league is refused"
                => "compare `league_id` with the league that let you in", other_league;
            "ORD-11" Should "ruling 39": "An order for a player against itself is refused"
                => "compare the two players of an order", one_player;
            "ORD-12" Must "000 §4.12.1": "An order without a match is refused"
                => "answer E003 if `match_id` is missing", no_match;
            "ORD-13" Should "000 §2.4.2": "An order whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset", offset;
            "ORD-14" Should "ruling 45": "An order without the manager's token is refused"
                => "keep `manager_token` from the registration, and want to see it", no_token;
            "ORD-15" Should "ruling 45": "An order with another token is refused"
                => "keep `manager_token` from the registration, and want to see it", wrong_token;
            "ORD-16" Should "ruling 13": "Unknown members of an order are passed over"
                => "ignore members that you do not know", extra;
        },
    }
}

async fn first(act: &OfReferee) -> Result<std::sync::Arc<Bout>, Trouble> {
    let bout = act.stage.bout(Plot::Decided).await?;
    act.note(bout.ack.exchange.clone());
    Ok(bout)
}

async fn taken(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    let ack = bout.ack.of_kind(&["START_MATCH_ACK"])?;
    hold(ack["accepted"] == true, || {
        format!(
            "`accepted` is {}, because {}",
            ack["accepted"], ack["reason"]
        )
    })
}

async fn names_match(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    envelope::repeated(&bout.order, bout.ack.needed()?, "match_id")
}

async fn enveloped(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    let ack = bout.ack.needed()?;
    envelope::protocol(ack)?;
    envelope::time(ack, "timestamp", false)?;
    let id = act.stage.admitted()?.id;
    envelope::is(ack, "sender", &format!("referee:{id}"))
}

async fn conversation(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    envelope::conversation(&bout.order, bout.ack.needed()?)
}

async fn repeated(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    let reply = act.call(&again(&bout.order)).await?;
    let ack = reply.of_kind(&["START_MATCH_ACK"])?;
    hold(ack["accepted"] == true, || {
        "the repeated order is refused".to_owned()
    })?;
    tokio::time::sleep(QUIET).await;
    for seat in &bout.seats {
        let count = seat.told("GAME_INVITATION").len();
        hold(count <= 1, || {
            format!("{} was invited {count} times", seat.part.id)
        })?;
    }
    Ok(())
}

async fn told_again(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    let listener = &act.stage.office.listener;
    let before = listener.count();
    act.call(&again(&bout.order)).await?;
    let report = listener.wait(before, Duration::from_secs(5), |heard| {
        heard.kind() == "MATCH_RESULT_REPORT" && heard.message()["match_id"] == *bout.match_id
    });
    let report = report.await;
    hold(report.is_some(), || "no report came within 5 s".to_owned())
}

/// An order for a new match that is changed before it is sent.
async fn changed(
    act: &OfReferee,
    change: impl FnOnce(&mut Value),
) -> Result<(Reply, Value, [Seat; 2]), Trouble> {
    act.stage.takes_orders()?;
    let seats = act.stage.seats(Plot::Decided).await?;
    let mut order = act.stage.order(&act.stage.next_match(), &seats);
    change(&mut order);
    let question = Question::new("start_match", order);
    let reply = act.call(&question).await?;
    Ok((reply, question.params, seats))
}

/// Whether an order was turned down, by a refusal or in the acknowledgement.
fn is_turned_down(reply: &Reply) -> bool {
    let ack = reply.result().unwrap_or(&Value::Null);
    reply.is_refusal() || ack["accepted"] == false
}

/// Sees that a changed order is turned down and that nobody is invited.
async fn refused(
    act: &OfReferee,
    what: &str,
    change: impl FnOnce(&mut Value),
) -> Result<Reply, Trouble> {
    let (reply, _, seats) = changed(act, change).await?;
    hold(is_turned_down(&reply), || {
        format!("{what} is taken: the answer is {}", reply.describe())
    })?;
    tokio::time::sleep(QUIET).await;
    for seat in &seats {
        hold(seat.told("GAME_INVITATION").is_empty(), || {
            format!("{what} is refused, but {} is invited", seat.part.id)
        })?;
    }
    Ok(reply)
}

/// Sees that a refusal names a code.
fn code(reply: &Reply, wanted: &str) -> Played {
    hold(reply.league_error() == Some(wanted), || {
        format!("the refusal is {} instead of {wanted}", reply.describe())
    })
}

async fn different(act: &OfReferee) -> Played {
    let bout = first(act).await?;
    let mut order = again(&bout.order);
    order.params["players"][1]["player_id"] = "P88".into();
    let reply = act.call(&order).await?;
    hold(is_turned_down(&reply), || {
        format!("the answer is {}", reply.describe())
    })
}

async fn older(act: &OfReferee) -> Played {
    let (reply, ordered, seats) = changed(act, |order| order["attempt"] = 2.into()).await?;
    hold(!is_turned_down(&reply), || {
        "an order with the attempt 2 is refused".to_owned()
    })?;
    for seat in &seats {
        seat.wait("GAME_OVER", Duration::from_secs(8)).await;
    }
    let mut order = again(&ordered);
    order.params["attempt"] = 1.into();
    let reply = act.call(&order).await?;
    hold(is_turned_down(&reply), || {
        "the attempt 1 is taken after the attempt 2".to_owned()
    })
}

async fn unknown_game(act: &OfReferee) -> Played {
    let change = |order: &mut Value| order["game_type"] = "three_body_chess".into();
    refused(act, "an unknown game", change).await.map(drop)
}

async fn other_league(act: &OfReferee) -> Played {
    let change = |order: &mut Value| order["league_id"] = "another_league".into();
    refused(act, "another league", change).await.map(drop)
}

async fn one_player(act: &OfReferee) -> Played {
    let change = |order: &mut Value| order["players"][1] = order["players"][0].clone();
    refused(act, "a match of one player", change)
        .await
        .map(drop)
}

fn without(order: &mut Value, name: &str) {
    if let Some(members) = order.as_object_mut() {
        members.remove(name);
    }
}

async fn no_match(act: &OfReferee) -> Played {
    let reply = refused(act, "an order without a match", |order| {
        without(order, "match_id");
    });
    code(&reply.await?, "E003").map_err(as_deviation)
}

async fn offset(act: &OfReferee) -> Played {
    let reply = refused(act, "a time with another offset", |order| {
        order["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    });
    code(&reply.await?, "E021")
}

async fn no_token(act: &OfReferee) -> Played {
    act.stage.admitted()?;
    let reply = refused(act, "an order without a token", |order| {
        without(order, "auth_token");
    });
    code(&reply.await?, "E011")
}

async fn wrong_token(act: &OfReferee) -> Played {
    act.stage.admitted()?;
    let reply = refused(act, "an order with a wrong token", |order| {
        order["auth_token"] = "tok-manager-0123456789abcdef".into();
    });
    code(&reply.await?, "E012")
}

async fn extra(act: &OfReferee) -> Played {
    let (reply, _, seats) = changed(act, |order| {
        order["weather"] = json!({"sky": "clear", "wind": [1, 2, 3]});
    })
    .await?;
    hold(!is_turned_down(&reply), || {
        format!("the answer is {}", reply.describe())
    })?;
    for seat in &seats {
        seat.wait("GAME_OVER", Duration::from_secs(8)).await;
    }
    Ok(())
}

/// A refusal by another code is a refusal all the same.
fn as_deviation(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Broken(evidence) => Trouble::Forgiven(evidence),
        other => other,
    }
}
