//! The referee's decisions: orders to run a match, steps in manual mode, and outcomes of letters.

use std::sync::Arc;

use league_games::{BadSettings, Turn};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId};
use league_protocol::message::{MatchState, Message, Mode, StartMatch, StartMatchAck};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;
use thiserror::Error;

use super::Decision;
use super::Referee;
use super::command::{Command, CorrelationId, PlayerQuestion, Refusal, Reply};
use super::event::{Event, MatchOrder, OpenedSecrets, ReportAnswer, Secrets};
use super::match_draw::DrawState;
use super::match_state::{Match, ReportState, SetupError};
use super::match_step::USUAL_FACTS;
use crate::letter::CallOutcome;
use crate::timeouts::is_forced;

impl Referee {
    pub(crate) fn weigh(&self, at: Timestamp, command: &Command) -> Result<Decision, Refusal> {
        match command {
            Command::Begin { token } => Ok(noted(vec![self.enrolment.begin(at, token.as_ref())])),
            Command::Outcome {
                correlation,
                outcome,
            } => self.hear(at, correlation, outcome),
            Command::StartMatch {
                order,
                token,
                barred,
            } => {
                self.prove_manager(*token)?;
                Ok(self.weigh_order(at, order, barred.as_deref()))
            }
            Command::CollectChoices { match_id, token } => {
                self.prove_stepper(match_id, *token)?;
                self.collect(at, match_id)
            }
            Command::DrawNumber { match_id, token } => {
                self.prove_stepper(match_id, *token)?;
                self.draw(at, match_id)
            }
            Command::FinalizeMatch { match_id, token } => {
                self.prove_stepper(match_id, *token)?;
                self.finalize(at, match_id)
            }
            Command::MatchState { match_id } => self.tell(match_id).map(Decision::reply),
            Command::Ping => Ok(noted(Vec::new())),
            Command::LeagueCompleted { league_id, token } => {
                self.prove_manager(*token)?;
                Ok(noted(self.end(at, league_id)))
            }
            Command::Tick => Ok(noted(self.wake(at))),
        }
    }

    /// Lets a caller pass that shows the manager's token, or anyone while none is known.
    fn prove_manager(&self, token: Option<TokenHash>) -> Result<(), Refusal> {
        match (self.enrolment.manager, token) {
            (None, _) => Ok(()),
            (Some(known), Some(shown)) if known == shown => Ok(()),
            (Some(_), Some(_)) => Err(Refusal::WrongManagerToken),
            (Some(_), None) => Err(Refusal::NoManagerToken),
        }
    }

    /// Lets a caller read the journal that shows the manager's token; none while none is known.
    ///
    /// # Errors
    ///
    /// The caller is not the manager, as far as it shows.
    pub fn check_reader(&self, token: Option<TokenHash>) -> Result<(), Refusal> {
        match self.enrolment.manager {
            None => Err(Refusal::NoManagerToken),
            Some(_) => self.prove_manager(token),
        }
    }

    /// Accepts the manager and the holder of the match's step token.
    fn prove_stepper(&self, match_id: &MatchId, token: Option<TokenHash>) -> Result<(), Refusal> {
        let step_token = self.find(match_id).and_then(|game| game.fixture.step_token);
        if token.is_some() && token == step_token {
            return Ok(());
        }
        self.prove_manager(token).map_err(|refusal| match refusal {
            Refusal::NoManagerToken => Refusal::NoStepToken(match_id.clone()),
            Refusal::WrongManagerToken => Refusal::WrongStepToken(match_id.clone()),
            other => other,
        })
    }

    fn tell(&self, match_id: &MatchId) -> Result<Reply, Refusal> {
        let view = self
            .view(match_id)
            .ok_or_else(|| Refusal::UnknownMatch(match_id.clone()))?;
        Ok(Reply::MatchState(Box::new(view)))
    }

    fn end(&self, at: Timestamp, league_id: &LeagueId) -> Vec<Event> {
        let ours = self.enrolled().is_some_and(|(_, held)| held == league_id);
        if ours && !self.league_over {
            vec![Event::LeagueEnded { at }]
        } else {
            Vec::new()
        }
    }

