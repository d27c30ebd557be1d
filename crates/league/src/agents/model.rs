//! A player that asks a language model for its moves, and a strategy if the model does not choose
//! in time.
//!
//! The model never costs a match: each question ends before the deadline, and a named strategy moves
//! in its place. `prompt` holds what is asked and how an answer is read, `wire` how servers are
//! called, `ledger` the budget and the notes.

mod ledger;
mod prompt;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use league_core::player::{MatchRecord, Think};
use league_protocol::finding::excerpt;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::ModelUse;
use league_protocol::token::AuthToken;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

use crate::agents::assemble::Shared;
use crate::clock;
use crate::config::{ModelWire, ModelsConfig};
use crate::http::client::{AnswerStream, CallError, Client};
use crate::http::endpoint::{BadEndpoint, Endpoint, Scheme};
use league_core::strategy::{self, Strategy, UnknownStrategy};
pub(crate) use ledger::Budget;
use ledger::Ledger;
use prompt::UnusableAnswer;
pub(crate) use prompt::{ExternalMove, Prompt, legal};
use wire::{Speech, SpeechReader};

/// The most questions about one move.
const MAX_QUESTIONS: u32 = 4;
/// The time for a question below which none is asked.
const MIN_QUESTION: Duration = Duration::from_millis(100);
/// The part of the time that is kept for the strategy and the notes: one in so many, and a bound.
const RESERVE_PART: u32 = 10;
const MAX_RESERVE: Duration = Duration::from_millis(500);
/// How long a server that is busy is left alone, if it does not say.
const USUAL_WAIT: Duration = Duration::from_millis(300);
/// How long the count of tokens is waited for after a whole answer.
const COUNT_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest that a server is left alone, whatever it says.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A model, and the server that it is asked at.
#[derive(Debug)]
pub(crate) struct Model {
    /// The name that its server knows.
    pub(crate) name: String,
    wire: ModelWire,
    endpoint: Endpoint,
    key: Option<AuthToken>,
    /// The member and the number of the longest answer.
    limit: (String, u32),
    /// Who moves if the model does not.
    pub(crate) fallback: &'static Strategy,
}

/// Why a model cannot be asked at all.
#[derive(Debug, Error)]
pub(crate) enum ModelError {
    #[error("`{0}` names no model; write `MODEL` or `PROVIDER/MODEL`")]
    NoName(String),
    #[error("the configuration has no provider `{0}` in `models.providers`")]
    NoProvider(String),
    #[error("the address of its provider: {0}")]
    Address(#[from] BadEndpoint),
    #[error("the environment variable `{0}`, which holds the key of its provider, is not set")]
    NoKey(String),
    #[error("the key in `{0}` would go unencrypted to another machine")]
    PlainKey(String),
    #[error(transparent)]
    Fallback(#[from] UnknownStrategy),
}

impl Model {
    /// Finds a model by `MODEL` or `PROVIDER/MODEL`. Resolving the name of its server may block.
    ///
    /// # Errors
    ///
    /// Says what is missing.
    pub(crate) fn find(text: &str, config: &ModelsConfig) -> Result<Self, ModelError> {
        let (named, name) = config.split(text);
        let usual = if text.starts_with("claude") {
            "anthropic"
        } else {
            "openai"
        };
        let is_named = named.is_some();
        let provider = named.unwrap_or(usual);
        let plain = |letter: char| !letter.is_control() && !letter.is_whitespace();
        if name.is_empty() || name.chars().count() > ModelUse::MAX_TEXT || !name.chars().all(plain)
        {
            return Err(ModelError::NoName(excerpt(text)));
        }
        let found = config.providers.get(provider);
        let provider = found.ok_or_else(|| ModelError::NoProvider(provider.to_owned()))?;
        let base = provider.base_url.trim_end_matches('/');
        let endpoint = Endpoint::look_up(&format!("{base}{}", wire::path(provider.wire)))?;
        let key_env = provider.key_env.as_deref();
        // With an address alone, the user may not know whose key would go there.
        let key_env = key_env.filter(|_| is_named || !provider.is_moved);
        Ok(Self {
            name: name.to_owned(),
            wire: provider.wire,
            key: key(key_env, &endpoint)?,
            endpoint,
            limit: (provider.limit_key.clone(), config.max_output_tokens),
            fallback: strategy::find(&config.fallback)?,
        })
    }

    /// The most tokens that a question may take.
    fn most(&self, prompt: &Prompt) -> u64 {
        tokens_of(prompt.bytes()) + u64::from(self.limit.1)
    }

    /// A text of the server without the key, which some servers repeat.
    fn without_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.reveal(), "(key)"),
            None => text.to_owned(),
        }
    }
}

