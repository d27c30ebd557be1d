//! Finds the leagues below a root: the league of a command, its end, interrupted leagues, and free
//! names.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use league_protocol::id::LeagueId;
use league_protocol::message::StandingRow;

use crate::cli::arguments::{CommonArgs, root_flag};
use crate::cli::failure::CommandError;
use crate::cli::network::TrustArgs;
use crate::cli::screen;
use crate::cli::store::StoreArgs;
use crate::cli::text::count;
use crate::site::resume;
use crate::storage::documents::{StandingEntry, StandingsRepository};
use crate::storage::record::is_over;
use crate::storage::root::Root;
use crate::storage::store::holder;
use crate::storage::verify::leagues;
use crate::wire::ask::{Health, State};

/// How many leagues of one name are searched for a free number.
const MAX_LEAGUES: u32 = 100_000;

/// Leagues on the disk, as the commands that read them take them.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoredArgs {
    /// The root of the leagues' files; the same as `--root`
    #[arg(conflicts_with = "root")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

impl StoredArgs {
    pub(crate) fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(&self.common.root)
    }

    /// The root; filled from the database, if one is named, with one league or all.
    pub(crate) fn filled(&self, league: Option<&LeagueId>) -> Result<Root, CommandError> {
        let root = Root::new(self.dir());
        self.store.fill(&root, &self.trust, league)?;
        Ok(root)
    }

    /// The command that resumes a league which is not over and which no process on this machine
    /// plays.
    pub(crate) fn resume(&self, root: &Root, league: &LeagueId) -> Option<String> {
        let interrupted = InterruptedLeague::look(root, self.dir(), league.clone());
        interrupted.map(|interrupted| interrupted.resume)
    }

    /// The root, and the named league or the one played last.
    pub(crate) fn find(&self, named: Option<&LeagueId>) -> Result<(Root, LeagueId), CommandError> {
        let root = self.filled(named)?;
        let all = leagues(&root).map_err(|error| self.none(&error.to_string()))?;
        let others = all.len().saturating_sub(1);
        let mut all = all.into_iter();
        let found = match named {
            Some(named) => all.find(|league| league == named),
            None => all.max_by_key(|league| last_played(&root, league)),
        };
        match (found, named) {
            (Some(league), named) => {
                if named.is_none() && others > 0 && !self.common.quiet {
                    let others = count(others as u64, "other league");
                    // There is nothing left to do if even this cannot be printed.
                    let _ = writeln!(
                        screen::errors(),
                        "taking league `{league}`, the one played last; `league leagues` shows \
                         the {others}, `--league-id ID` takes one of them"
                    );
                }
                Ok((root, league))
            }
            (None, Some(named)) => Err(self.none(&format!("there is no league `{named}`"))),
            (None, None) => Err(self.none("there is no league")),
        }
    }

    fn none(&self, cause: &str) -> CommandError {
        CommandError::usage(
            format!("could not find a league in `{}`", self.dir().display()),
            cause,
            "name the folder that holds `data/leagues`, or play a league with `league run`",
        )
    }
}

/// A league that is not over and that no process on this machine plays.
pub(crate) struct InterruptedLeague {
    pub(crate) league: LeagueId,
    /// The command that continues it.
    pub(crate) resume: String,
}

impl InterruptedLeague {
    /// Checks whether a league was interrupted; `dir` is its root as it was named.
    fn look(root: &Root, dir: &Path, league: LeagueId) -> Option<Self> {
        let journal = root.league_journal(&league);
        let stands = holder(&journal).is_none() && !is_over(&journal);
        stands.then(|| Self {
            resume: format!("{}{}", resume(root, &league), root_flag(dir)),
            league,
        })
    }

    /// All interrupted leagues of a root, the latest first.
    pub(crate) fn all(root: &Root, dir: &Path) -> Vec<Self> {
        let mut all = leagues(root).unwrap_or_default();
        all.sort_by_key(|league| std::cmp::Reverse(last_played(root, league)));
        let all = all.into_iter();
        all.filter_map(|league| Self::look(root, dir, league))
            .collect()
    }
}