    fn wake(&self, at: Timestamp) -> Vec<Event> {
        let mut events: Vec<Event> = self.enrolment.tick(at, &self.rules).into_iter().collect();
        let context = self.context();
        for (_, match_id) in self.due.iter().take_while(|(due, _)| *due <= at) {
            if let Some(game) = self.running.get(match_id) {
                events.extend(game.clone().step(at, &context, Vec::new(), 0));
            }
        }
        events
    }

    fn hear(
        &self,
        at: Timestamp,
        correlation: &CorrelationId,
        outcome: &CallOutcome,
    ) -> Result<Decision, Refusal> {
        match correlation {
            CorrelationId::Registration { tried } => {
                Ok(self.enrolment.hear(at, &self.rules, *tried, outcome))
            }
            CorrelationId::Question(question) => self.hear_player(at, question, outcome),
            CorrelationId::GameOver {
                match_id,
                attempt,
                seat,
            } => {
                let Some(game) = self.decided(match_id, *attempt) else {
                    return Ok(noted(Vec::new()));
                };
                let told = Event::PlayerTold {
                    match_id: match_id.clone(),
                    seat: *seat,
                };
                Ok(noted(game.step_ending(at, &self.context(), told)))
            }
            CorrelationId::Notice { match_id, attempt } => {
                let Some(game) = self.decided(match_id, *attempt) else {
                    return Ok(noted(Vec::new()));
                };
                let settled = Event::NoticeSettled {
                    match_id: match_id.clone(),
                    again: game.notice_again(at, &self.rules, refused_token(outcome)),
                };
                Ok(noted(game.step_ending(at, &self.context(), settled)))
            }
            CorrelationId::Draw {
                match_id,
                attempt,
                roll,
                tried,
            } => {
                let game = self.running.get(match_id);
                let game = game.filter(|game| {
                    game.fixture.attempt == *attempt && game.awaits_draw(*roll, *tried)
                });
                Ok(match game {
                    Some(game) => self.hear_draw(at, game, outcome),
                    None => noted(Vec::new()),
                })
            }
            CorrelationId::Report {
                match_id,
                attempt,
                tried,
            } => match self.decided(match_id, *attempt) {
                Some(game) => Ok(self.hear_manager(at, game, *tried, outcome)),
                // The result of a closed match was told again.
                None if refused_token(outcome) => Err(Refusal::TokenRefused),
                None => Ok(noted(Vec::new())),
            },
        }
    }

    fn hear_player(
        &self,
        at: Timestamp,
        question: &PlayerQuestion,
        outcome: &CallOutcome,
    ) -> Result<Decision, Refusal> {
        let game = self.find(&question.match_id);
        let game = game.ok_or_else(|| Refusal::UnknownMatch(question.match_id.clone()))?;
        let context = self.context();
        let heard = match game.hear(at, &context, question, outcome) {
            Err(late) if game.has_failed(question) => {
                let (seat, turn) = (question.seat, question.turn);
                let match_id = question.match_id.clone();
                return Ok(Decision {
                    events: vec![Event::AnswerLate {
                        match_id,
                        seat,
                        turn,
                    }],
                    answer: Err(late),
                });
            }
            heard => heard?,
        };
        let Some(first) = heard else {
            return Ok(noted(Vec::new()));
        };
        let answer = match &first {
            Event::GivenBack { match_id, .. } => Err(Refusal::GivenBack(match_id.clone())),
            _ => Ok(Reply::Noted),
        };
        let mut events = Vec::with_capacity(USUAL_FACTS);
        events.push(first);
        let events = game.clone().step(at, &context, events, 0);
        Ok(Decision { events, answer })
    }

    /// The match whose result is being reported.
    fn decided(&self, match_id: &MatchId, attempt: u32) -> Option<&Match> {
        let game = &**self.running.get(match_id)?;
        (game.fixture.attempt == attempt && game.ending.is_some()).then_some(game)
    }

