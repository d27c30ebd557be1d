//! A small league of real machines and scripted players, and the journals that it leaves.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::storage::documents::TranscriptMessage;
use crate::storage::record::{Record, Transcript};
use league_core::breaker::BreakerRule;
use league_core::draw::LeagueSecret;
use league_core::league::{self as manager, Applicant, League, LeagueRules};
use league_core::letter::{Credential, Letter, Peer, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_core::referee::{self, Referee, RefereeRules};
use league_core::timeouts::Timeouts;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    AgentMeta, GameJoinAck, Message, MoveResponse, RegisterRequest, RegisterResponse,
};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

pub(crate) const SECRET: LeagueSecret = LeagueSecret([7; 32]);
const MOST_STEPS: usize = 100_000;

/// An entry of a journal.
pub(crate) type Entry<Event> = (u64, Timestamp, Record<Event>);

/// What watches the league: told of each entry once it is applied.
pub(crate) trait Witness {
    fn manager(&mut self, _entry: &Entry<manager::Event>, _league: &League) {}
    fn referee(&mut self, _referee: &RefereeId, _entry: &Entry<referee::Event>) {}
}

impl Witness for () {}

pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) league: League,
    pub(crate) journal: Vec<Entry<manager::Event>>,
    pub(crate) referees: BTreeMap<RefereeId, Whistle>,
    pub(crate) tokens: BTreeMap<Agent, AuthToken>,
    post: VecDeque<Post>,
}

/// A referee and its journal.
pub(crate) struct Whistle {
    machine: Referee,
    pub(crate) journal: Vec<Entry<referee::Event>>,
    said: BTreeMap<MatchId, Vec<TranscriptMessage>>,
}

enum Post {
    ByManager(Letter<manager::CorrelationId>),
    ByReferee(RefereeId, Letter<referee::CorrelationId>),
}

pub(crate) fn league_id() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

fn even_odd() -> GameType {
    GameType::new("even_odd").unwrap()
}

impl World {
    /// Plays a whole league to its end.
    pub(crate) fn played(players: u32, referees: u32, witness: &mut impl Witness) -> Self {
        let rules = LeagueRules::new(league_id(), even_odd());
        let mut world = Self {
            now: Timestamp::from_millis(1_765_661_400_000),
            league: League::new(rules, SECRET).unwrap(),
            journal: Vec::new(),
            referees: BTreeMap::new(),
            tokens: BTreeMap::new(),
            post: VecDeque::new(),
        };
        for number in 1..=referees {
            world.admit_referee(number, witness);
        }
        for number in 1..=players {
            let candidate = candidate(&format!("Player {number}"), number);
            world.command(&manager::Command::RegisterPlayer(candidate), witness);
        }
        world.command(&manager::Command::Start { admin: true }, witness);
        for _ in 0..MOST_STEPS {
            if !world.step(witness) {
                assert_eq!(world.league.phase(), manager::Phase::Completed);
                return world;
            }
        }
        panic!("the league never ends");
    }

    /// Every token that was given to anyone, match tokens among them.
    pub(crate) fn all_tokens(&self) -> Vec<String> {
        let mut tokens: Vec<String> = self
            .tokens
            .values()
            .map(|t| t.reveal().to_owned())
            .collect();
        for pairing in self.league.schedule().pairings() {
            let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
            for seat in pairing.seats {
                let player = self.league.players()[seat as usize].id();
                let token = SECRET.match_token(&league_id(), &match_id, player);
                tokens.push(token.reveal().to_owned());
            }
        }
        tokens
    }

    fn admit_referee(&mut self, number: u32, witness: &mut impl Witness) {
        let candidate = candidate(&format!("Referee {number}"), 100 + number);
        let reply = self.command(&manager::Command::RegisterReferee(candidate), witness);
        let manager::Reply::Referee(RegisterResponse::Accepted(enrolment)) = reply else {
            panic!("{reply:?}");
        };
        let id = enrolment.id.clone();
        let whistle = Whistle {
            machine: Referee::new(referee_rules()),
            journal: Vec::new(),
            said: BTreeMap::new(),
        };
        self.referees.insert(id.clone(), whistle);
        self.whistle(&id, &referee::Command::Begin { token: None }, witness);
        let heard = referee::Command::Outcome {
            correlation: referee::CorrelationId::Registration { tried: 1 },
            outcome: Ok(PeerAnswer {
                message: Message::RefereeRegisterResponse(RegisterResponse::Accepted(enrolment)),
                token: None,
            }),
        };
        self.post.clear();
        self.whistle(&id, &heard, witness);
    }

