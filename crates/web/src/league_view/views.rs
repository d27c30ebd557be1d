//! Fills in what shows a league beside its table, as its format says.

use std::collections::BTreeMap;

use league_core::league::format::{
    BracketPlace, BracketTie, FormatView, GroupRow, GroupTable, LadderPlace,
};
use league_core::league::schedule::Pairing;
use league_core::league::{CountedResult, Tiebreaker};
use league_protocol::message::StandingRow;

use super::{LeagueView, outcome};
use crate::model::{
    Group, GroupPlayer, LadderRow, LeagueViews, PlayerRef, ScoreCell, ScoreRow, ScoreTable, Tie,
    TieGame, TiePlace, TiePlayer,
};

/// Players in the table of score groups.
pub const MAX_SCORES: usize = 100;
/// Rounds in it.
pub const MAX_SCORE_ROUNDS: u32 = 64;

impl LeagueView {
    /// What the format shows beside the table, and whether it wants a cross table.
    pub(crate) fn views(&self, standings: &[StandingRow]) -> (LeagueViews, bool) {
        let mut shown = LeagueViews::default();
        let mut has_cross = false;
        for view in self.league.views() {
            match view {
                FormatView::CrossTable => has_cross = true,
                FormatView::ScoreGroups => shown.scores = self.score_table(standings),
                FormatView::Bracket(ties) => shown.bracket = self.bracket(&ties),
                FormatView::Groups(groups) => shown.groups = self.groups(&groups),
                FormatView::Ladder(places) => shown.ladder = self.ladder(&places),
            }
        }
        (shown, has_cross)
    }

    pub(crate) fn bracket(&self, ties: &[BracketTie]) -> Vec<Tie> {
        let mut last = 0;
        let numbers: Vec<u32> = ties
            .iter()
            .map(|tie| {
                last += u32::from(!tie.places.contains(&BracketPlace::Empty));
                last
            })
            .collect();
        let number = |tie: usize| numbers.get(tie).copied().unwrap_or_default();
        let place = |tie: &BracketTie, side: usize| TiePlace {
            player: match tie.places[side] {
                BracketPlace::Player(player) => self
                    .player_at(player)
                    .map_or(TiePlayer::Empty, TiePlayer::Known),
                BracketPlace::Empty => TiePlayer::Empty,
                BracketPlace::WinnerOf(tie) => TiePlayer::WinnerOf(number(tie)),
                BracketPlace::LoserOf(tie) => TiePlayer::LoserOf(number(tie)),
            },
            wins: tie.wins[side],
            is_winner: tie
                .winner
                .is_some_and(|winner| tie.places[side] == BracketPlace::Player(winner)),
        };
        let shown = ties.iter().enumerate().map(|(index, tie)| Tie {
            part: tie.part,
            stage: tie.stage,
            number: (!tie.places.contains(&BracketPlace::Empty)).then(|| number(index)),
            places: [0, 1].map(|side| place(tie, side)),
            games: self.games_of(tie),
        });
        shown.collect()
    }

    /// The games of a tie, with the game that is being played.
    fn games_of(&self, tie: &BracketTie) -> Vec<TieGame> {
        let [BracketPlace::Player(first), BracketPlace::Player(_)] = tie.places else {
            return Vec::new();
        };
        let round = self.league.round().map_or(0, |round| round.number());
        let present = self.league.pairing_of(first, round);
        let is_open = tie.winner.is_none() && !self.league.is_over();
        let present = present.filter(|present| is_open && !tie.games.contains(present));
        let game = |pairing: &Pairing| {
            let counted = self.league.counted_at(*pairing);
            let seat = usize::from(pairing.seats[1] == first);
            let outcomes = [seat, 1 - seat].map(|seat| outcome(&counted, seat));
            TieGame {
                match_id: pairing.match_id(),
                outcomes: (counted != CountedResult::Open).then_some(outcomes),
            }
        };
        tie.games.iter().chain(&present).map(game).collect()
    }

