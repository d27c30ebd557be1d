//! The seats of `league run`: from flags and configuration, or as an interrupted league had them.

use std::fs;
use std::time::Duration;

use league_core::league::LeagueRules;
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::message::Mode;
use league_protocol::sender::Dialect;
use serde::{Deserialize, Serialize};

use crate::agents::arena::{Plan, PlayerPlan, Ports, RefereePlan};
use crate::agents::assemble::Shared;
use crate::agents::manager::InvitedPlayer;
use crate::agents::player::{Chooser, PlayStyle};
use crate::agents::strategy::{self, Strategy};
use crate::cli::agent::{guests, not_invited, unknown_strategy};
use crate::cli::arguments::{rules_of, usual_league, warn_of_unknown_keys};
use crate::cli::failure::{CommandError, bad_config};
use crate::cli::leagues;
use crate::cli::leagues::InterruptedLeague;
use crate::cli::run::{PortChoice, RunArgs};
use crate::config::{AgentsConfig, ConfigLoader, PlayerConfig, SystemConfig};
use crate::http::local::called;
use crate::storage::root::Root;

/// More players than this on free ports share one listener.
const MAX_PLAYER_PORTS: usize = 64;

/// A league about to be played.
pub(crate) struct RunPlan {
    pub(crate) shared: Shared,
    pub(crate) plan: Plan,
    pub(crate) display_name: String,
    pub(crate) resumed: bool,
    /// How many players are invited by their address, now or when it began.
    pub(crate) invited: usize,
    /// Other leagues that were interrupted.
    pub(crate) interrupted: Vec<InterruptedLeague>,
    pub(crate) seed: Option<u64>,
    /// The host that people reach it by.
    pub(crate) host: String,
}

