//! The letters of the player's machine, carried to the manager one at a time: the registration, and
//! again whenever the machine wants it.

use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use league_core::letter::{CallFailure, CallOutcome, Credential, PeerAnswer};
use league_core::machine::Machine;
use league_core::player::{Command, Player, PlayerPhase};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Stamp, encode};
use league_protocol::fault::Code;
use league_protocol::finding::{excerpt, harmless};
use league_protocol::message::Message;
use league_protocol::peer::HttpReply;
use league_protocol::rpc;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::AuthToken;
use league_protocol::wire::{self, Context, SentCall, Unread};
use serde_json::Value;

use super::{KitPlayer, KitState, PlayerLetter};
use crate::call::Manager;
use crate::now;
use crate::options::{KitError, MAX_WORDS, tell};

/// The longest sleep of the thread that talks to the manager.
const MAX_SLEEP: Duration = Duration::from_secs(3_600);
/// How often it asks after the end whether the manager has opened its next league.
const NEXT_LEAGUE_POLL: Duration = Duration::from_secs(2);
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it waits before it tries again to write.
const WRITE_PAUSE: Duration = Duration::from_secs(1);

impl KitPlayer {
    /// Registers with the manager and stays in the league; returns when the manager rejects it.
    pub(crate) fn live(&self, manager: &Manager) -> KitError {
        self.begin();
        let mut told = String::new();
        loop {
            let Some(letter) = self.next_letter() else {
                self.ask_until_written(&Command::Tick);
                if self.has_next_league(manager) {
                    self.begin();
                }
                continue;
            };
            let outcome = self.carry(&letter, manager);
            let problem = match &outcome {
                Err(failure) => failure.detail.as_str(),
                Ok(PeerAnswer {
                    message: Message::LeagueError(error),
                    ..
                }) => error.detail.as_str(),
                Ok(_) => "",
            };
            if !problem.is_empty() && told != problem {
                tell(&format!("{manager} has not admitted us yet: {problem}"));
                problem.clone_into(&mut told);
            }
            if let Some(correlation) = letter.correlation {
                self.ask_until_written(&Player::outcome(correlation, outcome));
            }
            if let Some(reason) = self.lock().player.rejection() {
                return KitError::Rejected(harmless(reason, MAX_WORDS));
            }
        }
    }

    fn begin(&self) {
        let return_token = {
            let mut state = self.lock();
            state.is_admitted = false;
            state.tokens.return_token.clone()
        };
        self.ask_until_written(&Command::Begin { return_token });
    }

    /// Whether the league is over, and the manager takes players for another one.
    fn has_next_league(&self, manager: &Manager) -> bool {
        let own = {
            let state = self.lock();
            let is_over = state.player.phase() == PlayerPhase::Completed;
            state.player.league_id().filter(|_| is_over).cloned()
        };
        let Some(own) = own else { return false };
        // It is away between two leagues.
        let health = manager.health(HEALTH_TIMEOUT).unwrap_or_default();
        let health: Value = serde_json::from_slice(&health).unwrap_or_default();
        let is_other = health["league_id"] != own.as_str();
        is_other && health["state"] == "REGISTERING"
    }

    /// Asks the machine, again and again while the memory cannot be written.
    fn ask_until_written(&self, command: &Command) {
        while self.ask(command).is_err() {
            thread::sleep(WRITE_PAUSE);
        }
    }

    /// Waits for a letter; `None` if a tick is due, or it is time to ask for the next league.
    fn next_letter(&self) -> Option<PlayerLetter> {
        let mut state = self.lock();
        loop {
            if let Some(letter) = state.letters.pop_front() {
                return Some(letter);
            }
            let wakeup = state.player.wakeup();
            let wait = wakeup.map_or(MAX_SLEEP, |at| at.since(now()));
            let is_over = state.player.phase() == PlayerPhase::Completed;
            let wait = wait.min(if is_over { NEXT_LEAGUE_POLL } else { MAX_SLEEP });
            if wait.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, wait);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if is_over && timeout.timed_out() {
                return None;
            }
            state = woken;
        }
    }

    /// Sends a letter to the manager and reads the answer.
    fn carry(&self, letter: &PlayerLetter, manager: &Manager) -> CallOutcome {
        const CALL: u64 = 1;
        let (known, token) = {
            let state = self.lock();
            (state.known(), state.credential(letter))
        };
        let own = known.own.clone().map(Agent::Player);
        let hints = Hints {
            synonyms: false,
            ..known.hints()
        };
        let stamp = Stamp {
            sender: self.sender(own.as_ref()),
            at: now(),
            conversation: &self.registration,
            token: token.as_ref(),
        };
        let broken = |problem: String| CallFailure::of_peer(Code::InvalidMessage, problem);
        let outgoing = encode(&letter.message, Dialect::V2, stamp, &hints);
        let body = rpc::request(CALL, letter.message.tool(), outgoing.as_ref());
        let body = body.map_err(|error| broken(error.to_string()))?;
        let came = manager.post(body, letter.retry.timeout);
        let (status, body) = came
            .map_err(|error| CallFailure::of_peer(Code::Connection, excerpt(&error.to_string())))?;
        let sent = SentCall {
            id: CALL,
            message: &letter.message,
            dialect: Dialect::V2,
            style: CallStyle::Simple,
            player: None,
            is_kept: false,
        };
        let reply = HttpReply {
            status,
            session: None,
            body: &body,
        };
        let context = Context {
            pinned: Some(Dialect::V2),
            hints,
            ..Context::default()
        };
        match wire::read_reply(&sent, &reply, &context).read {
            Ok(received) => Ok(PeerAnswer {
                token: received.token.as_ref().map(AuthToken::hash),
                message: received.message,
            }),
            Err(Unread { error, .. }) => Err(CallFailure::of_peer(error.code, error.detail)),
        }
    }
}

impl KitState {
    /// The token that a letter shows.
    fn credential(&self, letter: &PlayerLetter) -> Option<AuthToken> {
        let own = &self.tokens.token;
        match &letter.credential {
            Credential::None => None,
            Credential::Own => Some(own.clone()),
            Credential::Return => Some(self.tokens.return_token.as_ref().unwrap_or(own).clone()),
            Credential::Match(token) | Credential::Manager(token) => Some(token.clone()),
        }
    }
}
