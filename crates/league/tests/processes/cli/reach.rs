//! Flags by which agents of several machines find each other: what is printed, what is refused.

use crate::cli::{league, start};

/// The first lines of a manager that others can reach, its port replaced.
fn greeting(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let own = ["manager", "--port", "0", "--insecure", "--bind", "0.0.0.0"];
    let mut manager = start(folder.path(), &[&own[..], arguments].concat());
    let first = manager.said("league `");
    let endpoint = first.rsplit(' ').next().unwrap();
    let port = endpoint.trim_end_matches("/mcp").rsplit(':').next();
    let mut lines = vec![first.clone(), manager.said("its page")];
    lines.push(manager.said("join from"));
    lines.push(manager.said("with your own player"));
    lines.push(manager.said("agents are allowed"));
    if !arguments.contains(&"--allow") {
        lines.push(manager.said("refused"));
    }
    lines.join("\n").replace(port.unwrap(), "PORT")
}

#[test]
fn reachable_manager_says_how_to_join() {
    insta::assert_snapshot!(greeting(&["--host", "192.0.2.7"]), @"
    league `league_2025_even_odd` at http://192.0.2.7:PORT/mcp
    its page at http://192.0.2.7:PORT/
    join from another machine with `league player --manager http://192.0.2.7:PORT/mcp --bind 0.0.0.0 --name NAME`
    or with your own player: `league new player --lang python`, then `python3 player.py --manager http://192.0.2.7:PORT/mcp --host ADDRESS --name NAME`
    agents are allowed at loopback, 192.0.2.7
    agents on other machines are refused; to allow them, start it with `--allow NETWORK`
    ");
    let allowed = greeting(&["--host", "192.0.2.7", "--allow", "192.0.2.0/24"]);
    let last = allowed.lines().next_back().unwrap();
    assert_eq!(last, "agents are allowed at loopback, 192.0.2.0/24");
}

#[test]
fn uncallable_agent_gets_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    for agent in ["player", "referee"] {
        let own = [agent, "--port", "0", "--root", root];
        let away = ["--manager", "http://192.0.2.1:8000/mcp"];
        let refused = league(&[&own[..], &away].concat(), "");
        assert!(refused.starts_with("exit code 2\n"), "{refused}");
        let start = format!(
            "error: could not start the {agent}\n  cause: the manager is on another machine, \
             `192.0.2.1`, and cannot reach an agent at `localhost`\n\
             hint: listen on the network with `--bind 0.0.0.0`"
        );
        assert!(refused.contains(&start), "{refused}");
        assert!(refused.contains("give it with `--host`"), "{refused}");
    }
}

#[test]
fn agent_with_a_public_address_on_loopback_gets_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    for host in ["192.0.2.7", "heron.example"] {
        let own = ["player", "--port", "0", "--root", root, "--host", host];
        let away = ["--manager", "http://192.0.2.1:8000/mcp"];
        let refused = league(&[&own[..], &away].concat(), "");
        assert!(refused.starts_with("exit code 2\n"), "{refused}");
        let said = "and cannot reach an agent at `127.0.0.1`\nhint: listen on the network";
        assert!(refused.contains(said), "{refused}");
        assert!(refused.contains("`--public-url`"), "{refused}");
    }
}

#[test]
fn manager_on_loopback_under_another_host_warns() {
    let folder = tempfile::tempdir().unwrap();
    let own = ["manager", "--port", "0", "--host", "192.0.2.7"];
    let mut manager = start(folder.path(), &own);
    let told = manager.said("it listens on 127.0.0.1 only");
    assert!(told.contains("start it with `--bind 0.0.0.0`"), "{told}");
}

#[test]
fn invalid_host_and_network_are_refused() {
    for (flag, value, said) in [
        (
            "--host",
            "http://board:8000",
            "give only a name or an address",
        ),
        ("--host", "0.0.0.0", "name one of them"),
        ("--allow", "everywhere", "a network such as 192.168.1.0/24"),
        ("--bind", "board", "invalid IP address syntax"),
    ] {
        let refused = league(&["manager", flag, value], "");
        assert!(refused.starts_with("exit code 2\n"), "{refused}");
        assert!(refused.contains(said), "{refused}");
    }
}
