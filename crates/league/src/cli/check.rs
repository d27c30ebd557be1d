//! `league check`: tests an agent against every rule of the protocol.

mod trial;

use std::io::{self, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use league_check::fake_manager::FakeManager;
use league_check::launch::{AgentProcess, REPORT_LINES};
use league_check::manager::season::Sizes;
use league_check::rehearsal::rehearse;
use league_check::report::{self, Report};
use league_check::rule::Topic;
use league_check::stage::Stage;
use league_check::verdict::{self, Finding, Progress};
use league_check::wire::{BeginTls, Channel};
use league_check::{AgentKind, RandomBytes, Target, player};
use serde_json::{Value, json};

use crate::agents::bot::launch;
use crate::chance::Chance;
use crate::cli::Exit;
use crate::cli::arguments::{duration, number, port, seed};
use crate::cli::failure::{CommandError, chain, unless_reader_gone};
use crate::cli::network::TrustArgs;
use crate::cli::runtime::{Signals, runtime};
use crate::cli::text::paragraph;
use crate::http::client::{CallError, Client};
use crate::http::endpoint::{Endpoint, Scheme};
use crate::http::tls::Trust;
use crate::log::escape;
use trial::{LeagueSide, Trial};

/// What fails if the check cannot be made.
const WHAT: &str = "could not check the agent";

// For the rules the check plays the other side: for a player the manager, on the port where players
// look for it, and the referees; for a referee the manager and the players of its matches; for a
// manager all referees and players of a league.
/// Tell whether an agent can play here, and test it against every rule of the protocol
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league check http://localhost:8101/mcp                 then start the player
  league check http://localhost:8101/mcp --launch \"python3 player.py --port 8101\"
  league check http://localhost:8001/mcp --kind referee
  league check http://localhost:8101/mcp --strict --output junit > check.xml")]
pub(crate) struct CheckArgs {
    /// Address of the agent, such as http://localhost:8101/mcp
    #[arg(value_parser = endpoint, required_unless_present = "list")]
    url: Option<Endpoint>,
    /// Start the agent with this command, and restart it to see it return
    #[arg(long, value_name = "COMMAND")]
    launch: Option<String>,
    /// Kind of agent
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "KIND",
        hide_default_value = true
    )]
    kind: CheckedAgent,
    /// Treat every deviation as a failure
    #[arg(long)]
    strict: bool,
    /// Play matches full of faults instead: late, duplicate, broken, out of order
    #[arg(long)]
    rehearse: bool,
    /// Only list the rules for this kind of agent
    #[arg(long)]
    list: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: CheckOutput,
    /// Port on which the check plays the league manager
    #[arg(long, value_name = "N", default_value_t = 8000, value_parser = port)]
    port: u16,
    /// How long to wait for the agent to start and register
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    wait: Duration,
    /// How many players a manager waits for
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<u32>(2..=40))]
    players: u32,
    /// How many referees a manager waits for
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = number::<u32>(1..=20))]
    referees: u32,
    /// Admin token of a manager whose league is started by hand
    #[arg(long, value_name = "TOKEN")]
    admin_token: Option<String>,
    /// Key by which a manager admits referees
    #[arg(
        long,
        value_name = "KEY",
        env = "LEAGUE_REFEREE_KEY",
        hide_env_values = true
    )]
    referee_key: Option<String>,
    /// Seed of the faults of a rehearsal
    #[arg(long, value_name = "N", requires = "rehearse", default_value = "1", value_parser = seed)]
    seed: u64,
    #[command(flatten)]
    trust: TrustArgs,
}

/// A kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum CheckedAgent {
    /// A player.
    #[default]
    Player,
    /// A referee.
    Referee,
    /// A league manager.
    Manager,
}

