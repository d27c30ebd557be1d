//! Rules about players that fail: attempts, waits, GAME_ERROR, technical losses.

use super::match_run::MatchCourse;
use super::{all_told, match_of, told_to};
use crate::player::MOVE;
use crate::prelude::*;
use league_protocol::time::in_words;

/// How many attempts a player has.
const ATTEMPTS: usize = 3;
/// The least time between two attempts; a little less than two seconds, as clocks differ.
const WAIT: Duration = Duration::from_millis(1_800);
/// The least time that a player has to join; a little less than five seconds.
const JOIN: Duration = Duration::from_millis(4_800);

const INVITATION: &str = "GAME_INVITATION";
const CALL: &str = "CHOOSE_PARITY_CALL";
const ERROR: &str = "GAME_ERROR";

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "attempts" needs "INV-01" "CHO-01":
        "TRY-01" Must[30] "000 §4.10.2": "An illegal choice is told to the player with GAME_ERROR E004"
            => "send GAME_ERROR with E004 to a player whose choice is neither even nor odd",
            seen!(told_to(MatchCourse::SlipOnce, ERROR, &[0])), [is("error_code", "E004")];
        "TRY-02" Must[30] "000 §4.10.2": "GAME_ERROR names match, code and name"
            => "set `match_id`, `error_code` and `error_description`",
            seen!(told_to(MatchCourse::SlipOnce, ERROR, &[0])),
            [Text("match_id"), Text("error_code"), Text("error_description")];
        "TRY-03" Must[30] "000 §4.10.2": "GAME_ERROR counts the attempts"
            => "set `retry_info` with `retry_count` and `max_retries` 3",
            seen!(told_to(MatchCourse::SlipOnce, ERROR, &[0])), [By(counts_attempts)];
        "TRY-04" Must[30] "000 §2.4.1": "The envelope of GAME_ERROR is whole"
            => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID",
            seen!(told_to(MatchCourse::SlipOnce, ERROR, &[0])), envelope(Want::Fact("sender"));
        "TRY-05" Must[30] "000 §2.11.3": "A player whose choice was illegal once may choose again"
            => "ask again after GAME_ERROR, up to three times in all",
            seen!(match_of(&[MatchCourse::SlipOnce])),
            [By(|it| is_asked(it, CALL, 2)),
             By(|it| hold!(status(it)? != "TECHNICAL_LOSS",
                 else "the match is a technical loss all the same"))];
        "TRY-06" Must[40] "000 §2.11.3, ruling 15": "A player is asked three times and no more"
            => "give up after the third attempt",
            seen!(match_of(&[MatchCourse::SlipAlways])), [By(|it| is_asked(it, CALL, ATTEMPTS))];
        "TRY-07" Must[40] "000 §5.9.1": "Two seconds lie between attempts"
            => "wait `retry_delay_sec`, which is 2, before asking again",
            seen!(match_of(&[MatchCourse::SlipAlways])), [By(|it| waits(it, CALL, WAIT))];
        "TRY-08" Must[40] "000 §2.11.3, ruling 16": "After the third failure the player has lost technically"
            => "end the match with TECHNICAL_LOSS and give the win to the opponent",
            seen!(match_of(&[MatchCourse::SlipAlways])), [By(first_lost)];
        "TRY-09" Must[40] "000 §4.10.2": "Only the player that failed is sent GAME_ERROR"
            => "send GAME_ERROR to `affected_player` alone",
            seen!(all_told(&[MatchCourse::SlipOnce, MatchCourse::SlipAlways])),
            [By(|it| hold!(*it.fact("seat")? == 0 || it.call()?.kind() != ERROR,
                 else "the other player was sent GAME_ERROR"))];
        "TRY-10" Must[40] "ruling 16": "A player that declines has lost technically, at once"
            => "do not invite a player again that answered `accept` false",
            seen!(match_of(&[MatchCourse::Declined])),
            [By(|it| is_asked(it, INVITATION, 1)), By(first_lost)];
        "TRY-11" Must[40] "ruling 16": "If both fail there is no winner and no points"
            => "report the winner null and 0 points for both",
            seen!(match_of(&[MatchCourse::BothDeclined])), [By(nobody_won)];
        "TRY-12" Must[60] "000 §2.7": "A player has 5 seconds to join"
            => "wait 5 seconds for GAME_JOIN_ACK before the next attempt",
            seen!(match_of(&[MatchCourse::Silent])), [By(|it| waits(it, INVITATION, JOIN))];
        "TRY-13" Must[60] "000 §2.11.3": "A player that never joins is invited three times, and has lost"
            => "repeat the invitation twice, then end the match with TECHNICAL_LOSS",
            seen!(match_of(&[MatchCourse::Silent])),
            [By(|it| is_asked(it, INVITATION, ATTEMPTS)), By(first_lost)];
        "TRY-14" Must[60] "ruling 17": "A player that cannot be reached loses, and its opponent is told"
            => "treat a connection that fails as a failed attempt, E009",
            seen!(match_of(&[MatchCourse::Dead])),
            [By(first_lost), By(|it| it.match_record()?.first_told(1, "GAME_OVER").map(drop))];
        "TRY-15" Must[60] "000 §2.7": "A player has 30 seconds to choose"
            => "wait 30 seconds for a choice before the next attempt",
            seen!(match_of(&[MatchCourse::Late])), [By(|it| waits(it, CALL, MOVE - WAIT))];
        "TRY-16" Must[60] "000 §2.11.3": "A choice that comes too late is asked for again"
            => "send GAME_ERROR E001 at the deadline, and ask again",
            seen!(told_to(MatchCourse::Late, ERROR, &[0])),
            [is("error_code", "E001"),
             By(|it| hold!(status(it)? != "TECHNICAL_LOSS",
                 else "the match is a technical loss all the same"))];
        "TRY-17" Must[40] "ruling 36": "A choice with the opponent's token does not count"
            => "compare the token of an answer with both `token_hash` of the order",
            seen!(match_of(&[MatchCourse::Impostor])), [By(first_lost)];
        "TRY-18" Must[40] "ruling 36": "A choice for another match does not count"
            => "compare `match_id` of an answer with the match that was asked about",
            seen!(match_of(&[MatchCourse::Astray])), [By(first_lost)];
    }
}

