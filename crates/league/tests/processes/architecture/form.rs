//! The form of the source files: how long, how they open, what they never hold.

use crate::architecture::code::{bracketed, find_word};
use crate::architecture::hold;
use crate::architecture::workspace::{Source, all_sources, product_sources};

/// Lines of a file, its test module not counted.
const MAX_LINES: usize = 1_000;

/// Marks of work that was left for later.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "#[ignore"];

/// Ways of reading JSON that lose the name of the field at fault.
const VAGUE: [&str; 2] = ["flatten", "untagged"];

#[test]
fn module_stands_beside_its_folder() {
    let offenders: Vec<String> = all_sources()
        .into_iter()
        .map(|source| source.path)
        .filter(|path| path.ends_with("/mod.rs"))
        .collect();
    hold(
        "modules are called `name.rs` beside `name/`, never `name/mod.rs`",
        &offenders,
        "move `name/mod.rs` to `name.rs`",
    );
}

#[test]
fn files_stay_below_the_bound() {
    let offenders: Vec<String> = product_sources()
        .iter()
        .filter(|source| !source.path.ends_with("tests.rs"))
        .map(|source| (&source.path, lines_before_tests(&source.text)))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    hold(
        "a source file has at most 1,000 lines, its tests not counted",
        &offenders,
        "split it by subject; ask yourself at 600 lines already",
    );
}

#[test]
fn every_file_says_what_it_is_for() {
    let offenders: Vec<String> = product_sources()
        .iter()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| format!("{}:1", source.path))
        .collect();
    hold(
        "every file opens with `//!` lines on what it is for and what it leaves to others",
        &offenders,
        "write one to five such lines at the very top",
    );
}

#[test]
fn code_has_no_open_ends() {
    let offenders = search(|code| {
        UNFINISHED
            .iter()
            .flat_map(|mark| find_word(code, mark))
            .collect()
    });
    hold(
        "nothing is unfinished and no test is skipped",
        &offenders,
        "write what is missing, or take out what leads to it",
    );
}

#[test]
fn json_is_read_by_name_and_never_by_guess() {
    let offenders = search(|code| {
        let attributes = find_word(code, "serde(").into_iter();
        attributes
            .filter(|&offset| is_vague(&code[offset + "serde".len()..]))
            .collect()
    });
    hold(
        "no type is read with serde's `untagged` or `flatten`, whose errors name no field",
        &offenders,
        "read the object once for its kind and once for its body, so that a refusal has a path",
    );
}

fn lines_before_tests(text: &str) -> usize {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .count()
}

fn is_vague(attribute: &str) -> bool {
    let inside = bracketed(attribute);
    VAGUE.iter().any(|word| !find_word(inside, word).is_empty())
}

fn search(find: impl Fn(&str) -> Vec<usize>) -> Vec<String> {
    let in_file = |source: &Source| -> Vec<String> {
        find(&source.code)
            .into_iter()
            .map(|offset| source.line(offset))
            .collect()
    };
    all_sources().iter().flat_map(in_file).collect()
}
