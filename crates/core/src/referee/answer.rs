//! What an answer is worth: the first fact that follows from it.

use std::sync::Arc;

use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{GameJoinAck, Message, MoveResponse};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use super::command::{Question, Refusal};
use super::event::Event;
use super::fixture::{Aside, Sealed};
use super::next::Court;
use super::position::{Position, Unwritten};
use super::running::Match;
use crate::draw::MAX_NONCE_LENGTH;
use crate::letter::{Answer, Outcome};

/// The longest account of a failure that is kept, in characters.
const LONGEST_DETAIL: usize = 300;

/// Why an answer does not count, and what is said of it.
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) detail: String,
    pub(super) aside: Option<Aside>,
}

impl Fault {
    /// A fault that may be told to everybody.
    pub(super) fn open(code: Code, detail: impl Into<String>) -> Self {
        let (detail, aside) = (cut(detail.into()), None);
        Self {
            code,
            detail,
            aside,
        }
    }

    /// A fault whose account may repeat the answer.
    fn hidden(code: Code, detail: String) -> Self {
        Self {
            code,
            detail: format!("no answer that counts ({})", code.name()),
            aside: Some(Aside(cut(detail))),
        }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(LONGEST_DETAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Match {
    /// Weighs the outcome of a question; no fact if the silence is not one yet.
    pub(super) fn hear(
        &self,
        at: Timestamp,
        court: &Court<'_>,
        question: &Question,
        outcome: &Outcome,
    ) -> Result<Option<Event>, Refusal> {
        let seat = question.seat;
        let late = || Refusal::Late {
            match_id: question.match_id.clone(),
            seat,
        };
        let asking = self.chair(seat).question;
        let Some(asking) = asking.filter(|_| self.question(seat).as_ref() == Some(question)) else {
            return if outcome.is_ok() {
                Err(late())
            } else {
                Ok(None)
            };
        };
        let weighed = match outcome {
            Ok(_) if at > self.chair(seat).latest(asking) => return Err(late()),
            // Nobody loses by the clock of somebody else: the deadline itself makes it a fact.
            Err(failure) if failure.code == Code::Timeout && at < asking.deadline => {
                return Ok(None);
            }
            Ok(answer) => self.weigh(seat, answer, at),
            Err(failure) => Err(self.fault(failure.code, failure.detail.clone())),
        };
        Ok(Some(weighed.unwrap_or_else(|fault| {
            self.failure(seat, at, court, fault)
        })))
    }

    /// What came instead of an answer may hold half of a hidden move.
    fn fault(&self, code: Code, detail: String) -> Fault {
        if self.started && self.rules().hidden_moves {
            Fault::hidden(code, detail)
        } else {
            Fault::open(code, detail)
        }
    }

    fn weigh(&self, seat: Seat, answer: &Answer, at: Timestamp) -> Result<Event, Fault> {
        self.prove(seat, answer)?;
        match &answer.message {
            Message::GameJoinAck(ack) if !self.started => self.weigh_join(seat, ack, at),
            Message::MoveResponse(response) if self.started => self.weigh_move(seat, response, at),
            Message::LeagueError(error) => {
                let detail = format!(
                    "the player refused with `{}` where an answer is owed",
                    error.code
                );
                let code = match error.code {
                    // One that stands for another says what became of that one.
                    own @ (Code::Timeout | Code::Connection | Code::InvalidMove) => own,
                    _ => Code::InvalidMessage,
                };
                Err(Fault::open(code, detail))
            }
            other => {
                let said = other.v2_type().unwrap_or("nothing of use");
                let detail = format!("the player said `{said}` where `{}` is owed", self.owed());
                Err(Fault::open(Code::InvalidMessage, detail))
            }
        }
    }

    /// Checks the token: another player's is never taken, none or one that is nobody's only where
    /// the league is lenient (ruling 51).
    fn prove(&self, seat: Seat, answer: &Answer) -> Result<(), Fault> {
        let seated = self.seated(seat);
        let strict = self.fixture.strict && seated.dialect != Dialect::V1;
        let [a, b] = &self.fixture.players;
        let issued = |token| token == a.token_hash || token == b.token_hash;
        match answer.token {
            Some(token) if token == seated.token_hash => Ok(()),
            Some(token) if strict || issued(token) => {
                let detail = format!("the token is not the one of `{}`", seated.player_id);
                Err(Fault::open(Code::TokenInvalid, detail))
            }
            None if strict => {
                let detail = "this league is strict: put your token into `auth_token`";
                Err(Fault::open(Code::TokenMissing, detail))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn identify(
        &self,
        seat: Seat,
        match_id: &MatchId,
        player_id: Option<&PlayerId>,
    ) -> Result<(), Fault> {
        let (owed, asked) = (&self.fixture.match_id, &self.seated(seat).player_id);
        if match_id != owed {
            let detail =
                format!("the answer is for match `{match_id}`, the question was for `{owed}`");
            return Err(Fault::open(Code::MatchNotFound, detail));
        }
        match player_id.filter(|&player| player != asked) {
            Some(player) => {
                let detail =
                    format!("the answer is from `{player}`, the question was for `{asked}`");
                Err(Fault::open(Code::TokenInvalid, detail))
            }
            None => Ok(()),
        }
    }

    fn weigh_join(&self, seat: Seat, ack: &GameJoinAck, at: Timestamp) -> Result<Event, Fault> {
        self.identify(seat, &ack.match_id, ack.player_id.as_ref())?;
        let match_id = self.fixture.match_id.clone();
        Ok(if ack.accept {
            Event::Joined { match_id, seat }
        } else {
            Event::Declined { match_id, seat, at }
        })
    }

    fn weigh_move(&self, seat: Seat, said: &MoveResponse, at: Timestamp) -> Result<Event, Fault> {
        self.identify(seat, &said.match_id, said.player_id.as_ref())?;
        let length = said.nonce.as_ref().map_or(0, String::len);
        if length > MAX_NONCE_LENGTH {
            let detail =
                format!("a nonce has at most {MAX_NONCE_LENGTH} bytes, this one has {length}");
            return Err(Fault::open(Code::InvalidMove, detail));
        }
        let mut played = Ok(());
        let position = Position::changed(&*self.table, |own| {
            played = own.play(seat, &said.choice);
        });
        played.map_err(|illegal| self.fault(Code::InvalidMove, illegal.to_string()))?;
        let match_id = self.fixture.match_id.clone();
        let (choice, nonce) = (said.choice.clone(), said.nonce.clone());
        Ok(if self.rules().hidden_moves {
            let sealed = Arc::new(Sealed { choice, nonce });
            Event::ChoiceSealed {
                match_id,
                seat,
                sealed,
                position,
            }
        } else {
            Event::MovePlayed {
                match_id,
                seat,
                choice,
                nonce,
                position: Unwritten(Some(position)),
                at,
            }
        })
    }
}
