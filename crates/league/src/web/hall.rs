//! What there is to see of a league at the moment, and what changed since the last look.

use league_core::league::{Phase, Stage};
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::time::Timestamp;
use league_web::film::{Camera, Film};
use league_web::gallery::{Gallery, MOST_TILES, Observed};
use league_web::model::{Board, Verdict};
use league_web::page::{self, Links};
use league_web::parts::{Parts, Patch};

use super::kept;
use super::reader::{ReadError, Reader};
use super::sheet::Sheet;
use crate::record::Record;
use crate::root::Root;
use crate::store::{Entry, Follower};
use league_core::league::Event;

/// How long what was observed of agents is good, in milliseconds.
const OBSERVED_FOR: i64 = 1_000;

/// A league on show.
#[derive(Debug)]
pub(super) struct Hall {
    root: Root,
    league_id: LeagueId,
    reader: Reader,
    observed: Observed,
    observed_at: Timestamp,
    parts: Parts,
    /// The first page as it was drawn last.
    drawn: Option<Sheet>,
    /// The film up to then, if anybody has asked for it.
    filmed: Option<Sheet>,
    facts: Option<u64>,
    verdict: Option<Verdict>,
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
            observed: Observed::default(),
            observed_at: Timestamp::default(),
            parts: Parts::default(),
            drawn: None,
            filmed: None,
            facts: None,
            verdict: None,
        }
    }

    /// Which league is on show.
    pub(super) fn league_id(&self) -> &LeagueId {
        &self.league_id
    }

    /// The league as far as it was read.
    pub(super) fn gallery(&self) -> Option<&Gallery> {
        self.reader.gallery()
    }

    /// What was read of the league, and what was observed of its agents.
    pub(super) fn into_facts(self) -> Option<(Gallery, Observed)> {
        Some((self.reader.into_gallery()?, self.observed))
    }

    /// Notes whether the league is what its journal says.
    pub(super) fn judge(&mut self, verdict: Verdict) {
        self.verdict = Some(verdict);
        self.observed_at = Timestamp::default();
    }

    /// Whether the league is over and nobody has said yet whether it is what its journal says.
    pub(super) fn wants_verdict(&self) -> bool {
        let over = |gallery: &Gallery| gallery.league().phase() == Phase::Completed;
        self.verdict.is_none() && self.gallery().is_some_and(over)
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
        let facts = self.gallery().map(Gallery::facts);
        if facts == self.facts && !looked_around {
            return Ok(None);
        }
        self.facts = facts;
        let Some(board) = self.board(now) else {
            return Ok(None);
        };
        let parts = page::board_parts(&board, &Links::Site);
        let patch = Patch::between(&self.parts, &parts);
        self.drawn = Some(Sheet::new(page::board(&board, &parts, &Links::Site)));
        self.filmed = None;
        self.parts = parts;
        let touched = self.reader.take_touched().ids();
        let change = Change { patch, touched };
        Ok((!change.patch.is_empty() || !change.touched.is_empty()).then_some(change))
    }

    /// Looks at what lies beside the journal; says whether anything is new there.
    fn look_around(&mut self, now: Timestamp) -> bool {
        self.observed_at = now;
        let mut seen = kept::observed(&self.root, &self.league_id);
        seen.states = kept::states(&self.root, &self.league_id, &self.running());
        seen.verdict = self.reader.damage().or(self.verdict.as_ref()).cloned();
        let new = seen != self.observed;
        self.observed = seen;
        new
    }

    /// The matches that referees were told to run, as many as are shown.
    fn running(&self) -> Vec<MatchId> {
        let round = self.gallery().and_then(|gallery| gallery.league().round());
        let fixtures = round.map_or(&[][..], |round| round.fixtures());
        let running = fixtures
            .iter()
            .filter(|fixture| matches!(fixture.stage(), Stage::Ordered | Stage::Running));
        let ids = running.map(|fixture| fixture.match_id().clone());
        ids.take(MOST_TILES).collect()
    }

    pub(super) fn board(&self, now: Timestamp) -> Option<Board> {
        Some(self.gallery()?.board(&self.observed, now))
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
        self.gallery()
            .map_or(0, |gallery| gallery.league().players().len())
    }

    /// The page of a match.
    pub(super) fn match_page(&self, id: &MatchId) -> Option<String> {
        let record = kept::record(&self.root, &self.league_id, id);
        let shown = self.gallery()?.match_page(id, record, &self.observed)?;
        Some(page::match_page(&shown, &Links::Site))
    }

    /// The page of a player.
    pub(super) fn player_page(&self, id: &PlayerId) -> Option<String> {
        let shown = self.gallery()?.player_page(id, &self.observed)?;
        Some(page::player_page(&shown, &Links::Site))
    }

    /// The film up to the last change; made once for all who ask before the next.
    pub(super) fn film_so_far(&mut self) -> Option<Sheet> {
        if self.filmed.is_none() {
            let film = self.film(Links::Site).ok()?;
            let film = serde_json::to_vec(&film).ok()?;
            self.filmed = Some(Sheet::new(film));
        }
        self.filmed.clone()
    }

    /// The league so far as a film.
    ///
    /// # Errors
    ///
    /// The journal may not be there any more.
    pub(super) fn film(&self, links: Links) -> Result<Film, ReadError> {
        let title = self.gallery().map(|gallery| gallery.card().title);
        let mut camera: Option<Camera<'_>> = None;
        let mut failed = None;
        let path = self.root.league_journal(&self.league_id);
        Follower::read_loosely(&path, |entry: Entry<Record<Event>>| {
            match (&entry.fact, &mut camera) {
                (Record::Opened(opening), None) => {
                    let title = title.clone().unwrap_or_default();
                    let rules = opening.rules.clone();
                    match rules.map(|rules| Gallery::new(rules, title, opening.reproducible)) {
                        Some(Ok(gallery)) => {
                            let seen = &self.observed;
                            camera = Some(Camera::new(gallery, seen, links));
                        }
                        Some(Err(error)) => failed = Some(ReadError::Rules(error)),
                        None => failed = Some(ReadError::NoRules),
                    }
                }
                (Record::Event(event), Some(camera)) => camera.take_in(event),
                _ => {}
            }
        })?;
        match (camera, failed) {
            (Some(camera), None) => Ok(camera.finish()),
            (_, failed) => Err(failed.unwrap_or(ReadError::NoRules)),
        }
    }
}
