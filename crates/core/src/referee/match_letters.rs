//! Outgoing letters of a match: receiver, message and retry rule.

use std::sync::Arc;
use std::time::Duration;

use league_games::{Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::message::{
    DrawRequest, EVEN_ODD, GameError, GameInvitation, GameOver, GameOverTold, GameStart,
    MatchResult, MatchResultReport, MatchState, Message, MoveCall, PlayValidation, Role,
    SignedMove,
};
use league_protocol::sender::Dialect;
use league_protocol::token::TokenHash;
use serde_json::Value;

use super::RefereeRules;
use super::command::CorrelationId;
use super::event::{Event, SealedChoice};
use super::match_draw::DrawState;
use super::match_state::{Match, ReportState, SEATS};
use super::match_step::MAX_ATTEMPTS;
use crate::letter::{Credential, Letter, RetryRule};

/// The least time that is given to a notice, however soon the next question follows it.
const MIN_NOTICE: Duration = Duration::from_secs(1);

type Letters = Vec<Letter<CorrelationId>>;

impl Match {
    /// Adds the letters that a fact of this match calls for.
    pub(crate) fn letters(&self, rules: &RefereeRules, event: &Event, out: &mut Letters) {
        match event {
            Event::Asked { seat, .. } => out.extend(self.ask_letter(rules, *seat)),
            Event::Started { .. } => self.start_letters(rules, out),
            Event::AttemptFailed { asked: true, .. } => out.extend(self.error_letter(rules, event)),
            Event::AnswerLate { seat, turn, .. } => out.push(self.late_letter(rules, *seat, *turn)),
            // One of a turn of both seats is told of when the turn is complete.
            Event::ChoiceSealed { seat, sealed, .. } if self.rules().hidden_moves => {
                self.validations(rules, *seat, &sealed.choice, out);
            }
            Event::MovePlayed { seat, choice, .. } => self.validations(rules, *seat, choice, out),
            Event::DrawRequested { .. } => out.extend(self.draw_letter(rules)),
            Event::Decided { result, .. } => out.push(self.report_letter(rules, result, 1)),
            Event::ReportSettled { .. } => self.over_letters(rules, out),
            Event::ManagerNoticed { seat, .. } => out.push(self.notice_letter(rules, *seat)),
            Event::ReportTried { .. } => out.extend(self.report_again(rules)),
            _ => {}
        }
    }

    /// Adds the letters that are still owed.
    pub(crate) fn pending(&self, rules: &RefereeRules, out: &mut Letters) {
        let Some(ending) = &self.ending else {
            out.extend(self.draw_letter(rules));
            out.extend(
                SEATS
                    .into_iter()
                    .filter_map(|seat| self.ask_letter(rules, seat)),
            );
            return;
        };
        self.over_letters(rules, out);
        if matches!(ending.report, ReportState::Fresh | ReportState::Sent { .. }) {
            out.extend(self.report_again(rules));
        }
    }

    /// Tells the result to players that have not received it, once the manager has accepted it: the
    /// result opens the seed, and a match that moves to another referee draws from the same one.
    fn over_letters(&self, rules: &RefereeRules, out: &mut Letters) {
        let Some(ending) = &self.ending else { return };
        let Some(shown) = &ending.shown else { return };
        for seat in SEATS
            .into_iter()
            .filter(|seat| !ending.told[seat.index() & 1])
        {
            out.push(self.over_letter(rules, seat, &shown.result));
        }
    }

    /// The report under the number of its present try.
    pub(crate) fn report_again(&self, rules: &RefereeRules) -> Option<Letter<CorrelationId>> {
        let ending = self.ending.as_ref()?;
        let shown = ending.shown.as_ref().map(|shown| &shown.result);
        let result = shown.unwrap_or(&ending.result);
        Some(self.report_letter(rules, result, ending.report.tried()))
    }

    /// The answer that is owed now, in the words of `league.v2`.
    pub(crate) fn owed(&self) -> &'static str {
        self.answer_to(u32::from(self.started))
    }

    fn answer_to(&self, turn: u32) -> &'static str {
        match turn {
            0 => "GAME_JOIN_ACK",
            _ if self.fixture.game_type.as_str() == EVEN_ODD => "CHOOSE_PARITY_RESPONSE",
            _ => "GAME_MOVE_RESPONSE",
        }
    }

    fn letter(&self, seat: Seat, message: Message, retry: RetryRule) -> Letter<CorrelationId> {
        let token = self
            .secrets
            .as_ref()
            .map(|secrets| secrets.match_tokens[seat.index() & 1].clone());
        Letter {
            to: self.slot(seat).peer.clone(),
            message,
            credential: token.map_or(Credential::None, Credential::Match),
            retry,
            proof: self.owed_proof(seat),
            correlation: None,
        }
    }

    /// What the player's token must hash to; one dialect has no tokens.
    fn owed_proof(&self, seat: Seat) -> Option<TokenHash> {
        let seated = self.seated(seat);
        (seated.dialect != Dialect::V1).then_some(seated.token_hash)
    }

    fn ask_letter(&self, rules: &RefereeRules, seat: Seat) -> Option<Letter<CorrelationId>> {
        let question = self.question(seat)?;
        let asking = self.slot(seat).question?;
        let message = if self.started {
            self.move_call(rules, seat)?
        } else {
            self.invitation(rules, seat)
        };
        let retry = rules.timeouts.once(asking.deadline.since(asking.at));
        Some(Letter {
            correlation: Some(CorrelationId::Question(question)),
            ..self.letter(seat, message, retry)
        })
    }

    fn invitation(&self, rules: &RefereeRules, seat: Seat) -> Message {
        let fixture = &self.fixture;
        Message::GameInvitation(Box::new(GameInvitation {
            league_id: fixture.league_id.clone(),
            round_id: fixture.round_id,
            match_id: fixture.match_id.clone(),
            game_type: fixture.game_type.clone(),
            role: if seat == Seat::A { Role::A } else { Role::B },
            opponent_id: self.seated(opposite(seat)).player_id.clone(),
            commitment: Some(fixture.commitment),
            move_seconds: rules.move_seconds(),
        }))
    }

    fn move_call(&self, rules: &RefereeRules, seat: Seat) -> Option<Message> {
        let (fixture, seated) = (&self.fixture, self.seated(seat));
        let place = seat.index() & 1;
        let (options, view) = if Arc::ptr_eq(&self.course.table, &self.opening.table) {
            let opening = &self.opening;
            (opening.options[place].clone(), opening.views[place].clone())
        } else {
            (
                self.course.table.options(seat).into(),
                Arc::new(self.course.table.view(seat)),
            )
        };
        Some(Message::MoveCall(Box::new(MoveCall {
            league_id: fixture.league_id.clone(),
            round_id: fixture.round_id,
            match_id: fixture.match_id.clone(),
            player_id: seated.player_id.clone(),
            opponent_id: self.seated(opposite(seat)).player_id.clone(),
            game_type: fixture.game_type.clone(),
            move_type: self.opening.move_type.clone(),
            options,
            view,
            moves: self.open_moves(),
            turn_number: self.turn_of(seat),
            record: seated.record,
            deadline: self.slot(seat).question?.deadline,
            move_seconds: rules.move_seconds(),
        })))
    }

    /// The moves so far, where all may see them.
    fn open_moves(&self) -> Arc<[SignedMove]> {
        let open = self.rules().open_moves(self.moves.len());
        let named = |(seat, sealed): &(Seat, Arc<SealedChoice>)| SignedMove {
            player_id: self.seated(*seat).player_id.clone(),
            choice: sealed.choice.clone(),
            nonce: None,
            proof: None,
            model: None,
        };
        self.moves.iter().take(open).map(named).collect()
    }

    /// Hands the moves over and requests the draw, under the number of its present try.
    fn draw_letter(&self, rules: &RefereeRules) -> Option<Letter<CorrelationId>> {
        let Some(DrawState::Sent { tried, .. }) = self.draw else {
            return None;
        };
        let (fixture, secrets) = (&self.fixture, self.secrets.as_ref()?);
        let (match_id, attempt) = (fixture.match_id.clone(), fixture.attempt);
        Some(Letter {
            to: rules.manager.clone(),
            message: Message::from(DrawRequest {
                league_id: fixture.league_id.clone(),
                round_id: fixture.round_id,
                match_id: match_id.clone(),
                attempt,
                order_token: Some(secrets.order_token.clone()),
                moves: self.signed_moves(),
            }),
            credential: Credential::Own,
            retry: rules.report_retry(),
            proof: None,
            correlation: Some(CorrelationId::Draw {
                match_id,
                attempt,
                roll: self.roll_number(),
                tried,
            }),
        })
    }

    fn start_letters(&self, rules: &RefereeRules, out: &mut Letters) {
        let first = match self.course.table.turn() {
            Turn::Seats(seats) => seats.first().copied().unwrap_or(Seat::A),
            Turn::Dice | Turn::Over(_) => Seat::A,
        };
        let fixture = &self.fixture;
        for seat in self.old_speakers() {
            let start = Message::from(GameStart {
                league_id: fixture.league_id.clone(),
                round_id: fixture.round_id,
                match_id: fixture.match_id.clone(),
                game_type: fixture.game_type.clone(),
                current_player: self.seated(first).player_id.clone(),
                move_seconds: rules.move_seconds(),
            });
            out.push(self.letter(seat, start, rules.notice()));
        }
    }

    /// Tells `league.v1` players that a move was taken; a hidden one is shown to its maker alone.
    fn validations(&self, rules: &RefereeRules, mover: Seat, choice: &Value, out: &mut Letters) {
        let fixture = &self.fixture;
        for seat in self.old_speakers() {
            let shown = seat == mover || !self.rules().hidden_moves;
            let validation = Message::PlayValidation(Box::new(PlayValidation {
                league_id: fixture.league_id.clone(),
                round_id: fixture.round_id,
                match_id: fixture.match_id.clone(),
                player_id: self.seated(mover).player_id.clone(),
                choice: shown.then(|| choice.clone()),
                error: None,
            }));
            out.push(self.letter(seat, validation, rules.notice()));
        }
    }

    fn old_speakers(&self) -> impl Iterator<Item = Seat> {
        SEATS
            .into_iter()
            .filter(|&seat| self.seated(seat).dialect == Dialect::V1)
    }

    /// Tells a player what went wrong. The notice ends before the next question begins, so that a
    /// player that hangs on it still gets the question.
    fn error_letter(&self, rules: &RefereeRules, event: &Event) -> Option<Letter<CorrelationId>> {
        let Event::AttemptFailed {
            seat,
            turn,
            failed,
            code,
            detail,
            aside,
            retry_at,
            at,
            ..
        } = event
        else {
            return None;
        };
        let detail = aside.as_ref().map_or(detail, |aside| &aside.0);
        let error = Message::GameError(Box::new(GameError {
            retry_count: *failed,
            next_retry_at: *retry_at,
            ..self.game_error(rules, *seat, *turn, *code, detail)
        }));
        let until = retry_at.map_or(rules.timeouts.game_over, |retry_at| retry_at.since(*at));
        let timeout = until.clamp(MIN_NOTICE, rules.timeouts.other.max(MIN_NOTICE));
        Some(self.letter(*seat, error, rules.timeouts.once(timeout)))
    }

    /// Tells a player that its answer came too late (E008).
    fn late_letter(&self, rules: &RefereeRules, seat: Seat, turn: u32) -> Letter<CorrelationId> {
        let detail = "the answer came after its deadline and does not count";
        let error = self.game_error(rules, seat, turn, Code::DeadlinePassed, detail);
        let error = Message::GameError(Box::new(error));
        self.letter(seat, error, rules.timeouts.once(MIN_NOTICE))
    }

    fn game_error(
        &self,
        rules: &RefereeRules,
        seat: Seat,
        turn: u32,
        code: Code,
        detail: &str,
    ) -> GameError {
        let (fixture, slot) = (&self.fixture, self.slot(seat));
        GameError {
            league_id: fixture.league_id.clone(),
            round_id: fixture.round_id,
            match_id: fixture.match_id.clone(),
            player_id: self.seated(seat).player_id.clone(),
            code,
            detail: detail.to_owned(),
            action_required: self.answer_to(turn),
            state: match turn {
                0 => MatchState::WaitingForPlayers,
                _ => MatchState::CollectingChoices,
            },
            retry_count: slot.failed,
            max_retries: rules.timeouts.attempts.clamp(1, MAX_ATTEMPTS),
            next_retry_at: slot.retry_at,
        }
    }

    fn over_letter(
        &self,
        rules: &RefereeRules,
        seat: Seat,
        result: &Arc<MatchResult>,
    ) -> Letter<CorrelationId> {
        let fixture = &self.fixture;
        let over = Message::from(GameOver {
            league_id: fixture.league_id.clone(),
            round_id: fixture.round_id,
            match_id: fixture.match_id.clone(),
            game_type: fixture.game_type.clone(),
            receiver: self.seated(seat).player_id.clone(),
            result: result.clone(),
        });
        let (match_id, attempt) = (fixture.match_id.clone(), fixture.attempt);
        Letter {
            correlation: Some(CorrelationId::GameOver {
                match_id,
                attempt,
                seat,
            }),
            ..self.letter(seat, over, rules.game_over_retry())
        }
    }

    /// Tells the manager that a player knows the result, or both.
    fn notice_letter(&self, rules: &RefereeRules, seat: Option<Seat>) -> Letter<CorrelationId> {
        let fixture = &self.fixture;
        let correlation = CorrelationId::Notice {
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
        };
        Letter {
            to: rules.manager.clone(),
            message: Message::from(GameOverTold {
                league_id: fixture.league_id.clone(),
                match_id: fixture.match_id.clone(),
                attempt: fixture.attempt,
                player_id: seat.map(|seat| self.seated(seat).player_id.clone()),
            }),
            credential: Credential::Own,
            retry: rules.report_retry(),
            proof: None,
            correlation: Some(correlation),
        }
    }

    fn report_letter(
        &self,
        rules: &RefereeRules,
        result: &Arc<MatchResult>,
        tried: u32,
    ) -> Letter<CorrelationId> {
        let fixture = &self.fixture;
        let (match_id, attempt) = (fixture.match_id.clone(), fixture.attempt);
        Letter {
            to: rules.manager.clone(),
            message: Message::from(MatchResultReport {
                league_id: fixture.league_id.clone(),
                round_id: fixture.round_id,
                match_id: match_id.clone(),
                attempt,
                order_token: self
                    .secrets
                    .as_ref()
                    .map(|secrets| secrets.order_token.clone()),
                game_over_told: Some(false),
                game_type: fixture.game_type.clone(),
                result: result.clone(),
            }),
            credential: Credential::Own,
            retry: rules.report_retry(),
            proof: None,
            correlation: Some(CorrelationId::Report {
                match_id,
                attempt,
                tried,
            }),
        }
    }
}

const fn opposite(seat: Seat) -> Seat {
    if seat.index() == 0 { Seat::B } else { Seat::A }
}
