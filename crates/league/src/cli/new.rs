//! `league new player`: writes a player to start from, as one file.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::Exit;
use crate::cli::arguments::quoted;
use crate::cli::failure::CommandError;

/// Write a file to start from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league new player --lang python        write player.py, a complete player on the standard library
  league new player --help               the languages and the options")]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    what: NewFile,
}

#[derive(Debug, Subcommand)]
enum NewFile {
    Player(NewPlayerArgs),
}

// It speaks the protocol, comes back after a restart, and moves at random until you change its
// function `choose`.
/// Write a player to start from: one file that plays as it is, with your part at the top
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league new player --lang python                     player.py, on the standard library
  league new player --lang javascript --name Heron    player.mjs, called Heron
  league new player --lang rust -o heron              heron/Cargo.toml and heron/src/main.rs
  python3 player.py --port 8101 --name Heron          it joins the manager on this machine")]
struct NewPlayerArgs {
    /// The language
    #[arg(long, value_enum, value_name = "LANG")]
    lang: Language,
    /// Display name
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, value_parser = display_name)]
    name: String,
    /// File or folder to write [default: the usual name in this folder]
    #[arg(short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

/// The display name in the kits.
const DEFAULT_NAME: &str = "My Player";
/// The list of games in the kits, which all listed games replace.
const KIT_GAMES: &str = "GAMES = [\"even_odd\"]";
/// The longest name that a manager admits, in characters.
const MAX_NAME: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    /// Python 3.10 or later, nothing to install
    Python,
    /// Python with FastMCP
    PythonFastmcp,
    /// Node 18 or later, nothing to install
    Javascript,
    /// Rust, on the crates of League
    Rust,
    /// Python that asks a language model, nothing to install
    Llm,
}

impl Language {
    const fn text(self) -> &'static str {
        match self {
            Self::Python => include_str!("../../kits/player.py"),
            Self::PythonFastmcp => include_str!("../../kits/player_fastmcp.py"),
            Self::Javascript => include_str!("../../kits/player.mjs"),
            Self::Rust => include_str!("../../kits/player.rs"),
            Self::Llm => include_str!("../../kits/player_llm.py"),
        }
    }

    /// The usual name: of a file, or for Rust of a folder.
    const fn file(self) -> &'static str {
        match self {
            Self::Python => "player.py",
            Self::PythonFastmcp => "player_fastmcp.py",
            Self::Javascript => "player.mjs",
            Self::Rust => "player",
            Self::Llm => "player_llm.py",
        }
    }
}

impl NewArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let NewFile::Player(player) = &self.what;
        player.run(out)
    }
}

impl NewPlayerArgs {
    fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let place = self.place();
        let files = self.files(&place);
        if let Some((there, _)) = files.iter().find(|(path, _)| path.exists() && !self.force) {
            return Err(in_the_way(there));
        }
        for (path, text) in &files {
            self.write(path, text)
                .map_err(|error| unwritten(path, &error))?;
            writeln!(out, "wrote {}", path.display())?;
        }
        writeln!(out, "your part is the function `choose`, at the top")?;
        writeln!(out, "run it with:")?;
        if self.lang == Language::PythonFastmcp {
            writeln!(out, "  pip install fastmcp")?;
        }
        writeln!(out, "  {}", self.command(&place))?;
        writeln!(
            out,
            "if no league is running, start one, with two opponents:"
        )?;
        writeln!(out, "  league manager --players 3 --referees 1")?;
        writeln!(out, "  league referee")?;
        writeln!(out, "  league player --port 8102")?;
        writeln!(out, "  league player --port 8103")?;
        Ok(Exit::Yes)
    }

    /// The file to write; for Rust the folder.
    fn place(&self) -> PathBuf {
        let usual = self.lang.file();
        match &self.out {
            None => PathBuf::from(usual),
            // A Rust player gets a folder of its own.
            Some(path) if self.lang == Language::Rust => path.clone(),
            Some(path) if path.is_dir() => path.join(usual),
            Some(path) => path.clone(),
        }
    }

    fn files(&self, place: &Path) -> Vec<(PathBuf, String)> {
        let games = league_games::all().iter();
        let games: Vec<String> = games
            .map(|game| format!("\"{}\"", game.rules.game_type))
            .collect();
        let text = self
            .lang
            .text()
            .replace(KIT_GAMES, &format!("GAMES = [{}]", games.join(", ")))
            .replace(
                &format!("\"{DEFAULT_NAME}\""),
                &format!("\"{}\"", self.name),
            );
        match self.lang {
            Language::Rust => vec![
                (place.join("Cargo.toml"), manifest()),
                (place.join("src/main.rs"), text),
            ],
            _ => vec![(place.to_owned(), text)],
        }
    }

    /// Writes a file; an existing one only with `--force`.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        if self.force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        options.write(true).open(path)?.write_all(text.as_bytes())
    }

    fn command(&self, place: &Path) -> String {
        let place = place.display().to_string();
        if self.lang == Language::Llm {
            let (program, name) = (quoted(&place), quoted(&self.name));
            return format!(
                "league player --exec \"python3 {program}\" --pass-env OPENAI_API_KEY --name {name}"
            );
        }
        let start = match self.lang {
            Language::Python | Language::PythonFastmcp | Language::Llm => {
                format!("python3 {}", quoted(&place))
            }
            Language::Javascript => format!("node {}", quoted(&place)),
            Language::Rust => {
                let manifest = quoted(&format!("{place}/Cargo.toml"));
                format!("cargo run --manifest-path {manifest} --")
            }
        };
        format!("{start} --port 8101 --manager http://localhost:8000/mcp")
    }
}

/// A manifest with the path of the source that this program was built from.
fn manifest() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("kit");
    let source = toml_text(&source.to_string_lossy());
    let (edition, rust_version) = ("2024", env!("CARGO_PKG_RUST_VERSION"));
    format!(
        "[package]\nname = \"player\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\n\
         rust-version = \"{rust_version}\"\npublish = false\n\n[dependencies]\n\
         # The source that the `league` command was built from; correct the path if it has moved.\n\
         # For a manager with TLS add `features = [\"tls\"]`.\n\
         league-kit = {{ path = {source} }}\n\n\
         # Builds faster, and a panic still names its line.\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n\
         # Not part of a workspace around it.\n[workspace]\n"
    )
}

fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Reads a name that fits into the source of every language, and that a manager admits.
fn display_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| !letter.is_control() && !"\"\\{}$`".contains(letter);
    match text.trim() {
        "" => Err("a name needs at least one character".to_owned()),
        name if name.chars().count() > MAX_NAME => {
            Err(format!("a name has at most {MAX_NAME} characters"))
        }
        name if name.chars().all(plain) => Ok(name.to_owned()),
        _ => Err(
            "choose a name without quotes, backslashes, braces, `$` and control characters"
                .to_owned(),
        ),
    }
}

fn in_the_way(path: &Path) -> CommandError {
    CommandError::usage(
        "could not write the player",
        format!("`{}` exists already", path.display()),
        "give another path with `-o`, or replace the file with `--force`",
    )
}

fn unwritten(path: &Path, error: &io::Error) -> CommandError {
    // The same error is given for a folder whose name a file has.
    if error.kind() == ErrorKind::AlreadyExists && path.exists() {
        return in_the_way(path);
    }
    CommandError::world(
        "could not write the player",
        format!("`{}`: {error}", path.display()),
        "give a path with write permission with `-o`",
    )
}
