//! A league as a whole, for a report: read once, from beginning to end.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_web::league_view::{LeagueView, Observations};
use league_web::model::{Board, MatchPage, PlayerPage, RoundPage, Verification};
use league_web::page::Links;
use league_web::replay::Recording;
use league_web::report::{self, ReportContent};
use thiserror::Error;

use super::hall::Hall;
use super::kept;
use super::reader::ReadError;
use super::rooms::told;
use super::screening::shoot;
use crate::clock;
use crate::storage::root::Root;
use crate::storage::verify::{VerifyError, verify};

/// Why a league cannot be shown as a whole.
#[derive(Debug, Error)]
pub(crate) enum ExhibitionError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be worked out again.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// A league as a whole.
pub(crate) struct Exhibition {
    root: Root,
    league_id: LeagueId,
    view: LeagueView,
    observed: Arc<Observations>,
    film: Recording,
    board: Board,
}

impl Exhibition {
    /// Reads a league and works it out again.
    ///
    /// # Errors
    ///
    /// Its journal may not be there, or not be one of a league.
    pub(crate) fn open(root: Root, league: LeagueId) -> Result<Self, ExhibitionError> {
        let mut hall = Hall::new(root.clone(), league.clone());
        hall.judge(told(&verify(&root, &league)?));
        let now = clock::now();
        hall.look(now)?;
        let film = shoot(&hall.script(), Links::File)?;
        let board = hall.board(now).ok_or(ReadError::NoRules)?;
        let (view, observed) = hall.into_facts().ok_or(ReadError::NoRules)?;
        Ok(Self {
            root,
            league_id: league,
            view,
            observed,
            film,
            board,
        })
    }

    /// Whether the league is what its journal says.
    pub(crate) fn verdict(&self) -> Option<&Verification> {
        self.observed.verification.as_ref()
    }

    /// The league's facts.
    pub(crate) fn view(&self) -> &LeagueView {
        &self.view
    }

    /// How many moments the film has.
    pub(crate) fn moments(&self) -> usize {
        self.film.frames.len()
    }

    /// The report, with what was said in so many matches, the latest.
    pub(crate) fn report(&self, most_matches: usize) -> String {
        let all: Vec<&MatchId> = self.view.results().map(|(id, _)| id).collect();
        let first = all.len().saturating_sub(most_matches);
        let matches = all[first..].iter().filter_map(|id| self.match_page(id));
        let ids = self
            .board
            .standings
            .iter()
            .map(|row| &row.standing.player_id);
        let players = ids.filter_map(|id| self.player_page(id));
        let rounds = self.rounds(most_matches);
        let film = serde_json::to_string(&self.film).ok();
        report::write(&ReportContent {
            board: &self.board,
            players: &players.collect::<Vec<_>>(),
            matches: &matches.collect::<Vec<_>>(),
            rounds: &rounds,
            recording: film.as_deref(),
            pack: packed,
        })
    }

    /// The latest rounds, as many as have so many matches, and one at least.
    fn rounds(&self, most_matches: usize) -> Vec<RoundPage> {
        let progress = &self.board.progress;
        let each = self.view.league().schedule().matches_a_round().max(1);
        let most = (most_matches / each as usize).max(1);
        let last = progress.rounds;
        let first = last.saturating_sub(u32::try_from(most).unwrap_or(u32::MAX).saturating_sub(1));
        let pages = (first.max(1)..=last).map(|round| self.view.round_page(round, &self.observed));
        pages.flatten().collect()
    }

    fn match_page(&self, id: &MatchId) -> Option<MatchPage> {
        let record = kept::record(&self.root, &self.league_id, id);
        self.view.match_page(id, record, &self.observed)
    }

    fn player_page(&self, id: &PlayerId) -> Option<PlayerPage> {
        self.view.player_page(id, &self.observed)
    }
}

/// A text as gzip packs it, as small as it can.
fn packed(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    // What is written to memory is always written.
    let _ = packer.write_all(text.as_bytes());
    packer.finish().unwrap_or_default()
}
