//! The read model: everything that pages show of a league, gathered from its events.
//!
//! It holds a [`League`] of its own and applies the events to it, so the same code as the manager's
//! computes the table. What other processes recorded about the agents, such as latencies, is passed
//! in as [`LeagueObservations`].

mod board;
mod pages;
mod ratings;
mod stories;
mod views;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::standings::MatchEnding;
use league_core::league::{
    AgentState, CountedResult, Effect, Event, Expulsion, FixtureStage, League, LeagueFixture,
    LeagueRules, Lever, Phase, PlayerEntry, RulesError, Tiebreaker,
};
use league_core::machine::Machine;
use league_core::referee::SpectatorView;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchState, StandingRow};
use league_protocol::secret::Commitment;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;

use crate::model::{
    AgentRow, Deviation, FailureCount, Joining, LatencySummary, LeagueSummary, MatchTimes,
    ModelSum, OrganiserAct, PlayerRef, RatingTable, SeatOutcome, Stall, TableRow, TileState,
    TranscriptMessage, Verification,
};

pub use views::{MAX_SCORE_ROUNDS, MAX_SCORES};

/// Rows of a table on a page.
pub const MAX_ROWS: usize = 500;
/// Tiles of running matches on a page.
pub const MAX_TILES: usize = 48;
/// Results in the list of the latest.
pub const MAX_LATEST: usize = 12;
/// Arrivals in the lobby.
pub const MAX_ARRIVALS: usize = 12;
/// Pairings of the next round on the stage.
pub const MAX_NEXT: usize = 15;
/// Players in the cross table.
pub const MAX_CROSS_PLAYERS: usize = 60;
/// Lines of the chart.
pub const MAX_CHART_LINES: usize = 40;
/// Finished matches on the page of a player.
pub const MAX_PLAYED: usize = 1_000;
/// Matches to come on the page of a player.
pub const MAX_UPCOMING: usize = 20;
/// Results that are kept one by one; of older ones only the points remain.
pub const MAX_RESULTS: usize = 200_000;
/// What the organiser did, as far as pages list it.
pub const MAX_ACTS: usize = 50;
/// How many matches make the form of a player.
const FORM_LENGTH: usize = 5;

/// A league as its pages show it.
#[derive(Debug)]
pub struct LeagueView {
    league: League,
    title: String,
    reproducible: bool,
    ended_matches: BTreeMap<MatchId, EndedMatch>,
    /// The matches of `ended_matches`, the oldest first.
    order: VecDeque<MatchId>,
    promises: BTreeMap<MatchId, Commitment>,
    /// How many rounds are over.
    closed_rounds: u32,
    ratings: OnceLock<Option<RatingTable>>,
    /// How many results there were since they were forgotten.
    unrated: usize,
    /// Ranks of the players when the last round ended.
    ranks: BTreeMap<PlayerId, u32>,
    /// How many matches were taken away from each referee.
    taken: BTreeMap<RefereeId, u32>,
    stories: stories::Stories,
    /// What the organiser did, the latest first.
    acts: VecDeque<OrganiserAct>,
    unlisted_acts: u64,
    /// The league before this one, and the players whose seats were kept for them.
    before: Option<(String, BTreeSet<PlayerId>)>,
    /// What players tell of their language models.
    models: BTreeMap<PlayerId, ModelSum>,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
    latest: Option<Timestamp>,
    events: u64,
}

/// A match that is over, as the journal records it.
#[derive(Debug, Clone)]
pub struct EndedMatch {
    /// Seat A first.
    pub players: [PlayerId; 2],
    /// `None` if the manager ruled.
    pub referee: Option<RefereeId>,
    /// Counts the referees that were told to run it.
    pub attempt: u32,
    /// `None` if the organiser closed the match before it had one.
    pub result: Option<Arc<MatchResult>>,
    pub at: Timestamp,
}

/// What processes recorded about a league outside its journal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeagueObservations {
    /// By agent, such as `player:P01`.
    pub latencies: BTreeMap<String, LatencySummary>,
    /// By agent.
    pub deviations: BTreeMap<String, Vec<Deviation>>,
    /// By agent: failed attempts in finished matches.
    pub failures: BTreeMap<String, Vec<FailureCount>>,
    /// The states of running matches, as their referees recorded them.
    pub states: BTreeMap<MatchId, (MatchState, Timestamp)>,
    pub verification: Option<Verification>,
    /// Ignored for a league that is over.
    pub stall: Option<Stall>,
    /// How to join, until the league begins.
    pub joining: Option<Joining>,
    /// By agent, such as `player:P01`: why it cannot be reached now.
    pub away: BTreeMap<String, String>,
    /// Running matches as their referees show them.
    pub live: BTreeMap<MatchId, SpectatorView>,
    /// Matches of which a referee showed a position that its report contradicts.
    pub contradicted: BTreeSet<MatchId>,
}

