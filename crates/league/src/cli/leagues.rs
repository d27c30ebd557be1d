//! `league leagues`: the leagues of a folder, their all-time table, and a league as one file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use league_core::league::Phase;
use league_core::rating::{MAX_RATED, Rating};
use league_protocol::id::LeagueId;
use league_web::season::{Season, SeasonLeague};
use serde_json::json;

use crate::cli::arguments::league_id;
use crate::cli::failure::{CommandError, chain};
use crate::cli::stored::StoredArgs;
use crate::cli::text::{count, one_line, paragraph, print_object, tell};
use crate::cli::{Exit, Output};
use crate::site::read_season;
use crate::storage::archive;

/// The most rows of the all-time table that are printed.
const MAX_ROWS: usize = 30;

/// List the leagues of a folder, and the all-time table of their players
///
/// A folder of leagues is a season: `league manager --next` plays its next one. With --archive, one
/// league is written as a file without secrets: its journals and documents.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league leagues SHARED
  league leagues SHARED --archive week_3 -o week-3.tar.gz
  league verify week-3.tar.gz")]
pub(crate) struct LeaguesArgs {
    /// Write this league as one file, which `league verify FILE` checks
    #[arg(long, value_name = "ID", value_parser = league_id)]
    archive: Option<LeagueId>,
    /// File to write [default: ID.tar.gz]
    #[arg(short, long = "out", value_name = "FILE", requires = "archive")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "archive")]
    force: bool,
    #[command(flatten)]
    stored: StoredArgs,
}

impl LeaguesArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        if let Some(league) = &self.archive {
            return self.write_archive(league, out);
        }
        let root = self.stored.filled(None)?;
        let season = read_season(&root).map_err(|error| {
            let what = format!(
                "could not list the leagues of `{}`",
                self.stored.dir().display()
            );
            let hint = "name the folder that holds `data/leagues`";
            CommandError::usage(what, chain(&error), hint)
        })?;
        match self.stored.common.output {
            Output::Json => print_json(&season, out)?,
            Output::Text => print_text(&season, out)?,
        }
        Ok(Exit::Yes)
    }

    fn write_archive(&self, league: &LeagueId, out: &mut impl Write) -> Result<Exit, CommandError> {
        let (root, league) = self.stored.find(Some(league))?;
        let usual = PathBuf::from(format!("{league}.tar.gz"));
        let file = self.out.as_ref().unwrap_or(&usual);
        let files = archive::write(&root, &league, file, self.force).map_err(|error| {
            let what = format!("could not archive league `{league}`");
            if error.is_in_the_way() {
                let cause = format!("`{}` exists already", file.display());
                let hint = "give another file with `-o`, or replace it with `--force`";
                return CommandError::usage(what, cause, hint);
            }
            CommandError::world(what, chain(&error), "choose another file with `-o`")
        })?;
        let name = file.to_string_lossy();
        let object = json!({
            "event": "archive", "league_id": league, "file": name, "files": files,
        });
        let (file, files) = (file.display(), count(files as u64, "file"));
        let text = format!("wrote {file} with {files} of league `{league}`");
        tell(&self.stored.common, out, &object, &text)?;
        Ok(Exit::Yes)
    }
}

fn print_json(season: &Season, out: &mut impl Write) -> Result<(), CommandError> {
    for league in &season.leagues {
        let object = json!({
            "event": "league", "league_id": league.league_id, "game": league.game,
            "phase": league.phase.as_str(), "ended_early": league.ended_early,
            "players": league.players,
            "matches_played": league.played, "matches": league.matches,
            "champions": league.champions,
        });
        print_object(out, &object)?;
    }
    let ratings = season.rate();
    for (number, row) in season.rows.iter().enumerate() {
        let rating = ratings.as_ref().and_then(|ratings| ratings.rating(number));
        let round = |elo: fn(&Rating) -> f64| rating.as_ref().map(|it| elo(it).round() as i64);
        let object = json!({
            "event": "player", "display_name": row.name, "leagues": row.leagues,
            "titles": row.titles, "played": row.played, "wins": row.wins, "draws": row.draws,
            "losses": row.losses, "points": row.points, "rating": round(|it| it.elo),
            "rating_low": round(|it| it.low), "rating_high": round(|it| it.high),
        });
        print_object(out, &object)?;
    }
    Ok(())
}

fn print_text(season: &Season, out: &mut impl Write) -> Result<(), CommandError> {
    for league in &season.leagues {
        writeln!(out, "{}", line(league))?;
    }
    if season.leagues.len() < 2 {
        return Ok(());
    }
    writeln!(out, "\nall-time table")?;
    writeln!(
        out,
        "      {:<28} {:>7} {:>6} {:>6} {:>6} {:>6}  95 %",
        "player", "leagues", "titles", "played", "points", "rating"
    )?;
    let ratings = season.rate();
    for ((place, row), number) in season.places().take(MAX_ROWS).zip(0..) {
        let name: String = one_line(&row.name).chars().take(28).collect();
        let rating = ratings.as_ref().and_then(|ratings| ratings.rating(number));
        let rating = rating.map_or_else(|| "     –".to_owned(), shown);
        writeln!(
            out,
            "  {place:>3} {name:<28} {:>7} {:>6} {:>6} {:>6} {rating}",
            row.leagues, row.titles, row.played, row.points
        )?;
    }
    if season.rows.len() > MAX_ROWS {
        writeln!(out, "      and {} more", season.rows.len() - MAX_ROWS)?;
    }
    let note = match &ratings {
        None => format!("more than {MAX_RATED} players are not rated"),
        Some(ratings) => match ratings.seat_advantage() {
            Some(seat) => format!("ratings: Bradley–Terry. {}", seat.sentence()),
            None => "ratings: Bradley–Terry".to_owned(),
        },
    };
    writeln!(out, "{}", paragraph("", 0, &note))?;
    Ok(())
}

/// A rating and its interval.
fn shown(rating: Rating) -> String {
    let figure = |elo: f64| format!("{:+}", elo.round() as i64);
    let [elo, low, high] = [rating.elo, rating.low, rating.high].map(figure);
    format!("{elo:>6}  {low} to {high}")
}

fn line(league: &SeasonLeague) -> String {
    let state = match league.phase {
        Phase::Registering => "registering".to_owned(),
        Phase::Running => format!("{} of {} played", league.played, league.matches),
        Phase::Completed => match league.champions.as_slice() {
            [] => "over".to_owned(),
            [only] => format!("won by {}", one_line(only)),
            several => format!("first place shared by {}", one_line(&several.join(", "))),
        },
    };
    let players = count(league.players as u64, "player");
    let early = match league.ended_early {
        true => ", ended early",
        false => "",
    };
    format!(
        "{} · {} · {players} · {state}{early}",
        league.league_id, league.game
    )
}
