//! Joining a league.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::MINIMUM_VERSION;
use crate::dialect::names::{player_id, player_name};
use crate::fault::Code;
use crate::finding::{Path, Reading};
use crate::id::{GameType, LeagueId, PlayerId, RefereeId};
use crate::sender::{CallStyle, Dialect};
use crate::shape::{Choice, Codec, Cx, Quiet, RowStates, Spelling, Value, drafts, objects};
use crate::token::AuthToken;

use super::Message;
use super::forms::parts;
use super::order::mark;
use super::{needed, promised};

/// What an agent says of itself when it registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMeta {
    /// The name that people see; unique in a league.
    pub display_name: String,
    /// The agent's own version.
    pub version: String,
    /// The protocol version it speaks; absent counts as 2.0.0.
    pub protocol_version: Option<String>,
    /// The games it knows.
    pub game_types: Vec<GameType>,
    /// Where it answers.
    pub contact_endpoint: String,
    /// How many matches a referee runs at once; meaningless for a player.
    pub max_concurrent_matches: Option<u32>,
    /// How it takes calls, if it says so; else that is found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speech: Option<CallStyle>,
    /// Whether the player signs its joins and moves with its return token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proofs: bool,
    /// Whether a person chooses the player's moves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub human: bool,
}

impl AgentMeta {
    /// Whether the agent has not shown that it knows fields that the documents do not have.
    pub fn is_foreign(&self) -> bool {
        self.speech != Some(CallStyle::Simple) && !self.proofs
    }
}

/// A wish to be admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterRequest {
    /// Who it is.
    pub meta: AgentMeta,
    /// The id it would like; given if it is free.
    pub wanted_id: Option<String>,
    /// The token of an earlier registration, if the agent comes back.
    pub token: Option<AuthToken>,
    /// The code that the organiser gave to the participants, if there is one.
    pub join_code: Option<AuthToken>,
    /// The key by which the manager admits referees, if the agent has it.
    pub referee_key: Option<AuthToken>,
    /// Whether it came as a plain request, without frame and envelope; its sender gets all tokens
    /// and need not show them.
    pub is_plain: bool,
}

/// The longest display name, in characters.
pub const MAX_NAME: usize = 64;
/// The longest version of the protocol, in bytes.
const MAX_VERSION: usize = 64;

/// Whether a protocol version is let in: three numbers with dots from [`MINIMUM_VERSION`] on, or
/// the name of the protocol.
pub fn is_supported(version: &str) -> bool {
    let minimum = version_numbers(MINIMUM_VERSION);
    let is_new = || version.len() <= MAX_VERSION && version_numbers(version) >= minimum;
    version == Dialect::V2.protocol() || is_new()
}

/// Three numbers with dots between them.
fn version_numbers(text: &str) -> Option<[u64; 3]> {
    let number = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|_| is_number)
    };
    let numbers: Option<Vec<u64>> = text.split('.').map(number).collect();
    numbers?.try_into().ok()
}

/// Whether a text can be a display name: 1 to 64 characters that people see.
pub fn is_name(text: &str) -> bool {
    let length = text.chars().take(MAX_NAME + 1).count();
    (1..=MAX_NAME).contains(&length) && text.chars().all(is_harmless)
}

/// Neither a control character, nor a direction mark, nor an invisible character.
pub fn is_harmless(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{061C}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

/// Admitted, or not and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterResponse<Id> {
    /// The agent is in.
    Accepted(Box<Enrolment<Id>>),
    /// The agent is not in.
    Rejected {
        /// Why, in a sentence.
        reason: String,
    },
}

impl<Id> From<Enrolment<Id>> for RegisterResponse<Id> {
    fn from(enrolment: Enrolment<Id>) -> Self {
        Self::Accepted(Box::new(enrolment))
    }
}

