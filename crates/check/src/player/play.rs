//! Rules about a match as a player plays it: invitation, choice, moves of any game.

use league_protocol::time::{Timestamp, in_words};

use super::{
    CHOSEN, JOIN, JOINED, MOVE, choice, choose, from_referee, game_error, game_over, invitation,
    is_legal, join, joined, open, played,
};
use crate::prelude::*;

/// How far the clock of a player may be off, in milliseconds.
const CLOCK_TOLERANCE: i64 = 120_000;
/// The longest nonce that a referee takes, in bytes.
const MAX_NONCE: usize = 128;
/// How often the same choice is requested again: a player that chooses at random each time is
/// detected with a probability of 31 in 32.
const REPETITIONS: u32 = 5;
/// The general form, and the special one of Even/Odd: either may be used (000 §3.8.4).
const MOVES: [&str; 2] = ["GAME_MOVE_RESPONSE", "CHOOSE_PARITY_RESPONSE"];
const BOTH: [&str; 2] = ["even", "odd"];

const NO_STATE: &str = "the player does not know `get_player_state`, and need not";
const NO_MOVES: &str = "the player does not know `choose_move`, and needs it only for other games";

const EITHER_ROLE: [Body; 2] = [
    Body::With("role_in_match", "PLAYER_A"),
    Body::With("role_in_match", "PLAYER_B"),
];

const SENDER: Want = Want::Fact("sender");
/// The token from the registration; a missing one is forgiven.
const OWN_TOKEN: [Expect; 2] = [Text("auth_token"), Token("auth_token", "token")];

