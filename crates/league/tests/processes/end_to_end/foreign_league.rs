//! Our player in leagues of other people's managers and referees, with habits seen in public ones.

use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::{health, request};
use crate::end_to_end::scripted::{Does, Scripted};

/// How a foreign league is run.
struct Habits {
    /// What a registration is answered with.
    admits: Value,
    /// The tools, or whatever stands in `method`: invitation, choice, end of a match.
    methods: [&'static str; 3],
    /// Whether messages say their type and protocol.
    typed: bool,
    /// What an invitation says, besides the match.
    invitation: Value,
    /// What the question for a choice says, besides the match.
    question: Value,
    /// How a match ends, besides which.
    end: Value,
    /// The ids of three matches.
    matches: [Value; 3],
}

#[test]
fn league_whose_manager_gives_no_tokens_is_played_to_its_end() {
    play(&Habits {
        admits: json!({
            "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_RESPONSE",
            "sender": "league_manager", "timestamp": "2025-01-15T10:00:01Z",
            "conversation_id": "conv", "status": "REGISTERED", "player_id": "P01",
            "league_id": "somebody_elses_league",
        }),
        methods: ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"],
        typed: true,
        invitation: json!({
            "sender": "referee:REF01", "league_id": "another_name", "round_id": 1,
            "game_type": "EVEN_ODD", "role_in_match": "player_a",
        }),
        question: json!({
            "sender": "referee:REF01", "player_id": "P01", "game_type": "EVEN_ODD",
            "context": {"round_id": 1}, "deadline": "2020-01-01T00:00:00Z",
        }),
        end: json!({
            "sender": "referee:REF01", "game_type": "EVEN_ODD",
            "game_result": {
                "status": "WIN", "winner_player_id": "P02", "drawn_number": 77,
                "number_parity": "odd", "choices": {"P01": "even", "P02": "odd"},
                "reason": "P02 was right",
            },
        }),
        matches: ["match-1", "4f6ff1a4-9d0f-4d7d-9a1e-1d6b9d1cf0aa", "R1M1"].map(Value::from),
    });
}

#[test]
fn terse_league_with_its_own_names_is_played_to_its_end() {
    play(&Habits {
        admits: json!({"status": "SUCCESS", "playerId": "player-alpha", "token": "tok_abc"}),
        methods: ["handle_invitation", "parity_choose", "game_over"],
        typed: false,
        invitation: json!({"role": "player_b"}),
        question: json!({}),
        end: json!({"result": "win", "drawn_number": 0, "your_choice": "even"}),
        matches: ["M1", "M2", "M3"].map(Value::from),
    });
}

#[test]
fn senseless_ends_of_matches_are_acknowledged() {
    play(&Habits {
        admits: json!({"status": "ok", "data": {"player_id": "P01"}}),
        methods: ["mcp_message", "mcp_message", "mcp_message"],
        typed: true,
        invitation: json!({"opponent_id": "P02", "round_id": "ROUND_1", "role": "PLAYER_B"}),
        question: json!({"deadline": "2099-01-01T00:00:00Z"}),
        end: json!({
            "game_result": {"status": "WIN", "winner_player_id": "P08", "choices": {"P07": 1}},
        }),
        matches: [1, 2, 3].map(Value::from),
    });
}

/// Runs a league by these habits, and sees that our player never answers with an error.
fn play(habits: &Habits) {
    let ground = Ground::hasty();
    let admits = habits.admits.clone();
    let manager = Scripted::start(move |said| {
        Does::Answers(match said["message_type"].as_str() {
            Some("LEAGUE_REGISTER_REQUEST") => admits.clone(),
            _ => json!({"status": "ok"}),
        })
    });
    let arguments = ["--exit-when-done", "--name", "Visitor"];
    let mut player = ground.player(1, &manager.endpoint, &arguments);
    player.process.event("state", "enrolled");
    for match_id in &habits.matches {
        play_match(habits, &player, match_id);
    }
    let told = [
        ("notify_round_started", json!({"round": 2})),
        (
            "ROUND_STARTED",
            json!({"message_type": "ROUND_STARTED", "round_id": 2}),
        ),
        (
            "update_standings",
            json!({"message_type": "LEAGUE_STANDINGS_UPDATE", "table": []}),
        ),
    ];
    for (method, news) in told {
        say(&player.endpoint, method, &news);
    }
    let health = health(&player.endpoint);
    assert_eq!(health["state"], "ACTIVE", "{health}");
    let end = json!({
        "message_type": "LEAGUE_COMPLETED", "protocol": "league.v2", "sender": "league_manager",
        "league_id": "yet_another_name", "total_rounds": 3, "total_matches": 3,
        "champion": {"player_id": "P02", "display_name": "Beta", "points": 9},
        "final_standings": [{"rank": 1, "player_id": "P02", "points": 9}],
    });
    say(&player.endpoint, "notify_league_completed", &end);
    let ended = player.process.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

fn play_match(habits: &Habits, player: &Agent, match_id: &Value) {
    let message = |kind: &str, more: &Value| {
        let mut message = match habits.typed {
            true => json!({"protocol": "league.v2", "message_type": kind}),
            false => json!({}),
        };
        message["match_id"] = match_id.clone();
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        message
    };
    let [invite, choose, over] = habits.methods;
    let invitation = message("GAME_INVITATION", &habits.invitation);
    let joined = say(&player.endpoint, invite, &invitation);
    assert_eq!(joined["accept"], true, "{joined}");
    assert_eq!(joined["accepted"], true, "{joined}");
    let named = match_id
        .as_str()
        .map_or(match_id.to_string(), str::to_owned);
    assert_eq!(joined["match_id"], named, "{joined}");
    let question = message("CHOOSE_PARITY_CALL", &habits.question);
    let chosen = say(&player.endpoint, choose, &question);
    let choice = chosen["parity_choice"].as_str().unwrap();
    assert!(["even", "odd"].contains(&choice), "{chosen}");
    assert_eq!(chosen["choice"], choice, "{chosen}");
    say(&player.endpoint, over, &message("GAME_OVER", &habits.end));
}

/// Calls the player, and gives its answer, which must be none of its errors.
fn say(endpoint: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = request(endpoint, "POST", "/mcp", body.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    assert_ne!(answer["result"]["message_type"], "LEAGUE_ERROR", "{answer}");
    answer["result"].clone()
}

#[test]
fn ends_of_matches_in_other_shapes_reach_the_history() {
    let ground = Ground::hasty();
    let manager = Scripted::start(|said| {
        Does::Answers(match said["message_type"].as_str() {
            Some("LEAGUE_REGISTER_REQUEST") => json!({"status": "ok", "player_id": "P01"}),
            _ => json!({"status": "ok"}),
        })
    });
    let mut player = ground.player(1, &manager.endpoint, &["--name", "Visitor"]);
    player.process.event("state", "enrolled");
    let ends = [
        (
            "LOSS",
            json!({"status": "LOSS", "drawn_number": 7, "your_choice": "even"}),
        ),
        ("WIN", json!({"winner": "P01"})),
        (
            "LOSS",
            json!({"status": "WIN", "winner_player_id": "P02", "drawn_number": 7}),
        ),
        ("LOSS", json!({"game_result": {"status": "LOSS"}})),
        ("DRAW", json!({"result": "TIE", "drawn_number": 3})),
        (
            "WIN",
            json!({"result": {"winner": "P01", "drawn_number": 4}}),
        ),
    ];
    for (number, (_, end)) in ends.iter().enumerate() {
        let mut says = json!({
            "protocol": "league.v2", "message_type": "GAME_INVITATION", "sender": "referee:REF01",
            "match_id": format!("M{number}"), "opponent_id": "P02", "role_in_match": "PLAYER_A",
            "game_type": "even_odd",
        });
        say(&player.endpoint, "handle_game_invitation", &says);
        says["message_type"] = "CHOOSE_PARITY_CALL".into();
        say(&player.endpoint, "choose_parity", &says);
        let mut over = end.clone();
        for name in ["protocol", "sender", "match_id"] {
            over[name] = says[name].clone();
        }
        over["message_type"] = "GAME_OVER".into();
        say(&player.endpoint, "notify_match_result", &over);
    }
    let state = say(&player.endpoint, "get_player_state", &json!({}));
    let mut history = state["history"].as_array().unwrap().clone();
    history.sort_by_key(|record| record["match_id"].to_string());
    let seen: Vec<_> = history
        .iter()
        .map(|record| record["result"].as_str())
        .collect();
    let expected: Vec<_> = ends.iter().map(|(outcome, _)| Some(*outcome)).collect();
    assert_eq!(seen, expected, "{state}");
    for record in &history {
        assert_eq!(record["opponent_id"], "P02", "{record}");
    }
}

/// A manager that speaks MCP alone and gives ids of its own.
fn mcp_manager() -> Scripted {
    let unknown = json!({"code": -32601, "message": "Method not found"});
    let unknown = json!({"jsonrpc": "2.0", "id": null, "error": unknown}).to_string();
    Scripted::start(move |said| {
        let admits = |kind: &str, id: Value| {
            let mut admission = json!({"message_type": kind, "status": "ACCEPTED"});
            admission["auth_token"] = "theirs".into();
            admission["league_id"] = "their_league".into();
            admission[id["name"].as_str().unwrap()] = id["value"].clone();
            Does::Answers(json!({"content": [], "structuredContent": admission}))
        };
        let schema = json!({"type": "object"});
        match said["name"].as_str() {
            Some("register_player") => admits(
                "LEAGUE_REGISTER_RESPONSE",
                json!({"name": "player_id", "value": "player-alpha"}),
            ),
            Some("register_referee") => admits(
                "REFEREE_REGISTER_RESPONSE",
                json!({"name": "referee_id", "value": "whistle-7"}),
            ),
            _ if said["protocolVersion"].is_string() => Does::Answers(json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "theirs", "version": "1"},
            })),
            _ if said.as_object().is_some_and(serde_json::Map::is_empty) => {
                let tools = ["register_player", "register_referee", "league_query"];
                let tools = tools.map(|name| json!({"name": name, "inputSchema": schema}));
                Does::Answers(json!({"tools": tools}))
            }
            _ => Does::Sends(unknown.clone().into_bytes()),
        }
    })
}

