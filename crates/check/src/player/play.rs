//! Rules about a match as a player plays it: invitation, choice, moves of any game.

use std::time::Duration;

use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use super::{
    CHOSEN, JOIN, JOINED, MOVE, choice, from_referee, game_error, game_over, invitation, is_legal,
    join, joined, open, played,
};
use crate::caller::{Caller, PROMPT};
use crate::exchange::{Ask, Body, Setting, Situation, remove};
use crate::record::Expect::{By, Refused, Token, Utc, Within};
use crate::record::{
    Expect, PROTOCOL, Record, SAME_CONVERSATION, Want, equals, is, refused_with, repeats, utc,
};
use crate::reply::Reply;
use crate::rule::{Judgement, Topic, Trouble, hold, rules, steps};
use crate::script::{OTHER_OFFSET, in_time};
use crate::stage::{Question, Stage, round_of};

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

const SENDER: Want = Want::Fact("sender");
/// The token from the registration; a missing one is forgiven.
const OWN_TOKEN: Expect = Token {
    name: "auth_token",
    fact: "token",
    missing_is_forgiven: true,
};

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn invitation_rules() -> Topic {
    Topic {
        name: "invitation",
        rules: rules! {
            "JOIN-01" Must "000 §4.4.2": "An invitation is answered with GAME_JOIN_ACK"
                => "answer the tool `handle_game_invitation` with a GAME_JOIN_ACK", invited();
            "JOIN-02" Must "000 §4.12.2": "`accept` is true"
                => "set `accept` to the boolean true", invited(), [equals("accept", true)];
            "JOIN-03" Must "000 §4.12.1": "The answer names the match of the invitation"
                => "copy `match_id` from the invitation", invited(), [repeats("match_id")];
            "JOIN-04" Must "000 §4.12.1": "The answer names the player"
                => "set `player_id` to the id from the registration",
                invited(), [is("player_id", Want::Fact("id"))];
            "JOIN-05" Must "000 §4.4.2, §2.4.2": "The time of arrival is in UTC"
                => "set `arrival_timestamp` to a time such as 2025-01-15T10:30:00Z",
                invited(), [Utc { name: "arrival_timestamp", in_body: true }];
            "JOIN-06" Must[12] "000 §2.7": "The answer comes within 5 seconds"
                => "answer invitations at once, and think later",
                invited().due(&[]).patience(2 * JOIN), [Within(JOIN)];
            "JOIN-07" Must "000 §2.4.1": "The answer names the protocol"
                => "set `protocol` to league.v2", invited(), [PROTOCOL];
            "JOIN-08" Must "000 §2.4.4": "The sender of the answer is player:ID"
                => "set `sender` to `player:` and the id from the registration",
                invited(), [is("sender", SENDER)];
            "JOIN-09" Must "000 §2.4.2": "The time of the answer is in UTC"
                => "set `timestamp` to a time such as 2025-01-15T10:30:00Z", invited(), [utc("timestamp")];
            "JOIN-10" Must "000 §2.4.1": "The answer is in the conversation of the invitation"
                => "copy `conversation_id` from the invitation", invited(), [SAME_CONVERSATION];
            "JOIN-11" Must "000 §2.4.5": "The answer shows the player's token"
                => "put the `auth_token` from the registration into every message",
                invited().registered(), [OWN_TOKEN];
            "JOIN-12" Must "ruling 43": "The same invitation again gets the same answer"
                => "answer a repeated invitation as before", steps!(joins_again);
            "JOIN-13" Must "000 §4.4.1": "The player comes in either role"
                => "take PLAYER_A and PLAYER_B alike",
                invited().bodies([Body::Message(as_player_a), Body::Message(as_player_b)]),
                [equals("accept", true)];
            "JOIN-14" Should "000 §4.4.1": "An invitation to a game that the player does not play is refused"
                => "compare `game_type` with what you registered, and decline",
                invited().due(&[]).with(|call, _| call["game_type"] = "three_card_monte".into()),
                [By(declines)];
            "JOIN-15" Should "000 §4.12.1": "An invitation without a match is refused"
                => "answer E003 if `match_id` is missing",
                invited().due(&[]).with(|call, _| remove(call, &["match_id"])),
                [Refused("an invitation without `match_id`")];
            "JOIN-16" Should "000 §2.4.2": "An invitation whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset",
                invited().due(&[]).with(|call, _| call["timestamp"] = OTHER_OFFSET.into()),
                [refused_with("E021")];
            "JOIN-17" Should "000 §2.4.2": "The clock of the player is right"
                => "take the time from the system's clock, in UTC", invited(), [By(clock_is_right)];
            kind "JOIN-18" Must "ruling 13": "Unknown members of an invitation are passed over"
                => "ignore members that you do not know", invited().with(with_unknown_members);
            "JOIN-19" Should "ruling 13": "Members that may be absent may be null"
                => "read null as absent", invited().with(|call, _| call["draw_commitment"] = Value::Null);
            kind "JOIN-20" Should "001 GAME_INVITATION": "An invitation in the spelling of 001 is understood"
                => "read `role` for `role_in_match`, and ROUND_1 for 1",
                invited().with(in_the_spelling_of_001);
            kind "JOIN-21" Should "000 §2.10.2": "An invitation with less than the whole envelope is understood"
                => "need no more than `match_id`, `game_type` and `opponent_id`",
                invited().with(|call, _| remove(call, &["protocol", "sender", "timestamp"]));
        },
    }
}

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn choice_rules() -> Topic {
    Topic {
        name: "choice",
        rules: rules! {
            "PICK-01" Must[40] "000 §4.5.2": "A call for a choice is answered with CHOOSE_PARITY_RESPONSE"
                => "answer the tool `choose_parity` with a CHOOSE_PARITY_RESPONSE", asked();
            "PICK-02" Must[40] "000 §4.12.2": "The choice is exactly `even` or `odd`"
                => "set `parity_choice` to even or odd, in lower case", asked(), [By(is_legal)];
            "PICK-03" Must[40] "000 §4.12.1": "The answer names the match of the call"
                => "copy `match_id` from the call", asked(), [repeats("match_id")];
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
                => "set `timestamp` to a time such as 2025-01-15T10:30:00Z", asked(), [utc("timestamp")];
            "PICK-09" Must[40] "000 §2.4.1": "The answer is in the conversation of the call"
                => "copy `conversation_id` from the call", asked(), [SAME_CONVERSATION];
            "PICK-10" Must[40] "000 §2.4.5": "The answer shows the player's token"
                => "put the `auth_token` from the registration into every message",
                asked().registered(), [OWN_TOKEN];
            "PICK-11" Should[70] "ruling 43": "The same call again gets the same choice"
                => "remember the choice of each match, and repeat it", steps!(chooses_again);
            "PICK-12" Must[70] "000 §2.11.3": "After GAME_ERROR E001 the player chooses once more"
                => "answer each call for a choice, also after an error",
                asked_after(|caller| Box::pin(after_error(caller, "E001", "TIMEOUT_ERROR"))), [By(is_legal)];
            "PICK-13" Should[70] "ruling 15": "After GAME_ERROR E004 the player gives a legal choice"
                => "take E004 as a reason to choose again",
                asked_after(|caller| Box::pin(after_error(caller, "E004", "INVALID_PARITY_CHOICE"))),
                [By(is_legal)];
            "PICK-14" Should[40] "000 §4.5.1": "A deadline that has passed does no harm"
                => "answer, or refuse with E008, but never wait",
                promptly()
                    .with(|call, _| call["deadline"] = "2025-01-15T10:30:30Z".into())
                    .survives("a deadline that has passed"),
                [By(answers_or_refuses)];
            "PICK-15" Should[40] "ruling 36": "A call without an invitation does no harm"
                => "answer, or refuse with E006 or E007",
                Ask::new(open, |stage, at| choice(stage, &at.subject))
                    .survives("a call without an invitation"),
                [By(refuses_or_chooses)];
            kind "PICK-16" Must[40] "001 CHOOSE_PARITY_CALL": "A call in the spelling of 001 is understood"
                => "need no `context`, `player_id` or `game_type` to choose",
                asked()
                    .with(|call, _| remove(call, &["context", "player_id", "game_type", "league_id", "round_id"])),
                [By(is_legal)];
            kind "PICK-17" Should[40] "ruling 13": "An empty context is not a reason to refuse"
                => "read what is missing in `context` as unknown",
                asked().with(|call, _| call["context"] = json!({})), [By(is_legal)];
            "PICK-18" Should[40] "ruling 27": "A nonce has at most 128 bytes"
                => "send 16 random bytes in hex as `nonce`", asked(), [By(has_a_short_nonce)];
            "PICK-19" Should[70] "ruling 27": "A nonce is new in every match"
                => "draw the `nonce` afresh for every match", steps!(draws_new_nonces);
            "PICK-20" Should[40] "000 §4.12.1": "A call without a match is refused"
                => "answer E003 if `match_id` is missing",
                promptly().with(|call, _| remove(call, &["match_id"])),
                [Refused("a call without `match_id`")];
            "PICK-21" Should[40] "ruling 42": "A call meant for another player is refused"
                => "compare `player_id` with your own, and answer E012",
                promptly().registered().with(|call, _| call["player_id"] = "P77".into()),
                [Refused("a call for the player P77")];
            "PICK-22" Should[40] "000 §2.4.2": "A call whose time is not in UTC is E021"
                => "answer LEAGUE_ERROR E021 to a time with another offset",
                promptly().with(|call, _| call["timestamp"] = "2025-01-15T10:30:00-05:00".into()),
                [refused_with("E021")];
            "PICK-23" Must[40] "000 §4.5.2": "The answer says nothing but the choice of this match"
                => "send one `parity_choice`, no list and no object", asked(), [By(is_one_choice)];
        },
    }
}

