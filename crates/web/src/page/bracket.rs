//! A bracket: a column for each stage, a box for each tie.

use league_core::league::format::BracketPart;
use maud::{Markup, html};

use super::Links;
use super::format::{bare_name, counted};
use crate::model::{SeatOutcome, Tie, TieGame, TiePlace, TiePlayer};

/// Ties of a stage; stages of more are left out.
const MAX_TIES: usize = 64;

/// The parts that share a heading, in the order in which they are drawn.
const PARTS: [&[BracketPart]; 4] = [
    &[BracketPart::Main],
    &[BracketPart::Losers],
    &[BracketPart::GrandFinal, BracketPart::Reset],
    &[BracketPart::ThirdPlace],
];

/// The card; empty if there are no ties.
pub(crate) fn bracket(ties: &[Tie], links: Links) -> Markup {
    let is_double = ties.iter().any(|tie| tie.part == BracketPart::Losers);
    let parts = PARTS.map(|parts| Stages::of(ties, parts));
    html! {
        div #bracket {
            @if !ties.is_empty() {
                section.card aria-labelledby="bracket-title" {
                    h2 #bracket-title { "Bracket" }
                    p.more { (progress(ties)) " A number is a game: 1 won, ½ drawn, 0 lost, T lost by not playing; it links to the match." }
                    @for (parts, stages) in PARTS.iter().zip(&parts) {
                        @if !stages.columns.is_empty() { (part(title(parts[0], is_double), stages, links)) }
                    }
                }
            }
        }
    }
}

/// How many ties are over.
fn progress(ties: &[Tie]) -> String {
    let real = || ties.iter().filter(|tie| tie.number.is_some());
    let over = real().filter(|tie| tie.places.iter().any(|place| place.is_winner));
    let all = counted(real().count() as u64, "tie", "ties");
    format!("{} of {all} decided.", over.count())
}

fn title(part: BracketPart, is_double: bool) -> &'static str {
    match part {
        BracketPart::Main if is_double => "Winners’ bracket",
        BracketPart::Main => "Main bracket",
        BracketPart::Losers => "Losers’ bracket",
        BracketPart::ThirdPlace => "Third place",
        BracketPart::GrandFinal | BracketPart::Reset => "Grand final",
    }
}

/// The stages of some parts that are drawn.
struct Stages<'t> {
    columns: Vec<Vec<&'t Tie>>,
    /// How many stages have too many ties.
    left_out: usize,
}

impl<'t> Stages<'t> {
    fn of(ties: &'t [Tie], parts: &[BracketPart]) -> Self {
        let own: Vec<&Tie> = ties
            .iter()
            .filter(|tie| parts.contains(&tie.part))
            .collect();
        let stages = own.chunk_by(|one, other| one.stage == other.stage);
        let stages = stages.map(<[&Tie]>::to_vec);
        let (mut columns, long): (Vec<_>, Vec<_>) = stages.partition(|it| it.len() <= MAX_TIES);
        // A reset that is not needed, and stages into which no player falls.
        let is_used = |tie: &&Tie| tie.places.iter().any(|it| it.player != TiePlayer::Empty);
        columns.retain(|column| column.iter().any(is_used));
        Self {
            columns,
            left_out: long.len(),
        }
    }

    /// How the ties of a column lead into the next.
    fn lead(&self, column: usize) -> &'static str {
        let ties = |column: usize| self.columns.get(column).map_or(0, Vec::len);
        match (ties(column), ties(column + 1)) {
            (_, 0) => "ends",
            (own, next) if own == next => "leads",
            _ => "joins",
        }
    }
}

fn part(title: &str, stages: &Stages<'_>, links: Links) -> Markup {
    html! {
        h3 { (title) }
        @if stages.left_out > 0 {
            p.more { "Its first " (counted(stages.left_out as u64, "stage is", "stages are")) " on the pages of the rounds." }
        }
        div.scroll tabindex="0" role="region" aria-label=(title) {
            div.stages {
                @for (number, column) in stages.columns.iter().enumerate() {
                    @let name = stage_name(stages, number);
                    div.stage {
                        @if stages.columns.len() > 1 { p.stage-name aria-hidden="true" { (name) } }
                        ol class={ "ties " (stages.lead(number)) } aria-label=(name) {
                            @for tie in column { (tie_box(tie, links)) }
                        }
                    }
                }
            }
        }
    }
}

