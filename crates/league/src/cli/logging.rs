//! Where log lines of a command go: to the files below its root, and warnings to people.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use league::config::{LogLevel, SystemConfig};
use league::log::{Bounds, LogGuard, layer};
use tokio::runtime::Runtime;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::Output;
use super::common::Common;

/// How long what runs in the background may take to end.
const LAST_TASKS: Duration = Duration::from_millis(100);
/// How many different warnings are told to people; the files hold all.
const MOST_TOLD: usize = 50;

/// Begins to log; the guard writes what waits when it is dropped.
pub(super) fn begin(common: &Common, system: &SystemConfig) -> LogGuard {
    let level = match common.verbose {
        0 => system.logging.level,
        _ => LogLevel::Debug,
    };
    let bounds = Bounds {
        largest: system.logging.max_file_bytes,
        kept: system.logging.max_kept_files,
    };
    let (files, guard) = layer(common.root(), level, bounds);
    let told = (!common.quiet && common.output == Output::Text).then(Told::default);
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
pub(super) fn last<T>(logs: LogGuard, runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    // Standard input may be open still, and somebody wait for a line of it.
    runtime.shutdown_timeout(LAST_TASKS);
    drop(logs);
    done
}

/// Tells warnings and errors on standard error, each kind once.
#[derive(Default)]
struct Told(Mutex<BTreeSet<String>>);

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
        let peer = sentence
            .peer
            .map(|peer| format!("{peer}: "))
            .unwrap_or_default();
        let aside = sentence.aside.map(|aside| format!("\n  {aside}"));
        let aside = aside.unwrap_or_default();
        let line = format!("{kind}: {peer}{}{aside}", sentence.message);
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MOST_TOLD && told.insert(line.clone()) {
            // Nothing is left to be done if even this cannot be printed.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

#[derive(Default)]
struct Sentence {
    message: String,
    peer: Option<String>,
    /// What is told here and stands in no file.
    aside: Option<String>,
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
            "peer" => self.peer = Some(format!("{value:?}").trim_matches('"').to_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use league::root::Root;

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
            last(logs, runtime, async {
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
