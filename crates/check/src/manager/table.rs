//! Rules about what the players are told after each round: the table, and that the round is over.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixture::Outcome;
use super::member::Member;
use super::{ManagerStage, OfManager};
use crate::envelope;
use crate::listener::Heard;
use crate::overheard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "standings",
        rules: rules! {
            "TAB-01" Must "000 §4.7.1": "After each round every player is told the table"
                => "send LEAGUE_STANDINGS_UPDATE to every player when a round is over", told, 150;
            "TAB-02" Must "000 §1.4, §5.3.4": "The table comes as a JSON-RPC call of update_standings, with a whole envelope"
                => "POST a call of `update_standings`, from league_manager", framed, 150;
            "TAB-03" Must "000 §4.7.1": "Each row holds rank, player, name, played, wins, draws, losses, points"
                => "fill all of them for each player", rows, 150;
            "TAB-04" Must "000 §3.3.3": "Points follow from the results: 3, 1 and 0"
                => "count 3 for a win, 1 for a draw, 0 for a loss", points, 150;
            "TAB-05" Must "000 §4.7.1": "Wins, draws and losses follow from the results"
                => "count each result for both players", counts, 150;
            "TAB-06" Must "000 §2.5.6, ruling 20": "The table is ordered by points, then wins"
                => "sort by points, wins, draws minus losses", order, 150;
            "TAB-07" Must "ruling 20": "Ranks count from 1"
                => "set `rank` to 1, 2, 3, … from the top", ranks, 150;
            "TAB-08" Must "000 §4.8.1": "After each round every player is told that it is over"
                => "send ROUND_COMPLETED to every player", completed, 150;
            "TAB-09" Must "000 §4.8.1": "ROUND_COMPLETED counts the matches of the round"
                => "set `matches_completed`, or `matches_played`", matches, 150;
            "TAB-10" Must "000 §4.8.1": "ROUND_COMPLETED names the next round, and null after the last"
                => "set `next_round_id`", next_round, 150;
            "TAB-11" Should "000 §4.8.1": "The summary adds up"
                => "set `summary` with `total_matches`, `wins`, `draws`, `technical_losses`", summary, 150;
            "TAB-12" Must "000 §2.5.5": "A round is announced when the one before is over, and not earlier"
                => "wait for all results of a round before the next announcement", in_order, 150;
            "TAB-13" Must "000 §3.5.1": "Each pair meets exactly once, in as few rounds as there can be"
                => "make a round robin by the circle method", super::rounds::complete, 150;
            "TAB-14" Should "000 §3.5.2": "Four players meet as in table 16"
                => "follow table 16 for P01 to P04", super::rounds::table_16, 150;
        },
    }
}

/// The players that were there all the time.
async fn lasting(act: &OfManager) -> Result<Vec<&Member>, Trouble> {
    let company = act.stage.played().await?;
    Ok(company
        .players
        .iter()
        .filter(|player| !player.is_silent())
        .collect())
}

/// What each lasting player was told after each round, in order.
async fn each(act: &OfManager, kind: &str, look: impl Fn(u64, &Heard) -> Played) -> Played {
    for player in lasting(act).await? {
        let told = player.told(kind);
        for round in 1..=act.stage.rounds() as u64 {
            let of_round = told
                .iter()
                .find(|heard| heard.message()["round_id"] == round);
            let Some(heard) = of_round else {
                return Err(Trouble::broken(format!(
                    "{} was sent no {kind} of round {round}",
                    player.id()
                )));
            };
            overheard::note(act, heard, "a player");
            look(round, heard)?;
        }
    }
    Ok(())
}

const UPDATE: &str = "LEAGUE_STANDINGS_UPDATE";
const COMPLETED: &str = "ROUND_COMPLETED";

async fn told(act: &OfManager) -> Played {
    each(act, UPDATE, |_, _| Ok(())).await
}

async fn framed(act: &OfManager) -> Played {
    each(act, UPDATE, |_, heard| {
        overheard::framed(heard, "update_standings")?;
        overheard::enveloped(heard, "league_manager")
    })
    .await
}

fn rows_of(heard: &Heard) -> Vec<Value> {
    let rows = heard.message()["standings"].as_array();
    rows.cloned().unwrap_or_default()
}

async fn rows(act: &OfManager) -> Played {
    let players = act.stage.sizes.players as usize;
    each(act, UPDATE, |_, heard| {
        let rows = rows_of(heard);
        hold(rows.len() == players, || {
            format!("there are {} rows for {players} players", rows.len())
        })?;
        for row in rows {
            envelope::text(&row, "player_id")?;
            envelope::text(&row, "display_name")?;
            for name in ["rank", "played", "wins", "draws", "losses", "points"] {
                hold(row[name].is_u64(), || format!("`{name}` is {}", row[name]))?;
            }
        }
        Ok(())
    })
    .await
}

