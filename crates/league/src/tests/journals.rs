//! The journals and documents of a league that the test kit played, as its agents write them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::storage::document_writer::DocumentFiles;
use crate::storage::documents::TranscriptMessage;
use crate::storage::publishers::LeaguePublisher;
use crate::storage::record::{Opening, Record, Transcript};
use crate::storage::root::Root;
use crate::storage::store::{self, Durability, Journal, Store};
use league_core::draw::LeagueSecrets;
use league_core::league::{self as manager, League, LeagueRules};
use league_core::machine::Machine;
use league_core::referee;
use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::Message;
use league_protocol::time::Timestamp;
use league_testkit::league::SECRET;
use league_testkit::season::{Fact, Season};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// An entry of a journal.
pub(crate) type Entry<Event> = (u64, Timestamp, Record<Event>);

pub(crate) enum JournalEntry {
    Manager(Entry<manager::Event>),
    Referee(RefereeId, Entry<referee::Event>),
}

/// A finished league and what its agents wrote; the first line of each journal is the opening,
/// which is not among the entries.
pub(crate) struct Journals {
    pub(crate) season: Season,
    /// In the order in which they were written.
    pub(crate) entries: Vec<JournalEntry>,
}

impl Journals {
    pub(crate) fn played(players: u32, referees: u32) -> Self {
        let season = Season::played(players, referees);
        let mut manager = 1;
        let mut of_referees = BTreeMap::<RefereeId, u64>::new();
        let mut transcripts = BTreeMap::<MatchId, Vec<TranscriptMessage>>::new();
        let mut entries = Vec::new();
        for (at, fact) in &season.log {
            match fact {
                Fact::Manager(event) => {
                    manager += 1;
                    let entry = (manager, *at, Record::Event(event.clone()));
                    entries.push(JournalEntry::Manager(entry));
                }
                Fact::Referee(id, event) => {
                    let last = of_referees.entry(id.clone()).or_insert(1);
                    let mut records = vec![Record::Event(event.clone())];
                    if let referee::Event::Decided { match_id, .. } = event {
                        records.push(Record::Transcript(Transcript {
                            match_id: match_id.clone(),
                            attempt: 1,
                            messages: transcripts.remove(match_id).unwrap_or_default(),
                            opened: Vec::new(),
                        }));
                    }
                    for record in records {
                        *last += 1;
                        let entry = (*last, *at, record);
                        entries.push(JournalEntry::Referee(id.clone(), entry));
                    }
                }
                Fact::Answer {
                    referee,
                    player,
                    match_id,
                    message,
                } => {
                    let messages = transcripts.entry(match_id.clone()).or_default();
                    messages.push(transcript_message(*at, player, referee, message));
                }
            }
        }
        Self { season, entries }
    }

    pub(crate) fn rules(&self) -> &LeagueRules {
        self.season.manager.league.rules()
    }

    pub(crate) fn manager(&self) -> impl Iterator<Item = &Entry<manager::Event>> {
        self.entries.iter().filter_map(|entry| match entry {
            JournalEntry::Manager(entry) => Some(entry),
            JournalEntry::Referee(..) => None,
        })
    }

    pub(crate) fn referee(&self, number: u32) -> impl Iterator<Item = &Entry<referee::Event>> {
        let wanted = RefereeId::numbered(number);
        self.entries.iter().filter_map(move |entry| match entry {
            JournalEntry::Referee(id, entry) if *id == wanted => Some(entry),
            _ => None,
        })
    }

    /// Shows each entry of the manager with the league after it; returns the last state.
    pub(crate) fn replay(&self, each: impl FnMut(&Entry<manager::Event>, &League)) -> League {
        replay(self.rules(), self.manager(), each)
    }
}

fn replay<'entries>(
    rules: &LeagueRules,
    entries: impl IntoIterator<Item = &'entries Entry<manager::Event>>,
    mut each: impl FnMut(&Entry<manager::Event>, &League),
) -> League {
    let mut league = League::new(rules.clone(), LeagueSecrets::one(SECRET)).unwrap();
    for entry in entries {
        if let Record::Event(event) = &entry.2 {
            league.apply(event);
            each(entry, &league);
        }
    }
    league
}

fn transcript_message(
    timestamp: Timestamp,
    player: &PlayerId,
    referee: &RefereeId,
    answer: &Message,
) -> TranscriptMessage {
    TranscriptMessage {
        timestamp,
        from: format!("player:{player}"),
        to: format!("referee:{referee}"),
        message_type: answer.v2_type().unwrap().to_owned(),
        message: match answer {
            Message::MoveResponse(response) => {
                (&json!({"choice": response.choice, "nonce": response.nonce})).into()
            }
            _ => (&json!({})).into(),
        },
        verbatim: None,
        seal: None,
        resumed: false,
    }
}

pub(crate) fn league_id() -> LeagueId {
    league_testkit::referee::league()
}

pub(crate) fn opening<Event>(role: &str, rules: Option<LeagueRules>) -> Record<Event> {
    Record::Opened(Box::new(Opening {
        role: role.to_owned(),
        league_id: Some(league_id()),
        rules,
        secret: None,
        reproducible: false,
        version: "0.1.0".to_owned(),
    }))
}

/// Writes a journal with one batch for every record.
pub(crate) fn write_journal<'records, Event>(
    path: &Path,
    records: impl IntoIterator<Item = (Timestamp, &'records Record<Event>)>,
) where
    Event: Serialize + DeserializeOwned + Send + 'records,
{
    let opened = Journal::open(
        path,
        Durability::Written,
        |_: store::Entry<Record<Event>>| {},
    );
    let mut journal = opened.unwrap().accept().unwrap();
    for (at, record) in records {
        journal.append(at, std::slice::from_ref(record)).unwrap();
    }
}

/// Writes the table and the rounds as they are after these entries.
pub(crate) fn write_documents<'entries>(
    root: &Root,
    rules: &LeagueRules,
    entries: impl IntoIterator<Item = &'entries Entry<manager::Event>>,
) {
    let mut publisher = LeaguePublisher::new(league_id());
    let mut last = Timestamp::default();
    let league = replay(rules, entries, |(sequence, at, record), league| {
        publisher.take_in(*sequence, *at, record, league);
        last = *at;
    });
    let mut files = DocumentFiles::new(root.clone());
    for publication in publisher.rest(last, &league) {
        files.write(&publication).unwrap();
    }
}
