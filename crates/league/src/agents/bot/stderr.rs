//! The standard error of a bot, kept for its owner.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use league_protocol::finding::harmless;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use crate::storage::files::make_private;

/// The most bytes kept per process of a bot.
const MAX_KEPT_BYTES: u64 = 1024 * 1024;
/// The number of last lines shown when a bot has ended.
const MAX_LAST_LINES: usize = 6;
/// The longest of these lines, in bytes.
const MAX_LINE: usize = 200;
/// How long to wait for the last lines of a bot that has ended: another process may hold its pipe.
const STDERR_TIMEOUT: Duration = Duration::from_secs(3);

/// Reads the standard error of one process of a bot.
#[derive(Debug)]
pub(crate) struct StderrReader {
    last: Arc<Mutex<LastLines>>,
    keeping: JoinHandle<()>,
}

impl StderrReader {
    pub(crate) fn begin(path: PathBuf, stderr: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let last = Arc::new(Mutex::new(LastLines::default()));
        let keeping = tokio::spawn(keep(path, stderr, Arc::clone(&last)));
        Self { last, keeping }
    }

    /// The last lines of a bot that has ended.
    pub(crate) async fn last_lines(self) -> Vec<String> {
        // After the timeout, later lines are at most in the file.
        let _ = tokio::time::timeout(STDERR_TIMEOUT, self.keeping).await;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.end_line();
        std::mem::take(&mut last.lines).into()
    }
}

#[derive(Debug, Default)]
struct LastLines {
    lines: VecDeque<String>,
    /// The beginning of an incomplete line.
    begun: Vec<u8>,
}

impl LastLines {
    fn hear(&mut self, chunk: &[u8]) {
        for (place, part) in chunk.split(|byte| *byte == b'\n').enumerate() {
            if place > 0 {
                self.end_line();
            }
            let room = MAX_LINE.saturating_sub(self.begun.len());
            self.begun.extend(&part[..part.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.begun);
        let line = harmless(line.trim_end(), MAX_LINE);
        self.begun.clear();
        if !line.is_empty() {
            self.lines.push_back(line);
        }
        if self.lines.len() > MAX_LAST_LINES {
            self.lines.pop_front();
        }
    }
}

/// Writes standard error to a file that only its owner can read, as it may reveal the bot's plans.
/// Output beyond the limit is discarded, so that the bot never blocks.
async fn keep(
    path: PathBuf,
    mut stderr: impl AsyncRead + Send + Unpin,
    last: Arc<Mutex<LastLines>>,
) {
    let mut file = match private(&path).await {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!(
                event_type = "BOT_UNHEARD",
                "could not open `{}`: {error}",
                path.display()
            );
            None
        }
    };
    let (mut kept, mut chunk) = (0, vec![0; 8 * 1024]);
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let heard = &chunk[..length];
        last.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .hear(heard);
        let Some(open) = file.as_mut().filter(|_| kept < MAX_KEPT_BYTES) else {
            continue;
        };
        kept += length as u64;
        let written = async {
            open.write_all(heard).await?;
            open.flush().await
        };
        if written.await.is_err() {
            file = None;
        }
    }
}

async fn private(path: &Path) -> io::Result<tokio::fs::File> {
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let mut options = tokio::fs::OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    options.open(path).await
}

/// The last lines of a bot for its owner's screen; they may reveal its plans, so they are never
/// logged.
pub(crate) fn shown(words: &[String]) -> String {
    match words {
        [] => "its standard error was empty".to_owned(),
        words => format!(
            "the last lines of its standard error:\n    {}",
            words.join("\n    ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_escaped_and_cut() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(10_000);
        let said = format!("one\ntwo\nthree\n\nfour\n{long}\nsix\u{1b}[2J\r\nlast word");
        let file = folder.path().join("deep/P01.stderr.log");
        let hearing = StderrReader::begin(file.clone(), io::Cursor::new(said.clone()));
        let words = hearing.last_lines().await;
        let cut = "x".repeat(MAX_LINE);
        let expected = ["two", "three", "four", &cut, "six\\u{1b}[2J", "last word"];
        assert_eq!(words, expected);
        assert_eq!(std::fs::read_to_string(file).unwrap(), said);
        assert!(shown(&words).contains("\n    last word"));
    }
}
