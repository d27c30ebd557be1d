//! Rules about a match as its players see it: invitations, calls for a choice, the end.

use league_protocol::time::Timestamp;

use super::match_run::{MatchCourse, MatchRecord, SeatRecord, played, recorded};
use super::{all_told, both_told, look_at, match_of, record_of, told, told_to};
use crate::player::MOVE;
use crate::prelude::*;

/// How far a deadline may be off, in milliseconds.
const DEADLINE_TOLERANCE: i64 = 5_000;

const SENDER: Want = Want::Fact("sender");
const MATCH_TOKEN: Expect = Token("auth_token", "match_token");
const NO_STATE: &str = "the referee has no `get_match_state`";

const INVITATION: &str = "GAME_INVITATION";
const CALL: &str = "CHOOSE_PARITY_CALL";
const OVER: &str = "GAME_OVER";
const DECIDED: MatchCourse = MatchCourse::Decided;

pub(super) fn invitation_rules() -> Topic {
    topic! { "invitations" needs "INV-01":
        "INV-01" Must[30] "000 §4.4.1": "Both players are invited"
            => "send GAME_INVITATION to both players of the order",
            seen!(match_of(&[DECIDED])), [By(|it| both_told(it, INVITATION))];
        "INV-02" Must "000 §1.4, §5.3.1": "An invitation is a JSON-RPC call of handle_game_invitation"
            => "POST a call of `handle_game_invitation` to the address of the player",
            seen!(told(DECIDED, INVITATION)), [Posted, Framed("handle_game_invitation")];
        "INV-03" Must "000 §2.4.1": "The envelope of an invitation is whole"
            => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID",
            seen!(told(DECIDED, INVITATION)), envelope(SENDER);
        "INV-04" Must "000 §4.4.1": "An invitation names league, round, match and game of the order"
            => "copy them from the order", seen!(told(DECIDED, INVITATION)),
            [Repeats("match_id"), Repeats("game_type"), Repeats("league_id"), Repeats("round_id")];
        "INV-05" Must "000 §4.4.1": "The first player is PLAYER_A, the second PLAYER_B"
            => "set `role_in_match` by the order of the players",
            seen!(told(DECIDED, INVITATION)), [is("role_in_match", Want::Fact("role"))];
        "INV-06" Must "000 §4.4.1": "An invitation names the opponent"
            => "set `opponent_id` to the id of the other player",
            seen!(told(DECIDED, INVITATION)), [is("opponent_id", Want::Fact("opponent"))];
        "INV-07" Should "ruling 25": "The referee shows the player the token of the match"
            => "set `auth_token` to the player's `match_token` from the order",
            seen!(told(DECIDED, INVITATION)), [MATCH_TOKEN];
        "INV-08" Must "ruling 25": "The referee never shows its own token to a player"
            => "keep the token of your registration between you and the manager",
            seen!(all_told(&[DECIDED])), [By(hides_its_token)];
        "INV-09" Must "ruling 27": "No player sees a seed before the end"
            => "leave the seed of DRAW_RESPONSE out of everything until GAME_OVER",
            seen!(all_told(&[DECIDED])), [By(hides_the_seed)];
        "INV-10" Must "ruling 25": "No player sees a token of the other one"
            => "never copy the rows of `players` into a message",
            seen!(all_told(&[DECIDED])), [By(hides_the_opponents_tokens)];
        "INV-11" Should "ruling 27": "The promise on the draw is the one of the order"
            => "copy `draw_commitment` from the order",
            seen!(told(DECIDED, INVITATION)), [By(repeats_the_promise)];
        "INV-12" Must[50] "000 §3.4.1": "Both players are invited without waiting for one of them"
            => "send both invitations at once",
            seen!(match_of(&[MatchCourse::Silent])), [By(|it| at_once(it, INVITATION, 2_000))];
    }
}