/// The key of a provider; a server on this machine may do without, and no other gets it in clear.
fn key(variable: Option<&str>, endpoint: &Endpoint) -> Result<Option<AuthToken>, ModelError> {
    let Some(variable) = variable else {
        return Ok(None);
    };
    if endpoint.scheme == Scheme::Http && !endpoint.is_loopback() {
        return Err(ModelError::PlainKey(variable.to_owned()));
    }
    let value = std::env::var(variable).ok();
    match value.filter(|value| !value.trim().is_empty()) {
        Some(value) => Ok(Some(AuthToken::new(value.trim()))),
        None if endpoint.is_loopback() => Ok(None),
        None => Err(ModelError::NoKey(variable.to_owned())),
    }
}

/// The most tokens that a text of so many bytes has: tokenizers fall back to a token for a byte.
const fn tokens_of(bytes: usize) -> u64 {
    bytes as u64
}

/// How long a server wants to be left alone, within bounds.
fn wait_of(retry_after: Option<&str>) -> Duration {
    let seconds = retry_after.and_then(|text| text.trim().parse().ok());
    match seconds.filter(|seconds: &f64| *seconds >= 0.0) {
        Some(seconds) => Duration::from_secs_f64(seconds.min(MAX_WAIT.as_secs_f64())),
        None => USUAL_WAIT,
    }
}

/// One seat of a model.
#[derive(Debug)]
pub(crate) struct ModelSeat {
    pub(crate) model: Arc<Model>,
    budget: Arc<Budget>,
    client: Client,
    ledger: Ledger,
    /// Until when the server is left alone, and because of what.
    rests_until: Mutex<Option<(Instant, NoChoice)>>,
}

/// The move of a model, or why it made none.
pub(crate) struct ModelMove {
    pub(crate) choice: Option<Value>,
    pub(crate) reasoning: Option<String>,
    pub(crate) told: ModelUse,
    questions: Vec<Value>,
}

/// Why a strategy moves in place of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoChoice {
    Budget,
    /// What the question may take of the budget could not be written down.
    NotNoted,
    TooLong,
    NoTime,
    /// The server refused for good, with this status.
    Refused(u16),
    Busy,
    Unreachable,
    Broken,
    Unusable(UnusableAnswer),
}

impl NoChoice {
    fn reason(self) -> String {
        match self {
            Self::Budget => "budget spent".to_owned(),
            Self::NotNoted => "question could not be noted".to_owned(),
            Self::TooLong => "position too long for a prompt".to_owned(),
            Self::NoTime => "no answer in time".to_owned(),
            Self::Refused(status) => format!("server refused ({status})"),
            Self::Busy => "server busy".to_owned(),
            Self::Unreachable => "server not reached".to_owned(),
            Self::Broken => "answer broken off".to_owned(),
            Self::Unusable(problem) => problem.as_str().to_owned(),
        }
    }
}

/// A question, and what came of it.
#[derive(Debug, Default)]
struct ModelCall {
    speech: Speech,
    first_token: Option<Duration>,
    /// Whether the server began to answer, so that it may have taken tokens.
    has_begun: bool,
}

/// Why an exchange gave no whole answer.
enum ModelCallError {
    /// Asking again does not help.
    Final(NoChoice),
    /// Asking again may help, after this time.
    Passing(NoChoice, Duration),
}

/// What all questions about one move came to.
#[derive(Debug, Default)]
struct MoveNotes {
    told: ModelUse,
    questions: Vec<Value>,
}

impl ModelSeat {
    pub(crate) fn new(
        model: Arc<Model>,
        budget: Arc<Budget>,
        shared: &Shared,
        (league, player): (&LeagueId, &PlayerId),
    ) -> Self {
        let file = shared.root.model_notes(player);
        let writer = shared.document_writer.clone();
        Self {
            ledger: Ledger::open(file, league.clone(), writer, &budget),
            model,
            budget,
            client: shared.outbox.client.clone(),
            rests_until: Mutex::default(),
        }
    }

