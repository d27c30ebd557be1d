//! One game of each kind, printed so that a person can judge whether it is played by the rules.

use std::fmt::Write;

use league_games::{Dice, Listing, Outcome, Table, Turn};
use serde_json::Value;

use crate::check::{open, seats};

const SEED: u64 = 1;
const MAX_STEPS: usize = 100;
const NAMES: [&str; 2] = ["P01", "P02"];

/// Plays and prints one game; moves and rolls follow from the seed.
pub(crate) fn of(listing: &Listing) -> Result<String, String> {
    print(listing).map_err(|error| error.to_string())
}

fn print(listing: &Listing) -> Result<String, Box<dyn std::error::Error>> {
    let mut dice = Dice::seeded(SEED);
    let mut table = open(listing, &Value::Null)?;
    let mut out = String::new();
    writeln!(
        out,
        "{} ({})",
        listing.rules.display_name, listing.rules.game_type
    )?;
    writeln!(out, "settings {}", (listing.default_settings)())?;
    writeln!(out, "\n{}", listing.rules.rules_text)?;
    let mut seen = vec![Value::Null; seats(listing).len()];
    for _ in 0..MAX_STEPS {
        print_position(&mut out, listing, &*table, &mut seen)?;
        match table.turn() {
            Turn::Over(outcome) => {
                print_end(&mut out, &*table, outcome)?;
                return Ok(out);
            }
            Turn::Dice => {
                writeln!(out, "\n> the dice are rolled")?;
                table.roll(&mut dice);
            }
            Turn::Seats(owing) => {
                let seat = *dice.pick(&owing).ok_or("nobody's turn")?;
                let options = table.options(seat);
                let mv = dice.pick(&options).ok_or("no option")?;
                writeln!(out, "\n> {seat} plays {mv}")?;
                table.play(seat, mv)?;
            }
        }
    }
    Err("the game is too long to be read".into())
}

/// Prints the picture, and of each seat's view what has changed.
fn print_position(
    out: &mut String,
    listing: &Listing,
    table: &dyn Table,
    seen: &mut [Value],
) -> std::fmt::Result {
    writeln!(out)?;
    for row in table.picture().rows {
        let cells = row.cells.iter().map(|cell| match cell.text.as_str() {
            "" => ".",
            text => text,
        });
        let label = row.label.unwrap_or_default();
        writeln!(out, "  |{label}| {}", cells.collect::<Vec<_>>().join(" "))?;
    }
    for (seat, seen) in seats(listing).into_iter().zip(seen) {
        let view = table.view(seat);
        let mut changed = view.clone();
        if let Some(members) = changed.as_object_mut() {
            members.retain(|member, value| seen.get(member) != Some(value));
            for (member, value) in members {
                leave_out_known(value, seen.get(member));
            }
        }
        *seen = view;
        writeln!(out, "  {seat} sees {changed}")?;
        let options: Vec<String> = table.options(seat).iter().map(Value::to_string).collect();
        if !options.is_empty() {
            writeln!(out, "  {seat} may play {}", options.join(" "))?;
        }
    }
    Ok(())
}

/// Of a list that has grown only the new elements are printed.
fn leave_out_known(value: &mut Value, before: Option<&Value>) {
    if let (Value::Array(now), Some(Value::Array(before))) = (value, before)
        && !before.is_empty()
        && now.starts_with(before)
    {
        now.splice(..before.len(), ["…".into()]);
    }
}

fn print_end(out: &mut String, table: &dyn Table, outcome: Outcome) -> std::fmt::Result {
    match outcome {
        Outcome::Win(seat) => writeln!(out, "\n{seat} wins")?,
        Outcome::Draw => writeln!(out, "\na draw")?,
    }
    writeln!(out, "details {}", Value::Object(table.details()))?;
    writeln!(out, "reason: {}", table.reason(&NAMES))
}
