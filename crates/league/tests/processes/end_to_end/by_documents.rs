//! A referee written by 000 §5.4 and §8.7 alone: it knows no order of ours, shows its own token to
//! players, draws a number itself and reports it without a proof.

use std::sync::{Arc, OnceLock};
use std::thread;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::http::{call, message};
use crate::end_to_end::process::{eventually, league};
use crate::end_to_end::scripted::{Does, Scripted};
use crate::end_to_end::stepped::admin_token;

/// What the referee knows of its league, once it is registered.
struct Membership {
    manager: String,
    token: String,
    id: String,
}

/// The referee; `meddles` is told each match before it is reported.
struct Documented {
    server: Scripted,
    membership: Arc<OnceLock<Membership>>,
}

impl Documented {
    fn start(meddles: impl Fn(&Membership, &Value) + Send + Sync + 'static) -> Self {
        Self::start_by("notify_round", meddles)
    }

    /// One that knows announcements by this method.
    fn start_by(
        method: &'static str,
        meddles: impl Fn(&Membership, &Value) + Send + Sync + 'static,
    ) -> Self {
        let membership: Arc<OnceLock<Membership>> = Arc::default();
        let (known, meddles) = (Arc::clone(&membership), Arc::new(meddles));
        let server = Scripted::start_by(move |by, said| match said["message_type"].as_str() {
            Some("ROUND_ANNOUNCEMENT") if by == method => {
                for row in said["matches"].as_array().unwrap().clone() {
                    let (known, meddles) = (Arc::clone(&known), Arc::clone(&meddles));
                    let round = said["round_id"].clone();
                    thread::spawn(move || {
                        let membership = known.get().unwrap();
                        let report = run(membership, &round, &row);
                        meddles(membership, &report);
                        let _ = report_match(membership, &report);
                    });
                }
                Does::Answers(json!({"status": "ok"}))
            }
            Some("LEAGUE_COMPLETED") => Does::Answers(json!({"status": "ok"})),
            None if said.is_null() || *said == json!({}) => Does::Answers(json!({"status": "ok"})),
            _ => Does::IsUnaware,
        });
        Self { server, membership }
    }

    /// Registers as §5.4.2 shows it, after the organiser has let it in.
    fn register(&self, ground: &Ground, manager: &Agent) {
        let invited = json!({
            "auth_token": admin_token(ground), "lever": "admit_referee",
            "contact_endpoint": self.server.endpoint,
        });
        call(&manager.endpoint, "admin", &invited);
        let meta = json!({
            "display_name": "By the documents", "version": "1.0.0", "game_types": ["even_odd"],
            "contact_endpoint": self.server.endpoint, "max_concurrent_matches": 2,
        });
        let wish = json!({"referee_meta": meta});
        let answer = call(&manager.endpoint, "register_referee", &wish);
        let membership = Membership {
            manager: manager.endpoint.clone(),
            token: answer["auth_token"].as_str().unwrap().to_owned(),
            id: answer["referee_id"].as_str().unwrap().to_owned(),
        };
        assert!(self.membership.set(membership).is_ok());
    }
}

/// Plays a match as §8.7 tells it, and gives the report.
fn run(own: &Membership, round: &Value, row: &Value) -> Value {
    let sender = format!("referee:{}", own.id);
    let seats = ["A", "B"].map(|seat| row[format!("player_{seat}_id")].as_str().unwrap());
    let endpoints = ["A", "B"].map(|seat| row[format!("player_{seat}_endpoint")].as_str().unwrap());
    let say = |seat: usize, kind: &str, tool: &str, says: &Value| {
        let said = message(kind, &sender, Some(&own.token), says);
        call(endpoints[seat], tool, &said)
    };
    for seat in [0, 1] {
        let role = ["PLAYER_A", "PLAYER_B"][seat];
        let says = json!({
            "league_id": LEAGUE, "round_id": round, "match_id": row["match_id"],
            "game_type": "even_odd", "role_in_match": role, "opponent_id": seats[1 - seat],
        });
        let joined = say(seat, "GAME_INVITATION", "handle_game_invitation", &says);
        assert_eq!(joined["accept"], true, "{joined}");
    }
    let choices = [0, 1].map(|seat| {
        let standings = json!({"wins": 0, "losses": 0, "draws": 0});
        let context = json!({
            "opponent_id": seats[1 - seat], "round_id": round, "your_standings": standings,
        });
        let says = json!({
            "match_id": row["match_id"], "player_id": seats[seat], "game_type": "even_odd",
            "context": context, "deadline": "2099-01-15T10:15:35Z",
        });
        let chosen = say(seat, "CHOOSE_PARITY_CALL", "choose_parity", &says);
        chosen["parity_choice"].as_str().unwrap().to_owned()
    });
    let right = choices.each_ref().map(|choice| choice == "even");
    let winner = match right {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    };
    let chosen = json!({seats[0]: choices[0], seats[1]: choices[1]});
    let over = json!({
        "match_id": row["match_id"], "game_type": "even_odd",
        "game_result": {
            "status": if winner.is_some() { "WIN" } else { "DRAW" },
            "winner_player_id": winner.map(|seat| seats[seat]), "drawn_number": 8,
            "number_parity": "even", "choices": chosen, "reason": "the number was 8",
        },
    });
    for seat in [0, 1] {
        say(seat, "GAME_OVER", "notify_match_result", &over);
    }
    let points = |seat: usize| match winner {
        None => 1,
        Some(winner) if winner == seat => 3,
        Some(_) => 0,
    };
    json!({
        "league_id": LEAGUE, "round_id": round, "match_id": row["match_id"],
        "game_type": "even_odd",
        "result": {
            "winner": winner.map(|seat| seats[seat]),
            "score": {seats[0]: points(0), seats[1]: points(1)},
            "details": {"drawn_number": 8, "choices": chosen},
        },
    })
}

