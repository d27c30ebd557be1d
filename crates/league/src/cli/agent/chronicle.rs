//! What a manager's screen says of its league: who came, how each match ended, which round it is.

use league_core::league::Event;
use league_protocol::id::LeagueId;
use league_protocol::message::StandingRow;
use league_protocol::time::Timestamp;
use serde_json::json;

use super::super::Output;
use super::super::asking::count;
use super::super::common::Common;
use super::super::forgiven::Forgiven;
use super::super::scores::{Room, Scores};

/// Tells a league line by line.
pub(super) struct Chronicle {
    json: bool,
    silent: bool,
    /// How many players and referees are waited for.
    awaited: Option<(u32, u32)>,
    players: u32,
    referees: u32,
    scores: Scores,
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
            scores: Scores::default(),
        }
    }

    /// The line for a fact, if people should see it.
    pub(super) fn line(&mut self, at: Timestamp, event: &Event) -> Option<String> {
        match event {
            Event::PlayerRegistered { .. } => self.players += 1,
            Event::RefereeRegistered { .. } => self.referees += 1,
            _ => {}
        }
        let ended = self.scores.take_in(at, event);
        let (name, sentence) = match &ended {
            Some(ended) if self.json => ("match", self.scores.sentence(ended)),
            Some(ended) => ("match", self.scores.lines(ended, Room::here())),
            None => self.told(event)?,
        };
        if self.json {
            let mut line = ended.map_or_else(|| json!({}), |ended| self.scores.object(&ended));
            line["event"] = name.into();
            line["at"] = at.to_millis_text().into();
            line["sentence"] = sentence.into();
            return Some(line.to_string());
        }
        (!self.silent).then_some(sentence)
    }

    /// The lines for a league that is over: the table, technical losses, deviations.
    pub(super) fn end(
        &self,
        league: &LeagueId,
        rows: &[StandingRow],
        forgiven: &Forgiven,
    ) -> Vec<String> {
        if self.json {
            return vec![self.scores.closing(league, rows, forgiven).to_string()];
        }
        let mut text = Vec::new();
        if self.silent || self.scores.close(&mut text, rows, forgiven).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(str::to_owned);
        std::iter::once(String::new()).chain(lines).collect()
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
            _ => return None,
        })
    }

    /// How many are there, and how many are waited for.
    fn count(&self) -> String {
        match self.awaited {
            Some((players, referees)) => format!(
                " · {} of {}, {} of {}",
                self.players,
                count(u64::from(players), "player"),
                self.referees,
                count(u64::from(referees), "referee")
            ),
            None => format!(
                " · {}, {}",
                count(u64::from(self.players), "player"),
                count(u64::from(self.referees), "referee")
            ),
        }
    }
}
