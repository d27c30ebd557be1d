//! Reports of results (ruling 26): who may report, what is recorded, and the rulings of the manager
//! itself. `verify.rs` checks the result.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{
    ByPlayer, Evidence, MatchResult, MatchResultAck, MatchResultReport,
};
use league_protocol::secret::Seed;
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Decision;
use super::apply::is_absence;
use super::command::{Command, Refusal, Reply};
use super::event::Event;
use super::roster::{ExitCause, PlayerEntry, RefereeEntry};
use super::round::{self, FixtureStage, LeagueFixture};
use super::standings::MatchEnding;
use super::verify::ReportProblem;
use super::{AuthenticatedAgent, League, Phase};
use crate::judge::Judged;

impl League {
    pub(crate) fn hear_report(
        &self,
        at: Timestamp,
        command: &Command,
    ) -> Result<Decision, Refusal> {
        let Command::Report {
            token,
            sender,
            report,
            is_at_address,
        } = command
        else {
            return Err(Refusal::NotAReferee);
        };
        let caller = self.authenticate(at, *token, sender.as_ref())?;
        self.weigh_report(at, &caller, report, *is_at_address)
    }

    fn weigh_report(
        &self,
        at: Timestamp,
        caller: &AuthenticatedAgent,
        report: &MatchResultReport,
        is_at_address: bool,
    ) -> Result<Decision, Refusal> {
        let (number, referee) = self.calling_referee(caller)?;
        let fixture = self.reported(&report.match_id)?;
        let seated = self.in_their_seats(fixture, report);
        let report = seated.as_ref().unwrap_or(report);
        if referee.by_documents && report.order_token.is_none() {
            return self.weigh_told(at, fixture, number, &report.result, is_at_address);
        }
        check_right(fixture, number, report.attempt)?;
        // A referee that restarted has lost its order token, and a result is not a secret.
        if let Some(standing) = fixture.result.as_ref().filter(|standing| {
            self.is_of_match(fixture, report) && is_same(standing, &report.result)
        }) {
            let reply = self.acknowledged(fixture, standing);
            return Ok(Decision::reply(reply));
        }
        let is_bare = report.order_token.is_none() && report.result.draw.is_none();
        if is_bare && !self.rules.takes_told_draws() {
            return Err(Refusal::ToldDraw(fixture.match_id.clone()));
        }
        self.check_order_token(fixture, referee, report.order_token.as_ref())?;
        let match_id = fixture.match_id.clone();
        let digest = self.digest(&(
            (&report.league_id, report.round_id, &report.match_id),
            (report.attempt, &report.game_type, &report.result),
        ));
        if fixture.result.is_some() {
            let event = Event::ReportConflicted {
                match_id: match_id.clone(),
                referee: referee.id.clone(),
                digest: digest.clone(),
                at,
            };
            let refusal = Refusal::Conflict(match_id);
            return Ok(refused(fixture, &digest, event, refusal));
        }
        let whole = self.opened(fixture, &report.result);
        match self.verify(fixture, report, &whole) {
            Ok(ending) => Ok(self.take_result(at, fixture, (number, report), whole, ending)),
            Err(problem) => {
                let event = self.refusal_event(at, fixture, referee, &digest, &problem);
                let refusal = Refusal::BadReport { match_id, problem };
                Ok(self.refuse(at, fixture, number, &digest, event, refusal))
            }
        }
    }

    /// Records a result that follows from the rules, unless it is a technical loss in doubt.
    fn take_result(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        (number, report): (u32, &MatchResultReport),
        result: MatchResult,
        ending: MatchEnding,
    ) -> Decision {
        // The report of a referee that does not say when the players know it counts as that.
        let tells_later = report.game_over_told == Some(false);
        if let Some(decision) = self.doubt(at, fixture, number, (&result, tells_later)) {
            return decision;
        }
        let result = Arc::new(result);
        let events = self.recorded(at, fixture, &result, ending, tells_later);
        Decision::accept(events, self.acknowledged(fixture, &result))
    }

