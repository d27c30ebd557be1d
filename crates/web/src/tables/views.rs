//! The tables of formats: rounds, ties, groups, ladder; and ratings.

use league_core::league::format::{BracketPart, FormatView};

use super::{Column, Rows, TableKind, table_of, text};
use crate::league_view::LeagueView;
use crate::model::{
    Group, GroupPlayer, LadderRow, LeagueViews, PlayerRef, RatedPlayer, ScoreCell, SeatOutcome,
    Tie, TiePlayer,
};

/// The tables that say something of a league.
pub(super) fn kinds(view: &LeagueView) -> Vec<TableKind> {
    let formats = view.league().views();
    let mut kinds: Vec<TableKind> = formats
        .iter()
        .filter_map(|shown| match shown {
            FormatView::CrossTable => None,
            FormatView::ScoreGroups => Some(TableKind::Rounds),
            FormatView::Bracket(_) => Some(TableKind::Ties),
            FormatView::Groups(_) => Some(TableKind::Groups),
            FormatView::Ladder(_) => Some(TableKind::Ladder),
        })
        .collect();
    kinds.extend(view.ratings().map(|_| TableKind::Ratings));
    kinds
}

/// A match of a player in a round, or that it has none.
type PlayedRound = (PlayerRef, u32, ScoreCell);

pub(super) fn rounds(view: &LeagueView) -> Rows {
    let (standings, numbers) = (view.league().standings(), view.numbers());
    let rows = standings.iter().filter_map(|row| {
        let player = view.player_ref(&row.player_id);
        let cells = view.score_cells(*numbers.get(&row.player_id)?, row.byes > 0);
        let cells = cells.into_iter();
        Some(cells.map(move |(round, cell)| (player.clone(), round, cell)))
    });
    let rows: Vec<PlayedRound> = rows.flatten().collect();
    table_of(&ROUND_COLUMNS, rows.iter())
}

pub(super) fn ties(view: &LeagueView) -> Rows {
    let (shown, _) = view.views(&[]);
    table_of(&TIE_COLUMNS, shown.bracket.iter())
}

pub(super) fn groups(view: &LeagueView) -> Rows {
    let (shown, _) = view.views(&[]);
    table_of(&group_columns(), members(&shown).iter())
}

pub(super) fn ladder(view: &LeagueView) -> Rows {
    let (shown, _) = view.views(&[]);
    let ranked: Vec<(usize, &LadderRow)> = (1..).zip(&shown.ladder).collect();
    table_of(&ladder_columns(), ranked.iter())
}

pub(super) fn ratings(view: &LeagueView) -> Rows {
    let rated = view.ratings().map_or(&[][..], |ratings| &ratings.rows);
    table_of(&RATING_COLUMNS, rated.iter())
}

const ROUND_COLUMNS: [Column<PlayedRound>; 7] = [
    ("player_id", |(player, ..)| player.id.to_string()),
    ("round_id", |(_, round, _)| round.to_string()),
    ("match_id", |(.., cell)| match cell {
        ScoreCell::Played { match_id, .. } => match_id.to_string(),
        _ => String::new(),
    }),
    ("opponent_id", |(.., cell)| match cell {
        ScoreCell::Played { opponent, .. } => opponent.id.to_string(),
        _ => String::new(),
    }),
    ("seat", |(.., cell)| match cell {
        ScoreCell::Played { seat, .. } => ["A", "B"][*seat].to_owned(),
        _ => String::new(),
    }),
    ("result", |(.., cell)| {
        let word = match cell {
            ScoreCell::Played { outcome, .. } => outcome.map_or("", result),
            ScoreCell::Bye { .. } => "BYE",
            ScoreCell::Out => "NOT_PAIRED",
        };
        word.to_owned()
    }),
    // After the round.
    ("points", |(.., cell)| match cell {
        ScoreCell::Played { points, .. } | ScoreCell::Bye { points } => points.to_string(),
        ScoreCell::Out => String::new(),
    }),
];

fn result(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "WIN",
        SeatOutcome::Drew => "DRAW",
        SeatOutcome::Lost | SeatOutcome::LostByRuling => "LOSS",
        SeatOutcome::Forfeited => "TECHNICAL_LOSS",
        SeatOutcome::NotCounted => "NOT_COUNTED",
    }
}

const TIE_COLUMNS: [Column<Tie>; 9] = [
    ("tie", |tie| text(tie.number.as_ref())),
    ("part", |tie| {
        let part = match tie.part {
            BracketPart::Main => "main",
            BracketPart::ThirdPlace => "third_place",
            BracketPart::Losers => "losers",
            BracketPart::GrandFinal => "grand_final",
            BracketPart::Reset => "reset",
        };
        part.to_owned()
    }),
    ("stage", |tie| (tie.stage + 1).to_string()),
    ("player_1_id", |tie| known(tie, 0)),
    ("player_2_id", |tie| known(tie, 1)),
    ("wins_1", |tie| tie.places[0].wins.to_string()),
    ("wins_2", |tie| tie.places[1].wins.to_string()),
    ("winner", |tie| {
        let side = tie.places.iter().position(|place| place.is_winner);
        side.map_or_else(String::new, |side| known(tie, side))
    }),
    ("matches", |tie| {
        let games = tie.games.iter().map(|game| game.match_id.to_string());
        games.collect::<Vec<_>>().join(" ")
    }),
];

fn known(tie: &Tie, side: usize) -> String {
    match &tie.places[side].player {
        TiePlayer::Known(player) => player.id.to_string(),
        TiePlayer::Empty | TiePlayer::WinnerOf(_) | TiePlayer::LoserOf(_) => String::new(),
    }
}

/// A group, the rank in it, and the player.
type Member<'g> = (&'g Group, usize, &'g GroupPlayer);

fn members(shown: &LeagueViews) -> Vec<Member<'_>> {
    let groups = shown.groups.iter();
    let members = groups.flat_map(|group| {
        (1..)
            .zip(&group.rows)
            .map(move |(rank, row)| (group, rank, row))
    });
    members.collect()
}

const fn group_columns<'g>() -> [Column<Member<'g>>; 10] {
    [
        ("group", |(group, ..)| group.name.clone()),
        ("rank", |(_, rank, _)| rank.to_string()),
        ("player_id", |(.., row)| row.player.id.to_string()),
        ("display_name", |(.., row)| row.player.name.clone()),
        ("played", |(.., row)| row.played.to_string()),
        ("wins", |(.., row)| row.wins.to_string()),
        ("draws", |(.., row)| row.draws.to_string()),
        ("losses", |(.., row)| row.losses.to_string()),
        ("points", |(.., row)| row.points.to_string()),
        ("goes_on", |(.., row)| text(row.goes_on.as_ref())),
    ]
}

const fn ladder_columns<'r>() -> [Column<(usize, &'r LadderRow)>; 4] {
    [
        ("rank", |(rank, _)| rank.to_string()),
        ("player_id", |(_, row)| row.player.id.to_string()),
        ("display_name", |(_, row)| row.player.name.clone()),
        ("climbed", |(_, row)| row.climbed.to_string()),
    ]
}

const RATING_COLUMNS: [Column<RatedPlayer>; 7] = [
    ("player_id", |row| row.player.id.to_string()),
    ("display_name", |row| row.player.name.clone()),
    ("rating", |row| row.elo.to_string()),
    ("low", |row| row.low.to_string()),
    ("high", |row| row.high.to_string()),
    ("rank_best", |row| row.ranks.best.to_string()),
    ("rank_worst", |row| row.ranks.worst.to_string()),
];
