//! What `league manager` prints of its league: registrations, rounds, matches, the summary.

use std::sync::Arc;

use league_core::league::{Event, League, LeagueRules};
use league_protocol::id::LeagueId;
use league_protocol::message::StandingRow;
use league_protocol::time::Timestamp;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use crate::agents::RunningAgent;
use crate::agents::actor::Handle as ActorHandle;
use crate::agents::assemble::Shared;
use crate::agents::identity::Membership;
use crate::agents::manager::{self, LeagueNews};
use crate::cli::Output;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::chain;
use crate::cli::scores::{DeviationSummary, LineWidth, Scores};
use crate::cli::text::count;

/// The printer of a league.
pub(super) struct ManagerScreen {
    json: bool,
    silent: bool,
    /// Whether the league was over at the start: its events are not news then.
    is_over: bool,
    /// How many players and referees the league waits for.
    awaited: Option<(u32, u32)>,
    players: u32,
    referees: u32,
    scores: Scores,
}

impl ManagerScreen {
    pub(super) fn new(common: &CommonArgs, is_over: bool, rules: Option<&LeagueRules>) -> Self {
        let json = common.output == Output::Json;
        Self {
            json,
            silent: common.quiet && !json,
            is_over,
            awaited: rules.and_then(|rules| rules.start_when),
            players: 0,
            referees: 0,
            scores: Scores::new(0, rules.map(|rules| rules.plan(0)).unwrap_or_default()),
        }
    }

    /// Sends the lines of a league to its printer until the manager ends; blocks while the printer has
    /// enough.
    pub(super) fn follow(
        mut self,
        mut news: LeagueNews,
        (print, over): (mpsc::Sender<String>, watch::Sender<Membership>),
        shared: &Shared,
        running: &RunningAgent<League>,
        league: LeagueId,
    ) -> impl FnOnce() + use<> {
        let (actor, shared, runtime) = (running.actor.clone(), shared.clone(), Handle::current());
        move || {
            loop {
                let mut completed = None;
                let read = news.read(|at, event| {
                    let line = self.line(at, event);
                    if let Some(line) = line.filter(|_| !self.is_over) {
                        // The printer may be gone.
                        let _ = print.blocking_send(line);
                    }
                    if matches!(event, Event::LeagueCompleted { .. }) {
                        completed = Some(at);
                    }
                });
                if let Err(error) = read {
                    tracing::error!(event_type = "JOURNAL_NOT_SHOWN", "{}", chain(&error));
                    return;
                }
                if let Some(at) = completed {
                    let end = LeagueEnd {
                        actor: actor.clone(),
                        shared: shared.clone(),
                        league: league.clone(),
                    };
                    // A task ends with the runtime, whatever it waits for.
                    let summed_up = runtime.spawn(end.clone().sum_up(at, self.is_over));
                    let Ok((rows, deviations)) = runtime.block_on(summed_up) else {
                        return;
                    };
                    let collected = runtime.spawn(end.collect_journals());
                    for line in self.summary(&league, &rows, &deviations) {
                        let _ = print.blocking_send(line);
                    }
                    let _ = runtime.block_on(collected);
                    over.send_replace(Membership::Completed);
                    self.is_over = false;
                }
                if !runtime.block_on(news.wait()) {
                    return;
                }
                // Not by the runtime, which may be ending.
                std::thread::sleep(LeagueNews::PAUSE);
            }
        }
    }

