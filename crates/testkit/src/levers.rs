//! An organiser that pulls any lever at any moment, by chance, in a league of six players.

use league_core::league::{Lever, PlayedMatches};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::Message;

use crate::LeagueWorld;

/// Chance that is the same for the same seed (xorshift).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    fn player(&mut self) -> PlayerId {
        PlayerId::numbered(1 + u32::try_from(self.below(6)).unwrap())
    }

    fn match_id(&mut self, world: &LeagueWorld) -> MatchId {
        let round = world.league.round().map_or(1, |round| round.number());
        let round = 1 + self.below(u64::from(round));
        let number = 1 + u32::try_from(self.below(3)).unwrap();
        MatchId::numbered(u32::try_from(round).unwrap(), number)
    }

    /// Any lever of a running league, possible or not.
    pub fn lever(&mut self, world: &LeagueWorld) -> Lever {
        match self.below(12) {
            0 => Lever::Pause,
            1 | 2 => Lever::Resume,
            3 => Lever::Withdraw {
                player_id: self.player(),
            },
            4 => Lever::Disqualify {
                player_id: self.player(),
                played: PlayedMatches::Annulled,
            },
            5 | 6 => Lever::Reinstate {
                player_id: self.player(),
            },
            7 => Lever::Annul {
                match_id: self.match_id(world),
            },
            8 => Lever::Replay {
                match_id: self.match_id(world),
            },
            9 => Lever::Rule {
                match_id: self.match_id(world),
                winner: None,
                both_lose: self.below(2) == 0,
            },
            10 => Lever::Rule {
                match_id: self.match_id(world),
                winner: Some(self.player()),
                both_lose: false,
            },
            _ => Lever::ExtendMatch {
                match_id: self.match_id(world),
                seconds: 1,
            },
        }
    }
}

/// Ends one match that was ordered, if there is one.
pub fn finish_any(world: &mut LeagueWorld, chance: &mut Chance) -> bool {
    let ordered: Vec<MatchId> = world
        .letters
        .iter()
        .filter_map(|letter| match &letter.message {
            Message::StartMatch(order) => Some((order.match_id.clone(), order.attempt)),
            _ => None,
        })
        .filter(|(id, attempt)| {
            let fixture = world.league.fixture(id);
            fixture.is_some_and(|fixture| fixture.is_started() && fixture.attempt() == *attempt)
        })
        .map(|(id, _)| id)
        .collect();
    let Some(id) = ordered.first() else {
        return false;
    };
    let fixture = world.league.fixture(id).unwrap().clone();
    let seats = world.league.seats_of(&fixture).unwrap();
    let seat = seats[chance.below(2) as usize].as_str()[1..].parse().ok();
    let winner = seat.filter(|_| chance.below(3) > 0);
    // Older orders of the match are not answered.
    let attempt = fixture.attempt();
    world.letters.retain(|letter| match &letter.message {
        Message::StartMatch(order) => order.match_id != *id || order.attempt == attempt,
        _ => true,
    });
    world.finish(id.as_str(), winner);
    true
}
