//! The single-writer loop that owns a machine.
//!
//! Commands come through a bounded inbox. The actor takes all waiting commands, decides and applies
//! each, writes all their events with one sync, publishes a snapshot for readers, and only then
//! releases answers and letters. Nothing is answered or sent before it is written.

use std::sync::Arc;
use std::time::Instant;

use league_core::letter::Letter;
use league_core::machine::{Machine, Persistence};
use league_protocol::time::Timestamp;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::agents::identity::{AgentInfo, InfoPublisher};
use crate::clock;
use crate::storage::record::Record;
use crate::storage::store::{Store, StoreError};
use crate::wire::metrics::JournalWrites;

/// The most requests that may wait; further callers are asked to retry later.
pub(crate) const MAX_QUEUED: usize = 8_192;
/// The most commands that share one sync.
pub(crate) const MAX_BATCH: usize = 256;

/// Observes the events of an actor and performs the side effects of the process: documents, logs,
/// tokens.
pub(crate) trait Observer<M: Machine>: Send {
    /// Returns a record that belongs in the journal directly before an event.
    fn record_before(&mut self, _event: &M::Event) -> Option<Record<M::Event>> {
        None
    }

    /// Returns records that belong in the journal whether or not an event is written: their loss in
    /// a crash of the machine is harmless.
    fn unsynced_records(&mut self) -> Vec<Record<M::Event>> {
        Vec::new()
    }

    /// Observes a record just after the machine applied it; the record is not written yet, so
    /// nothing may leave the process before [`flush`](Self::flush).
    fn observe(&mut self, sequence: u64, at: Timestamp, record: &Record<M::Event>, machine: &M);

    /// Observes an answer before it is released; may return a command to run next.
    fn answered(&mut self, _answer: &MachineAnswer<M>) -> Option<M::Command> {
        None
    }

    /// The public state.
    fn info(&self, machine: &M) -> AgentInfo;

    /// Called when all observed records are written, or when the time of [`wakeup`](Self::wakeup)
    /// has come.
    fn flush(&mut self, _at: Timestamp, _machine: &M) {}

    /// When to flush again if no command comes before.
    fn wakeup(&self) -> Option<Timestamp> {
        None
    }

    fn stop(&mut self, _at: Timestamp, _machine: &M) {}
}

/// Takes the letters of an actor.
pub(crate) trait Outbox<CorrelationId>: Send {
    /// Queues a letter for sending.
    fn post(&mut self, letter: Letter<CorrelationId>);
}

/// Sends requests to an actor.
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

pub(crate) type MachineAnswer<M> = Result<<M as Machine>::Reply, <M as Machine>::Refusal>;

type MachineQuery<M> = Box<dyn FnOnce(&M) + Send>;

type ReplySender<M> = oneshot::Sender<MachineAnswer<M>>;

enum Request<M: Machine> {
    Command {
        command: M::Command,
        back: Option<ReplySender<M>>,
    },
    Query(MachineQuery<M>),
    /// Another process writes the journal from now on.
    Fail(StoreError),
    End,
}

/// Why the actor did not accept a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ActorError {
    #[error("too many requests are waiting; try again shortly")]
    Busy,
    #[error("the agent is stopping; try again when it is back")]
    Closed,
}

impl<M: Machine> Handle<M> {
    pub(crate) fn inbox() -> (Self, Inbox<M>) {
        let (inbox, requests) = mpsc::channel(MAX_QUEUED);
        (Self { inbox }, Inbox(requests))
    }

