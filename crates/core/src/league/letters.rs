//! Outgoing letters of the league manager: which message goes to whom after an event.

use std::sync::Arc;

use league_protocol::message::{
    AnnouncedMatch, Champion, LeagueCompleted, LeagueStart, Message, RoundAnnouncement,
    RoundCompleted, StandingRow, StandingsUpdate, StartMatch, StartMatchPlayer,
};
use league_protocol::sender::{Agent, Dialect};

use super::command::CorrelationId;
use super::event::Event;
use super::roster::{AgentIndex, AgentState, Member, PlayerEntry};
use super::round::{Fixture, Round};
use super::standings::Ranking;
use super::{ClosedRound, League, Phase};
use crate::letter::{Credential, Letter, RetryPolicy};

type Letters = Vec<Letter<CorrelationId>>;

impl League {
    pub(crate) fn write_letters(&self, event: &Event, out: &mut Letters) {
        match event {
            Event::LeagueStarted { .. } => self.announce_start(out),
            Event::RoundOpened { .. } => {
                self.announce_round(out);
                self.order_all(out, |_| true);
            }
            Event::MatchesMoved { moves, next, .. } => {
                let moved = moves.iter().map(|moved| &moved.match_id);
                for match_id in moved.chain(next) {
                    self.order(self.fixture(match_id), out);
                }
            }
            Event::ResultRecorded { next, .. } => {
                self.order(next.as_ref().and_then(|next| self.fixture(next)), out);
            }
            Event::RoundClosed { .. } => self.tell_table(out),
            Event::LeagueCompleted { .. } => self.tell_end(out),
            Event::AgentReturned { agent, .. } => {
                self.welcome_back(agent, out);
                self.tell_referee_of(agent, out);
            }
            Event::AgentAnswered {
                agent,
                recovered: true,
                ..
            } => self.welcome_back(agent, out),
            Event::ProbesSent { agents, .. } => {
                let members = agents.iter().filter_map(|agent| self.find_agent(agent));
                for member in members.filter_map(|who| self.member(who)) {
                    out.push(self.probe(member));
                }
            }
            Event::PlayerRegistered { .. }
            | Event::RefereeRegistered { .. }
            | Event::ReportConflicted { .. }
            | Event::ReportRefused { .. }
            | Event::PlayerShutDown { .. }
            | Event::MatchAccepted { .. }
            | Event::AgentFailed { .. }
            | Event::AgentAnswered { .. }
            | Event::RefereeSuspended { .. }
            | Event::Stopped => {}
        }
    }

    /// What may not have arrived when the process ended: the last table, the present round.
    pub(crate) fn write_pending(&self, out: &mut Letters) {
        match self.phase {
            Phase::Registering => {}
            Phase::Running => {
                if self.closed.is_some() {
                    self.tell_table(out);
                } else {
                    self.announce_start(out);
                }
                if self.round.as_ref().is_some_and(|round| !round.closed) {
                    self.announce_round(out);
                    self.order_all(out, |_| true);
                }
            }
            Phase::Completed => {
                self.tell_table(out);
                self.tell_end(out);
            }
        }
    }

    /// A player comes back to its round, a referee to its matches, and either to the end.
    fn welcome_back(&self, agent: &Agent, out: &mut Letters) {
        if self.phase == Phase::Completed {
            let who = self.find_agent(agent);
            let receiver = match who {
                Some(AgentIndex::Player(number)) => Some(number),
                _ => None,
            };
            let member = who.and_then(|who| self.member(who));
            let end = |member| self.notice(member, self.end(&self.table(), receiver));
            out.extend(member.map(end));
        }
        let Some(round) = self.round.as_ref().filter(|round| !round.closed) else {
            return;
        };
        match self.find_agent(agent) {
            Some(AgentIndex::Player(number)) => {
                if let Some(player) = self.players.get(number).filter(|player| self.hears(player)) {
                    out.push(self.announcement(number, player, round, &self.all_matches(round)));
                }
            }
            Some(AgentIndex::Referee(number)) => {
                self.order_all(out, |fixture| fixture.referee == Some(number));
            }
            None => {}
        }
    }

    /// The referee of a player that came back learns its new token and address.
    fn tell_referee_of(&self, agent: &Agent, out: &mut Letters) {
        let round = self.round.as_ref().filter(|round| !round.closed);
        let (Some(round), Some(AgentIndex::Player(number))) = (round, self.find_agent(agent))
        else {
            return;
        };
        let pairing = self.schedule.pairing_of(number, round.number);
        self.order(pairing.and_then(|own| round.fixture(own.index)), out);
    }

