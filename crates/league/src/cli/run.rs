//! `league run`: a whole league on this machine, then the standings.

mod plan;
mod screen;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use league_core::league::{Event, League};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::sender::Dialect;

use crate::agents::arena::{Arena, ArenaError, BoundPorts, Plan, SeatChoice};
use crate::agents::assemble::Shared;
use crate::agents::manager::{InvitedPlayer, LeagueNews, collect_journals};
use crate::agents::people::{NoSeat, People};
use crate::cli::Exit;
use crate::cli::agent::{check_guests, people_link, people_offer};
use crate::cli::arguments::{
    CommonArgs, FormatArgs, dialect, duration, game_type, league_id, number, seed,
};
use crate::cli::failure::{CommandError, chain, port_error, start_hint};
use crate::cli::model::ModelArgs;
use crate::cli::network::{NetworkArgs, load_tls, log_warning};
use crate::cli::play::Person;
use crate::cli::run::plan::RunPlan;
pub(crate) use crate::cli::run::plan::matches_at_once;
use crate::cli::run::screen::RunScreen;
use crate::cli::runtime::{Signals, begin_logs, finish, runtime};
use crate::cli::scores::DeviationSummary;
use crate::cli::store::StoreArgs;
use crate::cli::stored;
use crate::http::descriptors::open_files;
use crate::http::endpoint::{Scheme, url};
use crate::http::local::called;
use crate::storage::root::Root;
use crate::storage::store::holder;

const WHAT: &str = "could not run the league";
/// The longest time for a move that a flag gives.
const MAX_MOVE_TIME: Duration = Duration::from_secs(3_600);
/// The most seats for people in one process.
pub(crate) const MAX_PEOPLE: u64 = 64;

/// Play a whole league on this machine: manager, referees and players, each its own server
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league run --players 8 --game connect_four
  league run --pace 3s --web                slow enough to watch, and the page stays
  league run --resume                       go on with an interrupted league")]
pub(crate) struct RunArgs {
    /// How many players, besides invited ones [default: config]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=10_000))]
    players: Option<u32>,
    /// The game, as `league games` lists them [default: config]
    #[arg(long, value_name = "NAME", value_parser = game_type)]
    game: Option<GameType>,
    /// Strategies of `league games NAME`, or `llm:MODEL`, dealt in turn
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = SeatChoice::parse)]
    strategies: Vec<SeatChoice>,
    /// Slow down to be watched: how long a player thinks
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pace: Option<Duration>,
    /// Keep the page up after the league, until Ctrl-C
    #[arg(long)]
    web: bool,
    /// Resume an interrupted league as it was
    #[arg(long, conflicts_with_all = ["players", "people", "move_time", "referees", "strategies", "dialects", "game", "format", "rounds", "legs", "groups", "duration", "seed", "manual", "invite"])]
    resume: bool,
    /// How many of the players are people, on the page
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number::<u32>(0..=MAX_PEOPLE))]
    people: u32,
    /// How many referees [default: config, 2]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_000))]
    referees: Option<u32>,
    /// Invite a player that does not register; repeat it
    #[arg(long, value_name = "[NAME=]URL", value_parser = InvitedPlayer::parse)]
    invite: Vec<InvitedPlayer>,
    /// Name of the league [default: config, with a free number]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// All randomness comes from N: repeatable, not for prizes
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// Let every match wait for `league admin step`
    #[arg(long)]
    manual: bool,
    /// Time for a move [default: config, 30s; with people 2m]
    #[arg(long, value_name = "DURATION", value_parser = move_time)]
    move_time: Option<Duration>,
    #[command(flatten)]
    pairing: FormatArgs,
    /// Dialects, dealt in turn: `v2`, `v2-api`, `v1` [default: config]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = dialect)]
    dialects: Vec<Dialect>,
    #[command(flatten)]
    models: ModelArgs,
    /// The usual ports, or free ones
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHICH",
        hide_default_value = true
    )]
    ports: PortChoice,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// The person of `league play`.
    #[arg(skip)]
    pub(crate) person: Option<Person>,
}

/// Reads the time for a move.
fn move_time(text: &str) -> Result<Duration, String> {
    let allowed = Duration::from_secs(1)..=MAX_MOVE_TIME;
    let time = duration(text)?;
    let wrong = || format!("`{text}` is not a time for a move; give 1s to 60m");
    allowed.contains(&time).then_some(time).ok_or_else(wrong)
}

/// Which ports agents listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum PortChoice {
    /// 8000, 8001, …, 8101, …
    #[default]
    Default,
    /// Any free ports.
    Auto,
}

