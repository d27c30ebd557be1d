//! All that pages can show of a league, gathered from its facts.
//!
//! It holds a league of its own, to which the facts are applied: so the table is worked out by the
//! same code as the manager's. What others found out about agents, such as how fast they answer,
//! is handed in from outside ([`Observed`]).

mod agents;
mod board;
mod chart;
mod cross;
mod matches;
mod players;
mod positions;
mod rounds;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use league_core::draw::LeagueSecret;
use league_core::league::{Event, League, LeagueRules, RulesError};
use league_core::machine::Machine;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchState, MatchStatus};
use league_protocol::secret::Commitment;
use league_protocol::time::Timestamp;

pub(crate) use players::round_of;

use crate::model::{
    Deviation, Ended, Failure, Latency, Life, Met, Named, Said, Standstill, Verdict,
};

/// The most rows of a table on a page.
pub const MOST_ROWS: usize = 500;
/// The most tiles of running matches on a page.
pub const MOST_TILES: usize = 48;
/// The most results in the list of the latest.
pub const MOST_LATEST: usize = 12;
/// The most players in the cross table.
pub const MOST_CROSSED: usize = 60;
/// The most lines of the chart.
pub const MOST_LINES: usize = 40;
/// The most matches on the page of a player.
pub const MOST_MET: usize = 1_000;
/// The most matches to come on the page of a player.
pub const MOST_COMING: usize = 20;
/// The most results that are kept one by one; of older ones only the points remain.
pub const MOST_RESULTS: usize = 200_000;
/// The most points in time of the chart, times players.
const MOST_POINTS: usize = 2_000_000;
/// How many matches make the form of a player.
const FORM: usize = 5;

/// A league as its pages show it.
#[derive(Debug)]
pub struct Gallery {
    league: League,
    title: String,
    reproducible: bool,
    results: BTreeMap<MatchId, Finished>,
    /// The matches of `results`, the oldest first.
    order: VecDeque<MatchId>,
    form: BTreeMap<PlayerId, VecDeque<Met>>,
    promises: BTreeMap<MatchId, Commitment>,
    /// Points of every player after each round, in the order of the roster.
    points: Vec<Vec<u32>>,
    /// Ranks of the players when the last round ended.
    ranks: BTreeMap<PlayerId, u32>,
    /// Players that were shut out before the end.
    out: BTreeSet<PlayerId>,
    /// How often matches were taken from a referee.
    taken: BTreeMap<RefereeId, u32>,
    technical_losses: u64,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    latest: Option<Timestamp>,
    facts: u64,
}

/// A match that is over.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Who ran it; `None` if the manager ruled.
    pub referee: Option<RefereeId>,
    /// Counts the referees that were told to run it.
    pub attempt: u32,
    /// How it ended.
    pub result: Arc<MatchResult>,
    /// When the result was taken.
    pub at: Timestamp,
}

/// What others found out about the agents of a league.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// By agent, such as `player:P01`: how long it takes to answer.
    pub latencies: BTreeMap<String, Latency>,
    /// By agent: how it left the protocol.
    pub deviations: BTreeMap<String, Vec<Deviation>>,
    /// By agent: what cost it attempts in matches that are over.
    pub failures: BTreeMap<String, Vec<Failure>>,
    /// How far matches are that their referees wrote of.
    pub states: BTreeMap<MatchId, (MatchState, Timestamp)>,
    /// Whether the league is what its journal says, if somebody looked.
    pub verdict: Option<Verdict>,
    /// That nobody plays the league on; it says nothing of one that is over.
    pub standstill: Option<Standstill>,
}

/// What the referee of a match wrote of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// When it came how far.
    pub life: Life,
    /// What was said, oldest first.
    pub said: Vec<Said>,
}

impl Gallery {
    /// An empty league.
    ///
    /// # Errors
    ///
    /// No league may be able to be held by the rules.
    pub fn new(rules: LeagueRules, title: String, reproducible: bool) -> Result<Self, RulesError> {
        Ok(Self {
            // No page shows what a secret is needed for.
            league: League::new(rules, LeagueSecret([0; 32]))?,
            title,
            reproducible,
            results: BTreeMap::new(),
            order: VecDeque::new(),
            form: BTreeMap::new(),
            promises: BTreeMap::new(),
            points: Vec::new(),
            ranks: BTreeMap::new(),
            out: BTreeSet::new(),
            taken: BTreeMap::new(),
            technical_losses: 0,
            started: None,
            ended: None,
            latest: None,
            facts: 0,
        })
    }

