//! Agents that must not start: wrong files, wrong ports, wrong configuration; and one that waits.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::{Process, eventually, free_port, league};

#[test]
fn port_in_use_is_named() {
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
fn second_manager_on_one_root_gets_the_name_of_the_first() {
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
fn agent_with_a_journal_in_use_gets_a_hint() {
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
fn rejected_agent_ends_and_leaves_no_journal() {
    let ground = Ground::new();
    let league = "config/leagues/league_2025_even_odd.json";
    ground.write(league, &json!({"strictness": "strict"}));
    let manager = ground.manager(&[]);
    let mut first = ground.referee(1, &manager.endpoint, &["--name", "Heron"]);
    first.process.event("state", "enrolled");
    let short = manager.endpoint.trim_start_matches("http://");
    for kind in ["referee", "player"] {
        let other = Ground::new();
        let own = ["--port", "0", "--name", "Heron", "--manager", short];
        let ended = other.start(kind, &own).end();
        assert_eq!(ended.code, Some(3), "{kind}: {ended:?}");
        let told = "error: the league manager did not admit this agent\n  cause: Duplicate \
                    display name: `Heron` is taken by REF01";
        assert!(ended.errors.contains(told), "{kind}: {ended:?}");
        let files = other.files("data");
        let left: Vec<_> = files
            .iter()
            .filter(|file| !file.ends_with(".lock"))
            .collect();
        assert!(left.is_empty(), "{kind}: {left:?}");
    }
}

#[test]
fn wrong_number_is_told_with_its_flag_and_its_bounds() {
    for (arguments, told) in [
        (["manager", "--players", "x"], "1000000"),
        (["run", "--players", "0"], "10000"),
        (["run", "--seed", "-"], "18446744073709551615"),
        (["serve", "--port", "99999"], "65535"),
        (["referee", "--matches-at-once", "many"], "100000"),
    ] {
        let ended = league(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let [_, flag, value] = arguments;
        let start =
            format!("error: invalid value '{value}' for '{flag} <N>': give a whole number from ");
        assert!(ended.errors.starts_with(&start), "{ended:?}");
        assert!(ended.errors.contains(&format!(" to {told}\n")), "{ended:?}");
    }
}

#[test]
fn strategy_of_another_game_is_refused_with_those_that_know_the_game() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let own = ["--root", ground.root(), "--manager", &manager.endpoint];
    let run = ["run", "--ports", "auto", "--root", ground.root()];
    let ended = [
        league(run.iter().chain(&["--strategies", "random,minimax"])),
        league(
            ["player", "--port", "0", "--strategy", "minimax"]
                .iter()
                .chain(&own),
        ),
    ];
    for ended in ended {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let cause = "cause: strategy `minimax` does not know the game `even_odd`\n";
        assert!(ended.errors.contains(cause), "{ended:?}");
        let hint = "hint: choose one of `random`, `always-even`,";
        assert!(ended.errors.contains(hint), "{ended:?}");
    }
    assert!(!ground.path("data/players").exists());
}

#[test]
fn named_strategy_offers_only_its_game() {
    let ground = Ground::hasty();
    let port = free_port();
    let address = format!("localhost:{port}");
    let early = ground.player(7, &address, &["--strategy", "minimax"]);
    let _manager = ground.manager_at(port, &[]);
    let ended = early.process.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let cause = "Unsupported game type: `even_odd`";
    assert!(ended.errors.contains(cause), "{ended:?}");
}

#[test]
fn configured_strategy_that_does_not_know_the_game_is_told() {
    let ground = Ground::new();
    let manager = ground.manager(&["--game", "tic_tac_toe"]);
    let own = ["--manager", &manager.endpoint, "--root", ground.root()];
    let player = ["player", "--port", "0", "--player-id", "P02"];
    let mut player = Process::start(player.iter().chain(&own));
    let told = player.line(|line| line.contains("moves at random"));
    let start = "strategy `always-even` does not know `tic_tac_toe`";
    assert!(told.starts_with(start), "{told}");
}

#[test]
fn unwritable_root_is_named() {
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
fn broken_configuration_is_reported_with_file_path_and_hint() {
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
fn tampered_journal_is_refused() {
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
fn player_without_a_manager_retries_until_it_is_stopped() {
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
fn league_without_its_secret_is_not_resumed() {
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
fn league_without_its_journal_is_not_started_anew() {
    let ground = Ground::new();
    let ended = ground.start("run", &["--ports", "auto"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    fs::write(ground.league("journal.jsonl"), "").unwrap();
    let ended = ground.start("manager", &["--port", "0"]).end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains("a backup"), "{ended:?}");
}

#[test]
fn new_league_of_an_old_name_has_new_draws() {
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
fn wrong_manager_address_is_reported_once_with_a_hint() {
    let theirs = Ground::new();
    let manager = theirs.manager(&[]);
    for (command, path) in [("player", "/mpc"), ("referee", "/mpc")] {
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
            let asked_again = log.matches("MESSAGE_SENT").count() > 2;
            (asked_again && log.contains("NOT_REGISTERED")).then_some(log)
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