pub(super) fn invitation_rules() -> Topic {
    topic! { "invitation" needs "HTTP-01" "JOIN-01":
        "JOIN-01" Must "000 §4.4.2": "An invitation is answered with GAME_JOIN_ACK"
            => "answer the tool `handle_game_invitation` with a GAME_JOIN_ACK", invited();
        "JOIN-02" Must "000 §4.12.2": "`accept` is true"
            => "set `accept` to the boolean true", invited(), [equals("accept", true)];
        "JOIN-03" Must "000 §4.12.1": "The answer names the match of the invitation"
            => "copy `match_id` from the invitation", invited(), [Repeats("match_id")];
        "JOIN-04" Must "000 §4.12.1": "The answer names the player"
            => "set `player_id` to the id from the registration",
            invited(), [is("player_id", Want::Fact("id"))];
        "JOIN-05" Must "000 §4.4.2, §2.4.2": "The time of arrival is in UTC"
            => "set `arrival_timestamp` to a time such as 2025-01-15T10:30:00Z",
            invited(), [BodyUtc("arrival_timestamp")];
        "JOIN-06" Must[12] "000 §2.7": "The answer comes within 5 seconds"
            => "answer invitations at once, and think later",
            invited().due(&[]).patience(2 * JOIN), [Within(JOIN)];
        "JOIN-07" Must "000 §2.4.1": "The answer names the protocol"
            => "set `protocol` to league.v2", invited(), [PROTOCOL];
        "JOIN-08" Must "000 §2.4.4": "The sender of the answer is player:ID"
            => "set `sender` to `player:` and the id from the registration",
            invited(), [is("sender", SENDER)];
        "JOIN-09" Must "000 §2.4.2": "The time of the answer is in UTC"
            => "set `timestamp` to a time such as 2025-01-15T10:30:00Z",
            invited(), [Utc("timestamp")];
        "JOIN-10" Must "000 §2.4.1": "The answer is in the conversation of the invitation"
            => "copy `conversation_id` from the invitation", invited(), SAME_CONVERSATION;
        "JOIN-11" Must "000 §2.4.5": "The answer shows the player's token"
            => "put the `auth_token` from the registration into every message",
            invited().registered(), OWN_TOKEN;
        "JOIN-12" Must "ruling 43": "The same invitation again gets the same answer"
            => "answer a repeated invitation as before", steps!(joins_again);
        "JOIN-13" Must "000 §4.4.1": "The player comes in either role"
            => "take PLAYER_A and PLAYER_B alike",
            invited().bodies(EITHER_ROLE), [equals("accept", true)];
        "JOIN-14" Should "000 §4.4.1": "An invitation to a game that the player does not play is refused"
            => "compare `game_type` with what you registered, and decline",
            invited().due(&[]).with("game_type", "three_card_monte"),
            [By(|it| hold!(it.reply().is_refusal() || *it.member("accept") == false,
                 else "it accepts a game that it does not play"))];
        "JOIN-15" Should "000 §4.12.1": "An invitation without a match is refused"
            => "answer E003 if `match_id` is missing", invited().due(&[]).without(&["match_id"]),
            [Refused("an invitation without `match_id`")];
        "JOIN-16" Should "000 §2.4.2": "An invitation whose time is not in UTC is E021"
            => "answer LEAGUE_ERROR E021 to a time with another offset",
            invited().due(&[]).with("timestamp", OTHER_OFFSET), [LeagueError("E021")];
        "JOIN-17" Should "000 §2.4.2": "The clock of the player is right"
            => "take the time from the system's clock, in UTC", invited(), [By(clock_is_right)];
        kind "JOIN-18" Must "ruling 13": "Unknown members of an invitation are passed over"
            => "ignore members that you do not know", invited().changed(with_unknown_members);
        "JOIN-19" Should "ruling 13": "Members that may be absent may be null"
            => "read null as absent",
            invited().changed(|call, _| call["draw_commitment"] = Value::Null);
        kind "JOIN-20" Should "001 GAME_INVITATION": "An invitation in the spelling of 001 is understood"
            => "read `role` for `role_in_match`, and ROUND_1 for 1",
            invited().changed(in_the_spelling_of_001);
        kind "JOIN-21" Should "000 §2.10.2": "An invitation with less than the whole envelope is understood"
            => "need no more than `match_id`, `game_type` and `opponent_id`",
            invited().without(&["protocol", "sender", "timestamp"]);
    }
}

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn choice_rules() -> Topic {
    topic! { "choice" needs "HTTP-01" "JOIN-01" "PICK-01":
        "PICK-01" Must[40] "000 §4.5.2": "A call for a choice is answered with CHOOSE_PARITY_RESPONSE"
            => "answer the tool `choose_parity` with a CHOOSE_PARITY_RESPONSE", asked();
        "PICK-02" Must[40] "000 §4.12.2": "The choice is exactly `even` or `odd`"
            => "set `parity_choice` to even or odd, in lower case", asked(), [By(is_legal)];
        "PICK-03" Must[40] "000 §4.12.1": "The answer names the match of the call"
            => "copy `match_id` from the call", asked(), [Repeats("match_id")];
        "PICK-04" Must[40] "000 §4.12.1": "The answer names the player"
            => "set `player_id` to the id from the registration",
            asked(), [is("player_id", Want::Fact("member"))];
        "PICK-05" Must[70] "000 §2.7": "The choice comes within 30 seconds"
            => "choose by a simple rule if thinking takes too long",
            asked().due(&[]).patience(2 * MOVE), [Within(MOVE)];
        "PICK-06" Must[40] "000 §2.4.1": "The answer names the protocol"
            => "set `protocol` to league.v2", asked(), [PROTOCOL];
        "PICK-07" Must[40] "000 §2.4.4": "The sender of the answer is player:ID"
            => "set `sender` to `player:` and the id from the registration",
            asked().registered(), [is("sender", SENDER)];
        "PICK-08" Must[40] "000 §2.4.2": "The time of the answer is in UTC"
            => "set `timestamp` to a time such as 2025-01-15T10:30:00Z",
            asked(), [Utc("timestamp")];
        "PICK-09" Must[40] "000 §2.4.1": "The answer is in the conversation of the call"
            => "copy `conversation_id` from the call", asked(), SAME_CONVERSATION;
        "PICK-10" Must[40] "000 §2.4.5": "The answer shows the player's token"
            => "put the `auth_token` from the registration into every message",
            asked().registered(), OWN_TOKEN;
        "PICK-11" Should[70] "ruling 43": "The same call again gets the same choice"
            => "remember the choice of each match, and repeat it", steps!(chooses_again);
        "PICK-12" Must[70] "000 §2.11.3": "After GAME_ERROR E001 the player chooses once more"
            => "answer each call for a choice, also after an error",
            asked_after(after!(after_error, "E001", "TIMEOUT_ERROR")), [By(is_legal)];
        "PICK-13" Should[70] "ruling 15": "After GAME_ERROR E004 the player gives a legal choice"
            => "take E004 as a reason to choose again",
            asked_after(after!(after_error, "E004", "INVALID_PARITY_CHOICE")), [By(is_legal)];
        "PICK-14" Should[40] "000 §4.5.1": "A deadline that has passed does no harm"
            => "answer, or refuse with E008, but never wait",
            promptly().with("deadline", "2025-01-15T10:30:30Z")
                .survives("a deadline that has passed"),
            [By(|it| hold!(it.reply().result().is_some() || it.reply().rpc_error().is_some(),
                 else "the answer is {}", it.reply().describe()))];
        "PICK-15" Should[40] "ruling 36": "A call without an invitation does no harm"
            => "answer, or refuse with E006 or E007",
            Ask::about(after!(open), choice).survives("a call without an invitation"),
            [By(refuses_or_chooses)];
        kind "PICK-16" Must[40] "001 CHOOSE_PARITY_CALL": "A call in the spelling of 001 is understood"
            => "need no `context`, `player_id` or `game_type` to choose",
            asked().without(&["context", "player_id", "game_type", "league_id", "round_id"]),
            [By(is_legal)];
        kind "PICK-17" Should[40] "ruling 13": "An empty context is not a reason to refuse"
            => "read what is missing in `context` as unknown",
            asked().changed(|call, _| call["context"] = json!({})), [By(is_legal)];
        "PICK-18" Should[40] "ruling 27": "A nonce has at most 128 bytes"
            => "send 16 random bytes in hex as `nonce`", asked(),
            [By(|it| hold!(nonce_of(it.message())?.len() <= MAX_NONCE,
                 else "the nonce has {} bytes", nonce_of(it.message())?.len()))];
        "PICK-19" Should[70] "ruling 27": "A nonce is new in every match"
            => "draw the `nonce` afresh for every match", steps!(draws_new_nonces);
        "PICK-20" Should[40] "000 §4.12.1": "A call without a match is refused"
            => "answer E003 if `match_id` is missing",
            promptly().without(&["match_id"]), [Refused("a call without `match_id`")];
        "PICK-21" Should[40] "ruling 42": "A call meant for another player is refused"
            => "compare `player_id` with your own, and answer E012",
            promptly().registered().with("player_id", "P77"),
            [Refused("a call for the player P77")];
        "PICK-22" Should[40] "000 §2.4.2": "A call whose time is not in UTC is E021"
            => "answer LEAGUE_ERROR E021 to a time with another offset",
            promptly().with("timestamp", "2025-01-15T10:30:00-05:00"), [LeagueError("E021")];
        "PICK-23" Must[40] "000 §4.5.2": "The answer says nothing but the choice of this match"
            => "send one `parity_choice`, no list and no object", asked(), [By(is_one_choice)];
    }
}

