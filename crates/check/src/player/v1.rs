//! Rules for players of `league.v1`: the messages of 003, member by member.

use super::MOVE;
use crate::prelude::*;
use crate::registration::registration;

const READY: &[&str] = &["GAME_INVITATION_RESPONSE"];
const PLAYED: &[&str] = &["PLAY_RESPONSE"];

pub(super) fn topic() -> Topic {
    topic! { "league.v1" needs "HTTP-01" "OLD-03" "OLD-10":
        "OLD-01" Must "003 Base Message Structure": "The registration has every member of the base structure"
            => "send league_id, round_id, match_id, conversation_id, sender and timestamp",
            seen!(registration()), [By(has_the_base), Utc("timestamp")];
        "OLD-02" Must "003 LEAGUE_REGISTER_REQUEST": "The registration says name, version, games and address"
            => "fill `player_meta`", seen!(registration()), [By(describes_itself)];
        "OLD-03" Must "003 GAME_INVITATION_RESPONSE": "An invitation is answered with GAME_INVITATION_RESPONSE"
            => "answer the tool `handle_game_invitation` with it", invited();
        "OLD-04" Must "003 GAME_INVITATION_RESPONSE": "The status of the answer is READY"
            => "set `status` to READY", invited(), [equals("status", "READY")];
        "OLD-05" Must "003 Base Message Structure": "The answer repeats league, round, match and conversation"
            => "copy them from the invitation", invited(), BASE;
        "OLD-06" Must "003 Base Message Structure": "The sender of the answer is the player's id"
            => "set `sender` to the id from the registration, such as player_001",
            invited(), [is("sender", Want::Fact("id"))];
        "OLD-07" Must "003 Base Message Structure": "The time of the answer is in UTC"
            => "write times as 2025-12-13T22:05:01.000Z", invited(), [Utc("timestamp")];
        "OLD-08" Must "003 GAME_INVITATION": "The player comes in either role"
            => "take challenger and defender alike",
            invited().bodies([Body::Message(|_, _| {}), Body::Message(as_defender)]),
            [equals("status", "READY")];
        "OLD-09" Must "003 GAME_START": "The start of a game is taken"
            => "answer GAME_START with any result",
            Ask::new(after!(joined), start).registered(), [Taken];
        "OLD-10" Must[40] "003 PLAY_RESPONSE": "A request to play is answered with PLAY_RESPONSE"
            => "answer the tool `choose_parity` with it", asked();
        "OLD-11" Must[40] "003 PLAY_RESPONSE": "The play is to choose even or odd"
            => "set `play` to {\"action\": \"choose\", \"value\": \"even\"}",
            asked(), [By(is_legal)];
        "OLD-12" Must[40] "003 Base Message Structure": "The play repeats league, round, match and conversation"
            => "copy them from the request", asked(), BASE;
        "OLD-13" Should[70] "ruling 43": "The same request again gets the same play"
            => "remember the play of each match, and repeat it", steps!(plays_again);
        "OLD-14" Must[40] "003 PLAY_VALIDATION": "The validation of a play is taken"
            => "answer PLAY_VALIDATION with any result",
            Ask::new(after!(played), validation).registered(), [Taken];
        "OLD-15" Must[100] "003 GAME_RESULT": "A result is taken, be it a win, a draw or a forfeit"
            => "answer GAME_RESULT with any result",
            Ask::new(after!(played), won).registered()
                .bodies([Body::Message(|_, _| {}), Body::Message(drawn), Body::Message(forfeited)]),
            [Taken];
        "OLD-16" Should "003 ROUND_COMPLETE": "The end of a round is taken"
            => "answer ROUND_COMPLETE with any result",
            Ask::method(round_complete).registered(), [Taken];
        "OLD-17" Should "003 LEAGUE_START_ANNOUNCEMENT": "The announcement of the league is taken"
            => "answer LEAGUE_START_ANNOUNCEMENT with any result",
            Ask::method(league_start).registered(), [Taken];
        "OLD-18" Should "003 LEAGUE_COMPLETE": "The end of the league is taken"
            => "answer LEAGUE_COMPLETE with any result",
            Ask::method(league_complete).registered(), [Taken];
    }
}

