//! `league manager`.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use clap::Args;
use league_core::league::{Event, LeagueRules};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{Mode, StandingRow};
use league_protocol::time::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use crate::agents::identity::Membership;
use crate::agents::manager;
use crate::cli::agent::{Ground, Serving, endpoint, listen, not_started, object, port_of};
use crate::cli::arguments::{Common, game_type, league_id, rules_of, usual_league};
use crate::cli::failure::{Failure, Kind, bad_config};
use crate::cli::network::{Reach, invitation, is_open, joining};
use crate::cli::scores::{Forgiven, Room, Scores};
use crate::cli::text::count;
use crate::cli::{Answer, Output};
use crate::config::{AgentsConfig, MatchMode, SystemConfig};
use crate::http::endpoint::{AllowList, OwnAddresses};
use crate::site::Site;
use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};

/// What the manager is called when it cannot start.
pub(crate) const LABEL: &str = "the league manager";

/// Run the league manager: it registers agents, pairs them, keeps the standings
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league manager --players 20 --referees 2
  league manager --players 0                            begin by hand with `league start`
  league manager --bind 0.0.0.0 --allow 192.168.1.0/24  for players on other machines")]
pub(crate) struct Manager {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    reach: Reach,
    /// The port to listen on [default: from config, 8000]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Which league [default: from config, or that of the game which is named]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Begin when so many players are there; 0 to begin by hand with `league start`
    #[arg(long, value_name = "N")]
    pub(crate) players: Option<u32>,
    /// Begin when so many referees are there
    #[arg(long, value_name = "N")]
    pub(crate) referees: Option<u32>,
    /// What is played [default: from the league's file]
    #[arg(long, value_name = "NAME", value_parser = game_type)]
    pub(crate) game: Option<GameType>,
    /// Have every match wait for `league step`
    #[arg(long)]
    pub(crate) manual: bool,
    /// Take all chance from this number: the same league again, not for prizes
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Invite a player that never registers, by its address; more than once for more
    #[arg(long, value_name = "[NAME=]URL", value_parser = manager::InvitedPlayer::parse)]
    invite: Vec<manager::InvitedPlayer>,
    /// End when the league is over
    #[arg(long)]
    exit_when_done: bool,
    /// Answer on standard input and output as well, and end with them
    #[arg(long)]
    stdio: bool,
}

