//! Hostile calls: forged, foreign, repeated, or with a stolen token.

use std::sync::Arc;
use std::time::Duration;

use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    AgentMeta, ByPlayer, DrawRequest, Evidence, GameInvitation, LeagueCompleted, LeagueQuery,
    MatchResult, MatchResultReport, MatchStatus, Message, Mode, OpenedDraw, OwnMatch, Query,
    RegisterRequest, Role, RoundAnnouncement, Rows, SignedMove, StartMatch, StartMatchPlayer,
    WinLossDraw,
};
use league_protocol::secret::Commitment;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::{AuthToken, TokenHash};

use crate::NodeId;
use crate::chance::Rng;
use crate::environment::{Environment, Errand, Parcel};
use crate::fault::InjectedFault;
use crate::scenario::{Scenario, endpoint, node_at};

/// How many reports, and how many tokens, are remembered to be misused.
const MAX_LOOT: usize = 8;

/// The id of a stranger, who is not an agent of the league.
pub(crate) const VILLAIN: NodeId = 666;

/// What a villain has picked up.
#[derive(Default)]
pub(crate) struct Attacker {
    reports: Vec<(NodeId, Option<AuthToken>, MatchResultReport)>,
    players: Vec<(NodeId, PlayerId, AuthToken)>,
    /// Orders that went to a referee.
    orders: Vec<(NodeId, Arc<StartMatch>)>,
}

impl Attacker {
    /// Picks up a report or an order that passes by.
    pub(crate) fn pick_up(&mut self, chance: &mut Rng, parcel: &Parcel) {
        match &parcel.message {
            Message::MatchResultReport(report) if parcel.to == 0 => {
                let entry = (
                    parcel.from,
                    parcel.token.clone(),
                    MatchResultReport::clone(report),
                );
                hoard(&mut self.reports, chance, entry);
            }
            Message::StartMatch(order) if parcel.from == 0 => {
                hoard(&mut self.orders, chance, (parcel.to, Arc::clone(order)));
            }
            _ => {}
        }
    }

    /// Picks up the token of a player from its answer to a referee, which is not the one that it
    /// registers with.
    pub(crate) fn overhear(
        &mut self,
        chance: &mut Rng,
        who: NodeId,
        id: &PlayerId,
        token: &AuthToken,
    ) {
        hoard(&mut self.players, chance, (who, id.clone(), token.clone()));
    }

    /// Makes one call, and plans the next.
    pub(crate) fn strike(&mut self, environment: &mut Environment) {
        if !environment.stormy {
            return;
        }
        let pause = 20_000_000_000 / u64::from(environment.scenario.rates.mischief.max(1));
        let pause = environment.chance.between(100, 100 + pause.min(60_000));
        let at = environment.now() + Duration::from_millis(pause);
        environment.clock.note(at, Errand::Mischief);
        let made = match environment.chance.below(14) {
            0 => Some(self.question(&mut environment.chance)),
            1 => Some(imposture(&mut environment.chance)),
            2 => self.order(environment),
            3 => self.takeover(environment),
            4 | 5 => self.loss(&mut environment.chance),
            6 => self.draw_request(environment),
            7 => self.invitation(&mut environment.chance),
            _ => self.report(&mut environment.chance),
        };
        let Some(parcel) = made else { return };
        environment.report.fault(InjectedFault::Mischief);
        let delay = environment.way();
        let at = environment.now() + delay;
        environment.bring(at, parcel);
    }

    /// A report that is repeated, forged, or sent by another agent.
    fn report(&self, chance: &mut Rng) -> Option<Parcel> {
        let (from, token, report) = chance.pick(&self.reports)?.clone();
        let referee = |chance: &mut Rng| {
            let number = u32::try_from(chance.between(1, 5)).unwrap_or(1);
            Some(Agent::Referee(RefereeId::numbered(number)))
        };
        let (from, sender, token, report) = match chance.below(6) {
            0 => (from, None, token, report),
            1 => (from, None, token, forged(chance, report)),
            2 => {
                let (thief, stolen, _) = chance.pick(&self.reports)?.clone();
                // With the token of its own referee it is a repetition, by any sender.
                let from = if stolen == token { from } else { thief };
                (from, None, stolen, report)
            }
            3 => {
                let (player, _, token) = chance.pick(&self.players)?.clone();
                (player, referee(chance), Some(token), report)
            }
            4 => {
                let (player, _, token) = chance.pick(&self.players)?.clone();
                (player, None, Some(token), forged(chance, report))
            }
            _ => (from, referee(chance), None, report),
        };
        Some(Parcel {
            from,
            to: 0,
            sender,
            token,
            message: Message::from(report),
            back: None,
        })
    }

    /// An order that is out, and the token of its referee; the token of the order itself is not seen.
    fn running(&self, chance: &mut Rng) -> Option<(Arc<StartMatch>, AuthToken)> {
        let (referee, order) = chance.pick(&self.orders)?.clone();
        let mut reports = self.reports.iter().rev();
        let (_, token, _) = reports.find(|(from, ..)| *from == referee)?;
        Some((order, token.clone()?))
    }