impl RunArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        // Before the configuration, which is written if it is missing.
        let resumed = match self.resume {
            true => Some(stored::to_resume(&self.common, self.league_id.as_ref())?),
            false => None,
        };
        let runtime = runtime()?;
        let (loader, mut system) = self.common.config()?;
        self.network.settle(&mut system);
        let logs = begin_logs(&self.common, &system, false);
        let tls = load_tls(&self.common.root(), &system, WHAT, log_warning)?;
        tls.check_own(&called(&system, None)).map_err(|wrong| {
            let cause = format!("its agents could not call each other: {wrong}");
            let hint = "give the authority of the certificate with `--ca`";
            CommandError::usage(WHAT, cause, hint)
        })?;
        let plan = RunPlan::make(self, resumed, &loader, (system, tls))?;
        finish(logs, runtime, self.play(plan, out))
    }

    /// Tells how people join, and gives the link.
    fn invite(
        &self,
        people: Option<&Arc<People>>,
        advertised: &str,
        screen: &mut RunScreen<'_, impl Write>,
    ) -> Option<String> {
        let code = people?.code();
        let link = people_link(advertised, code);
        let link = match &self.person {
            Some(person) => person.link(&link),
            None => link,
        };
        screen.invite_people(&link, code);
        Some(link)
    }

    /// Keeps the page until Ctrl-C, or until the person of `league play` has seen the end.
    async fn keep_page(&self, people: Option<&Arc<People>>, signals: &mut Signals) {
        let seen = async {
            match people.filter(|_| self.person.is_some()) {
                Some(people) => people.all_saw_end().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = seen => {}
            () = signals.interrupted() => {}
        }
    }

    async fn play(&self, run_plan: RunPlan, out: &mut impl Write) -> Result<Exit, CommandError> {
        let mut signals = Signals::new()?;
        let mut screen = RunScreen::new(self, &run_plan, out);
        let RunPlan {
            shared,
            mut plan,
            mut seats,
            host,
            people,
            ..
        } = run_plan;
        check_guests(&shared.outbox.allowed, &plan.guests).await?;
        // A running league holds its ports too; report the league, not the ports.
        if let Some(pid) = holder(&shared.root.league_journal(&plan.rules.league_id)) {
            return Err(self.running_already(&plan, pid));
        }
        check_players_free(&shared.root, &plan)?;
        let again = self.resume_command(&plan.rules.league_id);
        let not_opened = |error| not_opened(&error, &again);
        let taken = BoundPorts::bind(&plan).await.map_err(not_opened)?;
        let advertised = taken.manager.url(&host);
        seats.ports = taken.ports();
        seats.save(&shared.root, &plan.rules.league_id)?;
        let (manager, place) = (plan.endpoint(&taken.manager), plan.place());
        let opened = people.open(&shared, &plan.rules, &manager, place).await;
        plan.people = opened.map_err(|error| no_seats(&error, WHAT))?;
        plan.joining = Some(people_offer(&advertised, plan.people.is_some()));
        let mut arena = Arena::open(&shared, &plan, taken).map_err(not_opened)?;
        let link = self.invite(arena.people.as_ref(), &advertised, &mut screen);
        // A resumed league keeps the rules that it began with.
        let mode = arena.manager.actor.query(|league| league.rules().mode);
        screen.open(&advertised, mode.await.unwrap_or(plan.rules.mode))?;
        if let Some((link, person)) = link.zip(self.person.as_ref()) {
            person.show(&link);
        }
        let ended = follow(&mut arena, &mut signals, &mut screen, &again).await;
        if matches!(ended, Ok(RunEnd::Completed)) {
            tokio::select! {
                () = finish_league(&mut arena, &shared, &plan.rules.league_id) => {}
                () = signals.interrupted() => {}
            }
            let table = arena.manager.actor.query(League::standings).await;
            let seen = DeviationSummary::of_one_process(&shared.deviations);
            screen.summary(&table.unwrap_or_else(|_| [].into()), &seen)?;
            // People look at the result on the page where they played.
            if self.web || arena.people.is_some() {
                shared.observed.publish();
                screen.page_stays()?;
                self.keep_page(arena.people.as_ref(), &mut signals).await;
            }
        }
        shared.outbox.close();
        let closed = arena.close().await.map_err(not_opened);
        shared.outbox.sessions.close().await;
        shared.observed.publish();
        shared.document_writer.finish();
        let ended = ended?;
        closed?;
        match ended {
            RunEnd::Completed => Ok(screen.farewell()?),
            RunEnd::Interrupted => Ok(screen.interrupted()?),
        }
    }

    /// The command that resumes this league.
    fn resume_command(&self, league: &LeagueId) -> String {
        let (root, network) = (self.common.root_flag(), self.network.flags());
        format!("league run --resume --league-id {league}{root}{network}")
    }

    fn running_already(&self, plan: &Plan, pid: Option<u32>) -> CommandError {
        let (league, root) = (&plan.rules.league_id, self.common.root_flag());
        let who = pid.map_or_else(String::new, |pid| format!(", by process {pid}"));
        let manager = match plan.port {
            0 => String::new(),
            port => {
                let scheme = Scheme::of(plan.tls.as_ref());
                let ca = self.network.trust.flag();
                format!(" --manager {}{ca}", url(scheme, &plan.host, port))
            }
        };
        CommandError::world(
            format!("could not start league `{league}`"),
            format!("it is running already{who}"),
            format!("watch it with `league watch{manager}{root}`, or stop it first"),
        )
    }
}

