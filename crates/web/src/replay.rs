//! Replay of a league: its board before the first result, and what each frame changes.
//!
//! A long league has several results per frame, so that a recording has a bound. A frame shows only
//! what was known at that moment; final verdicts come in the last one.

use league_core::league::{Event, Phase};
use league_protocol::id::MatchId;
use league_protocol::message::{MatchResult, MatchStatus};
use league_protocol::time::Timestamp;
use serde::Serialize;

use crate::delta::{self, Delta};
use crate::league_view::{LeagueObservations, LeagueView};
use crate::page::{self, Links};
use crate::parts::{PageParts, Patch};

/// The size of all frames together; a larger recording is thinned out.
const MAX_BYTES: usize = 4_000_000;
/// Their size while the recording is made, before delta encoding.
const MAX_RAW_BYTES: usize = 32_000_000;
const MAX_FRAMES: usize = 1_000;
/// So few frames are not thinned out further.
const MIN_FRAMES: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// The whole board before the first result.
    pub start: Patch,
    pub frames: Vec<ReplayFrame<Delta>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayFrame<P> {
    pub at: String,
    /// What happened last.
    pub label: String,
    /// How many results there were by then.
    pub results: u64,
    /// What changed since the frame before.
    pub patch: P,
}

/// Makes a recording from the events of a league.
#[derive(Debug)]
pub struct Recorder<'o> {
    view: LeagueView,
    /// What is known at the end.
    observed: &'o LeagueObservations,
    /// What may be shown before the end.
    meanwhile: LeagueObservations,
    links: Links,
    shown: PageParts,
    start: Option<Patch>,
    frames: Vec<ReplayFrame<Patch>>,
    /// How many results and acts of the organiser make a frame.
    stride: u64,
    steps: u64,
    results: u64,
    /// The latest result or act, until a frame shows it.
    pending: Option<(Timestamp, String)>,
    /// When the last frame was taken.
    latest: Timestamp,
    bytes: usize,
}

impl<'o> Recorder<'o> {
    /// `view` is an empty league.
    pub fn new(view: LeagueView, observed: &'o LeagueObservations, links: Links) -> Self {
        Self {
            view,
            observed,
            meanwhile: meanwhile(observed),
            links,
            shown: PageParts::default(),
            start: None,
            frames: Vec::new(),
            stride: 1,
            steps: 0,
            results: 0,
            pending: None,
            latest: Timestamp::default(),
            bytes: 0,
        }
    }

    pub fn apply(&mut self, event: &Event) {
        self.view.apply(event);
        match event {
            Event::LeagueStarted { at } => self.begin(*at),
            Event::ResultRecorded {
                match_id,
                result,
                at,
                ..
            } => {
                self.results += 1;
                let label = match self.view.league().counted_result(match_id).note() {
                    Some(note) => format!("{}; {note}", label(match_id, result)),
                    None => label(match_id, result),
                };
                self.step(*at, label);
            }
            Event::OrganiserActed {
                act, effect, at, ..
            } if self.start.is_some() => self.step(*at, act.sentence(effect)),
            Event::LeagueCompleted { at } => self.capture(*at, "The league is over".to_owned()),
            _ => {}
        }
    }

    pub fn finish(mut self) -> Recording {
        self.capture_pending();
        self.show_final_state();
        let start = self.start.take().unwrap_or_default();
        loop {
            let frames = delta::encode(&start, &self.frames);
            let bytes: usize = frames.iter().map(|frame| frame.patch.size()).sum();
            if bytes <= MAX_BYTES || frames.len() <= MIN_FRAMES {
                return Recording { start, frames };
            }
            self.thin_out();
        }
    }

    fn begin(&mut self, at: Timestamp) {
        self.shown = self.parts(at);
        self.start = Some(self.shown.whole());
    }

    fn step(&mut self, at: Timestamp, label: String) {
        self.steps += 1;
        self.pending = Some((at, label));
        if self.steps.is_multiple_of(self.stride) {
            self.capture_pending();
        }
    }

    fn capture_pending(&mut self) {
        if let Some((at, label)) = self.pending.take() {
            self.capture(at, label);
        }
    }

    /// Lets the last frame show the present state, also of a league that is not over.
    fn show_final_state(&mut self) {
        let Some(last) = self.frames.last_mut() else {
            return;
        };
        let board = self.view.board(self.observed, self.latest);
        let parts = page::board_parts(&board, self.links);
        last.patch.then(Patch::between(&self.shown, &parts));
        self.shown = parts;
    }

    fn capture(&mut self, at: Timestamp, label: String) {
        (self.pending, self.latest) = (None, at);
        let parts = self.parts(at);
        let patch = Patch::between(&self.shown, &parts);
        self.bytes += patch.size();
        self.frames.push(ReplayFrame {
            at: at.to_millis_text(),
            label,
            results: self.results,
            patch,
        });
        self.shown = parts;
        let too_large = self.frames.len() > MAX_FRAMES || self.bytes > MAX_RAW_BYTES;
        if too_large && self.frames.len() > MIN_FRAMES {
            self.thin_out();
        }
    }

    /// Merges every two frames into one, and halves the rate of those to come.
    fn thin_out(&mut self) {
        self.stride = self.stride.saturating_mul(2);
        let mut thinner: Vec<ReplayFrame<Patch>> = Vec::with_capacity(self.frames.len() / 2 + 1);
        for (place, frame) in std::mem::take(&mut self.frames).into_iter().enumerate() {
            match thinner.last_mut().filter(|_| place % 2 == 1) {
                Some(before) => {
                    before.patch.then(frame.patch);
                    (before.at, before.label) = (frame.at, frame.label);
                    before.results = frame.results;
                }
                None => thinner.push(frame),
            }
        }
        self.bytes = thinner.iter().map(|frame| frame.patch.size()).sum();
        self.frames = thinner;
    }

    fn parts(&self, at: Timestamp) -> PageParts {
        let observed = match self.view.league().phase() {
            Phase::Completed => self.observed,
            Phase::Registering | Phase::Running => &self.meanwhile,
        };
        page::board_parts(&self.view.board(observed, at), self.links)
    }
}

/// What may be shown of a league before its end: not that everything holds, nor totals of the whole
/// league. A damaged journal is shown as such in every frame.
fn meanwhile(observed: &LeagueObservations) -> LeagueObservations {
    let broken = observed
        .verification
        .clone()
        .filter(|verification| !verification.holds);
    LeagueObservations {
        latencies: observed.latencies.clone(),
        verification: broken,
        ..LeagueObservations::default()
    }
}

fn label(match_id: &MatchId, result: &MatchResult) -> String {
    let [a, b] = &result.players;
    match &result.winner {
        Some(winner) => {
            let loser = if winner == a { b } else { a };
            format!("{match_id}: {winner} beat {loser}")
        }
        None if result.status == MatchStatus::TechnicalLoss => {
            format!("{match_id}: {a} and {b} both lost")
        }
        None => format!("{match_id}: {a} and {b} drew"),
    }
}
