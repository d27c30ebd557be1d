//! Agents that must not start: wrong files, wrong ports, wrong configuration; and one that waits.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::{Process, eventually, league};

#[test]
fn a_port_in_use_is_named() {
    let ground = Ground::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let number = port.to_string();
    let own = ["--root", ground.root(), "--port", &number];
    for (arguments, agent) in [
        (vec!["referee", "--referee-id", "REF02"], "referee `REF02`"),
        (vec!["player", "--player-id", "P03"], "player `P03`"),
        (vec!["manager"], "the league manager"),
    ] {
        let ended = league(arguments.into_iter().chain(own));
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let expected = format!(
            "error: could not start {agent}\n  cause: port {port} is in use\n\
             hint: choose another with `--port`, or stop the agent that holds it\n"
        );
        assert_eq!(ended.errors, expected);
    }
}

#[test]
fn a_second_manager_on_one_root_is_told_who_was_first() {
    let ground = Ground::new();
    let first = ground.manager(&[]);
    let ended = league(["manager", "--port", "0", "--root", ground.root()]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let pid = format!("process `{}`", first.process.pid());
    assert!(ended.errors.contains(&pid), "{ended:?}");
    assert!(ended.errors.contains("with `--league-id`"), "{ended:?}");
}

#[test]
fn agents_on_any_free_ports_share_nothing_below_one_root() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "2", "--referees", "2"]);
    let own = ["--port", "0", "--manager", &manager.endpoint];
    let mut agents = ["player", "player", "referee", "referee"].map(|kind| {
        let mut agent = ground.start(kind, &own);
        agent.event("state", "enrolled");
        agent
    });
    for agent in &mut agents {
        agent.event("state", "completed");
    }
    let secrets = fs::read_dir(ground.path("secrets").join(LEAGUE)).unwrap();
    let names = secrets.map(|file| file.unwrap().file_name().into_string().unwrap());
    let (mut players, mut referees) = (0, 0);
    for name in names {
        players += usize::from(name.starts_with("player-port-"));
        referees += usize::from(name.starts_with("referee-port-"));
    }
    assert_eq!((players, referees), (2, 2));
}

#[test]
fn whoever_finds_its_journal_in_use_is_told_how_to_be_another() {
    let ground = Ground::new();
    let nobody = "http://localhost:1/mcp";
    let _player = ground.player(1, nobody, &[]);
    let _referee = ground.referee(1, nobody, &[]);
    for (kind, flag, id) in [
        ("player", "--player-id", "P01"),
        ("referee", "--referee-id", "REF01"),
    ] {
        let own = [kind, "--port", "0", flag, id, "--root", ground.root()];
        let ended = league(own);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let hint = format!(
            "hint: stop the other process, or start another agent with `{flag}` or `--port`"
        );
        assert!(ended.errors.contains(&hint), "{ended:?}");
    }
}

#[test]
fn a_root_that_cannot_be_written_is_named() {
    let ground = Ground::new();
    let file = ground.path("file");
    fs::write(&file, "no folder").unwrap();
    let below = file.join("root");
    let below = below.to_str().unwrap();
    for command in ["manager", "referee", "player", "run"] {
        let ended = league([command, "--root", below]);
        assert_eq!(ended.code, Some(3), "{command}: {ended:?}");
        assert!(ended.errors.contains(below), "{command}: {ended:?}");
        assert!(ended.errors.contains("hint: "), "{command}: {ended:?}");
    }
}

#[test]
fn a_broken_configuration_is_told_with_file_path_and_hint() {
    let ground = Ground::new();
    let system = json!({"timeouts": {"move_timeout_sec": "soon"}});
    ground.write("config/system.json", &system);
    for command in ["manager", "referee", "player", "run"] {
        let ended = league([command, "--root", ground.root()]);
        assert_eq!(ended.code, Some(2), "{command}: {ended:?}");
        for part in [
            "config/system.json",
            "timeouts.move_timeout_sec",
            "\nhint: ",
        ] {
            assert!(ended.errors.contains(part), "{command}: {ended:?}");
        }
    }
}

