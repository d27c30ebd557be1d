//! The life of the league under check: its beginning, its rounds, what goes wrong in them, its end.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::fixture::{Fixture, Outcome};
use super::{Company, LOOK, ManagerStage, left};
use crate::reply::Reply;
use crate::rule::Trouble;
use crate::stage::Question;

/// How long the league may take to begin, and a round to be announced.
const SOON: Duration = Duration::from_secs(10);
/// How long a manager has to give its orders before it is taken to give none.
const ORDERS: Duration = Duration::from_secs(4);
/// How long the rest of the league may take.
const LONGEST_SEASON: Duration = Duration::from_secs(100);
/// How long the last letters may take.
const LAST_LETTERS: Duration = Duration::from_secs(3);

/// What was reported, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Season {
    /// How each match ended that the manager took a report of.
    pub(super) outcomes: BTreeMap<String, Outcome>,
    /// The matches whose report was refused, and what was answered.
    pub(super) refused: BTreeMap<String, String>,
    /// A report that cannot be true, and what was answered.
    pub(super) lie: Option<Lie>,
}

/// A report that cannot be true.
#[derive(Debug, Clone)]
pub(super) struct Lie {
    pub(super) match_id: String,
    /// The attempt at the match that it was told about: a later one is another referee's.
    pub(super) attempt: u64,
    pub(super) reply: Reply,
}

impl Lie {
    /// Whether it spoilt this attempt at a match.
    fn has_spoilt(&self, fixture: &Fixture) -> bool {
        self.match_id == fixture.match_id
            && fixture.attempt() <= self.attempt
            && self.reply.is_refusal()
    }
}

impl ManagerStage {
    /// What was reported so far.
    pub(super) fn season(&self) -> MutexGuard<'_, Season> {
        self.season.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many matches a round has.
    pub(super) fn matches_a_round(&self) -> usize {
        self.sizes.players as usize / 2
    }

    /// How many rounds there are.
    pub(super) fn rounds(&self) -> usize {
        let players = self.sizes.players as usize;
        players - usize::from(players.is_multiple_of(2))
    }

    /// The league has begun: the last player is in, and the first round was announced.
    ///
    /// # Errors
    ///
    /// Skips the rule if it does not begin.
    pub(super) async fn begun(&self) -> Result<&Company, Trouble> {
        let company = self.company().await?;
        let began = self.began.get_or_init(|| self.kick_off(company)).await;
        if *began {
            return Ok(company);
        }
        Err(Trouble::skipped(
            format!(
                "the league did not begin with {} players and {} referees",
                self.sizes.players, self.sizes.referees
            ),
            "say with `--players` and `--referees` what it waits for, or give `--admin-token`",
        ))
    }

    async fn kick_off(&self, company: &Company) -> bool {
        let Some((last, others)) = company.players.split_last() else {
            return false;
        };
        self.register(last).await;
        if let Some(token) = &self.admin_token {
            let start = Question::new("start_league", json!({"auth_token": token}));
            // Whether it has begun is seen by the announcement.
            let _ = self.ask(&start).await;
        }
        let until = Instant::now() + SOON;
        for player in others.iter().chain([last]) {
            let announced = player
                .wait(left(until), |heard| heard.kind() == "ROUND_ANNOUNCEMENT")
                .await;
            if announced.is_none() {
                return false;
            }
        }
        true
    }

    /// Whether the manager gives orders to referees, as ours does.
    pub(super) fn gives_orders(&self, company: &Company) -> bool {
        let mut referees = company.referees.iter();
        referees.any(|referee| !referee.told("START_MATCH").is_empty())
    }

    /// The matches that are known so far: the latest order of each, or the announcements if the
    /// manager gives no orders.
    pub(super) fn fixtures(&self, company: &Company) -> Vec<Fixture> {
        let mut all: BTreeMap<String, Fixture> = BTreeMap::new();
        if self.gives_orders(company) {
            for (place, referee) in company.referees.iter().enumerate() {
                for heard in referee.told("START_MATCH") {
                    let Some(fixture) = Fixture::ordered(heard.message(), place) else {
                        continue;
                    };
                    let known = all.get(&fixture.match_id);
                    if known.is_none_or(|known| known.attempt() <= fixture.attempt()) {
                        all.insert(fixture.match_id.clone(), fixture);
                    }
                }
            }
        } else {
            for (round, row) in announced_rows(company) {
                if let Some(fixture) = Fixture::announced(&row, round, &company.referees) {
                    all.insert(fixture.match_id.clone(), fixture);
                }
            }
        }
        all.into_values().collect()
    }

    /// The first match of the league, once it may be reported.
    pub(super) async fn first_match(&self) -> Result<Fixture, Trouble> {
        let company = self.begun().await?;
        let until = Instant::now() + ORDERS;
        while !self.gives_orders(company) && left(until) > Duration::ZERO {
            tokio::time::sleep(LOOK).await;
        }
        // The other orders of the round may be just behind.
        tokio::time::sleep(10 * LOOK).await;
        let first = self.fixtures(company).into_iter().next();
        first.ok_or_else(|| Trouble::skipped("no match was ordered or announced", ""))
    }

