//! The ratings of a league: strengths with their intervals, and a sentence on how sure they are.

use maud::{Markup, html};

use super::format::{bare_name, counted};
use crate::model::{RatedPlayer, RatingTable};

/// Players in the card.
const MAX_SHOWN: usize = 20;

/// The card; empty before the first round has ended.
pub(crate) fn ratings(table: Option<&RatingTable>) -> Markup {
    html! {
        div #ratings {
            @if let Some(table) = table {
                section.card aria-labelledby="ratings-title" {
                    h2 #ratings-title { "Ratings after " (counted(table.round.into(), "round", "rounds")) }
                    p { (sentence(table)) }
                    div.scroll tabindex="0" role="region" aria-labelledby="ratings-title" {
                        table {
                            thead { tr {
                                th scope="col" { abbr title="The ranks that the player may truly have, with 95 % confidence" { "Rank" } }
                                th.text scope="col" { "Player" }
                                th scope="col" { abbr title="Strength on the Elo scale; the mean of all players is 0" { "Elo" } }
                                th scope="col" { abbr title="Half the width of the 95 % interval" { "±" } }
                                th scope="col" { "Interval" }
                            } }
                            tbody { @for row in table.rows.iter().take(MAX_SHOWN) { (rated(row)) } }
                        }
                    }
                    @if let Some(more) = table.rows.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
                        p.more { "and " (more) " more" }
                    }
                }
            }
        }
    }
}

fn rated(row: &RatedPlayer) -> Markup {
    html! {
        tr {
            td { (row.ranks) }
            th scope="row" { (bare_name(&row.player)) }
            td { (signed(row.elo)) }
            td { (row.error) }
            td { (signed(row.elo - row.error)) " to " (signed(row.elo + row.error)) }
        }
    }
}

fn signed(elo: i64) -> String {
    match elo {
        0 => "0".to_owned(),
        below if below < 0 => format!("−{}", below.unsigned_abs()),
        above => format!("+{above}"),
    }
}

/// How sure the order is, in one sentence.
fn sentence(table: &RatingTable) -> String {
    let first = table.rows.first().map_or("", |row| &row.player.name);
    match table.luck {
        Some(percent) => format!(
            "The results show no more than luck: players of equal strength would differ as much in {percent} of 100 leagues."
        ),
        None => format!(
            "The results show more than luck. {first} is truly the strongest with a probability of {} %.",
            table.certainty
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PlayerRef;
    use league_protocol::id::PlayerId;

    fn table(luck: Option<u32>) -> RatingTable {
        let row = |number, elo| RatedPlayer {
            player: PlayerRef {
                id: PlayerId::numbered(number),
                name: format!("<{number}>"),
            },
            elo,
            error: 90,
            ranks: "1–2".to_owned(),
        };
        RatingTable {
            round: 3,
            rows: vec![row(1, 40), row(2, -40)],
            luck,
            certainty: 81,
        }
    }

    #[test]
    fn ratings_show_intervals_and_say_if_it_is_luck() {
        let luck = ratings(Some(&table(Some(37)))).into_string();
        assert!(luck.contains("no more than luck"), "{luck}");
        assert!(luck.contains("in 37 of 100 leagues"), "{luck}");
        assert!(
            luck.contains("−50 to +130") && luck.contains("1–2"),
            "{luck}"
        );
        let skill = ratings(Some(&table(None))).into_string();
        assert!(
            skill.contains("&lt;1&gt; is truly the strongest with a probability of 81 %"),
            "{skill}"
        );
        assert!(!ratings(None).into_string().contains("table"));
    }
}
