//! Rules about invitations: GAME_INVITATION and its answer, GAME_JOIN_ACK.

use serde_json::{Value, json};

use super::{JOIN, OfPlayer, PlayerStage};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::script::now;
use crate::script::utc;
use crate::stage::Question;

/// How far the clock of a player may be off.
const CLOCK_MAY_BE_OFF: i64 = 120_000;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "invitation",
        rules: rules! {
            "JOIN-01" Must "000 §4.4.2": "An invitation is answered with GAME_JOIN_ACK"
                => "answer the tool `handle_game_invitation` with a GAME_JOIN_ACK", answers;
            "JOIN-02" Must "000 §4.12.2": "`accept` is true"
                => "set `accept` to the boolean true", accepts;
            "JOIN-03" Must "000 §4.12.1": "The answer names the match of the invitation"
                => "copy `match_id` from the invitation", names_match;
            "JOIN-04" Must "000 §4.12.1": "The answer names the player"
                => "set `player_id` to the id from the registration", names_player;
            "JOIN-05" Must "000 §4.4.2, §2.4.2": "The time of arrival is in UTC"
                => "set `arrival_timestamp` to a time such as 2025-01-15T10:30:00Z", arrival;
            "JOIN-06" Must "000 §2.7": "The answer comes within 5 seconds"
                => "answer invitations at once, and think later", in_time, 12;
            "JOIN-07" Must "000 §2.4.1": "The answer names the protocol"
                => "set `protocol` to league.v2", protocol;
            "JOIN-08" Must "000 §2.4.4": "The sender of the answer is player:ID"
                => "set `sender` to `player:` and the id from the registration", sender;
            "JOIN-09" Must "000 §2.4.2": "The time of the answer is in UTC"
                => "set `timestamp` to a time such as 2025-01-15T10:30:00Z", time;
            "JOIN-10" Must "000 §2.4.1": "The answer is in the conversation of the invitation"
                => "copy `conversation_id` from the invitation", conversation;
            "JOIN-11" Must "000 §2.4.5": "The answer shows the player's token"
                => "put the `auth_token` from the registration into every message", token;
            "JOIN-12" Must "ruling 43": "The same invitation again gets the same answer"
                => "answer a repeated invitation as before", again;
            "JOIN-13" Must "000 §4.4.1": "The player comes in either role"
                => "take PLAYER_A and PLAYER_B alike", roles;
            "JOIN-14" Should "000 §4.4.1": "An invitation to a game that the player does not play is refused"
                => "compare `game_type` with what you registered, and decline", unknown_game;
            "JOIN-15" Should "000 §4.12.1": "An invitation without a match is refused"
                => "answer E003 if `match_id` is missing", no_match;
            "JOIN-16" Should "000 §2.4.2": "An invitation whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset", offset;
            "JOIN-17" Should "000 §2.4.2": "The clock of the player is right"
                => "take the time from the system's clock, in UTC", clock_is_right;
            kind "JOIN-18" Must "ruling 13": "Unknown members of an invitation are passed over"
                => "ignore members that you do not know", extra;
            "JOIN-19" Should "ruling 13": "Members that may be absent may be null"
                => "read null as absent", nulls;
            kind "JOIN-20" Should "001 GAME_INVITATION": "An invitation in the spelling of 001 is understood"
                => "read `role` for `role_in_match`, and ROUND_1 for 1", api;
            kind "JOIN-21" Should "000 §2.10.2": "An invitation with less than the whole envelope is understood"
                => "need no more than `match_id`, `game_type` and `opponent_id`", bare;
        },
    }
}

/// An invitation that was answered as it should be.
struct Joined {
    asked: Value,
    reply: Reply,
}

impl Joined {
    fn message(&self) -> &Value {
        self.reply.result().unwrap_or(&Value::Null)
    }
}

async fn joined(act: &OfPlayer) -> Result<Joined, Trouble> {
    let match_id = act.stage.open_match().await;
    invited(act, act.stage.invitation(&match_id)).await
}

async fn invited(act: &OfPlayer, question: Question) -> Result<Joined, Trouble> {
    let reply = act.call(&question).await?;
    reply.of_kind(&["GAME_JOIN_ACK"])?;
    Ok(Joined {
        asked: question.params,
        reply,
    })
}

async fn answers(act: &OfPlayer) -> Played {
    joined(act).await.map(drop)
}

