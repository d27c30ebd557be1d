//! Whole events between players of assumed strengths: what a format takes, and how sure its order
//! would be. No game is played: results are drawn by the model of the ratings.

use std::sync::Arc;

use league_games::Dice;
use league_protocol::id::PlayerId;
use league_protocol::message::Score;

use crate::entrant::mixed;
use crate::league::format::FormatPlan;
use crate::league::schedule::{Pairing, Schedule};
use crate::league::standings::{MatchEnding, Standings};
use crate::rating::{ELO, PairScore, outcome_shares, standard_normal};

/// The most matches of an event that is simulated, and of all events of a forecast, as far as the
/// bounds below allow.
pub const MAX_FORECAST_MATCHES: u64 = 200_000;
/// The most steps of an event that is simulated, and of all events of a forecast: a few seconds. They
/// are counted and not timed, so that a forecast is the same everywhere.
const MAX_STEPS: u64 = 20_000_000;
/// The most rounds of an event that only time ends.
const MAX_FORECAST_ROUNDS: u32 = 1_000;
const MIN_EVENTS: u64 = 20;
const MAX_EVENTS: u64 = 1_000;

/// What is assumed of players and game.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumptions {
    /// The standard deviation of the players' strengths, in Elo points.
    pub spread: f64,
    /// The share of drawn matches among equals.
    pub draws: f64,
    /// How often seat A wins decided matches among equals.
    pub seat: f64,
}

/// An event that was simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedEvent {
    /// The matches of each round.
    pub rounds: Vec<u32>,
    /// Every match; the first of a score sat at seat A.
    pub matches: Vec<PairScore>,
    /// The players in the order of the table.
    pub order: Vec<usize>,
}

/// What a format takes, on average of all simulated events, and how sure its order is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Forecast {
    pub events: u64,
    pub rounds: f64,
    pub matches: f64,
    /// How many matches follow each other, if so many are played at once as asked for.
    pub turns: f64,
    /// How often the strongest player comes first.
    pub best_wins: f64,
    /// The correlation of the order of the table with that of the strengths (Spearman).
    pub correlation: f64,
}

impl Assumptions {
    /// The strengths of so many players, on the logarithmic scale of the ratings.
    pub fn strengths(&self, players: u32, dice: &mut Dice) -> Vec<f64> {
        let deviation = self.spread / ELO;
        (0..players)
            .map(|_| deviation * standard_normal(dice))
            .collect()
    }

    /// Plays an event to its end, or so many rounds; the plan was checked.
    pub fn play(
        &self,
        plan: FormatPlan,
        rounds: u32,
        strengths: &[f64],
        dice: &mut Dice,
    ) -> SimulatedEvent {
        let schedule = Schedule::new(plan);
        let standings = Standings::new(schedule, Score::default());
        let mut standings = standings.ordered_by(plan.format.tiebreakers());
        let mut event = SimulatedEvent {
            rounds: Vec::new(),
            matches: Vec::new(),
            order: Vec::new(),
        };
        for round in 1..=rounds.min(plan.max_rounds()) {
            if !standings.schedule().is_computed() {
                match standings.next_round(&|_| true) {
                    Some(next) => standings.open(&next),
                    None => break,
                }
            }
            let matches = standings.schedule().matches_in(round);
            event.rounds.push(matches);
            for index in 0..matches {
                let Some(pairing) = standings.schedule().pairing(round, index) else {
                    continue;
                };
                let ending = self.ending(pairing, strengths, dice);
                event.matches.push(score_of(pairing, ending));
                standings.note(pairing, ending);
            }
        }
        let name: Arc<str> = Arc::from("");
        let names =
            (1..=plan.players).map(|number| (PlayerId::numbered(number), Arc::clone(&name)));
        let table = standings.table(|| names.collect());
        event.order = vec![0; table.place.len()];
        for (player, &place) in table.place.iter().enumerate() {
            event.order[place as usize] = player;
        }
        event
    }

