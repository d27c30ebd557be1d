//! Rules about the manager's orders to referees, and about matches that change hands.

use league_protocol::token::TokenHash;
use serde_json::Value;

use super::fixture::Fixture;
use super::season::{Lie, announced_rows};
use super::{Company, ManagerStage, OfManager};
use crate::envelope;
use crate::office::port;
use crate::overheard;
use crate::rule::{Played, Topic, Trouble, hold, rules};

/// The rules about orders as they are given.
pub(super) fn topic() -> Topic<ManagerStage> {
    Topic {
        name: "orders",
        rules: rules! {
            "ORD-01" Should "ruling 4": "The referee that was announced is told to run the match"
                => "send START_MATCH to the referee named in `referee_endpoint`", announced, 30;
            "ORD-02" Must "000 §2.4.1": "The envelope of an order is whole, from league_manager"
                => "set `protocol`, `sender`, `timestamp` and `conversation_id`", enveloped, 30;
            "ORD-03" Should "ruling 4": "An order holds both players and where they answer"
                => "set `players` with `player_id` and `contact_endpoint`, seat A first", players, 30;
            "ORD-04" Must "ruling 25": "A referee never sees a player's token"
                => "put the SHA-256 of the token into the order, and not the token", hidden, 30;
            "ORD-05" Should "ruling 25": "An order holds the hash of each player's token"
                => "set `token_hash` to the SHA-256 of the player's token", hashes, 30;
            "ORD-06" Should "ruling 27": "The promise that was announced is that of the seed in the order"
                => "set `draw_commitment` of the row to the hash of the match's seed", promise, 30;
            "ORD-07" Must "000 §4.1.1": "No referee has more matches than it runs at once"
                => "keep within `max_concurrent_matches`", capacity, 30;
        },
    }
}

/// The rules about matches that change hands, which are played with the rest of the league.
pub(super) fn changes() -> Topic<ManagerStage> {
    Topic {
        name: "matches that change hands",
        rules: rules! {
            "HAND-01" Should "ruling 35": "A match that a referee turns down goes to another"
                => "order it from another referee, with `attempt` one higher or not", turned_down, 150;
            "HAND-02" Must "ruling 34": "A report that cannot be true is refused"
                => "work out the result again from number and choices before you believe it", untrue, 150;
            "HAND-03" Should "ruling 35": "The match is then given to another referee"
                => "order it from another referee, with `attempt` one higher", taken_away, 150;
            "HAND-04" Should "ruling 35": "The matches of a referee that falls silent go to another"
                => "give up on a referee that does not answer, and order its matches elsewhere", replaced, 150;
        },
    }
}

/// The orders of the first round.
async fn orders(act: &OfManager) -> Result<(&Company, Vec<Fixture>), Trouble> {
    act.stage.first_match().await?;
    let company = act.stage.begun().await?;
    if !act.stage.gives_orders(company) {
        return Err(Trouble::skipped(
            "the manager sends no START_MATCH, which is an addition of this league",
            "",
        ));
    }
    Ok((company, act.stage.fixtures(company)))
}

async fn each(act: &OfManager, look: impl Fn(&Company, &Fixture, &Value) -> Played) -> Played {
    let (company, fixtures) = orders(act).await?;
    for fixture in fixtures {
        let referee = &company.referees[fixture.referee];
        let order = fixture.order.clone().unwrap_or_default();
        for heard in referee.told("START_MATCH") {
            if heard.message()["match_id"] == *fixture.match_id {
                overheard::note(act, &heard, "a referee");
            }
        }
        look(company, &fixture, &order)?;
    }
    Ok(())
}

fn row_of(company: &Company, match_id: &str) -> Result<Value, Trouble> {
    let mut rows = announced_rows(company).into_iter();
    let found = rows.find(|(_, row)| row["match_id"] == match_id);
    let found = found.map(|(_, row)| row);
    found.ok_or_else(|| Trouble::broken(format!("{match_id} was ordered and never announced")))
}

async fn announced(act: &OfManager) -> Played {
    each(act, |company, fixture, _| {
        let row = row_of(company, &fixture.match_id)?;
        let named = row["referee_endpoint"].as_str().unwrap_or_default();
        let runs = &company.referees[fixture.referee].endpoint;
        hold(port(named) == port(runs), || {
            format!(
                "{} was announced at {named} and ordered at {runs}",
                fixture.match_id
            )
        })
    })
    .await
}

async fn enveloped(act: &OfManager) -> Played {
    let (company, _) = orders(act).await?;
    for referee in &company.referees {
        for heard in referee.told("START_MATCH") {
            overheard::note(act, &heard, "a referee");
            overheard::framed(&heard, "start_match")?;
            overheard::enveloped(&heard, "league_manager")?;
        }
    }
    Ok(())
}

/// The member that sits at a place of an order.
fn seated<'c>(company: &'c Company, row: &Value) -> Result<&'c super::Member, Trouble> {
    let mut players = company.players.iter();
    let found = players.find(|player| row["player_id"] == *player.id());
    found.ok_or_else(|| Trouble::broken(format!("nobody of ours is {}", row["player_id"])))
}

