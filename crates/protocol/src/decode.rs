//! Decodes the bytes of a message.
//!
//! A message is split once, recognised by its protocol, its type and the shape of its fields, and
//! read field by field. The result always holds what was found, valid or not.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, excerpt};
use crate::message::{AnyForm, LeagueError, Message, RegisterResponse, form, types};
use crate::rpc::members::{Members, text};
use crate::sender::Dialect;
use crate::shape::{
    Codec, Cx, Spelling, Vocabulary, no_time, object, objects, read_text, utc_schema,
};
use crate::time::{EXPECTED, TimeError, Timestamp};
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

/// Recognises a dialect by protocol, type and the shape of the fields.
///
/// `league.v1` is recognised by its protocol name or by its own types. The two spellings of
/// `league.v2` share most messages; the API page's is recognised only by a spelling that it alone
/// uses.
pub fn recognise(message_type: &str, members: &Members<'_>) -> Dialect {
    match members.get("protocol").and_then(text).as_deref() {
        Some("league.v1") => Dialect::V1,
        Some("league.v2") => v2_or_api(message_type, members),
        _ if only_v1(message_type) => Dialect::V1,
        _ => v2_or_api(message_type, members),
    }
}

fn only_v1(message_type: &str) -> bool {
    types(Dialect::V1).contains(&message_type) && !types(Dialect::V2).contains(&message_type)
}

fn v2_or_api(message_type: &str, members: &Members<'_>) -> Dialect {
    // Both accept a round by name (ruling 8), so it decides only if nothing else does.
    let by_the_api_page = spelled_by_the_api_page(message_type, members).unwrap_or_else(|| {
        let round = members.get("round_id").and_then(text);
        round.is_some_and(|round| round.starts_with("ROUND_"))
    });
    if by_the_api_page {
        Dialect::V2Api
    } else {
        Dialect::V2
    }
}

/// Whether a field uses a spelling that only one of the two has.
fn spelled_by_the_api_page(message_type: &str, members: &Members<'_>) -> Option<bool> {
    let has = |names: &[&str]| names.iter().any(|name| members.has(name));
    let has_all = |names: &[&str]| names.iter().all(|name| members.has(name));
    let says = |name: &str, value: &str| members.get(name).and_then(text).as_deref() == Some(value);
    let (main, page) = match message_type {
        "QUERY_STANDINGS_REQUEST" | "QUERY_STANDINGS_RESPONSE" => (false, true),
        "LEAGUE_REGISTER_REQUEST" => {
            let sender = members.get("sender").and_then(text).unwrap_or_default();
            let name = sender.rsplit(':').next().unwrap_or_default();
            (false, name.eq_ignore_ascii_case("UNREGISTERED"))
        }
        "LEAGUE_REGISTER_RESPONSE" => (says("status", "ACCEPTED"), says("status", "REGISTERED")),
        "GAME_INVITATION" => (has(&["role_in_match"]), has(&["role"])),
        // Here the API page only omits fields of the document. So a message must have all fields of
        // the page: a message that omits more may have omitted anything.
        "GAME_JOIN_ACK" => (
            has(&["player_id", "arrival_timestamp"]),
            has_all(&["protocol", "match_id", "accept"]),
        ),
        "CHOOSE_PARITY_CALL" => (
            has(&["player_id", "context"]),
            has_all(&["protocol", "match_id", "deadline"]),
        ),
        "CHOOSE_PARITY_RESPONSE" => (
            has(&["player_id"]),
            has_all(&["protocol", "match_id", "parity_choice"]),
        ),
        "GAME_OVER" => (has(&["game_result"]), has(&["your_choice", "result"])),
        "LEAGUE_ERROR" => (
            has(&["context", "original_message_type"]),
            has(&["error_name"]),
        ),
        _ => (false, false),
    };
    (main || page).then_some(!main)
}

/// The envelope of a message, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub struct Envelope {
    pub protocol: Option<ProtocolName>,
    pub message_type: Option<SmolStr>,
    pub sender: Option<SenderName>,
    pub timestamp: Option<Timestamp>,
    /// Ties the messages of one exchange together.
    pub conversation_id: Option<SmolStr>,
    /// What proves the sender, once it has registered.
    pub auth_token: Option<AuthToken>,
}

