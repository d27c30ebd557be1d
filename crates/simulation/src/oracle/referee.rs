//! Watches a referee: who is asked when, how often, and how each match comes to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use league_core::referee::{Event, Referee, SeatedPlayer};
use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{MatchResult, MatchState, MatchStatus};
use league_protocol::time::Timestamp;
use league_protocol::token::TokenHash;

use super::{GroundTruth, Oracle};
use crate::report::Invariant;
use crate::{CheckResult, NodeId, breach};

/// One fact of a match in so many is followed by a look at what the referee shows of it.
const GLANCE: u64 = 16;

/// What the facts of a referee add up to; rebuilt from its journal when it falls.
#[derive(Default)]
pub(crate) struct RefereeWatch {
    bouts: BTreeMap<MatchId, Box<MatchWatch>>,
    /// How many questions in a row each player left without an answer, and the time of the last, by
    /// the token that it has.
    silences: BTreeMap<TokenHash, (u32, Timestamp)>,
}

/// One match at one referee.
struct MatchWatch {
    attempt: u32,
    players: [PlayerId; 2],
    tokens: [TokenHash; 2],
    state: MatchState,
    /// Whether a draw is requested.
    drawing: bool,
    chairs: [SeatWatch; 2],
}

/// One player in it.
#[derive(Default)]
struct SeatWatch {
    /// 0 while it is invited, then the number of its move.
    turn: u32,
    failed: u32,
    deadline: Option<Timestamp>,
    retry_at: Option<Timestamp>,
    /// Since when the player cannot be reached.
    unreached_since: Option<Timestamp>,
    /// Whether a match has waited for it in vain before.
    absent: bool,
    /// The seconds that the organiser gave it more.
    extra_seconds: u32,
    lost: bool,
    /// Whether its move waits for the other of the same turn.
    sealed: bool,
}

impl SeatWatch {
    fn next(&mut self, turn: u32) {
        *self = Self {
            turn,
            absent: self.absent,
            extra_seconds: self.extra_seconds,
            lost: self.lost,
            ..Self::default()
        };
    }
}

impl RefereeWatch {
    /// Takes an event in; fails if it cannot follow the earlier ones.
    fn add(&mut self, facts: &GroundTruth, at: Timestamp, event: &Event) -> CheckResult {
        self.hear(facts, event)?;
        if let Event::MatchOpened { fixture, .. } = event {
            let bout = MatchWatch {
                attempt: fixture.attempt,
                players: [0, 1].map(|seat| fixture.players[seat].player_id.clone()),
                tokens: [0, 1].map(|seat| fixture.players[seat].token_hash),
                state: MatchState::WaitingForPlayers,
                drawing: false,
                chairs: [0, 1].map(|seat| SeatWatch {
                    absent: fixture.players[seat].absent,
                    extra_seconds: fixture.players[seat].extra_seconds,
                    ..SeatWatch::default()
                }),
            };
            let before = self.bouts.insert(fixture.match_id.clone(), Box::new(bout));
            if before.is_some_and(|before| before.attempt >= fixture.attempt) {
                let what = format!("`{}` opens again at an old attempt", fixture.match_id);
                return breach(Invariant::StatesFollowTheDiagrams, what);
            }
            return Ok(());
        }
        let Some(match_id) = event.match_id() else {
            return Ok(());
        };
        let Some(bout) = self.bouts.get_mut(match_id) else {
            // A closed match is only reported again.
            return match event {
                Event::ReportTried { .. }
                | Event::ReportFailed { .. }
                | Event::ReportSettled { .. } => Ok(()),
                _ => breach(
                    Invariant::StatesFollowTheDiagrams,
                    format!("`{match_id}` goes on without having begun: {event:?}"),
                ),
            };
        };
        bout.add(facts, at, match_id, event)?;
        if matches!(event, Event::Closed { .. } | Event::GivenBack { .. }) {
            self.bouts.remove(match_id);
        }
        Ok(())
    }
}