    fn hear_manager(
        &self,
        at: Timestamp,
        game: &Match,
        tried: u32,
        outcome: &CallOutcome,
    ) -> Decision {
        let context = self.context();
        let Some(ending) = game.ending.as_ref().filter(|ending| {
            ending.report.tried() == tried && !matches!(ending.report, ReportState::Settled(_))
        }) else {
            return noted(Vec::new());
        };
        let settled = |report, opened| Event::ReportSettled {
            match_id: game.fixture.match_id.clone(),
            report,
            opened,
            at,
        };
        let first = match outcome.as_ref().map(|answer| &answer.message) {
            Ok(Message::LeagueError(error)) if is_final(error.code) => {
                settled(ReportAnswer::Refused(error.code), None)
            }
            Ok(Message::LeagueError(_)) | Err(_) => ending.unanswered(game, at, &context),
            Ok(Message::MatchResultAck(ack)) if ack.match_id == game.fixture.match_id => {
                let opened = OpenedSecrets {
                    seed: ack.seed,
                    players: ack.players.clone(),
                };
                settled(ReportAnswer::Acknowledged, Some(Arc::new(opened)))
            }
            Ok(_) => settled(ReportAnswer::Acknowledged, None),
        };
        Decision {
            events: game.step_ending(at, &context, first),
            answer: answer_to(outcome),
        }
    }

    fn hear_draw(&self, at: Timestamp, game: &Match, outcome: &CallOutcome) -> Decision {
        let context = self.context();
        let fixture = &game.fixture;
        let first = match outcome.as_ref().map(|answer| &answer.message) {
            Ok(Message::DrawResponse(drawn))
                if drawn.match_id == fixture.match_id && drawn.attempt == fixture.attempt =>
            {
                Event::NumberDrawn {
                    match_id: fixture.match_id.clone(),
                    seed: Some(drawn.seed),
                }
            }
            Ok(Message::LeagueError(error)) if is_final(error.code) => {
                game.give_up(ReportAnswer::Refused(error.code), at)
            }
            Ok(_) | Err(_) => game.draw_unanswered(at, &context),
        };
        Decision {
            events: game.clone().step(at, &context, vec![first], 0),
            answer: answer_to(outcome),
        }
    }

    fn collect(&self, at: Timestamp, match_id: &MatchId) -> Result<Decision, Refusal> {
        let due = |game: &Match| {
            !game.started && game.secrets.is_some() && game.slots.iter().all(|slot| slot.joined)
        };
        let game = self.manual(match_id, "collect_choices", due)?;
        let started = vec![game.begin(at)];
        Ok(noted(game.clone().step(at, &self.context(), started, 0)))
    }

    /// Requests the draw; a request that is under way is enough.
    fn draw(&self, at: Timestamp, match_id: &MatchId) -> Result<Decision, Refusal> {
        let due = |game: &Match| game.state() == MatchState::DrawingNumber && !game.is_ready();
        let game = self.manual(match_id, "draw_number", |game| {
            due(game) && game.is_playing()
        })?;
        let event = match game.course.table.turn() {
            Turn::Dice => game
                .draw
                .is_none()
                .then(|| game.request_draw(at, &self.rules)),
            _ => Some(Event::NumberDrawn {
                match_id: match_id.clone(),
                seed: None,
            }),
        };
        Ok(noted(event.into_iter().collect()))
    }

    fn finalize(&self, at: Timestamp, match_id: &MatchId) -> Result<Decision, Refusal> {
        let game = self.manual(match_id, "finalize_match", Match::is_ready)?;
        Ok(noted(game.decided(at).into_iter().collect()))
    }

    /// Finds a match that is stepped by hand and has this step before it.
    fn manual(
        &self,
        match_id: &MatchId,
        step: &'static str,
        due: impl Fn(&Match) -> bool,
    ) -> Result<&Match, Refusal> {
        let game = self.find(match_id);
        let game = game.ok_or_else(|| Refusal::UnknownMatch(match_id.clone()))?;
        let match_id = match_id.clone();
        if game.fixture.mode == Mode::Auto {
            return Err(Refusal::PlaysByItself { match_id, step });
        }
        if game.ending.is_some() || !due(game) {
            let state = game.state();
            return Err(Refusal::OutOfOrder {
                match_id,
                step,
                state,
            });
        }
        Ok(game)
    }
}

