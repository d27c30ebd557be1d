//! `league plan`: what each format would take with so many players, and how sure its order would be.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use league_core::entrant::{ChoiceError, Entrant};
use league_core::forecast::{Assumptions, Forecast};
use league_core::league::League;
use league_core::league::format::{Format, FormatError, FormatPlan, Sides};
use league_core::player::{MatchRecord, Think};
use league_games::{Dice, Listing};
use league_protocol::message::MatchStatus;
use serde_json::{Value, json};

use crate::agents::model::Prompt;
use crate::cli::arguments::{FormatArgs, GameArgs, duration, number, seed};
use crate::cli::failure::CommandError;
use crate::cli::text::{count, paragraph, print_object};
use crate::cli::{Exit, Output};

const WHAT: &str = "could not plan a league";
/// The matches by which the length of a game is measured.
const SAMPLE: u32 = 40;
/// The bytes of a prompt that make a token, about.
const BYTES_A_TOKEN: f64 = 4.0;
/// The tokens of a model's answer, about.
const ANSWER_TOKENS: f64 = 150.0;
/// Correlations that differ by less are as good as equal.
const NOTICEABLE: f64 = 0.01;

// The length of a match is that of matches between random players. How sure an order is follows from
// simulated events between players of assumed strengths: the true ones are not known before.
/// Tell what each format would take with so many players, and how sure its order would be
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league plan --players 30 --game connect_four --minutes 90
  league plan --players 12 --format swiss --rounds 6 --move-time 10s
  league plan --players 8 --game kuhn_poker --legs 4 --llm gpt-4o-mini
  league plan --players 30 --output json | jq '.formats[] | select(.fits)'")]
pub(crate) struct PlanArgs {
    /// How many players
    #[arg(long, value_name = "N", value_parser = number::<u32>(2..=10_000))]
    players: u32,
    #[command(flatten)]
    game_args: GameArgs,
    /// The time that there is; formats that fit in it are marked
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=100_000))]
    minutes: Option<u32>,
    /// The time that a player takes for a move
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2s")]
    move_time: Duration,
    #[command(flatten)]
    format_args: FormatArgs,
    /// How many matches are played at once [default: all of a round]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_000_000))]
    matches_at_once: Option<u32>,
    /// The assumed spread of strengths, in Elo points
    #[arg(long, value_name = "ELO", default_value_t = 200, value_parser = number::<u32>(0..=2_000))]
    spread: u32,
    /// All players ask this language model: tells its tokens
    #[arg(long, value_name = "MODEL")]
    llm: Option<String>,
    /// All chance comes from N
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

/// A usual match of a game.
struct UsualMatch {
    /// Questions to both players.
    moves: f64,
    /// The moves that follow each other: players that choose at the same time share one.
    turns: f64,
    /// The share of draws.
    draws: f64,
    /// The length of a question to a language model, in bytes.
    prompt: f64,
}

/// A player that chooses at random and counts what it is asked.
#[derive(Default)]
struct CountingPlayer {
    questions: u64,
    prompt_bytes: u64,
}

impl Entrant for CountingPlayer {
    fn choose(
        &mut self,
        think: &Think,
        history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        const LEFT: Duration = Duration::from_secs(30);
        self.questions += 1;
        let prompt = Prompt::new(think, history, LEFT);
        self.prompt_bytes += prompt.map_or(0, |prompt| prompt.bytes() as u64);
        let last = think.options.len().saturating_sub(1) as u64;
        let option = think.options.get(dice.roll(0..=last) as usize);
        option.cloned().ok_or_else(|| "no option".into())
    }
}

impl UsualMatch {
    fn of(listing: &Listing, seed: u64) -> Result<Self, CommandError> {
        let mut players = [CountingPlayer::default(), CountingPlayer::default()];
        let [one, other] = &mut players;
        let league = League::builder()
            .game(listing.rules.game_type)
            .legs(SAMPLE)
            .seed(seed)
            .player("one", one)
            .player("other", other);
        let played = league.run().map_err(|error| {
            CommandError::usage(WHAT, error.to_string(), "choose another `--game`")
        })?;
        let matches = played.matches.len().max(1) as f64;
        let drawn = played.matches.iter();
        let drawn = drawn.filter(|one| one.status == MatchStatus::Draw).count();
        let questions: u64 = players.iter().map(|player| player.questions).sum();
        let bytes: u64 = players.iter().map(|player| player.prompt_bytes).sum();
        let moves = questions as f64 / matches;
        Ok(Self {
            moves,
            turns: moves / if listing.rules.simultaneous { 2.0 } else { 1.0 },
            draws: drawn as f64 / matches,
            prompt: bytes as f64 / questions.max(1) as f64,
        })
    }
}

