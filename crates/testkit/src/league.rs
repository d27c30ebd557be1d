//! A league manager without a process: it records its events, keeps its letters and checks its own
//! promises after each event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use league_core::draw::LeagueSecret;
use league_core::league::{
    Applicant, Command, CorrelationId, Event, FixtureStage, Inconsistency, League, LeagueFixture,
    LeagueRules, Refusal, Reply,
};
use league_core::letter::{CallFailure, Letter, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::message::{
    AgentMeta, MatchResultReport, Message, RegisterRequest, RegisterResponse, StartMatch,
    StartMatchAck,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use crate::report::honest;

pub const SECRET: LeagueSecret = LeagueSecret([7; 32]);
/// More steps at one moment than any test needs: a league that never rests is broken.
const MOST_STEPS: usize = 10_000;

pub struct LeagueWorld {
    pub league: League,
    pub now: Timestamp,
    /// All events, in order.
    pub events: Vec<Event>,
    /// Letters not taken yet.
    pub letters: Vec<Letter<CorrelationId>>,
    pub tokens: BTreeMap<Agent, AuthToken>,
    chance: u8,
}

impl LeagueWorld {
    pub fn new(rules: LeagueRules) -> Self {
        Self {
            league: League::new(rules, SECRET).unwrap(),
            now: Timestamp::from_millis(1_000_000),
            events: Vec::new(),
            letters: Vec::new(),
            tokens: BTreeMap::new(),
            chance: 0,
        }
    }

    /// A league of so many players and referees, each running so many matches at once, in its
    /// first round.
    pub fn begun(players: u32, referees: u32, capacity: u32) -> Self {
        Self::begun_by(rules(), players, referees, capacity)
    }

    pub fn begun_by(rules: LeagueRules, players: u32, referees: u32, capacity: u32) -> Self {
        let mut world = Self::new(rules);
        for number in 1..=referees {
            world.admit_referee(&format!("Referee {number}"), capacity);
        }
        for number in 1..=players {
            world.admit_player(&format!("Player {number}"));
        }
        world.when(&Command::Start { admin: true }).unwrap();
        world.settle();
        world
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
        for event in &decision.events {
            self.league.apply(event);
            self.league.letters(event, &mut self.letters);
            self.events.push(event.clone());
            self.check_promises();
        }
        (decision.events, decision.answer)
    }

    /// Ticks until nothing is due; returns the events.
    pub fn settle(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for _ in 0..MOST_STEPS {
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
        let (_, reply) = self.when(&Command::RegisterPlayer(candidate)).unwrap();
        let Reply::Player(RegisterResponse::Accepted(enrolment)) = reply else {
            panic!("{name} was not let in: {reply:?}");
        };
        let agent = Agent::Player(enrolment.id.clone());
        self.tokens.insert(agent, enrolment.token);
        enrolment.id
    }

    pub fn admit_referee(&mut self, name: &str, capacity: u32) -> RefereeId {
        let mut candidate = self.candidate(name);
        candidate.request.meta.max_concurrent_matches = Some(capacity);
        let (_, reply) = self.when(&Command::RegisterReferee(candidate)).unwrap();
        let Reply::Referee(RegisterResponse::Accepted(enrolment)) = reply else {
            panic!("{name} was not let in: {reply:?}");
        };
        let agent = Agent::Referee(enrolment.id.clone());
        self.tokens.insert(agent, enrolment.token);
        enrolment.id
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

    pub fn report(
        &mut self,
        referee: &RefereeId,
        report: MatchResultReport,
    ) -> Result<(Vec<Event>, Reply), Refusal> {
        let command = self.report_command(referee, report);
        self.when(&command)
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
            Err(code) => Err(CallFailure {
                code,
                detail: "nobody is there".to_owned(),
            }),
        };
        self.when(&Command::Outcome {
            correlation,
            outcome,
        })
        .unwrap()
        .0
    }

    /// Plays every match that was ordered, until no order is left; players choose by number.
    pub fn play_on(&mut self) {
        for _ in 0..MOST_STEPS {
            let orders = self.orders();
            if orders.is_empty() {
                return;
            }
            for (referee, order) in orders {
                self.answer_order(&referee, &order, true);
                self.report(&referee, honest(&order)).unwrap();
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

    /// A second league, made from the journal alone.
    pub fn replayed(&self) -> League {
        let mut league = League::new(self.league.rules().clone(), SECRET).unwrap();
        for event in self
            .events
            .iter()
            .filter(|event| League::keep(event) == Persistence::Journal)
        {
            league.apply(event);
        }
        league
    }

    /// Reads the journal as someone does who has no secret.
    pub fn audited(&self) -> Result<League, Inconsistency> {
        let nobody_knows = LeagueSecret([0; 32]);
        let mut league = League::new(self.league.rules().clone(), nobody_knows).unwrap();
        for event in &self.events {
            if League::keep(event) == Persistence::Journal {
                league.audit(event)?;
                league.apply(event);
            }
        }
        Ok(league)
    }

    /// What must hold after every fact.
    fn check_promises(&self) {
        let league = &self.league;
        let Some(round) = league.round() else { return };
        let mut busy = BTreeSet::new();
        for fixture in round.fixtures() {
            for seat in fixture.pairing().seats {
                assert!(busy.insert(seat), "nobody plays twice in a round");
            }
            let finished = fixture.stage() == FixtureStage::Finished;
            assert_eq!(fixture.result().is_some(), finished);
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
        assert_eq!(u64::from(played), 2 * league.matches_played());
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
                game_types: vec![GameType::new("even_odd").unwrap()],
                contact_endpoint: format!("http://localhost/{}", name.to_lowercase()),
                max_concurrent_matches: Some(1),
                speech: Some(CallStyle::Simple),
            },
            wanted_id: None,
            token: None,
        }),
        dialect: Dialect::V2,
        endpoint: Ok(()),
        speech: Some(CallStyle::Simple),
        chance: [chance; 32],
    }
}

pub fn order_correlation(referee: &RefereeId, order: &StartMatch) -> CorrelationId {
    CorrelationId::Order {
        match_id: order.match_id.clone(),
        attempt: order.attempt,
        referee: referee.clone(),
    }
}