pub(super) fn move_rules() -> Topic {
    Topic {
        name: "moves",
        rules: rules! {
            "MOVE-01" Should[40] "000 §3.8.2, §3.8.4": "A call for a move in the general form is answered with a move"
                => "serve the tool `choose_move` beside `choose_parity`", moved().due(&MOVES);
            "MOVE-02" Should[40] "000 §3.8.2": "The move is one of the options"
                => "set `move_data.choice` to one of `move_request.valid_options`",
                moved().due(&MOVES), [By(is_an_option)];
            "MOVE-03" Should[40] "000 §3.8.2": "The move is of the type that was asked for"
                => "copy `move_type` from the request", moved(), [By(is_of_the_type)];
            "MOVE-04" Should[40] "000 §3.8.2": "The answer names match and player"
                => "copy `match_id`, and set `player_id` to your own",
                moved(), [repeats("match_id"), repeats("player_id")];
            "MOVE-05" Should[40] "000 §3.8.2": "A call for a move without options does no harm"
                => "refuse with E002 if there is nothing to choose from",
                move_among(|stage, at| move_call(stage, at, &[])).survives("a move without options"),
                [By(is_not_a_move)];
            "MOVE-06" Should[40] "000 §3.8.2": "One option only is the one that is taken"
                => "choose from `move_request.valid_options`, whatever they are",
                move_among(|stage, at| move_call(stage, at, &["odd"])).due(&MOVES), [By(is_odd)];
            "STATE-01" Should "ruling 3": "The player shows how it stands"
                => "serve the tool `get_player_state`",
                Ask::method(state).unless(shows_nothing), [By(is_an_object)];
            "STATE-02" Should "000 §2.4.5": "What the player shows holds no token"
                => "leave tokens out of what you show",
                Ask::method(state).registered().unless(shows_nothing), [By(holds_no_token)];
            "STATE-03" Should[40] "000 §5.7.1": "What the player shows counts the match that it just played"
                => "count matches when GAME_OVER comes",
                Ask::new(|caller| Box::pin(ended(caller)), state).unless(shows_nothing),
                [By(counts_the_match)];
        },
    }
}