fn report_match(own: &Membership, report: &Value) -> Value {
    let sender = format!("referee:{}", own.id);
    let said = message("MATCH_RESULT_REPORT", &sender, Some(&own.token), report);
    call(&own.manager, "report_match_result", &said)
}

/// What `league verify` says of a league that it finds consistent.
fn verdict(ground: &Ground) -> Value {
    let ended = league(["verify", ground.root(), "--output", "json"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    serde_json::from_str(ended.out.lines().next_back().unwrap()).unwrap()
}

#[test]
fn referee_by_the_documents_runs_a_whole_league() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "4", "--referees", "1"]);
    let referee = Documented::start(|_, _| ());
    referee.register(&ground, &manager);
    let _players: Vec<Agent> = (1..=4)
        .map(|number| ground.player(number, &manager.endpoint, &[]))
        .collect();
    manager.process.event("state", "completed");
    let results = ground.results();
    assert_eq!(results.len(), 6);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
        assert_eq!(result["details"]["drawn_number"], 8, "{id}: {result}");
        assert!(result["draw"].is_null(), "{id}: {result}");
    }
    // The order that it does not know was sent in the first round, and never again.
    let unknown = referee.server.all("START_MATCH");
    assert!(
        unknown.iter().all(|order| order["round_id"] == 1),
        "{unknown:?}"
    );
    assert_eq!(ground.facts("referee_by_documents").len(), 1);
    assert_eq!(ground.facts("matches_moved"), [] as [Value; 0]);
    let rounds = std::fs::read_to_string(ground.league("rounds.json")).unwrap();
    assert_eq!(rounds.matches("\"draw_not_proven\"").count(), 6, "{rounds}");
    let verdict = verdict(&ground);
    assert_eq!(verdict["draws_not_proven"], 6, "{verdict}");
    assert_eq!(verdict["exposed_referees"], json!(["REF01"]), "{verdict}");
    assert_eq!(verdict["matches"]["told"], 6, "{verdict}");
    assert_eq!(verdict["checked"]["disputed"], json!([]), "{verdict}");
    let shown = league(["verify", ground.root()]).out;
    assert!(shown.contains("draw not proven in 6 matches"), "{shown}");
    assert!(shown.contains("referee token exposed: REF01"), "{shown}");
}

#[test]
fn order_by_an_announcement_is_tried_in_the_other_forms_of_a_call() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    let referee = Documented::start_by("ROUND_ANNOUNCEMENT", |_, _| ());
    referee.register(&ground, &manager);
    let _players = [1, 2].map(|number| ground.player(number, &manager.endpoint, &[]));
    manager.process.event("state", "completed");
    assert!(ground.results()["R1M1"]["draw"].is_null());
    assert_eq!(ground.facts("matches_moved"), [] as [Value; 0]);
}

#[test]
fn match_with_two_reports_waits_for_a_referee_that_proves_its_draws() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    // A player that has seen the token reports first, and says that the match was a draw.
    let referee = Documented::start(|own, report| {
        let mut forged = report.clone();
        let score = forged["result"]["score"].as_object_mut().unwrap();
        let mut choices = serde_json::Map::new();
        for (player, points) in score {
            *points = 1.into();
            choices.insert(player.clone(), "odd".into());
        }
        forged["result"]["winner"] = Value::Null;
        forged["result"]["details"]["choices"] = choices.into();
        let answer = report_match(own, &forged);
        assert_ne!(answer["message_type"], "LEAGUE_ERROR", "{answer}");
    });
    referee.register(&ground, &manager);
    let _players = [1, 2].map(|number| {
        ground.player(
            number,
            &manager.endpoint,
            &[
                "--strategy",
                ["always-even", "always-odd"][number as usize - 1],
            ],
        )
    });
    eventually(|| (!ground.facts("report_conflicted").is_empty()).then_some(())).unwrap();
    assert!(ground.results().is_empty());
    // The organiser lets another referee in, which plays the match with a proven draw.
    let port = crate::end_to_end::process::free_port();
    let endpoint = format!("http://localhost:{port}/mcp");
    let invited = json!({
        "auth_token": admin_token(&ground), "lever": "admit_referee", "contact_endpoint": endpoint,
    });
    call(&manager.endpoint, "admin", &invited);
    let _other = ground.referee_at(port, 2, &manager.endpoint, &[]);
    manager.process.event("state", "completed");
    let results = ground.results();
    assert!(results["R1M1"]["draw"]["seed"].is_string(), "{results:?}");
    let verdict: Value = {
        let ended = league(["verify", ground.root(), "--output", "json"]);
        serde_json::from_str(ended.out.lines().next_back().unwrap()).unwrap()
    };
    assert_eq!(verdict["wrong"], Value::Null, "{verdict}");
    assert_eq!(
        verdict["attempts_above_1"][0]["why"], "reports differ",
        "{verdict}"
    );
}

