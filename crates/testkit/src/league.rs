//! A league manager without a process: it records its events, keeps its letters and checks its own
//! promises after each event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::{
    Applicant, Command, CorrelationId, Event, FixtureStage, Inconsistency, League, LeagueFixture,
    LeagueRound, LeagueRules, Lever, LeverPull, Refusal, Reply,
};
use league_core::letter::{CallFailure, Letter, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    AgentMeta, DrawRequest, Enrolment, GameOverTold, MatchResultReport, MatchStatus, Message,
    RegisterRequest, RegisterResponse, SignedMove, StartMatch, StartMatchAck,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use crate::report::{ended, forfeited, honest};

pub const SECRET: LeagueSecret = LeagueSecret([7; 32]);
/// More steps at one moment than any test needs: a league that never rests is broken.
const MAX_STEPS: usize = 10_000;

pub struct LeagueWorld {
    pub league: League,
    pub now: Timestamp,
    /// All events, in order.
    pub events: Vec<Event>,
    /// Letters not taken yet.
    pub letters: Vec<Letter<CorrelationId>>,
    pub tokens: BTreeMap<Agent, AuthToken>,
    /// Whether the manager's letters to players are answered at once: announcements are taken, and
    /// players that are asked whether they were called stay silent.
    pub players_answer: bool,
    /// Attempts whose moves were handed over.
    handed: BTreeSet<(MatchId, u32)>,
    chance: u8,
}

impl LeagueWorld {
    pub fn new(rules: LeagueRules) -> Self {
        Self {
            league: League::new(rules, LeagueSecrets::one(SECRET)).unwrap(),
            now: Timestamp::from_millis(1_000_000),
            events: Vec::new(),
            letters: Vec::new(),
            tokens: BTreeMap::new(),
            players_answer: true,
            handed: BTreeSet::new(),
            chance: 0,
        }
    }

    /// A league of so many players and referees, each running so many matches at once, in its
    /// first round.
    pub fn begun(players: u32, referees: u32, capacity: u32) -> Self {
        Self::begun_by(rules(), players, referees, capacity)
    }

    pub fn begun_by(rules: LeagueRules, players: u32, referees: u32, capacity: u32) -> Self {
        Self::begun_with(rules, players, referees, capacity, |_| ())
    }

    /// The same with players that sign their moves.
    pub fn begun_signing(players: u32, referees: u32, capacity: u32) -> Self {
        Self::begun_with(rules(), players, referees, capacity, |player| {
            player.request.meta.proofs = true;
        })
    }

    pub fn begun_with(
        rules: LeagueRules,
        players: u32,
        referees: u32,
        capacity: u32,
        change: impl Fn(&mut Applicant),
    ) -> Self {
        let mut world = Self::new(rules);
        for number in 1..=referees {
            world.admit_referee(&format!("Referee {number}"), capacity);
        }
        for number in 1..=players {
            let mut candidate = world.candidate(&format!("Player {number}"));
            change(&mut candidate);
            world.register_player(candidate);
        }
        world.when(&Command::pull(Lever::Start)).unwrap();
        world.settle();
        world
    }

    /// Begins again from the journal alone.
    pub fn restart(&mut self) {
        self.league = self.replayed();
        self.letters = self.league.pending();
        if self.players_answer {
            self.answer_players(0);
        }
    }

    /// Lets players answer the letters from this one on.
    pub fn answer_players(&mut self, from: usize) {
        let letters = self.letters.iter().skip(from);
        let asked = letters.filter_map(|letter| letter.correlation.clone());
        for correlation in asked.collect::<Vec<_>>() {
            match &correlation {
                CorrelationId::Announcement { .. } | CorrelationId::GameOver { .. } => {
                    self.hear(correlation, Ok(Message::Acknowledged));
                }
                CorrelationId::CallQuery { .. } => {
                    self.hear(correlation, Err(Code::Timeout));
                }
                _ => {}
            }
        }
    }

    /// Decides and applies a command; returns the decision.
    pub fn when(&mut self, command: &Command) -> Result<(Vec<Event>, Reply), Refusal> {
        let (events, answer) = self.decide(command);
        answer.map(|reply| (events, reply))
    }

    fn decide(&mut self, command: &Command) -> (Vec<Event>, Result<Reply, Refusal>) {
        let decision = self.league.decide(self.now, command);
        let again = self.league.decide(self.now, command);
        assert_eq!(again, decision, "a decision is repeatable");
        let before = self.letters.len();
        for event in &decision.events {
            self.league.apply(event);
            self.league.letters(event, &mut self.letters);
            self.events.push(event.clone());
            self.check_promises();
        }
        if self.players_answer {
            self.answer_players(before);
            self.tell_results(&decision.events);
        }
        (decision.events, decision.answer)
    }

    /// Lets referees tell that the players know these results.
    fn tell_results(&mut self, events: &[Event]) {
        for event in events {
            if let Event::ResultRecorded {
                match_id,
                referee: Some(referee),
                attempt,
                ..
            } = event
            {
                let told = self.told_command(referee, match_id, *attempt, None);
                let _ = self.decide(&told);
            }
        }
    }

    /// A referee tells that a player knows a result, or both.
    pub fn told_command(
        &self,
        referee: &RefereeId,
        match_id: &MatchId,
        attempt: u32,
        player_id: Option<PlayerId>,
    ) -> Command {
        let agent = Agent::Referee(referee.clone());
        Command::GameOverTold {
            token: self.tokens.get(&agent).map(AuthToken::hash),
            sender: Some(agent),
            told: Box::new(GameOverTold {
                league_id: self.league.rules().league_id.clone(),
                match_id: match_id.clone(),
                attempt,
                player_id,
            }),
        }
    }

    /// Ticks until nothing is due; returns the events.
    pub fn settle(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..MAX_STEPS {
            if self.league.wakeup().is_none_or(|due| due > self.now) {
                return events;
            }
            let (more, _) = self.when(&Command::Tick).unwrap();
            assert!(!more.is_empty(), "due, and nothing to do");
            events.extend(more);
        }
        panic!("the league never rests");
    }

    pub fn pass(&mut self, seconds: u64) -> Vec<Event> {
        self.now = self.now + Duration::from_secs(seconds);
        self.settle()
    }

    pub fn candidate(&mut self, name: &str) -> Applicant {
        self.chance = self.chance.wrapping_add(1);
        candidate(name, self.chance)
    }

    pub fn admit_player(&mut self, name: &str) -> PlayerId {
        let candidate = self.candidate(name);
        self.register_player(candidate).id
    }

    pub fn register_player(&mut self, candidate: Applicant) -> Enrolment<PlayerId> {
        let (_, reply) = self.when(&Command::RegisterPlayer(candidate)).unwrap();
        let Reply::Player(RegisterResponse::Accepted(enrolment)) = reply else {
            panic!("the player was not let in: {reply:?}");
        };
        let agent = Agent::Player(enrolment.id.clone());
        self.tokens.insert(agent, enrolment.token.clone());
        *enrolment
    }

    /// Pulls a lever as the administrator.
    pub fn pull(&mut self, lever: Lever) -> Result<(Vec<Event>, Reply), Refusal> {
        self.when(&Command::Pull(Box::new(LeverPull {
            admin: true,
            lever,
            reason: "as the organiser says".to_owned(),
            code: None,
        })))
    }

    /// Admits a referee by the organiser's word, which is good also after the start.
    pub fn invite_referee(&mut self, name: &str, capacity: u32) -> RefereeId {
        let contact_endpoint = candidate(name, 0).request.meta.contact_endpoint;
        self.pull(Lever::AdmitReferee { contact_endpoint }).unwrap();
        self.admit_referee(name, capacity)
    }

    pub fn admit_referee(&mut self, name: &str, capacity: u32) -> RefereeId {
        let mut candidate = self.candidate(name);
        candidate.request.meta.max_concurrent_matches = Some(capacity);
        self.register_referee(candidate).id
    }

    pub fn register_referee(&mut self, candidate: Applicant) -> Enrolment<RefereeId> {
        let (_, reply) = self.when(&Command::RegisterReferee(candidate)).unwrap();
        let Reply::Referee(RegisterResponse::Accepted(enrolment)) = reply else {
            panic!("the referee was not let in: {reply:?}");
        };
        let agent = Agent::Referee(enrolment.id.clone());
        self.tokens.insert(agent, enrolment.token.clone());
        *enrolment
    }

    /// Takes the orders out of the letters.
    pub fn orders(&mut self) -> Vec<(RefereeId, StartMatch)> {
        let mut orders = Vec::new();
        self.letters
            .retain(|letter| match (&letter.message, &letter.to.agent) {
                (Message::StartMatch(order), Agent::Referee(referee)) => {
                    orders.push((referee.clone(), (**order).clone()));
                    false
                }
                _ => true,
            });
        orders
    }

    /// Takes the order for a match out of the letters.
    pub fn order(&mut self, match_id: &str) -> (RefereeId, StartMatch) {
        let place = self.letters.iter().position(|letter| {
            matches!(&letter.message, Message::StartMatch(order) if order.match_id.as_str() == match_id)
        });
        let letter = self.letters.remove(place.unwrap());
        match (letter.message, &letter.to.agent) {
            (Message::StartMatch(order), Agent::Referee(referee)) => {
                (referee.clone(), Arc::unwrap_or_clone(order))
            }
            (message, to) => panic!("{message:?} to {to}"),
        }
    }

    /// Ends a match that was ordered: this player wins, or `None` for a draw.
    pub fn finish(&mut self, match_id: &str, winner: Option<u32>) {
        let winner = winner.map(PlayerId::numbered);
        self.finish_by(match_id, |order| ended(order, winner.as_ref()));
    }

    /// Ends a match that was ordered and that these players missed.
    pub fn forfeit(&mut self, match_id: &str, absent: &[u32]) {
        self.finish_by(match_id, |order| {
            let seats = order.players.iter().enumerate();
            let absent = seats.filter(|(_, player)| {
                let mut absent = absent.iter().map(|number| PlayerId::numbered(*number));
                absent.any(|absent| absent == player.player_id)
            });
            let failed: Vec<_> = absent.map(|(seat, _)| (seat, Code::Timeout)).collect();
            forfeited(order, &failed)
        });
    }

    fn finish_by(&mut self, match_id: &str, report: impl FnOnce(&StartMatch) -> MatchResultReport) {
        let (referee, order) = self.order(match_id);
        self.answer_order(&referee, &order, true);
        self.report(&referee, report(&order)).unwrap();
        self.settle();
    }

    /// Takes all letters to an agent.
    pub fn letters_to(&mut self, agent: &Agent) -> Vec<Message> {
        let mut taken = Vec::new();
        self.letters.retain(|letter| {
            if letter.to.agent == *agent {
                taken.push(letter.message.clone());
            }
            letter.to.agent != *agent
        });
        taken
    }

    /// Hands over moves and requests the draw.
    pub fn request_draw(
        &mut self,
        referee: &RefereeId,
        order: &StartMatch,
        moves: &[SignedMove],
    ) -> (Vec<Event>, Result<Reply, Refusal>) {
        let command = self.draw_command(referee, &draw_request(order, moves));
        self.decide(&command)
    }

    pub fn draw_command(&self, referee: &RefereeId, request: &DrawRequest) -> Command {
        let agent = Agent::Referee(referee.clone());
        Command::RequestDraw {
            token: self.tokens.get(&agent).map(AuthToken::hash),
            sender: Some(agent),
            request: Arc::new(request.clone()),
        }
    }

    /// Hands over the moves of a played match, as its referee does before it reports.
    pub fn hand_over(&mut self, referee: &RefereeId, report: &MatchResultReport) {
        let attempt = (report.match_id.clone(), report.attempt);
        let is_drawn = report.game_type.as_str() == "even_odd"
            && report.result.status != MatchStatus::TechnicalLoss;
        if is_drawn && self.handed.insert(attempt) {
            let command = self.draw_command(referee, &request_of(report));
            let _ = self.decide(&command);
        }
    }

    /// Reports a result, after the hand-over if it is of a played match; returns what is written.
    pub fn report(
        &mut self,
        referee: &RefereeId,
        report: MatchResultReport,
    ) -> Result<(Vec<Event>, Reply), Refusal> {
        self.hand_over(referee, &report);
        let command = self.report_command(referee, report);
        let before = self.events.len();
        let reply = match self.when(&command) {
            Err(Refusal::AskingPlayer(_)) if self.players_answer => self.when(&command)?.1,
            decided => decided?.1,
        };
        let since = self.events[before..].iter();
        let recorded = since.filter(|event| League::keep(event) == Persistence::Journal);
        Ok((recorded.cloned().collect(), reply))
    }

    /// Sends a report that must be refused; returns the events.
    pub fn report_refused(
        &mut self,
        referee: &RefereeId,
        report: MatchResultReport,
    ) -> (Vec<Event>, Refusal) {
        let command = self.report_command(referee, report);
        let (events, answer) = self.decide(&command);
        (events, answer.unwrap_err())
    }

    pub fn report_command(&self, referee: &RefereeId, report: MatchResultReport) -> Command {
        let agent = Agent::Referee(referee.clone());
        Command::Report {
            token: self.tokens.get(&agent).map(AuthToken::hash),
            sender: Some(agent),
            report: Arc::new(report),
            is_at_address: true,
        }
    }

    pub fn answer_order(
        &mut self,
        referee: &RefereeId,
        order: &StartMatch,
        accepted: bool,
    ) -> Vec<Event> {
        let message = Message::from(StartMatchAck {
            match_id: order.match_id.clone(),
            accepted,
            reason: None,
        });
        self.hear(order_correlation(referee, order), Ok(message))
    }

    pub fn fail_order(&mut self, referee: &RefereeId, order: &StartMatch) -> Vec<Event> {
        self.hear(order_correlation(referee, order), Err(Code::Connection))
    }

    pub fn hear(
        &mut self,
        correlation: CorrelationId,
        outcome: Result<Message, Code>,
    ) -> Vec<Event> {
        let outcome = match outcome {
            Ok(message) => Ok(PeerAnswer {
                message,
                token: None,
            }),
            Err(code) => Err(CallFailure::of_peer(code, "nobody is there")),
        };
        self.when(&Command::Outcome {
            correlation,
            outcome,
        })
        .unwrap()
        .0
    }

    /// A letter could not leave the machine of the manager.
    pub fn unsent(&mut self, correlation: CorrelationId) -> Vec<Event> {
        let outcome = Err(CallFailure::local("no descriptors"));
        let command = Command::Outcome {
            correlation,
            outcome,
        };
        self.when(&command).unwrap().0
    }

    /// Plays every match that was ordered, until no order is left; players choose by number.
    pub fn play_on(&mut self) {
        self.play_by(honest);
    }

    /// Plays every match that was ordered with this report, until no order is left.
    pub fn play_by(&mut self, report: impl Fn(&StartMatch) -> MatchResultReport) {
        for _ in 0..MAX_STEPS {
            let orders = self.orders();
            if orders.is_empty() {
                return;
            }
            for (referee, order) in orders {
                self.answer_order(&referee, &order, true);
                self.report(&referee, report(&order)).unwrap();
            }
            self.settle();
        }
        panic!("the league never ends");
    }

    pub fn fixture(&self, match_id: &str) -> &LeagueFixture {
        let round = self.league.round().unwrap();
        let mut fixtures = round.fixtures().iter();
        fixtures
            .find(|fixture| fixture.match_id().as_str() == match_id)
            .unwrap()
    }

    pub fn referee_of(&self, match_id: &str) -> Option<String> {
        let referee = self.league.referee_of(self.fixture(match_id));
        referee.map(|referee| referee.id().to_string())
    }

    /// The events that stand in the journal.
    pub fn journal(&self) -> impl Iterator<Item = &Event> {
        let kept = |event: &&Event| League::keep(event) == Persistence::Journal;
        self.events.iter().filter(kept)
    }

    /// A second league, made from the journal alone.
    pub fn replayed(&self) -> League {
        let secrets = LeagueSecrets::one(SECRET);
        let mut league = League::new(self.league.rules().clone(), secrets).unwrap();
        self.journal().for_each(|event| league.apply(event));
        league
    }

    /// Reads the journal as someone does who has no secret.
    pub fn audited(&self) -> Result<League, Inconsistency> {
        let unknown = LeagueSecrets::one(LeagueSecret([0; 32]));
        let mut league = League::new(self.league.rules().clone(), unknown).unwrap();
        for event in self.journal() {
            league.audit(event)?;
            league.apply(event);
        }
        Ok(league)
    }

    /// Sees that the journal can be audited without the secret, and gives the same league after a
    /// restart.
    pub fn check_journal(&self) {
        let audited = self.audited().unwrap();
        let signs = |league: &League| {
            let round = league.round().map(LeagueRound::fixtures);
            let fixtures = round.unwrap_or_default().iter();
            fixtures.map(LeagueFixture::signs).collect::<Vec<_>>()
        };
        assert_eq!(signs(&audited), signs(&self.league), "who signs");
        assert_eq!(self.replayed().after_restart(), self.league.after_restart());
    }

    /// What must hold after every fact.
    fn check_promises(&self) {
        let league = &self.league;
        let Some(round) = league.round() else { return };
        let mut busy = BTreeSet::new();
        // In a round that grows a player has several matches, one after the other.
        let has_grown = round.fixtures().len() > league.players().len() / 2;
        for fixture in round.fixtures() {
            let finished = fixture.stage() == FixtureStage::Finished;
            for seat in fixture.pairing().seats {
                let is_over = finished && has_grown;
                assert!(is_over || busy.insert(seat), "a player has two matches");
            }
            // The organiser may end a match without a result.
            assert!(finished || fixture.result().is_none());
        }
        for referee in league.referees() {
            let mine = |fixture: &&LeagueFixture| {
                fixture.is_started()
                    && league.referee_of(fixture).map(|found| found.id()) == Some(referee.id())
            };
            let started = round.fixtures().iter().filter(mine).count();
            assert_eq!(started, referee.running() as usize);
            assert!(referee.running() <= referee.capacity(), "above capacity");
        }
        let rows = league.standings();
        let played: u32 = rows.iter().map(|row| row.played).sum();
        if league.amended_matches().is_empty() {
            assert_eq!(u64::from(played), 2 * league.matches_played());
        } else {
            assert!(u64::from(played) <= 2 * league.matches_played());
        }
        for row in rows.iter() {
            assert_eq!(row.played, row.wins + row.draws + row.losses);
        }
    }
}

pub fn rules() -> LeagueRules {
    LeagueRules::new(
        LeagueId::new("league_2025_even_odd").unwrap(),
        GameType::new("even_odd").unwrap(),
    )
}

pub fn candidate(name: &str, chance: u8) -> Applicant {
    Applicant {
        request: Box::new(RegisterRequest {
            meta: AgentMeta {
                display_name: name.to_owned(),
                version: "1.0.0".to_owned(),
                protocol_version: Some("2.1.0".to_owned()),
                game_types: (league_games::all().iter())
                    .map(|game| GameType::new(game.rules.game_type).unwrap())
                    .collect(),
                contact_endpoint: format!("http://localhost/{}", name.to_lowercase()),
                max_concurrent_matches: Some(1),
                speech: Some(CallStyle::Simple),
                proofs: false,
                human: false,
            },
            wanted_id: None,
            token: None,
            join_code: None,
            referee_key: None,
            is_plain: false,
        }),
        dialect: Dialect::V2,
        endpoint: Ok(()),
        speech: Some(CallStyle::Simple),
        chance: [chance; 32],
        has_key: true,
        is_listed: false,
        is_at_address: true,
    }
}

pub fn draw_request(order: &StartMatch, moves: &[SignedMove]) -> DrawRequest {
    DrawRequest {
        league_id: order.league_id.clone(),
        round_id: order.round_id,
        match_id: order.match_id.clone(),
        attempt: order.attempt,
        order_token: Some(order.order_token.clone()),
        moves: moves.to_vec(),
    }
}

/// The request that comes before a report of a played match.
pub fn request_of(report: &MatchResultReport) -> DrawRequest {
    DrawRequest {
        league_id: report.league_id.clone(),
        round_id: report.round_id,
        match_id: report.match_id.clone(),
        attempt: report.attempt,
        order_token: report.order_token.clone(),
        moves: report.result.evidence.moves.clone(),
    }
}

pub fn order_correlation(referee: &RefereeId, order: &StartMatch) -> CorrelationId {
    CorrelationId::Order {
        match_id: order.match_id.clone(),
        attempt: order.attempt,
        referee: referee.clone(),
    }
}
