//! Explains a piece of JSON: its kind, its dialect and its faults.

mod frame;
mod pieces;
mod repaired;

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::decode::SenderName;
use crate::decode::{Decoded, decode};
use crate::dialect::Hints;
use crate::document;
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, Severity, excerpt};
use crate::id::PlayerId;
use crate::lenient::{self, nearest};
use crate::message::{Message, is_name, is_supported, types};
use crate::rpc::members::{Members, split};
use crate::sender::Dialect;
use crate::shape::not_an_object;
use crate::{CURRENT_VERSION, MINIMUM_VERSION};
use pieces::Line;
pub use pieces::{MAX_EXPLAINED, MAX_PIECES};
pub use repaired::explain_leniently;

/// The explanation of one piece of JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The index of an array element or a line, from 0; `None` if the piece stands alone.
    #[serde(skip)]
    pub index: Option<usize>,
    /// The kind of JSON: a message, a request, a response, a log line, ….
    pub kind: &'static str,
    /// The tool that a request calls; safe to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The type of the message in it; safe to print.
    pub message_type: Option<String>,
    /// The dialect of that message; `None` if neither type nor protocol shows it.
    pub dialect: Option<Dialect>,
    /// Whether it is free of errors.
    pub valid: bool,
    /// What was found, in order.
    pub findings: Vec<Finding>,
    /// Its content, written again from what was read.
    #[serde(skip)]
    pub again: Again,
}

/// JSON that was written again, as text, so that numbers keep all digits; `Debug` prints only its
/// length, because it may contain a token.
#[derive(Clone, Default)]
pub struct Again(String);

impl Again {
    /// The JSON; empty if there was nothing to write.
    pub fn text(&self) -> &str {
        &self.0
    }

    fn of(written: &impl Serialize) -> Self {
        Self(serde_json::to_string(written).unwrap_or_default())
    }
}

impl fmt::Debug for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.0.len())
    }
}

/// The settings of an explanation.
#[derive(Debug, Clone, Copy)]
pub struct Lens {
    /// What is forgiven.
    pub reading: Reading,
    /// The dialect to check against; without one it is recognised.
    pub dialect: Option<Dialect>,
}

impl From<Reading> for Lens {
    fn from(reading: Reading) -> Self {
        let dialect = None;
        Self { reading, dialect }
    }
}

/// Explains bytes: one piece of JSON, an array of them, or one on each line.
///
/// Each piece may be as large as a body, all together [`MAX_EXPLAINED`]; only the first
/// [`MAX_PIECES`] are explained.
pub fn explain(bytes: &[u8], lens: impl Into<Lens>) -> Vec<Explanation> {
    pieces::explained(bytes, lens.into(), |raw, lens| piece(raw, lens, one))
}

/// Explains a piece, or the message in a line of an exported match.
fn piece(raw: &RawValue, lens: Lens, one: impl Fn(&RawValue, Lens) -> Explanation) -> Explanation {
    match Line::of(raw) {
        Some(Line::Said(message)) => one(message, lens).placed("message"),
        Some(Line::Match) => Explanation {
            again: Again::of(&raw),
            ..Explanation::new("match of an export", Notes::new(lens.reading))
        },
        None => one(raw, lens),
    }
}

impl Explanation {
    fn new(kind: &'static str, notes: Notes) -> Self {
        Self {
            index: None,
            kind,
            method: None,
            message_type: None,
            dialect: None,
            valid: notes.first_error().is_none(),
            findings: notes.findings,
            again: Again::default(),
        }
    }

    /// Sets the index in an array.
    fn numbered(mut self, index: usize) -> Self {
        self.index = Some(index);
        self.placed(&format!("[{index}]"))
    }

    /// Prefixes the paths of the findings with the outer path.
    fn placed(mut self, outside: &str) -> Self {
        for finding in &mut self.findings {
            let inside = &finding.path;
            let joined = inside.is_empty() || inside.starts_with('[');
            let dot = if joined { "" } else { "." };
            finding.path = format!("{outside}{dot}{inside}");
        }
        self
    }
}

fn unreadable(reading: Reading, why: &str, (expected, remedy): (&str, &str)) -> Explanation {
    let mut notes = Notes::new(reading);
    let (at, detail) = (Path::root("000 §1.4"), format!("{why}; {remedy}"));
    notes.refuse(Code::InvalidMessage, &at, expected, detail);
    Explanation::new("nothing readable", notes)
}

fn one(raw: &RawValue, lens: Lens) -> Explanation {
    let mut notes = Notes::new(lens.reading);
    let members = match split(raw.get()) {
        Ok(members) => members,
        Err(problem) => {
            not_an_object(&problem, &Path::root("000 §1.4"), &mut notes);
            return Explanation::new("nothing readable", notes);
        }
    };
    if frame::is_frame(&members) {
        return frame::explained(&members, lens);
    }
    if let Some(label) = document_label(&members, &mut notes) {
        return Explanation {
            again: Again::of(&raw),
            ..Explanation::new(label, notes)
        };
    }
    message(raw, lens, "message")
}

