//! Whether the end of a match is believed (ruling 26).

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::message::{ByPlayer, MatchResult, MatchResultReport, MatchStatus, OpenedDraw};
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use sha2::{Digest, Sha256};

use super::authenticate::Caller;
use super::command::Reply;
use super::event::Event;
use super::refusal::Refusal;
use super::roster::Referee;
use super::round::{self, Fixture, Stage};
use super::standings::Ending;
use super::{League, Phase};
use crate::machine::Decision;

impl League {
    pub(super) fn weigh_report(
        &self,
        at: Timestamp,
        caller: &Caller,
        report: &MatchResultReport,
    ) -> Result<Decision<Event, Reply>, Refusal> {
        let (number, referee) = self.calling_referee(caller)?;
        let fixture = self.reported(&report.match_id)?;
        check_right(fixture, number, report)?;
        let seated = self.in_their_seats(fixture, report);
        let report = seated.as_ref().unwrap_or(report);
        if let Some(standing) = &fixture.result {
            return Ok(self.weigh_again(at, fixture, referee, report, standing));
        }
        match self.verify(fixture, report) {
            Ok(ending) => Ok(Decision {
                events: self.recorded(at, fixture, referee, report, ending),
                reply: Reply::Acknowledged,
            }),
            Err(problem) => {
                let digest = self.digest(report);
                let event = Event::ReportRefused {
                    match_id: fixture.match_id.clone(),
                    referee: referee.id.clone(),
                    digest: digest.clone(),
                    problem: problem.clone(),
                    at,
                };
                let match_id = fixture.match_id.clone();
                let refusal = Refusal::BadReport { match_id, problem };
                let mut decision = refused(fixture, &digest, event, refusal);
                // It will not tell another end, so that waiting for one would be in vain.
                decision.events.extend(self.lose(at, fixture, number));
                Ok(decision)
            }
        }
    }

    /// The report with its players at their seats, if it names them the other way round: the
    /// members of an object have no order, so that nothing can be read from it.
    fn in_their_seats(
        &self,
        fixture: &Fixture,
        report: &MatchResultReport,
    ) -> Option<MatchResultReport> {
        let [a, b] = self.seats_of(fixture)?;
        let [first, second] = &report.result.players;
        if first != b || second != a {
            return None;
        }
        let mut seated = report.clone();
        let result = Arc::make_mut(&mut seated.result);
        result.players.reverse();
        result.points.reverse();
        Some(seated)
    }

    /// The match that a report is about.
    fn reported(&self, match_id: &MatchId) -> Result<&Fixture, Refusal> {
        if let Some(fixture) = self.fixture(match_id) {
            return Ok(fixture);
        }
        let named = round::read_match_id(match_id)
            .and_then(|(round, index)| self.schedule.pairing(round, index));
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        match named {
            Some(pairing) if self.phase != Phase::Registering && pairing.round < reached => {
                Err(Refusal::LongDecided(match_id.clone()))
            }
            _ => Err(Refusal::UnknownMatch(match_id.clone())),
        }
    }

    /// A report of a match that has its result: the same again, or another.
    fn weigh_again(
        &self,
        at: Timestamp,
        fixture: &Fixture,
        referee: &Referee,
        report: &MatchResultReport,
        standing: &Arc<MatchResult>,
    ) -> Decision<Event, Reply> {
        let same_match = report.league_id == self.rules.league_id
            && report.round_id == fixture.pairing.round
            && report.game_type == self.rules.game_type;
        if same_match && report.result == *standing {
            return Decision::reply(Reply::Acknowledged);
        }
        let digest = self.digest(report);
        let event = Event::ReportConflicted {
            match_id: fixture.match_id.clone(),
            referee: referee.id.clone(),
            digest: digest.clone(),
            at,
        };
        let refusal = Refusal::Conflict(fixture.match_id.clone());
        refused(fixture, &digest, event, refusal)
    }

