//! From the bytes of a message to what it says.
//!
//! A message is split once, recognised by its protocol, its type and the shape of its fields, and
//! read field by field. The result always holds what was found, whether it makes sense or not.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::dialect::{Body, Envelope, Hints, recognise};
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, excerpt};
use crate::lenient::extra_fields;
use crate::message::{LeagueError, Message, RegisterResponse};
use crate::rpc::members::{Members, text};
use crate::sender::Dialect;
use crate::shape::{Parsed, Secret, Shape, object};
use crate::token::AuthToken;

/// A message as it was read.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The fields that every message has.
    pub envelope: Envelope<'a>,
    /// The dialect it is in.
    pub dialect: Dialect,
    /// What it says; `None` if its type is not known.
    pub body: Option<Body<'a>>,
    /// Members of a message whose type is not known.
    pub rest: Members<'a>,
    /// What was found on the way.
    pub notes: Notes,
}

/// Reads a message; a pinned dialect is taken as given, otherwise it is recognised.
///
/// `Err` holds the findings where there is no message at all.
pub fn decode(
    raw: &RawValue,
    reading: Reading,
    pinned: Option<Dialect>,
) -> Result<Decoded<'_>, Notes> {
    let mut notes = Notes::new(reading);
    let at = Path::root(Envelope::CLAUSE);
    let Some(members) = object(raw, &at, &mut notes) else {
        return Err(notes);
    };
    let message_type = members
        .get("message_type")
        .and_then(text)
        .unwrap_or_default();
    let dialect = pinned.unwrap_or_else(|| recognise(&message_type, &members));
    let (enveloped, rest) = part(members, &message_type);
    let envelope = Envelope::take(enveloped, &at, &mut notes);
    check_dialect(&envelope, dialect, &at, &mut notes);
    if envelope.message_type.text().is_none() {
        return Ok(Decoded {
            envelope,
            dialect,
            body: None,
            rest,
            notes,
        });
    }
    Ok(read_body(envelope, dialect, &message_type, rest, notes))
}

/// Notes what in an envelope belongs to another protocol than the dialect's.
fn check_dialect(envelope: &Envelope<'_>, dialect: Dialect, at: &Path<'_>, notes: &mut Notes) {
    let spoken = envelope.protocol.get().map(Parsed::text);
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
    let sender = envelope.sender.get().map(Parsed::text).unwrap_or_default();
    let foreign = ["player", "referee"]
        .iter()
        .filter_map(|role| sender.strip_prefix(role))
        .any(|rest| rest.starts_with(other));
    if foreign {
        let expected = format!("`{mark}` between the role and the id");
        let detail = format!("found `{}`; write {expected}", excerpt(sender));
        let at = at.member("sender", false).under("000 §2.4.4");
        notes.forgive(Code::InvalidMessage, &at, expected, detail);
    }
}

fn read_body<'a>(
    envelope: Envelope<'a>,
    dialect: Dialect,
    message_type: &str,
    rest: Members<'a>,
    mut notes: Notes,
) -> Decoded<'a> {
    let body = match Body::read(dialect, message_type, rest, &mut notes) {
        Ok(body) => body,
        Err(rest) => {
            let at = Path::root("000 §4.11");
            let detail = format!(
                "`{}` is no message type of `{dialect}`",
                excerpt(message_type)
            );
            let at = at.member("message_type", true);
            notes.refuse(
                Code::InvalidMessage,
                &at,
                "a message type of the protocol",
                detail,
            );
            return Decoded {
                envelope,
                dialect,
                body: None,
                rest,
                notes,
            };
        }
    };
    extra_fields(body.extra(), &Path::root(body.clause()), &mut notes);
    Decoded {
        envelope,
        dialect,
        body: Some(body),
        rest: Members::default(),
        notes,
    }
}

/// Parts the members of the envelope from the rest. The token in an answer to a registration is
/// what is granted, not what proves the sender, so it goes with the rest.
fn part<'a>(members: Members<'a>, message_type: &str) -> (Members<'a>, Members<'a>) {
    let granted = message_type.ends_with("REGISTER_RESPONSE");
    let enveloped = |name: &Cow<'_, str>| {
        Envelope::FIELDS.iter().any(|field| field.name == name)
            && !(granted && name == "auth_token")
    };
    let (envelope, rest): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(name, _)| enveloped(name));
    (envelope.into(), rest.into())
}

impl Decoded<'_> {
    /// The type of the message, as it was written.
    pub fn message_type(&self) -> Option<&str> {
        self.envelope.message_type.text()
    }

    /// The token that came with the message.
    pub fn token(&self) -> Option<AuthToken> {
        let token = self.envelope.auth_token.get();
        token
            .filter(|Secret(text)| !text.is_empty())
            .map(|Secret(text)| AuthToken::new(text))
    }

    /// What the message says, or the first finding that is not forgiven.
    pub fn message(&mut self, hints: &Hints<'_>) -> Result<Message, Finding> {
        let understood = self
            .body
            .as_ref()
            .and_then(|body| body.understand(hints, &mut self.notes));
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
}

/// What is left if a message cannot be understood and nothing says why.
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

/// A finding as the error that is told to the sender.
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

/// The token that a response grants, if it does.
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
