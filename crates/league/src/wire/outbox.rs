//! Carries letters out: once each, in order for each address, as often as each letter says.
//!
//! Letters of one match to one address keep their order, and so do those of none. Letters of
//! different matches do not wait for each other, so one that hangs holds up nothing else.

mod roads;
mod subject;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use league_core::letter::{CallFailure, CallOutcome, Letter};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::peer::{PeerProfile, PeerRequest};
use league_protocol::sender::CallStyle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::agents::actor::{Handle, Outbox};
use crate::chance::Chance;
use crate::http::client::CallError;
use crate::http::endpoint::Endpoint;
use crate::wire::limiter::{MOST_WAITING, Permit, Priority};
use crate::wire::outbound::{Outbound, Understood, Written, is_owed, nod};
use crate::wire::sessions::link::{Carrier, PeerSession};
pub(crate) use roads::OutboxContext;
pub(crate) use subject::{is_application, match_of};

/// Call style for peers that declared plain JSON-RPC.
static SIMPLE: PeerProfile = PeerProfile::PLAIN;

/// Carries the letters of one agent.
pub(crate) struct LetterQueue<M: Machine> {
    office: Arc<LetterSender<M>>,
}

/// Tells when a post has nothing left to carry.
#[derive(Debug, Clone)]
pub(crate) struct OutboxIdle(watch::Receiver<usize>);

impl OutboxIdle {
    /// Waits until every letter has come to its end.
    pub(crate) async fn wait(&mut self) {
        // A post that is gone carries nothing.
        let _ = self.0.wait_for(|lines| *lines == 0).await;
    }
}

/// Letters that keep their order: an address, and a match if they belong to one.
type Line = (Arc<str>, Option<MatchId>);

struct LetterSender<M: Machine> {
    roads: OutboxContext,
    chance: Chance,
    correspondence: Arc<Outbound>,
    actor: Handle<M>,
    lines: Mutex<BTreeMap<Line, VecDeque<Letter<M::CorrelationId>>>>,
    calls: AtomicU64,
    /// How many lines have something to carry.
    busy: watch::Sender<usize>,
}

impl<M: Machine> LetterQueue<M> {
    /// A post that brings what it hears to this actor.
    pub(crate) fn new(
        roads: OutboxContext,
        chance: Chance,
        correspondence: Arc<Outbound>,
        actor: Handle<M>,
    ) -> Self {
        Self {
            office: Arc::new(LetterSender {
                roads,
                chance,
                correspondence,
                actor,
                lines: Mutex::default(),
                calls: AtomicU64::new(1),
                busy: watch::Sender::new(0),
            }),
        }
    }

    /// Tells when there is nothing left to carry.
    pub(crate) fn quiet(&self) -> OutboxIdle {
        OutboxIdle(self.office.busy.subscribe())
    }
}

impl<M: Machine> Outbox<M::CorrelationId> for LetterQueue<M> {
    fn post(&mut self, letter: Letter<M::CorrelationId>) {
        let line = (
            Arc::clone(&letter.to.endpoint),
            match_of(&letter.message).cloned(),
        );
        let mut lines = self.office.lines();
        if let Some(waiting) = lines.get_mut(&line) {
            waiting.push_back(letter);
            return;
        }
        lines.insert(line.clone(), VecDeque::new());
        drop(lines);
        self.office.busy.send_modify(|busy| *busy += 1);
        tokio::spawn(Arc::clone(&self.office).carry_line(line, letter));
    }
}

impl<M: Machine> LetterSender<M> {
    /// Carries a letter and all that come to stand behind it.
    async fn carry_line(self: Arc<Self>, line: Line, first: Letter<M::CorrelationId>) {
        let mut letter = first;
        loop {
            let outcome = self.carry(&letter).await;
            self.correspondence.log_application(&letter, &outcome);
            if let Some(correlation) = letter.correlation {
                self.actor.send(M::outcome(correlation, outcome)).await;
            }
            let mut lines = self.lines();
            let Some(next) = lines.get_mut(&line).and_then(VecDeque::pop_front) else {
                lines.remove(&line);
                drop(lines);
                self.busy.send_modify(|busy| *busy -= 1);
                return;
            };
            letter = next;
        }
    }