/// What a format would take.
struct FormatRow {
    format: Format,
    /// Why it cannot be played, or what is expected of it.
    result: Result<Expected, String>,
}

struct Expected {
    rounds: f64,
    matches: f64,
    /// Questions to players, each of them a call.
    moves: f64,
    minutes: f64,
    /// Whether it goes on as long as there is time.
    is_timed: bool,
    /// `None` for events that are too large to simulate.
    forecast: Option<Forecast>,
}

/// The language model that plays.
struct PlannedModel {
    name: String,
    /// Tokens that it reads and writes for a move.
    tokens: [f64; 2],
}

impl PlannedModel {
    /// The tokens that it reads and writes for so many moves, in all.
    fn tokens(&self, moves: f64) -> [u64; 2] {
        self.tokens.map(|tokens| (moves * tokens).round() as u64)
    }
}

/// A plan, ready to be printed.
struct LeaguePlan<'a> {
    arguments: &'a PlanArgs,
    usual: UsualMatch,
    model: Option<PlannedModel>,
    rows: Vec<FormatRow>,
}

impl PlanArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let game = self.game_args.game.as_str();
        let listing = league_games::find(game).ok_or_else(|| {
            let cause = format!("the game `{game}` is not listed");
            CommandError::usage(WHAT, cause, "list the games with `league games`")
        })?;
        let usual = UsualMatch::of(listing, self.seed)?;
        let model = self.model(&usual);
        let assumed = Assumptions {
            spread: self.spread.into(),
            draws: usual.draws,
            seat: 0.5,
        };
        let named = |format: &Format| self.format_args.format.is_none_or(|only| only == *format);
        let rows = Format::all().filter(named).map(|format| FormatRow {
            format,
            result: self.expected(format, listing, &usual, &assumed),
        });
        let plan = LeaguePlan {
            arguments: self,
            rows: rows.collect(),
            usual,
            model,
        };
        if let [only] = &plan.rows[..]
            && let Err(refusal) = &only.result
        {
            let hint = "change `--format`, its settings or `--players`";
            return Err(CommandError::usage(WHAT, refusal.clone(), hint));
        }
        match self.output {
            Output::Json => print_object(out, &plan.json())?,
            Output::Text => plan.print(out)?,
        }
        Ok(Exit::Yes)
    }

    fn expected(
        &self,
        format: Format,
        listing: &Listing,
        usual: &UsualMatch,
        assumed: &Assumptions,
    ) -> Result<Expected, String> {
        let plan = self.format_plan(format, listing);
        plan.check().map_err(|error| error.to_string())?;
        let at_once = self.matches_at_once.unwrap_or(u32::MAX);
        let most = self.most_rounds(&plan, usual)?;
        let forecast = assumed.forecast(plan, most, at_once, self.seed);
        let [rounds, matches, turns] = match (&forecast, plan.max_rounds()) {
            (Some(found), _) => [found.rounds, found.matches, found.turns],
            (None, u32::MAX) => {
                let (rounds, matches) = (f64::from(most), plan.players / 2);
                let turns = matches.div_ceil(at_once).max(1);
                [
                    rounds,
                    rounds * f64::from(matches),
                    rounds * f64::from(turns),
                ]
            }
            (None, _) => {
                let (rounds, matches) = (f64::from(plan.rounds()), plan.total_matches() as f64);
                [rounds, matches, rounds.max(matches / f64::from(at_once))]
            }
        };
        Ok(Expected {
            rounds,
            matches,
            moves: matches * usual.moves,
            minutes: turns * usual.turns * self.move_time.as_secs_f64() / 60.0,
            is_timed: plan.max_rounds() == u32::MAX,
            forecast,
        })
    }

    /// The settings of a format; those that it does not have are left out, unless it alone was asked for.
    fn format_plan(&self, format: Format, listing: &Listing) -> FormatPlan {
        let given = &self.format_args;
        let mut plan = FormatPlan {
            format,
            players: self.players,
            legs: given.legs.unwrap_or(1),
            rounds: given.rounds,
            groups: given.groups,
            duration: given.duration,
            sides: Sides::for_game(listing.rules.sides_matter),
            ..FormatPlan::default()
        };
        while given.format.is_none() {
            match plan.check() {
                Err(FormatError::OwnRounds(_) | FormatError::NotTaken(_, "rounds")) => {
                    plan.rounds = None;
                }
                Err(FormatError::NotTaken(_, "legs")) => plan.legs = 1,
                Err(FormatError::NotTaken(_, "groups")) => plan.groups = None,
                Err(FormatError::NotTaken(_, "duration")) => plan.duration = None,
                _ => break,
            }
        }
        plan
    }

    /// How many rounds there is time for, in a format that only time ends.
    fn most_rounds(&self, plan: &FormatPlan, usual: &UsualMatch) -> Result<u32, String> {
        if plan.max_rounds() != u32::MAX {
            return Ok(u32::MAX);
        }
        let asked = self.format_args.duration;
        let minutes = self
            .minutes
            .map(|minutes| Duration::from_secs(u64::from(minutes) * 60));
        let time = asked.or(minutes).or(plan.ends_after()).ok_or_else(|| {
            let title = plan.format.title();
            format!("a {title} goes on without end: give `--rounds`, `--duration` or `--minutes`")
        })?;
        let at_once = self.matches_at_once.unwrap_or(u32::MAX);
        let turns = (plan.players / 2).div_ceil(at_once).max(1);
        let round = f64::from(turns) * usual.turns * self.move_time.as_secs_f64();
        // `u32::MAX` would be without bound.
        Ok((time.as_secs_f64() / round).clamp(1.0, f64::from(u32::MAX - 1)) as u32)
    }

    fn model(&self, usual: &UsualMatch) -> Option<PlannedModel> {
        Some(PlannedModel {
            name: self.llm.clone()?,
            tokens: [usual.prompt / BYTES_A_TOKEN, ANSWER_TOKENS],
        })
    }

    fn fits(&self, expected: &Expected) -> bool {
        let most = self.minutes.map(f64::from);
        most.is_none_or(|most| expected.minutes <= most)
    }
}

