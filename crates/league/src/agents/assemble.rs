//! Assembles an agent: restores its machine from the journal, then spawns its actor, outbox and
//! router.

use std::path::Path;
use std::sync::Arc;

use league_core::league::Lever;
use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::agents::RunningAgent;
use crate::agents::actor::{Actor, Handle, Observer};
use crate::agents::identity::{Identity, Unregistered};
use crate::chance::Chance;
use crate::clock;
use crate::config::SystemConfig;
use crate::http::client::Client;
use crate::http::connections::Connections;
use crate::http::descriptors::Descriptors;
use crate::http::endpoint::AllowList;
use crate::http::server::{Gate, Limits, Service};
use crate::http::tls::Tls;
use crate::storage::database::Lease;
use crate::storage::document_writer::DocumentWriter;
use crate::storage::league_store::{LeagueStore, store_keys};
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::secrets::{self, SecretError};
use crate::storage::store::{Cut, Durability, Journal, Opened, Store, StoreError};
use crate::wire::dispatcher::{AgentService, Dispatcher};
use crate::wire::metrics::AgentGauges;
use crate::wire::observed::{Deviations, Observations};
use crate::wire::outbound::Outbound;
use crate::wire::outbox::{LetterQueue, OutboxContext};
use crate::wire::router::Router;
use crate::wire::transcript::Transcripts;
use crate::wire::troubles::PeerTroubles;

/// Resources that the agents of one process share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) root: Root,
    pub(crate) outbox: OutboxContext,
    pub(crate) chance: Chance,
    pub(crate) deviations: Deviations,
    pub(crate) document_writer: DocumentWriter,
    pub(crate) observed: Observations,
    /// The number of agents in this process.
    pub(crate) crowd: usize,
    /// Whether there are descriptors for the journals of all players.
    pub(crate) keeps_journals_open: bool,
    pub(crate) limits: Limits,
    pub(crate) gate: Gate,
    /// The code of the organiser that players show to join.
    pub(crate) join_code: Option<AuthToken>,
    /// The key by which referees are admitted, if one was chosen.
    pub(crate) referee_key: Option<AuthToken>,
    /// The addresses of referees that the configuration lists; only a manager asks.
    pub(crate) listed_referees: Vec<String>,
    /// The addresses of players that the configuration lists with another spelling than `v2`.
    pub(crate) listed_dialects: Vec<(String, Dialect)>,
    /// What the agent comes back with in place of its own return token: one that the organiser handed
    /// over, or the pledge of a referee that a host runs.
    pub(crate) return_token: Option<AuthToken>,
    /// The levers that a new league begins with.
    pub(crate) levers: Vec<Lever>,
    /// Where the journals of managers and referees are stored besides the folder.
    pub(crate) store: Option<LeagueStore>,
}

impl Shared {
    pub(crate) fn new(
        root: Root,
        system: &SystemConfig,
        tls: &Tls,
        chance: Chance,
        descriptors: Descriptors,
    ) -> Self {
        let incoming = descriptors.incoming(system.limits.max_connections);
        let outgoing = descriptors.outgoing(incoming);
        let client = Client::new(tls.trust.clone(), outgoing);
        let outbox = OutboxContext::new(AllowList::of(system), client, outgoing);
        let (deviations, document_writer) =
            (Deviations::default(), DocumentWriter::new(root.clone()));
        let latencies = outbox.latencies.clone();
        Self {
            observed: Observations::new(deviations.clone(), latencies, document_writer.clone()),
            root,
            outbox,
            chance,
            deviations,
            document_writer,
            crowd: 1,
            keeps_journals_open: descriptors.keeps_journals_open,
            limits: Limits {
                body: system.limits.max_body_bytes,
                connections: Connections::new(incoming),
            },
            gate: Gate::new(system, tls.server.clone()),
            join_code: system.security.join_code(),
            referee_key: system.security.referee_key(),
            listed_referees: Vec::new(),
            listed_dialects: Vec::new(),
            return_token: None,
            levers: Vec::new(),
            store: None,
        }
    }

    /// The key by which the manager of a league admits referees: the chosen one, else the one in the
    /// files of the league.
    pub(crate) fn referee_key(&self, league: &LeagueId) -> Result<AuthToken, StartError> {
        if let Some(chosen) = &self.referee_key {
            return Ok(chosen.clone());
        }
        let own = secrets::referee_key(&self.root, league, &self.chance)?;
        let Some(store) = &self.store else {
            return Ok(own);
        };
        store.share_referee_key(&self.root, league)?;
        Ok(secrets::referee_key(&self.root, league, &self.chance)?)
    }
}

