//! What happens next in a match: questions, deadlines, retries, and the judgement of answers.

use std::sync::Arc;
use std::time::Duration;

use league_games::{Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{GameJoinAck, Message, Mode, MoveResponse};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use super::command::{PlayerQuestion, Refusal};
use super::event::{Event, PrivateDetail, ReportAnswer, SealedChoice};
use super::match_draw::DrawState;
use super::match_state::{Match, ReportState, SEATS, Settlement};
use super::{Breakers, RefereeRules};
use crate::draw::MAX_NONCE_LENGTH;
use crate::letter::{CallFailure, CallOutcome, PeerAnswer, RetryRule};
use crate::timeouts::{Backoff, MAX_BACKOFF};

/// The most attempts that one question gets, whatever the configuration says.
pub const MAX_ATTEMPTS: u32 = 10;
/// How often in a row a question may fail to leave this machine before the match goes back to the
/// manager.
pub const MAX_POSTPONED: u32 = 5;
/// How long it waits each time, a quarter of a minute in all.
const LOCAL_BACKOFF: Backoff = Backoff::Exponential(Duration::from_millis(500));
/// How long the steps of a match in manual mode are waited for, from when it was taken; then it
/// goes on by itself. A manager takes a match away after twice that time.
pub const MANUAL_LIMIT: Duration = Duration::from_secs(15 * 60);
/// How long after `GAME_OVER` the manager is told of both players at once.
const NOTICE_DELAY: Duration = Duration::from_millis(250);
/// The least wait between two calls to a player that cannot be reached, after the usual attempts.
const MIN_WAIT: Duration = Duration::from_secs(1);
/// The most facts that follow from one command in one match: every attempt of both players fails at
/// once, and a few more.
const MAX_EVENTS_PER_STEP: usize = 64;

/// Room for the facts of most steps.
pub(crate) const USUAL_FACTS: usize = 4;

/// What a match has to know of the referee that runs it.
pub(crate) struct StepContext<'a> {
    pub(crate) rules: &'a RefereeRules,
    pub(crate) breakers: &'a Breakers,
    pub(crate) league_over: bool,
}

impl StepContext<'_> {
    fn attempts(&self) -> u32 {
        self.rules.timeouts.attempts.clamp(1, MAX_ATTEMPTS)
    }
}

impl Match {
    /// Takes in the first facts of a step but for those it `knows`, and adds all that follow.
    pub(crate) fn step(
        mut self,
        at: Timestamp,
        context: &StepContext<'_>,
        first: Vec<Event>,
        knows: usize,
    ) -> Vec<Event> {
        let mut events = first;
        for event in events.iter().skip(knows) {
            self.apply(event);
        }
        for _ in 0..MAX_EVENTS_PER_STEP {
            let Some(event) = self.next(at, context) else {
                break;
            };
            self.apply(&event);
            events.push(event);
        }
        events
    }

    /// The same for a fact of a match whose result stands: no more than its ending is copied.
    pub(crate) fn step_ending(
        &self,
        at: Timestamp,
        context: &StepContext<'_>,
        first: Event,
    ) -> Vec<Event> {
        let Some(mut ending) = self.ending.clone() else {
            return vec![first];
        };
        ending.apply(&first);
        let mut events = Vec::with_capacity(USUAL_FACTS);
        events.push(first);
        for _ in 0..MAX_EVENTS_PER_STEP {
            let Some(event) = ending.next(self, at, context) else {
                break;
            };
            ending.apply(&event);
            events.push(event);
        }
        events
    }

    /// When time alone brings the next fact.
    pub(crate) fn due(&self, rules: &RefereeRules) -> Option<Timestamp> {
        if let Some(ending) = &self.ending {
            return ending.due(rules);
        }
        if !self.is_playing() {
            return None;
        }
        let open = |seat: &Seat| {
            let slot = self.slot(*seat);
            let last = slot.question.map(|asking| slot.latest(asking));
            last.or(slot.retry_at)
        };
        let draw = || self.draw.map(DrawState::due);
        let step = || (self.fixture.mode == Mode::Manual).then(|| self.taken_at + MANUAL_LIMIT);
        let asked = SEATS.iter().filter_map(open).min();
        asked.or_else(draw).or_else(step).or_else(|| self.paced())
    }

