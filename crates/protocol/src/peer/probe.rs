//! Finds out how a peer takes calls, with at most three questions, and then lists its tools.
//!
//! The result depends on the shape of the reply, never on a status or a single code: servers refuse
//! unknown methods in many ways. The questions never contain a token.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::reply::{HttpReply, McpFault, read};
use super::{
    MODERN, PeerProfile, PeerRequest, Session, discover, header_text, initialize, initialized,
    list_tools,
};
use crate::finding::excerpt;
use crate::rpc::members::{split, text};

/// Error codes that only a server without a handshake uses.
const MODERN_CODES: [i64; 3] = [-32_020, -32_021, -32_022];

/// The next step of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeStep {
    /// Send this, and report the reply.
    Ask(PeerRequest),
    /// The probe is over.
    Found(PeerProfile),
}

/// A series of questions that finds out how a peer takes calls.
#[derive(Debug, Clone)]
pub struct Probe {
    stage: Stage,
    /// The id of the open question.
    asked: u64,
    heard: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    Discover,
    Initialize,
    Announce(Session),
    List {
        session: Session,
        tools: ToolList,
        pages: usize,
    },
    Done,
}

impl Probe {
    /// Starts a probe; `id` is for the first question.
    pub fn begin(id: u64) -> (Self, ProbeStep) {
        let mut probe = Self {
            stage: Stage::Discover,
            asked: id,
            heard: false,
        };
        let step = probe.ask(discover(MODERN, id), id);
        (probe, step)
    }

    /// Starts again with a peer that has lost its session.
    pub fn renew(id: u64) -> (Self, ProbeStep) {
        let mut probe = Self {
            stage: Stage::Initialize,
            asked: id,
            heard: false,
        };
        let step = probe.ask(initialize(id), id);
        (probe, step)
    }

    /// Takes the reply, or `None` if there was none; `id` is for the next question.
    pub fn hear(&mut self, reply: Option<&HttpReply<'_>>, id: u64) -> ProbeStep {
        self.heard |= reply.is_some();
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Discover => match reply.and_then(|reply| modern(reply, self.asked)) {
                Some(session) => self.list(session, id),
                None => {
                    self.stage = Stage::Initialize;
                    self.ask(initialize(id), id)
                }
            },
            Stage::Initialize => match reply.and_then(|reply| agreed(reply, self.asked)) {
                Some(session) => {
                    let announcement = initialized(&session);
                    self.stage = Stage::Announce(session);
                    self.ask(announcement, id)
                }
                None => self.found(None, None),
            },
            // An announcement does not get an answer, so the reply does not matter.
            Stage::Announce(session) => self.list(session, id),
            Stage::List {
                session,
                tools,
                pages,
            } => self.page(reply, session, tools, pages, id),
            Stage::Done => self.found(None, None),
        }
    }

    fn list(&mut self, session: Session, id: u64) -> ProbeStep {
        let request = list_tools(&session, id, None);
        self.stage = Stage::List {
            session,
            tools: ToolList::default(),
            pages: 1,
        };
        self.ask(request, id)
    }

    fn page(
        &mut self,
        reply: Option<&HttpReply<'_>>,
        session: Session,
        mut tools: ToolList,
        pages: usize,
        id: u64,
    ) -> ProbeStep {
        let page = reply.and_then(|reply| read(reply, self.asked).ok());
        let next = page.and_then(|page| tools.add(&page));
        match next {
            Some(Some(cursor)) if pages < MAX_PAGES => {
                let request = list_tools(&session, id, Some(&cursor));
                self.stage = Stage::List {
                    session,
                    tools,
                    pages: pages + 1,
                };
                self.ask(request, id)
            }
            None if tools.is_empty() => self.found(Some(session), None),
            _ => self.found(Some(session), Some(tools)),
        }
    }

    fn ask(&mut self, request: Option<PeerRequest>, id: u64) -> ProbeStep {
        self.asked = id;
        match request {
            Some(request) => ProbeStep::Ask(request),
            // The id is beyond what a peer could count to, so nothing more can be asked.
            None => self.found(None, None),
        }
    }

    fn found(&mut self, session: Option<Session>, tools: Option<ToolList>) -> ProbeStep {
        self.stage = Stage::Done;
        ProbeStep::Found(PeerProfile {
            tools,
            heard: self.heard,
            ..session.map_or(PeerProfile::PLAIN, PeerProfile::mcp)
        })
    }
}

