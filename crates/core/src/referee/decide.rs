//! What a command leads to, as far as the referee itself decides it.

use league_games::Turn;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::{MatchState, Message, Mode};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::Referee;
use super::command::{Command, Question, Refusal, Reply, Ticket};
use super::event::{Event, Verdict};
use super::next::USUAL_FACTS;
use super::running::{Match, Report};
use crate::letter::Outcome;
use crate::machine::Decision;

type Weighed = Result<Decision<Event, Reply>, Refusal>;

impl Referee {
    pub(super) fn weigh(&self, at: Timestamp, command: &Command) -> Weighed {
        match command {
            Command::Begin { token } => Ok(noted(vec![self.enrolment.begin(at, token.as_ref())])),
            Command::Heard { ticket, outcome } => self.hear(at, ticket, outcome),
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
                self.draw(match_id)
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
            Command::Tick => Ok(noted(self.tick(at))),
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

    /// Lets a caller pass that may step this match: the manager, and whoever holds its step token.
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

    fn tick(&self, at: Timestamp) -> Vec<Event> {
        let mut events: Vec<Event> = self.enrolment.tick(at, &self.rules).into_iter().collect();
        let court = self.court();
        for (_, match_id) in self.due.iter().take_while(|(due, _)| *due <= at) {
            if let Some(game) = self.running.get(match_id) {
                events.extend(game.clone().step(at, &court, Vec::new(), 0));
            }
        }
        events
    }

    fn hear(&self, at: Timestamp, ticket: &Ticket, outcome: &Outcome) -> Weighed {
        match ticket {
            Ticket::Registration { tried } => {
                Ok(self.enrolment.hear(at, &self.rules, *tried, outcome))
            }
            Ticket::Question(question) => self.hear_player(at, question, outcome),
            Ticket::GameOver {
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
                Ok(noted(game.step_ending(at, &self.court(), told)))
            }
            Ticket::Report {
                match_id,
                attempt,
                tried,
            } => {
                let Some(game) = self.decided(match_id, *attempt) else {
                    return Ok(noted(Vec::new()));
                };
                Ok(self.hear_manager(at, game, *tried, outcome))
            }
        }
    }

    fn hear_player(&self, at: Timestamp, question: &Question, outcome: &Outcome) -> Weighed {
        let game = self.find(&question.match_id);
        let game = game.ok_or_else(|| Refusal::UnknownMatch(question.match_id.clone()))?;
        let court = self.court();
        let first = game.hear(at, &court, question, outcome)?;
        Ok(noted(match first {
            Some(first) => {
                let mut events = Vec::with_capacity(USUAL_FACTS);
                events.push(first);
                game.clone().step(at, &court, events, 0)
            }
            None => Vec::new(),
        }))
    }

    /// The match whose end is being told.
    fn decided(&self, match_id: &MatchId, attempt: u32) -> Option<&Match> {
        let game = &**self.running.get(match_id)?;
        (game.fixture.attempt == attempt && game.ending.is_some()).then_some(game)
    }

    fn hear_manager(
        &self,
        at: Timestamp,
        game: &Match,
        tried: u32,
        outcome: &Outcome,
    ) -> Decision<Event, Reply> {
        let court = self.court();
        let Some(ending) = game.ending.as_ref().filter(|ending| {
            ending.report.tried() == tried && !matches!(ending.report, Report::Settled(_))
        }) else {
            return noted(Vec::new());
        };
        let settled = |report| {
            let match_id = game.fixture.match_id.clone();
            Event::ReportSettled {
                match_id,
                report,
                at,
            }
        };
        let (first, reply) = match outcome.as_ref().map(|answer| &answer.message) {
            Ok(Message::LeagueError(error)) => match error.code {
                Code::TokenMissing | Code::TokenInvalid | Code::RefereeNotRegistered => {
                    (ending.unanswered(game, at, &court), Reply::TokenRefused)
                }
                code if code.retryable() => (ending.unanswered(game, at, &court), Reply::Noted),
                code => (settled(Verdict::Refused(code)), Reply::Noted),
            },
            Ok(_) => (settled(Verdict::Acknowledged), Reply::Noted),
            Err(_) => (ending.unanswered(game, at, &court), Reply::Noted),
        };
        let events = game.step_ending(at, &court, first);
        Decision { events, reply }
    }

    fn collect(&self, at: Timestamp, match_id: &MatchId) -> Weighed {
        let due = |game: &Match| {
            !game.started && game.secrets.is_some() && game.chairs.iter().all(|chair| chair.joined)
        };
        let game = self.manual(match_id, "collect_choices", due)?;
        let started = Event::Started {
            match_id: match_id.clone(),
            at,
        };
        Ok(noted(game.clone().step(
            at,
            &self.court(),
            vec![started],
            0,
        )))
    }

    fn draw(&self, match_id: &MatchId) -> Weighed {
        let due = |game: &Match| game.state() == MatchState::DrawingNumber && !game.is_ready();
        let game = self.manual(match_id, "draw_number", |game| {
            due(game) && game.secrets.is_some()
        })?;
        let drawn = game.rolled().map(|position| Event::NumberDrawn {
            match_id: match_id.clone(),
            position,
        });
        Ok(noted(drawn.into_iter().collect()))
    }

    fn finalize(&self, at: Timestamp, match_id: &MatchId) -> Weighed {
        let game = self.manual(match_id, "finalize_match", Match::is_ready)?;
        let decided = game.played().map(|result| Event::Decided {
            match_id: match_id.clone(),
            result,
            at,
        });
        Ok(noted(decided.into_iter().collect()))
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
        self.drawn && matches!(self.table.turn(), Turn::Over(_))
    }
}

fn noted(events: Vec<Event>) -> Decision<Event, Reply> {
    Decision {
        events,
        reply: Reply::Noted,
    }
}
