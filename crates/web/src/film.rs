//! A league played back: its board before the first result, and what each moment changed.
//!
//! A long league is shown in fewer moments, so that a film has a bound. A moment shows what was
//! known then: what came out at the end is told at the end.

mod fold;

use league_core::league::{Event, Phase};
use league_protocol::id::MatchId;
use league_protocol::message::{MatchResult, MatchStatus};
use league_protocol::time::Timestamp;
use serde::Serialize;

use crate::gallery::{Gallery, Observed};
use crate::page::{self, Links};
use crate::parts::{Parts, Patch};
use fold::fold;
pub use fold::{Edit, Folded};

/// How many bytes the moments may have together; a film that has more is thinned out.
const MOST_BYTES: usize = 4_000_000;
/// How many they may have while the film is made.
const MOST_BYTES_OPEN: usize = 32_000_000;
/// The most moments of a film.
const MOST_FRAMES: usize = 1_000;
/// So few moments are not thinned out further.
const FEWEST_FRAMES: usize = 40;

/// A league played back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Film {
    /// The whole board before the first result.
    pub start: Patch,
    /// What each moment changed.
    pub frames: Vec<Frame<Folded>>,
}

/// A moment of a film.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frame<P> {
    /// When it was.
    pub at: String,
    /// What happened last, in words.
    pub label: String,
    /// How many results there were by then.
    pub results: u64,
    /// What it changed since the moment before.
    pub patch: P,
}

/// Makes a film out of facts.
#[derive(Debug)]
pub struct Camera<'o> {
    gallery: Gallery,
    /// What is known at the end.
    observed: &'o Observed,
    /// What is known before it.
    meanwhile: Observed,
    links: Links,
    shown: Parts,
    start: Option<Patch>,
    frames: Vec<Frame<Patch>>,
    /// Every so many results make a moment.
    stride: u64,
    results: u64,
    /// The latest result, as long as no moment shows it.
    unseen: Option<(Timestamp, String)>,
    /// When the last moment was.
    latest: Timestamp,
    bytes: usize,
}

impl<'o> Camera<'o> {
    /// Stands before an empty league.
    pub fn new(gallery: Gallery, observed: &'o Observed, links: Links) -> Self {
        Self {
            gallery,
            observed,
            meanwhile: meanwhile(observed),
            links,
            shown: Parts::default(),
            start: None,
            frames: Vec::new(),
            stride: 1,
            results: 0,
            unseen: None,
            latest: Timestamp::default(),
            bytes: 0,
        }
    }

    /// Takes in a fact.
    pub fn take_in(&mut self, event: &Event) {
        self.gallery.take_in(event);
        match event {
            Event::LeagueStarted { at } => self.begin(*at),
            Event::ResultRecorded {
                match_id,
                result,
                at,
                ..
            } => {
                self.results += 1;
                self.unseen = Some((*at, label(match_id, result)));
                if self.results.is_multiple_of(self.stride) {
                    self.shoot_unseen();
                }
            }
            Event::LeagueCompleted { at } => self.shoot(*at, "The league is over".to_owned()),
            _ => {}
        }
    }

    /// The film, up to the last fact.
    pub fn finish(mut self) -> Film {
        self.shoot_unseen();
        self.retouch();
        let start = self.start.take().unwrap_or_default();
        loop {
            let frames = fold(&start, &self.frames);
            let bytes: usize = frames.iter().map(|frame| frame.patch.size()).sum();
            if bytes <= MOST_BYTES || frames.len() <= FEWEST_FRAMES {
                return Film { start, frames };
            }
            self.thin_out();
        }
    }

    fn begin(&mut self, at: Timestamp) {
        self.shown = self.parts(at);
        self.start = Some(self.shown.whole());
    }

    fn shoot_unseen(&mut self) {
        if let Some((at, label)) = self.unseen.take() {
            self.shoot(at, label);
        }
    }

    /// The last moment shows the league as it is, also one that is not over.
    fn retouch(&mut self) {
        let Some(last) = self.frames.last_mut() else {
            return;
        };
        let board = self.gallery.board(self.observed, self.latest);
        let parts = page::board_parts(&board, &self.links);
        last.patch.then(Patch::between(&self.shown, &parts));
        self.shown = parts;
    }

    fn shoot(&mut self, at: Timestamp, label: String) {
        (self.unseen, self.latest) = (None, at);
        let parts = self.parts(at);
        let patch = Patch::between(&self.shown, &parts);
        self.bytes += patch.size();
        self.frames.push(Frame {
            at: at.to_millis_text(),
            label,
            results: self.results,
            patch,
        });
        self.shown = parts;
        let many = self.frames.len() > MOST_FRAMES || self.bytes > MOST_BYTES_OPEN;
        if many && self.frames.len() > FEWEST_FRAMES {
            self.thin_out();
        }
    }

    /// Makes one moment of every two; from now on they are half as frequent.
    fn thin_out(&mut self) {
        self.stride *= 2;
        let mut thinner: Vec<Frame<Patch>> = Vec::with_capacity(self.frames.len() / 2 + 1);
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

    fn parts(&self, at: Timestamp) -> Parts {
        let known = match self.gallery.league().phase() {
            Phase::Completed => self.observed,
            Phase::Registering | Phase::Running => &self.meanwhile,
        };
        page::board_parts(&self.gallery.board(known, at), &self.links)
    }
}

/// What may be told of a league before its end: not that everything held, nor what agents did in
/// all of it. A journal that does not hold is told of at any moment.
fn meanwhile(observed: &Observed) -> Observed {
    let broken = observed.verdict.clone().filter(|verdict| !verdict.holds);
    Observed {
        latencies: observed.latencies.clone(),
        verdict: broken,
        ..Observed::default()
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
