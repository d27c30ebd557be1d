//! Callers that forge, steal, repeat and shout, against a league that is being played.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::http::{call, health, message, request};
use crate::end_to_end::process::eventually;
use crate::end_to_end::scripted::{Does, Scripted, choice, fair, registration};

/// What the thief brings to the draw of its match.
const NONCE: &str = "c0ffee00c0ffee00c0ffee00c0ffee00";

/// A league of one match, in which a thief plays against one of ours, who thinks for a while.
struct Scene {
    ground: Ground,
    manager: Agent,
    referees: [Agent; 2],
    player: Agent,
}

impl Scene {
    fn new() -> Self {
        let ground = Ground::new();
        let manager = ground.manager(&["--players", "2", "--referees", "2"]);
        let [mut first, second] =
            [1, 2].map(|number| ground.referee(number, &manager.endpoint, &[]));
        let mut player = ground.player(1, &manager.endpoint, &["--pace", "3s"]);
        first.process.event("state", "enrolled");
        player.process.event("state", "enrolled");
        Self {
            ground,
            manager,
            referees: [first, second],
            player,
        }
    }

    fn agents(&self) -> [&Agent; 4] {
        let [first, second] = &self.referees;
        [&self.manager, first, second, &self.player]
    }

    /// The token that an agent keeps in its secret file.
    fn token(&self, agent: &str) -> String {
        let path = format!("secrets/{LEAGUE}/{agent}.json");
        let file = fs::read_to_string(self.ground.path(&path)).unwrap();
        let file: Value = serde_json::from_str(&file).unwrap();
        file["auth_token"].as_str().unwrap().to_owned()
    }

    fn report(&self, sender: &str, token: Option<&str>, says: &Value) -> Value {
        let report = message("MATCH_RESULT_REPORT", sender, token, says);
        call(&self.manager.endpoint, "report_match_result", &report)
    }
}

#[test]
fn forgers_gain_nothing_and_see_no_secret() {
    let mut scene = Scene::new();
    shouting_is_turned_away(&scene);
    strangers_are_not_let_in(&scene.manager.endpoint);
    let thief = Scripted::start(|said| match said["message_type"].as_str() {
        Some("CHOOSE_PARITY_CALL") => {
            let mut answer = choice(said, "even");
            answer["nonce"] = NONCE.into();
            Does::Answers(answer)
        }
        _ => Does::Answers(fair(said)),
    });
    let enrolment = thief.register(&scene.manager.endpoint, "Thief");
    assert_eq!(enrolment["status"], "ACCEPTED", "{enrolment}");
    let own = enrolment["auth_token"].as_str().unwrap();
    let asked = thief.heard("CHOOSE_PARITY_CALL");
    let stolen = asked["auth_token"].as_str().unwrap();

    let (right, wrong) = assigned(&scene.ground);
    forged_reports_are_refused(&scene, [&right, &wrong], own, stolen);
    a_stolen_match_token_opens_no_other_door(&scene, stolen);
    let during = everything(scene.ground.path("").as_path());
    assert_eq!(
        scene.ground.results().len(),
        0,
        "the match was still played"
    );

    scene.manager.process.event("state", "completed");
    let results = scene.ground.results();
    nothing_was_shown_early(&during, &results["R1M1"]);
    a_true_report_counts_once(&scene, &right);
    assert_eq!(scene.ground.results(), results);
    no_token_is_in_a_file(&scene.ground, &[own, stolen]);
    scene.ground.verified();
}

/// What is no call at all gets the answer of HTTP or JSON-RPC that says so.
fn shouting_is_turned_away(scene: &Scene) {
    for agent in scene.agents() {
        let at = agent.endpoint.as_str();
        let large = vec![b' '; 300 * 1024];
        assert_eq!(request(at, "POST", "/mcp", &large).status, 413, "{at}");
        let broken = request(at, "POST", "/mcp", b"{\"jsonrpc\": \"2.0\", ");
        assert_eq!(broken.json()["error"]["code"], -32700, "{broken:?}");
        assert_eq!(request(at, "GET", "/mcp", b"").status, 405, "{at}");
        assert_eq!(request(at, "POST", "/elsewhere", b"{}").status, 404, "{at}");
        assert_eq!(health(at)["status"], "healthy");
    }
    assert_eq!(health(&scene.manager.endpoint)["agent"], "league_manager");
    assert_eq!(
        health(&scene.referees[0].endpoint)["agent"],
        "referee:REF01"
    );
    assert_eq!(health(&scene.player.endpoint)["agent"], "player:P01");
}

fn strangers_are_not_let_in(manager: &str) {
    let outside = registration("Outsider", "http://192.0.2.1:8101/mcp");
    let answer = call(manager, "register_player", &outside);
    assert_eq!(answer["status"], "REJECTED", "{answer}");
    let mut old = registration("Elder", "http://localhost:1/mcp");
    old["player_meta"]["protocol_version"] = "1.0.0".into();
    assert_error(&call(manager, "register_player", &old), "E018");
    let query = json!({
        "league_id": LEAGUE, "query_type": "GET_STANDINGS", "query_params": {},
    });
    let query = message("LEAGUE_QUERY", "player:P01", None, &query);
    assert_error(&call(manager, "league_query", &query), "E011");
}

