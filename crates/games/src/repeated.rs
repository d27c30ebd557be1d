//! Turns in which both seats choose at once, several times in a match.
//!
//! What the choices are and what they score is left to each game.

use serde_json::{Map, Value, json};

use crate::{BadSettings, Illegal, Outcome, PictureCell, PictureRow, Seat, Turn};

/// The most turns that a match may have.
pub(crate) const MAX_TURNS: u8 = 99;

/// The choices of both seats so far.
#[derive(Debug, Clone)]
pub(crate) struct RepeatedTurns<C> {
    /// How many turns the match has.
    pub(crate) turns: u8,
    /// The complete turns, in the order of seats.
    pub(crate) made: Vec<[C; 2]>,
    /// The choices of the present turn.
    open: [Option<C>; 2],
}

impl<C: Copy> RepeatedTurns<C> {
    pub(crate) const fn new(turns: u8) -> Self {
        Self {
            turns,
            made: Vec::new(),
            open: [None; 2],
        }
    }

    fn is_over(&self) -> bool {
        self.made.len() >= usize::from(self.turns)
    }

    /// The turn of the seats that owe a choice; after the last one the higher score wins.
    pub(crate) fn turn(&self, [a, b]: [u32; 2]) -> Turn {
        if self.is_over() {
            return Turn::Over(Outcome::of_scores(a, b));
        }
        let seats = [Seat::A, Seat::B].into_iter();
        Turn::Seats(seats.filter(|&seat| self.waits_for(seat)).collect())
    }

    /// All choices for a seat that owes one.
    pub(crate) fn options(&self, seat: Seat, all: &[C]) -> Vec<C> {
        if self.waits_for(seat) {
            all.to_vec()
        } else {
            Vec::new()
        }
    }

    /// The scores, once the match is over.
    pub(crate) fn details(&self, key: &str, scores: [u32; 2]) -> Map<String, Value> {
        let scores = self.is_over().then(|| (key.to_owned(), json!(scores)));
        scores.into_iter().collect()
    }

    fn waits_for(&self, seat: Seat) -> bool {
        !self.is_over() && matches!(self.open.get(seat.index()), Some(None))
    }

    /// Takes the choice of a seat that owes one; the second of a turn completes it.
    pub(crate) fn take(&mut self, seat: Seat, choice: C) -> Result<(), Illegal> {
        if self.is_over() {
            return Err(Illegal::Over);
        }
        match self.open.get_mut(seat.index()) {
            Some(open @ None) => *open = Some(choice),
            _ => return Err(Illegal::NotYourTurn { seat }),
        }
        if let [Some(a), Some(b)] = self.open {
            self.made.push([a, b]);
            self.open = [None; 2];
        }
        Ok(())
    }

    /// A seat's choice in the present turn.
    pub(crate) fn open_choice(&self, seat: Seat) -> Option<C> {
        self.open.get(seat.index()).copied().flatten()
    }

    /// A seat's choices in the complete turns.
    pub(crate) fn choices(&self, seat: Seat) -> Vec<C> {
        let made = self.made.iter();
        made.filter_map(|turn| turn.get(seat.index()).copied())
            .collect()
    }

    /// Adds up what each complete turn scores, in the order of seats.
    pub(crate) fn score(&self, of: impl Fn([C; 2]) -> [u32; 2]) -> [u32; 2] {
        let scores = self.made.iter().map(|turn| of(*turn));
        scores.fold([0, 0], |[a, b], [more_a, more_b]| [a + more_a, b + more_b])
    }

    /// A row for each seat, its score at the end.
    pub(crate) fn rows(
        &self,
        score: [u32; 2],
        letter: impl Fn(C) -> &'static str,
    ) -> Vec<PictureRow> {
        let row = |seat: Seat| {
            let choices = self.choices(seat).into_iter();
            let cells = choices.map(|choice| PictureCell::of_seat(seat, letter(choice)));
            let total = score.get(seat.index()).copied().unwrap_or_default();
            PictureRow::labelled(format!("{seat} {total}"), cells.collect())
        };
        vec![row(Seat::A), row(Seat::B)]
    }
}

/// Refuses a match without a turn, and one that is too long.
pub(crate) fn check_turns(key: &'static str, turns: u8) -> Result<(), BadSettings> {
    if (1..=MAX_TURNS).contains(&turns) {
        return Ok(());
    }
    let problem = format!("is `{turns}` and must be 1 to {MAX_TURNS}");
    Err(BadSettings::OutOfRange { key, problem })
}
