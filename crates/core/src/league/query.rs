//! Answers to questions about the league: its schedule, the next match and the figures of a player.

use std::sync::Arc;

use league_protocol::id::PlayerId;
use league_protocol::message::{
    LeagueQuery, LeagueQueryResponse, MatchListing, NextMatch, PlayerStats, Query, QueryAnswer,
    RoundListing,
};
use serde_json::json;

use super::command::{Refusal, Reply};
use super::roster::PlayerEntry;
use super::round::FixtureStage;
use super::schedule::Pairing;
use super::{Decision, League, Phase};

/// How many matches of a schedule are listed in one answer.
const MAX_LISTED_MATCHES: usize = 2_000;

impl League {
    /// The schedule that the present players have, or would have if the league began now.
    pub(crate) fn create_schedule(&self, admin: bool) -> Result<Decision, Refusal> {
        if !admin {
            return Err(Refusal::NotAdmin);
        }
        if self.phase == Phase::Registering {
            let mut begun = self.clone();
            begun.begin();
            if let Some(first) = begun.next_round().cloned() {
                begun.standings.open(&first);
            }
            return begun.create_schedule(admin);
        }
        let schedule = self.schedule();
        if schedule.rounds() == 0 {
            return Err(Refusal::TooFew {
                players: self.players.seated(),
                referees: self.referees.len(),
                min_players: self.rules.min_players,
            });
        }
        Ok(Decision::reply(Reply::Schedule {
            total_rounds: schedule.rounds(),
            rounds: self.list_rounds(1, MAX_LISTED_MATCHES),
        }))
    }

    /// Answers a query of any caller that may see the league.
    pub fn inform(&self, query: &LeagueQuery) -> LeagueQueryResponse {
        let elsewhere = query.league_id.as_ref();
        let answer = match elsewhere.filter(|league| **league != self.rules.league_id) {
            Some(league) => Err(format!("this is not league `{league}`")),
            None => self.find_out(&query.query),
        };
        LeagueQueryResponse {
            league_id: self.rules.league_id.clone(),
            query_type: query.query.as_str(),
            answer,
            by_api_page: query.by_api_page,
        }
    }

    fn find_out(&self, query: &Query) -> Result<QueryAnswer, String> {
        match query {
            Query::Standings => Ok(QueryAnswer::Standings {
                round_id: self.closed.back().map_or(0, |closed| closed.number),
                rows: self.standings(),
            }),
            Query::Schedule => self.whole_schedule(),
            Query::NextMatch(player) => self.next_match(player).map(QueryAnswer::NextMatch),
            Query::PlayerStats(player) => self.player_stats(player).map(QueryAnswer::PlayerStats),
            Query::Games => Ok(QueryAnswer::Games(json!(league_games::registry()))),
        }
    }

    /// All rounds if they fit, else those from the present one on.
    fn whole_schedule(&self) -> Result<QueryAnswer, String> {
        self.check_scheduled()?;
        let fits = self.schedule().total_matches() <= MAX_LISTED_MATCHES as u64;
        let present = self.round.as_ref().map_or(1, |round| round.number);
        let from = if fits { 1 } else { present };
        Ok(QueryAnswer::Schedule {
            total_rounds: self.rounds(),
            rounds: self.list_rounds(from, MAX_LISTED_MATCHES),
        })
    }

    /// Lists rounds from one on, until so many matches are listed; the last round may be cut.
    pub(crate) fn list_rounds(&self, from: u32, most: usize) -> Arc<[RoundListing]> {
        let mut left = most;
        let mut rounds = Vec::new();
        for round_id in from..=self.rounds() {
            if left == 0 {
                break;
            }
            let matches: Vec<_> = (0..self.matches_in(round_id))
                .take(left)
                .filter_map(|index| self.listing(self.pairing(round_id, index)?))
                .collect();
            if matches.is_empty() {
                break;
            }
            left -= matches.len();
            rounds.push(RoundListing { round_id, matches });
        }
        rounds.into()
    }

    fn listing(&self, pairing: Pairing) -> Option<MatchListing> {
        let [a, b] = pairing.seats;
        Some(MatchListing {
            match_id: pairing.match_id(),
            game_type: self.rules.game_type.clone(),
            player_a: self.players.get(a)?.id.clone(),
            player_b: self.players.get(b)?.id.clone(),
        })
    }

    fn next_match(&self, player: &PlayerId) -> Result<NextMatch, String> {
        let number = self.known(player)?;
        self.check_scheduled()?;
        let expulsion = self.players.get(number).and_then(PlayerEntry::expulsion);
        if let Some(out) = expulsion.filter(|out| !out.is_absence) {
            return Err(format!("`{player}` plays no more: {out}"));
        }
        let present = self.round.as_ref();
        let from = present.map_or(1, |round| round.number);
        let is_over = |pairing: &Pairing| {
            present.is_some_and(|round| {
                let fixture = round.fixture(pairing.index);
                round.number == pairing.round
                    && fixture.is_some_and(|fixture| fixture.stage == FixtureStage::Finished)
            })
        };
        let schedule = self.schedule();
        let more = schedule.opened() < schedule.plan().max_rounds();
        let not_yet = || match more && !self.is_over() {
            true => format!("the next match is not paired yet: ask for `{player}` again later"),
            false => format!("no match of `{player}` is left"),
        };
        // In a round robin a player rests at most once, so that the third round from here is enough.
        let pairing = (from..=from.saturating_add(2))
            .filter_map(|round| self.pairing_of(number, round))
            .find(|pairing| !is_over(pairing))
            .ok_or_else(not_yet)?;
        let other = usize::from(pairing.seats[0] == number);
        let opponent = self.players.get(pairing.seats[other]);
        let opponent = opponent.ok_or_else(not_yet)?;
        let match_id = pairing.match_id();
        let assigned = self
            .fixture(&match_id)
            .and_then(|fixture| self.referee_of(fixture));
        // Before its round begins, the referee whose turn it will be.
        let planned = || {
            let matches = usize::try_from(pairing.index).ok()?.checked_add(1)?;
            self.plan(matches, |_| true).last().copied()
        };
        let referee = assigned.or_else(planned);
        Ok(NextMatch {
            match_id,
            round_id: pairing.round,
            opponent_id: opponent.id.clone(),
            referee_endpoint: referee.map(|referee| Arc::clone(&referee.member.peer.endpoint)),
        })
    }

    fn player_stats(&self, player: &PlayerId) -> Result<PlayerStats, String> {
        let number = self.known(player)?;
        let unknown = || unknown(player);
        let row = self.table().row(number).cloned().ok_or_else(unknown)?;
        let member = self.players.get(number).ok_or_else(unknown)?;
        Ok(PlayerStats {
            row,
            state: self.player_state(member).as_str(),
        })
    }

    fn known(&self, player: &PlayerId) -> Result<u32, String> {
        let number = self.players.find(player);
        number.ok_or_else(|| unknown(player))
    }

    fn check_scheduled(&self) -> Result<(), String> {
        if self.phase == Phase::Registering {
            return Err("nothing is scheduled before the league begins".to_owned());
        }
        Ok(())
    }
}

fn unknown(player: &PlayerId) -> String {
    format!("there is no player `{player}`")
}
