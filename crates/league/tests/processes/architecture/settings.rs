//! The settings that every crate shares.

use toml::Value;

use crate::architecture::hold;
use crate::architecture::workspace::{at, members, place, strings, table};

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let offenders: Vec<String> = members()
        .iter()
        .filter(|member| at(&member.manifest, &["lints", "workspace"]) != Some(&true.into()))
        .map(|member| place(&member.path(), "[lints]"))
        .collect();
    hold(
        "every crate takes the lints of the workspace",
        &offenders,
        "add `[lints] workspace = true`",
    );
}

#[test]
fn unsafe_code_is_forbidden() {
    let root = table("Cargo.toml");
    let lint = at(&root, &["workspace", "lints", "rust", "unsafe_code"]);
    let level = lint.map(|lint| lint.get("level").unwrap_or(lint));
    let offenders = match level.and_then(Value::as_str) {
        Some("forbid") => vec![],
        Some(level) => vec![format!(
            "{}: only `{level}`",
            place("Cargo.toml", "unsafe_code")
        )],
        None => vec![place("Cargo.toml", "[workspace.lints.rust]")],
    };
    hold(
        "there is no unsafe code",
        &offenders,
        "set `unsafe_code = \"forbid\"` in [workspace.lints.rust]",
    );
}

#[test]
fn toolchain_is_stable() {
    let path = "rust-toolchain.toml";
    let toolchain = table(path);
    let settings = at(&toolchain, &["toolchain"])
        .and_then(Value::as_table)
        .unwrap();
    let offenders: Vec<String> = settings
        .iter()
        .filter(|(key, value)| (key.as_str(), value.as_str()) != ("channel", Some("stable")))
        .map(|(key, value)| format!("{}: `{key}` is {value}", place(path, key)))
        .collect();
    hold(
        "the toolchain is whatever stable one is here, and building asks for no download of another",
        &offenders,
        "leave nothing but `channel = \"stable\"` in [toolchain]",
    );
    assert!(settings.contains_key("channel"), "{path} names no channel");
}

#[test]
fn plain_cargo_test_covers_every_crate() {
    let root = table("Cargo.toml");
    let all = strings(at(&root, &["workspace", "members"]));
    let by_default = strings(at(&root, &["workspace", "default-members"]));
    let missing: Vec<String> = all
        .iter()
        .filter(|member| !by_default.contains(member))
        .map(|member| {
            format!(
                "{}: `{member}` is missing",
                place("Cargo.toml", "default-members")
            )
        })
        .collect();
    hold(
        "`cargo test` runs the tests of every crate",
        &missing,
        "add it to default-members",
    );
}
