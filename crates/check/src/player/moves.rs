//! Rules about moves of any game: GAME_MOVE_CALL, and what a player shows of itself.

use serde_json::{Value, json};

use super::choice::seated;
use super::{MOVE, OfPlayer, PlayerStage};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::script::in_time;
use crate::stage::Question;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "moves",
        rules: rules! {
            "MOVE-01" Should "000 §3.8.2, §3.8.4": "A call for a move in the general form is answered with a move"
                => "serve the tool `choose_move` beside `choose_parity`", answers, 40;
            "MOVE-02" Should "000 §3.8.2": "The move is one of the options"
                => "set `move_data.choice` to one of `move_request.valid_options`", legal, 40;
            "MOVE-03" Should "000 §3.8.2": "The move is of the type that was asked for"
                => "copy `move_type` from the request", typed, 40;
            "MOVE-04" Should "000 §3.8.2": "The answer names match and player"
                => "copy `match_id`, and set `player_id` to your own", named, 40;
            "MOVE-05" Should "000 §3.8.2": "A call for a move without options does no harm"
                => "refuse with E002 if there is nothing to choose from", no_options, 40;
            "MOVE-06" Should "000 §3.8.2": "One option only is the one that is taken"
                => "choose from `move_request.valid_options`, whatever they are", only_option, 40;
            "STATE-01" Should "ruling 3": "The player shows how it stands"
                => "serve the tool `get_player_state`", state;
            "STATE-02" Should "000 §2.4.5": "What the player shows holds no token"
                => "leave tokens out of what you show", no_token;
            "STATE-03" Should "000 §5.7.1": "What the player shows counts the match that it just played"
                => "count matches when GAME_OVER comes", counts, 40;
        },
    }
}

/// A call for a move of Even/Odd in the general form.
fn move_call(stage: &PlayerStage, match_id: &str, options: &[&str]) -> Question {
    let says = json!({
        "player_id": stage.member().id, "game_type": "even_odd",
        "move_request": {
            "move_type": "choose_parity", "valid_options": options,
            "context": {"opponent_id": "P02", "round_id": super::round(match_id)},
        },
        "deadline": in_time(MOVE),
    });
    stage.from_referee("choose_move", "GAME_MOVE_CALL", match_id, says)
}

/// The answer of a player that knows the general form; others need not.
async fn moved(act: &OfPlayer, options: &[&str]) -> Result<(Value, Reply), Trouble> {
    let match_id = seated(act).await?;
    let question = move_call(&act.stage, &match_id, options);
    let reply = act.call_within(&question, MOVE).await?;
    let unknown = reply.rpc_error() == Some(-32_601) || reply.result().is_none();
    if unknown {
        let reason = "the player does not know `choose_move`, and needs it only for other games";
        return Err(Trouble::skipped(reason, ""));
    }
    Ok((question.params, reply))
}

/// The general form, and the one that Even/Odd has for itself: either may be used (000 §3.8.4).
const MOVES: [&str; 2] = ["GAME_MOVE_RESPONSE", "CHOOSE_PARITY_RESPONSE"];

/// What was chosen, in either form.
fn choice(reply: &Reply) -> Result<&Value, Trouble> {
    let message = reply.of_kind(&MOVES)?;
    let own = message.get("parity_choice");
    Ok(own.unwrap_or(&message["move_data"]["choice"]))
}

const BOTH: [&str; 2] = ["even", "odd"];

async fn answers(act: &OfPlayer) -> Played {
    let (_, reply) = moved(act, &BOTH).await?;
    reply.of_kind(&MOVES).map(drop)
}

async fn legal(act: &OfPlayer) -> Played {
    let (_, reply) = moved(act, &BOTH).await?;
    let choice = choice(&reply)?;
    hold(BOTH.iter().any(|option| choice == option), || {
        format!("`choice` is {choice}")
    })
}

async fn typed(act: &OfPlayer) -> Played {
    let (_, reply) = moved(act, &BOTH).await?;
    if reply.message_type() == Some("CHOOSE_PARITY_RESPONSE") {
        return Err(Trouble::skipped("the answer has the form of Even/Odd", ""));
    }
    let kind = &reply.needed()?["move_data"]["move_type"];
    hold(kind == "choose_parity", || format!("`move_type` is {kind}"))
}

async fn named(act: &OfPlayer) -> Played {
    let (asked, reply) = moved(act, &BOTH).await?;
    envelope::repeated(&asked, reply.needed()?, "match_id")?;
    envelope::repeated(&asked, reply.needed()?, "player_id")
}

async fn no_options(act: &OfPlayer) -> Played {
    let (_, reply) = moved(act, &[]).await?;
    let taken = reply
        .message_type()
        .is_some_and(|kind| MOVES.contains(&kind));
    hold(!taken, || {
        "it moves although there is nothing to choose from".to_owned()
    })?;
    act.still_answers("a move without options").await
}

async fn only_option(act: &OfPlayer) -> Played {
    let (_, reply) = moved(act, &["odd"]).await?;
    let choice = choice(&reply)?;
    hold(choice == "odd", || format!("`choice` is {choice}"))
}

/// What a player shows of itself, if it shows anything.
async fn shown(act: &OfPlayer) -> Result<Reply, Trouble> {
    let reply = act
        .call(&Question::new("get_player_state", json!({})))
        .await?;
    if reply.is_refusal() {
        return Err(Trouble::skipped(
            "the player does not know `get_player_state`, and need not",
            "",
        ));
    }
    Ok(reply)
}

async fn state(act: &OfPlayer) -> Played {
    let reply = shown(act).await?;
    let state = reply.needed()?;
    hold(state.is_object(), || "the answer is no object".to_owned())
}

async fn no_token(act: &OfPlayer) -> Played {
    let token = act.stage.admitted()?.token;
    let reply = shown(act).await?;
    let text = reply.needed()?.to_string();
    hold(!text.contains(&token), || {
        "the player's token is in the answer".to_owned()
    })
}

async fn counts(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    act.call(&act.stage.game_over(&match_id)).await?;
    let reply = shown(act).await?;
    let text = reply.needed()?.to_string();
    hold(text.contains(&format!("\"{match_id}\"")), || {
        format!("the match {match_id} is not in the answer")
    })
}