    /// Asks the model for a move, within the time for it.
    pub(crate) async fn choose(&self, think: &Think, memory: &[Arc<MatchRecord>]) -> ModelMove {
        let began = Instant::now();
        let time = think.until.since(clock::now());
        let until = began + (time - (time / RESERVE_PART).min(MAX_RESERVE));
        let mut notes = MoveNotes::default();
        let answer = self.answer(think, memory, until, &mut notes).await;
        let mut told = notes.told;
        told.model.clone_from(&self.model.name);
        told.latency_ms = millis(began.elapsed());
        let answer = match answer {
            Ok(answer) => Some(answer),
            Err(problem) => {
                self.tell_replaced(think, problem);
                told.fallback = Some(problem.reason());
                None
            }
        };
        let (choice, reasoning) = answer.map(|it| (it.choice, it.reasoning)).unzip();
        ModelMove {
            choice,
            reasoning: reasoning
                .flatten()
                .map(|words| self.model.without_key(&words)),
            told,
            questions: notes.questions,
        }
    }

    /// Keeps the notes of a move until its match is over.
    pub(crate) fn note(&self, think: &Think, choice: Option<&Value>, made: &ModelMove) {
        let fallback = made.told.fallback.as_ref();
        let line = json!({
            "at": clock::now().to_millis_text(),
            "turn": think.turn,
            "game_type": think.game_type,
            "opponent_id": think.opponent_id,
            "questions": made.questions,
            "choice": choice,
            "reasoning": made.reasoning,
            "moved_by": fallback.map_or("model", |_| self.model.fallback.name),
            "told": made.told,
        });
        self.ledger.moved(&think.match_id, line);
    }

    /// Says that a strategy moves instead; that the budget is spent is said once, loudly.
    fn tell_replaced(&self, think: &Think, problem: NoChoice) {
        let (name, by) = (&self.model.name, self.model.fallback.name);
        if problem == NoChoice::Budget && self.budget.is_news() {
            tracing::warn!(
                event_type = "BUDGET_SPENT",
                "the budget for language models is spent: from now on the strategy `{by}` moves \
                 for `{name}`; raise it with `--budget`"
            );
        }
        tracing::info!(
            event_type = "MODEL_REPLACED",
            match_id = %think.match_id,
            "the strategy `{by}` moves for `{name}`: {}",
            problem.reason()
        );
    }

    /// A match is over: its moves may be written.
    pub(crate) fn finish(&self, match_id: &MatchId) {
        self.ledger.finish(match_id);
    }

    async fn answer(
        &self,
        think: &Think,
        memory: &[Arc<MatchRecord>],
        until: Instant,
        notes: &mut MoveNotes,
    ) -> Result<ExternalMove, NoChoice> {
        let left = until.saturating_duration_since(Instant::now());
        let first = Prompt::new(think, memory, left).ok_or(NoChoice::TooLong)?;
        let (mut prompt, mut last) = (first.clone(), NoChoice::NoTime);
        for _ in 0..MAX_QUESTIONS {
            self.rest(until).await?;
            if until.saturating_duration_since(Instant::now()) < MIN_QUESTION {
                return Err(last);
            }
            match self.question(&prompt, think, until, notes).await {
                Ok(text) => match ExternalMove::read(&text, &think.options) {
                    Ok(answer) => return Ok(answer),
                    Err(problem) => {
                        last = NoChoice::Unusable(problem);
                        prompt = first.again(problem);
                    }
                },
                Err(ModelCallError::Final(problem)) => return Err(problem),
                Err(ModelCallError::Passing(problem, wait)) => {
                    last = problem;
                    *self.resting() = Some((Instant::now() + wait, problem));
                }
            }
        }
        Err(last)
    }

