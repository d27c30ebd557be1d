//! Standard input and output of a bot: one JSON message per line, answers in any order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use league_protocol::peer::PeerRequest;
use league_protocol::rpc::members::{split, text};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::http::client::{Answer, CallError};
use crate::wire::sessions::Carrier;

/// The first request to a bot; any answer will do.
const WAKE_UP: &[u8] = br#"{"jsonrpc":"2.0","method":"ping","id":0}"#;
/// The id of that request; all others begin at 1.
const WAKE_UP_ID: u64 = 0;
/// How long a bot that started quickly may take to answer one probe request.
const PROBE_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a bot may take to read the answer to its own request.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// The most calls that may wait for a bot at once.
const MAX_PENDING: usize = 64;
/// The most unexpected lines before the bot's output is no longer read.
const MAX_STRAY_LINES: usize = 10_000;
/// How many unexpected lines are logged.
const MAX_STRAY_WARNINGS: usize = 3;
/// The most bytes skipped of a too long line before the bot's output is no longer read.
const MAX_SKIPPED_BYTES: usize = 64 * 1024 * 1024;

/// The pipes to one process of a bot.
pub(crate) struct Pipes {
    input: Arc<tokio::sync::Mutex<ChildStdin>>,
    open: Open,
    output_state: watch::Receiver<OutputState>,
    /// Whether the bot's input is broken.
    broken_input: Arc<AtomicBool>,
    /// How long its first answer took.
    woken_in: OnceLock<Duration>,
}

/// The calls that wait for an answer, by id.
type Open = Arc<Mutex<BTreeMap<u64, oneshot::Sender<Bytes>>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputState {
    Silent,
    Speaking,
    Closed,
}

impl Pipes {
    pub(crate) fn open(
        input: ChildStdin,
        output: impl AsyncRead + Send + Unpin + 'static,
        longest: usize,
    ) -> Self {
        let (output_state, heard) = watch::channel(OutputState::Silent);
        let input = Arc::new(tokio::sync::Mutex::new(input));
        let (open, broken_input) = (Open::default(), Arc::new(AtomicBool::new(false)));
        let reader = OutputReader {
            input: Arc::clone(&input),
            open: Arc::clone(&open),
            broken_input: Arc::clone(&broken_input),
            output_state,
            longest,
            woken: false,
        };
        tokio::spawn(reader.listen(output));
        Self {
            input,
            open,
            output_state: heard,
            broken_input,
            woken_in: OnceLock::new(),
        }
    }

    /// Sends the first request and waits for any answer; returns whether an answer came.
    ///
    /// Starting may take long, so this has its own timeout.
    pub(crate) async fn wake(&self, timeout: Duration) -> bool {
        let begun = Instant::now();
        let mut output_state = self.output_state.clone();
        let answered = async {
            self.say(WAKE_UP).await.ok()?;
            let heard = output_state
                .wait_for(|output_state| *output_state != OutputState::Silent)
                .await;
            heard
                .ok()
                .filter(|output_state| **output_state == OutputState::Speaking)
                .map(drop)
        };
        let answered = tokio::time::timeout(timeout, answered).await;
        self.woken_in.get_or_init(|| begun.elapsed());
        answered.is_ok_and(|answered| answered.is_some())
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.output_state.borrow() == OutputState::Closed
            || self.broken_input.load(Ordering::Relaxed)
    }

    async fn say(&self, body: &[u8]) -> Result<(), CallError> {
        let mut input = self.input.lock().await;
        let partial = PartialWrite(&self.broken_input);
        let said = async {
            input.write_all(body).await?;
            input.write_all(b"\n").await?;
            input.flush().await
        };
        let said = said.await;
        if said.is_ok() {
            std::mem::forget(partial);
        }
        said.map_err(|error| CallError::Connection(error.to_string()))
    }

    async fn exchange(&self, request: &PeerRequest) -> Result<Answer, CallError> {
        let Some(id) = request.id else {
            self.say(&request.body).await?;
            return Ok(line(Bytes::new()));
        };
        let (answered, answer) = oneshot::channel();
        let _forgotten = PendingCall::enter(&self.open, id, answered)?;
        self.say(&request.body).await?;
        let mut output_state = self.output_state.clone();
        tokio::select! {
            biased;
            Ok(answer) = answer => Ok(line(answer)),
            _ = output_state.wait_for(|output_state| *output_state == OutputState::Closed) => Err(gone()),
        }
    }
}

