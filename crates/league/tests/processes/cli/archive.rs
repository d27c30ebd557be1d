//! `league archive`, and what `league verify` says of an archive.

use std::fs;

use super::league;

#[test]
fn archive_is_not_replaced_unasked_and_its_errors_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (root, file) = (place("root"), place("week.tar.gz"));
    let run = ["run", "--root", &root, "--ports", "auto", "--players", "2"];
    let played = league(&[&run[..], &["--quiet"]].concat(), "");
    assert!(played.starts_with("exit code 0"), "{played}");
    let archive = ["archive", &root, "-o", &file];
    assert!(league(&archive, "").starts_with("exit code 0"));
    let refused = league(&archive, "");
    assert!(refused.starts_with("exit code 2"), "{refused}");
    assert!(refused.contains("exists already"), "{refused}");
    let verified = league(&["verify", &file], "");
    assert!(verified.starts_with("exit code 0"), "{verified}");
    let leagues = fs::read_dir(place("root/data/leagues")).unwrap();
    let league_folder = leagues.map(|entry| entry.unwrap().path()).next().unwrap();
    let journal = league_folder.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("P01", "P02", 1)).unwrap();
    let forced = league(&[&archive[..], &["--force"]].concat(), "");
    assert!(forced.starts_with("exit code 0"), "{forced}");
    let wrong = league(&["verify", &file], "");
    assert!(wrong.starts_with("exit code 1"), "{wrong}");
    assert!(wrong.contains(&format!("{file}/data/leagues")), "{wrong}");
    assert!(!wrong.contains("league-archive-"), "{wrong}");
}
