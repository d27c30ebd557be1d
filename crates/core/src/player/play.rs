//! Joining matches and moving in them, and the open matches themselves.
//!
//! Open matches live in memory: a referee that asked before a crash asks again after it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{GameInvitation, GameJoinAck, ModelUse, MoveCall, MoveResponse};
use league_protocol::secret::{Commitment, Proof, ProofKey};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use serde_json::Value;

use super::Decision;
use super::Player;
use super::command::{Fallback, Refusal, Reply, Think};
use super::event::{Event, MoveQuestion};
use super::news::DrawProblem;
use super::question::RulesReading;
use crate::draw::{self, MAX_NONCE_LENGTH};

/// The longest that a player thinks about one move, whatever the referee grants.
pub const MAX_THINK_TIME: Duration = Duration::from_secs(600);
/// The most of the time for a move that is kept back for the way of the answer.
pub const MAX_REPLY_RESERVE: Duration = Duration::from_secs(1);
/// How long a player thinks about a move whose deadline has passed when it is asked: the caller's
/// clock is another than ours, and it waits for an answer all the same.
pub const LATE_THOUGHT: Duration = Duration::from_secs(2);
/// The longest reasoning that is sent along with a move, in characters.
pub const MAX_REASONING: usize = 1_000;

/// A choice as the shell brings it.
pub(crate) struct ChosenMove<'a> {
    pub(crate) choice: Option<&'a Value>,
    pub(crate) nonce: Option<&'a str>,
    pub(crate) reasoning: Option<&'a str>,
    pub(crate) model: Option<&'a ModelUse>,
}

impl Player {
    pub(crate) fn invited(
        &self,
        at: Timestamp,
        invitation: &GameInvitation,
        token: Option<&TokenHash>,
    ) -> Result<Decision, Refusal> {
        let match_id = &invitation.match_id;
        self.prove(&invitation.league_id, match_id, token)?;
        let known = self.known_game(&invitation.game_type);
        let game_type = known.unwrap_or(&invitation.game_type);
        let before = self
            .tables
            .get(match_id)
            .and_then(|table| table.joined.as_ref())
            .filter(|joined| joined.game_type == *game_type);
        if let Some(JoinAnswer { accept, at, .. }) = before {
            return Ok(Decision::reply(self.join_ack(match_id, *accept, *at)));
        }
        let accept = known.is_some();
        let event = Event::Joined {
            match_id: match_id.clone(),
            game_type: game_type.clone(),
            opponent_id: invitation.opponent_id.clone(),
            accept,
            at,
        };
        Ok(Decision::accept(
            vec![event],
            self.join_ack(match_id, accept, at),
        ))
    }

    pub(crate) fn move_wanted(
        &self,
        at: Timestamp,
        call: &MoveCall,
        token: Option<&TokenHash>,
    ) -> Result<Decision, Refusal> {
        self.prove(&call.league_id, &call.match_id, token)?;
        self.is_me(&call.player_id)?;
        if call.options.is_empty() {
            return Err(Refusal::NothingToChoose {
                match_id: call.match_id.clone(),
            });
        }
        let question = self.question(call);
        match self.open_move(&call.match_id, call.turn_number) {
            Some(open) if is_same(&open.question, &question) => {
                Ok(Decision::reply(match &open.answer {
                    Some((response, fallback)) => Reply::Move {
                        response: response.clone(),
                        fallback: *fallback,
                    },
                    None => self.think(at, call, &open.question),
                }))
            }
            Some(_) | None => Ok(self.ask(at, call, question)),
        }
    }

    pub(crate) fn chosen(
        &self,
        match_id: &MatchId,
        turn: u32,
        brought: &ChosenMove<'_>,
    ) -> Result<Decision, Refusal> {
        let open = self
            .open_move(match_id, turn)
            .ok_or_else(|| Refusal::NotAsked {
                match_id: match_id.clone(),
                turn,
            })?;
        if let Some((response, fallback)) = &open.answer {
            return Ok(Decision::reply(Reply::Move {
                response: response.clone(),
                fallback: *fallback,
            }));
        }
        let (response, fallback) = self.respond(match_id, &open.question, brought)?;
        Ok(Decision::accept(
            vec![Event::Answered {
                match_id: match_id.clone(),
                turn,
                response: response.clone(),
                fallback,
            }],
            Reply::Move { response, fallback },
        ))
    }