    /// Sends a command and waits for the answer.
    ///
    /// # Errors
    ///
    /// Too many commands wait, or the agent is stopping.
    pub(crate) async fn ask(&self, command: M::Command) -> Result<MachineAnswer<M>, ActorError> {
        let (back, answer) = oneshot::channel();
        let request = Request::Command {
            command,
            back: Some(back),
        };
        self.inbox.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => ActorError::Busy,
            mpsc::error::TrySendError::Closed(_) => ActorError::Closed,
        })?;
        self.receive(answer).await
    }

    /// Waits for an answer. A request that is sent at the moment in which the actor ends may stay in
    /// the inbox, neither answered nor dropped, so the end is awaited as well.
    async fn receive<T>(&self, mut answer: oneshot::Receiver<T>) -> Result<T, ActorError> {
        tokio::select! {
            biased;
            answer = &mut answer => answer.map_err(|_| ActorError::Closed),
            () = self.inbox.closed() => answer.try_recv().map_err(|_| ActorError::Closed),
        }
    }

    /// Sends a command that must not be lost; waits for room in the inbox.
    pub(crate) async fn send(&self, command: M::Command) {
        let request = Request::Command {
            command,
            back: None,
        };
        // A stopped actor needs no commands.
        let _ = self.inbox.send(request).await;
    }

    /// Queries the machine between two commands.
    ///
    /// # Errors
    ///
    /// The agent is stopping.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&M) -> T + Send + 'static,
    ) -> Result<T, ActorError> {
        let (back, seen) = oneshot::channel();
        let request = Request::Query(Box::new(move |machine| {
            // The caller may be gone.
            let _ = back.send(query(machine));
        }));
        let sent = self.inbox.send(request).await;
        sent.map_err(|_| ActorError::Closed)?;
        self.receive(seen).await
    }

    /// Ends the actor with an error of its store, after the requests that are already waiting.
    pub(crate) async fn fail(&self, error: StoreError) {
        let _ = self.inbox.send(Request::Fail(error)).await;
    }

    /// How many commands wait; `None` once the actor has ended.
    pub(crate) fn waiting(&self) -> Option<usize> {
        let inbox = &self.inbox;
        (!inbox.is_closed()).then(|| inbox.max_capacity() - inbox.capacity())
    }

    /// Stops the actor after the requests that are already waiting.
    pub(crate) async fn stop(&self) {
        let _ = self.inbox.send(Request::End).await;
    }
}

pub(crate) struct Inbox<M: Machine>(mpsc::Receiver<Request<M>>);

/// The sole owner of a machine, with its store, observer and outbox.
pub(crate) struct Actor<M: Machine> {
    pub(crate) machine: M,
    /// Where events are stored; without a store nothing outlives the process.
    pub(crate) store: Option<Box<dyn Store<Record<M::Event>>>>,
    pub(crate) outbox: Box<dyn Outbox<M::CorrelationId>>,
    pub(crate) observer: Box<dyn Observer<M>>,
    /// Where the public state is published.
    pub(crate) info: InfoPublisher,
    pub(crate) writes: Arc<JournalWrites>,
}

/// The outcome of a batch of commands, before it is written.
struct Batch<M: Machine> {
    at: Timestamp,
    /// The sequence number before the first record.
    before: u64,
    records: Vec<Record<M::Event>>,
    /// Whether a record must survive a crash of the machine: an event of the machine is among them.
    is_decisive: bool,
    answers: Vec<(MachineAnswer<M>, Option<ReplySender<M>>)>,
    letters: Vec<Letter<M::CorrelationId>>,
    queries: Vec<MachineQuery<M>>,
}