    fn ending(&self, pairing: Pairing, strengths: &[f64], dice: &mut Dice) -> MatchEnding {
        const PARTS: u64 = 1 << 53;
        let [a, b] = pairing.seats.map(|seat| strengths[seat as usize]);
        let seat = (self.seat / (1.0 - self.seat)).ln();
        let draw = (2.0 * self.draws / (1.0 - self.draws)).ln();
        let [win, drawn, _] = outcome_shares(a - b + seat, draw);
        let at = dice.roll(0..=PARTS - 1) as f64 / PARTS as f64;
        if at < win {
            MatchEnding::Win(0)
        } else if at < win + drawn {
            MatchEnding::Draw
        } else {
            MatchEnding::Win(1)
        }
    }

    /// Simulates events of a plan that was checked, of at most so many rounds and so many matches at
    /// once; `None` if an event has more matches than can be simulated. The same seed gives the same
    /// forecast.
    pub fn forecast(
        &self,
        plan: FormatPlan,
        rounds: u32,
        at_once: u32,
        seed: u64,
    ) -> Option<Forecast> {
        let planned = match plan.max_rounds() {
            u32::MAX => u64::from(rounds) * u64::from(plan.players / 2),
            _ => plan.total_matches(),
        }
        .max(1);
        let is_long = plan.max_rounds() == u32::MAX && rounds > MAX_FORECAST_ROUNDS;
        let too_large = steps(&plan, planned) > MAX_STEPS || planned > MAX_FORECAST_MATCHES;
        if is_long || too_large {
            return None;
        }
        let most = (MAX_FORECAST_MATCHES / planned).clamp(MIN_EVENTS, MAX_EVENTS);
        let (mut sum, mut taken) = (Forecast::default(), 0);
        // As many as fit, if one takes what those before took on average.
        while sum.events < most && taken + taken / sum.events.max(1) <= MAX_STEPS {
            let mut dice = Dice::seeded(mixed([seed, sum.events, 0]));
            let strengths = self.strengths(plan.players, &mut dice);
            let event = self.play(plan, rounds, &strengths, &mut dice);
            taken += steps(&plan, event.matches.len() as u64);
            sum.add(&event, &strengths, at_once);
        }
        Some(sum.average())
    }
}

/// How many steps so many matches take, about: a round that follows from results looks at the players
/// for each of its matches.
fn steps(plan: &FormatPlan, matches: u64) -> u64 {
    let each = match plan.computed() {
        Some(_) => 1,
        None => u64::from(plan.players),
    };
    matches.saturating_mul(each).max(1)
}

impl Forecast {
    fn add(&mut self, event: &SimulatedEvent, strengths: &[f64], at_once: u32) {
        let mut truth: Vec<usize> = (0..strengths.len()).collect();
        truth.sort_by(|&a, &b| strengths[b].total_cmp(&strengths[a]));
        let rounds = event.rounds.iter();
        let turns = rounds.map(|round| round.div_ceil(at_once.max(1)));
        self.events += 1;
        self.rounds += event.rounds.len() as f64;
        self.matches += event.matches.len() as f64;
        self.turns += f64::from(turns.sum::<u32>());
        self.best_wins += f64::from(u8::from(event.order.first() == truth.first()));
        self.correlation += correlation(&event.order, &truth);
    }

    /// The sums of all events, for one event.
    fn average(self) -> Self {
        let share = 1.0 / self.events.max(1) as f64;
        Self {
            events: self.events,
            rounds: share * self.rounds,
            matches: share * self.matches,
            turns: share * self.turns,
            best_wins: share * self.best_wins,
            correlation: share * self.correlation,
        }
    }
}

fn score_of(pairing: Pairing, ending: MatchEnding) -> PairScore {
    let [first, second] = pairing.seats.map(|seat| seat as usize);
    PairScore {
        first,
        second,
        wins: u64::from(ending == MatchEnding::Win(0)),
        draws: u64::from(ending == MatchEnding::Draw),
        losses: u64::from(ending == MatchEnding::Win(1)),
    }
}

/// Spearman's correlation of two orders of the same players.
fn correlation(one: &[usize], other: &[usize]) -> f64 {
    let count = one.len() as f64;
    let mut places = vec![0_usize; one.len()];
    for (place, &player) in one.iter().enumerate() {
        places[player] = place;
    }
    let distances = other.iter().enumerate();
    let squares = distances.map(|(place, &player)| (place as f64 - places[player] as f64).powi(2));
    1.0 - 6.0 * squares.sum::<f64>() / (count * (count * count - 1.0)).max(1.0)
}
