//! Long runs that look for failures, by name: `cargo xtask campaign NAME`.
//!
//! A campaign takes as long as it is told and prints what it found; `cargo xtask test` runs the short
//! forms. A new campaign is a variant, its options, and how it runs.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::postgres::run_tests;
use crate::shell::{build_league, hand_over, program};

/// The test that kills processes.
const KILL_TEST: &str = "end_to_end::kills::killed_agents_return_and_every_match_counts_once";

/// The test that damages journals.
const DAMAGE_TEST: &str = "end_to_end::lost::no_damage_of_a_journal_changes_an_acknowledged_result";

/// The test in which disk calls fail.
const DISK_TEST: &str = "end_to_end::disk::no_failed_disk_call_changes_an_acknowledged_result";

/// The test that pulls levers while the manager is killed.
const LEVER_TEST: &str = "end_to_end::levers::every_lever_holds_though_the_manager_is_killed";

/// The test in which players go away and come back.
const ABSENCE_TEST: &str = "end_to_end::absent::no_player_loses_a_match_at_which_it_was_there";

/// The test with a referee that was not admitted.
const ROGUE_TEST: &str = "end_to_end::rogue::referee_that_was_not_admitted_changes_no_result";

/// The test in which every strategy plays every game that it knows.
const NETWORKED_TEST: &str = "end_to_end::networked::no_strategy_is_late_or_deviates_in_any_game";

/// The tests that kill managers, referees and servers of leagues in PostgreSQL, and the one with many
/// leagues at once.
const POSTGRES_KILL_TEST: &str =
    "kills::no_acknowledged_result_is_lost_or_doubled_whatever_is_killed";
const POSTGRES_MANY_TEST: &str =
    "many::every_league_of_a_host_that_is_killed_ends_at_another_one_with_each_match_once";

#[derive(Subcommand)]
pub(crate) enum Campaign {
    /// Play leagues in virtual time with every kind of fault.
    Sim(Sim),
    /// Play leagues of every format whose rounds follow from results, in virtual time with every kind
    /// of fault.
    Formats(Formats),
    /// Kill agents of real leagues at random, and check that nothing is lost.
    Kill9(Kill9),
    /// Damage the journals of killed managers, and check that no acknowledged result changes.
    Damage(Damage),
    /// Fail disk calls of managers, and check that no acknowledged result changes.
    Disk(Disk),
    /// Let players of a real league go away and come back, and check that none loses while it is there.
    Absence(Absence),
    /// Kill managers, referees and the server of leagues in PostgreSQL, then play many leagues at once
    /// on several hosts.
    Postgres(Postgres),
    /// Pull every lever of the organiser, in simulated leagues with faults and in real leagues while
    /// their managers are killed.
    Levers(Levers),
    /// Let a referee that was not admitted attack real leagues, and liars simulated ones.
    Rogue(Rogue),
    /// Read damaged and hostile frames, and check that no reader panics.
    Fuzz(Fuzz),
    /// Play strategies against each other, and check the figures of `docs/strategies.md`.
    Lab(LabCampaign),
    /// Simulate leagues of players of known strength, and count how often the 95 % intervals of
    /// ratings hold it.
    Coverage(Coverage),
    /// Let every strategy play every game in real calls, and check that none is late or deviates.
    Networked(Networked),
    /// Flood the agents of a real league, and compare what honest callers notice.
    Flood(Flood),
    /// Run all campaigns one after the other, at their full size; takes hours.
    All,
}

/// The campaigns of `all`, each with its usual options.
const ALL: [&str; 14] = [
    "sim",
    "formats",
    "lab",
    "coverage",
    "networked",
    "rogue",
    "kill9",
    "levers",
    "damage",
    "disk",
    "absence",
    "postgres",
    "fuzz",
    "flood",
];

impl Campaign {
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Sim(options) => options.run(),
            Self::Formats(options) => options.run(),
            Self::Kill9(options) => options.run(),
            Self::Damage(options) => options.run(),
            Self::Disk(options) => options.run(),
            Self::Absence(options) => options.run(),
            Self::Postgres(options) => options.run(),
            Self::Levers(options) => options.run(),
            Self::Rogue(options) => options.run(),
            Self::Fuzz(options) => options.run(),
            Self::Lab(options) => options.run(),
            Self::Coverage(options) => options.run(),
            Self::Networked(options) => options.run(),
            Self::Flood(options) => options.run(),
            Self::All => run_all(),
        }
    }
}

#[derive(Args)]
pub(crate) struct Sim {
    /// Stop after the league that reaches this number of matches.
    #[arg(long, default_value_t = 1_000_000)]
    matches: u64,
    /// Seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play without faults.
    #[arg(long)]
    no_faults: bool,
    /// Play small leagues with an organiser that pulls levers.
    #[arg(long)]
    levers: bool,
    /// Play leagues whose rounds follow from results: every format but the round robin.
    #[arg(long)]
    formats: bool,
    /// Run only this league of the seed.
    #[arg(long)]
    league: Option<u64>,
}

