//! Decodes the bytes of a message.
//!
//! A message is split once, recognised by its protocol, its type and the shape of its fields, and
//! read field by field. The result always holds what was found, valid or not.

use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use crate::dialect::{ENVELOPE, Envelope, Hints, recognise};
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, excerpt};
use crate::message::{AnyForm, LeagueError, Message, RegisterResponse, form};
use crate::rpc::members::{Members, text};
use crate::sender::Dialect;
use crate::shape::{Cx, object};
use crate::token::AuthToken;

/// A decoded message.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The envelope.
    pub envelope: Envelope,
    /// The dialect it is in.
    pub dialect: Dialect,
    /// The form of its type; `None` if the type is unknown.
    form: Option<&'static dyn AnyForm>,
    /// The members of the envelope, as they came.
    enveloped: Members<'a>,
    /// All other members, as they came.
    rest: Members<'a>,
    /// The findings so far.
    pub notes: Notes,
}

/// Reads the envelope of a message; without a pinned dialect the dialect is recognised.
///
/// `Err` holds the findings if there is no message at all.
pub fn decode(
    raw: &RawValue,
    reading: Reading,
    pinned: Option<Dialect>,
) -> Result<Decoded<'_>, Notes> {
    let mut notes = Notes::new(reading);
    let at = Path::root(ENVELOPE.clause);
    let Some(members) = object(raw, &at, &mut notes) else {
        return Err(notes);
    };
    let message_type = members
        .get("message_type")
        .and_then(text)
        .unwrap_or_default();
    let dialect = pinned.unwrap_or_else(|| recognise(&message_type, &members));
    let (enveloped, rest) = part(members, &message_type);
    let mut envelope = Envelope::default();
    let mut cx = Cx {
        dialect,
        hints: &Hints::default(),
        notes: &mut notes,
    };
    ENVELOPE.take(&mut envelope, enveloped.iter(), &at, &mut cx);
    check_dialect(&envelope, &enveloped, dialect, &at, &mut notes);
    let form = form(dialect, &message_type);
    if form.is_none() && envelope.message_type.is_some() {
        let name = excerpt(&message_type);
        let detail = format!("`{name}` is no message type of `{dialect}`");
        let at = Path::root("000 §4.11");
        let at = at.member("message_type", true);
        let expected = "a message type of the protocol";
        notes.refuse(Code::InvalidMessage, &at, expected, detail);
    }
    Ok(Decoded {
        envelope,
        dialect,
        form,
        enveloped,
        rest,
        notes,
    })
}

/// Notes envelope fields that belong to another protocol than the dialect's.
fn check_dialect(
    envelope: &Envelope,
    members: &Members<'_>,
    dialect: Dialect,
    at: &Path<'_>,
    notes: &mut Notes,
) {
    let spoken = envelope.protocol.map(|protocol| protocol.as_str());
    if let Some(spoken) = spoken.filter(|&spoken| spoken != dialect.protocol()) {
        let expected = format!("`{}`", dialect.protocol());
        let detail = format!("this agent speaks {expected}, and the message says `{spoken}`");
        let at = at.member("protocol", true).under("000 §2.10.2");
        notes.refuse(Code::VersionMismatch, &at, expected, detail);
    }
    let (mark, other) = match dialect {
        Dialect::V2 | Dialect::V2Api => (':', '_'),
        Dialect::V1 => ('_', ':'),
    };
    let named = members.get("sender").filter(|_| envelope.sender.is_some());
    let sender = named.and_then(text).unwrap_or_default();
    let foreign = ["player", "referee"]
        .iter()
        .filter_map(|role| sender.strip_prefix(role))
        .any(|rest| rest.starts_with(other));
    if foreign {
        let expected = format!("`{mark}` between the role and the id");
        let detail = format!("found `{}`; write {expected}", excerpt(&sender));
        let at = at.member("sender", false).under("000 §2.4.4");
        notes.forgive(Code::InvalidMessage, &at, expected, detail);
    }
}