    fn step(&mut self, witness: &mut impl Witness) -> bool {
        self.now = self.now + Duration::from_millis(7);
        if let Some(post) = self.post.pop_front() {
            match post {
                Post::ByManager(letter) => self.carry_to_agent(letter, witness),
                Post::ByReferee(from, letter) => self.carry_from_referee(&from, letter, witness),
            }
            return true;
        }
        let due = self.league.wakeup().is_some_and(|due| due <= self.now);
        if due {
            self.command(&manager::Command::Tick, witness);
        }
        due
    }

    fn carry_to_agent(
        &mut self,
        letter: Letter<manager::CorrelationId>,
        witness: &mut impl Witness,
    ) {
        let mut answer = Message::Acknowledged;
        if let (Message::StartMatch(order), Agent::Referee(id)) =
            (&letter.message, &letter.to.agent)
        {
            let command = referee::Command::StartMatch {
                order: order.clone(),
                token: match &letter.credential {
                    Credential::Manager(token) => Some(token.hash()),
                    _ => None,
                },
                barred: None,
            };
            if let Some(referee::Reply::StartMatchAck(ack)) = self.whistle(id, &command, witness) {
                answer = Message::StartMatchAck(ack);
            }
        }
        if let Some(correlation) = letter.correlation {
            let outcome = Ok(PeerAnswer {
                message: answer,
                token: None,
            });
            self.command(
                &manager::Command::Outcome {
                    correlation,
                    outcome,
                },
                witness,
            );
        }
    }

    fn carry_from_referee(
        &mut self,
        from: &RefereeId,
        letter: Letter<referee::CorrelationId>,
        witness: &mut impl Witness,
    ) {
        let (message, token) = match (&letter.message, &letter.to.agent) {
            (Message::MatchResultReport(report), _) => {
                let agent = Agent::Referee(from.clone());
                let command = manager::Command::Report {
                    token: self.tokens.get(&agent).map(AuthToken::hash),
                    sender: Some(agent),
                    report: report.clone(),
                };
                (self.command(&command, witness).to_message().unwrap(), None)
            }
            (message, Agent::Player(player)) => {
                let token = self.tokens.get(&letter.to.agent).map(AuthToken::hash);
                (self.play(from, player, message), token)
            }
            _ => (Message::Acknowledged, None),
        };
        if let Some(correlation) = letter.correlation {
            let outcome = Ok(PeerAnswer { message, token });
            self.whistle(
                from,
                &referee::Command::Outcome {
                    correlation,
                    outcome,
                },
                witness,
            );
        }
    }

    /// A player comes to every match and chooses by its number.
    fn play(&mut self, referee: &RefereeId, player: &PlayerId, message: &Message) -> Message {
        let (match_id, answer) = match message {
            Message::GameInvitation(invitation) => {
                let ack = GameJoinAck {
                    match_id: invitation.match_id.clone(),
                    player_id: None,
                    arrival: None,
                    accept: true,
                };
                (&invitation.match_id, Message::from(ack))
            }
            Message::MoveCall(call) => {
                let number = usize::from(player.as_str().as_bytes().last().unwrap() & 1);
                let response = MoveResponse {
                    match_id: call.match_id.clone(),
                    player_id: Some(player.clone()),
                    game_type: call.game_type.clone(),
                    move_type: Some(Arc::clone(&call.move_type)),
                    choice: json!(["even", "odd"][number]),
                    nonce: Some(nonce(player, &call.match_id)),
                    reasoning: None,
                };
                (&call.match_id, Message::MoveResponse(response.into()))
            }
            _ => return Message::Acknowledged,
        };
        let said = TranscriptMessage {
            timestamp: self.now,
            from: format!("player:{player}"),
            to: format!("referee:{referee}"),
            message_type: answer.v2_type().unwrap().to_owned(),
            message: match &answer {
                Message::MoveResponse(response) => {
                    json!({"choice": response.choice, "nonce": response.nonce})
                }
                _ => json!({}),
            },
            verbatim: None,
        };
        let whistle = self.referees.get_mut(referee).unwrap();
        whistle.said.entry(match_id.clone()).or_default().push(said);
        answer
    }

