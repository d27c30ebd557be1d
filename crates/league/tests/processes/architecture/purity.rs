//! What the pure crates may not even name: the world, the clock, chance, and an order by accident.

use toml::Value;

use crate::architecture::code::{bracketed, find_word};
use crate::architecture::hold;
use crate::architecture::workspace::{PURE, Source, at, place, pure_sources, table};

/// What the lints of every pure crate must forbid to call.
const METHODS: [&str; 11] = [
    "std::env::args",
    "std::env::var",
    "std::env::vars",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::process::exit",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
];

/// What the lints of every pure crate must forbid to use.
const TYPES: [&str; 6] = [
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::fs::File",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::UdpSocket",
];

/// Parts of the standard library that reach the world.
const WORLDLY: [&str; 5] = ["env", "fs", "net", "process", "thread"];

/// Names that fetch the time, the local offset or a runtime, wherever they come from.
///
/// `UtcDateTime` and `Timestamp` of `time` have a `now` as well, hence the call by any name.
const NAMES: [&str; 7] = [
    "Instant",
    "SystemTime",
    "tokio",
    "now_utc",
    "now_local",
    "current_local_offset",
    "::now(",
];

const PRINTS: [&str; 5] = ["print!(", "println!(", "eprint!(", "eprintln!(", "dbg!("];

#[test]
fn lints_of_pure_crates_forbid_io() {
    let mut offenders = Vec::new();
    for folder in PURE {
        let path = format!("{folder}/clippy.toml");
        for (key, wanted) in [
            ("disallowed-methods", METHODS.as_slice()),
            ("disallowed-types", TYPES.as_slice()),
        ] {
            let listed = forbidden(&path, key);
            let missing = wanted
                .iter()
                .filter(|name| !listed.iter().any(|found| found == *name));
            offenders
                .extend(missing.map(|name| format!("{}: `{name}` is missing", place(&path, key))));
        }
    }
    hold(
        "each pure crate has a clippy.toml that forbids clock, files, sockets and hash order",
        &offenders,
        "put the missing `{ path = \"…\", reason = \"…\" }` back into the list",
    );
}

/// Clippy reads the nearest file only, so a crate's own file must repeat the general settings.
#[test]
fn lints_of_pure_crates_repeat_the_general_settings() {
    let general = table("clippy.toml");
    let mut offenders = Vec::new();
    for folder in PURE {
        let path = format!("{folder}/clippy.toml");
        let own = table(&path);
        let differing = general
            .iter()
            .filter(|(key, value)| own.get(*key) != Some(*value));
        offenders.extend(
            differing.map(|(key, value)| format!("{}: `{key}` is not {value}", place(&path, key))),
        );
    }
    hold(
        "a crate's own clippy.toml keeps every setting of the one at the root",
        &offenders,
        "copy the setting over",
    );
}

#[test]
fn pure_crates_name_neither_io_nor_clock() {
    let offenders = search(|code| {
        let std_parts = WORLDLY.iter().map(|part| format!("std::{part}"));
        let mut found: Vec<(usize, String)> = std_parts
            .chain(NAMES.map(str::to_owned))
            .flat_map(|name| {
                find_word(code, &name)
                    .into_iter()
                    .map(move |offset| (offset, name.clone()))
            })
            .collect();
        found.extend(worldly_groups(code));
        found
    });
    hold(
        "`games`, `protocol` and `core` reach neither files, sockets, environment, threads nor clock",
        &offenders,
        "take what is needed as an argument, and let `league` fetch it",
    );
}

#[test]
fn pure_crates_print_nothing() {
    let offenders = search(|code| {
        PRINTS
            .iter()
            .flat_map(|print| {
                find_word(code, print)
                    .into_iter()
                    .map(|at| (at, print.to_string()))
            })
            .collect()
    });
    hold(
        "the pure crates print nothing",
        &offenders,
        "return it as a value; `league` decides what is shown and logged",
    );
}

fn search(find: impl Fn(&str) -> Vec<(usize, String)>) -> Vec<String> {
    let in_file = |source: &Source| -> Vec<String> {
        let mut found = find(&source.code);
        found.sort();
        found
            .into_iter()
            .map(|(at, name)| format!("{}: `{name}`", source.place(at)))
            .collect()
    };
    pure_sources().iter().flat_map(in_file).collect()
}

/// Finds the same parts in `use std::{fs, net::…}`.
fn worldly_groups(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for offset in find_word(code, "std::{") {
        let group = bracketed(&code[offset + "std::".len()..]);
        for part in WORLDLY {
            let inside = find_word(group, part).into_iter();
            found.extend(inside.map(|at| (offset + "std::{".len() + at, format!("std::{part}"))));
        }
    }
    found
}

fn forbidden(path: &str, key: &str) -> Vec<String> {
    let settings = table(path);
    let entries = at(&settings, &[key])
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| entry.get("path").unwrap_or(entry).as_str())
        .map(str::to_owned)
        .collect()
}
