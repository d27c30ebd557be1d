//! The oracle sees every event, letter and answer, and checks the invariants.
//!
//! Its knowledge of an agent is rebuilt from the journal when that agent crashes; promises to
//! others are never forgotten. `league.rs` watches the manager, `referee.rs` the referees,
//! `draw.rs` the draws, `hand_over.rs` the hand-over of moves, `news.rs` the order of messages,
//! `course.rs` what formats promise, `lies.rs` the leagues with a liar and `levers.rs` those with an organiser; `secrets.rs` looks for
//! leaks.

mod course;
mod draw;
mod hand_over;
mod league;
mod levers;
mod news;
mod referee;
mod secrets;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use league_core::draw::LeagueSecrets;
use league_core::league::format::Format;
use league_core::league::{AgentState, Event, League, LeagueRules};
use league_core::player::Event as PlayerEvent;
use league_games::{Listing, Seat};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{MatchResult, Message, MoveResponse};
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;
use serde_json::Value;

use crate::agents::Promise;
use crate::lies::{Liar, Lie};
use crate::organiser::MAX_PULLS;
use crate::report::Invariant;
use crate::scenario::{Person, Scenario};
use crate::{CheckResult, NodeId, breach};
use league::{LeagueWatch, who_is_called};
use news::{NewsWatch, ReceivedNews};
use referee::RefereeWatch;

/// One in so many facts is written out and searched for secrets.
const SAMPLE: u64 = 64;
/// One in so many when nothing fails.
const QUIET_SAMPLE: u64 = 4_096;

/// The one who watches.
pub(crate) struct Oracle {
    facts: GroundTruth,
    league: LeagueWatch,
    referees: Vec<RefereeWatch>,
    /// The matches that each player remembers.
    remembered: Vec<BTreeSet<MatchId>>,
    news: NewsWatch,
    /// What each player has received.
    received: Vec<ReceivedNews>,
    /// By number of the match.
    matches: Vec<MatchNote>,
    /// Matches that were ordered once.
    begun: BTreeSet<MatchId>,
    /// The agent that received each id.
    enrolled: BTreeMap<Agent, NodeId>,
    /// Views that were found to show no more than the opening, as they are shared.
    openings: Vec<Arc<Value>>,
    /// The text of every token that was handed out.
    tokens: BTreeSet<String>,
    /// The sender of the current command.
    from: NodeId,
    seen: u64,
}

/// The facts known before the league begins.
struct GroundTruth {
    rules: LeagueRules,
    secrets: LeagueSecrets,
    listing: &'static Listing,
    players: u32,
    capacities: Vec<u32>,
    /// Which players sign.
    signing: Vec<bool>,
    attempts: u32,
    /// What both seats see before the first move of a game whose moves are hidden.
    opening: [Value; 2],
    /// Whether the organiser pulls levers.
    levers: bool,
    /// Who lies in this league.
    liar: Option<Liar>,
    /// Whether faults occur; without them, expensive checks run more rarely.
    faults: bool,
}

/// The knowledge of a match that survives every crash.
#[derive(Default)]
struct MatchNote {
    /// The latest ordered attempt.
    ordered: u32,
    /// The latest attempt that a referee began, and which referee.
    opened: Option<(u32, NodeId)>,
    /// The latest attempt that was announced to each player.
    announced: BTreeMap<NodeId, u32>,
    /// The latest attempt whose order waited long enough for announcements.
    released: u32,
    acked: Option<Arc<MatchResult>>,
    /// How it ended for each referee that brought it to an end: who, attempt, result.
    decided: Vec<(NodeId, u32, Arc<MatchResult>)>,
    /// What each player chose, with its nonce.
    said: Vec<(NodeId, Arc<MoveResponse>)>,
}

impl Oracle {
    pub(crate) fn new(scenario: &Scenario, faults: bool) -> Self {
        let players = u32::try_from(scenario.players.len()).unwrap_or(u32::MAX);
        let table = (scenario.listing.open)(&scenario.rules.game_settings).ok();
        let view = |seat| table.as_ref().map_or(Value::Null, |table| table.view(seat));
        let facts = GroundTruth {
            rules: scenario.rules.clone(),
            secrets: scenario.secrets,
            listing: scenario.listing,
            players,
            capacities: scenario.capacities.clone(),
            signing: scenario.players.iter().map(Person::proves).collect(),
            attempts: scenario.attempts(),
            opening: [view(Seat::A), view(Seat::B)],
            levers: scenario.levers.is_some(),
            liar: scenario.liar,
            faults,
        };
        let referees = scenario.capacities.len();
        Self {
            league: LeagueWatch::default(),
            referees: (0..referees).map(|_| RefereeWatch::default()).collect(),
            remembered: vec![BTreeSet::new(); players as usize],
            news: NewsWatch::default(),
            received: vec![ReceivedNews::default(); players as usize],
            matches: Vec::new(),
            begun: BTreeSet::new(),
            enrolled: BTreeMap::new(),
            openings: Vec::new(),
            tokens: BTreeSet::new(),
            from: 0,
            seen: 0,
            facts,
        }
    }

