//! Rules about a manager that is killed in the middle of its league and started again.

use super::reports::reported;
use super::{ManagerStage, OfManager};
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "recovery",
        rules: rules! {
            "BACK-01" Must "ruling 30": "A manager that was killed and started again knows the table"
                => "write results to disk before you acknowledge them", remembers, 60;
            "BACK-02" Must "ruling 30": "The tokens that it gave are still good"
                => "keep the tokens, or their hashes, on disk", tokens, 60;
            "BACK-03" Must "ruling 26": "A report from before is acknowledged once more"
                => "keep results where they survive a restart", reports, 60;
        },
    }
}

/// Kills the manager and starts it again.
async fn restarted(act: &OfManager) -> Played {
    let Some(launched) = &act.stage.launched else {
        return Err(Trouble::skipped(
            "the manager was not started by the check",
            "let `--launch \"COMMAND\"` start it",
        ));
    };
    launched.end().await;
    let started = launched.start();
    started.map_err(|error| Trouble::broken(format!("it cannot be started again: {error}")))?;
    hold(act.stage.comes_up().await, || {
        format!("nobody listens within {:?}", act.stage.wait)
    })
}

async fn table(act: &OfManager) -> Result<serde_json::Value, Trouble> {
    let player = act.stage.player(0).await?;
    let league = act.stage.league().await?;
    let question = act.stage.query(player, &league, "GET_STANDINGS", None);
    let reply = act.call(&question).await?;
    Ok(reply.of_kind(&["LEAGUE_QUERY_RESPONSE"])?["data"]["standings"].clone())
}

async fn remembers(act: &OfManager) -> Played {
    reported(act).await?;
    let before = table(act).await?;
    restarted(act).await?;
    let after = table(act).await?;
    hold(before == after, || {
        "the table is another one after the restart".to_owned()
    })
}

async fn tokens(act: &OfManager) -> Played {
    reported(act).await?;
    restarted(act).await?;
    table(act).await.map(drop)
}

async fn reports(act: &OfManager) -> Played {
    let (_, question) = reported(act).await?;
    restarted(act).await?;
    let reply = act.call(&question).await?;
    hold(!reply.is_refusal(), || {
        format!("the answer is {}", reply.describe())
    })
}