impl Match {
    /// Whether the dice have been rolled and the game is over, so that only the word is missing.
    fn is_ready(&self) -> bool {
        self.drawn && matches!(self.course.table.turn(), Turn::Over(_))
    }

    /// Whether this request for a draw is under way.
    fn awaits_draw(&self, roll: u32, tried: u32) -> bool {
        let sent = matches!(self.draw, Some(DrawState::Sent { tried: sent, .. }) if sent == tried);
        self.is_playing() && self.roll_number() == roll && sent
    }
}

/// Whether the manager refused the referee's own token.
fn refused_token(outcome: &CallOutcome) -> bool {
    let message = outcome.as_ref().map(|answer| &answer.message);
    matches!(message, Ok(Message::LeagueError(error)) if is_about_token(error.code))
}

const fn is_about_token(code: Code) -> bool {
    matches!(
        code,
        Code::TokenMissing | Code::TokenInvalid | Code::RefereeNotRegistered
    )
}

/// Whether the manager will never say anything else.
fn is_final(code: Code) -> bool {
    !code.retryable() && !is_about_token(code)
}

fn answer_to(outcome: &CallOutcome) -> Result<Reply, Refusal> {
    if refused_token(outcome) {
        Err(Refusal::TokenRefused)
    } else {
        Ok(Reply::Noted)
    }
}

fn noted(events: Vec<Event>) -> Decision {
    Decision::accept(events, Reply::Noted)
}

/// How many decided matches may wait for their last letters, beside those that are played.
const MAX_UNSETTLED: usize = 10_000;

/// Why an order is refused, as the manager reads it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum OrderRefusal {
    #[error("this referee has no token to report with: it is registering again")]
    NotEnrolled,
    #[error("the league is over")]
    LeagueOver,
    #[error("this referee serves league `{held}`, not `{asked}`")]
    OtherLeague { held: LeagueId, asked: LeagueId },
    #[error("this referee does not know the game `{0}`")]
    UnknownGame(GameType),
    #[error("the settings of `{game}` cannot be used: {problem}")]
    BadSettings {
        game: GameType,
        problem: BadSettings,
    },
    #[error("a match needs two different players")]
    OnePlayer,
    #[error("{0}")]
    Barred(String),
    #[error("this referee is full: it runs {0} matches")]
    Full(usize),
    #[error("match `{match_id}` is at attempt {held} here")]
    OlderAttempt { match_id: MatchId, held: u32 },
    #[error("match `{0}` was ordered differently before")]
    Different(MatchId),
    #[error("match `{0}` was closed here: the manager refused its draw")]
    GivenUp(MatchId),
    #[error("match `{0}` is given back: the machine of this referee cannot call its players")]
    GivenBack(MatchId),
}

impl Referee {
    pub(crate) fn weigh_order(
        &self,
        at: Timestamp,
        order: &StartMatch,
        barred: Option<&str>,
    ) -> Decision {
        let weighed = self.place(at, order, barred);
        let ack = StartMatchAck {
            match_id: order.match_id.clone(),
            accepted: weighed.is_ok(),
            reason: weighed.as_ref().err().map(ToString::to_string),
        };
        Decision::accept(
            weighed.unwrap_or_default(),
            Reply::StartMatchAck(Box::new(ack)),
        )
    }

    fn place(
        &self,
        at: Timestamp,
        order: &StartMatch,
        barred: Option<&str>,
    ) -> Result<Vec<Event>, OrderRefusal> {
        let fixture = MatchOrder::of(order);
        let held = self.running.get(&order.match_id).map(|game| &**game);
        let known = held.or_else(|| self.recent.get(&order.match_id));
        match known {
            Some(game) if game.fixture.attempt > order.attempt => Err(OrderRefusal::OlderAttempt {
                match_id: order.match_id.clone(),
                held: game.fixture.attempt,
            }),
            Some(game) if game.fixture.attempt == order.attempt => {
                if !game.fixture.is_same_match(&fixture) {
                    return Err(OrderRefusal::Different(order.match_id.clone()));
                }
                if game.given_up {
                    return Err(OrderRefusal::GivenUp(order.match_id.clone()));
                }
                if game.given_back {
                    return Err(OrderRefusal::GivenBack(order.match_id.clone()));
                }
                let Some(game) = held else {
                    // It is closed; this manager may have been put back to before its end.
                    let match_id = order.match_id.clone();
                    let until = at;
                    return Ok(vec![Event::ReportTried {
                        match_id,
                        at,
                        until,
                    }]);
                };
                // An old order may find a referee that restarted and has others to play by now.
                if game.secrets.is_none() && game.ending.is_none() {
                    self.check_room(&order.match_id)?;
                }
                Ok(self.resume(at, game, order, fixture))
            }
            // Another referee may call that player; here it would lose for nothing.
            _ => match barred.filter(|_| !is_forced(order.attempt)) {
                Some(barred) => Err(OrderRefusal::Barred(barred.to_owned())),
                None => self.take(at, order, fixture),
            },
        }
    }