pub(super) fn choice_rules() -> Topic {
    topic! { "choices" needs "INV-01" "CHO-01":
        "CHO-01" Must "000 §4.5.1": "Both players are asked for their choice"
            => "send CHOOSE_PARITY_CALL to both players once both have joined",
            seen!(match_of(&[DECIDED])), [By(|it| both_told(it, CALL))];
        "CHO-02" Must "000 §1.4, §5.3.2": "The question is a JSON-RPC call of choose_parity"
            => "POST a call of `choose_parity` to the address of the player",
            seen!(told(DECIDED, CALL)), [Posted, Framed("choose_parity")];
        "CHO-03" Must "000 §2.4.1": "The envelope of the question is whole"
            => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID",
            seen!(told(DECIDED, CALL)), envelope(SENDER);
        "CHO-04" Must "000 §4.5.1": "The question names match, game and player"
            => "set `match_id`, `game_type`, and `player_id` to the one who is asked",
            seen!(told(DECIDED, CALL)),
            [Repeats("match_id"), Repeats("game_type"), is("player_id", Want::Fact("player"))];
        "CHO-05" Must "000 §4.5.1, §2.4.2": "The question names a deadline in UTC"
            => "set `deadline` to a time such as 2025-01-15T10:30:30Z",
            seen!(told(DECIDED, CALL)), [BodyUtc("deadline")];
        "CHO-06" Should "000 §2.7": "The deadline is 30 seconds away"
            => "give a player 30 seconds for its choice",
            seen!(told(DECIDED, CALL)), [By(gives_half_a_minute)];
        "CHO-07" Must "000 §4.5.1": "The context names the opponent and the round"
            => "set `context.opponent_id` and `context.round_id`", seen!(told(DECIDED, CALL)),
            [is("context.opponent_id", Want::Fact("opponent")),
             equals("context.round_id", Want::Fact("round"))];
        "CHO-08" Should "000 §4.5.1": "The context holds the player's own record"
            => "copy `record` of the order into `context.your_standings`",
            seen!(told(DECIDED, CALL)), [equals("context.your_standings", Want::Fact("standings"))];
        "CHO-09" Must "000 §3.4.2": "No player is asked before both have joined"
            => "wait for both GAME_JOIN_ACK before the first CHOOSE_PARITY_CALL",
            seen!(all_told(&[MatchCourse::Declined, MatchCourse::BothDeclined])),
            [By(|it| hold!(it.call()?.kind() != CALL,
                 else "{} was asked, though not both had joined", it.fact("player")?))];
        "CHO-10" Must[30] "000 §3.3.1": "Both are asked at the same time"
            => "send both questions before waiting for an answer",
            seen!(match_of(&[MatchCourse::Watched])), [By(|it| at_once(it, CALL, 1_000))];
        "CHO-11" Must[30] "000 §3.3.1, ruling 18": "A player that is asked learns nothing of the other's choice"
            => "keep choices to yourself until both are in",
            seen!(all_told(&[MatchCourse::Watched])), [By(hides_the_other_choice)];
        "CHO-12" Should[30] "ruling 18": "get_match_state shows no choice before the end"
            => "leave choices out of `get_match_state` while the match is played",
            seen!(looks(MatchCourse::Watched)), [By(shows_no_secret)];
        "CHO-13" Should[30] "ruling 19": "get_match_state says COLLECTING_CHOICES meanwhile"
            => "set `state` to where the match stands",
            seen!(looks(MatchCourse::Watched)), [is("state", "COLLECTING_CHOICES")];
        "CHO-14" Should "ruling 25": "The question shows the token of the match"
            => "set `auth_token` to the player's `match_token` from the order",
            seen!(told(DECIDED, CALL)), [MATCH_TOKEN];
        "CHO-15" Must "000 §5.3.2": "A player that has chosen is not asked again"
            => "keep the first legal choice of each player",
            seen!(match_of(&[DECIDED, MatchCourse::SlipOnce])), [By(asks_a_fair_player_once)];
    }
}

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn ending_rules() -> Topic {
    topic! { "end of a match" needs "INV-01" "CHO-01":
        "OVER-01" Must "000 §4.6.1": "Both players are told how the match ended"
            => "send GAME_OVER to both players",
            seen!(match_of(&[DECIDED])), [By(|it| both_told(it, OVER))];
        "OVER-02" Must "000 §1.4, §5.3.3": "The end is told by a JSON-RPC call of notify_match_result"
            => "POST a call of `notify_match_result` to the address of the player",
            seen!(told(DECIDED, OVER)), [Posted, Framed("notify_match_result")];
        "OVER-03" Must "000 §2.4.1": "The envelope of GAME_OVER is whole"
            => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID",
            seen!(told(DECIDED, OVER)), envelope(SENDER);
        "OVER-04" Must "000 §4.6.1": "GAME_OVER names the match and the game"
            => "set `match_id` and `game_type`",
            seen!(told(DECIDED, OVER)), [Repeats("match_id"), Repeats("game_type")];
        "OVER-05" Must "000 §3.2": "The number drawn is a whole number from 1 to 10"
            => "draw from 1 to 10, and set `game_result.drawn_number`",
            seen!(told(DECIDED, OVER)), [By(|it| drawn_number(it.member("game_result")).map(drop))];
        "OVER-06" Must "000 §3.3.2": "The parity named is that of the number"
            => "set `game_result.number_parity` to even or odd by the number",
            seen!(told(DECIDED, OVER)), [By(names_the_parity)];
        "OVER-07" Must "000 §4.6.1": "Both choices are told as they were made"
            => "set `game_result.choices` by player id",
            seen!(told(DECIDED, OVER)), [By(|it| tells_choices(it, "game_result.choices"))];
        "OVER-08" Must "000 §3.3.2": "The player that guessed right has won"
            => "compare each choice with the parity of the number",
            seen!(told(DECIDED, OVER)), [is("game_result.status", "WIN"), By(names_the_winner)];
        "OVER-09" Must "000 §3.3.2": "Two equal choices are a draw without a winner"
            => "set `status` to DRAW and `winner_player_id` to null",
            seen!(told(MatchCourse::Drawn, OVER)),
            [is("game_result.status", "DRAW"),
             By(|it| has_no_winner(it.member("game_result.winner_player_id")))];
        "OVER-10" Must "000 §4.6.1": "Both players are told the same"
            => "send the same `game_result` to both",
            seen!(match_of(&[DECIDED, MatchCourse::Drawn])), [By(tells_both_the_same)];
        "OVER-11" Must "000 §4.6.1": "A reason is given in words"
            => "set `game_result.reason`", seen!(told(DECIDED, OVER)),
            [By(|it| hold!(!it.text("game_result.reason")?.trim().is_empty(),
                 else "`reason` is empty"))];
        "OVER-12" Must[40] "ruling 16": "A technical loss is told as TECHNICAL_LOSS, with its winner"
            => "set `status` to TECHNICAL_LOSS and name the opponent as the winner",
            seen!(told_to(MatchCourse::SlipAlways, OVER, &[1])),
            [is("game_result.status", "TECHNICAL_LOSS"),
             is("game_result.winner_player_id", Want::Fact("player"))];
        "OVER-13" Should "ruling 27": "The draw is opened and follows from the seed and both nonces"
            => "derive the number from the seed of DRAW_RESPONSE as docs/protocol.md says, and open the seed of MATCH_RESULT_ACK in `game_result.draw`",
            seen!(told(DECIDED, OVER)), [By(opens_the_draw)];
        "OVER-14" Should "ruling 25": "GAME_OVER shows the token of the match"
            => "set `auth_token` to the player's `match_token` from the order",
            seen!(told(DECIDED, OVER)), [MATCH_TOKEN];
        "OVER-15" Must "000 §4.6.1": "Each player is told the end once"
            => "do not repeat GAME_OVER once it was answered",
            seen!(match_of(&[MatchCourse::Drawn])), [By(tells_the_end_once)];
        "OVER-16" Should "ruling 19": "get_match_state says FINISHED and shows the result"
            => "keep the result of a match for those who ask", seen!(looked_at(None)),
            [is("state", "FINISHED"),
             By(|it| hold!(it.member("result").is_object(),
                 else "`result` is {}", it.member("result")))];
        "OVER-17" Should "ruling 11": "get_match_state of an unknown match is E006"
            => "answer LEAGUE_ERROR E006 to a match that you do not have",
            seen!(looked_at(Some("R99M99"))), [LeagueError("E006")];
        "OVER-18" Should "ruling 27": "The end shows the moves as they were made, and opens the keys of their proofs"
            => "set `game_result.evidence` to the moves, and to `players` of MATCH_RESULT_ACK",
            seen!(told(DECIDED, OVER)), [By(shows_the_moves), By(opens_the_keys)];
    }
}

