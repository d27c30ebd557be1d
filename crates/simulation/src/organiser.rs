//! The organiser of a simulated league: pulls levers at random moments, possible or not, and at last
//! takes back what would keep the league from ending.

use std::time::Duration;

use league_core::league::{Command, League, Lever, LeverPull, Phase, PlayedMatches};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;

use crate::chance::Rng;
use crate::scenario::endpoint;

/// The most levers that are pulled at random in one league.
pub(crate) const MAX_PULLS: u32 = 60;
/// How long the organiser waits between levers that let the league end.
const CALM_WAIT: Duration = Duration::from_secs(20);

/// An address at which no agent answers.
const NOT_AN_AGENT: crate::NodeId = 999;

/// How often the organiser of a league pulls levers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeverPlan {
    pulls: u32,
    /// The longest wait between two of them, in milliseconds.
    longest: u64,
    /// Whether agents are let in without proof: not where hostile callers would come instead.
    readmits: bool,
}

impl LeverPlan {
    pub(crate) fn draw(chance: &mut Rng, readmits: bool) -> Self {
        let pulls = chance.between(1, MAX_PULLS.into());
        Self {
            pulls: u32::try_from(pulls).unwrap_or(1),
            longest: 200 << chance.below(8),
            readmits,
        }
    }
}

/// The organiser of one league.
#[derive(Debug, Default)]
pub(crate) struct Organiser {
    pulled: u32,
    /// Players that left before the start.
    vacated: Vec<PlayerId>,
    /// Counts the levers that let the league end.
    taken_back: u64,
}

impl Organiser {
    /// How long the organiser waits before the next lever.
    pub(crate) fn wait(&self, chance: &mut Rng, plan: LeverPlan) -> Duration {
        if self.pulled < plan.pulls {
            Duration::from_millis(1 + chance.below(plan.longest))
        } else {
            CALM_WAIT
        }
    }

    /// The next lever; from the last one on, and once nothing may fail, levers that let the league
    /// end.
    pub(crate) fn pull(
        &mut self,
        chance: &mut Rng,
        plan: LeverPlan,
        is_calm: bool,
        league: &League,
        now: Timestamp,
    ) -> Command {
        let is_random = self.pulled < plan.pulls && !is_calm;
        self.pulled = if is_calm { plan.pulls } else { self.pulled + 1 };
        let lever = match (is_random, league.phase()) {
            (false, _) => self.take_back(league),
            (true, Phase::Registering) => early(chance, league, now),
            (true, _) => late(chance, league),
        };
        let lever = match lever {
            Lever::Readmit { .. } if !plan.readmits => Lever::Resume,
            other => other,
        };
        if let (Some((player, ..)), Phase::Registering) = (lever.put_out(), league.phase()) {
            self.vacated.push(player.clone());
        }
        let has_code = is_random && chance.below(2) == 0;
        Command::Pull(Box::new(LeverPull {
            admin: true,
            code: has_code.then(|| AuthToken::new("4711")),
            reason: "by the organiser".to_owned(),
            lever,
        }))
    }

    /// The levers by which a league goes on, in turn; those that are not possible are refused.
    fn take_back(&mut self, league: &League) -> Lever {
        self.taken_back += 1;
        if league.is_paused() {
            return Lever::Resume;
        }
        // A crash may take a lever with it, so that each is pulled again and again.
        let turn = usize::try_from(self.taken_back / 2).unwrap_or(0);
        if let Some(player_id) = self.vacated.get(turn % self.vacated.len().max(1))
            && self.taken_back.is_multiple_of(2)
            && league.phase() == Phase::Registering
        {
            let player_id = player_id.clone();
            return Lever::Reinstate { player_id };
        }
        match (league.phase(), turn % 4) {
            (Phase::Registering, 0) => Lever::OpenRegistration { until: None },
            (Phase::Registering, 1) => Lever::SetJoinCode,
            (Phase::Registering, 2) => Lever::SetRoster { names: Vec::new() },
            (Phase::Registering, _) => Lever::Start,
            _ => Lever::Resume,
        }
    }
}

