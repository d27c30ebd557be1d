//! `league query` and `league start`.

use crate::agents::Agent;
use crate::league;

/// What was printed, with the free port replaced.
fn seen(arguments: &[&str], endpoint: &str) -> String {
    league(arguments, "").replace(endpoint, "http://localhost:8000/mcp")
}

#[test]
fn a_manager_that_waits_is_asked_and_told_to_begin() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    let (_manager, endpoint) = Agent::manager(folder.path());
    let ask = |words: &[&str]| {
        let more = ["--manager", &endpoint, "--root", root];
        seen(&[words, &more].concat(), &endpoint)
    };
    insta::assert_snapshot!(ask(&["query", "standings"]), @"");
    insta::assert_snapshot!(ask(&["query", "schedule"]), @"");
    insta::assert_snapshot!(ask(&["query", "stats", "--player", "P01"]), @"");
    let json = ask(&["query", "next", "--player", "P01", "--output", "json"]);
    assert!(json.starts_with("exit code 1\n--- out\n{"), "{json}");
    assert!(json.contains(r#""success":false"#), "{json}");
    insta::assert_snapshot!(ask(&["start"]), @"");
}

#[test]
fn whoever_has_no_key_is_told_where_it_lies() {
    let folder = tempfile::tempdir().expect("there is room");
    let (_manager, endpoint) = Agent::manager(folder.path());
    for command in [&["query", "standings"][..], &["start"]] {
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
fn where_nobody_listens_nobody_answers() {
    let arguments = ["query", "standings", "--manager", "http://127.0.0.1:1/mcp"];
    insta::assert_snapshot!(league(&arguments, ""), @"");
    let seen = league(&["start", "--manager", "http://127.0.0.1:1/mcp"], "");
    assert!(seen.starts_with("exit code 3\n"), "{seen}");
}

#[test]
fn a_question_needs_its_player_and_an_address_its_form() {
    let seen = league(&["query", "stats"], "");
    assert!(seen.starts_with("exit code 2\n"), "{seen}");
    assert!(seen.contains("--player <ID>"), "{seen}");
    insta::assert_snapshot!(league(&["query", "standings", "--manager", "localhost:8000"], ""), @"");
}
