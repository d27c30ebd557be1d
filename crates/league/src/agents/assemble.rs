//! What every agent is built of: a journal that is replayed, a desk, a post, a reception.

use std::path::Path;
use std::sync::Arc;

use league_core::machine::Machine;
use league_protocol::time::Timestamp;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::agents::RunningAgent;
use crate::agents::actor::{Actor, Handle, Observer};
use crate::agents::identity::Identity;
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
use crate::wire::deviations::Deviations;
use crate::wire::observed::Observations;
use crate::wire::outbound::{Outbound, PeerTroubles, RegistrationTroubles, WrongTokens};
use crate::wire::outbox::{LetterQueue, OutboxContext};
use crate::wire::router::{AgentService, Dispatcher, Router};
use crate::wire::transcript::Transcripts;

/// What the agents of one process share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Where files lie.
    pub(crate) root: Root,
    /// What carries letters to other agents.
    pub(crate) roads: OutboxContext,
    /// Where chance comes from.
    pub(crate) chance: Chance,
    /// What was forgiven whom.
    pub(crate) deviations: Deviations,
    /// Writes the documents under `data/`.
    pub(crate) document_writer: DocumentWriter,
    /// What is found out about other agents.
    pub(crate) observed: Observations,
    /// How many agents there are in this process.
    pub(crate) crowd: usize,
    /// What a listener takes from its callers.
    pub(crate) limits: Limits,
    /// Who may call.
    pub(crate) gate: Gate,
}

impl Shared {
    /// What agents share that keep their files here, as the configuration has it.
    pub(crate) fn new(root: Root, system: &SystemConfig, chance: Chance) -> Self {
        let roads = OutboxContext::new(AllowList::of(system));
        let (deviations, document_writer) =
            (Deviations::default(), DocumentWriter::new(root.clone()));
        let latencies = roads.latencies.clone();
        Self {
            observed: Observations::new(deviations.clone(), latencies, document_writer.clone()),
            root,
            roads,
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
    /// Its journal cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its secrets cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The journal was written by another kind of agent, or does not say how it began.
    #[error("`{path}` is not the journal of a {role}")]
    Foreign {
        /// Which file.
        path: String,
        /// What it should be.
        role: &'static str,
    },
    /// There is no journal, but something that was made from one.
    #[error("the journal `{journal}` is not there, but `{made}` is, which was made from it")]
    Lost {
        /// Which journal.
        journal: String,
        /// What was made from it.
        made: String,
    },
    /// The league cannot be held by its rules.
    #[error("the rules of the league do not fit: {0}")]
    Rules(#[from] league_core::league::RulesError),
}

/// A machine as its journal left it, and the journal.
pub(crate) struct RestoredMachine<M: Machine> {
    /// The machine.
    pub(crate) machine: M,
    /// Its journal, ready for more.
    pub(crate) journal: Journal,
}

/// Where a journal lies and how it begins.
pub(crate) struct Place<'p> {
    /// Where it lies.
    pub(crate) path: &'p Path,
    /// How safe it must be.
    pub(crate) durability: Durability,
    /// How it begins, if it is new.
    pub(crate) opening: Opening,
}

/// How a journal begins.
pub(crate) enum JournalStart<'o> {
    /// It is new: so it will begin, unless that is changed now.
    New(&'o mut Opening),
    /// It is there, and began so.
    Known(&'o Opening),
}

/// Reads a journal into a fresh machine, or begins one.
///
/// `make` makes the machine from how the journal begins, when nobody else can write it any more; `see` is shown every record, old ones too,
/// with the machine after it.
///
/// # Errors
///
/// The journal may be locked, broken, or another's.
pub(crate) fn restore<M: Machine<Event: DeserializeOwned>>(
    place: Place<'_>,
    mut make: impl FnMut(JournalStart<'_>) -> Result<M, StartError>,
    mut see: impl FnMut(u64, Timestamp, &Record<M::Event>, &M),
) -> Result<RestoredMachine<M>, StartError> {
    let Place {
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
            "`{}` ended in the middle of line {}: {} bytes that nobody was told of were cut off",
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

/// An agent that is about to work.
pub(crate) struct AgentParts<M: Machine> {
    /// The machine and its journal.
    pub(crate) restored: RestoredMachine<M>,
    /// Who it is.
    pub(crate) identity: Arc<Identity>,
    /// What is said in its matches, if it keeps a record of that.
    pub(crate) transcripts: Option<Transcripts>,
    /// What is told of agents that cannot be called.
    pub(crate) silent: PeerTroubles,
    /// Sees what happens.
    pub(crate) observer: Box<dyn Observer<M>>,
    /// What it does first.
    pub(crate) first: Vec<M::Command>,
}

/// Sets an agent to work; its door is open from now on.
pub(crate) fn settle<M, R>(
    shared: &Shared,
    parts: AgentParts<M>,
    role: impl FnOnce(Handle<M>) -> R,
) -> (RunningAgent<M>, Arc<dyn Service>)
where
    M: Machine<Event: DeserializeOwned>,
    R: AgentService,
{
    let (desk, inbox) = Handle::inbox();
    let correspondence = Arc::new(Outbound {
        wrong_tokens: WrongTokens::default(),
        unadmitted: RegistrationTroubles::default(),
        silent: parts.silent,
        identity: Arc::clone(&parts.identity),
        deviations: shared.deviations.clone(),
        transcripts: parts.transcripts,
    });
    let post = LetterQueue::new(
        shared.roads.clone(),
        shared.chance.clone(),
        correspondence,
        desk.clone(),
    );
    let quiet = post.quiet();
    let work = Actor {
        machine: parts.restored.machine,
        store: Some(Box::new(parts.restored.journal)),
        outbox: Box::new(post),
        observer: parts.observer,
    };
    let ended = tokio::spawn(work.run(inbox, parts.first));
    let role = role(desk.clone());
    let running = RunningAgent {
        desk,
        ended,
        quiet,
        identity: Arc::clone(&parts.identity),
    };
    let (deviations, root) = (shared.deviations.clone(), shared.root.clone());
    let dispatcher = Dispatcher::new(parts.identity, deviations, root, role);
    (running, Arc::new(Router::new(dispatcher)))
}