/// The handshake-free revision that a peer speaks, if any.
fn modern(reply: &HttpReply<'_>, id: u64) -> Option<Session> {
    let version = match read(reply, id) {
        Ok(result) => newest(&member(&result, "supportedVersions")?)?,
        Err(McpFault::Refused { code, .. }) if MODERN_CODES.contains(&code) => MODERN.to_owned(),
        Err(_) => return None,
    };
    Some(Session {
        version,
        id: None,
        handshake: false,
    })
}

/// Our revision if the peer has it, else the newest without a handshake; revisions are dates.
fn newest(versions: &Value) -> Option<String> {
    let versions = versions.as_array()?.iter().filter_map(Value::as_str);
    let modern = versions.filter(|version| *version >= MODERN);
    let mut modern: Vec<String> = modern.filter_map(header_text).collect();
    if modern.iter().any(|version| version == MODERN) {
        return Some(MODERN.to_owned());
    }
    modern.sort_unstable();
    modern.pop()
}

/// The session that a handshake opened.
fn agreed(reply: &HttpReply<'_>, id: u64) -> Option<Session> {
    let result = read(reply, id).ok()?;
    let version = member(&result, "protocolVersion")?;
    Some(Session {
        version: header_text(version.as_str()?)?,
        id: reply.session.and_then(header_text),
        handshake: true,
    })
}

fn member(result: &RawValue, name: &str) -> Option<Value> {
    let members = split(result.get()).ok()?;
    serde_json::from_str(members.get(name)?.get()).ok()
}

/// The most tools of a peer that are kept.
pub const MAX_TOOLS: usize = 256;
/// The most pages of a tool list that are requested.
pub const MAX_PAGES: usize = 16;
/// The largest tool schema that is read, in bytes; a tool with a larger one gets all fields.
pub const MAX_SCHEMA: usize = 64 * 1024;
/// The longest name of a tool, in bytes.
const MAX_TOOL_NAME: usize = 128;

/// The names of the tool that asks for a move: for Even/Odd, and for all games.
const MOVES: [&str; 2] = ["choose_parity", "choose_move"];

/// How many names of a peer's tools are told.
const MAX_TOLD: usize = 12;

/// What one of our tools is for, and the words of names that other authors give it.
struct Purpose {
    tool: &'static str,
    /// In a few words.
    name: &'static str,
    /// One word of each group must occur.
    words: &'static [&'static [&'static str]],
    /// None of these may occur.
    others: &'static [&'static str],
}

/// Words of what has come to its end.
const ENDS: &[&str] = &[
    "complete",
    "completed",
    "end",
    "ended",
    "over",
    "finished",
    "finish",
    "done",
    "closed",
];
/// Words of a choice.
const CHOOSES: &[&str] = &[
    "choose", "choice", "parity", "move", "pick", "play", "decide", "decision",
];
/// Words of tools that look back, or do something else with a choice.
const LOOKS: &[&str] = &[
    "history",
    "result",
    "results",
    "state",
    "get",
    "stats",
    "strategy",
    "validate",
    "invitation",
    "invite",
    "notify",
];