    fn announce_start(&self, out: &mut Letters) {
        let first_protocol =
            |player: &&PlayerEntry| player.member.peer.dialect == Dialect::V1 && self.hears(player);
        let mut listeners = self
            .players
            .members
            .iter()
            .filter(first_protocol)
            .peekable();
        if listeners.peek().is_none() {
            return;
        }
        let schedule: Arc<_> = self.list_rounds(self.schedule, 1, self.rules.broadcast_limit);
        for player in listeners {
            let message = Message::from(LeagueStart {
                league_id: self.rules.league_id.clone(),
                total_rounds: self.schedule.rounds(),
                total_players: self.schedule.players(),
                game_type: self.rules.game_type.clone(),
                schedule: Arc::clone(&schedule),
            });
            out.push(self.notice(&player.member, message));
        }
    }

    fn announce_round(&self, out: &mut Letters) {
        let Some(round) = &self.round else { return };
        let all = self.all_matches(round);
        for (number, player) in self.listeners() {
            out.push(self.announcement(number, player, round, &all));
        }
    }

    fn announcement(
        &self,
        number: u32,
        player: &PlayerEntry,
        round: &Round,
        all: &Option<Arc<[AnnouncedMatch]>>,
    ) -> Letter<CorrelationId> {
        let own = self
            .schedule
            .pairing_of(number, round.number)
            .and_then(|pairing| round.fixture(pairing.index));
        let matches = match all {
            Some(all) => Arc::clone(all),
            None => own
                .and_then(|own| self.announced(own))
                .into_iter()
                .collect(),
        };
        let own = own.map(|own| {
            let seat = usize::from(own.pairing.seats[1] == number);
            (own.match_id.clone(), own.tokens[seat].clone())
        });
        let message = Message::from(RoundAnnouncement {
            league_id: self.rules.league_id.clone(),
            round_id: round.number,
            matches,
            own,
        });
        self.notice(&player.member, message)
    }

    /// The matches of a round, unless the league is so large that each player is told its own.
    fn all_matches(&self, round: &Round) -> Option<Arc<[AnnouncedMatch]>> {
        if self.is_large() {
            return None;
        }
        let fixtures = round.fixtures.iter();
        Some(
            fixtures
                .filter_map(|fixture| self.announced(fixture))
                .collect(),
        )
    }

    fn announced(&self, fixture: &Fixture) -> Option<AnnouncedMatch> {
        let [a, b] = self.seats_of(fixture)?;
        let referee = self.referee_of(fixture);
        Some(AnnouncedMatch {
            match_id: fixture.match_id.clone(),
            game_type: self.rules.game_type.clone(),
            player_a: a.clone(),
            player_b: b.clone(),
            referee_endpoint: referee.map_or_else(
                || Arc::from(""),
                |referee| Arc::clone(&referee.member.peer.endpoint),
            ),
            commitment: Some(fixture.commitment),
        })
    }

    fn order_all(&self, out: &mut Letters, which: impl Fn(&Fixture) -> bool) {
        let fixtures = self.round.iter().flat_map(|round| &round.fixtures);
        for fixture in fixtures.filter(|fixture| which(fixture)) {
            self.order(Some(fixture), out);
        }
    }

    /// Orders a match that is to be run now.
    fn order(&self, fixture: Option<&Fixture>, out: &mut Letters) {
        let Some(fixture) = fixture.filter(|fixture| fixture.is_started()) else {
            return;
        };
        let (Some(referee), Some(players)) = (self.referee_of(fixture), self.seated(fixture))
        else {
            return;
        };
        let message = Message::StartMatch(Arc::new(StartMatch {
            league_id: self.rules.league_id.clone(),
            round_id: fixture.pairing.round,
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            game_type: self.rules.game_type.clone(),
            settings: self.rules.game_settings.clone(),
            mode: self.rules.mode,
            step_token: self.step_token(&fixture.match_id).map(|token| token.hash()),
            strict: self.rules.strict,
            score: self.rules.score,
            seed: fixture.seed,
            players,
        }));
        let correlation = CorrelationId::Order {
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            referee: referee.id.clone(),
        };
        out.push(letter(
            &referee.member,
            message,
            self.usual_retry(),
            correlation,
        ));
    }