impl Manager {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let serve = async |ground, out: &mut dyn Write| self.serve(ground, out).await;
        super::run(&self.common, self.stdio, out, serve)
    }

    async fn serve(&self, mut ground: Ground, mut out: &mut dyn Write) -> Result<Answer, Failure> {
        self.reach.settle(&mut ground.system);
        let system = &ground.system;
        let named = self.league_id.clone();
        let league = &named.unwrap_or_else(|| usual_league(system, self.game.as_ref()));
        let rules = self.rules(&ground, league)?;
        self.check_begun(ground.loader.root(), &rules)?;
        let usual = system.network.default_league_manager_port;
        let configured = port_of(&ground.agents.league_manager.endpoint).unwrap_or(usual);
        let listener = listen(system, LABEL, self.port.unwrap_or(configured)).await?;
        let shared = self.common.shared(system, self.seed)?;
        let (tell, mut news) = unbounded_channel();
        let guests = guests(&rules, system, &ground.agents, &self.invite)?;
        let told = endpoint(system, &listener);
        let home = OwnAddresses::new(listener.local_addr().ok(), &told);
        let home = home.with_agents(ground.agents.endpoints());
        let (running, door) = manager::start(&shared, rules, &guests, &home, Some(tell))
            .map_err(|error| not_started(LABEL, &error, "`--league-id`"))?;
        self.greet(&mut out, league, system, &told)?;
        self.warn(&mut out, &listener, configured)?;
        let site = Site::new(
            shared.root.clone(),
            league.clone(),
            shared.limits.viewers(),
            false,
        );
        let identity = running.identity.clone();
        // A league that is taken up goes by the rules that it began with.
        let begun = running.desk.look(|league| league.rules().start_when).await;
        let mut chronicle = Chronicle::new(&self.common, begun.ok().flatten());
        let (desk, league) = (running.desk.clone(), league.clone());
        let (deviations, root) = (shared.deviations.clone(), shared.root.clone());
        let (print, lines) = unbounded_channel();
        tokio::spawn(async move {
            while let Some((at, event)) = news.recv().await {
                if let Some(line) = chronicle.line(at, &event) {
                    // Whoever printed may be gone.
                    let _ = print.send(line);
                }
                if matches!(event, Event::LeagueCompleted { .. }) {
                    let seen = desk.look(|league| (league.standings(), league.referees().len()));
                    let (rows, referees) = seen.await.unwrap_or_else(|_| ([].into(), 0));
                    let forgiven = Forgiven::by_all(&deviations, &root, &league, referees, at);
                    for line in chronicle.end(&league, &rows, &forgiven.await) {
                        let _ = print.send(line);
                    }
                    identity.set_membership(Membership::Completed);
                }
            }
        });
        let serving = Serving {
            pages: Some(Arc::new(site)),
            shared,
            running,
            door,
            listener,
            stdio: self.stdio,
            lines,
        };
        let (common, exit) = (&self.common, self.exit_when_done);
        serving.run(ground, common, exit, &mut out).await
    }

    /// The rules of the league, with what the flags change.
    fn rules(&self, ground: &Ground, league: &LeagueId) -> Result<LeagueRules, Failure> {
        let game = self.game.as_ref();
        let config = ground.loader.load_league_of(league, game);
        let config = config.map_err(bad_config)?;
        // Nothing here goes by it; it is there for others to read.
        ground.loader.load_games_registry().map_err(bad_config)?;
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
        rules_of(&self.common.root(), &ground.system, &config)
    }

    /// Tells that agents will not find it by themselves, where they look for it elsewhere.
    fn warn(
        &self,
        out: &mut impl Write,
        listener: &tokio::net::TcpListener,
        usual: u16,
    ) -> Result<(), Failure> {
        let elsewhere = listener
            .local_addr()
            .is_ok_and(|address| address.port() != usual);
        if elsewhere && self.common.output == Output::Text && !self.common.quiet {
            writeln!(
                out,
                "agents look for it on port {usual}; start them with `--manager` and this address"
            )?;
            out.flush()?;
        }
        Ok(())
    }

    fn greet(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        system: &SystemConfig,
        endpoint: &str,
    ) -> Result<(), Failure> {
        if self.common.output == Output::Json {
            let mut greeting = json!({
                "event": "manager", "league_id": league, "endpoint": endpoint, "page": page(endpoint),
            });
            if is_open(system) {
                greeting["join"] = joining(endpoint).into();
                greeting["allowed_endpoints"] = json!(system.security.allowed_endpoints);
            }
            return object(out, &greeting);
        }
        if !self.common.quiet {
            writeln!(out, "league `{league}` at {endpoint}")?;
            writeln!(out, "its page at {}", page(endpoint))?;
            for line in invitation(system, endpoint) {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
        }
        Ok(())
    }
}

/// Where the page of a manager is.
pub(crate) fn page(endpoint: &str) -> String {
    format!("{}/", endpoint.trim_end_matches("/mcp"))
}

/// All who are invited by their address, each of whom can be admitted: one who cannot would be
/// waited for in vain.
pub(crate) fn guests(
    rules: &LeagueRules,
    system: &SystemConfig,
    agents: &AgentsConfig,
    named: &[manager::InvitedPlayer],
) -> Result<Vec<manager::InvitedPlayer>, Failure> {
    let guests = [manager::InvitedPlayer::configured(agents).as_slice(), named].concat();
    let allowed = AllowList::new(system.security.clone());
    let refused = |cause: String, hint: &str| Failure {
        what: "could not invite players by their address".to_owned(),
        cause,
        hint: hint.to_owned(),
        kind: Kind::Use,
    };
    if rules.strict && !guests.is_empty() {
        let cause = "the league is strict, and an agent that never registers has no token to show";
        let hint = "make the league lenient in its file, or have the agent register";
        return Err(refused(cause.to_owned(), hint));
    }
    for (place, guest) in guests.iter().enumerate() {
        if let Err(error) = allowed.check(&guest.endpoint) {
            let hint = "allow the address with `--allow`, or name another";
            return Err(refused(format!("`{}`: {error}", guest.endpoint), hint));
        }
        let before = guests.iter().take(place);
        let same = |other: &&manager::InvitedPlayer| {
            other.endpoint == guest.endpoint || other.name.eq_ignore_ascii_case(&guest.name)
        };
        if let Some(other) = before.into_iter().find(same) {
            let cause = format!(
                "`{}` and `{}` share a name or an address",
                other.name, guest.name
            );
            return Err(refused(
                cause,
                "invite each once, by a name of its own: `NAME=URL`",
            ));
        }
    }
    Ok(guests)
}