/// An invitation to a new match.
fn invited() -> Ask {
    Ask::new(open, |stage, at| invitation(stage, &at.subject)).due(JOINED)
}

/// A call for a choice in a situation.
fn asked_after(situation: Situation) -> Ask {
    let ask = Ask::new(situation, |stage, at| choice(stage, &at.subject));
    ask.patience(MOVE).due(CHOSEN)
}

fn asked() -> Ask {
    asked_after(joined)
}

/// A call for a choice that may be refused, but promptly.
fn promptly() -> Ask {
    asked().patience(PROMPT).due(&[])
}

fn move_among(question: fn(&Stage, &Setting) -> Question) -> Ask {
    let ask = Ask::new(joined, question).patience(MOVE);
    ask.unless(|reply| {
        let unknown = reply.rpc_error() == Some(-32_601) || reply.result().is_none();
        unknown
            .then_some("the player does not know `choose_move`, and needs it only for other games")
    })
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

fn shows_nothing(reply: &Reply) -> Option<&'static str> {
    let reason = "the player does not know `get_player_state`, and need not";
    reply.is_refusal().then_some(reason)
}

/// A situation: the player received an error about its choice.
async fn after_error(caller: &Caller, code: &str, name: &str) -> Result<Setting, Trouble> {
    let match_id = join(caller).await?;
    let stage = &caller.stage;
    let first = caller.call_within(&choice(stage, &match_id), MOVE).await?;
    first.of_kind(CHOSEN)?;
    caller
        .call(&game_error(stage, &match_id, code, name))
        .await?;
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
        hold(one == two, || {
            format!("`{name}` was {one} and is now {two}")
        })?;
    }
    Ok(())
}

async fn choice_in(caller: &Caller, match_id: &str) -> Result<Value, Trouble> {
    let question = choice(&caller.stage, match_id);
    let reply = caller.call_within(&question, MOVE).await?;
    reply.of_kind(CHOSEN).cloned()
}

async fn chooses_again(caller: &Caller) -> Judgement {
    let match_id = join(caller).await?;
    let first = choice_in(caller, &match_id).await?;
    for _ in 0..REPETITIONS {
        let second = choice_in(caller, &match_id).await?;
        let (one, two) = (&first["parity_choice"], &second["parity_choice"]);
        hold(one == two, || format!("first it chose {one}, then {two}"))?;
    }
    Ok(())
}