/// Separates the members of the envelope from the rest. The token in an answer to a registration is
/// the granted one, not the sender's proof, so it stays with the rest.
fn part<'a>(members: Members<'a>, message_type: &str) -> (Members<'a>, Members<'a>) {
    let is_granted = message_type.ends_with("REGISTER_RESPONSE");
    let is_enveloped = |name: &str| {
        ENVELOPE.rows.iter().any(|row| row.name == name) && !(is_granted && name == "auth_token")
    };
    let members = members.into_iter();
    let (envelope, rest): (Vec<_>, Vec<_>) = members.partition(|(name, _)| is_enveloped(name));
    (envelope.into(), rest.into())
}

impl<'a> Decoded<'a> {
    /// Whether there is a `message_type` of any kind; without one this is not a message.
    pub(crate) fn names_type(&self) -> bool {
        self.enveloped.has("message_type")
    }

    /// A member outside the envelope, as it came.
    pub(crate) fn member(&self, name: &str) -> Option<&'a RawValue> {
        self.rest.get(name)
    }
}

impl Decoded<'_> {
    /// The type of the message, as it was written.
    pub fn message_type(&self) -> Option<&str> {
        self.envelope.message_type.as_deref()
    }

    /// The token that came with the message.
    pub fn token(&self) -> Option<AuthToken> {
        let token = self.envelope.auth_token.clone();
        token.filter(|token| !token.reveal().is_empty())
    }

    /// Decodes the message, or returns the first finding that is not forgiven.
    pub fn message(&mut self, hints: &Hints<'_>) -> Result<Message, Finding> {
        let mut cx = Cx {
            dialect: self.dialect,
            hints,
            notes: &mut self.notes,
        };
        // An unreadable type counts as missing.
        let form = self.form.filter(|_| self.envelope.message_type.is_some());
        let understood = form.and_then(|form| form.read(&self.rest, &mut cx));
        if let Some(error) = self.notes.first_error() {
            return Err(error.clone());
        }
        let mut message = understood.ok_or_else(|| unclear(self.message_type()))?;
        if let Message::PlayerRegisterRequest(request) | Message::RefereeRegisterRequest(request) =
            &mut message
        {
            request.token = self.token();
        }
        Ok(message)
    }

    /// Writes the members as they came, in the order in which the documents have them.
    pub(crate) fn write_again<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error> {
        let names = self.form.map(|form| form.names(self.dialect));
        let known = [
            ENVELOPE.names(self.dialect).collect(),
            names.unwrap_or_default(),
        ];
        for (members, known) in [&self.enveloped, &self.rest].into_iter().zip(known) {
            let place = |name: &str| known.iter().position(|known| *known == name);
            let mut ordered: Vec<_> = members.iter().collect();
            ordered.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
            for (name, raw) in ordered {
                map.serialize_entry(name, raw)?;
            }
        }
        Ok(())
    }
}

/// The finding for a message that cannot be understood for an unknown reason.
fn unclear(message_type: Option<&str>) -> Finding {
    let mut notes = Notes::new(Reading::Strict);
    let name = excerpt(message_type.unwrap_or_default());
    let detail = format!("`{name}` cannot be understood; compare it with its schema");
    notes.refuse(
        Code::InvalidMessage,
        &Path::root("000 §4"),
        "a complete message",
        detail,
    );
    notes.findings.remove(0)
}

/// The error that the sender gets for a finding.
impl From<&Finding> for LeagueError {
    fn from(finding: &Finding) -> Self {
        let mut error = Self::new(
            finding.code,
            format!("{} ({})", finding.detail, finding.clause),
        );
        error.path = Some(finding.path.clone()).filter(|path| !path.is_empty());
        error
    }
}

/// The token that a response grants, if any.
pub(crate) fn granted(message: &Message) -> Option<&AuthToken> {
    match message {
        Message::PlayerRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            Some(&enrolment.token)
        }
        Message::RefereeRegisterResponse(RegisterResponse::Accepted(enrolment)) => {
            Some(&enrolment.token)
        }
        _ => None,
    }
}