    async fn carry(&self, letter: &Letter<M::CorrelationId>) -> CallOutcome {
        let endpoint = self.roads.allowed.check(&letter.to.endpoint);
        let endpoint = endpoint.map_err(|error| self.correspondence.barred(letter, &error))?;
        let mut failed = 0;
        loop {
            let outcome = self.try_once(letter, &endpoint).await;
            if !self.roads.are_deserted() {
                self.correspondence.tell_trouble(letter, &outcome);
            }
            failed += 1;
            match outcome {
                Err(failure) if failure.code.retryable() && failed < letter.retry.attempts => {
                    let wait = letter.retry.backoff.wait(failed, self.chance.number());
                    tokio::time::sleep(wait).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn try_once(
        &self,
        letter: &Letter<M::CorrelationId>,
        endpoint: &Endpoint,
    ) -> CallOutcome {
        if letter.to.speech == Some(CallStyle::Simple) {
            let _pass = self.pass(letter).await?;
            let call = self.call_simply(letter, endpoint);
            return self.timed(letter, call).await;
        }
        let link = self.roads.peers.link(&letter.to, endpoint);
        if let Some(layout) = letter.to.speech.filter(|style| *style != CallStyle::Mcp) {
            link.assume(layout);
        }
        // Finding out is on nobody's clock: the letter's own begins when it goes out.
        let found = link.found().await;
        let _pass = self.pass(letter).await?;
        self.timed(letter, self.call_over(&link, found, letter))
            .await
    }

    /// Notes what comes of a letter, and how long that takes.
    async fn timed(
        &self,
        letter: &Letter<M::CorrelationId>,
        call: impl Future<Output = Tried>,
    ) -> CallOutcome {
        let began = Instant::now();
        let tried = call.await;
        let after = began.elapsed();
        match tried {
            Tried::Unsaid(outcome) => outcome,
            Tried::Heard(outcome) => {
                if outcome.is_ok() {
                    self.roads.latencies.note(&letter.to.agent, after);
                }
                self.correspondence.log_heard(letter, &outcome, after);
                outcome
            }
            Tried::Lost(error) => {
                let failure = failure(&error);
                self.correspondence.log_lost(letter, &failure, after);
                Err(failure)
            }
        }
    }

    /// Waits for its turn to go out.
    async fn pass(&self, letter: &Letter<M::CorrelationId>) -> Result<Permit, CallFailure> {
        let priority = Priority::of(&letter.message);
        let pass = self.roads.limiter.pass(priority).await;
        pass.ok_or_else(crowded)
    }

    /// Calls one who says that it takes calls simply.
    async fn call_simply(&self, letter: &Letter<M::CorrelationId>, endpoint: &Endpoint) -> Tried {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        let request = match self.written(letter, id, &SIMPLE) {
            Ok(Some(request)) => request,
            Ok(None) => return Tried::Unsaid(Ok(nod())),
            Err(failure) => return Tried::Unsaid(Err(failure)),
        };
        self.going_out(letter);
        let (client, timeout) = (&self.roads.client, letter.retry.timeout);
        match client.post(endpoint, request.body.into(), timeout).await {
            Ok(answer) => {
                let heard = self.correspondence.read(letter, id, &SIMPLE, &answer);
                if !heard.doubtful || !is_application(&letter.message) {
                    return Tried::Heard(heard.outcome);
                }
                // The manager is of another house, with other habits.
                let link = self.roads.peers.link(&letter.to, endpoint);
                link.assume(CallStyle::Tool);
                link.refuse_tools();
                let (found, until) = (link.found().await, Instant::now() + timeout);
                let other = self.call_otherwise(&link, &found, letter, until).await;
                Tried::Heard(other.unwrap_or(heard).outcome)
            }
            Err(error) => Tried::Lost(error),
        }
    }

    /// Calls one whose manner was found out, and doubts it if the answer does not fit.
    async fn call_over<C: Carrier>(
        &self,
        link: &PeerSession<C>,
        found: Arc<PeerProfile>,
        letter: &Letter<M::CorrelationId>,
    ) -> Tried {
        match self.written(letter, 0, &found) {
            Ok(Some(_)) => {}
            Ok(None) => return Tried::Unsaid(Ok(nod())),
            Err(failure) => {
                link.doubt(&found);
                return Tried::Unsaid(Err(failure));
            }
        }
        self.going_out(letter);
        let until = Instant::now() + letter.retry.timeout;
        let first = self
            .call_once(link, Arc::clone(&found), letter, until)
            .await;
        match first {
            Ok(Some((_, heard))) if heard.doubtful => {
                let other = self.call_otherwise(link, &found, letter, until).await;
                Tried::Heard(other.unwrap_or(heard).outcome)
            }
            Ok(Some((called, heard))) => {
                if heard.outcome.is_ok() && is_owed(&letter.message) {
                    link.prove(&called);
                }
                Tried::Heard(heard.outcome)
            }
            Ok(None) => Tried::Unsaid(Ok(nod())),
            Err(error) => Tried::Lost(error),
        }
    }

    /// Tries the other forms of a simple call on one who made nothing of the first (ruling 49).
    async fn call_otherwise<C: Carrier>(
        &self,
        link: &PeerSession<C>,
        found: &Arc<PeerProfile>,
        letter: &Letter<M::CorrelationId>,
        until: Instant,
    ) -> Option<Understood> {
        for other in link.other_forms(found) {
            self.correspondence.log_sent(letter);
            let called = self.call_once(link, other, letter, until).await;
            if let Ok(Some((called, heard))) = called
                && !heard.doubtful
            {
                link.prove(&called);
                return Some(heard);
            }
        }
        link.exhaust();
        link.doubt(found);
        None
    }

    /// Calls a peer in one manner; `None` if there is nothing to say in it.
    async fn call_once<C: Carrier>(
        &self,
        link: &PeerSession<C>,
        found: Arc<PeerProfile>,
        letter: &Letter<M::CorrelationId>,
        until: Instant,
    ) -> Result<Option<(Arc<PeerProfile>, Understood)>, CallError> {
        let write = |found: &PeerProfile, id| self.written(letter, id, found).ok().flatten();
        let left = until.duration_since(Instant::now());
        let called = link.call(found, left, write).await?;
        Ok(called.map(|called| {
            let read = &self.correspondence;
            let heard = read.read(letter, called.id, &called.found, &called.answer);
            let layout = called.found.layout();
            if layout == Some(CallStyle::Tool) && heard.doubtful {
                link.refuse_tools();
            }
            // Whoever is called otherwise from the first may take the name of a tool as well.
            if let Some(layout) = layout.filter(|layout| *layout != CallStyle::Tool)
                && heard.outcome.is_ok()
                && link.refuses_tools()
            {
                read.note_layout(letter, layout);
            }
            (called.found, heard)
        }))
    }

    /// A letter in words; `None` if there is nothing to say.
    fn written(
        &self,
        letter: &Letter<M::CorrelationId>,
        id: u64,
        found: &PeerProfile,
    ) -> Result<Option<PeerRequest>, CallFailure> {
        match self.correspondence.write(letter, id, found) {
            Written::Request(request) => Ok(Some(request)),
            Written::Nothing => Ok(None),
            Written::NoTool(tool) => Err(CallFailure {
                code: Code::InvalidMessage,
                detail: format!("the agent lists no tool `{tool}`"),
            }),
        }
    }

    fn going_out(&self, letter: &Letter<M::CorrelationId>) {
        self.correspondence.record(letter);
        self.correspondence.log_sent(letter);
    }

    fn lines(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<Line, VecDeque<Letter<M::CorrelationId>>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of a try.
enum Tried {
    /// There was nothing to say, or no way to say it.
    Unsaid(CallOutcome),
    /// Something came back.
    Heard(CallOutcome),
    /// Nothing came back.
    Lost(CallError),
}

fn failure(error: &CallError) -> CallFailure {
    CallFailure {
        code: match error {
            CallError::Timeout(_) => Code::Timeout,
            CallError::Connection(_) => Code::Connection,
            CallError::TooLarge => Code::InvalidMessage,
        },
        detail: error.to_string(),
    }
}

/// The end of a letter that found too many waiting before it.
fn crowded() -> CallFailure {
    CallFailure {
        code: Code::RateLimited,
        detail: format!("{MOST_WAITING} letters wait to go out already"),
    }
}
