//! The entries of a journal: its opening, the events of its state machine, and match transcripts.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::read::GzDecoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use league_core::league::{Event, LeagueRules};
use league_protocol::id::{LeagueId, MatchId};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::storage::documents::{MessageText, TranscriptMessage, Verbatim};
use crate::storage::store::{Entry, read_backwards};

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record<Fact> {
    /// The opening of the journal; always the first entry, and only the first.
    Opened(Box<Opening>),
    /// An event of the state machine.
    Event(Fact),
    /// The messages of a match since the last such entry; only in a referee's journal. A message
    /// that shows what the rules hide is a hash until the match is decided.
    Transcript(Transcript),
}

/// The opening of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// `league_manager`, `referee` or `player`.
    pub(crate) role: String,
    /// The league, for agents that keep one journal per league.
    pub(crate) league_id: Option<LeagueId>,
    /// The rules of the league; only in the manager's journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<LeagueRules>,
    /// The fingerprint of the league's secret, which does not reveal it; only in the manager's
    /// journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// Whether all randomness came from a given seed, so that the league can be repeated.
    pub(crate) reproducible: bool,
    /// The version of the program.
    pub(crate) version: String,
}

impl Opening {
    /// The opening of a journal that does not belong to a league.
    pub(crate) fn of(role: &str, reproducible: bool) -> Self {
        Self {
            role: role.to_owned(),
            league_id: None,
            rules: None,
            secret: None,
            reproducible,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Messages of a match; in the journal compressed, if that is shorter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WrittenTranscript<'static>")]
pub(crate) struct Transcript {
    pub(crate) match_id: MatchId,
    pub(crate) attempt: u32,
    pub(crate) messages: Vec<TranscriptMessage>,
    /// Messages that stood there as hashes so far.
    pub(crate) opened: Vec<OpenedMessage>,
}

/// A transcript as it is written.
#[derive(Serialize, Deserialize)]
struct WrittenTranscript<'a> {
    match_id: Cow<'a, MatchId>,
    attempt: u32,
    #[serde(default, skip_serializing_if = "is_empty")]
    messages: Cow<'a, [TranscriptMessage]>,
    #[serde(default, skip_serializing_if = "is_empty")]
    opened: Cow<'a, [OpenedMessage]>,
    /// Instead of both: the JSON of `[messages,opened]`, compressed by gzip, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gzip: Option<String>,
}

fn is_empty<T: Clone>(list: &[T]) -> bool {
    list.is_empty()
}

impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = serde_json::to_vec(&(&self.messages, &self.opened)).map_err(S::Error::custom)?;
        let gzip = compress(&json).map_err(S::Error::custom)?;
        let mut written = WrittenTranscript {
            match_id: Cow::Borrowed(&self.match_id),
            attempt: self.attempt,
            messages: Cow::default(),
            opened: Cow::default(),
            gzip: None,
        };
        if gzip.len() < json.len() && json.len() <= most_bytes(&gzip) {
            written.gzip = Some(gzip);
        } else {
            written.messages = Cow::Borrowed(&self.messages);
            written.opened = Cow::Borrowed(&self.opened);
        }
        written.serialize(serializer)
    }
}

impl TryFrom<WrittenTranscript<'_>> for Transcript {
    type Error = io::Error;

    fn try_from(written: WrittenTranscript<'_>) -> Result<Self, io::Error> {
        let (messages, opened) = match &written.gzip {
            Some(gzip) => serde_json::from_slice(&decompress(gzip)?)?,
            None => (written.messages.into_owned(), written.opened.into_owned()),
        };
        Ok(Self {
            match_id: written.match_id.into_owned(),
            attempt: written.attempt,
            messages,
            opened,
        })
    }
}

/// How many times as long as its compressed form a transcript may be, so that a journal from outside
/// takes no more memory than its length allows.
const MAX_RATIO: usize = 32;
/// The most bytes of a compressed transcript, about 512 messages of 16 KiB; a longer one is written as
/// it is.
const MAX_BYTES: usize = 512 * 16 * 1024;

