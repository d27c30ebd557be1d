//! The calls of a played league as bytes, written and read as agents do; in functions of their own,
//! so that their instructions can be counted.

use league_protocol::dialect::Hints;
use league_protocol::encode::{self, Sender, Stamp};
use league_protocol::finding::Reading;
use league_protocol::message::Message;
use league_protocol::peer::HttpReply;
use league_protocol::rpc::{self, Era, Frame, Id, Incoming};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::tools::{MANAGER_TOOLS, PLAYER_TOOLS, REFEREE_TOOLS};
use league_protocol::wire::{Context, Inbound, SentCall, read_reply, receive};
use serde_json::value::{RawValue, to_raw_value};

use crate::season::DeliveredCall;

/// A call and its answer as they are on the wire.
pub struct Bodies {
    pub request: Vec<u8>,
    pub answer: Vec<u8>,
}

/// Writes every call and every answer.
#[inline(never)]
pub fn encode(calls: &[DeliveredCall]) -> Vec<Bodies> {
    let write = |call: &DeliveredCall| {
        let params = json(&call.from, &call.message);
        let request = rpc::request(1, call.message.tool(), Some(&params));
        Bodies {
            request: request.unwrap(),
            answer: rpc::respond(&Id::number(1), &json(&call.to, &call.answer)),
        }
    };
    calls.iter().map(write).collect()
}

fn json(sender: &Agent, message: &Message) -> Box<RawValue> {
    let conversation = encode::conversation(message, "league_manager");
    let stamp = Stamp {
        sender: Sender::Agent(sender),
        at: Timestamp::default(),
        conversation: &conversation,
        token: None,
    };
    let outgoing = encode::encode(message, Dialect::V2, stamp, &Hints::default());
    to_raw_value(&outgoing).unwrap()
}

/// Reads every call as its receiver does, and every answer as its caller does; returns how many
/// were understood.
#[inline(never)]
pub fn decode(calls: &[DeliveredCall], bodies: &[Bodies]) -> usize {
    let read = |(call, bodies): &(&DeliveredCall, &Bodies)| {
        let context = context(&call.to);
        let Incoming::Single(Frame::Call(frame)) = rpc::read(&bodies.request, Era::Simple) else {
            return false;
        };
        let sent = SentCall {
            id: 1,
            message: &call.message,
            dialect: Dialect::V2,
            style: CallStyle::Simple,
            player: None,
            is_kept: matches!(call.from, Agent::Referee(_)),
        };
        let reply = HttpReply {
            status: 200,
            session: None,
            body: &bodies.answer,
        };
        let answer = read_reply(&sent, &reply, &self::context(&call.from));
        matches!(receive(&frame, &context), Inbound::Message(_)) && answer.read.is_ok()
    };
    calls.iter().zip(bodies).filter(read).count()
}

fn context(reader: &Agent) -> Context<'static> {
    Context {
        reading: Reading::Lenient,
        pinned: None,
        hints: Hints::default(),
        tools: match reader {
            Agent::Manager => &MANAGER_TOOLS,
            Agent::Referee(_) => &REFEREE_TOOLS,
            Agent::Player(_) => &PLAYER_TOOLS,
        },
        bearer: None,
        acknowledges_all: matches!(reader, Agent::Player(_)),
        reads_orders: false,
    }
}
