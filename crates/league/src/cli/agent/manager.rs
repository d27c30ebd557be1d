//! `league manager`.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use clap::Args;
use league_core::league::{Event, League, LeagueRules};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{Mode, StandingRow};
use league_protocol::time::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::agents::RunningAgent;
use crate::agents::assemble::Shared;
use crate::agents::identity::Membership;
use crate::agents::manager::{self, InvitedPlayer};
use crate::cli::agent::{
    AgentServer, AgentSetup, endpoint, listen, not_started, port_of, port_taken,
};
use crate::cli::arguments::{CommonArgs, game_type, league_id, rules_of, usual_league};
use crate::cli::failure::{CommandError, bad_config};
use crate::cli::network::{NetworkArgs, invitation, is_open, joining};
use crate::cli::scores::{DeviationSummary, LineWidth, Scores};
use crate::cli::text::{count, print_object};
use crate::cli::{Exit, Output};
use crate::config::{AgentsConfig, MatchMode, SystemConfig};
use crate::http::endpoint::{AllowList, OwnAddresses};
use crate::site::Site;
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};

/// The name of the manager in errors.
const LABEL: &str = "the league manager";

/// Run the league manager, which registers agents, schedules matches and keeps the standings
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league manager --players 20 --referees 2
  league manager --players 0                            start by hand with `league start`
  league manager --bind 0.0.0.0 --allow 192.168.1.0/24  for players on other machines")]
pub(crate) struct ManagerArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    network: NetworkArgs,
    /// Port to listen on [default: from config, 8000]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The league [default: from config, or the league of `--game`]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Start when this many players have registered; 0 to start by hand with `league start`
    #[arg(long, value_name = "N")]
    players: Option<u32>,
    /// Start when this many referees have registered
    #[arg(long, value_name = "N")]
    referees: Option<u32>,
    /// The game [default: from the league's file]
    #[arg(long, value_name = "NAME", value_parser = game_type)]
    game: Option<GameType>,
    /// Let every match wait for `league step`
    #[arg(long)]
    manual: bool,
    /// Take all randomness from this number: the league can be repeated, and is not for prizes
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Invite a player that does not register, by its address; may be repeated
    #[arg(long, value_name = "[NAME=]URL", value_parser = InvitedPlayer::parse)]
    invite: Vec<InvitedPlayer>,
    /// Exit when the league is over
    #[arg(long)]
    exit_when_done: bool,
    /// Answer on standard input and output as well, and exit when they end
    #[arg(long)]
    stdio: bool,
}

