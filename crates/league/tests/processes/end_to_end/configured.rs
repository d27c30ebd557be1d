//! What the configuration says of who plays in `league run`, and what it does not let happen.

use std::fs;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::health;
use crate::end_to_end::process::{ProcessExit, league};

/// Plays with an agents' file.
fn played(agents: &Value, arguments: &[&str]) -> (Ground, ProcessExit) {
    let ground = Ground::new();
    ground.write("config/agents/agents_config.json", agents);
    let auto = ["--ports", "auto", "--referees", "1"];
    let ended = ground.start("run", &[&auto, arguments].concat()).end();
    (ground, ended)
}

/// A player of the configuration.
fn player(number: u32, more: &Value) -> Value {
    let mut player = json!({
        "player_id": format!("P{number:02}"), "display_name": format!("Heron {number}"),
        "default_endpoint": format!("http://localhost:{}/mcp", 8100 + number),
    });
    let members = more.as_object().unwrap().clone();
    player.as_object_mut().unwrap().extend(members);
    player
}

/// Who sat down, by what was kept for `--resume`.
fn seated(ground: &Ground) -> Value {
    let text = fs::read_to_string(ground.league("run.json")).unwrap();
    let seats: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(seats["schema_version"], "1.0.0", "{seats}");
    assert_eq!(seats["league_id"], LEAGUE, "{seats}");
    assert!(seats["last_updated"].is_string(), "{seats}");
    seats
}

#[test]
fn too_many_players_are_refused_with_file_key_and_hint() {
    for (participants, key) in [
        (json!({"min_players": 9}), "`participants.min_players` is 9"),
        (json!({"max_players": 3}), "`participants.max_players` is 3"),
    ] {
        let ground = Ground::new();
        let file = format!("config/leagues/{LEAGUE}.json");
        let league = json!({"league_id": LEAGUE, "participants": participants});
        ground.write(&file, &league);
        let ended = ground.start("run", &["--ports", "auto"]).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        for part in [&file, key, "there are 4", "\nhint: ", "`--players`"] {
            assert!(ended.errors.contains(part), "{part}: {ended:?}");
        }
    }
}

