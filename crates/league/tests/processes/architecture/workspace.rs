//! Reads the workspace from disk: its manifests, its settings, its Rust files.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::architecture::code;

/// The folders of the crates that do no input or output and know no clock.
pub(crate) const PURE: [&str; 6] = [
    "crates/games",
    "crates/protocol",
    "crates/core",
    "crates/simulation",
    "crates/testkit",
    "crates/web",
];

/// One crate of the workspace.
pub(crate) struct Member {
    /// Its folder, seen from the root of the repository.
    pub(crate) folder: String,
    pub(crate) manifest: Table,
}

impl Member {
    /// The path of its manifest, seen from the root of the repository.
    pub(crate) fn path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    pub(crate) fn name(&self) -> &str {
        at(&self.manifest, &["package", "name"])
            .and_then(Value::as_str)
            .expect("a package has a name")
    }
}

/// One Rust file.
pub(crate) struct Source {
    /// Its path, seen from the root of the repository.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments and the insides of literals blanked, line for line and byte for byte.
    pub(crate) code: String,
}

impl Source {
    /// Names the line that holds the byte `offset`, as an editor understands it.
    pub(crate) fn place(&self, offset: usize) -> String {
        let line = self.text.as_bytes()[..offset]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            + 1;
        format!("{}:{line}", self.path)
    }

    /// Shows the line that holds the byte `offset`, with its place.
    pub(crate) fn line(&self, offset: usize) -> String {
        let (before, after) = self.text.split_at(offset);
        let start = before.rsplit('\n').next().unwrap_or_default();
        let end = after.lines().next().unwrap_or_default();
        format!("{}: {}", self.place(offset), [start, end].concat().trim())
    }
}

/// Lists every crate, `xtask` too.
pub(crate) fn members() -> Vec<Member> {
    let mut folders = vec!["xtask".to_owned()];
    folders.extend(
        entries("crates")
            .into_iter()
            .filter(|folder| file(folder).join("Cargo.toml").is_file()),
    );
    folders
        .into_iter()
        .map(|folder| Member {
            manifest: table(&format!("{folder}/Cargo.toml")),
            folder,
        })
        .collect()
}

/// Lists every Rust file below the folders of all crates.
pub(crate) fn all_sources() -> Vec<Source> {
    members()
        .iter()
        .flat_map(|member| sources(&member.folder))
        .collect()
}

/// Lists every Rust file below the `src` of all crates.
pub(crate) fn product_sources() -> Vec<Source> {
    members()
        .iter()
        .flat_map(|member| sources(&format!("{}/src", member.folder)))
        .collect()
}

/// Lists every Rust file below the `src` of the pure crates.
pub(crate) fn pure_sources() -> Vec<Source> {
    PURE.iter()
        .flat_map(|folder| sources(&format!("{folder}/src")))
        .collect()
}

/// Reads a settings file.
pub(crate) fn table(path: &str) -> Table {
    read(path)
        .parse()
        .unwrap_or_else(|error| panic!("`{path}` is not TOML: {error}"))
}

/// Names the line of a settings file that begins with `start`, or the file if none does.
pub(crate) fn place(path: &str, start: &str) -> String {
    let line = read(path)
        .lines()
        .position(|line| line.trim_start().starts_with(start));
    line.map_or_else(|| path.to_owned(), |line| format!("{path}:{}", line + 1))
}

/// Follows `keys` into a table.
pub(crate) fn at<'table>(table: &'table Table, keys: &[&str]) -> Option<&'table Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter()
        .try_fold(table.get(*first)?, |value, key| value.get(key))
}

/// Reads an array of strings; what is absent is empty.
pub(crate) fn strings(value: Option<&Value>) -> Vec<&str> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for path in entries(folder) {
        if file(&path).is_dir() {
            found.extend(sources(&path));
        } else if path.ends_with(".rs") {
            let text = read(&path);
            found.push(Source {
                code: code::only(&text),
                text,
                path,
            });
        }
    }
    found
}

fn entries(folder: &str) -> Vec<String> {
    let listing = fs::read_dir(file(folder))
        .unwrap_or_else(|error| panic!("could not list `{folder}`: {error}"));
    let mut names: Vec<String> = listing
        .map(|entry| {
            entry
                .expect("a folder can be listed to its end")
                .file_name()
        })
        .map(|name| name.into_string().expect("a file name is UTF-8"))
        .filter(|name| name != "target" && !name.starts_with('.'))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    names
}

fn read(path: &str) -> String {
    fs::read_to_string(file(path))
        .unwrap_or_else(|error| panic!("could not read `{path}`: {error}"))
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}