    fn score_table(&self, standings: &[StandingRow]) -> ScoreTable {
        let numbers = self.numbers();
        let listed = standings.iter().take(MAX_SCORES);
        let listed: Vec<(&StandingRow, u32)> = listed
            .filter_map(|row| Some((row, *numbers.get(&row.player_id)?)))
            .collect();
        let mut groups: BTreeMap<u32, usize> = BTreeMap::new();
        for row in standings {
            *groups.entry(row.points).or_default() += 1;
        }
        // The last that have begun, and those to come as far as there is room.
        let rounds = self.league.rounds();
        let reached = self.league.round().map_or(0, |round| round.number());
        let last = rounds.min(reached.max(MAX_SCORE_ROUNDS));
        let before = last.saturating_sub(MAX_SCORE_ROUNDS);
        let decided = |row: &StandingRow| self.league.decided_by(row.rank);
        let told = |by: Tiebreaker| standings.iter().any(|row| decided(row) == Some(by.title()));
        let all: Vec<Tiebreaker> = listed.first().map_or_else(Vec::new, |(_, number)| {
            let figures = self.league.tiebreak_figures(*number);
            figures.into_iter().map(|(by, _)| by).collect()
        });
        // All down to the last that decided, and the first in any case.
        let shown = all
            .iter()
            .rposition(|by| told(*by))
            .map_or(1, |last| last + 1);
        let shown = shown.min(all.len());
        let rows = listed.iter().map(|(row, number)| ScoreRow {
            place: row.place(),
            player: PlayerRef {
                id: row.player_id.clone(),
                name: row.display_name.to_string(),
            },
            points: row.points,
            group: groups.get(&row.points).copied().unwrap_or_default(),
            cells: {
                let cells = self.score_cells(*number, row.byes > 0).into_iter();
                let shown = cells.filter(|(round, _)| *round > before);
                shown.map(|(_, cell)| cell).collect()
            },
            figures: {
                let figures = self.league.tiebreak_figures(*number).into_iter();
                figures.take(shown).map(|(_, figure)| figure).collect()
            },
            decided_by: decided(row).filter(|by| *by != Tiebreaker::Points.title()),
        });
        ScoreTable {
            rounds,
            before,
            last,
            tiebreakers: all[..shown].iter().map(|by| by.title()).collect(),
            rows: rows.collect(),
            unlisted: standings.len() - listed.len(),
        }
    }

    /// A player in each round that has begun, with the number of the round: each of its matches in
    /// order, or that it has none; `is_paid` says that its byes count.
    pub(crate) fn score_cells(&self, player: u32, is_paid: bool) -> Vec<(u32, ScoreCell)> {
        let reached = self.league.round().map_or(0, |round| round.number());
        let score = &self.league.rules().score;
        let (mut cells, mut points) = (Vec::new(), 0_u32);
        for round in 1..=reached {
            let pairings: Vec<Pairing> = self.league.pairings_of(player, round).collect();
            if pairings.is_empty() {
                let rests = is_paid && self.league.schedule().byes(round).contains(&player);
                points = points.saturating_add(if rests { score.win } else { 0 });
                let cell = if rests {
                    ScoreCell::Bye { points }
                } else {
                    ScoreCell::Out
                };
                cells.push((round, cell));
            }
            for pairing in pairings {
                let seat = usize::from(pairing.seats[1] == player);
                let counted = self.league.counted_at(pairing);
                let ending = counted.ending();
                points = points.saturating_add(ending.map_or(0, |it| it.points(seat, score)));
                let cell = self.player_at(pairing.seats[1 - seat]).map(|opponent| {
                    let is_running = counted == CountedResult::Open && !self.league.is_over();
                    let outcome = (!is_running).then(|| outcome(&counted, seat));
                    ScoreCell::Played {
                        match_id: pairing.match_id(),
                        opponent,
                        seat,
                        outcome,
                        points,
                    }
                });
                cells.push((round, cell.unwrap_or(ScoreCell::Out)));
            }
        }
        cells
    }

    pub(crate) fn groups(&self, groups: &[GroupTable]) -> Vec<Group> {
        let row = |row: &GroupRow| {
            Some(GroupPlayer {
                player: self.player_at(row.player)?,
                played: row.tally.played(),
                wins: row.tally.wins,
                draws: row.tally.draws,
                losses: row.tally.losses,
                points: row.tally.points,
                goes_on: row.goes_on,
            })
        };
        let shown = groups.iter().map(|group| Group {
            name: group.name.clone(),
            rows: group.rows.iter().filter_map(row).collect(),
        });
        shown.collect()
    }

    pub(crate) fn ladder(&self, places: &[LadderPlace]) -> Vec<LadderRow> {
        let row = |place: &LadderPlace| {
            Some(LadderRow {
                player: self.player_at(place.player)?,
                climbed: place.climbed,
            })
        };
        places.iter().filter_map(row).collect()
    }
}
