//! The process around a command: its async runtime, its signals, and where its log lines go.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::Output;
use crate::cli::arguments::CommonArgs;
use crate::cli::failure::CommandError;
use crate::cli::screen;
use crate::clock::now;
use crate::config::{LogLevel, SystemConfig};
use crate::http::descriptors::raise_limit;
use crate::log::{Bounds, LogGuard, layer};
use crate::storage::root::Root;

/// The async runtime of a command that serves or calls.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    // A league holds a connection or two for each agent; a low limit would break it half-way.
    raise_limit();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            let hint = "stop other programs, or raise the limits of this user";
            CommandError::world("could not start", error.to_string(), hint)
        })
}

/// A signal to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM, as a supervisor sends it.
    Terminate,
}

/// The signals to stop that this process receives.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                CommandError::world(
                    "could not listen for signals",
                    error.to_string(),
                    "try again",
                )
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal to stop.
    pub(crate) async fn stop(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
        }
    }

    /// Waits for a signal to stop, of either kind.
    pub(crate) async fn interrupted(&mut self) {
        self.stop().await;
    }
}

/// How long background tasks may take to end.
const TASK_GRACE: Duration = Duration::from_millis(100);
/// How many different warnings are printed; the log files hold all.
const MAX_WARNINGS: usize = 50;

/// Begins to log; the guard writes queued lines when it is dropped. Warnings as JSON go to standard
/// output, unless `stdio` says that an agent answers there.
pub(crate) fn begin_logs(common: &CommonArgs, system: &SystemConfig, stdio: bool) -> LogGuard {
    let level = match common.verbose {
        0 => system.logging.level,
        _ => LogLevel::Debug,
    };
    let bounds = Bounds {
        largest: system.logging.max_file_bytes,
        kept: system.logging.max_kept_files,
    };
    let (files, guard) = layer(common.root(), level, bounds);
    let warnings = (!common.quiet).then(|| WarningPrinter {
        output: common.output,
        stdio,
        known: Mutex::default(),
    });
    let most = match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    };
    // A process keeps its first subscriber and refuses a second.
    let _ = tracing_subscriber::registry()
        .with(most)
        .with(files)
        .with(warnings)
        .try_init();
    tracing::info!(
        event_type = "PROCESS_STARTED",
        process = std::process::id(),
        "a process of League {} begins",
        env!("CARGO_PKG_VERSION")
    );
    warn_of_open_folders(&common.root());
    guard
}

/// Warns of folders that older versions or other programs made for everybody.
fn warn_of_open_folders(root: &Root) {
    for folder in ["data", "logs"].map(|name| root.as_path().join(name)) {
        let mode = fs::metadata(&folder).map_or(0, |found| found.permissions().mode());
        if mode & 0o077 != 0 {
            tracing::warn!(
                event_type = "FOLDER_OPEN",
                "other users of this machine can look into `{0}`; close it with `chmod 700 {0}`",
                folder.display()
            );
        }
    }
}

/// Does the work of a command that logs, and closes the log last: a background task that is ended
/// may still log a line.
pub(crate) fn finish<T>(logs: LogGuard, runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    // A task may still wait for a line of standard input.
    runtime.shutdown_timeout(TASK_GRACE);
    tracing::info!(
        event_type = "PROCESS_ENDED",
        process = std::process::id(),
        "the process ends"
    );
    drop(logs);
    done
}

/// With `-v`, prints each call to a manager on standard error.
pub(crate) fn print_calls(common: &CommonArgs) {
    if common.verbose > 0 {
        let _ = tracing_subscriber::registry()
            .with(LevelFilter::DEBUG)
            .with(CallPrinter)
            .try_init();
    }
}

/// Prints our calls, and no log lines of libraries.
struct CallPrinter;

impl<S: Subscriber> Layer<S> for CallPrinter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "league::wire::ask" {
            let mut sentence = LogSentence::default();
            event.record(&mut sentence);
            // There is nothing left to do if even this cannot be printed.
            let _ = writeln!(screen::errors(), "{}", sentence.message);
        }
    }
}

/// Prints each kind of warning and error once: as text on standard error, or as a JSON event.
struct WarningPrinter {
    output: Output,
    stdio: bool,
    known: Mutex<BTreeSet<String>>,
}

impl<S: Subscriber> Layer<S> for WarningPrinter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if level > Level::WARN {
            return;
        }
        let mut sentence = LogSentence::default();
        event.record(&mut sentence);
        if sentence.is_message() {
            return;
        }
        let is_error = level == Level::ERROR;
        let kind = if is_error { "error" } else { "warning" };
        let line = sentence.line(kind);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_WARNINGS || !known.insert(line.clone()) {
            return;
        }
        // There is nothing left to do if even this cannot be printed.
        let _ = match (self.output, self.stdio) {
            (Output::Text, _) => writeln!(screen::errors(), "{line}"),
            (Output::Json, true) => writeln!(screen::errors(), "{}", sentence.object(kind)),
            (Output::Json, false) => writeln!(screen::output(), "{}", sentence.object(kind)),
        };
    }
}

#[derive(Default)]
struct LogSentence {
    message: String,
    event_type: Option<String>,
    peer: Option<String>,
    /// Printed here, and written to no file.
    aside: Option<String>,
}

impl LogSentence {
    /// Whether it is about a message between agents, such as a GAME_ERROR: the log is the place
    /// for these, and people see what comes of the match.
    fn is_message(&self) -> bool {
        let event_type = self.event_type.as_deref().unwrap_or_default();
        event_type.starts_with("MESSAGE_")
    }

    fn line(&self, kind: &str) -> String {
        let peer = self.peer.as_ref().map(|peer| format!("{peer}: "));
        let aside = self.aside.as_ref().map(|aside| format!("\n  {aside}"));
        let (peer, aside) = (peer.unwrap_or_default(), aside.unwrap_or_default());
        format!("{kind}: {peer}{}{aside}", self.message)
    }

    /// One object without the aside: a reader may store it.
    fn object(&self, kind: &str) -> String {
        let object = json!({
            "event": kind, "at": now().to_millis_text(), "event_type": self.event_type,
            "peer": self.peer, "sentence": self.message,
        });
        object.to_string()
    }
}

impl Visit for LogSentence {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "aside" => self.aside = Some(value.to_owned()),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "message" => {
                let _ = write!(self.message, "{value:?}");
            }
            "event_type" => self.event_type = Some(plain(value)),
            "peer" => self.peer = Some(plain(value)),
            _ => {}
        }
    }
}

fn plain(value: &dyn std::fmt::Debug) -> String {
    format!("{value:?}").trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// Logs a line when it ends.
    struct Parting;

    impl Drop for Parting {
        fn drop(&mut self) {
            tracing::info!(event_type = "PARTING");
        }
    }

    #[test]
    fn last_words_of_an_ended_task_are_logged() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let (files, logs) = layer(root.clone(), LogLevel::Info, Bounds::default());
        // On this thread: the subscriber of a test must not see other tests.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let subscriber = tracing_subscriber::registry().with(files);
        tracing::subscriber::with_default(subscriber, || {
            finish(logs, runtime, async {
                let parting = Parting;
                tokio::spawn(async move {
                    pending::<()>().await;
                    drop(parting);
                });
            });
        });
        let log = std::fs::read_to_string(root.system_log()).unwrap_or_default();
        assert!(log.contains("PARTING"), "{log}");
    }
}
