//! Reads a whole league once, for `league report`.

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use league_protocol::id::{LeagueId, MatchId};
use league_web::league_view::{LeagueObservations, LeagueView};
use league_web::model::{Board, MatchPage, RoundPage, Verification};
use league_web::page::Links;
use league_web::replay::Recording;
use league_web::report::{self, ReportContent};
use thiserror::Error;

use super::hub::verification;
use super::live_view::{LiveView, ReadError};
use super::observations::referee_record;
use super::replay_cache::record;
use crate::clock;
use crate::storage::root::Root;
use crate::storage::verify::{VerifyError, verify};

/// Why a league cannot be reported.
#[derive(Debug, Error)]
pub(crate) enum ReportSourceError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

pub(crate) struct ReportSource {
    root: Root,
    league_id: LeagueId,
    view: LeagueView,
    observed: Arc<LeagueObservations>,
    recording: Recording,
    board: Board,
}

impl ReportSource {
    /// Reads and verifies a league.
    ///
    /// # Errors
    ///
    /// There is no journal, or it is not the journal of a league.
    pub(crate) fn open(root: Root, league: LeagueId) -> Result<Self, ReportSourceError> {
        let mut live = LiveView::new(root.clone(), league.clone());
        live.set_verification(verification(&verify(&root, &league)?));
        let now = clock::now();
        live.refresh(now)?;
        let recording = record(&live.replay_source(), Links::File)?;
        let (view, observed) = live.into_parts().ok_or(ReadError::NoRules)?;
        Ok(Self {
            root,
            league_id: league,
            board: view.board(&observed, now),
            view,
            observed,
            recording,
        })
    }

    pub(crate) fn verification(&self) -> Option<&Verification> {
        self.observed.verification.as_ref()
    }

    pub(crate) fn view(&self) -> &LeagueView {
        &self.view
    }

    /// How many frames the replay has.
    pub(crate) fn frames(&self) -> usize {
        self.recording.frames.len()
    }

    /// The report as HTML, with the pages of the latest `max_matches` matches.
    pub(crate) fn report(&self, max_matches: usize) -> String {
        let all: Vec<&MatchId> = self.view.ended_matches().map(|(id, _)| id).collect();
        let first = all.len().saturating_sub(max_matches);
        let match_page = |id: &&MatchId| {
            let record = referee_record(&self.root, &self.league_id, id);
            self.view.match_page(id, record, &self.observed)
        };
        let matches: Vec<MatchPage> = all[first..].iter().filter_map(match_page).collect();
        let ids = self
            .board
            .standings
            .iter()
            .map(|row| &row.standing.player_id);
        let players = ids.filter_map(|id| self.view.player_page(id, &self.observed));
        let recording = serde_json::to_string(&self.recording).ok();
        report::write(&ReportContent {
            board: &self.board,
            players: &players.collect::<Vec<_>>(),
            matches: &matches,
            rounds: &self.rounds(max_matches),
            recording: recording.as_deref(),
            pack: compress,
        })
    }

    /// The latest rounds that together have at most `max_matches` matches, and at least one round.
    fn rounds(&self, max_matches: usize) -> Vec<RoundPage> {
        let each = self.view.league().schedule().matches_a_round().max(1);
        let max_rounds = (max_matches / each as usize).max(1);
        let last = self.board.progress.rounds;
        let before = u32::try_from(max_rounds).unwrap_or(u32::MAX) - 1;
        let first = last.saturating_sub(before).max(1);
        let pages = (first..=last).map(|round| self.view.round_page(round, &self.observed));
        pages.flatten().collect()
    }
}

/// Compresses as well as gzip can.
fn compress(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}
