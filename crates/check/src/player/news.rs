//! Rules about what a player is told: each kind of news is taken, in order and out of order.

use std::time::Duration;

use serde_json::{Value, json};

use super::choice::{game_error, is_legal, seated};
use super::{MOVE, OfPlayer, PlayerStage};
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// How long a player may take to hear the end of a match.
const GAME_OVER: Duration = Duration::from_secs(5);
/// How many rows a long table has.
const MANY_ROWS: usize = 200;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "news",
        rules: rules! {
            "NEWS-01" Must "000 §4.6.1": "The end of a match that was won is taken"
                => "answer the tool `notify_match_result` with any result", won, 40;
            "NEWS-02" Must "000 §2.7": "The end of a match is taken within 5 seconds"
                => "answer at once, and learn from the match later", in_time, 50;
            "NEWS-03" Must "000 §4.6.1": "The end of a match that was lost is taken"
                => "expect another player's id in `winner_player_id`", lost, 40;
            "NEWS-04" Must "ruling 9": "The end of a drawn match is taken"
                => "expect null in `winner_player_id`", drawn, 40;
            kind "NEWS-05" Should "ruling 9": "The word DRAW in the place of the winner is understood"
                => "read \"DRAW\" as no winner", drawn_word, 40;
            "NEWS-06" Must "ruling 16": "A technical loss is taken, though nothing was drawn"
                => "expect null or nothing in `drawn_number` and `choices`", technical, 40;
            "NEWS-07" Should "ruling 26": "The same end told twice is taken twice"
                => "answer the second as the first, and count it once", twice, 40;
            "NEWS-08" Should "ruling 42": "The end of a match that the player knows nothing of does no harm"
                => "answer, or refuse with E006", unknown_match;
            kind "NEWS-09" Should "001 GAME_OVER": "The end of a match in the spelling of 001 is taken"
                => "read `result`, `your_choice` and `opponent_choice` as well", api, 40;
            "NEWS-10" Should "000 §4.3.1": "The announcement of a round is taken"
                => "answer the tool `notify_round`", announced;
            "NEWS-11" Should "000 §4.3.1": "The announcement of a round in which the player rests is taken"
                => "expect rounds without a match of your own", resting;
            "NEWS-12" Should "000 §4.7.1": "The table is taken"
                => "answer the tool `update_standings`", table;
            "NEWS-13" Should "000 §4.7.1": "A table without rows is taken"
                => "expect an empty list in `standings`", empty_table;
            "NEWS-14" Should "ruling 23": "A table of 200 rows is taken"
                => "take bodies up to 256 KiB", long_table;
            "NEWS-15" Should "000 §4.8.1": "The end of a round is taken"
                => "answer the tool `notify_round_completed`", round_completed;
            "NEWS-16" Should "000 §4.8.1": "The end of the last round is taken, which names no next one"
                => "expect null in `next_round_id`", last_round;
            "NEWS-17" Should "000 §4.10.2": "An error of a match is taken"
                => "answer the tool `notify_game_error`", errors, 40;
            "NEWS-18" Should "000 §4.10.1": "An error of the league is taken or refused, and does no harm"
                => "expect LEAGUE_ERROR in a call too", league_error;
            "NEWS-19" Must "000 §4.5.1": "News in the middle of a match do not disturb it"
                => "keep what is known of a match apart from the news", in_between, 70;
            "NEWS-20" Should "000 §2.11.1": "The end of a match before the choice was asked for does no harm"
                => "take the end of a match in any state", early_end, 40;
            "NEWS-21" Should "ruling 13": "An unknown type of message is refused, and does no harm"
                => "answer -32601, -32602 or E002 to a message that you do not know", unknown_type;
        },
    }
}

/// Sees that a tool takes what it is told; one that the player does not have is only missed.
async fn taken(act: &OfPlayer, question: &Question) -> Played {
    let reply = act.call(question).await?;
    hold(!reply.is_refusal(), || {
        format!(
            "`{}` is answered with {}",
            question.method,
            reply.describe()
        )
    })
}

/// A match that was played up to its end.
async fn played(act: &OfPlayer) -> Result<String, Trouble> {
    let match_id = seated(act).await?;
    act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    Ok(match_id)
}

async fn ended(act: &OfPlayer, change: impl FnOnce(&mut Value)) -> Result<Question, Trouble> {
    let match_id = played(act).await?;
    let mut question = act.stage.game_over(&match_id);
    change(&mut question.params["game_result"]);
    taken(act, &question).await?;
    Ok(question)
}

async fn won(act: &OfPlayer) -> Played {
    ended(act, |_| {}).await.map(drop)
}

async fn in_time(act: &OfPlayer) -> Played {
    let match_id = played(act).await?;
    let question = act.stage.game_over(&match_id);
    let reply = act.call_within(&question, 2 * GAME_OVER).await?;
    let took = reply.exchange.took;
    hold(took <= GAME_OVER, || {
        format!("the answer took {:.1} s", took.as_secs_f64())
    })
}

async fn lost(act: &OfPlayer) -> Played {
    ended(act, |result| result["winner_player_id"] = "P02".into())
        .await
        .map(drop)
}

fn draw(result: &mut Value, winner: Value) {
    result["status"] = "DRAW".into();
    result["winner_player_id"] = winner;
}

