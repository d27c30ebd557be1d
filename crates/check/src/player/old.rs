//! Rules for players of `league.v1`: the messages of 003, member by member.

use serde_json::{Value, json};

use super::{MOVE, OfPlayer, PlayerStage, round};
use crate::envelope;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::script::now;
use crate::stage::Question;

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "league.v1",
        rules: rules! {
            "OLD-01" Must "003 Base Message Structure": "The registration has every member of the base structure"
                => "send league_id, round_id, match_id, conversation_id, sender and timestamp", registers;
            "OLD-02" Must "003 LEAGUE_REGISTER_REQUEST": "The registration says name, version, games and address"
                => "fill `player_meta`", described;
            "OLD-03" Must "003 GAME_INVITATION_RESPONSE": "An invitation is answered with GAME_INVITATION_RESPONSE"
                => "answer the tool `handle_game_invitation` with it", answers;
            "OLD-04" Must "003 GAME_INVITATION_RESPONSE": "The status of the answer is READY"
                => "set `status` to READY", ready;
            "OLD-05" Must "003 Base Message Structure": "The answer repeats league, round, match and conversation"
                => "copy them from the invitation", repeats;
            "OLD-06" Must "003 Base Message Structure": "The sender of the answer is the player's id"
                => "set `sender` to the id from the registration, such as player_001", sender;
            "OLD-07" Must "003 Base Message Structure": "The time of the answer is in UTC"
                => "write times as 2025-12-13T22:05:01.000Z", time;
            "OLD-08" Must "003 GAME_INVITATION": "The player comes in either role"
                => "take challenger and defender alike", roles;
            "OLD-09" Must "003 GAME_START": "The start of a game is taken"
                => "answer GAME_START with any result", starts;
            "OLD-10" Must "003 PLAY_RESPONSE": "A request to play is answered with PLAY_RESPONSE"
                => "answer the tool `choose_parity` with it", plays, 40;
            "OLD-11" Must "003 PLAY_RESPONSE": "The play is to choose even or odd"
                => "set `play` to {\"action\": \"choose\", \"value\": \"even\"}", legal, 40;
            "OLD-12" Must "003 Base Message Structure": "The play repeats league, round, match and conversation"
                => "copy them from the request", play_repeats, 40;
            "OLD-13" Should "ruling 43": "The same request again gets the same play"
                => "remember the play of each match, and repeat it", again, 70;
            "OLD-14" Must "003 PLAY_VALIDATION": "The validation of a play is taken"
                => "answer PLAY_VALIDATION with any result", validated, 40;
            "OLD-15" Must "003 GAME_RESULT": "A result is taken, be it a win, a draw or a forfeit"
                => "answer GAME_RESULT with any result", results, 100;
            "OLD-16" Should "003 ROUND_COMPLETE": "The end of a round is taken"
                => "answer ROUND_COMPLETE with any result", round_complete;
            "OLD-17" Should "003 LEAGUE_START_ANNOUNCEMENT": "The announcement of the league is taken"
                => "answer LEAGUE_START_ANNOUNCEMENT with any result", announced;
            "OLD-18" Should "003 LEAGUE_COMPLETE": "The end of the league is taken"
                => "answer LEAGUE_COMPLETE with any result", league_complete;
        },
    }
}

/// A message of `league.v1`.
fn said(stage: &PlayerStage, kind: &str, sender: &str, match_id: &str, says: Value) -> Value {
    let league = stage.office.admission().map(|admission| admission.league);
    let number = u64::from(round(match_id)) * 1_000 + match_id.len() as u64;
    let mut message = json!({
        "protocol": "league.v1", "message_type": kind, "league_id": league,
        "round_id": round(match_id), "match_id": match_id,
        "conversation_id": format!("880e8400-e29b-41d4-a716-{number:012x}"),
        "sender": sender, "timestamp": now().to_millis_text(),
    });
    if let Value::Object(says) = says {
        for (name, value) in says {
            message[name] = value;
        }
    }
    message
}

/// Invites the player to a match.
pub(super) fn invitation(stage: &PlayerStage, match_id: &str) -> Question {
    let info = json!({
        "game_type": "even_odd", "opponent_id": "player_002", "your_role": "challenger",
        "timeout_seconds": 30,
    });
    let says = json!({"game_info": info});
    let message = said(stage, "GAME_INVITATION", "referee", match_id, says);
    Question::new("handle_game_invitation", message)
}