/// What the referee of a match recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RefereeRecord {
    pub times: MatchTimes,
    /// Oldest first.
    pub messages: Vec<TranscriptMessage>,
}

impl LeagueView {
    /// An empty league.
    ///
    /// # Errors
    ///
    /// The rules are invalid.
    pub fn new(rules: LeagueRules, title: String, reproducible: bool) -> Result<Self, RulesError> {
        Ok(Self {
            // No page shows anything that depends on the secret.
            league: League::new(rules, LeagueSecrets::one(LeagueSecret([0; 32])))?,
            title,
            reproducible,
            ended_matches: BTreeMap::new(),
            order: VecDeque::new(),
            promises: BTreeMap::new(),
            closed_rounds: 0,
            ratings: OnceLock::new(),
            unrated: 0,
            ranks: BTreeMap::new(),
            taken: BTreeMap::new(),
            stories: stories::Stories::default(),
            acts: VecDeque::new(),
            unlisted_acts: 0,
            before: None,
            models: BTreeMap::new(),
            started: None,
            ended: None,
            latest: None,
            events: 0,
        })
    }

    pub fn apply(&mut self, event: &Event) {
        self.events += 1;
        if let Event::MatchesMoved { moves, .. } = event {
            for moved in moves {
                self.count_taken(&moved.match_id);
            }
        }
        self.league.apply(event);
        match event {
            Event::LeagueStarted { at } => self.started = Some(*at),
            Event::RoundOpened {
                round, commitments, ..
            } => {
                let ids = (1..).map(|number| MatchId::numbered(*round, number));
                self.promises.extend(ids.zip(commitments.iter().copied()));
            }
            Event::MatchesAdded {
                round, commitments, ..
            } => {
                // A forged journal may promise more matches than join.
                let added = u32::try_from(commitments.len()).unwrap_or(u32::MAX);
                let before = self.league.matches_in(*round).saturating_sub(added);
                let ids = (before + 1..).map(|number| MatchId::numbered(*round, number));
                self.promises.extend(ids.zip(commitments.iter().copied()));
            }
            Event::ResultRecorded {
                match_id,
                referee,
                attempt,
                result,
                at,
                ..
            } => {
                self.record(match_id, result);
                let ended = EndedMatch {
                    players: result.players.clone(),
                    referee: referee.clone(),
                    attempt: *attempt,
                    result: Some(Arc::clone(result)),
                    at: *at,
                };
                self.keep_ended(match_id, ended);
            }
            Event::RoundClosed { at, .. } => self.close_round(*at),
            Event::OrganiserActed {
                act,
                reason,
                effect,
                at,
            } => self.record_act(act, reason, effect, *at),
            Event::LeagueCompleted { at } => self.ended = Some(*at),
            _ => {}
        }
        self.forget_ratings(event);
    }

    fn record_act(&mut self, act: &Lever, reason: &str, effect: &Effect, at: Timestamp) {
        if let Lever::TakeOver { from, seats } = act {
            let players = seats.iter().filter_map(|seat| match &seat.agent {
                Agent::Player(id) => Some(id.clone()),
                _ => None,
            });
            self.before = Some((from.to_string(), players.collect()));
        }
        self.latest = Some(at);
        self.take_in_changes(act, effect, at);
        if self.acts.len() == MAX_ACTS {
            self.acts.pop_back();
            self.unlisted_acts += 1;
        }
        self.acts.push_front(OrganiserAct {
            at,
            sentence: act.sentence(effect),
            reason: reason.to_owned(),
            is_message: matches!(act, Lever::Announce { .. }),
        });
    }