#[derive(Args)]
pub(crate) struct Formats {
    /// Number of leagues; the formats are drawn, each about as often as the others.
    #[arg(long, default_value_t = 800_000)]
    leagues: u64,
    /// Seed of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Kill9 {
    /// Number of processes to kill.
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// Seed of the leagues, and of which process is killed and when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Levers {
    /// Number of leagues of real processes.
    #[arg(long, default_value_t = 20)]
    leagues: u64,
    /// Number of simulated leagues.
    #[arg(long, default_value_t = 20_000)]
    simulated: u64,
    /// Seed of when managers are killed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Damage {
    /// Number of damages.
    #[arg(long, default_value_t = 1_000)]
    damages: u64,
    /// Seed of the leagues and of the damages.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Disk {
    /// Number of calls that fail.
    #[arg(long, default_value_t = 2_000)]
    faults: u64,
    /// Seed of which call fails, and how.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Absence {
    /// Number of players.
    #[arg(long, default_value_t = 30)]
    players: u64,
    /// Number of absences, each of another player.
    #[arg(long, default_value_t = 12)]
    absences: u64,
    /// Seconds of the longest absence; the shortest is an eighteenth of it.
    #[arg(long, default_value_t = 90)]
    longest: u64,
    /// Milliseconds that a player thinks before each move.
    #[arg(long, default_value_t = 5_000)]
    pace: u64,
    /// Seed of when the absences begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Postgres {
    /// Number of kills of managers, referees and the server.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// Number of leagues that are played at once.
    #[arg(long, default_value_t = 50)]
    leagues: u64,
    /// Number of hosts that manage them and run their referees.
    #[arg(long, default_value_t = 4)]
    hosts: u64,
    /// Seed of what is killed and when.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Rogue {
    /// Number of leagues of real processes.
    #[arg(long, default_value_t = 20)]
    real: u64,
    /// Number of simulated leagues, each with a liar.
    #[arg(long, default_value_t = 1_000)]
    simulated: u64,
    /// Seed of the leagues.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Fuzz {
    /// Number of frames.
    #[arg(long, default_value_t = 100_000_000)]
    frames: u64,
    /// Seed of the frames.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Read only this frame of the seed, and show it.
    #[arg(long)]
    frame: Option<u64>,
}

#[derive(Args)]
pub(crate) struct LabCampaign {
    /// Share of the full figures, in percent.
    #[arg(long, default_value_t = 100)]
    percent: u64,
}

#[derive(Args)]
pub(crate) struct Coverage {
    /// Number of leagues.
    #[arg(long, default_value_t = 100_000)]
    leagues: u64,
}

#[derive(Args)]
pub(crate) struct Networked {
    /// Number of games of each strategy in each game, at least.
    #[arg(long, default_value_t = 50)]
    games: u64,
}

#[derive(Args)]
pub(crate) struct Flood {
    /// Number of peers that flood, and of peers that only hold a connection.
    #[arg(long, default_value_t = 1_000)]
    peers: u32,
    /// Number of rounds; in each of them the league is played beside the flood and in it.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds that are measured each time.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Milliseconds that a flooding peer pauses between two calls.
    #[arg(long, default_value_t = 100)]
    pause: u32,
}

impl Sim {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let mut arguments = flags(&[("--matches", self.matches), ("--seed", self.seed)]);
        arguments.extend(self.no_faults.then(|| "--no-faults".to_owned()));
        arguments.extend(self.levers.then(|| "--levers".to_owned()));
        arguments.extend(self.formats.then(|| "--formats".to_owned()));
        if let Some(league) = self.league {
            arguments.extend(flags(&[("--league", league)]));
        }
        simulate(&arguments)
    }
}

impl Formats {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let mut arguments = flags(&[("--matches", 0), ("--leagues", self.leagues)]);
        arguments.extend(flags(&[("--seed", self.seed)]));
        arguments.push("--formats".to_owned());
        simulate(&arguments)
    }
}

impl Kill9 {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let settings = [
            ("LEAGUE_KILLS", self.kills),
            ("LEAGUE_KILL_SEED", self.seed),
        ];
        process_test(KILL_TEST, &settings)
    }
}

impl Levers {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let simulated = [("--matches", 0), ("--leagues", self.simulated)];
        let mut arguments = flags(&simulated);
        arguments.extend(flags(&[("--seed", self.seed)]));
        arguments.push("--levers".to_owned());
        let simulated = simulate(&arguments)?;
        if simulated != ExitCode::SUCCESS {
            return Ok(simulated);
        }
        let leagues = ("LEAGUE_LEVER_LEAGUES", self.leagues);
        process_test(LEVER_TEST, &[leagues, ("LEAGUE_LEVER_SEED", self.seed)])
    }
}

impl Damage {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let damages = ("LEAGUE_DAMAGES", self.damages);
        process_test(DAMAGE_TEST, &[damages, ("LEAGUE_DAMAGE_SEED", self.seed)])
    }
}

impl Disk {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let faults = ("LEAGUE_DISK_FAULTS", self.faults);
        process_test(DISK_TEST, &[faults, ("LEAGUE_DISK_SEED", self.seed)])
    }
}