pub(super) fn move_rules() -> Topic {
    topic! { "moves" needs "HTTP-01":
        "MOVE-01" Should[40] "000 §3.8.2, §3.8.4": "A call for a move in the general form is answered with a move"
            => "serve the tool `choose_move` beside `choose_parity`", moved().due(&MOVES);
        "MOVE-02" Should[40] "000 §3.8.2": "The move is one of the options"
            => "set `move_data.choice` to one of `move_request.valid_options`", moved().due(&MOVES),
            [By(|it| hold!(BOTH.iter().any(|option| move_of(it) == option),
                 else "`choice` is {}", move_of(it)))];
        "MOVE-03" Should[40] "000 §3.8.2": "The move is of the type that was asked for"
            => "copy `move_type` from the request", moved(), [By(is_of_the_type)];
        "MOVE-04" Should[40] "000 §3.8.2": "The answer names match and player"
            => "copy `match_id`, and set `player_id` to your own",
            moved(), [Repeats("match_id"), Repeats("player_id")];
        "MOVE-05" Should[40] "000 §3.8.2": "A call for a move without options does no harm"
            => "refuse with E002 if there is nothing to choose from",
            move_among(|stage, at| move_call(stage, at, &[])).survives("a move without options"),
            [By(|it| hold!(!MOVES.iter().any(|kind| it.member("message_type") == kind),
                 else "it moves although there is nothing to choose from"))];
        "MOVE-06" Should[40] "000 §3.8.2": "One option only is the one that is taken"
            => "choose from `move_request.valid_options`, whatever they are",
            move_among(|stage, at| move_call(stage, at, &["odd"])).due(&MOVES),
            // A player that signs may choose by the rules, which also allow the other.
            [By(|it| hold!(move_of(it) == "odd" || it.member("proof").is_string() && move_of(it) == "even",
                 else "`choice` is {}", move_of(it)))];
        "STATE-01" Should "ruling 3": "The player shows how it stands"
            => "serve the tool `get_player_state`",
            Ask::method(state).unless(Reply::is_refusal, NO_STATE),
            [By(|it| hold!(it.message().is_object(), else "the answer is not an object"))];
        "STATE-02" Should "000 §2.4.5": "What the player shows holds no token"
            => "leave tokens out of what you show",
            Ask::method(state).registered().unless(Reply::is_refusal, NO_STATE),
            [By(|it| hold!(!it.message().to_string().contains(str_of(it.fact("token")?)),
                 else "the player's token is in the answer"))];
        "STATE-03" Should[40] "000 §5.7.1": "What the player shows counts the match that it just played"
            => "count matches when GAME_OVER comes",
            Ask::new(after!(ended), state).unless(Reply::is_refusal, NO_STATE),
            [By(|it| hold!(it.message().to_string().contains(&it.fact("subject")?.to_string()),
                 else "the match {} is not in the answer", it.fact("subject")?))];
    }
}

