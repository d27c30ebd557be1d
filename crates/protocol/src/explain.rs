//! Tells what a piece of JSON is, in which dialect, and what is wrong with it.

mod frame;
mod made_out;

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::decode::{Decoded, decode};
use crate::dialect::{Hints, SenderName, types};
use crate::document::Document;
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, Severity, excerpt};
use crate::id::PlayerId;
use crate::lenient::nearest;
use crate::rpc::members::{Kind, Members, split};
use crate::rpc::{self, Broken, MAX_BATCH};
use crate::sender::Dialect;
use crate::shape::not_an_object;
pub use made_out::explain_leniently;

/// What was found out about one piece of JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// Which element of an array it is, from 0; nothing if it stands alone.
    #[serde(skip)]
    pub index: Option<usize>,
    /// What it is: a message, a request, a response, a log line, ….
    pub kind: &'static str,
    /// The tool it calls, if it is a request; harmless to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The type of the message in it; harmless to print.
    pub message_type: Option<String>,
    /// The dialect of that message; none if neither its type nor its protocol tells.
    pub dialect: Option<Dialect>,
    /// Whether there is no error in it.
    pub valid: bool,
    /// What was found, in order.
    pub findings: Vec<Finding>,
    /// What it says, written again from what was read.
    #[serde(skip)]
    pub again: Again,
}

/// JSON that was written again, as text, so that no number in it loses a digit; prints only its
/// length, since a token may stand in it.
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

/// Explains bytes: one piece of JSON, or an array of up to [`MAX_BATCH`].
pub fn explain(bytes: &[u8], reading: Reading) -> Vec<Explanation> {
    if let Err(broken) = rpc::open(bytes) {
        return vec![unreadable(reading, &broken.to_string(), remedy(broken))];
    }
    let Ok(raw) = serde_json::from_slice::<&RawValue>(bytes) else {
        return vec![unreadable(reading, "the text is not JSON", OBJECT)];
    };
    if Kind::of(raw) != Kind::Array {
        return vec![one(raw, reading)];
    }
    let elements = elements(raw);
    if elements.is_empty() {
        return vec![unreadable(reading, "the array is empty", OBJECT)];
    }
    each(&elements, reading)
}

/// The elements of an array.
fn elements(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// The pieces of JSON that are explained, in their order: one, or the elements of an array.
fn each_raw(raw: &RawValue) -> Vec<&RawValue> {
    if Kind::of(raw) != Kind::Array {
        return vec![raw];
    }
    let mut elements = elements(raw);
    elements.truncate(MAX_BATCH);
    elements
}

fn each(elements: &[&RawValue], reading: Reading) -> Vec<Explanation> {
    let kept = elements.iter().take(MAX_BATCH).enumerate();
    let mut explanations: Vec<_> = kept
        .map(|(index, element)| one(element, reading).numbered(index))
        .collect();
    if elements.len() > MAX_BATCH {
        let why = format!(
            "the array has {} elements, and only the first {MAX_BATCH} are looked at",
            elements.len()
        );
        let (expected, remedy) = ("a shorter array", "send the rest in another");
        let rest = unreadable(reading, &why, (expected, remedy));
        explanations.push(rest.numbered(MAX_BATCH));
    }
    explanations
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

    /// Says that it is an element of an array.
    fn numbered(mut self, index: usize) -> Self {
        self.index = Some(index);
        self.placed(&format!("[{index}]"))
    }

    /// Names the places of the findings from further outside.
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

/// What is expected, and what to do, where nothing better can be said.
const OBJECT: (&str, &str) = ("a JSON object", "send a JSON object");

/// What is expected, and what to do, where a text cannot be read.
fn remedy(broken: Broken) -> (&'static str, &'static str) {
    match broken {
        Broken::TooLarge => ("a shorter message", "shorten it"),
        Broken::NotUtf8 | Broken::ByteOrderMark => (
            "UTF-8 without a byte order mark",
            "save it as UTF-8 without a byte order mark",
        ),
        Broken::TooDeep => ("a flatter message", "nest it less deeply"),
        Broken::LoneSurrogate => ("whole characters", "escape both halves, or neither"),
        Broken::NotJson { .. } => ("JSON", "mend it there: a message must be JSON"),
        Broken::Empty => OBJECT,
    }
}

fn unreadable(reading: Reading, why: &str, (expected, remedy): (&str, &str)) -> Explanation {
    let mut notes = Notes::new(reading);
    let (at, detail) = (Path::root("000 §1.4"), format!("{why}; {remedy}"));
    notes.refuse(Code::InvalidMessage, &at, expected, detail);
    Explanation::new("nothing readable", notes)
}

fn one(raw: &RawValue, reading: Reading) -> Explanation {
    let mut notes = Notes::new(reading);
    let members = match split(raw.get()) {
        Ok(members) => members,
        Err(problem) => {
            not_an_object(&problem, &Path::root("000 §1.4"), &mut notes);
            return Explanation::new("nothing readable", notes);
        }
    };
    if frame::is_frame(&members) {
        return frame::explained(&members, reading);
    }
    if let Some(document) = document(&members, &mut notes) {
        let again = Again::of(&document);
        return Explanation {
            again,
            ..Explanation::new(document.label(), notes)
        };
    }
    message(raw, reading, "message")
}

/// A document that is no message; a line of a log may tell of a message, but claims no protocol.
fn document<'a>(members: &Members<'a>, notes: &mut Notes) -> Option<Document<'a>> {
    let is_log = members.has("level") && members.has("timestamp") && !members.has("protocol");
    let looked_at = members.repeated().is_none() && (is_log || !members.has("message_type"));
    looked_at.then(|| Document::recognise(members, notes))?
}

