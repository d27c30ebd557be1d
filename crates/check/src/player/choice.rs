//! Rules about choices: CHOOSE_PARITY_CALL and its answer, CHOOSE_PARITY_RESPONSE.

use serde_json::{Value, json};

use super::{MOVE, OfPlayer, PlayerStage};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// The longest nonce that a referee takes, in bytes.
const LONGEST_NONCE: usize = 128;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "choice",
        rules: rules! {
            "PICK-01" Must "000 §4.5.2": "A call for a choice is answered with CHOOSE_PARITY_RESPONSE"
                => "answer the tool `choose_parity` with a CHOOSE_PARITY_RESPONSE", answers, 40;
            "PICK-02" Must "000 §4.12.2": "The choice is exactly `even` or `odd`"
                => "set `parity_choice` to even or odd, in lower case", legal, 40;
            "PICK-03" Must "000 §4.12.1": "The answer names the match of the call"
                => "copy `match_id` from the call", names_match, 40;
            "PICK-04" Must "000 §4.12.1": "The answer names the player"
                => "set `player_id` to the id from the registration", names_player, 40;
            "PICK-05" Must "000 §2.7": "The choice comes within 30 seconds"
                => "choose by a simple rule if thinking takes too long", in_time, 70;
            "PICK-06" Must "000 §2.4.1": "The answer names the protocol"
                => "set `protocol` to league.v2", protocol, 40;
            "PICK-07" Must "000 §2.4.4": "The sender of the answer is player:ID"
                => "set `sender` to `player:` and the id from the registration", sender, 40;
            "PICK-08" Must "000 §2.4.2": "The time of the answer is in UTC"
                => "set `timestamp` to a time such as 2025-01-15T10:30:00Z", time, 40;
            "PICK-09" Must "000 §2.4.1": "The answer is in the conversation of the call"
                => "copy `conversation_id` from the call", conversation, 40;
            "PICK-10" Must "000 §2.4.5": "The answer shows the player's token"
                => "put the `auth_token` from the registration into every message", token, 40;
            "PICK-11" Should "ruling 43": "The same call again gets the same choice"
                => "remember the choice of each match, and repeat it", again, 70;
            "PICK-12" Must "000 §2.11.3": "After GAME_ERROR E001 the player chooses once more"
                => "answer each call for a choice, also after an error", retried, 70;
            "PICK-13" Should "ruling 15": "After GAME_ERROR E004 the player gives a legal choice"
                => "take E004 as a reason to choose again", illegal, 70;
            "PICK-14" Should "000 §4.5.1": "A deadline that has passed does no harm"
                => "answer, or refuse with E008, but never wait", too_late, 40;
            "PICK-15" Should "ruling 36": "A call without an invitation does no harm"
                => "answer, or refuse with E006 or E007", uninvited, 40;
            kind "PICK-16" Must "001 CHOOSE_PARITY_CALL": "A call in the spelling of 001 is understood"
                => "need no `context`, `player_id` or `game_type` to choose", api, 40;
            kind "PICK-17" Should "ruling 13": "An empty context is no reason to refuse"
                => "read what is missing in `context` as unknown", no_context, 40;
            "PICK-18" Should "ruling 27": "A nonce has at most 128 bytes"
                => "send 16 random bytes in hex as `nonce`", nonce, 40;
            "PICK-19" Should "ruling 27": "A nonce is new in every match"
                => "draw the `nonce` afresh for every match", fresh_nonce, 70;
            "PICK-20" Should "000 §4.12.1": "A call without a match is refused"
                => "answer E003 if `match_id` is missing", no_match, 40;
            "PICK-21" Should "ruling 42": "A call meant for another player is refused"
                => "compare `player_id` with your own, and answer E012", other_player, 40;
            "PICK-22" Should "000 §2.4.2": "A call whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset", offset, 40;
            "PICK-23" Must "000 §4.5.2": "The answer says nothing but the choice of this match"
                => "send one `parity_choice`, no list and no object", single, 40;
        },
    }
}