/// What an admitted agent is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment<Id> {
    /// Its id from now on.
    pub id: Id,
    /// Its token from now on; every older one is void.
    pub token: AuthToken,
    /// The league it is in.
    pub league_id: LeagueId,
    /// What the manager shows this agent in every call, if it proves itself.
    pub manager_token: Option<AuthToken>,
    /// What proves the agent when it comes back, from another address too; nobody else sees it.
    pub return_token: Option<AuthToken>,
    /// What it should know, in a sentence: such as that it was given another name.
    pub note: Option<String>,
}

objects! {
    /// A referee asks to be admitted.
    pub(crate) REFEREE_REGISTER_REQUEST: RegisterRequest = "000 §4.1.1" {
        /// What the referee says of itself.
        "referee_meta" [meta as RefereeMeta] Needed;
        /// The id it would like to have.
        "referee_id" [wanted_id ?] Optional;
        /// The key by which the manager admits referees; an addition to the documents (ruling 53).
        "referee_key" [referee_key ?] Optional;
    }
    /// What a referee says of itself.
    REFEREE_META: AgentMeta = "000 §4.1.1" {
        /// The name that people see.
        "display_name" [display_name] Needed;
        /// The referee's own version.
        "version" [version] Expected;
        /// The protocol version it speaks.
        "protocol_version" [protocol_version ?] Optional;
        /// The games it can run.
        "game_types" [game_types as Games] Expected;
        /// Where it answers.
        "contact_endpoint" [contact_endpoint] Expected;
        /// How many matches it runs at once.
        "max_concurrent_matches" [spell_capacity => max_concurrent_matches ?] Expected;
        /// How it takes calls: `simple` or `mcp`; an addition to the documents (ruling 46).
        "speech" [speech ? as Quiet] Optional;
    }
    /// The manager admits a referee or not.
    pub(crate) REFEREE_REGISTER_RESPONSE: Admission<RefereeId> = "000 §4.1.2" {
        /// Admitted or not.
        "status" [is_accepted as Accepted] Needed;
        /// The referee's id from now on.
        "referee_id" [id ?] Optional;
        /// The referee's token from now on.
        "auth_token" [token ?] Optional;
        /// What the manager will show the referee; an addition to the documents (ruling 45).
        "manager_token" [manager_token ?] Optional;
        /// What proves the referee when it comes back; an addition to the documents (ruling 7).
        "return_token" [return_token ?] Optional;
        /// The league it is in.
        "league_id" [league_id ?] Optional;
        /// Why it is not admitted, or what it should know.
        "reason" [reason ?] Optional or null;
    }
    /// A player asks to be admitted.
    pub(crate) LEAGUE_REGISTER_REQUEST: RegisterRequest = "000 §4.2.1" {
        /// What the player says of itself.
        "player_meta" [meta as PlayerMeta] Needed;
        /// The id it would like to have.
        "player_id" [wanted_id ?] Optional;
        /// The organiser's code for participants; an addition to the documents.
        "join_code" [join_code ?] Optional;
    }
    /// What a player says of itself.
    PLAYER_META: AgentMeta = "000 §4.2.1" {
        /// The name that people see.
        "display_name" [display_name] Needed;
        /// The player's own version.
        "version" [version] Expected;
        /// The protocol version it speaks.
        "protocol_version" [spell_version => protocol_version ?] Optional;
        /// The games it can play.
        "game_types" [game_types as Games] Expected;
        /// Where it answers.
        "contact_endpoint" [contact_endpoint as Address] Expected;
        /// How it takes calls: `simple` or `mcp`; an addition to the documents (ruling 46).
        "speech" [speech ? as Quiet] Optional;
        /// Whether it signs its joins and moves; an addition to the documents (ruling 27).
        "proofs" [spell_proofs => proofs] Optional;
        /// Whether a person chooses its moves; an addition to the documents (ruling 55).
        "human" [spell_human => human] Optional;
    }
    /// The manager admits a player or not.
    pub(crate) LEAGUE_REGISTER_RESPONSE: Admission<PlayerId> = "000 §4.2.2",
    api "001 §LEAGUE_REGISTER_RESPONSE" {
        /// Admitted or not.
        "status" [is_accepted as Registered] Needed;
        /// The player's id from now on.
        "player_id" [id ?] Optional;
        /// The player's token from now on.
        "auth_token" [token ?] Optional;
        /// What the manager will show the player; an addition to the documents (ruling 45).
        "manager_token" [manager_token ?] Optional;
        /// What proves the player when it comes back; an addition to the documents (ruling 7).
        "return_token" [return_token ?] Optional;
        /// The league it is in.
        "league_id" [league_id ?] Optional;
        /// Why it is not admitted.
        "reason" [reason ?] Optional in V2 or null;
        /// Why it is not admitted.
        "reason" [reason ?] Optional in V2Api;
    }
    /// A player asks to be admitted.
    pub(crate) V1_LEAGUE_REGISTER_REQUEST: V1Request = "003 §LEAGUE_REGISTER_REQUEST" {
        /// The UUID of the league.
        "league_id" [league_id] Expected;
        /// 0, as no round has begun.
        "round_id" [= u32, |_, _| Spelling::Whole(0)] Expected;
        /// `REGISTRATION`
        "match_id" [= String, |_, _| Spelling::text("REGISTRATION")] Expected;
        /// What the player says of itself.
        "player_meta" [request.meta as PlayerMeta] Needed;
        /// The id it would like to have (ruling 7).
        "player_id" [request.wanted_id ? as WantedName] Optional;
        /// The organiser's code for participants; an addition to the documents.
        "join_code" [request.join_code ?] Optional;
    }
    /// The manager admits a player or not.
    pub(crate) V1_LEAGUE_REGISTER_RESPONSE: Admission<PlayerId> = "003 §LEAGUE_REGISTER_RESPONSE" {
        /// The UUID of the league.
        "league_id" [league_id ?] Expected;
        /// 0, as no round has begun.
        "round_id" [= u32, |_, _| Spelling::Whole(0)] Expected;
        /// `REGISTRATION`
        "match_id" [= String, |_, _| Spelling::text("REGISTRATION")] Expected;
        /// Admitted or not.
        "status" [is_accepted as Accepted] Needed;
        /// The player's name from now on.
        "player_id" [id ?] Optional or null;
        /// Why it is not admitted.
        "reason" [reason ?] Optional or null;
    }
}

