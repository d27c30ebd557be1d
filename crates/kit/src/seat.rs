//! The player's machine of `league-core` behind a lock: calls in, answers out, and what the player
//! tells people. The machine decides everything; this file waits and remembers.

mod letters;

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use league_core::draw::NONCE_LENGTH;
use league_core::letter::Letter;
use league_core::machine::{Machine, Persistence};
use league_core::player::{
    Command, CorrelationId, Event, MAX_NOTE_CHARS, MatchRecord, Player, Refusal, Reply, Think,
};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, conversation, encode};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::{ConversationId, LeagueId, MatchId, PlayerId};
use league_protocol::message::{LeagueError, Message, expects_answer};
use league_protocol::rpc::{self, Call, Era, Frame, Id, Incoming, RpcError};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::{AuthToken, hex};
use league_protocol::tools::PLAYER_TOOLS;
use league_protocol::wire::{self, Context, Inbound, Received};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::http::PostHandler;
use crate::memory::{MemoryFile, Tokens};
use crate::mind::Mind;
use crate::now;
use crate::options::{KitError, random, tell};

/// How long a call may wait for the player's admission, or for the announcement of its match: they
/// come over other connections, in either order.
const EARLY_WAIT: Duration = Duration::from_millis(2_500);
/// The most calls that wait so; further ones are refused at once. Anyone may make such a call, and it
/// holds a connection.
const MAX_EARLY_CALLS: usize = 64;

type PlayerLetter = Letter<CorrelationId>;

/// A player in a league, or on its way into one.
pub(crate) struct KitPlayer {
    state: Mutex<KitState>,
    /// Notified after every command.
    changed: Condvar,
    mind: Mind,
    /// Its name before it has an id.
    first_name: String,
    /// The conversation of its registration, which only the manager knows.
    registration: ConversationId,
}

struct KitState {
    player: Player,
    tokens: Tokens,
    memory: MemoryFile,
    letters: VecDeque<PlayerLetter>,
    /// Whether the manager has admitted it in this process.
    is_admitted: bool,
    /// The moves that are being chosen: match, turn and attempt.
    thoughts: Vec<(MatchId, u32, u32)>,
    /// How many calls wait for the admission or for an announcement.
    early_calls: usize,
}

/// What a reader and a writer of messages must know of the player.
struct Known {
    league_id: Option<LeagueId>,
    own: Option<PlayerId>,
    /// Whether callers need no proof: the manager gave no token (ruling 47).
    takes_anything: bool,
}

impl Known {
    fn hints(&self) -> Hints<'_> {
        Hints {
            league_id: self.league_id.as_ref(),
            reader: self.own.as_ref(),
            synonyms: self.takes_anything,
            ..Hints::default()
        }
    }
}

/// An answer to a message; `proven` if it shows the player's token.
struct KitReply {
    message: Message,
    proven: bool,
}

impl KitReply {
    fn of(message: Message) -> Self {
        let proven = false;
        Self { message, proven }
    }

    fn error(code: Code, detail: &str) -> Self {
        Self::of(Message::from(LeagueError::new(code, detail)))
    }
}