    /// Waits as long as the server asked for, or as usual after other trouble; refuses with that
    /// trouble if it leaves no time for a question.
    async fn rest(&self, until: Instant) -> Result<(), NoChoice> {
        let Some((end, problem)) = *self.resting() else {
            return Ok(());
        };
        if end + MIN_QUESTION > until {
            return Err(problem);
        }
        tokio::time::sleep_until(end).await;
        Ok(())
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, Option<(Instant, NoChoice)>> {
        self.rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks once, and notes the tokens before the answer is used.
    async fn question(
        &self,
        prompt: &Prompt,
        think: &Think,
        until: Instant,
        notes: &mut MoveNotes,
    ) -> Result<String, ModelCallError> {
        let most = self.model.most(prompt);
        let reserve = self.budget.reserve(most);
        let reserve = reserve.ok_or(ModelCallError::Final(NoChoice::Budget))?;
        let mut number = 0;
        if self.budget.has_limit() {
            number = match self.ledger.asking(most).await {
                Ok(number) => number,
                Err(_) => {
                    self.budget.settle(reserve, 0);
                    return Err(ModelCallError::Final(NoChoice::NotNoted));
                }
            };
        }
        let (began, mut exchange) = (Instant::now(), ModelCall::default());
        let asked = self.exchange(prompt, until, &mut exchange).await;
        let speech = &exchange.speech;
        // A server that began to answer and did not count to the end may have taken all tokens.
        let counted = speech.tokens_in.zip(speech.tokens_out);
        let counted = counted.filter(|_| speech.is_whole);
        let (tokens_in, tokens_out) = match counted {
            Some(counted) => counted,
            None if exchange.has_begun => (tokens_of(prompt.bytes()), tokens_of(speech.text.len())),
            None => (0, 0),
        };
        let spent = match counted {
            None if exchange.has_begun => most,
            _ => tokens_in.saturating_add(tokens_out),
        };
        self.budget.settle(reserve, spent);
        notes.told.tokens_in += tokens_in;
        notes.told.tokens_out += tokens_out;
        let first_token = exchange.first_token.map(millis);
        notes.told.first_token_ms = notes.told.first_token_ms.or(first_token);
        let problem = asked.as_ref().err().map(|error| error.problem().reason());
        let mut line = json!({
            "at": clock::now().to_millis_text(),
            "match_id": think.match_id,
            "turn": think.turn,
            "question": number,
            "model": self.model.name,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "tokens_counted": counted.is_some(),
            "tokens_spent": spent,
            "first_token_ms": first_token,
            "latency_ms": millis(began.elapsed()),
            "problem": problem,
        });
        self.ledger.asked(line.clone()).await;
        line["system"] = prompt.system.as_str().into();
        line["user"] = prompt.user.as_str().into();
        line["answer"] = self.model.without_key(&exchange.speech.text).into();
        line["thoughts"] = self.model.without_key(&exchange.speech.thoughts).into();
        notes.questions.push(line);
        asked.map(|()| exchange.speech.text)
    }

    /// Calls the server and reads its stream. Silence for half of the time that is left ends it, so
    /// that another question fits.
    async fn exchange(
        &self,
        prompt: &Prompt,
        until: Instant,
        exchange: &mut ModelCall,
    ) -> Result<(), ModelCallError> {
        let (model, began) = (&self.model, Instant::now());
        let silence = until.saturating_duration_since(began) / 2;
        let silent = |_| ModelCallError::Passing(NoChoice::NoTime, Duration::ZERO);
        let key = model.key.as_ref().map(AuthToken::reveal);
        let headers = wire::headers(model.wire, key);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, it)| (*name, &**it)).collect();
        let limit = (&*model.limit.0, model.limit.1);
        let body = wire::body(model.wire, &model.name, limit, prompt).to_string();
        let call = self.client.stream(&model.endpoint, &headers, body.into());
        let stream = tokio::time::timeout(silence, call).await.map_err(silent)?;
        let mut stream = stream.map_err(|error| self.unreached(&error))?;
        if !(200..300).contains(&stream.status) {
            return Err(self.refused(&mut stream, silence).await);
        }
        exchange.has_begun = true;
        let mut reader = SpeechReader::new(model.wire);
        loop {
            let whole = reader.speech.is_whole;
            let wait = if whole { COUNT_TIMEOUT } else { silence };
            let wait = wait.min(until.saturating_duration_since(Instant::now()));
            let piece = match tokio::time::timeout(wait, stream.next()).await {
                Err(_) | Ok(Err(_)) if whole => None,
                Err(late) => {
                    exchange.speech = reader.speech;
                    return Err(silent(late));
                }
                Ok(piece) => piece.ok().flatten(),
            };
            match &piece {
                Some(piece) => reader.hear(piece),
                None => reader.end(),
            }
            if exchange.first_token.is_none() && reader.speech.has_begun() {
                exchange.first_token = Some(began.elapsed());
            }
            let speech = &reader.speech;
            let is_counted = speech.is_whole && speech.tokens_out.is_some();
            if piece.is_none() || is_counted || speech.error.is_some() {
                break;
            }
        }
        exchange.speech = reader.speech;
        match exchange.speech.is_whole && exchange.speech.error.is_none() {
            true => Ok(()),
            false => Err(ModelCallError::Passing(NoChoice::Broken, USUAL_WAIT)),
        }
    }

