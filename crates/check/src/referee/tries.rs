//! Rules about players that fail: attempts, waits, GAME_ERROR, technical losses.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::bout::{Bout, Plot};
use super::{MOVE, OfReferee, RefereeStage, overheard};
use crate::envelope;
use crate::listener::Heard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// How many attempts a player has.
const ATTEMPTS: usize = 3;
/// The time between two attempts may be a little shorter, as clocks are.
const WAIT: Duration = Duration::from_millis(1_800);
/// How long a player has to join; a little less, as clocks are.
const JOIN: Duration = Duration::from_millis(4_800);

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "attempts",
        rules: rules! {
            "TRY-01" Must "000 §4.10.2": "An illegal choice is told to the player with GAME_ERROR E004"
                => "send GAME_ERROR with E004 to a player whose choice is neither even nor odd", illegal, 30;
            "TRY-02" Must "000 §4.10.2": "GAME_ERROR names match, code and name"
                => "set `match_id`, `error_code` and `error_description`", error_shape, 30;
            "TRY-03" Must "000 §4.10.2": "GAME_ERROR counts the attempts"
                => "set `retry_info` with `retry_count` and `max_retries` 3", counted, 30;
            "TRY-04" Must "000 §2.4.1": "The envelope of GAME_ERROR is whole"
                => "set `protocol`, `timestamp`, `conversation_id`, and `sender` to referee:ID", enveloped, 30;
            "TRY-05" Must "000 §2.11.3": "A player whose choice was illegal once may choose again"
                => "ask again after GAME_ERROR, up to three times in all", second_chance, 30;
            "TRY-06" Must "000 §2.11.3, ruling 15": "A player is asked three times and no more"
                => "give up after the third attempt", three, 40;
            "TRY-07" Must "000 §5.9.1": "Two seconds lie between attempts"
                => "wait `retry_delay_sec`, which is 2, before asking again", waits, 40;
            "TRY-08" Must "000 §2.11.3, ruling 16": "After the third failure the player has lost technically"
                => "end the match with TECHNICAL_LOSS and give the win to the opponent", technical, 40;
            "TRY-09" Must "000 §4.10.2": "Only the player that failed is sent GAME_ERROR"
                => "send GAME_ERROR to `affected_player` alone", others_spared, 40;
            "TRY-10" Must "ruling 16": "A player that declines has lost technically, at once"
                => "do not invite a player again that answered `accept` false", declined, 40;
            "TRY-11" Must "ruling 16": "If both fail nobody wins and nobody gets points"
                => "report the winner null and 0 points for both", both_failed, 40;
            "TRY-12" Must "000 §2.7": "A player has 5 seconds to join"
                => "wait 5 seconds for GAME_JOIN_ACK before the next attempt", joining, 60;
            "TRY-13" Must "000 §2.11.3": "A player that never joins is invited three times, and has lost"
                => "repeat the invitation twice, then end the match with TECHNICAL_LOSS", silent, 60;
            "TRY-14" Must "ruling 17": "A player that cannot be reached loses, and its opponent is told"
                => "treat a connection that fails as a failed attempt, E009", dead, 60;
            "TRY-15" Must "000 §2.7": "A player has 30 seconds to choose"
                => "wait 30 seconds for a choice before the next attempt", patient, 60;
            "TRY-16" Must "000 §2.11.3": "A choice that comes too late is asked for again"
                => "send GAME_ERROR E001 at the deadline, and ask again", late, 60;
            "TRY-17" Must "ruling 36": "A choice with the opponent's token does not count"
                => "compare the token of an answer with both `token_hash` of the order", impostor, 40;
            "TRY-18" Must "ruling 36": "A choice for another match does not count"
                => "compare `match_id` of an answer with the match that was asked about", astray, 40;
        },
    }
}

async fn bout(act: &OfReferee, plot: Plot) -> Result<Arc<Bout>, Trouble> {
    let bout = act.stage.bout(plot).await?;
    if let Some(heard) = act.stage.reports(&bout.match_id).first() {
        overheard::note(act, heard, "the manager");
    }
    Ok(bout)
}

/// The first error that a player was sent in a match.
async fn error(act: &OfReferee, plot: Plot) -> Result<Heard, Trouble> {
    let heard = act.stage.bout(plot).await?.told(0, "GAME_ERROR")?;
    overheard::note(act, &heard, "a player");
    Ok(heard)
}

async fn illegal(act: &OfReferee) -> Played {
    envelope::is(
        error(act, Plot::SlipOnce).await?.message(),
        "error_code",
        "E004",
    )
}

async fn error_shape(act: &OfReferee) -> Played {
    let heard = error(act, Plot::SlipOnce).await?;
    for name in ["match_id", "error_code", "error_description"] {
        envelope::text(heard.message(), name)?;
    }
    Ok(())
}

async fn counted(act: &OfReferee) -> Played {
    let heard = error(act, Plot::SlipOnce).await?;
    let message = heard.message();
    let count = |name: &str| {
        let told = message["retry_info"].get(name).or(message.get(name));
        told.and_then(Value::as_u64)
    };
    hold(count("max_retries") == Some(3), || {
        format!("`max_retries` is {:?}", count("max_retries"))
    })?;
    hold(count("retry_count").is_some(), || {
        "`retry_count` is missing".to_owned()
    })
}

async fn enveloped(act: &OfReferee) -> Played {
    overheard::enveloped(act, &error(act, Plot::SlipOnce).await?)
}

