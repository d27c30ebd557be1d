//! What there is to see of a league at the moment, and what changed since the last look.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use league_core::league::FixtureStage;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::time::Timestamp;
use league_web::league_view::{LeagueView, MAX_TILES, Observations, RefereeRecord};
use league_web::model::{Board, MatchPage, PlayerPage, RoundPage, Verification};
use league_web::page::{self, Links};
use league_web::parts::{PageParts, Patch};

use super::attendance::Attendance;
use super::kept;
use super::reader::{ReadError, Reader};
use super::screening::Script;
use super::sheet::Sheet;
use crate::storage::root::Root;

/// How long what was observed of agents is good, in milliseconds.
const OBSERVED_FOR: i64 = 1_000;
/// How many records of matches are waited for at once.
const MOST_AWAITED: usize = 64;
/// How often it is looked whether a record has come.
const MOST_LOOKS: u32 = 20;

/// A league on show.
#[derive(Debug)]
pub(super) struct Hall {
    root: Root,
    league_id: LeagueId,
    reader: Reader,
    observed: Arc<Observations>,
    observed_at: Timestamp,
    parts: PageParts,
    /// The first page as it was drawn last.
    drawn: Option<Sheet>,
    facts: Option<u64>,
    verdict: Option<Verification>,
    attendance: Attendance,
    /// Matches that are over and whose record has not come yet, and how often it was looked for.
    awaited: BTreeMap<MatchId, u32>,
    /// Matches of which something new lies beside the journal.
    stirred: BTreeSet<String>,
}

/// What changed between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) patch: Patch,
    pub(super) touched: Vec<String>,
}

impl Hall {
    /// Opens the doors for a league.
    pub(super) fn new(root: Root, league_id: LeagueId) -> Self {
        Self {
            reader: Reader::new(root.clone(), league_id.clone()),
            root,
            league_id,
            observed: Arc::default(),
            observed_at: Timestamp::default(),
            parts: PageParts::default(),
            drawn: None,
            facts: None,
            verdict: None,
            attendance: Attendance::default(),
            awaited: BTreeMap::new(),
            stirred: BTreeSet::new(),
        }
    }

    /// The league as far as it was read.
    pub(super) fn view(&self) -> Option<&LeagueView> {
        self.reader.view()
    }

    /// What was read of the league, and what was observed of its agents.
    pub(super) fn into_facts(self) -> Option<(LeagueView, Arc<Observations>)> {
        Some((self.reader.into_view()?, self.observed))
    }

    /// Notes whether the league is what its journal says.
    pub(super) fn judge(&mut self, verdict: Verification) {
        self.verdict = Some(verdict);
        self.observed_at = Timestamp::default();
    }

    /// Whether the league is over and nobody has said yet whether it is what its journal says.
    pub(super) fn wants_verdict(&self) -> bool {
        self.verdict.is_none() && self.is_over()
    }

    fn is_over(&self) -> bool {
        self.view().is_some_and(|view| view.league().is_over())
    }

    /// Reads what is new; tells what it changes on the first page.
    ///
    /// # Errors
    ///
    /// There may be no journal to read.
    pub(super) fn look(&mut self, now: Timestamp) -> Result<Option<Change>, ReadError> {
        self.reader.read_on()?;
        let stale = now.as_millis() - self.observed_at.as_millis() >= OBSERVED_FOR;
        let looked_around = stale && self.look_around(now);
        let facts = self.view().map(LeagueView::events);
        let touched = self.touched();
        if facts == self.facts && !looked_around && touched.is_empty() {
            return Ok(None);
        }
        self.facts = facts;
        let Some(board) = self.board(now) else {
            return Ok(None);
        };
        let parts = page::board_parts(&board, Links::Site);
        let patch = Patch::between(&self.parts, &parts);
        self.drawn = Some(Sheet::new(page::board(&board, &parts, Links::Site)));
        self.parts = parts;
        let change = Change { patch, touched };
        Ok((!change.patch.is_empty() || !change.touched.is_empty()).then_some(change))
    }

    /// The matches and players of which something is new.
    ///
    /// A referee writes its record of a match after the manager has the result, so the record of
    /// each is waited for.
    fn touched(&mut self) -> Vec<String> {
        let mut touched = self.reader.take_touched().ids();
        for id in touched.iter().filter_map(|id| MatchId::new(id).ok()) {
            if id.as_str().starts_with('R') && self.awaited.len() < MOST_AWAITED {
                self.awaited.insert(id, 0);
            }
        }
        touched.extend(std::mem::take(&mut self.stirred));
        touched
    }

    /// Looks at what lies beside the journal; says whether anything is new there.
    fn look_around(&mut self, now: Timestamp) -> bool {
        self.observed_at = now;
        let (root, league) = (&self.root, &self.league_id);
        let mut seen = kept::observed(root, league);
        seen.states = kept::states(root, league, &self.running());
        if let Some(last) = self.reader.last().filter(|_| !self.is_over()) {
            seen.stall = self.attendance.look((root, league), last, now);
        }
        seen.verification = self.reader.damage().or(self.verdict.as_ref()).cloned();
        let stirred = &mut self.stirred;
        self.awaited.retain(|id, looks| {
            *looks += 1;
            let came =
                kept::record(root, league, id).is_some_and(|record| !record.messages.is_empty());
            if came {
                stirred.insert(id.to_string());
            }
            !came && *looks < MOST_LOOKS
        });
        let changed = seen.states.iter().filter(|(id, state)| {
            let known = self.observed.states.get(*id);
            known.map(|(state, _)| state) != Some(&state.0)
        });
        stirred.extend(changed.map(|(id, _)| id.to_string()));
        if seen.stall.is_some() != self.observed.stall.is_some() {
            // Every page says so.
            stirred.insert("*".to_owned());
        }
        let new = seen != *self.observed;
        self.observed = Arc::new(seen);
        new
    }

    /// The matches that referees were told to run, as many as are shown.
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

    pub(super) fn board(&self, now: Timestamp) -> Option<Board> {
        Some(self.view()?.board(&self.observed, now))
    }

    /// The first page.
    pub(super) fn first_page(&self) -> Option<Sheet> {
        self.drawn.clone()
    }

    /// The first page as a patch, for one who knows nothing.
    pub(super) fn whole(&self) -> Patch {
        self.parts.whole()
    }

    /// How many rows the first page has.
    pub(super) fn rows(&self) -> usize {
        self.view().map_or(0, |view| view.league().players().len())
    }

    /// What a film of the league is made of.
    pub(super) fn script(&self) -> Script {
        Script {
            root: self.root.clone(),
            league_id: self.league_id.clone(),
            observed: Arc::clone(&self.observed),
            facts: self.facts.unwrap_or(0),
        }
    }

    /// The page of a match, with what its referee wrote of it.
    pub(super) fn match_page(
        &self,
        id: &MatchId,
        record: Option<RefereeRecord>,
    ) -> Option<MatchPage> {
        self.view()?.match_page(id, record, &self.observed)
    }

    /// The page of a round.
    pub(super) fn round_page(&self, round: u32) -> Option<RoundPage> {
        self.view()?.round_page(round, &self.observed)
    }

    /// The page of a player.
    pub(super) fn player_page(&self, id: &PlayerId) -> Option<PlayerPage> {
        self.view()?.player_page(id, &self.observed)
    }
}
