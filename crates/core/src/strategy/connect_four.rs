//! The strategies for connect four: a search of some moves ahead (alpha-beta).

use std::sync::Arc;

use league_games::Dice;
use serde_json::Value;

use crate::player::{MatchRecord, Think};

/// How many moves `alpha_beta` looks ahead.
const FAR: u32 = 6;
/// How many moves `greedy` looks ahead: its own move and the reply.
const NEAR: u32 = 2;

const COLUMNS: u32 = 7;
const ROWS: u32 = 6;
/// The bits of a column: its cells from the bottom up, and an empty one that ends every line.
const HEIGHT: u32 = ROWS + 1;
const COLUMN: u64 = (1 << ROWS) - 1;
/// All cells, and those of the first, third and fifth row.
const BOARD: u64 = every_column(COLUMN);
const ODD_ROWS: u64 = every_column(0b01_0101);
const BOTTOM: u64 = every_column(1);
/// The columns by how much they are worth: in the middle there are more lines.
const ORDER: [u32; 7] = [3, 2, 4, 1, 5, 0, 6];
/// The columns of the middle; a disc is worth one for each of these ranges that it is in.
const MIDDLES: [u64; 3] = [columns(1, 5), columns(2, 4), columns(3, 3)];
/// The value of a win; a later win is worth one less for each move.
const WIN: i32 = 1_000;

/// Wins if it can, prevents a win of the opponent if it can, else plays near the middle.
pub(crate) fn greedy(think: &Think, _: &[Arc<MatchRecord>], dice: &mut Dice) -> Option<Value> {
    search(think, NEAR, dice)
}

/// Looks six moves ahead.
pub(crate) fn alpha_beta(think: &Think, _: &[Arc<MatchRecord>], dice: &mut Dice) -> Option<Value> {
    search(think, FAR, dice)
}

/// The best moves, the middle columns first: a good move soon leaves less of the others to search.
fn search(think: &Think, depth: u32, dice: &mut Dice) -> Option<Value> {
    let position = Position::read(&think.view)?;
    let (mut weighed, mut best) = (Vec::new(), -WIN);
    for column in ORDER {
        let option = think.options.iter().find(|option| **option == column);
        let Some((option, after)) = option.zip(position.after(column)) else {
            continue;
        };
        let worth = if has_line(after.other) {
            WIN
        } else {
            // A move that is as good as the best must be known to be so.
            -after.worth(depth - 1, [-WIN, 1 - best])
        };
        best = best.max(worth);
        weighed.push((worth, option));
    }
    weighed.sort_by_key(|(_, option)| option.as_u64());
    super::best_of(weighed, dice)
}

/// A board from the view of the side to move.
#[derive(Debug, Clone, Copy)]
struct Position {
    own: u64,
    other: u64,
}

impl Position {
    /// Reads the view of a seat; `None` if it is not a board.
    fn read(view: &Value) -> Option<Self> {
        let rows = view.get("board")?.as_array()?;
        let disc = view.get("your_disc").filter(|disc| disc.is_string())?;
        if rows.len() != ROWS as usize {
            return None;
        }
        let (mut own, mut other) = (0, 0);
        for (row, cells) in (0..ROWS).rev().zip(rows) {
            for (column, held) in (0..COLUMNS).zip(cells.as_array()?) {
                let bit = 1 << (column * HEIGHT + row);
                match held {
                    Value::Null => {}
                    held if held == disc => own |= bit,
                    _ => other |= bit,
                }
            }
        }
        Some(Self { own, other })
    }

    /// The position after a disc, from the other side's view; `None` if the column is full.
    fn after(self, column: u32) -> Option<Self> {
        let bit = self.next_cells() & (COLUMN << (column * HEIGHT));
        (bit != 0).then(|| self.with(bit))
    }

    /// The lowest free cell of each column.
    const fn next_cells(self) -> u64 {
        let taken = self.own | self.other;
        (taken + BOTTOM) & BOARD & !taken
    }

    fn with(self, bit: u64) -> Self {
        Self {
            own: self.other,
            other: self.own | bit,
        }
    }

    /// The value of the position for the side to move, exact if it is within the window. The last
    /// move has not won.
    fn worth(self, depth: u32, [mut alpha, beta]: [i32; 2]) -> i32 {
        if depth == 0 {
            return self.value();
        }
        let next = self.next_cells();
        // The sooner it is won or lost, the more moves are left to search.
        let gone = (FAR - depth) as i32;
        if completing(self.own) & next != 0 {
            return WIN - gone - 1;
        }
        // A win of the opponent must be stopped; two cannot be.
        let threats = if depth > 1 {
            completing(self.other) & next
        } else {
            0
        };
        if threats.count_ones() > 1 {
            return -WIN + gone + 2;
        }
        let (mut best, wanted) = (None, if threats == 0 { next } else { threats });
        for column in ORDER {
            let bit = wanted & (COLUMN << (column * HEIGHT));
            if bit == 0 {
                continue;
            }
            let worth = -self.with(bit).worth(depth - 1, [-beta, -alpha]);
            best = best.max(Some(worth));
            alpha = alpha.max(worth);
            if alpha >= beta {
                break;
            }
        }
        // A full board is a draw.
        best.unwrap_or(0)
    }

    /// An estimate of the position: free cells that win, and discs near the middle.
    ///
    /// When the board fills up, the side that began gets the cells of odd rows, the other side those
    /// of even rows; so these count most.
    fn value(self) -> i32 {
        let taken = self.own | self.other;
        let began = taken.count_ones().is_multiple_of(2);
        let side = |discs: u64, began: bool| {
            let own_rows = if began { ODD_ROWS } else { ODD_ROWS << 1 };
            let wins = completing(discs) & BOARD & !taken;
            let mut worth = 4 * wins.count_ones() + 12 * (wins & own_rows).count_ones();
            for middle in MIDDLES {
                worth += (discs & middle).count_ones();
            }
            worth.cast_signed()
        };
        side(self.own, began) - side(self.other, !began)
    }
}

/// These cells of a column, in every column.
const fn every_column(cells: u64) -> u64 {
    let mut all = 0;
    let mut column = 0;
    while column < COLUMNS {
        all |= cells << (column * HEIGHT);
        column += 1;
    }
    all
}

/// All cells of these columns.
const fn columns(first: u32, last: u32) -> u64 {
    BOARD & ((1 << ((last + 1) * HEIGHT)) - (1 << (first * HEIGHT)))
}

fn has_line(discs: u64) -> bool {
    [1, HEIGHT - 1, HEIGHT, HEIGHT + 1].iter().any(|step| {
        let pairs = discs & (discs >> step);
        pairs & (pairs >> (2 * step)) != 0
    })
}

/// The cells that would complete a line of four, taken ones among them.
fn completing(discs: u64) -> u64 {
    let mut cells = (discs << 1) & (discs << 2) & (discs << 3);
    for step in [HEIGHT - 1, HEIGHT, HEIGHT + 1] {
        let below = (discs << step) & (discs << (2 * step));
        let above = (discs >> step) & (discs >> (2 * step));
        cells |= below & ((discs << (3 * step)) | (discs >> step));
        cells |= above & ((discs << step) | (discs >> (3 * step)));
    }
    cells
}