fn forged_reports_are_refused(scene: &Scene, referees: [&str; 2], own: &str, stolen: &str) {
    let [right, wrong] = referees;
    let (right_token, wrong_token) = (scene.token(right), scene.token(wrong));
    let (right, wrong) = (format!("referee:{right}"), format!("referee:{wrong}"));
    let says = report("R1M1");
    for (sender, token, code) in [
        (&*right, None, "E011"),
        (&*right, Some(&*wrong_token), "E012"),
        (&*right, Some(stolen), "E012"),
        (&*right, Some(own), "E012"),
        ("player:P02", Some(own), "E012"),
        ("referee:REF77", Some(&*right_token), "E013"),
        (&*wrong, Some(&*wrong_token), "E006"),
    ] {
        let answer = scene.report(sender, token, &says);
        assert_error_of(&answer, code, sender);
    }
    let unknown = scene.report(&right, Some(&right_token), &report("R9M9"));
    assert_error(&unknown, "E006");
}

fn a_stolen_match_token_opens_no_other_door(scene: &Scene, stolen: &str) {
    let says = json!({
        "league_id": LEAGUE, "round_id": 1, "match_id": "R1M1", "game_type": "even_odd",
        "role_in_match": "PLAYER_B", "opponent_id": "P02",
    });
    for (token, code) in [(Some(stolen), "E012"), (None, "E011")] {
        let invitation = message("GAME_INVITATION", "referee:REF01", token, &says);
        let player = &scene.player.endpoint;
        let answer = call(player, "handle_game_invitation", &invitation);
        assert_error(&answer, code);
        for referee in &scene.referees {
            let order = message("START_MATCH", "league_manager", token, &order());
            assert_error(&call(&referee.endpoint, "start_match", &order), code);
        }
    }
}

/// An order for a match, as the manager would give it.
fn order() -> Value {
    let player = |id: &str| {
        json!({
            "player_id": id, "contact_endpoint": "http://localhost:1/mcp", "dialect": "v2",
            "token_hash": "00".repeat(32), "match_token": "tok-match", "record":
            {"wins": 0, "losses": 0, "draws": 0},
        })
    };
    json!({
        "league_id": LEAGUE, "round_id": 1, "match_id": "R1M9", "attempt": 1,
        "game_type": "even_odd", "game_settings": {}, "mode": "auto", "strict": false,
        "scoring": {
            "win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0,
        },
        "draw_mode": "chance", "draw_commitment": "00".repeat(32), "order_token": "tok-order", "players": [player("P01"), player("P02")],
    })
}

/// A report of a win by the thief.
fn report(match_id: &str) -> Value {
    json!({
        "league_id": LEAGUE, "round_id": 1, "match_id": match_id, "game_type": "even_odd",
        "result": {
            "winner": "P02", "score": {"P02": 3, "P01": 0},
            "details": {"drawn_number": 8, "choices": {"P01": "odd", "P02": "even"}},
        },
    })
}

/// The referee to which the match was given, and the other.
fn assigned(ground: &Ground) -> (String, String) {
    let opened = &ground.facts("round_opened")[0];
    let right = opened["referees"][0].as_str().unwrap();
    let wrong = if right == "REF01" { "REF02" } else { "REF01" };
    (right.to_owned(), wrong.to_owned())
}

/// The seed and what players bring to the draw are in no file while a match is played.
fn nothing_was_shown_early(during: &str, result: &Value) {
    let draw = &result["draw"];
    let nonces = draw["nonces"].as_array().unwrap();
    assert!(nonces.iter().any(|nonce| nonce == NONCE), "{draw}");
    for secret in nonces.iter().chain([&draw["seed"]]) {
        let secret = secret.as_str().unwrap();
        assert!(!during.contains(secret), "{secret} was shown early");
    }
    for word in ["parity_choice", "\"choices\"", "tok-"] {
        assert!(!during.contains(word), "{word} was shown early");
    }
}

fn a_true_report_counts_once(scene: &Scene, referee: &str) {
    let mut told = eventually(|| report_in_file(&scene.ground)).unwrap();
    told["auth_token"] = scene.token(referee).into();
    let manager = &scene.manager.endpoint;
    let again = call(manager, "report_match_result", &told);
    assert_ne!(again["message_type"], "LEAGUE_ERROR", "{again}");
    assert!(scene.ground.facts("report_conflicted").is_empty());

    told["result"]["details"]["drawn_number"] = 11.into();
    told["result"]["details"]["game"]["drawn_number"] = 11.into();
    told.as_object_mut().unwrap().remove("order_token");
    assert_error(&call(manager, "report_match_result", &told), "E011");
    assert!(scene.ground.facts("report_conflicted").is_empty());
}

/// The report of the match, when its file is written.
fn report_in_file(ground: &Ground) -> Option<Value> {
    let file = ground.path(&format!("data/matches/{LEAGUE}/R1M1.json"));
    let file: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).unwrap();
    let said = file["transcript"].as_array().unwrap();
    let mut said = said.iter().map(|said| &said["message"]);
    said.find(|said| said["message_type"] == "MATCH_RESULT_REPORT")
        .cloned()
}

/// No token stands in a file other than those of its holder.
fn no_token_is_in_a_file(ground: &Ground, tokens: &[&str]) {
    let after = everything(ground.path("").as_path());
    for token in tokens {
        assert!(!after.contains(token), "{token} is in a file");
    }
    assert!(!after.contains("tok-"), "a token is in a file");
}

/// All files below a root except the secret ones, one after the other.
fn everything(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("secrets") {
            continue;
        }
        if path.is_dir() {
            all.push_str(&everything(&path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            all.push_str(&text);
        }
    }
    all
}

fn assert_error(answer: &Value, code: &str) {
    assert_error_of(answer, code, "");
}

fn assert_error_of(answer: &Value, code: &str, case: &str) {
    assert_eq!(answer["message_type"], "LEAGUE_ERROR", "{case}: {answer}");
    assert_eq!(answer["error_code"], code, "{case}: {answer}");
}
