//! Rules about news to players: each kind is accepted, in order and out of order.

use super::{
    CHOSEN, MOVE, announcement, choice, game_error, game_over, is_legal, join, joined, news,
    played, unannounced,
};
use crate::prelude::*;

/// How long a player may take to acknowledge the end of a match.
const GAME_OVER: Duration = Duration::from_secs(5);
/// How many rows a long standings table has.
const LONG_TABLE: usize = 200;

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "news" needs "HTTP-01":
        "NEWS-01" Must[40] "000 §4.6.1": "The end of a match that was won is taken"
            => "answer the tool `notify_match_result` with any result", ended(), [Taken];
        "NEWS-02" Must[50] "000 §2.7": "The end of a match is taken within 5 seconds"
            => "answer at once, and learn from the match later",
            ended().patience(2 * GAME_OVER), [Within(GAME_OVER)];
        "NEWS-03" Must[40] "000 §4.6.1": "The end of a match that was lost is taken"
            => "expect another player's id in `winner_player_id`",
            ended().changed(|over, _| over["game_result"]["winner_player_id"] = "P02".into()),
            [Taken];
        "NEWS-04" Must[40] "ruling 9": "The end of a drawn match is taken"
            => "expect null in `winner_player_id`",
            ended().changed(|over, _| draw(over, Value::Null)), [Taken];
        kind "NEWS-05" Should[40] "ruling 9": "The word DRAW in the place of the winner is understood"
            => "read \"DRAW\" as no winner",
            ended().changed(|over, _| draw(over, "DRAW".into())), [Taken];
        "NEWS-06" Must[40] "ruling 16": "A technical loss is taken, though nothing was drawn"
            => "expect null or nothing in `drawn_number` and `choices`",
            ended().changed(technically), [Taken];
        "NEWS-07" Should[40] "ruling 26": "The same end told twice is taken twice"
            => "answer the second as the first, and count it once", steps!(ends_twice);
        "NEWS-08" Should "ruling 42": "The end of a match that the player knows nothing of does no harm"
            => "answer, or refuse with E006",
            Ask::method(|stage, _| game_over(stage, "R999M999"))
                .survives("the end of an unknown match");
        kind "NEWS-09" Should[40] "001 GAME_OVER": "The end of a match in the spelling of 001 is taken"
            => "read `result`, `your_choice` and `opponent_choice` as well",
            ended().changed(in_the_spelling_of_001), [Taken];
        "NEWS-10" Should "000 §4.3.1": "The announcement of a round is taken"
            => "answer the tool `notify_round`", announced(), [Taken];
        "NEWS-11" Should "000 §4.3.1": "The announcement of a round in which the player rests is taken"
            => "expect rounds without a match of your own", announced().changed(of_others), [Taken];
        "NEWS-12" Should "000 §4.7.1": "The table is taken"
            => "answer the tool `update_standings`",
            Ask::method(|stage, _| standings(stage, 4)), [Taken];
        "NEWS-13" Should "000 §4.7.1": "A table without rows is taken"
            => "expect an empty list in `standings`",
            Ask::method(|stage, _| standings(stage, 0)), [Taken];
        "NEWS-14" Should "ruling 23": "A table of 200 rows is taken"
            => "take bodies up to 256 KiB",
            Ask::method(|stage, _| standings(stage, LONG_TABLE)), [Taken];
        "NEWS-15" Should "000 §4.8.1": "The end of a round is taken"
            => "answer the tool `notify_round_completed`",
            Ask::method(|stage, _| round_end(stage, 2.into())), [Taken];
        "NEWS-16" Should "000 §4.8.1": "The end of the last round is taken, which names no next one"
            => "expect null in `next_round_id`",
            Ask::method(|stage, _| round_end(stage, Value::Null)), [Taken];
        "NEWS-17" Should[40] "000 §4.10.2": "An error of a match is taken"
            => "answer the tool `notify_game_error`",
            Ask::new(after!(played), |stage, at| game_error(stage, &at.subject, "E001", "TIMEOUT_ERROR")),
            [Taken];
        "NEWS-18" Should "000 §4.10.1": "An error of the league is taken or refused, and does no harm"
            => "expect LEAGUE_ERROR in a call too",
            Ask::method(league_error).survives("an error of the league");
        "NEWS-19" Must[70] "000 §4.5.1": "News in the middle of a match do not disturb it"
            => "keep what is known of a match apart from the news",
            Ask::about(after!(interrupted), choice).patience(MOVE).due(CHOSEN),
            [Repeats("match_id"), By(is_legal)];
        "NEWS-20" Should[40] "000 §2.11.1": "The end of a match before the choice was asked for does no harm"
            => "take the end of a match in any state",
            Ask::about(after!(joined), game_over).survives("an early end of a match");
        "NEWS-21" Should "ruling 13": "An unknown type of message is refused, and does no harm"
            => "answer -32601, -32602 or E002 to a message that you do not know",
            Ask::method(|stage, _| news(stage, "mcp_message", "WEATHER_REPORT", json!({"rain": true})))
                .survives("an unknown type of message"), [Refused("a WEATHER_REPORT")];
    }
}

