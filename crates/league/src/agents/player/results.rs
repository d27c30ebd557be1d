//! The results of a player as lines for its screen: each match, and its place in the end.

use std::sync::PoisonError;

use league_core::player::{Event, MatchRecord, Player};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::PlayerId;
use league_protocol::message::Rows;
use serde_json::json;
use tokio::sync::mpsc;

use crate::agents::bot::BotAbsence;

/// The most lines that wait for a screen; if its output is not read, further ones are dropped.
const MAX_LINES: usize = 256;
/// The most characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// Sends the results of a player to its screen.
#[derive(Debug, Clone)]
pub(crate) struct ResultLines {
    lines: mpsc::Sender<String>,
    json: bool,
    /// Why its bot was not there, if it has one.
    absence: BotAbsence,
}

impl ResultLines {
    /// The lines, as objects if `json`, and the end at which they come out.
    pub(crate) fn new(json: bool, absence: BotAbsence) -> (Self, mpsc::Receiver<String>) {
        let (lines, printed) = mpsc::channel(MAX_LINES);
        let new = Self {
            lines,
            json,
            absence,
        };
        (new, printed)
    }

    /// Takes in an event that the player has applied.
    pub(crate) fn take_in(&self, event: &Event, player: &Player) {
        match event {
            Event::Remembered { record } => self.tell_match(record, player),
            Event::LeagueCompleted { .. } => self.tell_place(player),
            _ => {}
        }
    }

    fn tell_match(&self, record: &MatchRecord, player: &Player) {
        if self.json {
            let mut object = json!(record);
            object["event"] = "match".into();
            return self.send(object.to_string());
        }
        self.send(record.line(&named(&record.opponent_id, player)));
        if let Some(advice) = record.advice() {
            let absence = self.absence.lock().unwrap_or_else(PoisonError::into_inner);
            let absence = absence
                .as_ref()
                .filter(|_| record.failure == Some(Code::Connection));
            let advice = match absence {
                Some(absence) => {
                    format!("{absence}, so it made no move; its standard error is in `logs/bots`")
                }
                None => advice.to_owned(),
            };
            let match_id = &record.match_id;
            let page = player.page(&format!("/match/{match_id}"));
            self.send(format!("{match_id}: {advice}; see {page}"));
        }
    }

    fn tell_place(&self, player: &Player) {
        let (Some(row), Some(rows)) = (player.standing(), player.standings()) else {
            return;
        };
        if self.json {
            let object = json!({
                "event": "place", "rank": row.rank, "players": rows.len(), "points": row.points,
                "page": player.own_page(),
            });
            return self.send(object.to_string());
        }
        if let Some(line) = player.place_line() {
            self.send(line);
        }
    }

    fn send(&self, line: String) {
        // The screen may be gone, or its output not read.
        let _ = self.lines.try_send(line);
    }
}

