//! The one loop that owns a machine.
//!
//! Commands come through a bounded inbox. The desk takes as many as wait, decides and applies each,
//! writes all their facts with one sync, and only then lets answers and letters out. Nothing is
//! answered or sent that is not written.

use league_core::letter::Letter;
use league_core::machine::{Keep, Machine};
use league_protocol::time::Timestamp;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::clock;
use crate::storage::record::Record;
use crate::storage::store::{Store, StoreError};

/// How many commands may wait before callers are told to come back later.
pub(crate) const MAX_QUEUED: usize = 8_192;
/// How many commands share one sync.
pub(crate) const MAX_BATCH: usize = 256;

/// Sees what happens at a desk, and does what the process owes besides.
pub(crate) trait Observer<M: Machine>: Send {
    /// Adds what else belongs into the journal together with a fact, before it.
    fn record(&mut self, _event: &M::Event) -> Option<Record<M::Event>> {
        None
    }

    /// Takes in a record just as the machine has; it is not written yet, so nothing may leave
    /// before [`settle`](Self::settle).
    fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<M::Event>, machine: &M);

    /// Takes in a fact that is kept in memory alone.
    fn remember(&mut self, _at: Timestamp, _event: &M::Event) {}

    /// Sees an answer before it leaves, and may have something to bring next.
    fn replied(&mut self, _answer: &MachineAnswer<M>) -> Option<M::Command> {
        None
    }

    /// All that was taken in is written, or the moment of [`wakeup`](Self::wakeup) has come.
    fn settle(&mut self, _at: Timestamp, _machine: &M) {}

    /// When to be settled again if nothing comes before.
    fn wakeup(&self) -> Option<Timestamp> {
        None
    }

    /// The desk ends.
    fn end(&mut self, _at: Timestamp, _machine: &M) {}
}

/// Where letters go.
pub(crate) trait Outbox<CorrelationId>: Send {
    /// Takes a letter to be carried.
    fn post(&mut self, letter: Letter<CorrelationId>);
}

/// The way to a desk.
pub(crate) struct Handle<M: Machine> {
    inbox: mpsc::Sender<Request<M>>,
}

impl<M: Machine> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self {
            inbox: self.inbox.clone(),
        }
    }
}

/// What a machine says to a command.
pub(crate) type MachineAnswer<M> = Result<<M as Machine>::Reply, <M as Machine>::Refusal>;

/// A look at the machine.
type MachineQuery<M> = Box<dyn FnOnce(&M) + Send>;

/// Where a ruling is waited for.
type ReplySender<M> = oneshot::Sender<MachineAnswer<M>>;

enum Request<M: Machine> {
    Command {
        command: M::Command,
        back: Option<ReplySender<M>>,
    },
    MachineQuery(MachineQuery<M>),
    End,
}

/// Why nobody attended to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ActorError {
    /// Too many wait already.
    #[error("too many requests wait already: try again shortly")]
    Busy,
    /// The agent is about to end.
    #[error("the agent is stopping: try again when it is back")]
    Closed,
}

impl<M: Machine> Handle<M> {
    /// A desk's inbox, and the way to it.
    pub(crate) fn inbox() -> (Self, Inbox<M>) {
        let (inbox, requests) = mpsc::channel(MAX_QUEUED);
        (Self { inbox }, Inbox(requests))
    }

    /// Brings a command and waits for what the machine says.
    ///
    /// # Errors
    ///
    /// Turned away if too many wait, or if the agent is about to end.
    pub(crate) async fn ask(&self, command: M::Command) -> Result<MachineAnswer<M>, ActorError> {
        let (back, ruling) = oneshot::channel();
        let request = Request::Command {
            command,
            back: Some(back),
        };
        self.inbox.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => ActorError::Busy,
            mpsc::error::TrySendError::Closed(_) => ActorError::Closed,
        })?;
        ruling.await.map_err(|_| ActorError::Closed)
    }

    /// Brings a command that must not get lost; waits for room in the inbox.
    pub(crate) async fn bring(&self, command: M::Command) {
        let request = Request::Command {
            command,
            back: None,
        };
        // A desk that is gone needs nothing any more.
        let _ = self.inbox.send(request).await;
    }

    /// Looks at the machine as it is between two commands.
    ///
    /// # Errors
    ///
    /// The agent may be about to end.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&M) -> T + Send + 'static,
    ) -> Result<T, ActorError> {
        let (back, seen) = oneshot::channel();
        let request = Request::MachineQuery(Box::new(move |machine| {
            // Whoever asked may have gone.
            let _ = back.send(look(machine));
        }));
        let sent = self.inbox.send(request).await;
        sent.map_err(|_| ActorError::Closed)?;
        seen.await.map_err(|_| ActorError::Closed)
    }

    /// Ends the desk after what waits already.
    pub(crate) async fn end(&self) {
        let _ = self.inbox.send(Request::End).await;
    }
}

/// Where requests wait for their desk.
pub(crate) struct Inbox<M: Machine>(mpsc::Receiver<Request<M>>);

/// The desk of one agent, with all that it works with.
pub(crate) struct Actor<M: Machine> {
    /// What decides.
    pub(crate) machine: M,
    /// Where facts are kept; without it nothing outlives the process.
    pub(crate) store: Option<Box<dyn Store<Record<M::Event>>>>,
    /// Where letters go.
    pub(crate) outbox: Box<dyn Outbox<M::CorrelationId>>,
    /// Who sees it all.
    pub(crate) observer: Box<dyn Observer<M>>,
}

