//! Leagues whose matches wait for people: `league admin step`, and the referee's tools by hand.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::call;
use crate::end_to_end::process::{Process, ProcessExit, eventually, league};

/// A match of two players that waits to be stepped, and the endpoint of its manager.
pub(crate) fn waiting() -> (Ground, Process, String) {
    let ground = Ground::new();
    let arguments = [
        "--manual",
        "--ports",
        "auto",
        "--players",
        "2",
        "--referees",
        "1",
    ];
    let mut run = ground.start("run", &arguments);
    let opening = run.event("event", "league");
    let manager = opening["manager"].as_str().unwrap().to_owned();
    (ground, run, manager)
}

/// The token that steers the league.
pub(crate) fn admin_token(ground: &Ground) -> String {
    secret(ground, &format!("{LEAGUE}/manager.json"), "admin_token")
}

pub(crate) fn referee_key(ground: &Ground) -> String {
    secret(ground, "referee_key.json", "referee_key")
}

fn secret(ground: &Ground, file: &str, name: &str) -> String {
    let keys = ground.path("secrets").join(file);
    let keys: Value = serde_json::from_str(&std::fs::read_to_string(keys).unwrap()).unwrap();
    keys[name].as_str().unwrap().to_owned()
}

fn step(ground: &Ground, manager: &str, match_id: &str) -> ProcessExit {
    let common = [
        "admin",
        "step",
        match_id,
        "--root",
        ground.root(),
        "--manager",
        manager,
    ];
    league(common.iter().chain(&["--output", "json"]))
}

/// Steps when a step is due, and says what it was and where the match is then.
fn next_step(ground: &Ground, manager: &str) -> (Value, Value) {
    next_step_of(ground, manager, "R1M1")
}

fn next_step_of(ground: &Ground, manager: &str, match_id: &str) -> (Value, Value) {
    let step = || Some(step(ground, manager, match_id));
    let ended = eventually(|| step().filter(|ended| ended.code == Some(0)));
    let stepped: Value = serde_json::from_str(&ended.unwrap().out).unwrap();
    (stepped["step"].clone(), stepped["state"].clone())
}

#[test]
fn match_goes_forward_a_step_at_a_time() {
    let (ground, mut run, manager) = waiting();
    let (first, _) = next_step(&ground, &manager);
    assert_eq!(first, "collect_choices");
    assert_eq!(
        next_step(&ground, &manager),
        (json!("draw_number"), json!("DRAWING_NUMBER"))
    );
    assert_eq!(
        next_step(&ground, &manager),
        (json!("finalize_match"), json!("FINISHED"))
    );
    run.event("event", "standings");
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ground.verified()["results"], 1);
}

#[test]
fn waiting_league_is_resumed_and_still_waits() {
    let (ground, run, _) = waiting();
    run.signal(Signal::INT);
    assert_eq!(run.end().code, Some(130));
    let again = ["run", "--resume", "--root", ground.root()];
    let mut again = Process::start(again);
    again.line(|line| line.contains("each match waits for steps, such as `league admin step R1M1"));
}

#[test]
fn tools_of_the_referee_take_only_the_token_of_the_match() {
    let (ground, mut run, manager) = waiting();
    let admin = admin_token(&ground);
    let ask = |token: Value| {
        let wanted = json!({"match_id": "R1M1", "auth_token": token});
        call(&manager, "get_step_token", &wanted)
    };
    assert_eq!(ask(json!("tok-admin-guessed"))["error_code"], "E012");
    assert_eq!(ask(json!(null))["error_code"], "E011");
    let reins =
        eventually(|| Some(ask(json!(admin))).filter(|told| told["step_token"].is_string()));
    let reins = reins.unwrap();
    let referee = reins["contact_endpoint"].as_str().unwrap();
    let tool = |name: &str, token: &Value| {
        let arguments = json!({"match_id": "R1M1", "auth_token": token});
        call(referee, name, &arguments)
    };
    // The administrator's own token is the manager's business alone.
    assert_eq!(tool("collect_choices", &json!(admin))["error_code"], "E012");
    assert_eq!(tool("collect_choices", &Value::Null)["error_code"], "E011");
    let token = &reins["step_token"];
    assert_eq!(tool("finalize_match", token)["error_code"], "E007");
    for name in ["collect_choices", "draw_number", "finalize_match"] {
        let taken =
            eventually(|| Some(tool(name, token)).filter(|told| told["error_code"].is_null()));
        assert!(taken.is_some(), "{name}");
    }
    run.event("event", "standings");
}

#[test]
fn player_comes_late_to_a_swiss_tournament_and_is_paired_in_the_next_round() {
    let ground = Ground::new();
    let swiss = json!({
        "league_id": LEAGUE, "format": "swiss", "rounds": 2, "late_entry": true,
    });
    ground.write(&format!("config/leagues/{LEAGUE}.json"), &swiss);
    let mut manager = ground.manager(&["--manual", "--players", "4", "--referees", "1"]);
    let mut others = vec![ground.referee(1, &manager.endpoint, &[])];
    let mut enter = |number| {
        let mut player = ground.player(number, &manager.endpoint, &[]);
        player.process.event("state", "enrolled");
        others.push(player);
    };
    (1..=4).for_each(&mut enter);
    // The matches of the first round wait for steps.
    eventually(|| ground.facts("round_opened").pop());
    enter(5);
    let play = |match_id: &str| {
        while next_step_of(&ground, &manager.endpoint, match_id).1 != "FINISHED" {}
    };
    ["R1M1", "R1M2"].iter().copied().for_each(play);
    let second = eventually(|| ground.facts("round_opened").into_iter().nth(1)).unwrap();
    assert!(second["pairings"].to_string().contains("P05"), "{second}");
    assert_eq!(second["byes"].as_array().unwrap().len(), 1, "{second}");
    let refused = ground.player(6, &manager.endpoint, &[]).process.end();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let why = "Registration closed: the league has begun, and its last round too";
    assert!(refused.errors.contains(why), "{refused:?}");
    ["R2M1", "R2M2"].iter().copied().for_each(play);
    manager.process.event("state", "completed");
    assert_eq!(ground.verified()["results"], 4);
}
