//! Rules about a referee that is killed and started again.

use std::time::Duration;

use serde_json::Value;

use super::bout::Plot;
use super::{OfReferee, RefereeStage, again};
use crate::listener::Said;
use crate::office::{Mood, is_registration};
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// How long a match may take to end after its referee came back.
const RESUMED: Duration = Duration::from_secs(20);

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "recovery",
        rules: rules! {
            "BACK-01" Must "ruling 7": "A referee that was killed and started again registers again"
                => "register every time the referee starts", returns, 60;
            "BACK-02" Should "ruling 39": "The same order after a restart brings the match to its end"
                => "take an order that comes again, whatever was forgotten", resumes, 90;
            "BACK-03" Should "ruling 39": "A match that was over before the restart ends the same"
                => "keep results where they survive a restart, and tell them again", remembers, 60;
            "BACK-04" Must "000 §2.11.3": "A registration that fails is tried again"
                => "repeat the registration after a connection that broke or an HTTP error", retries, 90;
        },
    }
}

/// Kills the referee and starts it again; gives the place from which the manager's ears count.
async fn restarted(act: &OfReferee) -> Result<usize, Trouble> {
    let stage = &act.stage;
    let Some(launched) = &stage.launched else {
        return Err(Trouble::skipped(
            "the referee was not started by the check",
            "let `--launch \"COMMAND\"` start it",
        ));
    };
    // What is still being played would be cut short with it.
    if stage.takes_orders().is_ok() {
        stage.bout(Plot::Late).await?;
    }
    launched.end().await;
    let before = stage.office.listener.count();
    let started = launched.start();
    started.map_err(|error| Trouble::broken(format!("it cannot be started again: {error}")))?;
    Ok(before)
}

/// Kills the referee, starts it again and waits until it has registered.
async fn back(act: &OfReferee) -> Played {
    let before = restarted(act).await?;
    let stage = &act.stage;
    let heard = stage.office.registration(before, stage.wait).await;
    hold(heard.is_some() && stage.comes_up().await, || {
        format!("no registration came within {:?}", stage.wait)
    })
}

async fn returns(act: &OfReferee) -> Played {
    back(act).await?;
    act.still_answers("a restart").await
}

async fn resumes(act: &OfReferee) -> Played {
    act.stage.takes_orders()?;
    if act.stage.launched.is_none() {
        return back(act).await;
    }
    let seats = act.stage.seats(Plot::Watched).await?;
    let match_id = act.stage.next_match();
    let order = act.stage.order(&match_id, &seats);
    act.call(&Question::new("start_match", order.clone()))
        .await?;
    seats[0].wait("CHOOSE_PARITY_CALL", RESUMED).await;
    back(act).await?;
    let reply = act.call(&again(&order)).await?;
    reply.of_kind(&["START_MATCH_ACK"])?;
    let listener = &act.stage.office.listener;
    let report = listener.wait(0, RESUMED, |heard| {
        heard.kind() == "MATCH_RESULT_REPORT" && heard.message()["match_id"] == *match_id
    });
    let report = report.await;
    hold(report.is_some(), || {
        "the match was not brought to its end".to_owned()
    })
}

async fn remembers(act: &OfReferee) -> Played {
    let bout = act.stage.bout(Plot::Decided).await?;
    let result = |from: usize| {
        let all = act.stage.reports(&bout.match_id);
        all.get(from).map(|heard| heard.message()["result"].clone())
    };
    let told = act.stage.reports(&bout.match_id).len();
    let first: Option<Value> = result(0);
    back(act).await?;
    act.call(&again(&bout.order)).await?;
    let listener = &act.stage.office.listener;
    let before = listener.count();
    listener
        .wait(before, Duration::from_secs(5), |_| result(told).is_some())
        .await;
    let second = result(told);
    hold(second.is_some(), || {
        "the result was not reported again".to_owned()
    })?;
    hold(first == second, || {
        "another result was reported than before".to_owned()
    })
}

async fn retries(act: &OfReferee) -> Played {
    let stage = &act.stage;
    stage.admitted()?;
    stage.office.set_mood(Mood::Failing(1, Said::Nothing));
    let before = restarted(act).await;
    let Ok(before) = before else {
        stage.office.set_mood(Mood::Open);
        return before.map(drop);
    };
    stage.office.registration(before, stage.wait).await;
    let failed = stage.office.listener.count();
    let again = stage.office.registration(failed, stage.wait).await;
    stage.office.set_mood(Mood::Open);
    hold(again.is_some_and(|heard| is_registration(&heard)), || {
        "the registration was not tried again".to_owned()
    })
}
