//! What `league serve` and `league export` tell, and how: leagues that stand still, figures for
//! programs, lines that fit a terminal.

use std::fs;

use serde_json::Value;

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::request_with;
use crate::end_to_end::pages::played;
use crate::end_to_end::process::{eventually, league};

fn get(page: &str, path: &str) -> String {
    request_with(page, "GET", path, &[], b"").body
}

#[test]
fn killed_league_is_shown_as_interrupted_until_it_resumes() {
    let ground = Ground::new();
    let arguments = ["--players", "4", "--ports", "auto", "--pace", "1500ms"];
    let mut killed = ground.start("run", &arguments);
    killed.event("event", "match");
    killed.kill();

    let mut serving = ground.start("serve", &["--port", "0"]);
    let greeting = serving.event("event", "page");
    let page = greeting["page"].as_str().unwrap().to_owned();
    let resume = format!("league run --resume --league-id {LEAGUE} --root ");
    assert!(
        greeting["resume"].as_str().unwrap().starts_with(&resume),
        "{greeting}"
    );
    let said = eventually(|| {
        let board = get(&page, "/");
        board.contains("Interrupted in round ").then_some(board)
    });
    let board = said.expect("the page says that nobody plays");
    assert!(
        board.contains(" of 6 matches played; last entry "),
        "{board}"
    );
    assert!(board.contains(&format!("{resume}DIR")), "{board}");
    assert!(!board.contains("Being played") && !board.contains("data-elapsed-ms"));
    assert!(!board.contains(ground.root()), "and nothing of the machine");
    for path in ["/match/R1M1", "/round/1", "/player/P01"] {
        assert!(get(&page, path).contains("Interrupted in round "), "{path}");
    }

    let mut again = ground.start("run", &["--resume"]);
    let goes_on = eventually(|| (!get(&page, "/").contains("Interrupted")).then_some(()));
    assert!(goes_on.is_some(), "the page says that it is played again");
    again.event("event", "standings");
    drop(again);
    let over = eventually(|| get(&page, "/").contains("Finished").then_some(()));
    assert!(over.is_some());
}

#[test]
fn report_is_small_and_says_what_it_is() {
    let ground = played(&["--players", "12", "--seed", "3"]);
    let file = ground.path("league.html");
    let file = file.to_str().unwrap();
    let report = league(["export", ground.root(), "-o", file, "--output", "json"]);
    let told: Value = serde_json::from_str(&report.out).unwrap();
    let bytes = fs::metadata(file).unwrap().len();
    assert_eq!(told["event"], "export", "{report:?}");
    assert_eq!(told["format"], "html", "{report:?}");
    assert_eq!(told["bytes"], bytes, "{report:?}");
    // About 7,600 for each with faces, a little more on a busy machine.
    assert!(bytes < 66 * 9_000, "{bytes} bytes for 66 matches");

    let quiet = league(["export", ground.root(), "-o", file, "-q"]);
    assert_eq!((quiet.code, quiet.out.as_str()), (Some(0), ""), "{quiet:?}");
}

#[test]
fn quiet_server_prints_its_address_and_a_loud_one_each_visit() {
    let ground = played(&["--seed", "3"]);
    let serve = ["serve", ground.root(), "--port", "0", "-q", "-v"];
    let mut serving = crate::end_to_end::process::Process::start(serve);
    let page = serving.line(|line| line.starts_with("http://"));
    let page = page.trim();
    get(page, "/match/R1M1");
    get(page, "/match/R9M9");
    let ended = serving.stop();
    assert_eq!(ended.out, format!("{page}\n"), "{ended:?}");
    let visits = "GET /match/R1M1 200\nGET /match/R9M9 404\n";
    assert!(ended.errors.contains(visits), "{ended:?}");
}

#[test]
fn piped_run_prints_one_line_per_match() {
    let ground = Ground::new();
    let common = ["run", "--ports", "auto", "--players", "4", "--root"];
    let run = league(common.iter().chain(&[ground.root()]));
    assert_eq!(run.code, Some(0), "{run:?}");
    let (matches, rest) = run.out.split_once("   #  player").unwrap();
    let (_, matches) = matches.split_once("\n\n").unwrap();
    assert!(!rest.is_empty());
    let lines: Vec<&str> = matches.trim_end().lines().collect();
    assert_eq!(lines.len(), 6, "{matches}");
    for line in lines {
        assert!(line.contains("/6  R") && line.ends_with(" ms"), "{line}");
    }
}
