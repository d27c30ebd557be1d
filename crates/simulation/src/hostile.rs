//! Hostile calls: forged, foreign, repeated, or with a stolen token.

use std::sync::Arc;
use std::time::Duration;

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{
    AgentMeta, LeagueCompleted, LeagueQuery, MatchResult, MatchResultReport, Message, Mode, Query,
    RegisterRequest, RoundAnnouncement, StartMatch, StartMatchPlayer, WinLossDraw,
};
use league_protocol::secret::Seed;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::{AuthToken, TokenHash};

use crate::NodeId;
use crate::chance::Rng;
use crate::environment::{Environment, Errand, Parcel};
use crate::fault::InjectedFault;
use crate::scenario::{Scenario, endpoint};

/// How many reports, and how many tokens, are remembered to be misused.
const MAX_LOOT: usize = 8;

/// The id of a stranger, who is not an agent of the league.
pub(crate) const VILLAIN: NodeId = 666;

/// What a villain has picked up.
#[derive(Default)]
pub(crate) struct Attacker {
    reports: Vec<(NodeId, Option<AuthToken>, MatchResultReport)>,
    players: Vec<(NodeId, PlayerId, AuthToken)>,
}

impl Attacker {
    /// Picks up a report that passes by.
    pub(crate) fn pick_up(&mut self, chance: &mut Rng, parcel: &Parcel) {
        if let Message::MatchResultReport(report) = &parcel.message {
            let entry = (
                parcel.from,
                parcel.token.clone(),
                MatchResultReport::clone(report),
            );
            hoard(&mut self.reports, chance, entry);
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
        let made = match environment.chance.below(10) {
            0 => Some(self.question(&mut environment.chance)),
            1 => Some(imposture(&mut environment.chance)),
            2 => self.order(environment),
            3 => self.takeover(environment),
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
                let (thief, token, _) = chance.pick(&self.reports)?.clone();
                (thief, None, token, report)
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
                final_standings: Arc::new([]),
            }),
            _ if u64::from(to) > referees => Message::from(RoundAnnouncement {
                league_id: scenario.rules.league_id.clone(),
                round_id: 2,
                matches: Arc::new([]),
                own: Some((match_id, token.clone())),
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

/// Keeps an entry, in place of another if there are many already.
fn hoard<T>(attacker: &mut Vec<T>, chance: &mut Rng, entry: T) {
    if attacker.len() < MAX_LOOT {
        attacker.push(entry);
    } else {
        let place = usize::try_from(chance.below(MAX_LOOT as u64)).unwrap_or(0);
        attacker[place] = entry;
    }
}

/// An order with a seed that the villain knows.
fn false_order(scenario: &Scenario, match_id: MatchId, chance: &mut Rng) -> StartMatch {
    let first = NodeId::try_from(scenario.capacities.len()).unwrap_or(0) + 1;
    let seed = Seed(chance.bytes());
    let player = |number: u32| StartMatchPlayer {
        player_id: PlayerId::numbered(number),
        endpoint: endpoint(first + number - 1),
        dialect: Dialect::V2,
        speech: Some(CallStyle::Simple),
        token_hash: TokenHash::of("tok-p01-guessed"),
        match_token: AuthToken::new("tok-r2m1-guessed"),
        record: WinLossDraw::default(),
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
        seed,
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
                opened.seed.0[0] ^= 1;
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
