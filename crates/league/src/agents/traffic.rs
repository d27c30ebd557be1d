//! What a league says on the wire: every call of a league in one process, by kind, with its sizes.
//!
//! `league bench` plays the same calls without a league. Only a league that is started for this is
//! recorded; all others serve their agents directly.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use league_mcp::{RequestHead, ResponseBody};
use serde::{Deserialize, Serialize};

use crate::http::server::{PipeFuture, PipeIn, PipeOut, ResponseFuture, Service, ServiceResponse};
use crate::wire::record::RejectedCall;

/// Who calls or is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallParty {
    Manager,
    Referee,
    Player,
}

impl CallParty {
    /// The kind of a sender, such as `referee:REF01`; senders without a name are players.
    fn of(sender: &str) -> Self {
        match sender.split(':').next() {
            Some("league_manager") => Self::Manager,
            Some("referee") => Self::Referee,
            _ => Self::Player,
        }
    }
}

/// The calls of some rounds, in the order in which their kinds first came.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Traffic {
    /// How many rounds they are of.
    pub(crate) rounds: u32,
    pub(crate) calls: Vec<CallTally>,
}

/// All calls of one kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallTally {
    /// The type of the message, or the method of a call without one.
    pub(crate) kind: String,
    pub(crate) caller: CallParty,
    pub(crate) callee: CallParty,
    pub(crate) count: u64,
    /// Bytes of all bodies, and of all heads.
    pub(crate) requests: u64,
    pub(crate) answers: u64,
    pub(crate) heads: u64,
}

/// Counts the calls of a league from its second round on, up to the last round that began: both
/// ends are beginnings of rounds, so that what one cuts off, the other has more.
#[derive(Debug, Default)]
pub(crate) struct TrafficRecorder(Mutex<Recording>);

#[derive(Debug, Default)]
struct Recording {
    round: u32,
    all: Traffic,
    /// The counts when the second round and when the last round began.
    bounds: Option<(Snapshot, Snapshot)>,
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    round: u32,
    traffic: Traffic,
}

impl TrafficRecorder {
    /// The service, recorded.
    pub(crate) fn around(
        self: &Arc<Self>,
        service: Arc<dyn Service>,
        callee: CallParty,
    ) -> Arc<dyn Service> {
        Arc::new(RecordedService {
            service,
            callee,
            recorder: Arc::clone(self),
        })
    }

    /// The calls from the beginning of the second round to the beginning of the last.
    pub(crate) fn traffic(&self) -> Traffic {
        let recording = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((first, last)) = &recording.bounds else {
            return Traffic::default();
        };
        let mut traffic = last.traffic.clone();
        traffic.rounds = last.round - first.round;
        for (call, before) in traffic.calls.iter_mut().zip(&first.traffic.calls) {
            call.count -= before.count;
            call.requests -= before.requests;
            call.answers -= before.answers;
            call.heads -= before.heads;
        }
        traffic
    }

    fn note(&self, callee: CallParty, call: &CallBody, sizes: Sizes) {
        let mut recording = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recording.note(callee, call, sizes);
    }
}

struct Sizes {
    request: usize,
    answer: usize,
    heads: usize,
}

impl Recording {
    fn note(&mut self, callee: CallParty, call: &CallBody, sizes: Sizes) {
        if call.params.round.is_some_and(|round| round > self.round) && call.announces() {
            self.round = call.params.round.unwrap_or_default();
            self.bound();
        }
        let caller = CallParty::of(call.params.sender.as_deref().unwrap_or_default());
        let kind = call.kind();
        let calls = &mut self.all.calls;
        let known = calls
            .iter()
            .position(|tally| (&*tally.kind, tally.caller, tally.callee) == (kind, caller, callee));
        let place = known.unwrap_or_else(|| {
            calls.push(CallTally {
                kind: kind.to_owned(),
                caller,
                callee,
                count: 0,
                requests: 0,
                answers: 0,
                heads: 0,
            });
            calls.len() - 1
        });
        let tally = &mut calls[place];
        tally.count += 1;
        tally.requests += sizes.request as u64;
        tally.answers += sizes.answer as u64;
        tally.heads += sizes.heads as u64;
    }

    /// Notes the counts at the beginning of a round.
    fn bound(&mut self) {
        let now = Snapshot {
            round: self.round,
            traffic: self.all.clone(),
        };
        match &mut self.bounds {
            _ if self.round < 2 => {}
            Some((_, last)) => *last = now,
            bounds => *bounds = Some((now.clone(), now)),
        }
    }
}

/// A service whose calls are recorded.
struct RecordedService {
    service: Arc<dyn Service>,
    callee: CallParty,
    recorder: Arc<TrafficRecorder>,
}

impl Service for RecordedService {
    fn receive(&self, head: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        Box::pin(async move {
            let call: CallBody = serde_json::from_slice(&body).unwrap_or_default();
            let (request, asked) = (body.len(), head_size(&head.headers));
            let response = self.service.receive(head, body).await;
            let sizes = Sizes {
                request,
                answer: size(&response),
                heads: asked + head_size(&response.headers),
            };
            self.recorder.note(self.callee, &call, sizes);
            response
        })
    }

    fn register(&self, head: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        self.service.register(head, body)
    }

    fn answer_other(&self, method: Method, head: RequestHead) -> ResponseFuture<'_> {
        self.service.answer_other(method, head)
    }

    fn note_rejected(&self, call: &RejectedCall) {
        self.service.note_rejected(call);
    }

    fn health(&self) -> ResponseFuture<'_> {
        self.service.health()
    }

    fn is_admitted(&self) -> bool {
        self.service.is_admitted()
    }

    fn serve_pipe(self: Arc<Self>, said: PipeIn, answers: PipeOut) -> PipeFuture {
        Arc::clone(&self.service).serve_pipe(said, answers)
    }
}

/// What is read of a call to tell its kind.
#[derive(Debug, Default, Deserialize)]
struct CallBody {
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: CallParams,
}

#[derive(Debug, Default, Deserialize)]
struct CallParams {
    message_type: Option<String>,
    sender: Option<String>,
    #[serde(rename = "round_id")]
    round: Option<u32>,
}

impl CallBody {
    fn kind(&self) -> &str {
        self.params.message_type.as_deref().unwrap_or(&self.method)
    }

    fn announces(&self) -> bool {
        self.kind() == "ROUND_ANNOUNCEMENT"
    }
}

fn size(response: &ServiceResponse) -> usize {
    match &response.body {
        ResponseBody::Whole(body) => body.len(),
        ResponseBody::Events(_) => 0,
    }
}

/// The first line of a request or an answer, the shortest that ours have.
const FIRST_LINE: usize = "POST /mcp HTTP/1.1\r\n".len();

/// The bytes of a head, with its first and its empty line.
fn head_size(headers: &HeaderMap) -> usize {
    let lines = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    FIRST_LINE + lines.sum::<usize>() + "\r\n".len()
}
