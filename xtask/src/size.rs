//! `cargo xtask size`: how big the program is, in numbers that may only fall.
//!
//! Text is counted, as `cargo fmt` lays it out; nothing is built. `size.txt` holds the same
//! numbers, and a test compares both.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;

use crate::shell::{program, root};

const TABLE: &str = "xtask/size.txt";
/// Folders without text of ours, besides hidden ones.
const FOREIGN: [&str; 3] = ["build", "node_modules", "target"];

#[derive(Args)]
pub(crate) struct Options {
    /// Write the numbers to `xtask/size.txt`; one that rises needs a reason in the commit.
    #[arg(long)]
    write: bool,
}

pub(crate) fn size(options: &Options) -> anyhow::Result<ExitCode> {
    let table = shown(&count()?);
    print!("{table}");
    if options.write {
        fs::write(root().join(TABLE), table)?;
    }
    Ok(ExitCode::SUCCESS)
}

type Counts = Vec<(String, usize)>;

fn shown(counts: &Counts) -> String {
    let line = |(name, number): &(String, usize)| format!("{name} {number}\n");
    counts.iter().map(line).collect()
}

fn count() -> anyhow::Result<Counts> {
    let mut counts = Counts::new();
    let mut add = |name: &str, number| counts.push((name.to_owned(), number));
    let crates = fs::read_dir(root().join("crates"))?;
    let mut crates: Vec<_> = crates.collect::<Result<_, _>>()?;
    crates.sort_by_key(fs::DirEntry::path);
    let mut product = Vec::new();
    for folder in crates {
        let sources = sources(&folder.path().join("src"), &["rs"])?;
        let name = format!("lines.{}", folder.file_name().to_string_lossy());
        add(&name, lines(&sources));
        product.extend(sources);
    }
    let mut all = lines(&product);
    add("lines.crates", all);
    for (name, folder, kinds) in [
        ("lines.xtask", "xtask", ["rs"].as_slice()),
        ("lines.sdk", "sdk", &["py"]),
        ("lines.kits", "crates/league/kits", &["rs", "py", "mjs"]),
        ("lines.pages", "crates", &["html", "css", "js"]),
    ] {
        let lines = lines(&sources(&root().join(folder), kinds)?);
        add(name, lines);
        all += lines;
    }
    add("lines.all", all);
    add("files", product.len());
    let code = product.concat();
    let found = |text: &str| code.matches(text).count();
    let visible = ["pub(crate)", "pub(super)", "pub(in "].map(found);
    add("visibility", visible.into_iter().sum());
    add("events", entries(&code, "enum Event {"));
    add("refusals", found("#[error("));
    let hidden = found("#[command(hide = true)]");
    add("commands", entries(&code, "enum CliCommand {") - hidden);
    add("flags", flags(&code));
    add("levers", entries(&code, "enum LeverCommand {"));
    let config = sources(&root().join("crates/league/src/config"), &["rs"])?;
    let config = config.concat();
    let declarations = [
        "with_defaults! {\n    pub struct ",
        "Deserialize)]\npub struct ",
    ];
    let settings = declarations.map(|declaration| entries(&config, declaration));
    add("settings", settings.into_iter().sum());
    add("dependencies", dependencies()?);
    let mut words = 0;
    for path in files(&root(), &["md"])? {
        words += fs::read_to_string(path)?.split_whitespace().count();
    }
    add("words", words);
    for (name, number) in &counts {
        let place = "xtask/src/size.rs";
        ensure!(*number > 0, "`{name}` is 0: {place} looks for what is gone");
    }
    Ok(counts)
}

/// The code of the files below a folder: no comments, no tests.
fn sources(folder: &Path, kinds: &[&str]) -> anyhow::Result<Vec<String>> {
    let is_test = |part: &OsStr| part == "tests" || part == "tests.rs";
    let mut sources = Vec::new();
    for path in files(folder, kinds)? {
        if !path.strip_prefix(folder)?.iter().any(is_test) {
            sources.push(code(&fs::read_to_string(&path)?));
        }
    }
    Ok(sources)
}

/// The files below a folder with one of these endings.
fn files(folder: &Path, kinds: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {folder:?}"))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = path.extension().unwrap_or_default().to_string_lossy();
        if !path.is_dir() {
            found.extend(kinds.contains(&&*kind).then(|| path.clone()));
        } else if !name.starts_with('.') && !FOREIGN.contains(&&*name) {
            found.extend(files(&path, kinds)?);
        }
    }
    Ok(found)
}

