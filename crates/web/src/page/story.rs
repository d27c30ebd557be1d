//! What is remarkable about a result, in a sentence; `league_view` has the rules.

use maud::{Markup, html};

use super::format::{bare_name, counted, ordinal};
use crate::model::{PlayerRef, Story};

pub(crate) fn sentence(story: &Story, players: &[PlayerRef; 2]) -> Markup {
    let name = |seat: usize| bare_name(&players[seat & 1]);
    html! {
        @match *story {
            Story::Upset { winner, ranks } => {
                "Upset: " (name(winner)) ", " (ordinal(ranks[winner & 1])) ", beat "
                (name(1 - winner)) ", " (ordinal(ranks[1 - winner])) "."
            },
            Story::FirstWin { winner, losses } => {
                "First win of " (name(winner)) " after " (number(losses)) " losses in a row."
            },
            Story::Streak { winner, wins } => { (name(winner)) " has won " (number(wins)) " in a row." },
            Story::StreakOver { loser, wins } => {
                (name(1 - loser)) " ended a run of " (counted(wins.into(), "win", "wins")) " of " (name(loser)) "."
            },
        }
    }
}

/// A number as a word, if it is small.
fn number(number: u32) -> String {
    let words = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    let word = usize::try_from(number)
        .ok()
        .and_then(|place| words.get(place));
    word.map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use league_protocol::id::PlayerId;

    use super::*;

    #[test]
    fn stories_are_sentences_with_names() {
        let player = |number, name: &str| PlayerRef {
            id: PlayerId::numbered(number),
            name: name.to_owned(),
        };
        let players = [player(1, "Ada"), player(2, "Grace")];
        let stories = [
            Story::Upset {
                winner: 1,
                ranks: [1, 9],
            },
            Story::FirstWin {
                winner: 1,
                losses: 6,
            },
            Story::Streak {
                winner: 0,
                wins: 15,
            },
            Story::StreakOver { loser: 0, wins: 4 },
        ];
        let told = stories.map(|story| {
            let html = sentence(&story, &players).into_string();
            html.replace("<bdi>", "").replace("</bdi>", "")
        });
        assert_eq!(
            told,
            [
                "Upset: Grace, 9th, beat Ada, 1st.",
                "First win of Grace after six losses in a row.",
                "Ada has won 15 in a row.",
                "Grace ended a run of 4 wins of Ada.",
            ]
        );
    }
}
