//! What is remarkable about results, by plain rules: upsets, streaks, and the first win after
//! losses. A technical loss or a draw ends a streak and tells no story.

use std::collections::{BTreeMap, VecDeque};

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::MatchResult;

use crate::model::Story;

/// Stories that are kept.
const MAX_KEPT: usize = 64;
/// A streak of so many matches is worth telling.
const MIN_STREAK: u32 = 3;
/// From here on a streak is told at every multiple of this only.
const LONG_STREAK: u32 = 5;
/// An upset is a win over a player so many places above.
const MIN_PLACES: u32 = 3;
/// Or above by this part of the table, if that is more.
const PART_OF_TABLE: usize = 3;

/// A player's wins or losses in a row.
#[derive(Debug, Clone, Copy)]
struct Run {
    won: bool,
    length: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Stories {
    runs: BTreeMap<PlayerId, Run>,
    /// The oldest first.
    kept: VecDeque<(MatchId, [PlayerId; 2], Story)>,
}

impl Stories {
    /// Takes in a result; `ranks` are those before the round.
    pub(crate) fn record(
        &mut self,
        match_id: &MatchId,
        result: &MatchResult,
        ranks: &BTreeMap<PlayerId, u32>,
    ) {
        let winner = result.winner.as_ref().filter(|_| result.failed.is_empty());
        let winner = winner.and_then(|won| result.players.iter().position(|one| one == won));
        let Some(winner) = winner else {
            for player in &result.players {
                self.runs.remove(player);
            }
            return;
        };
        let loser = 1 - winner;
        let before = [winner, loser].map(|seat| self.runs.get(&result.players[seat]).copied());
        let wins = self.run_on(&result.players[winner], true);
        self.run_on(&result.players[loser], false);
        let mut told = Vec::new();
        told.extend(upset(result, winner, ranks));
        if let [Some(run), _] = before
            && !run.won
            && run.length >= MIN_STREAK
        {
            let losses = run.length;
            told.push(Story::FirstWin { winner, losses });
        }
        if let [_, Some(run)] = before
            && run.won
            && run.length >= MIN_STREAK
        {
            let wins = run.length;
            told.push(Story::StreakOver { loser, wins });
        }
        if wins == MIN_STREAK || (wins > 0 && wins.is_multiple_of(LONG_STREAK)) {
            told.push(Story::Streak { winner, wins });
        }
        for story in told {
            let players = result.players.clone();
            self.kept.push_back((match_id.clone(), players, story));
        }
        while self.kept.len() > MAX_KEPT {
            self.kept.pop_front();
        }
    }

    /// Forgets the run of a player and what is told of it: the organiser changed one of its matches.
    pub(crate) fn forget(&mut self, player: &PlayerId) {
        self.runs.remove(player);
        self.kept
            .retain(|(_, players, _)| !players.contains(player));
    }

    /// Goes on with a player's run, or begins one; returns its length.
    fn run_on(&mut self, player: &PlayerId, won: bool) -> u32 {
        let run = self.runs.get(player).filter(|run| run.won == won);
        let length = run.map_or(0, |run| run.length) + 1;
        self.runs.insert(player.clone(), Run { won, length });
        length
    }

    /// What is told of a match.
    pub(crate) fn of(&self, match_id: &MatchId) -> Vec<Story> {
        let own = self.kept.iter().filter(|(told, ..)| told == match_id);
        own.map(|(.., story)| *story).collect()
    }

    /// The last match with a story that is more than a streak.
    pub(crate) fn surprise(&self) -> Option<&MatchId> {
        let is_surprise = |story: &Story| !matches!(story, Story::Streak { .. });
        let mut latest = self.kept.iter().rev();
        latest
            .find(|(.., story)| is_surprise(story))
            .map(|(id, ..)| id)
    }
}

fn upset(result: &MatchResult, winner: usize, ranks: &BTreeMap<PlayerId, u32>) -> Option<Story> {
    let part = u32::try_from(ranks.len() / PART_OF_TABLE).unwrap_or(u32::MAX);
    let [a, b] = &result.players;
    let ranks = [*ranks.get(a)?, *ranks.get(b)?];
    let above = ranks[winner].saturating_sub(ranks[1 - winner]);
    (above >= MIN_PLACES.max(part)).then_some(Story::Upset { winner, ranks })
}

#[cfg(test)]
mod tests {
    use league_protocol::message::{ByPlayer, Evidence, MatchStatus};
    use serde_json::Map;

    use super::*;

    fn result(winner: Option<usize>) -> MatchResult {
        let players = [1, 2].map(PlayerId::numbered);
        MatchResult {
            status: MatchStatus::Win,
            winner: winner.map(|seat| players[seat].clone()),
            points: [0; 2],
            failed: ByPlayer::new(),
            choices: ByPlayer::new(),
            details: Map::new(),
            reason: String::new(),
            draw: None,
            evidence: Evidence::default(),
            players,
        }
    }

    /// The stories of each match; a letter is its winner, and `-` a draw.
    fn told(winners: &str, ranks: [u32; 2]) -> Vec<Vec<Story>> {
        let ranks = [1, 2].map(PlayerId::numbered).into_iter().zip(ranks);
        let (mut stories, ranks) = (Stories::default(), ranks.collect());
        let mut all = Vec::new();
        for (number, winner) in winners.chars().enumerate() {
            let match_id = MatchId::numbered(1, number as u32 + 1);
            let winner = "ab".find(winner);
            stories.record(&match_id, &result(winner), &ranks);
            all.push(stories.of(&match_id));
        }
        all
    }

    #[test]
    fn a_streak_is_told_when_it_begins_and_when_it_ends() {
        let told = told("aaab", [1, 2]);
        assert_eq!(told[..2], [vec![], vec![]]);
        assert_eq!(told[2], [Story::Streak { winner: 0, wins: 3 }]);
        let (winner, losses) = (1, 3);
        let first = Story::FirstWin { winner, losses };
        assert_eq!(told[3], [first, Story::StreakOver { loser: 0, wins: 3 }]);
    }

    #[test]
    fn a_draw_ends_a_streak() {
        assert!(told("aa-ab", [1, 2]).concat().is_empty());
    }

    #[test]
    fn an_upset_is_a_win_over_a_player_far_above() {
        let ranks = [1, 4];
        assert_eq!(told("b", ranks)[0], [Story::Upset { winner: 1, ranks }]);
        assert!(told("a", ranks)[0].is_empty());
        assert!(told("b", [1, 3])[0].is_empty());
    }
}
