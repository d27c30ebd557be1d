//! The figures of leagues as a table; what is compared is compared within a round.

use crate::measure::{LeagueCost, Options, Row};
use crate::spread::Spread;

/// Prints the table; the first row is what all are compared with.
pub(crate) fn tell(rows: &[Row], options: &Options) {
    let Some(alone) = rows.first() else {
        return;
    };
    println!(
        "\nleague of {} players, a player thinks for 20 ms\n{:<18}{:<24}{:<20}{:<24}{:<20}",
        options.players, "", "ms of CPU per match", "against none", "ms per match", "against none",
    );
    for row in rows {
        println!(
            "{:<18}{:<24}{:<20}{:<24}{:<20}",
            row.name,
            spread(row, |played| played.cost).shown(2),
            ratio(row, alone, |played| played.cost).shown(2),
            spread(row, |played| played.time).shown(2),
            ratio(row, alone, |played| played.time).shown(2),
        );
    }
    println!(
        "\n{:<18}{:<24}{:<20}{:<24}{:<20}",
        "", "patches per viewer", "KB per viewer", "whole boards again", "µs of CPU per patch"
    );
    for row in rows.iter().filter(|row| row.viewers > 0) {
        let viewers = row.viewers as f64;
        let more = row.played.iter().zip(&alone.played);
        let each =
            more.map(|(many, none)| (many.cost - none.cost) * many.matches * 1e3 / many.patches);
        // What one alone costs is lost in what differs from league to league.
        let each = (row.viewers > 1).then(|| Spread::of(each).shown(1));
        println!(
            "{:<18}{:<24}{:<20}{:<24}{:<20}",
            row.name,
            spread(row, |played| played.patches / viewers).shown(1),
            spread(row, |played| played.bytes / viewers / 1e3).shown(1),
            spread(row, |played| played.anew).shown(0),
            each.unwrap_or_default(),
        );
    }
    println!("\nmedian [least-most] of {} rounds", alone.played.len());
    println!("every viewer has seen the end, and none missed a patch");
}

fn spread(row: &Row, figure: impl Fn(&LeagueCost) -> f64) -> Spread {
    Spread::of(row.played.iter().map(figure))
}

fn ratio(row: &Row, alone: &Row, figure: impl Fn(&LeagueCost) -> f64) -> Spread {
    let pairs = row.played.iter().zip(&alone.played);
    Spread::of(pairs.map(|(some, none)| figure(some) / figure(none)))
}
