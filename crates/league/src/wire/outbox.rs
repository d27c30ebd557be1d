//! The outbox: sends letters in order, and retries each letter as often as it specifies.
//!
//! Letters of one match to one address keep their order, and so do letters without a match. Letters
//! of different matches do not wait for each other, so a hanging call delays only its own match.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use league_core::letter::{CallFailure, CallOutcome, Letter};
use league_core::machine::Machine;
use league_core::timeouts::Backoff;
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::message::{Message, StartMatch};
use league_protocol::peer::PeerProfile;
use league_protocol::sender::CallStyle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::agents::actor::{Handle, Outbox};
use crate::chance::Chance;
use crate::http::client::{CallError, Client};
use crate::http::endpoint::{AllowList, Endpoint};
use crate::wire::limiter::{Limiter, MAX_IN_FLIGHT, Permit, Priority};
use crate::wire::observed::Latencies;
use crate::wire::outbound::{EncodedLetter, LetterReply, Outbound, acknowledged};
use crate::wire::sessions::{Carrier, PeerSession, Sessions};

/// What the outboxes of one process share.
#[derive(Clone)]
pub(crate) struct OutboxContext {
    /// Calls peers that declared plain JSON-RPC.
    pub(crate) client: Client,
    /// Detects the call style of all other peers.
    pub(crate) sessions: Sessions,
    /// Bounds the calls in flight.
    pub(crate) limiter: Limiter,
    pub(crate) allowed: AllowList,
    pub(crate) latencies: Latencies,
    /// Whether the agents of this process are about to stop.
    closing: Arc<AtomicBool>,
}

impl OutboxContext {
    /// For agents that call others by this client, over so many connections at once.
    pub(crate) fn new(allowed: AllowList, client: Client, connections: usize) -> Self {
        Self {
            sessions: Sessions::new(client.clone()),
            client,
            limiter: Limiter::new(MAX_IN_FLIGHT.min(connections)),
            allowed,
            latencies: Latencies::default(),
            closing: Arc::default(),
        }
    }

    /// The agents of this process are about to stop, so their silence is not reported.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }
}

/// How often a letter is kept back because this machine cannot call; nobody is blamed for that.
const MAX_POSTPONED: u32 = 9;
/// How long it is kept back each time, about a minute in all.
const LOCAL_BACKOFF: Backoff = Backoff::Exponential(Duration::from_millis(200));

/// The profile of peers that declared plain JSON-RPC.
static PLAIN: PeerProfile = PeerProfile::PLAIN;

/// Signals when an outbox is empty.
#[derive(Debug, Clone)]
pub(crate) struct OutboxIdle(watch::Receiver<usize>);

impl OutboxIdle {
    pub(crate) fn is_idle(&self) -> bool {
        self.lines() == 0
    }

    /// How many lines have letters.
    pub(crate) fn lines(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until no letter is left.
    pub(crate) async fn wait(&mut self) {
        // A dropped outbox is empty.
        let _ = self.0.wait_for(|lines| *lines == 0).await;
    }
}

/// Letters that keep their order: an address, and the match if there is one.
type Line = (Arc<str>, Option<MatchId>);

/// The outbox of one agent.
pub(crate) struct LetterQueue<M: Machine> {
    context: OutboxContext,
    chance: Chance,
    outbound: Arc<Outbound>,
    actor: Handle<M>,
    lines: Mutex<BTreeMap<Line, VecDeque<Letter<M::CorrelationId>>>>,
    calls: AtomicU64,
    /// The number of lines that have letters.
    busy: watch::Sender<usize>,
}

impl<M: Machine> LetterQueue<M> {
    /// An outbox that delivers replies to this actor.
    pub(crate) fn new(
        context: OutboxContext,
        chance: Chance,
        outbound: Arc<Outbound>,
        actor: Handle<M>,
    ) -> Arc<Self> {
        Arc::new(Self {
            context,
            chance,
            outbound,
            actor,
            lines: Mutex::default(),
            calls: AtomicU64::new(1),
            busy: watch::Sender::new(0),
        })
    }

