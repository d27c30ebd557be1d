//! Finding out how a peer takes calls: three questions at most, and then what tools it has.
//!
//! The verdict goes by the shape of what comes back, never by a status or by one code: servers
//! refuse what they do not know in many ways. No question shows a token.

use serde_json::Value;
use serde_json::value::RawValue;

use super::reply::{Fault, Reply, read};
use super::request::{discover, initialize, initialized, list_tools};
use super::{MODERN, MOST_PAGES, Manner, Request, Session, Tools, header_text};

/// The codes that only a server without a handshake answers with.
const MODERN_CODES: [i64; 3] = [-32_020, -32_021, -32_022];

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How the peer takes calls.
    pub manner: Manner,
    /// The tools that it lists; `None` if it lists none that can be read.
    pub tools: Option<Tools>,
    /// Whether anything came back at all.
    pub heard: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send this, and tell what comes back.
    Ask(Request),
    /// All that can be found out is found out.
    Found(Found),
}

/// A conversation with a peer about how it takes calls.
#[derive(Debug, Clone)]
pub struct Probe {
    stage: Stage,
    /// The id of the question that is open.
    asked: u64,
    heard: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    Discover,
    Initialize,
    Announce(Session),
    List {
        manner: Manner,
        tools: Tools,
        pages: usize,
    },
    Done,
}

impl Probe {
    /// Begins; `id` is for the first question.
    pub fn begin(id: u64) -> (Self, Step) {
        let mut probe = Self {
            stage: Stage::Discover,
            asked: id,
            heard: false,
        };
        let step = probe.ask(discover(MODERN, id), id);
        (probe, step)
    }

    /// Begins again with a peer that has forgotten its session.
    pub fn renew(id: u64) -> (Self, Step) {
        let mut probe = Self {
            stage: Stage::Initialize,
            asked: id,
            heard: false,
        };
        let step = probe.ask(initialize(id), id);
        (probe, step)
    }

    /// Takes what came back, or that nothing did; `id` is for the next question.
    pub fn hear(&mut self, reply: Option<&Reply<'_>>, id: u64) -> Step {
        self.heard |= reply.is_some();
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Discover => match reply.and_then(|reply| modern(reply, self.asked)) {
                Some(version) => self.list(Manner::Modern { version }, id),
                None => {
                    self.stage = Stage::Initialize;
                    self.ask(initialize(id), id)
                }
            },
            Stage::Initialize => match reply.and_then(|reply| session(reply, self.asked)) {
                Some(session) => {
                    let announcement = initialized(&session);
                    self.stage = Stage::Announce(session);
                    self.ask(announcement, id)
                }
                None => self.found(Manner::PLAIN, None),
            },
            // Nothing is owed to an announcement, so nothing that comes back matters.
            Stage::Announce(session) => self.list(Manner::Legacy(session), id),
            Stage::List {
                manner,
                tools,
                pages,
            } => self.page(reply, manner, tools, pages, id),
            Stage::Done => self.found(Manner::PLAIN, None),
        }
    }

    fn list(&mut self, manner: Manner, id: u64) -> Step {
        let request = list_tools(&manner, id, None);
        self.stage = Stage::List {
            manner,
            tools: Tools::default(),
            pages: 1,
        };
        self.ask(request, id)
    }

    fn page(
        &mut self,
        reply: Option<&Reply<'_>>,
        manner: Manner,
        mut tools: Tools,
        pages: usize,
        id: u64,
    ) -> Step {
        let page = reply.and_then(|reply| read(reply, self.asked).ok());
        let next = page.and_then(|page| tools.add(&page));
        match next {
            Some(Some(cursor)) if pages < MOST_PAGES => {
                let request = list_tools(&manner, id, Some(&cursor));
                let pages = pages + 1;
                self.stage = Stage::List {
                    manner,
                    tools,
                    pages,
                };
                self.ask(request, id)
            }
            None if tools.is_empty() => self.found(manner, None),
            _ => self.found(manner, Some(tools)),
        }
    }

    fn ask(&mut self, request: Option<Request>, id: u64) -> Step {
        self.asked = id;
        match request {
            Some(request) => Step::Ask(request),
            // An id beyond what a peer could count to: there is nothing left to ask.
            None => self.found(Manner::PLAIN, None),
        }
    }

    fn found(&mut self, manner: Manner, tools: Option<Tools>) -> Step {
        self.stage = Stage::Done;
        Step::Found(Found {
            manner,
            tools,
            heard: self.heard,
        })
    }
}

/// The revision without a handshake that a peer speaks, if it speaks one.
fn modern(reply: &Reply<'_>, id: u64) -> Option<String> {
    match read(reply, id) {
        Ok(result) => newest(&member(&result, "supportedVersions")?),
        Err(Fault::Refused { code, .. }) if MODERN_CODES.contains(&code) => Some(MODERN.to_owned()),
        Err(_) => None,
    }
}

/// Ours if it is among them, else the newest without a handshake; revisions are dates.
fn newest(versions: &Value) -> Option<String> {
    let versions = versions.as_array()?.iter().filter_map(Value::as_str);
    let modern = versions.filter(|version| *version >= MODERN);
    let mut modern: Vec<String> = modern.filter_map(header_text).collect();
    match modern.iter().any(|version| version == MODERN) {
        true => Some(MODERN.to_owned()),
        false => {
            modern.sort_unstable();
            modern.pop()
        }
    }
}

/// The session that a handshake opened.
fn session(reply: &Reply<'_>, id: u64) -> Option<Session> {
    let result = read(reply, id).ok()?;
    let version = member(&result, "protocolVersion")?;
    Some(Session {
        version: header_text(version.as_str()?)?,
        id: reply.session.and_then(header_text),
    })
}

fn member(result: &RawValue, name: &str) -> Option<Value> {
    let members = crate::rpc::members::split(result.get()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}
