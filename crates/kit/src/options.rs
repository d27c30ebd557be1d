//! How a player is started: its options, from a command line or from a program, and its errors.

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use league_core::entrant::Entrant;
use league_core::letter::Peer;
use league_core::player::{MemoryRule, Player, PlayerRules};
use league_core::timeouts::Timeouts;
use league_games::Dice;
use league_protocol::finding::harmless;
use league_protocol::id::GameType;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::AuthToken;
use thiserror::Error;

use crate::call::{Manager, ManagerUrl};
use crate::http::{MAX_CONNECTIONS, serve};
use crate::mind::Mind;
use crate::seat::KitPlayer;

const USAGE: &str = "\
options:
  --port PORT         the port to listen on [default: 8101; 0 for any]
  --host HOST         the name or address under which others call it [default: localhost]
  --bind ADDRESS      the address to listen on, if another: 0.0.0.0 for all
  --public-url URL    the URL under which others call it, if a tunnel leads here
  --manager URL       the address of the manager [default: http://localhost:8000/mcp]
  --ca FILE           certificates to trust, for a manager with https://
  --join-code CODE    the code of the organiser, if the league has one
  --name NAME         the name shown to people";

/// The most characters of a name in the name of a file.
const MAX_FILE_CHARS: usize = 40;

/// A player for a real league, before it is started.
#[derive(Debug, Clone)]
pub struct Kit {
    /// The name shown to people.
    pub name: String,
    /// The port to listen on; 0 for any.
    pub port: u16,
    /// The name or address under which others call it.
    pub host: String,
    /// The address to listen on, if it is not the host.
    pub bind: Option<String>,
    /// The URL under which others call it, if it is not made of host and port.
    pub public_url: Option<String>,
    /// The address of the manager; `http://` and `/mcp` may be left out.
    pub manager: String,
    /// A file of certificates to trust, for a manager with `https://`.
    pub ca: Option<PathBuf>,
    /// The code of the organiser, if the league has one.
    pub join_code: Option<String>,
    /// The file for restarts; by default one in this folder that is named by the port, or for any
    /// port by the name.
    pub memory: Option<PathBuf>,
}

/// Why a player does not play, or stopped.
#[derive(Debug, Error)]
pub enum KitError {
    #[error("{0}")]
    Option(String),
    #[error("could not use the address of the manager: {0}")]
    Manager(String),
    #[error("could not listen at {place}: {source}; choose another port with `--port`")]
    Listen { place: String, source: io::Error },
    #[error("could not use the file `{}`: {source}", path.display())]
    Memory { path: PathBuf, source: io::Error },
    #[error("the operating system gives no random bytes: {0}")]
    Chance(getrandom::Error),
    #[error("could not start a thread: {0}")]
    Thread(io::Error),
    #[error("the league manager did not admit this player: {0}")]
    Rejected(String),
}

impl Kit {
    /// A player with the usual options.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            port: 8101,
            host: "localhost".to_owned(),
            bind: None,
            public_url: None,
            manager: "http://localhost:8000/mcp".to_owned(),
            ca: None,
            join_code: None,
            memory: None,
        }
    }

    /// The `main` of a player: reads the command line, plays, and prints an error if it must stop.
    pub fn main(name: &str, entrant: impl Entrant + Send + 'static) -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if arguments.iter().any(|it| it == "--help" || it == "-h") {
            let _ = writeln!(io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        let kit = Self::new(name).with_arguments(arguments);
        let error = kit.map_or_else(|error| error, |kit| kit.play(entrant));
        let _ = writeln!(io::stderr(), "error: {error}");
        let is_usage = matches!(error, KitError::Option(_));
        ExitCode::from(if is_usage { 2 } else { 1 })
    }

    /// The same player with the options of a command line.
    ///
    /// # Errors
    ///
    /// An option is unknown, or has no value or a wrong one.
    pub fn with_arguments(
        mut self,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<Self, KitError> {
        let mut arguments = arguments.into_iter();
        while let Some(option) = arguments.next() {
            let value = || KitError::Option(format!("`{option}` needs a value\n{USAGE}"));
            let mut next = || arguments.next().ok_or_else(value);
            match option.as_str() {
                "--name" => self.name = next()?,
                "--port" => {
                    let port = next()?;
                    let wrong = format!("`--port {port}` is not a port: give 0 to 65535");
                    self.port = port.parse().map_err(|_| KitError::Option(wrong))?;
                }
                "--host" => self.host = next()?,
                "--bind" => self.bind = Some(next()?),
                "--public-url" => self.public_url = Some(next()?),
                "--manager" => self.manager = next()?,
                "--ca" => self.ca = Some(next()?.into()),
                "--join-code" => self.join_code = Some(next()?),
                _ => {
                    let option = option.escape_debug();
                    return Err(KitError::Option(format!(
                        "unknown option `{option}`\n{USAGE}"
                    )));
                }
            }
        }
        Ok(self)
    }

    /// Joins the league and plays until the process ends. Returns only if the player cannot start, or
    /// the manager does not admit it.
    pub fn play(self, entrant: impl Entrant + Send + 'static) -> KitError {
        let started = self.start(entrant);
        started.map_or_else(|error| error, |(seat, manager)| seat.live(&manager))
    }

    /// Seats the player, which listens before it registers.
    fn start(
        self,
        entrant: impl Entrant + Send + 'static,
    ) -> Result<(Arc<KitPlayer>, Manager), KitError> {
        let manager = ManagerUrl::parse(&self.manager, self.ca.clone());
        let manager = manager.map_err(KitError::Manager)?;
        let listener = self.listen()?;
        let port = listener.local_addr().map_or(self.port, |at| at.port());
        let [a, b, c, d, e, f, g, h, ..] = random()?;
        let dice = Dice::seeded(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        let mind = Mind::start(entrant, dice).map_err(KitError::Thread)?;
        let player = Player::new(self.rules(port, &manager));
        let memory = self.memory_file();
        let seat = Arc::new(KitPlayer::new(player, &memory, mind)?);
        let runtime = serve(listener, Arc::clone(&seat), MAX_CONNECTIONS);
        let manager = Manager::new(manager, runtime.map_err(KitError::Thread)?);
        Ok((seat, manager))
    }

    /// The file for restarts. Any port is another one after a restart, so the name stands for it.
    pub(crate) fn memory_file(&self) -> PathBuf {
        let in_path = |letter: char| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '_'
            }
        };
        let known = match self.port {
            0 => self
                .name
                .chars()
                .take(MAX_FILE_CHARS)
                .map(in_path)
                .collect(),
            port => port.to_string(),
        };
        let usual = || PathBuf::from(format!(".player-rust-{known}.jsonl"));
        self.memory.clone().unwrap_or_else(usual)
    }

    fn listen(&self) -> Result<TcpListener, KitError> {
        let host = self.bind.as_ref().unwrap_or(&self.host).as_str();
        // A name may also mean an address of IPv6, which referees need not call.
        let host = if host == "localhost" {
            "127.0.0.1"
        } else {
            host.trim_start_matches('[').trim_end_matches(']')
        };
        TcpListener::bind((host, self.port)).map_err(|source| KitError::Listen {
            place: format!("{host}:{}", self.port),
            source,
        })
    }

    pub(crate) fn rules(&self, port: u16, manager: &ManagerUrl) -> PlayerRules {
        // An address of IPv6 stands in brackets.
        let is_bare = self.host.contains(':') && !self.host.starts_with('[');
        let (open, close) = if is_bare { ("[", "]") } else { ("", "") };
        let own = || format!("http://{open}{}{close}:{port}/mcp", self.host);
        let games = league_games::all().iter();
        PlayerRules {
            display_name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            endpoint: self.public_url.clone().unwrap_or_else(own),
            games: games
                .filter_map(|game| GameType::new(game.rules.game_type).ok())
                .collect(),
            timeouts: Timeouts::default(),
            manager: Arc::new(Peer {
                agent: Agent::Manager,
                endpoint: manager.to_string().into(),
                dialect: Dialect::V2,
                speech: Some(CallStyle::Simple),
                is_foreign: false,
            }),
            wanted_id: None,
            join_code: self.join_code.as_ref().map(AuthToken::new),
            strict: false,
            memory: MemoryRule::default(),
            human: false,
        }
    }
}

/// The most characters of a line for people.
pub(crate) const MAX_WORDS: usize = 400;

/// Prints a line for people. It may quote others, who must not command the terminal.
pub(crate) fn tell(words: &str) {
    // Standard output may be closed; the player continues.
    let _ = writeln!(io::stdout(), "{}", harmless(words, MAX_WORDS));
}

/// Unpredictable bytes, for tokens, nonces and dice.
pub(crate) fn random() -> Result<[u8; 32], KitError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(KitError::Chance)?;
    Ok(bytes)
}