/// Refuses a league whose players play in another league of the same folder: a player has one
/// journal for all leagues.
fn check_players_free(root: &Root, plan: &Plan) -> Result<(), CommandError> {
    let held = plan.players.iter().find_map(|seat| {
        let pid = holder(&root.player_journal(&seat.id))?;
        Some((&seat.id, pid))
    });
    let Some((player, pid)) = held else {
        return Ok(());
    };
    let folder = root.as_path().display();
    let who = pid.map_or_else(String::new, |pid| format!(", by process {pid}"));
    Err(CommandError::world(
        format!("could not start league `{}`", plan.rules.league_id),
        format!("player `{player}` of `{folder}` is running already{who}"),
        "wait until the other league is over, or use another folder with `--root DIR`",
    ))
}

/// Sends the last letters, and fetches the journals of referees elsewhere.
async fn finish_league(arena: &mut Arena, shared: &Shared, league: &LeagueId) {
    arena.drain().await;
    collect_journals(shared, &arena.manager.actor, league).await;
}

/// How a run ended.
enum RunEnd {
    Completed,
    Interrupted,
}

/// Prints the league until it ends or is interrupted.
async fn follow<W: Write>(
    arena: &mut Arena,
    signals: &mut Signals,
    screen: &mut RunScreen<'_, W>,
    again: &str,
) -> Result<RunEnd, CommandError> {
    loop {
        let (mut printed, mut is_over) = (Ok(()), false);
        let read = arena.news.read(|at, event| {
            if printed.is_ok() {
                printed = screen.event(at, event);
            }
            is_over |= matches!(event, Event::LeagueCompleted { .. });
        });
        read.map_err(|error| stopped(chain(&error), again))?;
        printed?;
        if is_over {
            return Ok(RunEnd::Completed);
        }
        tokio::select! {
            biased;
            () = signals.interrupted() => return Ok(RunEnd::Interrupted),
            Some(failure) = arena.failures.recv() => return Err(stopped(failure, again)),
            cause = arena.shortage.persists() => return Err(cut_off(&cause, again)),
            is_running = arena.news.wait() => {
                if !is_running {
                    return Err(stopped("the manager ended".to_owned(), again));
                }
                tokio::time::sleep(LeagueNews::PAUSE).await;
            }
        }
    }
}

fn stopped(cause: String, again: &str) -> CommandError {
    let hint = format!("correct the cause, then continue with `{again}`");
    CommandError::world("the league stopped", cause, hint)
}

/// The agents could not call each other for too long.
fn cut_off(cause: &str, again: &str) -> CommandError {
    let limit = open_files();
    CommandError::world(
        "the league stopped: this machine cannot make calls",
        format!("{cause}; it may open `{limit}` files and connections"),
        format!(
            "raise the limit with `ulimit -n {}` or end other programs, then continue with `{again}`",
            limit.saturating_mul(2)
        ),
    )
}

/// The seats for people could not be opened, or taken.
pub(crate) fn no_seats(error: &NoSeat, what: &str) -> CommandError {
    let hint = "use another folder with `--root DIR`, or correct the cause";
    CommandError::world(what, chain(error), hint)
}

/// An arena could not be opened, or closed.
fn not_opened(error: &ArenaError, again: &str) -> CommandError {
    match error {
        ArenaError::Port {
            agent,
            port,
            source,
        } => port_error(
            format!("could not start {agent}"),
            *port,
            source,
            "choose free ports with `--ports auto`, or stop the agent that holds it",
        ),
        ArenaError::Start { agent, source } => CommandError::world(
            format!("could not start {agent}"),
            chain(&**source),
            start_hint(source, "`--root DIR`"),
        ),
        ArenaError::Store { source, .. } => CommandError::world(
            error.to_string(),
            chain(&**source),
            format!("free space on the disk, then continue with `{again}`"),
        ),
    }
}
