//! Formats: whole tournaments from results alone, with players that leave and return.

mod arena;
mod brackets;
mod ladder;
mod swiss;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::format::{
    Format, FormatError, FormatPlan, FormatView, GroupRow, NextRound, RoundRobin, Sides,
};
use league_core::league::schedule::{Pairing, Schedule};
use league_core::league::standings::{MatchEnding, Standings};
use league_core::league::{
    Command, Event, Inconsistency, League, LeagueRules, Lever, PlayedMatches, Reply, RulesError,
    Tiebreaker,
};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{RegisterResponse, Score, StandingRow};
use league_protocol::sender::Agent;
use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::{ended, honest};

use super::forfeits::return_first;

struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn plan(format: &str, players: u32) -> FormatPlan {
    FormatPlan {
        format: Format::find(format).unwrap(),
        players,
        sides: Sides::Balanced,
        ..FormatPlan::default()
    }
}

/// A tournament in progress.
struct Tournament {
    standings: Standings,
    plan: FormatPlan,
    out: BTreeSet<u32>,
    rounds: Vec<NextRound>,
    /// The seats of matches in which both players played.
    played: Vec<[u32; 2]>,
}

impl Tournament {
    fn new(plan: FormatPlan) -> Self {
        plan.check().unwrap();
        Self {
            standings: Standings::new(Schedule::new(plan), Score::default()),
            plan,
            out: BTreeSet::new(),
            rounds: Vec::new(),
            played: Vec::new(),
        }
    }

    /// Takes in a player after the start; returns its number.
    fn admit(&mut self) -> u32 {
        self.standings.admit();
        self.plan = *self.standings.schedule().plan();
        self.plan.players - 1
    }

    fn next(&self) -> Option<NextRound> {
        self.standings
            .next_round(&|player| !self.out.contains(&player))
    }

    /// Opens the next round and ends its matches; returns it.
    fn play(&mut self, mut end: impl FnMut([u32; 2]) -> MatchEnding) -> Option<NextRound> {
        let next = self.next()?;
        assert_eq!(self.next().as_ref(), Some(&next), "the same pairings again");
        self.standings.open(&next);
        let round = u32::try_from(self.rounds.len()).unwrap() + 1;
        for (index, &seats) in (0..).zip(&next.pairings) {
            let pairing = Pairing {
                round,
                index,
                seats,
            };
            assert_eq!(
                self.standings.schedule().pairing_of(seats[1], round),
                Some(pairing)
            );
            let ending = match seats.map(|seat| self.out.contains(&seat)) {
                [false, false] => end(seats),
                [true, true] => MatchEnding::BothForfeit,
                [is_a, _] => MatchEnding::Forfeit(usize::from(!is_a)),
            };
            self.standings.note(pairing, ending);
            if !ending.forfeited(0) && !ending.forfeited(1) {
                self.played.push(seats);
            }
        }
        self.rounds.push(next.clone());
        Some(next)
    }

    fn all_seats(&self) -> impl Iterator<Item = [u32; 2]> {
        self.rounds
            .iter()
            .flat_map(|round| round.pairings.iter().copied())
    }

    /// How often each pair met, the lower number first.
    fn meetings(&self) -> BTreeMap<[u32; 2], u32> {
        let mut met = BTreeMap::new();
        for [a, b] in self.all_seats() {
            *met.entry([a.min(b), a.max(b)]).or_default() += 1;
        }
        met
    }

    /// The matches that a player played at seat A minus those at seat B.
    fn balance(&self, player: u32) -> i64 {
        let side = |[a, b]: &[u32; 2]| i64::from(*a == player) - i64::from(*b == player);
        self.played.iter().map(side).sum()
    }

    fn byes_of(&self, player: u32) -> usize {
        let rounds = self.rounds.iter();
        rounds.filter(|round| round.byes.contains(&player)).count()
    }
}

fn by_strength(chance: &mut Chance, [a, b]: [u32; 2]) -> MatchEnding {
    match chance.below(10) {
        0 => MatchEnding::Draw,
        1 => MatchEnding::Forfeit(chance.below(2) as usize),
        2 => MatchEnding::Win(chance.below(2) as usize),
        _ => MatchEnding::Win(usize::from(b < a)),
    }
}

/// A match that both play.
fn played(chance: &mut Chance, seats: [u32; 2]) -> MatchEnding {
    match by_strength(chance, seats) {
        MatchEnding::Forfeit(seat) => MatchEnding::Win(1 - seat),
        ending => ending,
    }
}

#[test]
fn round_robin_is_as_long_as_its_plan() {
    let settings = FormatPlan {
        legs: 2,
        ..plan("round_robin", 5)
    };
    let computed = Schedule::new(settings);
    assert!(computed.is_computed());
    assert_eq!(computed.rounds(), settings.rounds());
    assert_eq!(computed.total_matches(), settings.total_matches());
}

