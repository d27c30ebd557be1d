//! Rules about the end of the league: LEAGUE_COMPLETED, and what holds after it.

use serde_json::Value;

use super::member::Member;
use super::{ManagerStage, OfManager};
use crate::envelope;
use crate::listener::Heard;
use crate::overheard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

const COMPLETED: &str = "LEAGUE_COMPLETED";

/// The rules.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "end of the league",
        rules: rules! {
            "END-01" Must "000 §4.8.2": "Every player is told that the league is over"
                => "send LEAGUE_COMPLETED to every player after the last round", players, 150;
            "END-02" Should "000 §4.8.2": "The referees are told as well"
                => "send LEAGUE_COMPLETED to the referees, too", referees, 150;
            "END-03" Must "000 §1.4, §2.4.1": "The end is a JSON-RPC call of notify_league_completed, with a whole envelope"
                => "POST a call of `notify_league_completed`, from league_manager", framed, 150;
            "END-04" Must "000 §4.8.2": "The numbers of rounds and matches are right"
                => "set `total_rounds` and `total_matches`", totals, 150;
            "END-05" Must "000 §4.8.2": "The champion is the first of the table"
                => "set `champion` to the first row of the final table", champion, 150;
            "END-06" Must "000 §4.8.2": "The final table holds every player, by points"
                => "set `final_standings` with rank, player and points", standings, 150;
            "END-07" Must "ruling 17": "A player that fell silent does not keep the others from the end"
                => "give up on a letter that nobody takes", silent, 150;
            "END-08" Must "000 §4.8.2": "The end is told once"
                => "do not repeat LEAGUE_COMPLETED once it was answered", once, 150;
            "END-09" Should "000 §4.9.1": "Queries are answered after the end"
                => "stay up and answer queries when the league is over", queries, 150;
            "END-10" Must "ruling 26": "Nothing that was sent holds a token of somebody else"
                => "send to each agent its own tokens alone", tokens, 150;
            "END-11" Must "000 §4.6.2": "Every true report was taken, in whatever order its members stood"
                => "read the members of `score` by name, and not by their place", true_reports, 150;
        },
    }
}

/// The ends that the lasting players were told.
async fn each(act: &OfManager, look: impl Fn(&Heard) -> Played) -> Played {
    let company = act.stage.played().await?;
    for player in company.players.iter().filter(|player| !player.is_silent()) {
        let told = player.told(COMPLETED);
        let Some(heard) = told.first() else {
            let season = act.stage.season();
            return Err(Trouble::broken(format!(
                "{} was not told the end; {} matches were reported, refused were {:?}",
                player.id(),
                season.outcomes.len(),
                season.refused
            )));
        };
        overheard::note(act, heard, "a player");
        look(heard)?;
    }
    Ok(())
}

async fn players(act: &OfManager) -> Played {
    each(act, |_| Ok(())).await
}

async fn referees(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    for referee in company
        .referees
        .iter()
        .filter(|referee| !referee.is_silent())
    {
        hold(!referee.told(COMPLETED).is_empty(), || {
            format!("{} was not told", referee.id())
        })?;
    }
    Ok(())
}

async fn framed(act: &OfManager) -> Played {
    each(act, |heard| {
        overheard::framed(heard, "notify_league_completed")?;
        overheard::enveloped(heard, "league_manager")
    })
    .await
}

async fn totals(act: &OfManager) -> Played {
    let rounds = act.stage.rounds();
    let matches = rounds * act.stage.matches_a_round();
    each(act, |heard| {
        let message = heard.message();
        hold(message["total_rounds"] == rounds, || {
            format!("`total_rounds` is {}", message["total_rounds"])
        })?;
        hold(message["total_matches"] == matches, || {
            format!("`total_matches` is {}", message["total_matches"])
        })
    })
    .await
}

async fn champion(act: &OfManager) -> Played {
    each(act, |heard| {
        let message = heard.message();
        let first = &message["final_standings"][0]["player_id"];
        let champion = &message["champion"]["player_id"];
        hold(champion.is_string() && champion == first, || {
            format!("the champion is {champion}, and {first} is first")
        })
    })
    .await
}

async fn standings(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    each(act, |heard| {
        let rows = heard.message()["final_standings"].as_array();
        let rows = rows.cloned().unwrap_or_default();
        for player in &company.players {
            let id = player.id();
            hold(rows.iter().any(|row| row["player_id"] == *id), || {
                format!("there is no row for {id}")
            })?;
        }
        let points: Vec<_> = rows.iter().map(|row| row["points"].as_u64()).collect();
        hold(points.is_sorted_by(|first, second| first >= second), || {
            format!("the points read {points:?}")
        })
    })
    .await
}

async fn silent(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    if !company.players.iter().any(Member::is_silent) {
        return Err(Trouble::skipped("the league did not come so far", ""));
    }
    each(act, |_| Ok(())).await
}

async fn once(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    for player in company.players.iter().filter(|player| !player.is_silent()) {
        let count = player.told(COMPLETED).len();
        hold(count <= 1, || {
            format!("{} was told {count} times", player.id())
        })?;
    }
    Ok(())
}

async fn queries(act: &OfManager) -> Played {
    act.stage.played().await?;
    let player = act.stage.player(0).await?;
    let league = act.stage.league().await?;
    let question = act.stage.query(player, &league, "GET_STANDINGS", None);
    let reply = act.call(&question).await?;
    let message = reply.of_kind(&["LEAGUE_QUERY_RESPONSE"])?;
    envelope::is(message, "query_type", "GET_STANDINGS")?;
    hold(message["success"] == true, || {
        format!("`success` is {}", message["success"])
    })
}

async fn tokens(act: &OfManager) -> Played {
    let company = act.stage.played().await?;
    let all = || company.players.iter().chain(&company.referees);
    for member in all() {
        for heard in member.all() {
            let text = heard.text();
            let mut others = all().filter(|other| other.id() != member.id());
            let shown =
                others.find(|other| !other.token().is_empty() && text.contains(&other.token()));
            if let Some(other) = shown {
                overheard::note(act, &heard, "an agent");
                let (other, member) = (other.id(), member.id());
                return Err(Trouble::broken(format!(
                    "the token of {other} was sent to {member}"
                )));
            }
        }
    }
    Ok(())
}

async fn true_reports(act: &OfManager) -> Played {
    act.stage.played().await?;
    let season = act.stage.season();
    hold(season.refused.is_empty(), || {
        let refused: Value = season.refused.clone().into_iter().collect();
        format!("reports were refused: {refused}")
    })
}