    /// Takes in which matches count in another way, or are closed without a result.
    fn take_in_changes(&mut self, act: &Lever, effect: &Effect, at: Timestamp) {
        let named = act.changed_match();
        for match_id in effect.matches.iter().chain(named) {
            let players = match_id.numbers().and_then(|(round, number)| {
                let pairing = self.league.pairing(round, number - 1)?;
                let players = pairing.seats.map(|seat| self.player_at(seat));
                Some(players.into_iter().flatten())
            });
            for player in players.into_iter().flatten() {
                self.stories.forget(&player.id);
            }
        }
        let fixture = named.and_then(|match_id| self.league.fixture(match_id));
        let closed = fixture.filter(|fixture| fixture.is_closed());
        if let Some(fixture) = closed
            && let Some(players) = self.league.seats_of(fixture)
            && !self.ended_matches.contains_key(fixture.match_id())
        {
            let ended = EndedMatch {
                players: players.map(Clone::clone),
                referee: self.referee_of(Some(fixture)),
                attempt: fixture.attempt(),
                result: None,
                at,
            };
            self.keep_ended(&fixture.match_id().clone(), ended);
        }
    }

    /// The league in which a player was before this one, if its seat was kept for it.
    pub(crate) fn league_before(&self, player: &PlayerId) -> Option<&str> {
        let (league, players) = self.before.as_ref()?;
        players.contains(player).then_some(league.as_str())
    }

    /// How many events were applied.
    pub fn events(&self) -> u64 {
        self.events
    }

    pub fn league(&self) -> &League {
        &self.league
    }

    /// The matches that are over, as far as they are kept, in the order in which they ended.
    pub fn ended_matches(&self) -> impl DoubleEndedIterator<Item = (&MatchId, &EndedMatch)> {
        let ids = self.order.iter();
        ids.filter_map(|id| Some((id, self.ended_matches.get(id)?)))
    }

    /// How a match that is over counts for each seat, with the points.
    pub(crate) fn counted(&self, id: &MatchId) -> [(SeatOutcome, u32); 2] {
        let counted = self.league.counted_result(id);
        let ending = counted.ending();
        let score = &self.league.rules().score;
        let points = |seat| ending.map_or(0, |ending| ending.points(seat, score));
        [0, 1].map(|seat| (outcome(&counted, seat), points(seat)))
    }

    /// Why a match that is over counts as it does, with what was recorded of it.
    pub(crate) fn reason(&self, id: &MatchId, ended: &EndedMatch) -> String {
        let recorded = ended.result.as_ref().map(|result| &result.reason);
        match (self.league.counted_result(id).note(), recorded) {
            (Some(note), Some(recorded)) => format!("{note}; recorded: {recorded}"),
            (Some(note), None) => note,
            (None, recorded) => recorded.cloned().unwrap_or_default(),
        }
    }

    pub fn summary(&self, observed: &LeagueObservations) -> LeagueSummary {
        let rules = self.league.rules();
        let listing = league_games::find(rules.game_type.as_str());
        let game = listing.map_or("", |listing| listing.rules.display_name);
        let phase = self.league.phase();
        LeagueSummary {
            league_id: rules.league_id.to_string(),
            title: self.title.clone(),
            game_type: rules.game_type.to_string(),
            game: game.to_owned(),
            phase,
            players: self.league.players().len(),
            referees: self.league.referees().len(),
            reproducible: self.reproducible,
            draws_not_proven: self.league.told_results(),
            exposed_referees: self
                .league
                .exposed_referees()
                .map(ToString::to_string)
                .collect(),
            acts: self.acts.iter().cloned().collect(),
            unlisted_acts: self.unlisted_acts,
            paused: self.league.is_paused() && phase != Phase::Completed,
            registration_until: match phase {
                Phase::Registering => self.league.registration(Timestamp::default()).1,
                Phase::Running | Phase::Completed => None,
            },
            waiting: self.league.waiting_players().count(),
            strict: rules.strict,
            started: self.started,
            ended: self.ended,
            round: self.league.round().map_or(0, |round| round.number()),
            played: self.league.matches_played(),
            uncounted: self.league.uncounted_matches(),
            matches: match phase {
                Phase::Registering => 0,
                Phase::Running | Phase::Completed => self.league.total_matches(),
            },
            stall: observed.stall.clone().filter(|_| phase != Phase::Completed),
            verification: observed.verification.clone(),
        }
    }

    /// The ids and names of all agents, players first.
    pub fn agent_names(&self) -> Vec<(String, String)> {
        let players = self.league.players().iter().map(|player| {
            let name = player.member().display_name();
            (player.id().to_string(), name.to_string())
        });
        let referees = self.league.referees().iter().map(|referee| {
            let name = referee.member().display_name();
            (referee.id().to_string(), name.to_string())
        });
        players.chain(referees).collect()
    }

