//! Log lines as the documents define them (000 §5.10, §9.5 and §10.6, ruling 31): JSON lines.
//! Every line names an agent and has a sentence.
//!
//! The agents of this crate log through `tracing`; [`layer()`] writes their events to files. A line
//! goes to the log of the agent that its fields name, else to the league's log, else to the system
//! log. Other programs can use [`JsonLogger`]. Tokens never reach a log: a value that is named or
//! looks like a token is masked.

mod layer;
mod line;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use league_protocol::id::{IdError, LeagueId, PlayerId};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::clock;
use crate::config::LogLevel;
use crate::storage::root::Root;
pub use layer::{LogGuard, LogLayer, layer};
use line::OWN_FIELDS;
pub use line::{Details, DetailsPlace, LogLine, MAX_LINE, escape};
use writer::LogFile;
pub use writer::{Bounds, MAX_KEPT_FILES, MAX_LOG_BYTES, MAX_OPEN_FILES, MAX_QUEUED};

/// Why a line cannot be logged.
#[derive(Debug, Error)]
pub enum LogError {
    /// The component's name cannot be part of a file name.
    #[error("`{component}` cannot name a log")]
    Component { component: String, source: IdError },
    /// The file cannot be written.
    #[error("could not write `{}`", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
}

/// Adds lines to the log of one component.
///
/// The details stand beside the other fields of a line. The line names the agent of the component,
/// and has a sentence, unless `agent_id` and `message` are among the details.
#[derive(Debug)]
pub struct JsonLogger {
    component: String,
    path: PathBuf,
    file: Mutex<LogFile>,
}

impl JsonLogger {
    /// Opens the log of a component, in the league's folder if it serves a league.
    ///
    /// `referee:REF01` in `league_2025_even_odd` writes to
    /// `logs/league/league_2025_even_odd/referee_REF01.log.jsonl`.
    pub fn new(root: &Root, component: &str, league: Option<&LeagueId>) -> Result<Self, LogError> {
        let name = component.replace(':', "_");
        let name = PlayerId::new(&name).map_err(|source| LogError::Component {
            component: component.to_owned(),
            source,
        })?;
        let folder = league.map_or_else(|| root.system_logs(), |league| root.league_logs(league));
        let path = folder.join(format!("{name}.log.jsonl"));
        let file =
            LogFile::open(&path, Bounds::default()).map_err(|source| unwritable(&path, source))?;
        Ok(Self {
            component: component.to_owned(),
            path,
            file: Mutex::new(file),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn log(
        &self,
        event_type: &str,
        level: LogLevel,
        mut details: Map<String, Value>,
    ) -> Result<(), LogError> {
        let mut own = |name: &str| match details.remove(name) {
            Some(Value::String(text)) => Some(text).filter(|text| !text.is_empty()),
            None | Some(Value::Null) => None,
            Some(other) => Some(other.to_string()),
        };
        let (agent_id, message_type) = (own("agent_id"), own("message_type"));
        let (conversation_id, message) = (own("conversation_id"), own("message"));
        let mut members = Details::default();
        let others = details
            .iter()
            .filter(|(name, _)| !OWN_FIELDS.contains(&name.as_str()));
        others.for_each(|(name, value)| members.add(name, value));
        let line = LogLine {
            timestamp: clock::wall(),
            level,
            component: &self.component,
            agent_id: agent_id.as_deref().unwrap_or_else(|| self.agent()),
            event_type,
            message_type: message_type.as_deref(),
            conversation_id: conversation_id.as_deref(),
            message: message.as_deref().unwrap_or_default(),
            details: &members,
            place: DetailsPlace::Flat,
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write(&line.to_text());
        written.map_err(|source| unwritable(&self.path, source))
    }

    pub fn debug(&self, event_type: &str, details: Map<String, Value>) -> Result<(), LogError> {
        self.log(event_type, LogLevel::Debug, details)
    }

    pub fn info(&self, event_type: &str, details: Map<String, Value>) -> Result<(), LogError> {
        self.log(event_type, LogLevel::Info, details)
    }

    pub fn warning(&self, event_type: &str, details: Map<String, Value>) -> Result<(), LogError> {
        self.log(event_type, LogLevel::Warning, details)
    }

    pub fn error(&self, event_type: &str, details: Map<String, Value>) -> Result<(), LogError> {
        self.log(event_type, LogLevel::Error, details)
    }

    /// Logs a sent message.
    pub fn log_message_sent(
        &self,
        message_type: &str,
        recipient: &str,
        details: Map<String, Value>,
    ) -> Result<(), LogError> {
        let sentence = format!("sent {message_type} to {recipient}");
        let peer = ("recipient", recipient);
        let details = with_message(message_type, peer, sentence, details);
        self.debug("MESSAGE_SENT", details)
    }

    /// Logs a received message.
    pub fn log_message_received(
        &self,
        message_type: &str,
        sender: &str,
        details: Map<String, Value>,
    ) -> Result<(), LogError> {
        let sentence = format!("received {message_type} from {sender}");
        let peer = ("sender", sender);
        let details = with_message(message_type, peer, sentence, details);
        self.debug("MESSAGE_RECEIVED", details)
    }

    /// The id in `referee:REF01`; `league_manager` has none, and is an id itself.
    fn agent(&self) -> &str {
        let named = self.component.split_once(':');
        named.map_or(&self.component, |(_, id)| id)
    }
}

fn with_message(
    message_type: &str,
    (name, peer): (&str, &str),
    sentence: String,
    mut details: Map<String, Value>,
) -> Map<String, Value> {
    details.entry("message").or_insert(sentence.into());
    details.insert("message_type".to_owned(), message_type.into());
    details.insert(name.to_owned(), peer.into());
    details
}

fn unwritable(path: &Path, source: io::Error) -> LogError {
    LogError::Unwritable {
        file: path.to_owned(),
        source,
    }
}
