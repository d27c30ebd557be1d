//! Rules about the report of a result to the manager: MATCH_RESULT_REPORT.

use std::sync::Arc;

use serde_json::Value;

use super::bout::{Bout, Plot};
use super::ending::{drawn_number, parity_of};
use super::{OfReferee, RefereeStage, overheard, round};
use crate::envelope;
use crate::listener::Heard;
use crate::office::is_registration;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "reports",
        rules: rules! {
            "REP-01" Must "000 §4.6.2": "The result of a match is reported to the manager"
                => "call the manager's tool `report_match_result` after each match", reported;
            "REP-02" Must "000 §1.4, §5.2.3": "The report is a JSON-RPC call of report_match_result"
                => "POST a call of `report_match_result` to the manager", framed;
            "REP-03" Must "000 §2.4.1": "The envelope of the report is whole"
                => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID", enveloped;
            "REP-04" Must "000 §2.4.5": "The report shows the referee's token"
                => "put the `auth_token` from the registration into every call to the manager", token;
            "REP-05" Must "000 §4.6.2": "The report names league, round, match and game of the order"
                => "copy them from the order", names;
            "REP-06" Must "000 §4.6.2": "The report names the winner that follows from number and choices"
                => "set `result.winner` to the player who guessed right", winner;
            "REP-07" Must "000 §3.3.3": "A win is worth 3 points, a loss 0"
                => "set `result.score` by player id, 3 for the winner", win_score;
            "REP-08" Must "000 §3.3.3": "A draw is worth 1 point each, and has no winner"
                => "set `result.winner` to null and both scores to 1", draw_score;
            "REP-09" Must "000 §4.6.2": "The report tells the number and both choices"
                => "set `result.details.drawn_number` and `result.details.choices`", details;
            "REP-10" Must "000 §4.6.2": "The report and GAME_OVER tell the same"
                => "make both from the same result", agrees;
            "REP-11" Must "000 §2.11.3, ruling 40": "A report that is lost is sent again, word for word"
                => "repeat the report until the manager has answered it", repeated, 60;
            "REP-12" Should "ruling 26": "A report that was acknowledged is not sent again"
                => "stop reporting once the manager has answered", once;
            "REP-13" Should "ruling 40": "The manager hears of the result before the players do"
                => "send GAME_OVER when the manager has acknowledged the report", manager_first, 60;
            "REP-14" Should "ruling 40": "A referee whose token is refused registers again and reports"
                => "register again after E012, and report with the new token", back_in, 60;
        },
    }
}

/// A match and its first report.
async fn first(act: &OfReferee, plot: Plot) -> Result<(Arc<Bout>, Heard), Trouble> {
    let bout = act.stage.bout(plot).await?;
    let report = act.stage.reports(&bout.match_id).into_iter().next();
    let report = report.ok_or_else(|| {
        Trouble::broken(format!("no report of match {} came", bout.match_id))
            .about(&bout.ack.exchange)
    })?;
    overheard::note(act, &report, "the manager");
    Ok((bout, report))
}

async fn reported(act: &OfReferee) -> Played {
    first(act, Plot::Decided).await.map(drop)
}

async fn framed(act: &OfReferee) -> Played {
    let (_, report) = first(act, Plot::Decided).await?;
    overheard::framed(&report, "report_match_result")
}

async fn enveloped(act: &OfReferee) -> Played {
    let (_, report) = first(act, Plot::Decided).await?;
    overheard::enveloped(act, &report)
}

async fn token(act: &OfReferee) -> Played {
    let (_, report) = first(act, Plot::Drawn).await?;
    let own = act.stage.admitted()?.token;
    hold(report.message()["auth_token"] == *own, || {
        "`auth_token` is not the token from the registration".to_owned()
    })
}

async fn names(act: &OfReferee) -> Played {
    let (bout, report) = first(act, Plot::Decided).await?;
    for name in ["league_id", "match_id", "game_type"] {
        envelope::repeated(&bout.order, report.message(), name)?;
    }
    let named = &report.message()["round_id"];
    hold(*named == round(&bout.match_id), || {
        format!("`round_id` is {named}")
    })
}