fn counts_attempts(record: &Record) -> Judgement {
    let count = |name: &str| {
        let info = record.member("retry_info").get(name);
        info.or(record.message().get(name)).and_then(Value::as_u64)
    };
    hold!(count("max_retries") == Some(3), else "`max_retries` is {:?}", count("max_retries"))?;
    hold!(count("retry_count").is_some(), else "`retry_count` is missing")
}

/// Checks how often the first player received a type of message.
fn is_asked(record: &Record, kind: &str, times: usize) -> Judgement {
    let count = record.match_record()?.seats[0].told(kind).count();
    hold!(count == times, else "the player received {kind} {count} times")
}

/// Checks the time between two messages of a type to the first player.
fn waits(record: &Record, kind: &str, wait: Duration) -> Judgement {
    let told = record.match_record()?.seats[0].told(kind);
    let times: Vec<_> = told.map(|call| call.at).collect();
    let least = times.windows(2).map(|pair| pair[1] - pair[0]).min();
    hold!(least.is_some_and(|least| least >= wait),
        else "the shortest wait between two of {kind} is {}",
            least.map_or("not known".to_owned(), in_words))
}

/// The status of a match, as reported to the manager or as sent to the second player.
fn status(record: &Record) -> Result<&str, Trouble> {
    let played = record.match_record()?;
    let reported = played.report()?["result"]["details"]["status"].as_str();
    let told = || {
        let over = played.first_told(1, "GAME_OVER").ok()?;
        over.message()["game_result"]["status"].as_str()
    };
    Ok(reported.or_else(told).unwrap_or_default())
}

/// Checks that the first player has a technical loss and the second has the points of a win.
fn first_lost(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let (status, result) = (status(record)?, &played.report()?["result"]);
    let [failed, other] = played.seats.each_ref().map(|seat| &seat.id);
    hold!(status == "TECHNICAL_LOSS", else "the status is `{status}`")?;
    hold!(result["winner"] == **other, else "the winner is {}", result["winner"])?;
    let score = &result["score"];
    hold!(score[other] == 3 && score[failed] == 0, else "the score is {score}")
}

fn nobody_won(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let result = &played.report()?["result"];
    hold!(result["winner"].is_null(), else "the winner is {}", result["winner"])?;
    let score = &result["score"];
    let none = played.seats.iter().all(|seat| score[&seat.id] == 0);
    hold!(none, else "the score is {score}")
}
