//! A league as it is now: follows its journal and its observation files, and draws the first page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use league_core::league::{Event, FixtureStage, RulesError};
use league_core::referee::SpectatorView;
use league_protocol::id::{GameType, LeagueId, MatchId};
use league_protocol::time::Timestamp;
use league_web::league_view::{LeagueObservations, LeagueView, MAX_TILES};
use league_web::model::{Joining, Verification};
use league_web::page::{self, Links};
use league_web::parts::{PageParts, Patch};
use serde_json::Value;
use thiserror::Error;

use super::gzip::GzipBody;
use super::inquiry::AgentNews;
use super::observations::{match_states, observations, referee_record};
use super::replay_cache::ReplaySource;
use super::stall::StallDetector;
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::{Entry, Follower, StoreError};

/// How long observations are good, in milliseconds.
const OBSERVATION_AGE: i64 = 1_000;
/// Referee records that are awaited at once.
const MAX_AWAITED: usize = 64;
/// How often a record is looked for.
const MAX_LOOKS: u32 = 20;
/// Matches of which the last position is kept, to compare it with the result.
const MAX_SHOWN: usize = 2_000;
/// More changed ids than this are published as `*`, which means all.
const MAX_TOUCHED: usize = 200;
/// Every page has changed.
pub(crate) const ALL: &str = "*";

/// Why the pages of a league cannot be shown.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the journal does not begin with the rules of a league")]
    NoRules,
    #[error("the rules in the journal are invalid")]
    Rules(#[from] RulesError),
}

#[derive(Debug)]
pub(crate) struct LiveView {
    follower: Follower,
    journal: JournalReader,
    /// Whether to show only what stands before damage.
    until_damage: bool,
    /// What is wrong with the journal; from then on it is read no further.
    damage: Option<Verification>,
    observed: Arc<LeagueObservations>,
    observed_at: Timestamp,
    verification: Option<Verification>,
    stall: StallDetector,
    /// What agents tell while somebody watches.
    told: Arc<Mutex<AgentNews>>,
    /// How to join, until the league begins.
    joining: Option<Joining>,
    /// The last position of each match that a referee showed.
    shown: BTreeMap<MatchId, SpectatorView>,
    contradicted: BTreeSet<MatchId>,
    /// Finished matches whose record has not been seen yet, and how often it was looked for.
    awaited: BTreeMap<MatchId, u32>,
    /// Ids that changed outside the journal.
    stirred: BTreeSet<String>,
    parts: PageParts,
    /// The first page as it was last drawn.
    page: Option<GzipBody>,
    /// How many events the first page shows.
    events: Option<u64>,
}

/// What changed between two refreshes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageChange {
    pub(crate) patch: Patch,
    /// The ids of matches and players whose pages have changed.
    pub(crate) touched: Vec<String>,
}

impl LiveView {
    pub(crate) fn new(root: Root, league_id: LeagueId) -> Self {
        Self {
            follower: Follower::new(root.league_journal(&league_id)),
            journal: JournalReader::new(root, league_id),
            until_damage: false,
            damage: None,
            observed: Arc::default(),
            observed_at: Timestamp::default(),
            verification: None,
            stall: StallDetector::default(),
            told: Arc::default(),
            joining: None,
            shown: BTreeMap::new(),
            contradicted: BTreeSet::new(),
            awaited: BTreeMap::new(),
            stirred: BTreeSet::new(),
            parts: PageParts::default(),
            page: None,
            events: None,
        }
    }

    /// A view that shows only what stands before damage.
    pub(crate) fn until_damage(root: Root, league_id: LeagueId) -> Self {
        Self {
            until_damage: true,
            ..Self::new(root, league_id)
        }
    }

    /// The league as far as it was read.
    pub(crate) fn view(&self) -> Option<&LeagueView> {
        self.journal.view.as_ref()
    }

    pub(crate) fn observed(&self) -> &LeagueObservations {
        &self.observed
    }

    pub(crate) fn into_parts(self) -> Option<(LeagueView, Arc<LeagueObservations>)> {
        Some((self.journal.view?, self.observed))
    }

