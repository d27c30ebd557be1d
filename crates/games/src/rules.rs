//! The entries of the games registry (000 §3.8.3 and §9.3.4).
//!
//! Reading and writing the document is left to the configuration.

use std::collections::BTreeMap;

use serde::Serialize;

/// The facts about a game that are true of every table it is played at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The name by which leagues ask for the game: `even_odd`.
    pub game_type: &'static str,
    /// The name shown to people: `Even/Odd`.
    pub display_name: &'static str,
    /// What a move is called on the wire: `choose_parity`.
    pub move_type: &'static str,
    /// Every choice that a move can be, or a range of numbers written `0-8`.
    pub valid_choices: &'static [&'static str],
    /// The fewest seats the game can be played with.
    pub min_players: u8,
    /// The most seats the game can be played with.
    pub max_players: u8,
    /// The module that holds the rules.
    pub rules_module: &'static str,
    /// The longest time a match should take if every answer comes at the first try.
    pub max_round_time_sec: u32,
    /// The most moves of all seats together, whatever the settings and the course of the game.
    pub max_moves: u32,
    /// Whether it matters who sits where, so that a schedule has to balance the sides.
    pub sides_matter: bool,
    /// Whether moves stay secret until the game is over.
    pub hidden_moves: bool,
    /// Whether both seats move at once in every turn; otherwise one seat moves at a time.
    pub simultaneous: bool,
    /// The whole rules for people and language models: what the view shows, what a move is and how
    /// it is spelled, how the game ends and who wins.
    pub rules_text: &'static str,
}

impl Rules {
    /// How many of the first moves anyone may see once so many are made.
    ///
    /// A move of a simultaneous turn is secret until the turn is complete, a hidden one to the end.
    pub const fn open_moves(&self, made: usize) -> usize {
        if self.hidden_moves {
            0
        } else if self.simultaneous {
            made - made % 2
        } else {
            made
        }
    }

    /// Whether a move is a secret when it is made.
    pub const fn seals_moves(&self) -> bool {
        self.hidden_moves || self.simultaneous
    }
}

/// One game in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegistryEntry {
    /// The name shown to people.
    pub display_name: &'static str,
    /// The kinds of move; our games have one each.
    pub move_types: Vec<&'static str>,
    /// The choices for each kind of move.
    pub valid_choices: BTreeMap<&'static str, &'static [&'static str]>,
    /// The fewest seats.
    pub min_players: u8,
    /// The most seats.
    pub max_players: u8,
    /// The module that holds the rules.
    pub rules_module: &'static str,
    /// The longest a match should take, in seconds.
    pub max_round_time_sec: u32,
}

/// The registry entries of all listed games, by game type.
pub fn registry() -> BTreeMap<&'static str, RegistryEntry> {
    let rules = crate::all().iter().map(|listing| listing.rules);
    rules
        .map(|rules| (rules.game_type, RegistryEntry::from(rules)))
        .collect()
}

impl From<Rules> for RegistryEntry {
    fn from(rules: Rules) -> Self {
        Self {
            display_name: rules.display_name,
            move_types: vec![rules.move_type],
            valid_choices: BTreeMap::from([(rules.move_type, rules.valid_choices)]),
            min_players: rules.min_players,
            max_players: rules.max_players,
            rules_module: rules.rules_module,
            max_round_time_sec: rules.max_round_time_sec,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn registry_describes_the_games_of_the_documents() {
        let expected = json!({
            "even_odd": {
                "display_name": "Even/Odd",
                "move_types": ["choose_parity"],
                "valid_choices": { "choose_parity": ["even", "odd"] },
                "min_players": 2,
                "max_players": 2,
                "rules_module": "league_games::even_odd",
                "max_round_time_sec": 60
            },
            "tic_tac_toe": {
                "display_name": "Tic-Tac-Toe",
                "move_types": ["place_mark"],
                "valid_choices": { "place_mark": ["0-8"] },
                "min_players": 2,
                "max_players": 2,
                "rules_module": "league_games::tic_tac_toe",
                "max_round_time_sec": 300
            }
        });
        let registry = serde_json::to_value(registry()).unwrap();
        for game_type in ["even_odd", "tic_tac_toe"] {
            assert_eq!(registry[game_type], expected[game_type]);
        }
    }

    #[test]
    fn registry_lists_exactly_the_listed_games() {
        let listed = crate::all().iter().map(|listing| listing.rules.game_type);
        let mut types: Vec<_> = listed.collect();
        types.sort_unstable();
        assert!(registry().into_keys().eq(types));
    }
}
