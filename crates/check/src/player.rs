//! Rules for players, and the messages of the manager and the referees that call them.

mod crowd;
mod news;
mod play;
mod recovery;
mod trust;
mod v1;

use crate::prelude::*;
use crate::registration;
use crate::shared;

pub(crate) use recovery::restarted_and_back;

/// How long a player may take to join.
pub(crate) const JOIN: Duration = Duration::from_secs(5);
/// How long a player may take to choose.
pub(crate) const MOVE: Duration = Duration::from_secs(30);
/// The referee that calls.
const REFEREE: &str = "referee:REF01";
/// A token that was never issued.
pub(crate) const FALSE_TOKEN: &str = "tok-false-fedcba9876543210";

pub(crate) const JOINED: &[&str] = &["GAME_JOIN_ACK"];
pub(crate) const CHOSEN: &[&str] = &["CHOOSE_PARITY_RESPONSE"];

/// All rules for players of `league.v2`.
pub fn topics() -> Vec<Topic> {
    let mut topics = vec![registration::of_player()];
    topics.extend(shared::topics());
    topics.extend([
        play::invitation_rules(),
        play::choice_rules(),
        play::move_rules(),
        news::topic(),
        trust::topic(),
        crowd::topic(),
        recovery::topic(),
    ]);
    topics
}

/// All rules for players of `league.v1`.
pub fn v1_topics() -> Vec<Topic> {
    let mut topics = shared::topics();
    topics.push(v1::topic());
    topics
}

/// The token with which a referee proves its identity in a match.
fn match_token(match_id: &str) -> String {
    format!("tok-match-{match_id}-0123456789abcdef")
}

/// Announces the first attempt at a match with its token.
pub(crate) fn announcement(stage: &Stage, match_id: &str) -> Question {
    let manager = stage.manager.as_ref();
    let port = manager.map(|manager| manager.listener.address.port());
    let row = json!({
        "match_id": match_id, "game_type": "even_odd", "player_A_id": stage.player_id(),
        "player_B_id": "P02", "match_token": match_token(match_id), "attempt": 1,
        "referee_endpoint": format!("http://localhost:{}/mcp", port.unwrap_or_default()),
    });
    let body = json!({"round_id": round_of(match_id), "matches": [row]});
    news(stage, "notify_round", "ROUND_ANNOUNCEMENT", body)
}

/// A call from the manager.
fn news(stage: &Stage, tool: &str, kind: &str, mut body: Value) -> Question {
    body["league_id"] = stage.league_id().into();
    if let Some(admission) = stage.admission() {
        body["auth_token"] = admission.manager_token.into();
    }
    let conversation = format!("check-{}", kind.to_ascii_lowercase());
    Question::new(tool, message(kind, "league_manager", &conversation, body))
}

/// A call from the referee of a match.
fn from_referee(
    stage: &Stage,
    tool: &str,
    kind: &str,
    match_id: &str,
    mut body: Value,
) -> Question {
    body["league_id"] = stage.league_id().into();
    body["round_id"] = round_of(match_id).into();
    body["match_id"] = match_id.into();
    body["auth_token"] = match_token(match_id).into();
    let conversation = format!("conv-{}-{}", match_id.to_ascii_lowercase(), tool);
    Question::new(tool, message(kind, REFEREE, &conversation, body))
}

/// Invites the player to a match.
pub(crate) fn invitation(stage: &Stage, match_id: &str) -> Question {
    let body = json!({
        "game_type": "even_odd", "role_in_match": "PLAYER_A", "opponent_id": "P02",
    });
    let (tool, kind) = ("handle_game_invitation", "GAME_INVITATION");
    from_referee(stage, tool, kind, match_id, body)
}

/// Invites the player to a match in the player's dialect.
pub(crate) fn first_call(stage: &Stage, match_id: &str) -> Question {
    match stage.is_v1() {
        true => v1::invitation(stage, match_id),
        false => invitation(stage, match_id),
    }
}

