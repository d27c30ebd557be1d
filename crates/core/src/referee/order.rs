//! The manager's order to run a match: taken, repeated, replaced or turned down.

use std::sync::Arc;

use league_games::BadSettings;
use league_protocol::id::{GameType, LeagueId, MatchId};
use league_protocol::message::{StartMatch, StartMatchAck};
use league_protocol::time::Timestamp;
use thiserror::Error;

use super::Referee;
use super::command::Reply;
use super::event::Event;
use super::fixture::{Fixture, Secrets};
use super::next::USUAL_FACTS;
use super::opening::NoTable;
use super::running::Match;
use crate::machine::Decision;
use crate::patience::LAST_RESORT;

/// How many decided matches may wait for their last letters, beside those that are played.
const MOST_UNSETTLED: usize = 10_000;

/// Why an order is not taken, as the manager is told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum TurnedDown {
    #[error("this referee has no token to report with; it registers again")]
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
    #[error("this referee runs {0} matches and takes no more")]
    Full(usize),
    #[error("match `{match_id}` is at attempt {held} here")]
    OlderAttempt { match_id: MatchId, held: u32 },
    #[error("match `{0}` was ordered differently before")]
    Different(MatchId),
}

impl Referee {
    pub(super) fn weigh_order(
        &self,
        at: Timestamp,
        order: &StartMatch,
        barred: Option<&str>,
    ) -> Decision<Event, Reply> {
        let weighed = self.place(at, order, barred);
        let ack = StartMatchAck {
            match_id: order.match_id.clone(),
            accepted: weighed.is_ok(),
            reason: weighed.as_ref().err().map(ToString::to_string),
        };
        Decision {
            events: weighed.unwrap_or_default(),
            reply: Reply::StartMatchAck(Box::new(ack)),
        }
    }

    fn place(
        &self,
        at: Timestamp,
        order: &StartMatch,
        barred: Option<&str>,
    ) -> Result<Vec<Event>, TurnedDown> {
        let fixture = Fixture::of(order);
        let held = self.running.get(&order.match_id).map(|game| &**game);
        let known = held.or_else(|| self.recent.get(&order.match_id));
        match known {
            Some(game) if game.fixture.attempt > order.attempt => Err(TurnedDown::OlderAttempt {
                match_id: order.match_id.clone(),
                held: game.fixture.attempt,
            }),
            Some(game) if game.fixture.attempt == order.attempt => {
                if !game.fixture.is_same_match(&fixture) {
                    return Err(TurnedDown::Different(order.match_id.clone()));
                }
                let Some(game) = held else {
                    return Ok(vec![self.tell_again(at, order)]);
                };
                // An old order may find a referee that restarted and has others to play by now.
                if game.secrets.is_none() && game.ending.is_none() {
                    self.check_room(&order.match_id)?;
                }
                Ok(self.resume(at, game, order, fixture))
            }
            // Another referee may call that player; here it would lose for nothing.
            _ => match barred.filter(|_| order.attempt < LAST_RESORT) {
                Some(barred) => Err(TurnedDown::Barred(barred.to_owned())),
                None => self.take(at, order, fixture),
            },
        }
    }

    fn take(
        &self,
        at: Timestamp,
        order: &StartMatch,
        fixture: Fixture,
    ) -> Result<Vec<Event>, TurnedDown> {
        self.check(order)?;
        let fixture = Arc::new(fixture);
        let game = Match::open(fixture.clone(), self.opening.as_ref(), at).map_err(|problem| {
            let game = order.game_type.clone();
            match problem {
                NoTable::UnknownGame => TurnedDown::UnknownGame(game),
                NoTable::BadSettings(problem) => TurnedDown::BadSettings { game, problem },
            }
        })?;
        let mut events = Vec::with_capacity(USUAL_FACTS);
        events.push(Event::MatchOpened { fixture, at });
        events.push(secrets(order));
        // The first of them is in the match already.
        Ok(game.step(at, &self.court(), events, 1))
    }

    fn check(&self, order: &StartMatch) -> Result<(), TurnedDown> {
        if self.league_over {
            return Err(TurnedDown::LeagueOver);
        }
        // While an answer is under way the order may simply have come first.
        if self.registration_problem().is_some() {
            return Err(TurnedDown::NotEnrolled);
        }
        if let Some((_, held)) = self.enrolled()
            && *held != order.league_id
        {
            let (held, asked) = (held.clone(), order.league_id.clone());
            return Err(TurnedDown::OtherLeague { held, asked });
        }
        let game = &order.game_type;
        league_games::find(game.as_str())
            .filter(|listing| (listing.rules.min_players..=listing.rules.max_players).contains(&2))
            .filter(|_| self.rules.games.contains(game))
            .ok_or_else(|| TurnedDown::UnknownGame(game.clone()))?;
        if order.players[0].player_id == order.players[1].player_id {
            return Err(TurnedDown::OnePlayer);
        }
        self.check_room(&order.match_id)
    }

    /// A match that is decided has freed its place: the manager may fill it before it says so.
    fn check_room(&self, match_id: &MatchId) -> Result<(), TurnedDown> {
        let replaced = self
            .running
            .get(match_id)
            .is_some_and(|game| game.is_playing());
        let playing = self.playing - usize::from(replaced);
        let unsettled = self.running.len() - self.playing;
        if playing >= self.rules.max_concurrent as usize || unsettled >= MOST_UNSETTLED {
            return Err(TurnedDown::Full(self.playing));
        }
        Ok(())
    }

    /// The same order again: after a restart it brings the secrets back and the match goes on.
    fn resume(
        &self,
        at: Timestamp,
        game: &Match,
        order: &StartMatch,
        fixture: Fixture,
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
        game.clone().step(at, &self.court(), first, 0)
    }

    /// The manager asks for a match that is over: it is told the result once more.
    fn tell_again(&self, at: Timestamp, order: &StartMatch) -> Event {
        let match_id = order.match_id.clone();
        Event::ReportTried {
            match_id,
            at,
            until: at,
        }
    }
}

fn secrets(order: &StartMatch) -> Event {
    Event::SecretsGiven {
        match_id: order.match_id.clone(),
        secrets: Arc::new(Secrets::of(order)),
    }
}
