//! `league run`: a whole league on this machine, then the table.

mod plan;
mod screen;

use std::io::Write;
use std::time::Duration;

use clap::{Args, ValueEnum};
use league_core::league::{Event, League};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::sender::Dialect;

use crate::agents::arena::{Arena, ArenaError, BoundPorts, Plan};
use crate::agents::manager::InvitedPlayer;
use crate::agents::strategy::{self, Strategy};
use crate::cli::arguments::{Common, dialect, duration, game_type, games, league_id};
use crate::cli::failure::{Failure, Kind, chain, port_hint, start_hint};
use crate::cli::network::Reach;
use crate::cli::run::plan::Planned;
use crate::cli::run::screen::Screen;
use crate::cli::runtime::{Signals, runtime};
use crate::cli::scores::Forgiven;
use crate::cli::{Answer, runtime};
use crate::http::endpoint::{Endpoint, url};
use crate::storage::root::Root;
use crate::storage::store::holder;

/// Play a whole league on this machine: manager, referees and players, each its own server
#[derive(Debug, Clone, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    reach: Reach,
    /// How many players of our own, besides those that are invited [default: from config, 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    players: Option<u32>,
    /// How many referees [default: from config, 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    referees: Option<u32>,
    /// Strategies, dealt out to the players in turn
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = strategy::find,
        help = format!(
            "Strategies, dealt out to the players in turn, by default as configured: {}",
            strategy::names()
        )
    )]
    strategies: Vec<&'static Strategy>,
    /// How the players speak, dealt out in turn [default: from config, v2]
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = dialect,
        help = "How the players speak, dealt out in turn: `v2`, `v2-api`, `v1`"
    )]
    dialects: Vec<Dialect>,
    /// What is played
    #[arg(
        long,
        value_name = "NAME",
        value_parser = game_type,
        help = format!("What is played: {}", games())
    )]
    game: Option<GameType>,
    /// The ports of the documents, or any that are free
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    ports: PortChoice,
    /// Slow down, so that people can watch: how long a player thinks
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0ms")]
    pace: Duration,
    /// Keep the page up when the league is over, until Ctrl-C
    #[arg(long)]
    web: bool,
    /// Have every match wait for `league step` in another terminal
    #[arg(long)]
    manual: bool,
    /// Invite a player that never registers, by its address; more than once for more
    #[arg(long, value_name = "[NAME=]URL", value_parser = InvitedPlayer::parse)]
    invite: Vec<InvitedPlayer>,
    /// Take all chance from this number: the same league again, not for prizes
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The league's name [default: from config, with a number if that league exists]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Go on with a league that was interrupted, as it was
    #[arg(long, conflicts_with_all = ["players", "referees", "strategies", "dialects", "game", "seed", "manual", "invite"])]
    resume: bool,
}

/// Which ports agents listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum PortChoice {
    /// 8000, 8001, …, 8101, …
    #[default]
    Default,
    /// Any that are free.
    Auto,
}

impl Run {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let runtime = runtime()?;
        let (loader, mut system) = self.common.config()?;
        self.reach.settle(&mut system);
        let logs = runtime::begin_logs(&self.common, &system, false);
        let planned = Planned::make(self, &loader, system)?;
        runtime::finish(logs, runtime, self.play(planned, out))
    }

    async fn play(&self, planned: Planned, out: &mut impl Write) -> Result<Answer, Failure> {
        let mut signals = Signals::new()?;
        let mut screen = Screen::new(self, &planned, out);
        let Planned {
            shared,
            plan,
            seed,
            invited,
            host,
            ..
        } = planned;
        // A league that is running has its ports; it is not they that are in the way.
        if let Some(pid) = holder(&shared.root.league_journal(&plan.rules.league_id)) {
            return Err(self.running_already(&plan, pid));
        }
        if let Some(failure) = at_another_table(&shared.root, &plan) {
            return Err(failure);
        }
        let usual = plan.rules.mode;
        let (league, root) = (&plan.rules.league_id, self.common.root_flag());
        let reach = self.reach.flags();
        let again = format!("league run --resume --league-id {league}{root}{reach}");
        let not_opened = |error| not_opened(&error, &again);
        let taken = BoundPorts::take(&plan).await.map_err(not_opened)?;
        let seats = plan::Seats::of(&plan, invited, seed, taken.ports());
        seats.save(&shared.root, &plan.rules.league_id)?;
        let mut arena = Arena::open(&shared, &plan, taken).map_err(not_opened)?;
        // A league that is taken up goes by the rules that it began with.
        let mode = arena.manager.desk.look(|league| league.rules().mode).await;
        let manager = Endpoint::parse(&arena.endpoint).map_or(0, |at| at.address.port());
        screen.open(&url(&host, manager), mode.unwrap_or(usual))?;
        let ended = watch(&mut arena, &mut signals, &mut screen, &again).await;
        if matches!(ended, Ok(Ended::Completed)) {
            tokio::select! {
                () = arena.drain() => {}
                () = signals.interrupted() => {}
            }
            let table = arena.manager.desk.look(League::standings).await;
            let table = table.unwrap_or_else(|_| [].into());
            screen.table(&table, &Forgiven::in_one(&shared.deviations))?;
            if self.web {
                shared.observed.publish();
                screen.stay()?;
                signals.interrupted().await;
            }
        }
        shared.roads.desert();
        let closed = arena.close().await.map_err(not_opened);
        shared.roads.peers.close().await;
        shared.observed.publish();
        shared.document_writer.finish();
        let ended = ended?;
        closed?;
        match ended {
            Ended::Completed => screen.farewell(),
            Ended::Interrupted => screen.interrupted(),
        }
    }
}