fn lines(sources: &[String]) -> usize {
    sources.iter().map(|code| code.lines().count()).sum()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines that are not blank, not comments, and not of an item that only tests see.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let start = line.trim();
        let blocks = [("/*", "*/"), ("\"\"\"", "\"\"\""), ("<!--", "-->")];
        if let Some((open, close)) = blocks.iter().find(|(open, _)| start.starts_with(open)) {
            if !start[open.len()..].contains(close) {
                lines.find(|line| line.contains(close));
            }
        } else if start == "#[cfg(test)]" {
            lines.find(|end| indent(end) == indent(line) && end.ends_with([';', '}']));
        } else if !(start.is_empty() || start.starts_with("//") || start.starts_with("# ")) {
            code.extend([line, "\n"]);
        }
    }
    code
}

/// Counts what stands in the blocks below a declaration: variants, or fields.
fn entries(code: &str, declaration: &str) -> usize {
    let count = |body: &str| {
        let lines = body.lines().skip(1);
        let step = lines.clone().next().map_or(0, indent);
        let inside = lines.take_while(|line| indent(line) >= step);
        let is_entry = |line: &&str| line[step..].starts_with(char::is_alphabetic);
        inside.filter(is_entry).count()
    };
    code.split(declaration).skip(1).map(count).sum()
}

/// Counts the places that declare a flag which help shows.
fn flags(code: &str) -> usize {
    let arguments = code.split("#[arg(").skip(1);
    let is_flag = |argument: &&str| {
        let argument = argument.split(")]").next().unwrap_or_default();
        let mut words = argument.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| word == "long") && !argument.contains("hide = true")
    };
    arguments.filter(is_flag).count()
}

/// Counts the crates that are compiled for the program on Linux, ours among them.
fn dependencies() -> anyhow::Result<usize> {
    let mut tree = program("cargo");
    tree.args([
        "tree",
        "--locked",
        "--package",
        "league",
        "--prefix",
        "none",
    ]);
    tree.args([
        "--edges",
        "normal,build",
        "--target",
        "x86_64-unknown-linux-gnu",
    ]);
    let output = tree.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{tree:?}` failed: {errors}");
    let text = String::from_utf8(output.stdout)?;
    let package = |line: &str| line.split(' ').take(2).collect::<String>();
    Ok(text.lines().map(package).collect::<BTreeSet<_>>().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says which numbers differ from those of a table, and what to do.
    fn differences(counts: &Counts, table: &str) -> String {
        let mut risen = String::new();
        for (name, new) in counts {
            let old = table
                .lines()
                .find_map(|line| line.strip_prefix(&format!("{name} ")));
            let old = old.map_or(0, |old| old.parse().unwrap());
            if *new > old {
                risen += &format!("`{name}` rose from {old} to {new}\n");
            }
        }
        if !risen.is_empty() {
            risen
                + "make it smaller; `cargo xtask size --write` may raise the table only in the \
                same commit, with the reason in its message"
        } else if shown(counts) != table {
            "numbers fell: write them with `cargo xtask size --write`".to_owned()
        } else {
            risen
        }
    }

    #[test]
    fn numbers_are_those_of_the_table() {
        let table = fs::read_to_string(root().join(TABLE)).unwrap();
        let differences = differences(&count().unwrap(), &table);
        assert!(differences.is_empty(), "{TABLE}: {differences}");
    }

    #[test]
    fn a_number_may_not_rise_and_may_fall_only_with_its_table() {
        let table = "files 3\nwords 5\n";
        let compare =
            |files| differences(&vec![("files".into(), files), ("words".into(), 5)], table);
        assert_eq!(compare(3), "");
        assert!(compare(4).starts_with("`files` rose from 3 to 4\n"));
        assert!(compare(2).starts_with("numbers fell"));
    }

    #[test]
    fn only_code_is_counted() {
        for (text, expected) in [
            (
                "// a\n\n    /// b\nfn c() {} // d\n/* e\n\n*/\n",
                "fn c() {} // d\n",
            ),
            (
                "# a\n\"\"\"b\nc\"\"\"\n\"\"\"d\"\"\"\n#e { f: g }\n",
                "#e { f: g }\n",
            ),
            ("#[cfg(test)]\nuse a::{\n    b,\n};\nc\n", "c\n"),
            (
                "a\n    #[cfg(test)]\n    b() {\n        c;\n    }\n    d\n",
                "a\n    d\n",
            ),
        ] {
            assert_eq!(code(text), expected);
        }
        let code = "enum A {\n    #[b(c)]\n    D { e: F },\n    G {\n        h: I,\n    },\n}\nJ\n";
        assert_eq!(entries(code, "enum A {"), 2);
        assert_eq!(
            flags("#[arg(long)] #[arg(a, long = b)] #[arg(c)] #[arg(long, hide = true)]"),
            2
        );
    }
}
