//! `league new player`.

use std::fs;
use std::path::Path;

use crate::cli::league;

/// What is printed, with the folder of the test left out.
fn new(folder: &Path, arguments: &[&str]) -> String {
    let folder = folder.to_str().unwrap();
    let placed: Vec<String> = arguments
        .iter()
        .map(|argument| argument.replace("HERE", folder))
        .collect();
    let mut words = vec!["new", "player"];
    words.extend(placed.iter().map(String::as_str));
    league(&words, "").replace(folder, "HERE")
}

#[test]
fn new_player_is_written_with_its_next_steps() {
    let folder = tempfile::tempdir().unwrap();
    let seen = new(
        folder.path(),
        &["--lang", "python", "-o", "HERE", "--name", "Heron"],
    );
    insta::assert_snapshot!(seen, @r"
    exit code 0
    --- out
    wrote HERE/player.py
    your part is the function `choose`, at the top
    run it with:
      python3 HERE/player.py --port 8101 --manager http://localhost:8000/mcp
    if no league is running, start one, with two opponents:
      league manager --players 3 --referees 1
      league referee
      league player --port 8102
      league player --port 8103
    --- errors
    ");
    let text = fs::read_to_string(folder.path().join("player.py")).unwrap();
    assert!(text.contains("\"Heron\"") && !text.contains("My Player"));
}

/// Words by which a kit would not run on Windows.
const ONLY_UNIX: [&str; 12] = [
    "#!",
    "fcntl",
    "os.fork",
    "getuid",
    "SIGKILL",
    "SIGTERM",
    "SIGHUP",
    "os.kill",
    "chmod",
    "/tmp",
    "/dev/",
    "Event().wait()",
];

#[test]
fn kits_use_nothing_that_windows_lacks() {
    let folder = tempfile::tempdir().unwrap();
    for lang in ["python", "python-fastmcp", "llm", "javascript"] {
        let place = folder.path().join(lang);
        new(
            folder.path(),
            &["--lang", lang, "-o", place.to_str().unwrap()],
        );
        let kit = fs::read_to_string(place).unwrap();
        let found: Vec<&str> = ONLY_UNIX
            .into_iter()
            .filter(|word| kit.contains(word))
            .collect();
        assert_eq!(found, [""; 0], "{lang}");
    }
}

#[test]
fn every_language_has_its_file() {
    let folder = tempfile::tempdir().unwrap();
    for (lang, file, run) in [
        ("python", "player.py", "python3 "),
        (
            "python-fastmcp",
            "player_fastmcp.py",
            "pip install fastmcp\n  python3 ",
        ),
        ("javascript", "player.mjs", "node "),
    ] {
        let seen = new(folder.path(), &["--lang", lang, "-o", "HERE"]);
        assert!(seen.starts_with("exit code 0\n"), "{seen}");
        assert!(
            seen.contains(&format!("  {run}HERE/{file} --port 8101")),
            "{seen}"
        );
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(text.contains("opponent, history)"), "{lang}");
        for game in league_games::all() {
            let word = format!("\"{}\"", game.rules.game_type);
            assert!(text.contains(&word), "{word} in the kit for {lang}");
        }
    }
    let own = folder.path().join("new folder/heron.py");
    let seen = new(
        folder.path(),
        &["--lang", "python", "-o", own.to_str().unwrap()],
    );
    assert!(
        seen.contains("python3 'HERE/new folder/heron.py' --port"),
        "{seen}"
    );
    assert!(own.exists());
}

#[test]
fn player_in_rust_is_a_package_on_the_source_of_this_program() {
    let folder = tempfile::tempdir().unwrap();
    let seen = new(
        folder.path(),
        &["--lang", "rust", "-o", "HERE/heron", "--name", "Heron"],
    );
    assert!(
        seen.contains("cargo run --manifest-path HERE/heron/Cargo.toml -- --port"),
        "{seen}"
    );
    let manifest = fs::read_to_string(folder.path().join("heron/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let needs = manifest["dependencies"].as_table().unwrap();
    assert_eq!(needs.len(), 1, "one small crate: {needs:?}");
    let source = Path::new(needs["league-kit"]["path"].as_str().unwrap());
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("kit");
    assert_eq!(source, kit);
    assert!(manifest.contains_key("workspace"));
    let text = fs::read_to_string(folder.path().join("heron/src/main.rs")).unwrap();
    assert!(text.contains("Kit::main(\"Heron\""), "{text}");
}

#[test]
fn existing_file_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("player.mjs");
    fs::write(&file, "mine").unwrap();
    let arguments = ["--lang", "javascript", "-o", "HERE"];
    insta::assert_snapshot!(new(folder.path(), &arguments), @"
    exit code 2
    --- out
    --- errors
    error: could not write the player
      cause: `HERE/player.mjs` exists already
    hint: give another path with `-o`, or replace the file with `--force`
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let forced = [&arguments[..], &["--force"]].concat();
    assert!(new(folder.path(), &forced).starts_with("exit code 0\n"));
    assert!(fs::read_to_string(&file).unwrap().contains("choose"));
}

#[test]
fn half_a_package_is_not_written_over_another() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/main.rs"), "mine").unwrap();
    let seen = new(folder.path(), &["--lang", "rust", "-o", "HERE"]);
    assert!(seen.contains("`HERE/src/main.rs` exists already"), "{seen}");
    assert!(!folder.path().join("Cargo.toml").exists());
}

#[test]
fn name_that_would_break_the_file_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["", "  ", "a\"b", "a\\b", "a\nb", &"x".repeat(65)] {
        let seen = new(
            folder.path(),
            &["--lang", "python", "-o", "HERE", "--name", name],
        );
        assert!(seen.starts_with("exit code 2\n"), "{name:?}: {seen}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn unwritable_path_exits_with_the_code_of_io() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let seen = new(
        folder.path(),
        &["--lang", "python", "-o", "HERE/file/player.py"],
    );
    assert!(seen.starts_with("exit code 3\n"), "{seen}");
}

#[test]
fn help_teaches_by_example() {
    insta::assert_snapshot!(league(&["new", "player", "--help"], ""));
}