fn message(raw: &RawValue, reading: Reading, kind: &'static str) -> Explanation {
    let mut decoded = match decode(raw, reading, None) {
        Ok(decoded) => decoded,
        Err(notes) => return Explanation::new(kind, notes),
    };
    // What is said is checked too; the first error of that is among the notes by then.
    let (reader, opponent) = (PlayerId::numbered(1), PlayerId::numbered(2));
    let sender = sender(&decoded);
    // Whoever asks the manager is known by its own name alone; a referee knows whom it talks to.
    let asks = decoded.message_type() == Some("LEAGUE_QUERY");
    let hints = Hints {
        reader: sender.as_ref().or(Some(&reader).filter(|_| !asks)),
        opponent: Some(&opponent),
        placeholders: true,
        synonyms: false,
        ..Hints::default()
    };
    let understood = decoded.message(&hints);
    if let (Err(finding), None) = (understood, decoded.notes.first_error()) {
        decoded.notes.findings.push(finding);
    }
    let named = decoded.envelope.protocol.value().is_some();
    let known = suggest_type(&mut decoded) || named;
    Explanation {
        dialect: known.then_some(decoded.dialect),
        message_type: decoded.message_type().map(excerpt),
        again: Again::of(&Whole(&decoded)),
        ..Explanation::new(kind, decoded.notes)
    }
}

/// Whether any dialect has the type of a message; if none has, the finding about it says which
/// type may have been meant.
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
        "`{}` is no message type of any dialect; {}`league schema --list` names them all",
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

/// The player who sent a message, if it was one.
fn sender(decoded: &Decoded<'_>) -> Option<PlayerId> {
    match decoded.envelope.sender.value()? {
        SenderName::Player(name) => PlayerId::new(name).ok(),
        SenderName::Manager | SenderName::Referee(_) => None,
    }
}

/// A message as it goes out again from what was read of it.
struct Whole<'d>(&'d Decoded<'d>);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(decoded) = self;
        let mut map = serializer.serialize_map(None)?;
        decoded.envelope.write_members(&mut map)?;
        if let Some(body) = &decoded.body {
            body.write_members(&mut map)?;
        }
        for (name, raw) in decoded.rest.iter() {
            map.serialize_entry(name, raw)?;
        }
        map.end()
    }
}