/// The player of a decided match that guessed right, and the other one.
fn winner_and_loser<'b>(bout: &'b Bout, result: &Value) -> Result<(&'b str, &'b str), Trouble> {
    let parity = parity_of(drawn_number(&result["details"])?);
    let [first, second] = bout.seats.each_ref().map(|seat| &seat.part);
    Ok(if first.choice == parity {
        (&first.id, &second.id)
    } else {
        (&second.id, &first.id)
    })
}

async fn winner(act: &OfReferee) -> Played {
    let (bout, report) = first(act, Plot::Decided).await?;
    let result = &report.message()["result"];
    let (winner, _) = winner_and_loser(&bout, result)?;
    envelope::is(result, "winner", winner)
}

async fn win_score(act: &OfReferee) -> Played {
    let (bout, report) = first(act, Plot::Decided).await?;
    let result = &report.message()["result"];
    let (winner, loser) = winner_and_loser(&bout, result)?;
    let score = &result["score"];
    hold(score[winner] == 3 && score[loser] == 0, || {
        format!("the score is {score}")
    })
}

async fn draw_score(act: &OfReferee) -> Played {
    let (bout, report) = first(act, Plot::Drawn).await?;
    let result = &report.message()["result"];
    let score = &result["score"];
    let one_each = bout.seats.iter().all(|seat| score[&seat.part.id] == 1);
    hold(one_each, || format!("the score is {score}"))?;
    if result["winner"] == "DRAW" {
        return Err(Trouble::forgiven("the winner is the word DRAW, not null"));
    }
    hold(result["winner"].is_null(), || {
        format!("the winner is {}", result["winner"])
    })
}

async fn details(act: &OfReferee) -> Played {
    let (bout, report) = first(act, Plot::Decided).await?;
    let details = &report.message()["result"]["details"];
    drawn_number(details)?;
    for seat in &bout.seats {
        envelope::is(&details["choices"], &seat.part.id, seat.part.choice)?;
    }
    Ok(())
}

async fn agrees(act: &OfReferee) -> Played {
    let (bout, report) = first(act, Plot::Decided).await?;
    let over = bout.told(0, "GAME_OVER")?;
    let (over, reported) = (&over.message()["game_result"], &report.message()["result"]);
    hold(over["winner_player_id"] == reported["winner"], || {
        format!(
            "the players were told that {} won",
            over["winner_player_id"]
        )
    })?;
    hold(
        over["drawn_number"] == reported["details"]["drawn_number"],
        || format!("the players were told the number {}", over["drawn_number"]),
    )
}

async fn repeated(act: &OfReferee) -> Played {
    let (bout, lost) = first(act, Plot::LostReport).await?;
    let all = act.stage.reports(&bout.match_id);
    let Some(again) = all.get(1) else {
        return Err(Trouble::broken(
            "the report was lost and did not come again",
        ));
    };
    hold(
        lost.message()["result"] == again.message()["result"],
        || "the second report tells another result".to_owned(),
    )
}

async fn once(act: &OfReferee) -> Played {
    let (bout, _) = first(act, Plot::Drawn).await?;
    let count = act.stage.reports(&bout.match_id).len();
    hold(count == 1, || format!("{count} reports came"))
}

async fn manager_first(act: &OfReferee) -> Played {
    let (bout, _) = first(act, Plot::LostReport).await?;
    let all = act.stage.reports(&bout.match_id);
    let Some(taken) = all.get(1) else {
        return Err(Trouble::skipped(
            "the report came only once, see REP-11",
            "",
        ));
    };
    for seat in &bout.seats {
        let early = seat
            .told("GAME_OVER")
            .first()
            .is_some_and(|over| over.at < taken.at);
        hold(!early, || {
            format!(
                "{} was told before the manager had taken the report",
                seat.part.id
            )
        })?;
    }
    Ok(())
}

async fn back_in(act: &OfReferee) -> Played {
    let before = act.stage.office.listener.count();
    let (bout, refused) = first(act, Plot::RefusedReport).await?;
    let since = act.stage.office.listener.since(before);
    hold(since.iter().any(is_registration), || {
        "it did not register again".to_owned()
    })?;
    let all = act.stage.reports(&bout.match_id);
    let again = all.get(1).map(|heard| &heard.message()["auth_token"]);
    hold(again.is_some(), || {
        "the report did not come again".to_owned()
    })?;
    hold(again != Some(&refused.message()["auth_token"]), || {
        "the report came again with the token that was refused".to_owned()
    })
}