/// The players and referees of a league, stored to resume it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SeatList {
    referees: Vec<StoredReferee>,
    players: Vec<StoredPlayer>,
    game_type: GameType,
    pace_ms: u64,
    seed: Option<u64>,
    #[serde(default)]
    ports: Ports,
    /// How many players were invited by their address.
    #[serde(default)]
    invited: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredReferee {
    id: RefereeId,
    name: String,
    max_concurrent: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredPlayer {
    id: PlayerId,
    name: String,
    strategy: String,
    #[serde(default)]
    dialect: Dialect,
}

impl RunPlan {
    pub(crate) fn make(
        run: &RunArgs,
        loader: &ConfigLoader,
        system: SystemConfig,
    ) -> Result<Self, CommandError> {
        let agents = loader.load_agents().map_err(bad_config)?;
        let named = run.league_id.clone();
        let base = named.unwrap_or_else(|| usual_league(&system, run.game.as_ref()));
        let root = run.common.root();
        let (league_id, seats) = if run.resume {
            let league = leagues::to_resume(&root, &run.common, run.league_id.as_ref())?;
            let seats = SeatList::load(&root, &league)?;
            (league, Some(seats))
        } else {
            let free = leagues::free_name(&root, &base);
            if run.league_id.is_some() && free != base {
                return Err(exists(&base));
            }
            (free, None)
        };
        let game = seats
            .as_ref()
            .map_or(run.game.as_ref(), |seats| Some(&seats.game_type));
        let config = loader.load_league_of(&league_id, game);
        let config = (*config.map_err(bad_config)?).clone().playing(game);
        // Loaded only so that it is written for others to read.
        loader.load_games_registry().map_err(bad_config)?;
        warn_of_unknown_keys(loader);
        let mut rules = rules_of(&root, &system, &config)?;
        let seats = match seats {
            Some(seats) => seats,
            None => run.seats(&rules, &agents)?,
        };
        let guests = run.guests(&rules, &system, &agents, &seats)?;
        let invited = seats.invited.max(guests.len());
        let players = (seats.players.len() + invited) as u32;
        // A resumed league keeps the rules that it began with.
        if !run.resume {
            check_count(players, &rules, &root)?;
        }
        rules.start_when = Some((players, seats.referees.len() as u32));
        if run.manual {
            rules.mode = Mode::Manual;
        }
        let seed = run.seed.or(seats.seed);
        Ok(Self {
            shared: Shared {
                crowd: seats.players.len(),
                ..run.common.shared(&system, seed)?
            },
            plan: Plan {
                guests,
                ..seats.plan(rules, run, &system)?
            },
            display_name: config.display_name.clone(),
            resumed: run.resume,
            invited,
            interrupted: if run.resume {
                Vec::new()
            } else {
                InterruptedLeague::all(&root, &run.common.root)
            },
            seed,
            host: system.network.base_host,
        })
    }
}

impl RunArgs {
    /// The players invited by their address; a resumed league has them already.
    fn guests(
        &self,
        rules: &LeagueRules,
        system: &SystemConfig,
        agents: &AgentsConfig,
        seats: &SeatList,
    ) -> Result<Vec<InvitedPlayer>, CommandError> {
        if self.resume {
            return Ok(Vec::new());
        }
        let mut guests = guests(rules, system, agents, &self.invite)?;
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
    pub(crate) fn of(plan: &Plan, invited: usize, seed: Option<u64>, ports: Ports) -> Self {
        let referee = |seat: &RefereePlan| StoredReferee {
            id: seat.id.clone(),
            name: seat.name.clone(),
            max_concurrent: seat.max_concurrent,
        };
        let player = |seat: &PlayerPlan| StoredPlayer {
            id: seat.id.clone(),
            name: seat.name.clone(),
            strategy: seat.style.chooser.name().to_owned(),
            dialect: seat.dialect,
        };
        let pace = plan.players.first().map(|seat| seat.style.pace);
        Self {
            referees: plan.referees.iter().map(referee).collect(),
            players: plan.players.iter().map(player).collect(),
            game_type: plan.rules.game_type.clone(),
            pace_ms: pace.unwrap_or_default().as_millis() as u64,
            seed,
            ports,
            invited,
        }
    }

    /// Stores the seats and ports for `--resume`, before any agent starts.
    pub(crate) fn save(&self, root: &Root, league: &LeagueId) -> Result<(), CommandError> {
        let path = root.seats(league);
        let body = serde_json::to_vec_pretty(self).unwrap_or_default();
        let draft = path.with_extension("json.new");
        let written = fs::create_dir_all(root.league_folder(league))
            .and_then(|()| fs::write(&draft, body))
            .and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| {
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

    fn plan(
        &self,
        rules: LeagueRules,
        run: &RunArgs,
        system: &SystemConfig,
    ) -> Result<Plan, CommandError> {
        let ports = self.ports(run, system);
        let port = |list: &[u16], place: usize| list.get(place).copied().unwrap_or(0);
        let mut players = Vec::new();
        for (place, player) in self.players.iter().enumerate() {
            players.push(PlayerPlan {
                id: player.id.clone(),
                name: player.name.clone(),
                style: PlayStyle {
                    chooser: Chooser::Strategy(
                        strategy::find(&player.strategy).map_err(unknown_stored_strategy)?,
                    ),
                    pace: Duration::from_millis(self.pace_ms),
                },
                dialect: player.dialect,
                port: port(&ports.players, place),
            });
        }
        let referee = |(place, referee): (usize, &StoredReferee)| RefereePlan {
            id: referee.id.clone(),
            name: referee.name.clone(),
            max_concurrent: referee.max_concurrent,
            port: port(&ports.referees, place),
        };
        Ok(Plan {
            rules,
            referees: self.referees.iter().enumerate().map(referee).collect(),
            players,
            guests: Vec::new(),
            port: ports.manager,
            shared_port: ports.shared,
            bind: system.security.bind,
            host: called(system, None),
        })
    }

    /// Where agents listen: as before, on the documents' ports, or on free ones.
    fn ports(&self, run: &RunArgs, system: &SystemConfig) -> Ports {
        if self.ports != Ports::default() {
            return self.ports.clone();
        }
        if run.ports == PortChoice::Auto {
            let many = self.players.len() > MAX_PLAYER_PORTS;
            return Ports {
                shared: many.then_some(0),
                ..Ports::default()
            };
        }
        let network = &system.network;
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
            players: counted(network.default_player_port_range.first, self.players.len()),
            shared: None,
        }
    }
}

fn unknown_stored_strategy(error: strategy::UnknownStrategy) -> CommandError {
    let hint = "correct `run.json` in the league's folder";
    CommandError::usage("could not seat the players", error.to_string(), hint)
}

fn exists(league: &LeagueId) -> CommandError {
    CommandError::usage(
        format!("could not start league `{league}`"),
        "a league of this name exists already",
        "resume it with `--resume`, or choose another `--league-id`",
    )
}

/// How many matches one of our referees runs at once at most.
const MAX_AT_ONCE: u32 = 64;
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
        let players = self.players.unwrap_or(usual_players);
        let referees = self.referees.unwrap_or(usual_referees);
        let at_once = (players / 2).div_ceil(referees).clamp(2, MAX_AT_ONCE);
        let known = |id: &PlayerId| agents.players.iter().find(|known| known.player_id == *id);
        let numbered = (1..).map(|number| (number, PlayerId::numbered(number)));
        let taking_part = numbered.filter(|(_, id)| known(id).is_none_or(|known| known.active));
        let dealt = strategy::deal(&self.strategies, &rules.game_type, players as usize);
        let mut seated = Vec::with_capacity(players as usize);
        for ((number, id), dealt) in taking_part.zip(dealt) {
            let place = seated.len();
            let known = known(&id);
            let name = known.map(|known| known.display_name.clone());
            seated.push(StoredPlayer {
                dialect: self.dialect(place, known),
                name: name.unwrap_or_else(|| format!("Player {number}")),
                strategy: self.strategy(known, dealt, rules)?.name.to_owned(),
                id,
            });
        }
        Ok(SeatList {
            referees: referee_seats(agents, referees, at_once),
            players: seated,
            game_type: rules.game_type.clone(),
            pace_ms: self.pace.as_millis() as u64,
            seed: self.seed,
            ports: Ports::default(),
            invited: 0,
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
        dealt: &'static Strategy,
        rules: &LeagueRules,
    ) -> Result<&'static Strategy, CommandError> {
        let configured = known.filter(|_| self.strategies.is_empty());
        let configured = configured.map(|known| strategy::find(&known.strategy));
        let configured = configured
            .transpose()
            .map_err(|error| unknown_strategy(&error))?;
        // A strategy that does not know the game would only play at random.
        let fitting = configured.filter(|strategy| strategy.knows(&rules.game_type));
        Ok(fitting.unwrap_or(dealt))
    }
}

fn referee_seats(agents: &AgentsConfig, referees: u32, at_once: u32) -> Vec<StoredReferee> {
    let known = |id: &RefereeId| {
        let mut known = agents.referees.iter();
        known.find(|known| known.referee_id == *id)
    };
    let numbered = (1..).map(|number| (number, RefereeId::numbered(number)));
    let taking_part = numbered.filter(|(_, id)| known(id).is_none_or(|known| known.active));
    let seat = |(number, id): (u32, RefereeId)| {
        let known = known(&id);
        let name = known.map(|known| known.display_name.clone());
        StoredReferee {
            name: name.unwrap_or_else(|| format!("Referee {number}")),
            max_concurrent: at_once.max(known.map_or(0, |known| known.max_concurrent_matches)),
            id,
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