const PURPOSES: [Purpose; 9] = [
    Purpose {
        tool: "handle_game_invitation",
        name: "an invitation",
        words: &[&["invitation", "invite", "invited", "invitations"]],
        others: &["history", "result", "get"],
    },
    Purpose {
        tool: "choose_parity",
        name: "a choice",
        words: &[CHOOSES],
        others: LOOKS,
    },
    Purpose {
        tool: "choose_move",
        name: "a choice",
        words: &[CHOOSES],
        others: LOOKS,
    },
    Purpose {
        tool: "notify_match_result",
        name: "the end of a match",
        words: &[
            &["match", "game"],
            &[
                "result",
                "results",
                "over",
                "end",
                "ended",
                "finished",
                "outcome",
                "complete",
                "completed",
            ],
        ],
        others: &["league", "round", "get", "history"],
    },
    Purpose {
        tool: "notify_round",
        name: "the announcement of a round",
        words: &[
            &["round"],
            &[
                "start",
                "started",
                "announce",
                "announcement",
                "announced",
                "begin",
                "new",
                "notify",
            ],
        ],
        others: ENDS,
    },
    Purpose {
        tool: "notify_round_completed",
        name: "the end of a round",
        words: &[&["round"], ENDS],
        others: &["league", "get"],
    },
    Purpose {
        tool: "update_standings",
        name: "the standings",
        words: &[&[
            "standings",
            "standing",
            "table",
            "leaderboard",
            "ranking",
            "rankings",
        ]],
        others: &["get", "query", "request"],
    },
    Purpose {
        tool: "notify_league_completed",
        name: "the end of the league",
        words: &[&["league", "tournament"], ENDS],
        others: &["round", "match", "game", "get"],
    },
    Purpose {
        tool: "notify_game_error",
        name: "an error",
        words: &[&["error", "errors"]],
        others: &["get", "history"],
    },
];

impl Purpose {
    fn of(tool: &str) -> Option<&'static Self> {
        PURPOSES.iter().find(|purpose| purpose.tool == tool)
    }

    /// Whether the words of a name say the same.
    fn fits(&self, name: &str) -> bool {
        let words = words(name);
        let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
        self.words.iter().all(|any| has(any)) && !has(self.others)
    }
}

/// The words of a name in any style: `chooseMove`, `choose-move`, `choose_move`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = letter.is_ascii_uppercase() && was_lower;
        if begins || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words
}

/// The tools that a peer lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolList {
    inputs: BTreeMap<String, Inputs>,
    /// A digest of each tool, to detect changes.
    digests: BTreeMap<String, [u8; 32]>,
}

impl ToolList {
    /// Adds a page of the list; returns the next cursor, or `None` if the page is not a list.
    pub(crate) fn add(&mut self, page: &RawValue) -> Option<Option<String>> {
        let members = split(page.get()).ok()?;
        let tools: Vec<&RawValue> = serde_json::from_str(members.get("tools")?.get()).ok()?;
        for tool in tools {
            if self.inputs.len() >= MAX_TOOLS {
                return Some(None);
            }
            self.add_tool(tool);
        }
        let next = members.get("nextCursor").and_then(text);
        Some(next.map(|next| next.to_string()))
    }

    fn add_tool(&mut self, tool: &RawValue) -> Option<()> {
        let members = split(tool.get()).ok()?;
        let name = text(members.get("name")?)?;
        if name.len() > MAX_TOOL_NAME {
            return None;
        }
        let schema = members.get("inputSchema").map_or("null", RawValue::get);
        let schema = if schema.len() > MAX_SCHEMA {
            "null"
        } else {
            schema
        };
        let read: Value = serde_json::from_str(schema).ok()?;
        self.inputs.insert(name.to_string(), Inputs::of(&read));
        let digest = Sha256::digest(schema.as_bytes()).into();
        self.digests.insert(name.to_string(), digest);
        Some(())
    }

    /// The peer's tool for one of ours, under its own name, and its inputs: the tool of that name,
    /// or else the only one whose name has its words.
    pub fn offered(&self, tool: &str) -> Option<(&str, &Inputs)> {
        let found = |name: &str| self.inputs.get_key_value(name);
        let (name, inputs) = found(tool)
            .or_else(|| {
                let [one, other] = MOVES;
                match tool {
                    _ if tool == one => found(other),
                    _ if tool == other => found(one),
                    _ => None,
                }
            })
            .or_else(|| {
                let purpose = Purpose::of(tool)?;
                let mut alike = self.inputs.iter();
                let mut alike = alike.by_ref().filter(|(name, _)| purpose.fits(name));
                alike.next().filter(|_| alike.next().is_none())
            })?;
        Some((name, inputs))
    }