/// An invitation to a new match.
fn invited() -> Ask {
    Ask::about(after!(open), invitation).due(JOINED)
}

/// A call for a choice in a situation.
fn asked_after(situation: Situation) -> Ask {
    let ask = Ask::about(situation, choice);
    ask.patience(MOVE).due(CHOSEN)
}

fn asked() -> Ask {
    asked_after(after!(joined))
}

/// A call for a choice that may be refused, but promptly.
fn promptly() -> Ask {
    asked().patience(PROMPT).due(&[])
}

fn move_among(question: fn(&Stage, &Setting) -> Question) -> Ask {
    let ask = Ask::new(after!(joined), question).patience(MOVE);
    let is_unknown = |it: &Reply| it.rpc_error() == Some(-32_601) || it.result().is_none();
    ask.unless(is_unknown, NO_MOVES)
}

fn moved() -> Ask {
    move_among(|stage, at| move_call(stage, at, &BOTH))
}

/// A call for a move of Even/Odd in the general form.
fn move_call(stage: &Stage, at: &Setting, options: &[&str]) -> Question {
    let match_id = &at.subject;
    let body = json!({
        "player_id": stage.player_id(), "game_type": "even_odd",
        "move_request": {
            "move_type": "choose_parity", "valid_options": options,
            "context": {"opponent_id": "P02", "round_id": round_of(match_id)},
        },
        "deadline": in_time(MOVE),
    });
    from_referee(stage, "choose_move", "GAME_MOVE_CALL", match_id, body)
}

fn state(_: &Stage, _: &Setting) -> Question {
    Question::new("get_player_state", json!({}))
}

/// A situation: the player received an error about its choice.
async fn after_error(caller: &Caller, code: &str, name: &str) -> Result<Setting, Trouble> {
    let match_id = join(caller).await?;
    choose(caller, &match_id).await?;
    let error = game_error(&caller.stage, &match_id, code, name);
    caller.call(&error).await?;
    Ok(Setting::about(match_id))
}