parts! {
    RefereeMeta: AgentMeta = REFEREE_META;
    PlayerMeta: AgentMeta = PLAYER_META;
}

drafts! {
    // Without an address the manager refuses the agent, and says so in words.
    AgentMeta {
        display_name, version, protocol_version, game_types, contact_endpoint,
        max_concurrent_matches, speech, proofs, human
    }
    RegisterRequest { meta, wanted_id, token, join_code, referee_key, is_plain }
    V1Request { league_id, request }
    Admission<PlayerId> {
        is_accepted, id, token, manager_token, return_token, league_id, reason
    }
    Admission<RefereeId> {
        is_accepted, id, token, manager_token, return_token, league_id, reason
    }
}

impl RegisterRequest {
    pub(crate) fn of_referee(self, _: &RowStates<Self>, _: &mut Cx<'_>) -> Option<Message> {
        Some(Message::RefereeRegisterRequest(Box::new(self)))
    }

    pub(crate) fn of_player(self, _: &RowStates<Self>, _: &mut Cx<'_>) -> Option<Message> {
        Some(Message::PlayerRegisterRequest(Box::new(self)))
    }
}

pub(crate) fn referee_admitted(
    admission: Admission<RefereeId>,
    seen: &RowStates<Admission<RefereeId>>,
    cx: &mut Cx<'_>,
) -> Option<Message> {
    let response = admission.finish(seen, "referee_id", cx)?;
    Some(Message::RefereeRegisterResponse(response))
}

