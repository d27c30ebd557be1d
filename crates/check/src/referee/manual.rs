//! Rules about matches that are stepped by hand, an addition of ours (ruling 3).

use std::time::Duration;

use serde_json::{Value, json};

use super::bout::Plot;
use super::seat::Seat;
use super::{OfReferee, RefereeStage};
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Question;

/// The steps, in their order.
const STEPS: [&str; 3] = ["collect_choices", "draw_number", "finalize_match"];
/// How often a step is tried until it is due.
const TRIES: u32 = 40;
/// How long to wait before a step is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "matches stepped by hand",
        rules: rules! {
            "MAN-01" Should "ruling 3": "A match in manual mode asks for no choice by itself"
                => "wait for `collect_choices` if the order says `mode` manual", waits, 30;
            "MAN-02" Should "ruling 3": "The three steps play the match to its end"
                => "serve `collect_choices`, `draw_number` and `finalize_match`, in this order", steps, 30;
            "MAN-03" Should "ruling 3": "A step that is not due is E007"
                => "answer LEAGUE_ERROR E007 to a step that comes too early", early, 30;
            "MAN-04" Should "ruling 45": "A step without a good token is refused"
                => "want to see the manager's token, or the step token of the match", strangers, 30;
            "MAN-05" Should "ruling 3": "A step of a match that plays by itself is E007"
                => "answer LEAGUE_ERROR E007 to steps of a match that is not manual", automatic, 30;
        },
    }
}

/// A match that waits for its steps.
struct Stepped {
    match_id: String,
    seats: [Seat; 2],
}

async fn open(act: &OfReferee) -> Result<Stepped, Trouble> {
    act.stage.takes_orders()?;
    let seats = act.stage.seats(Plot::Decided).await?;
    let match_id = act.stage.next_match();
    let mut order = act.stage.order(&match_id, &seats);
    order["mode"] = "manual".into();
    let reply = act.call(&Question::new("start_match", order)).await?;
    let ack = reply.of_kind(&["START_MATCH_ACK"])?;
    if ack["accepted"] != true {
        return Err(Trouble::skipped("the referee takes no manual matches", ""));
    }
    Ok(Stepped { match_id, seats })
}

fn question(act: &OfReferee, step: &str, match_id: &str) -> Question {
    let admission = act.stage.office.admission();
    let token = admission.map_or(Value::Null, |admission| admission.manager_token.into());
    Question::new(step, json!({"match_id": match_id, "auth_token": token}))
}

/// Takes all steps, each as soon as it is due.
async fn finish(act: &OfReferee, stepped: &Stepped) -> Played {
    for step in STEPS {
        let question = question(act, step, &stepped.match_id);
        let mut reply = act.call(&question).await?;
        for _ in 0..TRIES {
            if reply.league_error() != Some("E007") {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            reply = act.call(&question).await?;
        }
        hold(!reply.is_refusal(), || {
            format!("`{step}` is answered with {}", reply.describe())
        })?;
    }
    Ok(())
}

async fn waits(act: &OfReferee) -> Played {
    let stepped = open(act).await?;
    for seat in &stepped.seats {
        seat.wait("GAME_INVITATION", Duration::from_secs(5)).await;
    }
    tokio::time::sleep(10 * PAUSE).await;
    let asked = stepped
        .seats
        .iter()
        .find(|seat| !seat.told("CHOOSE_PARITY_CALL").is_empty());
    let asked = asked.map(|seat| seat.part.id.clone());
    finish(act, &stepped).await?;
    hold(asked.is_none(), || {
        format!(
            "{} was asked before `collect_choices`",
            asked.unwrap_or_default()
        )
    })
}

async fn steps(act: &OfReferee) -> Played {
    let stepped = open(act).await?;
    finish(act, &stepped).await?;
    for seat in &stepped.seats {
        let over = seat.wait("GAME_OVER", Duration::from_secs(5)).await;
        hold(over.is_some(), || {
            format!("{} was not told the end", seat.part.id)
        })?;
    }
    Ok(())
}

/// Takes a step that must be refused, then plays the match to its end.
async fn refused(
    act: &OfReferee,
    wrong: impl FnOnce(&Stepped) -> Question,
) -> Result<Reply, Trouble> {
    let stepped = open(act).await?;
    let reply = act.call(&wrong(&stepped)).await?;
    finish(act, &stepped).await?;
    act.note(reply.exchange.clone());
    Ok(reply)
}

async fn early(act: &OfReferee) -> Played {
    let reply = refused(act, |stepped| {
        question(act, "finalize_match", &stepped.match_id)
    })
    .await?;
    hold(reply.league_error() == Some("E007"), || {
        format!("the answer is {}", reply.describe())
    })
}

async fn strangers(act: &OfReferee) -> Played {
    act.stage.admitted()?;
    for (token, code) in [(Value::Null, "E011"), ("tok-manager-0123".into(), "E012")] {
        let reply = refused(act, |stepped| {
            let wrong = json!({"match_id": stepped.match_id, "auth_token": token});
            Question::new("collect_choices", wrong)
        });
        let reply = reply.await?;
        hold(reply.league_error() == Some(code), || {
            format!("the answer is {} instead of {code}", reply.describe())
        })?;
    }
    Ok(())
}

async fn automatic(act: &OfReferee) -> Played {
    let seats = act.stage.seats(Plot::Watched).await?;
    act.stage.takes_orders()?;
    let match_id = act.stage.next_match();
    let order = act.stage.order(&match_id, &seats);
    act.call(&Question::new("start_match", order)).await?;
    let reply = act
        .call(&question(act, "collect_choices", &match_id))
        .await?;
    for seat in &seats {
        seat.wait("GAME_OVER", Duration::from_secs(10)).await;
    }
    if reply.rpc_error() == Some(-32_601) {
        return Err(Trouble::skipped("the referee has no `collect_choices`", ""));
    }
    hold(reply.league_error() == Some("E007"), || {
        format!("the answer is {}", reply.describe())
    })
}
