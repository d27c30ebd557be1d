//! A whole league: a manager, its referees, and players that come to each match and choose by their
//! number. Letters arrive in order, each a few milliseconds after the one before.

use std::collections::BTreeMap;
use std::time::Duration;

use league_core::draw;
use league_core::league as manager;
use league_core::letter::{Credential, Letter, PeerAnswer};
use league_core::machine::{Machine, Persistence};
use league_core::referee::{self, Referee, RefereeRules};
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{Message, RegisterResponse};
use league_protocol::secret::ProofKey;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::json;

use crate::league::{SECRET, rules};
use crate::referee::{join, response, second};
use crate::{LeagueWorld, RefereeWorld};

const MAX_STEPS: usize = 10_000;
const STEP: Duration = Duration::from_millis(7);

pub struct Season {
    pub manager: LeagueWorld,
    pub referees: BTreeMap<RefereeId, RefereeWorld>,
    /// What journals and transcripts tell, in the order in which it happened.
    pub log: Vec<(Timestamp, Fact)>,
}

pub enum Fact {
    Manager(manager::Event),
    Referee(RefereeId, referee::Event),
    /// What a player answered to a call in a match.
    Answer {
        referee: RefereeId,
        player: PlayerId,
        match_id: MatchId,
        message: Message,
    },
}

impl Season {
    /// Plays a league to its end.
    pub fn played(players: u32, referees: u32) -> Self {
        let mut season = Self {
            manager: LeagueWorld::new(rules()),
            referees: BTreeMap::new(),
            log: Vec::new(),
        };
        season.manager.now = second(0);
        season.manager.players_answer = false;
        for number in 1..=referees {
            season.admit_referee(&format!("Referee {number}"));
        }
        season.at_manager(|manager| {
            for number in 1..=players {
                let mut candidate = manager.candidate(&format!("Player {number}"));
                candidate.request.meta.proofs = signs(number);
                manager.register_player(candidate);
            }
            manager
                .when(&manager::Command::pull(manager::Lever::Start))
                .unwrap();
        });
        for _ in 0..MAX_STEPS {
            if !season.step() {
                assert_eq!(season.manager.league.phase(), manager::Phase::Completed);
                return season;
            }
        }
        panic!("the league never ends");
    }

    /// Every token that an agent was given, match tokens among them.
    pub fn tokens(&self) -> Vec<String> {
        let league = &self.manager.league;
        let of_matches = league.schedule().pairings().flat_map(|pairing| {
            let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
            let league_id = &league.rules().league_id;
            pairing.seats.into_iter().flat_map(move |seat| {
                let player = league.players()[seat as usize].id();
                let token = |attempt| {
                    let secret = SECRET.keyed();
                    secret.match_token(league_id, &match_id, player, attempt)
                };
                [None, Some(1), Some(2)].map(token)
            })
        });
        let of_agents = self.manager.tokens.values().cloned();
        of_agents
            .chain(of_matches)
            .map(|token| token.reveal().to_owned())
            .collect()
    }

    fn admit_referee(&mut self, name: &str) {
        let mut world = RefereeWorld::with(RefereeRules {
            display_name: name.to_owned(),
            endpoint: format!("http://localhost/{}/mcp", self.referees.len()),
            ..crate::referee::rules()
        });
        world.tell(referee::Command::Begin { token: None }).unwrap();
        let letter = world.take().remove(0);
        let Message::RefereeRegisterRequest(request) = &letter.message else {
            panic!("{:?}", letter.message)
        };
        let enrolment = self.at_manager(|manager| {
            let candidate = manager.candidate(name);
            manager.register_referee(manager::Applicant {
                request: request.clone(),
                ..candidate
            })
        });
        let id = enrolment.id.clone();
        self.referees.insert(id.clone(), world);
        let message = Message::RefereeRegisterResponse(RegisterResponse::from(enrolment));
        let answer = PeerAnswer {
            message,
            token: None,
        };
        self.at_referee(&id, |referee| referee.hear(&letter, Ok(answer)))
            .unwrap();
    }

    /// Delivers every letter that waits, or wakes the manager; `false` once nothing is left.
    fn step(&mut self) -> bool {
        let by_manager = std::mem::take(&mut self.manager.letters);
        let by_referees: Vec<_> = self
            .referees
            .iter_mut()
            .map(|(id, world)| (id.clone(), world.take()))
            .collect();
        let mut moved = !by_manager.is_empty();
        for letter in by_manager {
            self.deliver_from_manager(letter);
        }
        for (from, letters) in by_referees {
            moved |= !letters.is_empty();
            for letter in letters {
                self.deliver_from_referee(&from, letter);
            }
        }
        self.manager.now = self.manager.now + STEP;
        moved || !self.at_manager(LeagueWorld::settle).is_empty()
    }