#[test]
fn league_of_proven_draws_gives_no_match_to_a_referee_by_the_documents() {
    let ground = Ground::new();
    let rules = format!("config/leagues/{LEAGUE}.json");
    ground.write(&rules, &json!({"draws": "proven"}));
    let mut manager = ground.manager(&["--players", "2", "--referees", "2"]);
    let referee = Documented::start(|_, _| ());
    referee.register(&ground, &manager);
    let _other = ground.referee(2, &manager.endpoint, &[]);
    let _players = [1, 2].map(|number| ground.player(number, &manager.endpoint, &[]));
    manager.process.event("state", "completed");
    assert_eq!(referee.server.all("ROUND_ANNOUNCEMENT"), [] as [Value; 0]);
    assert!(ground.results()["R1M1"]["draw"]["seed"].is_string());
    assert!(ground.facts("referee_by_documents").is_empty());
}

/// Lets our referee play a match for a manager that gave it no token, by this order.
fn play_for_a_foreign_manager(method: &str, order: impl Fn(&str, [&str; 2]) -> Value) {
    let ground = Ground::hasty();
    let manager = Scripted::start(|said| {
        Does::Answers(match said["message_type"].as_str() {
            Some("REFEREE_REGISTER_REQUEST") => json!({
                "protocol": "league.v2", "message_type": "REFEREE_REGISTER_RESPONSE",
                "sender": "league_manager", "timestamp": "2025-01-15T10:05:01Z",
                "conversation_id": "conv", "status": "ACCEPTED", "referee_id": "REF01",
                "auth_token": "tok-ref01-abc123", "league_id": "theirs", "reason": null,
            }),
            _ => json!({"status": "ok"}),
        })
    });
    let players = ["even", "odd"].map(|choice| {
        Scripted::start(move |said| {
            Does::Answers(match said["message_type"].as_str() {
                Some("CHOOSE_PARITY_CALL") => crate::end_to_end::scripted::choice(said, choice),
                _ => crate::end_to_end::scripted::fair(said),
            })
        })
    });
    let mut referee = ground.referee(1, &manager.endpoint, &[]);
    referee.process.event("state", "enrolled");
    let endpoints = players.each_ref().map(|player| player.endpoint.as_str());
    let answer = call(
        &referee.endpoint,
        method,
        &order(&referee.endpoint, endpoints),
    );
    assert_ne!(answer["message_type"], "LEAGUE_ERROR", "{answer}");
    let report = manager.heard("MATCH_RESULT_REPORT");
    assert_eq!(report["match_id"], "R1M1", "{report}");
    let number = report["result"]["details"]["drawn_number"]
        .as_u64()
        .unwrap();
    let winner = ["P01", "P02"][usize::from(number % 2 == 1)];
    assert_eq!(report["result"]["winner"], winner, "{report}");
    for player in &players {
        let over = player.heard("GAME_OVER");
        assert_eq!(over["game_result"]["winner_player_id"], winner, "{over}");
        // The token that it reports with is for its manager alone.
        let shown = player.messages();
        assert!(
            shown
                .iter()
                .all(|said| said["auth_token"] != "tok-ref01-abc123")
        );
    }
    assert_eq!(manager.all("DRAW_REQUEST"), [] as [Value; 0]);
}

#[test]
fn our_referee_takes_its_order_from_an_announcement_of_a_foreign_manager() {
    play_for_a_foreign_manager("notify_round", |own, [a, b]| {
        let row = json!({
            "match_id": "R1M1", "game_type": "even_odd", "player_A_id": "P01",
            "player_B_id": "P02", "referee_endpoint": own, "player_A_endpoint": a,
            "player_B_endpoint": b,
        });
        let other = json!({
            "match_id": "R1M2", "game_type": "even_odd", "player_A_id": "P03",
            "player_B_id": "P04", "referee_endpoint": "http://localhost:1/mcp",
            "player_A_endpoint": a, "player_B_endpoint": b,
        });
        let round = json!({"league_id": "theirs", "round_id": 1, "matches": [row, other]});
        message("ROUND_ANNOUNCEMENT", "league_manager", None, &round)
    });
}

#[test]
fn our_referee_takes_an_order_in_other_words_from_a_foreign_manager() {
    play_for_a_foreign_manager("assign_match", |_, [a, b]| {
        json!({
            "message_type": "MATCH_ASSIGNMENT", "league_id": "theirs", "round_id": 1,
            "match": {"match_id": "R1M1", "players": [
                {"player_id": "P01", "endpoint": a}, {"player_id": "P02", "endpoint": b},
            ]},
        })
    });
}
