//! Rules about the report of a result to the manager: MATCH_RESULT_REPORT.

use std::sync::Arc;

use super::bout::{Plot, recorded};
use super::matches::{drawn_number, has_no_winner, tells_choices, winner_of};
use super::{match_of, record_of};
use crate::caller::Caller;
use crate::fake_manager::is_registration;
use crate::record::Expect::{By, Framed, Posted};
use crate::record::{Record, Statement, Want, envelope, repeats, token};
use crate::rule::{Judgement, Topic, Trouble, hold, rules, seen};

const DECIDED: Plot = Plot::Decided;

pub(super) fn topic() -> Topic {
    Topic {
        name: "reports",
        rules: rules! {
            "REP-01" Must "000 §4.6.2": "The result of a match is reported to the manager"
                => "call the manager's tool `report_match_result` after each match",
                seen!(match_of(&[DECIDED])), [By(|record| record.match_record()?.report().map(drop))];
            "REP-02" Must "000 §1.4, §5.2.3": "The report is a JSON-RPC call of report_match_result"
                => "POST a call of `report_match_result` to the manager",
                seen!(report(DECIDED)), [Posted, Framed("report_match_result")];
            "REP-03" Must "000 §2.4.1": "The envelope of the report is whole"
                => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID",
                seen!(report(DECIDED)), envelope(Want::Fact("sender"));
            "REP-04" Must "000 §2.4.5": "The report shows the referee's token"
                => "put the `auth_token` from the registration into every call to the manager",
                seen!(report(Plot::Drawn)), [token("auth_token", "token")];
            "REP-05" Must "000 §4.6.2": "The report names league, round, match and game of the order"
                => "copy them from the order",
                seen!(report(DECIDED)),
                [repeats("league_id"), repeats("match_id"), repeats("game_type"), repeats("round_id")];
            "REP-06" Must "000 §4.6.2": "The report names the winner that follows from number and choices"
                => "set `result.winner` to the player who guessed right",
                seen!(report(DECIDED)), [By(names_the_winner)];
            "REP-07" Must "000 §3.3.3": "A win is worth 3 points, a loss 0"
                => "set `result.score` by player id, 3 for the winner",
                seen!(report(DECIDED)), [By(scores_a_win)];
            "REP-08" Must "000 §3.3.3": "A draw is worth 1 point each, and has no winner"
                => "set `result.winner` to null and both scores to 1",
                seen!(report(Plot::Drawn)),
                [By(scores_a_draw), By(|record| has_no_winner(record.member("result.winner")))];
            "REP-09" Must "000 §4.6.2": "The report tells the number and both choices"
                => "set `result.details.drawn_number` and `result.details.choices`",
                seen!(report(DECIDED)),
                [
                    By(|record| drawn_number(record.member("result.details")).map(drop)),
                    By(|record| tells_choices(record, "result.details.choices")),
                ];
            "REP-10" Must "000 §4.6.2": "The report and GAME_OVER tell the same"
                => "make both from the same result", seen!(report(DECIDED)), [By(agrees_with_the_end)];
            "REP-11" Must[60] "000 §2.11.3, ruling 40": "A report that is lost is sent again, word for word"
                => "repeat the report until the manager has answered it",
                seen!(report(Plot::LostReport)), [By(is_repeated)];
            "REP-12" Should "ruling 26": "A report that was acknowledged is not sent again"
                => "stop reporting once the manager has answered",
                seen!(report(Plot::Drawn)), [By(is_sent_once)];
            "REP-13" Should[60] "ruling 40": "The manager hears of the result before the players do"
                => "send GAME_OVER when the manager has acknowledged the report",
                seen!(report(Plot::LostReport)), [By(comes_before_the_end)];
            "REP-14" Should[60] "ruling 40": "A referee whose token is refused registers again and reports"
                => "register again after E012, and report with the new token",
                seen!(report(Plot::RefusedReport)), [By(comes_again_with_another_token)];
        },
    }
}

/// The first report of a match, and whether the referee registered meanwhile.
async fn report(caller: &Caller, plot: Plot) -> Result<Vec<Record>, Trouble> {
    let stage = &caller.stage;
    let before = stage.call_count();
    let played = recorded(stage, plot).await?;
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

fn names_the_winner(record: &Record) -> Judgement {
    let wanted = winner_of(record.match_record()?, record.member("result.details"))?;
    let named = record.text("result.winner")?;
    hold(named == wanted, || {
        format!("`winner` is {named} instead of {wanted}")
    })
}

fn scores_a_win(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let winner = winner_of(played, record.member("result.details"))?;
    let score = record.member("result.score");
    let right = played.seats.iter().all(|seat| {
        let due = if seat.id == winner { 3 } else { 0 };
        score[&seat.id] == due
    });
    hold(right, || format!("the score is {score}"))
}

fn scores_a_draw(record: &Record) -> Judgement {
    let score = record.member("result.score");
    let seats = &record.match_record()?.seats;
    let one_each = seats.iter().all(|seat| score[&seat.id] == 1);
    hold(one_each, || format!("the score is {score}"))
}

fn agrees_with_the_end(record: &Record) -> Judgement {
    let over = record.match_record()?.first_told(0, "GAME_OVER")?;
    let (over, reported) = (&over.message()["game_result"], record.member("result"));
    let (winner, number) = (&over["winner_player_id"], &over["drawn_number"]);
    hold(*winner == reported["winner"], || {
        format!("the players were told that {winner} won")
    })?;
    hold(*number == reported["details"]["drawn_number"], || {
        format!("the players were told the number {number}")
    })
}

fn is_repeated(record: &Record) -> Judgement {
    let Some(again) = record.match_record()?.reports.get(1) else {
        return Err(Trouble::broken(
            "the report was lost and did not come again",
        ));
    };
    hold(
        *record.member("result") == again.message()["result"],
        || "the second report tells another result".to_owned(),
    )
}

fn is_sent_once(record: &Record) -> Judgement {
    let count = record.match_record()?.reports.len();
    hold(count == 1, || format!("{count} reports came"))
}

fn comes_before_the_end(record: &Record) -> Judgement {
    let played = record.match_record()?;
    let Some(taken) = played.reports.get(1) else {
        let reason = "the report came only once, see REP-11";
        return Err(Trouble::skipped(reason, ""));
    };
    played.seats.iter().try_for_each(|seat| {
        let over = seat.told("GAME_OVER").next();
        hold(over.is_none_or(|over| over.at >= taken.at), || {
            format!(
                "{} was told before the manager had taken the report",
                seat.id
            )
        })
    })
}

fn comes_again_with_another_token(record: &Record) -> Judgement {
    hold(*record.fact("registered")? == true, || {
        "it did not register again".to_owned()
    })?;
    let again = record.match_record()?.reports.get(1);
    let again = again.map(|call| &call.message()["auth_token"]);
    hold(again.is_some(), || {
        "the report did not come again".to_owned()
    })?;
    hold(again != Some(record.member("auth_token")), || {
        "the report came again with the token that was refused".to_owned()
    })
}
