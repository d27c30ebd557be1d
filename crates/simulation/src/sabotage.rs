//! Planted bugs: each breaks one promise, so that it can be seen that the watch is kept.
//!
//! They live at the desks of the simulation; the machines themselves know nothing of them.

use std::sync::Arc;
use std::time::Duration;

use league_core::draw;
use league_core::league::{self, League, ReportProblem};
use league_core::letter::{Credential, Letter};
use league_core::referee::{self, Referee};
use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{HandedOver, MatchResult, Message, RegisterResponse, SignedMove};
use league_protocol::secret::Seed;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

use crate::agents::MachineKind;
use crate::scenario::{REFEREE_KEY, Scenario, endpoint};

macro_rules! sabotages {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A planted bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Sabotage {
            $($(#[$doc])* $name,)*
        }

        impl Sabotage {
            /// Every planted bug.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

sabotages! {
    /// The manager answers before its journal is safe.
    AckBeforeJournal,
    /// A report that comes twice is recorded twice.
    ReportsNotDeduplicated,
    /// The winner's points go to the loser.
    PointsSwapped,
    /// The loser is recorded as the winner.
    WinnerSwapped,
    /// A round is played a second time.
    RoundPlayedTwice,
    /// A round closes with a match still open.
    RoundClosedEarly,
    /// The league ends twice.
    LeagueEndsTwice,
    /// A player is shown more than the opening while moves are hidden.
    ChoiceLeaked,
    /// An illegal choice stands in the journal before the match is over.
    ChoiceInJournal,
    /// The seed of a draw goes to the referee with its order.
    SeedInOrder,
    /// The manager gives the seed of a draw before the moves are safe in its journal.
    SeedGivenEarly,
    /// A token stands in the journal.
    TokenInJournal,
    /// A referee shows its own token to a player.
    OwnTokenShown,
    /// A referee draws from a seed of its own.
    OwnSeedUsed,
    /// The players of a match are not told of a later attempt.
    AttemptNotAnnounced,
    /// A report is accepted from any sender.
    ForeignReportBelieved,
    /// A report of a match that was taken away is believed.
    OldAttemptBelieved,
    /// An order goes to a referee that was not assigned.
    OrderGoesAstray,
    /// A player loses after its first failed attempt.
    LossAfterOneAttempt,
    /// A player gets one attempt too many.
    OneAttemptTooMany,
    /// Silence counts before the deadline.
    SilenceBeforeDeadline,
    /// An answer counts after its deadline.
    LateAnswerCounted,
    /// A new player gets the id of another.
    IdReused,
    /// A referee gets more matches than its capacity.
    CapacityExceeded,
    /// Referees and players take any token for the manager's.
    AnyoneIsTheManager,
    /// A player is moved elsewhere by a token that referees have seen.
    AnyTokenReturns,
    /// A referee tells a player another share in the draw than the one it sent.
    ShareReplaced,
    /// A referee tells the players the end before the manager has taken it.
    EndToldBeforeAck,
    /// The last result is forgotten when the manager comes back.
    ResultDroppedAtReplay,
    /// Any referee is admitted.
    AnyRefereeAdmitted,
    /// A report counts whatever follows from its moves by the rules.
    RuleNotJudged,
    /// The token of an order is not looked at.
    OrderTokenIgnored,
    /// The proofs of players are not looked at.
    ProofsIgnored,
    /// A player that is said to have failed is asked, and its answer is not heard.
    LossNotAsked,
    /// A match is played again after the moves that decide it were handed over.
    AttemptAfterHandOver,
    /// Moves that were handed over are replaced by others.
    HandOverReplaced,
    /// It is not noted that a player denied a call.
    DenialNotNoted,
    /// The end of a round is told to players that do not know their result.
    NewsTooEarly,
    /// A player that is there loses without being asked.
    PlayerNotAsked,
}

type LeagueReply = Result<league::Reply, league::Refusal>;

impl Sabotage {
    /// When a machine is woken that wanted to be woken then.
    pub(crate) fn alarm(self, kind: MachineKind, due: Timestamp) -> Timestamp {
        match (self, kind) {
            (Self::LateAnswerCounted, MachineKind::Referee) => due + Duration::from_secs(90),
            _ => due,
        }
    }

    /// Changes a message that comes in.
    pub(crate) fn tamper_call(self, kind: MachineKind, message: &mut Message) {
        match (self, kind, message) {
            (
                Self::AnyRefereeAdmitted,
                MachineKind::Manager,
                Message::RefereeRegisterRequest(request),
            ) => request.referee_key = Some(AuthToken::new(REFEREE_KEY)),
            (Self::LossNotAsked, MachineKind::Manager, Message::CallQueryResponse(response)) => {
                response.called = true;
            }
            (Self::OwnSeedUsed, MachineKind::Referee, Message::DrawResponse(response)) => {
                response.seed.0[0] ^= 0x5a;
            }
            (
                Self::CapacityExceeded,
                MachineKind::Manager,
                Message::RefereeRegisterRequest(request),
            ) => {
                let more = request.meta.max_concurrent_matches.unwrap_or(1) + 3;
                request.meta.max_concurrent_matches = Some(more);
            }
            _ => {}
        }
    }

    /// Makes up what the manager should look at and does not.
    pub(crate) fn overlook(
        self,
        scenario: &Scenario,
        order_token: Option<AuthToken>,
        message: &mut Message,
    ) {
        match (self, message) {
            (Self::OrderTokenIgnored, Message::MatchResultReport(report)) => {
                Arc::make_mut(report).order_token = order_token;
            }
            (Self::OrderTokenIgnored, Message::DrawRequest(request)) => {
                Arc::make_mut(request).order_token = order_token;
            }
            // What is recorded without judgement is opened all the same.
            (Self::RuleNotJudged, Message::MatchResultReport(report)) => {
                let report = Arc::make_mut(report);
                let draws = &scenario.secrets.draws;
                let seed = draws.seed(&scenario.rules.league_id, &report.match_id);
                if let Some(draw) = &mut Arc::make_mut(&mut report.result).draw {
                    draw.seed = Some(seed);
                }
            }
            (Self::ProofsIgnored, Message::DrawRequest(request)) => {
                let request = Arc::make_mut(request);
                let place = (&request.match_id, request.attempt);
                sign_again(scenario, place, &mut request.moves);
            }
            (Self::ProofsIgnored, Message::MatchResultReport(report)) => {
                let report = Arc::make_mut(report);
                let moves = &mut Arc::make_mut(&mut report.result).evidence.moves;
                sign_again(scenario, (&report.match_id, report.attempt), moves);
            }
            _ => {}
        }
    }

    /// Changes a letter that goes out.
    pub(crate) fn tamper_letter<T>(self, kind: MachineKind, letter: &mut Letter<T>) {
        match (self, kind, &mut letter.message) {
            (Self::ChoiceLeaked, MachineKind::Referee, Message::MoveCall(call))
                if call.game_type.as_str() == "even_odd" =>
            {
                call.view = Arc::new(json!({ "opponent": "even" }));
            }
            (Self::ShareReplaced, MachineKind::Referee, Message::GameOver(over)) => {
                let result = Arc::make_mut(&mut Arc::make_mut(over).result);
                if let Some(opened) = &mut result.draw {
                    opened.nonces = ["nonce-1".into(), "nonce-2".into()];
                }
            }
            (Self::OwnTokenShown, MachineKind::Referee, Message::MoveCall(_)) => {
                letter.credential = Credential::Own;
            }
            (Self::SeedInOrder, MachineKind::Manager, Message::StartMatch(order)) => {
                let order = Arc::make_mut(order);
                order.handed_over.get_or_insert_with(|| HandedOver {
                    attempt: order.attempt,
                    moves: Vec::new(),
                    seeds: vec![Seed(order.commitment.0)],
                });
            }
            (
                Self::AttemptNotAnnounced,
                MachineKind::Manager,
                Message::RoundAnnouncement(round),
            ) if round.own.as_ref().is_some_and(|own| own.attempt > 1) => {
                Arc::make_mut(round).own = None;
            }
            (Self::OrderGoesAstray, MachineKind::Manager, Message::StartMatch(order))
                if order.match_id.as_str() == "R2M1" =>
            {
                let mut peer = (*letter.to).clone();
                let astray = if *peer.endpoint == *endpoint(1) { 2 } else { 1 };
                peer.endpoint = endpoint(astray);
                letter.to = Arc::new(peer);
            }
            _ => {}
        }
    }

    /// Changes what a referee has decided.
    pub(crate) fn tamper_referee(
        self,
        _referee: &Referee,
        at: Timestamp,
        command: &referee::Command,
        events: &mut Vec<referee::Event>,
    ) {
        if let (
            Self::LateAnswerCounted,
            referee::Command::Outcome {
                correlation: referee::CorrelationId::Question(_),
                outcome: Err(_),
            },
        ) = (self, command)
        {
            events.clear();
        }
        if self == Self::EndToldBeforeAck {
            tell_end(at, events);
        }
        if self == Self::SilenceBeforeDeadline {
            add_silence(at, events);
        }
        if self == Self::PlayerNotAsked {
            events.iter_mut().for_each(|event| skip_question(at, event));
        }
        for event in events {
            let referee::Event::AttemptFailed {
                failed,
                detail,
                aside,
                retry_at,
                ..
            } = event
            else {
                continue;
            };
            match self {
                Self::LossAfterOneAttempt if *failed == 1 => *retry_at = None,
                Self::OneAttemptTooMany if retry_at.is_none() => *retry_at = Some(at),
                Self::ChoiceInJournal => {
                    if let Some(aside) = aside {
                        detail.clone_from(&aside.0);
                    }
                }
                _ => {}
            }
        }
    }

    /// Changes what the manager has decided.
    pub(crate) fn tamper_league(
        self,
        league: &League,
        at: Timestamp,
        command: &league::Command,
        events: &mut Vec<league::Event>,
        reply: &mut LeagueReply,
    ) {
        match self {
            Self::ReportsNotDeduplicated if events.is_empty() => {
                let acked = |reply: &league::Reply| {
                    matches!(
                        reply,
                        league::Reply::Acknowledged | league::Reply::Opened(_)
                    )
                };
                if reply.as_ref().is_ok_and(acked) {
                    events.extend(believed(league, at, command));
                }
            }
            Self::ForeignReportBelieved if events.is_empty() => {
                let foreign = matches!(
                    reply,
                    Err(league::Refusal::NotYours(_)
                        | league::Refusal::NotAReferee
                        | league::Refusal::TokenMissing
                        | league::Refusal::TokenInvalid)
                );
                if foreign && !is_holders(league, command) {
                    believe(league, at, command, events, reply);
                }
            }
            Self::OldAttemptBelieved if events.is_empty() => {
                let old = matches!(
                    reply,
                    Err(league::Refusal::TakenAway(_) | league::Refusal::OldAttempt { .. })
                );
                if old {
                    believe(league, at, command, events, reply);
                }
            }
            Self::RuleNotJudged if is_judged(reply) => {
                believe(league, at, command, events, reply);
            }
            Self::RoundClosedEarly if matches!(command, league::Command::Tick) => {
                let early = league.round().filter(|round| round.open() == 1);
                if let Some(round) = early {
                    let round = round.number();
                    *events = vec![league::Event::RoundClosed { round, at }];
                }
            }
            Self::TokenInJournal => write_token(events, reply),
            Self::HandOverReplaced => replace_moves(league, at, command, events, reply),
            Self::NewsTooEarly => {
                events.retain(|event| !matches!(event, league::Event::GameOverAwaited { .. }));
            }
            Self::DenialNotNoted => {
                events.retain(|event| !matches!(event, league::Event::LossDoubted { .. }));
            }
            _ => self.tamper_facts(league, events),
        }
    }

    fn tamper_facts(self, league: &League, events: &mut Vec<league::Event>) {
        for event in events.iter_mut() {
            match (self, event) {
                (Self::PointsSwapped, league::Event::ResultRecorded { result, .. }) => {
                    Arc::make_mut(result).points.reverse();
                }
                (Self::WinnerSwapped, league::Event::ResultRecorded { result, .. }) => {
                    swap_winner(Arc::make_mut(result));
                }
                (Self::AttemptAfterHandOver, league::Event::MovesReceived { last, .. }) => {
                    *last = false;
                }
                (Self::RoundPlayedTwice, league::Event::RoundOpened { round, .. })
                    if *round > 1 =>
                {
                    *round -= 1;
                }
                (Self::IdReused, league::Event::PlayerRegistered { player_id, .. }) => {
                    if let Some(first) = league.players().first() {
                        *player_id = PlayerId::clone(first.id());
                    }
                }
                _ => {}
            }
        }
        let ended = |event: &league::Event| matches!(event, league::Event::LeagueCompleted { .. });
        if self == Self::LeagueEndsTwice
            && let Some(end) = events.iter().find(|event| ended(event)).cloned()
        {
            events.push(end);
        }
    }
}

fn believe(
    league: &League,
    at: Timestamp,
    command: &league::Command,
    events: &mut Vec<league::Event>,
    reply: &mut LeagueReply,
) {
    if let Some(event) = believed(league, at, command)
        && let league::Command::Report { report, .. } = command
        && league
            .fixture(&report.match_id)
            .is_some_and(|fixture| fixture.is_started())
    {
        let match_id = report.match_id.clone();
        *events = vec![event, league::Event::GameOverAwaited { match_id }];
        *reply = Ok(league::Reply::Acknowledged);
    }
}

/// Whether a report is refused because its moves lead to another end.
fn is_judged(reply: &LeagueReply) -> bool {
    let problem = ReportProblem::End;
    matches!(reply, Err(league::Refusal::BadReport { problem: found, .. }) if *found == problem)
}

/// Whether a report comes in the name of the referee that holds the match, perhaps with an old token.
fn is_holders(league: &League, command: &league::Command) -> bool {
    let league::Command::Report { report, sender, .. } = command else {
        return false;
    };
    let fixture = league.fixture(&report.match_id);
    let holder = fixture.and_then(|fixture| league.referee_of(fixture));
    holder.is_some_and(|holder| *sender == Some(Agent::Referee(holder.id().clone())))
}

/// The event of a report that is not checked.
fn believed(league: &League, at: Timestamp, command: &league::Command) -> Option<league::Event> {
    let league::Command::Report { report, .. } = command else {
        return None;
    };
    let fixture = league.fixture(&report.match_id)?;
    Some(league::Event::ResultRecorded {
        match_id: report.match_id.clone(),
        referee: Some(league.referee_of(fixture)?.id().clone()),
        attempt: fixture.attempt(),
        result: Arc::clone(&report.result),
        next: None,
        at,
    })
}

/// Puts right proofs beside the moves of players that sign.
fn sign_again(scenario: &Scenario, (match_id, attempt): (&MatchId, u32), moves: &mut [SignedMove]) {
    let rules = &scenario.listing.rules;
    let league = &scenario.rules.league_id;
    for place in 0..moves.len() {
        let (before, rest) = moves.split_at_mut(place);
        let Some(made) = rest.first_mut() else { break };
        // Where nobody lies, a move without a proof is that of a player that does not sign.
        if made.proof.is_none() && scenario.liar.is_none() {
            continue;
        }
        let own = |other: &&SignedMove| other.player_id == made.player_id;
        let turn = 1 + before.iter().filter(own).count();
        let seen = before.iter().take(rules.open_moves(place));
        let seen = seen.map(|made| (&made.player_id, &made.choice));
        let agent = Agent::Player(made.player_id.clone());
        let token = scenario.secrets.tokens.return_token(league, &agent);
        let key = draw::proof_key(&token, league, match_id, attempt);
        let turn = u32::try_from(turn).unwrap_or(u32::MAX);
        let right = draw::proof(&key, turn, seen, &made.choice, made.nonce.as_deref());
        made.proof = Some(right);
    }
}

fn replace_moves(
    league: &League,
    at: Timestamp,
    command: &league::Command,
    events: &mut Vec<league::Event>,
    reply: &LeagueReply,
) {
    let league::Command::RequestDraw { request, .. } = command else {
        return;
    };
    let other = matches!(reply, Err(league::Refusal::OtherMoves(_)));
    let fixture = league.fixture(&request.match_id).filter(|_| other);
    if let Some(referee) = fixture.and_then(|fixture| league.referee_of(fixture)) {
        *events = vec![league::Event::MovesReceived {
            match_id: request.match_id.clone(),
            referee: referee.id().clone(),
            attempt: request.attempt,
            moves: request.moves.clone(),
            last: true,
            at,
        }];
    }
}

fn swap_winner(result: &mut MatchResult) {
    let [a, b] = &result.players;
    if let Some(winner) = &result.winner {
        let loser = if winner == a { b } else { a };
        result.winner = Some(loser.clone());
        result.points.reverse();
    }
}

fn write_token(events: &mut [league::Event], reply: &LeagueReply) {
    let Ok(league::Reply::Player(RegisterResponse::Accepted(enrolment))) = reply else {
        return;
    };
    for event in events {
        if let league::Event::PlayerRegistered { meta, .. } = event {
            meta.version = enrolment.token.reveal().to_owned();
        }
    }
}

fn tell_end(at: Timestamp, events: &mut Vec<referee::Event>) {
    let decided = events.iter().find_map(|event| match event {
        referee::Event::Decided { match_id, .. } => Some(match_id.clone()),
        _ => None,
    });
    events.extend(decided.map(|match_id| referee::Event::ReportSettled {
        match_id,
        report: referee::ReportAnswer::Acknowledged,
        opened: None,
        at,
    }));
}

fn skip_question(at: Timestamp, event: &mut referee::Event) {
    if let referee::Event::Asked { match_id, seat, .. } = event {
        *event = failed_attempt(match_id.clone(), *seat, at, (Code::Connection, false));
    }
}

fn add_silence(at: Timestamp, events: &mut Vec<referee::Event>) {
    let asked = events.iter().find_map(|event| match event {
        referee::Event::Asked { match_id, seat, .. } => Some((match_id.clone(), *seat)),
        _ => None,
    });
    if let Some((match_id, seat)) = asked {
        events.push(failed_attempt(match_id, seat, at, (Code::Timeout, true)));
    }
}

fn failed_attempt(
    match_id: MatchId,
    seat: Seat,
    at: Timestamp,
    (code, asked): (Code, bool),
) -> referee::Event {
    referee::Event::AttemptFailed {
        match_id,
        seat,
        turn: 0,
        failed: 1,
        code,
        detail: String::new(),
        aside: None,
        asked,
        retry_at: asked.then_some(at),
        at,
    }
}
