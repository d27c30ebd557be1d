//! Knockout: the loser of a tie is out. Players are seeded by their ids, so that the first two can
//! meet only in the final; if they are not a power of two, the first seeds rest in the first stage.
//! The losers of the semi-finals play for the third place.

use super::bracket::{self, BracketSize, Elimination, first_places};

pub(crate) static KNOCKOUT: Elimination = Elimination {
    name: "knockout",
    title: "knockout",
    min_players: 2,
    size: BracketSize::of_knockout,
    ties: |players| bracket::knockout(&first_places(players)),
};
