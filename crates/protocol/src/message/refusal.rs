//! Errors that are told to an agent.

use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::fault::Code;
use crate::id::{LeagueId, MatchId, PlayerId};
use crate::rpc::RpcError;
use crate::sender::Dialect;
use crate::shape::{Cx, Field, Plain, RowStates, Spelling, Value as _, drafts, objects};
use crate::time::Timestamp;
use crate::token::AuthToken;

use super::play::MatchState;
use super::{Message, RegisterResponse};

/// The manager, or any agent, refuses a message.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueError {
    /// Which rule.
    pub code: Code,
    /// What kind of message was refused, if it could be told.
    pub original_message_type: Option<String>,
    /// What went wrong and what to do, in a sentence for people.
    pub detail: String,
    /// Where in the message, as a path such as `player_meta.game_types[0]`.
    pub path: Option<String>,
    /// More that helps to find the cause; never a token.
    pub context: Map<String, Value>,
}

impl LeagueError {
    /// A refusal with a code and a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            original_message_type: None,
            detail: detail.into(),
            path: None,
            context: Map::new(),
        }
    }

    /// The same refusal, which tells the agent when to try again.
    #[must_use]
    pub fn until(mut self, wait: Duration) -> Self {
        let seconds = wait.as_secs_f64().ceil();
        self.context
            .insert(RETRY_AFTER.to_owned(), (seconds as u64).into());
        self
    }

    /// Completes the refusal with the call that it answers: the type of its message, and the
    /// context that the documents print for tokens (000 §4.10.1, §8.10.1) and players (§2.9.1).
    pub fn complete(
        &mut self,
        action: Option<&'static str>,
        token: Option<&AuthToken>,
        player: Option<&PlayerId>,
    ) {
        let about_token = matches!(self.code, Code::TokenMissing | Code::TokenInvalid);
        let mut tell = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                self.context
                    .entry(name)
                    .or_insert_with(|| Value::String(value));
            }
        };
        if about_token {
            let shown = token.filter(|_| self.code == Code::TokenInvalid);
            tell("provided_token", shown.map(AuthToken::masked));
            tell("expected_format", Some(TOKEN_FORMAT.to_owned()));
            tell("action", action.map(str::to_owned));
        }
        if about_token || self.code == Code::PlayerNotRegistered {
            tell("player_id", player.map(PlayerId::to_string));
        }
        if self.original_message_type.is_none() {
            self.original_message_type = action.map(str::to_owned);
        }
    }

    /// The refusal as a message of `league.v1`, which has one: a registration that is rejected for
    /// good.
    pub fn to_rejection(&self) -> Option<Message> {
        let registers = self.original_message_type.as_deref() == Some("LEAGUE_REGISTER_REQUEST");
        let reason = || format!("{}: {}", self.code.name(), self.detail);
        let rejected = || RegisterResponse::Rejected { reason: reason() };
        (registers && !self.code.retryable()).then(|| Message::PlayerRegisterResponse(rejected()))
    }

    /// The refusal as a JSON-RPC error, for callers whose protocol has no message for it; its kind
    /// is one of the three that 003 tells apart.
    pub fn to_rpc_error(&self) -> RpcError {
        let message = format!("{} {}: {}", self.code, self.code.name(), self.detail);
        let error = RpcError::new(REFUSED, message);
        let data = to_raw_value(&json!({
            "error_code": self.code.as_str(),
            "error_name": self.code.name(),
            "error_type": self.code.class().as_str(),
            "retryable": self.code.retryable(),
        }));
        match data {
            Ok(data) => error.with_data(data),
            Err(_) => error,
        }
    }

    /// How long the agent is asked to wait before it tries again.
    pub fn retry_after(&self) -> Duration {
        let seconds = self.context.get(RETRY_AFTER).and_then(Value::as_u64);
        Duration::from_secs(seconds.unwrap_or(0)).min(MAX_RETRY_AFTER)
    }
}