/// Wins, draws and losses of a player.
type Record = [u64; 3];

/// The records after a round, worked out from what was reported.
fn records(outcomes: &BTreeMap<String, Outcome>, until: u64) -> BTreeMap<String, Record> {
    let mut all: BTreeMap<String, Record> = BTreeMap::new();
    for (match_id, outcome) in outcomes {
        if round_of(match_id) > until {
            continue;
        }
        for (seat, player) in outcome.players.iter().enumerate() {
            let place = match outcome.winner {
                Some(winner) => 2 * usize::from(winner != seat),
                None => 1,
            };
            all.entry(player.clone()).or_default()[place] += 1;
        }
    }
    all
}

fn round_of(match_id: &str) -> u64 {
    let digits = match_id.trim_start_matches('R').split('M').next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

/// Compares each row with what follows from the results.
async fn compared(act: &OfManager, look: impl Fn(&Value, Record) -> Played) -> Played {
    lasting(act).await?;
    let outcomes = act.stage.season().outcomes.clone();
    each(act, UPDATE, |round, heard| {
        let records = records(&outcomes, round);
        rows_of(heard).iter().try_for_each(|row| {
            let id = row["player_id"].as_str().unwrap_or_default();
            look(row, records.get(id).copied().unwrap_or_default())
        })
    })
    .await
}

async fn points(act: &OfManager) -> Played {
    compared(act, |row, [wins, draws, _]| {
        let due = 3 * wins + draws;
        hold(row["points"] == due, || {
            format!(
                "{} has {} points instead of {due}",
                row["player_id"], row["points"]
            )
        })
    })
    .await
}

async fn counts(act: &OfManager) -> Played {
    compared(act, |row, [wins, draws, losses]| {
        let told = ["wins", "draws", "losses"].map(|name| row[name].as_u64().unwrap_or_default());
        hold(told == [wins, draws, losses], || {
            format!(
                "{} has {told:?} instead of {:?}",
                row["player_id"],
                [wins, draws, losses]
            )
        })
    })
    .await
}

async fn order(act: &OfManager) -> Played {
    each(act, UPDATE, |round, heard| {
        let keys: Vec<_> = rows_of(heard)
            .iter()
            .map(|row| ["points", "wins"].map(|name| row[name].as_u64().unwrap_or_default()))
            .collect();
        hold(keys.is_sorted_by(|first, second| first >= second), || {
            format!("points and wins after round {round} read {keys:?}")
        })
    })
    .await
}

async fn ranks(act: &OfManager) -> Played {
    each(act, UPDATE, |_, heard| {
        let ranks: Vec<_> = rows_of(heard)
            .iter()
            .map(|row| row["rank"].as_u64())
            .collect();
        let due: Vec<_> = (1..=ranks.len() as u64).map(Some).collect();
        hold(ranks == due, || format!("the ranks are {ranks:?}"))
    })
    .await
}

async fn completed(act: &OfManager) -> Played {
    each(act, COMPLETED, |_, heard| {
        overheard::framed(heard, "notify_round_completed")?;
        overheard::enveloped(heard, "league_manager")
    })
    .await
}

async fn matches(act: &OfManager) -> Played {
    let due = act.stage.matches_a_round();
    each(act, COMPLETED, |_, heard| {
        let message = heard.message();
        let told = message
            .get("matches_completed")
            .or(message.get("matches_played"));
        let count = told.and_then(Value::as_u64);
        hold(count == Some(due as u64), || {
            format!("{count:?} matches are told instead of {due}")
        })
    })
    .await
}

async fn next_round(act: &OfManager) -> Played {
    let last = act.stage.rounds() as u64;
    each(act, COMPLETED, |round, heard| {
        let next = &heard.message()["next_round_id"];
        let due = if round < last {
            Value::from(round + 1)
        } else {
            Value::Null
        };
        hold(*next == due, || {
            format!("`next_round_id` is {next} instead of {due}")
        })
    })
    .await
}

async fn summary(act: &OfManager) -> Played {
    each(act, COMPLETED, |_, heard| {
        let summary = &heard.message()["summary"];
        let count = |name: &str| summary[name].as_u64().unwrap_or_default();
        hold(summary.is_object(), || "`summary` is missing".to_owned())?;
        let sum = count("wins") + count("draws") + count("technical_losses");
        hold(sum == count("total_matches"), || {
            format!("`summary` is {summary}")
        })
    })
    .await
}

async fn in_order(act: &OfManager) -> Played {
    for player in lasting(act).await? {
        let mut over = 0;
        for heard in player.all() {
            let round = heard.message()["round_id"].as_u64().unwrap_or_default();
            match heard.kind() {
                COMPLETED => over = round,
                "ROUND_ANNOUNCEMENT" if round > over + 1 => {
                    overheard::note(act, &heard, "a player");
                    return Err(Trouble::broken(format!(
                        "round {round} is announced before round {} is over",
                        round - 1
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