/// An agent could not start.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The journal was written by another kind of agent, or lacks its first record.
    #[error("`{path}` is not the journal of a {role}")]
    Foreign { path: String, role: &'static str },
    /// The journal ends before lines that other files know of.
    #[error(
        "the journal `{journal}` ends at line {last}, and other files of the league know of line \
         {known}: lines are missing that may have been acknowledged"
    )]
    Behind {
        journal: String,
        last: u64,
        known: u64,
    },
    #[error("the rules of the league do not fit: {0}")]
    Rules(#[from] league_core::league::RulesError),
    /// A flag that the league does not take.
    #[error("{0}")]
    Lever(String),
}

/// A machine restored from its journal, and the journal.
pub(crate) struct RestoredMachine<M: Machine> {
    pub(crate) machine: M,
    pub(crate) journal: Journal,
}

/// The location of a journal, and its first record.
pub(crate) struct JournalSource<'p> {
    pub(crate) path: &'p Path,
    pub(crate) durability: Durability,
    /// The first record, if the journal is new.
    pub(crate) opening: Opening,
    /// The place in the store, if the agent has one.
    pub(crate) stored: Option<StoredJournal<'p>>,
    /// The last line that other files know of; 0 for an agent whose peers repeat what it forgot.
    pub(crate) known: u64,
}

/// A journal whose file is a copy of what a store has.
pub(crate) struct StoredJournal<'p> {
    pub(crate) root: &'p Root,
    pub(crate) lease: Lease,
}