pub(crate) fn player_admitted(
    admission: Admission<PlayerId>,
    seen: &RowStates<Admission<PlayerId>>,
    cx: &mut Cx<'_>,
) -> Option<Message> {
    let response = admission.finish(seen, "player_id", cx)?;
    Some(Message::PlayerRegisterResponse(response))
}

/// A wish to be admitted, and to which league.
pub(crate) struct V1Request {
    league_id: LeagueId,
    request: RegisterRequest,
}

impl V1Request {
    pub(crate) fn finish(self, _: &RowStates<Self>, _: &mut Cx<'_>) -> Option<Message> {
        Some(Message::PlayerRegisterRequest(Box::new(self.request)))
    }

    pub(crate) fn new(request: &RegisterRequest, league: &LeagueId) -> Self {
        Self {
            league_id: league.clone(),
            request: request.clone(),
        }
    }
}

/// A [`RegisterResponse`] as it is on the wire.
pub(crate) struct Admission<Id> {
    is_accepted: bool,
    id: Option<Id>,
    token: Option<AuthToken>,
    manager_token: Option<AuthToken>,
    return_token: Option<AuthToken>,
    league_id: Option<LeagueId>,
    reason: Option<String>,
}

impl<Id: Clone> From<&RegisterResponse<Id>> for Admission<Id> {
    fn from(response: &RegisterResponse<Id>) -> Self {
        match response {
            RegisterResponse::Accepted(enrolment) => Self {
                is_accepted: true,
                id: Some(enrolment.id.clone()),
                token: Some(enrolment.token.clone()),
                manager_token: enrolment.manager_token.clone(),
                return_token: enrolment.return_token.clone(),
                league_id: Some(enrolment.league_id.clone()),
                reason: enrolment.note.clone(),
            },
            RegisterResponse::Rejected { reason } => Self {
                reason: Some(reason.clone()),
                is_accepted: false,
                id: None,
                token: None,
                manager_token: None,
                return_token: None,
                league_id: None,
            },
        }
    }
}

impl<Id: Clone> Admission<Id> {
    /// The response in a dialect that always names the league.
    pub(crate) fn in_league(response: &RegisterResponse<Id>, league: &LeagueId) -> Self {
        let admission = Self::from(response);
        Self {
            league_id: admission.league_id.or_else(|| Some(league.clone())),
            ..admission
        }
    }

    fn finish(
        self,
        seen: &RowStates<Self>,
        id_name: &str,
        cx: &mut Cx<'_>,
    ) -> Option<RegisterResponse<Id>> {
        let at = &seen.at();
        if !seen.has("status") {
            return None;
        }
        if !self.is_accepted {
            let reason = self.reason;
            promised(
                reason.is_some(),
                "reason",
                "why the agent is not admitted",
                at,
                cx,
            );
            return Some(rejected(reason));
        }
        let id = needed(self.id, id_name, "the agent's id", at, cx)?;
        promised(
            self.token.is_some(),
            "auth_token",
            "the agent's token",
            at,
            cx,
        );
        let given = |token: Option<AuthToken>| token.filter(|token| !token.reveal().is_empty());
        Some(RegisterResponse::from(Enrolment {
            id,
            token: self.token.unwrap_or_else(|| AuthToken::new("")),
            league_id: cx.hints.league(self.league_id.as_ref()),
            manager_token: given(self.manager_token),
            return_token: given(self.return_token),
            note: self.reason,
        }))
    }
}

fn rejected<Id>(reason: Option<String>) -> RegisterResponse<Id> {
    let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
    RegisterResponse::Rejected { reason }
}

