//! The table as a fact leaves it.

use std::fmt;
use std::sync::Arc;

use league_games::Table;

/// The table as a fact leaves it, worked out once: by whoever weighed the fact.
///
/// It follows from the facts before it, so that it makes no two facts different, and neither does
/// one that was lost. It may hold hidden moves: it is never written and does not print itself.
#[derive(Clone)]
pub struct Position(pub(super) Arc<dyn Table>);

impl Position {
    /// A table of its own that differs by a change.
    pub(super) fn changed(table: &dyn Table, change: impl FnOnce(&mut dyn Table)) -> Self {
        let mut own = table.shared_clone();
        // Nobody shares it yet.
        if let Some(own) = Arc::get_mut(&mut own) {
            change(own);
        }
        Self(own)
    }
}

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Position(…)")
    }
}

/// The position that goes with a fact until that is written: whoever reads it back has none.
#[derive(Debug, Clone, Default)]
pub struct Unwritten(pub(super) Option<Position>);

impl PartialEq for Unwritten {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