/// A choice that was made as it should be.
struct Chosen {
    asked: Value,
    reply: Reply,
}

impl Chosen {
    fn message(&self) -> &Value {
        self.reply.result().unwrap_or(&Value::Null)
    }

    fn choice(&self) -> &Value {
        &self.message()["parity_choice"]
    }
}

/// Invites the player to a match of its own.
pub(super) async fn seated(act: &OfPlayer) -> Result<String, Trouble> {
    let match_id = act.stage.open_match().await;
    let reply = act.call(&act.stage.invitation(&match_id)).await?;
    reply.of_kind(&["GAME_JOIN_ACK"])?;
    Ok(match_id)
}

async fn asked(act: &OfPlayer, question: Question) -> Result<Chosen, Trouble> {
    let reply = act.call_within(&question, MOVE).await?;
    reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    Ok(Chosen {
        asked: question.params,
        reply,
    })
}

async fn chosen(act: &OfPlayer) -> Result<Chosen, Trouble> {
    let match_id = seated(act).await?;
    asked(act, act.stage.choice(&match_id)).await
}

/// Sees that a choice is one.
pub(super) fn is_legal(choice: &Value) -> Played {
    let legal = matches!(choice.as_str(), Some("even" | "odd"));
    hold(legal, || format!("`parity_choice` is {choice}"))
}

async fn answers(act: &OfPlayer) -> Played {
    chosen(act).await.map(drop)
}

async fn legal(act: &OfPlayer) -> Played {
    is_legal(chosen(act).await?.choice())
}

async fn names_match(act: &OfPlayer) -> Played {
    let chosen = chosen(act).await?;
    envelope::repeated(&chosen.asked, chosen.message(), "match_id")
}

async fn names_player(act: &OfPlayer) -> Played {
    let chosen = chosen(act).await?;
    envelope::is(chosen.message(), "player_id", &act.stage.member().id)
}

async fn in_time(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let reply = act
        .call_within(&act.stage.choice(&match_id), 2 * MOVE)
        .await?;
    let took = reply.exchange.took;
    hold(took <= MOVE, || {
        format!("the answer took {:.1} s", took.as_secs_f64())
    })
}

async fn protocol(act: &OfPlayer) -> Played {
    envelope::protocol(chosen(act).await?.message())
}

async fn sender(act: &OfPlayer) -> Played {
    let id = act.stage.admitted()?.id;
    let chosen = chosen(act).await?;
    envelope::is(chosen.message(), "sender", &format!("player:{id}"))
}

async fn time(act: &OfPlayer) -> Played {
    envelope::time(chosen(act).await?.message(), "timestamp", false)
}

async fn conversation(act: &OfPlayer) -> Played {
    let chosen = chosen(act).await?;
    envelope::conversation(&chosen.asked, chosen.message())
}

async fn token(act: &OfPlayer) -> Played {
    let admission = act.stage.admitted()?;
    let chosen = chosen(act).await?;
    let shown = envelope::text(chosen.message(), "auth_token")?;
    hold(shown == admission.token, || {
        "`auth_token` is another one".to_owned()
    })
}

async fn again(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let first = asked(act, act.stage.choice(&match_id)).await?;
    // A player that throws a coin each time is found out with a chance of 31 in 32.
    for _ in 0..5 {
        let second = asked(act, act.stage.choice(&match_id)).await?;
        let (one, two) = (first.choice(), second.choice());
        hold(one == two, || format!("first it chose {one}, then {two}"))?;
    }
    Ok(())
}

/// Tells the player that its choice failed, and asks again.
async fn after_error(act: &OfPlayer, code: &str, name: &str) -> Result<Chosen, Trouble> {
    let match_id = seated(act).await?;
    asked(act, act.stage.choice(&match_id)).await?;
    act.call(&game_error(&act.stage, &match_id, code, name))
        .await?;
    asked(act, act.stage.choice(&match_id)).await
}