impl<M: Machine> Actor<M> {
    /// Runs until stopped.
    ///
    /// # Errors
    ///
    /// An event cannot be written. The actor then stops at once, without answering or sending.
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
                    Request::Query(query) => batch.queries.push(query),
                    Request::Fail(error) => return Err(error),
                    Request::End => ended = true,
                }
            }
            self.tick(&mut batch);
            self.release(batch, &mut next).await?;
            if ended {
                self.observer.stop(last, &self.machine);
                return Ok(());
            }
        }
    }

    fn batch(&self, at: Timestamp) -> Batch<M> {
        Batch {
            at,
            before: self.store.as_ref().map_or(0, |store| store.last()),
            records: Vec::new(),
            is_decisive: false,
            answers: Vec::new(),
            letters: Vec::new(),
            queries: Vec::new(),
        }
    }

    fn decide(&mut self, batch: &mut Batch<M>, command: &M::Command, back: Option<ReplySender<M>>) {
        let decision = self.machine.decide(batch.at, command);
        for event in decision.events {
            self.apply(batch, event);
        }
        batch.answers.push((decision.answer, back));
    }

    fn apply(&mut self, batch: &mut Batch<M>, event: M::Event) {
        self.machine.apply(&event);
        self.machine.letters(&event, &mut batch.letters);
        if M::keep(&event) == Persistence::Memory {
            return;
        }
        // It precedes the event, so that a reader of the event has both.
        let record_before = self.observer.record_before(&event);
        for record in record_before.into_iter().chain([Record::Event(event)]) {
            self.add(batch, record);
        }
        batch.is_decisive = true;
    }

    fn add(&mut self, batch: &mut Batch<M>, record: Record<M::Event>) {
        let sequence = batch.before + batch.records.len() as u64 + 1;
        let machine = &self.machine;
        self.observer.observe(sequence, batch.at, &record, machine);
        batch.records.push(record);
    }

    /// Executes due timers, a bounded number of steps at once.
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
        mut batch: Batch<M>,
        next: &mut Vec<M::Command>,
    ) -> Result<(), StoreError> {
        for record in self.observer.unsynced_records() {
            self.add(&mut batch, record);
        }
        let records = std::mem::take(&mut batch.records);
        self.write(batch.at, records, batch.is_decisive).await?;
        for (answer, _) in &batch.answers {
            next.extend(self.observer.answered(answer));
        }
        // Readers see the written state before any answer or letter refers to it.
        self.info.publish(self.observer.info(&self.machine));
        for (answer, back) in batch.answers {
            if let Some(back) = back {
                // The caller may be gone.
                let _ = back.send(answer);
            }
        }
        for query in batch.queries {
            query(&self.machine);
        }
        for letter in batch.letters {
            self.outbox.post(letter);
        }
        self.observer.flush(batch.at, &self.machine);
        Ok(())
    }

    async fn write(
        &mut self,
        at: Timestamp,
        records: Vec<Record<M::Event>>,
        is_decisive: bool,
    ) -> Result<(), StoreError> {
        let Some(store) = self.store.as_mut().filter(|_| !records.is_empty()) else {
            return Ok(());
        };
        self.writes.note_batch(records.len());
        let append = move |store: &mut dyn Store<_>| match is_decisive {
            true => store.append(at, &records),
            false => store.append_lightly(at, &records),
        };
        // Memory of the operating system takes these at once; a thread of their own would cost more.
        if !store.waits(!is_decisive) {
            return append(store.as_mut()).map(drop);
        }
        let Some(mut store) = self.store.take() else {
            return Ok(());
        };
        let writes = Arc::clone(&self.writes);
        let written = tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            let written = append(store.as_mut());
            writes.note_sync(began.elapsed());
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

    /// When the machine or the observer is next due.
    fn wakeup(&self) -> Option<Timestamp> {
        let both = [self.machine.wakeup(), self.observer.wakeup()];
        both.into_iter().flatten().min()
    }
}

/// Waits for a request or the due time, and takes all waiting requests.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use league_core::referee::Referee;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn caller_whose_request_stays_in_the_inbox_of_an_ended_actor_is_told() {
        let (handle, inbox) = Handle::<Referee>::inbox();
        let (back, answer) = oneshot::channel::<u32>();
        drop(inbox);
        let told = tokio::time::timeout(Duration::from_secs(60), handle.receive(answer)).await;
        assert_eq!(told, Ok(Err(ActorError::Closed)));
        drop(back);
    }

    #[tokio::test]
    async fn answer_that_was_sent_before_the_end_arrives() {
        let (handle, inbox) = Handle::<Referee>::inbox();
        let (back, answer) = oneshot::channel();
        back.send(7).unwrap();
        drop(inbox);
        assert_eq!(handle.receive(answer).await, Ok(7));
    }
}
