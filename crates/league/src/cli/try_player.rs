//! `league try`: a player against our strategies, in real calls between processes on this machine,
//! and how it did.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use league_core::rating;
use league_core::strategy::{self, Strategy};
use league_protocol::id::LeagueId;
use league_web::model::{AgentRow, ModelSum};
use serde_json::{Value, json};

use crate::cli::agent::check_strategy;
use crate::cli::arguments::{GameArgs, number};
use crate::cli::failure::{CommandError, bad_config, chain};
use crate::cli::model::{ModelArgs, find_model, for_models};
use crate::cli::runtime::{Signals, runtime};
use crate::cli::text::{count, one_line, print_object};
use crate::cli::{Exit, Output};
use crate::clock;
use crate::config::ConfigLoader;
use crate::site::live_view::LiveView;
use crate::storage::root::{DEFAULT_ROOT, Root};

const WHAT: &str = "could not try the player";
/// The name under which the player is tried.
const NAME: &str = "candidate";
const LEAGUE: &str = "try";
/// How long the agents may take to start and to register.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How often it is looked whether the agents still run.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long the agents may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The agents besides the player: manager, referee, opponent.
const OTHERS: usize = 3;
/// How many of the latest lines of a program's output are shown if it does not start.
const SHOWN_LINES: usize = 12;
/// How many causes of losses are shown.
const SHOWN_CAUSES: usize = 3;

/// Try a player against our strategies, in real calls, and print how it did
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league try \"python3 bot.py\" --against random,markov --games 200
  league try http://localhost:8101/mcp --game tic_tac_toe --against minimax
  league try --llm local/llama3.2 --game connect_four --games 10
  league try adaptive --keep SHARED               then league serve SHARED/random")]
pub(crate) struct TryArgs {
    /// A command that starts a bot, the address of an agent, or a strategy
    #[arg(value_name = "PLAYER", required_unless_present = "llm")]
    player: Option<String>,
    /// Its opponents, one after the other
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', default_value = "random", value_parser = strategy::find)]
    against: Vec<&'static Strategy>,
    #[command(flatten)]
    game_args: GameArgs,
    /// How many games against each
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<u32>(1..=1_000))]
    games: u32,
    /// Try a language model, as `league player --llm` does
    #[arg(long, value_name = "MODEL", conflicts_with = "player")]
    llm: Option<String>,
    /// Keep the leagues in this folder, one for each opponent
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
    /// Pass this environment variable to the bot; repeat it
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    #[command(flatten)]
    models: ModelArgs,
    /// Folder of the configuration of models and times
    #[arg(long, value_name = "DIR", default_value = DEFAULT_ROOT)]
    root: PathBuf,
}

impl TryArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        for (place, opponent) in self.against.iter().enumerate() {
            check_strategy(opponent, Some(&self.game_args.game), WHAT)?;
            let mut before = self.against[..place].iter();
            if before.any(|before| before.name == opponent.name) {
                let cause = format!("`{}` is named twice in `--against`", opponent.name);
                return Err(CommandError::usage(WHAT, cause, "name each opponent once"));
            }
        }
        let system = self.system()?;
        let stopped = interruption()?;
        let passing = tempfile::tempdir().map_err(|error| failed(&error))?;
        let folder = self.keep.as_deref().unwrap_or(passing.path());
        let mut lost_all = true;
        for opponent in &self.against {
            let root = folder.join(opponent.name);
            if root.join("data").exists() {
                let cause = format!("`{}` has a league already", root.display());
                return Err(CommandError::usage(
                    WHAT,
                    cause,
                    "give a new folder with `--keep`",
                ));
            }
            let Some(score) = TryScore::play(self, opponent, (&root, &system), &stopped)? else {
                return Ok(Exit::Interrupted);
            };
            lost_all &= score.wins + score.draws == 0;
            match self.output {
                Output::Json => print_object(out, &score.object(self))?,
                Output::Text => score.print(self, out)?,
            }
        }
        if self.output == Output::Text {
            match &self.keep {
                Some(_) => writeln!(
                    out,
                    "look at every message with `league serve {}`",
                    folder.join(self.against[0].name).display()
                )?,
                None => writeln!(
                    out,
                    "to look at every message, try again with `--keep DIR`, then `league serve DIR/{}`",
                    self.against[0].name
                )?,
            }
        }
        Ok(if lost_all { Exit::No } else { Exit::Yes })
    }

    /// The settings of the trial leagues: the user's own for models and times, and no others.
    fn system(&self) -> Result<Value, CommandError> {
        if self.llm.is_none() && self.models.is_given() {
            return Err(for_models(WHAT));
        }
        // A trial leaves nothing behind, so a configuration that is missing is not written.
        let system = if self.root.join("config/system.json").exists() {
            let loader = ConfigLoader::new(Root::new(&self.root));
            loader.load_system().map_err(bad_config)?
        } else {
            Arc::default()
        };
        let mut models = system.models.clone();
        self.models.settle(&mut models);
        if let Some(name) = &self.llm {
            find_model(name, &models)?;
        }
        Ok(json!({"models": system.models, "timeouts": system.timeouts}))
    }

    fn shown(&self) -> &str {
        let model = self.llm.as_deref();
        self.player.as_deref().or(model).unwrap_or(NAME)
    }

    /// Whether the player is an agent that runs already.
    fn address(&self) -> Option<&str> {
        self.player
            .as_deref()
            .filter(|player| player.contains("://"))
    }

    /// The arguments by which `league player` lets the player choose.
    fn chooser(&self) -> Vec<String> {
        match (&self.llm, &self.player) {
            (Some(model), _) => {
                let mut arguments = vec!["--llm".to_owned(), model.clone()];
                arguments.extend(self.models.flags());
                arguments
            }
            (None, Some(player)) if strategy::find(player).is_ok() => {
                vec!["--strategy".to_owned(), player.clone()]
            }
            (None, player) => {
                let mut arguments = vec!["--exec".to_owned(), player.clone().unwrap_or_default()];
                let passed = self.pass_env.iter();
                arguments.extend(passed.flat_map(|name| ["--pass-env".to_owned(), name.clone()]));
                arguments
            }
        }
    }
}

