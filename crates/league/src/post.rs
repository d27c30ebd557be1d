//! Carries letters out: once each, in order for each address, as often as each letter says.
//!
//! Letters of one match to one address keep their order, and so do those of none. Letters of
//! different matches do not wait for each other, so one that hangs holds up nothing else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use league_core::letter::{Answer, Failure, Letter, Outcome};
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::message::Message;
use tokio::sync::watch;

use crate::chance::Chance;
use crate::correspondence::{Correspondence, Written};
use crate::desk::{Desk, Outbox, Worker};
use crate::net::client::{CallError, Client};
use crate::net::endpoint::{AllowList, Endpoint};

/// Carries the letters of one agent.
pub struct Post<M: Worker> {
    office: Arc<Office<M>>,
}

/// Tells when a post has nothing left to carry.
#[derive(Debug, Clone)]
pub struct Quiet(watch::Receiver<usize>);

impl Quiet {
    /// Waits until every letter has come to its end.
    pub async fn wait(&mut self) {
        // A post that is gone carries nothing.
        let _ = self.0.wait_for(|lines| *lines == 0).await;
    }
}

/// Letters that keep their order: an address, and a match if they belong to one.
type Line = (Arc<str>, Option<MatchId>);

struct Office<M: Worker> {
    client: Client,
    allowed: AllowList,
    chance: Chance,
    correspondence: Arc<Correspondence>,
    desk: Desk<M>,
    lines: Mutex<BTreeMap<Line, VecDeque<Letter<M::Ticket>>>>,
    calls: AtomicU64,
    /// How many lines have something to carry.
    busy: watch::Sender<usize>,
}

impl<M: Worker> Post<M> {
    /// A post that brings what it hears to this desk.
    pub fn new(
        client: Client,
        allowed: AllowList,
        chance: Chance,
        correspondence: Arc<Correspondence>,
        desk: Desk<M>,
    ) -> Self {
        Self {
            office: Arc::new(Office {
                client,
                allowed,
                chance,
                correspondence,
                desk,
                lines: Mutex::default(),
                calls: AtomicU64::new(1),
                busy: watch::Sender::new(0),
            }),
        }
    }

    /// Tells when there is nothing left to carry.
    pub fn quiet(&self) -> Quiet {
        Quiet(self.office.busy.subscribe())
    }
}

impl<M: Worker> Outbox<M::Ticket> for Post<M> {
    fn post(&mut self, letter: Letter<M::Ticket>) {
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

impl<M: Worker> Office<M> {
    /// Carries a letter and all that come to stand behind it.
    async fn carry_line(self: Arc<Self>, line: Line, first: Letter<M::Ticket>) {
        let mut letter = first;
        loop {
            let outcome = self.carry(&letter).await;
            if let Some(ticket) = letter.ticket {
                self.desk.bring(M::heard(ticket, outcome)).await;
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

    async fn carry(&self, letter: &Letter<M::Ticket>) -> Outcome {
        let endpoint = self.allowed.check(&letter.to.endpoint);
        let endpoint = endpoint.map_err(|error| Failure {
            code: Code::Connection,
            detail: error.to_string(),
        })?;
        let mut failed = 0;
        loop {
            let outcome = self.try_once(letter, &endpoint).await;
            failed += 1;
            match outcome {
                Err(failure) if failure.code.retryable() && failed < letter.effort.attempts => {
                    let wait = letter.effort.backoff.wait(failed, self.chance.number());
                    tokio::time::sleep(wait).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn try_once(&self, letter: &Letter<M::Ticket>, endpoint: &Endpoint) -> Outcome {
        let id = self.calls.fetch_add(1, Ordering::Relaxed);
        let body = match self.correspondence.write(letter, id) {
            Written::Body(body) => Bytes::from(body),
            // The dialect has no words for it, so there is nothing to say.
            Written::Nothing => {
                return Ok(Answer {
                    message: Message::Acknowledged,
                    token: None,
                });
            }
        };
        let timeout = letter.effort.timeout;
        self.correspondence.log_sent(letter);
        match self.client.post(endpoint, body, timeout).await {
            Ok(answer) => self.correspondence.read(letter, id, &answer),
            Err(error) => {
                self.correspondence.log_lost(letter, &error);
                Err(failure(&error))
            }
        }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, BTreeMap<Line, VecDeque<Letter<M::Ticket>>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(error: &CallError) -> Failure {
    Failure {
        code: match error {
            CallError::Timeout(_) => Code::Timeout,
            CallError::Connection(_) => Code::Connection,
            CallError::TooLarge => Code::InvalidMessage,
        },
        detail: error.to_string(),
    }
}

/// The match that a message belongs to.
pub(crate) fn match_of(message: &Message) -> Option<&MatchId> {
    match message {
        Message::StartMatch(order) => Some(&order.match_id),
        Message::StartMatchAck(ack) => Some(&ack.match_id),
        Message::GameInvitation(invitation) => Some(&invitation.match_id),
        Message::GameJoinAck(ack) => Some(&ack.match_id),
        Message::GameStart(start) => Some(&start.match_id),
        Message::MoveCall(call) => Some(&call.match_id),
        Message::MoveResponse(response) => Some(&response.match_id),
        Message::PlayValidation(validation) => Some(&validation.match_id),
        Message::GameOver(over) => Some(&over.match_id),
        Message::GameError(error) => Some(&error.match_id),
        Message::MatchResultReport(report) => Some(&report.match_id),
        Message::RefereeRegisterRequest(_)
        | Message::RefereeRegisterResponse(_)
        | Message::PlayerRegisterRequest(_)
        | Message::PlayerRegisterResponse(_)
        | Message::LeagueStart(_)
        | Message::RoundAnnouncement(_)
        | Message::RoundCompleted(_)
        | Message::LeagueCompleted(_)
        | Message::StandingsUpdate(_)
        | Message::LeagueQuery(_)
        | Message::LeagueQueryResponse(_)
        | Message::LeagueError(_)
        | Message::Ping
        | Message::Acknowledged => None,
    }
}