/// `league.v1` knows no tokens, and asks for no reason.
pub(crate) fn v1_admitted(
    admission: Admission<PlayerId>,
    seen: &RowStates<Admission<PlayerId>>,
    cx: &mut Cx<'_>,
) -> Option<Message> {
    let at = &seen.at();
    if !seen.has("status") {
        return None;
    }
    let response = match (admission.is_accepted, admission.id) {
        (false, _) => rejected(admission.reason),
        (true, Some(id)) => RegisterResponse::from(Enrolment {
            id,
            token: AuthToken::new(""),
            league_id: cx.hints.league(admission.league_id.as_ref()),
            manager_token: None,
            return_token: None,
            note: admission.reason,
        }),
        (true, None) => {
            let detail = "an accepted player needs its `player_id`; add it";
            let at = &at.member("player_id", true);
            cx.refuse(Code::MissingField, at, "a player's name", detail);
            return None;
        }
    };
    Some(Message::PlayerRegisterResponse(response))
}

/// Whether an agent is admitted.
struct Accepted;

impl Choice for Accepted {
    fn words(_: Dialect) -> [&'static str; 2] {
        ["ACCEPTED", "REJECTED"]
    }
}

/// Whether a player is admitted, for which the API page has a word of its own.
struct Registered;

impl Choice for Registered {
    fn words(dialect: Dialect) -> [&'static str; 2] {
        match dialect {
            Dialect::V2Api => ["REGISTERED", "REJECTED"],
            Dialect::V2 | Dialect::V1 => Accepted::words(dialect),
        }
    }
}

/// The games that an agent names; a word that cannot be a game is one it cannot play.
struct Games;

impl Codec<Vec<GameType>> for Games {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Vec<GameType>> {
        let names = Vec::<String>::read(raw, at, cx)?;
        let games = names.iter().filter_map(|name| GameType::new(name).ok());
        Some(games.collect())
    }

    fn spell(games: &Vec<GameType>, dialect: Dialect) -> Spelling<'_> {
        games.spell(dialect)
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        Vec::<String>::schema(dialect, reading)
    }
}

/// An address, which 003 writes as `mcp://` though it is reached by HTTP.
struct Address;

impl Codec<String> for Address {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<String> {
        let address = String::read(raw, at, cx)?;
        match address.strip_prefix("mcp://") {
            Some(rest) if cx.dialect == Dialect::V1 => Some(format!("http://{rest}")),
            _ => Some(address),
        }
    }

    fn spell(address: &String, dialect: Dialect) -> Spelling<'_> {
        match address.strip_prefix("http://") {
            Some(rest) if dialect == Dialect::V1 => Spelling::text(format!("mcp://{rest}")),
            _ => Spelling::text(address),
        }
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        <String as Value>::schema(dialect, reading)
    }
}

/// The id that a player would like, by its name; what can be no id stays as it is.
struct WantedName;

impl Codec<String> for WantedName {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<String> {
        let name = String::read(raw, at, cx)?;
        Some(player_id(&name).map_or(name, |id| id.to_string()))
    }

    fn spell(wanted: &String, _: Dialect) -> Spelling<'_> {
        Spelling::Text(match PlayerId::new(wanted) {
            Ok(id) => Cow::Owned(player_name(&id)),
            Err(_) => Cow::Borrowed(wanted),
        })
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        <String as Value>::schema(dialect, reading)
    }
}

fn spell_proofs(meta: &AgentMeta, _: Dialect) -> Spelling<'_> {
    mark(meta.proofs)
}

fn spell_human(meta: &AgentMeta, _: Dialect) -> Spelling<'_> {
    mark(meta.human)
}

fn spell_capacity(meta: &AgentMeta, _: Dialect) -> Spelling<'_> {
    Spelling::Whole(meta.max_concurrent_matches.unwrap_or(1))
}

/// 003 knows no versions of the protocol.
fn spell_version(meta: &AgentMeta, dialect: Dialect) -> Spelling<'_> {
    match &meta.protocol_version {
        Some(version) if dialect != Dialect::V1 => Spelling::text(version),
        _ => Spelling::Absent,
    }
}