    /// Accepts a caller with the announced token of its match. An unannounced match passes only if
    /// the player cannot tell a forged announcement, or its dialect has none.
    pub(crate) fn prove(
        &self,
        league_id: &LeagueId,
        match_id: &MatchId,
        token: Option<&TokenHash>,
    ) -> Result<(), Refusal> {
        if self.rules.strict {
            self.is_my_league(league_id)?;
        }
        let named = || match_id.clone();
        match (self.announced.find(match_id), token) {
            (Some(announced), Some(shown)) if announced.is_shown(shown) => Ok(()),
            (Some(_), Some(_)) => Err(Refusal::WrongToken { match_id: named() }),
            (Some(_), None) => Err(Refusal::NoToken { match_id: named() }),
            (None, _) if self.is_guarded() && self.rules.manager.dialect != Dialect::V1 => {
                Err(Refusal::NotAnnounced { match_id: named() })
            }
            (None, _) => Ok(()),
        }
    }

    /// Whether callers must prove themselves: the player is strict, or its manager proves itself.
    pub(crate) fn is_guarded(&self) -> bool {
        self.rules.strict || self.knows_manager()
    }

    /// Refuses messages for another player. A player without an id cannot tell, and only a strict
    /// one compares ids by case.
    pub(crate) fn is_me(&self, named: &PlayerId) -> Result<(), Refusal> {
        let same = |own: &PlayerId| {
            own == named || !self.rules.strict && own.as_str().eq_ignore_ascii_case(named.as_str())
        };
        match self.player_id() {
            Some(own) if !same(own) => Err(Refusal::OtherPlayer {
                own: own.clone(),
                named: named.clone(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses messages of another league. A player without a league cannot tell, and an unguarded
    /// one accepts any name of its league.
    pub(crate) fn is_my_league(&self, named: &LeagueId) -> Result<(), Refusal> {
        match self.league_id().filter(|_| self.is_guarded()) {
            Some(own) if own != named => Err(Refusal::OtherLeague {
                own: own.clone(),
                named: named.clone(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// A known game, in the player's own spelling: others use capitals or hyphens.
    fn known_game(&self, named: &GameType) -> Option<&GameType> {
        let letters = |game: &GameType| -> String {
            let letters = game.as_str().chars().filter(char::is_ascii_alphanumeric);
            letters.map(|letter| letter.to_ascii_lowercase()).collect()
        };
        let mut games = self.rules.games.iter();
        games.find(|game| *game == named).or_else(|| {
            let mut games = self.rules.games.iter();
            games.find(|game| !self.is_guarded() && letters(game) == letters(named))
        })
    }

    /// The opponent that the message names, else the one of the invitation.
    pub(crate) fn opponent_in(&self, match_id: &MatchId, named: &PlayerId) -> PlayerId {
        let table = self.tables.get(match_id).filter(|_| named.is_unknown());
        let joined = table.and_then(|table| table.joined.as_ref());
        joined.map_or(named, |joined| &joined.opponent_id).clone()
    }

    pub(crate) fn open_move(&self, match_id: &MatchId, turn: u32) -> Option<&OpenMove> {
        self.tables.get(match_id)?.find(turn)
    }

    /// The key of this player's proofs in one attempt at a match; `None` if it does not sign.
    pub(crate) fn proof_key(&self, match_id: &MatchId, attempt: u32) -> Option<ProofKey> {
        let token = self.return_token.as_ref()?;
        Some(draw::proof_key(token, self.league_id()?, match_id, attempt))
    }

    /// The key for the attempt that was announced last.
    fn present_key(&self, match_id: &MatchId) -> Option<ProofKey> {
        self.proof_key(match_id, self.announced.find(match_id)?.attempt)
    }

    fn join_ack(&self, match_id: &MatchId, accept: bool, at: Timestamp) -> Reply {
        let key = self.present_key(match_id).filter(|_| accept);
        Reply::Joined(Box::new(GameJoinAck {
            match_id: match_id.clone(),
            player_id: self.player_id().cloned(),
            arrival: Some(at),
            accept,
            proof: key.map(|key| draw::join_proof(&key)),
        }))
    }

    /// A request as the referee writes it.
    fn question(&self, call: &MoveCall) -> MoveQuestion {
        MoveQuestion {
            turn: call.turn_number,
            game_type: self.game_of(call).clone(),
            move_type: Arc::clone(&call.move_type),
            view: Arc::clone(&call.view),
            options: Arc::clone(&call.options),
            moves: Arc::clone(&call.moves),
            signed: self.present_key(&call.match_id).is_some(),
            by_rules: false,
        }
    }

    /// Takes a new request up; a player that signs reads it by the rules, and notes a false one.
    fn ask(&self, at: Timestamp, call: &MoveCall, mut question: MoveQuestion) -> Decision {
        let (match_id, own) = (&call.match_id, self.player_id());
        let reading = match own.filter(|_| question.signed) {
            Some(own) => RulesReading::of(&question.game_type, own, call),
            None => RulesReading::Unknown,
        };
        let problem = DrawProblem::FalseQuestion;
        let noted = reading.agrees(call) || self.disputes.contains(match_id, problem);
        let disputed = (!noted).then(|| Event::DrawDisputed {
            match_id: match_id.clone(),
            problem,
            at,
        });
        let mut events: Vec<Event> = disputed.into_iter().collect();
        match reading {
            RulesReading::Position { options, view } => {
                question.options = options;
                question.view = view.unwrap_or(question.view);
                question.by_rules = true;
            }
            RulesReading::Unknown => {}
            RulesReading::Impossible => {
                let refusal = Refusal::ImpossibleMoves {
                    match_id: match_id.clone(),
                    game_type: question.game_type,
                    turn: question.turn,
                };
                let answer = Err(refusal);
                return Decision { events, answer };
            }
        }
        let reply = self.think(at, call, &question);
        let match_id = match_id.clone();
        events.push(Event::Asked { match_id, question });
        Decision::accept(events, reply)
    }

    fn game_of<'c>(&'c self, call: &'c MoveCall) -> &'c GameType {
        self.known_game(&call.game_type).unwrap_or(&call.game_type)
    }

    fn think(&self, at: Timestamp, call: &MoveCall, question: &MoveQuestion) -> Reply {
        let opponent_id = self.opponent_in(&call.match_id, &call.opponent_id);
        let announced = self.announced.find(&call.match_id);
        Reply::Think(Box::new(Think {
            attempt: announced.map_or(1, |announced| announced.attempt),
            match_id: call.match_id.clone(),
            turn: call.turn_number,
            game_type: question.game_type.clone(),
            move_type: Arc::clone(&question.move_type),
            view: Arc::clone(&question.view),
            options: Arc::clone(&question.options),
            until: self.think_until(at, call),
            opponent: self.memory.opponent(&opponent_id).cloned(),
            opponent_id,
            record: call.record,
            moves: Arc::clone(&question.moves),
        }))
    }

    /// A little before the deadline. A deadline too far off is cut to the time that a move may
    /// take, as the call or the player's own rules say; a past one is replaced by a short time.
    fn think_until(&self, at: Timestamp, call: &MoveCall) -> Timestamp {
        let own = self.rules.timeouts.make_move;
        let granted = match Duration::from_secs(u64::from(call.move_seconds)) {
            Duration::ZERO => own,
            told => told,
        };
        let deadline = if call.deadline > at {
            call.deadline.min(at + granted.min(MAX_THINK_TIME))
        } else {
            at + granted.min(LATE_THOUGHT)
        };
        deadline - (deadline.since(at) / 10).min(MAX_REPLY_RESERVE)
    }

    fn respond(
        &self,
        match_id: &MatchId,
        question: &MoveQuestion,
        brought: &ChosenMove<'_>,
    ) -> Result<(Arc<MoveResponse>, Option<Fallback>), Refusal> {
        let (choice, fallback) = match (brought.choice, question.options.first()) {
            (Some(choice), _) if question.options.contains(choice) => (choice, None),
            (Some(_), Some(first)) => (first, Some(Fallback::Illegal)),
            (None, Some(first)) => (first, Some(Fallback::Missing)),
            (_, None) => {
                return Err(Refusal::NothingToChoose {
                    match_id: match_id.clone(),
                });
            }
        };
        let nonce = brought
            .nonce
            .filter(|nonce| nonce.len() <= MAX_NONCE_LENGTH);
        let own_words = brought.reasoning.filter(|_| fallback.is_none());
        let proof = self.prove_move(match_id, question, choice, nonce);
        // A referee that takes proofs knows this member too.
        let model = brought.model.filter(|_| proof.is_some());
        let response = MoveResponse {
            match_id: match_id.clone(),
            player_id: self.player_id().cloned(),
            game_type: question.game_type.clone(),
            move_type: Some(Arc::clone(&question.move_type)),
            choice: choice.clone(),
            nonce: nonce.map(str::to_owned),
            reasoning: own_words.map(|words| words.chars().take(MAX_REASONING).collect()),
            proof,
            model: model.cloned().map(Box::new),
        };
        Ok((Arc::new(response), fallback))
    }

    /// What proves a move to the manager: the referee cannot make it up.
    fn prove_move(
        &self,
        match_id: &MatchId,
        question: &MoveQuestion,
        choice: &Value,
        nonce: Option<&str>,
    ) -> Option<Proof> {
        let key = self.present_key(match_id)?;
        let history = question.moves.iter();
        let history = history.map(|made| (&made.player_id, &made.choice));
        Some(draw::proof(&key, question.turn, history, choice, nonce))
    }
}

/// Whether the same turn is asked again. A player that signs answers each turn of an attempt once,
/// whatever the referee shows; another player may be asked the same turn differently.
fn is_same(before: &MoveQuestion, question: &MoveQuestion) -> bool {
    let shown = before.game_type == question.game_type
        && before.options == question.options
        && before.view == question.view;
    before.moves == question.moves && (before.signed && question.signed || shown)
}

/// How many matches a player sits in at once; one more makes it leave the oldest.
pub const OPEN_MATCHES: usize = 64;
/// How many moves of one match are kept; one more drops the oldest.
pub const OPEN_MOVES: usize = 32;

/// The matches that a player sits in, in the order of their ids; there are few at a time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OpenMatches {
    open: Vec<(MatchId, PlayerMatch)>,
    opened: u64,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PlayerMatch {
    /// The answer to the invitation.
    pub(crate) joined: Option<JoinAnswer>,
    moves: Vec<OpenMove>,
    /// The shares in the draw that were sent with a first move, empty where none was.
    nonces: Vec<String>,
    number: u64,
}

/// The answer to an invitation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JoinAnswer {
    pub(crate) game_type: GameType,
    pub(crate) opponent_id: PlayerId,
    pub(crate) accept: bool,
    pub(crate) at: Timestamp,
}

/// A move that was asked for, and the answer once there is one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenMove {
    pub(crate) question: MoveQuestion,
    pub(crate) answer: Option<(Arc<MoveResponse>, Option<Fallback>)>,
}

impl OpenMatches {
    pub(crate) fn get(&self, match_id: &MatchId) -> Option<&PlayerMatch> {
        let place = self.place(match_id).ok()?;
        self.open.get(place).map(|(_, table)| table)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &MatchId> {
        self.open.iter().map(|(match_id, _)| match_id)
    }

    pub(crate) fn leave(&mut self, match_id: &MatchId) {
        if let Ok(place) = self.place(match_id) {
            self.open.remove(place);
        }
    }

    pub(crate) fn join(&mut self, match_id: &MatchId, joined: JoinAnswer) {
        self.sit(match_id).joined = Some(joined);
    }

    pub(crate) fn ask(&mut self, match_id: &MatchId, question: MoveQuestion) {
        let table = self.sit(match_id);
        table
            .moves
            .retain(|open| open.question.turn != question.turn);
        if table.moves.len() >= OPEN_MOVES {
            table.moves.remove(0);
        }
        table.moves.push(OpenMove {
            question,
            answer: None,
        });
    }

    pub(crate) fn answer(
        &mut self,
        match_id: &MatchId,
        turn: u32,
        answer: (Arc<MoveResponse>, Option<Fallback>),
    ) {
        let Some(table) = self.get_mut(match_id) else {
            return;
        };
        if turn == 1 && table.nonces.len() < OPEN_MOVES {
            table
                .nonces
                .push(answer.0.nonce.clone().unwrap_or_default());
        }
        if let Some(open) = table.find_mut(turn) {
            open.answer = Some(answer);
        }
    }

    /// Forgets the questions and answers of a match, but not that the player sits in it. An answer
    /// that is legal by the rules stands, whatever a referee says of it.
    pub(crate) fn forget_moves(&mut self, match_id: &MatchId) {
        if let Some(table) = self.get_mut(match_id) {
            table.moves.retain(|open| open.question.by_rules);
        }
    }

    fn sit(&mut self, match_id: &MatchId) -> &mut PlayerMatch {
        self.opened += 1;
        let place = match self.place(match_id) {
            Ok(place) => place,
            Err(_) => self.open_table(match_id),
        };
        &mut self.open[place].1
    }

    fn open_table(&mut self, match_id: &MatchId) -> usize {
        if self.open.len() >= OPEN_MATCHES {
            self.leave_oldest();
        }
        let table = PlayerMatch {
            number: self.opened,
            ..PlayerMatch::default()
        };
        let place = self.place(match_id).unwrap_or_else(|place| place);
        self.open.insert(place, (match_id.clone(), table));
        place
    }

    fn leave_oldest(&mut self) {
        let tables = self.open.iter().enumerate();
        let oldest = tables.min_by_key(|(_, (_, table))| table.number);
        if let Some((place, _)) = oldest {
            self.open.remove(place);
        }
    }

    fn get_mut(&mut self, match_id: &MatchId) -> Option<&mut PlayerMatch> {
        let place = self.place(match_id).ok()?;
        self.open.get_mut(place).map(|(_, table)| table)
    }

    /// Where a match is, or belongs.
    fn place(&self, match_id: &MatchId) -> Result<usize, usize> {
        self.open.binary_search_by(|(open, _)| open.cmp(match_id))
    }
}

impl PlayerMatch {
    /// The move with this number, if it was asked for.
    pub(crate) fn find(&self, turn: u32) -> Option<&OpenMove> {
        self.moves.iter().find(|open| open.question.turn == turn)
    }

    /// The shares in the draw that were sent so far; a refused move may be followed by another.
    pub(crate) fn nonces(&self) -> &[String] {
        &self.nonces
    }

    /// The answers that stand, with the numbers of their moves.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (u32, &MoveResponse)> {
        self.moves.iter().filter_map(|open| {
            let (response, _) = open.answer.as_ref()?;
            Some((open.question.turn, &**response))
        })
    }

    /// Whether any move was asked for.
    pub(crate) fn has_moves(&self) -> bool {
        !self.moves.is_empty()
    }

    fn find_mut(&mut self, turn: u32) -> Option<&mut OpenMove> {
        self.moves
            .iter_mut()
            .find(|open| open.question.turn == turn)
    }
}

/// How many announced matches are known; one more drops the oldest.
pub const ANNOUNCED_MATCHES: usize = 64;

/// The latest announced matches, oldest first; lookups start at the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Announcements(VecDeque<(MatchId, MatchAnnouncement)>);

/// The token and commitment of an announced match.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MatchAnnouncement {
    pub(crate) token: TokenHash,
    /// The referee's own token, which one by the documents shows.
    pub(crate) referee_token: Option<TokenHash>,
    pub(crate) commitment: Option<Commitment>,
    /// Counts the referees that were told to run this match, from 1.
    pub(crate) attempt: u32,
    pub(crate) watch: CallWatch,
}

impl MatchAnnouncement {
    /// Whether a token is one that the referee of the match may show.
    fn is_shown(&self, token: &TokenHash) -> bool {
        self.token == *token || self.referee_token == Some(*token)
    }
}

/// What a player knows of the calls in an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallWatch {
    /// It has not seen the whole attempt: the announcement came in an earlier life.
    None,
    /// No referee has called.
    Uncalled,
    Called,
}

impl Announcements {
    pub(crate) fn token(&self, match_id: &MatchId) -> Option<&TokenHash> {
        self.find(match_id).map(|announced| &announced.token)
    }

    /// The promise on the draw, where one was made.
    pub(crate) fn commitment(&self, match_id: &MatchId) -> Option<Commitment> {
        self.find(match_id)?.commitment
    }

    /// Whether the draw was promised by this commitment, if it was promised at all.
    pub(crate) fn is_promised(&self, match_id: &MatchId, commitment: Commitment) -> bool {
        let promised = self.commitment(match_id);
        promised.is_none_or(|promised| promised == commitment)
    }

    /// Takes in an announcement; says whether it takes the place of another.
    pub(crate) fn add(&mut self, match_id: &MatchId, announced: MatchAnnouncement) -> bool {
        if let Some(known) = self.find_mut(match_id) {
            *known = announced;
            return true;
        }
        self.0.push_back((match_id.clone(), announced));
        if self.0.len() > ANNOUNCED_MATCHES {
            self.0.pop_front();
        }
        false
    }

    /// Each call is noted from now on.
    pub(crate) fn watch(&mut self, match_id: &MatchId) {
        if let Some(known) = self.find_mut(match_id) {
            known.watch = CallWatch::Uncalled;
        }
    }

    pub(crate) fn called(&mut self, match_id: &MatchId) {
        if let Some(known) = self.find_mut(match_id) {
            known.watch = CallWatch::Called;
        }
    }

    fn find_mut(&mut self, match_id: &MatchId) -> Option<&mut MatchAnnouncement> {
        let mut latest = self.0.iter_mut().rev();
        let found = latest.find(|(announced, _)| announced == match_id);
        found.map(|(_, announced)| announced)
    }

    pub(crate) fn find(&self, match_id: &MatchId) -> Option<&MatchAnnouncement> {
        let mut latest = self.0.iter().rev();
        let found = latest.find(|(announced, _)| announced == match_id);
        found.map(|(_, announced)| announced)
    }
}
