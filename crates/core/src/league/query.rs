//! Questions about the league, and what is answered.

use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{
    LeagueQuery, LeagueQueryResponse, MatchListing, NextMatch, PlayerStats, Query, QueryAnswer,
    RoundListing,
};

use super::authenticate::Caller;
use super::command::Reply;
use super::event::Event;
use super::refusal::Refusal;
use super::schedule::{Pairing, Schedule};
use super::{League, Phase};
use crate::machine::Decision;

/// How many matches of a schedule are listed in one answer.
const MOST_LISTED_MATCHES: usize = 2_000;

impl League {
    /// The schedule that the present players have, or would have if the league began now.
    pub(super) fn create_schedule(&self, admin: bool) -> Result<Decision<Event, Reply>, Refusal> {
        if !admin {
            return Err(Refusal::NotAdmin);
        }
        if self.phase == Phase::Registering {
            let mut begun = self.clone();
            begun.begin();
            return begun.create_schedule(admin);
        }
        let schedule = self.schedule;
        if schedule.rounds() == 0 {
            return Err(Refusal::TooFew {
                players: self.players.len(),
                referees: self.referees.len(),
                min_players: self.rules.min_players,
            });
        }
        Ok(Decision::reply(Reply::Schedule {
            total_rounds: schedule.rounds(),
            rounds: self.list_rounds(schedule, 1, MOST_LISTED_MATCHES),
        }))
    }

    /// Answers a question of anyone who has a token.
    pub(super) fn answer(&self, _caller: &Caller, query: &LeagueQuery) -> LeagueQueryResponse {
        self.inform(query)
    }

    /// The answer to a question, for whoever may look at the league at all.
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
                round_id: self.closed.as_ref().map_or(0, |closed| closed.number),
                rows: self.standings(),
            }),
            Query::Schedule => self.whole_schedule(),
            Query::NextMatch(player) => self.next_match(player).map(QueryAnswer::NextMatch),
            Query::PlayerStats(player) => self.player_stats(player).map(QueryAnswer::PlayerStats),
        }
    }

    /// All rounds if they fit, else those from the present one on.
    fn whole_schedule(&self) -> Result<QueryAnswer, String> {
        self.check_scheduled()?;
        let fits = self.schedule.total_matches() <= MOST_LISTED_MATCHES as u64;
        let present = self.round.as_ref().map_or(1, |round| round.number);
        let from = if fits { 1 } else { present };
        Ok(QueryAnswer::Schedule {
            total_rounds: self.schedule.rounds(),
            rounds: self.list_rounds(self.schedule, from, MOST_LISTED_MATCHES),
        })
    }

    /// Lists rounds from one on, until so many matches are listed; the last round may be cut.
    pub(super) fn list_rounds(
        &self,
        schedule: Schedule,
        from: u32,
        most: usize,
    ) -> Arc<[RoundListing]> {
        let mut left = most;
        let mut rounds = Vec::new();
        for round_id in from..=schedule.rounds() {
            if left == 0 {
                break;
            }
            let matches: Vec<_> = (0..schedule.matches_a_round())
                .take(left)
                .filter_map(|index| self.listing(schedule.pairing(round_id, index)?))
                .collect();
            left -= matches.len();
            rounds.push(RoundListing { round_id, matches });
        }
        rounds.into()
    }

    fn listing(&self, pairing: Pairing) -> Option<MatchListing> {
        let [a, b] = pairing.seats;
        Some(MatchListing {
            match_id: MatchId::numbered(pairing.round, pairing.index + 1),
            game_type: self.rules.game_type.clone(),
            player_a: self.players.get(a)?.id.clone(),
            player_b: self.players.get(b)?.id.clone(),
        })
    }

    fn next_match(&self, player: &PlayerId) -> Result<NextMatch, String> {
        let number = self.known(player)?;
        self.check_scheduled()?;
        let present = self.round.as_ref();
        let from = present.map_or(1, |round| round.number);
        let is_over = |pairing: &Pairing| {
            present.is_some_and(|round| {
                let fixture = round.fixture(pairing.index);
                round.number == pairing.round
                    && fixture.is_some_and(|fixture| fixture.result.is_some())
            })
        };
        // A player rests at most once in a league, so that the third round from here is enough.
        let pairing = (from..=from.saturating_add(2))
            .filter_map(|round| self.schedule.pairing_of(number, round))
            .find(|pairing| !is_over(pairing))
            .ok_or_else(|| format!("no match of `{player}` is left"))?;
        let other = usize::from(pairing.seats[0] == number);
        let opponent = self.players.get(pairing.seats[other]);
        let opponent = opponent.ok_or_else(|| format!("no match of `{player}` is left"))?;
        let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
        let referee = self
            .fixture(&match_id)
            .and_then(|fixture| self.referee_of(fixture));
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
