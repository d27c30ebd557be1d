//! `league lab`: strategies against each other in this process, and what their results show.

mod summary;

use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use league_core::lab::{Lab, LabScores};
use league_core::rating::{PairScore, SequentialOutcome, SequentialTest};
use league_core::strategy::{self, Strategy};
use serde_json::json;

use crate::chance::Chance;
use crate::cli::agent::check_strategy;
use crate::cli::arguments::{GameArgs, games, number, seed};
use crate::cli::failure::CommandError;
use crate::cli::lab::summary::LabSummary;
use crate::cli::text::{count, print_object};
use crate::cli::{Exit, Output, screen};

const WHAT: &str = "could not run the lab";
/// The matches of a pair, unless the user says otherwise.
const MATCHES: u64 = 1_000;
/// The most matches of a sequential test, unless the user says otherwise.
const MAX_TEST_MATCHES: u64 = 100_000;
/// The fewest and the most seasons that are played before a sequential test looks at the results
/// again; it looks at each of them in turn, so that this changes no result.
const SEASONS_PER_LOOK: [u64; 2] = [4, 64];
/// The most seasons whose results are in memory at once.
const SEASONS_AT_ONCE: usize = 4_096;

// Every pair plays the same number of matches, with the seats in turn. Strategies remember their
// matches as players do; after some meetings all forget everything and begin anew. The same seed gives
// the same output on any number of threads.
/// Let strategies play against each other, without a league and without messages
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league lab --game rock_paper_scissors                 all strategies that know the game
  league lab --strategies random,markov --matches 10000 --seed 7
  league lab --game rock_paper_scissors --sprt adaptive markov --elo1 30
                                                        plays until one answer is clear")]
pub(crate) struct LabArgs {
    #[command(flatten)]
    game_args: GameArgs,
    /// Strategies [default: all that know the game]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = strategy::find)]
    strategies: Vec<&'static Strategy>,
    /// Matches of each pair [default: 1000; with --sprt at most 100000]
    #[arg(long, value_name = "N", value_parser = number::<u64>(1..=1_000_000_000))]
    matches: Option<u64>,
    /// All chance comes from N [default: any, and printed]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Test whether A is stronger than B, with as few matches as it takes
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_parser = strategy::find, conflicts_with_all = ["strategies", "csv", "html"])]
    sprt: Vec<&'static Strategy>,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
    /// How often a pair meets before all forget their matches
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<u32>(1..=1_000_000))]
    meetings: u32,
    /// With --sprt: up to this Elo difference A is not stronger
    #[arg(long, value_name = "ELO", default_value_t = 0.0, value_parser = elo, allow_negative_numbers = true)]
    elo0: f64,
    /// With --sprt: from this Elo difference on A is stronger
    #[arg(long, value_name = "ELO", default_value_t = 20.0, value_parser = elo, allow_negative_numbers = true)]
    elo1: f64,
    /// With --sprt: the risk to call A stronger although it is not
    #[arg(long, value_name = "RISK", default_value_t = 0.05, value_parser = risk)]
    alpha: f64,
    /// With --sprt: the risk to miss that A is stronger
    #[arg(long, value_name = "RISK", default_value_t = 0.05, value_parser = risk)]
    beta: f64,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = number::<usize>(1..=1_024))]
    threads: Option<usize>,
    /// Write the results of all pairs to this file too
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write all tables to this file too, as one page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Do not print how long it took
    #[arg(short, long)]
    quiet: bool,
}