/// When a league was last played.
pub(crate) fn last_played(root: &Root, league: &LeagueId) -> SystemTime {
    let file = fs::metadata(root.league_journal(league));
    let changed = file.and_then(|file| file.modified());
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The final state of a league from its files, if it is over and matches what was last seen.
pub(crate) fn last_state(root: &Root, seen: &Health) -> Option<(Health, Vec<StandingRow>)> {
    let league = &seen.league_id;
    let table = StandingsRepository::new(root, league.clone()).load().ok()?;
    let whole = seen.rounds > 0 && table.rounds_completed >= seen.rounds;
    if !whole || !is_over(&root.league_journal(league)) {
        return None;
    }
    let health = Health {
        state: State::Completed,
        round_id: Some(seen.rounds),
        matches_played: seen.matches,
        ..seen.clone()
    };
    Some((health, table.standings.iter().map(row).collect()))
}

fn row(entry: &StandingEntry) -> StandingRow {
    StandingRow {
        rank: entry.rank,
        shared_rank: entry.rank,
        player_id: entry.player_id.clone(),
        display_name: entry.display_name.clone(),
        played: entry.played,
        wins: entry.wins,
        draws: entry.draws,
        losses: entry.losses,
        technical_losses: entry.technical_losses,
        points: entry.points,
        byes: entry.byes,
        tie: None,
    }
}

/// The first free name: this one, or this one with a number.
pub(crate) fn free_name(root: &Root, base: &LeagueId) -> LeagueId {
    let mut league = base.clone();
    for number in 2..MAX_LEAGUES {
        if !root.league_journal(&league).exists() {
            break;
        }
        let Ok(next) = LeagueId::new(format!("{base}_{number}")) else {
            break;
        };
        league = next;
    }
    league
}

/// The league that `league run --resume` resumes: the named one, else the only interrupted one. A
/// running league is found too, so that it can be refused as running.
pub(crate) fn to_resume(
    common: &CommonArgs,
    named: Option<&LeagueId>,
) -> Result<LeagueId, CommandError> {
    let root = &common.root();
    if let Some(named) = named {
        return named_to_resume(root, common, named);
    }
    let of_run = |league: &LeagueId| root.seats(league).exists();
    let interrupted = InterruptedLeague::all(root, &common.root);
    let (ours, others): (Vec<_>, Vec<_>) =
        interrupted.into_iter().partition(|one| of_run(&one.league));
    match ours.as_slice() {
        [only] => Ok(only.league.clone()),
        [] => {
            let held = |league: &LeagueId| holder(&root.league_journal(league)).is_some();
            let mut running = leagues(root).unwrap_or_default().into_iter();
            let running = running.find(|league| of_run(league) && held(league));
            running.ok_or_else(|| nothing_to_resume(common, &others))
        }
        several => Err(CommandError::usage(
            "could not resume a league",
            format!(
                "{} were interrupted here",
                count(several.len() as u64, "league")
            ),
            format!("name one of them: {}", commands(several)),
        )),
    }
}

fn named_to_resume(
    root: &Root,
    common: &CommonArgs,
    named: &LeagueId,
) -> Result<LeagueId, CommandError> {
    let flag = common.root_flag();
    let (cause, hint) = if !root.league_journal(named).exists() {
        let hint = match InterruptedLeague::all(root, &common.root).as_slice() {
            [] => format!("start it with `league run --league-id {named}{flag}`"),
            some => format!("resume an interrupted league: {}", commands(some)),
        };
        let cause = format!("there is no such league in `{}`", root.as_path().display());
        (cause, hint)
    } else if is_over(&root.league_journal(named)) {
        let hint = format!(
            "show it with `league serve --league-id {named}{flag}`, or play another league with \
             `league run{flag}`"
        );
        ("it is over".to_owned(), hint)
    } else {
        return Ok(named.clone());
    };
    Err(CommandError::usage(
        format!("could not resume league `{named}`"),
        cause,
        hint,
    ))
}

fn nothing_to_resume(common: &CommonArgs, others: &[InterruptedLeague]) -> CommandError {
    let flag = common.root_flag();
    if leagues(&common.root()).unwrap_or_default().is_empty() {
        return CommandError::usage(
            "could not resume a league",
            format!("there is no league in `{}`", common.root.display()),
            format!(
                "name the folder that holds `data/leagues` with `--root`, or start a league with \
                 `league run{flag}`"
            ),
        );
    }
    let hint = match others {
        [] => format!("start a league with `league run{flag}`"),
        some => format!(
            "resume agents that were started one by one with {}",
            commands(some)
        ),
    };
    CommandError::usage(
        "could not resume a league",
        "no league of `league run` was interrupted here",
        hint,
    )
}

/// The commands that continue leagues.
fn commands(leagues: &[InterruptedLeague]) -> String {
    let commands = leagues.iter().map(|one| format!("`{}`", one.resume));
    commands.collect::<Vec<_>>().join(", ")
}