    pub(crate) const fn is_damaged(&self) -> bool {
        self.damage.is_some()
    }

    /// The first page, if there is a league.
    pub(crate) fn page(&self) -> Option<GzipBody> {
        self.page.clone()
    }

    /// The view for projectors, if there is a league.
    pub(crate) fn stage(&self, now: Timestamp) -> Option<GzipBody> {
        let stage = self.view()?.stage(&self.observed, now);
        Some(GzipBody::new(page::stage(&stage)))
    }

    /// Where the news of agents are put.
    pub(crate) fn told(&self) -> Arc<Mutex<AgentNews>> {
        Arc::clone(&self.told)
    }

    pub(crate) fn set_joining(&mut self, joining: Option<Joining>) {
        self.joining = joining;
    }

    /// The first page as a patch.
    pub(crate) fn whole(&self) -> Patch {
        self.parts.whole()
    }

    /// Names the state of the first page.
    pub(crate) fn digest(&self) -> u64 {
        self.parts.digest()
    }

    pub(crate) fn replay_source(&self) -> ReplaySource {
        ReplaySource {
            root: self.journal.root.clone(),
            league_id: self.journal.league_id.clone(),
            observed: Arc::clone(&self.observed),
            events: self.events.unwrap_or(0),
            until_damage: self.until_damage,
        }
    }

    pub(crate) fn set_verification(&mut self, verification: Verification) {
        self.verification = Some(verification);
        self.observed_at = Timestamp::default();
    }

    /// Whether the league is over and not verified yet.
    pub(crate) fn needs_verification(&self) -> bool {
        self.verification.is_none() && self.is_over()
    }

    fn is_over(&self) -> bool {
        self.view().is_some_and(|view| view.league().is_over())
    }

    /// Reads what is new, and returns what it changes.
    ///
    /// # Errors
    ///
    /// There is no journal, or it is not the journal of a league.
    pub(crate) fn refresh(&mut self, now: Timestamp) -> Result<Option<PageChange>, ReadError> {
        self.read_journal()?;
        let stale = now.as_millis() - self.observed_at.as_millis() >= OBSERVATION_AGE;
        let told_changed = self.take_told();
        let observed_changed = (stale && self.observe(now)) || told_changed;
        let events = self.view().map(LeagueView::events);
        let touched = self.take_touched();
        if events == self.events && !observed_changed && touched.is_empty() {
            return Ok(None);
        }
        self.events = events;
        let Some(view) = self.view() else {
            return Ok(None);
        };
        let board = view.board(&self.observed, now);
        let parts = page::board_parts(&board, Links::Site);
        let patch = Patch::between(&self.parts, &parts);
        self.page = Some(GzipBody::new(page::board(&board, &parts, Links::Site)));
        self.parts = parts;
        let changed = !patch.is_empty() || !touched.is_empty();
        Ok(changed.then_some(PageChange { patch, touched }))
    }

    /// Applies the new entries. A damaged journal is marked as damaged; all its lines are shown, or
    /// those before the damage.
    fn read_journal(&mut self) -> Result<(), ReadError> {
        if self.damage.is_some() {
            return Ok(());
        }
        let Self {
            follower, journal, ..
        } = self;
        match follower.read_on(|entry| journal.apply(&entry)) {
            Ok(()) => {}
            Err(StoreError::Damaged { line, damage, .. }) => {
                let path = follower.path();
                if !self.until_damage {
                    journal.view = None;
                    Follower::read_loosely(path, |entry| journal.apply(&entry))?;
                }
                let file = path.strip_prefix(journal.root.as_path()).unwrap_or(path);
                self.damage = Some(Verification {
                    holds: false,
                    detail: format!("{}, line {line}: {damage}", file.display()),
                });
            }
            Err(other) => {
                // The view may hold half a batch: the next read starts again.
                *follower = Follower::new(follower.path().to_owned());
                (journal.view, journal.problem) = (None, None);
                journal.touched.clear();
                journal.finished.clear();
                return Err(other.into());
            }
        }
        self.journal.problem.take().map_or(Ok(()), Err)
    }