#[test]
fn manager_that_speaks_mcp_alone_admits_our_agents_under_its_ids() {
    let ground = Ground::hasty();
    let manager = mcp_manager();
    let mut player = ground.player(3, &manager.endpoint, &["--name", "Two Words"]);
    player.process.event("state", "enrolled");
    let state = say(&player.endpoint, "get_player_state", &json!({}));
    assert_eq!(state["player_id"], "player-alpha", "{state}");
    let mut referee = ground.referee(1, &manager.endpoint, &["--name", "Two Words"]);
    referee.process.event("state", "enrolled");
    assert_eq!(health(&referee.endpoint)["agent"], "referee:whistle-7");

    let calls = manager.calls();
    for (tool, sender) in [
        ("register_player", "player:P03"),
        ("register_referee", "referee:REF01"),
    ] {
        let mut called = calls.iter().filter(|said| said["name"] == tool);
        let call = called.next().unwrap_or_else(|| panic!("{tool}: {calls:?}"));
        assert_eq!(call["arguments"]["sender"], sender, "{call}");
    }
}

#[test]
fn host_that_sends_no_frames_finds_answers_beside_the_result() {
    let ground = Ground::hasty();
    let admission = json!({
        "message_type": "LEAGUE_REGISTER_RESPONSE", "status": "ACCEPTED", "player_id": "P01",
    });
    let bare = Scripted::start(move |_| Does::Sends(admission.to_string().into_bytes()));
    let framed =
        Scripted::start(|_| Does::Answers(json!({"status": "ACCEPTED", "player_id": "P02"})));
    for (number, manager, is_beside) in [(1, &bare, true), (2, &framed, false)] {
        let mut player = ground.player(number, &manager.endpoint, &[]);
        player.process.event("state", "enrolled");
        let params = json!({"message_type": "GAME_INVITATION", "match_id": "M1"});
        let body =
            json!({"jsonrpc": "2.0", "id": 7, "method": "GAME_INVITATION", "params": params});
        let answer = request(
            &player.endpoint,
            "POST",
            "/mcp",
            body.to_string().as_bytes(),
        )
        .json();
        assert_eq!(answer["result"]["accept"], true, "{answer}");
        assert_eq!(answer["id"], 7, "{answer}");
        let beside = answer.get("accept").is_some() && answer["message_type"] == "GAME_JOIN_ACK";
        assert_eq!(beside, is_beside, "{answer}");
    }
}

#[test]
fn player_without_a_wish_registers_under_its_name_without_blanks() {
    let ground = Ground::hasty();
    let manager = Scripted::start(|_| Does::Answers(json!({"status": "ok", "player_id": "7"})));
    let own = [
        "--port",
        "0",
        "--name",
        "Two  Words",
        "--manager",
        &manager.endpoint,
    ];
    let _player = ground.start("player", &own);
    let said = manager.heard("LEAGUE_REGISTER_REQUEST");
    assert_eq!(said["sender"], "player:Two_Words", "{said}");
    assert_eq!(said["player_meta"]["display_name"], "Two  Words", "{said}");
}