impl Carrier for Pipes {
    /// A bot shares its machine with the league, which may be busy: then its start took long too. A
    /// wrong finding would last.
    fn probe_timeout(&self) -> Duration {
        let start = self.woken_in.get().copied().unwrap_or_default();
        PROBE_TIMEOUT.max(2 * start)
    }

    async fn carry(&self, request: &PeerRequest, timeout: Duration) -> Result<Answer, CallError> {
        let exchanged = tokio::time::timeout(timeout, self.exchange(request)).await;
        exchanged.unwrap_or(Err(CallError::Timeout(timeout)))
    }
}

/// A line that is being written; if this is dropped before the end, the input is broken.
struct PartialWrite<'p>(&'p AtomicBool);

impl Drop for PartialWrite<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A call that waits for its answer; dropping it cancels the wait.
struct PendingCall<'o> {
    open: &'o Open,
    id: u64,
}

impl<'o> PendingCall<'o> {
    fn enter(open: &'o Open, id: u64, answered: oneshot::Sender<Bytes>) -> Result<Self, CallError> {
        let mut waiting = lock(open);
        if waiting.len() >= MAX_PENDING {
            let cause = format!("{MAX_PENDING} calls wait for the bot already");
            return Err(CallError::Connection(cause));
        }
        waiting.insert(id, answered);
        Ok(Self { open, id })
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        lock(self.open).remove(&self.id);
    }
}

/// Reads the output of a bot.
struct OutputReader {
    input: Arc<tokio::sync::Mutex<ChildStdin>>,
    open: Open,
    output_state: watch::Sender<OutputState>,
    broken_input: Arc<AtomicBool>,
    longest: usize,
    /// Whether the first request was answered; only one answer to it is expected.
    woken: bool,
}

impl OutputReader {
    async fn listen(mut self, output: impl AsyncRead + Send + Unpin) {
        let mut lines = BufReader::new(output);
        let mut stray = 0;
        while let Some(line) = next_line(&mut lines, self.longest).await {
            self.output_state.send_if_modified(|output_state| {
                std::mem::replace(output_state, OutputState::Speaking) == OutputState::Silent
            });
            let length = line.len();
            if !self.hand_over(line).await {
                stray += 1;
                self.note_stray(stray, length);
            }
            if stray > MAX_STRAY_LINES {
                tracing::warn!(
                    event_type = "BOT_CHATTERS",
                    "the bot wrote {MAX_STRAY_LINES} lines that answer nothing and is no longer read"
                );
                break;
            }
        }
        self.output_state.send_replace(OutputState::Closed);
    }

    /// Logs the first unexpected lines, without their content, which may be a move.
    fn note_stray(&self, stray: usize, length: usize) {
        if stray <= MAX_STRAY_WARNINGS {
            tracing::warn!(
                event_type = "BOT_STRAY",
                "the bot wrote a line of {length} bytes that answers no question; \
                 an answer is JSON with the `id` of the question"
            );
        }
    }

    /// Passes a line to the call that waits for it; returns whether the line was expected.
    /// Notifications always are.
    async fn hand_over(&mut self, line: Vec<u8>) -> bool {
        let id = match read_id(&line) {
            BotLine::Answer(WAKE_UP_ID) => return !std::mem::replace(&mut self.woken, true),
            BotLine::Answer(id) => Some(id),
            BotLine::Notification => return true,
            BotLine::Question { id, method } => {
                self.reply(&id, &method).await;
                return false;
            }
            BotLine::Bare => None,
            BotLine::Nothing => return false,
        };
        let waiting = {
            let mut open = lock(&self.open);
            match id {
                Some(id) => open.remove(&id),
                // An answer without an id belongs to the open call, if there is exactly one.
                None if open.len() == 1 => open.pop_first().map(|(_, waiting)| waiting),
                None => None,
            }
        };
        waiting.is_some_and(|waiting| waiting.send(line.into()).is_ok())
    }

