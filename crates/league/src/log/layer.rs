//! Writes `tracing` events to the logs of the league.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use league_protocol::id::{LeagueId, PlayerId};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::line::{Details, DetailsPlace, LogLine, MAX_LINE};
use super::writer::{Bounds, LogQueue, LogTarget};
use crate::clock;
use crate::config::LogLevel;
use crate::storage::root::Root;

/// Writes `tracing` events to files below a root.
///
/// The fields `component`, `agent_id`, `event_type`, `message_type`, `conversation_id` and
/// `message` become fields of the line; all others become its details. The field `aside` is for
/// people and is not written to a file. Spans are ignored.
#[derive(Debug)]
pub struct LogLayer {
    level: LogLevel,
    queue: Arc<LogQueue>,
}

/// Keeps the writer thread alive; on drop, all queued lines are written first.
#[derive(Debug)]
pub struct LogGuard {
    queue: Arc<LogQueue>,
    thread: Option<JoinHandle<()>>,
}

/// Creates the layer and starts its thread; events below `level` are skipped.
pub fn layer(root: Root, level: LogLevel, bounds: Bounds) -> (LogLayer, LogGuard) {
    let queue = Arc::new(LogQueue::default());
    let thread = thread::spawn({
        let queue = Arc::clone(&queue);
        move || queue.write_all(&root, bounds)
    });
    let guard = LogGuard {
        queue: Arc::clone(&queue),
        thread: Some(thread),
    };
    (LogLayer { level, queue }, guard)
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = level_of(event.metadata().level());
        if level < self.level {
            return;
        }
        // Taken out, so that a value that logs while it is written does no harm.
        let mut fields = FIELDS.take();
        fields.clear();
        event.record(&mut fields);
        let target = fields.target();
        let text = fields.text(level, &target, event.metadata().target());
        self.queue.add(target, &text, level >= LogLevel::Warning);
        if text.len() <= MAX_LINE / 16 {
            FIELDS.set(fields);
        }
    }
}

thread_local! {
    /// The fields of the line that is being written: its buffers are used again for the next line.
    static FIELDS: RefCell<LogFields> = RefCell::default();
}

fn level_of(level: &Level) -> LogLevel {
    match *level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warning,
        Level::INFO => LogLevel::Info,
        Level::DEBUG | Level::TRACE => LogLevel::Debug,
    }
}

/// The fields of an event; an empty text is none.
#[derive(Debug, Default)]
struct LogFields {
    component: String,
    agent_id: String,
    league_id: String,
    event_type: String,
    message_type: String,
    conversation_id: String,
    message: String,
    details: Details,
    /// A value before it is masked.
    value: String,
}

/// The component of the lines that belong to neither a league nor an agent; it names their log.
const ORCHESTRATOR: &str = "orchestrator";
/// The component of the lines of a league.
const MANAGER: &str = "league_manager";

impl LogFields {
    fn clear(&mut self) {
        self.details.clear();
        for text in [
            &mut self.component,
            &mut self.agent_id,
            &mut self.league_id,
            &mut self.event_type,
            &mut self.message_type,
            &mut self.conversation_id,
            &mut self.message,
        ] {
            text.clear();
        }
    }

    /// The log for this event.
    fn target(&self) -> LogTarget {
        if let Ok(agent) = PlayerId::new(&self.agent_id) {
            return LogTarget::Agent(agent);
        }
        match LeagueId::new(&self.league_id) {
            Ok(league) => LogTarget::League(league),
            Err(_) => LogTarget::System,
        }
    }

    /// The field of the line with this name, if it has one.
    fn own(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "component" => &mut self.component,
            "agent_id" => &mut self.agent_id,
            "league_id" => &mut self.league_id,
            "event_type" => &mut self.event_type,
            "message_type" => &mut self.message_type,
            "conversation_id" => &mut self.conversation_id,
            "message" => &mut self.message,
            _ => return None,
        })
    }

    fn text(&mut self, level: LogLevel, target: &LogTarget, module: &'static str) -> String {
        if !self.league_id.is_empty() {
            self.details.add_text("league_id", &self.league_id);
        }
        let (usual, place) = match target {
            LogTarget::Agent(agent) => (agent.as_str(), DetailsPlace::Data),
            LogTarget::League(_) => (MANAGER, DetailsPlace::Details),
            LogTarget::System => {
                self.details.add_text("module", module);
                (ORCHESTRATOR, DetailsPlace::Details)
            }
        };
        let component = given(&self.component).unwrap_or(usual);
        let line = LogLine {
            timestamp: clock::wall(),
            level,
            component,
            agent_id: given(&self.agent_id).unwrap_or(component),
            event_type: given(&self.event_type).unwrap_or("LOG"),
            message_type: given(&self.message_type),
            conversation_id: given(&self.conversation_id),
            message: &self.message,
            details: &self.details,
            place,
        };
        line.to_text()
    }
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match self.own(field.name()) {
            // Writing to a text cannot fail.
            Some(own) => {
                own.clear();
                let _ = write!(own, "{value:?}");
            }
            None => {
                let mut text = std::mem::take(&mut self.value);
                text.clear();
                let _ = write!(text, "{value:?}");
                self.record_str(field, &text);
                self.value = text;
            }
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "aside" => {}
            name => match self.own(name) {
                Some(own) => {
                    own.clear();
                    own.push_str(value);
                }
                None => self.details.add_text(name, value),
            },
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.details.add_number(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.details.add_number(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.details.add(field.name(), &value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.details.add(field.name(), &value.into());
    }
}