/// The form of a token, as 000 §4.10.1 prints it.
const TOKEN_FORMAT: &str = "tok-{agent_id}-{hash}";
/// The JSON-RPC code of a refusal by the rules of the league.
const REFUSED: i64 = -32_000;
/// The member of the context that holds the wait in seconds.
const RETRY_AFTER: &str = "retry_after_sec";
/// The longest wait that an agent obeys.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Something went wrong in a match; told to the player whose doing it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameError {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Whose doing.
    pub player_id: PlayerId,
    /// Which rule.
    pub code: Code,
    /// What went wrong, in a sentence for people.
    pub detail: String,
    /// The message that is still owed, in the words of `league.v2`.
    pub action_required: &'static str,
    /// Where the match stands.
    pub state: MatchState,
    /// How many attempts have failed.
    pub retry_count: u32,
    /// How many attempts there are in all.
    pub max_retries: u32,
    /// When the next attempt begins; `None` if there is none.
    pub next_retry_at: Option<Timestamp>,
}

objects! {
    /// The manager refuses.
    pub(crate) LEAGUE_ERROR: Refusal = "000 §4.10.1", api "001 §LEAGUE_ERROR" {
        /// Which rule.
        "error_code" [code] Needed;
        /// The name of the rule.
        "error_name" [name ?] Optional api Expected;
        /// What went wrong, in a sentence that begins with the name of the rule.
        "error_description" [description] Expected;
        /// Whether trying again may help.
        "retryable" [is_retryable] Expected in V2Api;
        /// What kind of message was refused.
        "original_message_type" [original_message_type ?] Optional in V2 or null;
        /// What kind of message was refused.
        "original_message_type" [original_message_type ?] Optional in V2Api;
        /// More that helps to find the cause.
        "context" [Refusal::spell_context => context] Optional;
        /// Whether trying again may help.
        "retryable" [is_retryable] Optional in V2;
    }
    /// Something went wrong in a match.
    pub(crate) GAME_ERROR: GameError = "000 §4.10.2" {
        /// Which match.
        "match_id" [match_id] Needed;
        /// Whose doing, as 000 §2.9.2 names it.
        "player_id" [player_id] Optional;
        /// Whose doing, as 000 §4.10.2 names it.
        "affected_player" [by PlayerId, GameError::spell_player, GameError::set_affected] Optional;
        /// Which rule.
        "error_code" [code] Needed;
        /// The name of the rule.
        "error_name" [= String, GameError::spell_name] Optional;
        /// What went wrong, in a sentence that begins with the name of the rule.
        "error_description" [by String, GameError::spell_detail, GameError::set_detail] Expected;
        /// Where the match stands.
        "game_state" [state] Optional;
        /// Whether trying again may help.
        "retryable" [= bool, |error, _| Spelling::Flag(error.next_retry_at.is_some())] Optional;
        /// The message that is still owed.
        "action_required" [by String, GameError::spell_owed, GameError::set_owed] Optional;
        /// How many attempts have failed.
        "retry_count" [retry_count] Optional;
        /// How many attempts there are in all.
        "max_retries" [max_retries] Optional;
        /// The attempts, as 000 §4.10.2 groups them.
        "retry_info" [inside RETRY_INFO] Optional;
        /// What happens if nothing gets better.
        "consequence" [= String, |error, _| Spelling::text(error.consequence())] Optional;
        /// More that helps to find the cause.
        "context" [by Value, GameError::spell_context, GameError::set_context] Optional;
    }
    /// The attempts of a player.
    RETRY_INFO: GameError = "000 §4.10.2" {
        /// How many attempts have failed.
        "retry_count" [second retry_count as Plain] Expected;
        /// How many attempts there are in all.
        "max_retries" [second max_retries as Plain] Expected;
        /// When the next attempt begins, or null.
        "next_retry_at" [next_retry_at ?] ExpectedOrNull;
    }
}

drafts! {
    Refusal {
        code = |_| Code::InvalidMessage, name, description, original_message_type, context,
        is_retryable
    }
    GameError {
        league_id, round_id, match_id, player_id, code = |_| Code::InvalidMessage, detail,
        action_required = |_| "CHOOSE_PARITY_RESPONSE",
        state = |_| MatchState::CollectingChoices, retry_count, max_retries, next_retry_at
    }
}

/// A [`LeagueError`] as it is on the wire.
pub(crate) struct Refusal {
    code: Code,
    name: Option<String>,
    description: String,
    original_message_type: Option<String>,
    context: Map<String, Value>,
    is_retryable: bool,
}