/// What a batch of commands came to, before it is written.
struct Batch<M: Machine> {
    at: Timestamp,
    /// The place of the record before the first.
    before: u64,
    records: Vec<Record<M::Event>>,
    rulings: Vec<(MachineAnswer<M>, Option<ReplySender<M>>)>,
    letters: Vec<Letter<M::CorrelationId>>,
    queries: Vec<MachineQuery<M>>,
}

impl<M: Machine> Actor<M> {
    /// Works until the desk is ended.
    ///
    /// # Errors
    ///
    /// Ends at once if a fact cannot be written: nobody is answered, nothing is sent.
    pub(crate) async fn run(
        mut self,
        mut inbox: Inbox<M>,
        first: Vec<M::Command>,
    ) -> Result<(), StoreError> {
        for letter in self.machine.pending() {
            self.outbox.post(letter);
        }
        let mut next = first;
        let mut last = clock::now();
        loop {
            let requests = gather(&mut inbox.0, self.wakeup(), !next.is_empty()).await;
            last = clock::now().max(last);
            let mut batch = self.batch(last);
            for command in next.drain(..) {
                self.decide(&mut batch, &command, None);
            }
            let mut ended = false;
            for request in requests {
                match request {
                    Request::Command { command, back } => self.decide(&mut batch, &command, back),
                    Request::MachineQuery(look) => batch.queries.push(look),
                    Request::End => ended = true,
                }
            }
            self.tick(&mut batch);
            self.release(batch, &mut next).await?;
            if ended {
                self.observer.end(last, &self.machine);
                return Ok(());
            }
        }
    }

    fn batch(&self, at: Timestamp) -> Batch<M> {
        Batch {
            at,
            before: self.store.as_ref().map_or(0, |store| store.last()),
            records: Vec::new(),
            rulings: Vec::new(),
            letters: Vec::new(),
            queries: Vec::new(),
        }
    }

    fn decide(&mut self, batch: &mut Batch<M>, command: &M::Command, back: Option<ReplySender<M>>) {
        let decision = self.machine.decide(batch.at, command);
        for event in decision.events {
            self.note(batch, event);
        }
        batch.rulings.push((decision.answer, back));
    }

    fn note(&mut self, batch: &mut Batch<M>, event: M::Event) {
        self.machine.apply(&event);
        self.machine.letters(&event, &mut batch.letters);
        if M::keep(&event) == Keep::Memory {
            return self.observer.remember(batch.at, &event);
        }
        // A record that belongs to a fact stands before it: whoever reads the fact has both.
        let beside = self.observer.record(&event);
        for record in beside.into_iter().chain([Record::Event(event)]) {
            let sequence = batch.before + batch.records.len() as u64 + 1;
            let machine = &self.machine;
            self.observer.take_in(sequence, batch.at, &record, machine);
            batch.records.push(record);
        }
    }

    /// Lets time do what is due, a bounded number of steps at once.
    fn tick(&mut self, batch: &mut Batch<M>) {
        for _ in 0..MAX_BATCH {
            if self.machine.wakeup().is_none_or(|due| due > batch.at) {
                return;
            }
            self.decide(batch, &M::tick(), None);
        }
    }

    async fn release(
        &mut self,
        batch: Batch<M>,
        next: &mut Vec<M::Command>,
    ) -> Result<(), StoreError> {
        self.write(batch.at, batch.records).await?;
        for (ruling, back) in batch.rulings {
            next.extend(self.observer.replied(&ruling));
            if let Some(back) = back {
                // Whoever asked may have gone.
                let _ = back.send(ruling);
            }
        }
        // Whoever queries sees only what is written.
        for look in batch.queries {
            look(&self.machine);
        }
        for letter in batch.letters {
            self.outbox.post(letter);
        }
        self.observer.settle(batch.at, &self.machine);
        Ok(())
    }

    async fn write(
        &mut self,
        at: Timestamp,
        records: Vec<Record<M::Event>>,
    ) -> Result<(), StoreError> {
        let Some(mut store) = self.store.take_if(|_| !records.is_empty()) else {
            return Ok(());
        };
        let written = tokio::task::spawn_blocking(move || {
            let written = store.append(at, &records);
            (store, written)
        });
        let (store, written) = written.await.map_err(|error| StoreError::Io {
            doing: "write",
            path: "the journal".into(),
            source: std::io::Error::other(error),
        })?;
        self.store = Some(store);
        written.map(drop)
    }

    /// When something is due, here or with the witness.
    fn wakeup(&self) -> Option<Timestamp> {
        let both = [self.machine.wakeup(), self.observer.wakeup()];
        both.into_iter().flatten().min()
    }
}

/// Waits for something to do, and takes all that is there.
async fn gather<M: Machine>(
    inbox: &mut mpsc::Receiver<Request<M>>,
    due: Option<Timestamp>,
    at_once: bool,
) -> Vec<Request<M>> {
    let mut requests = Vec::new();
    if at_once {
        while requests.len() < MAX_BATCH
            && let Ok(request) = inbox.try_recv()
        {
            requests.push(request);
        }
        return requests;
    }
    let taken = inbox.recv_many(&mut requests, MAX_BATCH);
    let Some(due) = due else {
        if taken.await == 0 {
            requests.push(Request::End);
        }
        return requests;
    };
    let wait = due.since(clock::now());
    if let Ok(0) = tokio::time::timeout(wait, taken).await {
        requests.push(Request::End);
    }
    requests
}