    /// A technical loss that is reported with the token of the referee, without that of its order.
    fn loss(&self, chance: &mut Rng) -> Option<Parcel> {
        let (order, token) = self.running(chance)?;
        let players = order
            .players
            .each_ref()
            .map(|seated| seated.player_id.clone());
        let result = MatchResult {
            winner: Some(players[0].clone()),
            status: MatchStatus::TechnicalLoss,
            points: [order.score.win, order.score.technical_loss],
            failed: [(players[1].clone(), Code::Timeout)].into_iter().collect(),
            choices: ByPlayer::new(),
            details: serde_json::Map::new(),
            reason: "no answer".to_owned(),
            draw: Some(OpenedDraw {
                commitment: order.commitment,
                seed: None,
                mode: order.draw_mode,
                attempt: order.attempt,
                nonces: <[String; 2]>::default(),
            }),
            evidence: Evidence::default(),
            players,
        };
        Some(hostile(
            0,
            Some(token),
            Message::from(MatchResultReport {
                league_id: order.league_id.clone(),
                round_id: order.round_id,
                match_id: order.match_id.clone(),
                attempt: order.attempt,
                order_token: guessed(chance),
                game_over_told: None,
                game_type: order.game_type.clone(),
                result: Arc::new(result),
            }),
        ))
    }

    /// Moves that nobody made, handed over to learn the seed.
    fn draw_request(&self, environment: &mut Environment) -> Option<Parcel> {
        let (chance, scenario) = (&mut environment.chance, &environment.scenario);
        let (order, token) = self.running(chance)?;
        let table = (scenario.listing.open)(&scenario.rules.game_settings).ok()?;
        let choice = table.options(Seat::A).first()?.clone();
        let moves = order.players.each_ref().map(|seated| SignedMove {
            player_id: seated.player_id.clone(),
            choice: choice.clone(),
            nonce: None,
            proof: None,
            model: None,
        });
        Some(hostile(
            0,
            Some(token),
            Message::from(DrawRequest {
                league_id: order.league_id.clone(),
                round_id: order.round_id,
                match_id: order.match_id.clone(),
                attempt: order.attempt,
                order_token: guessed(chance),
                moves: moves.into(),
            }),
        ))
    }

    /// An invitation to a match of another referee.
    fn invitation(&self, chance: &mut Rng) -> Option<Parcel> {
        let (_, order) = chance.pick(&self.orders)?;
        let to = node_at(&order.players[0].endpoint)?;
        Some(hostile(
            to,
            guessed(chance),
            Message::GameInvitation(Box::new(GameInvitation {
                league_id: order.league_id.clone(),
                round_id: order.round_id,
                match_id: order.match_id.clone(),
                game_type: order.game_type.clone(),
                role: Role::A,
                opponent_id: order.players[1].player_id.clone(),
                commitment: Some(order.commitment),
                move_seconds: 30,
            })),
        ))
    }

    /// A stranger returns as a player from another address, with a token that referees see.
    fn takeover(&self, environment: &mut Environment) -> Option<Parcel> {
        let (who, id, token) = environment.chance.pick(&self.players)?.clone();
        let meta = AgentMeta {
            display_name: format!("Player {who}"),
            game_types: vec![environment.scenario.rules.game_type.clone()],
            ..villain()
        };
        Some(registration(meta, id.to_string(), token))
    }

    /// An order or an announcement in the manager's name.
    fn order(&self, environment: &mut Environment) -> Option<Parcel> {
        let (chance, scenario) = (&mut environment.chance, &environment.scenario);
        let referees = scenario.capacities.len() as u64;
        let agents = referees + scenario.players.len() as u64;
        let to = NodeId::try_from(chance.between(1, agents)).ok()?;
        let match_id = MatchId::numbered(2, 1);
        let token = AuthToken::mint("manager", &chance.bytes());
        let message = match chance.below(2) {
            0 => Message::from(LeagueCompleted {
                league_id: scenario.rules.league_id.clone(),
                total_rounds: 1,
                total_matches: 1,
                champion: None,
                final_standings: Rows::from([]),
            }),
            _ if u64::from(to) > referees => Message::from(RoundAnnouncement {
                league_id: scenario.rules.league_id.clone(),
                round_id: 2,
                matches: Rows::from([]),
                own: Some(OwnMatch {
                    match_id,
                    token: token.clone(),
                    referee_token: None,
                    attempt: 1,
                }),
            }),
            _ => Message::from(false_order(scenario, match_id, chance)),
        };
        let stolen = chance.pick(&self.players).map(|(.., token)| token.clone());
        Some(Parcel {
            from: VILLAIN,
            to,
            sender: Some(Agent::Manager),
            token: match chance.below(3) {
                0 => None,
                1 => stolen,
                _ => Some(token),
            },
            message,
            back: None,
        })
    }