impl Refusal {
    pub(crate) fn new(error: &LeagueError, dialect: Dialect) -> Self {
        let mut context = error.context.clone();
        if dialect != Dialect::V2Api {
            context.insert("detail".into(), error.detail.as_str().into());
        }
        if let Some(path) = &error.path {
            context.insert("path".into(), path.as_str().into());
        }
        Self {
            code: error.code,
            name: Some(error.code.name().to_owned()),
            description: described(error.code, &error.detail),
            original_message_type: error.original_message_type.clone(),
            context,
            is_retryable: error.code.retryable(),
        }
    }

    pub(crate) fn finish(mut self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        if !seen.has("error_code") {
            return None;
        }
        let mut text = |name| match self.context.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (detail, path) = (text("detail"), text("path"));
        // The page gives E003 to what is E018 here (ruling 11).
        let mismatched = cx.dialect == Dialect::V2Api
            && self.code == Code::MissingField
            && self.name.as_deref() == Some("PROTOCOL_MISMATCH");
        Some(Message::from(LeagueError {
            code: if mismatched {
                Code::VersionMismatch
            } else {
                self.code
            },
            original_message_type: self.original_message_type,
            detail: detail.unwrap_or_else(|| sentence(self.code, &self.description)),
            path,
            context: self.context,
        }))
    }

    fn spell_context(&self, dialect: Dialect) -> Spelling<'_> {
        if self.context.is_empty() {
            return Spelling::Absent;
        }
        self.context.spell(dialect)
    }
}

/// A sentence for people that begins with the name of its rule.
fn described(code: Code, detail: &str) -> String {
    format!("{}: {detail}", code.name())
}

/// The sentence alone; a description that is only the name stays as it is.
fn sentence(code: Code, description: &str) -> String {
    let rest = description.strip_prefix(code.name());
    let rest = rest.and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(description).to_owned()
}

impl GameError {
    /// The error in a line for people.
    pub fn line(&self) -> String {
        let Self {
            match_id,
            code,
            detail,
            retry_count,
            max_retries,
            ..
        } = self;
        format!(
            "{match_id}: the referee says {code}, attempt {retry_count} of {max_retries}: {detail}"
        )
    }

    pub(crate) fn finish(mut self, seen: &RowStates<Self>, cx: &mut Cx<'_>) -> Option<Message> {
        let at = &seen.at();
        if !seen.has("match_id") {
            return None;
        }
        if self.player_id.is_unknown() {
            self.player_id = cx.hints.reader(&at.member("player_id", true), cx.notes)?;
        }
        Some(self.into())
    }

    /// Whether it is about a play, of which `league.v1` has words to tell.
    pub(crate) fn is_about_a_play(&self) -> bool {
        ["CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"].contains(&self.action_required)
    }

    fn spell_player(&self, dialect: Dialect) -> Spelling<'_> {
        self.player_id.spell(dialect)
    }

    fn spell_name(&self, _: Dialect) -> Spelling<'_> {
        Spelling::text(self.code.name())
    }

    fn spell_detail(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Text(described(self.code, &self.detail).into())
    }

    fn spell_owed(&self, _: Dialect) -> Spelling<'_> {
        Spelling::text(self.action_required)
    }

    fn set_affected(&mut self, player: Field<PlayerId>) {
        if let Some(player) = player.is().filter(|_| self.player_id.is_unknown()) {
            self.player_id = player;
        }
    }

    /// The sentence in the context says more than the description.
    fn set_detail(&mut self, told: Field<String>) {
        if let Some(told) = told.is().filter(|_| self.detail.is_empty()) {
            self.detail = sentence(self.code, &told);
        }
    }

    fn set_context(&mut self, context: Field<Value>) {
        let detail = context.get().and_then(|context| context["detail"].as_str());
        if let Some(detail) = detail {
            detail.clone_into(&mut self.detail);
        }
    }

    /// The message that is owed, from the few that can be.
    fn set_owed(&mut self, told: Field<String>) {
        self.action_required = match told.get().map(String::as_str) {
            Some("GAME_JOIN_ACK") => "GAME_JOIN_ACK",
            Some("GAME_MOVE_RESPONSE") => "GAME_MOVE_RESPONSE",
            _ => "CHOOSE_PARITY_RESPONSE",
        };
    }

    fn consequence(&self) -> &'static str {
        match self.next_retry_at {
            Some(_) => "Technical loss if max retries exceeded",
            None => "Technical loss",
        }
    }

    fn spell_context(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Entries(vec![("detail".into(), Spelling::text(&self.detail))])
    }
}
