//! How a game begins: set up once and shared by all matches that begin the same way.

use std::fmt;
use std::sync::Arc;

use league_games::{BadSettings, Rules, Table};
use league_protocol::id::GameType;
use serde_json::Value;
use thiserror::Error;

use super::running::SEATS;

/// Why a match cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum NoTable {
    #[error("no such game is known here")]
    UnknownGame,
    #[error(transparent)]
    BadSettings(#[from] BadSettings),
}

/// The first position of a game with certain settings, and what each seat is told of it.
pub(super) struct Opening {
    game_type: GameType,
    settings: Value,
    pub(super) rules: Rules,
    pub(super) move_type: Arc<str>,
    pub(super) table: Arc<dyn Table>,
    pub(super) views: [Arc<Value>; 2],
    pub(super) options: [Arc<[Value]>; 2],
}

impl Opening {
    /// Sets a game up; refused if there is no such game or it cannot be played like this.
    pub(super) fn of(game_type: &GameType, settings: &Value) -> Result<Self, NoTable> {
        let listing = league_games::find(game_type.as_str()).ok_or(NoTable::UnknownGame)?;
        let table: Arc<dyn Table> = (listing.open)(settings)?.into();
        Ok(Self {
            game_type: game_type.clone(),
            settings: settings.clone(),
            rules: listing.rules,
            move_type: listing.rules.move_type.into(),
            views: SEATS.map(|seat| Arc::new(table.view(seat))),
            options: SEATS.map(|seat| table.options(seat).into()),
            table,
        })
    }

    /// Whether a match of this game with these settings begins so.
    pub(super) fn fits(&self, game_type: &GameType, settings: &Value) -> bool {
        self.game_type == *game_type && self.settings == *settings
    }
}

/// Says which game it is; what may be played in it is no news.
impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opening({})", self.game_type)
    }
}