#[test]
fn settings_that_a_format_does_not_have_are_refused() {
    let not_taken = |plan: FormatPlan| {
        assert!(matches!(
            plan.check().unwrap_err(),
            FormatError::NotTaken(..)
        ))
    };
    let (groups, duration) = (Some(2), Some(Duration::from_secs(60)));
    for format in ["swiss", "knockout", "gauntlet", "round_robin"] {
        not_taken(FormatPlan {
            groups,
            ..plan(format, 8)
        });
        not_taken(FormatPlan {
            duration,
            ..plan(format, 8)
        });
    }
    for format in ["ladder", "arena"] {
        not_taken(FormatPlan {
            legs: 2,
            ..plan(format, 8)
        });
    }
    for groups in [1, 3] {
        let refused = FormatPlan {
            groups: Some(groups),
            ..plan("groups", 8)
        };
        let refused = refused.check().unwrap_err();
        assert!(matches!(refused, FormatError::Groups { most: 2, .. }));
    }
}

#[test]
fn round_robin_ends_after_the_chosen_rounds() {
    let cut = LeagueRules {
        rounds: Some(2),
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(cut, 5, 1, 5);
    world.play_on();
    assert!(world.league.is_over());
    assert_eq!(
        (world.league.rounds(), world.league.total_matches()),
        (2, 4)
    );
    let audited = world.audited().unwrap();
    assert_eq!(audited.standings(), world.league.standings());
    let schedule = world.league.schedule();
    let played: Vec<_> = schedule.pairings().collect();
    let full = RoundRobin::new(5, world.league.format_plan().sides);
    assert!(full.pairings().take(4).eq(played.iter().copied()));
    let seats = |one, other| {
        played
            .iter()
            .filter(move |own| own.seats == [one, other] || own.seats == [other, one])
    };
    for (one, other) in (0..5).flat_map(|one| (0..5).map(move |other| (one, other))) {
        assert!(schedule.meetings(one, other).eq(seats(one, other).copied()));
    }
}

#[test]
fn formats_that_cannot_work_are_refused() {
    let refused = |plan: FormatPlan| plan.check().unwrap_err();
    assert_eq!(
        refused(plan("swiss", 2)).to_string(),
        "a Swiss tournament has at least 4 players, not 2: expect more, or choose another format"
    );
    let rounds = |players, rounds| FormatPlan {
        rounds: Some(rounds),
        ..plan("swiss", players)
    };
    assert_eq!(
        refused(rounds(10, 6)),
        FormatError::Rounds {
            players: 10,
            most: 5,
            found: 6
        }
    );
    for found in [0, 65, 999] {
        let (format, most) = ("Swiss tournament", 64);
        assert_eq!(
            refused(rounds(10, found)),
            FormatError::AnyRounds {
                format,
                most,
                found
            }
        );
    }
    assert_eq!(rounds(10, 5).check(), Ok(()));
    let cut = |players, found| FormatPlan {
        rounds: Some(found),
        ..plan("round_robin", players)
    };
    assert_eq!(cut(8, 7).check(), Ok(()));
    for (found, most) in [(0, 7), (8, 7)] {
        let players = 8;
        let expected = FormatError::AllRounds {
            players,
            most,
            found,
        };
        assert_eq!(refused(cut(8, found)), expected);
    }
    for format in ["knockout", "gauntlet"] {
        let with_rounds = FormatPlan {
            rounds: Some(3),
            ..plan(format, 8)
        };
        assert!(matches!(refused(with_rounds), FormatError::OwnRounds(_)));
        assert!(matches!(
            refused(plan(format, 1)),
            FormatError::Players { .. }
        ));
    }
}

#[test]
fn ladder_without_rounds_or_time_is_refused() {
    let no_rounds = FormatPlan {
        rounds: Some(0),
        ..plan("ladder", 4)
    };
    assert_eq!(no_rounds.check(), Err(FormatError::NoRounds("ladder")));
    let no_time = FormatPlan {
        duration: Some(Duration::ZERO),
        ..plan("ladder", 4)
    };
    assert_eq!(no_time.check(), Err(FormatError::NoDuration("ladder")));
}

/// The formats whose rounds follow from results.
const LISTED: [&str; 6] = [
    "swiss",
    "knockout",
    "double_elimination",
    "groups",
    "gauntlet",
    "ladder",
];

/// A league of the machine in this format, with so many players.
fn league_of(format: &str, players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find(format).unwrap());
    rules.rounds = (format == "ladder").then_some(5);
    LeagueWorld::begun_by(rules, players, 2, 4)
}

#[test]
fn format_without_players_has_no_round() {
    for format in Format::all() {
        for players in 0..2 {
            let plan = FormatPlan {
                format,
                players,
                ..FormatPlan::default()
            };
            let standings = Standings::new(Schedule::new(plan), Score::default());
            assert_eq!(standings.next_round(&|_| true), None, "{format:?}");
        }
    }
}

#[test]
fn journals_of_every_format_pass_the_audit_and_give_the_same_league() {
    for format in LISTED {
        let mut world = league_of(format, 7);
        world.play_on();
        assert!(world.league.is_over(), "{format}");
        assert_eq!(
            world.league.rounds(),
            world.league.round().unwrap().number()
        );
        assert_eq!(world.league.total_matches(), world.league.matches_played());
        let audited = world.audited().unwrap();
        assert_eq!(audited.standings(), world.league.standings(), "{format}");
        assert_eq!(audited.schedule(), world.replayed().schedule(), "{format}");
    }
}