/// The first record of a journal.
pub(crate) enum JournalStart<'o> {
    /// The journal is new; the record may still be changed.
    New(&'o mut Opening),
    Known(&'o Opening),
}

/// What a journal was replayed into.
struct ReplayedJournal<M> {
    /// Absent if the journal is new.
    machine: Option<M>,
    opened: Opened,
    /// The time of its last record.
    last: Timestamp,
}

/// Replays a journal into a new machine, or begins a journal.
///
/// `make` creates the machine from the first record, after the journal is locked. `see` receives
/// every record, including old ones, with the machine after it.
///
/// # Errors
///
/// The journal is locked, damaged, lacks lines that are known, or belongs to another kind of agent.
pub(crate) fn restore<M: Machine<Event: DeserializeOwned>>(
    place: JournalSource<'_>,
    mut make: impl FnMut(JournalStart<'_>) -> Result<M, StartError>,
    mut see: impl FnMut(u64, Timestamp, &Record<M::Event>, &M),
) -> Result<RestoredMachine<M>, StartError> {
    let JournalSource {
        path,
        durability,
        mut opening,
        stored,
        known,
    } = place;
    // Lines that the store has need not be on this disk.
    let durability = stored.as_ref().map_or(durability, |_| Durability::Written);
    let journal = (path, durability, opening.role.as_str());
    let replayed = replay(journal, &mut make, &mut see)?;
    let ReplayedJournal { opened, last, .. } = replayed;
    // Also an empty journal: a new league would replace the secrets of the old one.
    if opened.last() < known {
        return Err(StartError::Behind {
            journal: path.display().to_string(),
            last: opened.last(),
            known,
        });
    }
    let (is_new, machine) = match replayed.machine {
        Some(machine) => (false, machine),
        None => (true, make(JournalStart::New(&mut opening))?),
    };
    clock::resume_from(last);
    // From here on the journal may change: nothing refuses it any more.
    if let Some(cut) = opened.cut() {
        log_cut(path, &cut);
    }
    let mut journal = opened.accept()?;
    if let Some(StoredJournal { root, lease }) = stored {
        if is_new && lease.stream().is_manager() {
            store_keys(&lease, root)?;
        }
        journal = journal.stored_by(lease);
    }
    if is_new {
        let at = clock::now();
        let record = Record::<M::Event>::Opened(Box::new(opening));
        let sequence = journal.append(at, std::slice::from_ref(&record))?;
        see(sequence, at, &record, &machine);
    }
    Ok(RestoredMachine { machine, journal })
}

/// Reads a journal of agents of this role into a machine.
fn replay<M: Machine<Event: DeserializeOwned>>(
    (path, durability, role): (&Path, Durability, &str),
    make: &mut impl FnMut(JournalStart<'_>) -> Result<M, StartError>,
    see: &mut impl FnMut(u64, Timestamp, &Record<M::Event>, &M),
) -> Result<ReplayedJournal<M>, StartError> {
    let mut machine: Option<M> = None;
    let mut problem = None;
    let mut last = Timestamp::default();
    let opened = Journal::open(path, durability, |entry| {
        let record: Record<M::Event> = entry.fact;
        match (&record, &mut machine) {
            (Record::Opened(found), None) if found.role == role => {
                match make(JournalStart::Known(found)) {
                    Ok(made) => machine = Some(made),
                    Err(error) => problem = Some(error),
                }
            }
            (Record::Event(event), Some(machine)) => machine.apply(event),
            (Record::Transcript(_), Some(_)) => {}
            _ => problem = problem.take().or_else(|| Some(foreign(path, role))),
        }
        last = entry.at;
        if let Some(machine) = &machine {
            see(entry.sequence, entry.at, &record, machine);
        }
    })?;
    match problem {
        Some(problem) => Err(problem),
        None => Ok(ReplayedJournal {
            machine,
            opened,
            last,
        }),
    }
}

/// The error for the journal of another kind of agent.
fn foreign(path: &Path, role: &str) -> StartError {
    StartError::Foreign {
        path: path.display().to_string(),
        role: match role {
            "league_manager" => "league manager",
            "referee" => "referee",
            _ => "player",
        },
    }
}

fn log_cut(path: &Path, cut: &Cut) {
    tracing::warn!(
        event_type = "JOURNAL_CUT",
        "`{}` ended in the middle of line {}: {} bytes were cut off; they were acknowledged only if \
         the disk lost what it had written",
        path.display(),
        cut.line,
        cut.bytes
    );
}

/// The parts of an agent.
pub(crate) struct AgentParts<M: Machine> {
    pub(crate) restored: RestoredMachine<M>,
    pub(crate) unregistered: Unregistered,
    /// The league that it wants to enter, and its dialect there.
    pub(crate) bound_for: Option<(LeagueId, Dialect)>,
    /// The transcripts of its matches, if it keeps them.
    pub(crate) transcripts: Option<Transcripts>,
    /// Reported troubles with peers.
    pub(crate) troubles: PeerTroubles,
    pub(crate) observer: Box<dyn Observer<M>>,
    /// The first commands for the machine.
    pub(crate) first: Vec<M::Command>,
}

/// Spawns the actor of an agent; from then on its service answers calls.
pub(crate) fn spawn<M, R>(
    shared: &Shared,
    parts: AgentParts<M>,
    role: impl FnOnce(Handle<M>, &Arc<Identity>) -> R,
) -> (RunningAgent<M>, Arc<dyn Service>)
where
    M: Machine<Event: DeserializeOwned>,
    R: AgentService,
{
    let (actor, inbox) = Handle::inbox();
    let first_info = parts.observer.info(&parts.restored.machine);
    let (info, identity) = Identity::new(parts.unregistered, first_info);
    let identity = Arc::new(match parts.bound_for {
        Some((league, dialect)) => identity.bound_for(league, dialect),
        None => identity,
    });
    let outbound = Outbound::new(
        Arc::clone(&identity),
        shared.deviations.clone(),
        parts.transcripts,
        parts.troubles,
    );
    let letters = LetterQueue::new(
        shared.outbox.clone(),
        shared.chance.clone(),
        Arc::new(outbound),
        actor.clone(),
    );
    let quiet = letters.quiet();
    if let Some(lease) = parts.restored.journal.lease() {
        let (replaced, actor) = (lease.replaced(), actor.clone());
        tokio::spawn(async move {
            if let Some(error) = replaced.await {
                actor.fail(error.into()).await;
            }
        });
    }
    let around = (
        shared.outbox.clone(),
        shared.limits.connections.clone(),
        parts.restored.journal.lease().map(Lease::state),
    );
    let gauges = AgentGauges::of(actor.clone(), quiet.clone(), around);
    let work = Actor {
        writes: Arc::clone(&gauges.journal),
        machine: parts.restored.machine,
        store: Some(Box::new(parts.restored.journal)),
        outbox: Box::new(letters),
        observer: parts.observer,
        info,
    };
    let ended = tokio::spawn(work.run(inbox, parts.first));
    let role = role(actor.clone(), &identity);
    let running = RunningAgent {
        actor,
        ended,
        quiet,
        identity: Arc::clone(&identity),
        hand_in: None,
    };
    let (deviations, root) = (shared.deviations.clone(), shared.root.clone());
    let dispatcher = Dispatcher::new(identity, deviations, root, gauges, role);
    (running, Arc::new(Router::new(dispatcher)))
}
