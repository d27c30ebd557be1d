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
/// The columns by how much they are worth, and their values; in the middle there are more lines.
const ORDER: [(u32, u32); 7] = [(3, 3), (2, 2), (4, 2), (1, 1), (5, 1), (0, 0), (6, 0)];
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

fn search(think: &Think, depth: u32, dice: &mut Dice) -> Option<Value> {
    let position = Position::read(&think.view)?;
    let weighed = think.options.iter().filter_map(|option| {
        let column = u32::try_from(option.as_u64()?).ok()?;
        let worth = position.worth_of(column, depth, [-WIN, WIN])?;
        Some((worth, option))
    });
    super::best_of(weighed.collect(), dice)
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
        if column >= COLUMNS {
            return None;
        }
        let cells = COLUMN << (column * HEIGHT);
        let taken = self.own | self.other;
        // The lowest free cell.
        let bit = cells & !taken & (taken + (1 << (column * HEIGHT)));
        (bit != 0).then_some(Self {
            own: self.other,
            other: self.own | bit,
        })
    }

    /// The value of a move for the side to move, exact if it is within the window.
    fn worth_of(self, column: u32, depth: u32, [alpha, beta]: [i32; 2]) -> Option<i32> {
        let after = self.after(column)?;
        Some(-after.worth(depth - 1, [-beta, -alpha]))
    }

    /// The value of the position for the side to move.
    fn worth(self, depth: u32, [mut alpha, beta]: [i32; 2]) -> i32 {
        if has_line(self.other) {
            // The sooner it is lost, the more moves are left to search.
            return -WIN + (FAR - depth) as i32;
        }
        if depth == 0 {
            return self.value();
        }
        let mut best = None;
        for (column, _) in ORDER {
            let Some(worth) = self.worth_of(column, depth, [alpha, beta]) else {
                continue;
            };
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
            for (column, weight) in ORDER {
                worth += weight * (discs & (COLUMN << (column * HEIGHT))).count_ones();
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
