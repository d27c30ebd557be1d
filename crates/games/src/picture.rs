//! A position drawn for spectators: rows of small texts, which the pages turn into a drawing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Seat;

/// A drawn position; a grid has rows of equal length, and an empty picture means no drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// From top to bottom.
    pub rows: Vec<PictureRow>,
}

/// One row of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureRow {
    /// What the row shows, beside it.
    pub label: Option<String>,
    /// From left to right.
    pub cells: Vec<PictureCell>,
}

/// One cell of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureCell {
    /// A few characters.
    pub text: String,
    /// Whose it is.
    pub tone: Tone,
}

/// Whose a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// It belongs to seat A.
    A,
    /// It belongs to seat B.
    B,
    /// It belongs to no seat.
    Neutral,
    /// It is there, and spectators do not see yet what it is.
    Hidden,
}

impl Picture {
    /// Makes a picture of rows.
    pub const fn of(rows: Vec<PictureRow>) -> Self {
        Self { rows }
    }

    /// Makes a picture of rows without labels.
    pub fn grid<Row: IntoIterator<Item = PictureCell>>(
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        let row = |cells: Row| PictureRow {
            label: None,
            cells: cells.into_iter().collect(),
        };
        Self::of(rows.into_iter().map(row).collect())
    }
}

impl PictureRow {
    /// Makes a row that says what it shows.
    pub fn labelled(label: impl Into<String>, cells: Vec<PictureCell>) -> Self {
        Self {
            label: Some(label.into()),
            cells,
        }
    }
}

impl PictureCell {
    /// Makes a cell.
    pub fn new(text: impl fmt::Display, tone: Tone) -> Self {
        Self {
            text: text.to_string(),
            tone,
        }
    }

    /// Makes a cell of a seat; of a seat beyond the second it is neutral.
    pub fn of_seat(seat: Seat, text: impl fmt::Display) -> Self {
        let tone = match seat {
            Seat::A => Tone::A,
            Seat::B => Tone::B,
            _ => Tone::Neutral,
        };
        Self::new(text, tone)
    }

    /// Makes a cell in which nothing is.
    pub fn empty() -> Self {
        Self::new("", Tone::Neutral)
    }

    /// Makes a cell whose content spectators do not see yet.
    pub fn hidden() -> Self {
        Self::new("?", Tone::Hidden)
    }
}
