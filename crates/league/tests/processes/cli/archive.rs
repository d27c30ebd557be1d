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
    let other = league(&["verify", &file, "--league-id", "other"], "");
    assert!(other.contains(&format!("below `{file}`")), "{other}");
    let forced = league(&[&archive[..], &["--force"]].concat(), "");
    assert!(forced.starts_with("exit code 0"), "{forced}");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let cut = league(&["verify", &file], "");
    assert!(cut.starts_with("exit code 2"), "{cut}");
    assert!(cut.contains(&format!("`{file}/data/")), "{cut}");
}