/// The games against one opponent.
#[derive(Default)]
struct TryScore {
    opponent: &'static str,
    wins: u64,
    draws: u64,
    losses: u64,
    technical: u64,
    /// How the lost games ended, and how often so.
    causes: BTreeMap<String, u64>,
    /// The last lost game.
    last_lost: Option<String>,
    agent: Option<AgentRow>,
    /// What the player told of its language model.
    model: Option<ModelSum>,
}

impl TryScore {
    fn play(
        tried: &TryArgs,
        opponent: &'static Strategy,
        (root, system): (&Path, &Value),
        stopped: &Arc<AtomicBool>,
    ) -> Result<Option<Self>, CommandError> {
        let config = root.join("config");
        fs::create_dir_all(&config).map_err(|error| failed(&error))?;
        let written = fs::write(config.join("system.json"), system.to_string());
        written.map_err(|error| failed(&error))?;
        let mut agents = Agents::new(root, stopped);
        let manager = agents.manager(tried)?;
        agents.start("referee", &manager, &[])?;
        let name = ["--name", opponent.name, "--strategy", opponent.name];
        agents.start("player", &manager, &name)?;
        if tried.address().is_none() {
            let chooser = tried.chooser();
            let chooser = chooser.iter().map(String::as_str);
            let own: Vec<&str> = ["--name", NAME].into_iter().chain(chooser).collect();
            agents.start("player", &manager, &own)?;
        }
        let mut score = Self {
            opponent: opponent.name,
            ..Self::default()
        };
        let bar = ProgressBar::new(tried.games.into());
        let mut player = None;
        let mut begun = false;
        loop {
            let line = agents.event(if begun { None } else { Some(START_TIMEOUT) })?;
            if agents.is_stopped() {
                return Ok(None);
            }
            match line["event"].as_str() {
                Some("player") if line["display_name"] == NAME => {
                    let id = line["player_id"].as_str().map(str::to_owned);
                    player = player.or(id);
                }
                Some("started") => begun = true,
                Some("match") => {
                    score.note(&line, player.as_deref());
                    bar.inc(1);
                }
                Some("standings") => {
                    let told = &line["language_models"][player.as_deref().unwrap_or_default()];
                    score.model = serde_json::from_value(told.clone()).ok();
                }
                Some("agent") if line["state"] == "completed" => break,
                _ => {}
            }
        }
        bar.finish_and_clear();
        agents.finish();
        score.agent = agent_row(root, player.as_deref());
        Ok(Some(score))
    }

    fn note(&mut self, line: &Value, player: Option<&str>) {
        let player = player.unwrap_or_default();
        self.technical += u64::from(line["failed"].get(player).is_some());
        match line["winner"].as_str() {
            None if line["failed"].get(player).is_none() => self.draws += 1,
            Some(winner) if winner == player => self.wins += 1,
            _ => {
                self.losses += 1;
                let cause = one_line(line["reason"].as_str().unwrap_or_default());
                self.last_lost = line["match_id"].as_str().map(str::to_owned);
                *self.causes.entry(cause).or_default() += 1;
            }
        }
    }

    fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// The share of the points, a draw being half of a win: as found, at least and at most.
    fn share(&self) -> [f64; 3] {
        let points = self.wins as f64 + self.draws as f64 / 2.0;
        let interval = rating::share(points, self.games());
        let found = points / self.games().max(1) as f64;
        [found, interval.low, interval.high]
    }