/// A lever of a league that has not begun. Doors are closed only if a league can be played without
/// those that are not in.
fn early(chance: &mut Rng, league: &League, now: Timestamp) -> Lever {
    let seated = u32::try_from(league.players().len()).unwrap_or(0);
    let are_enough = seated >= league.rules().least_players();
    let can_play = are_enough && league.format_plan().check().is_ok();
    let can_begin = can_play && !league.referees().is_empty();
    let until = now + Duration::from_millis(chance.below(20_000));
    match chance.below(12) {
        0 if can_begin => Lever::CloseRegistration,
        1 if can_begin => Lever::SetCapacity {
            players: seated + u32::from(chance.below(2) == 0),
            waiting: u32::try_from(chance.below(3)).unwrap_or(0),
        },
        2 if can_begin => Lever::SetJoinCode,
        3 if can_begin => Lever::SetRoster {
            names: (0..20).map(|number| format!("Player {number}")).collect(),
        },
        4 if can_begin => Lever::OpenRegistration { until: Some(until) },
        5 => Lever::OpenRegistration { until: None },
        6 if can_begin => Lever::Start,
        7 => Lever::AdmitReferee {
            contact_endpoint: endpoint(1).to_string(),
        },
        8 => Lever::ShareAddress {
            // A message that comes twice would be a second player there.
            contact_endpoint: endpoint(NOT_AN_AGENT).to_string(),
        },
        _ => at_any_time(chance, league),
    }
}

/// A lever of a league that has begun.
fn late(chance: &mut Rng, league: &League) -> Lever {
    let match_id = any_match(chance, league);
    match chance.below(40) {
        0..7 => Lever::Annul { match_id },
        7..14 => Lever::Replay { match_id },
        14..20 => Lever::Rule {
            match_id,
            winner: None,
            both_lose: chance.below(2) == 0,
        },
        20..24 => Lever::Rule {
            match_id,
            winner: any_player(chance, league),
            both_lose: false,
        },
        24..27 => Lever::ExtendMatch {
            match_id,
            seconds: u32::try_from(chance.between(1, 30)).unwrap_or(1),
        },
        27 if chance.below(6) == 0 => Lever::End,
        _ => at_any_time(chance, league),
    }
}

fn at_any_time(chance: &mut Rng, league: &League) -> Lever {
    let Some(player_id) = any_player(chance, league) else {
        return Lever::Pause;
    };
    let agent = Agent::Player(player_id.clone());
    match chance.below(16) {
        0 | 1 => Lever::Pause,
        2..5 => Lever::Resume,
        5 => Lever::Rename {
            // Two players of one name could not both be reinstated.
            name: format!("{player_id} renamed {}", chance.below(4)),
            agent,
        },
        6 => Lever::Withdraw { player_id },
        7 => Lever::Remove { player_id },
        8 | 9 => Lever::Disqualify {
            player_id,
            played: match chance.below(2) {
                0 => PlayedMatches::Kept,
                _ => PlayedMatches::Annulled,
            },
        },
        10 | 11 => Lever::Reinstate { player_id },
        12 => Lever::ExtendPlayer {
            player_id,
            seconds: u32::try_from(chance.between(1, 30)).unwrap_or(1),
        },
        13 => Lever::NewToken { agent },
        14 => Lever::Readmit { agent },
        _ => Lever::Announce {
            text: "There is cake".to_owned(),
        },
    }
}

fn any_player(chance: &mut Rng, league: &League) -> Option<PlayerId> {
    chance
        .pick(league.players())
        .map(|player| player.id().clone())
}

/// A match of a round that has begun, or of the next one.
fn any_match(chance: &mut Rng, league: &League) -> MatchId {
    let reached = league.round().map_or(0, |round| round.number());
    // Most often one of the present round.
    let round = match chance.below(2) {
        0 => reached.max(1),
        _ => u32::try_from(1 + chance.below(u64::from(reached) + 1)).unwrap_or(1),
    };
    let number = 1 + chance.below(u64::from(league.matches_in(round)).max(1));
    MatchId::numbered(round, u32::try_from(number).unwrap_or(1))
}