impl Manager {
    /// Refuses a flag that would not count, as the league began otherwise.
    pub(crate) fn check_begun(&self, root: &Root, wanted: &LeagueRules) -> Result<(), Failure> {
        let league = &wanted.league_id;
        let begun = opening(root, league);
        match begun.and_then(|begun| self.contradiction(&begun, wanted)) {
            None => Ok(()),
            Some((flag, began)) => Err(Failure {
                what: format!("could not start {LABEL}"),
                cause: format!("league `{league}` began {began}, so `{flag}` does not count"),
                hint: "leave the flag out to go on with it, or name another league with \
                       `--league-id`"
                    .to_owned(),
                kind: Kind::Use,
            }),
        }
    }

    /// The first flag that says otherwise, and how the league began instead.
    fn contradiction(&self, begun: &Opening, wanted: &LeagueRules) -> Option<(String, String)> {
        let rules = begun.rules.as_ref()?;
        let (players, referees) = rules.start_when.unwrap_or((0, 0));
        let counts = rules.start_when != wanted.start_when;
        let differs = |flag: &str, wanted: Option<String>, began: String| {
            let wanted = wanted.filter(|wanted| *wanted != began)?;
            let began = format!("with `{flag} {began}`");
            Some((format!("{flag} {wanted}"), began))
        };
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        // Where it begins by hand, nobody counts referees.
        let counted = self.referees.filter(|_| counts && players > 0);
        let awaited = self.players.filter(|_| counts);
        differs("--players", text(awaited), players.to_string())
            .or_else(|| differs("--referees", text(counted), referees.to_string()))
            .or_else(|| {
                let game = self.game.as_ref().map(ToString::to_string);
                differs("--game", game, rules.game_type.to_string())
            })
            .or_else(|| {
                let manual = self.manual && rules.mode != Mode::Manual;
                manual.then(|| ("--manual".to_owned(), "without `--manual`".to_owned()))
            })
            .or_else(|| {
                let seed = self.seed.filter(|_| !begun.reproducible)?;
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
    // Whatever is wrong with it is told when it is opened to be written.
    read.ok().and(opening)
}

/// Tells a league line by line.
pub(crate) struct Chronicle {
    json: bool,
    silent: bool,
    /// How many players and referees are waited for.
    awaited: Option<(u32, u32)>,
    players: u32,
    referees: u32,
    scores: Scores,
}

impl Chronicle {
    pub(crate) fn new(common: &Common, awaited: Option<(u32, u32)>) -> Self {
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

    /// The line for a fact, if people should see it.
    pub(crate) fn line(&mut self, at: Timestamp, event: &Event) -> Option<String> {
        match event {
            Event::PlayerRegistered { .. } => self.players += 1,
            Event::RefereeRegistered { .. } => self.referees += 1,
            _ => {}
        }
        let ended = self.scores.take_in(at, event);
        let (name, sentence) = match &ended {
            Some(ended) if self.json => ("match", self.scores.sentence(ended)),
            Some(ended) => ("match", self.scores.lines(ended, Room::here())),
            None => self.told(event)?,
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

    /// The lines for a league that is over: the table, technical losses, deviations.
    pub(crate) fn end(
        &self,
        league: &LeagueId,
        rows: &[StandingRow],
        forgiven: &Forgiven,
    ) -> Vec<String> {
        if self.json {
            return vec![self.scores.closing(league, rows, forgiven).to_string()];
        }
        let mut text = Vec::new();
        if self.silent || self.scores.close(&mut text, rows, forgiven).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(str::to_owned);
        std::iter::once(String::new()).chain(lines).collect()
    }

    fn told(&self, event: &Event) -> Option<(&'static str, String)> {
        Some(match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => (
                "player",
                format!("{player_id} {} is in{}", meta.display_name, self.count()),
            ),
            Event::RefereeRegistered {
                referee_id, meta, ..
            } => (
                "referee",
                format!("{referee_id} {} is in{}", meta.display_name, self.count()),
            ),
            Event::AgentReturned { agent, .. } => ("returned", format!("{agent} is back")),
            Event::LeagueStarted { .. } => ("started", "the league begins".to_owned()),
            Event::RoundOpened { round, .. } => ("round", format!("round {round}")),
            _ => return None,
        })
    }

    /// How many are there, and how many are waited for.
    fn count(&self) -> String {
        match self.awaited {
            Some((players, referees)) => format!(
                " · {} of {}, {} of {}",
                self.players,
                count(u64::from(players), "player"),
                self.referees,
                count(u64::from(referees), "referee")
            ),
            None => format!(
                " · {}, {}",
                count(u64::from(self.players), "player"),
                count(u64::from(self.referees), "referee")
            ),
        }
    }
}
