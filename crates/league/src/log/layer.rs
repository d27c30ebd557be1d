//! From `tracing` to the files of the league, on a thread of its own.
//!
//! An agent that logs never waits for a disk: when more lines wait than the bound allows, further
//! ones are dropped and counted, and the next line that is written says how many.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use league_protocol::id::{LeagueId, PlayerId};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::files::LogFiles;
use super::line::Line;
use crate::clock;
use crate::config::LogLevel;
use crate::root::Root;

/// How many lines wait to be written at most.
pub const MOST_WAITING_LINES: usize = 8_192;

/// Carries what is said through `tracing` to the files below a root.
///
/// The fields `component`, `agent_id`, `event_type`, `message_type`, `conversation_id` and
/// `message` have their own place in a line; all others are its `data`. What a span says holds for
/// every line inside of it.
#[derive(Debug)]
pub struct LogLayer {
    root: Root,
    level: LogLevel,
    lines: SyncSender<Order>,
    dropped: Arc<AtomicU64>,
}

/// Keeps the writing thread alive; when it is dropped, all lines that wait are written first.
#[derive(Debug)]
pub struct LogGuard {
    lines: SyncSender<Order>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Write(PathBuf, Box<Line>),
    Stop,
}

/// Makes the layer and starts its thread; lines below `level` are left out.
pub fn layer(root: Root, level: LogLevel) -> (LogLayer, LogGuard) {
    let (lines, orders) = sync_channel(MOST_WAITING_LINES);
    let dropped = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&dropped);
    let thread = thread::spawn(move || write_all(&orders, &count));
    let guard = LogGuard {
        lines: lines.clone(),
        thread: Some(thread),
    };
    let layer = LogLayer {
        root,
        level,
        lines,
        dropped,
    };
    (layer, guard)
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let _ = self.lines.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A line that cannot be written is lost: a full disk must not stop a league that can go on.
fn write_all(orders: &Receiver<Order>, dropped: &AtomicU64) {
    let mut files = LogFiles::default();
    while let Ok(Order::Write(path, mut line)) = orders.recv() {
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            line.data
                .insert("lines_dropped_before".to_owned(), lost.into());
        }
        let _ = files.write(&path, &line.to_text());
    }
}

impl LogLayer {
    /// The log that a line belongs to.
    fn place(&self, said: &Said) -> PathBuf {
        let agent = said.agent_id.as_deref().map(PlayerId::new);
        if let Some(Ok(agent)) = agent {
            return self.root.agent_logs().join(format!("{agent}.log.jsonl"));
        }
        match said.league_id.as_deref().map(LeagueId::new) {
            Some(Ok(league)) => self.root.league_log(&league),
            _ => self.root.system_log(),
        }
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for LogLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut said = Said::default();
        attributes.record(&mut said);
        if let Some(span) = context.span(id) {
            span.extensions_mut().replace(said);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(said) = span.extensions_mut().get_mut::<Said>()
        {
            values.record(said);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let level = level_of(event.metadata().level());
        if rank(level) < rank(self.level) {
            return;
        }
        let mut said = Said::default();
        for span in context
            .event_scope(event)
            .into_iter()
            .flat_map(|s| s.from_root())
        {
            if let Some(around) = span.extensions().get::<Said>() {
                said.add(around);
            }
        }
        event.record(&mut said);
        let place = self.place(&said);
        let line = Box::new(said.into_line(level, event.metadata().target()));
        if self.lines.try_send(Order::Write(place, line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
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

const fn rank(level: LogLevel) -> u8 {
    match level {
        LogLevel::Debug => 0,
        LogLevel::Info => 1,
        LogLevel::Warning => 2,
        LogLevel::Error => 3,
    }
}

/// The fields of an event or a span.
#[derive(Debug, Clone, Default)]
struct Said {
    component: Option<String>,
    agent_id: Option<String>,
    league_id: Option<String>,
    event_type: Option<String>,
    message_type: Option<String>,
    conversation_id: Option<String>,
    message: Option<String>,
    data: Map<String, Value>,
}

impl Said {
    /// Takes over what a span says; what is said later counts more.
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
        let members = around.data.iter();
        self.data
            .extend(members.map(|(name, value)| (name.clone(), value.clone())));
    }

    fn note(&mut self, name: &str, text: String) {
        let place = match name {
            "component" => &mut self.component,
            "agent_id" => &mut self.agent_id,
            "league_id" => &mut self.league_id,
            "event_type" => &mut self.event_type,
            "message_type" => &mut self.message_type,
            "conversation_id" => &mut self.conversation_id,
            "message" => &mut self.message,
            _ => {
                self.data.insert(name.to_owned(), text.into());
                return;
            }
        };
        *place = Some(text);
    }

    fn into_line(mut self, level: LogLevel, target: &str) -> Line {
        if let Some(league) = self.league_id {
            self.data.insert("league_id".to_owned(), league.into());
        }
        let component = self.component.or_else(|| self.agent_id.clone());
        Line {
            timestamp: clock::now(),
            level,
            component: component.unwrap_or_else(|| target.to_owned()),
            agent_id: self.agent_id,
            event_type: self.event_type.unwrap_or_else(|| "LOG".to_owned()),
            message_type: self.message_type,
            conversation_id: self.conversation_id,
            message: self.message,
            data: self.data,
        }
    }
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.note(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.note(field.name(), value.to_owned());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.data.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.data.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.data.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.data.insert(field.name().to_owned(), value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.note(field.name(), value.to_string());
    }
}
