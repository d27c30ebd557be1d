//! Public resources about a league and an agent, each with its own address.
//!
//! All data comes from the documents under `data/`, which hide secrets until a match is over, and
//! from the agent's own log, which contains no tokens. Resources for which an agent has newer data
//! are left to its service.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use league_mcp::Template;
use league_protocol::id::{LeagueId, MatchId};
use serde_json::{Value, json};

use crate::agents::identity::Identity;
use crate::storage::documents::{
    MatchRepository, PlayerHistoryRepository, RoundsRepository, StandingsRepository,
};
use crate::storage::root::Root;

/// The longest shown text from another agent, in characters.
pub(crate) const MAX_TEXT: usize = 500;
/// How many bytes of the end of a log are shown.
pub(crate) const LOG_TAIL: u64 = 32 * 1024;
/// The most match files that are listed.
const MAX_MATCH_NAMES: usize = 10_000;

pub(crate) const STANDINGS: (&str, &str, &str) = (
    "league://standings",
    "Standings",
    "The table of the league: rank, points, wins, draws and losses of every player.",
);
pub(crate) const SCHEDULE: (&str, &str, &str) = (
    "league://schedule",
    "Schedule",
    "All rounds with their matches and players, once the league has begun.",
);
pub(crate) const ROUNDS: (&str, &str, &str) = (
    "league://rounds",
    "Rounds",
    "The rounds so far: which matches they have, how far each is, and the results.",
);
pub(crate) const CONFIG: (&str, &str, &str) = (
    "league://config",
    "Configuration",
    "The rules that this agent goes by. Holds no secrets.",
);
pub(crate) const GAMES: (&str, &str, &str) = (
    "league://games",
    "Games",
    "The games that this league manager knows: kinds of moves, valid choices, numbers of players.",
);
/// The match history of a player.
pub(crate) const HISTORY: (&str, &str, &str) = (
    "league://history",
    "History",
    "The matches that this player remembers, with what it and its opponents chose.",
);
pub(crate) const LOG: (&str, &str, &str) = (
    "log://self",
    "Log",
    "The last lines of this agent's own log.",
);
pub(crate) const TRANSCRIPTS: Template = Template {
    pattern: "match://{match_id}/transcript",
    name: "match-transcript",
    title: "Transcript of a match",
    description: "How far a match is; once it is over also what was said in it, its result and \
        how its draw came about. What the players chose is hidden until then.",
    mime_type: "application/json",
};

/// Reads the resources of one agent.
#[derive(Debug, Clone)]
pub(crate) struct ResourceReader {
    /// The root of the data files.
    pub(crate) root: Root,
    /// The agent that offers the resources.
    pub(crate) identity: Arc<Identity>,
}

impl ResourceReader {
    /// Reads the resource at an address; `None` if there is none.
    pub(crate) async fn read(&self, uri: &str) -> Option<Value> {
        let (room, uri) = (self.clone(), uri.to_owned());
        let reading = tokio::task::spawn_blocking(move || room.look_up(&uri));
        reading.await.ok()?
    }

    /// Lists the matches that have a document, in order.
    pub(crate) async fn matches(&self) -> Vec<String> {
        let Some(league) = self.identity.league() else {
            return Vec::new();
        };
        let folder = self.root.matches_folder(&league);
        let reading = tokio::task::spawn_blocking(move || names(&folder));
        reading.await.ok().and_then(Result::ok).unwrap_or_default()
    }

    fn look_up(&self, uri: &str) -> Option<Value> {
        if uri == LOG.0 {
            return Some(json!({"lines": self.log().unwrap_or_default()}));
        }
        let league = self.identity.league()?;
        if let Some(rest) = uri.strip_prefix("match://") {
            return self.transcript(league, rest.strip_suffix("/transcript")?);
        }
        let document = match uri {
            uri if uri == STANDINGS.0 => {
                let standings = StandingsRepository::new(&self.root, league);
                serde_json::to_value(standings.load().ok()?)
            }
            uri if uri == ROUNDS.0 => {
                let rounds = RoundsRepository::new(&self.root, league);
                serde_json::to_value(rounds.load().ok()?)
            }
            uri if uri == HISTORY.0 => {
                let history = PlayerHistoryRepository::new(&self.root, self.identity.player()?);
                serde_json::to_value(history.load().ok()?)
            }
            _ => return None,
        };
        document.ok()
    }

    fn transcript(&self, league: LeagueId, match_id: &str) -> Option<Value> {
        let match_id = MatchId::new(match_id).ok()?;
        let matches = MatchRepository::new(&self.root, league);
        serde_json::to_value(matches.load(&match_id).ok()??).ok()
    }

    /// The last lines of the agent's own log, each an object.
    fn log(&self) -> io::Result<Vec<Value>> {
        let file = match self.identity.agent() {
            Some(league_protocol::sender::Agent::Manager) => {
                let league = self.identity.league().ok_or(io::ErrorKind::NotFound)?;
                self.root.league_log(&league)
            }
            _ => {
                let name = format!("{}.log.jsonl", self.identity.log_name());
                self.root.agent_logs().join(name)
            }
        };
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        let skipped = length.saturating_sub(LOG_TAIL);
        file.seek(SeekFrom::Start(skipped))?;
        let mut tail = Vec::new();
        file.take(LOG_TAIL).read_to_end(&mut tail)?;
        let tail = String::from_utf8_lossy(&tail);
        // The first line may be incomplete if the log was cut.
        let lines = tail.lines().skip(usize::from(skipped > 0));
        Ok(lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }
}

/// Sanitises texts from other agents for display: bounded, and without hidden characters.
pub(crate) fn tame(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(tame_text(&text)),
        Value::Array(items) => items.into_iter().map(tame).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, value)| (tame_text(&name), tame(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

fn tame_text(text: &str) -> String {
    let shown = |letter: &char| !letter.is_control() && !is_hidden(*letter);
    let mut letters = text.chars().filter(shown);
    let mut kept: String = letters.by_ref().take(MAX_TEXT).collect();
    if letters.next().is_some() {
        kept.push('…');
    }
    kept
}

/// Whether a character is invisible or changes the text direction.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)?.take(MAX_MATCH_NAMES) {
        let name = entry?.file_name();
        if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".json")) {
            names.push(name.to_owned());
        }
    }
    names.sort_by_key(|name| (name.len(), name.clone()));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_bounded_and_hides_nothing() {
        let long = "x".repeat(MAX_TEXT + 1);
        let tamed = tame(json!({"reason": ["a\u{202e}b\u{1b}[2Jc", long, 7, null]}));
        let cut = format!("{}…", "x".repeat(MAX_TEXT));
        assert_eq!(tamed, json!({"reason": ["ab[2Jc", cut, 7, null]}));
    }
}
