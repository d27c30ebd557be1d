//! Technical losses in doubt (ruling 53): a player that is said to have failed is asked whether it was
//! called, unless it has proved its part. Its word moves the match once, and is noted against the
//! referee.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{MatchResult, MatchStatus, Message};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use super::command::{AskedCall, QueryCause, Refusal};
use super::event::{Doubt, Event};
use super::round::{LeagueFixture, LossClaim};
use super::standings::MatchEnding;
use super::{Decision, League};
use crate::letter::CallOutcome;

impl League {
    /// What comes before a technical loss is recorded; `None` if it stands.
    pub(crate) fn doubt(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        number: u32,
        (result, tells_later): (&MatchResult, bool),
    ) -> Option<Decision> {
        if result.status != MatchStatus::TechnicalLoss {
            return None;
        }
        let unproven = self.unproven_losers(fixture, result);
        let mut unreached = unproven
            .iter()
            .filter(|player| is_unreached(result, player));
        if let Some(player) = unreached.next()
            && !fixture.doubts.contains(&Doubt::Unreached)
        {
            if !self.has_other(number) {
                return None;
            }
            let events = vec![
                self.doubted(at, fixture, player, Doubt::Unreached)?,
                self.take_away(at, fixture, number),
            ];
            let answer = Err(Refusal::TakenAway(fixture.match_id.clone()));
            return Some(Decision { events, answer });
        }
        if !fixture.may_doubt(Doubt::Denied) {
            return None;
        }
        let understands = |player: &&PlayerId| {
            let player = self.player(player);
            player.is_some_and(|player| player.member.peer.dialect != Dialect::V1)
        };
        let asked: Vec<PlayerId> = unproven.into_iter().filter(understands).cloned().collect();
        if asked.is_empty() {
            return None;
        }
        let question = || Event::LossQuestioned {
            match_id: fixture.match_id.clone(),
            result: Arc::new(result.clone()),
            players: asked,
            tells_later,
        };
        Some(Decision {
            events: match &fixture.claim {
                Some(_) => Vec::new(),
                None => vec![question()],
            },
            answer: Err(Refusal::AskingPlayer(fixture.match_id.clone())),
        })
    }

    /// The players that failed and that nothing shows to have been called in this attempt; players
    /// that the manager does not reach either are not among them.
    fn unproven_losers<'r>(
        &self,
        fixture: &LeagueFixture,
        result: &'r MatchResult,
    ) -> Vec<&'r PlayerId> {
        let evidence = &result.evidence;
        let joined = |player: &PlayerId| {
            let mut known = evidence.players.iter();
            known.any(|known| known.player_id == *player && known.join.is_some())
        };
        let moved = |player: &PlayerId| {
            let mut moves = evidence.moves.iter().enumerate();
            moves.any(|(place, made)| {
                made.player_id == *player
                    && made.proof.is_some()
                    && fixture.attempt_of(place) == fixture.attempt
            })
        };
        let signs = |player: &PlayerId| {
            let seat = result.players.iter().position(|seated| seated == player);
            seat.is_some_and(|seat| fixture.signs[seat])
        };
        let reached = |player: &PlayerId| {
            let player = self.player(player);
            player.is_some_and(|player| self.is_reached(player))
        };
        result
            .failed
            .keys()
            .filter(|player| reached(player))
            .filter(|player| !(signs(player) && (joined(player) || moved(player))))
            .collect()
    }

    /// A fact about a claim of the present referee.
    fn doubted(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        player: &PlayerId,
        doubt: Doubt,
    ) -> Option<Event> {
        Some(Event::LossDoubted {
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            referee: self.referee_of(fixture)?.id.clone(),
            player_id: player.clone(),
            doubt,
            at,
        })
    }

    /// A player was asked whether a referee has called it.
    pub(crate) fn hear_of_call(
        &self,
        at: Timestamp,
        asked: &AskedCall,
        outcome: &CallOutcome,
    ) -> Vec<Event> {
        let called = outcome
            .as_ref()
            .ok()
            .and_then(|answer| match &answer.message {
                Message::CallQueryResponse(response)
                    if response.match_id == asked.match_id && response.attempt == asked.attempt =>
                {
                    Some(response.called)
                }
                _ => None,
            });
        match asked.cause {
            QueryCause::Loss => self.hear_of_loss(at, asked, called),
            QueryCause::Decline if called == Some(true) => vec![Event::DeclinedAfterCall {
                match_id: asked.match_id.clone(),
                attempt: asked.attempt,
                referee: asked.referee.clone(),
                player_id: asked.player_id.clone(),
                at,
            }],
            QueryCause::Decline => Vec::new(),
        }
    }

    /// Only a clear no moves the match; silence and errors count as a yes.
    fn hear_of_loss(&self, at: Timestamp, asked: &AskedCall, called: Option<bool>) -> Vec<Event> {
        let fixture = self.fixture(&asked.match_id);
        let fixture = fixture.filter(|fixture| fixture.attempt == asked.attempt);
        let Some((fixture, claim)) = fixture.and_then(|fixture| {
            let claim = fixture.claim.as_ref()?;
            claim
                .open
                .contains(&asked.player_id)
                .then_some((fixture, claim))
        }) else {
            return Vec::new();
        };
        if called == Some(false) {
            return self.hear_denial(at, fixture, &asked.player_id, claim);
        }
        if claim.open.len() > 1 {
            return vec![Event::CallConfirmed {
                match_id: asked.match_id.clone(),
                player_id: asked.player_id.clone(),
            }];
        }
        self.let_stand(at, fixture, claim)
    }

    fn hear_denial(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        player: &PlayerId,
        claim: &LossClaim,
    ) -> Vec<Event> {
        // A referee that says itself that it did not reach the player is not blamed.
        let doubt = match is_unreached(&claim.result, player) {
            true => Doubt::Unreached,
            false => Doubt::Denied,
        };
        let doubted = self.doubted(at, fixture, player, doubt);
        let mut events: Vec<Event> = doubted.into_iter().collect();
        let number = fixture.referee.filter(|number| self.has_other(*number));
        let referee = number.and_then(|number| Some((number, self.referees.get(number)?)));
        match referee {
            None => events.extend(self.let_stand(at, fixture, claim)),
            Some((number, referee))
                if doubt == Doubt::Unreached || referee.outlives_denial(player) =>
            {
                events.push(self.take_away(at, fixture, number));
            }
            Some((number, _)) => events.extend(self.relieve(at, number)),
        }
        events
    }

    fn let_stand(&self, at: Timestamp, fixture: &LeagueFixture, claim: &LossClaim) -> Vec<Event> {
        let (result, tells_later) = (&claim.result, claim.tells_later);
        if let Some(told) = self.tell_result(at, fixture, result) {
            return vec![told];
        }
        let ending = MatchEnding::of(result);
        let recorded = ending.map(|ending| self.recorded(at, fixture, result, ending, tells_later));
        recorded.unwrap_or_default()
    }
}

/// Whether the referee says that it could not reach a player.
fn is_unreached(result: &MatchResult, player: &PlayerId) -> bool {
    result.failed.get(player) == Some(&Code::Connection)
}
