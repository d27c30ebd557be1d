//! `league manager`.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use league_core::league::{Event, League, LeagueRules, Lever, Phase};
use league_core::strategy;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::Mode;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use league_web::model::Joining;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::agents::RunningAgent;
use crate::agents::arena::PersonSeats;
use crate::agents::assemble::Shared;
use crate::agents::identity::Membership;
use crate::agents::manager::{self, InvitedPlayer, LeagueNews};
use crate::agents::people::People;
use crate::cli::admin::read_names;
use crate::cli::agent::host::Host;
use crate::cli::agent::manager_screen::ManagerScreen;
use crate::cli::agent::next_league::NextLeague;
use crate::cli::agent::standby::{Standby, TakenLeague};
use crate::cli::agent::{
    AgentServer, AgentSetup, Entrance, not_started, port_of, unknown_strategy,
};
use crate::cli::arguments::{
    CommonArgs, FormatArgs, check_format, duration, game_type, league_id, moment, number, port,
    rules_of, seed, usual_league,
};
use crate::cli::failure::{CommandError, bad_config, chain};
use crate::cli::network::{NetworkArgs, invitation, is_open, joining};
use crate::cli::run::{MAX_PEOPLE, no_seats};
use crate::cli::runtime::Signals;
use crate::cli::store::StoreArgs;
use crate::cli::stored::free_name;
use crate::cli::text::{print_object, tell};
use crate::cli::{Exit, Output};
use crate::config::{AgentsConfig, DEFAULT_GAME, SecurityConfig, SystemConfig};
use crate::http::endpoint::{AllowList, BadEndpoint, OwnAddresses};
use crate::http::local::called;
use crate::http::transport::Listener;
use crate::site::{Inquiry, OrganiserSite, Site};
use crate::storage::database::Lease;
use crate::storage::record::{Opening, Record, is_over};
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};

/// The most lines that wait to be printed; further events wait in the journal.
const MAX_LINES: usize = 64;

/// The name of the manager in errors.
pub(super) const LABEL: &str = "the league manager";

/// Run the league manager, which registers agents, schedules matches and keeps the standings
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league manager --players 20 --referees 2
  league manager --bind 0.0.0.0 --allow 192.168.1.0/24    for players on other machines")]