impl RefereeWatch {
    /// Counts the silences of players; fails if a player loses an attempt without being asked though
    /// it was not silent so often that its breaker is open.
    fn hear(&mut self, facts: &GroundTruth, event: &Event) -> CheckResult {
        let bout = event.match_id().and_then(|id| self.bouts.get(id));
        let Some(bout) = bout else { return Ok(()) };
        match event {
            Event::AttemptFailed {
                seat,
                code,
                asked,
                at,
                ..
            } => {
                let token = bout.token(*seat);
                if *asked && *code == Code::Timeout {
                    let (count, last) = self.silences.entry(token).or_default();
                    (*count, *last) = (*count + 1, *at);
                } else if !asked {
                    let rule = &facts.rules.breaker;
                    let silences = self.silences.get(&token).copied();
                    let (count, last) = silences.unwrap_or_default();
                    if count < rule.threshold.max(1) || *at >= last + rule.rest {
                        let what = format!("seat {seat} is not asked after {count} silences");
                        return breach(Invariant::PresentPlayersAreAsked, what);
                    }
                }
            }
            Event::Joined { seat, .. }
            | Event::ChoiceSealed { seat, .. }
            | Event::MovePlayed { seat, .. } => {
                self.silences.remove(&bout.token(*seat));
            }
            // Hidden answers are not in the journal; these two facts vouch for them.
            Event::Started { .. } | Event::Decided { .. } => {
                for (chair, token) in bout.chairs.iter().zip(bout.tokens) {
                    if !chair.lost {
                        self.silences.remove(&token);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Opens or shuts the questions of the match that a fact is about.
    fn reopen(&mut self, event: &Event, deadline: Option<Timestamp>) {
        let bout = event.match_id().and_then(|id| self.bouts.get_mut(id));
        for chair in bout.into_iter().flat_map(|bout| &mut bout.chairs) {
            chair.deadline = deadline;
        }
    }
}

impl MatchWatch {
    fn add(
        &mut self,
        facts: &GroundTruth,
        at: Timestamp,
        match_id: &MatchId,
        event: &Event,
    ) -> CheckResult {
        match event {
            Event::Asked { seat, deadline, .. } => self.ask(facts, at, match_id, *seat, *deadline),
            Event::AttemptFailed {
                seat,
                turn,
                failed,
                code,
                retry_at,
                asked,
                at: failed_at,
                ..
            } => {
                let attempt = (*turn, *failed, *retry_at);
                self.fail(facts, *failed_at, match_id, *seat, attempt, (*asked, *code))
            }
            Event::Readdressed { players, .. } => {
                self.readdress(players);
                Ok(())
            }
            Event::Joined { seat, .. } => {
                self.answer(at, match_id, *seat)?;
                self.chair(*seat).failed = 0;
                Ok(())
            }
            // The turn of both is complete: what was answered before is written down.
            Event::MovePlayed { seat, .. } if self.chair(*seat).sealed => {
                self.chair(*seat).sealed = false;
                Ok(())
            }
            Event::ChoiceSealed { seat, .. } => {
                self.make_move(at, match_id, *seat)?;
                self.chair(*seat).sealed = !facts.listing.rules.hidden_moves;
                Ok(())
            }
            Event::MovePlayed { seat, .. } => self.make_move(at, match_id, *seat),
            Event::Declined { seat, .. } => {
                self.answer(at, match_id, *seat)?;
                self.chair(*seat).lost = true;
                Ok(())
            }
            Event::Started { .. } => {
                for chair in &mut self.chairs {
                    chair.next(1);
                }
                self.leave(match_id, MatchState::WaitingForPlayers)?;
                self.reach(match_id, MatchState::CollectingChoices)
            }
            Event::DrawRequested { .. } => {
                self.drawing = true;
                self.leave(match_id, MatchState::CollectingChoices)
            }
            Event::NumberDrawn { .. } if !std::mem::take(&mut self.drawing) => {
                let what = format!("`{match_id}` is drawn before the manager was asked");
                breach(Invariant::StatesFollowTheDiagrams, what)
            }
            Event::NumberDrawn { .. } => self.reach(match_id, MatchState::CollectingChoices),
            Event::Decided { result, .. } => self.decide(match_id, result),
            // The manager gives no draw.
            Event::Closed { .. } if self.drawing => Ok(()),
            Event::Closed { .. } => self.leave(match_id, MatchState::Finished),
            _ => Ok(()),
        }
    }

    fn readdress(&mut self, players: &[SeatedPlayer; 2]) {
        self.tokens = [0, 1].map(|seat| players[seat].token_hash);
        for (chair, player) in self.chairs.iter_mut().zip(players.iter()) {
            chair.absent = player.absent;
            chair.extra_seconds = player.extra_seconds;
        }
    }

    fn make_move(&mut self, at: Timestamp, match_id: &MatchId, seat: Seat) -> CheckResult {
        self.answer(at, match_id, seat)?;
        let chair = self.chair(seat);
        let turn = chair.turn + 1;
        chair.next(turn);
        self.reach(match_id, MatchState::CollectingChoices)
    }

    fn token(&self, seat: Seat) -> TokenHash {
        self.tokens[usize::from(seat == Seat::B)]
    }

    fn chair(&mut self, seat: Seat) -> &mut SeatWatch {
        &mut self.chairs[usize::from(seat == Seat::B)]
    }

    fn ask(
        &mut self,
        facts: &GroundTruth,
        at: Timestamp,
        match_id: &MatchId,
        seat: Seat,
        deadline: Timestamp,
    ) -> CheckResult {
        let timeouts = &facts.rules.timeouts;
        let chair = self.chair(seat);
        let wait = match chair.turn {
            0 => timeouts.join,
            _ => timeouts.make_move,
        };
        let wait = wait + Duration::from_secs(chair.extra_seconds.into());
        let early = chair.retry_at.is_some_and(|retry_at| at < retry_at);
        if chair.lost || early || chair.failed >= facts.attempts || deadline != at + wait {
            let what = format!("seat {seat} of `{match_id}` is asked too often or too early");
            return breach(Invariant::AttemptsAreCounted, what);
        }
        chair.deadline = Some(deadline);
        Ok(())
    }

    fn fail(
        &mut self,
        facts: &GroundTruth,
        at: Timestamp,
        match_id: &MatchId,
        seat: Seat,
        (turn, failed, retry_at): (u32, u32, Option<Timestamp>),
        (asked, code): (bool, Code),
    ) -> CheckResult {
        let chair = self.chair(seat);
        let invariant = Invariant::AttemptsAreCounted;
        let silent = code == Code::Timeout;
        let before_deadline = chair.deadline.is_none_or(|deadline| at < deadline);
        if silent && asked && before_deadline {
            let what = format!("seat {seat} of `{match_id}` is silent before its deadline");
            return breach(invariant, what);
        }
        let timeouts = &facts.rules.timeouts;
        let unreached_since = chair.unreached_since.filter(|_| chair.turn == turn);
        let unreached_since = (code == Code::Connection).then(|| unreached_since.unwrap_or(at));
        let waits_until = unreached_since.map(|since| since + timeouts.absence);
        // A match waits for a player that cannot be reached, but not for one that it may not call
        // and not twice for the same absence.
        let waits = retry_at.is_some_and(|retry| waits_until.is_some_and(|until| retry <= until));
        let is_counted = failed == chair.failed + 1
            || waits && failed == chair.failed && failed + 1 == facts.attempts;
        let lost_at_once = code == Code::Connection && (!asked || chair.absent);
        let longest = timeouts.backoff.longest_wait(failed);
        let is_over = waits_until.is_none_or(|until| at + longest >= until);
        let last = failed == facts.attempts && is_over || lost_at_once;
        if !is_counted || failed > facts.attempts || retry_at.is_none() != last {
            let what = format!(
                "attempt {failed} of {} of seat {seat} in `{match_id}` fails after {}, next at {retry_at:?}",
                facts.attempts, chair.failed
            );
            return breach(invariant, what);
        }
        chair.next(turn);
        (chair.failed, chair.retry_at) = (failed, retry_at);
        chair.unreached_since = unreached_since;
        chair.lost = last;
        Ok(())
    }

    /// An answer counts only while its question is open.
    fn answer(&mut self, at: Timestamp, match_id: &MatchId, seat: Seat) -> CheckResult {
        let chair = self.chair(seat);
        let open = chair.deadline.take().is_some_and(|deadline| at <= deadline);
        chair.retry_at = None;
        if open {
            Ok(())
        } else {
            let what =
                format!("an answer of seat {seat} in `{match_id}` counts after its deadline");
            breach(Invariant::AttemptsAreCounted, what)
        }
    }

    fn decide(&mut self, match_id: &MatchId, result: &MatchResult) -> CheckResult {
        for (chair, player) in self.chairs.iter().zip(&self.players) {
            if chair.lost != result.failed.contains_key(player) {
                let what = format!("`{player}` loses `{match_id}` without having failed, or not");
                return breach(Invariant::AttemptsAreCounted, what);
            }
        }
        if result.players != self.players {
            let what = format!("`{match_id}` ends with others than began it");
            return breach(Invariant::StatesFollowTheDiagrams, what);
        }
        let from = match result.status {
            MatchStatus::TechnicalLoss => MatchState::WaitingForPlayers,
            MatchStatus::Win | MatchStatus::Draw => MatchState::CollectingChoices,
        };
        if self.state < from || self.state == MatchState::Finished {
            let what = format!("`{match_id}` is decided in {}", self.state.as_str());
            return breach(Invariant::StatesFollowTheDiagrams, what);
        }
        self.state = MatchState::Finished;
        Ok(())
    }

    /// The match must be in this state.
    fn leave(&self, match_id: &MatchId, state: MatchState) -> CheckResult {
        if self.state == state {
            return Ok(());
        }
        let what = format!(
            "`{match_id}` leaves {} from {}",
            state.as_str(),
            self.state.as_str()
        );
        breach(Invariant::StatesFollowTheDiagrams, what)
    }

    /// The match comes to this state, or is in it.
    fn reach(&mut self, match_id: &MatchId, state: MatchState) -> CheckResult {
        if self.state > state {
            let what = format!("`{match_id}` goes back to {}", state.as_str());
            return breach(Invariant::StatesFollowTheDiagrams, what);
        }
        self.state = state;
        Ok(())
    }
}

impl Oracle {
    /// No two referees begin a match at one attempt.
    fn check_alone(&mut self, who: NodeId, match_id: &MatchId, attempt: u32) -> CheckResult {
        let Some(note) = self.note(match_id) else {
            return Ok(());
        };
        let before = note.opened.filter(|(latest, _)| *latest >= attempt);
        match before {
            Some((latest, other)) if latest == attempt && other != who => {
                let what = format!("agents {other} and {who} run `{match_id}` at one attempt");
                breach(Invariant::OnlyTheAssignedRefereeCounts, what)
            }
            Some(_) => Ok(()),
            None => {
                note.opened = Some((attempt, who));
                Ok(())
            }
        }
    }

    pub(crate) fn watch_referee(
        &mut self,
        referee: &Referee,
        who: NodeId,
        at: Timestamp,
        event: &Event,
    ) -> CheckResult {
        if self.is_lying_referee(who) {
            return Ok(());
        }
        let place = (who as usize).saturating_sub(1);
        if matches!(event, Event::MatchOpened { .. } | Event::LeagueEnded { .. }) {
            self.check_manager(who)?;
        }
        if let Event::MatchOpened { fixture, .. } = event {
            self.check_alone(who, &fixture.match_id, fixture.attempt)?;
        }
        if let Event::Decided {
            match_id, result, ..
        } = event
        {
            self.note_decided(place, who, match_id, result)?;
        }
        if let Event::Closed {
            match_id,
            opened: Some(_),
            ..
        } = event
            && !self.is_acked(match_id)
        {
            let what = format!("the seed of `{match_id}` is written down before its time");
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        if let Some(watch) = self.referees.get_mut(place) {
            watch.add(&self.facts, at, event)?;
        }
        let capacity = self.facts.capacities.get(place).copied().unwrap_or(0);
        if referee.playing() > capacity as usize {
            let what = format!("agent {who} plays {} of {capacity}", referee.playing());
            return breach(Invariant::CapacityHolds, what);
        }
        self.glance(referee, event)?;
        self.sample(event, event.keep())
    }

    pub(crate) fn recall_referee(&mut self, who: NodeId, journal: &[Event]) {
        let place = (who as usize).saturating_sub(1);
        let mut watch = RefereeWatch::default();
        for event in journal {
            // All were checked when they were written. Questions are not in the journal, so every
            // answer is taken for asked.
            watch.reopen(event, Some(Timestamp::default()));
            let _ = watch.add(&self.facts, Timestamp::default(), event);
            watch.reopen(event, None);
        }
        if let Some(known) = self.referees.get_mut(place) {
            *known = watch;
        }
    }

    fn note_decided(
        &mut self,
        place: usize,
        who: NodeId,
        match_id: &MatchId,
        result: &Arc<MatchResult>,
    ) -> CheckResult {
        let bout = self.referees.get(place);
        let bout = bout.and_then(|watch| watch.bouts.get(match_id));
        let attempt = bout.map_or(0, |bout| bout.attempt);
        self.check_points(match_id, result)?;
        self.check_found(match_id, attempt, result)?;
        if let Some(note) = self.note(match_id) {
            note.decided.push((who, attempt, Arc::clone(result)));
        }
        Ok(())
    }

    /// Checks the public state of a match.
    fn glance(&mut self, referee: &Referee, event: &Event) -> CheckResult {
        self.seen += 1;
        let view = event
            .match_id()
            .filter(|_| self.seen.is_multiple_of(GLANCE))
            .and_then(|match_id| referee.view(match_id));
        let Some(view) = view else { return Ok(()) };
        let over = view.state == MatchState::Finished;
        let open = self.facts.listing.rules.open_moves(view.moves.len());
        let hidden = view.moves.len() > open && !over;
        let early = view.result.is_some() && (!over || !self.is_acked(&view.match_id));
        if hidden || early {
            let what = format!("`{}` shows too much of itself", view.match_id);
            return breach(Invariant::NothingHiddenIsSeen, what);
        }
        Ok(())
    }
}