fn nonce_of(message: &Value) -> Result<&str, Trouble> {
    let nonce = message.get("nonce").and_then(Value::as_str);
    nonce.ok_or_else(|| Trouble::skipped("the player sends no nonce, and need not", ""))
}

async fn draws_new_nonces(caller: &Caller) -> Judgement {
    let mut nonces = Vec::new();
    for _ in 0..2 {
        let match_id = join(caller).await?;
        nonces.push(nonce_of(&choice_in(caller, &match_id).await?)?.to_owned());
    }
    hold(nonces[0] != nonces[1], || {
        "two matches have the same nonce".to_owned()
    })
}

fn as_player_a(call: &mut Value, _: &Stage) {
    call["role_in_match"] = "PLAYER_A".into();
}

fn as_player_b(call: &mut Value, _: &Stage) {
    call["role_in_match"] = "PLAYER_B".into();
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

fn declines(record: &Record) -> Judgement {
    let declined = record.reply()?.is_refusal() || *record.member("accept") == false;
    hold(declined, || {
        "it accepts a game that it does not play".to_owned()
    })
}

fn clock_is_right(record: &Record) -> Judgement {
    let told = record.member("timestamp").as_str().map(Timestamp::parse);
    let Some(Ok(told)) = told else {
        let reason = "there is no time to look at, see JOIN-09";
        return Err(Trouble::skipped(reason, ""));
    };
    let now = record.fact("now")?.as_i64().unwrap_or_default();
    let off = (now - told.as_millis()).abs();
    hold(off <= CLOCK_TOLERANCE, || {
        format!(
            "it is off by {:?}",
            Duration::from_millis(off.unsigned_abs())
        )
    })
}

fn answers_or_refuses(record: &Record) -> Judgement {
    let reply = record.reply()?;
    let answered = reply.result().is_some() || reply.rpc_error().is_some();
    hold(answered, || format!("the answer is {}", reply.describe()))
}

fn refuses_or_chooses(record: &Record) -> Judgement {
    let reply = record.reply()?;
    match reply.is_refusal() {
        true => Ok(()),
        false => reply.of_kind(CHOSEN).map(drop),
    }
}

fn has_a_short_nonce(record: &Record) -> Judgement {
    let length = nonce_of(record.message())?.len();
    hold(length <= MAX_NONCE, || {
        format!("the nonce has {length} bytes")
    })
}

fn is_one_choice(record: &Record) -> Judgement {
    let choice = record.member("parity_choice");
    hold(choice.is_string(), || {
        format!("`parity_choice` is {choice}")
    })?;
    let others = ["choices", "opponent_choice"];
    let other = others
        .iter()
        .find(|name| record.message().get(**name).is_some());
    hold(other.is_none(), || {
        format!("the answer holds {other:?} as well")
    })
}

/// The choice, in either form.
fn move_of(record: &Record) -> &Value {
    match record.member("parity_choice") {
        Value::Null => record.member("move_data.choice"),
        choice => choice,
    }
}

fn is_an_option(record: &Record) -> Judgement {
    let choice = move_of(record);
    hold(BOTH.iter().any(|option| choice == option), || {
        format!("`choice` is {choice}")
    })
}

fn is_of_the_type(record: &Record) -> Judgement {
    record.reply()?.needed()?;
    if *record.member("message_type") == MOVES[1] {
        return Err(Trouble::skipped("the answer has the form of Even/Odd", ""));
    }
    let kind = record.member("move_data.move_type");
    hold(kind == "choose_parity", || format!("`move_type` is {kind}"))
}

fn is_not_a_move(record: &Record) -> Judgement {
    let kind = record.member("message_type").as_str();
    hold(!kind.is_some_and(|kind| MOVES.contains(&kind)), || {
        "it moves although there is nothing to choose from".to_owned()
    })
}

fn is_odd(record: &Record) -> Judgement {
    let choice = move_of(record);
    hold(choice == "odd", || format!("`choice` is {choice}"))
}

fn is_an_object(record: &Record) -> Judgement {
    hold(record.message().is_object(), || {
        "the answer is not an object".to_owned()
    })
}

fn holds_no_token(record: &Record) -> Judgement {
    let token = record.fact("token")?.as_str().unwrap_or_default();
    hold(!record.message().to_string().contains(token), || {
        "the player's token is in the answer".to_owned()
    })
}

fn counts_the_match(record: &Record) -> Judgement {
    let match_id = record.fact("subject")?;
    let text = record.message().to_string();
    hold(text.contains(&match_id.to_string()), || {
        format!("the match {match_id} is not in the answer")
    })
}