    /// Reads what other processes recorded; returns whether anything has changed.
    fn observe(&mut self, now: Timestamp) -> bool {
        self.observed_at = now;
        let (root, league) = (&self.journal.root, &self.journal.league_id);
        let mut observed = observations(root, league);
        observed.states = match_states(root, league, &self.running());
        if let Some(last) = self.journal.last.filter(|_| !self.is_over()) {
            observed.stall = self.stall.check((root, league), last, now);
        }
        let verification = self.damage.as_ref().or(self.verification.as_ref());
        observed.verification = verification.cloned();
        observed.joining.clone_from(&self.joining);
        observed.live.clone_from(&self.observed.live);
        observed.away.clone_from(&self.observed.away);
        observed.contradicted.clone_from(&self.contradicted);
        let stirred = &mut self.stirred;
        self.awaited.retain(|id, looks| {
            *looks += 1;
            let record = referee_record(root, league, id);
            let found = record.is_some_and(|record| !record.messages.is_empty());
            if found {
                stirred.insert(id.to_string());
            }
            !found && *looks < MAX_LOOKS
        });
        for (id, (state, _)) in &observed.states {
            let known = self.observed.states.get(id);
            if known.map(|(known, _)| known) != Some(state) {
                stirred.insert(id.to_string());
            }
        }
        if observed.stall.is_some() != self.observed.stall.is_some() {
            stirred.insert(ALL.to_owned());
        }
        let changed = observed != *self.observed;
        self.observed = Arc::new(observed);
        changed
    }

    /// Takes what agents told since; returns whether anything has changed.
    fn take_told(&mut self) -> bool {
        let told = self
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // Agents may leave when the league is over.
        let told = if self.is_over() {
            AgentNews::default()
        } else {
            told
        };
        if told.live == self.observed.live && told.away == self.observed.away {
            return false;
        }
        let AgentNews { live, away } = told;
        let known = &self.observed.live;
        let changed = live
            .iter()
            .filter(|(id, view)| known.get(*id) != Some(view));
        self.stirred.extend(changed.map(|(id, _)| id.to_string()));
        let moved =
            |agent: &&String| away.contains_key(*agent) != self.observed.away.contains_key(*agent);
        let agents = away.keys().chain(self.observed.away.keys());
        let players = agents
            .filter(moved)
            .filter_map(|agent| agent.strip_prefix("player:"));
        self.stirred.extend(players.map(str::to_owned));
        if self.shown.len() > MAX_SHOWN {
            self.shown.clear();
        }
        self.shown
            .extend(live.iter().map(|(id, view)| (id.clone(), view.clone())));
        let observed = Arc::make_mut(&mut self.observed);
        (observed.live, observed.away) = (live, away);
        true
    }

    /// Compares the result of a match with the position that its referee showed last.
    fn check_shown(&mut self, id: &MatchId) {
        let Some(shown) = self.shown.remove(id) else {
            return;
        };
        if self.view().and_then(|view| view.shown_truly(id, &shown)) == Some(false) {
            self.contradicted.insert(id.clone());
            Arc::make_mut(&mut self.observed)
                .contradicted
                .insert(id.clone());
        }
    }

    /// The matches assigned to referees, as many as are shown.
    fn running(&self) -> Vec<MatchId> {
        let round = self.view().and_then(|view| view.league().round());
        let fixtures = round.map_or(&[][..], |round| round.fixtures());
        let running = fixtures.iter().filter(|fixture| {
            matches!(
                fixture.stage(),
                FixtureStage::Ordered | FixtureStage::Running
            )
        });
        let ids = running.map(|fixture| fixture.match_id().clone());
        ids.take(MAX_TILES).collect()
    }