fn request(stage: &PlayerStage, match_id: &str) -> Question {
    let state = json!({
        "turn_number": 1, "timeout_seconds": 30, "game_specific_state": {"previous_plays": []},
    });
    let message = said(
        stage,
        "PLAY_REQUEST",
        "referee",
        match_id,
        json!({"game_state": state}),
    );
    Question::new("choose_parity", message)
}

async fn told(act: &OfPlayer, kind: &str, sender: &str, match_id: &str, says: Value) -> Played {
    let message = said(&act.stage, kind, sender, match_id, says);
    let reply = act.call(&Question::new("mcp_message", message)).await?;
    hold(!reply.is_refusal(), || {
        format!("{kind} is answered with {}", reply.describe())
    })
}

async fn invited(act: &OfPlayer) -> Result<(Value, Reply), Trouble> {
    let question = invitation(&act.stage, &act.stage.next_match());
    let reply = act.call(&question).await?;
    reply.of_kind(&["GAME_INVITATION_RESPONSE"])?;
    Ok((question.params, reply))
}

async fn played(act: &OfPlayer) -> Result<(Value, Reply), Trouble> {
    let (asked, _) = invited(act).await?;
    let question = request(&act.stage, asked["match_id"].as_str().unwrap_or_default());
    let reply = act.call_within(&question, MOVE).await?;
    reply.of_kind(&["PLAY_RESPONSE"])?;
    Ok((question.params, reply))
}

fn base(asked: &Value, message: &Value) -> Played {
    for name in ["league_id", "round_id", "match_id", "conversation_id"] {
        envelope::repeated(asked, message, name)?;
    }
    Ok(())
}

async fn registers(act: &OfPlayer) -> Played {
    let heard = act.stage.admitted()?.heard;
    let message = heard.message();
    for name in [
        "league_id",
        "round_id",
        "match_id",
        "conversation_id",
        "sender",
    ] {
        hold(message.get(name).is_some(), || {
            format!("`{name}` is missing")
        })?;
    }
    envelope::time(message, "timestamp", false)
}

async fn described(act: &OfPlayer) -> Played {
    let heard = act.stage.admitted()?.heard;
    let meta = &heard.message()["player_meta"];
    for name in ["display_name", "version", "contact_endpoint"] {
        hold(meta[name].is_string(), || {
            format!("`player_meta.{name}` is missing")
        })?;
    }
    let games = meta["game_types"].as_array();
    let plays = games.is_some_and(|games| games.contains(&"even_odd".into()));
    hold(plays, || {
        "`player_meta.game_types` has no even_odd".to_owned()
    })
}

async fn answers(act: &OfPlayer) -> Played {
    invited(act).await.map(drop)
}

async fn ready(act: &OfPlayer) -> Played {
    let (_, reply) = invited(act).await?;
    let status = &reply.needed()?["status"];
    hold(status == "READY", || format!("`status` is {status}"))
}

async fn repeats(act: &OfPlayer) -> Played {
    let (asked, reply) = invited(act).await?;
    base(&asked, reply.needed()?)
}

async fn sender(act: &OfPlayer) -> Played {
    let (_, reply) = invited(act).await?;
    envelope::is(reply.needed()?, "sender", &act.stage.admitted()?.id)
}

async fn time(act: &OfPlayer) -> Played {
    let (_, reply) = invited(act).await?;
    envelope::time(reply.needed()?, "timestamp", false)
}

async fn roles(act: &OfPlayer) -> Played {
    for role in ["challenger", "defender"] {
        let mut question = invitation(&act.stage, &act.stage.next_match());
        question.params["game_info"]["your_role"] = role.into();
        let reply = act.call(&question).await?;
        let status = &reply.of_kind(&["GAME_INVITATION_RESPONSE"])?["status"];
        hold(status == "READY", || {
            format!("as {role} its status is {status}")
        })?;
    }
    Ok(())
}

async fn starts(act: &OfPlayer) -> Played {
    let (asked, _) = invited(act).await?;
    let id = act.stage.admitted()?.id;
    let rules = json!({"single_round": true, "timeout_per_move": 30});
    let state = json!({"game_type": "even_odd", "current_player": id, "rules": rules});
    let match_id = asked["match_id"].as_str().unwrap_or_default();
    told(
        act,
        "GAME_START",
        "referee",
        match_id,
        json!({"game_state": state}),
    )
    .await
}

