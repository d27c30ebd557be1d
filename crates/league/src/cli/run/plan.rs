//! The seats of `league run`: from flags and configuration, or as an interrupted league had them.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use league_core::league::LeagueRules;
use league_core::league::format::Format;
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::message::Mode;
use league_protocol::sender::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agents::arena::{
    PersonSeats, Plan, PlayerPlan, Ports, RefereePlan, SeatChoice, own_version,
};
use crate::agents::assemble::Shared;
use crate::agents::manager::InvitedPlayer;
use crate::agents::model::Budget;
use crate::cli::agent::{check_strategy, guests, not_invited, unknown_strategy};
use crate::cli::arguments::{
    FormatArgs, check_format, rules_of, usual_league, warn_of_unknown_keys,
};
use crate::cli::failure::{CommandError, bad_config};
use crate::cli::model::{ModelArgs, find_model};
use crate::cli::run::{PortChoice, RunArgs, WHAT};
use crate::cli::store::unusable;
use crate::cli::stored;
use crate::cli::stored::InterruptedLeague;
use crate::clock::now;
use crate::config::{AgentsConfig, ConfigLoader, PlayerConfig, SystemConfig};
use crate::http::local::called;
use crate::http::tls::Tls;
use crate::storage::database::Stream;
use crate::storage::documents::SCHEMA_VERSION;
use crate::storage::files;
use crate::storage::league_store::LeagueStore;
use crate::storage::record::is_over;
use crate::storage::root::Root;
use league_core::strategy;

/// More players than this on free ports share one listener.
const MAX_PLAYER_PORTS: usize = 64;

/// A league about to be played.
pub(crate) struct RunPlan {
    pub(crate) shared: Shared,
    pub(crate) plan: Plan,
    pub(crate) seats: SeatList,
    pub(crate) display_name: String,
    pub(crate) resumed: bool,
    /// Other leagues that were interrupted.
    pub(crate) interrupted: Vec<InterruptedLeague>,
    /// The host that people reach it by.
    pub(crate) host: String,
    pub(crate) people: PersonSeats,
}

/// The players and referees of a league, stored to resume it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SeatList {
    referees: Vec<RefereePlan>,
    players: Vec<PlayerPlan>,
    game_type: GameType,
    pace_ms: u64,
    pub(crate) seed: Option<u64>,
    pub(crate) ports: Ports,
    /// How many players are invited by their address, now or when it began.
    pub(crate) invited: usize,
    /// How many seats are for people.
    pub(crate) people: u32,
    /// The time for a move in milliseconds, if not as configured.
    move_ms: Option<u64>,
    /// How the players are paired, if not as configured.
    format: Option<Format>,
    rounds: Option<u32>,
    legs: Option<u32>,
    groups: Option<u32>,
    duration_ms: Option<u64>,
    /// How its language models are asked.
    models: ModelArgs,
}

impl RunArgs {
    /// The league, and its seats if it is resumed.
    fn stored_seats(
        &self,
        resumed: Option<LeagueId>,
        root: &Root,
        system: &SystemConfig,
    ) -> Result<(LeagueId, Option<SeatList>), CommandError> {
        match resumed {
            Some(league) => {
                let seats = SeatList::load(root, &league)?;
                Ok((league, Some(seats)))
            }
            None => Ok((self.new_league(root, system)?, None)),
        }
    }
}