    pub(crate) fn quiet(&self) -> OutboxIdle {
        OutboxIdle(self.busy.subscribe())
    }
}

impl<M: Machine> Outbox<M::CorrelationId> for Arc<LetterQueue<M>> {
    fn post(&mut self, letter: Letter<M::CorrelationId>) {
        let line = (
            Arc::clone(&letter.to.endpoint),
            letter.message.match_id().cloned(),
        );
        let mut lines = self.lines();
        if let Some(waiting) = lines.get_mut(&line) {
            waiting.push_back(letter);
            return;
        }
        lines.insert(line.clone(), VecDeque::new());
        drop(lines);
        self.busy.send_modify(|busy| *busy += 1);
        tokio::spawn(Arc::clone(self).carry_line(line, letter));
    }
}

impl<M: Machine> LetterQueue<M> {
    /// Sends a letter and all letters queued behind it.
    async fn carry_line(self: Arc<Self>, line: Line, first: Letter<M::CorrelationId>) {
        let mut letter = first;
        loop {
            let outcome = self.carry(&letter).await;
            self.outbound
                .registration
                .log(&self.outbound.identity, &letter, &outcome);
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
        let styled = self.with_styles(letter);
        let letter = styled.as_ref().unwrap_or(letter);
        let endpoint = match self.context.allowed.check(&letter.to.endpoint) {
            Ok(endpoint) => endpoint,
            Err(error) => {
                let refused = Err(CallFailure::refused(error.to_string()));
                let outbound = &self.outbound;
                outbound.troubles.note(&outbound.identity, letter, &refused);
                return refused;
            }
        };
        let (mut failed, mut postponed) = (0, 0);
        loop {
            let outcome = self.try_once(letter, &endpoint).await;
            if outcome.as_ref().is_err_and(CallFailure::is_local) {
                // A letter of one attempt has a deadline, which its machine keeps.
                if letter.retry.attempts == 1 || postponed == MAX_POSTPONED || self.is_closing() {
                    return outcome;
                }
                postponed += 1;
                let wait = LOCAL_BACKOFF.wait(postponed, self.chance.number());
                tokio::time::sleep(wait).await;
                continue;
            }
            if !self.is_closing() {
                self.outbound
                    .troubles
                    .note(&self.outbound.identity, letter, &outcome);
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

    /// The same order, which tells the referee the call styles of the players as far as they are
    /// known, so that each player is probed once and not by every referee.
    fn with_styles(&self, letter: &Letter<M::CorrelationId>) -> Option<Letter<M::CorrelationId>> {
        let Message::StartMatch(order) = &letter.message else {
            return None;
        };
        let mut order = StartMatch::clone(order);
        for player in &mut order.players {
            let known = || self.context.sessions.style(&player.endpoint);
            player.speech = player.speech.or_else(known);
        }
        Some(Letter {
            to: Arc::clone(&letter.to),
            message: Message::StartMatch(Arc::new(order)),
            credential: letter.credential.clone(),
            retry: letter.retry,
            proof: letter.proof,
            // The letter itself tells the outcome.
            correlation: None,
        })
    }

    fn is_closing(&self) -> bool {
        self.context.is_closing()
    }

    async fn try_once(
        &self,
        letter: &Letter<M::CorrelationId>,
        endpoint: &Endpoint,
    ) -> CallOutcome {
        let manager = self.context.sessions.foreign_manager(&letter.to);
        if letter.to.speech == Some(CallStyle::Simple) && manager.is_none() {
            let _permit = self.permit(letter).await?;
            let call = self.call_plain(letter, endpoint);
            return self.timed(letter, late_grace(letter), call).await;
        }
        let session = manager.unwrap_or_else(|| {
            let session = self.context.sessions.session(&letter.to, endpoint);
            if let Some(layout) = letter.to.speech.filter(|style| *style != CallStyle::Mcp) {
                session.assume(layout);
            }
            session
        });
        // Boxed, as all that peers of other styles need: the task of each letter has the room of its
        // largest future, and is moved.
        Box::pin(self.try_in_session(letter, &session)).await
    }

    /// Tries once to call a peer whose style is to be found out, or is not the usual one.
    async fn try_in_session<C: Carrier>(
        &self,
        letter: &Letter<M::CorrelationId>,
        session: &PeerSession<C>,
    ) -> CallOutcome {
        // A reply to a call by tool name may tell the style of a peer, without further questions.
        if letter.to.speech.is_none() && letter.message != Message::Ping && session.is_unknown() {
            let _permit = self.permit(letter).await?;
            let call = self.call_unknown(session, letter);
            return self.timed(letter, None, call).await;
        }
        // Detection has its own budget: the timeout of the letter starts when it is sent.
        let profile = session.profile().await;
        let _permit = self.permit(letter).await?;
        let grace = late_grace(letter).filter(|_| profile.layout().is_some());
        let call = self.call_in_session(session, profile, letter);
        self.timed(letter, grace, call).await
    }

    /// Records the outcome of a letter and its latency. If late answers are heard, the machine
    /// learns of the silence at the deadline, and then of the answer.
    async fn timed(
        &self,
        letter: &Letter<M::CorrelationId>,
        grace: Option<Duration>,
        call: impl Future<Output = Attempt>,
    ) -> CallOutcome {
        let began = Instant::now();
        let mut call = pin!(call);
        let on_time = match grace {
            Some(_) => tokio::time::timeout(letter.retry.timeout, call.as_mut()).await,
            None => Ok(call.as_mut().await),
        };
        let tried = match on_time {
            Ok(tried) => tried,
            Err(_) => {
                let silence = failure(&CallError::Timeout(letter.retry.timeout));
                if let Some(correlation) = letter.correlation.clone() {
                    self.actor.send(M::outcome(correlation, Err(silence))).await;
                }
                call.await
            }
        };
        let after = began.elapsed();
        match tried {
            Attempt::NotSent(outcome) => outcome,
            Attempt::Replied(outcome) => {
                if outcome.is_ok() {
                    self.context.latencies.note(&letter.to.agent, after);
                }
                self.outbound.log_reply(letter, &outcome, after);
                outcome
            }
            Attempt::Lost(error) => {
                let failure = failure(&error);
                self.outbound.log_lost(letter, &failure, after);
                Err(failure)
            }
        }
    }

    /// Waits for a permit to send.
    async fn permit(&self, letter: &Letter<M::CorrelationId>) -> Result<Permit, CallFailure> {
        let priority = Priority::of(&letter.message);
        let permit = self.context.limiter.permit(priority);
        if letter.retry.attempts > 1 {
            return permit.await.ok_or_else(crowded);
        }
        // The deadline of its machine runs meanwhile, and is the receiver's.
        let permit = tokio::time::timeout(letter.retry.timeout / 4, permit).await;
        permit.ok().flatten().ok_or_else(crowded)
    }

    /// Calls a peer that declared plain JSON-RPC.
    async fn call_plain(&self, letter: &Letter<M::CorrelationId>, endpoint: &Endpoint) -> Attempt {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        let encoded = match self.outbound.encode(letter, &PLAIN) {
            Ok(Some(encoded)) => encoded,
            Ok(None) => return Attempt::NotSent(Ok(acknowledged())),
            Err(failure) => return Attempt::NotSent(Err(failure)),
        };
        let Some(request) = self.outbound.request(letter, &encoded, id, &PLAIN) else {
            return Attempt::NotSent(Ok(acknowledged()));
        };
        self.record_sent(letter, &encoded);
        let timeout = letter.retry.timeout + late_grace(letter).unwrap_or_default();
        let client = &self.context.client;
        match client.post(endpoint, request.body.into(), timeout).await {
            Ok(answer) => {
                let reply = self.outbound.read(letter, id, PLAIN.style, &answer);
                if !reply.doubtful || !letter.message.is_registration() {
                    return Attempt::Replied(reply.outcome);
                }
                // The manager may be a foreign implementation with another call layout.
                let call = LetterCall { letter, encoded };
                Box::pin(self.call_foreign_manager(endpoint, &call, reply)).await
            }
            Err(error) => Attempt::Lost(error),
        }
    }

    /// Registers with a manager that did not understand the usual call.
    async fn call_foreign_manager(
        &self,
        endpoint: &Endpoint,
        call: &LetterCall<'_, M::CorrelationId>,
        reply: LetterReply,
    ) -> Attempt {
        let letter = call.letter;
        let session = self.context.sessions.session(&letter.to, endpoint);
        session.assume(CallStyle::Tool);
        session.refuse_tools();
        let timeout = letter.retry.timeout + late_grace(letter).unwrap_or_default();
        let (profile, until) = (session.profile().await, Instant::now() + timeout);
        let other = self
            .try_layouts(&session, &profile, call, &reply, until)
            .await;
        match other {
            Some(other) => Attempt::Replied(other.outcome),
            None => self.try_mcp(&session, letter, reply).await,
        }
    }

    /// Calls a manager by MCP that understood no plain call, if it speaks MCP; else the first reply
    /// counts.
    async fn try_mcp<C: Carrier>(
        &self,
        session: &PeerSession<C>,
        letter: &Letter<M::CorrelationId>,
        first: LetterReply,
    ) -> Attempt {
        let profile = session.profile().await;
        if profile.layout().is_some() {
            return Attempt::Replied(first.outcome);
        }
        self.call_in_session(session, profile, letter).await
    }

    /// Calls a peer of unknown call style by tool name. Only if its reply does not tell its style,
    /// the methods of MCP and the other layouts are tried.
    async fn call_unknown<C: Carrier>(
        &self,
        session: &PeerSession<C>,
        letter: &Letter<M::CorrelationId>,
    ) -> Attempt {
        let plain = Arc::new(PeerProfile::PLAIN);
        let encoded = match self.outbound.encode(letter, &plain) {
            Ok(Some(encoded)) => encoded,
            Ok(None) => return Attempt::NotSent(Ok(acknowledged())),
            Err(failure) => return Attempt::NotSent(Err(failure)),
        };
        self.record_sent(letter, &encoded);
        let call = LetterCall { letter, encoded };
        let until = Instant::now() + letter.retry.timeout;
        let (called, reply) = match self.call_once(session, plain, &call, until).await {
            Ok(Some(replied)) => replied,
            Ok(None) => return Attempt::NotSent(Ok(acknowledged())),
            Err(error) => {
                // A peer that hangs on a plain call may answer other questions.
                if matches!(error, CallError::Timeout(_)) {
                    session.refuse_tools();
                }
                return Attempt::Lost(error);
            }
        };
        let asks = letter.message.expects_reply();
        if !reply.doubtful && (asks || reply.outcome.is_ok()) {
            match asks && reply.is_proof {
                true => session.prove(&called),
                false => session.assume(CallStyle::Tool),
            }
            return Attempt::Replied(reply.outcome);
        }
        let profile = session.profile().await;
        if profile.layout().is_none() {
            return self.call_in_session(session, profile, letter).await;
        }
        if !reply.doubtful {
            return Attempt::Replied(reply.outcome);
        }
        let until = Instant::now() + letter.retry.timeout;
        let other = self
            .try_layouts(session, &profile, &call, &reply, until)
            .await;
        Attempt::Replied(other.unwrap_or(reply).outcome)
    }

    /// Calls a peer whose call style was detected, and doubts the style if the reply does not fit.
    async fn call_in_session<C: Carrier>(
        &self,
        session: &PeerSession<C>,
        profile: Arc<PeerProfile>,
        letter: &Letter<M::CorrelationId>,
    ) -> Attempt {
        let profile = session
            .profile_for(letter.message.tool())
            .unwrap_or(profile);
        let encoded = match self.outbound.encode(letter, &profile) {
            Ok(Some(encoded)) => encoded,
            Ok(None) => return Attempt::NotSent(Ok(acknowledged())),
            Err(failure) => {
                session.doubt(&profile);
                return Attempt::NotSent(Err(failure));
            }
        };
        self.record_sent(letter, &encoded);
        let call = LetterCall { letter, encoded };
        let grace = late_grace(letter).filter(|_| profile.layout().is_some());
        let until = Instant::now() + letter.retry.timeout + grace.unwrap_or_default();
        let first = self
            .call_once(session, Arc::clone(&profile), &call, until)
            .await;
        match first {
            Ok(Some((_, reply))) if reply.doubtful => {
                let other = self
                    .try_layouts(session, &profile, &call, &reply, until)
                    .await;
                Attempt::Replied(other.unwrap_or(reply).outcome)
            }
            Ok(Some((called, reply))) => {
                let is_own = session.profile_for(letter.message.tool()).is_none();
                if is_own && reply.is_proof && letter.message.expects_reply() {
                    session.prove(&called);
                }
                Attempt::Replied(reply.outcome)
            }
            Ok(None) => Attempt::NotSent(Ok(acknowledged())),
            Err(error) => Attempt::Lost(error),
        }
    }

    /// Tries the other layouts of a plain call on a peer that did not understand the first
    /// (ruling 49).
    async fn try_layouts<C: Carrier>(
        &self,
        session: &PeerSession<C>,
        profile: &Arc<PeerProfile>,
        call: &LetterCall<'_, M::CorrelationId>,
        first: &LetterReply,
        until: Instant,
    ) -> Option<LetterReply> {
        let tool = call.letter.message.tool();
        let is_proved = session.is_proved(profile);
        for other in session.other_layouts(profile, tool, first.is_unknown_method) {
            self.outbound.log_sent(call.letter);
            let called = self.call_once(session, other, call, until).await;
            if let Ok(Some((called, reply))) = called
                && !reply.doubtful
            {
                if is_proved {
                    session.keep_for(tool, &called);
                } else if reply.is_proof {
                    session.prove(&called);
                }
                return Some(reply);
            }
        }
        // No document shows our order: a peer that does not know it may know others.
        if !is_proved && !matches!(call.letter.message, Message::StartMatch(_)) {
            session.exhaust();
        }
        session.doubt(profile);
        None
    }

    /// Calls a peer in one call style; `None` if that style has nothing to send.
    async fn call_once<C: Carrier>(
        &self,
        session: &PeerSession<C>,
        profile: Arc<PeerProfile>,
        call: &LetterCall<'_, M::CorrelationId>,
        until: Instant,
    ) -> Result<Option<(Arc<PeerProfile>, LetterReply)>, CallError> {
        let LetterCall { letter, encoded } = call;
        let write = |profile: &PeerProfile, id| self.outbound.request(letter, encoded, id, profile);
        let left = until.duration_since(Instant::now());
        let called = session.call(profile, left, write).await?;
        Ok(called.map(|called| {
            let style = called.profile.style;
            let reply = self.outbound.read(letter, called.id, style, &called.answer);
            let layout = called.profile.layout();
            if layout == Some(CallStyle::Tool) && reply.doubtful {
                session.refuse_tools();
            }
            // A peer that used another layout from the start may support tool names as well, so
            // only a peer that refused them is noted.
            if let Some(layout) = layout.filter(|layout| *layout != CallStyle::Tool)
                && reply.outcome.is_ok()
                && session.refuses_tools()
            {
                self.outbound.note_layout(letter, layout);
            }
            (called.profile, reply)
        }))
    }

    fn record_sent(&self, letter: &Letter<M::CorrelationId>, encoded: &EncodedLetter) {
        self.outbound.keep_sent(letter, encoded);
        self.outbound.log_sent(letter);
    }

    fn lines(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<Line, VecDeque<Letter<M::CorrelationId>>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A letter and its encoding, shared by all calls of one attempt.
struct LetterCall<'l, CorrelationId> {
    letter: &'l Letter<CorrelationId>,
    encoded: EncodedLetter,
}

/// The outcome of an attempt.
enum Attempt {
    /// There was nothing to send, or no permit or address to send it.
    NotSent(CallOutcome),
    Replied(CallOutcome),
    Lost(CallError),
}

fn failure(error: &CallError) -> CallFailure {
    let code = match error {
        CallError::Timeout(_) => Code::Timeout,
        CallError::Connection(_) | CallError::Redirect(_) | CallError::Unavailable(_) => {
            Code::Connection
        }
        CallError::Local(_) | CallError::Unresolved(_) => {
            return CallFailure::local(error.to_string());
        }
        CallError::Tls(_) | CallError::NotAllowed(_) => {
            return CallFailure::refused(error.to_string());
        }
        CallError::TooLarge => Code::InvalidMessage,
    };
    CallFailure::of_peer(code, error.to_string())
}

/// The longest that a late answer is waited for.
const MAX_LATE: Duration = Duration::from_secs(5);

/// How long after its deadline the answer to a question is still heard, so that its sender can be
/// told that it is late: shorter than the wait before the next question.
fn late_grace<CorrelationId>(letter: &Letter<CorrelationId>) -> Option<Duration> {
    let is_question = matches!(
        letter.message,
        Message::GameInvitation(_) | Message::MoveCall(_)
    );
    is_question.then(|| (letter.retry.backoff.longest_wait(1) / 2).min(MAX_LATE))
}

/// The failure of a letter that got no permit to go out.
fn crowded() -> CallFailure {
    CallFailure::local("this machine makes as many calls as it can")
}