pub(crate) struct ManagerArgs {
    /// Start with so many players; 0 waits for `league admin start`
    #[arg(long, value_name = "N", value_parser = number::<u32>(0..=1_000_000))]
    players: Option<u32>,
    /// Start with so many referees; a host runs them itself
    #[arg(long, value_name = "N", value_parser = number::<u32>(0..=1_000_000))]
    referees: Option<u32>,
    /// The game, as `league games` lists them [default: config]
    #[arg(long, value_name = "NAME", value_parser = game_type)]
    game: Option<GameType>,
    /// The league [default: config, or that of `--game`]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Play the next league of this folder, as the last was set up
    #[arg(long, conflicts_with_all = ["league_id", "game", "seed"])]
    next: bool,
    /// Port to listen on [default: config, 8000]
    #[arg(long, value_name = "N", value_parser = port)]
    port: Option<u16>,
    #[command(flatten)]
    network: NetworkArgs,
    /// Admit only players that show this code [default: config]
    #[arg(long, value_name = "CODE")]
    join_code: Option<String>,
    /// Admit only players named in this file, one a line
    #[arg(long, value_name = "FILE")]
    roster: Option<PathBuf>,
    /// Key that admits referees
    #[arg(
        long,
        value_name = "KEY",
        env = "LEAGUE_REFEREE_KEY",
        hide_env_values = true
    )]
    referee_key: Option<String>,
    /// Admit every referee that registers before the start
    #[arg(long)]
    open_referees: bool,
    /// How many of the players are people, on the page
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>(0..=MAX_PEOPLE))]
    people: u32,
    /// Invite a player that does not register; repeat it
    #[arg(long, value_name = "[NAME=]URL", value_parser = InvitedPlayer::parse)]
    invite: Vec<InvitedPlayer>,
    /// Close registration then: 10m from now, or 2026-05-04T14:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    registration_until: Option<Timestamp>,
    #[command(flatten)]
    pairing: FormatArgs,
    /// Let every match wait for `league admin step`
    #[arg(long)]
    manual: bool,
    /// Slow down to be watched: the least time between steps
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pace: Option<Duration>,
    /// The least time from one round to the next, such as 1m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    round_every: Option<Duration>,
    /// The most matches that are played at once
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_000_000))]
    matches_at_once: Option<u32>,
    /// All randomness comes from N: repeatable, not for prizes
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
    /// Wait until no other manager holds the league, then go on
    #[arg(long)]
    standby: bool,
    /// Host up to N leagues of the store, with their referees
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=10_000))]
    #[arg(conflicts_with_all = ["standby", "league_id", "next", "create", "people", "stdio"])]
    leagues: Option<u32>,
    /// Write the beginning of the league to the store and exit
    #[arg(long)]
    create: bool,
    /// Exit when the league is over
    #[arg(long)]
    exit_when_done: bool,
    /// Answer on standard input and output too, until they end
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Where the manager of one league answers.
struct ManagerPlace {
    entrance: Entrance,
    own: OwnAddresses,
    advertised: String,
    /// The port of the configuration, and the one that it has.
    ports: (u16, u16),
    /// The league in the store, if there is one.
    lease: Option<Lease>,
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
        self.settle(&mut setup.system.security);
        let mut setup = setup.secure(LABEL)?;
        let (rules, levers) = self.plan(&setup)?;
        let configured = port_of(&setup.agents.league_manager.endpoint)
            .unwrap_or(setup.system.network.default_league_manager_port);
        let listener = setup.listen(LABEL, self.port.unwrap_or(configured)).await?;
        let mut shared = self.shared(&setup, levers)?;
        let place = (&setup.system, &setup.tls);
        let advertised = setup.endpoint(&listener);
        shared.store = self.store.of(place, &shared.chance, advertised.clone())?;
        let ports = (configured, listener.port());
        let own = OwnAddresses::new(listener.local_addr().ok(), &advertised);
        let own = own.with_agents(setup.agents.endpoints());
        if let Some(most) = self.leagues {
            let store = shared.store.clone().ok_or_else(without_store)?;
            let host = Host {
                setup: &mut setup,
                common: &self.common,
                shared,
                store,
                most: most as usize,
                referees: self.referees,
            };
            return host.run(listener, &mut out).await;
        }
        let entered = self.enter(listener, &shared, &rules.league_id, &mut setup.signals);
        let Some((taken, entrance)) = entered.await? else {
            return Ok(Exit::Yes);
        };
        let (stored, lease) = match taken {
            Some(taken) => (taken.rules, Some(taken.lease)),
            None => (None, None),
        };
        let rules = stored.filter(|_| self.standby).unwrap_or(rules);
        self.check_stored(setup.loader.root(), &rules)?;
        let place = ManagerPlace {
            entrance,
            own,
            advertised,
            ports,
            lease,
        };
        self.manage(setup, shared, rules, place, out).await
    }

    /// Starts the manager of a league that this process may hold, and serves it.
    async fn manage(
        &self,
        setup: AgentSetup,
        shared: Shared,
        wanted: LeagueRules,
        place: ManagerPlace,
        mut out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let league = &wanted.league_id.clone();
        let (system, advertised) = (&setup.system, place.advertised.as_str());
        let (tell, news) = LeagueNews::of(&shared.root, league);
        let is_over = is_over(&shared.root.league_journal(league));
        let guests = self.guests(&wanted, &setup.agents, &shared).await?;
        let (own, lease) = (&place.own, place.lease);
        let started = manager::start(&shared, wanted.clone(), &guests, own, Some(tell), lease);
        let (running, service) =
            started.map_err(|error| not_started(LABEL, &error, "`--league-id`"))?;
        let rules = began_with(&running, &wanted).await;
        if self.create {
            return self.created(running, league, &mut out).await;
        }
        let people = self.people(&setup, &shared, (&wanted, advertised)).await?;
        let starts_by_hand = starts_by_hand(&running).await;
        let joining = (!is_over).then(|| JoinInfo {
            system,
            key: shared.referee_key(league).ok(),
            open_referees: rules.as_ref().is_some_and(|rules| rules.open_referees),
            people: people.as_deref(),
            starts_by_hand,
        });
        self.greet(&mut out, league, joining, advertised)?;
        if !is_over && self.common.talks() {
            tell_address(out, &setup, place.ports, advertised)?;
        }
        let offer = offer(system, advertised, people.is_some());
        let site = site(&shared, league, &running, offer);
        let organiser = OrganiserSite::of(&shared, league, &service, advertised);
        let site = site.with_people(people.clone()).with_organiser(organiser);
        let screen = ManagerScreen::new(&self.common, is_over, rules.as_ref());
        let (print, lines) = mpsc::channel(MAX_LINES);
        // The league is over for people when its last lines are printed.
        let (over, membership) = watch::channel(Membership::Enrolled);
        let followed = screen.follow(news, (print, over), &shared, &running, league.clone());
        tokio::task::spawn_blocking(followed);
        let server = AgentServer {
            next: Some(self.next_league(&shared.root, league, &wanted.game_type)),
            pages: Some(Arc::new(site)),
            shared,
            running,
            membership,
            service,
            entrance: place.entrance,
            stdio: self.stdio,
            lines,
            people,
            rejoin: None,
        };
        let exit = self.exit_when_done;
        server.run(setup, &self.common, exit, &mut out).await
    }

    /// Takes the league in the store, if there is one; waits for it with `--standby`. `None` if a
    /// signal came first.
    async fn enter(
        &self,
        listener: Listener,
        shared: &Shared,
        league: &LeagueId,
        signals: &mut Signals,
    ) -> Result<Option<(Option<TakenLeague>, Entrance)>, CommandError> {
        let entrance = Entrance::Listener(listener);
        match &shared.store {
            None if self.standby || self.create => Err(without_store()),
            None => Ok(Some((None, entrance))),
            Some(_) if self.standby => {
                let entered = Standby::of(shared, league).wait(entrance, signals).await?;
                Ok(entered.map(|(taken, served)| (Some(taken), served)))
            }
            Some(store) => {
                let place = (store.clone(), shared.root.clone(), league.clone());
                let taking = tokio::task::spawn_blocking(move || {
                    let (store, root, league) = place;
                    TakenLeague::take(&store, &root, &league)
                });
                tokio::select! {
                    // The runtime ends with a signal.
                    taken = taking => taken.map_or(Ok(None), |taken| Ok(Some((Some(taken?), entrance)))),
                    _ = signals.stop() => Ok(None),
                }
            }
        }
    }

    /// The rules of the league, and the levers that it begins with.
    fn plan(&self, setup: &AgentSetup) -> Result<(LeagueRules, Vec<Lever>), CommandError> {
        let levers = self.levers()?;
        if !self.next {
            let usual = || usual_league(&setup.system, self.game.as_ref());
            let league = self.league_id.clone().unwrap_or_else(usual);
            return Ok((self.rules(setup, &league)?, levers));
        }
        let next = NextLeague::find(setup.loader.root(), &self.common.root_flag())?;
        let levers = next.kept.into_iter().chain(levers).collect();
        let rules = self.next_rules(next.rules);
        check_format(&rules)?;
        Ok((rules, levers))
    }

    /// What the manager shares with the players of people.
    fn shared(&self, setup: &AgentSetup, levers: Vec<Lever>) -> Result<Shared, CommandError> {
        let agents = 1 + self.people as usize;
        let (system, tls) = (&setup.system, &setup.tls);
        let shared = self
            .common
            .shared(system, tls, self.seed, (agents, agents))?;
        Ok(Shared {
            listed_referees: setup.agents.listed_referees(),
            listed_dialects: setup.agents.listed_dialects(),
            levers,
            ..shared
        })
    }

    /// Opens the seats for people.
    async fn people(
        &self,
        setup: &AgentSetup,
        shared: &Shared,
        (rules, endpoint): (&LeagueRules, &str),
    ) -> Result<Option<Arc<People>>, CommandError> {
        let fallback = strategy::find(&setup.system.models.fallback);
        let seats = PersonSeats {
            count: self.people as usize,
            fallback: fallback.map_err(|error| unknown_strategy(&error))?,
            first_id: None,
        };
        let system = &setup.system;
        let place = (
            system.security.bind,
            setup.tls.server.clone(),
            called(system, None),
        );
        let opened = seats.open(shared, rules, endpoint, place).await;
        opened.map_err(|error| no_seats(&error, "could not start the league manager"))
    }

    /// The players invited by their address, all of whom may be called there.
    async fn guests(
        &self,
        rules: &LeagueRules,
        agents: &AgentsConfig,
        shared: &Shared,
    ) -> Result<Vec<InvitedPlayer>, CommandError> {
        let guests = guests(rules, agents, &self.invite)?;
        check_guests(&shared.outbox.allowed, &guests).await?;
        Ok(guests)
    }

    /// Changes the settings by the flags.
    fn settle(&self, security: &mut SecurityConfig) {
        for (setting, flag) in [
            (&mut security.join_code, &self.join_code),
            (&mut security.referee_key, &self.referee_key),
        ] {
            if flag.as_ref().is_some_and(|flag| !flag.is_empty()) {
                setting.clone_from(flag);
            }
        }
        security.open_referees |= self.open_referees;
    }

    /// The rules of the league, changed by the flags.
    fn rules(&self, setup: &AgentSetup, league: &LeagueId) -> Result<LeagueRules, CommandError> {
        let game = self.game.as_ref();
        let config = setup.loader.load_league_of(league, game);
        let config = config.map_err(bad_config)?;
        // Loaded only so that it is written for others to read.
        setup.loader.load_games_registry().map_err(bad_config)?;
        let mut config = (*config).clone().playing(game);
        if self.players == Some(1) {
            return Err(CommandError::usage(
                "could not start the league manager",
                "one player has no opponent",
                "await two or more with `--players`; with `--players 0` the league waits for \
                 `league admin start`",
            ));
        }
        if let Some(players) = self.players {
            config.participants.expected_players = players;
        }
        if let Some(referees) = self.referees {
            config.participants.expected_referees = referees;
        }
        if self.manual {
            config.match_mode = Mode::Manual;
        }
        let mut rules = rules_of(&self.common.root(), &setup.system, &config)?;
        self.settle_course(&mut rules);
        check_format(&rules)?;
        Ok(rules)
    }

    /// How the league is played, changed by the flags.
    fn settle_course(&self, rules: &mut LeagueRules) {
        self.pairing.settle(rules);
        rules.round_every = self.round_every.unwrap_or(rules.round_every);
        rules.matches_at_once = self.matches_at_once.or(rules.matches_at_once);
        if let Some(pace) = self.pace {
            rules.pace = pace;
            rules.match_limit = rules.longest_match();
        }
    }

    /// The rules of the last league, changed by the flags.
    fn next_rules(&self, mut rules: LeagueRules) -> LeagueRules {
        let (players, referees) = rules.start_when.unwrap_or((0, 1));
        let (players, referees) = (
            self.players.unwrap_or(players),
            self.referees.unwrap_or(referees),
        );
        rules.start_when = (players > 0).then_some((players, referees));
        self.settle_course(&mut rules);
        if self.manual {
            rules.mode = Mode::Manual;
        }
        rules.match_limit = rules.longest_match();
        rules
    }

    /// The levers that flags pull when the manager starts.
    fn levers(&self) -> Result<Vec<Lever>, CommandError> {
        let until = self
            .registration_until
            .map(|until| Lever::OpenRegistration { until: Some(until) });
        let roster = self.roster.as_ref().map(read_names).transpose()?;
        let roster = roster.map(|names| Lever::SetRoster { names });
        Ok(until.into_iter().chain(roster).collect())
    }

    /// How to start another league of the same game.
    fn next_league(&self, root: &Root, league: &LeagueId, game: &GameType) -> String {
        let league = free_name(root, league);
        // Agents that stay ask the same address for the next league.
        let port = self.port.filter(|port| *port != 0);
        let port = port.map(|port| format!(" --port {port}"));
        let flag = port.unwrap_or_default() + &self.common.root_flag();
        let game = match game.as_str() {
            DEFAULT_GAME => String::new(),
            _ => format!(" --game {game}"),
        };
        format!(
            "start another with `league manager --next{flag}`, or `league manager --league-id \
             {league}{game}{flag}`"
        )
    }

    fn start_command(&self, endpoint: &str) -> String {
        let root = self.common.root_flag();
        format!("league admin start --manager {endpoint}{root}")
    }

    /// Ends a manager that only wrote the beginning of its league.
    async fn created(
        &self,
        running: RunningAgent<League>,
        league: &LeagueId,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        running.actor.stop().await;
        if let Ok(Err(error)) = running.ended.await {
            return Err(CommandError::world(
                "could not create the league",
                chain(&error),
                error.hint(),
            ));
        }
        let object = json!({"event": "created", "league_id": league});
        let text =
            format!("league `{league}` is in the store; a manager with `--leagues N` takes it");
        tell(&self.common, out, &object, &text)?;
        Ok(Exit::Yes)
    }

    /// Prints where the manager answers, and how to join unless the league is over.
    fn greet(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        joining_by: Option<JoinInfo<'_>>,
        endpoint: &str,
    ) -> io::Result<()> {
        if self.common.output == Output::Json {
            let mut greeting = json!({
                "event": "manager", "league_id": league, "endpoint": endpoint, "page": page(endpoint),
            });
            if let Some(JoinInfo {
                system,
                key,
                people,
                starts_by_hand,
                ..
            }) = joining_by
            {
                if starts_by_hand {
                    greeting["start"] = self.start_command(endpoint).into();
                }
                if let Some(people) = people {
                    let link = people_link(endpoint, people.code());
                    greeting["people"] = json!({"link": link, "code": people.code()});
                }
                greeting["referee_key"] = key.as_ref().map(AuthToken::reveal).into();
                if is_open(system) {
                    greeting["join"] = joining(system, endpoint).into();
                    greeting["allowed_endpoints"] = json!(system.security.allowed_endpoints);
                }
            }
            return print_object(out, &greeting);
        }
        if self.common.talks() {
            writeln!(out, "league `{league}` at {endpoint}")?;
            writeln!(out, "its page at {}", page(endpoint))?;
            if let Some(joining) = joining_by {
                if let Some(people) = joining.people {
                    let link = people_link(endpoint, people.code());
                    writeln!(out, "people join at {link}")?;
                }
                for line in invitation(joining.system, endpoint) {
                    writeln!(out, "{line}")?;
                }
                if joining.starts_by_hand {
                    writeln!(out, "it begins with `{}`", self.start_command(endpoint))?;
                }
                if joining.open_referees {
                    writeln!(out, "referees: open to all, so anyone can decide matches")?;
                } else if let Some(key) = &joining.key {
                    let key = key.reveal();
                    writeln!(out, "referees elsewhere join with `--referee-key {key}`")?;
                }
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
                "leave the flag out to continue this league, or name another with `--league-id ID`",
            )),
        }
    }

    /// The first flag that contradicts a stored league, and how the league began.
    fn contradiction(&self, stored: &Opening, wanted: &LeagueRules) -> Option<(String, String)> {
        let rules = stored.rules.as_ref()?;
        let (players, referees) = rules.start_when.unwrap_or((0, 0));
        let counts_differ = rules.start_when != wanted.start_when;
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        let time = |time: Duration| format!("{}ms", time.as_millis());
        let as_needed = |number| text(number).unwrap_or_else(|| "as needed".to_owned());
        let usual = || "as usual".to_owned();
        let (paired, game) = (&self.pairing, self.game.as_ref());
        // A league that is started by hand does not count referees.
        let referees_wanted = self.referees.filter(|_| counts_differ && players > 0);
        let players_wanted = self.players.filter(|_| counts_differ);
        let at_once = rules.matches_at_once.unwrap_or(0);
        let format = paired.format.map(|format| format.name().to_owned());
        let values = [
            ("--players", text(players_wanted), players.to_string()),
            ("--referees", text(referees_wanted), referees.to_string()),
            (
                "--game",
                game.map(ToString::to_string),
                rules.game_type.to_string(),
            ),
            ("--format", format, rules.format.name().to_owned()),
            ("--rounds", text(paired.rounds), as_needed(rules.rounds)),
            ("--legs", text(paired.legs), rules.legs.to_string()),
            ("--groups", text(paired.groups), as_needed(rules.groups)),
            (
                "--duration",
                paired.duration.map(time),
                rules.duration.map_or_else(usual, time),
            ),
            (
                "--matches-at-once",
                text(self.matches_at_once),
                at_once.to_string(),
            ),
            (
                "--round-every",
                self.round_every.map(time),
                time(rules.round_every),
            ),
            ("--pace", self.pace.map(time), time(rules.pace)),
        ];
        let value = values.into_iter().find_map(|(flag, wanted, began)| {
            let wanted = wanted.filter(|wanted| *wanted != began)?;
            Some((format!("{flag} {wanted}"), format!("with `{flag} {began}`")))
        });
        value.or_else(|| self.contradicting_switch(stored, rules))
    }

    fn contradicting_switch(
        &self,
        stored: &Opening,
        rules: &LeagueRules,
    ) -> Option<(String, String)> {
        let is_manual = rules.mode == Mode::Manual;
        let switches = [("--manual", self.manual, is_manual)];
        let switch = switches.iter().find(|(_, wanted, began)| *wanted && !began);
        let seed = self.seed.filter(|_| !stored.reproducible);
        match (switch, seed) {
            (Some((flag, ..)), _) => Some(((*flag).to_owned(), format!("without `{flag}`"))),
            (None, Some(seed)) => Some((format!("--seed {seed}"), "without `--seed`".to_owned())),
            (None, None) => None,
        }
    }
}