    /// The line for an event, if it has one.
    fn line(&mut self, at: Timestamp, event: &Event) -> Option<String> {
        match event {
            Event::PlayerRegistered { .. } => self.players += 1,
            Event::RefereeRegistered { .. } => self.referees += 1,
            _ => {}
        }
        let ended = self.scores.record(at, event);
        let (name, sentence) = match &ended {
            Some(ended) if self.json => ("match", self.scores.sentence(ended)),
            Some(ended) => ("match", self.scores.lines(ended, LineWidth::here())),
            None => self.sentence(event)?,
        };
        if self.json {
            let mut line = ended.map_or_else(|| json!({}), |ended| self.scores.object(&ended));
            line["event"] = name.into();
            line["at"] = at.to_millis_text().into();
            line["sentence"] = sentence.into();
            if let Event::PlayerRegistered {
                player_id, meta, ..
            } = event
            {
                line["player_id"] = json!(player_id);
                line["display_name"] = json!(meta.display_name);
            }
            return Some(line.to_string());
        }
        (!self.silent).then_some(sentence)
    }

    /// The lines after the last match: standings, technical losses, deviations.
    fn summary(
        &self,
        league: &LeagueId,
        rows: &[StandingRow],
        deviations: &DeviationSummary,
    ) -> Vec<String> {
        if self.json {
            let summary = self.scores.summary(league, rows, deviations);
            return vec![summary.to_string()];
        }
        let mut text = b"\n".to_vec();
        let printed = self.scores.print_summary(&mut text, rows, deviations);
        if self.silent || printed.is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }

    fn sentence(&self, event: &Event) -> Option<(&'static str, String)> {
        let registered = |id: &str, name: &str| format!("{id} {name} is in{}", self.registered());
        Some(match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => ("player", registered(player_id.as_str(), &meta.display_name)),
            Event::RefereeRegistered {
                referee_id, meta, ..
            } => (
                "referee",
                registered(referee_id.as_str(), &meta.display_name),
            ),
            Event::AgentReturned { agent, .. } => ("returned", format!("{agent} is back")),
            Event::OrganiserActed {
                act,
                effect,
                reason,
                ..
            } => ("lever", act.line(effect, reason)),
            Event::LeagueStarted { .. } => ("started", "the league begins".to_owned()),
            Event::RoundOpened { round, .. } => ("round", format!("round {round}")),
            _ => return None,
        })
    }

    /// How many agents have registered, and how many the league waits for.
    fn registered(&self) -> String {
        let (of_players, of_referees) = self.awaited.unzip();
        let players = headcount(self.players, of_players, "player");
        let referees = headcount(self.referees, of_referees, "referee");
        format!(" · {players}, {referees}")
    }
}

/// How many have come, of how many; more than the league waits for may come.
fn headcount(here: u32, awaited: Option<u32>, thing: &str) -> String {
    match awaited.filter(|awaited| here <= *awaited) {
        Some(awaited) => format!("{here} of {}", count(awaited.into(), thing)),
        None => count(here.into(), thing),
    }
}

/// A league whose last match is over.
#[derive(Clone)]
struct LeagueEnd {
    actor: ActorHandle<League>,
    shared: Shared,
    league: LeagueId,
}

impl LeagueEnd {
    /// The standings and the deviations; those of a league that ended just now are waited for.
    async fn sum_up(self, at: Timestamp, was_over: bool) -> (Arc<[StandingRow]>, DeviationSummary) {
        let (league, root, own) = (&self.league, &self.shared.root, &self.shared.deviations);
        let seen = self
            .actor
            .query(|league| (league.standings(), league.referees().len()));
        let (rows, referees) = seen.await.unwrap_or_else(|_| ([].into(), 0));
        let deviations = if was_over {
            DeviationSummary::of_files(own, root, league, referees)
        } else {
            DeviationSummary::of_all(own, root, league, referees, at).await
        };
        (rows, deviations)
    }

    async fn collect_journals(self) {
        manager::collect_journals(&self.shared, &self.actor, &self.league).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_awaited_are_counted_plainly() {
        for (here, awaited, told) in [
            (1, Some(3), "1 of 3 referees"),
            (1, Some(1), "1 of 1 referee"),
            (2, Some(1), "2 referees"),
            (2, None, "2 referees"),
        ] {
            assert_eq!(headcount(here, awaited, "referee"), told);
        }
    }
}