impl ManagerArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let serve = async |setup, out: &mut dyn Write| self.serve(setup, out).await;
        super::run(&self.common, self.stdio, out, serve)
    }

    async fn serve(
        &self,
        mut setup: AgentSetup,
        mut out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        self.network.settle(&mut setup.system);
        let system = &setup.system;
        let named = self.league_id.clone();
        let league = &named.unwrap_or_else(|| usual_league(system, self.game.as_ref()));
        let rules = self.rules(&setup, league)?;
        self.check_stored(setup.loader.root(), &rules)?;
        let usual = system.network.default_league_manager_port;
        let configured = port_of(&setup.agents.league_manager.endpoint).unwrap_or(usual);
        let listener = listen(system, LABEL, self.port.unwrap_or(configured)).await?;
        let shared = self.common.shared(system, self.seed)?;
        let (tell, news) = unbounded_channel();
        let guests = guests(&rules, system, &setup.agents, &self.invite)?;
        let advertised = endpoint(system, &listener);
        let home = OwnAddresses::new(listener.local_addr().ok(), &advertised);
        let home = home.with_agents(setup.agents.endpoints());
        let (running, door) = manager::start(&shared, rules, &guests, &home, Some(tell))
            .map_err(|error| not_started(LABEL, &error, "`--league-id`"))?;
        self.greet(&mut out, league, system, &advertised)?;
        if port_taken(&listener) != configured && self.common.talks() {
            writeln!(
                out,
                "agents look for it on port {configured}; start them with `--manager {advertised}`"
            )?;
            out.flush()?;
        }
        let viewers = shared.limits.viewers();
        let site = Site::new(shared.root.clone(), league.clone(), viewers, false);
        // A resumed league keeps the rules that it began with.
        let awaited = running
            .actor
            .query(|league| league.rules().start_when)
            .await;
        let screen = ManagerScreen::new(&self.common, awaited.ok().flatten());
        let (print, lines) = unbounded_channel();
        // The league is over for people when its last lines are printed.
        let (over, membership) = watch::channel(Membership::Enrolled);
        let followed = screen.follow(news, (print, over), &shared, &running, league.clone());
        tokio::spawn(followed);
        let server = AgentServer {
            pages: Some(Arc::new(site)),
            shared,
            running,
            membership,
            door,
            listener,
            stdio: self.stdio,
            lines,
        };
        let (common, exit) = (&self.common, self.exit_when_done);
        server.run(setup, common, exit, &mut out).await
    }

    /// The rules of the league, changed by the flags.
    fn rules(&self, setup: &AgentSetup, league: &LeagueId) -> Result<LeagueRules, CommandError> {
        let game = self.game.as_ref();
        let config = setup.loader.load_league_of(league, game);
        let config = config.map_err(bad_config)?;
        // Loaded only so that it is written for others to read.
        setup.loader.load_games_registry().map_err(bad_config)?;
        let mut config = (*config).clone().playing(game);
        if let Some(players) = self.players {
            config.participants.expected_players = players;
        }
        if let Some(referees) = self.referees {
            config.participants.expected_referees = referees;
        }
        if self.manual {
            config.match_mode = MatchMode::Manual;
        }
        rules_of(&self.common.root(), &setup.system, &config)
    }

    fn greet(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        system: &SystemConfig,
        endpoint: &str,
    ) -> io::Result<()> {
        if self.common.output == Output::Json {
            let mut greeting = json!({
                "event": "manager", "league_id": league, "endpoint": endpoint, "page": page(endpoint),
            });
            if is_open(system) {
                greeting["join"] = joining(endpoint).into();
                greeting["allowed_endpoints"] = json!(system.security.allowed_endpoints);
            }
            return print_object(out, &greeting);
        }
        if self.common.talks() {
            writeln!(out, "league `{league}` at {endpoint}")?;
            writeln!(out, "its page at {}", page(endpoint))?;
            for line in invitation(system, endpoint) {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
        }
        Ok(())
    }

    /// Refuses a flag that contradicts the stored league.
    fn check_stored(&self, root: &Root, wanted: &LeagueRules) -> Result<(), CommandError> {
        let league = &wanted.league_id;
        let stored = opening(root, league);
        match stored.and_then(|stored| self.contradiction(&stored, wanted)) {
            None => Ok(()),
            Some((flag, began)) => Err(CommandError::usage(
                format!("could not start {LABEL}"),
                format!("league `{league}` began {began}, which `{flag}` contradicts"),
                "leave the flag out to go on with this league, or name another with `--league-id`",
            )),
        }
    }

    /// The first flag that contradicts a stored league, and how the league began.
    fn contradiction(&self, stored: &Opening, wanted: &LeagueRules) -> Option<(String, String)> {
        let rules = stored.rules.as_ref()?;
        let (players, referees) = rules.start_when.unwrap_or((0, 0));
        let counts_differ = rules.start_when != wanted.start_when;
        let differs = |flag: &str, wanted: Option<String>, began: String| {
            let wanted = wanted.filter(|wanted| *wanted != began)?;
            let began = format!("with `{flag} {began}`");
            Some((format!("{flag} {wanted}"), began))
        };
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        // A league that is started by hand does not count referees.
        let awaited_referees = self.referees.filter(|_| counts_differ && players > 0);
        let awaited_players = self.players.filter(|_| counts_differ);
        differs("--players", text(awaited_players), players.to_string())
            .or_else(|| differs("--referees", text(awaited_referees), referees.to_string()))
            .or_else(|| {
                let game = self.game.as_ref().map(ToString::to_string);
                differs("--game", game, rules.game_type.to_string())
            })
            .or_else(|| {
                let manual = self.manual && rules.mode != Mode::Manual;
                manual.then(|| ("--manual".to_owned(), "without `--manual`".to_owned()))
            })
            .or_else(|| {
                let seed = self.seed.filter(|_| !stored.reproducible)?;
                Some((format!("--seed {seed}"), "without `--seed`".to_owned()))
            })
    }
}

/// How a league began, if it has.
fn opening(root: &Root, league: &LeagueId) -> Option<Opening> {
    let journal = root.league_journal(league);
    let mut opening = None;
    let read = Journal::read(&journal, |entry: Entry<Record<Event>>| {
        if let Record::Opened(opened) = entry.fact {
            opening = Some(*opened);
        }
        ControlFlow::Break(())
    });
    // An error in the journal is reported when the journal is opened for writing.
    read.ok().and(opening)
}

/// The address of a manager's page.
pub(crate) fn page(endpoint: &str) -> String {
    format!("{}/", endpoint.trim_end_matches("/mcp"))
}

/// All players invited by their address. Refuses a player that cannot be admitted, because the
/// league would wait for it forever.
pub(crate) fn guests(
    rules: &LeagueRules,
    system: &SystemConfig,
    agents: &AgentsConfig,
    named: &[InvitedPlayer],
) -> Result<Vec<InvitedPlayer>, CommandError> {
    let guests = [InvitedPlayer::configured(agents).as_slice(), named].concat();
    let allowed = AllowList::new(system.security.clone());
    if rules.strict && !guests.is_empty() {
        return Err(not_invited(
            "the league is strict, and a player that does not register has no token",
            "make the league lenient in its file, or let the player register",
        ));
    }
    for (place, guest) in guests.iter().enumerate() {
        if let Err(error) = allowed.check(&guest.endpoint) {
            let cause = format!("`{}`: {error}", guest.endpoint);
            let hint = "allow the address with `--allow`, or give another";
            return Err(not_invited(cause, hint));
        }
        let same = |other: &&InvitedPlayer| {
            other.endpoint == guest.endpoint || other.name.eq_ignore_ascii_case(&guest.name)
        };
        if let Some(other) = guests[..place].iter().find(same) {
            return Err(not_invited(
                format!(
                    "`{}` and `{}` share a name or an address",
                    other.name, guest.name
                ),
                "invite each player once, with a name of its own: `NAME=URL`",
            ));
        }
    }
    Ok(guests)
}