async fn plays(act: &OfPlayer) -> Played {
    played(act).await.map(drop)
}

async fn legal(act: &OfPlayer) -> Played {
    let (_, reply) = played(act).await?;
    let play = &reply.needed()?["play"];
    let value = play["value"].as_str();
    let legal = play["action"] == "choose" && matches!(value, Some("even" | "odd"));
    hold(legal, || format!("`play` is {play}"))
}

async fn play_repeats(act: &OfPlayer) -> Played {
    let (asked, reply) = played(act).await?;
    base(&asked, reply.needed()?)
}

async fn again(act: &OfPlayer) -> Played {
    let (asked, first) = played(act).await?;
    let question = Question::new("choose_parity", asked);
    for _ in 0..5 {
        let second = act.call_within(&question, MOVE).await?;
        let (one, two) = (
            &first.needed()?["play"]["value"],
            &second.needed()?["play"]["value"],
        );
        hold(one == two, || format!("first it chose {one}, then {two}"))?;
    }
    Ok(())
}

async fn validated(act: &OfPlayer) -> Played {
    let (asked, reply) = played(act).await?;
    let id = act.stage.admitted()?.id;
    let validation = json!({
        "player_id": id, "play": reply.needed()?["play"], "status": "VALID", "error": null,
    });
    let match_id = asked["match_id"].as_str().unwrap_or_default();
    told(
        act,
        "PLAY_VALIDATION",
        "referee",
        match_id,
        json!({"validation": validation}),
    )
    .await
}

async fn results(act: &OfPlayer) -> Played {
    let id = act.stage.admitted()?.id;
    let cases = [
        (json!(id), json!("player_002"), "WIN"),
        (Value::Null, Value::Null, "DRAW"),
        (json!("player_002"), json!(id), "FORFEIT"),
    ];
    for (winner, loser, outcome) in cases {
        let (asked, _) = played(act).await?;
        let summary = json!({
            format!("{id}_choice"): "even", "player_002_choice": "odd", "random_number": 42,
            "number_parity": "even", "winner_reason": "as the rules say",
        });
        let result = json!({
            "winner": winner, "loser": loser, "outcome": outcome, "game_summary": summary,
        });
        let match_id = asked["match_id"].as_str().unwrap_or_default();
        told(
            act,
            "GAME_RESULT",
            "referee",
            match_id,
            json!({"result": result}),
        )
        .await?;
    }
    Ok(())
}

async fn round_complete(act: &OfPlayer) -> Played {
    let id = act.stage.admitted()?.id;
    let rows = json!([{"player_id": id, "wins": 1, "losses": 0, "rank": 1}]);
    let summary = json!({"round_summary": {"matches_played": 2, "standings": rows}});
    told(
        act,
        "ROUND_COMPLETE",
        "league_manager",
        "ROUND_SUMMARY",
        summary,
    )
    .await
}

async fn announced(act: &OfPlayer) -> Played {
    let id = act.stage.admitted()?.id;
    let row = json!({"match_id": "R1M1", "player1": id, "player2": "player_002"});
    let info = json!({
        "total_rounds": 3, "total_players": 4, "game_type": "even_odd",
        "schedule": [{"round_id": 1, "matches": [row]}],
    });
    let says = json!({"league_info": info});
    told(
        act,
        "LEAGUE_START_ANNOUNCEMENT",
        "league_manager",
        "ANNOUNCEMENT",
        says,
    )
    .await
}

async fn league_complete(act: &OfPlayer) -> Played {
    let id = act.stage.admitted()?.id;
    let champion = json!({
        "player_id": id, "display_name": "The player", "wins": 3, "losses": 0, "win_rate": 1.0,
    });
    let standings = json!({
        "total_rounds": 3, "total_matches": 6, "champion": champion,
        "rankings": [{"rank": 1, "player_id": id, "wins": 3, "losses": 0}],
    });
    let says = json!({"final_standings": standings});
    told(
        act,
        "LEAGUE_COMPLETE",
        "league_manager",
        "FINAL_STANDINGS",
        says,
    )
    .await
}