impl LeaguePlan<'_> {
    /// The format that fits and whose order is the surest; of those as good as equal the shortest. One
    /// that goes on as long as there is time is compared only if it is known how long that is.
    fn recommended(&self) -> Option<(Format, &Expected, &Forecast)> {
        let has_limit = self.arguments.minutes.is_some() || self.rows.len() == 1;
        let rows = self.rows.iter().filter_map(|row| {
            let expected = row.result.as_ref().ok()?;
            let fits = self.arguments.fits(expected) && (has_limit || !expected.is_timed);
            fits.then_some((row.format, expected, expected.forecast.as_ref()?))
        });
        let rows: Vec<_> = rows.collect();
        let surest = rows
            .iter()
            .map(|row| row.2.correlation)
            .fold(-1.0, f64::max);
        let good = rows
            .into_iter()
            .filter(|row| row.2.correlation > surest - NOTICEABLE);
        good.min_by(|one, other| one.1.minutes.total_cmp(&other.1.minutes))
    }

    fn print(&self, out: &mut impl Write) -> Result<(), CommandError> {
        let arguments = self.arguments;
        let UsualMatch { moves, turns, .. } = self.usual;
        let pace = arguments.move_time.as_secs_f64();
        let at_once = match arguments.matches_at_once {
            Some(number) => format!("{} at once", count(number.into(), "match")),
            None => "all matches of a round at once".to_owned(),
        };
        let title = format!(
            "{}, {}: a match has about {moves:.0} moves and takes {}, {pace} s a move; {at_once}",
            arguments.game_args.game,
            count(arguments.players.into(), "player"),
            time(turns * pace)
        );
        writeln!(out, "{}\n", paragraph("", 0, &title))?;
        writeln!(
            out,
            "  {:<20} {:>6} {:>8} {:>9} {:>9} {:>10} {:>6}",
            "format", "rounds", "matches", "moves", "time", "best wins", "order"
        )?;
        for row in &self.rows {
            self.print_row(out, row)?;
        }
        writeln!(out)?;
        for note in self.notes() {
            writeln!(out, "{}", paragraph("", 0, &note))?;
        }
        Ok(())
    }

    fn print_row(&self, out: &mut impl Write, row: &FormatRow) -> Result<(), CommandError> {
        let name = row.format.name();
        let expected = match &row.result {
            Ok(expected) => expected,
            Err(refusal) => {
                let label = format!("  {name:<20} ");
                writeln!(out, "{}", paragraph(&label, 23, refusal))?;
                return Ok(());
            }
        };
        let fits = self.arguments.minutes.is_some() && self.arguments.fits(expected);
        let mark = if fits { "*" } else { " " };
        let [best_wins, order] = match &expected.forecast {
            Some(forecast) => [
                format!("{:.0} %", 100.0 * forecast.best_wins),
                format!("{:.2}", forecast.correlation),
            ],
            None => ["–".to_owned(), "–".to_owned()],
        };
        writeln!(
            out,
            "{mark} {name:<20} {:>6.0} {:>8.0} {:>9.0} {:>9} {best_wins:>10} {order:>6}",
            expected.rounds,
            expected.matches,
            expected.moves,
            time(60.0 * expected.minutes)
        )?;
        let Some(model) = &self.model else {
            return Ok(());
        };
        let [input, output] = model.tokens(expected.moves);
        Ok(writeln!(out, "{:23}{input} tokens in, {output} out", "")?)
    }

    fn notes(&self) -> Vec<String> {
        let arguments = self.arguments;
        let mut notes = vec![format!(
            "`best wins`: how often the strongest player comes first; `order`: how well the order of \
             the table agrees with the true one, 1 is perfect (Spearman). Assumed: strengths with a \
             standard deviation of {} Elo points, {:.0} % draws among equals, no advantage of a seat. \
             {}",
            arguments.spread,
            100.0 * self.usual.draws,
            self.simulated()
        )];
        if let Some(model) = &self.model {
            let [input, output] = model.tokens;
            notes.push(format!(
                "`{}`: about {input:.0} tokens in and {output:.0} out for a move.",
                model.name
            ));
        }
        let minutes = arguments
            .minutes
            .map(|minutes| count(minutes.into(), "minute"));
        if let Some(minutes) = &minutes {
            notes.push(format!("* fits in {minutes}; messages take a little more."));
        }
        notes.push(self.advice(minutes));
        notes
    }

    /// How many events the figures are from, in a sentence.
    fn simulated(&self) -> String {
        let forecasts = self.rows.iter().filter_map(|row| row.result.as_ref().ok());
        let forecasts = forecasts.filter_map(|expected| expected.forecast);
        let events: Vec<u64> = forecasts.map(|forecast| forecast.events).collect();
        match (events.iter().min(), events.iter().max()) {
            (Some(1), Some(1)) => "One event was simulated.".to_owned(),
            (Some(fewest), Some(most)) if fewest == most => {
                format!("{most} events were simulated.")
            }
            (Some(fewest), Some(most)) => {
                format!("{fewest} to {most} events of each were simulated.")
            }
            _ => "No event was simulated: they are too large.".to_owned(),
        }
    }

    /// Which format to take, in a sentence.
    fn advice(&self, minutes: Option<String>) -> String {
        let Some((format, expected, forecast)) = self.recommended() else {
            let fits =
                |row: &FormatRow| row.result.as_ref().is_ok_and(|it| self.arguments.fits(it));
            if self.rows.iter().all(|row| row.result.is_err()) {
                return "No format can be played with these settings.".to_owned();
            }
            return match minutes.filter(|_| !self.rows.iter().any(fits)) {
                Some(minutes) => format!(
                    "No format fits in {minutes}: allow less time for a move, more matches at once, \
                     or play a shorter game."
                ),
                None => "What fits is too large to be simulated.".to_owned(),
            };
        };
        let why = match (self.rows.len(), minutes) {
            (1, _) => String::new(),
            (_, None) => format!("Take `{}`: its order is the surest. ", format.name()),
            (_, Some(_)) => format!(
                "Take `{}`: of the formats that fit, its order is the surest. ",
                format.name()
            ),
        };
        format!(
            "{why}The strongest player comes first in {:.0} of 100 events, and it takes {}.",
            100.0 * forecast.best_wins,
            time(60.0 * expected.minutes)
        )
    }

    fn json(&self) -> Value {
        let arguments = self.arguments;
        let rows = self.rows.iter().map(|row| match &row.result {
            Err(refusal) => json!({"format": row.format.name(), "refused": refusal}),
            Ok(expected) => {
                let forecast = expected.forecast.as_ref();
                let mut object = json!({
                    "format": row.format.name(), "rounds": rounded(expected.rounds),
                    "matches": rounded(expected.matches), "moves": rounded(expected.moves),
                    "minutes": rounded(expected.minutes), "fits": arguments.fits(expected),
                    "best_wins": forecast.map(|it| rounded(it.best_wins)),
                    "rank_correlation": forecast.map(|it| rounded(it.correlation)),
                    "simulated_events": forecast.map(|it| it.events),
                });
                if let Some(model) = &self.model {
                    let [input, output] = model.tokens(expected.moves);
                    object["tokens_in"] = input.into();
                    object["tokens_out"] = output.into();
                }
                object
            }
        });
        json!({
            "event": "plan", "game_type": arguments.game_args.game, "players": arguments.players,
            "minutes": arguments.minutes, "seed": arguments.seed,
            "match": {
                "moves": rounded(self.usual.moves), "draws": rounded(self.usual.draws),
                "seconds": rounded(self.usual.turns * arguments.move_time.as_secs_f64()),
            },
            "assumed_spread_elo": arguments.spread,
            "formats": rows.collect::<Vec<_>>(),
            "recommended": self.recommended().map(|it| it.0.name()),
        })
    }
}

/// A figure with two decimals.
fn rounded(figure: f64) -> f64 {
    (100.0 * figure).round() / 100.0
}

/// A time as people say it.
fn time(seconds: f64) -> String {
    match seconds {
        few if few < 90.0 => format!("{few:.0} s"),
        some if some < 90.0 * 60.0 => format!("{:.0} min", some / 60.0),
        many => format!("{:.1} h", many / 3_600.0),
    }
}
