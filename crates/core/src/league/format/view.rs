//! What shows a league beside its table: a bracket, score groups, small tables, a ladder.
//!
//! A format says which of them fit and fills them in; pages and exports draw them without knowing
//! the format. Players are numbered from 0.

use crate::league::schedule::Pairing;
use crate::league::standings::PlayerTally;
use crate::league::{League, Phase};

/// One way to show a league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatView {
    /// Who met whom.
    CrossTable,
    /// The rounds of each player, in groups of equal points.
    ScoreGroups,
    /// All ties, in the order of their stages.
    Bracket(Vec<BracketTie>),
    /// Groups of players, each with a table of its own.
    Groups(Vec<GroupTable>),
    /// The order of a ladder, the top first.
    Ladder(Vec<LadderPlace>),
}

/// The part of a bracket that a tie belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BracketPart {
    /// The winners' bracket, if there is another.
    Main,
    ThirdPlace,
    Losers,
    GrandFinal,
    /// The second grand final, if the player from the winners' bracket lost the first.
    Reset,
}

/// A tie of a bracket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BracketTie {
    pub part: BracketPart,
    /// From 0; all ties of a stage are over before the next stage begins.
    pub stage: u32,
    pub places: [BracketPlace; 2],
    /// Games won, of both places.
    pub wins: [u32; 2],
    /// The player that goes on; a player alone in a tie goes on as it begins.
    pub winner: Option<u32>,
    /// The games that are over, and those of rounds that are.
    pub games: Vec<Pairing>,
}

/// A place in a tie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BracketPlace {
    Player(u32),
    /// No player comes here.
    Empty,
    /// The winner of the tie with this number comes here; ties are counted from 0.
    WinnerOf(usize),
    LoserOf(usize),
}

/// A group with its own table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTable {
    /// Such as `A`.
    pub name: String,
    /// The first first.
    pub rows: Vec<GroupRow>,
}

/// A player in the table of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRow {
    pub player: u32,
    /// What it has done in its group.
    pub tally: PlayerTally,
    /// Whether it goes on; `None` while that is open.
    pub goes_on: Option<bool>,
}

/// A player on a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderPlace {
    pub player: u32,
    /// Places gained in the last round that has a result; negative if it fell.
    pub climbed: i64,
}

impl League {
    /// What shows the league beside its table; nothing before the start.
    pub fn views(&self) -> Vec<FormatView> {
        match self.phase {
            Phase::Registering => Vec::new(),
            Phase::Running | Phase::Completed => self.standings.views(),
        }
    }
}