    pub(crate) fn player_ref(&self, id: &PlayerId) -> PlayerRef {
        let player = self.league.player(id);
        let name = player.map(|player| player.member().display_name().to_string());
        PlayerRef {
            id: id.clone(),
            name: name.unwrap_or_default(),
        }
    }

    /// The number of each player in the schedule.
    pub(crate) fn numbers(&self) -> BTreeMap<&PlayerId, u32> {
        let players = self.league.players().iter();
        players.map(PlayerEntry::id).zip(0..).collect()
    }

    /// The number of a player in the schedule.
    pub(crate) fn number_of(&self, id: &PlayerId) -> Option<u32> {
        let mut players = self.league.players().iter();
        let place = players.position(|player| player.id() == id)?;
        u32::try_from(place).ok()
    }

    fn count_taken(&mut self, match_id: &MatchId) {
        let fixture = self.league.fixture(match_id);
        let started = fixture.filter(|fixture| fixture.is_started());
        if let Some(referee) = started.and_then(|fixture| self.league.referee_of(fixture)) {
            *self.taken.entry(referee.id().clone()).or_default() += 1;
        }
    }

    fn record(&mut self, match_id: &MatchId, result: &MatchResult) {
        if let CountedResult::Recorded(_) = self.league.counted_result(match_id) {
            self.stories.record(match_id, result, &self.ranks);
        }
        for made in &result.evidence.moves {
            if let Some(told) = &made.model {
                let sum = self.models.entry(made.player_id.clone()).or_default();
                sum.add(told);
            }
        }
    }

    fn keep_ended(&mut self, match_id: &MatchId, ended: EndedMatch) {
        self.latest = Some(ended.at);
        let before = self.ended_matches.insert(match_id.clone(), ended);
        if before.is_none() {
            self.order.push_back(match_id.clone());
        }
        while self.order.len() > MAX_RESULTS {
            if let Some(oldest) = self.order.pop_front() {
                self.ended_matches.remove(&oldest);
                self.promises.remove(&oldest);
            }
        }
    }

    fn close_round(&mut self, at: Timestamp) {
        self.latest = Some(at);
        self.closed_rounds = self.league.round().map_or(0, |round| round.number());
        let rows = self.league.standings();
        let ranks = rows.iter().map(|row| (row.player_id.clone(), row.rank));
        self.ranks = ranks.collect();
    }

    fn table_row(
        &self,
        standing: &StandingRow,
        deviations: &BTreeMap<&str, u64>,
        observed: &LeagueObservations,
    ) -> TableRow {
        let id = &standing.player_id;
        let before = self.ranks.get(id).copied().unwrap_or(standing.rank);
        let key = format!("player:{id}");
        TableRow {
            standing: standing.clone(),
            decided_by: self
                .league
                .decided_by(standing.rank)
                .filter(|by| *by != Tiebreaker::Points.title()),
            climbed: i64::from(before) - i64::from(standing.rank),
            form: self.form(id),
            deviations: deviations.get(key.as_str()).copied().unwrap_or(0),
            state: self
                .league
                .player(id)
                .map_or(AgentState::Registered, |player| {
                    let state = self.league.player_state(player);
                    shown_state(state, player.expulsion(), observed.away.contains_key(&key))
                }),
            expulsion: self.league.player(id).and_then(PlayerEntry::expulsion),
            model: self.models.get(id).cloned(),
            human: self
                .league
                .player(id)
                .is_some_and(|player| player.member().is_human()),
            away: observed.away.get(&key).cloned(),
        }
    }

    fn player_agent(&self, observed: &LeagueObservations, row: &TableRow) -> AgentRow {
        let id = &row.standing.player_id;
        let member = self.league.player(id).map(|player| player.member());
        let key = format!("player:{id}");
        AgentRow {
            id: id.to_string(),
            name: row.standing.display_name.to_string(),
            is_referee: false,
            state: row.state,
            dialect: member.map_or("", |member| member.peer().dialect.as_str()),
            version: member.map_or_else(String::new, |member| member.version().to_owned()),
            latency: observed.latencies.get(&key).copied(),
            technical_losses: row.standing.technical_losses,
            deviations: row.deviations,
        }
    }

    /// How the last matches of a player that count ended, the oldest first.
    fn form(&self, id: &PlayerId) -> Vec<SeatOutcome> {
        let matches = self.league.matches_of(id).rev();
        let counted = matches.filter_map(|(_, seat, counted)| {
            counted.ending()?;
            Some(outcome(&counted, seat))
        });
        let mut form: Vec<SeatOutcome> = counted.take(FORM_LENGTH).collect();
        form.reverse();
        form
    }