impl RunPlan {
    pub(crate) fn make(
        run: &RunArgs,
        resumed: Option<LeagueId>,
        loader: &ConfigLoader,
        (mut system, tls): (SystemConfig, Tls),
    ) -> Result<Self, CommandError> {
        let agents = loader.load_agents().map_err(bad_config)?;
        let root = run.common.root();
        let (league_id, seats) = run.stored_seats(resumed, &root, &system)?;
        let game = seats
            .as_ref()
            .map_or(run.game.as_ref(), |seats| Some(&seats.game_type));
        let config = loader.load_league_of(&league_id, game);
        let config = (*config.map_err(bad_config)?).clone().playing(game);
        // Loaded only so that it is written for others to read.
        loader.load_games_registry().map_err(bad_config)?;
        warn_of_unknown_keys(loader);
        let mut rules = rules_of(&root, &system, &config)?;
        let mut seats = seats.map_or_else(|| run.seats(&rules, &agents), Ok)?;
        seats.pace_ms = run
            .pace
            .map_or(seats.pace_ms, |pace| pace.as_millis() as u64);
        seats.seed = run.seed.or(seats.seed);
        seats.models = run.models.clone().or(seats.models);
        seats.models.settle(&mut system.models);
        let guests = run.guests(&rules, &agents, &seats)?;
        seats.invited = seats.invited.max(guests.len());
        let own_and_invited = (seats.players.len() + seats.invited) as u32;
        let players = own_and_invited + seats.people;
        let limits = rules.clone();
        seats.settle(&mut rules, players);
        // A resumed league keeps the rules that it began with.
        if !run.resume {
            check_count(players, &limits, &root).and_then(|()| check_format(&rules))?;
        }
        if run.manual {
            rules.mode = Mode::Manual;
        }
        let mut plan = Plan {
            guests,
            tls: tls.server.clone(),
            ..seats.plan(rules, run, &system)
        };
        find_models(&mut plan.players, &system)?;
        let people = seats.for_people(&system, own_and_invited)?;
        let (agents, listeners) = plan.agents();
        let counts = (agents + people.count, listeners + people.count);
        if plan.shared_port.is_some() {
            // The manager and the referees may call all players at once.
            let most = system.limits.max_connections;
            system.limits.max_connections = most.max(4 * plan.players.len());
        }
        let shared = run.shared((&system, &tls), &seats, &league_id, counts)?;
        Ok(Self {
            shared,
            plan,
            seats,
            display_name: config.display_name.clone(),
            resumed: run.resume,
            interrupted: match run.resume {
                true => Vec::new(),
                false => InterruptedLeague::all(&root, &run.common.root),
            },
            people,
            host: system.network.base_host,
        })
    }
}

impl RunArgs {
    /// What the agents share, with the store if there is one.
    fn shared(
        &self,
        (system, tls): (&SystemConfig, &Tls),
        seats: &SeatList,
        league: &LeagueId,
        counts: (usize, usize),
    ) -> Result<Shared, CommandError> {
        let shared = self.common.shared(system, tls, seats.seed, counts)?;
        let address = format!("http://{}", system.network.base_host);
        let store = self.store.of((system, tls), &shared.chance, address)?;
        if let Some(store) = store.as_ref().filter(|_| !self.resume) {
            self.check_free(store, league)?;
        }
        Ok(Shared {
            crowd: seats.players.len(),
            store,
            ..shared
        })
    }

    /// The name of a new league.
    fn new_league(&self, root: &Root, system: &SystemConfig) -> Result<LeagueId, CommandError> {
        let named = self.league_id.clone();
        let base = named.unwrap_or_else(|| usual_league(system, self.game.as_ref()));
        let free = stored::free_name(root, &base);
        if self.league_id.is_some() && free != base {
            return Err(self.exists(root, &base));
        }
        Ok(free)
    }

    /// Refuses the name of a league that the store has.
    fn check_free(&self, store: &LeagueStore, league: &LeagueId) -> Result<(), CommandError> {
        let holder = store.database.holder(&Stream::of_manager(league));
        match holder.map_err(|error| unusable(&error))? {
            None => Ok(()),
            Some(_) => Err(CommandError::usage(
                WHAT,
                format!("league `{league}` is in {} already", store.database.name()),
                "choose another name with `--league-id ID`",
            )),
        }
    }

    fn exists(&self, root: &Root, league: &LeagueId) -> CommandError {
        let hint = if is_over(&root.league_journal(league)) {
            let flag = self.common.root_flag();
            format!("show it with `league serve --league-id {league}{flag}`")
        } else {
            format!("resume it with `{}`", self.resume_command(league))
        };
        CommandError::usage(
            format!("could not start league `{league}`"),
            "a league of this name exists already",
            format!("{hint}, or choose another `--league-id`"),
        )
    }