    /// The result, what the referee takes up next, and who is out of the league by it.
    fn recorded(
        &self,
        at: Timestamp,
        fixture: &Fixture,
        referee: &Referee,
        report: &MatchResultReport,
        ending: Ending,
    ) -> Vec<Event> {
        let next = self.next_for(referee);
        let relief = match next {
            Some(_) => None,
            None => self.relieve_longest(at, referee),
        };
        let mut events = vec![Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: Some(referee.id.clone()),
            attempt: fixture.attempt,
            result: Arc::clone(&report.result),
            next,
            at,
        }];
        events.extend(relief);
        for (seat, &number) in fixture.pairing.seats.iter().enumerate() {
            let Some(player) = self.players.get(number) else {
                continue;
            };
            let forfeits = player.forfeits.saturating_add(1);
            if ending.forfeited(seat) && !player.shut_down && forfeits >= self.rules.max_fail {
                let player_id = player.id.clone();
                events.push(Event::PlayerShutDown { player_id, at });
            }
        }
        events
    }

    /// The match that a referee takes up when it is done with one.
    pub(super) fn next_for(&self, referee: &Referee) -> Option<MatchId> {
        if referee.running > referee.capacity {
            return None;
        }
        let index = *referee.queue.front()?;
        let fixture = self.round.as_ref()?.fixture(index)?;
        Some(fixture.match_id.clone())
    }

    /// The manager's own ruling on a match whose player is out of the league.
    pub(super) fn ruled(&self, at: Timestamp, index: u32) -> Option<Event> {
        let fixture = self.round.as_ref()?.fixture(index)?;
        let players = self.seats_of(fixture)?.map(Clone::clone);
        let out = fixture.pairing.seats.map(|seat| {
            let player = self.players.get(seat);
            player.is_some_and(|player| player.shut_down)
        });
        let ending = match out {
            [true, true] => Ending::BothForfeit,
            [true, false] => Ending::Forfeit(0),
            [false, true] => Ending::Forfeit(1),
            [false, false] => return None,
        };
        let absent: Vec<&str> = (0..2)
            .filter(|&seat| out[seat])
            .map(|seat| players[seat].as_str())
            .collect();
        let failed = players.iter().zip(out).filter(|(_, out)| *out);
        let result = MatchResult {
            status: MatchStatus::TechnicalLoss,
            winner: ending.winner().map(|seat| players[seat].clone()),
            points: [0, 1].map(|seat| ending.points(seat, &self.rules.score)),
            failed: failed
                .map(|(id, _)| (id.clone(), Code::Connection))
                .collect(),
            choices: ByPlayer::new(),
            details: serde_json::Map::new(),
            reason: match absent[..] {
                [one] => format!("{one} no longer takes part"),
                _ => format!("{} no longer take part", absent.join(" and ")),
            },
            draw: Some(OpenedDraw {
                commitment: fixture.commitment,
                seed: fixture.seed,
                attempt: fixture.attempt,
                nonces: [String::new(), String::new()],
            }),
            players,
        };
        Some(Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: None,
            attempt: fixture.attempt,
            result: Arc::new(result),
            next: None,
            at,
        })
    }

    /// Tells one telling from another. The secret goes in first, so that nobody can find out a
    /// hidden choice by trying.
    fn digest(&self, report: &MatchResultReport) -> String {
        let told = (
            (&report.league_id, report.round_id, &report.match_id),
            (report.attempt, &report.game_type, &report.result),
        );
        let text = serde_json::to_vec(&told).unwrap_or_default();
        let digest = Sha256::new().chain_update(self.secret.0).chain_update(text);
        hex(&digest.finalize().into())
    }
}

/// Whether this referee may report this match now.
fn check_right(fixture: &Fixture, referee: u32, report: &MatchResultReport) -> Result<(), Refusal> {
    let match_id = || fixture.match_id.clone();
    if fixture.referee != Some(referee) {
        return Err(if fixture.former.contains(&referee) {
            Refusal::TakenAway(match_id())
        } else {
            Refusal::NotYours(match_id())
        });
    }
    if report.attempt != fixture.attempt {
        return Err(Refusal::OldAttempt {
            match_id: match_id(),
            current: fixture.attempt,
            found: report.attempt,
        });
    }
    match fixture.stage {
        Stage::Ordered | Stage::Running | Stage::Finished => Ok(()),
        Stage::Waiting | Stage::Queued | Stage::Unplayable => Err(Refusal::NotStarted(match_id())),
    }
}

/// A refusal that is noted once.
fn refused(
    fixture: &Fixture,
    digest: &str,
    event: Event,
    refusal: Refusal,
) -> Decision<Event, Reply> {
    let mut events = Vec::new();
    if fixture.may_note(digest) {
        events.push(event);
    }
    Decision {
        events,
        reply: Reply::Refused(refusal),
    }
}