    /// An agent fails, so that messages get lost from now on.
    pub(crate) fn expect_faults(&mut self) {
        self.facts.faults = true;
    }

    /// Sets the sender of the next command.
    pub(crate) fn now_from(&mut self, from: NodeId) {
        self.from = from;
    }

    /// The sender of the current command.
    pub(crate) fn from(&self) -> NodeId {
        self.from
    }

    /// How many matches have a result, and how many of them were lost by not playing.
    pub(crate) fn played(&self) -> (u64, u64) {
        self.league.played()
    }

    /// An answer has left that promises something.
    pub(crate) fn promised(&mut self, to: NodeId, promise: Promise) -> CheckResult {
        match promise {
            Promise::Acked(match_id, result) => self.acked(&match_id, &result),
            Promise::Renewed(token) => {
                self.tokens.insert(token.reveal().to_owned());
                Ok(())
            }
            Promise::Enrolled(agent, tokens) => {
                let texts = tokens.iter().map(|token| token.reveal().to_owned());
                self.tokens.extend(texts);
                let holder = self.enrolled.get(&agent);
                if holder.is_some_and(|&holder| holder != to) {
                    let what = format!("`{agent}` is two agents");
                    return breach(Invariant::IdsAndTokens, what);
                }
                self.enrolled.insert(agent, to);
                Ok(())
            }
        }
    }

    fn acked(&mut self, match_id: &MatchId, result: &Arc<MatchResult>) -> CheckResult {
        let recorded = self.league.result(match_id);
        // A report may list the second seat first (ruling 34).
        let same = |recorded: &&Arc<MatchResult>| {
            is_same(recorded, result) || is_same(recorded, &Arc::new(reversed(result)))
        };
        let Some(recorded) = recorded.filter(same).cloned() else {
            let what = format!("`{match_id}` was acknowledged with a result that is not recorded");
            return breach(Invariant::AckedResultsStay, what);
        };
        let Some(note) = self.note(match_id) else {
            let what = format!("`{match_id}` was acknowledged and does not exist");
            return breach(Invariant::AckedResultsStay, what);
        };
        note.acked.get_or_insert(recorded);
        Ok(())
    }

    /// A letter has left.
    pub(crate) fn sent(&mut self, to: NodeId, message: &Message) {
        match message {
            Message::StartMatch(order) => {
                if let Some(note) = self.note(&order.match_id) {
                    note.ordered = note.ordered.max(order.attempt);
                }
            }
            Message::RoundAnnouncement(round) => {
                let own = round.own.as_ref();
                if let Some((own, note)) =
                    own.and_then(|own| Some((own, self.note(&own.match_id)?)))
                {
                    let known = note.announced.entry(to).or_default();
                    *known = own.attempt.max(*known);
                }
            }
            _ => {}
        }
    }

    /// A player has answered something.
    pub(crate) fn said(&mut self, who: NodeId, message: &Message) {
        if let Message::MoveResponse(response) = message
            && let Some(note) = self.note(&response.match_id)
        {
            note.said.push((who, Arc::clone(response)));
        }
    }

    /// The command that is being weighed must be the manager's.
    fn check_manager(&self, who: NodeId) -> CheckResult {
        if self.from == 0 {
            return Ok(());
        }
        let what = format!("agent {who} obeys agent {}", self.from);
        breach(Invariant::OnlyTheManagerCommands, what)
    }

    pub(crate) fn watch_player(&mut self, who: NodeId, event: &PlayerEvent) -> CheckResult {
        if matches!(
            event,
            PlayerEvent::Announced { .. } | PlayerEvent::LeagueCompleted { .. }
        ) {
            self.check_manager(who)?;
        }
        if let PlayerEvent::DrawDisputed {
            match_id, problem, ..
        } = event
        {
            self.check_dispute(who, match_id, *problem)?;
        }
        if let PlayerEvent::Remembered { record } = event {
            let place = self.player_place(who);
            let fresh = self.remembered.get_mut(place);
            if fresh.is_some_and(|known| !known.insert(record.match_id.clone())) {
                let what = format!("player {who} remembers `{}` twice", record.match_id);
                return breach(Invariant::OneResultPerMatch, what);
            }
        }
        self.sample(event, league_core::player::Event::keep(event))
    }

    pub(crate) fn recall_player(&mut self, who: NodeId, journal: &[PlayerEvent]) {
        let ends = journal.iter().filter_map(|event| match event {
            PlayerEvent::Remembered { record } => Some(record.match_id.clone()),
            _ => None,
        });
        let place = self.player_place(who);
        if let Some(known) = self.remembered.get_mut(place) {
            *known = ends.collect();
        }
    }

    fn player_place(&self, who: NodeId) -> usize {
        (who as usize).saturating_sub(1 + self.facts.capacities.len())
    }

    /// The token of the order that is out for a match.
    pub(crate) fn order_token(&self, match_id: &MatchId) -> Option<AuthToken> {
        let (referee, attempt) = self.league.hand(match_id)?;
        let secret = self.facts.secrets.tokens.keyed();
        let league = &self.facts.rules.league_id;
        Some(secret.order_token(league, match_id, referee.as_ref()?, *attempt))
    }

