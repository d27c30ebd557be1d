//! The results of a player as lines for its screen: each match, and its place in the end.

use league_core::player::{Event, MatchRecord, Player};
use league_protocol::finding::harmless;
use league_protocol::id::PlayerId;
use serde_json::json;
use tokio::sync::mpsc;

/// The most lines that wait for a screen; if its output is not read, further ones are dropped.
const MAX_LINES: usize = 256;
/// The most characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// Sends the results of a player to its screen.
#[derive(Debug, Clone)]
pub(crate) struct ResultLines {
    lines: mpsc::Sender<String>,
    json: bool,
}

impl ResultLines {
    /// The lines, as objects if `json`, and the end at which they come out.
    pub(crate) fn new(json: bool) -> (Self, mpsc::Receiver<String>) {
        let (lines, printed) = mpsc::channel(MAX_LINES);
        (Self { lines, json }, printed)
    }

    /// Takes in an event that the player has applied.
    pub(crate) fn take_in(&self, event: &Event, player: &Player) {
        match event {
            Event::Remembered { record } => self.tell_match(record, player),
            Event::LeagueCompleted { .. } => self.tell_place(player),
            _ => {}
        }
    }

    fn tell_match(&self, record: &MatchRecord, player: &Player) {
        if self.json {
            let mut object = json!(record);
            object["event"] = "match".into();
            return self.send(object.to_string());
        }
        self.send(record.line(&named(&record.opponent_id, player)));
        if let Some(advice) = record.advice() {
            let (match_id, site) = (&record.match_id, site(player));
            self.send(format!("{match_id}: {advice}; see {site}/match/{match_id}"));
        }
    }

    fn tell_place(&self, player: &Player) {
        let (Some(row), Some(rows)) = (player.standing(), player.standings()) else {
            return;
        };
        let page = format!("{}/player/{}", site(player), row.player_id);
        if self.json {
            let (rank, players, points) = (row.rank, rows.len(), row.points);
            let object = json!({
                "event": "place", "rank": rank, "players": players, "points": points, "page": page,
            });
            return self.send(object.to_string());
        }
        let unit = if row.points == 1 { "point" } else { "points" };
        let (rank, points) = (row.rank, row.points);
        let players = rows.len();
        self.send(format!("rank {rank} of {players}, {points} {unit}: {page}"));
    }

    fn send(&self, line: String) {
        // The screen may be gone, or its output not read.
        let _ = self.lines.try_send(line);
    }
}

/// The name of a player with its id; before the first standings only the id is known.
fn named(id: &PlayerId, player: &Player) -> String {
    let rows = player.standings().map(AsRef::as_ref).unwrap_or_default();
    let row = rows.iter().find(|row| row.player_id == *id);
    match row.filter(|row| !row.display_name.is_empty()) {
        Some(row) => format!("{id} {}", harmless(&row.display_name, MAX_NAME_CHARS)),
        None => id.to_string(),
    }
}

/// The address of the manager's site.
fn site(player: &Player) -> &str {
    let manager = &player.rules().manager.endpoint;
    manager.strip_suffix("/mcp").unwrap_or(manager)
}