    /// When the next step may begin, if the match is slowed down for people.
    fn paced(&self) -> Option<Timestamp> {
        let pace = Duration::from_millis(self.fixture.pace_ms.into());
        (!pace.is_zero()).then(|| self.stepped_at + pace)
    }

    /// Whether the next step has to wait; the questions of one step begin together.
    fn is_held(&self, at: Timestamp) -> bool {
        at != self.stepped_at && self.paced().is_some_and(|due| at < due)
    }

    /// The failure of the question that a seat owes an answer to.
    pub(crate) fn failure(
        &self,
        seat: Seat,
        at: Timestamp,
        context: &StepContext<'_>,
        fault: AnswerFault,
    ) -> Event {
        let slot = self.slot(seat);
        let asked = slot.question.is_some();
        let timeouts = &context.rules.timeouts;
        let failed = slot.failed.saturating_add(1);
        let again = failed < context.attempts();
        let wait = timeouts.backoff.wait(failed, self.chance(seat));
        let retry_at = at + if again { wait } else { wait.max(MIN_WAIT) };
        let absent_since = slot.unreached_since.unwrap_or(at);
        let (failed, again) = match fault.code {
            // A breaker is open, or a match has waited for this player before.
            Code::Connection if !asked || self.seated(seat).absent => (failed, false),
            Code::Connection if again || retry_at <= absent_since + timeouts.absence => {
                (failed.min(context.attempts().saturating_sub(1)), true)
            }
            _ => (failed, again),
        };
        Event::AttemptFailed {
            match_id: self.fixture.match_id.clone(),
            seat,
            turn: self.turn_of(seat),
            failed,
            code: fault.code,
            detail: fault.detail,
            aside: fault.aside,
            asked,
            retry_at: again.then_some(retry_at),
            at,
        }
    }

    fn next(&self, at: Timestamp, context: &StepContext<'_>) -> Option<Event> {
        if let Some(ending) = &self.ending {
            return ending.next(self, at, context);
        }
        if !self.is_playing() {
            return None;
        }
        if let Some(played) = self.unsealed(at) {
            return Some(played);
        }
        let mut waiting = false;
        for seat in SEATS.into_iter().filter(|&seat| self.owes(seat)) {
            let slot = self.slot(seat);
            match (slot.question, slot.retry_at) {
                (Some(asking), _) if at >= slot.latest(asking) => {
                    return Some(self.silence(seat, at, context));
                }
                // A player that was asked already keeps its question.
                (None, None) if waiting && self.one_by_one() => {}
                (None, None) if self.is_held(at) => waiting = true,
                (None, retry_at) if retry_at.is_none_or(|retry_at| at >= retry_at) => {
                    return Some(self.ask(seat, at, context));
                }
                _ => waiting = true,
            }
        }
        if waiting {
            None
        } else {
            self.go_on(at, context)
        }
    }

    /// The next move of a turn of both seats that has become complete: nobody needs to wait for it
    /// any more, so it is written down.
    fn unsealed(&self, at: Timestamp) -> Option<Event> {
        if self.rules().open_moves(self.moves.len()) < self.moves.len() {
            return None;
        }
        let place = self.moves.len().checked_sub(self.sealed)?;
        let (seat, sealed) = self.moves.get(place)?;
        Some(Event::MovePlayed {
            match_id: self.fixture.match_id.clone(),
            seat: *seat,
            choice: sealed.choice.clone(),
            nonce: sealed.nonce.clone(),
            proof: sealed.proof,
            model: sealed.model.clone(),
            at,
        })
    }

    /// Whether moves are asked for one after the other: `league.v1` asks whose turn it is, and seat
    /// A goes first (003). This reveals nothing, as a hidden move is shown to its maker alone.
    fn one_by_one(&self) -> bool {
        self.started
            && SEATS
                .iter()
                .any(|&seat| self.seated(seat).dialect == Dialect::V1)
    }