    fn unreached(&self, error: &CallError) -> ModelCallError {
        self.warn(NoChoice::Unreachable, &error.to_string());
        ModelCallError::Passing(NoChoice::Unreachable, USUAL_WAIT)
    }

    /// What an answer without success means; its words go to the log, without the key.
    async fn refused(&self, stream: &mut AnswerStream, timeout: Duration) -> ModelCallError {
        let words = tokio::time::timeout(timeout, stream.next()).await;
        let words = words
            .ok()
            .and_then(Result::ok)
            .flatten()
            .unwrap_or_default();
        let words = self.model.without_key(&String::from_utf8_lossy(&words));
        let status = stream.status;
        let is_passing = matches!(status, 408 | 409 | 425 | 429) || status >= 500;
        let problem = match is_passing {
            true => NoChoice::Busy,
            false => NoChoice::Refused(status),
        };
        self.warn(problem, &format!("status {status}: {}", excerpt(&words)));
        if !is_passing {
            return ModelCallError::Final(problem);
        }
        ModelCallError::Passing(problem, wait_of(stream.retry_after.as_deref()))
    }

    fn warn(&self, problem: NoChoice, words: &str) {
        tracing::warn!(
            event_type = "MODEL_FAILED",
            model = %self.model.name,
            "the model `{}` did not answer: {}: {words}",
            self.model.name,
            problem.reason()
        );
    }
}

impl ModelCallError {
    fn problem(&self) -> NoChoice {
        match self {
            Self::Final(problem) | Self::Passing(problem, _) => *problem,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds a model of the provider `openai`, whose key is a variable that every process has.
    fn found(name: &str, base_url: &str, is_moved: bool) -> Result<Option<AuthToken>, ModelError> {
        let mut config = ModelsConfig::default();
        let provider = config.providers.get_mut("openai").unwrap();
        provider.base_url = base_url.to_owned();
        provider.key_env = Some("PATH".to_owned());
        provider.is_moved = is_moved;
        Model::find(name, &config).map(|model| model.key)
    }

    #[test]
    fn moved_provider_gets_its_key_only_by_name() {
        let far = "https://192.0.2.1/v1";
        assert!(found("x", far, true).unwrap().is_none());
        assert!(found("openai/x", far, true).unwrap().is_some());
        assert!(found("x", far, false).unwrap().is_some());
        assert!(found("x", "http://192.0.2.1/v1", true).unwrap().is_none());
    }

    #[test]
    fn no_server_is_left_alone_for_longer_than_a_day() {
        for (told, wait) in [
            (Some("2"), Duration::from_secs(2)),
            (Some("1e19"), MAX_WAIT),
            (Some("inf"), MAX_WAIT),
            (Some("-1"), USUAL_WAIT),
            (Some("NaN"), USUAL_WAIT),
            (Some("Wed, 21 Oct 2026 07:28:00 GMT"), USUAL_WAIT),
            (None, USUAL_WAIT),
        ] {
            assert_eq!(wait_of(told), wait, "{told:?}");
        }
    }

    #[test]
    fn key_goes_in_clear_to_this_machine_alone() {
        let far = "http://192.0.2.1/v1";
        for (name, is_moved) in [("openai/x", true), ("openai/x", false), ("x", false)] {
            let refused = found(name, far, is_moved);
            assert!(matches!(refused, Err(ModelError::PlainKey(_))), "{name}");
        }
        let near = found("openai/x", "http://127.0.0.1:9/v1", true);
        assert!(near.unwrap().is_some());
    }
}
