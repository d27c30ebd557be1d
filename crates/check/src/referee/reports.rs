//! Rules about the report of a result to the manager: MATCH_RESULT_REPORT.

use super::match_run::{MatchCourse, recorded};
use super::matches::{
    are_as_sent, drawn_number, has_no_winner, looks, shows_no_secret, tells_choices, winner_of,
};
use super::{match_of, record_of};
use crate::fake_manager::is_registration;
use crate::prelude::*;

const DECIDED: MatchCourse = MatchCourse::Decided;

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn topic() -> Topic {
    topic! { "reports" needs "INV-01" "CHO-01" "REP-01":
        "REP-01" Must "000 §4.6.2": "The result of a match is reported to the manager"
            => "call the manager's tool `report_match_result` after each match",
            seen!(match_of(&[DECIDED])), [By(|it| it.match_record()?.report().map(drop))];
        "REP-02" Must "000 §1.4, §5.2.3": "The report is a JSON-RPC call of report_match_result"
            => "POST a call of `report_match_result` to the manager",
            seen!(report(DECIDED)), [Posted, Framed("report_match_result")];
        "REP-03" Must "000 §2.4.1": "The envelope of the report is whole"
            => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID",
            seen!(report(DECIDED)), envelope(Want::Fact("sender"));
        "REP-04" Must "000 §2.4.5": "The report shows the referee's token"
            => "put the `auth_token` from the registration into every call to the manager",
            seen!(report(MatchCourse::Drawn)), [Token("auth_token", "token")];
        "REP-05" Must "000 §4.6.2": "The report names league, round, match and game of the order"
            => "copy them from the order", seen!(report(DECIDED)),
            [Repeats("league_id"), Repeats("match_id"), Repeats("game_type"), Repeats("round_id")];
        "REP-06" Must "000 §4.6.2": "The report names the winner that follows from number and choices"
            => "set `result.winner` to the player who guessed right",
            seen!(report(DECIDED)), [By(names_the_winner)];
        "REP-07" Must "000 §3.3.3": "A win is worth 3 points, a loss 0"
            => "set `result.score` by player id, 3 for the winner",
            seen!(report(DECIDED)), [By(scores_a_win)];
        "REP-08" Must "000 §3.3.3": "A draw is worth 1 point each, and has no winner"
            => "set `result.winner` to null and both scores to 1",
            seen!(report(MatchCourse::Drawn)),
            [By(scores_a_draw), By(|it| has_no_winner(it.member("result.winner")))];
        "REP-09" Must "000 §4.6.2": "The report tells the number and both choices"
            => "set `result.details.drawn_number` and `result.details.choices`",
            seen!(report(DECIDED)),
            [By(|it| drawn_number(it.member("result.details")).map(drop)),
             By(|it| tells_choices(it, "result.details.choices"))];
        "REP-10" Must "000 §4.6.2": "The report and GAME_OVER tell the same"
            => "make both from the same result", seen!(report(DECIDED)), [By(agrees_with_the_end)];
        "REP-11" Must[60] "000 §2.11.3, ruling 40": "A report that is lost is sent again, word for word"
            => "repeat the report until the manager has answered it",
            seen!(report(MatchCourse::LostReport)), [By(is_repeated)];
        "REP-12" Should "ruling 26": "A report that was acknowledged is not sent again"
            => "stop reporting once the manager has answered", seen!(report(MatchCourse::Drawn)),
            [By(|it| hold!(it.match_record()?.reports.len() == 1,
                 else "{} reports came", it.match_record()?.reports.len()))];
        "REP-13" Should[60] "ruling 40": "The manager hears of the result before the players do"
            => "send GAME_OVER when the manager has acknowledged the report",
            seen!(report(MatchCourse::LostReport)), [By(comes_before_the_end)];
        "REP-14" Should[60] "ruling 40": "A referee whose token is refused registers again and reports"
            => "register again after E012, and report with the new token",
            seen!(report(MatchCourse::RefusedReport)), [By(comes_again_with_another_token)];
        "REP-15" Must[30] "ruling 27": "The draw is requested once both choices are in"
            => "call the manager's tool `request_draw` when both players have chosen",
            seen!(requests(MatchCourse::Watched)),
            [Framed("request_draw"), Repeats("match_id"), Repeats("attempt"), By(holds_both_moves)];
        "REP-16" Must "ruling 27": "The request hands over what the players sent"
            => "copy choice, `nonce` and `proof` of each answer into `moves`",
            seen!(requests(DECIDED)),
            [By(|it| are_as_sent(it.match_record()?, it.member("moves")))];
        "REP-17" Must "ruling 53": "Request and report show the token of the order"
            => "copy `order_token` from the order",
            seen!(requests_and_report()), [Token("order_token", "order_token")];
        "REP-18" Should[60] "ruling 40": "get_match_state tells no number before the manager has taken the result"
            => "show the result when the manager has acknowledged the report",
            seen!(early_looks()),
            [By(shows_no_secret),
             By(|it| hold!(it.member("result").is_null(), else "the result is in it"))];
        "REP-19" Must[30] "ruling 40": "A match whose draw is refused ends without a result"
            => "close a match whose request is refused for good, and tell the players nothing",
            seen!(refused_draw()),
            [By(|it| hold!(it.fact("ended")?.is_null(), else "{} came all the same", it.fact("ended")?))];
    }
}