/// A GAME_ERROR about a choice.
pub(super) fn game_error(stage: &PlayerStage, match_id: &str, code: &str, name: &str) -> Question {
    let says = json!({
        "error_code": code, "error_name": name, "error_description": name,
        "player_id": stage.member().id, "affected_player": stage.member().id,
        "action_required": "CHOOSE_PARITY_RESPONSE", "retryable": true,
        "retry_info": {
            "retry_count": 1, "max_retries": 3,
            "next_retry_at": crate::script::in_time(std::time::Duration::from_secs(2)),
        },
        "retry_count": 1, "max_retries": 3,
        "consequence": "Technical loss if max retries exceeded",
    });
    stage.from_referee("notify_game_error", "GAME_ERROR", match_id, says)
}

async fn retried(act: &OfPlayer) -> Played {
    is_legal(after_error(act, "E001", "TIMEOUT_ERROR").await?.choice())
}

async fn illegal(act: &OfPlayer) -> Played {
    let chosen = after_error(act, "E004", "INVALID_PARITY_CHOICE").await?;
    is_legal(chosen.choice())
}

async fn too_late(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    question.params["deadline"] = "2025-01-15T10:30:30Z".into();
    let reply = act.call(&question).await?;
    let answered = reply.result().is_some() || reply.rpc_error().is_some();
    hold(answered, || format!("the answer is {}", reply.describe()))?;
    act.still_answers("a deadline that has passed").await
}

async fn uninvited(act: &OfPlayer) -> Played {
    let match_id = act.stage.open_match().await;
    let reply = act.call(&act.stage.choice(&match_id)).await?;
    if reply.is_refusal() {
        return act.still_answers("a call without an invitation").await;
    }
    reply.of_kind(&["CHOOSE_PARITY_RESPONSE"]).map(drop)
}

async fn api(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    without(
        &mut question.params,
        &["context", "player_id", "game_type", "league_id", "round_id"],
    );
    is_legal(asked(act, question).await?.choice())
}

async fn no_context(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    question.params["context"] = json!({});
    is_legal(asked(act, question).await?.choice())
}

fn nonce_of(chosen: &Chosen) -> Result<String, Trouble> {
    let nonce = chosen.message().get("nonce").and_then(Value::as_str);
    let nonce = nonce.map(str::to_owned);
    nonce.ok_or_else(|| Trouble::skipped("the player sends no nonce, and need not", ""))
}

async fn nonce(act: &OfPlayer) -> Played {
    let length = nonce_of(&chosen(act).await?)?.len();
    hold(length <= LONGEST_NONCE, || {
        format!("the nonce has {length} bytes")
    })
}

async fn fresh_nonce(act: &OfPlayer) -> Played {
    let first = nonce_of(&chosen(act).await?)?;
    let second = nonce_of(&chosen(act).await?)?;
    hold(first != second, || {
        "two matches have the same nonce".to_owned()
    })
}

async fn no_match(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    without(&mut question.params, &["match_id"]);
    let reply = act.call(&question).await?;
    reply.refused("a call without `match_id`")
}

async fn other_player(act: &OfPlayer) -> Played {
    act.stage.admitted()?;
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    question.params["player_id"] = "P77".into();
    let reply = act.call(&question).await?;
    reply.refused("a call for the player P77")
}

async fn offset(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let mut question = act.stage.choice(&match_id);
    question.params["timestamp"] = "2025-01-15T10:30:00-05:00".into();
    let reply = act.call(&question).await?;
    hold(reply.league_error() == Some("E021"), || {
        format!("the answer is {} instead of E021", reply.describe())
    })
}

async fn single(act: &OfPlayer) -> Played {
    let chosen = chosen(act).await?;
    let choice = chosen.choice();
    hold(choice.is_string(), || {
        format!("`parity_choice` is {choice}")
    })?;
    let others = ["choices", "opponent_choice"];
    let other = others
        .iter()
        .find(|name| chosen.message().get(**name).is_some());
    hold(other.is_none(), || {
        format!("the answer holds {other:?} as well")
    })
}

fn without(message: &mut Value, names: &[&str]) {
    if let Some(members) = message.as_object_mut() {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
}