/// How many bytes are added to a compressed text that finds no room.
const MORE_ROOM: usize = 4 * 1024;

/// How many bytes a text may hold compressed.
fn most_bytes(text: &str) -> usize {
    text.len().saturating_mul(MAX_RATIO).min(MAX_BYTES)
}

/// What a gzip file begins with: compressed by deflate, quickly, on a system that is not named.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];

/// A compressor that is not in use: making one takes as long as compressing with it.
static COMPRESSOR: Mutex<Option<Compress>> = Mutex::new(None);

fn compress(json: &[u8]) -> io::Result<String> {
    let idle = || COMPRESSOR.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = idle().take();
    let mut compressor = kept.unwrap_or_else(|| Compress::new(Compression::fast(), false));
    let mut gzip = Vec::with_capacity(GZIP_HEAD.len() + json.len() / 2);
    gzip.extend_from_slice(&GZIP_HEAD);
    let mut rest = json;
    while compressor.compress_vec(rest, &mut gzip, FlushCompress::Finish)? != Status::StreamEnd {
        let read = usize::try_from(compressor.total_in()).unwrap_or(json.len());
        rest = json.get(read..).unwrap_or_default();
        gzip.reserve(MORE_ROOM);
    }
    compressor.reset();
    *idle() = Some(compressor);
    let mut sum = Crc::new();
    sum.update(json);
    gzip.extend_from_slice(&sum.sum().to_le_bytes());
    gzip.extend_from_slice(&sum.amount().to_le_bytes());
    Ok(BASE64_STANDARD.encode(gzip))
}

fn decompress(text: &str) -> io::Result<Vec<u8>> {
    let gzip = BASE64_STANDARD.decode(text).map_err(io::Error::other)?;
    let mut json = Vec::new();
    let most = most_bytes(text);
    let mut decoder = GzDecoder::new(&gzip[..]).take(most as u64 + 1);
    decoder.read_to_end(&mut json)?;
    if json.len() > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(json)
}

/// A message whose hash was written before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenedMessage {
    /// Its place among the messages of the attempt, from 0.
    pub(crate) place: usize,
    /// The salt of the hash, in hex.
    pub(crate) salt: String,
    pub(crate) message: MessageText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verbatim: Option<Verbatim>,
}

/// Whether the league with this journal is over; false if there is no readable journal.
///
/// Reads the journal backwards, only as far as necessary.
pub(crate) fn is_over(journal: &Path) -> bool {
    let mut over = false;
    let read = read_backwards(journal, |entry: Entry<Record<Event>>| match entry.fact {
        // An agent may come back after the end, a referee may contradict itself, and the organiser
        // may decide on a result.
        Record::Event(
            Event::AgentReturned { .. }
            | Event::OrganiserActed { .. }
            | Event::ReportConflicted { .. }
            | Event::ReportRefused { .. },
        ) => ControlFlow::Continue(()),
        Record::Event(Event::LeagueCompleted { .. }) => {
            over = true;
            ControlFlow::Break(())
        }
        _ => ControlFlow::Break(()),
    });
    read.is_ok() && over
}

#[cfg(test)]
mod tests {
    use league_core::league::ReportProblem;
    use league_protocol::id::RefereeId;
    use league_protocol::time::Timestamp;
    use serde_json::{Value, json};

    use super::*;

    fn transcript(messages: usize) -> Transcript {
        let said = TranscriptMessage {
            timestamp: Timestamp::default(),
            from: "player:P01".to_owned(),
            to: "referee:REF01".to_owned(),
            message_type: "GAME_JOIN_ACK".to_owned(),
            message: (&json!({"accept": true, "match_id": "R1M1"})).into(),
            verbatim: None,
            seal: None,
            resumed: false,
        };
        Transcript {
            match_id: MatchId::new("R1M1").unwrap(),
            attempt: 1,
            messages: vec![said; messages],
            opened: Vec::new(),
        }
    }