impl KitPlayer {
    /// Seats a player; one that sat here before resumes.
    pub(crate) fn new(
        mut player: Player,
        path: &std::path::Path,
        mind: Mind,
    ) -> Result<Self, KitError> {
        let unusable = |source| KitError::Memory {
            path: path.to_owned(),
            source,
        };
        let manager = player.rules().manager.endpoint.to_string();
        let opened = MemoryFile::open(path, &manager, &mut player);
        let (mut memory, tokens) = opened.map_err(unusable)?;
        let pledge = Tokens {
            token: AuthToken::pledge(&random()?),
            return_token: None,
        };
        if tokens.is_none() {
            // Written before it is shown, so that the manager knows a player that ended in between.
            let line = memory.tokens_line(&pledge);
            memory.keep(&[line]).map_err(unusable)?;
        }
        let words = player.rules().display_name.split_whitespace();
        let first_name = words.collect::<Vec<_>>().join("_");
        let registration = format!("conv-reg-{}", &hex(&random()?)[..NONCE_LENGTH]);
        let state = KitState {
            player,
            tokens: tokens.unwrap_or(pledge),
            memory,
            letters: VecDeque::new(),
            is_admitted: false,
            thoughts: Vec::new(),
            early_calls: 0,
        };
        Ok(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            mind,
            first_name,
            registration: ConversationId::new(registration),
        })
    }

    fn sender<'s>(&'s self, own: Option<&'s Agent>) -> Sender<'s> {
        own.map_or(Sender::NewPlayer(&self.first_name), Sender::Agent)
    }

    fn lock(&self) -> MutexGuard<'_, KitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the machine decide. What must survive is written before the answer leaves; if it cannot
    /// be written, nothing has happened.
    fn ask(&self, command: &Command) -> io::Result<Result<Reply, Refusal>> {
        let mut state = self.lock();
        let decision = state.player.decide(now(), command);
        let (mut granted, mut lines) = (None, Vec::new());
        if let Ok(Reply::TokenGranted {
            token,
            return_token,
            note,
        }) = &decision.answer
        {
            // Without a new return token the old one stays.
            let kept = state.tokens.return_token.as_ref();
            let tokens = Tokens {
                token: token.clone(),
                return_token: return_token.as_ref().or(kept).cloned(),
            };
            lines.push(state.memory.tokens_line(&tokens));
            granted = Some((tokens, note));
        }
        let journal = decision.events.iter();
        let journal = journal.filter(|event| event.keep() == Persistence::Journal);
        for event in journal {
            lines.push(serde_json::to_value(event)?);
        }
        state.memory.keep(&lines)?;
        if let Some((tokens, note)) = granted {
            state.tokens = tokens;
            if let Some(note) = note.as_deref().filter(|note| !note.trim().is_empty()) {
                let note = harmless(note, MAX_NOTE_CHARS);
                tell(&format!("the manager says: {note}"));
            }
        }
        for event in &decision.events {
            state.take_in(event);
            if let Event::Remembered { record } = event {
                self.mind.hear(record);
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(decision.answer)
    }

    /// Waits for a change of the state; returns whether the time is over.
    fn is_over(&self, until: Instant, wanted: impl Fn(&KitState) -> bool) -> bool {
        self.wait(self.lock(), until, wanted).1
    }

    fn wait<'s>(
        &self,
        state: MutexGuard<'s, KitState>,
        until: Instant,
        wanted: impl Fn(&KitState) -> bool,
    ) -> (MutexGuard<'s, KitState>, bool) {
        let left = until.saturating_duration_since(Instant::now());
        let waited = self
            .changed
            .wait_timeout_while(state, left, |state| !wanted(state));
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (state, timeout.timed_out())
    }

    /// Waits for what another connection brings; returns whether it did not come.
    fn is_missing(&self, until: Instant, wanted: impl Fn(&KitState) -> bool) -> bool {
        let mut state = self.lock();
        if state.early_calls >= MAX_EARLY_CALLS {
            return !wanted(&state);
        }
        state.early_calls += 1;
        let (mut state, is_over) = self.wait(state, until, wanted);
        state.early_calls -= 1;
        is_over
    }

    /// Answers a message.
    fn hear(&self, received: Received, until: Instant) -> KitReply {
        let admits = matches!(received.message, Message::PlayerRegisterResponse(_));
        if !admits && self.is_missing(until, |state| state.is_admitted) && self.lock().is_outside()
        {
            let detail = "this player is not in a league yet: try again when it is";
            return KitReply::error(Code::Connection, detail);
        }
        let trouble = match &received.message {
            Message::GameError(error) => Some(error.line()),
            _ => None,
        };
        let token = received.token.as_ref().map(AuthToken::hash);
        let ours = received.conversation.as_ref() == Some(&self.registration);
        let command = match Command::from_message(received.message, token) {
            Some(Command::Admitted { response, .. }) => Command::Admitted {
                response,
                answers_us: ours,
            },
            Some(command) => command,
            None if self.lock().known().takes_anything => {
                return KitReply::of(Message::Acknowledged);
            }
            None => {
                let detail = "a player does not take that message";
                return KitReply::error(Code::InvalidMessage, detail);
            }
        };
        match self.rule_on(&command, until) {
            Ok(Ok(reply @ (Reply::Joined(_) | Reply::Move { .. } | Reply::Called(_)))) => {
                KitReply {
                    message: reply.into_message().unwrap_or(Message::Acknowledged),
                    proven: true,
                }
            }
            Ok(Ok(_)) => {
                trouble.iter().for_each(|trouble| tell(trouble));
                KitReply::of(Message::Acknowledged)
            }
            Ok(Err(refusal)) => KitReply::of(Message::from(refusal.to_league_error())),
            Err(_) => {
                let detail = "this player cannot write its memory: try again";
                KitReply::error(Code::Connection, detail)
            }
        }
    }

    /// Asks the machine, again when the match has been announced, and thinks if it wants a move.
    fn rule_on(&self, command: &Command, until: Instant) -> io::Result<Result<Reply, Refusal>> {
        loop {
            match self.ask(command)? {
                Err(Refusal::NotAnnounced { match_id }) => {
                    let known = |state: &KitState| state.player.is_announced(&match_id);
                    if self.is_missing(until, known) {
                        return self.ask(command);
                    }
                }
                Ok(Reply::Think(think)) => {
                    let key = (think.match_id.clone(), think.turn, think.attempt);
                    if self.begin_thought(&key) {
                        let ruling = self.think(think);
                        self.lock().thoughts.retain(|open| *open != key);
                        self.changed.notify_all();
                        return ruling;
                    }
                    // Another call thinks about this move; its answer is the answer.
                    let until = Instant::now() + crate::time_left(&think);
                    if self.is_over(until, |state| !state.thoughts.contains(&key)) {
                        return self.bring(&think, None);
                    }
                }
                ruling => return Ok(ruling),
            }
        }
    }

    fn begin_thought(&self, key: &(MatchId, u32, u32)) -> bool {
        let mut state = self.lock();
        let is_new = !state.thoughts.contains(key);
        if is_new {
            state.thoughts.push(key.clone());
        }
        is_new
    }

    fn think(&self, think: Box<Think>) -> io::Result<Result<Reply, Refusal>> {
        let history = self.lock().player.memory().history().cloned().collect();
        let choice = self.mind.choose(think.clone(), history);
        self.bring(&think, choice)
    }

    fn bring(
        &self,
        think: &Think,
        choice: Option<serde_json::Value>,
    ) -> io::Result<Result<Reply, Refusal>> {
        // Without a nonce the draw has no share of this player; the move counts all the same.
        let nonce = random().map(|bytes| hex(&bytes)[..NONCE_LENGTH].to_owned());
        self.ask(&Command::Chosen {
            match_id: think.match_id.clone(),
            turn: think.turn,
            choice,
            nonce: nonce.ok(),
            reasoning: None,
            model: None,
        })
    }

    /// Answers one call.
    fn answer(&self, call: &Call<'_>, bearer: Option<&str>, until: Instant) -> Vec<u8> {
        if call.method == "ping" {
            return rpc::respond(&call.id, &json!({"status": "ok"}));
        }
        let known = self.lock().known();
        let inbound = wire::receive(
            call,
            &Context {
                hints: known.hints(),
                tools: &PLAYER_TOOLS,
                bearer,
                acknowledges_all: known.takes_anything,
                ..Context::default()
            },
        );
        match self.serve(inbound, &call.method, until) {
            Ok(answer) => rpc::respond(&call.id, &answer),
            Err(error) => rpc::fail(Some(&call.id), &error, Era::Simple),
        }
    }

    fn serve(
        &self,
        inbound: Inbound,
        method: &str,
        until: Instant,
    ) -> Result<Box<RawValue>, RpcError> {
        match inbound {
            Inbound::Message(received) => {
                let said = received.dialect;
                let conversation = received.conversation.clone();
                let is_generic = received.reply_type == Some("GAME_MOVE_RESPONSE");
                let (kind, sender) = (received.message.v2_type(), received.sender.clone());
                let token = received.token.clone();
                let mut reply = if received.message == Message::Ping {
                    KitReply::of(Message::Acknowledged)
                } else {
                    self.hear(*received, until)
                };
                if let Message::LeagueError(error) = &mut reply.message {
                    let player = match sender.agent() {
                        Some(Agent::Player(id)) => Some(id),
                        _ => None,
                    };
                    error.complete(kind, token.as_ref(), player);
                }
                self.write(&reply, said, conversation, is_generic)
            }
            Inbound::Unread(unread) => {
                let kind = unread.error.original_message_type.as_deref();
                let is_news = kind.is_some_and(|kind| !expects_answer(kind));
                let reply = if is_news && self.lock().known().takes_anything {
                    Message::Acknowledged
                } else {
                    Message::from(*unread.error)
                };
                let reply = KitReply::of(reply);
                self.write(&reply, unread.dialect, unread.conversation, false)
            }
            Inbound::Arguments(_) => Err(RpcError::method_not_found(method)),
            Inbound::Acknowledged => Ok(raw(&json!({"status": "ok"}))),
            Inbound::Error(error) => Err(error),
        }
    }

    /// Writes an answer in the player's dialect, or in the caller's if that is another protocol.
    fn write(
        &self,
        reply: &KitReply,
        said: Dialect,
        conversed: Option<ConversationId>,
        is_generic: bool,
    ) -> Result<Box<RawValue>, RpcError> {
        let is_ours = said.protocol() == Dialect::V2.protocol();
        let dialect = if is_ours { Dialect::V2 } else { said };
        let rejection = match &reply.message {
            Message::LeagueError(error) if dialect == Dialect::V1 => {
                let rejection = error.to_rejection();
                Some(rejection.ok_or_else(|| error.to_rpc_error())?)
            }
            _ => None,
        };
        let message = rejection.as_ref().unwrap_or(&reply.message);
        let (known, token) = {
            let state = self.lock();
            (state.known(), state.tokens.token.clone())
        };
        let own = known.own.clone().map(Agent::Player);
        let label = own
            .as_ref()
            .map_or_else(|| format!("player:{}", self.first_name), Agent::to_string);
        let conversed = conversed.unwrap_or_else(|| conversation(message, &label));
        let stamp = Stamp {
            sender: self.sender(own.as_ref()),
            at: now(),
            conversation: &conversed,
            token: Some(&token).filter(|_| reply.proven),
        };
        let hints = Hints {
            generic_moves: is_generic,
            ..known.hints()
        };
        // If the dialect has no form for the answer, the caller gets an acknowledgement.
        Ok(match encode(message, dialect, stamp, &hints) {
            Some(outgoing) => raw(&outgoing),
            None => raw(&json!({"status": "ok"})),
        })
    }

    /// Answers a message of a body; `None` for a notification.
    fn answer_frame(
        &self,
        frame: &Frame<'_>,
        bearer: Option<&str>,
        until: Instant,
    ) -> Option<(u16, Vec<u8>)> {
        match frame {
            Frame::Call(call) => Some((200, self.answer(call, bearer, until))),
            Frame::Notification(note) => {
                let call = Call {
                    id: Id::number(0),
                    method: note.method.clone(),
                    params: note.params,
                };
                self.answer(&call, bearer, until);
                None
            }
            Frame::Response(_) => {
                let error = RpcError::unasked_response();
                Some((400, rpc::fail(None, &error, Era::Simple)))
            }
            Frame::Malformed(malformed) => {
                let status = malformed.status(Era::Simple).code();
                Some((status, malformed.answer(Era::Simple)))
            }
        }
    }
}