    fn command(
        &mut self,
        command: &manager::Command,
        witness: &mut impl Witness,
    ) -> manager::Reply {
        let decision = self.league.decide(self.now, command);
        let reply = decision.answer.unwrap();
        for event in decision.events {
            self.league.apply(&event);
            let mut letters = Vec::new();
            self.league.letters(&event, &mut letters);
            self.post.extend(letters.into_iter().map(Post::ByManager));
            if League::keep(&event) == Persistence::Journal {
                let sequence = self.journal.len() as u64 + 2;
                let entry = (sequence, self.now, Record::Event(event));
                witness.manager(&entry, &self.league);
                self.journal.push(entry);
            }
        }
        match &reply {
            manager::Reply::Player(RegisterResponse::Accepted(enrolment)) => {
                let agent = Agent::Player(enrolment.id.clone());
                self.tokens.insert(agent, enrolment.token.clone());
            }
            manager::Reply::Referee(RegisterResponse::Accepted(enrolment)) => {
                let agent = Agent::Referee(enrolment.id.clone());
                self.tokens.insert(agent, enrolment.token.clone());
            }
            _ => {}
        }
        reply
    }

    fn whistle(
        &mut self,
        id: &RefereeId,
        command: &referee::Command,
        witness: &mut impl Witness,
    ) -> Option<referee::Reply> {
        let whistle = self.referees.get_mut(id).unwrap();
        let decision = whistle.machine.decide(self.now, command);
        let reply = decision.answer.ok()?;
        for event in decision.events {
            whistle.machine.apply(&event);
            let mut letters = Vec::new();
            whistle.machine.letters(&event, &mut letters);
            let letters = letters.into_iter();
            self.post
                .extend(letters.map(|letter| Post::ByReferee(id.clone(), letter)));
            if Referee::keep(&event) == Persistence::Memory {
                continue;
            }
            let decided = match &event {
                referee::Event::Decided { match_id, .. } => Some(match_id.clone()),
                _ => None,
            };
            whistle.note(id, self.now, Record::Event(event), witness);
            if let Some(match_id) = decided {
                let messages = whistle.said.remove(&match_id).unwrap_or_default();
                let transcript = Transcript {
                    match_id,
                    attempt: 1,
                    messages,
                };
                whistle.note(id, self.now, Record::Transcript(transcript), witness);
            }
        }
        Some(reply)
    }
}

impl Whistle {
    fn note(
        &mut self,
        id: &RefereeId,
        now: Timestamp,
        record: Record<referee::Event>,
        witness: &mut impl Witness,
    ) {
        let entry = (self.journal.len() as u64 + 2, now, record);
        witness.referee(id, &entry);
        self.journal.push(entry);
    }
}

/// The share of a player in the draw of a match; it stands in no file before the match is over.
pub(crate) fn nonce(player: &PlayerId, match_id: &MatchId) -> String {
    format!("share-of-{player}-in-{match_id}")
}

fn candidate(name: &str, chance: u32) -> Applicant {
    Applicant {
        request: Box::new(RegisterRequest {
            meta: AgentMeta {
                display_name: name.to_owned(),
                version: "1.0.0".to_owned(),
                protocol_version: Some("2.1.0".to_owned()),
                game_types: vec![even_odd()],
                contact_endpoint: format!("http://localhost/{chance}"),
                max_concurrent_matches: Some(2),
                speech: Some(CallStyle::Simple),
            },
            wanted_id: None,
            token: None,
        }),
        dialect: Dialect::V2,
        endpoint: Ok(()),
        speech: Some(CallStyle::Simple),
        chance: [u8::try_from(chance).unwrap(); 32],
    }
}

fn referee_rules() -> RefereeRules {
    RefereeRules {
        display_name: "Whistle".to_owned(),
        version: "1.0.0".to_owned(),
        wanted_id: None,
        endpoint: "http://127.0.0.1:8001/mcp".to_owned(),
        games: vec![even_odd()],
        max_concurrent: 2,
        timeouts: Timeouts::default(),
        breaker: BreakerRule::default(),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: "http://127.0.0.1:8000/mcp".into(),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
        }),
    }
}
