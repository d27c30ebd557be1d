//! The manager's shell.

use league_core::league::{Candidate, Command, Event, League, Refusal, Reply, Ticket};
use league_core::letter::Outcome;
use league_protocol::message::{
    Enrolment, LeagueError, Message, RegisterRequest, RegisterResponse,
};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use super::{Call, Kind, Promise, Step, Worker, not_for_me};
use crate::oracle::Oracle;
use crate::sabotage::Sabotage;
use crate::{Checked, Who};

impl Worker for League {
    const KIND: Kind = Kind::Manager;

    fn tick() -> Command {
        Command::Tick
    }

    fn heard(ticket: Ticket, outcome: Outcome) -> Command {
        Command::Heard { ticket, outcome }
    }

    fn begin(_token: Option<&AuthToken>) -> Option<Command> {
        None
    }

    fn name(&self) -> Option<Agent> {
        Some(Agent::Manager)
    }

    fn knows_manager(&self) -> bool {
        true
    }

    fn understand(call: Call) -> Result<Command, Box<Message>> {
        let token = call.token;
        let candidate = |mut request: Box<RegisterRequest>| {
            request.token = request.token.take().or(call.own_token);
            Candidate {
                speech: request.meta.speech,
                request,
                dialect: call.dialect,
                endpoint: Ok(()),
                chance: call.chance,
            }
        };
        match call.message {
            Message::RefereeRegisterRequest(request) => {
                Ok(Command::RegisterReferee(candidate(request)))
            }
            Message::PlayerRegisterRequest(request) => {
                Ok(Command::RegisterPlayer(candidate(request)))
            }
            Message::MatchResultReport(report) => Ok(Command::Report {
                token,
                sender: call.sender,
                report,
            }),
            Message::LeagueQuery(query) => Ok(Command::Query {
                token,
                sender: call.sender,
                query,
            }),
            Message::Ping => Err(Box::new(Message::Acknowledged)),
            other => Err(not_for_me(other.v2_type())),
        }
    }

    fn follow(reply: Reply, _token: Option<&AuthToken>) -> Step<Command> {
        reply.to_message().map_or(Step::Nothing, Step::Say)
    }

    fn refuse(refusal: &Refusal) -> LeagueError {
        refusal.to_league_error()
    }

    fn promise(command: &Command, reply: &Reply) -> Option<Promise> {
        match (command, reply) {
            (Command::Report { report, .. }, Reply::Acknowledged) => Some(Promise::Acked(
                report.match_id.clone(),
                report.result.clone(),
            )),
            (_, Reply::Player(RegisterResponse::Accepted(enrolment))) => Some(Promise::Enrolled(
                Agent::Player(enrolment.id.clone()),
                tokens(enrolment),
            )),
            (_, Reply::Referee(RegisterResponse::Accepted(enrolment))) => Some(Promise::Enrolled(
                Agent::Referee(enrolment.id.clone()),
                tokens(enrolment),
            )),
            _ => None,
        }
    }

    fn watch(&self, oracle: &mut Oracle, _who: Who, at: Timestamp, event: &Event) -> Checked {
        oracle.watch_league(self, at, event)
    }

    fn recall(oracle: &mut Oracle, _who: Who, journal: &[Event]) -> Checked {
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
        command: &Command,
        events: &mut Vec<Event>,
        reply: &mut Result<Reply, Refusal>,
    ) {
        sabotage.tamper_league(self, at, command, events, reply);
    }
}

/// All that an admitted agent is told and nobody else may know.
fn tokens<Id>(enrolment: &Enrolment<Id>) -> Vec<AuthToken> {
    let lasting = [&enrolment.manager_token, &enrolment.return_token];
    let own = std::iter::once(&enrolment.token);
    own.chain(lasting.into_iter().flatten()).cloned().collect()
}