    /// Whether the match waits for this player.
    fn owes(&self, seat: Seat) -> bool {
        let slot = self.slot(seat);
        if slot.loss.is_some() {
            return false;
        }
        match self.course.table.turn() {
            // The moves that the manager held have ended the game.
            Turn::Over(_) => false,
            _ if !self.started => !slot.joined,
            Turn::Seats(seats) => seats.contains(&seat),
            Turn::Dice => false,
        }
    }

    /// The next event once no player owes an answer.
    fn go_on(&self, at: Timestamp, context: &StepContext<'_>) -> Option<Event> {
        if self.slots.iter().any(|slot| slot.loss.is_some()) {
            return self.decided(at);
        }
        if let Some(draw) = self.draw {
            return self.wait_for_draw(at, context, draw);
        }
        if self.fixture.mode == Mode::Manual && at < self.taken_at + MANUAL_LIMIT {
            return None;
        }
        if self.is_held(at) {
            return None;
        }
        if !self.started {
            return Some(self.begin(at));
        }
        match self.course.table.turn() {
            Turn::Seats(_) => None,
            Turn::Dice => Some(self.request_draw(at, context.rules)),
            Turn::Over(_) => self.decided(at),
        }
    }

    pub(crate) fn decided(&self, at: Timestamp) -> Option<Event> {
        Some(Event::Decided {
            match_id: self.fixture.match_id.clone(),
            result: self.result()?,
            at,
        })
    }

    /// Both players are there.
    pub(crate) fn begin(&self, at: Timestamp) -> Event {
        Event::Started {
            match_id: self.fixture.match_id.clone(),
            joins: self.slots.each_ref().map(|slot| slot.join),
            at,
        }
    }

    fn ask(&self, seat: Seat, at: Timestamp, context: &StepContext<'_>) -> Event {
        let (seated, breaker) = (self.seated(seat), &context.rules.breaker);
        // The breaker does not know yet of an answer that came in this step.
        let has_answered = self.slot(seat).joined && self.slot(seat).failed == 0;
        if !has_answered && !context.breakers.allow(seated, breaker, at) {
            let detail = "the player did not answer too often: it is not called for a while";
            return self.failure(
                seat,
                at,
                context,
                AnswerFault::open(Code::Connection, detail),
            );
        }
        let match_id = self.fixture.match_id.clone();
        Event::Asked {
            match_id,
            seat,
            at,
            deadline: at + self.answer_timeout(seat, context.rules),
        }
    }

    fn answer_timeout(&self, seat: Seat, rules: &RefereeRules) -> Duration {
        let usual = match self.started {
            true => rules.timeouts.make_move,
            false => rules.timeouts.join,
        };
        usual + Duration::from_secs(self.seated(seat).extra_seconds.into())
    }

    fn silence(&self, seat: Seat, at: Timestamp, context: &StepContext<'_>) -> Event {
        let wait = self.answer_timeout(seat, context.rules);
        let detail = format!("no answer within {} seconds", wait.as_secs_f64());
        self.failure(seat, at, context, AnswerFault::open(Code::Timeout, detail))
    }