/// The state of a match while one of its players had not chosen yet, or the manager had not taken
/// its result.
pub(super) async fn looks(caller: &Caller, course: MatchCourse) -> Records {
    let played = Arc::new(recorded(&caller.stage, course).await?);
    let first = played.looks.first();
    need!(first.is_some_and(|reply| reply.rpc_error() != Some(-32_601)), else "{NO_STATE}")?;
    let mut records = Vec::new();
    for reply in &played.looks {
        caller.note(reply.trip.clone());
        reply.needed()?;
        let said = Statement::Reply(reply.clone());
        records.push(record_of(&caller.stage, Arc::clone(&played), said));
    }
    Ok(records)
}

/// The current state of a match; of the first match unless another is named.
async fn looked_at(caller: &Caller, match_id: Option<&str>) -> Records {
    let stage = &caller.stage;
    stage.played.takes_orders()?;
    let match_id = match match_id {
        Some(match_id) => match_id,
        None => &played(stage, DECIDED).await?.match_id,
    };
    let reply = caller.call(&look_at(match_id)).await?;
    need!(reply.rpc_error() != Some(-32_601), else "{NO_STATE}")?;
    Ok(vec![Record::new(stage.kind, Value::Null, reply)])
}

fn hides_its_token(record: &Record) -> Judgement {
    let token = record.fact("token")?.as_str().unwrap_or_default();
    let call = record.call()?;
    hold!(!call.text().contains(token), else "the referee's own token is in a {}", call.kind())
}

