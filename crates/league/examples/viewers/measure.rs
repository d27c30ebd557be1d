//! Rounds in which the same league is played for nobody, for one and for many, in turn.

use std::io;
use std::path::Path;
use std::time::Instant;

use clap::Parser;

use crate::crowd::Crowd;
use crate::league::League;

/// How the measuring is called.
#[derive(Parser)]
#[command(name = "viewers", about = "What viewers cost a league")]
pub(crate) struct Options {
    /// How many viewers there are.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) viewers: usize,
    /// How many rounds there are; in each of them every league is played in turn.
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// How many players a league has.
    #[arg(long, default_value_t = 24)]
    pub(crate) players: u32,
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) viewers: usize,
    /// What was measured, round by round.
    pub(crate) played: Vec<LeagueCost>,
}

/// What one league cost, and what its viewers were told.
#[derive(Debug)]
pub(crate) struct LeagueCost {
    /// Milliseconds of processor time for a match.
    pub(crate) cost: f64,
    /// Milliseconds for a match.
    pub(crate) time: f64,
    pub(crate) matches: f64,
    /// Patches of all viewers together.
    pub(crate) patches: f64,
    /// Those of them that told the whole board again.
    pub(crate) anew: f64,
    /// Bytes to all viewers together.
    pub(crate) bytes: f64,
}

/// Plays the leagues.
///
/// # Errors
///
/// A league may not start or end, or a viewer miss something.
pub(crate) async fn measure(program: &Path, options: &Options) -> io::Result<Vec<Row>> {
    let row = |name: &str, viewers| Row {
        name: name.to_owned(),
        viewers,
        played: Vec::new(),
    };
    let many = format!("{} viewers", options.viewers);
    let mut rows = vec![
        row("no viewers", 0),
        row("the same again", 0),
        row("one viewer", 1),
        row(&many, options.viewers),
    ];
    for round in 0..options.rounds {
        println!("round {} of {}…", round + 1, options.rounds);
        let first = usize::try_from(round).unwrap_or_default();
        for place in 0..rows.len() {
            // Who comes first is another in every round.
            let place = (place + first) % rows.len();
            let row = &mut rows[place];
            let played = play(program, options.players, round + 1, row.viewers).await;
            let named = |error| io::Error::other(format!("{}: {error}", row.name));
            row.played.push(played.map_err(named)?);
        }
    }
    Ok(rows)
}

async fn play(program: &Path, players: u32, seed: u64, viewers: usize) -> io::Result<LeagueCost> {
    let (players, seed) = (players.to_string(), seed.to_string());
    let arguments = ["--players", &players, "--referees", "4", "--pace", "20ms"];
    let arguments = [&arguments[..], &["--seed", &seed]].concat();
    let root = tempfile::tempdir()?;
    let mut league = League::start(program, root.path(), &arguments).await?;
    let (begun, before) = (Instant::now(), league.spent()?);
    let crowd = Crowd::gather(viewers, &league.authority);
    league.hear(|event| event["event"] == "page").await?;
    let time = begun.elapsed();
    let heard = crowd.see_the_end().await?;
    let spent = league.spent()?.saturating_sub(before);
    let matches = league.matches as f64;
    let all = |of: fn(&crate::crowd::ViewerLog) -> u64| {
        let each = heard.iter().map(|(heard, _)| of(heard));
        each.sum::<u64>() as f64
    };
    let played = LeagueCost {
        cost: spent.as_secs_f64() * 1e3 / matches,
        time: time.as_secs_f64() * 1e3 / matches,
        matches,
        patches: all(|heard| heard.patches),
        anew: all(|heard| heard.anew),
        bytes: all(|heard| heard.bytes),
    };
    drop(heard);
    league.end().await?;
    Ok(played)
}