async fn drawn(act: &OfPlayer) -> Played {
    ended(act, |result| draw(result, Value::Null))
        .await
        .map(drop)
}

async fn drawn_word(act: &OfPlayer) -> Played {
    ended(act, |result| draw(result, "DRAW".into()))
        .await
        .map(drop)
}

async fn technical(act: &OfPlayer) -> Played {
    let none = |result: &mut Value| {
        *result = json!({
            "status": "TECHNICAL_LOSS", "winner_player_id": "P02", "drawn_number": null,
            "number_parity": null, "choices": {}, "reason": "no choice came in time",
        });
    };
    ended(act, none).await.map(drop)
}

async fn twice(act: &OfPlayer) -> Played {
    let question = ended(act, |_| {}).await?;
    taken(act, &question).await
}

async fn unknown_match(act: &OfPlayer) -> Played {
    let mut question = act.stage.game_over("R999M999");
    question.params["round_id"] = 999.into();
    act.call(&question).await?;
    act.still_answers("the end of an unknown match").await
}

async fn api(act: &OfPlayer) -> Played {
    let match_id = played(act).await?;
    let mut question = act.stage.game_over(&match_id);
    let flat = json!({
        "drawn_number": 7, "your_choice": "odd", "opponent_choice": "even", "result": "WIN",
        "points_earned": 3,
    });
    let members = question.params.as_object_mut().zip(flat.as_object());
    if let Some((message, flat)) = members {
        message.retain(|name, _| name != "game_result" && name != "game_type");
        message.extend(flat.clone());
    }
    taken(act, &question).await
}

async fn announced(act: &OfPlayer) -> Played {
    let match_id = act.stage.next_match();
    taken(act, &act.stage.announcement(&match_id)).await
}

async fn resting(act: &OfPlayer) -> Played {
    let match_id = act.stage.next_match();
    let mut question = act.stage.announcement(&match_id);
    question.params["matches"][0]["player_A_id"] = "P03".into();
    if let Some(row) = question.params["matches"][0].as_object_mut() {
        row.remove("match_token");
    }
    taken(act, &question).await
}

fn rows(stage: &PlayerStage, count: usize) -> Value {
    let own = stage.member().id;
    let rows = (1..=count).map(|rank| {
        let id = if rank == 1 {
            own.clone()
        } else {
            format!("P{rank:02}")
        };
        json!({
            "rank": rank, "player_id": id, "display_name": format!("Agent {rank}"), "played": 2,
            "wins": 1, "draws": 0, "losses": 1, "points": 3,
        })
    });
    rows.collect()
}

async fn standings(act: &OfPlayer, count: usize) -> Played {
    let says = json!({"round_id": 1, "standings": rows(&act.stage, count)});
    let question = act
        .stage
        .news("update_standings", "LEAGUE_STANDINGS_UPDATE", says);
    taken(act, &question).await
}

async fn table(act: &OfPlayer) -> Played {
    standings(act, 4).await
}

async fn empty_table(act: &OfPlayer) -> Played {
    standings(act, 0).await
}

async fn long_table(act: &OfPlayer) -> Played {
    standings(act, MANY_ROWS).await
}

async fn round_end(act: &OfPlayer, next: Value) -> Played {
    let says = json!({
        "round_id": 1, "matches_completed": 2, "matches_played": 2, "next_round_id": next,
        "summary": {"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0},
    });
    let question = act
        .stage
        .news("notify_round_completed", "ROUND_COMPLETED", says);
    taken(act, &question).await
}

async fn round_completed(act: &OfPlayer) -> Played {
    round_end(act, 2.into()).await
}

async fn last_round(act: &OfPlayer) -> Played {
    round_end(act, Value::Null).await
}

async fn errors(act: &OfPlayer) -> Played {
    let match_id = played(act).await?;
    taken(
        act,
        &game_error(&act.stage, &match_id, "E001", "TIMEOUT_ERROR"),
    )
    .await
}

async fn league_error(act: &OfPlayer) -> Played {
    let says = json!({
        "error_code": "E010", "error_name": "RATE_LIMITED", "error_description": "RATE_LIMITED",
        "retryable": true, "original_message_type": "LEAGUE_QUERY", "context": {},
    });
    let question = act.stage.news("mcp_message", "LEAGUE_ERROR", says);
    act.call(&question).await?;
    act.still_answers("an error of the league").await
}

async fn in_between(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let says = json!({"round_id": 1, "standings": rows(&act.stage, 4)});
    act.call(
        &act.stage
            .news("update_standings", "LEAGUE_STANDINGS_UPDATE", says),
    )
    .await?;
    act.call(&act.stage.announcement(&act.stage.next_match()))
        .await?;
    let reply = act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    hold(message["match_id"] == match_id.as_str(), || {
        format!("the answer is about {}", message["match_id"])
    })?;
    is_legal(&message["parity_choice"])
}

async fn early_end(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    act.call(&act.stage.game_over(&match_id)).await?;
    act.still_answers("an early end of a match").await
}

async fn unknown_type(act: &OfPlayer) -> Played {
    let question = act
        .stage
        .news("mcp_message", "WEATHER_REPORT", json!({"rain": true}));
    let reply = act.call(&question).await?;
    reply.refused("a WEATHER_REPORT")?;
    act.still_answers("an unknown type of message").await
}