impl Absence {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let settings = [
            ("LEAGUE_ABSENCE_PLAYERS", self.players),
            ("LEAGUE_ABSENCES", self.absences),
            ("LEAGUE_ABSENCE_SECONDS", self.longest),
            ("LEAGUE_ABSENCE_PACE", self.pace),
            ("LEAGUE_ABSENCE_SEED", self.seed),
        ];
        process_test(ABSENCE_TEST, &settings)
    }
}

impl Postgres {
    /// Runs each part that has a size; 0 leaves it out.
    fn run(&self) -> anyhow::Result<ExitCode> {
        if self.kills > 0 {
            let settings = [
                ("LEAGUE_POSTGRES_KILLS", self.kills),
                ("LEAGUE_POSTGRES_SEED", self.seed),
            ];
            let killed = run_tests(&["--exact", POSTGRES_KILL_TEST], &settings)?;
            if killed != ExitCode::SUCCESS {
                return Ok(killed);
            }
        }
        if self.leagues == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let settings = [
            ("LEAGUE_POSTGRES_LEAGUES", self.leagues),
            ("LEAGUE_POSTGRES_HOSTS", self.hosts),
            ("LEAGUE_POSTGRES_SEED", self.seed),
        ];
        run_tests(&["--exact", POSTGRES_MANY_TEST], &settings)
    }
}

impl Rogue {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let leagues = [("--matches", 0), ("--leagues", self.simulated)];
        let mut arguments = flags(&leagues);
        arguments.extend(flags(&[("--seed", self.seed)]));
        arguments.extend(["--liars", "--referees", "2-5"].map(str::to_owned));
        let simulated = simulate(&arguments)?;
        if simulated != ExitCode::SUCCESS {
            return Ok(simulated);
        }
        let leagues = ("LEAGUE_ROGUE_LEAGUES", self.real);
        process_test(ROGUE_TEST, &[leagues, ("LEAGUE_ROGUE_SEED", self.seed)])
    }
}

impl Fuzz {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let mut arguments = flags(&[("--frames", self.frames), ("--seed", self.seed)]);
        if let Some(frame) = self.frame {
            arguments.extend(flags(&[("--frame", frame)]));
        }
        example("dist", "league-protocol", "fuzz", &arguments)
    }
}

impl LabCampaign {
    fn run(&self) -> anyhow::Result<ExitCode> {
        hand_over(
            program("cargo")
                .args(["test", "--quiet", "--package", "league-core"])
                .args(["--test", "all", "--", "--nocapture", "lab::"])
                .env("LEAGUE_LAB_PERCENT", self.percent.to_string()),
        )
    }
}

impl Coverage {
    fn run(&self) -> anyhow::Result<ExitCode> {
        hand_over(
            program("cargo")
                .args(["test", "--quiet", "--package", "league-core"])
                .args(["--test", "all", "--", "--nocapture", "coverage::"])
                .env("LEAGUE_COVERAGE_LEAGUES", self.leagues.to_string()),
        )
    }
}

impl Networked {
    fn run(&self) -> anyhow::Result<ExitCode> {
        process_test(NETWORKED_TEST, &[("LEAGUE_NETWORKED_GAMES", self.games)])
    }
}

/// Runs every campaign; a failed one does not stop those after it.
fn run_all() -> anyhow::Result<ExitCode> {
    let mut failed = Vec::new();
    for name in ALL {
        println!("== campaign {name}");
        let mut command = program("cargo");
        let ended = hand_over(command.args(["xtask", "campaign", name]))?;
        if ended != ExitCode::SUCCESS {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        println!("all campaigns passed");
        return Ok(ExitCode::SUCCESS);
    }
    println!("failed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

impl Flood {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let arguments = flags(&[
            ("--peers", self.peers.into()),
            ("--rounds", self.rounds.into()),
            ("--seconds", self.seconds.into()),
            ("--pause", self.pause.into()),
        ]);
        build_league("flood", &["--release"])?;
        example("release", "league", "flood", &arguments)
    }
}

fn flags(pairs: &[(&str, u64)]) -> Vec<String> {
    let flag = |(name, value): &(&str, u64)| [(*name).to_owned(), value.to_string()];
    pairs.iter().flat_map(flag).collect()
}

fn simulate(arguments: &[String]) -> anyhow::Result<ExitCode> {
    example("dist", "league-simulation", "league-sim", arguments)
}

fn example(
    profile: &str,
    package: &str,
    name: &str,
    arguments: &[String],
) -> anyhow::Result<ExitCode> {
    println!("building `{name}`…");
    hand_over(
        program("cargo")
            .args(["run", "--quiet", "--profile", profile, "--package", package])
            .args(["--example", name, "--"])
            .args(arguments),
    )
}

/// Runs one test of real processes with these settings.
fn process_test(name: &str, settings: &[(&str, u64)]) -> anyhow::Result<ExitCode> {
    let settings = settings.iter();
    hand_over(
        program("cargo")
            .args(["test", "--quiet", "--package", "league"])
            .args(["--test", "processes"])
            .args(["--", "--nocapture", "--exact", name])
            .envs(settings.map(|(name, value)| (*name, value.to_string()))),
    )
}
