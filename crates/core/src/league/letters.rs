//! Outgoing letters of the league manager: the message and its receivers after each event.

use std::sync::Arc;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    AnnouncedMatch, CallQuery, Champion, GameOver, LeagueCompleted, LeagueStart, Message, OwnMatch,
    RoundAnnouncement, RoundCompleted, Rows, StandingRow, StandingsUpdate, StartMatch,
    StartMatchPlayer,
};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;

use super::command::{AskedCall, CorrelationId, QueryCause};
use super::event::{Event, Reassignment};
use super::lever::Lever;
use super::roster::{AgentIndex, AgentState, Member, PlayerEntry, RefereeEntry, Seat};
use super::round::{FixtureStage, LeagueFixture, LeagueRound};
use super::standings::Ranking;
use super::{ClosedRound, League, Phase};
use crate::letter::{Credential, Letter, RetryRule};

/// Adds the letters of a league to `out`.
pub(crate) struct LetterWriter<'a> {
    league: &'a League,
    out: &'a mut Vec<Letter<CorrelationId>>,
}

impl<'a> LetterWriter<'a> {
    pub(crate) fn new(league: &'a League, out: &'a mut Vec<Letter<CorrelationId>>) -> Self {
        Self { league, out }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    pub(crate) fn write(&mut self, event: &Event) {
        match event {
            Event::OrganiserActed { act, .. } => self.write_lever(act),
            Event::LeagueStarted { .. } => self.announce_start(|_| true),
            Event::PlayerRegistered { player_id, .. } if self.league.phase == Phase::Running => {
                self.announce_start(|player| player.id == *player_id);
            }
            Event::RoundOpened { .. } => {
                self.announce_round();
                self.order_all(|_| true);
            }
            Event::MatchesAdded { pairings, .. } => self.announce_added(pairings.len()),
            Event::RefereeByDocuments { referee, .. } => {
                let number = self.league.referees.find(referee);
                self.order_all(|fixture| fixture.referee == number);
            }
            Event::MatchesMoved { moves, next, at } => {
                self.order_moved(moves, next.as_ref(), *at);
            }
            Event::ResultRecorded { match_id, next, .. } => {
                self.tell_ruling(self.league.fixture(match_id));
                self.order(next.as_ref().and_then(|next| self.league.fixture(next)));
            }
            Event::PlayerInformed { match_id, .. } => self.order_waiting(match_id),
            Event::OrdersReleased { matches } => {
                for (match_id, _) in matches {
                    self.order_waiting(match_id);
                }
            }
            Event::NewsReleased { players, .. } => {
                for (player, round) in players {
                    self.tell_news(player, *round);
                }
            }
            Event::LossQuestioned {
                match_id, players, ..
            } => self.ask_losers(match_id, players),
            Event::OrderDeclined {
                match_id,
                attempt,
                referee,
            } => {
                let players = self.signing(self.league.fixture(match_id));
                self.ask_about_call(match_id, *attempt, referee, &players, QueryCause::Decline);
            }
            Event::RoundClosed { .. } => self.broadcast_standings(),
            Event::LeagueCompleted { .. } => self.tell_end(),
            Event::AgentReturned { agent, .. } => {
                self.announce_token_of(agent);
                self.welcome_back(agent);
                self.tell_referee_of(agent);
            }
            Event::AgentAnswered {
                agent,
                recovered: true,
                ..
            } => self.welcome_back(agent),
            Event::PlayerReinstated { player_id, .. } => {
                self.welcome_back(&Agent::Player(player_id.clone()));
            }
            Event::ProbesSent { agents, unsent, .. } => {
                self.probe_all(agents);
                for unsent in unsent {
                    self.send_again(unsent);
                }
            }
            Event::PlayerRegistered { .. }
            | Event::RefereeRegistered { .. }
            | Event::RefereeInvited { .. }
            | Event::MovesReceived { .. }
            | Event::ResultTold { .. }
            | Event::GameOverAwaited { .. }
            | Event::GameOverTold { .. }
            | Event::LossDoubted { .. }
            | Event::DeclinedAfterCall { .. }
            | Event::CallConfirmed { .. }
            | Event::ReportConflicted { .. }
            | Event::ReportRefused { .. }
            | Event::PlayerShutDown { .. }
            | Event::MatchAccepted { .. }
            | Event::AgentFailed { .. }
            | Event::AgentAnswered { .. }
            | Event::RefereeSuspended { .. }
            | Event::LetterUnsent { .. }
            | Event::Resumed { .. }
            | Event::Stopped => {}
        }
    }

    /// The letters of a lever: orders that were held, and new clocks for referees.
    fn write_lever(&mut self, lever: &Lever) {
        match lever {
            Lever::Resume => self.order_all(|_| true),
            Lever::ExtendMatch { match_id, .. } => self.order(self.league.fixture(match_id)),
            Lever::ExtendPlayer { player_id, .. } | Lever::Reinstate { player_id } => {
                let agent = Agent::Player(player_id.clone());
                if matches!(lever, Lever::Reinstate { .. }) {
                    self.welcome_back(&agent);
                }
                self.tell_referee_of(&agent);
            }
            _ => {}
        }
    }

    /// Orders a match whose announcement was acknowledged or had its time; one that runs was
    /// ordered before.
    fn order_waiting(&mut self, match_id: &MatchId) {
        let fixture = self.league.fixture(match_id);
        self.order(fixture.filter(|fixture| fixture.stage == FixtureStage::Ordered));
    }

    fn order_moved(&mut self, moves: &[Reassignment], next: Option<&MatchId>, at: Timestamp) {
        for moved in moves {
            self.announce_attempt(&moved.match_id);
        }
        let moved = moves.iter().map(|moved| &moved.match_id);
        for match_id in moved.chain(next) {
            self.order(self.league.fixture(match_id));
        }
        // A match that waited in the queue of a referee begins before one that is moved there.
        let is_queued = |moved: &&Reassignment| {
            let fixture = self.league.fixture(&moved.match_id);
            fixture.is_some_and(|fixture| fixture.stage == FixtureStage::Queued)
        };
        let receivers = moves.iter().filter(is_queued);
        let receivers: Vec<_> = receivers.filter_map(|moved| moved.to.as_ref()).collect();
        let fixtures = self.league.round().map_or(&[][..], LeagueRound::fixtures);
        for fixture in fixtures.iter().filter(|_| !receivers.is_empty()) {
            let is_new = fixture.stage == FixtureStage::Ordered && fixture.since == at;
            let is_named = |moved: &Reassignment| moved.match_id == fixture.match_id;
            let is_receiver = |referee: &RefereeEntry| receivers.contains(&&referee.id);
            if is_new
                && Some(&fixture.match_id) != next
                && !moves.iter().any(is_named)
                && self.league.referee_of(fixture).is_some_and(is_receiver)
            {
                self.order(Some(fixture));
            }
        }
    }

    fn probe_all(&mut self, agents: &[Agent]) {
        let members = agents
            .iter()
            .filter_map(|agent| self.league.find_agent(agent));
        for member in members.filter_map(|who| self.league.member(who)) {
            self.out.push(self.probe(member));
        }
    }

    /// Resends what a restart may have lost: the last standings, the current round.
    pub(crate) fn write_pending(&mut self) {
        match self.league.phase {
            Phase::Registering => {}
            Phase::Running => {
                self.tell_rulings();
                if !self.league.closed.is_empty() {
                    self.broadcast_standings();
                } else {
                    self.announce_start(|_| true);
                }
                if self
                    .league
                    .round
                    .as_ref()
                    .is_some_and(|round| !round.closed)
                {
                    self.announce_round();
                    self.order_all(|_| true);
                }
            }
            Phase::Completed => {
                self.tell_rulings();
                self.broadcast_standings();
                self.tell_end();
            }
        }
    }

    /// A player comes back to its round, a referee to its matches, and either to the end.
    fn welcome_back(&mut self, agent: &Agent) {
        let league = self.league;
        if league.phase == Phase::Completed {
            let who = league.find_agent(agent);
            let receiver = match who {
                Some(AgentIndex::Player(number)) => Some(number),
                _ => None,
            };
            let member = who.and_then(|who| league.member(who));
            let table = league.table();
            let rows = league.told_rows(&table);
            let end = |member| self.notice(member, self.end(&table, &rows, receiver));
            self.out.extend(member.map(end));
        }
        if league.round.as_ref().is_none_or(|round| round.closed) {
            return;
        }
        match league.find_agent(agent) {
            Some(AgentIndex::Player(number)) => self.announce_to(number),
            Some(AgentIndex::Referee(number)) => {
                self.order_all(|fixture| fixture.referee == Some(number));
            }
            None => {}
        }
    }

    /// The referee of a player that came back learns its new token and address.
    fn tell_referee_of(&mut self, agent: &Agent) {
        let round = self.league.round.as_ref().filter(|round| !round.closed);
        let (Some(round), Some(AgentIndex::Player(number))) =
            (round, self.league.find_agent(agent))
        else {
            return;
        };
        let pairing = self.league.pairing_of(number, round.number);
        self.order(pairing.and_then(|own| round.fixture(own.index)));
    }

    fn announce_start(&mut self, which: impl Fn(&PlayerEntry) -> bool) {
        let league = self.league;
        let first_protocol = |player: &&PlayerEntry| {
            let is_told = player.member.peer.dialect == Dialect::V1 && league.is_reached(player);
            is_told && which(player)
        };
        let mut listeners = league
            .players
            .members
            .iter()
            .filter(first_protocol)
            .peekable();
        if listeners.peek().is_none() {
            return;
        }
        let round = league.round().map_or(1, LeagueRound::number);
        let schedule: Arc<_> = self.league.list_rounds(round, league.rules.broadcast_limit);
        for player in listeners {
            let message = Message::from(LeagueStart {
                league_id: league.rules.league_id.clone(),
                total_rounds: league.schedule().rounds(),
                total_players: league.schedule().players(),
                game_type: league.rules.game_type.clone(),
                schedule: Arc::clone(&schedule),
            });
            self.out.push(self.notice(&player.member, message));
        }
    }

    fn announce_round(&mut self) {
        let Some(round) = &self.league.round else {
            return;
        };
        let all = self.all_matches(round);
        for (number, player) in (0..).zip(&self.league.players.members) {
            if self.league.is_announced_to(number, player) {
                self.out
                    .push(self.announcement(number, player, round, &all));
            }
        }
    }

    /// Tells players of the matches that joined the round last.
    fn announce_added(&mut self, added: usize) {
        let league = self.league;
        let fixtures = league.round().map_or(&[][..], LeagueRound::fixtures);
        for fixture in &fixtures[fixtures.len().saturating_sub(added)..] {
            for number in fixture.pairing.seats {
                self.announce_to(number);
            }
            self.order(Some(fixture));
        }
    }

    fn announcement(
        &self,
        number: u32,
        player: &PlayerEntry,
        round: &LeagueRound,
        all: &Option<Rows<AnnouncedMatch>>,
    ) -> Letter<CorrelationId> {
        let own = self
            .league
            .pairing_of(number, round.number)
            .and_then(|pairing| round.fixture(pairing.index));
        let matches = match all {
            Some(all) => all.clone(),
            None => own
                .and_then(|own| self.announced(own))
                .into_iter()
                .collect(),
        };
        let own = own.map(|own| {
            let seat = usize::from(own.pairing.seats[1] == number);
            OwnMatch {
                match_id: own.match_id.clone(),
                token: own.tokens[seat].clone(),
                referee_token: self.league.shown_token(own),
                attempt: own.announced_attempt(),
            }
        });
        let correlation = own.as_ref().map(|own| CorrelationId::Announcement {
            match_id: own.match_id.clone(),
            attempt: own.attempt,
            player_id: player.id.clone(),
        });
        let message = Message::from(RoundAnnouncement {
            league_id: self.league.rules.league_id.clone(),
            round_id: round.number,
            matches,
            own,
        });
        let notice = self.notice(&player.member, message);
        let timeout = self.league.rules.timeouts.other;
        Letter {
            correlation: correlation.or(notice.correlation),
            retry: match self.league.is_reached(player) {
                true => notice.retry,
                false => self.league.rules.timeouts.once(timeout),
            },
            ..notice
        }
    }

    /// Tells the players of a match that changes hands what its new referee will show; a player
    /// that does not sign was told before, and that stays good.
    fn announce_attempt(&mut self, match_id: &MatchId) {
        let league = self.league;
        let fixture = league.fixture(match_id);
        let Some(fixture) = fixture.filter(|fixture| fixture.referee.is_some()) else {
            return;
        };
        for (seat, &number) in fixture.pairing.seats.iter().enumerate() {
            if fixture.signs[seat] && !fixture.informed[seat] {
                self.announce_to(number);
            }
        }
    }

    /// Tells players the new token of a referee that shows its own.
    fn announce_token_of(&mut self, agent: &Agent) {
        let league = self.league;
        let Some(AgentIndex::Referee(number)) = league.find_agent(agent) else {
            return;
        };
        if !league.is_by_documents(AgentIndex::Referee(number)) {
            return;
        }
        let fixtures = league.round.iter().flat_map(|round| &round.fixtures);
        let is_open = |own: &LeagueFixture| own.result.is_none() && !own.is_closed();
        let fixtures = fixtures.filter(|own| own.referee == Some(number) && is_open(own));
        for number in fixtures.flat_map(|fixture| fixture.pairing.seats) {
            self.announce_to(number);
        }
    }

    /// Tells a player that is reached of its match in the round.
    fn announce_to(&mut self, number: u32) {
        let player = self.league.players.get(number);
        let player = player.filter(|player| self.league.is_announced_to(number, player));
        if let (Some(round), Some(player)) = (&self.league.round, player) {
            let all = self.all_matches(round);
            self.out
                .push(self.announcement(number, player, round, &all));
        }
    }

    /// The matches of a round, unless the league is large, or matches join the round while it is
    /// played: then each player gets only its own.
    fn all_matches(&self, round: &LeagueRound) -> Option<Rows<AnnouncedMatch>> {
        let grows = self.league.schedule().plan().has_growing_rounds();
        let fixtures = round.fixtures.iter();
        let matches = || fixtures.filter_map(|own| self.announced(own)).collect();
        let are_few = !self.league.is_large() && !grows;
        are_few.then(|| round.announced.get(matches).clone())
    }

    fn announced(&self, fixture: &LeagueFixture) -> Option<AnnouncedMatch> {
        let [a, b] = self.league.seats_of(fixture)?;
        let referee = self.league.referee_of(fixture);
        Some(AnnouncedMatch {
            match_id: fixture.match_id.clone(),
            game_type: self.league.rules.game_type.clone(),
            player_a: a.clone(),
            player_b: b.clone(),
            referee_endpoint: referee.map_or_else(
                || Arc::from(""),
                |referee| Arc::clone(&referee.member.peer.endpoint),
            ),
            endpoint_a: None,
            endpoint_b: None,
            commitment: Some(fixture.commitment),
        })
    }

    fn order_all(&mut self, which: impl Fn(&LeagueFixture) -> bool) {
        let fixtures = self.league.round.iter().flat_map(|round| &round.fixtures);
        for fixture in fixtures.filter(|fixture| which(fixture)) {
            self.order(Some(fixture));
        }
    }

    /// Orders a match that is to be run now, once its players know what its referee will show.
    fn order(&mut self, fixture: Option<&LeagueFixture>) {
        let due =
            |fixture: &&LeagueFixture| fixture.is_started() && self.league.is_announced(fixture);
        let Some(fixture) = fixture.filter(due) else {
            return;
        };
        // A pause holds matches that have not begun; one that runs still learns what changes.
        let is_held = self.league.paused && fixture.stage == FixtureStage::Ordered;
        if is_held {
            return;
        }
        let (Some(referee), Some(players)) =
            (self.league.referee_of(fixture), self.seated(fixture))
        else {
            return;
        };
        let (match_id, attempt) = (fixture.match_id.clone(), fixture.attempt);
        let id = referee.id.clone();
        let (message, correlation) = if !referee.by_documents {
            let correlation = CorrelationId::Order {
                match_id,
                attempt,
                referee: id,
            };
            (self.start_match(fixture, referee, players), correlation)
        } else if fixture.stage == FixtureStage::Ordered {
            let correlation = CorrelationId::Assignment {
                match_id,
                attempt,
                referee: id,
            };
            (self.order_by_documents(fixture, players), correlation)
        } else {
            // It would begin the match once more.
            return;
        };
        self.out.push(letter(
            &referee.member,
            message,
            self.usual_retry(),
            correlation,
        ));
    }

    fn start_match(
        &self,
        fixture: &LeagueFixture,
        referee: &RefereeEntry,
        players: [StartMatchPlayer; 2],
    ) -> Message {
        Message::StartMatch(Arc::new(StartMatch {
            league_id: self.league.rules.league_id.clone(),
            round_id: fixture.pairing.round,
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            game_type: self.league.rules.game_type.clone(),
            settings: self.league.rules.game_settings.clone(),
            mode: self.league.rules.mode,
            step_token: self
                .league
                .step_token(&fixture.match_id)
                .map(|token| token.hash()),
            strict: self.league.rules.strict,
            score: self.league.rules.score,
            commitment: fixture.commitment,
            draw_mode: self.league.rules.draws,
            order_token: self.league.order_token(fixture, referee),
            handed_over: self.league.handed_over(fixture),
            pace_ms: self.league.pace_ms(),
            players,
        }))
    }

    /// The announcement of one match, which names its referee and where its players answer.
    fn order_by_documents(
        &self,
        fixture: &LeagueFixture,
        [a, b]: [StartMatchPlayer; 2],
    ) -> Message {
        let matches = self.announced(fixture).map(|announced| AnnouncedMatch {
            endpoint_a: Some(a.endpoint),
            endpoint_b: Some(b.endpoint),
            ..announced
        });
        Message::from(RoundAnnouncement {
            league_id: self.league.rules.league_id.clone(),
            round_id: fixture.pairing.round,
            matches: matches.into_iter().collect(),
            own: None,
        })
    }

    fn seated(&self, fixture: &LeagueFixture) -> Option<[StartMatchPlayer; 2]> {
        let seat = |seat: usize| {
            let number = fixture.pairing.seats[seat];
            let player = self.league.players.get(number)?;
            Some(StartMatchPlayer {
                player_id: player.id.clone(),
                endpoint: Arc::clone(&player.member.peer.endpoint),
                dialect: player.member.peer.dialect,
                speech: player.member.peer.speech,
                is_foreign: player.member.peer.is_foreign,
                token_hash: player.member.token,
                match_token: fixture.tokens[seat].clone(),
                record: self.league.standings.record(number).win_loss_draw(),
                absent: player.absent,
                extra_seconds: extra_seconds(player, fixture),
            })
        };
        Some([seat(0)?, seat(1)?])
    }

    /// The players of a match that sign and are reached.
    fn signing(&self, fixture: Option<&LeagueFixture>) -> Vec<PlayerId> {
        let seats = fixture.into_iter().flat_map(|fixture| {
            let seats = fixture.pairing.seats.into_iter().zip(fixture.signs);
            seats.filter(|(_, signs)| *signs)
        });
        seats
            .filter_map(|(number, _)| self.league.players.get(number))
            .filter(|player| self.league.is_reached(player))
            .map(|player| player.id.clone())
            .collect()
    }

    /// Asks players whether the referee of a match called them, which reports that they failed.
    fn ask_losers(&mut self, match_id: &MatchId, players: &[PlayerId]) {
        let fixture = self.league.fixture(match_id);
        let referee = fixture.and_then(|fixture| self.league.referee_of(fixture));
        if let (Some(fixture), Some(referee)) = (fixture, referee) {
            let (attempt, referee) = (fixture.attempt, &referee.id);
            self.ask_about_call(match_id, attempt, referee, players, QueryCause::Loss);
        }
    }

    /// Asks players whether a referee has called them in an attempt.
    fn ask_about_call(
        &mut self,
        match_id: &MatchId,
        attempt: u32,
        referee: &RefereeId,
        players: &[PlayerId],
        cause: QueryCause,
    ) {
        for player_id in players {
            self.ask_player(AskedCall {
                match_id: match_id.clone(),
                attempt,
                referee: referee.clone(),
                player_id: player_id.clone(),
                cause,
            });
        }
    }

    fn ask_player(&mut self, asked: AskedCall) {
        let Some(player) = self.league.player(&asked.player_id) else {
            return;
        };
        let message = Message::from(CallQuery {
            league_id: self.league.rules.league_id.clone(),
            match_id: asked.match_id.clone(),
            attempt: asked.attempt,
        });
        let timeouts = &self.league.rules.timeouts;
        let retry = timeouts.once(timeouts.query);
        let correlation = CorrelationId::CallQuery(asked);
        self.out
            .push(letter(&player.member, message, retry, correlation));
    }

    /// Sends a letter again that could not leave this machine, unless a newer one took its place.
    fn send_again(&mut self, unsent: &CorrelationId) {
        let league = self.league;
        match unsent {
            CorrelationId::Announcement {
                match_id,
                attempt,
                player_id,
            } => {
                let fixture = league.fixture(match_id);
                let is_now = fixture.is_some_and(|fixture| fixture.announced_attempt() == *attempt);
                let number = league.players.find(player_id).filter(|_| is_now);
                if let Some(number) = number {
                    self.announce_to(number);
                }
            }
            CorrelationId::CallQuery(asked) => self.ask_player(asked.clone()),
            CorrelationId::Order { .. }
            | CorrelationId::Assignment { .. }
            | CorrelationId::GameOver { .. }
            | CorrelationId::Probe(_)
            | CorrelationId::Notice(_) => {}
        }
    }

    /// Tells of the rulings of this round and the one before.
    fn tell_rulings(&mut self) {
        let rounds = self
            .league
            .past
            .back()
            .into_iter()
            .chain(&self.league.round);
        for fixture in rounds.flat_map(|round| &round.fixtures) {
            self.tell_ruling(Some(fixture));
        }
    }

    /// Tells the players of a match the ruling of the manager, if a referee had begun the match and
    /// cannot tell them.
    fn tell_ruling(&mut self, fixture: Option<&LeagueFixture>) {
        let ruled = |fixture: &&LeagueFixture| fixture.referee.is_none() && fixture.was_given();
        let Some(fixture) = fixture.filter(ruled) else {
            return;
        };
        let Some(result) = &fixture.result else {
            return;
        };
        let timeouts = &self.league.rules.timeouts;
        for (seat, &number) in fixture.pairing.seats.iter().enumerate() {
            let player = self.league.players.get(number);
            let Some(player) = player.filter(|player| self.league.is_reached(player)) else {
                continue;
            };
            let message = Message::from(GameOver {
                league_id: self.league.rules.league_id.clone(),
                round_id: fixture.pairing.round,
                match_id: fixture.match_id.clone(),
                game_type: self.league.rules.game_type.clone(),
                receiver: player.id.clone(),
                result: Arc::clone(result),
            });
            self.out.push(Letter {
                to: Arc::clone(&player.member.peer),
                message,
                credential: Credential::Match(fixture.tokens[seat].clone()),
                retry: timeouts.retrying(timeouts.game_over),
                proof: None,
                correlation: Some(CorrelationId::GameOver {
                    match_id: fixture.match_id.clone(),
                    player_id: player.id.clone(),
                }),
            });
        }
    }

    fn listeners(&self) -> impl Iterator<Item = (u32, &'a PlayerEntry)> + use<'a> {
        let league = self.league;
        let players = (0..).zip(&league.players.members);
        players.filter(|(number, player)| league.is_listening(*number, player))
    }

    fn notice(&self, member: &Member, message: Message) -> Letter<CorrelationId> {
        let correlation = CorrelationId::Notice(member.peer.agent.clone());
        letter(member, message, self.usual_retry(), correlation)
    }

    fn probe(&self, member: &Member) -> Letter<CorrelationId> {
        let timeout = self
            .league
            .rules
            .probe_every
            .min(self.league.rules.timeouts.other);
        let correlation = CorrelationId::Probe(member.peer.agent.clone());
        let retry = self.league.rules.timeouts.once(timeout);
        letter(member, Message::Ping, retry, correlation)
    }

    fn usual_retry(&self) -> RetryRule {
        self.league
            .rules
            .timeouts
            .retrying(self.league.rules.timeouts.other)
    }

    fn broadcast_standings(&mut self) {
        let Some(closed) = self.league.closed.back() else {
            return;
        };
        for (number, player) in self.listeners() {
            let news = self.end_of_round(closed, number);
            let news = news.map(|message| self.notice(&player.member, message));
            self.out.extend(news);
        }
    }

    /// Tells a player that knows how its match ended what happened since: the ends of rounds from
    /// this one on, each with the announcement of the next, up to a round whose result it does not
    /// know.
    fn tell_news(&mut self, player: &PlayerId, from: u32) {
        let league = self.league;
        let found = league.players.find(player);
        let found = found.and_then(|number| Some((number, league.players.get(number)?)));
        let Some((number, player)) = found.filter(|(_, player)| league.is_reached(player)) else {
            return;
        };
        let until = league.first_hold(number).unwrap_or(u32::MAX);
        let told = |closed: &&ClosedRound| (from..until).contains(&closed.number);
        for closed in league.closed.iter().filter(told) {
            let news = self.end_of_round(closed, number);
            let news = news.map(|message| self.notice(&player.member, message));
            self.out.extend(news);
            let mut rounds = league.past.iter().chain(&league.round);
            // In a round that grows the result of its last match there comes first.
            let is_next = |round: &&LeagueRound| {
                round.number == closed.number + 1 && (round.closed || until > round.number)
            };
            let next = rounds.find(is_next);
            if let Some(next) = next {
                let all = self.all_matches(next);
                self.out.push(self.announcement(number, player, next, &all));
            }
        }
        // In a round that grows the player waits for its next match in it.
        if league
            .round()
            .is_some_and(|round| round.number == from && !round.closed)
        {
            self.announce_to(number);
        }
    }

    fn end_of_round(&self, closed: &ClosedRound, receiver: u32) -> [Message; 2] {
        let has_next = self.league.has_round_after(closed.number);
        let next_round_id = has_next.then_some(closed.number + 1);
        let standings = rows_for(&closed.rows, &closed.table, Some(receiver));
        let update = Message::from(StandingsUpdate {
            league_id: self.league.rules.league_id.clone(),
            round_id: closed.number,
            standings: standings.clone(),
        });
        let completed = Message::from(RoundCompleted {
            league_id: self.league.rules.league_id.clone(),
            round_id: closed.number,
            next_round_id,
            summary: closed.summary,
            standings,
        });
        [update, completed]
    }

    /// The end goes to every agent, suspended or not.
    fn tell_end(&mut self) {
        let table = self.league.table();
        let rows = self.league.told_rows(&table);
        let players = (0..).zip(&self.league.players.members);
        let players = players.filter(|(_, player)| player.seat != Seat::GivenUp);
        let players = players.map(|(number, player)| (&player.member, Some(number)));
        let referees = self.league.referees.members.iter();
        let referees = referees.map(|referee| (&referee.member, None));
        let letters: Vec<_> = players
            .chain(referees)
            .map(|(member, receiver)| self.notice(member, self.end(&table, &rows, receiver)))
            .collect();
        self.out.extend(letters);
    }

    fn end(&self, table: &Ranking, rows: &Rows<StandingRow>, receiver: Option<u32>) -> Message {
        Message::from(LeagueCompleted {
            league_id: self.league.rules.league_id.clone(),
            total_rounds: self.league.rounds(),
            total_matches: u32::try_from(self.league.total_matches()).unwrap_or(u32::MAX),
            champion: self
                .league
                .winners(&table.rows)
                .next()
                .map(|(_, first)| champion(first)),
            final_standings: rows_for(rows, table, receiver),
        })
    }
}

impl League {
    fn pace_ms(&self) -> Option<u32> {
        let pace = self.rules.pace;
        (!pace.is_zero()).then(|| u32::try_from(pace.as_millis()).unwrap_or(u32::MAX))
    }

    /// Whether the league is so large that players are not told of all others.
    fn is_large(&self) -> bool {
        self.players.members.len() > self.rules.broadcast_limit
    }

    /// The rows that all players are told: the whole table, or the top of it in a large league.
    pub(super) fn told_rows(&self, table: &Ranking) -> Rows<StandingRow> {
        match self.is_large() {
            true => table
                .rows
                .iter()
                .take(self.rules.top_rows)
                .cloned()
                .collect(),
            false => Arc::clone(&table.rows).into(),
        }
    }

    /// Whether a player is sent news: not if it was shut down, and not while it is suspended.
    pub(crate) fn is_reached(&self, player: &PlayerEntry) -> bool {
        !player.is_out()
            && (self.phase == Phase::Completed
                || self.player_state(player) != AgentState::Suspended)
    }

    /// Whether a player is told of its matches. A suspended player is, too: it may be back, and
    /// referees call it with what the announcement tells.
    fn is_announced_to(&self, number: u32, player: &PlayerEntry) -> bool {
        !player.is_out() && self.first_hold(number).is_none()
    }

    /// Whether a player gets news now: not before it knows how its last match ended.
    fn is_listening(&self, number: u32, player: &PlayerEntry) -> bool {
        self.is_reached(player) && self.first_hold(number).is_none()
    }

    /// Whether both players of a match know of this attempt, or cannot be told.
    fn is_announced(&self, fixture: &LeagueFixture) -> bool {
        (0..2).all(|seat| {
            let player = self.players.get(fixture.pairing.seats[seat]);
            let is_waited_for =
                |player: &PlayerEntry| self.is_reached(player) && !player.ignores_news;
            fixture.informed[seat] || !player.is_some_and(is_waited_for)
        })
    }
}

fn letter(
    member: &Member,
    message: Message,
    retry: RetryRule,
    correlation: CorrelationId,
) -> Letter<CorrelationId> {
    let token = member.manager_token.clone();
    Letter {
        to: Arc::clone(&member.peer),
        message,
        credential: token.map_or(Credential::None, Credential::Manager),
        retry,
        proof: None,
        correlation: Some(correlation),
    }
}

/// The rows that all are told, and the receiver's own if it is not among them.
fn rows_for(told: &Rows<StandingRow>, table: &Ranking, receiver: Option<u32>) -> Rows<StandingRow> {
    let own = receiver.and_then(|receiver| table.row(receiver));
    match own.filter(|own| own.rank as usize > told.len()) {
        Some(own) => told.and(own.clone()),
        None => told.clone(),
    }
}

/// The seconds by which the organiser extended the clock of a player in a match.
fn extra_seconds(player: &PlayerEntry, fixture: &LeagueFixture) -> Option<u32> {
    let seconds = player.extra_time.saturating_add(fixture.extra_time);
    (seconds > 0).then_some(seconds)
}

fn champion(row: &StandingRow) -> Champion {
    Champion {
        player_id: row.player_id.clone(),
        display_name: Arc::clone(&row.display_name),
        points: row.points,
        wins: row.wins,
        losses: row.losses,
        played: row.played,
    }
}