objects! {
    /// The fields that every message has.
    pub(crate) ENVELOPE: Envelope = "000 §2.4.1" {
        /// The protocol: `league.v2` or `league.v1`.
        "protocol" [protocol ?] Expected;
        /// The type of the message.
        "message_type" [message_type ?] Needed;
        /// Who says it.
        "sender" [sender ?] Expected;
        /// When it was said, in UTC.
        "timestamp" [timestamp ? as SentTime] Expected;
        /// Ties the messages of one exchange together.
        "conversation_id" [conversation_id ?] Expected;
        /// What proves the sender, once it has registered.
        "auth_token" [auth_token ?] Optional;
    }
}

/// The time of a message; unlike a time in a payload it must be valid and in UTC (ruling 6).
struct SentTime;

impl Codec<Timestamp> for SentTime {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Timestamp> {
        let text = read_text(raw, at, cx)?;
        let at = &at.under("000 §2.4.2");
        let problem = match Timestamp::parse(&text) {
            Ok(moment) => return Some(moment),
            Err(problem) => problem,
        };
        let detail = no_time(&text, &problem);
        if let TimeError::Spelling(moment) = problem {
            cx.forgive(Code::InvalidTimestamp, at, EXPECTED, detail);
            return Some(moment);
        }
        cx.refuse(Code::InvalidTimestamp, at, EXPECTED, detail);
        None
    }

    fn spell(moment: &Timestamp, dialect: Dialect) -> Spelling<'_> {
        Spelling::text(match dialect {
            Dialect::V2 | Dialect::V2Api => moment.to_seconds_text(),
            Dialect::V1 => moment.to_millis_text(),
        })
    }

    fn schema(_: Dialect, reading: Reading) -> Value {
        utc_schema(reading)
    }
}

/// The protocol that a message claims to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolName {
    /// `league.v2`
    V2,
    /// `league.v1`
    V1,
}

impl Vocabulary for ProtocolName {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        match text {
            "league.v2" => Some(Self::V2),
            "league.v1" => Some(Self::V1),
            _ => {
                let expected = "`league.v2` or `league.v1`";
                let detail = format!("found `{}`; send {expected}", excerpt(text));
                cx.refuse(
                    Code::VersionMismatch,
                    &at.under("000 §2.10.2"),
                    expected,
                    detail,
                );
                None
            }
        }
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        Cow::Borrowed(self.as_str())
    }

    fn schema(_: Dialect, _: Reading) -> Value {
        json!({"type": "string", "enum": ["league.v2", "league.v1"]})
    }
}

impl ProtocolName {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "league.v2",
            Self::V1 => "league.v1",
        }
    }
}

/// The agent that the field `sender` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderName {
    /// `league_manager`
    Manager,
    /// `referee:REF01`, or `referee` in `v1`.
    Referee(Option<SmolStr>),
    /// `player:P01`, or `player_001` in `v1`.
    Player(SmolStr),
}

impl Vocabulary for SenderName {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let named = match text {
            "league_manager" => Some(Self::Manager),
            "referee" => Some(Self::Referee(None)),
            _ => match text.split_once([':', '_']) {
                Some(("referee", name)) if !name.is_empty() => {
                    Some(Self::Referee(Some(name.into())))
                }
                Some(("player", name)) if !name.is_empty() => Some(Self::Player(name.into())),
                _ => None,
            },
        };
        if named.is_none() {
            let expected = "`league_manager`, `referee:ID` or `player:ID`";
            let detail = format!("found `{}`; send {expected}", excerpt(text));
            cx.note(
                Code::InvalidMessage,
                &at.under("000 §2.4.4"),
                expected,
                detail,
            );
        }
        named
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        match self {
            Self::Manager => Cow::Borrowed("league_manager"),
            Self::Referee(None) => Cow::Borrowed("referee"),
            Self::Referee(Some(name)) => Cow::Owned(format!("referee:{name}")),
            Self::Player(name) => Cow::Owned(format!("player:{name}")),
        }
    }

    fn schema(_: Dialect, reading: Reading) -> Value {
        match reading {
            Reading::Strict => {
                json!({"type": "string", "pattern": "^(league_manager|referee|referee:.+|player[:_].+)$"})
            }
            Reading::Lenient => json!({"type": "string"}),
        }
    }
}
