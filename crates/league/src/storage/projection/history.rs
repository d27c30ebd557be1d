//! A player's memory as a document.

use std::sync::Arc;

use league_core::player::Player;
use league_protocol::time::Timestamp;

use crate::storage::documents::{HistoryDocument, SCHEMA_VERSION};

/// What a player remembers that has taken in all entries up to `version`, the last one at `at`;
/// `None` until it has an id.
pub(crate) fn history(player: &Player, version: u64, at: Timestamp) -> Option<HistoryDocument> {
    Some(HistoryDocument {
        schema_version: SCHEMA_VERSION.to_owned(),
        player_id: player.player_id()?.clone(),
        last_updated: at,
        version,
        stats: *player.memory().statistics(),
        matches: player.memory().history().map(Arc::clone).collect(),
    })
}