/// The end of a match that was played.
fn ended() -> Ask {
    Ask::about(after!(played), game_over)
}

fn announced() -> Ask {
    Ask::about(after!(unannounced), announcement)
}

fn draw(over: &mut Value, winner: Value) {
    over["game_result"]["status"] = "DRAW".into();
    over["game_result"]["winner_player_id"] = winner;
}

fn technically(over: &mut Value, _: &Stage) {
    over["game_result"] = json!({
        "status": "TECHNICAL_LOSS", "winner_player_id": "P02", "drawn_number": null,
        "number_parity": null, "choices": {}, "reason": "no choice came in time",
    });
}

fn in_the_spelling_of_001(over: &mut Value, _: &Stage) {
    remove(over, &["game_result", "game_type"]);
    let flat = json!({
        "drawn_number": 7, "your_choice": "odd", "opponent_choice": "even", "result": "WIN",
        "points_earned": 3,
    });
    extend(over, flat);
}

fn of_others(announcement: &mut Value, _: &Stage) {
    let row = &mut announcement["matches"][0];
    row["player_A_id"] = "P03".into();
    remove(row, &["match_token"]);
}

fn standings(stage: &Stage, count: usize) -> Question {
    let own = stage.player_id();
    let rows = (1..=count).map(|rank| {
        let id = match rank {
            1 => own.clone(),
            _ => format!("P{rank:02}"),
        };
        json!({
            "rank": rank, "player_id": id, "display_name": format!("Agent {rank}"), "played": 2,
            "wins": 1, "draws": 0, "losses": 1, "points": 3,
        })
    });
    let body = json!({"round_id": 1, "standings": rows.collect::<Value>()});
    news(stage, "update_standings", "LEAGUE_STANDINGS_UPDATE", body)
}

fn round_end(stage: &Stage, next: Value) -> Question {
    let body = json!({
        "round_id": 1, "matches_completed": 2, "matches_played": 2, "next_round_id": next,
        "summary": {"total_matches": 2, "wins": 1, "draws": 1, "technical_losses": 0},
    });
    news(stage, "notify_round_completed", "ROUND_COMPLETED", body)
}

fn league_error(stage: &Stage, _: &Setting) -> Question {
    let body = json!({
        "error_code": "E010", "error_name": "RATE_LIMITED", "error_description": "RATE_LIMITED",
        "retryable": true, "original_message_type": "LEAGUE_QUERY", "context": {},
    });
    news(stage, "mcp_message", "LEAGUE_ERROR", body)
}

async fn ends_twice(caller: &Caller) -> Judgement {
    let at = played(caller).await?;
    let question = game_over(&caller.stage, &at.subject);
    for _ in 0..2 {
        caller.call(&question).await?.taken()?;
    }
    Ok(())
}

/// A situation: a match that was interrupted by standings and by another round.
async fn interrupted(caller: &Caller) -> Result<Setting, Trouble> {
    let match_id = join(caller).await?;
    let stage = &caller.stage;
    caller.call(&standings(stage, 4)).await?;
    caller
        .call(&announcement(stage, &stage.next_match()))
        .await?;
    Ok(Setting::about(match_id))
}