async fn second_chance(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::SlipOnce).await?;
    let asked = bout.seats[0].told("CHOOSE_PARITY_CALL").len();
    hold(asked == 2, || format!("the player was asked {asked} times"))?;
    let (status, _) = result(act, &bout)?;
    hold(status != "TECHNICAL_LOSS", || {
        "the match is a technical loss all the same".to_owned()
    })
}

/// What was reported: the status, as far as it is told or follows, and the whole result.
fn result(act: &OfReferee, bout: &Bout) -> Result<(String, Value), Trouble> {
    let reports = act.stage.reports(&bout.match_id);
    let Some(report) = reports.first() else {
        return Err(Trouble::broken(format!(
            "the result of match {} was never reported",
            bout.match_id
        )));
    };
    let result = report.message()["result"].clone();
    let told = bout.seats[1].told("GAME_OVER");
    let told = told
        .first()
        .map(|heard| heard.message()["game_result"]["status"].clone());
    let status = result["details"]["status"].as_str().map(str::to_owned);
    let status = status.or_else(|| told.as_ref()?.as_str().map(str::to_owned));
    Ok((status.unwrap_or_default(), result))
}

/// How often a kind of question came to the failing player, and the least time between two.
fn asked(bout: &Bout, kind: &str) -> (usize, Option<Duration>) {
    let times: Vec<_> = bout.seats[0]
        .told(kind)
        .iter()
        .map(|heard| heard.at)
        .collect();
    let between = times.windows(2).map(|pair| pair[1] - pair[0]);
    (times.len(), between.min())
}

async fn three(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::SlipAlways).await?;
    let (count, _) = asked(&bout, "CHOOSE_PARITY_CALL");
    hold(count == ATTEMPTS, || {
        format!("the player was asked {count} times")
    })
}

async fn waits(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::SlipAlways).await?;
    let (_, least) = asked(&bout, "CHOOSE_PARITY_CALL");
    hold(least.is_some_and(|least| least >= WAIT), || {
        format!("the shortest wait is {least:?}")
    })
}

/// Sees that the first player has lost technically and the second has the points of a win.
fn lost(act: &OfReferee, bout: &Bout) -> Played {
    let (status, result) = result(act, bout)?;
    let [failed, other] = bout.seats.each_ref().map(|seat| &seat.part.id);
    hold(status == "TECHNICAL_LOSS", || {
        format!("the status is `{status}`")
    })?;
    hold(result["winner"] == **other, || {
        format!("the winner is {}", result["winner"])
    })?;
    let score = &result["score"];
    hold(score[other] == 3 && score[failed] == 0, || {
        format!("the score is {score}")
    })
}

async fn technical(act: &OfReferee) -> Played {
    lost(act, &*bout(act, Plot::SlipAlways).await?)
}

async fn others_spared(act: &OfReferee) -> Played {
    for plot in [Plot::SlipOnce, Plot::SlipAlways] {
        let bout = act.stage.bout(plot).await?;
        if let Some(heard) = bout.seats[1].told("GAME_ERROR").first() {
            overheard::note(act, heard, "the other player");
            return Err(Trouble::broken("the other player was sent GAME_ERROR"));
        }
    }
    Ok(())
}

async fn declined(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::Declined).await?;
    let (count, _) = asked(&bout, "GAME_INVITATION");
    hold(count == 1, || format!("it was invited {count} times"))?;
    lost(act, &bout)
}

async fn both_failed(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::BothDeclined).await?;
    let (_, result) = result(act, &bout)?;
    hold(result["winner"].is_null(), || {
        format!("the winner is {}", result["winner"])
    })?;
    let scores = bout
        .seats
        .each_ref()
        .map(|seat| &result["score"][&seat.part.id]);
    hold(scores.iter().all(|score| **score == 0), || {
        format!("the score is {}", result["score"])
    })
}

async fn joining(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::Silent).await?;
    let (_, least) = asked(&bout, "GAME_INVITATION");
    hold(least.is_some_and(|least| least >= JOIN), || {
        format!("the next invitation came after {least:?}")
    })
}

async fn silent(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::Silent).await?;
    let (count, _) = asked(&bout, "GAME_INVITATION");
    hold(count == ATTEMPTS, || {
        format!("it was invited {count} times")
    })?;
    lost(act, &bout)
}

async fn dead(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::Dead).await?;
    lost(act, &bout)?;
    bout.told(1, "GAME_OVER").map(drop)
}

async fn patient(act: &OfReferee) -> Played {
    let bout = bout(act, Plot::Late).await?;
    let (count, least) = asked(&bout, "CHOOSE_PARITY_CALL");
    hold(count >= 2, || "the player was asked only once".to_owned())?;
    hold(least.is_some_and(|least| least + WAIT > MOVE), || {
        format!("it was asked again after {least:?}")
    })
}

async fn late(act: &OfReferee) -> Played {
    let heard = error(act, Plot::Late).await?;
    envelope::is(heard.message(), "error_code", "E001")?;
    let bout = bout(act, Plot::Late).await?;
    let (status, _) = result(act, &bout)?;
    hold(status != "TECHNICAL_LOSS", || {
        "the match is a technical loss, though the second answer was in time".to_owned()
    })
}

async fn impostor(act: &OfReferee) -> Played {
    lost(act, &*bout(act, Plot::Impostor).await?)
}

async fn astray(act: &OfReferee) -> Played {
    lost(act, &*bout(act, Plot::Astray).await?)
}