fn stage_name(stages: &Stages<'_>, number: usize) -> String {
    let column = &stages.columns[number];
    let is_last = number + 1 == stages.columns.len();
    match (column[0].part, column.len()) {
        (BracketPart::ThirdPlace, _) => "Third place".to_owned(),
        (BracketPart::GrandFinal, _) => "Grand final".to_owned(),
        (BracketPart::Reset, _) if is_known(column[0]) => "Reset".to_owned(),
        (BracketPart::Reset, _) => "Reset, if needed".to_owned(),
        (BracketPart::Losers, _) if is_last => "Losers’ final".to_owned(),
        (BracketPart::Losers, _) => format!("Losers’ stage {}", number + 1),
        (BracketPart::Main, 1) => "Final".to_owned(),
        (BracketPart::Main, 2) => "Semi-finals".to_owned(),
        (BracketPart::Main, 4) => "Quarter-finals".to_owned(),
        (BracketPart::Main, ties) => format!("Round of {}", 2 * ties),
    }
}

fn is_known(tie: &Tie) -> bool {
    let mut places = tie.places.iter();
    places.all(|place| matches!(place.player, TiePlayer::Known(_)))
}

fn tie_box(tie: &Tie, links: Links) -> Markup {
    let players: Vec<&TiePlace> = tie
        .places
        .iter()
        .filter(|place| place.player != TiePlayer::Empty)
        .collect();
    html! {
        @match (tie.number, &players[..]) {
            (_, []) => li.tie.none aria-hidden="true" {},
            (None, [alone, ..]) => li.tie.bye { div.box { p.place { (player(alone)) span.more { "bye" } } } },
            (Some(number), _) => li.tie.over[tie.places.iter().any(|place| place.is_winner)] id={ "tie-" (number) } {
                span.no { span.hush { "Tie " } (number) }
                div.box {
                    @for side in 0..2 { (place(tie, side, links)) }
                }
            },
        }
    }
}

fn place(tie: &Tie, side: usize, links: Links) -> Markup {
    let own = &tie.places[side];
    html! {
        p.place.won[own.is_winner] {
            (player(own))
            @if own.is_winner { span.hush { " goes on: " } }
            @for game in &tie.games { (score(game, side, links)) }
            @if tie.games.len() > 1 { b.sum { span.hush { " in all " } (own.wins) } }
        }
    }
}

fn player(place: &TiePlace) -> Markup {
    html! {
        @match &place.player {
            TiePlayer::Known(player) => span.who { (bare_name(player)) },
            TiePlayer::WinnerOf(tie) => span.awaited { "winner of " (tie) },
            TiePlayer::LoserOf(tie) => span.awaited { "loser of " (tie) },
            TiePlayer::Empty => {},
        }
    }
}

