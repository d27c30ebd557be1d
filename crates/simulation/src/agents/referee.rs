//! A referee's shell.

use std::time::Duration;

use league_core::letter::Outcome;
use league_core::referee::{Command, Event, Referee, Refusal, Reply, Ticket};
use league_protocol::message::{LeagueError, Message, StartMatch};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use super::{Call, Kind, Promise, Step, Worker, not_for_me};
use crate::oracle::Oracle;
use crate::sabotage::Sabotage;
use crate::setting::is_barred;
use crate::{Checked, Who};

/// A question that is older than this has passed its deadline.
const LONGEST_QUESTION: Duration = Duration::from_secs(30);

/// Why a match is better run by another.
fn barred(order: &StartMatch) -> Option<String> {
    let mut players = order.players.iter();
    let barred = players.find(|player| is_barred(&player.endpoint))?;
    Some(format!("player {} is not called", barred.player_id))
}

impl Worker for Referee {
    const KIND: Kind = Kind::Referee;

    fn tick() -> Command {
        Command::Tick
    }

    fn heard(ticket: Ticket, outcome: Outcome) -> Command {
        Command::Heard { ticket, outcome }
    }

    fn begin(token: Option<&AuthToken>) -> Option<Command> {
        Some(Command::Begin {
            token: token.cloned(),
        })
    }

    fn name(&self) -> Option<Agent> {
        self.enrolled().map(|(id, _)| Agent::Referee(id.clone()))
    }

    fn knows_manager(&self) -> bool {
        Referee::knows_manager(self)
    }

    fn understand(call: Call) -> Result<Command, Box<Message>> {
        match call.message {
            Message::StartMatch(order) => Ok(Command::StartMatch {
                barred: barred(&order),
                order,
                token: call.token,
            }),
            Message::LeagueCompleted(end) => Ok(Command::LeagueCompleted {
                league_id: end.league_id.clone(),
                token: call.token,
            }),
            Message::Ping => Ok(Command::Ping),
            other => Err(not_for_me(other.v2_type())),
        }
    }

    fn follow(reply: Reply, token: Option<&AuthToken>) -> Step<Command> {
        match reply {
            Reply::Noted => Step::Say(Message::Acknowledged),
            Reply::TokenGranted {
                token,
                return_token,
            } => Step::Keep(token, return_token),
            Reply::TokenRefused => {
                Self::begin(token).map_or(Step::Nothing, |command| Step::Next(Box::new(command)))
            }
            Reply::StartMatchAck(ack) => Step::Say(Message::StartMatchAck(ack)),
            Reply::MatchState(_) => Step::Nothing,
        }
    }

    fn refuse(refusal: &Refusal) -> LeagueError {
        refusal.to_league_error()
    }

    fn promise(_command: &Command, _reply: &Reply) -> Option<Promise> {
        None
    }

    fn watch(&self, oracle: &mut Oracle, who: Who, at: Timestamp, event: &Event) -> Checked {
        oracle.watch_referee(self, who, at, event)
    }

    fn recall(oracle: &mut Oracle, who: Who, journal: &[Event]) -> Checked {
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
        command: &Command,
        events: &mut Vec<Event>,
        _reply: &mut Result<Reply, Refusal>,
    ) {
        sabotage.tamper_referee(self, at, command, events);
    }

    fn time(sabotage: Sabotage, at: Timestamp, command: &Command) -> Timestamp {
        match command {
            Command::Heard {
                ticket: Ticket::Question(question),
                outcome: Ok(_),
            } if sabotage == Sabotage::LateAnswerCounted
                && at.since(question.asked_at) > LONGEST_QUESTION =>
            {
                question.asked_at
            }
            _ => at,
        }
    }
}
