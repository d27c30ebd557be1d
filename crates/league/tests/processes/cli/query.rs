//! `league query` and `league admin start`.

use crate::cli::{league, start_manager};

/// What was printed, with the free port replaced.
fn seen(arguments: &[&str], endpoint: &str) -> String {
    league(arguments, "").replace(endpoint, "http://localhost:8000/mcp")
}

#[test]
fn waiting_manager_answers_queries_and_starts() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    let (_manager, endpoint) = start_manager(folder.path());
    let ask = |words: &[&str]| {
        let more = ["--manager", &endpoint, "--root", root];
        seen(&[words, &more].concat(), &endpoint).replace(root, "ROOT")
    };
    insta::assert_snapshot!(ask(&["query", "standings"]), @"
    exit code 0
    --- out
    league_2025_even_odd · even_odd · registering · 0 players, 0 referees

       #  player  played  won  drawn  lost  points
    --- errors
    ");
    insta::assert_snapshot!(ask(&["query", "schedule"]), @"
    exit code 1
    --- out
    --- errors
    error: the league manager refused the query `schedule`
      cause: nothing is scheduled before the league begins
    hint: see the players and the progress with `league query standings --manager http://localhost:8000/mcp --root ROOT`
    ");
    insta::assert_snapshot!(ask(&["query", "stats", "--player", "P01"]), @"
    exit code 1
    --- out
    --- errors
    error: the league manager refused the query `stats --player P01`
      cause: there is no player `P01`
    hint: see the players and the progress with `league query standings --manager http://localhost:8000/mcp --root ROOT`
    ");
    let json = ask(&["query", "next", "--player", "P01", "--output", "json"]);
    assert!(json.starts_with("exit code 1\n--- out\n{"), "{json}");
    assert!(json.contains(r#""success":false"#), "{json}");
    let refused = ask(&["admin", "start"]);
    assert!(refused.starts_with("exit code 1\n"), "{refused}");
    let cause = "cause: `0` players and `0` referees have registered, at least `2` players";
    assert!(refused.contains(cause), "{refused}");
}

#[test]
fn verbose_query_logs_each_call_without_its_content() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    let (_manager, endpoint) = start_manager(folder.path());
    let more = ["-v", "--manager", &endpoint, "--root", root];
    let shown = seen(&[&["query", "standings"], &more[..]].concat(), &endpoint);
    let (_, told) = shown.split_once("--- errors\n").expect("both are shown");
    let told: Vec<&str> = told.lines().collect();
    let [health, query] = told.as_slice() else {
        panic!("{shown}");
    };
    assert!(health.starts_with("GET http://localhost:"), "{health}");
    assert!(health.contains("/health: status 200 after "), "{health}");
    let called = "get_standings at http://localhost:8000/mcp: status 200 after ";
    assert!(query.starts_with(called), "{query}");
    assert!(query.ends_with(" ms"), "{query}");
}

#[test]
fn table_needs_no_key() {
    let folder = tempfile::tempdir().expect("there is room");
    let (_manager, endpoint) = start_manager(folder.path());
    let ask = |form: &str| {
        let words = ["query", "standings", "--output", form];
        let from = ["--manager", &endpoint, "--root", "nowhere"];
        seen(&[&words[..], &from].concat(), &endpoint)
    };
    insta::assert_snapshot!(ask("text"), @"
    exit code 0
    --- out
    league_2025_even_odd · even_odd · registering · 0 players, 0 referees

       #  player  played  won  drawn  lost  points
    --- errors
    ");
    let json = ask("json");
    assert!(json.starts_with("exit code 0\n--- out\n{"), "{json}");
    assert!(
        json.contains(r#""message_type":"LEAGUE_QUERY_RESPONSE""#),
        "{json}"
    );
}

#[test]
fn missing_key_is_reported_with_its_path() {
    let folder = tempfile::tempdir().expect("there is room");
    let (_manager, endpoint) = start_manager(folder.path());
    for command in [&["query", "schedule"][..], &["admin", "start"]] {
        let arguments = [command, &["--manager", &endpoint, "--root", "nowhere"]].concat();
        let seen = seen(&arguments, &endpoint);
        assert!(seen.starts_with("exit code 2\n"), "{seen}");
        assert!(
            seen.contains("no key of this league below `nowhere`"),
            "{seen}"
        );
        assert!(seen.contains("hint: "), "{seen}");
    }
}

#[test]
fn query_without_a_manager_fails() {
    for address in ["http://127.0.0.1:1/mcp", "127.0.0.1:1"] {
        nobody_answers(address);
    }
    let seen = league(
        &["admin", "start", "--manager", "http://127.0.0.1:1/mcp"],
        "",
    );
    assert!(seen.starts_with("exit code 3\n"), "{seen}");
}

fn nobody_answers(address: &str) {
    let seen = league(&["query", "standings", "--manager", address], "");
    let expected = "exit code 3\n--- out\n--- errors\nerror: could not ask the league manager\n  \
                    cause: no league manager answers at http://127.0.0.1:1/mcp: ";
    assert!(seen.starts_with(expected), "{seen}");
    let hint = "hint: start one with `league manager`, or name another with `--manager URL`\n";
    assert!(seen.ends_with(hint), "{seen}");
}

#[test]
fn query_checks_its_player_and_address() {
    let seen = league(&["query", "stats"], "");
    assert!(seen.starts_with("exit code 2\n"), "{seen}");
    assert!(seen.contains("--player <ID>"), "{seen}");
    let arguments = ["query", "standings", "--manager", "localhost:port"];
    insta::assert_snapshot!(league(&arguments, ""), @"
    exit code 2
    --- out
    --- errors
    error: could not ask the league manager
      cause: `http://localhost:port` is not an address
    hint: give the address that the manager printed, such as `http://localhost:8000/mcp`
    ");
}

#[test]
fn invalid_manager_address_is_wrong_use() {
    for agent in ["player", "referee"] {
        let seen = league(&[agent, "--manager", "foo"], "");
        assert!(seen.starts_with("exit code 2\n"), "{seen}");
        assert!(
            seen.contains("invalid value 'foo' for '--manager <URL>'"),
            "{seen}"
        );
        assert!(seen.contains("http://localhost:8000/mcp"), "{seen}");
        assert!(!seen.contains("8101"), "{seen}");
    }
}
