//! What a run of the simulation is asked to do.

use crate::Sabotage;

/// What a run of the simulation is asked to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The run ends with the league that brings it to so many matches.
    pub matches: u64,
    /// Whether anything fails at all.
    pub faults: bool,
    /// Runs this league of the seed and no other.
    pub league: Option<u64>,
    /// The fewest and the most players of a league.
    pub players: (u32, u32),
    /// The fewest and the most referees of a league.
    pub referees: (u32, u32),
    /// The one game that is played; all of them in turn without one.
    pub game: Option<&'static str>,
    /// A bug that is planted, to see that it is found.
    pub sabotage: Option<Sabotage>,
    /// Whether a digest is made of everything that happens.
    pub digest: bool,
}

impl Plan {
    /// So many matches with all faults, in leagues of 2 to 40 players and 1 to 5 referees.
    pub fn new(matches: u64) -> Self {
        Self {
            matches,
            faults: true,
            league: None,
            players: (2, 40),
            referees: (1, 5),
            game: None,
            sabotage: None,
            digest: false,
        }
    }

    /// The same without any fault.
    pub fn without_faults(matches: u64) -> Self {
        Self {
            faults: false,
            ..Self::new(matches)
        }
    }
}
