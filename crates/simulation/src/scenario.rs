//! What a run is asked to do, and the league that is drawn from the seed for it: players, referees,
//! rules and rates of faults.

use std::sync::Arc;
use std::time::Duration;

use league_core::breaker::BreakerRule;
use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::format::{Format, FormatPlan};
use league_core::league::{Assignment, LeagueRules};
use league_core::timeouts::{Backoff, Timeouts};
use league_games::Listing;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::secret::DrawMode;
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::chance::Rng;
use crate::clock::Clock;
use crate::fault::Rates;
use crate::lies::{Liar, Lie};
use crate::organiser::LeverPlan;
use crate::sabotage::Sabotage;

/// What a run of the simulation is asked to do.
#[derive(Debug, Clone)]
pub struct SimulationPlan {
    /// The run ends with the league that brings it to so many matches and so many leagues.
    pub matches: u64,
    pub leagues: u64,
    /// Whether anything fails at all.
    pub faults: bool,
    /// Runs this league of the seed and no other.
    pub league: Option<u64>,
    /// The fewest and the most players of a league.
    pub players: (u32, u32),
    /// The fewest and the most referees of a league.
    pub referees: (u32, u32),
    /// The one game that is played; all of them in turn without one.
    pub game: Option<&'static str>,
    /// Whether each league of two referees or more has a liar; else one in a few.
    pub liars: bool,
    /// Whether each league has an organiser that pulls levers; then no agent lies.
    pub levers: bool,
    /// Whether the formats are drawn in which rounds follow from results; else all meet all.
    pub formats: bool,
    /// A bug that is planted, to see that it is found.
    pub sabotage: Option<Sabotage>,
    /// Whether a digest is made of everything that happens.
    pub digest: bool,
}

impl SimulationPlan {
    /// So many matches with all faults, in leagues of 2 to 40 players and 1 to 5 referees.
    pub fn new(matches: u64) -> Self {
        Self {
            matches,
            leagues: 0,
            faults: true,
            league: None,
            players: (2, 40),
            referees: (1, 5),
            game: None,
            liars: false,
            levers: false,
            formats: false,
            sabotage: None,
            digest: false,
        }
    }

    /// So many matches in leagues with a liar each, and no other fault.
    pub fn with_liars(matches: u64) -> Self {
        Self {
            referees: (2, 5),
            liars: true,
            ..Self::new(matches)
        }
    }

    /// So many matches with all faults, in small leagues with an organiser that pulls levers.
    pub fn with_levers(matches: u64) -> Self {
        Self {
            players: (2, 10),
            levers: true,
            ..Self::new(matches)
        }
    }

    /// So many matches with all faults, in leagues whose rounds follow from results.
    pub fn with_formats(matches: u64) -> Self {
        Self {
            players: (4, 24),
            formats: true,
            ..Self::new(matches)
        }
    }

    /// The same without any fault.
    pub fn without_faults(matches: u64) -> Self {
        Self {
            faults: false,
            ..Self::new(matches)
        }
    }
}

/// One league in so many has a liar.
const ONE_LIAR_IN: u64 = 6;

/// The key by which the manager admits referees.
pub(crate) const REFEREE_KEY: &str = "tok-referees-simulated";

/// How addresses end that no referee calls before it has to.
const BARRED: &str = "/barred";

/// One league before it begins.
pub(crate) struct Scenario {
    pub(crate) chance: Rng,
    pub(crate) listing: &'static Listing,
    pub(crate) rules: LeagueRules,
    pub(crate) secrets: LeagueSecrets,
    /// How many matches each referee runs at once.
    pub(crate) capacities: Vec<u32>,
    pub(crate) players: Vec<Person>,
    pub(crate) rates: Rates,
    /// How often the organiser pulls levers; never without a plan.
    pub(crate) levers: Option<LeverPlan>,
    /// Who lies; then nothing else goes wrong.
    pub(crate) liar: Option<Liar>,
    /// From here on nothing fails any more.
    pub(crate) calm_from: Timestamp,
    /// The shortest and the longest way of a message, in milliseconds.
    pub(crate) way: (u64, u64),
    /// How long a sync of the journal takes, in milliseconds.
    pub(crate) sync: u64,
}