#[test]
fn a_tampered_journal_is_found_and_not_gone_on_with() {
    let ground = Ground::new();
    let played = ["run", "--ports", "auto", "--root", ground.root(), "-q"];
    assert_eq!(league(played).code, Some(0));
    ground.verified();
    let journal = ground.league("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let wrong = text
        .lines()
        .position(|line| line.contains("result_recorded"))
        .unwrap();
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(place, line)| match place == wrong {
            true => line.replacen("\"points\":[", "\"points\":[1", 1),
            false => line.to_owned(),
        })
        .collect();
    fs::write(&journal, lines.join("\n") + "\n").unwrap();
    let named = format!("line {}", wrong + 1);

    let ended = league(["verify", ground.root()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains(&named), "{ended:?}");
    let ended = league(["manager", "--port", "0", "--root", ground.root()]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains(&named), "{ended:?}");
    assert!(ended.errors.contains(LEAGUE), "{ended:?}");
}

#[test]
fn a_player_without_a_manager_keeps_asking_until_it_is_told_to_end() {
    let ground = Ground::hasty();
    let manager = "http://localhost:1/mcp";
    let own = [
        "player",
        "--port",
        "0",
        "--player-id",
        "P01",
        "--manager",
        manager,
    ];
    let mut player = Process::start(own.into_iter().chain(["--root", ground.root()]));
    player.line(|line| line.contains("answers at http://localhost:"));
    player.line(|line| line.contains("registers with the manager"));
    player.warning(|line| line.contains("does not answer") && line.contains(manager));
    player.see_running();
    let ended = player.stop();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_league_without_its_secret_does_not_go_on() {
    let ground = Ground::new();
    ground.manager(&[]).process.stop();
    let file = ground.path(&format!("secrets/{LEAGUE}/manager.json"));
    let secret = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let ended = ground.start("manager", &["--port", "0"]).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains("the secret of league"), "{ended:?}");
    assert!(!file.exists(), "no other is made in its place");

    let other = Ground::new();
    other.manager(&[]).process.stop();
    fs::copy(other.path(&format!("secrets/{LEAGUE}/manager.json")), &file).unwrap();
    let ended = ground.start("manager", &["--port", "0"]).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains("another secret"), "{ended:?}");

    fs::write(&file, secret).unwrap();
    ground.manager(&[]).process.stop();
}

#[test]
fn a_league_that_lost_its_journal_is_no_new_one() {
    let ground = Ground::new();
    let ended = ground.start("run", &["--ports", "auto"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    fs::write(ground.league("journal.jsonl"), "").unwrap();
    let ended = ground.start("manager", &["--port", "0"]).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains("standings.json"), "{ended:?}");
}

#[test]
fn a_new_league_of_an_old_name_draws_anew() {
    let ground = Ground::new();
    let promises = || {
        let ended = ground.start("run", &["--ports", "auto"]).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let rounds = ground.facts("round_opened");
        let of = |round: &Value| round["commitments"].as_array().unwrap().clone();
        rounds.iter().flat_map(of).collect::<Vec<_>>()
    };
    let before = promises();
    fs::remove_dir_all(ground.path("data")).unwrap();
    let after = promises();
    assert_eq!((before.len(), after.len()), (6, 6));
    assert!(after.iter().all(|promise| !before.contains(promise)));
}

#[test]
fn whoever_asks_at_a_wrong_address_is_told_once_and_told_what_to_give() {
    let theirs = Ground::new();
    let manager = theirs.manager(&[]);
    for (command, path) in [("player", "/"), ("player", "/mpc"), ("referee", "/mpc")] {
        let ground = Ground::hasty();
        let manager = manager.endpoint.replace("/mcp", path);
        let own = [command, "--root", ground.root(), "--port", "0", "-v"];
        let mut agent = Process::start(own.into_iter().chain(["--manager", &manager]));
        let told = agent.warning(|line| line.contains("not registered: E0"));
        for part in [&manager, "POST /mcp", "http://localhost:8000/mcp"] {
            assert!(told.contains(part), "{command} {path}: {told}");
        }
        let log = eventually(|| {
            let log = logged(&ground);
            (log.matches("MESSAGE_SENT").count() > 2).then_some(log)
        });
        let log = log.unwrap_or_else(|| panic!("{command} does not ask again"));
        let times = log.matches("NOT_REGISTERED").count();
        assert_eq!(times, 1, "{command} {path}: {log}");
    }
}

/// All that the agents of a root have logged.
fn logged(ground: &Ground) -> String {
    let files = fs::read_dir(ground.path("logs/agents"));
    let files = files.into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.collect()
}