/// A situation: a match that is over.
async fn ended(caller: &Caller) -> Result<Setting, Trouble> {
    let at = played(caller).await?;
    caller.call(&game_over(&caller.stage, &at.subject)).await?;
    Ok(at)
}

async fn joins_again(caller: &Caller) -> Judgement {
    let match_id = caller.stage.open_match().await;
    let question = invitation(&caller.stage, &match_id);
    let (first, second) = (caller.call(&question).await?, caller.call(&question).await?);
    let (first, second) = (first.of_kind(JOINED)?, second.of_kind(JOINED)?);
    for name in ["accept", "match_id", "player_id"] {
        let (one, two) = (&first[name], &second[name]);
        hold!(one == two, else "`{name}` was {one} and is now {two}")?;
    }
    Ok(())
}

async fn chooses_again(caller: &Caller) -> Judgement {
    let match_id = join(caller).await?;
    let first = choose(caller, &match_id).await?;
    for _ in 0..REPETITIONS {
        let second = choose(caller, &match_id).await?;
        let (one, two) = (&first["parity_choice"], &second["parity_choice"]);
        hold!(one == two, else "first it chose {one}, then {two}")?;
    }
    Ok(())
}

fn nonce_of(message: &Value) -> Result<&str, Trouble> {
    let nonce = message.get("nonce").and_then(Value::as_str);
    nonce.ok_or_else(|| Trouble::skipped("the player sends no nonce, and need not"))
}

async fn draws_new_nonces(caller: &Caller) -> Judgement {
    let mut nonces = Vec::new();
    for _ in 0..2 {
        let match_id = join(caller).await?;
        nonces.push(nonce_of(&choose(caller, &match_id).await?)?.to_owned());
    }
    hold!(nonces[0] != nonces[1], else "two matches have the same nonce")
}

fn with_unknown_members(call: &mut Value, _: &Stage) {
    call["x_weather"] = json!({"rain": [1, 2, 3]});
    call["draw_commitment"] = "00".repeat(32).into();
}

fn in_the_spelling_of_001(call: &mut Value, _: &Stage) {
    let round = call["round_id"].clone();
    call["round_id"] = format!("ROUND_{round}").into();
    remove(call, &["role_in_match"]);
    call["role"] = "PLAYER_A".into();
}

fn clock_is_right(record: &Record) -> Judgement {
    let told = Timestamp::parse(str_of(record.member("timestamp")));
    let told = told.map_err(|_| Trouble::skipped("there is no time to look at, see JOIN-09"))?;
    let now = record.fact("now")?.as_i64().unwrap_or_default();
    let off = (now - told.as_millis()).abs();
    hold!(off <= CLOCK_TOLERANCE,
        else "it is off by {}", in_words(Duration::from_millis(off.unsigned_abs())))
}

fn refuses_or_chooses(record: &Record) -> Judgement {
    let reply = record.reply();
    match reply.is_refusal() {
        true => Ok(()),
        false => reply.of_kind(CHOSEN).map(drop),
    }
}

fn is_one_choice(record: &Record) -> Judgement {
    let choice = record.member("parity_choice");
    hold!(choice.is_string(), else "`parity_choice` is {choice}")?;
    let mut others = ["choices", "opponent_choice"].into_iter();
    let other = others.find(|name| record.message().get(*name).is_some());
    hold!(other.is_none(), else "the answer holds {other:?} as well")
}

/// The choice, in either form.
fn move_of(record: &Record) -> &Value {
    match record.member("parity_choice") {
        Value::Null => record.member("move_data.choice"),
        choice => choice,
    }
}

fn is_of_the_type(record: &Record) -> Judgement {
    record.reply().needed()?;
    need!(*record.member("message_type") != MOVES[1], else "the answer has the form of Even/Odd")?;
    let kind = record.member("move_data.move_type");
    hold!(kind == "choose_parity", else "`move_type` is {kind}")
}