    /// The points of a player after 0, 1, 2, … rounds, as matches and byes count now.
    fn points_of(&self, row: &StandingRow) -> Vec<u32> {
        let rounds = match self.league.phase() {
            Phase::Registering => return Vec::new(),
            Phase::Running => self.closed_rounds,
            Phase::Completed => self.league.round().map_or(0, |round| round.number()),
        };
        let score = &self.league.rules().score;
        let mut points = vec![0_u32; rounds as usize + 1];
        for (pairing, seat, counted) in self.league.matches_of(&row.player_id) {
            let earned = counted.ending().map(|ending| ending.points(seat, score));
            if let Some(sum) = points.get_mut(pairing.round as usize) {
                *sum = sum.saturating_add(earned.unwrap_or_default());
            }
        }
        let number = self.number_of(&row.player_id);
        if let Some(number) = number.filter(|_| row.byes > 0) {
            for (round, sum) in (0..).zip(&mut points) {
                let rests = self.league.schedule().byes(round).contains(&number);
                *sum = sum.saturating_add(if rests { score.win } else { 0 });
            }
        }
        let mut sum = 0_u32;
        for earned in &mut points {
            sum = sum.saturating_add(*earned);
            *earned = sum;
        }
        points
    }

    /// The referee of a match that has no result.
    fn referee_of(&self, fixture: Option<&LeagueFixture>) -> Option<RefereeId> {
        let referee = self.league.referee_of(fixture?)?;
        Some(referee.id().clone())
    }
}

/// How a match that is over counts for one of its seats.
pub(crate) fn outcome(counted: &CountedResult, seat: usize) -> SeatOutcome {
    match counted.ending() {
        None => SeatOutcome::NotCounted,
        Some(MatchEnding::BothLose) => SeatOutcome::LostByRuling,
        Some(ending) if ending.forfeited(seat) => SeatOutcome::Forfeited,
        Some(MatchEnding::Draw) => SeatOutcome::Drew,
        Some(ending) if ending.winner() == Some(seat) => SeatOutcome::Won,
        Some(_) => SeatOutcome::Lost,
    }
}

/// The round that a match id names; 0 if it names none.
pub(crate) fn round_of(match_id: &MatchId) -> u32 {
    let rest = match_id.as_str().strip_prefix('R');
    let number = rest.and_then(|rest| rest.split_once('M'));
    number
        .and_then(|(round, _)| round.parse().ok())
        .unwrap_or(0)
}

/// How often each agent deviated from the protocol.
fn deviation_totals(observed: &LeagueObservations) -> BTreeMap<&str, u64> {
    let total = |deviations: &[Deviation]| {
        let counts = deviations.iter().map(|deviation| deviation.count);
        // The counts come from files, which may hold any number.
        counts.fold(0, u64::saturating_add)
    };
    let agents = observed.deviations.iter();
    agents
        .map(|(agent, deviations)| (agent.as_str(), total(deviations)))
        .collect()
}

/// The state of an agent. A finished league shuts everyone down; agents that took part to the end
/// are shown as active. An agent that cannot be reached is shown as silent before it has missed so
/// many calls that it is suspended.
fn shown_state(state: AgentState, expulsion: Option<Expulsion>, is_away: bool) -> AgentState {
    match state {
        AgentState::Registered | AgentState::Active if is_away => AgentState::Suspended,
        AgentState::Shutdown if expulsion.is_none() => AgentState::Active,
        state => state,
    }
}

/// The state of a match without a result. While the referee runs it, its record tells more than
/// the journal.
fn tile_state(fixture: Option<&LeagueFixture>, recorded: Option<MatchState>) -> TileState {
    let Some(fixture) = fixture else {
        return TileState::Waiting;
    };
    match (fixture.stage(), recorded) {
        (FixtureStage::Waiting, _) => TileState::Waiting,
        (FixtureStage::Queued, _) => TileState::Queued,
        (FixtureStage::Unplayable | FixtureStage::Finished, _) => TileState::Drawing,
        (FixtureStage::Ordered | FixtureStage::Running, None) => TileState::Ordered,
        (_, Some(MatchState::WaitingForPlayers)) => TileState::Inviting,
        (_, Some(MatchState::CollectingChoices)) => TileState::Choosing,
        (_, Some(MatchState::DrawingNumber | MatchState::Finished)) => TileState::Drawing,
    }
}