    #[test]
    fn transcript_is_compressed_if_that_is_shorter() {
        for (messages, is_compressed) in [(1, false), (4, true)] {
            let transcript = transcript(messages);
            let text = serde_json::to_string(&transcript).unwrap();
            assert_eq!(text.contains("GAME_JOIN_ACK"), !is_compressed, "{text}");
            assert_eq!(
                serde_json::from_str::<Transcript>(&text).unwrap(),
                transcript
            );
        }
    }

    #[test]
    fn used_compressor_writes_the_same_again_and_what_others_can_read() {
        let digits: Vec<String> = (0_u64..20_000)
            .map(|it| format!("{:x}", it.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
            .collect();
        let texts = [String::new(), "[[],[]]".repeat(900), digits.concat()];
        let compressed = || {
            texts
                .each_ref()
                .map(|text| compress(text.as_bytes()).unwrap())
        };
        let first = compressed();
        assert_eq!(compressed(), first);
        for (compressed, text) in first.iter().zip(&texts) {
            let compressed = BASE64_STANDARD.decode(compressed).unwrap();
            let mut read = String::new();
            GzDecoder::new(&*compressed)
                .read_to_string(&mut read)
                .unwrap();
            assert_eq!(read, *text);
        }
    }

    #[test]
    fn long_transcript_is_written_as_it_is_and_refused_compressed() {
        // Hex of a counter's squares: it compresses, but by less than the ratio forbids.
        let text = |from: u64| -> String {
            let words = (from..from + 100_000).map(|it| it.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            words.map(|word| format!("{word:016x}")).collect()
        };
        let mut long = transcript(6);
        for (from, message) in (0..).step_by(100_000).zip(&mut long.messages) {
            message.message = (&json!(text(from))).into();
        }
        let written = serde_json::to_value(&long).unwrap();
        assert_eq!(written.get("gzip"), None);
        assert_eq!(serde_json::from_value::<Transcript>(written).unwrap(), long);
        let packed = serde_json::to_vec(&(&long.messages, &long.opened)).unwrap();
        let packed = compress(&packed).unwrap();
        let forged = json!({"match_id": "R1M1", "attempt": 1, "gzip": packed});
        assert!(serde_json::from_value::<Transcript>(forged).is_err());
    }

    #[test]
    fn transcript_of_an_earlier_version_and_a_damaged_one_are_told_apart() {
        let whole = transcript(4);
        let earlier = json!({"match_id": "R1M1", "attempt": 1, "messages": whole.messages});
        assert_eq!(
            serde_json::from_value::<Transcript>(earlier).unwrap(),
            whole
        );
        let mut damaged: Value = serde_json::to_value(&whole).unwrap();
        damaged["gzip"] = json!("H4sIAAAA");
        assert!(serde_json::from_value::<Transcript>(damaged).is_err());
    }
    use crate::storage::store::{Durability, Journal, Store};

    fn is_over_after(events: &[Event]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let opened = Journal::open(&path, Durability::Written, |_: Entry<Record<Event>>| {});
        let mut journal = opened.unwrap().accept().unwrap();
        for event in events {
            let fact = Record::Event(event.clone());
            journal.append(Timestamp::default(), &[fact]).unwrap();
        }
        is_over(&path)
    }

    #[test]
    fn league_is_over_once_it_is_completed_even_if_a_report_is_refused_later() {
        let at = Timestamp::default();
        let closed = Event::RoundClosed { round: 3, at };
        let completed = Event::LeagueCompleted { at };
        let refused = Event::ReportRefused {
            match_id: MatchId::new("R1M1").unwrap(),
            referee: RefereeId::numbered(1),
            digest: "league_completed".to_owned(),
            problem: ReportProblem::League(LeagueId::new("other").unwrap()),
            at,
        };
        assert!(!is_over_after(&[]));
        assert!(!is_over_after(&[closed.clone(), refused.clone()]));
        assert!(is_over_after(&[closed.clone(), completed.clone()]));
        assert!(is_over_after(&[closed, completed, refused]));
        assert!(!is_over(Path::new("no such journal")));
    }
}