/// The score of a game for a place; the upper one links to the match.
fn score(game: &TieGame, side: usize, links: Links) -> Markup {
    let score = match game.outcomes.map(|outcomes| outcomes[side]) {
        None => "…",
        Some(SeatOutcome::Won) => "1",
        Some(SeatOutcome::Drew) => "½",
        Some(SeatOutcome::Lost | SeatOutcome::LostByRuling) => "0",
        Some(SeatOutcome::Forfeited) => "T",
        Some(SeatOutcome::NotCounted) => "–",
    };
    html! {
        @if side == 0 { a href=(links.of_match(&game.match_id)) { span.hush { (game.match_id) ": " } (score) } }
        @else { span.score { (score) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::models;
    use league_protocol::id::MatchId;

    fn known(number: u32, wins: u32, is_winner: bool) -> TiePlace {
        TiePlace {
            player: TiePlayer::Known(models::player(number, &format!("Agent {number}"))),
            wins,
            is_winner,
        }
    }

    fn awaited(player: TiePlayer) -> TiePlace {
        TiePlace {
            player,
            wins: 0,
            is_winner: false,
        }
    }

    fn tie(part: BracketPart, stage: u32, number: Option<u32>, places: [TiePlace; 2]) -> Tie {
        Tie {
            part,
            stage,
            number,
            places,
            games: Vec::new(),
        }
    }

    fn lines(html: Markup) -> String {
        html.into_string().replace("><", ">\n<")
    }

    #[test]
    fn tie_shows_each_game_its_sum_and_who_goes_on() {
        let game = |round, outcomes| TieGame {
            match_id: MatchId::numbered(round, 2),
            outcomes,
        };
        let tie = Tie {
            games: vec![
                game(1, Some([SeatOutcome::Drew, SeatOutcome::Drew])),
                game(2, Some([SeatOutcome::Forfeited, SeatOutcome::Won])),
                game(3, None),
            ],
            ..tie(
                BracketPart::Main,
                0,
                Some(2),
                [known(3, 0, false), known(6, 1, true)],
            )
        };
        insta::assert_snapshot!(lines(tie_box(&tie, Links::Site)), @r#"
        <li class="tie over" id="tie-2">
        <span class="no">
        <span class="hush">Tie </span>2</span>
        <div class="box">
        <p class="place">
        <span class="who">
        <bdi>Agent 3</bdi>
        </span>
        <a href="match/R1M2">
        <span class="hush">R1M2: </span>½</a>
        <a href="match/R2M2">
        <span class="hush">R2M2: </span>T</a>
        <a href="match/R3M2">
        <span class="hush">R3M2: </span>…</a>
        <b class="sum">
        <span class="hush"> in all </span>0</b>
        </p>
        <p class="place won">
        <span class="who">
        <bdi>Agent 6</bdi>
        </span>
        <span class="hush"> goes on: </span>
        <span class="score">½</span>
        <span class="score">1</span>
        <span class="score">…</span>
        <b class="sum">
        <span class="hush"> in all </span>1</b>
        </p>
        </div>
        </li>
        "#);
    }

    #[test]
    fn bye_and_open_tie_say_what_they_wait_for() {
        let bye = tie(
            BracketPart::Main,
            0,
            None,
            [known(1, 0, true), awaited(TiePlayer::Empty)],
        );
        insta::assert_snapshot!(lines(tie_box(&bye, Links::Site)), @r#"
        <li class="tie bye">
        <div class="box">
        <p class="place">
        <span class="who">
        <bdi>Agent 1</bdi>
        </span>
        <span class="more">bye</span>
        </p>
        </div>
        </li>
        "#);
        let open = tie(
            BracketPart::Losers,
            2,
            Some(9),
            [
                awaited(TiePlayer::WinnerOf(4)),
                awaited(TiePlayer::LoserOf(5)),
            ],
        );
        insta::assert_snapshot!(lines(tie_box(&open, Links::Site)), @r#"
        <li class="tie" id="tie-9">
        <span class="no">
        <span class="hush">Tie </span>9</span>
        <div class="box">
        <p class="place">
        <span class="awaited">winner of 4</span>
        </p>
        <p class="place">
        <span class="awaited">loser of 5</span>
        </p>
        </div>
        </li>
        "#);
    }

    #[test]
    fn stages_have_names_and_very_long_ones_are_left_out() {
        let mut ties = Vec::new();
        for stage in 0..8_u32 {
            let waits = || awaited(TiePlayer::WinnerOf(1));
            for _ in 0..128_u32 >> stage {
                ties.push(tie(BracketPart::Main, stage, Some(1), [waits(), waits()]));
            }
        }
        let stages = Stages::of(&ties, PARTS[0]);
        let names = (0..stages.columns.len()).map(|number| stage_name(&stages, number));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "Round of 128",
                "Round of 64",
                "Round of 32",
                "Round of 16",
                "Quarter-finals",
                "Semi-finals",
                "Final"
            ]
        );
        let shown = bracket(&ties, Links::Site).into_string();
        assert!(shown.contains("first 1 stage is on the pages"), "{shown}");
        assert!(shown.contains("0 of 255 ties decided"), "{shown}");
    }

    #[test]
    fn reset_that_is_not_needed_is_not_shown() {
        let finals = |reset| {
            let ties = [
                tie(
                    BracketPart::GrandFinal,
                    3,
                    Some(5),
                    [known(1, 1, true), known(2, 0, false)],
                ),
                tie(
                    BracketPart::Reset,
                    4,
                    Some(6),
                    [awaited(reset), awaited(TiePlayer::Empty)],
                ),
            ];
            bracket(&ties, Links::File).into_string().contains("Reset")
        };
        assert!(!finals(TiePlayer::Empty));
        assert!(finals(TiePlayer::WinnerOf(5)));
    }
}