/// A document that is not a message; a log line may describe a message, but does not claim a
/// protocol.
fn document_label(members: &Members<'_>, notes: &mut Notes) -> Option<&'static str> {
    let is_log = members.has("level") && members.has("timestamp") && !members.has("protocol");
    let looked_at = members.repeated().is_none() && (is_log || !members.has("message_type"));
    looked_at.then(|| document::recognise(members, notes))?
}

fn message(raw: &RawValue, lens: Lens, kind: &'static str) -> Explanation {
    let mut decoded = match decode(raw, lens.reading, lens.dialect) {
        Ok(decoded) => decoded,
        Err(notes) => return Explanation::new(kind, notes),
    };
    // The content is checked too; its first error is among the notes by then.
    let (reader, opponent) = (PlayerId::numbered(1), PlayerId::numbered(2));
    let sender = sender(&decoded);
    // A query is from its named sender only, without a placeholder; a referee knows its players.
    let asks = decoded.message_type() == Some("LEAGUE_QUERY");
    let hints = Hints {
        reader: sender.as_ref().or(Some(&reader).filter(|_| !asks)),
        opponent: Some(&opponent),
        placeholders: true,
        synonyms: false,
        ..Hints::default()
    };
    match decoded.message(&hints) {
        Ok(message) => judge(&message, decoded.dialect, &mut decoded.notes),
        Err(finding) if decoded.notes.first_error().is_none() => {
            decoded.notes.findings.push(finding);
        }
        Err(_) => {}
    }
    let named = decoded.envelope.protocol.is_some();
    let known = suggest_type(&mut decoded) || named;
    tell_once(&mut decoded.notes.findings);
    Explanation {
        dialect: known.then_some(decoded.dialect),
        message_type: decoded.message_type().map(excerpt),
        again: Again::of(&Whole(&decoded)),
        ..Explanation::new(kind, decoded.notes)
    }
}

/// Notes what a manager refuses after it has read a registration.
fn judge(message: &Message, dialect: Dialect, notes: &mut Notes) {
    let (place, meta) = match message {
        Message::PlayerRegisterRequest(request) => ("player_meta", &request.meta),
        Message::RefereeRegisterRequest(request) => ("referee_meta", &request.meta),
        _ => return,
    };
    let root = Path::root("000 §2.10.2");
    let at = root.member(place, true);
    // A lenient manager reads other spellings of a version first.
    let mut read = meta.clone();
    lenient::application(&mut read, None, &mut Notes::new(notes.reading));
    let version = read.protocol_version.filter(|_| dialect != Dialect::V1);
    if let Some(version) = version.filter(|version| !is_supported(version)) {
        let expected = format!("{MINIMUM_VERSION} or later");
        let detail = format!(
            "protocol version `{}` is not supported; use {expected}, preferably {CURRENT_VERSION}",
            excerpt(&version)
        );
        let at = at.member("protocol_version", true);
        notes.refuse(Code::VersionMismatch, &at, expected, detail);
    }
    if meta.contact_endpoint.trim().is_empty() {
        let expected = "the address at which the agent answers";
        let detail = "`contact_endpoint` is missing; send the address at which you answer";
        let at = at.member("contact_endpoint", true);
        notes.refuse(Code::MissingField, &at, expected, detail);
    }
    if !is_name(meta.display_name.trim()) {
        let detail = "a display name has 1 to 64 visible characters; choose such a name";
        let at = at.member("display_name", true);
        let expected = "a name of 1 to 64 visible characters";
        notes.refuse(Code::InvalidMessage, &at, expected, detail);
    }
}

/// Removes deviations that are also reported as errors.
fn tell_once(findings: &mut Vec<Finding>) {
    let errors: Vec<(Code, String)> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| (finding.code, finding.path.clone()))
        .collect();
    findings.retain(|finding| {
        let told = |(code, path): &(Code, String)| *code == finding.code && *path == finding.path;
        finding.severity == Severity::Error || !errors.iter().any(told)
    });
}

/// Whether any dialect has the type of a message; if not, the finding suggests a type.
fn suggest_type(decoded: &mut Decoded<'_>) -> bool {
    let mut all = Dialect::ALL.into_iter().flat_map(types).copied();
    let Some(written) = decoded.message_type() else {
        return false;
    };
    if all.clone().any(|known| known == written) {
        return true;
    }
    let shout = written.to_ascii_uppercase();
    let meant = nearest(&shout, &mut all).map(|near| format!("did you mean `{near}`? "));
    let detail = format!(
        "`{}` is no message type of any dialect; {}`league explain --list` names them all",
        excerpt(written),
        meant.unwrap_or_default()
    );
    let mut findings = decoded.notes.findings.iter_mut();
    let about = |finding: &&mut Finding| {
        finding.path == "message_type" && finding.severity == Severity::Error
    };
    if let Some(finding) = findings.find(about) {
        finding.detail = detail;
    }
    false
}

/// The player who sent a message; `None` for other senders.
fn sender(decoded: &Decoded<'_>) -> Option<PlayerId> {
    match decoded.envelope.sender.as_ref()? {
        SenderName::Player(name) => PlayerId::new(name).ok(),
        SenderName::Manager | SenderName::Referee(_) => None,
    }
}

/// A message as it is written again.
struct Whole<'d>(&'d Decoded<'d>);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(decoded) = self;
        let mut map = serializer.serialize_map(None)?;
        decoded.write_again(&mut map)?;
        map.end()
    }
}
