//! Rules about several matches at once, and about the end of the league.

use std::time::Duration;

use serde_json::json;

use super::bout::Plot;
use super::ending::{drawn_number, parity_of};
use super::seat::Seat;
use super::{OfReferee, RefereeStage, overheard};
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::script::message;
use crate::stage::Question;

/// The largest capacity that is tried out.
const MOST_AT_ONCE: usize = 8;
/// How long a match may take whose players answer at once.
const QUICK: Duration = Duration::from_secs(10);

/// The rules.
pub(super) fn topic() -> Topic<RefereeStage> {
    Topic {
        name: "several matches",
        rules: rules! {
            "MANY-01" Must "000 §4.1.1": "As many matches run at once as the referee said"
                => "run `max_concurrent_matches` matches side by side", at_once, 90;
            "MANY-02" Must "000 §4.6.1": "Matches that run at once are not mixed up"
                => "keep the state of each match apart", apart, 90;
            "MANY-03" Must "ruling 17": "A slow player holds up no other match"
                => "do not wait for one match while another could go on", undisturbed, 90;
            "MANY-04" Should "ruling 39": "A match beyond what the referee runs at once is turned down"
                => "answer `accepted` false when you are full", full, 90;
        },
    }
}

/// The rules about the end, which come last.
pub(super) fn farewell() -> Topic<RefereeStage> {
    Topic {
        name: "end of the league",
        rules: rules! {
            "END-01" Should "ruling 45": "The end of the league is believed from the manager alone"
                => "want to see the manager's token in LEAGUE_COMPLETED", forged;
            "END-02" Should "ruling 3": "The end of the league is acknowledged"
                => "answer the tool `notify_league_completed`", acknowledged;
        },
    }
}

/// A match under way.
struct Running {
    match_id: String,
    seats: [Seat; 2],
    accepted: bool,
}

async fn start(act: &OfReferee, plot: Plot) -> Result<Running, Trouble> {
    let seats = act.stage.seats(plot).await?;
    let match_id = act.stage.next_match();
    let order = act.stage.order(&match_id, &seats);
    let reply = act.call(&Question::new("start_match", order)).await?;
    let accepted = reply.result().is_some_and(|ack| ack["accepted"] == true);
    Ok(Running {
        match_id,
        seats,
        accepted,
    })
}

async fn ends(running: &Running) -> Result<(), Trouble> {
    for seat in &running.seats {
        let over = seat.wait("GAME_OVER", QUICK).await;
        hold(over.is_some(), || {
            format!("match {} did not end", running.match_id)
        })?;
    }
    Ok(())
}

/// Waits until nothing else is under way, and says how many matches may be.
async fn capacity(act: &OfReferee) -> Result<usize, Trouble> {
    act.stage.takes_orders()?;
    act.stage.admitted()?;
    act.stage.bout(Plot::Late).await?;
    Ok(act.stage.at_once())
}

/// Starts as many slow matches as the referee says it can run, and waits for their ends.
async fn crowd(act: &OfReferee) -> Result<Vec<Running>, Trouble> {
    let many = capacity(act).await?.min(MOST_AT_ONCE);
    let mut all = Vec::new();
    for _ in 0..many {
        all.push(start(act, Plot::Watched).await?);
    }
    for running in &all {
        if running.accepted {
            ends(running).await?;
        }
    }
    Ok(all)
}

async fn at_once(act: &OfReferee) -> Played {
    let all = crowd(act).await?;
    let taken = all.iter().filter(|running| running.accepted).count();
    hold(taken == all.len(), || {
        format!("only {taken} of {} were taken", all.len())
    })
}

async fn apart(act: &OfReferee) -> Played {
    for running in crowd(act).await? {
        for seat in &running.seats {
            for heard in seat.all() {
                let message = heard.message();
                let named = message.get("match_id");
                overheard::note(act, &heard, "a player");
                hold(
                    named.is_none_or(|named| *named == *running.match_id),
                    || format!("{} was told of another match", seat.part.id),
                )?;
            }
            let over = seat.told("GAME_OVER");
            let Some(over) = over.first() else { continue };
            let result = &over.message()["game_result"];
            let parity = parity_of(drawn_number(result)?);
            let right = running.seats.iter().find(|seat| seat.part.choice == parity);
            let right = right.map(|seat| seat.part.id.as_str()).unwrap_or_default();
            hold(result["winner_player_id"] == right, || {
                format!(
                    "the winner is {} instead of {right}",
                    result["winner_player_id"]
                )
            })?;
        }
    }
    Ok(())
}

async fn undisturbed(act: &OfReferee) -> Played {
    if capacity(act).await? < 2 {
        return Err(Trouble::skipped("the referee runs one match at a time", ""));
    }
    let slow = start(act, Plot::Watched).await?;
    let quick = start(act, Plot::Decided).await?;
    ends(&quick).await?;
    let before = slow.seats[0].told("GAME_OVER").is_empty();
    ends(&slow).await?;
    hold(before, || {
        "the quick match ended only after the slow one".to_owned()
    })
}

async fn full(act: &OfReferee) -> Played {
    let many = capacity(act).await?;
    if many > MOST_AT_ONCE {
        let reason = format!("the referee runs {many} matches at once, too many to fill it");
        return Err(Trouble::skipped(reason, ""));
    }
    let mut all = Vec::new();
    for _ in 0..=many {
        all.push(start(act, Plot::Watched).await?);
    }
    let taken = all.iter().filter(|running| running.accepted).count();
    for running in &all {
        if running.accepted {
            ends(running).await?;
        }
    }
    hold(taken <= many, || {
        format!("it said {many} at once and took {taken}")
    })
}

fn completed(act: &OfReferee, token: Option<&str>) -> Question {
    let says = json!({
        "league_id": act.stage.office.league, "auth_token": token, "total_rounds": 1,
        "total_matches": 1, "champion": null, "final_standings": [],
    });
    let says = message(
        "LEAGUE_COMPLETED",
        "league_manager",
        "check-completed",
        says,
    );
    Question::new("notify_league_completed", says)
}

async fn forged(act: &OfReferee) -> Played {
    act.stage.admitted()?;
    let question = completed(act, Some("tok-manager-0123456789abcdef"));
    let reply = act.call(&question).await?;
    reply.refused("the end of the league with a wrong token")
}

async fn acknowledged(act: &OfReferee) -> Played {
    let token = act.stage.admitted()?.manager_token;
    let reply = act.call(&completed(act, Some(&token))).await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}
