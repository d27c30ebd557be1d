//! Rules about coming back: a player that was killed, a manager that is away, the end of the league.

use std::time::Duration;

use serde_json::{Value, json};

use super::choice::{is_legal, seated};
use super::{MOVE, OfPlayer, PlayerStage};
use crate::listener::{Heard, Said};
use crate::office::{Mood, is_registration};
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Stage;

/// How long a player may hesitate before it asks to be let in once more.
const ASKS_AGAIN: Duration = Duration::from_secs(12);
/// How long a player is watched that should not ask again at once.
const WATCHED: Duration = Duration::from_secs(2);
/// The most registrations in that time.
const FEW: usize = 3;
/// How long a manager hesitates.
const HESITATION: Duration = Duration::from_secs(3);

/// The rules.
pub(super) fn topic() -> Topic<PlayerStage> {
    Topic {
        name: "recovery and end",
        rules: rules! {
            "BACK-01" Must "000 §2.8.1": "A player that was killed comes up again"
                => "start from what is on disk, or from nothing, without anybody's help", comes_up, 60;
            "BACK-02" Must "ruling 7": "A player that was killed registers again"
                => "register every time the player starts", registers_again, 60;
            "BACK-03" Must "ruling 35": "A player that was killed comes to its match again"
                => "take an invitation to a match that began before the restart", joins_again, 60;
            "BACK-04" Should "ruling 35": "A player that was killed after its choice is asked again, and answers"
                => "take a call for a choice in a match that began before the restart", chooses_again, 100;
            "BACK-05" Should "ruling 35": "The end of a match is taken by a player that was killed in it"
                => "take the end of a match that began before the restart", hears_end, 60;
            "BACK-06" Must "000 §2.4.5": "After a restart the player shows its new token"
                => "use the token of the last registration", new_token, 60;
            "BACK-07" Must "000 §5.8": "A manager that answers 503 is asked again"
                => "try again after two seconds when the registration fails", unwell, 60;
            "BACK-08" Must "000 §5.9.1": "A manager that closes the connection is asked again"
                => "try again after two seconds when the registration fails", hangs_up, 60;
            "BACK-09" Should "000 §5.9.1": "A manager that answers nonsense is asked again"
                => "treat an answer that cannot be read like no answer", nonsense, 60;
            "BACK-10" Should "000 §2.7": "A manager that takes three seconds is waited for"
                => "wait ten seconds for the answer to a registration", hesitates, 60;
            "BACK-11" Should "000 §4.2.2": "A player that was rejected does not ask again at once"
                => "tell people the reason, and wait or end", rejected, 60;
            "END-01" Should "000 §4.8.2": "The end of the league is taken"
                => "answer the tool `notify_league_completed`", league_completed;
            "END-02" Should "000 §4.8.2": "The end of the league told twice does no harm"
                => "answer the second time as the first", completed_twice;
        },
    }
}

/// Kills the player, changes the mood of the manager, and starts it again; gives the place in the
/// row of requests from which on the new one is heard.
async fn restarted(act: &OfPlayer, mood: Mood) -> Result<usize, Trouble> {
    let stage = &act.stage;
    let Some(launched) = &stage.launched else {
        return Err(Trouble::skipped(
            "only a player that is started here can be killed",
            "let the check start the player with `--launch \"COMMAND\"`",
        ));
    };
    if stage.habit().has_session() {
        let reason = "the player keeps sessions of MCP, and they end with it";
        return Err(Trouble::skipped(reason, ""));
    }
    stage.office.set_mood(mood);
    let before = stage.office.listener.count();
    launched.end().await;
    let started = launched.start();
    started.map_err(|error| Trouble::broken(format!("it cannot be started again: {error}")))?;
    Ok(before)
}

/// Kills the player, starts it again, and waits until it listens.
async fn reborn(act: &OfPlayer, mood: Mood) -> Result<usize, Trouble> {
    let before = restarted(act, mood).await?;
    hold(act.stage.comes_up().await, || {
        format!("nobody listens {:?} after the restart", act.stage.wait)
    })?;
    Ok(before)
}

/// Kills the player, starts it again, and waits until it is in.
pub(super) async fn returned(act: &OfPlayer) -> Result<Heard, Trouble> {
    act.stage.admitted()?;
    let before = reborn(act, Mood::Open).await?;
    let heard = act.stage.office.registration(before, ASKS_AGAIN).await;
    let heard = heard.ok_or_else(|| Trouble::broken("it does not register after a restart"))?;
    settled(act).await;
    Ok(heard)
}