#[test]
fn inactive_agents_are_skipped() {
    let idle = json!({"active": false});
    let referee = json!({
        "referee_id": "REF01", "display_name": "Idle", "active": false,
        "endpoint": "http://localhost:8001/mcp",
    });
    let agents = json!({
        "players": [player(1, &json!({})), player(2, &idle)], "referees": [referee],
    });
    let (ground, ended) = played(&agents, &["--players", "2"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let seats = seated(&ground);
    assert_eq!(seats["players"][0]["name"], "Heron 1");
    assert_eq!(seats["players"][1]["id"], "P03");
    assert_eq!(seats["players"][1]["name"], "Player 3");
    assert_eq!(seats["referees"][0]["id"], "REF02");
}

#[test]
fn flag_overrides_a_configured_strategy() {
    let agents = json!({"players": [player(1, &json!({"strategy": "markov"}))]});
    let two = ["--players", "2"];
    let strategy = |arguments: &[&str]| {
        let (ground, ended) = played(&agents, &[&two, arguments].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        seated(&ground)["players"][0]["strategy"].clone()
    };
    assert_eq!(strategy(&[]), "markov");
    assert_eq!(strategy(&["--strategies", "pattern"]), "pattern");
    let other = ["--game", "tic_tac_toe", "--league-id", LEAGUE];
    assert_eq!(strategy(&other), "random");
}

#[test]
fn unknown_configured_strategy_is_an_error_without_the_flag() {
    let agents = json!({"players": [player(1, &json!({"strategy": "markow"}))]});
    let (_, ended) = played(&agents, &["--players", "2"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for part in ["`markow`", "`markov`", "config/agents/agents_config.json"] {
        assert!(ended.errors.contains(part), "{part}: {ended:?}");
    }
    let (_, ended) = played(&agents, &["--players", "2", "--strategies", "random"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn inconsistent_rules_are_reported_with_file_key_and_hint() {
    for (wrong, key, said) in [
        (
            json!({"game_settings": {"lo": 1}}),
            "`game_settings`",
            "`lo`",
        ),
        (
            json!({"game_settings": {"lowest": 9, "highest": 2}}),
            "`game_settings`",
            "9",
        ),
        (json!({"game_type": "chess"}), "`game_type`", "`chess`"),
        (
            json!({"participants": {"min_players": 8, "max_players": 3}}),
            "`participants`",
            "`8`",
        ),
    ] {
        let ground = Ground::new();
        let file = format!("config/leagues/{LEAGUE}.json");
        let mut league = json!({"league_id": LEAGUE});
        let members = wrong.as_object().unwrap().clone();
        league.as_object_mut().unwrap().extend(members);
        ground.write(&file, &league);
        for command in ["manager", "run"] {
            let ended = ground.start(command, &[]).end();
            assert_eq!(ended.code, Some(2), "{ended:?}");
            for part in [&file, key, said, "\nhint: "] {
                assert!(ended.errors.contains(part), "{part}: {ended:?}");
            }
        }
    }
}

#[test]
fn foreign_listen_address_is_named() {
    let ground = Ground::new();
    let system = json!({"security": {"bind": "192.0.2.1"}});
    ground.write("config/system.json", &system);
    for (command, port) in [("run", ["--ports", "auto"]), ("player", ["--port", "0"])] {
        let ended = ground.start(command, &port).end();
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let hint = "hint: name an address of this machine with `--bind`, or as `security.bind`";
        assert!(ended.errors.contains(hint), "{ended:?}");
    }
}

#[test]
fn root_that_is_a_file_is_not_blamed_on_permissions() {
    let ground = Ground::new();
    let file = ground.path("file");
    fs::write(&file, "no folder").unwrap();
    let ended = league(["run", "--root", file.to_str().unwrap()]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let hint = "hint: a file is in the way: choose a folder with `--root`";
    assert!(ended.errors.contains(hint), "{ended:?}");
}

#[test]
fn list_of_games_is_written_with_the_configuration() {
    let listed = |ground: &Ground| {
        let text = fs::read_to_string(ground.path("config/games/games_registry.json")).unwrap();
        text.contains("\"even_odd\"")
    };
    let ground = Ground::new();
    let _manager = ground.manager(&[]);
    assert!(listed(&ground));
    let (ground, ended) = played(&json!({}), &["--players", "2"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(listed(&ground));
}

#[test]
fn agents_register_with_their_configured_version() {
    let referee = json!({
        "referee_id": "REF01", "display_name": "Whistle", "version": "7.6.5",
        "endpoint": "http://localhost:8001/mcp",
    });
    let agents = json!({
        "players": [player(1, &json!({"version": "9.8.7"}))], "referees": [referee],
    });
    let (ground, ended) = played(&agents, &["--players", "2"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // Agents register in any order.
    let is_in = |kind: &str, version: &str| {
        let mut facts = ground.facts(kind).into_iter();
        facts.any(|fact| fact["meta"]["version"] == version)
    };
    assert!(is_in("player_registered", "9.8.7"));
    assert!(is_in("referee_registered", "7.6.5"));

    let alone = Ground::new();
    alone.write("config/defaults/player.json", &json!({"version": "3.2.1"}));
    let manager = alone.manager(&[]);
    let own = [
        "--port",
        "0",
        "--player-id",
        "P09",
        "--manager",
        &manager.endpoint,
    ];
    alone.start("player", &own).event("state", "enrolled");
    let facts = alone.facts("player_registered");
    assert_eq!(facts[0]["meta"]["version"], "3.2.1");
}

#[test]
fn table_is_ordered_by_the_configured_tiebreakers() {
    let ground = Ground::new();
    let order = [
        "player_id",
        "head_to_head",
        "wins",
        "points",
        "draw_difference",
    ];
    let scoring = json!({"tiebreakers": order});
    ground.write(
        &format!("config/leagues/{LEAGUE}.json"),
        &json!({"league_id": LEAGUE, "scoring": scoring}),
    );
    let ended = ground
        .start("run", &["--ports", "auto", "--seed", "1"])
        .end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = fs::read_to_string(ground.league("standings.json")).unwrap();
    let table: Value = serde_json::from_str(&text).unwrap();
    let rows = table["standings"].as_array().unwrap();
    let ids: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["player_id"].as_str())
        .collect();
    assert_eq!(ids, ["P01", "P02", "P03", "P04"], "{table}");
    let points: Vec<_> = rows
        .iter()
        .filter_map(|row| row["points"].as_u64())
        .collect();
    assert!(
        !points.is_sorted_by(|a, b| a >= b),
        "another seed is needed: {table}"
    );
    ground.verified();
}

#[test]
fn player_joins_the_first_preferred_league_that_takes_it() {
    let (one, two) = (Ground::new(), Ground::new());
    let other = one.manager(&[]);
    let second = two.manager(&["--league-id", "second"]);
    let home = Ground::new();
    let leagues = [("elsewhere", &other.endpoint), ("second", &second.endpoint)];
    for (league, manager) in leagues {
        home.write(
            &format!("config/leagues/{league}.json"),
            &json!({"league_id": league, "manager_endpoint": manager}),
        );
    }
    let prefers = |leagues: &[&str]| {
        let player = player(1, &json!({"preferred_leagues": leagues}));
        home.write(
            "config/agents/agents_config.json",
            &json!({"players": [player]}),
        );
        home.start("player", &["--port", "0", "--player-id", "P01"])
    };
    let ended = prefers(&["elsewhere"]).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let told = format!(
        "no preferred league takes it: {} holds `{LEAGUE}`",
        other.endpoint
    );
    assert!(ended.errors.contains(&told), "{ended:?}");
    let mut player = prefers(&["elsewhere", "second"]);
    player.event("state", "enrolled");
    assert_eq!(health(&second.endpoint)["players"], 1);
    assert_eq!(health(&other.endpoint)["players"], 0);
}

#[test]
fn every_format_is_played_and_verified() {
    for (format, players, settings, matches) in [
        ("swiss", "7", &[][..], 9),
        ("knockout", "5", &[], 5),
        ("double_elimination", "5", &[], 8),
        ("groups", "7", &["--groups", "2"], 13),
        ("gauntlet", "4", &[], 3),
        ("ladder", "5", &["--rounds", "4"], 8),
        // By the clock: a busy machine may play no more than the first round.
        ("ladder", "4", &["--duration", "1s"], 2),
        ("arena", "5", &["--duration", "2s"], 2),
    ] {
        let ground = Ground::new();
        let flags = ["--format", format, "--players", players];
        let ports = ["--ports", "auto", "--seed", "4"];
        let ended = ground
            .start("run", &[&flags[..], &ports, settings].concat())
            .end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let results = ground.facts("result_recorded").len();
        assert!(results >= matches, "{format}: {results} results");
        ground.verified();
    }
}

/// What a format cannot work with, and what the command says.
const REFUSED: [(&str, &str); 16] = [
    (
        "run --format swiss --players 2",
        "a Swiss tournament has at least 4 players, not 2: expect more, or choose another format",
    ),
    (
        "run --format swiss --players 10 --rounds 6",
        "10 players can play 1 to 5 rounds of a Swiss tournament without meeting again, not 6",
    ),
    (
        "run --format swiss --players 10 --rounds 999",
        "a Swiss tournament has 1 to 64 rounds, not 999",
    ),
    (
        "run --format swiss --rounds 0",
        "give a whole number from 1 to 1000",
    ),
    (
        "run --rounds 9",
        "4 players have met after 3 rounds of a round robin, so it can end after 1 to 3, not 9",
    ),
    (
        "run --format knockout --rounds 2",
        "the number of rounds of a knockout follows from its players: leave `rounds` out",
    ),
    (
        "run --format double_elimination --rounds 2",
        "the number of rounds of a double elimination follows from its players",
    ),
    (
        "run --format double_elimination --players 2",
        "a double elimination has at least 3 players, not 2",
    ),
    (
        "run --format gauntlet --rounds 2",
        "the number of rounds of a gauntlet follows from its players: leave `rounds` out",
    ),
    (
        "run --format knockout --legs 0",
        "give a whole number from 1 to 1000",
    ),
    ("run --format curling", "unknown format; choose one of"),
    (
        "manager --port 0 --format swiss --players 3",
        "a Swiss tournament has at least 4 players, not 3",
    ),
    (
        "run --format knockout --duration 9m",
        "a knockout has no `duration`: leave `duration` out",
    ),
    (
        "run --format ladder --groups 2",
        "a ladder has no `groups`: leave `groups` out",
    ),
    (
        "run --format groups --players 8 --groups 3",
        "8 players make 2 to 2 groups of at least 3, not 3",
    ),
    (
        "run --format arena --rounds 3",
        "a timed arena has no `rounds`: leave `rounds` out",
    ),
];

#[test]
fn format_that_cannot_work_is_refused() {
    let ground = Ground::new();
    for (words, cause) in REFUSED {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = ground.start(words[0], &words[1..]).end();
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        assert!(ended.errors.contains(cause), "{words:?}: {ended:?}");
    }
}

#[test]
fn format_that_cannot_work_is_refused_in_the_file_of_a_league() {
    for (settings, cause) in [
        (
            json!({"format": "swiss", "rounds": 999}),
            "a Swiss tournament has 1 to 64 rounds, not 999",
        ),
        (
            json!({"format": "swiss", "participants": {"expected_players": 3}}),
            "a Swiss tournament has at least 4 players, not 3",
        ),
        (
            json!({"format": "knockout", "rounds": 2}),
            "the number of rounds of a knockout follows from its players",
        ),
        (
            json!({"format": "gauntlet", "late_entry": true}),
            "a gauntlet takes no players after its start",
        ),
        (
            json!({"late_entry": true}),
            "a round robin takes no players after its start: leave `late_entry` out, or play a Swiss",
        ),
        (json!({"legs": 0}), "legs"),
        (json!({"format": "curling"}), "not `curling`"),
        (
            json!({"scoring": {"tiebreakers": ["points", "points"]}}),
            "each once, in any order",
        ),
    ] {
        let ground = Ground::new();
        let mut file = settings.clone();
        file["league_id"] = json!(LEAGUE);
        ground.write(&format!("config/leagues/{LEAGUE}.json"), &file);
        let ended = ground.start("manager", &["--port", "0"]).end();
        assert_eq!(ended.code, Some(2), "{settings}: {ended:?}");
        assert!(ended.errors.contains(cause), "{settings}: {ended:?}");
    }
}