    /// Takes in a fact.
    pub fn take_in(&mut self, event: &Event) {
        self.facts += 1;
        if let Event::MatchesMoved { moves, .. } = event {
            for moved in moves {
                self.note_taken(&moved.match_id);
            }
        }
        self.league.apply(event);
        match event {
            Event::LeagueStarted { at } => {
                self.started = Some(*at);
                self.points.push(vec![0; self.league.players().len()]);
            }
            Event::RoundOpened {
                round, commitments, ..
            } => self.promise(*round, commitments),
            Event::ResultRecorded {
                match_id,
                referee,
                attempt,
                result,
                at,
                ..
            } => {
                let finished = Finished {
                    referee: referee.clone(),
                    attempt: *attempt,
                    result: Arc::clone(result),
                    at: *at,
                };
                self.finish(match_id, finished);
            }
            Event::RoundClosed { at, .. } => self.close_round(*at),
            Event::PlayerShutDown { player_id, .. } => {
                self.out.insert(player_id.clone());
            }
            Event::LeagueCompleted { at } => self.ended = Some(*at),
            _ => {}
        }
    }

    /// How many facts were taken in.
    pub fn facts(&self) -> u64 {
        self.facts
    }

    /// The league as the facts leave it.
    pub fn league(&self) -> &League {
        &self.league
    }

    /// The matches that are over, in the order in which they ended, as far as they are kept.
    pub fn finished(&self) -> impl DoubleEndedIterator<Item = (&MatchId, &Finished)> {
        let all = self.order.iter();
        all.filter_map(|id| Some((id, self.results.get(id)?)))
    }

    fn note_taken(&mut self, match_id: &MatchId) {
        let fixture = self
            .league
            .fixture(match_id)
            .filter(|fixture| fixture.is_started());
        let referee = fixture.and_then(|fixture| self.league.referee_of(fixture));
        if let Some(referee) = referee {
            *self.taken.entry(referee.id().clone()).or_default() += 1;
        }
    }

    fn promise(&mut self, round: u32, commitments: &[Commitment]) {
        for (number, commitment) in (1..).zip(commitments) {
            self.promises
                .insert(MatchId::numbered(round, number), *commitment);
        }
    }

    fn finish(&mut self, match_id: &MatchId, finished: Finished) {
        let result = &finished.result;
        self.latest = Some(finished.at);
        self.technical_losses += u64::from(result.status == MatchStatus::TechnicalLoss);
        for seat in 0..2 {
            let form = self.form.entry(result.players[seat].clone()).or_default();
            form.push_back(met(match_id, result, seat));
            if form.len() > FORM {
                form.pop_front();
            }
        }
        if self.results.insert(match_id.clone(), finished).is_none() {
            self.order.push_back(match_id.clone());
        }
        while self.order.len() > MOST_RESULTS {
            if let Some(oldest) = self.order.pop_front() {
                self.results.remove(&oldest);
                self.promises.remove(&oldest);
            }
        }
    }

    fn close_round(&mut self, at: Timestamp) {
        self.latest = Some(at);
        let rows = self.league.standings();
        self.ranks = rows
            .iter()
            .map(|row| (row.player_id.clone(), row.rank))
            .collect();
        let players = self.league.players();
        if self.points.len() * players.len() < MOST_POINTS {
            let points: BTreeMap<_, _> = rows
                .iter()
                .map(|row| (&row.player_id, row.points))
                .collect();
            let of = |id| points.get(id).copied().unwrap_or_default();
            self.points
                .push(players.iter().map(|player| of(player.id())).collect());
        }
    }

    pub(crate) fn named(&self, id: &PlayerId) -> Named {
        let player = self.league.player(id);
        let name = player.map(|player| player.member().display_name().to_string());
        Named {
            id: id.clone(),
            name: name.unwrap_or_default(),
        }
    }
}

/// How a match ended for one of its seats.
pub(crate) fn ended(result: &MatchResult, seat: usize) -> Ended {
    let player = &result.players[seat];
    if result.failed.contains_key(player) {
        return Ended::Forfeited;
    }
    match &result.winner {
        Some(winner) if winner == player => Ended::Won,
        Some(_) => Ended::Lost,
        None => Ended::Drew,
    }
}

fn met(match_id: &MatchId, result: &MatchResult, seat: usize) -> Met {
    Met {
        match_id: match_id.clone(),
        opponent: result.players[1 - seat].clone(),
        ended: ended(result, seat),
        points: result.points[seat],
    }
}