    /// The players invited by their address; a resumed league has them already.
    fn guests(
        &self,
        rules: &LeagueRules,
        agents: &AgentsConfig,
        seats: &SeatList,
    ) -> Result<Vec<InvitedPlayer>, CommandError> {
        if self.resume {
            return Ok(Vec::new());
        }
        let mut guests = guests(rules, agents, &self.invite)?;
        let own = |guest: &&InvitedPlayer| {
            let mut own = seats.players.iter();
            own.any(|player| player.name.eq_ignore_ascii_case(&guest.name))
        };
        if let Some(guest) = guests.iter().find(own) {
            let cause = format!("one of our own players is called `{}`", guest.name);
            return Err(not_invited(cause, "invite it by another name: `NAME=URL`"));
        }
        // Our own players have the first numbers.
        let last = seats.players.last().and_then(|player| {
            let number = player.id.as_str().strip_prefix('P')?;
            number.parse::<u32>().ok()
        });
        for (number, guest) in (last.unwrap_or(0).saturating_add(1)..).zip(&mut guests) {
            guest.wanted_id = Some(PlayerId::numbered(number).to_string());
        }
        Ok(guests)
    }
}

impl SeatList {
    /// Changes the rules by the seats.
    fn settle(&self, rules: &mut LeagueRules, players: u32) {
        rules.start_when = Some((players, self.referees.len() as u32));
        let pairing = FormatArgs {
            format: self.format,
            rounds: self.rounds,
            legs: self.legs,
            groups: self.groups,
            duration: self.duration_ms.map(Duration::from_millis),
        };
        pairing.settle(rules);
        if let Some(millis) = self.move_ms {
            rules.timeouts.make_move = Duration::from_millis(millis);
        }
    }

    /// The seats for people, who come after the other players.
    fn for_people(&self, system: &SystemConfig, others: u32) -> Result<PersonSeats, CommandError> {
        let fallback = strategy::find(&system.models.fallback);
        Ok(PersonSeats {
            count: self.people as usize,
            fallback: fallback.map_err(|error| unknown_strategy(&error))?,
            first_id: Some(others + 1),
        })
    }

    /// Stores the seats and ports for `--resume`, before any agent starts.
    pub(crate) fn save(&self, root: &Root, league: &LeagueId) -> Result<(), CommandError> {
        let path = root.seats(league);
        // The members of every file of a league; a reader of the seats ignores them.
        let mut body = json!(self);
        body["schema_version"] = SCHEMA_VERSION.into();
        body["league_id"] = league.as_str().into();
        body["last_updated"] = now().to_millis_text().into();
        files::replace(&path, &files::pretty(&body)).map_err(|error| {
            let what = format!("could not write `{}`", path.display());
            CommandError::world(
                what,
                error.to_string(),
                "choose another folder with `--root`",
            )
        })
    }

    fn load(root: &Root, league: &LeagueId) -> Result<Self, CommandError> {
        let path = root.seats(league);
        let failed = |error: String| {
            CommandError::world(
                format!("could not resume league `{league}`"),
                format!("`{}`: {error}", path.display()),
                "start its agents one by one with `league manager`, `referee` and `player`",
            )
        };
        let bytes = fs::read(&path).map_err(|error| failed(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))
    }

    fn plan(&self, rules: LeagueRules, run: &RunArgs, system: &SystemConfig) -> Plan {
        let ports = self.ports(run, system);
        let (mut referees, mut players) = (self.referees.clone(), self.players.clone());
        for (referee, port) in referees.iter_mut().zip(ports.referees) {
            referee.port = port;
        }
        for (player, port) in players.iter_mut().zip(ports.players) {
            player.port = port;
        }
        Plan {
            rules,
            referees,
            players,
            pace: Duration::from_millis(self.pace_ms),
            budget: Arc::new(Budget::new(system.models.budget_tokens)),
            people: None,
            joining: None,
            guests: Vec::new(),
            port: ports.manager,
            shared_port: ports.shared,
            bind: system.security.bind,
            tls: None,
            host: called(system, None),
        }
    }

