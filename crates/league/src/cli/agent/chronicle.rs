//! What a manager's screen says of its league: who came, how each match ended, which round it is.

use league_core::league::Event;
use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use super::super::Output;
use super::super::common::Common;

/// Tells a league line by line.
pub(super) struct Chronicle {
    json: bool,
    silent: bool,
    /// How many players and referees are waited for.
    awaited: Option<(u32, u32)>,
    players: u32,
    referees: u32,
}

impl Chronicle {
    pub(super) fn new(common: &Common, awaited: Option<(u32, u32)>) -> Self {
        let json = common.output == Output::Json;
        Self {
            json,
            silent: common.quiet && !json,
            awaited,
            players: 0,
            referees: 0,
        }
    }

    /// The line for a fact, if people should see it.
    pub(super) fn line(&mut self, at: Timestamp, event: &Event) -> Option<String> {
        match event {
            Event::PlayerRegistered { .. } => self.players += 1,
            Event::RefereeRegistered { .. } => self.referees += 1,
            _ => {}
        }
        let (name, sentence) = self.told(event)?;
        if self.json {
            let line: Value = json!({
                "event": name, "at": at.to_millis_text(), "sentence": sentence,
            });
            return Some(line.to_string());
        }
        (!self.silent).then_some(sentence)
    }

    fn told(&self, event: &Event) -> Option<(&'static str, String)> {
        Some(match event {
            Event::PlayerRegistered {
                player_id, meta, ..
            } => (
                "player",
                format!("{player_id} {} is in{}", meta.display_name, self.count()),
            ),
            Event::RefereeRegistered {
                referee_id, meta, ..
            } => (
                "referee",
                format!("{referee_id} {} is in{}", meta.display_name, self.count()),
            ),
            Event::AgentReturned { agent, .. } => ("returned", format!("{agent} is back")),
            Event::LeagueStarted { .. } => ("started", "the league begins".to_owned()),
            Event::RoundOpened { round, .. } => ("round", format!("round {round}")),
            Event::ResultRecorded {
                match_id, result, ..
            } => ("match", format!("  {match_id}  {}", result.reason)),
            _ => return None,
        })
    }

    /// How many are there, and how many are waited for.
    fn count(&self) -> String {
        match self.awaited {
            Some((players, referees)) => format!(
                " · {} of {players} players, {} of {referees} referees",
                self.players, self.referees
            ),
            None => format!(" · {} players, {} referees", self.players, self.referees),
        }
    }
}