/// Asks the player for its choice.
pub(crate) fn choice(stage: &Stage, match_id: &str) -> Question {
    let record = json!({"wins": 2, "losses": 1, "draws": 0});
    let context = json!({
        "opponent_id": "P02", "round_id": round_of(match_id), "your_standings": record,
    });
    let body = json!({
        "player_id": stage.player_id(), "game_type": "even_odd", "context": context,
        "deadline": in_time(MOVE),
    });
    from_referee(stage, "choose_parity", "CHOOSE_PARITY_CALL", match_id, body)
}

/// Sends the player the end of a match, which it won.
pub(crate) fn game_over(stage: &Stage, match_id: &str) -> Question {
    let id = stage.player_id();
    let result = json!({
        "status": "WIN", "winner_player_id": id, "drawn_number": 8, "number_parity": "even",
        "choices": {&*id: "even", "P02": "odd"},
        "reason": format!("{id} chose even, number was 8 (even)"),
    });
    let body = json!({"game_type": "even_odd", "game_result": result});
    from_referee(stage, "notify_match_result", "GAME_OVER", match_id, body)
}

/// Sends the player an error about its choice.
fn game_error(stage: &Stage, match_id: &str, code: &str, name: &str) -> Question {
    let body = json!({
        "error_code": code, "error_name": name, "error_description": name,
        "player_id": stage.player_id(), "affected_player": stage.player_id(),
        "action_required": "CHOOSE_PARITY_RESPONSE", "retryable": true,
        "retry_info": {
            "retry_count": 1, "max_retries": 3, "next_retry_at": in_time(Duration::from_secs(2)),
        },
        "retry_count": 1, "max_retries": 3,
        "consequence": "Technical loss if max retries exceeded",
    });
    from_referee(stage, "notify_game_error", "GAME_ERROR", match_id, body)
}

/// A situation: a match that was not announced to the player.
async fn unannounced(caller: &Caller) -> Result<Setting, Trouble> {
    Ok(Setting::about(caller.stage.next_match()))
}

/// A situation: a match that the player will join.
async fn open(caller: &Caller) -> Result<Setting, Trouble> {
    Ok(Setting::about(caller.stage.open_match().await))
}

/// A situation: a match that the player has joined.
async fn joined(caller: &Caller) -> Result<Setting, Trouble> {
    join(caller).await.map(Setting::about)
}

/// A situation: a match in which the player was asked for its choice.
async fn played(caller: &Caller) -> Result<Setting, Trouble> {
    caller.stage.needs("PICK-01")?;
    let match_id = join(caller).await?;
    let question = choice(&caller.stage, &match_id);
    caller.call_within(&question, MOVE).await?;
    Ok(Setting::about(match_id))
}

/// Invites the player to a new match; the rules about invitations judge how it accepts.
pub(crate) async fn join(caller: &Caller) -> Result<String, Trouble> {
    caller.stage.needs("JOIN-01")?;
    let match_id = caller.stage.open_match().await;
    let question = invitation(&caller.stage, &match_id);
    let reply = caller.call(&question).await?;
    let refused = || {
        Trouble::broken(format!(
            "the invitation is answered with {}",
            reply.describe()
        ))
    };
    reply.is_taken().then_some(match_id).ok_or_else(refused)
}

/// Asks for a choice in a match.
pub(crate) async fn choose(caller: &Caller, match_id: &str) -> Result<Value, Trouble> {
    caller.stage.needs("PICK-01")?;
    let question = choice(&caller.stage, match_id);
    let reply = caller.call_within(&question, MOVE).await?;
    reply.of_kind(CHOSEN).cloned()
}

/// Asks for a choice in a match, and checks that it is legal.
async fn choose_legally(caller: &Caller, match_id: &str) -> Judgement {
    legal(&choose(caller, match_id).await?["parity_choice"])
}

pub(crate) fn legal(choice: &Value) -> Judgement {
    let legal = matches!(choice.as_str(), Some("even" | "odd"));
    hold!(legal, else "`parity_choice` is {choice}")
}

fn is_legal(record: &Record) -> Judgement {
    legal(record.member("parity_choice"))
}