async fn players(act: &OfManager) -> Played {
    each(act, |company, _, order| {
        for seat in 0..2 {
            let row = &order["players"][seat];
            let player = seated(company, row)?;
            let told = envelope::text(row, "contact_endpoint")?;
            hold(port(told) == port(&player.endpoint), || {
                format!("{} is said to answer at {told}", player.id())
            })?;
        }
        Ok(())
    })
    .await
}

async fn hidden(act: &OfManager) -> Played {
    let (company, _) = orders(act).await?;
    for referee in &company.referees {
        for heard in referee.all() {
            let text = heard.text();
            let shown = company
                .players
                .iter()
                .find(|player| text.contains(&player.token()));
            if let Some(player) = shown {
                overheard::note(act, &heard, "a referee");
                let id = player.id();
                return Err(Trouble::broken(format!("the token of {id} is in it")));
            }
        }
    }
    Ok(())
}

async fn hashes(act: &OfManager) -> Played {
    each(act, |company, _, order| {
        for seat in 0..2 {
            let row = &order["players"][seat];
            let player = seated(company, row)?;
            let due = TokenHash::of(&player.token()).to_string();
            envelope::is(row, "token_hash", &due)?;
        }
        Ok(())
    })
    .await
}

async fn promise(act: &OfManager) -> Played {
    each(act, |company, fixture, _| {
        let row = row_of(company, &fixture.match_id)?;
        if row["draw_commitment"].is_null() {
            return Err(Trouble::skipped("the manager promises nothing", ""));
        }
        let due = fixture.promise().unwrap_or_default();
        envelope::is(&row, "draw_commitment", &due)
    })
    .await
}

async fn capacity(act: &OfManager) -> Played {
    let (company, fixtures) = orders(act).await?;
    for (place, referee) in company.referees.iter().enumerate() {
        let running = fixtures
            .iter()
            .filter(|fixture| fixture.referee == place)
            .count();
        hold(running <= 2, || {
            format!("{} said 2 at once and was given {running}", referee.id())
        })?;
    }
    Ok(())
}

/// The company of a league that was played with orders and more than one referee.
async fn with_others(act: &OfManager) -> Result<&Company, Trouble> {
    let company = act.stage.played().await?;
    if !act.stage.gives_orders(company) {
        return Err(Trouble::skipped("the manager sends no START_MATCH", ""));
    }
    if company.referees.len() < 2 || act.stage.rounds() < 3 {
        return Err(Trouble::skipped(
            "there is one referee, or the league is too short",
            "let the manager wait for 2 referees and 4 players",
        ));
    }
    Ok(company)
}

async fn turned_down(act: &OfManager) -> Played {
    let company = with_others(act).await?;
    let tired = &company.referees[0];
    let orders = tired.told("START_MATCH");
    let refused = orders
        .iter()
        .find(|heard| tired.has_turned_down(heard.message()));
    let Some(refused) = refused else {
        return Err(Trouble::skipped(
            "no order came that could be turned down",
            "",
        ));
    };
    overheard::note(act, refused, "a referee that turns it down");
    finished(
        act,
        refused.message()["match_id"].as_str().unwrap_or_default(),
    )
}

/// Sees that a match was brought to its end.
fn finished(act: &OfManager, match_id: &str) -> Played {
    let season = act.stage.season();
    let told = season.refused.get(match_id).cloned();
    hold(season.outcomes.contains_key(match_id), || match told {
        Some(told) => format!("the report of {match_id} by the next referee got {told}"),
        None => format!("nobody else was told to run {match_id}"),
    })
}

fn lie(act: &OfManager) -> Result<Lie, Trouble> {
    let lie = act.stage.season().lie.clone();
    let lie = lie.ok_or_else(|| Trouble::skipped("there was no match to report wrongly", ""))?;
    act.note(lie.reply.exchange.clone());
    Ok(lie)
}

async fn untrue(act: &OfManager) -> Played {
    with_others(act).await?;
    let Lie { reply, .. } = lie(act)?;
    reply.refused("a drawn number of 11")?;
    hold(reply.league_error() == Some("E002"), || {
        format!("the answer is {} instead of E002", reply.describe())
    })
}

async fn taken_away(act: &OfManager) -> Played {
    with_others(act).await?;
    let Lie { match_id, .. } = lie(act)?;
    finished(act, &match_id)
}

async fn replaced(act: &OfManager) -> Played {
    let company = with_others(act).await?;
    if !company.referees[0].is_silent() {
        return Err(Trouble::skipped("the league did not come so far", ""));
    }
    let last = act.stage.rounds() as u64;
    let rows = announced_rows(company).into_iter();
    for (_, row) in rows.filter(|(round, _)| *round == last) {
        finished(act, row["match_id"].as_str().unwrap_or_default())?;
    }
    Ok(())
}