/// A player cannot be invited by its address.
pub(crate) fn not_invited(cause: impl Into<String>, hint: &str) -> CommandError {
    CommandError::usage("could not invite players by their address", cause, hint)
}

/// Prints the league of a manager: registrations, rounds, matches, the summary.
struct ManagerScreen {
    json: bool,
    silent: bool,
    /// How many players and referees the league waits for.
    awaited: Option<(u32, u32)>,
    players: u32,
    referees: u32,
    scores: Scores,
}

impl ManagerScreen {
    fn new(common: &CommonArgs, awaited: Option<(u32, u32)>) -> Self {
        let json = common.output == Output::Json;
        Self {
            json,
            silent: common.quiet && !json,
            awaited,
            players: 0,
            referees: 0,
            scores: Scores::default(),
        }
    }

    /// Sends the lines of a league to its printer until the league ends.
    fn follow(
        mut self,
        mut news: UnboundedReceiver<(Timestamp, Event)>,
        (print, over): (UnboundedSender<String>, watch::Sender<Membership>),
        shared: &Shared,
        running: &RunningAgent<League>,
        league: LeagueId,
    ) -> impl Future<Output = ()> + use<> {
        let actor = running.actor.clone();
        let (deviations, root) = (shared.deviations.clone(), shared.root.clone());
        async move {
            while let Some((at, event)) = news.recv().await {
                if let Some(line) = self.line(at, &event) {
                    // The printer may be gone.
                    let _ = print.send(line);
                }
                if matches!(event, Event::LeagueCompleted { .. }) {
                    let seen = actor.query(|league| (league.standings(), league.referees().len()));
                    let (rows, referees) = seen.await.unwrap_or_else(|_| ([].into(), 0));
                    let deviations =
                        DeviationSummary::of_all(&deviations, &root, &league, referees, at).await;
                    for line in self.summary(&league, &rows, &deviations) {
                        let _ = print.send(line);
                    }
                    over.send_replace(Membership::Completed);
                }
            }
        }
    }

    /// The line for an event, if it has one.
    fn line(&mut self, at: Timestamp, event: &Event) -> Option<String> {
        match event {
            Event::PlayerRegistered { .. } => self.players += 1,
            Event::RefereeRegistered { .. } => self.referees += 1,
            _ => {}
        }
        let ended = self.scores.record(at, event);
        let (name, sentence) = match &ended {
            Some(ended) if self.json => ("match", self.scores.sentence(ended)),
            Some(ended) => ("match", self.scores.lines(ended, LineWidth::here())),
            None => self.sentence(event)?,
        };
        if self.json {
            let mut line = ended.map_or_else(|| json!({}), |ended| self.scores.object(&ended));
            line["event"] = name.into();
            line["at"] = at.to_millis_text().into();
            line["sentence"] = sentence.into();
            return Some(line.to_string());
        }
        (!self.silent).then_some(sentence)
    }

    /// The lines after the last match: standings, technical losses, deviations.
    fn summary(
        &self,
        league: &LeagueId,
        rows: &[StandingRow],
        deviations: &DeviationSummary,
    ) -> Vec<String> {
        if self.json {
            let summary = self.scores.summary(league, rows, deviations);
            return vec![summary.to_string()];
        }
        let mut text = b"\n".to_vec();
        let printed = self.scores.print_summary(&mut text, rows, deviations);
        if self.silent || printed.is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }

    fn sentence(&self, event: &Event) -> Option<(&'static str, String)> {
        let registered = |id: &str, name: &str| format!("{id} {name} is in{}", self.registered());
        Some(match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => ("player", registered(player_id.as_str(), &meta.display_name)),
            Event::RefereeRegistered {
                referee_id, meta, ..
            } => (
                "referee",
                registered(referee_id.as_str(), &meta.display_name),
            ),
            Event::AgentReturned { agent, .. } => ("returned", format!("{agent} is back")),
            Event::LeagueStarted { .. } => ("started", "the league begins".to_owned()),
            Event::RoundOpened { round, .. } => ("round", format!("round {round}")),
            _ => return None,
        })
    }

    /// How many agents have registered, and how many the league waits for.
    fn registered(&self) -> String {
        let (players, referees) = (self.players, self.referees);
        let (of_players, of_referees) = self.awaited.unwrap_or((players, referees));
        let all_players = count(of_players.into(), "player");
        let all_referees = count(of_referees.into(), "referee");
        if self.awaited.is_none() {
            return format!(" · {all_players}, {all_referees}");
        }
        format!(" · {players} of {all_players}, {referees} of {all_referees}")
    }
}
