//! The work of a league in stages, each in a function of its own.

use std::collections::BTreeMap;
use std::path::Path;

use league_core::draw::LeagueSecrets;
use league_core::league::League;
use league_core::machine::Machine as _;
use league_protocol::dialect::Hints;
use league_protocol::encode::{self, Sender, Stamp};
use league_protocol::finding::Reading;
use league_protocol::id::RefereeId;
use league_protocol::message::Message;
use league_protocol::peer::HttpReply;
use league_protocol::rpc::{self, Era, Frame, Id, Incoming};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::tools::{MANAGER_TOOLS, PLAYER_TOOLS, REFEREE_TOOLS};
use league_protocol::wire::{Context, Inbound, SentCall, read_reply, receive};
use league_testkit::league::SECRET;
use league_testkit::season::DeliveredCall;

use crate::storage::document_writer::DocumentFiles;
use crate::storage::publishers::{LeaguePublisher, RefereePublisher};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::tests::journals::{JournalEntry, Journals, league_id, write_journal};

/// Players and referees of the league.
const PLAYERS: u32 = 8;
const REFEREES: u32 = 2;
/// Its matches.
pub(crate) const MATCHES: u64 = (PLAYERS * (PLAYERS - 1) / 2) as u64;

/// Plays a league and passes it through all stages; `decide` and `apply` are counted while it is
/// played.
pub(crate) fn work() {
    let journals = Journals::played(PLAYERS, REFEREES);
    let folder = tempfile::tempdir().unwrap();
    let bodies = encode(&journals.season.calls);
    assert_eq!(decode(&journals.season.calls, &bodies), bodies.len());
    append(&journals, folder.path());
    project(&journals, &Root::new(folder.path().join("SHARED")));
}

/// A call and its answer as they are on the wire.
struct Bodies {
    request: Vec<u8>,
    answer: Vec<u8>,
}

#[inline(never)]
fn encode(calls: &[DeliveredCall]) -> Vec<Bodies> {
    let write = |call: &DeliveredCall| Bodies {
        request: rpc::request(
            1,
            call.message.tool(),
            Some(&Outgoing::of(&call.from, &call.message).0),
        )
        .unwrap(),
        answer: rpc::respond(&Id::number(1), &Outgoing::of(&call.to, &call.answer).0),
    };
    calls.iter().map(write).collect()
}

/// A message as JSON.
struct Outgoing(Box<serde_json::value::RawValue>);

impl Outgoing {
    fn of(sender: &Agent, message: &Message) -> Self {
        let conversation = encode::conversation(message, "league_manager");
        let stamp = Stamp {
            sender: Sender::Agent(sender),
            at: Timestamp::default(),
            conversation: &conversation,
            token: None,
        };
        let outgoing = encode::encode(message, Dialect::V2, stamp, &hints());
        Self(serde_json::value::to_raw_value(&outgoing).unwrap())
    }
}

fn hints() -> Hints<'static> {
    Hints::default()
}

/// Reads every call as its receiver does, and every answer as its caller does; returns how many
/// were understood.
#[inline(never)]
fn decode(calls: &[DeliveredCall], bodies: &[Bodies]) -> usize {
    let read = |(call, bodies): &(&DeliveredCall, &Bodies)| {
        let context = context(&call.to);
        let Incoming::Single(Frame::Call(frame)) = rpc::read(&bodies.request, Era::Simple) else {
            return false;
        };
        let sent = SentCall {
            id: 1,
            message: &call.message,
            dialect: Dialect::V2,
            style: CallStyle::Simple,
            player: None,
            is_kept: matches!(call.from, Agent::Referee(_)),
        };
        let reply = HttpReply {
            status: 200,
            session: None,
            body: &bodies.answer,
        };
        let answer = read_reply(&sent, &reply, &self::context(&call.from));
        matches!(receive(&frame, &context), Inbound::Message(_)) && answer.read.is_ok()
    };
    calls.iter().zip(bodies).filter(read).count()
}

fn context(reader: &Agent) -> Context<'static> {
    Context {
        reading: Reading::Lenient,
        pinned: None,
        hints: hints(),
        tools: match reader {
            Agent::Manager => &MANAGER_TOOLS,
            Agent::Referee(_) => &REFEREE_TOOLS,
            Agent::Player(_) => &PLAYER_TOOLS,
        },
        bearer: None,
        acknowledges_all: matches!(reader, Agent::Player(_)),
        reads_orders: false,
    }
}

/// Writes the journals of the manager and of the referees, one batch for every record.
#[inline(never)]
fn append(journals: &Journals, folder: &Path) {
    let entries = journals.manager().map(|(_, at, record)| (*at, record));
    write_journal(&folder.join("manager.journal"), entries);
    for number in 1..=REFEREES {
        let entries = journals.referee(number);
        let entries = entries.map(|(_, at, record)| (*at, record));
        write_journal(&folder.join(format!("{number}.journal")), entries);
    }
}

/// Makes the documents from the journals and writes them, whenever they are due.
#[inline(never)]
fn project(journals: &Journals, root: &Root) {
    let mut files = DocumentFiles::new(root.clone());
    let mut league = League::new(journals.rules().clone(), LeagueSecrets::one(SECRET)).unwrap();
    let mut of_league = LeaguePublisher::new(league_id());
    let mut of_referees = BTreeMap::<RefereeId, RefereePublisher>::new();
    for entry in &journals.entries {
        let due = match entry {
            JournalEntry::Manager((sequence, at, record)) => {
                if let Record::Event(event) = record {
                    league.apply(event);
                }
                of_league.take_in(*sequence, *at, record, &league);
                of_league.due(*at, &league)
            }
            JournalEntry::Referee(id, (sequence, at, record)) => {
                let publisher = of_referees.entry(id.clone()).or_default();
                publisher.take_in(*sequence, *at, record);
                publisher.due(*at)
            }
        };
        for publication in &due {
            files.write(publication).unwrap();
        }
    }
}