    /// The matches and players that have changed, or `*`.
    ///
    /// A referee writes its record of a match after the manager has the result, so the records are
    /// awaited.
    fn take_touched(&mut self) -> Vec<String> {
        let mut touched = self.journal.take_touched();
        let room = MAX_AWAITED.saturating_sub(self.awaited.len());
        let finished = std::mem::take(&mut self.journal.finished);
        finished.iter().for_each(|id| self.check_shown(id));
        let newest = finished.into_iter().rev().take(room);
        self.awaited.extend(newest.map(|id| (id, 0)));
        touched.extend(std::mem::take(&mut self.stirred));
        touched
    }
}

/// Applies journal entries to a view.
#[derive(Debug)]
struct JournalReader {
    root: Root,
    league_id: LeagueId,
    view: Option<LeagueView>,
    /// The ids that have changed.
    touched: Vec<String>,
    /// Matches that have a result since the last refresh.
    finished: Vec<MatchId>,
    /// The number of the last entry, and when it was written.
    last: Option<(u64, Timestamp)>,
    problem: Option<ReadError>,
}

impl JournalReader {
    fn new(root: Root, league_id: LeagueId) -> Self {
        Self {
            root,
            league_id,
            view: None,
            touched: Vec::new(),
            finished: Vec::new(),
            last: None,
            problem: None,
        }
    }

    fn apply(&mut self, entry: &Entry<Record<Event>>) {
        self.last = Some((entry.sequence, entry.at));
        match (&entry.fact, &mut self.view) {
            (Record::Opened(opening), None) => {
                match empty_view(&self.root, &self.league_id, opening) {
                    Ok(view) => self.view = Some(view),
                    Err(problem) => self.problem = Some(problem),
                }
            }
            (Record::Event(event), Some(view)) => {
                view.apply(event);
                self.note_touched(event);
            }
            _ => {}
        }
    }

    fn note_touched(&mut self, event: &Event) {
        match event {
            Event::ResultRecorded {
                match_id, result, ..
            } => {
                self.touch(match_id);
                self.finished.push(match_id.clone());
                result.players.iter().for_each(|player| self.touch(player));
            }
            Event::MatchesMoved { moves, .. } => {
                moves.iter().for_each(|moved| self.touch(&moved.match_id));
            }
            Event::MatchesAdded { pairings, .. } => {
                pairings
                    .as_flattened()
                    .iter()
                    .for_each(|player| self.touch(player));
            }
            // A lever may change names, results and places on any page.
            Event::RoundOpened { .. }
            | Event::OrganiserActed { .. }
            | Event::LeagueCompleted { .. } => {
                self.touched.push(ALL.to_owned());
            }
            _ => {}
        }
    }

    fn touch(&mut self, id: &impl ToString) {
        if self.touched.len() <= MAX_TOUCHED {
            self.touched.push(id.to_string());
        }
    }

    /// The ids that have changed, each once, or `*`.
    fn take_touched(&mut self) -> Vec<String> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort();
        touched.dedup();
        if touched.len() > MAX_TOUCHED || touched.iter().any(|id| id == ALL) {
            return vec![ALL.to_owned()];
        }
        touched
    }
}

/// The view of a league before its first event.
pub(crate) fn empty_view(
    root: &Root,
    league: &LeagueId,
    opening: &Opening,
) -> Result<LeagueView, ReadError> {
    let rules = opening.rules.clone().ok_or(ReadError::NoRules)?;
    let title = title(root, league, &rules.game_type);
    Ok(LeagueView::new(rules, title, opening.reproducible)?)
}

/// The league's display name from its configuration, if that is for the same game; else the name of
/// the game.
///
/// The file is parsed without the configuration loader, which could complete it with defaults.
fn title(root: &Root, league: &LeagueId, game: &GameType) -> String {
    let file = std::fs::read(root.league(league)).unwrap_or_default();
    let config: Value = serde_json::from_slice(&file).unwrap_or_default();
    let name = config["display_name"].as_str();
    if let Some(name) = name.filter(|_| config["game_type"] == game.as_str()) {
        return name.to_owned();
    }
    let listing = league_games::find(game.as_str());
    let game = listing.map_or(game.as_str(), |listing| listing.rules.display_name);
    format!("{game} League")
}