impl CheckedAgent {
    const fn kind(self) -> AgentKind {
        match self {
            Self::Player => AgentKind::Player,
            Self::Referee => AgentKind::Referee,
            Self::Manager => AgentKind::Manager,
        }
    }
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum CheckOutput {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line: each rule, then the summary.
    Json,
    /// The XML of JUnit, for build servers.
    Junit,
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    Endpoint::look_up(text).map_err(|error| error.to_string())
}

/// The agent under check, called over TLS if its address says so.
fn target(endpoint: &Endpoint, trust: &Trust) -> Result<Target, CommandError> {
    let Some(address) = endpoint.address() else {
        let hint = "give the address of the agent";
        return Err(not_checked(format!("`{endpoint}` has no address"), hint));
    };
    let begin_tls = || {
        let (trust, host) = (trust.clone(), endpoint.host().to_owned());
        BeginTls(Arc::new(move |stream| {
            let (trust, host) = (trust.clone(), host.clone());
            Box::pin(async move {
                let secured = trust.secure(stream, &host).await;
                let secured = secured.map_err(|error| error.to_string())?;
                Ok(Box::new(secured) as Box<dyn Channel>)
            })
        }))
    };
    Ok(Target {
        address,
        authority: Arc::clone(&endpoint.authority),
        path: Arc::clone(&endpoint.path),
        tls: (endpoint.scheme == Scheme::Https).then(begin_tls),
    })
}

impl CheckArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let Some(url) = self.url.as_ref().filter(|_| !self.list) else {
            print_rules(self.kind.kind(), self.output == CheckOutput::Json, out)?;
            return Ok(Exit::Yes);
        };
        if self.rehearse && self.kind != CheckedAgent::Player {
            return Err(self.no_rehearsal());
        }
        let trust = self.trust.load_given(WHAT)?;
        let check = CheckRun {
            asked: self,
            url: &target(url, &trust)?,
            endpoint: url,
            client: Client::trusting(trust.clone()),
            trust,
            bar: self.bar(),
            written: AtomicUsize::new(0),
        };
        let runtime = runtime()?;
        let report = runtime.block_on(async {
            let mut signals = Signals::new()?;
            tokio::select! {
                report = check.play() => report.map(Some),
                () = signals.interrupted() => Ok(None),
            }
        })?;
        check.bar.finish_and_clear();
        let Some(report) = report else {
            return Ok(Exit::Interrupted);
        };
        let written = check.written.into_inner();
        unless_reader_gone(self.print(&report, written, out))?;
        let clean = report.is_clean();
        Ok(if clean { Exit::Yes } else { Exit::No })
    }

    fn no_rehearsal(&self) -> CommandError {
        let kind = self.kind.kind().as_str();
        let cause = format!("a {kind} cannot be rehearsed, only a player can");
        let hint = "leave out `--rehearse` to check the rules for this kind of agent";
        not_checked(cause, hint).usage_if(true)
    }

    /// A progress bar on standard error.
    fn bar(&self) -> ProgressBar {
        if self.output != CheckOutput::Text || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} · {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar
    }

    /// Prints the report; as JSON, the rules after those that were written as they were played.
    fn print(&self, report: &Report, written: usize, out: &mut impl Write) -> io::Result<()> {
        match self.output {
            CheckOutput::Text => {
                let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                if plain || !io::stdout().is_terminal() {
                    return report::text(report, false, paragraph, out);
                }
                // Our colours pass by the screen, so the texts of the agent are escaped before.
                let wrap =
                    |label: &str, indent, text: &str| paragraph(label, indent, &escape(text));
                report::text(report, true, wrap, &mut io::stdout())
            }
            CheckOutput::Json => report::json(report, written, out),
            CheckOutput::Junit => report::junit(report, out),
        }
    }
}

/// A running check.
struct CheckRun<'c> {
    asked: &'c CheckArgs,
    url: &'c Target,
    endpoint: &'c Endpoint,
    client: Client,
    trust: Trust,
    bar: ProgressBar,
    /// How many rules were written as JSON.
    written: AtomicUsize,
}

