//! How a peer is spoken to: what to send it, and what its answers say.
//!
//! A peer takes calls in one of three manners, and [`Probe`] finds out which. Everything here is
//! bytes and headers; sending them, waiting and trying again are left to others, so a child process
//! that takes lines is spoken to just as a server behind HTTP.

mod arguments;
mod events;
mod probe;
mod reply;
mod request;
mod result;
mod tools;

pub use arguments::Inputs;
pub use events::{Events, Heard, MOST_EVENTS};
pub use probe::{Found, Probe, Step};
pub use reply::{Fault, LONGEST_QUOTE, Reply, is_expired, read};
pub use request::{Header, Request, Verb, call, end, ping};
pub use result::{Told, told};
pub use tools::{LARGEST_SCHEMA, MOST_PAGES, MOST_TOOLS, Tools};

use crate::sender::{Form, Naming, Nesting, Speech};

/// The revision of MCP that has no handshake.
pub const MODERN: &str = "2026-07-28";
/// The newest revision that begins with `initialize`.
pub const LEGACY: &str = "2025-11-25";
/// The longest revision or session id that is kept, in bytes; both go back in headers.
const LONGEST_NAME: usize = 256;

/// How a peer takes calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    /// Plain JSON-RPC, with a message in it.
    Simple(Form),
    /// MCP without a handshake.
    Modern {
        /// The revision that is spoken.
        version: String,
    },
    /// MCP that begins with `initialize`.
    Legacy(Session),
}

/// What a handshake came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The revision that both speak.
    pub version: String,
    /// What the server knows the session by; a stateless one gives none.
    pub id: Option<String>,
}

impl Manner {
    /// What an agent would say of itself that takes calls like this.
    pub const fn speech(&self) -> Speech {
        match self {
            Self::Simple(_) => Speech::Simple,
            Self::Modern { .. } | Self::Legacy(_) => Speech::Mcp,
        }
    }

    /// One word for people.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Simple(_) => "simple",
            Self::Modern { .. } => "modern",
            Self::Legacy(_) => "legacy",
        }
    }

    /// The simplified form as the documents have it.
    pub const PLAIN: Self = Self::Simple(Form::of(Naming::Tool, Nesting::Bare));

    /// The form of calls, if they are simplified.
    pub const fn form(&self) -> Option<Form> {
        match self {
            Self::Simple(form) => Some(*form),
            Self::Modern { .. } | Self::Legacy(_) => None,
        }
    }

    /// The revision of MCP, if it is MCP.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Simple(_) => None,
            Self::Modern { version } => Some(version),
            Self::Legacy(session) => Some(&session.version),
        }
    }

    /// Whether the peer keeps a session for us.
    pub const fn has_session(&self) -> bool {
        matches!(self, Self::Legacy(Session { id: Some(_), .. }))
    }
}

/// A text of a peer that may go into a header: visible, ASCII, short.
fn header_text(text: &str) -> Option<String> {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    (visible && (1..=LONGEST_NAME).contains(&text.len())).then(|| text.to_owned())
}
