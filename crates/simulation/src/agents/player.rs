//! A player's shell.

use league_core::letter::Outcome;
use league_core::player::{Command, Event, Player, Refusal, Reply, Ticket};
use league_protocol::message::{LeagueError, Message};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use super::{Call, Kind, Promise, Step, Worker, not_for_me};
use crate::oracle::Oracle;
use crate::sabotage::Sabotage;
use crate::{Checked, Who};

impl Worker for Player {
    const KIND: Kind = Kind::Player;

    fn tick() -> Command {
        Command::Tick
    }

    fn heard(ticket: Ticket, outcome: Outcome) -> Command {
        Command::Heard { ticket, outcome }
    }

    fn begin(_token: Option<&AuthToken>) -> Option<Command> {
        Some(Command::Begin)
    }

    fn name(&self) -> Option<Agent> {
        self.player_id().cloned().map(Agent::Player)
    }

    fn knows_manager(&self) -> bool {
        Player::knows_manager(self)
    }

    fn understand(call: Call) -> Result<Command, Box<Message>> {
        if matches!(call.message, Message::Ping) {
            return Err(Box::new(Message::Acknowledged));
        }
        let refused = call.message.v2_type();
        Command::from_message(call.message, call.token).ok_or_else(|| not_for_me(refused))
    }

    fn follow(reply: Reply, _token: Option<&AuthToken>) -> Step<Command> {
        match reply {
            Reply::TokenGranted {
                token,
                return_token,
            } => Step::Keep(token, return_token),
            Reply::Think(think) => Step::Think(think),
            other => other.into_message().map_or(Step::Nothing, Step::Say),
        }
    }

    fn refuse(refusal: &Refusal) -> LeagueError {
        refusal.to_league_error()
    }

    fn is_early(refusal: &Refusal) -> bool {
        matches!(refusal, Refusal::NotAnnounced { .. })
    }

    fn announces(event: &Event) -> bool {
        matches!(event, Event::Announced { .. })
    }

    fn promise(_command: &Command, _reply: &Reply) -> Option<Promise> {
        None
    }

    fn watch(&self, oracle: &mut Oracle, who: Who, _at: Timestamp, event: &Event) -> Checked {
        oracle.watch_player(who, event)
    }

    fn recall(oracle: &mut Oracle, who: Who, journal: &[Event]) -> Checked {
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
        _command: &Command,
        _events: &mut Vec<Event>,
        _reply: &mut Result<Reply, Refusal>,
    ) {
    }
}