impl LabArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => chosen_seed()?,
        };
        let lab = self.lab(seed)?;
        let began = Instant::now();
        let (exit, matches) = if self.sprt.is_empty() {
            self.compare(&lab, seed, out)?
        } else {
            self.test(&lab, seed, out)?
        };
        if !self.quiet {
            let seconds = began.elapsed().as_secs_f64();
            let rate = matches as f64 / seconds.max(1e-3);
            writeln!(
                screen::errors(),
                "{} in {seconds:.1} s, {rate:.0} a second on {}",
                count(matches, "match"),
                count(self.threads() as u64, "thread")
            )?;
        }
        Ok(exit)
    }

    fn lab(&self, seed: u64) -> Result<Lab, CommandError> {
        let named = if self.sprt.is_empty() {
            &self.strategies
        } else {
            &self.sprt
        };
        for (place, strategy) in named.iter().enumerate() {
            check_strategy(strategy, Some(&self.game_args.game), WHAT)?;
            if named[..place]
                .iter()
                .any(|other| other.name == strategy.name)
            {
                let cause = format!("strategy `{}` is named twice", strategy.name);
                return Err(CommandError::usage(WHAT, cause, "name each strategy once"));
            }
        }
        let all = strategy::all()
            .iter()
            .filter(|it| it.knows(&self.game_args.game));
        let strategies: Vec<_> = if named.is_empty() {
            all.collect()
        } else {
            named.clone()
        };
        if strategies.len() < 2 {
            let hint = format!(
                "choose two or more of {}",
                strategy::names_for(&self.game_args.game)
            );
            return Err(CommandError::usage(
                WHAT,
                "a lab needs two strategies",
                hint,
            ));
        }
        Lab::new(&self.game_args.game, strategies, seed).ok_or_else(|| {
            let cause = format!("the game `{}` is not listed", self.game_args.game);
            CommandError::usage(WHAT, cause, format!("choose one of {}", games()))
        })
    }

    /// Plays all pairs and prints what the results show.
    fn compare(
        &self,
        lab: &Lab,
        seed: u64,
        out: &mut impl Write,
    ) -> Result<(Exit, u64), CommandError> {
        let matches = self.matches.unwrap_or(MATCHES);
        let seasons = self.seasons(matches);
        let mut scores = LabScores::default();
        for begin in (0..seasons.len()).step_by(SEASONS_AT_ONCE) {
            let end = seasons.len().min(begin + SEASONS_AT_ONCE as u64);
            for part in self.play(lab, begin..end, &seasons) {
                scores.add(&part);
            }
        }
        let played = scores.seated.iter().map(PairScore::games).sum();
        let summary = LabSummary::new(
            &self.game_args.game,
            lab.strategies(),
            scores,
            (matches, seed),
        );
        match self.output {
            Output::Text => summary.print(out)?,
            Output::Json => print_object(out, &summary.json())?,
        }
        write_file(self.csv.as_deref(), || summary.csv())?;
        write_file(self.html.as_deref(), || summary.html())?;
        Ok((Exit::Yes, played))
    }

    /// The meetings of each season: all as many as asked for, the last one perhaps fewer.
    fn seasons(&self, matches: u64) -> SeasonPlan {
        SeasonPlan {
            matches,
            meetings: u64::from(self.meetings),
        }
    }

    fn threads(&self) -> usize {
        let processors = || thread::available_parallelism().map_or(1, NonZero::get);
        self.threads.unwrap_or_else(processors)
    }

    /// Plays seasons on all threads; their results are in the order of their numbers.
    fn play(&self, lab: &Lab, numbers: std::ops::Range<u64>, plan: &SeasonPlan) -> Vec<LabScores> {
        let next = AtomicU64::new(numbers.start);
        let work = || {
            let mut played = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return played;
                }
                played.push((number, lab.season(number, plan.meetings_in(number))));
            }
        };
        let mut played = thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads()).map(|_| scope.spawn(work)).collect();
            let results = workers.into_iter().map(|worker| match worker.join() {
                Ok(played) => played,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            results.flatten().collect::<Vec<_>>()
        });
        played.sort_by_key(|(number, _)| *number);
        played.into_iter().map(|(_, scores)| scores).collect()
    }

    /// Plays two strategies until a hypothesis is accepted or the matches are used up.
    fn test(
        &self,
        lab: &Lab,
        seed: u64,
        out: &mut impl Write,
    ) -> Result<(Exit, u64), CommandError> {
        let test = self.hypotheses()?;
        let plan = self.seasons(self.matches.unwrap_or(MAX_TEST_MATCHES));
        let mut sum = LabScores::default();
        let mut verdict = SequentialOutcome::Open;
        let mut begin = 0;
        while verdict == SequentialOutcome::Open && begin < plan.len() {
            let [fewest, most] = SEASONS_PER_LOOK;
            let end = plan.len().min(begin + begin.clamp(fewest, most));
            for season in self.play(lab, begin..end, &plan) {
                sum.add(&season);
                let score = sum.pairs()[0];
                verdict = test.verdict(score.wins, score.draws, score.losses);
                if verdict != SequentialOutcome::Open {
                    break;
                }
            }
            begin = end;
        }
        let score = sum.pairs()[0];
        self.print_verdict(out, &test, verdict, (score, seed))?;
        let exit = match verdict {
            SequentialOutcome::Stronger => Exit::Yes,
            SequentialOutcome::Weaker | SequentialOutcome::Open => Exit::No,
        };
        Ok((exit, score.games()))
    }

    fn hypotheses(&self) -> Result<SequentialTest, CommandError> {
        if self.elo0 >= self.elo1 {
            let cause = format!("--elo0 `{}` is not below --elo1 `{}`", self.elo0, self.elo1);
            return Err(CommandError::usage(
                WHAT,
                cause,
                "choose --elo0 below --elo1",
            ));
        }
        Ok(SequentialTest {
            elo0: self.elo0,
            elo1: self.elo1,
            alpha: self.alpha,
            beta: self.beta,
        })
    }

    fn print_verdict(
        &self,
        out: &mut impl Write,
        test: &SequentialTest,
        verdict: SequentialOutcome,
        (score, seed): (PairScore, u64),
    ) -> Result<(), CommandError> {
        let PairScore {
            wins,
            draws,
            losses,
            ..
        } = score;
        let names = self.sprt.iter().map(|strategy| strategy.name);
        let [one, other] =
            [names.clone().next(), names.clone().nth(1)].map(Option::unwrap_or_default);
        let ratio = test.log_likelihood_ratio(wins, draws, losses);
        let [lower, upper] = test.bounds();
        if self.output == Output::Json {
            let accepted = match verdict {
                SequentialOutcome::Weaker => Some("h0"),
                SequentialOutcome::Stronger => Some("h1"),
                SequentialOutcome::Open => None,
            };
            let object = json!({
                "event": "sprt", "game_type": self.game_args.game, "seed": seed, "strategies": [one, other],
                "elo0": test.elo0, "elo1": test.elo1, "alpha": test.alpha, "beta": test.beta,
                "matches": score.games(), "wins": wins, "draws": draws, "losses": losses,
                "llr": summary::rounded(ratio), "accepted": accepted,
                "bounds": [summary::rounded(lower), summary::rounded(upper)],
            });
            return Ok(print_object(out, &object)?);
        }
        writeln!(
            out,
            "{one} against {other} in {}, seed {seed}",
            self.game_args.game
        )?;
        writeln!(out, "  H0: {one} is at most {} Elo stronger", test.elo0)?;
        writeln!(out, "  H1: {one} is at least {} Elo stronger", test.elo1)?;
        writeln!(
            out,
            "  {}: {wins} won, {draws} drawn, {losses} lost",
            count(score.games(), "match")
        )?;
        writeln!(
            out,
            "  log-likelihood ratio {ratio:.2}, bounds {lower:.2} and {upper:.2}"
        )?;
        let told = match verdict {
            SequentialOutcome::Stronger => format!("H1: {one} is stronger than {other}"),
            SequentialOutcome::Weaker => format!("H0: {one} is not stronger than {other}"),
            SequentialOutcome::Open => "open: more matches are needed; raise --matches".to_owned(),
        };
        Ok(writeln!(out, "{told}")?)
    }
}

