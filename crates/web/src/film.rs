//! A league played back: its board before the first result, and what each moment changed.
//!
//! A long league is shown in fewer moments, so that a film has a bound.

use league_core::league::Event;
use league_protocol::id::MatchId;
use league_protocol::message::MatchResult;
use league_protocol::time::Timestamp;
use serde::Serialize;

use crate::gallery::{Gallery, Observed};
use crate::page::{self, Links};
use crate::parts::{Parts, Patch};

/// How many bytes the moments may have together; a film that has more is thinned out.
const MOST_BYTES: usize = 3_000_000;
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
    pub frames: Vec<Frame>,
}

/// A moment of a film.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// When it was.
    pub at: String,
    /// What happened, in words.
    pub label: String,
    /// What it changed since the moment before.
    pub patch: Patch,
}

/// Makes a film out of facts.
#[derive(Debug)]
pub struct Camera<'o> {
    gallery: Gallery,
    observed: &'o Observed,
    links: Links,
    shown: Parts,
    start: Option<Patch>,
    frames: Vec<Frame>,
    /// Every so many results make a moment.
    stride: u64,
    results: u64,
    bytes: usize,
}

impl<'o> Camera<'o> {
    /// Stands before an empty league.
    pub fn new(gallery: Gallery, observed: &'o Observed, links: Links) -> Self {
        Self {
            gallery,
            observed,
            links,
            shown: Parts::default(),
            start: None,
            frames: Vec::new(),
            stride: 1,
            results: 0,
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
                if self.results.is_multiple_of(self.stride) {
                    self.shoot(*at, label(match_id, result));
                }
            }
            Event::LeagueCompleted { at } => self.shoot(*at, "The league is over".to_owned()),
            _ => {}
        }
    }

    /// The film, up to the last fact.
    pub fn finish(self) -> Film {
        Film {
            start: self.start.unwrap_or_default(),
            frames: self.frames,
        }
    }

    fn begin(&mut self, at: Timestamp) {
        self.shown = self.parts(at);
        self.start = Some(self.shown.whole());
    }

    fn shoot(&mut self, at: Timestamp, label: String) {
        let parts = self.parts(at);
        let patch = Patch::between(&self.shown, &parts);
        self.bytes += patch.size();
        self.frames.push(Frame {
            at: at.to_millis_text(),
            label,
            patch,
        });
        self.shown = parts;
        let many = self.frames.len() > MOST_FRAMES || self.bytes > MOST_BYTES;
        if many && self.frames.len() > FEWEST_FRAMES {
            self.thin_out();
        }
    }

    /// Makes one moment of every two; from now on they are half as frequent.
    fn thin_out(&mut self) {
        self.stride *= 2;
        let mut thinner: Vec<Frame> = Vec::with_capacity(self.frames.len() / 2 + 1);
        for (place, frame) in std::mem::take(&mut self.frames).into_iter().enumerate() {
            match thinner.last_mut().filter(|_| place % 2 == 1) {
                Some(before) => {
                    before.patch.then(frame.patch);
                    (before.at, before.label) = (frame.at, frame.label);
                }
                None => thinner.push(frame),
            }
        }
        self.bytes = thinner.iter().map(|frame| frame.patch.size()).sum();
        self.frames = thinner;
    }

    fn parts(&self, at: Timestamp) -> Parts {
        page::board_parts(&self.gallery.board(self.observed, at), &self.links)
    }
}

fn label(match_id: &MatchId, result: &MatchResult) -> String {
    let [a, b] = &result.players;
    match &result.winner {
        Some(winner) => {
            let loser = if winner == a { b } else { a };
            format!("{match_id}: {winner} beat {loser}")
        }
        None => format!("{match_id}: {a} and {b} drew"),
    }
}