impl Run {
    fn running_already(&self, plan: &Plan, pid: Option<u32>) -> Failure {
        let (league, root) = (&plan.rules.league_id, self.common.root_flag());
        let who = pid.map_or_else(String::new, |pid| format!(", by process {pid}"));
        let manager = match plan.port {
            0 => String::new(),
            port => format!(" {}", url(&plan.host, port)),
        };
        Failure {
            what: format!("could not start league `{league}`"),
            cause: format!("it is running already{who}"),
            hint: format!("see it with `league watch{manager}{root}`, or stop it first"),
            kind: Kind::World,
        }
    }
}

/// A player plays in another league of the same folder, and has one journal for all of them;
/// nothing is begun then.
fn at_another_table(root: &Root, plan: &Plan) -> Option<Failure> {
    let (seat, pid) = plan.players.iter().find_map(|seat| {
        let pid = holder(&root.player_journal(&seat.id))?;
        Some((seat, pid))
    })?;
    let who = pid.map_or_else(String::new, |pid| format!(", by process {pid}"));
    Some(Failure {
        what: format!("could not start league `{}`", plan.rules.league_id),
        cause: format!(
            "player `{}` of `{}` is playing already{who}",
            seat.id,
            root.as_path().display()
        ),
        hint: "wait until the other league is over, or play below another folder with `--root DIR`"
            .to_owned(),
        kind: Kind::World,
    })
}

/// How a league came to its end.
enum Ended {
    Completed,
    Interrupted,
}

async fn watch<W: Write>(
    arena: &mut Arena,
    signals: &mut Signals,
    screen: &mut Screen<'_, W>,
    again: &str,
) -> Result<Ended, Failure> {
    loop {
        tokio::select! {
            biased;
            () = signals.interrupted() => return Ok(Ended::Interrupted),
            Some(failure) = arena.failures.recv() => return Err(gone_down(failure, again)),
            news = arena.news.recv() => match news {
                Some((at, event)) => {
                    screen.news(at, &event)?;
                    if matches!(event, Event::LeagueCompleted { .. }) {
                        return Ok(Ended::Completed);
                    }
                }
                None => return Err(gone_down("the manager ended".to_owned(), again)),
            },
        }
    }
}

fn gone_down(cause: String, again: &str) -> Failure {
    Failure {
        what: "the league stopped".to_owned(),
        cause,
        hint: format!("mend the cause, then go on with `{again}`"),
        kind: Kind::World,
    }
}

/// An arena that could not be opened, or closed.
fn not_opened(error: &ArenaError, again: &str) -> Failure {
    let (cause, hint) = match error {
        ArenaError::Port { port, source, .. } => (
            match source.kind() {
                std::io::ErrorKind::AddrInUse => format!("port {port} is in use"),
                _ => source.to_string(),
            },
            port_hint(
                source,
                "choose free ports with `--ports auto`, or stop the agent that holds it",
            ),
        ),
        ArenaError::Start { source, .. } => (chain(&**source), start_hint(source, "`--root DIR`")),
        ArenaError::Store { source, .. } => (
            chain(&**source),
            format!("make room on the disk, then go on with `{again}`"),
        ),
    };
    let what = match error {
        ArenaError::Port { agent, .. } | ArenaError::Start { agent, .. } => {
            format!("could not start {agent}")
        }
        ArenaError::Store { .. } => error.to_string(),
    };
    Failure {
        what,
        cause,
        hint,
        kind: Kind::World,
    }
}
