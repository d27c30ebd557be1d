//! Knockout: the loser of a tie is out. Players are seeded by their ids, so that the first two can
//! meet only in the final; if they are not a power of two, the first seeds rest in the first stage.
//! The losers of the semi-finals play for the third place.
//!
//! A tie has as many games as the league has legs, sides alternate, and it ends early once one
//! player cannot be caught. A level tie has further games, one at a time. Each stage takes as many
//! rounds as its longest tie has games. A player that leaves stays in the bracket and loses the games
//! that it does not play. What the organiser says of a game counts for its tie until the next round
//! has begun; a game that is annulled by then is played again, unless a player was put out.

use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};
use crate::league::schedule::Pairing;
use crate::league::standings::MatchEnding;

/// How many further games a level tie has at most. After them the player with fewer technical losses
/// in the tie goes on, or else the higher seed.
const MAX_FURTHER_GAMES: u32 = 6;

pub(crate) struct Knockout;

impl FormatRule for Knockout {
    fn name(&self) -> &'static str {
        "knockout"
    }

    fn title(&self) -> &'static str {
        "knockout"
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        plan.must_have_no_rounds()
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        stages(plan.players).saturating_mul(least_games(plan.legs))
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        let ties = u64::from(plan.players.saturating_sub(1)) + u64::from(plan.players >= 4);
        ties * u64::from(least_games(plan.legs))
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let bracket = Bracket::read(so_far);
        let open = bracket.ties.iter().filter(|tie| tie.winner().is_none());
        NextRound::of(open.map(Tie::next_seats).collect())
    }

    fn progress(&self, so_far: &SoFar<'_>) -> Option<Vec<u32>> {
        Some(Bracket::read(so_far).progress)
    }
}

/// How many stages there are until one player is left.
fn stages(players: u32) -> u32 {
    players.max(1).next_power_of_two().trailing_zeros()
}

/// How many games decide a tie that is never level.
fn least_games(legs: u32) -> u32 {
    legs / 2 + 1
}

/// The stage that is played, or the final.
struct Bracket {
    ties: Vec<Tie>,
    /// The tie that each player plays, or played last.
    tie_of: Vec<usize>,
    /// How far each player has come: two for each stage, and one more for a tie that is not lost.
    progress: Vec<u32>,
}

impl Bracket {
    /// Plays the rounds so far into the bracket.
    fn read(so_far: &SoFar<'_>) -> Self {
        let mut slots = first_slots(so_far.players());
        let (mut stage, mut rounds) = (0, 1..=so_far.rounds());
        let mut bracket = Self {
            ties: Vec::new(),
            tie_of: vec![0; so_far.players() as usize],
            progress: vec![1; so_far.players() as usize],
        };
        while slots.len() > 1 {
            let mut third = Vec::new();
            if slots.len() == 2 {
                let losers = bracket.ties.iter().filter_map(Tie::loser);
                third.extend(losers);
            }
            bracket.begin(&slots, &third, stage, so_far.plan().legs);
            while bracket.is_open() {
                let Some(round) = rounds.next() else {
                    return bracket;
                };
                for pairing in so_far.pairings(round) {
                    let ending = so_far.settled(pairing);
                    // A match of the present round may not be over.
                    if ending.is_some() || round < so_far.rounds() {
                        bracket.play(pairing, ending);
                    }
                }
            }
            bracket.end(stage, &third);
            let winner = |pair: &[Option<u32>]| match *pair {
                [Some(one), Some(_)] => bracket.ties[bracket.tie_of[one as usize]].winner(),
                [one, other] => one.or(other),
                _ => None,
            };
            slots = slots.chunks(2).map(winner).collect();
            stage += 1;
        }
        bracket
    }