impl CheckRun<'_> {
    /// Shows the progress: as JSON each rule as soon as it was played; for people a bar on a
    /// terminal, else a line for each topic on standard error.
    fn progress(&self) -> impl Fn(Progress<'_>) + Sync {
        let topic = Mutex::new("");
        move |Progress {
                  done,
                  all,
                  next,
                  last,
              }| {
            self.bar.set_length(all as u64);
            self.bar.set_position(done as u64);
            match (self.asked.output, last) {
                (CheckOutput::Json, Some(last)) if self.write_rule(last) => {
                    self.written.fetch_add(1, Ordering::Relaxed);
                }
                _ => {}
            }
            let Some((name, rule)) = next else {
                return;
            };
            self.bar.set_message(rule);
            let mut topic = topic.lock().unwrap_or_else(PoisonError::into_inner);
            if name != std::mem::replace(&mut *topic, name) {
                self.tell(&format!("{done}/{all}  {name}"));
            }
        }
    }

    /// Writes a rule as a line of JSON; if the reader is gone, the report at the end finds that out.
    fn write_rule(&self, last: &Finding) -> bool {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", report::row(last)).is_ok() && out.flush().is_ok()
    }

    /// Tells people that wait what is going on, where they see no bar.
    fn tell(&self, what: &str) {
        if self.bar.is_hidden() && self.asked.output == CheckOutput::Text {
            // Without a reader nobody is waiting.
            writeln!(io::stderr().lock(), "{what}").ok();
        }
    }

    async fn play(&self) -> Result<Report, CommandError> {
        let stage = Arc::new(self.stage().await?);
        if !stage.arrive().await {
            return Err(self.unreachable(stage.process.as_ref()).await);
        }
        let probe = self.client.probe(self.endpoint, self.asked.wait);
        if self.url.tls.is_some()
            && let Err(CallError::Tls(cause)) = probe.await
        {
            return Err(not_checked(
                cause,
                "correct that first: callers refuse the agent",
            ));
        }
        let strict = self.asked.strict;
        let trial = self.trial(&stage).await?;
        if !stage.begin().await {
            return Err(self.unreachable(stage.process.as_ref()).await);
        }
        let (findings, rehearsal) = if self.asked.rehearse {
            let (findings, rehearsal) = rehearse(&stage, self.asked.seed, strict).await;
            (findings, Some(rehearsal))
        } else {
            let findings = verdict::play(&stage, &stage.topics(), strict, &self.progress()).await;
            (findings, None)
        };
        let (can_play, in_strict_league) = match trial {
            Some(Trial {
                strict: Some(own), ..
            }) if strict => (own, None),
            Some(Trial { lenient, .. }) if lenient.is_no() => (lenient, None),
            Some(Trial { lenient, strict }) => (lenient, strict),
            None => (verdict::can_play(&findings), None),
        };
        Ok(Report {
            agent: self.url.to_string(),
            kind: stage.kind,
            dialect: stage.dialect(),
            speech: stage.speech(),
            strict,
            can_play,
            in_strict_league,
            registration: stage.registration_departure(),
            findings,
            rehearsal,
        })
    }

    /// Finds out with the code of a league how the agent takes calls, and plays trial matches with
    /// a player. Agents call every manager in the form of the documents first.
    async fn trial(&self, stage: &Stage) -> Result<Option<Trial>, CommandError> {
        if stage.kind == AgentKind::Manager {
            return Ok(None);
        }
        self.bar.set_message("trial matches");
        self.tell("trial matches");
        let league = LeagueSide::new(self.url.address, self.trust.clone(), Self::random()?)?;
        if stage.kind == AgentKind::Referee {
            league.settle(stage).await;
            return Ok(None);
        }
        league.try_out(stage).await.map(Some)
    }

    /// The agent and its other side.
    async fn stage(&self) -> Result<Stage, CommandError> {
        let (agent, wait) = (self.url.clone(), self.asked.wait);
        Ok(match self.asked.kind.kind() {
            AgentKind::Player => {
                let manager = self.manager().await?;
                Stage::player(agent, manager, self.process()?, wait)
            }
            AgentKind::Referee => {
                let manager = self.manager().await?;
                Stage::referee(agent, manager, self.process()?, wait, Self::random()?)
            }
            AgentKind::Manager => {
                let sizes = Sizes {
                    players: self.asked.players,
                    referees: self.asked.referees,
                };
                let admin = self.asked.admin_token.clone();
                let key = self.asked.referee_key.clone();
                Stage::manager(agent, self.process()?, wait, sizes, admin, key)
            }
        })
    }

    fn random() -> Result<RandomBytes, CommandError> {
        let chance = Chance::new(None);
        let chance = chance.map_err(|error| not_checked(error.to_string(), "try again"))?;
        Ok(Arc::new(move || chance.bytes()))
    }

    /// Opens the manager that the agent will register with.
    async fn manager(&self) -> Result<FakeManager, CommandError> {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), self.asked.port);
        let random = Self::random()?;
        let (kind, port) = (self.asked.kind.kind(), self.url.address.port());
        let manager = FakeManager::open(address, kind, port, random).await;
        manager.map_err(|error| {
            not_checked(
                format!("port {}: {error}", self.asked.port),
                "stop the manager that runs there, or choose another port with `--port` and let the \
                 agent register there",
            )
        })
    }

    /// Starts the agent, with `--launch`.
    fn process(&self) -> Result<Option<AgentProcess>, CommandError> {
        let Some(command) = &self.asked.launch else {
            return Ok(None);
        };
        let words = launch::words(command).map_err(|error| {
            not_checked(chain(&error), "give a program and its arguments").usage_if(true)
        })?;
        let process = AgentProcess::new(words);
        let started = process.start();
        started.map_err(|error| {
            not_checked(
                format!("`{command}`: {error}"),
                "give a program that can be started",
            )
        })?;
        Ok(Some(process))
    }

    /// Why the agent could not be reached, as far as is known.
    async fn unreachable(&self, process: Option<&AgentProcess>) -> CommandError {
        let ended = match process {
            Some(process) => process.end_report(REPORT_LINES).await,
            None => None,
        };
        if let Some(ended) = ended {
            let hint = "check that the command runs by itself and that its port is free";
            return not_checked(ended, hint);
        }
        let said = process.map(|process| process.said(REPORT_LINES));
        let said = said.unwrap_or_default();
        not_checked(
            format!("no agent listens at {}{said}", self.url),
            "start the agent, or let `--launch \"COMMAND\"` start it; give it more time with `--wait`",
        )
    }
}