/// The first report of a match, and whether the referee registered meanwhile.
async fn report(caller: &Caller, course: MatchCourse) -> Records {
    let stage = &caller.stage;
    let before = stage.call_count();
    let played = recorded(stage, course).await?;
    let registered = stage
        .calls_since(before)
        .iter()
        .any(|call| is_registration(call));
    let Some(report) = played.reports.first().map(Arc::clone) else {
        caller.note(played.ack.trip.clone());
        return Err(played.report().err().unwrap_or_else(|| Trouble::broken("")));
    };
    let said = Statement::Call(report, "the manager");
    Ok(vec![
        record_of(stage, played, said).with("registered", registered),
    ])
}

/// The requests for the draw of a match.
async fn requests(caller: &Caller, course: MatchCourse) -> Records {
    let played = Arc::new(recorded(&caller.stage, course).await?);
    played.requests_draws()?;
    let records = played.requests.iter().map(|call| {
        let said = Statement::Call(Arc::clone(call), "the manager");
        record_of(&caller.stage, Arc::clone(&played), said)
    });
    Ok(records.collect())
}

async fn requests_and_report(caller: &Caller) -> Records {
    let mut records = requests(caller, DECIDED).await?;
    records.extend(report(caller, DECIDED).await?);
    let shown = |record: Record| {
        let token = record.asked["order_token"].clone();
        record.with("order_token", token)
    };
    Ok(records.into_iter().map(shown).collect())
}

/// The state of a match whose result the manager has not taken.
async fn early_looks(caller: &Caller) -> Records {
    let course = MatchCourse::LostReport;
    recorded(&caller.stage, course).await?.requests_draws()?;
    looks(caller, course).await
}

/// A match whose draw is refused, and how it ended all the same.
async fn refused_draw(caller: &Caller) -> Records {
    let played = recorded(&caller.stage, MatchCourse::RefusedDraw).await?;
    played.requests_draws()?;
    let mut seats = played.seats.iter();
    let ended = match played.reports.is_empty() {
        false => Some("a report"),
        true => seats
            .any(|seat| seat.told("GAME_OVER").next().is_some())
            .then_some("GAME_OVER"),
    };
    let record = record_of(&caller.stage, played, Statement::Nothing);
    Ok(vec![record.with("ended", ended)])
}

fn holds_both_moves(record: &Record) -> Judgement {
    let moves = record.member("moves").as_array().map_or(0, Vec::len);
    hold!(moves == 2, else "it came with {moves} of 2 choices")
}

fn names_the_winner(record: &Record) -> Judgement {
    let wanted = winner_of(record.match_record()?, record.member("result.details"))?;
    let named = record.text("result.winner")?;
    hold!(named == wanted, else "`winner` is {named} instead of {wanted}")
}

fn scores_a_win(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let winner = winner_of(played, record.member("result.details"))?;
    let score = record.member("result.score");
    let right = played.seats.iter().all(|seat| {
        let due = if seat.id == winner { 3 } else { 0 };
        score[&seat.id] == due
    });
    hold!(right, else "the score is {score}")
}

fn scores_a_draw(record: &Record) -> Judgement {
    let score = record.member("result.score");
    let seats = &record.match_record()?.seats;
    let one_each = seats.iter().all(|seat| score[&seat.id] == 1);
    hold!(one_each, else "the score is {score}")
}

fn agrees_with_the_end(record: &Record) -> Judgement {
    let over = record.match_record()?.first_told(0, "GAME_OVER")?;
    let (over, reported) = (&over.message()["game_result"], record.member("result"));
    let (winner, number) = (&over["winner_player_id"], &over["drawn_number"]);
    hold!(*winner == reported["winner"], else "the players were told that {winner} won")?;
    hold!(*number == reported["details"]["drawn_number"],
        else "the players were told the number {number}")
}

fn is_repeated(record: &Record) -> Judgement {
    let again = record.match_record()?.reports.get(1);
    let missing = || Trouble::broken("the report was lost and did not come again");
    let again = again.ok_or_else(missing)?;
    hold!(*record.member("result") == again.message()["result"],
        else "the second report tells another result")
}

fn comes_before_the_end(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let once = || Trouble::skipped("the report came only once, see REP-11");
    let taken = played.reports.get(1).ok_or_else(once)?;
    played.seats.iter().try_for_each(|seat| {
        let over = seat.told("GAME_OVER").next();
        hold!(over.is_none_or(|over| over.at >= taken.at),
            else "{} was told before the manager had taken the report", seat.id)
    })
}

fn comes_again_with_another_token(record: &Record) -> Judgement {
    hold!(*record.fact("registered")? == true, else "it did not register again")?;
    let again = record.match_record()?.reports.get(1);
    let again = again.map(|call| &call.message()["auth_token"]);
    hold!(again.is_some(), else "the report did not come again")?;
    hold!(again != Some(record.member("auth_token")),
        else "the report came again with the token that was refused")
}
