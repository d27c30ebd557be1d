//! `league lab`.

use serde_json::Value;

use crate::cli::league;

#[test]
fn same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let run = |threads: &str, output: &str| {
        let strategies = "random,adaptive,mirror,bandit";
        league(
            &[
                "lab",
                "--quiet",
                "--game",
                "rock_paper_scissors",
                "--strategies",
                strategies,
                "--matches",
                "90",
                "--seed",
                "7",
                "--threads",
                threads,
                "--output",
                output,
            ],
            "",
        )
    };
    for output in ["text", "json"] {
        let once = run("1", output);
        assert!(once.starts_with("exit code 0\n"), "{once}");
        assert_eq!(run("3", output), once);
    }
    insta::assert_snapshot!("lab_of_four", run("2", "text"));
}

#[test]
fn luck_is_called_luck() {
    let told = league(&["lab", "--matches", "200", "--seed", "1", "-q"], "");
    assert!(told.contains("\nThis is luck: equal strategies"), "{told}");
    assert!(!told.contains("truly the strongest"), "{told}");
    assert!(!told.contains("NaN") && !told.contains("inf"), "{told}");
}

#[test]
fn sequential_test_answers_by_its_exit_code() {
    let run = |one: &str, other: &str| {
        let game = "rock_paper_scissors";
        let arguments = [
            "lab", "-q", "--seed", "1", "--game", game, "--sprt", one, other,
        ];
        league(&arguments, "")
    };
    insta::assert_snapshot!("sprt_of_a_stronger_one", run("adaptive", "mirror"));
    let weaker = run("mirror", "adaptive");
    assert!(weaker.starts_with("exit code 1\n"), "{weaker}");
    assert!(
        weaker.contains("\nH0: mirror is not stronger than adaptive\n"),
        "{weaker}"
    );
}

#[test]
fn files_hold_every_pair_and_every_table() {
    let folder = tempfile::tempdir().unwrap();
    let [csv, html] = ["lab.csv", "lab.html"].map(|name| folder.path().join(name));
    let told = league(
        &[
            "lab",
            "--game",
            "nim",
            "--matches",
            "20",
            "--seed",
            "3",
            "--output",
            "json",
            "-q",
            "--csv",
            csv.to_str().unwrap(),
            "--html",
            html.to_str().unwrap(),
        ],
        "",
    );
    let line = told.lines().nth(2).expect("there is a line of JSON");
    let object: Value = serde_json::from_str(line).expect("it is JSON");
    assert_eq!(object["pairs"].as_array().map(Vec::len), Some(3));
    assert_eq!(object["strategies"][0]["strategy"], "solver");
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.starts_with("strategy_A,strategy_B,wins_A,draws,wins_B,p\r\n"));
    let html = std::fs::read_to_string(html).unwrap();
    assert!(
        html.contains("<td>solver</td>") && html.ends_with("</html>"),
        "{html}"
    );
}

#[test]
fn strategy_that_does_not_know_the_game_is_wrong_use() {
    insta::assert_snapshot!(league(&["lab", "--strategies", "random,minimax"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not run the lab
      cause: strategy `minimax` does not know the game `even_odd`
    hint: choose one of `random`, `always-even`, `always-odd`, `history`, `frequency`, `pattern`, `markov`, `alternating`, `mirror`, `bayesian`, `bandit`, `adaptive`
    ");
    let alone = league(&["lab", "--strategies", "random"], "");
    assert!(alone.starts_with("exit code 2\n"), "{alone}");
    assert!(
        alone.contains("cause: a lab needs two strategies\n"),
        "{alone}"
    );
    let twice = league(&["lab", "--strategies", "random,random"], "");
    assert!(
        twice.contains("strategy `random` is named twice"),
        "{twice}"
    );
}