fn not_checked(cause: String, hint: &str) -> CommandError {
    CommandError::world(WHAT, cause, hint)
}

struct ListedRule {
    id: String,
    topic: &'static str,
    level: &'static str,
    title: &'static str,
    clause: &'static str,
}

/// Prints every rule for a kind of agent, in the order in which they are checked.
fn print_rules(kind: AgentKind, as_json: bool, out: &mut impl Write) -> io::Result<()> {
    let mut listed = list(kind, kind.topics());
    if kind == AgentKind::Player {
        let known: Vec<String> = listed.iter().map(|rule| rule.id.clone()).collect();
        let v1 = list(kind, player::v1_topics()).into_iter();
        listed.extend(v1.filter(|rule| !known.contains(&rule.id)));
    }
    let mut topic = "";
    for rule in &listed {
        if as_json {
            writeln!(out, "{}", object(rule))?;
            continue;
        }
        if topic != rule.topic {
            let gap = if topic.is_empty() { "" } else { "\n" };
            writeln!(out, "{gap}{}", rule.topic)?;
            topic = rule.topic;
        }
        let ListedRule {
            id,
            level,
            title,
            clause,
            ..
        } = rule;
        let label = format!("  {id:<12} {level:<6}  ");
        let text = format!("{title} ({clause})");
        writeln!(out, "{}", paragraph(&label, label.chars().count(), &text))?;
    }
    Ok(())
}

fn list(kind: AgentKind, topics: Vec<Topic>) -> Vec<ListedRule> {
    let rules = topics.into_iter().flat_map(|topic| {
        let name = topic.name;
        topic.rules.into_iter().map(move |rule| ListedRule {
            id: format!("{}-{}", kind.letter(), rule.id),
            topic: name,
            level: rule.level.as_str(),
            title: rule.title,
            clause: rule.clause,
        })
    });
    rules.collect()
}

fn object(rule: &ListedRule) -> Value {
    json!({
        "id": rule.id, "topic": rule.topic, "level": rule.level, "title": rule.title,
        "clause": rule.clause,
    })
}
