//! `league plan`.

use league_core::league::format::Format;
use serde_json::Value;

use crate::cli::league;

#[test]
fn plan_of_one_format_tells_what_it_takes_and_how_sure_it_is() {
    let words = "plan --players 30 --game connect_four --minutes 90 --format round_robin";
    let words: Vec<&str> = words.split(' ').collect();
    insta::assert_snapshot!(league(&words, ""), @"
    exit code 0
    --- out
    connect_four, 30 players: a match has about 20 moves and takes 41 s, 2 s a move;
    all matches of a round at once

      format               rounds  matches     moves      time  best wins  order
    * round_robin              29      435      8918    20 min       57 %   0.92

    `best wins`: how often the strongest player comes first; `order`: how well the
    order of the table agrees with the true one, 1 is perfect (Spearman). Assumed:
    strengths with a standard deviation of 200 Elo points, 0 % draws among equals,
    no advantage of a seat. 459 events were simulated.
    * fits in 90 minutes; messages take a little more.
    The strongest player comes first in 57 of 100 events, and it takes 20 min.
    --- errors
    ");
}

#[test]
fn every_format_has_a_line_or_a_reason_and_one_is_recommended() {
    let words = [
        "plan",
        "--players",
        "30",
        "--minutes",
        "5",
        "--game",
        "tic_tac_toe",
    ];
    let seen = league(&words, "");
    for format in Format::all() {
        let has_line = seen
            .lines()
            .any(|line| line.split_whitespace().any(|it| it == format.name()));
        assert!(has_line, "{} in {seen}", format.name());
    }
    assert!(seen.contains("\n* swiss "), "{seen}");
    assert!(seen.contains("\n  round_robin "), "it takes longer: {seen}");
    assert!(seen.contains("\nTake `"), "{seen}");
    let told = league(&[&words[..], &["--output", "json"]].concat(), "");
    let object = told.lines().nth(2).expect("there is a line of JSON");
    let object: Value = serde_json::from_str(object).expect("it is JSON");
    let rows = object["formats"].as_array().expect("there are formats");
    assert_eq!(rows.len(), Format::all().count());
    let row = |name: &str| rows.iter().find(|row| row["format"] == name).cloned();
    let [all, swiss] = ["round_robin", "swiss"].map(|name| row(name).expect("it is listed"));
    let size = [&all["rounds"], &all["matches"]].map(Value::as_f64);
    assert_eq!(size, [Some(29.0), Some(435.0)]);
    assert_eq!(
        [&all["fits"], &swiss["fits"]].map(Value::as_bool),
        [Some(false), Some(true)]
    );
    let sure = |row: &Value| row["rank_correlation"].as_f64().expect("it is simulated");
    assert!(sure(&all) > sure(&swiss) && sure(&swiss) > 0.3, "{rows:?}");
    assert_ne!(object["recommended"], "round_robin", "it does not fit");
}

#[test]
fn close_players_are_hard_to_put_in_order() {
    let sure = |spread: &str| {
        let words = [
            "plan",
            "--players",
            "8",
            "--spread",
            spread,
            "--format",
            "round_robin",
            "--output",
            "json",
            "--game",
            "nim",
        ];
        let told = league(&words, "");
        let object = told.lines().nth(2).expect("there is a line of JSON");
        let object: Value = serde_json::from_str(object).expect("it is JSON");
        object["formats"][0]["rank_correlation"]
            .as_f64()
            .expect("it is simulated")
    };
    let [equal, close, far] = ["0", "100", "800"].map(sure);
    assert!(equal.abs() < 0.1, "{equal}");
    assert!(close > 0.3 && close < 0.8, "{close}");
    assert!(far > 0.9, "{far}");
}

#[test]
fn models_have_tokens() {
    let words = [
        "plan",
        "--players",
        "4",
        "--format",
        "round_robin",
        "--llm",
        "openai/gpt-4o-mini",
    ];
    let seen = league(&words, "");
    // 12 moves of about 150 tokens each.
    assert!(seen.contains(" 1800 out\n"), "{seen}");
}

#[test]
fn format_that_cannot_work_is_refused_with_its_reason() {
    insta::assert_snapshot!(league(&["plan", "--players", "2", "--format", "swiss"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not plan a league
      cause: a Swiss tournament has at least 4 players, not 2: expect more, or choose another format
    hint: change `--format`, its settings or `--players`
    ");
    let told = league(&["plan", "--players", "1"], "");
    assert!(told.starts_with("exit code 2\n"), "{told}");
    assert!(
        told.contains("give a whole number from 2 to 10000"),
        "{told}"
    );
    let large = league(
        &["plan", "--players", "10000", "--format", "round_robin"],
        "",
    );
    assert!(large.contains("49995000"), "{large}");
    assert!(
        large.contains("What fits is too large to be simulated"),
        "{large}"
    );
}

#[test]
fn settings_that_a_format_does_not_have_are_left_out() {
    let told = league(
        &["plan", "--players", "12", "--rounds", "5", "--minutes", "9"],
        "",
    );
    for format in Format::all() {
        let row = told.lines().find(|line| line.contains(format.name()));
        let rounds = row.and_then(|row| row.split_whitespace().find_map(|it| it.parse().ok()));
        let wanted = match format.name() {
            "round_robin" | "swiss" | "ladder" => Some(5),
            _ => rounds,
        };
        assert_eq!(rounds, wanted, "{} in {told}", format.name());
        assert!(rounds.is_some_and(|rounds: u32| rounds > 0), "{told}");
    }
    // An arena of any length would have the surest order.
    let without_limit = league(&["plan", "--players", "12", "--output", "json"], "");
    assert!(
        !without_limit.contains(r#""recommended":"arena""#),
        "{without_limit}"
    );
}