    /// Answers a request of the bot: a ping succeeds, other methods do not exist.
    async fn reply(&self, id: &str, method: &str) {
        let answer = if method == "ping" {
            json!({})
        } else {
            json!({"code": -32601, "message": "this client answers `ping` and nothing else"})
        };
        let member = if method == "ping" { "result" } else { "error" };
        let reply = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":{answer}}}\n");
        let partial = PartialWrite(&self.broken_input);
        let said = async { self.input.lock().await.write_all(reply.as_bytes()).await };
        // A bot that sends requests but does not read must not block us.
        if let Ok(Ok(())) = tokio::time::timeout(REPLY_TIMEOUT, said).await {
            std::mem::forget(partial);
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum BotLine {
    Answer(u64),
    Question {
        id: String,
        method: String,
    },
    /// A message without a JSON-RPC frame.
    Bare,
    /// Needs no answer, such as `notifications/message` of MCP.
    Notification,
    Nothing,
}

fn read_id(line: &[u8]) -> BotLine {
    let members = std::str::from_utf8(line)
        .ok()
        .and_then(|line| split(line).ok());
    let Some(members) = members else {
        return BotLine::Nothing;
    };
    let id = members.get("id").map(|id| id.get());
    match (id, members.get("method").and_then(text)) {
        (Some(id), Some(method)) => BotLine::Question {
            id: id.to_owned(),
            method: method.into_owned(),
        },
        (Some(id), None) => id.parse().map_or(BotLine::Nothing, BotLine::Answer),
        (None, None) if members.has("message_type") => BotLine::Bare,
        (None, Some(_)) if !members.has("result") && !members.has("error") => BotLine::Notification,
        (None, _) => BotLine::Nothing,
    }
}

/// Reads a line; empty in place of a line that is too long. `None` at the end of output.
async fn next_line(lines: &mut (impl AsyncBufReadExt + Unpin), longest: usize) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    let read = (&mut *lines).take(most).read_until(b'\n', &mut line).await;
    if read.ok()? == 0 {
        return None;
    }
    if line.pop() == Some(b'\n') {
        return Some(line);
    }
    line.clear();
    let mut most = MAX_SKIPPED_BYTES;
    while most > 0 {
        let (skipped, ended) = {
            let more = lines.fill_buf().await.ok()?;
            let end = more.iter().position(|byte| *byte == b'\n');
            (
                end.map_or(more.len(), |end| end + 1),
                end.is_some() || more.is_empty(),
            )
        };
        lines.consume(skipped);
        if ended {
            return Some(line);
        }
        most = most.saturating_sub(skipped);
    }
    None
}

fn line(body: Bytes) -> Answer {
    Answer {
        status: 200,
        session: None,
        location: None,
        body,
    }
}

fn gone() -> CallError {
    CallError::Connection("the bot has closed its output".to_owned())
}

fn lock(open: &Open) -> std::sync::MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Bytes>>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a bot may be silent before its owner is warned; most bots answer at once.
const SILENCE_WARNING: Duration = Duration::from_secs(5);

/// Wakes a bot, and returns whether it answered in time. A long silence is logged once, as its
/// owner sees no other sign.
pub(crate) async fn wakes(pipes: &Pipes, timeout: Duration, agent: &str) -> bool {
    let waking = pipes.wake(timeout);
    tokio::pin!(waking);
    if let Ok(woken) = tokio::time::timeout(SILENCE_WARNING, &mut waking).await {
        return woken;
    }
    tracing::warn!(
        agent_id = agent,
        event_type = "BOT_SILENT",
        "the bot has written nothing for {} s; usually it does not flush its output \
         (in Python: `print(…, flush=True)`); waiting up to {} s for its first line",
        SILENCE_WARNING.as_secs(),
        timeout.as_secs()
    );
    waking.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped() {
        let said = [
            b"short\n".as_slice(),
            &[b'x'; 5_000],
            b"\nagain\n",
            b"unfinished",
        ]
        .concat();
        let mut lines = BufReader::with_capacity(64, said.as_slice());
        let mut heard = Vec::new();
        while let Some(line) = next_line(&mut lines, 100).await {
            heard.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(heard, ["short", "", "again", ""]);
    }

    #[test]
    fn lines_are_classified_by_id_and_method() {
        for (line, said) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
                BotLine::Answer(7),
            ),
            (r#"{"id":7}"#, BotLine::Answer(7)),
            (r#"{"id":"7","result":{}}"#, BotLine::Nothing),
            (r#"{"id":-1,"result":{}}"#, BotLine::Nothing),
            (
                r#"{"method":"notifications/message"}"#,
                BotLine::Notification,
            ),
            (r#"{"method":"ping","result":{}}"#, BotLine::Nothing),
            (r#"{"method":7}"#, BotLine::Nothing),
            (r#"{"message_type":"GAME_JOIN_ACK"}"#, BotLine::Bare),
            ("hello", BotLine::Nothing),
            ("", BotLine::Nothing),
            (
                r#"{"id":"a","method":"ping"}"#,
                BotLine::Question {
                    id: "\"a\"".to_owned(),
                    method: "ping".to_owned(),
                },
            ),
        ] {
            assert_eq!(read_id(line.as_bytes()), said, "{line}");
        }
    }
}
