//! The machines as the simulation runs them: what each does with a reply, a message or a planted bug.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use league_core::league::{self, AgentState, Applicant, League};
use league_core::machine::Machine;
use league_core::player::{self, Player};
use league_core::referee::{self, Referee};
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::message::{
    Enrolment, LeagueError, MatchResult, Message, RegisterRequest, RegisterResponse, StartMatch,
};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chance::Rng;
use crate::lies::{Lie, tamper_decision};
use crate::oracle::Oracle;
use crate::sabotage::Sabotage;
use crate::scenario::{REFEREE_KEY, Scenario, is_barred};
use crate::{CheckResult, NodeId};

/// The three kinds of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineKind {
    Manager,
    Referee,
    Player,
}

/// A message as it comes to an agent.
pub(crate) struct SimulatedCall {
    pub(crate) message: Message,
    pub(crate) sender: Option<Agent>,
    /// The token as it stands in the message, which a registration is weighed by.
    pub(crate) own_token: Option<AuthToken>,
    pub(crate) token: Option<TokenHash>,
    pub(crate) dialect: Dialect,
    pub(crate) chance: [u8; 32],
}

/// The tokens that a process keeps.
#[derive(Clone, Copy)]
pub(crate) struct KeptTokens<'a> {
    pub(crate) own: Option<&'a AuthToken>,
    /// What the agent comes back with, if it was given something better than its token.
    pub(crate) returning: Option<&'a AuthToken>,
}

impl<'a> KeptTokens<'a> {
    /// What the agent comes back with.
    pub(crate) fn best(self) -> Option<&'a AuthToken> {
        self.returning.or(self.own)
    }
}

/// What a shell does with a reply.
pub(crate) enum Reaction<Command> {
    Say(Message),
    /// Keeps the token that the manager gave, and the one to come back with if it gave one.
    Keep(AuthToken, Option<AuthToken>),
    /// Lets the strategy think, and comes back with this command and a choice.
    Think(Box<league_core::player::Think>),
    Next(Box<Command>),
    Nothing,
}

/// What an agent promises by an answer, once it has left.
pub(crate) enum Promise {
    Acked(MatchId, Arc<MatchResult>),
    /// The agent of this name has this id and these tokens.
    Enrolled(Agent, Vec<AuthToken>),
    /// The organiser has a new token for an agent.
    Renewed(AuthToken),
}

/// A fact that can be written, read back and compared.
pub(crate) trait Fact: Debug + Clone + PartialEq + Serialize + DeserializeOwned {}

impl<T: Debug + Clone + PartialEq + Serialize + DeserializeOwned> Fact for T {}