    fn take(
        &self,
        at: Timestamp,
        order: &StartMatch,
        fixture: MatchOrder,
    ) -> Result<Vec<Event>, OrderRefusal> {
        self.check(order)?;
        let fixture = Arc::new(fixture);
        let game = Match::open(fixture.clone(), self.opening.as_ref(), at).map_err(|problem| {
            let game = order.game_type.clone();
            match problem {
                SetupError::UnknownGame => OrderRefusal::UnknownGame(game),
                SetupError::BadSettings(problem) => OrderRefusal::BadSettings { game, problem },
            }
        })?;
        let mut events = Vec::with_capacity(USUAL_FACTS);
        events.push(Event::MatchOpened { fixture, at });
        events.push(secrets(order));
        // The first of them is in the match already.
        Ok(game.step(at, &self.context(), events, 1))
    }

    fn check(&self, order: &StartMatch) -> Result<(), OrderRefusal> {
        if self.league_over {
            return Err(OrderRefusal::LeagueOver);
        }
        // While an answer is under way the order may simply have come first.
        if self.registration_problem().is_some() {
            return Err(OrderRefusal::NotEnrolled);
        }
        if let Some((_, held)) = self.enrolled()
            && *held != order.league_id
        {
            let (held, asked) = (held.clone(), order.league_id.clone());
            return Err(OrderRefusal::OtherLeague { held, asked });
        }
        let game = &order.game_type;
        league_games::find(game.as_str())
            .filter(|listing| (listing.rules.min_players..=listing.rules.max_players).contains(&2))
            .filter(|_| self.rules.games.contains(game))
            .ok_or_else(|| OrderRefusal::UnknownGame(game.clone()))?;
        if order.players[0].player_id == order.players[1].player_id {
            return Err(OrderRefusal::OnePlayer);
        }
        self.check_room(&order.match_id)
    }

    /// A match that is decided has freed its place: the manager may fill it before it says so.
    fn check_room(&self, match_id: &MatchId) -> Result<(), OrderRefusal> {
        let replaced = self
            .running
            .get(match_id)
            .is_some_and(|game| game.is_playing());
        let playing = self.playing - usize::from(replaced);
        let unsettled = self.running.len() - self.playing;
        if playing >= self.rules.max_concurrent as usize || unsettled >= MAX_UNSETTLED {
            return Err(OrderRefusal::Full(self.playing));
        }
        Ok(())
    }

    /// The same order again: after a restart it brings the secrets back and the match goes on.
    fn resume(
        &self,
        at: Timestamp,
        game: &Match,
        order: &StartMatch,
        fixture: MatchOrder,
    ) -> Vec<Event> {
        let mut first = Vec::new();
        if game.fixture.players != fixture.players {
            first.push(Event::Readdressed {
                match_id: order.match_id.clone(),
                players: Box::new(fixture.players),
                at,
            });
        }
        if game.secrets.as_deref() != Some(&Secrets::of(order)) {
            first.push(secrets(order));
        }
        if first.is_empty() {
            return first;
        }
        game.clone().step(at, &self.context(), first, 0)
    }
}

fn secrets(order: &StartMatch) -> Event {
    Event::SecretsGiven {
        match_id: order.match_id.clone(),
        secrets: Arc::new(Secrets::of(order)),
    }
}