    /// Where agents listen: as before, on the documents' ports, or on free ones.
    fn ports(&self, run: &RunArgs, system: &SystemConfig) -> Ports {
        if self.ports != Ports::default() {
            return self.ports.clone();
        }
        if run.ports == PortChoice::Auto {
            let many = self.players.len() > MAX_PLAYER_PORTS;
            return Ports {
                manager: run.person.as_ref().map_or(0, |person| person.port),
                shared: many.then_some(0),
                ..Ports::default()
            };
        }
        let network = &system.network;
        let of_players = network.default_player_port_range;
        // Players that the range does not hold share its first port.
        let last = u32::try_from(self.players.len()).unwrap_or(u32::MAX);
        let has_all = of_players.get(last.saturating_sub(1)).is_some();
        let counted = |first: u16, count: usize| {
            let numbers = (0..count).map(|place| first.saturating_add(place as u16));
            numbers.collect()
        };
        Ports {
            manager: network.default_league_manager_port,
            referees: counted(
                network.default_referee_port_range.first,
                self.referees.len(),
            ),
            players: counted(
                of_players.first,
                if has_all { self.players.len() } else { 0 },
            ),
            shared: (!has_all).then_some(of_players.first),
        }
    }
}

/// The usual time for a move where people play.
const PERSON_MOVE_TIME: Duration = Duration::from_secs(120);
/// How many matches one of our referees runs at once at most.
const MAX_AT_ONCE: u32 = 64;

/// How many matches each of our referees runs at once.
pub(crate) fn matches_at_once(players: u32, referees: u32) -> u32 {
    (players / 2).div_ceil(referees).clamp(2, MAX_AT_ONCE)
}

/// A league needs two players.
const MIN_PLAYERS: u32 = 2;

impl RunArgs {
    /// The seats of a new league; agents that are not active in the configuration are skipped.
    pub(crate) fn seats(
        &self,
        rules: &LeagueRules,
        agents: &AgentsConfig,
    ) -> Result<SeatList, CommandError> {
        let (usual_players, usual_referees) = rules.start_when.unwrap_or((4, 2));
        let players = self.players.unwrap_or(usual_players.max(self.people));
        let players = players.checked_sub(self.people).ok_or_else(|| {
            let cause = format!("{} people do not fit on {players} seats", self.people);
            let hint = "`--players` counts people too: raise it, or lower `--people`";
            CommandError::usage("could not seat the players", cause, hint)
        })?;
        let referees = self.referees.unwrap_or(usual_referees);
        let at_once = matches_at_once(players, referees);
        let known = |id: &PlayerId| agents.players.iter().find(|known| known.player_id == *id);
        let numbered = (1..).map(|number| (number, PlayerId::numbered(number)));
        let taking_part = numbered.filter(|(_, id)| known(id).is_none_or(|known| known.active));
        for chosen in &self.strategies {
            if let SeatChoice::Strategy(chosen) = chosen {
                let what = "could not seat the players";
                check_strategy(chosen, Some(&rules.game_type), what)?;
            }
        }
        let usual = strategy::deal(&rules.game_type, players as usize);
        let usual: Vec<SeatChoice> = usual.into_iter().map(SeatChoice::Strategy).collect();
        let chosen = Some(&self.strategies).filter(|chosen| !chosen.is_empty());
        let dealt = chosen.unwrap_or(&usual).iter().cycle();
        let mut seated = Vec::with_capacity(players as usize);
        for ((number, id), dealt) in taking_part.zip(dealt).take(players as usize) {
            let place = seated.len();
            let known = known(&id);
            let by_strategy = self.person.is_some().then(|| String::from(dealt.clone()));
            let name = by_strategy.or_else(|| known.map(|known| known.display_name.clone()));
            seated.push(PlayerPlan {
                dialect: self.dialect(place, known),
                name: name.unwrap_or_else(|| format!("Player {number}")),
                version: known.map_or_else(own_version, |known| known.version.clone()),
                strategy: self.strategy(known, dealt, rules)?,
                model: None,
                id,
                port: 0,
            });
        }
        let for_people = (self.people > 0).then_some(PERSON_MOVE_TIME);
        let move_time = self.move_time.or(for_people);
        Ok(SeatList {
            referees: referee_seats(agents, referees, at_once),
            players: seated,
            game_type: rules.game_type.clone(),
            pace_ms: 0,
            seed: None,
            ports: Ports::default(),
            invited: 0,
            people: self.people,
            move_ms: move_time.map(|time| time.as_millis() as u64),
            format: self.pairing.format,
            rounds: self.pairing.rounds,
            legs: self.pairing.legs,
            groups: self.pairing.groups,
            duration_ms: self.pairing.duration.map(|time| time.as_millis() as u64),
            models: ModelArgs::default(),
        })
    }

