//! The sixteen rules of strict JSON-RPC over HTTP, each a table of bodies and exact answers.

mod answers;
mod batches;
mod bounds;
mod ids;
mod messages;
mod properties;
mod replies;

use std::collections::BTreeMap;

use league_protocol::rpc::{self, Era, Frame, Incoming, RpcError, Status};

const ERAS: [Era; 4] = [Era::Simple, Era::LegacyWithBatch, Era::Legacy, Era::Modern];
const SIMPLE_ID: &str = "`id` must be a string or a number.";

/// The smallest server: it answers `{}` to everything but the method `absent`.
fn serve(body: impl AsRef<[u8]>, era: Era) -> (u16, String) {
    let (status, answer) = match rpc::read(body.as_ref(), era) {
        Incoming::Refused(refusal) => (refusal.status, Some(refusal.answer(era))),
        Incoming::Single(Frame::Malformed(malformed)) => {
            (malformed.status(era), Some(malformed.answer(era)))
        }
        Incoming::Single(frame) => served(answer(frame, era)),
        Incoming::Batch(frames) => {
            let answers = frames.into_iter().filter_map(|frame| answer(frame, era));
            served(rpc::batch(&answers.collect::<Vec<_>>()))
        }
    };
    (
        status.code(),
        String::from_utf8(answer.unwrap_or_default()).expect("answers are text"),
    )
}

fn served(answer: Option<Vec<u8>>) -> (Status, Option<Vec<u8>>) {
    (Status::of_answer(answer.as_deref()), answer)
}

fn answer(frame: Frame<'_>, era: Era) -> Option<Vec<u8>> {
    match frame {
        Frame::Call(call) if call.method == "absent" => Some(rpc::fail(
            Some(&call.id),
            &RpcError::method_not_found(&call.method),
            era,
        )),
        Frame::Call(call) => Some(match call.params.named() {
            Ok(_) => rpc::respond(&call.id, &BTreeMap::<&str, u8>::new()),
            Err(error) => rpc::fail(Some(&call.id), &error, era),
        }),
        Frame::Malformed(malformed) => Some(malformed.answer(era)),
        Frame::Notification(_) | Frame::Response(_) => None,
    }
}

fn error(code: i64, message: &str, id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}}{}}}"#,
        if id.is_empty() {
            String::new()
        } else {
            format!(r#","id":{id}"#)
        }
    )
}

fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","result":{{}},"id":{id}}}"#)
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"m","id":{id}}}"#)
}

/// How an era says that it could not read the id.
fn unread(era: Era) -> &'static str {
    if era == Era::Modern { "" } else { "null" }
}
