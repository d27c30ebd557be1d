//! What stands in a journal: how it began, the facts of its machine, and what was said in matches.

use std::ops::ControlFlow;
use std::path::Path;

use league_core::league::{Event, LeagueRules};
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::storage::store::{Entry, read_backwards};

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record<Fact> {
    /// How the journal began; always the first entry, and only that.
    Opened(Box<Opening>),
    /// A fact of the machine.
    Event(Fact),
    /// What was said in a match since the last such entry, once it is decided; only in a referee's
    /// journal.
    Transcript(Transcript),
}

/// How a journal began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// `league_manager`, `referee` or `player`.
    pub(crate) role: String,
    /// The league, for those that keep a journal for each.
    pub(crate) league_id: Option<LeagueId>,
    /// The rules of the league; the manager alone writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<LeagueRules>,
    /// Tells the secret of the league from any other, without telling it; the manager alone
    /// writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// Whether all chance came from a seed that was given, so that the league can be played again.
    pub(crate) reproducible: bool,
    /// The version of the program.
    pub(crate) version: String,
}

/// What was said in a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Transcript {
    /// Which match.
    pub(crate) match_id: MatchId,
    /// Which attempt at it.
    pub(crate) attempt: u32,
    /// The messages, oldest first.
    pub(crate) messages: Vec<Said>,
}

/// A message as the record of a match keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Said {
    /// When.
    pub(crate) timestamp: Timestamp,
    /// Who said it.
    pub(crate) from: String,
    /// To whom.
    pub(crate) to: String,
    /// What kind of message it is.
    pub(crate) message_type: String,
    /// The message as it was read, without tokens; nothing if it was too long to be kept, or could
    /// not be read.
    pub(crate) message: Value,
    /// What was really said, where it was read as something else or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verbatim: Option<Verbatim>,
}

/// What was really said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verbatim {
    /// The beginning of it, with secrets masked and U+FFFD for bytes that are no text; nothing if it
    /// came with an HTTP status that says that something broke, or if it is not certain that no
    /// secret is left in it.
    pub(crate) text: Option<String>,
    /// How many bytes there were.
    pub(crate) bytes: u64,
    /// Whether the text goes on where it ends here.
    pub(crate) cut: bool,
    /// Why it could not be read; nothing if it was read as the message beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// Whether the league with this journal is over; not if there is no journal, or none that can be
/// read.
///
/// Reads the journal from its end as far as it takes to know.
pub(crate) fn is_over(journal: &Path) -> bool {
    let mut over = false;
    let read = read_backwards(journal, |entry: Entry<Record<Event>>| match entry.fact {
        // An agent may return after the end, and a referee may contradict itself.
        Record::Event(
            Event::AgentReturned { .. }
            | Event::ReportConflicted { .. }
            | Event::ReportRefused { .. },
        ) => ControlFlow::Continue(()),
        Record::Event(Event::LeagueCompleted { .. }) => {
            over = true;
            ControlFlow::Break(())
        }
        _ => ControlFlow::Break(()),
    });
    read.is_ok() && over
}

#[cfg(test)]
mod tests {
    use league_core::league::ReportProblem;
    use league_protocol::id::RefereeId;

    use super::*;
    use crate::storage::store::{Durability, Journal, Store};

    fn is_over_after(events: &[Event]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let opened = Journal::open(&path, Durability::Written, |_: Entry<Record<Event>>| {});
        let mut journal = opened.unwrap().journal;
        for event in events {
            let fact = Record::Event(event.clone());
            journal.append(Timestamp::default(), &[fact]).unwrap();
        }
        is_over(&path)
    }

    #[test]
    fn league_is_over_once_it_is_completed_even_if_a_report_is_refused_later() {
        let at = Timestamp::default();
        let closed = Event::RoundClosed { round: 3, at };
        let completed = Event::LeagueCompleted { at };
        let refused = Event::ReportRefused {
            match_id: MatchId::new("R1M1").unwrap(),
            referee: RefereeId::numbered(1),
            digest: "league_completed".to_owned(),
            problem: ReportProblem::League(LeagueId::new("other").unwrap()),
            at,
        };
        assert!(!is_over_after(&[]));
        assert!(!is_over_after(&[closed.clone(), refused.clone()]));
        assert!(is_over_after(&[closed.clone(), completed.clone()]));
        assert!(is_over_after(&[closed, completed, refused]));
        assert!(!is_over(Path::new("no such journal")));
    }
}
