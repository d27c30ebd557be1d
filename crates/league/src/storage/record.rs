//! The entries of a journal: its opening, the events of its state machine, and match transcripts.

use std::ops::ControlFlow;
use std::path::Path;

use league_core::league::{Event, LeagueRules};
use league_protocol::id::{LeagueId, MatchId};
use serde::{Deserialize, Serialize};

use crate::storage::documents::{MessageText, TranscriptMessage, Verbatim};
use crate::storage::store::{Entry, read_backwards};

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record<Fact> {
    /// The opening of the journal; always the first entry, and only the first.
    Opened(Box<Opening>),
    /// An event of the state machine.
    Event(Fact),
    /// The messages of a match since the last such entry; only in a referee's journal. A message
    /// that shows what the rules hide is a hash until the match is decided.
    Transcript(Transcript),
}

/// The opening of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// `league_manager`, `referee` or `player`.
    pub(crate) role: String,
    /// The league, for agents that keep one journal per league.
    pub(crate) league_id: Option<LeagueId>,
    /// The rules of the league; only in the manager's journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<LeagueRules>,
    /// The fingerprint of the league's secret, which does not reveal it; only in the manager's
    /// journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// Whether all randomness came from a given seed, so that the league can be repeated.
    pub(crate) reproducible: bool,
    /// The version of the program.
    pub(crate) version: String,
}

impl Opening {
    /// The opening of a journal that does not belong to a league.
    pub(crate) fn of(role: &str, reproducible: bool) -> Self {
        Self {
            role: role.to_owned(),
            league_id: None,
            rules: None,
            secret: None,
            reproducible,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Messages of a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Transcript {
    pub(crate) match_id: MatchId,
    pub(crate) attempt: u32,
    pub(crate) messages: Vec<TranscriptMessage>,
    /// Messages that stood there as hashes so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) opened: Vec<OpenedMessage>,
}

/// A message whose hash was written before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenedMessage {
    /// Its place among the messages of the attempt, from 0.
    pub(crate) place: usize,
    /// The salt of the hash, in hex.
    pub(crate) salt: String,
    pub(crate) message: MessageText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verbatim: Option<Verbatim>,
}

/// Whether the league with this journal is over; false if there is no readable journal.
///
/// Reads the journal backwards, only as far as necessary.
pub(crate) fn is_over(journal: &Path) -> bool {
    let mut over = false;
    let read = read_backwards(journal, |entry: Entry<Record<Event>>| match entry.fact {
        // An agent may come back after the end, a referee may contradict itself, and the organiser
        // may decide on a result.
        Record::Event(
            Event::AgentReturned { .. }
            | Event::OrganiserActed { .. }
            | Event::ReportConflicted { .. }
            | Event::ReportRefused { .. }
            | Event::LossAccepted { .. },
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
    use league_protocol::time::Timestamp;

    use super::*;
    use crate::storage::store::{Durability, Journal, Store};

    fn is_over_after(events: &[Event]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let opened = Journal::open(&path, Durability::Written, |_: Entry<Record<Event>>| {});
        let mut journal = opened.unwrap().accept().unwrap();
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
