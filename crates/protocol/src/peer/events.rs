//! Answers that come as a stream of events: which of them is the one that was waited for.

use crate::rpc::members::Members;
use crate::rpc::{Era, Id, Opened, open};

/// The most events of one answer that are looked at.
pub const MOST_EVENTS: usize = 1_024;

/// Looks for the answer to a call in a stream of events, each byte once, however it is cut.
#[derive(Debug)]
pub struct Events {
    id: u64,
    line: Vec<u8>,
    /// The data of the event that is being read.
    data: Vec<u8>,
    seen: usize,
}

/// What a stream has come to.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// No answer yet.
    Nothing,
    /// The JSON of the answer; the rest of the stream need not be waited for.
    Answer(Vec<u8>),
    /// Nothing more will come, or so many events that none of them will be the answer.
    Vain,
}

impl Events {
    /// Waits for the answer to the call of this id.
    pub const fn new(id: u64) -> Self {
        Self {
            id,
            line: Vec::new(),
            data: Vec::new(),
            seen: 0,
        }
    }

    /// Takes what came next. How much may come is for the caller to bound.
    pub fn hear(&mut self, mut more: &[u8]) -> Heard {
        while let Some(end) = more.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&more[..end]);
            more = &more[end + 1..];
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if let Some(heard) = self.take(&line) {
                return heard;
            }
            line.clear();
            self.line = line;
        }
        self.line.extend_from_slice(more);
        Heard::Nothing
    }

    /// Takes the end of the stream, which ends its last event too.
    pub fn end(&mut self) -> Heard {
        match self.hear(b"\n\n") {
            Heard::Nothing => Heard::Vain,
            heard => heard,
        }
    }

    fn take(&mut self, line: &[u8]) -> Option<Heard> {
        if let Some(more) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data
                .extend_from_slice(more.strip_prefix(b" ").unwrap_or(more));
        }
        if !line.is_empty() || self.data.is_empty() {
            return None;
        }
        let data = std::mem::take(&mut self.data);
        if is_answer(&data, self.id) {
            return Some(Heard::Answer(data));
        }
        self.seen += 1;
        (self.seen >= MOST_EVENTS).then_some(Heard::Vain)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b": hello\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n\
        id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\ndata: \"result\":{}}\n\n";

    #[test]
    fn the_answer_is_found_among_other_events_however_they_are_cut() {
        let answer = b"{\"jsonrpc\":\"2.0\",\"id\":3,\n\"result\":{}}".to_vec();
        for cut in 1..STREAM.len() {
            let mut events = Events::new(3);
            let mut heard = Heard::Nothing;
            for chunk in STREAM.chunks(cut) {
                assert_eq!(heard, Heard::Nothing, "{cut}");
                heard = events.hear(chunk);
            }
            assert_eq!(heard, Heard::Answer(answer.clone()), "{cut}");
        }
        assert_eq!(Events::new(4).hear(STREAM), Heard::Nothing);
    }

    #[test]
    fn the_end_of_a_stream_ends_its_last_event() {
        let mut events = Events::new(3);
        assert_eq!(events.hear(&STREAM[..STREAM.len() - 2]), Heard::Nothing);
        assert!(matches!(events.end(), Heard::Answer(_)));
        assert_eq!(Events::new(3).end(), Heard::Vain);
    }

    #[test]
    fn a_request_within_a_stream_is_no_answer() {
        let stream =
            b"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"sampling/createMessage\"}\n\n";
        assert_eq!(Events::new(3).hear(stream), Heard::Nothing);
    }

    #[test]
    fn a_stream_of_other_events_is_given_up() {
        let stream = "data: {}\n\n".repeat(MOST_EVENTS);
        assert_eq!(Events::new(3).hear(stream.as_bytes()), Heard::Vain);
    }
}