/// The members that every answer repeats.
const BASE: [Expect; 4] = [
    Repeats("league_id"),
    Repeats("round_id"),
    Repeats("match_id"),
    Repeats("conversation_id"),
];

/// A message of `league.v1`.
fn message(stage: &Stage, kind: &str, sender: &str, match_id: &str, body: Value) -> Value {
    let league = stage.admission().map(|admission| admission.league);
    let round = round_of(match_id);
    let number = u64::from(round) * 1_000 + match_id.len() as u64;
    let mut message = json!({
        "protocol": "league.v1", "message_type": kind, "league_id": league, "round_id": round,
        "match_id": match_id,
        "conversation_id": format!("880e8400-e29b-41d4-a716-{number:012x}"),
        "sender": sender, "timestamp": now().to_millis_text(),
    });
    extend(&mut message, body);
    message
}

fn from_referee(stage: &Stage, kind: &str, match_id: &str, body: Value) -> Question {
    let message = message(stage, kind, "referee", match_id, body);
    Question::new("mcp_message", message)
}

fn from_manager(stage: &Stage, kind: &str, match_id: &str, body: Value) -> Question {
    let message = message(stage, kind, "league_manager", match_id, body);
    Question::new("mcp_message", message)
}

/// Invites the player to a match.
pub(super) fn invitation(stage: &Stage, match_id: &str) -> Question {
    let info = json!({
        "game_type": "even_odd", "opponent_id": "player_002", "your_role": "challenger",
        "timeout_seconds": 30,
    });
    let body = json!({"game_info": info});
    Question {
        method: "handle_game_invitation".to_owned(),
        ..from_referee(stage, "GAME_INVITATION", match_id, body)
    }
}

fn request(stage: &Stage, match_id: &str) -> Question {
    let state = json!({
        "turn_number": 1, "timeout_seconds": 30, "game_specific_state": {"previous_plays": []},
    });
    let body = json!({"game_state": state});
    Question {
        method: "choose_parity".to_owned(),
        ..from_referee(stage, "PLAY_REQUEST", match_id, body)
    }
}

fn invited() -> Ask {
    Ask::about(after!(super::unannounced), invitation).due(READY)
}

fn asked() -> Ask {
    let ask = Ask::about(after!(joined), request);
    ask.patience(MOVE).due(PLAYED)
}

/// A situation: a match that the player has joined.
async fn joined(caller: &Caller) -> Result<Setting, Trouble> {
    let match_id = caller.stage.next_match();
    let question = invitation(&caller.stage, &match_id);
    caller.call(&question).await?.of_kind(READY)?;
    Ok(Setting::about(match_id))
}

/// A situation: a match in which the player has made its play.
async fn played(caller: &Caller) -> Result<Setting, Trouble> {
    let mut at = joined(caller).await?;
    let question = request(&caller.stage, &at.subject);
    let reply = caller.call_within(&question, MOVE).await?;
    at.value = reply.of_kind(PLAYED)?["play"].clone();
    Ok(at)
}

fn start(stage: &Stage, at: &Setting) -> Question {
    let rules = json!({"single_round": true, "timeout_per_move": 30});
    let state = json!({
        "game_type": "even_odd", "current_player": stage.player_id(), "rules": rules,
    });
    let body = json!({"game_state": state});
    from_referee(stage, "GAME_START", &at.subject, body)
}

fn validation(stage: &Stage, at: &Setting) -> Question {
    let validation = json!({
        "player_id": stage.player_id(), "play": at.value, "status": "VALID", "error": null,
    });
    let body = json!({"validation": validation});
    from_referee(stage, "PLAY_VALIDATION", &at.subject, body)
}