    fn causes(&self) -> Vec<(&str, u64)> {
        let mut causes: Vec<_> = self
            .causes
            .iter()
            .map(|(why, many)| (&**why, *many))
            .collect();
        causes.sort_by_key(|(_, many)| std::cmp::Reverse(*many));
        causes.truncate(SHOWN_CAUSES);
        causes
    }

    fn print(&self, tried: &TryArgs, out: &mut impl Write) -> Result<(), CommandError> {
        let [share, low, high] = self.share().map(|share| share * 100.0);
        writeln!(
            out,
            "{} against {} in {}: {}",
            tried.shown(),
            self.opponent,
            tried.game_args.game,
            count(self.games(), "game"),
        )?;
        writeln!(
            out,
            "  result      {} won, {} drawn, {} lost",
            self.wins, self.draws, self.losses
        )?;
        writeln!(
            out,
            "  share       {share:.1} % of the points, {low:.1} to {high:.1} % with 95 % confidence"
        )?;
        for (number, (why, many)) in self.causes().into_iter().enumerate() {
            let label = if number == 0 { "lost by" } else { "" };
            writeln!(out, "  {label:<10}  {many} × {why}")?;
        }
        if let Some(last) = &self.last_lost {
            writeln!(out, "  last lost   {last}")?;
        }
        if self.technical > 0 {
            let many = count(self.technical, "game");
            writeln!(
                out,
                "  technical   {many} lost without a legal answer in time"
            )?;
            if tried.keep.is_none() {
                let log = "`--keep DIR` keeps what it prints on standard error, in `logs/bots`";
                writeln!(out, "              {log}")?;
            }
        }
        if let Some(sum) = &self.model {
            writeln!(
                out,
                "  model       {}{}",
                one_line(&sum.model),
                sum.figures()
            )?;
        }
        if let Some(agent) = &self.agent {
            if let Some(latency) = agent.latency {
                let (median, p95) = (latency.median, latency.p95);
                writeln!(out, "  answers in  {median:.1} ms, 95 % within {p95:.1} ms")?;
            }
            writeln!(out, "  deviations  {}", agent.deviations)?;
        }
        writeln!(out)?;
        Ok(())
    }

    fn object(&self, tried: &TryArgs) -> Value {
        let [share, low, high] = self.share();
        let latency = self.agent.as_ref().and_then(|agent| agent.latency);
        let causes: Vec<Value> = self
            .causes()
            .into_iter()
            .map(|(reason, games)| json!({"reason": reason, "games": games}))
            .collect();
        json!({
            "event": "tried", "player": tried.shown(), "against": self.opponent,
            "game_type": tried.game_args.game, "games": self.games(), "wins": self.wins,
            "draws": self.draws, "losses": self.losses, "technical_losses": self.technical,
            "share": {"value": share, "low": low, "high": high},
            "lost_by": causes, "last_lost": self.last_lost,
            "latency_ms": latency.map(|latency| json!({"median": latency.median, "p95": latency.p95})),
            "language_model": self.model, "deviations": self.agent.as_ref().map(|agent| agent.deviations),
        })
    }
}

/// What the league observed of the candidate.
fn agent_row(root: &Path, player: Option<&str>) -> Option<AgentRow> {
    let league = LeagueId::new(LEAGUE).ok()?;
    let mut live = LiveView::new(Root::new(root), league);
    live.refresh(clock::now()).ok()?;
    let (view, observed) = live.into_parts()?;
    let agents = view.board(&observed, clock::now()).agents;
    agents
        .into_iter()
        .find(|agent| Some(agent.id.as_str()) == player)
}

