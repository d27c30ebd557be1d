//! Writes `tracing` events to the logs of the league.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use league_protocol::id::{LeagueId, PlayerId};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::line::{DetailsPlace, LogLine};
use super::writer::{Bounds, LogQueue, LogTarget};
use crate::clock;
use crate::config::LogLevel;
use crate::storage::root::Root;

/// Writes `tracing` events to files below a root.
///
/// The fields `component`, `agent_id`, `event_type`, `message_type`, `conversation_id` and
/// `message` become fields of the line; all others become its details. The fields of a span apply
/// to every event inside it. The field `aside` is for people and is not written to a file.
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

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for LogLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().replace(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<LogFields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let level = level_of(event.metadata().level());
        if level < self.level {
            return;
        }
        let mut fields = LogFields::default();
        for span in context
            .event_scope(event)
            .into_iter()
            .flat_map(|s| s.from_root())
        {
            if let Some(around) = span.extensions().get::<LogFields>() {
                fields.add(around);
            }
        }
        event.record(&mut fields);
        let target = fields.target();
        let line = fields.into_line(level, &target, event.metadata().target());
        let urgent = level >= LogLevel::Warning;
        self.queue.add(target, &line.to_text(), urgent);
    }
}

fn level_of(level: &Level) -> LogLevel {
    match *level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warning,
        Level::INFO => LogLevel::Info,
        Level::DEBUG | Level::TRACE => LogLevel::Debug,
    }
}

/// The fields of an event or a span.
#[derive(Debug, Clone, Default)]
struct LogFields {
    component: Option<String>,
    agent_id: Option<String>,
    league_id: Option<String>,
    event_type: Option<String>,
    message_type: Option<String>,
    conversation_id: Option<String>,
    message: Option<String>,
    details: Vec<(Cow<'static, str>, Value)>,
}

/// The component of the lines that belong to neither a league nor an agent; it names their log.
const ORCHESTRATOR: &str = "orchestrator";
/// The component of the lines of a league.
const MANAGER: &str = "league_manager";

impl LogFields {
    /// The log for this event.
    fn target(&self) -> LogTarget {
        let agent = self.agent_id.as_deref().map(PlayerId::new);
        if let Some(Ok(agent)) = agent {
            return LogTarget::Agent(agent);
        }
        match self.league_id.as_deref().map(LeagueId::new) {
            Some(Ok(league)) => LogTarget::League(league),
            _ => LogTarget::System,
        }
    }

    /// Adds the fields of a span; later values replace earlier ones.
    fn add(&mut self, around: &Self) {
        let take = |own: &mut Option<String>, other: &Option<String>| {
            if other.is_some() {
                own.clone_from(other);
            }
        };
        take(&mut self.component, &around.component);
        take(&mut self.agent_id, &around.agent_id);
        take(&mut self.league_id, &around.league_id);
        take(&mut self.event_type, &around.event_type);
        take(&mut self.message_type, &around.message_type);
        take(&mut self.conversation_id, &around.conversation_id);
        for (name, value) in &around.details {
            self.insert(name.clone(), value.clone());
        }
    }

    fn insert(&mut self, name: Cow<'static, str>, value: Value) {
        match self.details.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.details.push((name, value)),
        }
    }

    fn note(&mut self, name: &'static str, text: String) {
        let target = match name {
            "component" => &mut self.component,
            "agent_id" => &mut self.agent_id,
            "league_id" => &mut self.league_id,
            "event_type" => &mut self.event_type,
            "message_type" => &mut self.message_type,
            "conversation_id" => &mut self.conversation_id,
            "message" => &mut self.message,
            "aside" => return,
            _ => return self.insert(name.into(), text.into()),
        };
        *target = Some(text);
    }

    fn into_line(mut self, level: LogLevel, target: &LogTarget, module: &'static str) -> LogLine {
        if let Some(league) = self.league_id {
            self.details.push(("league_id".into(), league.into()));
        }
        let (usual, place) = match target {
            LogTarget::Agent(agent) => (agent.as_str(), DetailsPlace::Data),
            LogTarget::League(_) => (MANAGER, DetailsPlace::Details),
            LogTarget::System => {
                self.details.push(("module".into(), module.into()));
                (ORCHESTRATOR, DetailsPlace::Details)
            }
        };
        let component = self.component.unwrap_or_else(|| usual.to_owned());
        let event_type = self.event_type.unwrap_or_else(|| "LOG".to_owned());
        let message = self.message.filter(|message| !message.is_empty());
        LogLine {
            timestamp: clock::wall(),
            level,
            agent_id: self.agent_id.unwrap_or_else(|| component.clone()),
            component,
            message: message
                .unwrap_or_else(|| LogLine::sentence(&event_type, self.message_type.as_deref())),
            event_type,
            message_type: self.message_type,
            conversation_id: self.conversation_id,
            details: self.details,
            place,
        }
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.note(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.note(field.name(), value.to_owned());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field.name().into(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field.name().into(), value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.note(field.name(), value.to_string());
    }
}