    fn deliver_from_manager(&mut self, letter: Letter<manager::CorrelationId>) {
        self.manager.now = self.manager.now + STEP;
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
            let reply = self
                .at_referee(id, |referee| referee.tell(command))
                .unwrap();
            let referee::Reply::StartMatchAck(ack) = reply else {
                panic!("{reply:?}")
            };
            answer = Message::StartMatchAck(ack);
        }
        if let Some(correlation) = letter.correlation {
            self.at_manager(|manager| manager.hear(correlation, Ok(answer)));
        }
    }

    fn deliver_from_referee(&mut self, from: &RefereeId, letter: Letter<referee::CorrelationId>) {
        self.manager.now = self.manager.now + STEP;
        let (message, token) = match (&letter.message, &letter.to.agent) {
            (Message::DrawRequest(request), _) => {
                let answer = self.at_manager(|manager| {
                    let command = manager.draw_command(from, request);
                    manager.when(&command)
                });
                (answer.unwrap().1.to_message().unwrap(), None)
            }
            (Message::MatchResultReport(report), _) => {
                let report = (**report).clone();
                let answer = self.at_manager(|manager| {
                    let command = manager.report_command(from, report);
                    manager.when(&command)
                });
                (answer.unwrap().1.to_message().unwrap(), None)
            }
            (Message::GameOverTold(told), _) => {
                let told = (**told).clone();
                let answer = self.at_manager(|manager| {
                    let command =
                        manager.told_command(from, &told.match_id, told.attempt, told.player_id);
                    manager.when(&command)
                });
                (answer.unwrap().1.to_message().unwrap(), None)
            }
            (_, Agent::Player(player)) => {
                let token = self.manager.tokens.get(&letter.to.agent);
                let token = token.map(AuthToken::hash);
                (self.answer(from, player, &letter), token)
            }
            _ => (Message::Acknowledged, None),
        };
        if letter.correlation.is_some() {
            let answer = PeerAnswer { message, token };
            self.at_referee(from, |referee| referee.hear(&letter, Ok(answer)))
                .unwrap();
        }
    }

    fn answer(
        &mut self,
        referee: &RefereeId,
        player: &PlayerId,
        letter: &Letter<referee::CorrelationId>,
    ) -> Message {
        let number = u32::from(player.as_str().as_bytes().last().unwrap() & 1);
        let (match_id, message) = match &letter.message {
            Message::GameInvitation(invitation) => {
                let match_id = invitation.match_id.clone();
                let mut message = join(letter, true).unwrap().message;
                if let Message::GameJoinAck(ack) = &mut message {
                    let key = signs(number).then(|| self.key(&match_id, player));
                    ack.proof = key.as_ref().map(draw::join_proof);
                }
                (match_id, message)
            }
            Message::MoveCall(call) => {
                let choice = json!(["even", "odd"][number as usize]);
                let mut response = response(letter, choice);
                let key = signs(number).then(|| self.key(&call.match_id, player));
                response.proof = key.map(|key| {
                    let nonce = response.nonce.as_deref();
                    draw::proof(&key, call.turn_number, [], &response.choice, nonce)
                });
                (
                    call.match_id.clone(),
                    Message::MoveResponse(response.into()),
                )
            }
            _ => return Message::Acknowledged,
        };
        let fact = Fact::Answer {
            referee: referee.clone(),
            player: player.clone(),
            match_id,
            message: message.clone(),
        };
        self.log.push((self.manager.now, fact));
        message
    }

    /// The key with which a player signs in the present attempt at a match.
    fn key(&self, match_id: &MatchId, player: &PlayerId) -> ProofKey {
        let league = &self.manager.league.rules().league_id;
        let token = SECRET.return_token(league, &Agent::Player(player.clone()));
        let attempt = self.manager.league.fixture(match_id).unwrap().attempt();
        draw::proof_key(&token, league, match_id, attempt)
    }

    /// Lets the manager act, and logs the events that its journal keeps.
    fn at_manager<T>(&mut self, act: impl FnOnce(&mut LeagueWorld) -> T) -> T {
        let before = self.manager.events.len();
        let done = act(&mut self.manager);
        for event in &self.manager.events[before..] {
            if manager::League::keep(event) == Persistence::Journal {
                let fact = Fact::Manager(event.clone());
                self.log.push((self.manager.now, fact));
            }
        }
        done
    }

    /// The same for a referee.
    fn at_referee<T>(&mut self, id: &RefereeId, act: impl FnOnce(&mut RefereeWorld) -> T) -> T {
        let world = self.referees.get_mut(id).unwrap();
        world.now = self.manager.now;
        let before = world.events.len();
        let done = act(world);
        for event in &world.events[before..] {
            if Referee::keep(event) == Persistence::Journal {
                let fact = Fact::Referee(id.clone(), event.clone());
                self.log.push((self.manager.now, fact));
            }
        }
        done
    }
}

/// Players with odd numbers sign their moves.
const fn signs(number: u32) -> bool {
    number % 2 == 1
}