impl PostHandler for KitPlayer {
    fn post(
        &self,
        content_type: Option<&str>,
        bearer: Option<&str>,
        body: &[u8],
    ) -> (u16, Vec<u8>) {
        if let Err(refusal) = rpc::check_content_type(content_type) {
            return (refusal.status.code(), refusal.answer(Era::Simple));
        }
        // The parts of a batch share one wait, so that none holds its connection for longer.
        let until = Instant::now() + EARLY_WAIT;
        match rpc::read(body, Era::Simple) {
            Incoming::Refused(refusal) => (refusal.status.code(), refusal.answer(Era::Simple)),
            Incoming::Single(frame) => {
                let answer = self.answer_frame(&frame, bearer, until);
                answer.unwrap_or((202, Vec::new()))
            }
            Incoming::Batch(frames) => {
                let answers = frames.iter();
                let answers = answers.filter_map(|frame| self.answer_frame(frame, bearer, until));
                let answers: Vec<Vec<u8>> = answers.map(|(_, answer)| answer).collect();
                rpc::batch(&answers).map_or((202, Vec::new()), |body| (200, body))
            }
        }
    }
}

impl KitState {
    fn known(&self) -> Known {
        let league_id = self.player.league_id().cloned();
        Known {
            own: self.player.player_id().cloned(),
            takes_anything: league_id.is_some() && !self.player.knows_manager(),
            league_id,
        }
    }