/// Games with at most so many moves are played with their usual settings.
const SHORT_GAME: u32 = 10;
/// The largest number in the settings of longer games.
const SHORT_SETTING: u64 = 3;

/// A player before the league begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Person {
    pub(crate) dialect: Dialect,
    pub(crate) behaviour: Behaviour,
    /// Whether it puts its token into its answers.
    pub(crate) shows_token: bool,
    /// Whether it signs its joins and moves.
    pub(crate) signs: bool,
    /// Whether it answers where no referee calls before it has to.
    pub(crate) is_barred: bool,
}

impl Scenario {
    pub(crate) fn draw(mut chance: Rng, plan: &SimulationPlan) -> Self {
        let chance_of_faults = chance.next();
        let listing = draw_game(&mut chance, plan);
        let players = small(&mut chance, plan.players);
        let referees = small(&mut chance, plan.referees);
        let most = players.div_ceil(2).div_ceil(referees).max(1);
        let capacities = (0..referees).map(|_| small(&mut chance, (1, most + 2)));
        let capacities = capacities.collect();
        let mut rules = draw_rules(&mut chance, listing, (players, referees), plan);
        let secrets = LeagueSecrets {
            draws: LeagueSecret(chance.bytes()),
            tokens: LeagueSecret(chance.bytes()),
        };
        let matches = u64::from(players) * u64::from(players - 1) / 2;
        let mut faulty = Rng::new(chance_of_faults);
        let liar = Liar::draw(&mut faulty, referees, listing)
            .filter(|_| faulty.below(ONE_LIAR_IN) == 0 || plan.liars)
            .filter(|_| plan.faults && referees > 1 && !plan.levers);
        if let (Some(liar), Some((_, needed))) = (&liar, &mut rules.start_when) {
            *needed = needed.saturating_sub(u32::from(liar.lie == Lie::Stranger));
        }
        let (rates, calm_from) = if plan.faults {
            let until = faulty.between(60, 60 + 120 * u64::from(players));
            let until = Clock::<()>::beginning() + Duration::from_secs(until);
            let rates = Rates::draw(&mut faulty, matches);
            (liar.map_or(rates, |liar| rates.beside(liar.lie)), until)
        } else {
            (Rates::default(), Clock::<()>::beginning())
        };
        let well_behaved = !plan.faults || liar.is_some() || faulty.below(3) == 0;
        let person = |_| {
            let person = Person::draw(&mut faulty, plan, well_behaved);
            liar.map_or(person, |_| person.that_proves())
        };
        let players = (0..players).map(person).collect();
        let way = if plan.faults {
            (1, faulty.between(1, 200))
        } else {
            (1, 3)
        };
        let sync = if plan.faults { faulty.below(4) * 5 } else { 0 };
        Self {
            levers: draw_levers(&mut faulty, plan, &mut rules, rates),
            chance,
            listing,
            rules,
            secrets,
            capacities,
            players,
            rates,
            liar,
            calm_from,
            way,
            sync,
        }
    }

    /// Whether an agent is a referee that is not admitted.
    pub(crate) fn is_stranger(&self, who: crate::NodeId) -> bool {
        let liar = self.liar.filter(|liar| liar.lie == Lie::Stranger);
        liar.is_some_and(|liar| liar.who == who)
    }

    /// How many tries a question to a player gets.
    pub(crate) fn attempts(&self) -> u32 {
        self.rules.timeouts.attempts
    }
}

impl Person {
    /// Whether what it says can be proved.
    pub(crate) fn proves(&self) -> bool {
        self.signs && self.dialect != Dialect::V1
    }

    /// The same, in the dialect of players that sign, and where all referees call it.
    fn that_proves(self) -> Self {
        let dialect = match self.dialect {
            Dialect::V1 => Dialect::V2,
            other => other,
        };
        Self {
            dialect,
            shows_token: true,
            signs: true,
            is_barred: false,
            ..self
        }
    }