    /// Says that the peer has no tool for one of ours, and which tools it has.
    pub fn lack(&self, tool: &str) -> String {
        let purpose = Purpose::of(tool).map_or(tool, |purpose| purpose.name);
        let names: Vec<String> = self.names().take(MAX_TOLD).map(excerpt).collect();
        let has = match names.as_slice() {
            [] => "no tools".to_owned(),
            names => format!("`{}`", names.join("`, `")),
        };
        let more = match self.len().saturating_sub(MAX_TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("offers no tool for {purpose}; it has {has}{more}")
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inputs.keys().map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// A digest of the whole list, to compare two lists.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (name, digest) in &self.digests {
            hash.update(Sha256::digest(name.as_bytes()));
            hash.update(digest);
        }
        hash.finalize().into()
    }
}

/// The inputs of a tool, as far as they matter for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    declared: BTreeSet<String>,
    /// Whether it accepts undeclared inputs.
    open: bool,
    /// The input that takes a whole message.
    whole: Option<Whole>,
}

/// An input that takes a whole message, and its form.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Whole {
    Object(String),
    Text(String),
}

impl Whole {
    fn name(&self) -> &str {
        let (Self::Object(name) | Self::Text(name)) = self;
        name
    }
}

impl Inputs {
    /// Reads an `inputSchema`; a value that is not a schema declares nothing and accepts
    /// everything.
    ///
    /// References are not followed. Some libraries refuse undeclared inputs without saying so, so
    /// only a schema that allows them explicitly, or that declares nothing, is sent more.
    pub fn of(schema: &Value) -> Self {
        let properties = schema["properties"].as_object();
        let declared: BTreeSet<String> = properties
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect();
        let more = &schema["additionalProperties"];
        let says_more = more.as_bool().unwrap_or(more.is_object());
        let refuses = more.as_bool() == Some(false);
        Self {
            open: says_more || declared.is_empty() && !refuses,
            whole: properties.and_then(|properties| whole(properties, &schema["required"])),
            declared,
        }
    }

    /// Arranges a message as arguments of the tool.
    pub fn shaped(&self, message: Map<String, Value>) -> Map<String, Value> {
        let own = |whole: &&Whole| !message.contains_key(whole.name());
        // An input with the name of a field takes that field alone.
        match self.whole.as_ref().filter(own) {
            Some(Whole::Object(name)) => one(name, Value::Object(message)),
            Some(Whole::Text(name)) => one(name, Value::Object(message).to_string().into()),
            None if self.open => message,
            None => {
                let declared = |(name, _): &(String, Value)| self.declared.contains(name);
                message.into_iter().filter(declared).collect()
            }
        }
    }
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

/// The only required input, or the only input at all, if it can take a message.
fn whole(properties: &Map<String, Value>, required: &Value) -> Option<Whole> {
    let needed: Vec<&str> = required
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let name = match (&*needed, properties.len()) {
        ([name], _) => *name,
        ([], 1) => properties.keys().next()?.as_str(),
        _ => return None,
    };
    let schema = properties.get(name)?;
    match &schema["type"] {
        Value::String(kind) if kind == "object" => Some(Whole::Object(name.to_owned())),
        Value::String(kind) if kind == "string" && name_of_all(name) => {
            Some(Whole::Text(name.to_owned()))
        }
        Value::Null if takes_objects(schema) => Some(Whole::Object(name.to_owned())),
        _ => None,
    }
}

/// A string input that takes a message as JSON is recognised by its name alone.
fn name_of_all(name: &str) -> bool {
    ["message", "params", "payload", "envelope", "request"].contains(&name)
}

/// A schema without a `type`: a reference, a choice with an object in it, or anything at all.
fn takes_objects(schema: &Value) -> bool {
    let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    match choices {
        Some(choices) => choices
            .iter()
            .any(|choice| choice["type"] == "object" || choice["$ref"].is_string()),
        None => true,
    }
}
