//! The table of a league, printed when it changes.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::super::asking::progress;
use super::super::common::Common;
use super::super::failure::{Failure, Kind};
use super::super::signal::Signals;
use super::super::{Answer, Output, table};
use super::GAP;
use super::scene::{Scene, Seen, Watcher};

/// How many times in a row a manager may not answer, about a minute.
const MOST_MISSES: u32 = 240;

/// How many rows of the table are shown to people.
const MOST_ROWS: usize = 50;

/// Prints until the league is over.
pub(super) async fn watch(
    mut watcher: Watcher,
    common: &Common,
    out: &mut impl Write,
) -> Result<Answer, Failure> {
    let mut signals = Signals::new()?;
    let mut printed = None;
    let mut misses = 0;
    loop {
        tokio::select! {
            () = signals.interrupted() => return interrupted(&watcher.scene, common, out),
            () = watcher.look() => {}
        }
        let scene = &watcher.scene;
        if printed.as_ref() != Some(scene) {
            print(scene, common, out)?;
            printed = Some(scene.clone());
        }
        if scene.is_over() {
            if common.output == Output::Text && !common.quiet {
                writeln!(out, "the league is over")?;
            }
            return Ok(Answer::Yes);
        }
        misses = match &scene.away {
            Some(cause) if misses >= MOST_MISSES => return Err(gone(scene, cause)),
            Some(_) => misses + 1,
            None => 0,
        };
        tokio::select! {
            () = signals.interrupted() => return interrupted(&watcher.scene, common, out),
            () = tokio::time::sleep(GAP) => {}
        }
    }
}

fn print(scene: &Scene, common: &Common, out: &mut impl Write) -> io::Result<()> {
    let endpoint = &scene.endpoint;
    match (&scene.away, &scene.seen) {
        (Some(cause), _) if common.output == Output::Json => {
            let object = json!({"event": "away", "manager": endpoint, "cause": cause});
            writeln!(out, "{object}")?;
        }
        (Some(cause), _) => writeln!(out, "no answer from {endpoint}: {cause}; still trying")?,
        (None, Some(seen)) if common.output == Output::Json => writeln!(out, "{}", object(seen))?,
        (None, Some(seen)) => {
            writeln!(out, "{}", progress(&seen.health))?;
            table::standings(out, &seen.rows, MOST_ROWS)?;
            writeln!(out)?;
        }
        (None, None) => {}
    }
    out.flush()
}

fn object(seen: &Seen) -> Value {
    let mut object = json!(seen.health);
    object["event"] = "table".into();
    object["standings"] = json!(seen.rows);
    object
}

fn interrupted(scene: &Scene, common: &Common, out: &mut impl Write) -> Result<Answer, Failure> {
    if common.output == Output::Text && !common.quiet {
        writeln!(out, "watch on with `league watch {}`", scene.endpoint)?;
    }
    Ok(Answer::Interrupted)
}

fn gone(scene: &Scene, cause: &str) -> Failure {
    Failure {
        what: match scene.seen {
            Some(_) => "lost sight of the league".to_owned(),
            None => "found no league to watch".to_owned(),
        },
        cause: format!("no answer from {}: {cause}", scene.endpoint),
        hint: match scene.seen {
            Some(_) => "start the manager again with the same command, then watch on".to_owned(),
            None => "start one with `league manager`, or name another with its URL".to_owned(),
        },
        kind: Kind::World,
    }
}