    /// Reports a match as it ended.
    pub(super) async fn report(&self, fixture: &Fixture) -> Result<Reply, Trouble> {
        let company = self.company().await?;
        let by = &company.referees[fixture.referee];
        let league = self.league().await?;
        let reply = self
            .ask(&fixture.report(&league, by, fixture.result()))
            .await?;
        let mut season = self.season();
        if reply.is_refusal() {
            let told = reply.describe();
            season.refused.insert(fixture.match_id.clone(), told);
        } else {
            let outcome = fixture.outcome();
            season.outcomes.insert(fixture.match_id.clone(), outcome);
        }
        drop(season);
        Ok(reply)
    }

    /// Plays the league to its end, once.
    ///
    /// # Errors
    ///
    /// Skips the rule if it never began.
    pub(super) async fn played(&self) -> Result<&Company, Trouble> {
        let company = self.begun().await?;
        self.first_match().await?;
        self.played.get_or_init(|| self.play_on(company)).await;
        Ok(company)
    }

    async fn play_on(&self, company: &Company) {
        let until = Instant::now() + LONGEST_SEASON;
        let watcher = &company.players[0];
        while watcher.told("LEAGUE_COMPLETED").is_empty() && left(until) > Duration::ZERO {
            let due = self.due(company);
            let Some(fixture) = due.first() else {
                tokio::time::sleep(LOOK).await;
                continue;
            };
            self.happen(company, fixture).await;
            if self.due(company).contains(fixture) {
                // What is refused is kept for the rules.
                let _ = self.report(fixture).await;
            }
        }
        for member in company.players.iter().chain(&company.referees) {
            if !member.is_silent() {
                member
                    .wait(LAST_LETTERS, |heard| heard.kind() == "LEAGUE_COMPLETED")
                    .await;
            }
        }
    }

    /// The matches that can be reported now.
    fn due(&self, company: &Company) -> Vec<Fixture> {
        let season = self.season();
        let lied = |fixture: &Fixture| {
            let lie = season.lie.as_ref();
            lie.is_some_and(|lie| lie.has_spoilt(fixture))
        };
        let mut all = self.fixtures(company);
        all.retain(|fixture| {
            let referee = &company.referees[fixture.referee];
            let order = fixture.order.as_ref().unwrap_or(&Value::Null);
            !season.outcomes.contains_key(&fixture.match_id)
                && !season.refused.contains_key(&fixture.match_id)
                && !referee.is_silent()
                && !referee.has_turned_down(order)
                && !lied(fixture)
        });
        all
    }

    /// What goes wrong before a match is reported: a referee turns down an order, one reports what
    /// cannot be true, one falls silent, and in the end a player does.
    async fn happen(&self, company: &Company, fixture: &Fixture) {
        let of_round = |season: &Season| {
            let prefix = format!("R{}M", fixture.round);
            let done = season.outcomes.keys();
            done.filter(|match_id| match_id.starts_with(&prefix))
                .count()
        };
        let is_last = of_round(&self.season()) + 1 >= self.matches_a_round();
        let has_others = company.referees.len() > 1 && fixture.order.is_some();
        if is_last && fixture.round as usize >= self.rounds() {
            if let Some(player) = company.players.last() {
                player.fall_silent();
            }
        } else if is_last && has_others && fixture.round == 1 {
            company.referees[0].refuse_next();
        } else if is_last && has_others && fixture.round == 2 {
            company.referees[0].fall_silent();
        } else if has_others && fixture.round == 2 && self.season().lie.is_none() {
            self.lie(company, fixture).await;
        }
    }

    async fn lie(&self, company: &Company, fixture: &Fixture) {
        let Ok(league) = self.league().await else {
            return;
        };
        let mut result = fixture.result();
        result["details"]["drawn_number"] = 11.into();
        let by = &company.referees[fixture.referee];
        let told = self.ask(&fixture.report(&league, by, result)).await;
        if let Ok(reply) = told {
            let mut season = self.season();
            if !reply.is_refusal() {
                let outcome = fixture.outcome();
                season.outcomes.insert(fixture.match_id.clone(), outcome);
            }
            season.lie = Some(Lie {
                match_id: fixture.match_id.clone(),
                attempt: fixture.attempt(),
                reply,
            });
        }
    }
}

/// The rows of all announcements that the players got, each with its round.
pub(super) fn announced_rows(company: &Company) -> Vec<(u64, Value)> {
    let mut all: BTreeMap<String, (u64, Value)> = BTreeMap::new();
    for player in &company.players {
        for heard in player.told("ROUND_ANNOUNCEMENT") {
            let message = heard.message();
            let round = message["round_id"].as_u64().unwrap_or_default();
            for row in message["matches"].as_array().into_iter().flatten() {
                let match_id = row["match_id"].as_str().unwrap_or_default().to_owned();
                all.insert(match_id, (round, row.clone()));
            }
        }
    }
    all.into_values().collect()
}
