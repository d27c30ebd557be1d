//! The wish to end: Ctrl-C, or a polite signal.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
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
use crate::cli::arguments::Common;
use crate::cli::failure::{Failure, Kind};
use crate::clock::now;
use crate::config::{LogLevel, SystemConfig};
use crate::log::{Bounds, LogGuard, escape, layer};

/// The runtime of a command that serves or calls.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    raise_descriptor_limit();
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure {
            what: "could not start".to_owned(),
            cause: error.to_string(),
            hint: "end other programs, or raise the limits of this user".to_owned(),
            kind: Kind::World,
        })
}

/// A league has a connection or two for each agent; a low limit would break it half-way.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // With the old limit a small league still works.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// A wish to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Ctrl-C: somebody breaks off.
    Interrupt,
    /// A polite end, as a supervisor asks for it.
    Terminate,
}

/// Hears the wish to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Failure> {
        let hear = |kind| {
            signal(kind).map_err(|error| Failure {
                what: "could not listen for signals".to_owned(),
                cause: error.to_string(),
                hint: "try again".to_owned(),
                kind: Kind::World,
            })
        };
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
        })
    }

    /// Waits for the wish to end, and tells which it is.
    pub(crate) async fn heard(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Interrupt,
            _ = self.terminate.recv() => Wish::Terminate,
        }
    }

    /// Waits for the wish to end, of whatever kind.
    pub(crate) async fn interrupted(&mut self) {
        self.heard().await;
    }
}

/// How long what runs in the background may take to end.
const LAST_TASKS: Duration = Duration::from_millis(100);
/// How many different warnings are told to people; the files hold all.
const MOST_TOLD: usize = 50;

/// Begins to log; the guard writes what waits when it is dropped. What machines are told of
/// warnings goes to standard output, unless `stdio` says that an agent answers there.
pub(crate) fn begin_logs(common: &Common, system: &SystemConfig, stdio: bool) -> LogGuard {
    let level = match common.verbose {
        0 => system.logging.level,
        _ => LogLevel::Debug,
    };
    let bounds = Bounds {
        largest: system.logging.max_file_bytes,
        kept: system.logging.max_kept_files,
    };
    let (files, guard) = layer(common.root(), level, bounds);
    let told = (!common.quiet).then(|| Told {
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
    // A second subscriber in one process is refused, and the first goes on.
    let _ = tracing_subscriber::registry()
        .with(most)
        .with(files)
        .with(told)
        .try_init();
    guard
}

/// Does the work of a command that logs. Last of all come the logs: what runs in the background
/// when the work is done has nothing left to do, but it may have something left to say.
pub(crate) fn finish<T>(logs: LogGuard, runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    // Standard input may be open still, and somebody wait for a line of it.
    runtime.shutdown_timeout(LAST_TASKS);
    drop(logs);
    done
}

/// Has each call of a command that asks a manager told on standard error, if it is to be verbose.
pub(crate) fn tell_calls(common: &Common) {
    if common.verbose > 0 {
        let _ = tracing_subscriber::registry()
            .with(LevelFilter::DEBUG)
            .with(Calls)
            .try_init();
    }
}

/// Tells of calls, and of nothing that libraries have to say.
struct Calls;

impl<S: Subscriber> Layer<S> for Calls {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "league::wire::ask" {
            let mut sentence = Sentence::default();
            event.record(&mut sentence);
            // Nothing is left to be done if even this cannot be printed.
            let _ = writeln!(std::io::stderr(), "{}", sentence.message);
        }
    }
}

/// Tells warnings and errors, each kind once: people on standard error, machines as an event.
struct Told {
    output: Output,
    stdio: bool,
    known: Mutex<BTreeSet<String>>,
}

impl<S: Subscriber> Layer<S> for Told {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if level > Level::WARN {
            return;
        }
        let mut sentence = Sentence::default();
        event.record(&mut sentence);
        let kind = if level == Level::ERROR {
            "error"
        } else {
            "warning"
        };
        let line = sentence.line(kind);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_TOLD || !known.insert(line.clone()) {
            return;
        }
        // Nothing is left to be done if even this cannot be printed.
        let _ = match (self.output, self.stdio) {
            (Output::Text, _) => writeln!(std::io::stderr(), "{line}"),
            (Output::Json, true) => writeln!(std::io::stderr(), "{}", sentence.object(kind)),
            (Output::Json, false) => writeln!(std::io::stdout(), "{}", sentence.object(kind)),
        };
    }
}

#[derive(Default)]
struct Sentence {
    message: String,
    event_type: Option<String>,
    peer: Option<String>,
    /// What is told here and stands in no file.
    aside: Option<String>,
}

impl Sentence {
    fn line(&self, kind: &str) -> String {
        let peer = self.peer.as_ref().map(|peer| format!("{peer}: "));
        let aside = self.aside.as_ref().map(|aside| format!("\n  {aside}"));
        let (peer, aside) = (peer.unwrap_or_default(), aside.unwrap_or_default());
        format!("{kind}: {peer}{}{aside}", self.message)
    }

    /// One object, which may be kept; so it is told without what stands in no file.
    fn object(&self, kind: &str) -> String {
        let object = json!({
            "event": kind, "at": now().to_millis_text(), "event_type": self.event_type,
            "peer": self.peer, "sentence": self.message,
        });
        escape(object.to_string())
    }
}

impl Visit for Sentence {
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

    use crate::storage::root::Root;

    use super::*;

    /// Says something when it ends.
    struct Parting;

    impl Drop for Parting {
        fn drop(&mut self) {
            tracing::info!(event_type = "PARTING");
        }
    }

    #[test]
    fn what_the_last_task_says_when_it_is_ended_stands_in_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let (files, logs) = layer(root.clone(), LogLevel::Info, Bounds::default());
        // On this thread, as the subscriber of a test is nobody else's.
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