    /// The agent that holds an id.
    fn holder(&self, player: &PlayerId) -> Option<NodeId> {
        self.league.player(player)
    }

    fn note(&mut self, match_id: &MatchId) -> Option<&mut MatchNote> {
        let number = number(match_id, self.facts.matches_a_round())?;
        if self.matches.len() <= number {
            let extra = if self.facts.levers { MAX_PULLS } else { 0 };
            let rounds = self.facts.players + extra + self.facts.more_rounds();
            let a_round = self.facts.players.max(self.facts.matches_a_round());
            let total = u64::from(a_round) * u64::from(rounds);
            if number as u64 > total {
                return None;
            }
            self.matches.resize_with(number + 1, MatchNote::default);
        }
        self.matches.get_mut(number)
    }
}

impl GroundTruth {
    fn matches_a_round(&self) -> u32 {
        self.rules.plan(self.players).matches_a_round()
    }

    fn rounds(&self) -> u32 {
        (self.players - 1 + self.players % 2) * self.rules.legs
    }

    /// Whether rounds follow from results.
    fn is_listed(&self) -> bool {
        self.rules.format != Format::default()
    }

    /// How many rounds there may be beside those of a round robin of one leg.
    fn more_rounds(&self) -> u32 {
        more_rounds(&self.rules, self.players)
    }
}

/// The most rounds of a league that ends by its time.
const MAX_TIMED_ROUNDS: u32 = 1_000;

/// How many rounds a league may have beside those of a round robin of one leg.
pub(crate) fn more_rounds(rules: &LeagueRules, players: u32) -> u32 {
    if rules.format == Format::default() {
        return players * (rules.legs - 1);
    }
    rules.plan(players).max_rounds().min(MAX_TIMED_ROUNDS)
}

/// The number of a match in its league, from 0: `R2M1` with three matches a round is 3.
fn number(match_id: &MatchId, a_round: u32) -> Option<usize> {
    let (round, place) = match_id.numbers().filter(|&(_, place)| place <= a_round)?;
    Some((round as usize - 1) * a_round as usize + place as usize - 1)
}

/// Whether two results say the same, but for what the manager opens; most often they are one.
fn is_same(one: &Arc<MatchResult>, other: &Arc<MatchResult>) -> bool {
    Arc::ptr_eq(one, other) || closed(one) == closed(other)
}

/// A result without what the manager opens.
fn closed(result: &MatchResult) -> MatchResult {
    let mut closed = result.clone();
    closed.evidence.players.clear();
    if let Some(draw) = &mut closed.draw {
        draw.seed = None;
    }
    closed
}

/// A result with its seats named the other way round.
fn reversed(result: &MatchResult) -> MatchResult {
    let mut reversed = result.clone();
    reversed.players.reverse();
    reversed.points.reverse();
    reversed
}

// In a league with a liar nothing else goes wrong, so that whatever an honest agent loses it loses
// by the lie.
impl Oracle {
    /// Whether an agent is a referee that was admitted and lies.
    pub(crate) fn is_lying_referee(&self, who: NodeId) -> bool {
        let liar = self.facts.liar.filter(|liar| liar.is_admitted_referee());
        liar.is_some_and(|liar| liar.who == who)
    }

    /// The player that a lying referee plays together with.
    pub(crate) fn favourite(&self) -> Option<PlayerId> {
        let favourite = self.facts.liar?.favourite;
        let mut known = self.league.ids();
        known.find(|id| self.holder(id) == Some(favourite)).cloned()
    }

    /// In a league with a liar nothing else goes wrong: only the liar loses without playing.
    pub(crate) fn check_loss(&self, match_id: &MatchId, result: &MatchResult) -> CheckResult {
        let Some(liar) = self.facts.liar else {
            return Ok(());
        };
        for player in result.failed.keys() {
            if self.holder(player) != Some(liar.who) {
                let what = format!("`{player}` loses `{match_id}` by a lie ({:?})", liar.lie);
                return breach(Invariant::LiesChangeNothing, what);
            }
        }
        Ok(())
    }

    /// In a league with a liar: only admitted referees serve, and no honest one is set aside.
    pub(crate) fn check_lies(&self, league: &League, event: &Event) -> CheckResult {
        let Some(liar) = self.facts.liar else {
            return Ok(());
        };
        let invariant = Invariant::LiesChangeNothing;
        if let Event::RefereeRegistered { meta, .. } = event
            && liar.lie == Lie::Stranger
            && who_is_called(&meta.display_name) == liar.who
        {
            return breach(invariant, "a stranger is admitted as a referee");
        }
        let honest = league.referees().iter().filter(|referee| {
            let who = self.league.referee(referee.id());
            who.is_some_and(|who| who != liar.who)
        });
        for referee in honest {
            if league.referee_state(referee) == AgentState::Suspended {
                let what = format!("`{}` is set aside by a lie ({:?})", referee.id(), liar.lie);
                return breach(invariant, what);
            }
        }
        Ok(())
    }
}
