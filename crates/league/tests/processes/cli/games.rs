//! `league games`.

use std::fs;
use std::path::Path;

use crate::cli::league;

#[test]
fn every_game_is_listed_with_its_name() {
    let seen = league(&["games"], "");
    for game in league_games::all() {
        let line = seen
            .lines()
            .find(|line| line.split(' ').next() == Some(game.rules.game_type));
        let line = line.unwrap_or_else(|| panic!("{} in {seen}", game.rules.game_type));
        assert!(line.ends_with(game.rules.display_name), "{line}");
    }
}

#[test]
fn rules_of_a_game_are_printed() {
    insta::assert_snapshot!(league(&["games", "nim"], ""), @r#"
    exit code 0
    --- out
    Nim (nim)

    Some heaps of sticks lie on the table. The players move in turn, seat A first.
    Who is to move takes one or more sticks from one heap, as many as the heap has
    at most.

    A move is a number of two digits, from `11` to `99`: the first digit is the
    heap, counted from 1, the second is how many sticks are taken. So 23 takes three
    sticks from the second heap.

    The view: `heaps` lists how many sticks are left in each heap, the first heap
    first.

    The game ends when no stick is left. The player that took the last stick wins;
    there is no draw.

    settings, with their defaults: {"heaps":[3,4,5]}

    strategies: `random`, `greedy`, `solver`

    play it with `league run --game nim`
    --- errors
    "#);
}

#[test]
fn programs_get_one_object_a_game() {
    let seen = league(&["games", "--output", "json"], "");
    let objects = seen.lines().filter(|line| line.starts_with('{'));
    let objects: Vec<serde_json::Value> = objects
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    assert_eq!(objects.len(), league_games::all().len());
    for (object, game) in objects.iter().zip(league_games::all()) {
        assert_eq!(object["game_type"], game.rules.game_type);
        assert_eq!(object["rules"], game.rules.rules_text);
    }
}

#[test]
fn unknown_game_is_wrong_use() {
    insta::assert_snapshot!(league(&["games", "chess"], ""), @"
    exit code 2
    --- out
    --- errors
    error: could not print the rules of `chess`
      cause: there is no such game
    hint: list the games with `league games`
    ");
}

/// A kit has a strategy for Even/Odd, and the SDK plays two games again; the lists come from the
/// registry, so that a new game is one file and one line.
#[test]
fn no_kit_and_no_module_of_the_sdk_lists_games_by_hand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["kits", "../../sdk/python/league_sdk"];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut read = 0;
    for path in files
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
    {
        let text = fs::read_to_string(&path).unwrap();
        read += 1;
        let replays = path.ends_with("verify.py");
        for game in league_games::all() {
            let name = game.rules.game_type;
            let known = name == "even_odd" || replays && name == "tic_tac_toe";
            let quoted = text.contains(&format!("\"{name}\""));
            assert!(known || !quoted, "{} names {name}", path.display());
        }
    }
    assert!(read > 8, "{read} files were read");
}