fn hides_the_seed(record: &Record) -> Judgement {
    let (call, seeds) = (record.call()?, record.match_record()?.seeds());
    let shown = seeds.iter().any(|seed| call.text().contains(seed));
    hold!(call.kind() == OVER || !shown, else "a seed is in a {}", call.kind())
}

fn seat_of(record: &Record) -> Result<usize, Trouble> {
    Ok(usize::from(*record.fact("seat")? == 1))
}

fn hides_the_opponents_tokens(record: &Record) -> Judgement {
    let other = &record.match_record()?.seats[1 - seat_of(record)?];
    let text = record.call()?.text();
    let shown = text.contains(&other.match_token) || text.contains(&other.token);
    hold!(!shown, else "a token of the opponent is in it")
}

fn repeats_the_promise(record: &Record) -> Judgement {
    let named = record.member("draw_commitment");
    need!(!named.is_null(), else "the referee promises nothing")?;
    let wanted = &record.match_record()?.order["draw_commitment"];
    hold!(named == wanted, else "`draw_commitment` is {named} instead of {wanted}")
}

fn at_once(record: &Record, kind: &str, bound: u128) -> Judgement {
    let played = record.match_record()?;
    let first = played.first_told(0, kind)?.at;
    let second = played.first_told(1, kind)?.at;
    let later = second.saturating_duration_since(first).as_millis();
    hold!(later < bound, else "the second player received its {kind} {later} ms after the first")
}

fn gives_half_a_minute(record: &Record) -> Judgement {
    let time = |name: &str| Timestamp::parse(record.member(name).as_str()?).ok();
    let Some((asked, until)) = time("timestamp").zip(time("deadline")) else {
        return Err(Trouble::skipped("there is no deadline, see CHO-05"));
    };
    let ahead = until.as_millis() - asked.as_millis();
    let wanted = i64::try_from(MOVE.as_millis()).unwrap_or(i64::MAX);
    hold!((ahead - wanted).abs() <= DEADLINE_TOLERANCE,
        else "the deadline is {} s away", ahead / 1000)
}

/// The first player has not chosen yet while the second has.
fn hides_the_other_choice(record: &Record) -> Judgement {
    let call = record.call()?;
    if seat_of(record)? == 1 || call.kind() == OVER {
        return Ok(());
    }
    let quick = &record.match_record()?.seats[1];
    let shows = call.text().contains(&quick.nonce)
        || record.message().get("opponent_choice").is_some()
        || record.member("context").get("opponent_choice").is_some();
    hold!(!shows, else "what the opponent answered is in it")
}

pub(super) fn shows_no_secret(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let text = record.message().to_string();
    let [seed, own_seed] = &played.seeds();
    let nonce = &*played.seats[1].nonce;
    let secrets = ["\"even\"", "\"odd\"", nonce, seed, own_seed];
    let shown = secrets.into_iter().find(|secret| text.contains(secret));
    hold!(shown.is_none(), else "a choice, a nonce or the seed is in it")
}

fn asks_a_fair_player_once(record: &Record) -> Judgement {
    let fair = &record.match_record()?.seats[1];
    let count = fair.told(CALL).count();
    hold!(count == 1, else "{} chose at once and was asked {count} times", fair.id)
}

/// The number that was drawn.
pub(super) fn drawn_number(result: &Value) -> Result<u64, Trouble> {
    let number = &result["drawn_number"];
    let known = number.as_u64().filter(|number| (1..=10).contains(number));
    known.ok_or_else(|| Trouble::broken(format!("`drawn_number` is {number}")))
}

fn names_the_parity(record: &Record) -> Judgement {
    let wanted = parity_of(drawn_number(record.member("game_result"))?);
    let named = record.text("game_result.number_parity")?;
    hold!(named == wanted, else "`number_parity` is `{named}` instead of `{wanted}`")
}