    /// A question, with or without a right to the answer.
    fn question(&self, chance: &mut Rng) -> Parcel {
        let stolen = chance.pick(&self.players).cloned();
        let number = u32::try_from(chance.between(1, 45)).unwrap_or(1);
        let player = PlayerId::numbered(number);
        let query = match chance.below(4) {
            0 => Query::Standings,
            1 => Query::Schedule,
            2 => Query::NextMatch(player),
            _ => Query::PlayerStats(player),
        };
        Parcel {
            from: stolen.as_ref().map_or(0, |(who, ..)| *who),
            to: 0,
            sender: None,
            token: stolen.map(|(.., token)| token),
            message: Message::from(LeagueQuery {
                league_id: None,
                query,
                by_api_page: chance.below(2) == 0,
            }),
            back: None,
        }
    }
}

fn hostile(to: NodeId, token: Option<AuthToken>, message: Message) -> Parcel {
    Parcel {
        from: VILLAIN,
        to,
        sender: None,
        token,
        message,
        back: None,
    }
}

/// No token, or one that is made up.
fn guessed(chance: &mut Rng) -> Option<AuthToken> {
    let made_up = chance.below(2) == 0;
    made_up.then(|| AuthToken::mint("order", &chance.bytes()))
}

/// Keeps an entry, in place of another if there are many already.
fn hoard<T>(attacker: &mut Vec<T>, chance: &mut Rng, entry: T) {
    if attacker.len() < MAX_LOOT {
        attacker.push(entry);
    } else {
        let place = usize::try_from(chance.below(MAX_LOOT as u64)).unwrap_or(0);
        attacker[place] = entry;
    }
}

/// An order that the villain makes up.
fn false_order(scenario: &Scenario, match_id: MatchId, chance: &mut Rng) -> StartMatch {
    let first = NodeId::try_from(scenario.capacities.len()).unwrap_or(0) + 1;
    let player = |number: u32| StartMatchPlayer {
        player_id: PlayerId::numbered(number),
        endpoint: endpoint(first + number - 1),
        dialect: Dialect::V2,
        speech: Some(CallStyle::Simple),
        is_foreign: false,
        token_hash: TokenHash::of("tok-p01-guessed"),
        match_token: AuthToken::new("tok-r2m1-guessed"),
        record: WinLossDraw::default(),
        absent: false,
        extra_seconds: None,
    };
    StartMatch {
        league_id: scenario.rules.league_id.clone(),
        round_id: 2,
        match_id,
        attempt: 1,
        game_type: scenario.rules.game_type.clone(),
        settings: scenario.rules.game_settings.clone(),
        mode: Mode::Auto,
        step_token: None,
        strict: false,
        score: scenario.rules.score,
        commitment: Commitment(chance.bytes()),
        draw_mode: scenario.rules.draws,
        order_token: AuthToken::mint("order", &chance.bytes()),
        pace_ms: None,
        handed_over: None,
        players: [player(1), player(2)],
    }
}

/// A stranger registers under another agent's name.
fn imposture(chance: &mut Rng) -> Parcel {
    let token = AuthToken::mint("P01", &chance.bytes());
    registration(villain(), "P01".into(), token)
}

fn villain() -> AgentMeta {
    AgentMeta {
        display_name: "Player 1".into(),
        version: "6.6.6".into(),
        protocol_version: None,
        game_types: Vec::new(),
        contact_endpoint: endpoint(VILLAIN).to_string(),
        max_concurrent_matches: None,
        speech: Some(CallStyle::Simple),
        proofs: false,
        human: false,
    }
}

fn registration(meta: AgentMeta, wanted: String, token: AuthToken) -> Parcel {
    Parcel {
        from: VILLAIN,
        to: 0,
        sender: None,
        token: Some(token),
        message: Message::PlayerRegisterRequest(Box::new(RegisterRequest {
            meta,
            wanted_id: Some(wanted),
            token: None,
            join_code: None,
            referee_key: None,
            is_plain: false,
        })),
        back: None,
    }
}

/// A report that is false in a way that can be found out.
fn forged(chance: &mut Rng, report: MatchResultReport) -> MatchResultReport {
    let result = Arc::clone(&report.result);
    let with = |change: &dyn Fn(&mut MatchResult)| {
        let mut changed = (*result).clone();
        change(&mut changed);
        MatchResultReport {
            result: Arc::new(changed),
            ..report.clone()
        }
    };
    match chance.below(6) {
        0 => with(&|result| result.points[0] += 1),
        1 => with(&|result| result.players.reverse()),
        2 => with(&|result| {
            if let Some(opened) = &mut result.draw {
                opened.commitment.0[0] ^= 1;
            }
        }),
        3 => with(&|result| {
            let [a, b] = &result.players;
            let other = if result.winner.as_ref() == Some(a) {
                b
            } else {
                a
            };
            result.winner = Some(other.clone());
        }),
        4 => MatchResultReport {
            attempt: report.attempt + 1,
            ..report
        },
        _ => MatchResultReport {
            match_id: MatchId::numbered(report.round_id, 1),
            ..report
        },
    }
}
