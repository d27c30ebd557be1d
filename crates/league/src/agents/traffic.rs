//! What a league says on the wire: every call of a league in one process, by kind, with its sizes.
//!
//! `league bench` plays the same calls without a league. Only a league that is started for this is
//! recorded; all others serve their agents directly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use league_mcp::{RequestHead, ResponseBody};
use serde::{Deserialize, Serialize};

use crate::http::server::{
    PipeFuture, PipeIn, PipeOut, ResponseFuture, Service, ServiceResponse, StatusPage,
};
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

/// Counts the calls of a league, round by round.
#[derive(Debug, Default)]
pub(crate) struct TrafficRecorder(Mutex<BTreeMap<u32, Traffic>>);

/// The first round is left out, as agents still get to know each other, and the last two, which may
/// not be told to all when the league is interrupted.
const FIRST_ROUND: u32 = 2;
const OPEN_ROUNDS: u32 = 2;

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

    /// The calls of the rounds that are over.
    pub(crate) fn traffic(&self) -> Traffic {
        let rounds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = rounds.keys().next_back().map_or(0, |last| *last);
        let mut all = Traffic::default();
        for (round, traffic) in &*rounds {
            if (FIRST_ROUND..=last.saturating_sub(OPEN_ROUNDS)).contains(round) {
                all.rounds += 1;
                traffic.calls.iter().for_each(|tally| all.add(tally));
            }
        }
        all
    }

    /// Counts a call that belongs to a round.
    fn note(&self, callee: CallParty, call: &CallBody, sizes: &Sizes) {
        let Some(round) = call.params.round() else {
            return;
        };
        let mut rounds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.entry(round).or_default().add(&CallTally {
            kind: call.kind().to_owned(),
            caller: CallParty::of(call.params.sender.as_deref().unwrap_or_default()),
            callee,
            count: 1,
            requests: sizes.request as u64,
            answers: sizes.answer as u64,
            heads: sizes.heads as u64,
        });
    }
}

impl Traffic {
    /// Adds to the tally of the same kind.
    fn add(&mut self, added: &CallTally) {
        let kind = |tally: &CallTally| (tally.kind.clone(), tally.caller, tally.callee);
        let wanted = kind(added);
        let Some(tally) = self.calls.iter_mut().find(|tally| kind(tally) == wanted) else {
            self.calls.push(added.clone());
            return;
        };
        tally.count += added.count;
        tally.requests += added.requests;
        tally.answers += added.answers;
        tally.heads += added.heads;
    }
}

struct Sizes {
    request: usize,
    answer: usize,
    heads: usize,
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
            self.recorder.note(self.callee, &call, &sizes);
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

    fn status(&self, page: StatusPage) -> ResponseFuture<'_> {
        self.service.status(page)
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
    round_id: Option<u32>,
    match_id: Option<String>,
}

impl CallParams {
    /// The round that a call belongs to: a match `R3M1` is in round 3.
    fn round(&self) -> Option<u32> {
        let of_match = || {
            let (round, _) = self
                .match_id
                .as_deref()?
                .strip_prefix('R')?
                .split_once('M')?;
            round.parse().ok()
        };
        self.round_id.or_else(of_match)
    }
}

impl CallBody {
    fn kind(&self) -> &str {
        self.params.message_type.as_deref().unwrap_or(&self.method)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(recorder: &TrafficRecorder, callee: CallParty, params: &serde_json::Value) {
        let call = json!({"jsonrpc": "2.0", "method": "tool", "params": params, "id": 1});
        let sizes = Sizes {
            request: 100,
            answer: 10,
            heads: 50,
        };
        let call = serde_json::from_value(call).unwrap();
        recorder.note(callee, &call, &sizes);
    }

    #[test]
    fn calls_of_whole_rounds_are_counted_by_kind() {
        let recorder = TrafficRecorder::default();
        for round in 1..=5 {
            let sender = "league_manager";
            let news = json!({"message_type": "ROUND_ANNOUNCEMENT", "sender": sender,
                "round_id": round});
            let call = json!({"message_type": "GAME_INVITATION", "sender": "referee:REF01",
                "match_id": format!("R{round}M1")});
            note(&recorder, CallParty::Player, &news);
            note(&recorder, CallParty::Player, &call);
            note(&recorder, CallParty::Player, &call);
        }
        let traffic = recorder.traffic();
        assert_eq!(traffic.rounds, 2, "rounds 2 and 3; 4 and 5 may be open");
        let counted = traffic.calls.iter();
        let counted: Vec<_> = counted
            .map(|it| (&*it.kind, it.caller, it.callee, it.count, it.requests))
            .collect();
        use CallParty::{Manager, Player, Referee};
        let expected = [
            ("ROUND_ANNOUNCEMENT", Manager, Player, 2, 200),
            ("GAME_INVITATION", Referee, Player, 4, 400),
        ];
        assert_eq!(counted, expected);
    }

    #[test]
    fn call_outside_of_rounds_is_not_counted() {
        let recorder = TrafficRecorder::default();
        let registration = json!({"message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:A"});
        note(&recorder, CallParty::Manager, &registration);
        note(&recorder, CallParty::Manager, &json!({"match_id": "final"}));
        assert_eq!(recorder.traffic().calls.len(), 0);
        assert!(recorder.0.lock().unwrap().is_empty());
    }
}