    /// Whether no league is known, now or from an earlier process.
    fn is_outside(&self) -> bool {
        self.player.player_id().is_none()
    }

    fn tell_result(&self, record: &MatchRecord) {
        tell(&record.line(record.opponent_id.as_str()));
        if let Some(advice) = record.advice() {
            let match_id = &record.match_id;
            let page = self.player.page(&format!("/match/{match_id}"));
            tell(&format!("{match_id}: {advice}; see {page}"));
        }
    }

    fn tell_end(&self, champion: Option<&PlayerId>) {
        match champion {
            Some(champion) => tell(&format!("the league is over; its champion is {champion}")),
            None => tell("the league is over"),
        }
        if let Some(line) = self.player.place_line() {
            tell(&line);
        }
        tell("when the manager opens its next league, this program joins it");
    }

    /// Applies an event and tells people of it.
    fn take_in(&mut self, event: &Event) {
        self.player.apply(event);
        let mut letters = Vec::new();
        self.player.letters(event, &mut letters);
        self.letters.extend(letters);
        match event {
            Event::Enrolled { player_id, .. } => {
                let name = &self.player.rules().display_name;
                let page = self.player.page(&format!("/player/{player_id}"));
                let words = format!("{name} is in the league as {player_id}: {page}");
                let is_known = std::mem::replace(&mut self.is_admitted, true);
                tell(if is_known {
                    "the manager admitted us again"
                } else {
                    &words
                });
            }
            Event::Remembered { record } => self.tell_result(record),
            Event::LeagueCompleted { champion, .. } => self.tell_end(champion.as_ref()),
            Event::DrawDisputed {
                match_id, problem, ..
            } => tell(&format!("{match_id}: do not trust this result: {problem}")),
            _ => {}
        }
    }
}

/// The JSON of an answer, with its members in the order of their declaration.
fn raw(answer: &impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(answer).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests;