/// The rules that the league began with, which a resumed one keeps. Says which rules have changed
/// since; those that flags set are compared before.
async fn began_with(running: &RunningAgent<League>, wanted: &LeagueRules) -> Option<LeagueRules> {
    let flagged = [
        "start_when",
        "format",
        "rounds",
        "legs",
        "groups",
        "duration",
        "tiebreakers",
        "match_limit",
        "mode",
        "game_type",
        "round_every",
        "pace",
        "matches_at_once",
    ];
    let rules = running.actor.query(|league| league.rules().clone());
    let rules = rules.await.ok()?;
    let (began, now) = (json!(rules), json!(wanted));
    let now = now.as_object().into_iter().flatten();
    let changed = now.filter(|(name, value)| {
        began[name.as_str()] != **value && !flagged.contains(&name.as_str())
    });
    let changed: Vec<String> = changed.map(|(name, _)| format!("`{name}`")).collect();
    if !changed.is_empty() {
        tracing::warn!(
            component = "league_manager", league_id = %wanted.league_id, event_type = "RULES_KEPT",
            "league `{}` keeps the rules that it began with, and the configuration has changed {}; \
             start another league with `--league-id ID` to play by them",
            wanted.league_id, changed.join(", ")
        );
    }
    Some(rules)
}

/// A flag needs a store, and there is none.
fn without_store() -> CommandError {
    CommandError::usage(
        format!("could not start {LABEL}"),
        "`--standby`, `--leagues` and `--create` are for leagues of a store, and none is named",
        "name the database with `--store URL`, or `store` in the configuration",
    )
}

