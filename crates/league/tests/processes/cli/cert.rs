//! `league cert`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::cli::league;

/// What is printed, with the folder of the test and the days left out.
fn cert(folder: &Path, arguments: &[&str]) -> String {
    let folder = folder.to_str().unwrap();
    let own = ["cert", "--dir", folder];
    let seen = league(&[&own[..], arguments].concat(), "").replace(folder, "HERE");
    let words = seen.split("until 20").enumerate();
    let words = words.map(|(place, rest)| match place {
        0 => rest.to_owned(),
        _ => format!("until DAY{}", &rest["00-00-00".len()..]),
    });
    words.collect()
}

#[test]
fn authority_and_certificates_are_made_with_the_flags_to_use_them() {
    let folder = tempfile::tempdir().unwrap();
    let seen = cert(folder.path(), &["192.168.1.10,lab-pc.local", "fd12::7"]);
    insta::assert_snapshot!(seen, @"
    exit code 0
    --- out
    made the authority HERE/ca.pem: give this file to everyone
    its key is HERE/ca.key: keep it secret
    made HERE/192.168.1.10.pem and HERE/192.168.1.10.key, until DAY, for 192.168.1.10, lab-pc.local, localhost, 127.0.0.1, ::1
    made HERE/fd12::7.pem and HERE/fd12::7.key, until DAY, for fd12::7, localhost, 127.0.0.1, ::1
    start an agent on 192.168.1.10 with the flags:
      --tls-cert HERE/192.168.1.10.pem --tls-key HERE/192.168.1.10.key --ca HERE/ca.pem
    others trust it with a copy of HERE/ca.pem and the flag `--ca`
    --- errors
    ");
    let again = cert(folder.path(), &["192.168.1.11"]);
    insta::assert_snapshot!(again, @"
    exit code 0
    --- out
    made HERE/192.168.1.11.pem and HERE/192.168.1.11.key, until DAY, for 192.168.1.11, localhost, 127.0.0.1, ::1
    start an agent on 192.168.1.11 with the flags:
      --tls-cert HERE/192.168.1.11.pem --tls-key HERE/192.168.1.11.key --ca HERE/ca.pem
    others trust it with a copy of HERE/ca.pem and the flag `--ca`
    --- errors
    ");
    for key in ["ca.key", "192.168.1.10.key"] {
        let found = fs::metadata(folder.path().join(key)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{key}");
    }
}

#[test]
fn keys_are_replaced_only_when_told_and_the_authority_never() {
    let folder = tempfile::tempdir().unwrap();
    let read = |file: &str| fs::read(folder.path().join(file)).unwrap();
    cert(folder.path(), &["10.0.0.7"]);
    let (ca, key) = (read("ca.key"), read("10.0.0.7.key"));
    let refused = cert(folder.path(), &["10.0.0.8", "10.0.0.7"]);
    insta::assert_snapshot!(refused, @"
    exit code 2
    --- out
    --- errors
    error: could not make the certificates
      cause: `HERE/10.0.0.7.pem` exists already
    hint: replace it with `--force`, or name another folder with `--dir`
    ");
    assert!(!folder.path().join("10.0.0.8.key").exists());
    assert_eq!(read("10.0.0.7.key"), key);
    let made = cert(folder.path(), &["10.0.0.7", "--force", "-q"]);
    assert_eq!(made, "exit code 0\n--- out\n--- errors\n");
    assert_ne!(read("10.0.0.7.key"), key);
    assert_eq!(read("ca.key"), ca);
}

#[test]
fn authority_without_its_key_or_with_another_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    cert(folder.path(), &["10.0.0.7"]);
    cert(other.path(), &["10.0.0.7"]);
    let place = |folder: &Path| folder.join("ca.key");
    fs::copy(place(other.path()), place(folder.path())).unwrap();
    let refused = cert(folder.path(), &["10.0.0.8"]);
    assert!(refused.starts_with("exit code 2\n"), "{refused}");
    let said = "`HERE/ca.pem` does not verify what it signs";
    assert!(refused.contains(said), "{refused}");
    fs::write(place(folder.path()), "garbage").unwrap();
    let refused = cert(folder.path(), &["10.0.0.8"]);
    assert!(refused.contains("`HERE/ca.key` is not a key"), "{refused}");
    fs::remove_file(place(folder.path())).unwrap();
    let refused = cert(folder.path(), &["10.0.0.8"]);
    let said = "cause: `HERE/ca.pem` is there, but not its key `HERE/ca.key`";
    assert!(refused.contains(said), "{refused}");
    assert!(!folder.path().join("10.0.0.8.pem").exists());
}

#[test]
fn wrong_hosts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (host, said) in [
        ("ca", "`ca` names the files of the authority"),
        ("a..b", "a certificate cannot be for `a..b`"),
        ("https://lab-pc.local", "give only a name or an address"),
        ("0.0.0.0", "name one of them"),
    ] {
        let refused = cert(folder.path(), &[host]);
        assert!(refused.starts_with("exit code 2\n"), "{refused}");
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn certificates_are_told_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    let seen = cert(folder.path(), &["10.0.0.7", "--output", "json"]);
    let lines = seen.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["event"], "authority");
    assert_eq!(lines[0]["new"], true);
    assert_eq!(lines[1]["tls_cert"], "HERE/10.0.0.7.pem");
    assert_eq!(lines[1]["tls_key"], "HERE/10.0.0.7.key");
    assert_eq!(lines[1]["ca"], "HERE/ca.pem");
    assert_eq!(lines[1]["hosts"][0], "10.0.0.7");
}