    fn dialect(&self, place: usize, known: Option<&PlayerConfig>) -> Dialect {
        let turn = place.checked_rem(self.dialects.len());
        let dealt = turn.and_then(|turn| self.dialects.get(turn).copied());
        let configured = || known.map_or_else(Dialect::default, |known| known.dialect);
        dealt.unwrap_or_else(configured)
    }

    /// The strategy of a player: by the flag, else as configured, else as dealt.
    fn strategy(
        &self,
        known: Option<&PlayerConfig>,
        dealt: &SeatChoice,
        rules: &LeagueRules,
    ) -> Result<SeatChoice, CommandError> {
        let configured = known.filter(|_| self.strategies.is_empty());
        let configured = configured.map(|known| SeatChoice::parse(&known.strategy));
        let configured = configured
            .transpose()
            .map_err(|error| unknown_strategy(&error))?;
        // A strategy that does not know the game would only play at random.
        let fitting = configured.filter(|choice| match choice {
            SeatChoice::Strategy(strategy) => strategy.knows(&rules.game_type),
            SeatChoice::Model(_) => true,
        });
        Ok(fitting.unwrap_or_else(|| dealt.clone()))
    }
}

/// Finds the language models of the seats that have one.
fn find_models(players: &mut [PlayerPlan], system: &SystemConfig) -> Result<(), CommandError> {
    for player in players {
        if let SeatChoice::Model(name) = &player.strategy {
            player.model = Some(find_model(name, &system.models)?);
        }
    }
    Ok(())
}

fn referee_seats(agents: &AgentsConfig, referees: u32, at_once: u32) -> Vec<RefereePlan> {
    let known = |id: &RefereeId| {
        let mut known = agents.referees.iter();
        known.find(|known| known.referee_id == *id)
    };
    let numbered = (1..).map(|number| (number, RefereeId::numbered(number)));
    let taking_part = numbered.filter(|(_, id)| known(id).is_none_or(|known| known.active));
    let seat = |(number, id): (u32, RefereeId)| {
        let known = known(&id);
        let name = known.map(|known| known.display_name.clone());
        RefereePlan {
            name: name.unwrap_or_else(|| format!("Referee {number}")),
            version: known.map_or_else(own_version, |known| known.version.clone()),
            max_concurrent: at_once.max(known.map_or(0, |known| known.max_concurrent_matches)),
            id,
            port: 0,
        }
    };
    taking_part.take(referees as usize).map(seat).collect()
}

/// Refuses a number of players outside the limits of the league's file.
fn check_count(players: u32, rules: &LeagueRules, root: &Root) -> Result<(), CommandError> {
    let file = root.league(&rules.league_id);
    let file = file.display();
    let (cause, hint) = if players < MIN_PLAYERS {
        (
            "one player has no opponent".to_owned(),
            "add players with `--players`, or invite some with `--invite URL`",
        )
    } else if players < rules.min_players {
        let least = rules.min_players;
        (
            format!("`{file}`: `participants.min_players` is {least}, but there are {players}"),
            "add players with `--players`, or lower `participants.min_players`",
        )
    } else if players > rules.max_players {
        let most = rules.max_players;
        (
            format!("`{file}`: `participants.max_players` is {most}, but there are {players}"),
            "use fewer players with `--players`, or raise `participants.max_players`",
        )
    } else {
        return Ok(());
    };
    Err(CommandError::usage(
        "could not seat the players",
        cause,
        hint,
    ))
}