/// Whether the league waits for `league admin start`.
async fn starts_by_hand(running: &RunningAgent<League>) -> bool {
    let waits = running.actor.query(|league| {
        league.phase() == Phase::Registering && league.rules().start_when.is_none()
    });
    waits.await.unwrap_or(false)
}

/// What the manager prints for agents that want to join.
struct JoinInfo<'s> {
    system: &'s SystemConfig,
    key: Option<AuthToken>,
    /// Whether referees are admitted without the key.
    open_referees: bool,
    /// The seats for people.
    people: Option<&'s People>,
    /// Whether the league waits for `league admin start`.
    starts_by_hand: bool,
}

/// Tells where the manager is if agents do not find it by themselves.
fn tell_address(
    out: &mut dyn Write,
    setup: &AgentSetup,
    (usual, port): (u16, u16),
    endpoint: &str,
) -> io::Result<()> {
    let configured = &setup.agents.league_manager.endpoint;
    let how = if setup.tls.server.is_some() && !configured.starts_with("https://") {
        "without TLS".to_owned()
    } else if port != usual {
        format!("on port {usual}")
    } else {
        return Ok(());
    };
    writeln!(
        out,
        "agents look for it {how}; start them with `--manager {endpoint}`"
    )?;
    out.flush()
}

/// How a league began, if it has.
pub(super) fn opening(root: &Root, league: &LeagueId) -> Option<Opening> {
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

/// Where people join: the code stands in the fragment, which no browser sends to a server.
pub(crate) fn people_link(endpoint: &str, code: &str) -> String {
    format!("{}play#code={code}", page(endpoint))
}

/// The pages of the league, with its lobby.
pub(super) fn site(
    shared: &Shared,
    league: &LeagueId,
    running: &RunningAgent<League>,
    offer: Joining,
) -> Site {
    let inquiry = Inquiry::new(shared, running.actor.clone(), Some(offer));
    let (root, viewers) = (shared.root.clone(), shared.limits.viewers());
    Site::new(root, league.clone(), viewers, Some(inquiry))
}

/// How a player joins: from this machine only, or from others too.
pub(super) fn offer(system: &SystemConfig, endpoint: &str, has_people: bool) -> Joining {
    let command = match is_open(system) {
        true => joining(system, endpoint),
        false => format!("league player --manager {endpoint} --name NAME"),
    };
    Joining {
        command: Some(command),
        ..people_offer(endpoint, has_people)
    }
}

/// How people join a league that no player joins from elsewhere.
pub(crate) fn people_offer(endpoint: &str, has_people: bool) -> Joining {
    let page = page(endpoint);
    Joining {
        command: None,
        people: has_people.then(|| format!("{page}play")),
        page,
    }
}

/// The address of a manager's page.
pub(crate) fn page(endpoint: &str) -> String {
    format!("{}/", endpoint.trim_end_matches("/mcp"))
}

/// All players invited by their address. Refuses a player that cannot be admitted, because the
/// league would wait for it forever.
pub(crate) fn guests(
    rules: &LeagueRules,
    agents: &AgentsConfig,
    named: &[InvitedPlayer],
) -> Result<Vec<InvitedPlayer>, CommandError> {
    let guests = [InvitedPlayer::configured(agents).as_slice(), named].concat();
    if rules.strict && !guests.is_empty() {
        return Err(not_invited(
            "the league is strict, and a player that does not register has no token",
            "make the league lenient in its file, or let the player register",
        ));
    }
    for (place, guest) in guests.iter().enumerate() {
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

/// Refuses a player that may not be called at its address, or whose name has none.
pub(crate) async fn check_guests(
    allowed: &AllowList,
    guests: &[InvitedPlayer],
) -> Result<(), CommandError> {
    for guest in guests {
        match allowed.find(&guest.endpoint).await {
            // It may be resolved by the time it is called.
            Ok(_) | Err(BadEndpoint::Unresolved { .. }) => {}
            Err(error) => {
                let cause = format!("`{}`: {error}", guest.endpoint);
                let hint = "allow the address with `--allow`, or give another";
                return Err(not_invited(cause, hint));
            }
        }
    }
    Ok(())
}

/// A player cannot be invited by its address.
pub(crate) fn not_invited(cause: impl Into<String>, hint: &str) -> CommandError {
    CommandError::usage("could not invite players by their address", cause, hint)
}
