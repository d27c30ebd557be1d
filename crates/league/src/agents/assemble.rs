//! Assembles an agent: restores its machine from the journal, then spawns its actor, outbox and
//! router.

use std::path::Path;
use std::sync::Arc;

use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::agents::RunningAgent;
use crate::agents::actor::{Actor, Handle, Observer};
use crate::agents::identity::{Identity, Unregistered};
use crate::chance::Chance;
use crate::clock;
use crate::config::SystemConfig;
use crate::http::endpoint::AllowList;
use crate::http::gate::Gate;
use crate::http::server::{Limits, Service};
use crate::storage::document_writer::DocumentWriter;
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::secrets::SecretError;
use crate::storage::store::{Durability, Journal, Store, StoreError};
use crate::wire::dispatcher::{AgentService, Dispatcher};
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
    pub(crate) limits: Limits,
    pub(crate) gate: Gate,
}

impl Shared {
    pub(crate) fn new(root: Root, system: &SystemConfig, chance: Chance) -> Self {
        let outbox = OutboxContext::new(AllowList::of(system));
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
            limits: Limits {
                body: system.limits.max_body_bytes,
                connections: system.limits.max_connections,
            },
            gate: Gate::new(system),
        }
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
    /// The journal is missing, but a document made from it exists.
    #[error("the journal `{journal}` is not there, but `{made}` is, which was made from it")]
    Lost { journal: String, made: String },
    #[error("the rules of the league do not fit: {0}")]
    Rules(#[from] league_core::league::RulesError),
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
}

/// The first record of a journal.
pub(crate) enum JournalStart<'o> {
    /// The journal is new; the record may still be changed.
    New(&'o mut Opening),
    Known(&'o Opening),
}

/// Replays a journal into a new machine, or begins a journal.
///
/// `make` creates the machine from the first record, after the journal is locked. `see` receives
/// every record, including old ones, with the machine after it.
///
/// # Errors
///
/// The journal is locked, damaged, or belongs to another kind of agent.
pub(crate) fn restore<M: Machine<Event: DeserializeOwned>>(
    place: JournalSource<'_>,
    mut make: impl FnMut(JournalStart<'_>) -> Result<M, StartError>,
    mut see: impl FnMut(u64, Timestamp, &Record<M::Event>, &M),
) -> Result<RestoredMachine<M>, StartError> {
    let JournalSource {
        path,
        durability,
        mut opening,
    } = place;
    let role = opening.role.clone();
    let foreign = || StartError::Foreign {
        path: path.display().to_string(),
        role: match role.as_str() {
            "league_manager" => "league manager",
            "referee" => "referee",
            _ => "player",
        },
    };
    let mut machine: Option<M> = None;
    let mut problem = None;
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
            _ => problem = problem.take().or_else(|| Some(foreign())),
        }
        if let Some(machine) = &machine {
            see(entry.sequence, entry.at, &record, machine);
        }
    })?;
    if let Some(problem) = problem {
        return Err(problem);
    }
    let mut journal = opened.journal;
    if let Some(cut) = opened.cut {
        tracing::warn!(
            event_type = "JOURNAL_CUT",
            "`{}` ended in the middle of line {}: {} bytes that were never acknowledged were cut off",
            path.display(),
            cut.line,
            cut.bytes
        );
    }
    let machine = match machine {
        Some(machine) => machine,
        None => {
            let (at, made) = (clock::now(), make(JournalStart::New(&mut opening))?);
            let record = Record::<M::Event>::Opened(Box::new(opening));
            let sequence = journal.append(at, std::slice::from_ref(&record))?;
            see(sequence, at, &record, &made);
            made
        }
    };
    Ok(RestoredMachine { machine, journal })
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
    pub(crate) silent: PeerTroubles,
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
        parts.silent,
    );
    let letters = LetterQueue::new(
        shared.outbox.clone(),
        shared.chance.clone(),
        Arc::new(outbound),
        actor.clone(),
    );
    let quiet = letters.quiet();
    let work = Actor {
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
    };
    let (deviations, root) = (shared.deviations.clone(), shared.root.clone());
    let dispatcher = Dispatcher::new(identity, deviations, root, role);
    (running, Arc::new(Router::new(dispatcher)))
}
