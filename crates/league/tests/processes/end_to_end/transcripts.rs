//! What the files tell of a match while it is played, and after its referee was killed in the middle.

use std::fs;
use std::io::Read;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::process::eventually;

/// A league of two players: the first answers at once, the second takes its time.
struct Match {
    ground: Ground,
    manager: Agent,
    referee: Agent,
    _players: [Agent; 2],
}

impl Match {
    fn start(slow: &str) -> Self {
        let ground = Ground::new();
        let manager = ground.manager(&["--players", "2", "--referees", "1"]);
        let referee = ground.referee(1, &manager.endpoint, &[]);
        let player = |number, strategy, pace| {
            let own = ["--strategy", strategy, "--pace", pace];
            ground.player(number, &manager.endpoint, &own)
        };
        let players = [
            player(1, "always-even", "0ms"),
            player(2, "always-odd", slow),
        ];
        Self {
            ground,
            manager,
            referee,
            _players: players,
        }
    }

    fn journal(&self) -> String {
        plain(&self.ground.league("referees/REF01/journal.jsonl"))
    }

    /// Waits until the journal of the referee holds a text.
    fn wait_for(&self, text: &str) {
        let found = eventually(|| self.journal().contains(text).then_some(()));
        assert!(found.is_some(), "no `{text}` in\n{}", self.journal());
    }

    /// Kills the referee and starts it again.
    fn kill_referee(&mut self) {
        let port = self.referee.port();
        self.referee.process.kill();
        self.referee = self.ground.referee_at(port, 1, &self.manager.endpoint, &[]);
    }

    /// The transcript of the match, once it is over.
    fn transcript(&self) -> Vec<Value> {
        let file = self
            .ground
            .path(&format!("data/matches/{LEAGUE}/R1M1.json"));
        let found = eventually(|| {
            let text = fs::read(&file).ok()?;
            let document: Value = serde_json::from_slice(&text).ok()?;
            let said = document["transcript"].as_array()?.clone();
            (!said.is_empty()).then_some(said)
        });
        found.unwrap()
    }
}

/// The text of a file, with what is compressed in it.
fn plain(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let compressed = text.split(r#""gzip":""#).skip(1);
    let compressed: Vec<String> = compressed
        .map(|rest| {
            let gzip = BASE64_STANDARD.decode(rest.split('"').next().unwrap());
            let mut json = String::new();
            // The last line may be incomplete.
            let gzip = gzip.unwrap_or_default();
            let _ = GzDecoder::new(&gzip[..]).read_to_string(&mut json);
            json
        })
        .collect();
    text + &compressed.concat()
}

fn kinds(said: &[Value]) -> Vec<String> {
    let kinds = said
        .iter()
        .map(|said| said["message_type"].as_str().unwrap().to_owned());
    kinds.collect()
}

#[test]
fn transcript_has_the_messages_from_before_a_kill_of_the_referee() {
    let mut game = Match::start("3s");
    game.wait_for(r#""event":"started""#);
    game.kill_referee();
    let said = game.transcript();
    let resumed = said.iter().position(|said| said["resumed"] == true);
    let resumed = resumed.unwrap_or_else(|| panic!("no mark in {said:#?}"));
    let mut before = kinds(&said[..resumed]);
    before.sort_unstable();
    let expected = [
        "GAME_INVITATION",
        "GAME_INVITATION",
        "GAME_JOIN_ACK",
        "GAME_JOIN_ACK",
    ];
    assert_eq!(before[before.len() - 4..], expected, "{before:?}");
    let after = kinds(&said[resumed..]);
    assert!(
        after.contains(&"MATCH_RESULT_REPORT".to_owned()),
        "{after:?}"
    );
    assert!(
        said[resumed + 1..]
            .iter()
            .all(|said| said["resumed"].is_null())
    );
    game.manager.process.stop();
    game.ground.verified();
}

#[test]
fn hidden_choice_is_a_hash_in_every_file_until_the_end() {
    for is_killed in [false, true] {
        let mut game = Match::start("3s");
        game.wait_for(r#""message_type":"CHOOSE_PARITY_RESPONSE""#);
        for file in ["data", "logs"]
            .iter()
            .flat_map(|folder| game.ground.files(folder))
        {
            let text = plain(&file);
            assert!(
                !text.contains(r#"parity_choice":"even"#),
                "{}: {text}",
                file.display()
            );
        }
        if is_killed {
            game.kill_referee();
        }
        let said = game.transcript();
        let from_first = |said: &&Value| {
            said["from"] == "player:P01" && said["message_type"] == "CHOOSE_PARITY_RESPONSE"
        };
        let chosen: Vec<&Value> = said.iter().filter(from_first).collect();
        let seal = &chosen[0]["seal"];
        assert_eq!(seal["hash"].as_str().unwrap().len(), 64);
        assert_eq!(seal["salt"].is_null(), is_killed, "{seal}");
        let shown = chosen
            .iter()
            .filter(|said| said["message"]["parity_choice"] == "even");
        assert_eq!(shown.count(), 1, "{chosen:#?}");
        assert_eq!(chosen[0]["message"].is_null(), is_killed);
        game.manager.process.stop();
        game.ground.verified();
    }
}