/// The name of a player with its id; before the first standings only the id is known.
fn named(id: &PlayerId, player: &Player) -> String {
    let mut rows = player.standings().into_iter().flat_map(Rows::iter);
    let row = rows.find(|row| row.player_id == *id);
    match row.filter(|row| !row.display_name.is_empty()) {
        Some(row) => format!("{id} {}", harmless(&row.display_name, MAX_NAME_CHARS)),
        None => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use league_core::machine::Machine;
    use league_testkit::player::rules;
    use serde_json::Value;

    use super::*;

    /// Events of a player: admitted, three matches, the standings, the end.
    fn life() -> Vec<Event> {
        let at = "2025-01-15T10:30:00Z";
        let played = |number: u32, result: &str, points: u32, more: Value| {
            let mut record = json!({
                "league_id": "spring", "round_id": number, "match_id": format!("R{number}M1"),
                "game_type": "even_odd", "opponent_id": "P02", "result": result,
                "points": points, "my_choice": null, "opponent_choice": null, "at": at,
            });
            for (name, value) in more.as_object().into_iter().flatten() {
                record[name] = value.clone();
            }
            json!({"event": "remembered", "record": record})
        };
        let absent = json!({"reason": "P02 could not be reached (E009)"});
        let slow = json!({"reason": "P01 did not answer in time (E001)", "failure": "E001"});
        let events = [
            json!({
                "event": "enrolled", "player_id": "P01", "league_id": "spring",
                "endpoint": "http://localhost:8101/mcp", "at": at,
            }),
            played(1, "DRAW", 1, json!({})),
            played(2, "WIN", 3, absent),
            played(3, "TECHNICAL_LOSS", 0, slow),
            json!({"event": "league_completed", "league_id": "spring", "champion": null, "at": at}),
        ];
        let events = events.map(|event| serde_json::from_value(event).unwrap());
        let row = |rank: u32, id: &str, name: &str, points: u32| {
            json!({
                "rank": rank, "shared_rank": rank, "player_id": id, "display_name": name,
                "played": 3, "wins": 1, "draws": 1, "losses": 1, "technical_losses": 1,
                "points": points,
            })
        };
        let rows = [row(1, "P02", "He\u{1b}ron", 4), row(2, "P01", "Ada", 4)];
        let rows = rows.map(|row| serde_json::from_value(row).unwrap());
        let standings = Event::Ranked {
            standings: rows.into(),
        };
        let mut events = events.to_vec();
        events.insert(2, standings);
        events
    }

    fn printed(json: bool) -> String {
        told(life(), json, BotAbsence::default())
    }

    fn told(life: Vec<Event>, json: bool, absence: BotAbsence) -> String {
        let (results, mut lines) = ResultLines::new(json, absence);
        let mut player = Player::new(rules());
        for event in life {
            player.apply(&event);
            results.take_in(&event, &player);
        }
        let mut text = String::new();
        while let Ok(line) = lines.try_recv() {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    #[test]
    fn each_match_and_the_place_are_a_line() {
        insta::assert_snapshot!(printed(false), @r"
        R1M1: drawn against P02, 1 point
        R2M1: won against P02 He\u{1b}ron, 3 points; P02 could not be reached (E009)
        R3M1: lost by a technical loss against P02 He\u{1b}ron, 0 points; P01 did not answer in time (E001)
        R3M1: choose faster; see http://127.0.0.1:8000/match/R3M1
        we are number 2 of 2, with 4 points: http://127.0.0.1:8000/player/P01
        ");
    }

    #[test]
    fn player_whose_bot_has_ended_says_so() {
        let mut life = life();
        for event in &mut life {
            if let Event::Remembered { record } = event {
                let record = std::sync::Arc::make_mut(record);
                record.failure = record.failure.as_ref().map(|_| Code::Connection);
            }
        }
        let advice = |absence: BotAbsence| {
            let told = told(life.clone(), false, absence);
            told.lines().nth(3).unwrap().to_owned()
        };
        insta::assert_snapshot!(advice(BotAbsence::default()), @"R3M1: keep this program running, and see that referees reach its port; see http://127.0.0.1:8000/match/R3M1");
        let absence = BotAbsence::default();
        *absence.lock().unwrap() = Some("the bot has ended (exit status: 3)".to_owned());
        insta::assert_snapshot!(advice(absence), @"R3M1: the bot has ended (exit status: 3), so it made no move; its standard error is in `logs/bots`; see http://127.0.0.1:8000/match/R3M1");
    }

    #[test]
    fn lines_of_json_say_the_same() {
        insta::assert_snapshot!(printed(true), @r#"
        {"at":"2025-01-15T10:30:00.000Z","event":"match","game_type":"even_odd","league_id":"spring","match_id":"R1M1","my_choice":null,"opponent_choice":null,"opponent_id":"P02","points":1,"result":"DRAW","round_id":1}
        {"at":"2025-01-15T10:30:00.000Z","event":"match","game_type":"even_odd","league_id":"spring","match_id":"R2M1","my_choice":null,"opponent_choice":null,"opponent_id":"P02","points":3,"reason":"P02 could not be reached (E009)","result":"WIN","round_id":2}
        {"at":"2025-01-15T10:30:00.000Z","event":"match","failure":"E001","game_type":"even_odd","league_id":"spring","match_id":"R3M1","my_choice":null,"opponent_choice":null,"opponent_id":"P02","points":0,"reason":"P01 did not answer in time (E001)","result":"TECHNICAL_LOSS","round_id":3}
        {"event":"place","page":"http://127.0.0.1:8000/player/P01","players":2,"points":4,"rank":2}
        "#);
    }
}