    fn draw(chance: &mut Rng, plan: &SimulationPlan, well_behaved: bool) -> Self {
        let dialect = match chance.below(10) {
            0 if plan.faults => Dialect::V1,
            1 => Dialect::V2Api,
            _ => Dialect::V2,
        };
        Self {
            dialect,
            behaviour: if well_behaved {
                Behaviour::HONEST
            } else {
                Behaviour::draw(chance)
            },
            shows_token: dialect != Dialect::V1,
            signs: chance.below(8) != 0,
            is_barred: plan.faults && chance.below(40) == 0,
        }
    }
}

/// The game of the plan, or any.
fn draw_game(chance: &mut Rng, plan: &SimulationPlan) -> &'static Listing {
    let games = league_games::all();
    let wanted = match plan.game {
        Some(game) => league_games::find(game),
        None => chance.pick(games),
    };
    wanted.unwrap_or(&games[0])
}

const MODES: [DrawMode; 2] = [DrawMode::Chance, DrawMode::Reproducible];

fn draw_rules(
    chance: &mut Rng,
    listing: &Listing,
    (players, referees): (u32, u32),
    plan: &SimulationPlan,
) -> LeagueRules {
    let assignments = [
        Assignment::RoundRobin,
        Assignment::LeastLoaded,
        Assignment::Weighted,
    ];
    let (league_id, game_type) = names(listing);
    let mut plain = LeagueRules::new(league_id, game_type);
    plain.game_settings = short_settings(listing);
    plain.match_limit = plain.longest_match();
    plain.legs = match (plan.formats, players) {
        // Small leagues are over soon.
        (false, ..=3) => 2,
        _ => 1,
    };
    if plan.formats {
        draw_format(chance, &mut plain, players);
        // With a number of rounds the first players may be too few.
        plain.late_entry = plain.format.takes_late_entrants() && plain.rounds.is_none();
    }
    let least = plain.least_players().min(players);
    // The last ones come late, if the others are quicker.
    let awaited = match plain.late_entry {
        true => u32::try_from(chance.between(least.into(), players.into())).unwrap_or(players),
        false => players,
    };
    let fair = LeagueRules {
        start_when: Some((awaited, referees)),
        assignment: chance.pick(&assignments).copied().unwrap_or_default(),
        token_ttl: Duration::from_secs(365 * 24 * 3_600),
        draws: MODES[usize::from(chance.below(2) > 0)],
        ..plain
    };
    if !plan.faults {
        return fair;
    }
    let seconds = Duration::from_secs;
    let mut rules = LeagueRules {
        strict: chance.below(4) == 0,
        max_fail: u32::try_from(chance.between(2, 6)).unwrap_or(5),
        broadcast_limit: if chance.below(4) == 0 { 5 } else { 200 },
        breaker: BreakerRule {
            threshold: u32::try_from(chance.between(2, 5)).unwrap_or(5),
            ..fair.breaker
        },
        timeouts: Timeouts {
            attempts: u32::try_from(chance.between(2, 4)).unwrap_or(3),
            backoff: if chance.below(2) == 0 {
                Backoff::Fixed(seconds(2))
            } else {
                Backoff::Exponential(seconds(1))
            },
            ..fair.timeouts
        },
        ..fair
    };
    rules.match_limit = rules.longest_match();
    rules
}