/// A machine with the knowledge of its shell.
pub(crate) trait SimulatedMachine:
    Machine<Event: Fact, CorrelationId: Clone> + Clone
{
    const KIND: MachineKind;

    /// What the process does first.
    fn begin(kept: KeptTokens<'_>) -> Option<Self::Command>;
    /// Who it is, once it knows.
    fn name(&self) -> Option<Agent>;
    /// Whether it believes the manager by a token only.
    fn knows_manager(&self) -> bool;
    /// Turns a message into a command, or into the answer that the shell gives by itself.
    fn understand(call: SimulatedCall) -> Result<Self::Command, Box<Message>>;
    /// What the process does with an answer.
    fn react(
        answer: Result<Self::Reply, Self::Refusal>,
        kept: KeptTokens<'_>,
    ) -> Reaction<Self::Command>;
    /// Whether a call was refused only because it came too soon, so that the shell lets it wait.
    fn is_early(_refusal: &Self::Refusal) -> bool {
        false
    }
    /// Whether a fact is what such calls wait for.
    fn announces(_event: &Self::Event) -> bool {
        false
    }
    /// Which players of an order the manager reaches, as far as it knows.
    fn reached(&self, _order: &Message) -> [bool; 2] {
        [true; 2]
    }
    /// Whether an answer may leave, with these facts safe.
    fn is_backed(_safe: &[Self::Event], _answer: &Message) -> bool {
        true
    }
    /// What the answer to a command promises.
    fn promise(command: &Self::Command, reply: &Self::Reply) -> Option<Promise>;
    /// Shows a fact to the oracle.
    fn watch(
        &self,
        oracle: &mut Oracle,
        who: NodeId,
        at: Timestamp,
        event: &Self::Event,
    ) -> CheckResult;
    /// Tells the oracle which events survived a crash.
    fn recall(oracle: &mut Oracle, who: NodeId, journal: &[Self::Event]) -> CheckResult;
    /// Whether two machines are the same as far as a journal says; `None` if all agrees.
    fn differs(&self, replayed: &Self) -> Option<String>;
    /// Lets a liar change a decision; says whether it did.
    fn lie(
        _lie: Lie,
        _world: (&mut Rng, &Scenario),
        _at: Timestamp,
        _events: &mut Vec<Self::Event>,
        _reply: &mut Result<Self::Reply, Self::Refusal>,
    ) -> bool {
        false
    }
    /// Lets a planted bug change a decision.
    fn tamper(
        &self,
        sabotage: Sabotage,
        at: Timestamp,
        command: &Self::Command,
        events: &mut Vec<Self::Event>,
        reply: &mut Result<Self::Reply, Self::Refusal>,
    );
    /// The time that a planted bug takes it to be.
    fn time(_sabotage: Sabotage, at: Timestamp, _command: &Self::Command) -> Timestamp {
        at
    }
}

/// The answer to a message that an agent of this kind is never sent.
fn not_for_me(message_type: Option<&'static str>) -> Box<Message> {
    let detail = "this agent is not asked for that";
    let mut error = LeagueError::new(Code::InvalidMessage, detail);
    error.original_message_type = message_type.map(str::to_owned);
    Box::new(Message::from(error))
}

impl SimulatedMachine for League {
    const KIND: MachineKind = MachineKind::Manager;

    fn begin(_kept: KeptTokens<'_>) -> Option<league::Command> {
        None
    }

    fn name(&self) -> Option<Agent> {
        Some(Agent::Manager)
    }

    fn knows_manager(&self) -> bool {
        true
    }

    fn understand(call: SimulatedCall) -> Result<league::Command, Box<Message>> {
        let token = call.token;
        let candidate = |mut request: Box<RegisterRequest>| {
            request.token = request.token.take().or(call.own_token);
            Applicant {
                speech: request.meta.speech,
                has_key: has_key(&request),
                is_listed: false,
                is_at_address: true,
                request,
                dialect: call.dialect,
                endpoint: Ok(()),
                chance: call.chance,
            }
        };
        match call.message {
            Message::RefereeRegisterRequest(request) => {
                Ok(league::Command::RegisterReferee(candidate(request)))
            }
            Message::PlayerRegisterRequest(request) => {
                Ok(league::Command::RegisterPlayer(candidate(request)))
            }
            Message::DrawRequest(request) => Ok(league::Command::RequestDraw {
                token,
                sender: call.sender,
                request,
            }),
            Message::GameOverTold(told) => Ok(league::Command::GameOverTold {
                token,
                sender: call.sender,
                told,
            }),
            Message::MatchResultReport(report) => Ok(league::Command::Report {
                token,
                sender: call.sender,
                report,
                is_at_address: true,
            }),
            Message::LeagueQuery(query) => Ok(league::Command::Query {
                token,
                sender: call.sender,
                query,
            }),
            Message::Ping => Err(Box::new(Message::Acknowledged)),
            other => Err(not_for_me(other.v2_type())),
        }
    }

    fn react(
        answer: Result<league::Reply, league::Refusal>,
        _kept: KeptTokens<'_>,
    ) -> Reaction<league::Command> {
        match answer {
            Ok(reply) => reply.to_message().map_or(Reaction::Nothing, Reaction::Say),
            Err(refusal) => Reaction::Say(Message::from(refusal.to_league_error())),
        }
    }

    fn promise(command: &league::Command, reply: &league::Reply) -> Option<Promise> {
        match (command, reply) {
            (
                league::Command::Report { report, .. },
                league::Reply::Acknowledged | league::Reply::Opened(_),
            ) => Some(Promise::Acked(
                report.match_id.clone(),
                report.result.clone(),
            )),
            (_, league::Reply::NewToken(token)) => Some(Promise::Renewed(token.clone())),
            (_, league::Reply::Player(RegisterResponse::Accepted(enrolment))) => Some(
                Promise::Enrolled(Agent::Player(enrolment.id.clone()), tokens(enrolment)),
            ),
            (_, league::Reply::Referee(RegisterResponse::Accepted(enrolment))) => Some(
                Promise::Enrolled(Agent::Referee(enrolment.id.clone()), tokens(enrolment)),
            ),
            _ => None,
        }
    }

    fn reached(&self, order: &Message) -> [bool; 2] {
        let Message::StartMatch(order) = order else {
            return [true; 2];
        };
        order.players.each_ref().map(|seated| {
            let player = self.player(&seated.player_id);
            let player = player.filter(|player| !player.ignores_news());
            let state = player.map(|player| self.player_state(player));
            matches!(state, Some(AgentState::Registered | AgentState::Active))
        })
    }

    /// The seed of a draw leaves only once the moves that it is for are written down.
    fn is_backed(safe: &[league::Event], answer: &Message) -> bool {
        let Message::DrawResponse(given) = answer else {
            return true;
        };
        let mut latest = safe.iter().rev();
        latest.any(|event| {
            matches!(event, league::Event::MovesReceived { match_id, .. }
                if *match_id == given.match_id)
        })
    }

    fn watch(
        &self,
        oracle: &mut Oracle,
        _who: NodeId,
        at: Timestamp,
        event: &league::Event,
    ) -> CheckResult {
        oracle.watch_league(self, at, event)
    }

    fn recall(oracle: &mut Oracle, _who: NodeId, journal: &[league::Event]) -> CheckResult {
        oracle.recall_league(journal)
    }

    fn differs(&self, replayed: &Self) -> Option<String> {
        let same = self.after_restart() == replayed.after_restart();
        (!same).then(|| "the manager remembers what its journal does not say".into())
    }

    fn tamper(
        &self,
        sabotage: Sabotage,
        at: Timestamp,
        command: &league::Command,
        events: &mut Vec<league::Event>,
        reply: &mut Result<league::Reply, league::Refusal>,
    ) {
        sabotage.tamper_league(self, at, command, events, reply);
    }
}

/// Whether an applicant shows the key for referees, as the manager's shell finds out.
fn has_key(request: &RegisterRequest) -> bool {
    let shown = request.referee_key.as_ref().map(AuthToken::reveal);
    shown == Some(REFEREE_KEY)
}

/// The secrets that an admitted agent receives.
fn tokens<Id>(enrolment: &Enrolment<Id>) -> Vec<AuthToken> {
    let lasting = [&enrolment.manager_token, &enrolment.return_token];
    let own = std::iter::once(&enrolment.token);
    own.chain(lasting.into_iter().flatten()).cloned().collect()
}

/// A question that is older than this has passed its deadline.
const MAX_QUESTION_AGE: Duration = Duration::from_secs(30);

/// Why a match is better run by another.
fn barred(order: &StartMatch) -> Option<String> {
    let mut players = order.players.iter();
    let barred = players.find(|player| is_barred(&player.endpoint))?;
    Some(format!("player {} is not called", barred.player_id))
}

impl SimulatedMachine for Referee {
    const KIND: MachineKind = MachineKind::Referee;

    fn begin(kept: KeptTokens<'_>) -> Option<referee::Command> {
        Some(referee::Command::Begin {
            token: kept.best().cloned(),
        })
    }

    fn name(&self) -> Option<Agent> {
        self.enrolled().map(|(id, _)| Agent::Referee(id.clone()))
    }

    fn knows_manager(&self) -> bool {
        Referee::knows_manager(self)
    }

    fn understand(call: SimulatedCall) -> Result<referee::Command, Box<Message>> {
        match call.message {
            Message::StartMatch(order) => Ok(referee::Command::StartMatch {
                barred: barred(&order),
                order,
                token: call.token,
            }),
            Message::LeagueCompleted(end) => Ok(referee::Command::LeagueCompleted {
                league_id: end.league_id.clone(),
                token: call.token,
            }),
            Message::Ping => Ok(referee::Command::Ping),
            other => Err(not_for_me(other.v2_type())),
        }
    }

    fn react(
        answer: Result<referee::Reply, referee::Refusal>,
        kept: KeptTokens<'_>,
    ) -> Reaction<referee::Command> {
        match answer {
            Ok(referee::Reply::Noted) => Reaction::Say(Message::Acknowledged),
            Ok(referee::Reply::TokenGranted {
                token,
                return_token,
            }) => Reaction::Keep(token, return_token),
            Ok(referee::Reply::StartMatchAck(ack)) => Reaction::Say(Message::StartMatchAck(ack)),
            Ok(referee::Reply::MatchState(_)) => Reaction::Nothing,
            Err(referee::Refusal::TokenRefused | referee::Refusal::GivenBack(_)) => {
                Self::begin(kept).map_or(Reaction::Nothing, |command| {
                    Reaction::Next(Box::new(command))
                })
            }
            Err(refusal) => Reaction::Say(Message::from(refusal.to_league_error())),
        }
    }

    fn promise(_command: &referee::Command, _reply: &referee::Reply) -> Option<Promise> {
        None
    }

    fn watch(
        &self,
        oracle: &mut Oracle,
        who: NodeId,
        at: Timestamp,
        event: &referee::Event,
    ) -> CheckResult {
        oracle.watch_referee(self, who, at, event)
    }

    fn recall(oracle: &mut Oracle, who: NodeId, journal: &[referee::Event]) -> CheckResult {
        oracle.recall_referee(who, journal);
        Ok(())
    }

    fn differs(&self, replayed: &Self) -> Option<String> {
        if self.enrolled() != replayed.enrolled() || self.league_over() != replayed.league_over() {
            return Some("the referee forgot who it is".into());
        }
        let (before, after) = (self.held(), replayed.held());
        if before != after {
            return Some(format!(
                "the referee held {before} matches, and now {after}"
            ));
        }
        let same = self.views().zip(replayed.views()).all(|(before, after)| {
            before.match_id == after.match_id
                && before.attempt == after.attempt
                && before.moves == after.moves
                && (after.result.is_none() || before.result == after.result)
        });
        (!same).then(|| "a match of the referee differs after replay".into())
    }

    fn tamper(
        &self,
        sabotage: Sabotage,
        at: Timestamp,
        command: &referee::Command,
        events: &mut Vec<referee::Event>,
        _reply: &mut Result<referee::Reply, referee::Refusal>,
    ) {
        sabotage.tamper_referee(self, at, command, events);
    }

    fn lie(
        lie: Lie,
        world: (&mut Rng, &Scenario),
        at: Timestamp,
        events: &mut Vec<referee::Event>,
        reply: &mut Result<referee::Reply, referee::Refusal>,
    ) -> bool {
        tamper_decision(lie, world, at, events, reply)
    }

    fn time(sabotage: Sabotage, at: Timestamp, command: &referee::Command) -> Timestamp {
        match command {
            referee::Command::Outcome {
                correlation: referee::CorrelationId::Question(question),
                outcome: Ok(_),
            } if sabotage == Sabotage::LateAnswerCounted
                && at.since(question.asked_at) > MAX_QUESTION_AGE =>
            {
                question.asked_at
            }
            _ => at,
        }
    }
}

impl SimulatedMachine for Player {
    const KIND: MachineKind = MachineKind::Player;

    fn begin(kept: KeptTokens<'_>) -> Option<player::Command> {
        Some(player::Command::Begin {
            return_token: kept.returning.cloned(),
        })
    }

    fn name(&self) -> Option<Agent> {
        self.player_id().cloned().map(Agent::Player)
    }

    fn knows_manager(&self) -> bool {
        Player::knows_manager(self)
    }

    fn understand(call: SimulatedCall) -> Result<player::Command, Box<Message>> {
        if matches!(call.message, Message::Ping) {
            return Err(Box::new(Message::Acknowledged));
        }
        let refused = call.message.v2_type();
        player::Command::from_message(call.message, call.token).ok_or_else(|| not_for_me(refused))
    }

    fn react(
        answer: Result<player::Reply, player::Refusal>,
        _kept: KeptTokens<'_>,
    ) -> Reaction<player::Command> {
        match answer {
            Ok(player::Reply::TokenGranted {
                token,
                return_token,
                ..
            }) => Reaction::Keep(token, return_token),
            Ok(player::Reply::Think(think)) => Reaction::Think(think),
            Ok(other) => other
                .into_message()
                .map_or(Reaction::Nothing, Reaction::Say),
            Err(refusal) => Reaction::Say(Message::from(refusal.to_league_error())),
        }
    }

    fn is_early(refusal: &player::Refusal) -> bool {
        matches!(refusal, player::Refusal::NotAnnounced { .. })
    }

    fn announces(event: &player::Event) -> bool {
        matches!(event, player::Event::Announced { .. })
    }

    fn promise(_command: &player::Command, _reply: &player::Reply) -> Option<Promise> {
        None
    }

    fn watch(
        &self,
        oracle: &mut Oracle,
        who: NodeId,
        _at: Timestamp,
        event: &player::Event,
    ) -> CheckResult {
        oracle.watch_player(who, event)
    }

    fn recall(oracle: &mut Oracle, who: NodeId, journal: &[player::Event]) -> CheckResult {
        oracle.recall_player(who, journal);
        Ok(())
    }

    fn differs(&self, replayed: &Self) -> Option<String> {
        let same = self.player_id() == replayed.player_id()
            && self.memory() == replayed.memory()
            && self.rejection() == replayed.rejection();
        (!same).then(|| "the player remembers what its journal does not say".into())
    }

    fn tamper(
        &self,
        _sabotage: Sabotage,
        _at: Timestamp,
        _command: &player::Command,
        _events: &mut Vec<player::Event>,
        _reply: &mut Result<player::Reply, player::Refusal>,
    ) {
    }
}