    /// Spreads the waits of different matches and seats; FNV-1a, as it need only be uneven.
    pub(crate) fn chance(&self, seat: Seat) -> u64 {
        let id = self.fixture.match_id.as_str().bytes();
        id.chain([b'A' + (seat.index() & 1) as u8])
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

impl Match {
    /// When the manager is told again that players know the result. A referee that has just come back
    /// may have shown a token that is void by its own registration.
    pub(crate) fn notice_again(
        &self,
        at: Timestamp,
        rules: &RefereeRules,
        refused_token: bool,
    ) -> Option<Timestamp> {
        let shown = self.ending.as_ref()?.shown.as_ref()?;
        let until = shown.at + outcome_bound(rules.report_retry());
        (refused_token && at < until).then(|| at + NOTICE_DELAY)
    }
}

impl Settlement {
    fn due(&self, rules: &RefereeRules) -> Option<Timestamp> {
        let told = self.told_by(rules).filter(|_| self.told != [true; 2]);
        let report = match self.report {
            ReportState::Fresh => Some(self.at + outcome_bound(rules.report_retry())),
            ReportState::Sent { until: due, .. } | ReportState::Resting { retry_at: due, .. } => {
                Some(due)
            }
            ReportState::Settled(_) => None,
        };
        let notice = self.notice().and_then(|_| self.notice_at());
        told.into_iter().chain(report).chain(notice).min()
    }

    /// What the manager is to be told of: that one player knows the result, or both.
    fn notice(&self) -> Option<Option<Seat>> {
        let news = |seat: &Seat| {
            let place = seat.index() & 1;
            self.told[place] && !self.noticed[place]
        };
        match SEATS.into_iter().filter(news).collect::<Vec<_>>()[..] {
            [] => None,
            [seat] => Some(Some(seat)),
            _ => Some(None),
        }
    }

    /// When a player that knows the result waits no longer for its opponent to know it.
    fn notice_at(&self) -> Option<Timestamp> {
        let first = self.shown.as_ref()?.at + NOTICE_DELAY;
        Some(self.notice_again.unwrap_or(first))
    }

    /// When the referee gives up telling a silent player; `None` before players are told.
    fn told_by(&self, rules: &RefereeRules) -> Option<Timestamp> {
        Some(self.shown.as_ref()?.at + outcome_bound(rules.game_over_retry()))
    }

    fn next(&self, game: &Match, at: Timestamp, context: &StepContext<'_>) -> Option<Event> {
        let match_id = game.fixture.match_id.clone();
        let mut untold = SEATS
            .into_iter()
            .filter(|seat| !self.told[seat.index() & 1]);
        // Players learn only a result that the manager accepted.
        let untold = untold.next().filter(|_| self.shown.is_some());
        let until = self.told_by(context.rules);
        if let Some(seat) = untold.filter(|_| until.is_some_and(|until| at >= until)) {
            return Some(Event::PlayerTold { match_id, seat });
        }
        let is_early = self.told != [true; 2] || self.notice_again.is_some();
        let waits = is_early && self.notice_at().is_none_or(|notice| at < notice);
        if let Some(seat) = self.notice().filter(|_| !waits) {
            return Some(Event::ManagerNoticed { match_id, seat });
        }
        match self.report {
            ReportState::Fresh if at >= self.at + outcome_bound(context.rules.report_retry()) => {
                Some(self.unanswered(game, at, context))
            }
            ReportState::Sent { until, .. } if at >= until => {
                Some(self.unanswered(game, at, context))
            }
            ReportState::Resting { retry_at, .. } if at >= retry_at => {
                let until = at + outcome_bound(context.rules.report_retry());
                Some(Event::ReportTried {
                    match_id,
                    at,
                    until,
                })
            }
            ReportState::Settled(report)
                if untold.is_none()
                    && self.notices == 0
                    && self.notice_again.is_none()
                    && !self.closed =>
            {
                let shown = self.shown.as_ref();
                Some(Event::Closed {
                    match_id,
                    report,
                    opened: shown.and_then(|shown| shown.opened.clone()),
                    at,
                })
            }
            _ => None,
        }
    }

    /// The report got no answer: it is sent again for as long as the league goes on.
    pub(crate) fn unanswered(
        &self,
        game: &Match,
        at: Timestamp,
        context: &StepContext<'_>,
    ) -> Event {
        let match_id = game.fixture.match_id.clone();
        if context.league_over {
            let report = ReportAnswer::Unanswered;
            return Event::ReportSettled {
                match_id,
                report,
                opened: None,
                at,
            };
        }
        let wait =
            patient(context.rules.timeouts.backoff).wait(self.report.tried(), game.chance(Seat::A));
        Event::ReportFailed {
            match_id,
            retry_at: at + wait,
        }
    }
}

/// The waits between tries that never end: they grow, and are bounded.
pub(crate) fn patient(backoff: Backoff) -> Backoff {
    match backoff {
        Backoff::Fixed(wait) | Backoff::Exponential(wait) => {
            Backoff::Exponential(wait.max(Duration::from_secs(1)))
        }
    }
}

/// How long an outcome may take before it has got lost: longer than all tries, also of a letter that
/// waits behind others.
pub(crate) fn outcome_bound(retry: RetryRule) -> Duration {
    (retry.timeout + MAX_BACKOFF).saturating_mul(retry.attempts)
}

/// The longest account of a failure that is kept, in characters.
const MAX_DETAIL: usize = 300;

/// Why an answer does not count, with a public and a private account.
pub(crate) struct AnswerFault {
    pub(crate) code: Code,
    pub(crate) detail: String,
    pub(crate) aside: Option<PrivateDetail>,
}

impl AnswerFault {
    /// A fault whose account is public.
    pub(crate) fn open(code: Code, detail: impl Into<String>) -> Self {
        let detail = cut(detail.into());
        let aside = Some(PrivateDetail(detail.clone()));
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
            aside: Some(PrivateDetail(cut(detail))),
        }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_DETAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Match {
    /// Weighs the outcome of a question; no fact if the silence is not one yet.
    pub(crate) fn hear(
        &self,
        at: Timestamp,
        context: &StepContext<'_>,
        question: &PlayerQuestion,
        outcome: &CallOutcome,
    ) -> Result<Option<Event>, Refusal> {
        let seat = question.seat;
        let late = || Refusal::Late {
            match_id: question.match_id.clone(),
            seat,
        };
        let asking = self.slot(seat).question;
        let Some(asking) = asking.filter(|_| self.question(seat).as_ref() == Some(question)) else {
            return if outcome.is_ok() {
                Err(late())
            } else {
                Ok(None)
            };
        };
        if outcome.as_ref().is_err_and(CallFailure::is_local) {
            return Ok(Some(self.postpone(seat, at)));
        }
        let weighed = match outcome {
            Ok(_) if at > self.slot(seat).latest(asking) => return Err(late()),
            // A timeout on another clock does not count: only the deadline itself makes it a fact.
            Err(failure) if failure.code == Code::Timeout && at < asking.deadline => {
                return Ok(None);
            }
            Ok(answer) => self.weigh(seat, answer, at),
            Err(failure) => Err(self.fault(failure.code, failure.detail.clone())),
        };
        Ok(Some(weighed.unwrap_or_else(|fault| {
            self.failure(seat, at, context, fault)
        })))
    }

    /// A question that could not leave this machine is put again with its whole time, and after so
    /// many times the match goes back.
    fn postpone(&self, seat: Seat, at: Timestamp) -> Event {
        let match_id = self.fixture.match_id.clone();
        let postponed = self.slot(seat).postponed.saturating_add(1);
        if postponed > MAX_POSTPONED {
            return Event::GivenBack { match_id, at };
        }
        let wait = LOCAL_BACKOFF.wait(postponed, self.chance(seat));
        Event::QuestionPostponed {
            match_id,
            seat,
            retry_at: at + wait,
        }
    }

    /// A bad answer may hold half of a hidden move.
    fn fault(&self, code: Code, detail: String) -> AnswerFault {
        if self.started && self.rules().seals_moves() {
            AnswerFault::hidden(code, detail)
        } else {
            AnswerFault::open(code, detail)
        }
    }

    fn weigh(&self, seat: Seat, answer: &PeerAnswer, at: Timestamp) -> Result<Event, AnswerFault> {
        self.prove(seat, answer)?;
        match &answer.message {
            Message::GameJoinAck(ack) if !self.started => self.weigh_join(seat, ack, at),
            Message::MoveResponse(response) if self.started => self.weigh_move(seat, response, at),
            Message::LeagueError(error) => {
                let detail = format!(
                    "the player refused with `{}` instead of answering",
                    error.code
                );
                let code = match error.code {
                    // A proxy passes on the failure of the agent behind it.
                    own @ (Code::Timeout | Code::Connection | Code::InvalidMove) => own,
                    _ => Code::InvalidMessage,
                };
                Err(AnswerFault::open(code, detail))
            }
            other => {
                let said = other.v2_type().unwrap_or("nothing of use");
                let detail = format!("the player sent `{said}` instead of `{}`", self.owed());
                Err(AnswerFault::open(Code::InvalidMessage, detail))
            }
        }
    }

    /// Checks the token: another player's is never accepted; a missing or unknown one only in a
    /// lenient league (ruling 51).
    fn prove(&self, seat: Seat, answer: &PeerAnswer) -> Result<(), AnswerFault> {
        let seated = self.seated(seat);
        let strict = self.fixture.strict && seated.dialect != Dialect::V1;
        let [a, b] = &self.fixture.players;
        let issued = |token| token == a.token_hash || token == b.token_hash;
        match answer.token {
            Some(token) if token == seated.token_hash => Ok(()),
            Some(token) if strict || issued(token) => {
                let detail = format!("the token is not the one of `{}`", seated.player_id);
                Err(AnswerFault::open(Code::TokenInvalid, detail))
            }
            None if strict => {
                let detail = "this league is strict: put your token into `auth_token`";
                Err(AnswerFault::open(Code::TokenMissing, detail))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn identify(
        &self,
        seat: Seat,
        match_id: &MatchId,
        player_id: Option<&PlayerId>,
    ) -> Result<(), AnswerFault> {
        let (owed, asked) = (&self.fixture.match_id, &self.seated(seat).player_id);
        if match_id != owed {
            let detail =
                format!("the answer is for match `{match_id}`, the question was for `{owed}`");
            return Err(AnswerFault::open(Code::MatchNotFound, detail));
        }
        match player_id.filter(|&player| player != asked) {
            Some(player) => {
                let detail =
                    format!("the answer is from `{player}`, the question was for `{asked}`");
                Err(AnswerFault::open(Code::TokenInvalid, detail))
            }
            None => Ok(()),
        }
    }

    fn weigh_join(
        &self,
        seat: Seat,
        ack: &GameJoinAck,
        at: Timestamp,
    ) -> Result<Event, AnswerFault> {
        self.identify(seat, &ack.match_id, ack.player_id.as_ref())?;
        let match_id = self.fixture.match_id.clone();
        Ok(if ack.accept {
            let proof = ack.proof;
            Event::Joined {
                match_id,
                seat,
                proof,
            }
        } else {
            Event::Declined { match_id, seat, at }
        })
    }

    fn weigh_move(
        &self,
        seat: Seat,
        said: &MoveResponse,
        at: Timestamp,
    ) -> Result<Event, AnswerFault> {
        self.identify(seat, &said.match_id, said.player_id.as_ref())?;
        let length = said.nonce.as_ref().map_or(0, String::len);
        if length > MAX_NONCE_LENGTH {
            let detail =
                format!("a nonce has at most {MAX_NONCE_LENGTH} bytes, this one has {length}");
            return Err(AnswerFault::open(Code::InvalidMove, detail));
        }
        let played = self.course.table.boxed_clone().play(seat, &said.choice);
        played.map_err(|illegal| self.fault(Code::InvalidMove, illegal.to_string()))?;
        let match_id = self.fixture.match_id.clone();
        let sealed = SealedChoice {
            choice: said.choice.clone(),
            nonce: said.nonce.clone(),
            proof: said.proof,
            model: said.model.clone(),
        };
        Ok(if self.rules().seals_moves() {
            Event::ChoiceSealed {
                match_id,
                seat,
                sealed: Arc::new(sealed),
            }
        } else {
            Event::MovePlayed {
                match_id,
                seat,
                choice: sealed.choice,
                nonce: sealed.nonce,
                proof: sealed.proof,
                model: sealed.model,
                at,
            }
        })
    }
}