fn failed(error: &(dyn std::error::Error + 'static)) -> CommandError {
    let hint = "free space on the disk, or choose another folder with `--keep`";
    CommandError::world(WHAT, chain(error), hint)
}

/// Learns of signals to stop, so that the agents and the folder do not stay.
fn interruption() -> Result<Arc<AtomicBool>, CommandError> {
    let (runtime, stopped) = (runtime()?, Arc::new(AtomicBool::new(false)));
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let told = Arc::clone(&stopped);
    thread::spawn(move || {
        runtime.block_on(signals.interrupted());
        told.store(true, Ordering::Relaxed);
    });
    Ok(stopped)
}

/// The processes of a league; they end with it.
struct Agents {
    root: PathBuf,
    running: Vec<(Child, PathBuf)>,
    events: Option<Receiver<Value>>,
    /// Whether the user wants it to end.
    stopped: Arc<AtomicBool>,
}

impl Drop for Agents {
    fn drop(&mut self) {
        for (child, _) in &mut self.running {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Agents {
    fn new(root: &Path, stopped: &Arc<AtomicBool>) -> Self {
        Self {
            root: root.to_owned(),
            running: Vec::new(),
            events: None,
            stopped: Arc::clone(stopped),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Lets the agents tell and write their last; those that take too long are ended.
    fn finish(mut self) {
        let until = Instant::now() + END_TIMEOUT;
        let is_over = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        while Instant::now() < until && !self.running.iter_mut().all(|(child, _)| is_over(child)) {
            thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Starts the manager; gives its address.
    fn manager(&mut self, tried: &TryArgs) -> Result<String, CommandError> {
        let (legs, game) = (tried.games.to_string(), tried.game_args.game.to_string());
        let mut arguments = vec![
            "--league-id",
            LEAGUE,
            "--players",
            "2",
            "--referees",
            "1",
            "--legs",
            &legs,
            "--game",
            &game,
            "--exit-when-done",
            "--output",
            "json",
        ];
        let invited = tried.address().map(|address| format!("{NAME}={address}"));
        if let Some(invited) = &invited {
            arguments.extend(["--invite", invited]);
        }
        let log = self.log("manager");
        let mut errors = File::create(&log).map_err(|error| failed(&error))?;
        let mut child = self.spawn("manager", Stdio::piped(), &arguments)?;
        let (tell, events) = channel();
        if let Some(lines) = child.stderr.take() {
            // An agent that answers on its standard output prints its events beside its complaints.
            thread::spawn(move || {
                for line in BufReader::new(lines).lines().map_while(Result::ok) {
                    // The receiver may be gone, and a complaint that is not kept is not shown.
                    let _ = match serde_json::from_str(&line) {
                        Ok(event @ Value::Object(_)) => tell.send(event).ok(),
                        _ => writeln!(errors, "{line}").ok(),
                    };
                }
            });
        }
        self.events = Some(events);
        self.running.push((child, log));
        loop {
            let line = self.event(Some(START_TIMEOUT))?;
            if let (Some("manager"), Some(at)) = (line["event"].as_str(), line["endpoint"].as_str())
            {
                return Ok(at.to_owned());
            }
        }
    }

    fn start(&mut self, kind: &str, manager: &str, own: &[&str]) -> Result<(), CommandError> {
        let arguments = [&["--manager", manager, "--exit-when-done"][..], own].concat();
        let log = self.log(kind);
        let errors = File::create(&log).map_err(|error| failed(&error))?;
        let child = self.spawn(kind, errors.into(), &arguments)?;
        self.running.push((child, log));
        Ok(())
    }

    /// Where an agent started now writes its complaints.
    fn log(&self, kind: &str) -> PathBuf {
        self.root.join(format!("{}-{kind}.log", self.running.len()))
    }

    /// Starts an agent that ends when its standard input does: with this process, however that ends.
    fn spawn(&self, kind: &str, errors: Stdio, own: &[&str]) -> Result<Child, CommandError> {
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        command.arg(kind).arg("--root").arg(&self.root);
        command.args(["--port", "0", "--stdio"]).args(own);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command
            .stderr(errors)
            .spawn()
            .map_err(|error| failed(&error))
    }

    /// The next line of the manager, or nothing if the user wants it to end. It is waited for unless
    /// another agent fails or, until the league begins, the player.
    fn event(&mut self, wait: Option<Duration>) -> Result<Value, CommandError> {
        let until = wait.map(|wait| Instant::now() + wait);
        while let Some(events) = &self.events {
            match events.recv_timeout(LOOK_INTERVAL) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if self.is_stopped() => return Ok(Value::Null),
                Err(RecvTimeoutError::Timeout) => {
                    let is_late = until.is_some_and(|until| Instant::now() > until);
                    if is_late || self.has_failed(until.is_some()) {
                        break;
                    }
                }
            }
        }
        Err(self.not_begun())
    }

    /// Whether an agent has failed; the player, which comes last, only if it is asked for. Agents that
    /// hear of the end of the league may end before the manager has told it here.
    fn has_failed(&mut self, with_player: bool) -> bool {
        let others = if with_player { usize::MAX } else { OTHERS };
        let mut agents = self.running.iter_mut().take(others);
        agents.any(|(child, _)| matches!(child.try_wait(), Ok(Some(ended)) if !ended.success()))
    }

    /// The league did not begin, or ended early: what the agents that ended said.
    fn not_begun(&mut self) -> CommandError {
        let mut said = Vec::new();
        for (child, log) in &mut self.running {
            let has_ended = child.try_wait().is_ok_and(|ended| ended.is_some());
            let text = fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            if has_ended && !lines.is_empty() {
                let last = lines.len().saturating_sub(SHOWN_LINES);
                said.push(lines[last..].join("\n    "));
            }
        }
        let cause = match said.is_empty() {
            true => "the player did not register in time".to_owned(),
            false => said.join("\n    "),
        };
        let hint = "start the player alone with `league player --exec COMMAND`, and test it with \
                    `league check`";
        CommandError::world(WHAT, cause, hint)
    }
}