#[test]
fn pairings_that_do_not_follow_from_results_are_found() {
    for format in LISTED {
        let mut world = league_of(format, 8);
        world.play_on();
        for event in &mut world.events {
            if let Event::RoundOpened {
                round: 2, pairings, ..
            } = event
            {
                pairings[0].reverse();
            }
        }
        assert_eq!(
            world.audited().unwrap_err(),
            Inconsistency::Pairings(2),
            "{format}"
        );
    }
    let mut world = league_of("swiss", 7);
    world.play_on();
    for event in &mut world.events {
        if let Event::RoundOpened { byes, .. } = event {
            byes.clear();
        }
    }
    assert_eq!(world.audited().unwrap_err(), Inconsistency::Pairings(1));
}

/// An arena of the machine with so many players, which goes on for a minute.
fn arena(players: u32) -> LeagueWorld {
    let mut rules = rules();
    rules.use_format(Format::find("arena").unwrap());
    rules.duration = Some(Duration::from_secs(60));
    LeagueWorld::begun_by(rules, players, 2, 8)
}

/// The seats of all matches that began, by their ids.
fn begun(world: &LeagueWorld) -> Vec<[String; 2]> {
    let schedule = world.league.schedule();
    let names = schedule
        .pairings()
        .map(|it| it.seats.map(|seat| format!("P{:02}", seat + 1)));
    names.collect()
}

/// A league of the machine in this format to its end; `restarts` says that each of its steps begins
/// with a restart.
fn played_out(format: &str, restarts: bool) -> LeagueWorld {
    let mut world = match format {
        "arena" => arena(7),
        _ => league_of(format, 7),
    };
    for _ in 0..100 {
        if restarts {
            world.restart();
        }
        play_round(&mut world);
        world.pass(7);
    }
    assert!(world.league.is_over(), "{format}");
    world
}

#[test]
fn restarts_find_the_same_pairings_in_every_format() {
    for format in Format::all().map(Format::name) {
        let (whole, interrupted) = (played_out(format, false), played_out(format, true));
        assert!(begun(&whole).len() > 5, "{format}");
        assert_eq!(begun(&interrupted), begun(&whole), "{format}");
        assert_eq!(
            interrupted.league.standings(),
            whole.league.standings(),
            "{format}"
        );
    }
}

#[test]
fn matches_are_played_again_in_a_round_robin_only() {
    let mut world = league_of("swiss", 4);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    let match_id = MatchId::numbered(1, 1);
    let refused = world.pull(Lever::Replay { match_id }).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("no match of a Swiss tournament"),
        "{refused}"
    );
}

#[test]
fn a_league_does_not_start_with_too_few_players_for_its_format() {
    let mut rules = LeagueRules {
        start_when: None,
        ..rules()
    };
    rules.use_format(Format::find("swiss").unwrap());
    let mut world = LeagueWorld::new(rules);
    world.admit_referee("Referee", 1);
    for name in ["A", "B", "C"] {
        world.admit_player(name);
    }
    let refused = world.pull(Lever::Start).unwrap_err();
    assert!(
        refused.to_string().contains("at least `4` players"),
        "{refused}"
    );
    world.admit_player("D");
    world.pull(Lever::Start).unwrap();
    let mut rules = world.league.rules().clone();
    (rules.rounds, rules.start_when) = (Some(3), Some((4, 1)));
    let refused = League::new(rules, LeagueSecrets::one(LeagueSecret([0; 32]))).unwrap_err();
    assert!(matches!(
        refused,
        RulesError::Format(FormatError::Rounds { most: 2, .. })
    ));
}

fn play_round(world: &mut LeagueWorld) {
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    world.settle();
}

fn register(world: &mut LeagueWorld, name: &str) -> Result<PlayerId, String> {
    let candidate = world.candidate(name);
    match world.when(&Command::RegisterPlayer(candidate)).unwrap().1 {
        Reply::Player(RegisterResponse::Rejected { reason }) => Err(reason),
        Reply::Player(RegisterResponse::Accepted(enrolment)) => {
            let agent = Agent::Player(enrolment.id.clone());
            world.tokens.insert(agent, enrolment.token);
            Ok(enrolment.id)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_formats_take_no_players_after_their_start() {
    for format in ["round_robin", "knockout", "double_elimination", "gauntlet"] {
        let mut world = league_of(format, 4);
        let reason = register(&mut world, "Late").unwrap_err();
        let begun = "Registration closed: the league has begun; only a Swiss tournament";
        assert!(reason.starts_with(begun), "{format}: {reason}");
        let refused = world.pull(Lever::OpenRegistration { until: None });
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("only a Swiss tournament"),
            "{format}"
        );
        let mut rules = world.league.rules().clone();
        rules.late_entry = true;
        assert!(matches!(
            rules.check_format().unwrap_err(),
            FormatError::LateEntry(_)
        ));
    }
}
