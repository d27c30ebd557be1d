//! The page of one player.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use league_protocol::id::PlayerId;
use serde_json::Value;

use super::{Finished, Gallery, MOST_MET, Observed, ended};
use crate::model::{Meeting, PlayerPage};

/// The most kinds of choices that are counted.
const MOST_CHOICES: usize = 20;
/// The longest choice that is written out, in characters.
const LONGEST_CHOICE: usize = 60;

impl Gallery {
    /// The page of a player; `None` if there is no such player.
    pub fn player_page(&self, id: &PlayerId, observed: &Observed) -> Option<PlayerPage> {
        let standing = self.standing(id, observed)?;
        let matches = self.meetings(id);
        let (coming, later) = self.coming(id, observed);
        Some(PlayerPage {
            league: self.card(observed),
            verdict: observed.verdict.clone(),
            agent: self.player_agent(observed, &standing),
            unlisted: (standing.played as usize).saturating_sub(matches.len()),
            choices: self.choices_of(id),
            points: self.points_of(id.as_str()),
            deviations: self.deviations_of(observed, id.as_str()),
            failures: self.failures_of(observed, id.as_str()),
            coming,
            later,
            matches,
            standing,
        })
    }

    fn meetings(&self, id: &PlayerId) -> Vec<Meeting> {
        let newest = self.order.iter().rev();
        let meeting = |match_id: &league_protocol::id::MatchId| {
            let finished = self.results.get(match_id)?;
            let seat = finished.seat(id)?;
            let result = &finished.result;
            let opponent = &result.players[1 - seat];
            Some(Meeting {
                match_id: match_id.clone(),
                round: round_of(match_id.as_str()),
                opponent: self.named(opponent),
                ended: ended(result, seat),
                points: result.points[seat],
                choice: result.choices.get(id).map(written),
                opponent_choice: result.choices.get(opponent).map(written),
                reason: result.reason.clone(),
                at: finished.at,
            })
        };
        newest.filter_map(meeting).take(MOST_MET).collect()
    }

    fn choices_of(&self, id: &PlayerId) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for finished in self
            .results
            .values()
            .filter(|finished| finished.seat(id).is_some())
        {
            match finished.result.choices.get(id) {
                Some(Value::Array(moves)) => {
                    for made in moves {
                        *counts.entry(written(made)).or_default() += 1;
                    }
                }
                Some(made) => *counts.entry(written(made)).or_default() += 1,
                None => {}
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        counts.truncate(MOST_CHOICES);
        counts
    }
}

impl Finished {
    fn seat(&self, id: &PlayerId) -> Option<usize> {
        self.result.players.iter().position(|player| player == id)
    }
}

/// The round that a match id names.
pub(crate) fn round_of(match_id: &str) -> u32 {
    let number = match_id
        .strip_prefix('R')
        .and_then(|rest| rest.split_once('M'));
    number
        .and_then(|(round, _)| round.parse().ok())
        .unwrap_or(0)
}

/// A choice for people: a text as it is, all else as JSON, cut if it is long.
fn written(choice: &Value) -> String {
    let text = match choice {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST_CHOICE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