fn won(stage: &Stage, at: &Setting) -> Question {
    let id = stage.player_id();
    let summary = json!({
        format!("{id}_choice"): "even", "player_002_choice": "odd", "random_number": 42,
        "number_parity": "even", "winner_reason": "as the rules say",
    });
    let result = json!({
        "winner": id, "loser": "player_002", "outcome": "WIN", "game_summary": summary,
    });
    from_referee(stage, "GAME_RESULT", &at.subject, json!({"result": result}))
}

fn as_defender(message: &mut Value, _: &Stage) {
    message["game_info"]["your_role"] = "defender".into();
}

fn drawn(message: &mut Value, _: &Stage) {
    let draw = json!({"winner": null, "loser": null, "outcome": "DRAW"});
    extend(&mut message["result"], draw);
}

fn forfeited(message: &mut Value, stage: &Stage) {
    let lost = json!({
        "winner": "player_002", "loser": stage.player_id(), "outcome": "FORFEIT",
    });
    extend(&mut message["result"], lost);
}

fn round_complete(stage: &Stage, _: &Setting) -> Question {
    let rows = json!([{"player_id": stage.player_id(), "wins": 1, "losses": 0, "rank": 1}]);
    let body = json!({"round_summary": {"matches_played": 2, "standings": rows}});
    from_manager(stage, "ROUND_COMPLETE", "ROUND_SUMMARY", body)
}

fn league_start(stage: &Stage, _: &Setting) -> Question {
    let row = json!({"match_id": "R1M1", "player1": stage.player_id(), "player2": "player_002"});
    let info = json!({
        "total_rounds": 3, "total_players": 4, "game_type": "even_odd",
        "schedule": [{"round_id": 1, "matches": [row]}],
    });
    let body = json!({"league_info": info});
    from_manager(stage, "LEAGUE_START_ANNOUNCEMENT", "ANNOUNCEMENT", body)
}

fn league_complete(stage: &Stage, _: &Setting) -> Question {
    let id = stage.player_id();
    let champion = json!({
        "player_id": id, "display_name": "The player", "wins": 3, "losses": 0, "win_rate": 1.0,
    });
    let standings = json!({
        "total_rounds": 3, "total_matches": 6, "champion": champion,
        "rankings": [{"rank": 1, "player_id": id, "wins": 3, "losses": 0}],
    });
    let body = json!({"final_standings": standings});
    from_manager(stage, "LEAGUE_COMPLETE", "FINAL_STANDINGS", body)
}

fn has_the_base(record: &Record) -> Judgement {
    let names = [
        "league_id",
        "round_id",
        "match_id",
        "conversation_id",
        "sender",
    ];
    names.iter().try_for_each(|name| {
        hold!(record.message().get(*name).is_some(),
            else "`{name}` is missing")
    })
}

fn describes_itself(record: &Record) -> Judgement {
    let meta = record.member("player_meta");
    for name in ["display_name", "version", "contact_endpoint"] {
        hold!(meta[name].is_string(), else "`player_meta.{name}` is missing")?;
    }
    let games = meta["game_types"].as_array();
    let plays = games.is_some_and(|games| games.contains(&"even_odd".into()));
    hold!(plays, else "`player_meta.game_types` has no even_odd")
}

fn is_legal(record: &Record) -> Judgement {
    let play = record.member("play");
    let value = play["value"].as_str();
    let legal = play["action"] == "choose" && matches!(value, Some("even" | "odd"));
    hold!(legal, else "`play` is {play}")
}

async fn plays_again(caller: &Caller) -> Judgement {
    let at = joined(caller).await?;
    let question = request(&caller.stage, &at.subject);
    let first = caller.call_within(&question, MOVE).await?;
    let one = &first.of_kind(PLAYED)?["play"]["value"];
    for _ in 0..5 {
        let second = caller.call_within(&question, MOVE).await?;
        let two = &second.needed()?["play"]["value"];
        hold!(one == two, else "first it chose {one}, then {two}")?;
    }
    Ok(())
}