/// How the matches of a pair are spread over seasons.
struct SeasonPlan {
    matches: u64,
    meetings: u64,
}

impl SeasonPlan {
    fn len(&self) -> u64 {
        self.matches.div_ceil(self.meetings)
    }

    fn meetings_in(&self, season: u64) -> u32 {
        let rest = self.matches.saturating_sub(season * self.meetings);
        u32::try_from(rest.min(self.meetings)).unwrap_or(u32::MAX)
    }
}

fn chosen_seed() -> Result<u64, CommandError> {
    /// Short enough to type.
    const SEEDS: u64 = 1_000_000;
    let chance = Chance::new(None).map_err(|error| {
        let hint = "give a seed with `--seed N`";
        CommandError::world(WHAT, error.to_string(), hint)
    })?;
    Ok(chance.number() % SEEDS)
}

fn write_file(file: Option<&Path>, text: impl Fn() -> String) -> Result<(), CommandError> {
    let Some(file) = file else {
        return Ok(());
    };
    fs::write(file, text()).map_err(|error| {
        let what = format!("could not write `{}`", file.display());
        CommandError::world(what, error.to_string(), "choose another file")
    })
}

fn elo(text: &str) -> Result<f64, String> {
    const MOST: f64 = 1_000.0;
    let number = text.parse().ok().filter(|elo: &f64| elo.abs() <= MOST);
    number.ok_or_else(|| format!("give a number from -{MOST} to {MOST}"))
}

fn risk(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|risk| (0.000_1..0.5).contains(risk));
    number.ok_or_else(|| "give a number from 0.0001 to below 0.5, such as 0.05".to_owned())
}