/// A format that so many players can play, and some of its settings.
fn draw_format(chance: &mut Rng, rules: &mut LeagueRules, players: u32) {
    let formats = Format::all().skip(1);
    let formats: Vec<Format> = formats
        .filter(|&format| {
            let plan = FormatPlan {
                format,
                players,
                ..FormatPlan::default()
            };
            plan.check().is_ok()
        })
        .collect();
    rules.use_format(chance.pick(&formats).copied().unwrap_or_default());
    let mut number = |low: u64, high: u64| u32::try_from(chance.between(low, high)).unwrap_or(1);
    let drawn = LeagueRules {
        legs: number(1, 3),
        rounds: Some(number(1, 8)),
        groups: Some(number(2, 4)),
        duration: Some(Duration::from_secs(number(1, 20).into())),
        ..rules.clone()
    };
    let settings: [fn(&mut LeagueRules, &LeagueRules); 4] = [
        |rules, drawn| rules.legs = drawn.legs,
        |rules, drawn| rules.rounds = drawn.rounds,
        |rules, drawn| rules.groups = drawn.groups,
        |rules, drawn| rules.duration = drawn.duration,
    ];
    for set in settings {
        let before = rules.plan(players);
        let mut changed = rules.clone();
        set(&mut changed, &drawn);
        // A league without end is given an end, and a league that ends by time ends soon.
        let is_needed = before.is_endless() || before.ends_after().is_some();
        let is_taken = changed.plan(players).check().is_ok();
        if is_taken && (is_needed || chance.below(2) == 0) {
            *rules = changed;
        }
    }
}

fn draw_levers(
    chance: &mut Rng,
    plan: &SimulationPlan,
    rules: &mut LeagueRules,
    rates: Rates,
) -> Option<LeverPlan> {
    plan.levers.then(|| {
        set_pace(chance, rules);
        LeverPlan::draw(chance, rates.mischief == 0)
    })
}

/// Some leagues with an organiser are slowed down for their viewers.
fn set_pace(chance: &mut Rng, rules: &mut LeagueRules) {
    if chance.below(3) == 0 {
        rules.round_every = Duration::from_secs(chance.below(10));
    }
    if chance.below(3) == 0 {
        rules.matches_at_once = u32::try_from(chance.between(1, 3)).ok();
    }
}

/// Settings by which a game of many moves has few, so that whole leagues stay fast; else the usual.
fn short_settings(listing: &Listing) -> Value {
    let defaults = (listing.default_settings)();
    if listing.rules.max_moves <= SHORT_GAME {
        return Value::Null;
    }
    let shorten = |(key, value): (&String, &Value)| {
        let short = value.as_u64().map(|number| number.min(SHORT_SETTING));
        (
            key.clone(),
            short.map_or_else(|| value.clone(), Value::from),
        )
    };
    let short = defaults.as_object().map(|keys| keys.iter().map(shorten));
    let short: Value = short.map_or(Value::Null, Iterator::collect);
    match (listing.open)(&short) {
        Ok(_) => short,
        Err(_) => Value::Null,
    }
}

#[expect(
    clippy::unwrap_used,
    reason = "both are checked names that are written here or in the list of games"
)]
fn names(listing: &Listing) -> (LeagueId, GameType) {
    let league_id = LeagueId::new("league_simulated").unwrap();
    (league_id, GameType::new(listing.rules.game_type).unwrap())
}

/// A number between two bounds, small ones more often.
fn small(chance: &mut Rng, (low, high): (u32, u32)) -> u32 {
    let one = chance.between(low.into(), high.into());
    let other = chance.between(low.into(), high.into());
    u32::try_from(one.min(other)).unwrap_or(low)
}

/// Where an agent answers.
pub(crate) fn endpoint(who: crate::NodeId) -> Arc<str> {
    format!("http://agent-{who}/mcp").into()
}

/// Where an agent answers that no referee calls before it has to.
pub(crate) fn barred_endpoint(who: crate::NodeId) -> Arc<str> {
    format!("http://agent-{who}{BARRED}").into()
}

/// Whether a referee would rather not call there.
pub(crate) fn is_barred(endpoint: &str) -> bool {
    endpoint.ends_with(BARRED)
}

/// Who answers at an address.
pub(crate) fn node_at(endpoint: &str) -> Option<crate::NodeId> {
    let rest = endpoint.strip_prefix("http://agent-")?;
    let digits = rest.bytes().take_while(|&byte| byte != b'/');
    digits.into_iter().try_fold(0, |who: crate::NodeId, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        who.checked_mul(10)?.checked_add(digit.into())
    })
}