    fn begin(&mut self, slots: &[Option<u32>], third: &[u32], stage: u32, legs: u32) {
        let pairs = slots.chunks(2).filter_map(|pair| match *pair {
            [Some(one), Some(other)] => Some([one, other]),
            _ => None,
        });
        let third = <[u32; 2]>::try_from(third).ok();
        let ties = pairs.chain(third).map(|pair| Tie::new(pair, stage, legs));
        self.ties = ties.collect();
        for (place, tie) in self.ties.iter().enumerate() {
            for player in tie.players {
                self.tie_of[player as usize] = place;
            }
        }
        for player in slots.iter().flatten() {
            self.progress[*player as usize] = 2 * stage + 1;
        }
    }

    fn is_open(&self) -> bool {
        self.ties.iter().any(|tie| tie.winner().is_none())
    }

    fn play(&mut self, pairing: Pairing, ending: Option<MatchEnding>) {
        let place = self.tie_of[pairing.seats[0] as usize];
        if let Some(tie) = self.ties.get_mut(place) {
            tie.play(pairing.seats, ending);
        }
    }

    /// Notes who is out; the third place is worth more than the fourth.
    fn end(&mut self, stage: u32, third: &[u32]) {
        for tie in &self.ties {
            let (Some(winner), Some(loser)) = (tie.winner(), tie.loser()) else {
                continue;
            };
            if third.contains(&winner) {
                self.progress[winner as usize] += 1;
            } else {
                self.progress[loser as usize] = 2 * stage;
            }
        }
    }
}

/// The places of the first stage, so that seeds meet as late as they can; `None` for a rest.
fn first_slots(players: u32) -> Vec<Option<u32>> {
    let mut seeds = vec![0_u32];
    for _ in 0..stages(players) {
        let last = 2 * seeds.len() as u32 - 1;
        seeds = seeds.iter().flat_map(|&seed| [seed, last - seed]).collect();
    }
    let slots = seeds.into_iter();
    slots.map(|seed| (seed < players).then_some(seed)).collect()
}

/// Two players, of whom one goes on.
struct Tie {
    /// The higher seed first.
    players: [u32; 2],
    /// Whether the lower seed has seat A in the first game.
    is_turned: bool,
    legs: u32,
    wins: [u32; 2],
    technical_losses: [u32; 2],
    /// All games, also those that do not count.
    games: u32,
    /// Games that count.
    counted: u32,
    /// Whether neither player appeared.
    is_deserted: bool,
}

impl Tie {
    fn new([one, other]: [u32; 2], stage: u32, legs: u32) -> Self {
        Self {
            players: [one.min(other), one.max(other)],
            is_turned: !stage.is_multiple_of(2),
            legs,
            wins: [0; 2],
            technical_losses: [0; 2],
            games: 0,
            counted: 0,
            is_deserted: false,
        }
    }

    fn play(&mut self, seats: [u32; 2], ending: Option<MatchEnding>) {
        self.games += 1;
        let Some(ending) = ending else { return };
        self.counted += 1;
        self.is_deserted |= ending == MatchEnding::BothForfeit;
        for (at, player) in self.players.iter().enumerate() {
            let seat = usize::from(seats[1] == *player);
            self.wins[at] += u32::from(ending.winner() == Some(seat));
            self.technical_losses[at] += u32::from(ending.forfeited(seat));
        }
    }

    fn next_seats(&self) -> [u32; 2] {
        let [one, other] = self.players;
        match self.games.is_multiple_of(2) != self.is_turned {
            true => [one, other],
            false => [other, one],
        }
    }

    /// The player that goes on; `None` while the tie is open.
    fn winner(&self) -> Option<u32> {
        let [one, other] = self.wins;
        let left = self.legs.saturating_sub(self.counted);
        let is_last = self.games >= self.legs.saturating_add(MAX_FURTHER_GAMES);
        let is_over = one.abs_diff(other) > left || is_last || self.is_deserted;
        let [failed, other_failed] = self.technical_losses;
        let is_other = other.cmp(&one).then(failed.cmp(&other_failed)).is_gt();
        is_over.then(|| self.players[usize::from(is_other)])
    }

    fn loser(&self) -> Option<u32> {
        let winner = self.winner()?;
        self.players.into_iter().find(|player| *player != winner)
    }
}
