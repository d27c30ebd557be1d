//! Reads a whole league once, for `league export`.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use league_protocol::id::{LeagueId, MatchId};
use league_web::league_view::LeagueView;
use league_web::model::{MatchPage, RoundPage, Verification};
use league_web::page::Links;
use league_web::report::{self, ReportContent};
use thiserror::Error;

use super::hub::verification;
use super::live_view::{LiveView, ReadError};
use super::observations::referee_record;
use super::replay_cache::{ReplaySource, record};
use crate::clock;
use crate::storage::root::Root;
use crate::storage::verify::{VerifyError, verify};

/// Why a league cannot be exported.
#[derive(Debug, Error)]
pub(crate) enum ExportSourceError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

pub(crate) struct ExportSource {
    source: ReplaySource,
    view: LeagueView,
    is_cut: bool,
}

impl ExportSource {
    /// Reads and verifies a league.
    ///
    /// # Errors
    ///
    /// There is no journal, or it is not the journal of a league.
    pub(crate) fn open(root: Root, league: LeagueId) -> Result<Self, ExportSourceError> {
        let mut live = LiveView::until_damage(root.clone(), league.clone());
        live.set_verification(verification(&verify(&root, &league)?));
        live.refresh(clock::now())?;
        let (source, is_cut) = (live.replay_source(), live.is_damaged());
        let (view, _) = live.into_parts().ok_or(ReadError::NoRules)?;
        Ok(Self {
            source,
            view,
            is_cut,
        })
    }

    pub(crate) fn verification(&self) -> Option<&Verification> {
        self.source.observed.verification.as_ref()
    }

    /// Whether the journal is damaged, and was read up to there.
    pub(crate) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(crate) fn view(&self) -> &LeagueView {
        &self.view
    }

    /// The league as one page, with the pages of the latest `max_matches` matches.
    pub(crate) fn page(&self, max_matches: usize) -> String {
        let Self { source, view, .. } = self;
        let observed = &source.observed;
        let all: Vec<&MatchId> = view.ended_matches().map(|(id, _)| id).collect();
        let first = all.len().saturating_sub(max_matches);
        let match_page = |id: &&MatchId| {
            let record = referee_record(&source.root, &source.league_id, id);
            view.match_page(id, record, observed)
        };
        let matches: Vec<MatchPage> = all[first..].iter().filter_map(match_page).collect();
        let board = view.board(observed, clock::now());
        let ids = board.standings.iter().map(|row| &row.standing.player_id);
        let players = ids.filter_map(|id| view.player_page(id, observed));
        let recording = record(source, Links::File).ok();
        let recording = recording.and_then(|recording| serde_json::to_string(&recording).ok());
        report::write(&ReportContent {
            board: &board,
            players: &players.collect::<Vec<_>>(),
            matches: &matches,
            rounds: &self.rounds(board.progress.rounds, max_matches),
            recording: recording.as_deref(),
            pack: compress,
        })
    }

    /// The latest rounds that together have at most `max_matches` matches, and at least one round.
    fn rounds(&self, last: u32, max_matches: usize) -> Vec<RoundPage> {
        let each = self.view.league().schedule().matches_a_round().max(1);
        let max_rounds = (max_matches / each as usize).max(1);
        let before = u32::try_from(max_rounds).unwrap_or(u32::MAX) - 1;
        let first = last.saturating_sub(before).max(1);
        let pages = (first..=last).map(|round| self.view.round_page(round, &self.source.observed));
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
