//! Players on the crate `league-kit`: in real leagues, with proofs, whatever their authors do.

use std::sync::Arc;
use std::thread;

use league_kit::{ChoiceError, Dice, Entrant, Kit, MatchRecord, Think, Value};
use serde_json::json;

use crate::end_to_end::ground::{Ground, LEAGUE, facts};

/// Plays well, and breaks a rule of its own every few moves.
#[derive(Default)]
struct Clumsy {
    moves: u32,
}

impl Entrant for Clumsy {
    fn choose(
        &mut self,
        think: &Think,
        _history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        self.moves += 1;
        match self.moves % 4 {
            1 => Ok(json!("anything")),
            2 => Err("no idea".into()),
            3 => panic!("a slip of the author"),
            _ => Ok(dice.pick(&think.options).ok_or("no option")?.clone()),
        }
    }
}

fn seat(ground: &Ground, name: &str, manager: &str, entrant: impl Entrant + Send + 'static) {
    let kit = Kit {
        port: 0,
        manager: manager.to_owned(),
        memory: Some(ground.path(&format!("{name}.jsonl"))),
        ..Kit::new(name)
    };
    // It plays until the tests end; a kit that cannot play leaves the league incomplete.
    thread::spawn(move || panic!("{}", kit.play(entrant)));
}

#[test]
fn kits_in_rust_play_a_strict_league_and_their_mistakes_cost_no_match() {
    let ground = Ground::new();
    let rules = json!({"league_id": LEAGUE, "strictness": "strict"});
    ground.write(&format!("config/leagues/{LEAGUE}.json"), &rules);
    let game = ["--game", "connect_four", "--league-id", LEAGUE];
    let seats = ["--players", "3", "--referees", "1"];
    let mut manager = ground.manager(&[&game[..], &seats].concat());
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    // `http://` and `/mcp` may be left out.
    let short = manager.endpoint.trim_start_matches("http://");
    let short = short.trim_end_matches("/mcp");
    seat(&ground, "Clumsy", short, Clumsy::default());
    let greedy = league_kit::strategy::find("greedy").unwrap();
    seat(&ground, "Greedy", &manager.endpoint, greedy);
    let _own = ground.player(3, &manager.endpoint, &[]);
    manager.process.event("state", "completed");
    let results = facts(&ground.league("journal.jsonl"), "result_recorded");
    assert_eq!(results.len(), 3);
    for fact in &results {
        let result = &fact["result"];
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{fact}");
        let moves = result["evidence"]["moves"].as_array().unwrap();
        let unproven = moves.iter().filter(|made| made["proof"].is_null());
        assert_eq!(unproven.count(), 0, "{fact}");
    }
    ground.verified();
}
