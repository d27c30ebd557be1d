//! Answers that come as a stream of events: which of them is the one that was waited for.

use std::borrow::Cow;

use crate::rpc::members::Members;
use crate::rpc::{Era, Id, Opened, open};

/// The most events of one answer that are looked at.
const MOST_EVENTS: usize = 1_024;

/// Whether a stream, as far as it has come, holds the answer to a call; then the rest need not be
/// waited for.
pub fn answered(stream: &[u8], id: u64) -> bool {
    let complete = stream.ends_with(b"\n\n") || stream.ends_with(b"\r\n\r\n");
    complete && find(stream, id).is_some()
}

/// The data of the event that answers a call.
pub(super) fn find(stream: &[u8], id: u64) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(stream);
    let mut data = String::new();
    let mut events = 0;
    for line in text.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
        }
        if !line.is_empty() || data.is_empty() {
            continue;
        }
        if is_answer(data.as_bytes(), id) {
            return Some(data.into_bytes());
        }
        data.clear();
        events += 1;
        if events == MOST_EVENTS {
            return None;
        }
    }
    None
}

/// Whether a message is a response to this call, or to one whose id could not be read.
fn is_answer(data: &[u8], id: u64) -> bool {
    let Ok(Opened::Single(Ok(members))) = open(data) else {
        return false;
    };
    if members.has("method") {
        return false;
    }
    members.has("error") || members.has("result") && is_id(&members, id)
}

fn is_id(members: &Members<'_>, id: u64) -> bool {
    let found = members.get("id");
    let found = found.and_then(|found| Id::read(found, Era::Simple).ok());
    found.is_some_and(|found| found == Id::number(id))
}

/// The JSON of an answer, out of its stream if it came in one.
pub(super) fn json(body: &[u8], event_stream: bool, id: u64) -> Option<Cow<'_, [u8]>> {
    if event_stream {
        find(body, id).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_among_other_events() {
        let stream = b": hello\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n\
            id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\ndata: \"result\":{}}\n\n";
        assert!(answered(stream, 3));
        assert!(!answered(stream, 4));
        assert!(!answered(&stream[..stream.len() - 1], 3));
        let found = find(stream, 3).unwrap();
        assert_eq!(found, b"{\"jsonrpc\":\"2.0\",\"id\":3,\n\"result\":{}}");
    }

    #[test]
    fn a_request_within_a_stream_is_no_answer() {
        let stream =
            b"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"sampling/createMessage\"}\n\n";
        assert_eq!(find(stream, 3), None);
    }

    #[test]
    fn a_stream_without_end_is_given_up() {
        let stream = "data: {}\n\n".repeat(MOST_EVENTS)
            + "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n";
        assert_eq!(find(stream.as_bytes(), 3), None);
    }
}