/// Checks that the choices of both players are at a path.
pub(super) fn tells_choices(record: &Record, path: &str) -> Judgement {
    record.match_record()?.seats.iter().try_for_each(|seat| {
        let told = record.text(&format!("{path}.{}", seat.id))?;
        hold!(told == seat.choice, else "the choice of {} is `{told}`", seat.id)
    })
}

/// The player that guessed right.
pub(super) fn winner_of<'m>(played: &'m MatchRecord, result: &Value) -> Result<&'m str, Trouble> {
    let parity = parity_of(drawn_number(result)?);
    let right = played.seats.iter().find(|seat| seat.choice == parity);
    Ok(right.map(|seat| seat.id.as_str()).unwrap_or_default())
}

fn names_the_winner(record: &Record) -> Judgement {
    let wanted = winner_of(record.match_record()?, record.member("game_result"))?;
    let named = record.text("game_result.winner_player_id")?;
    hold!(named == wanted, else "the winner is {named} instead of {wanted}")
}

pub(super) fn has_no_winner(winner: &Value) -> Judgement {
    if *winner == "DRAW" {
        return Err(Trouble::forgiven("the winner is the word DRAW, not null"));
    }
    hold!(winner.is_null(), else "the winner is {winner}")
}

fn tells_both_the_same(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let first = &played.first_told(0, OVER)?.message()["game_result"];
    let second = &played.first_told(1, OVER)?.message()["game_result"];
    hold!(first == second, else "the first player was told {first}, the second {second}")
}

fn opens_the_draw(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let draw = record.member("game_result.draw");
    need!(!draw.is_null(), else "the referee opens no draw")?;
    let nonces = played.seats.each_ref().map(|seat| seat.nonce.clone());
    let told = &draw["nonces"];
    hold!(*told == Value::from(nonces.to_vec()),
        else "`draw.nonces` is {told} instead of what the players sent")?;
    let (order, [seed, _]) = (&played.order, &played.seeds());
    for (name, wanted) in [
        ("commitment", str_of(&order["draw_commitment"])),
        ("seed", seed),
        ("mode", str_of(&order["draw_mode"])),
    ] {
        let named = record.text(&format!("game_result.draw.{name}"))?;
        hold!(named == wanted, else "`draw.{name}` is `{named}` instead of `{wanted}`")?;
    }
    let own_seed = attempt_seed(order, &played.seed);
    let nonces = nonces.each_ref().map(String::as_str);
    let due = own_seed.and_then(|seed| number(order, &seed, nonces));
    let drawn = drawn_number(record.member("game_result"))?;
    hold!(due == Some(drawn),
        else "the number is {drawn}, but {due:?} follows from seed and nonces")
}

/// Checks that moves are those that the players sent, with nonces and proofs.
pub(super) fn are_as_sent(played: &MatchRecord, moves: &Value) -> Judgement {
    let moves = moves.as_array().map(Vec::as_slice).unwrap_or_default();
    hold!(moves.len() == 2, else "{} moves are in it, and two were made", moves.len())?;
    played.seats.iter().map(SeatRecord::made).try_for_each(|made| {
        let told = moves.iter().find(|told| told["player_id"] == made["player_id"]);
        let differs = |name: &&str| told.is_none_or(|told| told[*name] != made[*name]);
        let wrong = ["choice", "nonce", "proof"].into_iter().find(differs);
        hold!(wrong.is_none(),
            else "`{}` of {} is not what the player sent", wrong.unwrap_or_default(), made["player_id"])
    })
}

fn shows_the_moves(record: &Record) -> Judgement {
    let evidence = record.member("game_result.evidence");
    need!(!evidence.is_null(), else "the referee shows no evidence, an addition of this league")?;
    are_as_sent(record.match_record()?, &evidence["moves"])
}

fn opens_the_keys(record: &Record) -> Judgement {
    let text = record.member("game_result.evidence.players").to_string();
    let seats = record.match_record()?.seats.iter();
    let mut keys = seats.filter_map(|seat| seat.proofs.as_ref());
    let shown = keys.all(|proofs| text.contains(&proofs.key) && text.contains(&proofs.join));
    hold!(shown, else "the key or the proof of a player that signs is not in `evidence.players`")
}

fn tells_the_end_once(record: &Record) -> Judgement {
    record.match_record()?.seats.iter().try_for_each(|seat| {
        let count = seat.told(OVER).count();
        hold!(count == 1, else "{} was told {count} times", seat.id)
    })
}