    /// The report with its players at their seats, if it names them the other way round: the
    /// members of an object have no order, so that nothing can be read from it.
    fn in_their_seats(
        &self,
        fixture: &LeagueFixture,
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

    /// The match that a report or a request is about.
    pub(crate) fn reported(&self, match_id: &MatchId) -> Result<&LeagueFixture, Refusal> {
        if let Some(fixture) = self.fixture(match_id) {
            let is_ended = self.phase == Phase::Completed && fixture.result.is_none();
            if fixture.is_closed() || is_ended {
                return Err(Refusal::Closed(match_id.clone()));
            }
            return Ok(fixture);
        }
        let named =
            round::read_match_id(match_id).and_then(|(round, index)| self.pairing(round, index));
        let reached = self.round.as_ref().map_or(0, |round| round.number);
        match named {
            Some(pairing) if self.phase != Phase::Registering && pairing.round < reached => {
                Err(Refusal::LongDecided(match_id.clone()))
            }
            _ => Err(Refusal::UnknownMatch(match_id.clone())),
        }
    }

    fn is_of_match(&self, fixture: &LeagueFixture, report: &MatchResultReport) -> bool {
        report.league_id == self.rules.league_id
            && report.round_id == fixture.pairing.round
            && report.game_type == self.rules.game_type
    }

    /// The answer to a report that counts.
    fn acknowledged(&self, fixture: &LeagueFixture, result: &MatchResult) -> Reply {
        Reply::Opened(Box::new(MatchResultAck {
            match_id: fixture.match_id.clone(),
            seed: fixture.seed,
            players: result.evidence.players.clone(),
        }))
    }

    /// A reported result with all that was hidden from the referee: the seed and the keys.
    pub(crate) fn opened(&self, fixture: &LeagueFixture, result: &MatchResult) -> MatchResult {
        let mut whole = result.clone();
        if let Some(draw) = &mut whole.draw {
            draw.seed.get_or_insert(fixture.seed);
        }
        whole.evidence.players = self.opened_keys(fixture, &result.evidence);
        whole
    }

    /// The result, what its referee takes up next, and who is out of the league by it.
    pub(crate) fn recorded(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        result: &Arc<MatchResult>,
        ending: MatchEnding,
        tells_later: bool,
    ) -> Vec<Event> {
        let referee = self.referee_of(fixture);
        let next = referee.and_then(|referee| self.next_for(referee));
        let relief = match (&next, referee) {
            (None, Some(referee)) => self.relieve_longest(at, referee),
            _ => None,
        };
        let mut events = vec![Event::ResultRecorded {
            match_id: fixture.match_id.clone(),
            referee: referee.map(|referee| referee.id.clone()),
            attempt: fixture.attempt,
            result: Arc::clone(result),
            next,
            at,
        }];
        events.extend(tells_later.then(|| Event::GameOverAwaited {
            match_id: fixture.match_id.clone(),
        }));
        events.extend(relief);
        events.extend(self.put_out(at, fixture, result, ending));
        events
    }

    /// The players that are out of the league after this end.
    fn put_out(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        result: &MatchResult,
        ending: MatchEnding,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for (seat, &number) in fixture.pairing.seats.iter().enumerate() {
            let Some(player) = self.players.get(number) else {
                continue;
            };
            let forfeits = player.forfeits.saturating_add(1);
            if ending.forfeited(seat) && !player.is_out() && forfeits >= self.rules.max_fail {
                let cause = result.failed.get(&player.id);
                events.push(Event::PlayerShutDown {
                    player_id: player.id.clone(),
                    absence: is_absence(cause) && player.absences == player.forfeits,
                    at,
                });
            }
        }
        events
    }

    /// The match that a referee takes up when it is done with one.
    pub(crate) fn next_for(&self, referee: &RefereeEntry) -> Option<MatchId> {
        if referee.running > referee.capacity {
            return None;
        }
        let index = *referee.queue.front()?;
        let fixture = self.round.as_ref()?.fixture(index)?;
        Some(fixture.match_id.clone())
    }

    /// The manager's own ruling on a match.
    pub(crate) fn ruled(&self, at: Timestamp, index: u32) -> Vec<Event> {
        let fixture = self.round.as_ref().and_then(|round| round.fixture(index));
        let ruling =
            fixture.and_then(|fixture| Some((fixture, self.ruling(fixture, &fixture.seed)?)));
        let Some((fixture, (result, ending))) = ruling else {
            return Vec::new();
        };
        // The manager tells its ruling on a match that a referee had begun.
        let tells_later = fixture.was_given();
        self.recorded(at, fixture, &Arc::new(result), ending, tells_later)
    }

    /// How the manager rules on a match: by the moves that decide it, or against the players that
    /// are out of it.
    pub(crate) fn ruling(
        &self,
        fixture: &LeagueFixture,
        seed: &Seed,
    ) -> Option<(MatchResult, MatchEnding)> {
        let (seats, players) = (fixture.pairing.seats, self.seats_of(fixture)?);
        let unproven = players.map(|player| fixture.is_unproven(player));
        let causes = seats.map(|seat| self.exit_cause(seat));
        let code = |seat: usize| match causes[seat] {
            Some(ExitCause::Losses) => Some(Code::Connection),
            // The organiser's word is not a failure of the line.
            Some(_) => Some(Code::PlayerNotRegistered),
            None => unproven[seat].then_some(Code::InvalidMove),
        };
        let failed = players.into_iter().zip([0, 1].map(code));
        let failed: ByPlayer<Code> = failed
            .filter(|_| !fixture.is_fixed())
            .filter_map(|(player, code)| Some((player.clone(), code?)))
            .collect();
        let drawn = (seed, fixture.rolls().len());
        let judged = self.judged(fixture, drawn, fixture.handed_moves(), &failed);
        let Ok(Judged::Over(mut result)) = judged else {
            return None;
        };
        if !failed.is_empty() {
            let out = causes.map(|cause| cause.map(out_words));
            result.reason = reason_of_ruling(&result.players, out, unproven);
        }
        result.evidence.players = self.opened_keys(fixture, &Evidence::default());
        let ending = MatchEnding::of(&result)?;
        Some((*result, ending))
    }

    /// What put a player out of the league, if it is out.
    fn exit_cause(&self, player: u32) -> Option<ExitCause> {
        let player = self.players.get(player).filter(|player| player.is_out())?;
        Some(player.expulsion.map_or(ExitCause::Losses, |it| it.cause))
    }

    /// Whether a player is out of the league.
    pub(crate) fn is_gone(&self, player: u32) -> bool {
        let player = self.players.get(player);
        player.is_some_and(PlayerEntry::is_out)
    }

    pub(crate) fn refusal_event(
        &self,
        at: Timestamp,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
        digest: &str,
        problem: &ReportProblem,
    ) -> Event {
        Event::ReportRefused {
            match_id: fixture.match_id.clone(),
            referee: referee.id.clone(),
            digest: digest.to_owned(),
            problem: problem.clone(),
            at,
        }
    }

    /// Identifies a report. The secret goes in first, so that a hidden choice cannot be found by
    /// trying.
    pub(crate) fn digest(&self, told: &impl Serialize) -> String {
        let text = serde_json::to_vec(told).unwrap_or_default();
        let secret = self.secrets.tokens.0;
        let digest = Sha256::new().chain_update(secret).chain_update(text);
        hex(&digest.finalize().into())
    }
}

/// Whether this referee may tell of this match now.
pub(crate) fn check_right(
    fixture: &LeagueFixture,
    referee: u32,
    attempt: u32,
) -> Result<(), Refusal> {
    let match_id = || fixture.match_id.clone();
    if fixture.referee != Some(referee) {
        return Err(if fixture.former.contains(&referee) {
            Refusal::TakenAway(match_id())
        } else {
            Refusal::NotYours(match_id())
        });
    }
    if attempt != fixture.attempt {
        return Err(Refusal::OldAttempt {
            match_id: match_id(),
            current: fixture.attempt,
            found: attempt,
        });
    }
    match fixture.stage {
        FixtureStage::Ordered | FixtureStage::Running | FixtureStage::Finished => Ok(()),
        FixtureStage::Waiting | FixtureStage::Queued | FixtureStage::Unplayable => {
            Err(Refusal::NotStarted(match_id()))
        }
    }
}

/// A refusal that is noted once.
pub(crate) fn refused(
    fixture: &LeagueFixture,
    digest: &str,
    event: Event,
    refusal: Refusal,
) -> Decision {
    let mut events = Vec::new();
    if fixture.may_note(digest) {
        events.push(event);
    }
    Decision {
        events,
        answer: Err(refusal),
    }
}

/// Whether a reported result is the one that stands, but for what the manager opened in it.
fn is_same(standing: &MatchResult, reported: &MatchResult) -> bool {
    let closed = |result: &MatchResult| {
        let mut closed = result.clone();
        closed.evidence.players.clear();
        if let Some(draw) = &mut closed.draw {
            draw.seed = None;
        }
        closed
    };
    closed(standing) == closed(reported)
}

/// What is said of one player that is out of the league, and of two.
type OutWords = [&'static str; 2];

const PUT_OUT: OutWords = ["was put out of the league", "were put out of the league"];

/// What became of a player that is out, and of two.
const fn out_words(cause: ExitCause) -> OutWords {
    match cause {
        ExitCause::Losses => PUT_OUT,
        ExitCause::Withdrawn => ["withdrew", "withdrew"],
        ExitCause::Removed => ["was removed", "were removed"],
        ExitCause::Disqualified => ["was disqualified", "were disqualified"],
    }
}

/// Why players lose by a ruling, in a sentence.
fn reason_of_ruling(
    players: &[PlayerId; 2],
    out: [Option<OutWords>; 2],
    unproven: [bool; 2],
) -> String {
    let gone = out.map(|words| words.is_some());
    let named = |which: [bool; 2]| {
        let named: Vec<&str> = (0..2)
            .filter(|&seat| which[seat])
            .map(|seat| players[seat].as_str())
            .collect();
        named.join(" and ")
    };
    let only_unproven = [0, 1].map(|seat| unproven[seat] && !gone[seat]);
    let [first, second] = &players;
    let absence = match out {
        [None, None] => None,
        [Some([_, both]), Some(other)] if other[1] == both => {
            Some(format!("{} {both}", named(gone)))
        }
        [Some([one, _]), Some([other, _])] => Some(format!("{first} {one}; {second} {other}")),
        [Some([one, _]), None] | [None, Some([one, _])] => Some(format!("{} {one}", named(gone))),
    };
    let proofs = only_unproven.contains(&true);
    let proofs = proofs.then(|| format!("{} proved no move", named(only_unproven)));
    let causes: Vec<String> = absence.into_iter().chain(proofs).collect();
    causes.join("; ")
}