    fn seated(&self, fixture: &Fixture) -> Option<[StartMatchPlayer; 2]> {
        let seat = |seat: usize| {
            let number = fixture.pairing.seats[seat];
            let player = self.players.get(number)?;
            Some(StartMatchPlayer {
                player_id: player.id.clone(),
                endpoint: Arc::clone(&player.member.peer.endpoint),
                dialect: player.member.peer.dialect,
                speech: player.member.peer.speech,
                token_hash: player.member.token,
                match_token: fixture.tokens[seat].clone(),
                record: self.standings.record(number).win_loss_draw(),
            })
        };
        Some([seat(0)?, seat(1)?])
    }

    fn is_large(&self) -> bool {
        self.players.members.len() > self.rules.broadcast_limit
    }

    fn listeners(&self) -> impl Iterator<Item = (u32, &PlayerEntry)> {
        let players = (0..).zip(&self.players.members);
        players.filter(|(_, player)| self.hears(player))
    }

    fn hears(&self, player: &PlayerEntry) -> bool {
        !player.shut_down
            && (self.phase == Phase::Completed
                || self.player_state(player) != AgentState::Suspended)
    }

    fn notice(&self, member: &Member, message: Message) -> Letter<CorrelationId> {
        let correlation = CorrelationId::Notice(member.peer.agent.clone());
        letter(member, message, self.usual_retry(), correlation)
    }

    fn probe(&self, member: &Member) -> Letter<CorrelationId> {
        let timeout = self.rules.probe_every.min(self.rules.timeouts.other);
        let correlation = CorrelationId::Probe(member.peer.agent.clone());
        let retry = self.rules.timeouts.once(timeout);
        letter(member, Message::Ping, retry, correlation)
    }

    fn usual_retry(&self) -> RetryPolicy {
        self.rules.timeouts.retrying(self.rules.timeouts.other)
    }
}

fn letter(
    member: &Member,
    message: Message,
    retry: RetryPolicy,
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

impl League {
    pub(crate) fn tell_table(&self, out: &mut Letters) {
        let Some(closed) = &self.closed else { return };
        let rounds = self.schedule.rounds();
        let next_round_id = Some(closed.number + 1).filter(|&next| next <= rounds);
        let mut news = None;
        for (number, player) in self.listeners() {
            let told = || self.end_of_round(closed, next_round_id, number);
            // All are told the same, unless the league is so large that each has rows of its own.
            let [update, completed] = if self.is_large() {
                told()
            } else {
                news.get_or_insert_with(told).clone()
            };
            out.push(self.notice(&player.member, update));
            out.push(self.notice(&player.member, completed));
        }
    }

    fn end_of_round(
        &self,
        closed: &ClosedRound,
        next_round_id: Option<u32>,
        receiver: u32,
    ) -> [Message; 2] {
        let standings = self.rows_for(&closed.table, Some(receiver));
        let update = Message::from(StandingsUpdate {
            league_id: self.rules.league_id.clone(),
            round_id: closed.number,
            standings: Arc::clone(&standings),
        });
        let completed = Message::from(RoundCompleted {
            league_id: self.rules.league_id.clone(),
            round_id: closed.number,
            next_round_id,
            summary: closed.summary,
            standings,
        });
        [update, completed]
    }

    /// The last word goes to everyone, heard lately or not.
    pub(crate) fn tell_end(&self, out: &mut Letters) {
        let table = self.table();
        for (number, player) in (0..).zip(&self.players.members) {
            out.push(self.notice(&player.member, self.end(&table, Some(number))));
        }
        for referee in &self.referees.members {
            out.push(self.notice(&referee.member, self.end(&table, None)));
        }
    }

    pub(crate) fn end(&self, table: &Ranking, receiver: Option<u32>) -> Message {
        Message::from(LeagueCompleted {
            league_id: self.rules.league_id.clone(),
            total_rounds: self.schedule.rounds(),
            total_matches: u32::try_from(self.schedule.total_matches()).unwrap_or(u32::MAX),
            champion: table.rows.first().map(champion),
            final_standings: self.rows_for(table, receiver),
        })
    }

    /// The whole table, or the top of it and the receiver's own row in a large league.
    fn rows_for(&self, table: &Ranking, receiver: Option<u32>) -> Arc<[StandingRow]> {
        if !self.is_large() {
            return Arc::clone(&table.rows);
        }
        let top = table.rows.iter().take(self.rules.top_rows);
        let own = receiver
            .and_then(|receiver| table.row(receiver))
            .filter(|row| row.rank as usize > self.rules.top_rows);
        top.chain(own).cloned().collect()
    }
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