/// Gives the player a moment to take in that it was let in.
async fn settled(act: &OfPlayer) {
    for _ in 0..20 {
        let match_id = act.stage.open_match().await;
        let reply = act.stage.ask(&act.stage.invitation(&match_id)).await;
        if reply.is_some_and(|reply| !reply.is_refusal()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn comes_up(act: &OfPlayer) -> Played {
    reborn(act, Mood::Open).await?;
    settled(act).await;
    act.still_answers("a restart").await
}

async fn registers_again(act: &OfPlayer) -> Played {
    returned(act).await.map(drop)
}

async fn joins_again(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    returned(act).await?;
    let reply = act.call(&act.stage.invitation(&match_id)).await?;
    reply.of_kind(&["GAME_JOIN_ACK"])?;
    let reply = act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    is_legal(&message["parity_choice"])
}

async fn chooses_again(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    let reply = act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    returned(act).await?;
    let reply = act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    let message = reply.of_kind(&["CHOOSE_PARITY_RESPONSE"])?;
    is_legal(&message["parity_choice"])
}

async fn hears_end(act: &OfPlayer) -> Played {
    let match_id = seated(act).await?;
    act.call_within(&act.stage.choice(&match_id), MOVE).await?;
    returned(act).await?;
    let reply = act.call(&act.stage.game_over(&match_id)).await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}

async fn new_token(act: &OfPlayer) -> Played {
    returned(act).await?;
    let token = act.stage.admitted()?.token;
    let match_id = act.stage.open_match().await;
    let reply = act.call(&act.stage.invitation(&match_id)).await?;
    let message = reply.of_kind(&["GAME_JOIN_ACK"])?;
    match message.get("auth_token").and_then(Value::as_str) {
        None => Err(Trouble::forgiven("`auth_token` is missing")),
        Some(shown) => hold(shown == token, || "an old token is shown".to_owned()),
    }
}

/// Meets the first registration badly, and waits for the next.
async fn asks_again(act: &OfPlayer, said: Said) -> Played {
    act.stage.admitted()?;
    let before = reborn(act, Mood::Failing(1, said)).await?;
    let listener = &act.stage.office.listener;
    let first = act.stage.office.registration(before, ASKS_AGAIN).await;
    let asked = first.is_some();
    let again = |heard: &Heard| first.as_ref().is_some_and(|first| is_another(heard, first));
    let second = listener.wait(before, ASKS_AGAIN, again).await;
    act.stage.office.set_mood(Mood::Open);
    settled(act).await;
    hold(asked, || "it does not register after a restart".to_owned())?;
    hold(second.is_some(), || {
        format!("it does not ask again within {} s", ASKS_AGAIN.as_secs())
    })
}

/// Whether a request is a registration after the first one; others may come in between.
fn is_another(heard: &Heard, first: &Heard) -> bool {
    is_registration(heard) && heard.at > first.at
}

async fn unwell(act: &OfPlayer) -> Played {
    asks_again(act, Said::Raw(503, String::new())).await
}

async fn hangs_up(act: &OfPlayer) -> Played {
    asks_again(act, Said::Nothing).await
}

async fn nonsense(act: &OfPlayer) -> Played {
    asks_again(
        act,
        Said::Raw(200, "<html>one moment please</html>".to_owned()),
    )
    .await
}

async fn hesitates(act: &OfPlayer) -> Played {
    act.stage.admitted()?;
    let wait = Said::Late(HESITATION, Box::new(Said::Raw(503, String::new())));
    let before = reborn(act, Mood::Failing(1, wait)).await?;
    let first = act.stage.office.registration(before, ASKS_AGAIN).await;
    let first = first.ok_or_else(|| Trouble::broken("it does not register after a restart"))?;
    let listener = &act.stage.office.listener;
    let again = |heard: &Heard| is_another(heard, &first);
    let second = listener.wait(before, ASKS_AGAIN, again).await;
    settled(act).await;
    let hasty = second.is_some_and(|second| second.at - first.at < HESITATION);
    hold(!hasty, || {
        "it asks again before three seconds have passed".to_owned()
    })
}

async fn rejected(act: &OfPlayer) -> Played {
    act.stage.admitted()?;
    let mood = Mood::Rejecting("Registration closed".to_owned());
    let before = restarted(act, mood).await?;
    let office = &act.stage.office;
    let heard = office.registration(before, ASKS_AGAIN).await;
    tokio::time::sleep(WATCHED).await;
    let all = office.listener.since(before);
    let count = all.iter().filter(|heard| is_registration(heard)).count();
    // Whoever takes no for an answer may end; for the rules that follow it is started again.
    returned(act).await?;
    hold(heard.is_some(), || {
        "it does not register after a restart".to_owned()
    })?;
    hold(count <= FEW, || {
        format!("{count} registrations came in two seconds")
    })
}

async fn completed(act: &OfPlayer) -> Played {
    let id = act.stage.member().id;
    let says = json!({
        "total_rounds": 3, "total_matches": 6,
        "champion": {"player_id": id, "display_name": "The player", "points": 9},
        "final_standings": [
            {"rank": 1, "player_id": id, "points": 9}, {"rank": 2, "player_id": "P02", "points": 3},
        ],
    });
    let question = act
        .stage
        .news("notify_league_completed", "LEAGUE_COMPLETED", says);
    let reply = act.call(&question).await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}

async fn league_completed(act: &OfPlayer) -> Played {
    completed(act).await
}

async fn completed_twice(act: &OfPlayer) -> Played {
    completed(act).await
}