async fn accepts(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    let accept = &joined.message()["accept"];
    hold(*accept == true, || format!("`accept` is {accept}"))
}

async fn names_match(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    envelope::repeated(&joined.asked, joined.message(), "match_id")
}

async fn names_player(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    let member = act.stage.member();
    if member.token.is_none() {
        act.stage.admitted()?;
    }
    envelope::is(joined.message(), "player_id", &member.id)
}

async fn arrival(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    envelope::time(joined.message(), "arrival_timestamp", true)
}

async fn in_time(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let question = act.stage.invitation(&match_id);
    let reply = act.call_within(&question, 2 * JOIN).await?;
    let took = reply.exchange.took;
    hold(took <= JOIN, || {
        format!("the answer took {:.1} s", took.as_secs_f64())
    })
}

async fn protocol(act: &OfPlayer) -> Played {
    envelope::protocol(joined(act).await?.message())
}

async fn sender(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    let id = act.stage.admitted()?.id;
    envelope::is(joined.message(), "sender", &format!("player:{id}"))
}

async fn time(act: &OfPlayer) -> Played {
    envelope::time(joined(act).await?.message(), "timestamp", false)
}

async fn conversation(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    envelope::conversation(&joined.asked, joined.message())
}

async fn token(act: &OfPlayer) -> Played {
    let admission = act.stage.admitted()?;
    let joined = joined(act).await?;
    let shown = envelope::text(joined.message(), "auth_token")?;
    hold(shown == admission.token, || {
        "`auth_token` is another one".to_owned()
    })
}

async fn again(act: &OfPlayer) -> Played {
    let first = joined(act).await?;
    let question = Question::new("handle_game_invitation", first.asked.clone());
    let second = invited(act, question).await?;
    for name in ["accept", "match_id", "player_id"] {
        let (one, two) = (&first.message()[name], &second.message()[name]);
        hold(one == two, || {
            format!("`{name}` was {one} and is now {two}")
        })?;
    }
    Ok(())
}

async fn roles(act: &OfPlayer) -> Played {
    for role in ["PLAYER_A", "PLAYER_B"] {
        let match_id = act.stage.open_match().await;
        let mut question = act.stage.invitation(&match_id);
        question.params["role_in_match"] = role.into();
        let joined = invited(act, question).await?;
        let accepted = joined.message()["accept"] == true;
        hold(accepted, || format!("it does not come as {role}"))?;
    }
    Ok(())
}

async fn unknown_game(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    question.params["game_type"] = "three_card_monte".into();
    let reply = act.call(&question).await?;
    let declined = reply.is_refusal() || reply.member("accept") == Some(&json!(false));
    hold(declined, || {
        "it accepts a game that it does not play".to_owned()
    })
}

async fn no_match(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    remove(&mut question.params, "match_id");
    let reply = act.call(&question).await?;
    reply.refused("an invitation without `match_id`")
}

async fn offset(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    question.params["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    let reply = act.call(&question).await?;
    hold(reply.league_error() == Some("E021"), || {
        format!("the answer is {} instead of E021", reply.describe())
    })
}

async fn clock_is_right(act: &OfPlayer) -> Played {
    let joined = joined(act).await?;
    let Ok(told) = utc(joined.message().get("timestamp")) else {
        return Err(Trouble::skipped(
            "there is no time to look at, see JOIN-09",
            "",
        ));
    };
    let off = (now().as_millis() - told.as_millis()).abs();
    hold(off <= CLOCK_MAY_BE_OFF, || {
        format!("it is off by {} s", off / 1_000)
    })
}

async fn extra(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    question.params["x_weather"] = json!({"rain": [1, 2, 3]});
    question.params["draw_commitment"] = "00".repeat(32).into();
    invited(act, question).await.map(drop)
}

async fn nulls(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    question.params["draw_commitment"] = Value::Null;
    invited(act, question).await.map(drop)
}

async fn api(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    let round = super::round(&match_id);
    question.params["round_id"] = format!("ROUND_{round}").into();
    remove(&mut question.params, "role_in_match");
    question.params["role"] = "PLAYER_A".into();
    invited(act, question).await.map(drop)
}

async fn bare(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let mut question = act.stage.invitation(&match_id);
    for name in ["protocol", "sender", "timestamp"] {
        remove(&mut question.params, name);
    }
    invited(act, question).await.map(drop)
}

fn remove(message: &mut Value, name: &str) {
    if let Some(members) = message.as_object_mut() {
        members.remove(name);
    }
}
