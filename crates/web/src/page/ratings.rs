//! The ratings of a league: strengths with their intervals, and a sentence on how sure they are.

use maud::{Markup, html};

use super::format::{bare_name, counted};
use crate::model::{RatedPlayer, RatingTable};
use league_core::rating::RatingSystem;

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
                                th scope="col" { abbr title=(scale(table.system)) { (table.system.title()) } }
                                @if table.system.has_intervals() { th scope="col" { "95 % interval" } }
                            } }
                            tbody { @for row in table.rows.iter().take(MAX_SHOWN) { (rated(row, table.system)) } }
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

fn rated(row: &RatedPlayer, system: RatingSystem) -> Markup {
    let shown = |elo| rating(elo, system);
    html! {
        tr {
            td { (row.ranks) }
            th scope="row" { (bare_name(&row.player)) }
            td { (shown(row.elo)) }
            @if system.has_intervals() { td { (shown(row.low)) " to " (shown(row.high)) } }
        }
    }
}

fn scale(system: RatingSystem) -> &'static str {
    match system.is_around_mean() {
        true => "Strength on the Elo scale; the mean of all players is 0",
        false => "Strength on the Elo scale; a player begins with 1500",
    }
}

/// A rating as it is shown: with its sign if it stands around the mean.
fn rating(elo: i64, system: RatingSystem) -> String {
    match elo {
        elo if elo < 0 => format!("−{}", elo.unsigned_abs()),
        elo if elo > 0 && system.is_around_mean() => format!("+{elo}"),
        elo => elo.to_string(),
    }
}

/// How sure the order is, and what seat A is worth, in a few sentences.
pub(crate) fn sentence(table: &RatingTable) -> String {
    let first = table.rows.first().map_or("", |row| &row.player.name);
    let mut told = match (table.luck, table.certainty) {
        (Some(percent), _) => format!(
            "The results show no more than luck: players of equal strength would differ as much in {percent} of 100 leagues."
        ),
        (None, Some(certainty)) => format!(
            "The results show more than luck. {first} is truly the strongest with a probability of {certainty} %."
        ),
        (None, None) => "The results show more than luck.".to_owned(),
    };
    if let Some(seat) = &table.seat {
        told += " ";
        told += &seat.sentence();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PlayerRef;
    use league_core::rating::{Interval, RankGroup, SeatAdvantage};
    use league_protocol::id::PlayerId;

    fn table(luck: Option<u32>) -> RatingTable {
        let row = |number, elo| RatedPlayer {
            player: PlayerRef {
                id: PlayerId::numbered(number),
                name: format!("<{number}>"),
            },
            elo,
            low: elo - 90,
            high: elo + 95,
            ranks: RankGroup { best: 1, worst: 2 },
        };
        RatingTable {
            system: RatingSystem::default(),
            round: 3,
            rows: vec![row(1, 40), row(2, -40)],
            luck,
            certainty: Some(81),
            seat: Some(SeatAdvantage {
                share: 0.62,
                interval: Interval {
                    low: 0.55,
                    high: 0.69,
                },
            }),
        }
    }

    #[test]
    fn ratings_show_intervals_and_say_if_it_is_luck() {
        let luck = ratings(Some(&table(Some(37)))).into_string();
        assert!(luck.contains("no more than luck"), "{luck}");
        assert!(luck.contains("in 37 of 100 leagues"), "{luck}");
        assert!(
            luck.contains("−50 to +135") && luck.contains("1–2"),
            "{luck}"
        );
        assert!(
            luck.contains("seat A wins 62 % of the decided matches (55–69 %): an advantage"),
            "{luck}"
        );
        let skill = ratings(Some(&table(None))).into_string();
        assert!(
            skill.contains("&lt;1&gt; is truly the strongest with a probability of 81 %"),
            "{skill}"
        );
        assert!(!ratings(None).into_string().contains("table"));
    }

    #[test]
    fn elo_is_shown_without_what_it_does_not_know() {
        let mut elo = table(None);
        (elo.system, elo.certainty, elo.seat) = (RatingSystem::Elo, None, None);
        elo.rows[0].elo = 1_520;
        let shown = ratings(Some(&elo)).into_string();
        assert!(shown.contains("<td>1520</td>"), "{shown}");
        assert!(
            !shown.contains("interval") && !shown.contains("probability"),
            "{shown}"
        );
    }
}
