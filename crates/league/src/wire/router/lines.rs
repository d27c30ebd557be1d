//! The reception over a pipe: one message on each line, for whoever launches an agent itself.
//!
//! There are no headers here; what they would say of a message of MCP is read from the message, and
//! the revision that a handshake agreed on is remembered for the rest of the pipe.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use league_mcp::{Body, Head, Origin, bare_headers};
use league_protocol::rpc::members::{members, text};
use league_protocol::rpc::{self, Broken, Era, Frame, Id, InFlight, Incoming, MAX_BODY};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Router, ToolService};
use crate::http::server::Answered;

/// How many answers may wait to be written before no further line is read.
const MOST_WAITING: usize = 64;

/// What is known of a pipe.
#[derive(Default)]
struct Pipe {
    /// The revision that a handshake agreed on.
    agreed: Mutex<Option<String>>,
    waiting: Mutex<InFlight>,
}

impl<S: ToolService> Router<S> {
    /// Serves a pipe until it ends; answers go out as they are ready, in any order.
    ///
    /// # Errors
    ///
    /// The pipe may break.
    pub(crate) async fn serve_lines(
        self: Arc<Self>,
        mut reader: impl AsyncBufRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> io::Result<()> {
        let pipe = Arc::new(Pipe::default());
        let (answers, ready) = mpsc::channel(MOST_WAITING);
        let writing = tokio::spawn(write(writer, ready));
        let mut tasks = JoinSet::new();
        while let Some(line) = next_line(&mut reader).await? {
            while tasks.len() >= MOST_WAITING {
                tasks.join_next().await;
            }
            let (reception, pipe, answers) =
                (Arc::clone(&self), Arc::clone(&pipe), answers.clone());
            // Whatever follows a handshake depends on it.
            let alone = may_be_handshake(&line);
            let answering = async move {
                if let Some(answer) = reception.answer_line(&pipe, &line).await {
                    // A writer that is gone has said why.
                    let _ = answers.send(answer).await;
                }
            };
            if alone {
                answering.await;
            } else {
                tasks.spawn(answering);
            }
        }
        while tasks.join_next().await.is_some() {}
        drop(answers);
        writing.await.map_err(io::Error::other)?
    }

    async fn answer_line(&self, pipe: &Pipe, line: &Line) -> Option<Vec<u8>> {
        let Line::Whole(line) = line else {
            return self.turn_away_line(&Broken::TooLarge.into(), Era::Simple);
        };
        let opened = match rpc::open(line) {
            Ok(opened) => opened,
            Err(broken) => return self.turn_away_line(&broken.into(), Era::Simple),
        };
        let agreed = pipe.agreed();
        let era = self.era(&opened, agreed.as_deref()).unwrap_or(Era::Simple);
        let answered = match opened.read(era) {
            Incoming::Refused(refusal) => return self.turn_away_line(&refusal, era),
            Incoming::Single(frame) => {
                let head = piped(&frame, agreed.as_deref());
                let Frame::Call(call) = &frame else {
                    return whole(self.single(&head, era, &frame).await);
                };
                if let Err(error) = pipe.begin(&call.id) {
                    return Some(rpc::fail(Some(&call.id), &error, era));
                }
                let answered = self.single(&head, era, &frame).await;
                pipe.end(&call.id);
                pipe.heed(&call.method, &answered);
                answered
            }
            Incoming::Batch(frames) => {
                let first = frames.first();
                let head = first.map(|frame| piped(frame, agreed.as_deref()));
                self.batch(&head.unwrap_or_default(), era, &frames).await
            }
        };
        whole(answered)
    }

    fn turn_away_line(&self, refusal: &rpc::Refusal, era: Era) -> Option<Vec<u8>> {
        let head = Head {
            origin: Origin::Pipe,
            ..Head::default()
        };
        whole(self.turn_away(&head, refusal, era))
    }
}

/// What would come with a message if it came over HTTP.
fn piped(frame: &Frame<'_>, agreed: Option<&str>) -> Head {
    Head {
        headers: bare_headers(frame, agreed),
        origin: Origin::Pipe,
    }
}

impl Pipe {
    fn agreed(&self) -> Option<String> {
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        agreed.clone()
    }

    fn begin(&self, id: &Id<'_>) -> Result<(), rpc::RpcError> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.begin(id)
    }

    fn end(&self, id: &Id<'_>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.end(id);
    }

    /// Remembers what a handshake agreed on.
    fn heed(&self, method: &str, answered: &Answered) {
        let Body::Whole(body) = &answered.body else {
            return;
        };
        if method != "initialize" {
            return;
        }
        let version = std::str::from_utf8(body).ok().and_then(|body| {
            let result = members(members(body).ok()?.get("result")?.get()).ok()?;
            text(result.get("protocolVersion")?).map(|version| version.into_owned())
        });
        let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        *agreed = version.or_else(|| agreed.take());
    }
}

fn whole(answered: Answered) -> Option<Vec<u8>> {
    match answered.body {
        Body::Whole(body) if !body.is_empty() => Some(body.into()),
        Body::Whole(_) | Body::Events(_) => None,
    }
}

/// A line, or what is left of one that was too long.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// Whether a line may be a handshake; a wrong guess costs nothing but time.
fn may_be_handshake(line: &Line) -> bool {
    match line {
        Line::Whole(line) => line.windows(12).any(|part| part == b"\"initialize\""),
        Line::TooLong => false,
    }
}

/// The next line that is not empty, or nothing at the end.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    loop {
        let mut line = Vec::new();
        let bound = MAX_BODY as u64 + 1;
        if (&mut *reader)
            .take(bound)
            .read_until(b'\n', &mut line)
            .await?
            == 0
        {
            return Ok(None);
        }
        if line.len() > MAX_BODY && line.last() != Some(&b'\n') {
            skip_line(reader).await?;
            return Ok(Some(Line::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Line::Whole(line.trim_ascii().to_vec())));
        }
    }
}

/// Reads to the end of a line and keeps nothing of it.
async fn skip_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let part = reader.fill_buf().await?;
        let end = part.iter().position(|byte| *byte == b'\n');
        let (length, ended) = match end {
            Some(place) => (place + 1, true),
            None => (part.len(), part.is_empty()),
        };
        reader.consume(length);
        if ended {
            return Ok(());
        }
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut ready: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(mut answer) = ready.recv().await {
        answer.push(b'\n');
        writer.write_all(&answer).await?;
        writer.flush().await?;
    }
    Ok(())
}
