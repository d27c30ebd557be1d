//! The file by which a player comes back after a restart: its tokens and the events of its machine,
//! one JSON object a line. Only its owner may read it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use league_core::machine::Machine;
use league_core::player::{Event, Player};
use league_protocol::token::AuthToken;
use serde_json::{Value, json};

use crate::options::tell;

/// The longest line that is read again, in bytes.
const MAX_LINE: u64 = 1024 * 1024;

/// What a player shows to referees, and what it comes back and signs with.
pub(crate) struct Tokens {
    pub(crate) token: AuthToken,
    pub(crate) return_token: Option<AuthToken>,
}

impl Tokens {
    fn read(line: &Value) -> Option<Self> {
        let token = |name: &str| line["tokens"][name].as_str().map(AuthToken::new);
        Some(Self {
            token: token("auth_token")?,
            return_token: token("return_token"),
        })
    }
}

pub(crate) struct MemoryFile {
    file: File,
    path: PathBuf,
}

impl MemoryFile {
    /// Opens the file and lets the player live through its events; returns the latest tokens.
    pub(crate) fn open(path: &Path, player: &mut Player) -> io::Result<(Self, Option<Tokens>)> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let mut reader = BufReader::new(&mut file);
        let (mut tokens, mut number, mut line) = (None, 0_u64, Vec::new());
        loop {
            line.clear();
            let limited = &mut io::Read::take(&mut reader, MAX_LINE);
            if limited.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            number += 1;
            let read: Option<Value> = serde_json::from_slice(&line).ok();
            let event = read.clone().map(serde_json::from_value::<Event>);
            if let Some(found) = read.as_ref().and_then(Tokens::read) {
                tokens = Some(found);
            } else if let Some(Ok(event)) = event {
                player.apply(&event);
            } else {
                let path = path.display();
                tell(&format!("line {number} of {path} is damaged and ignored"));
            }
        }
        if line.last().is_none_or(|last| *last != b'\n') && number > 0 {
            // The process ended in the middle of a line.
            file.write_all(b"\n")?;
        }
        let path = path.to_owned();
        Ok((Self { file, path }, tokens))
    }

    pub(crate) fn keep_event(&mut self, event: &Event) {
        if let Ok(event) = serde_json::to_value(event) {
            self.keep(&event);
        }
    }

    pub(crate) fn keep_tokens(&mut self, tokens: &Tokens) {
        let return_token = tokens.return_token.as_ref().map(AuthToken::reveal);
        let line = json!({"auth_token": tokens.token.reveal(), "return_token": return_token});
        self.keep(&json!({"tokens": line}));
    }

    /// Adds a line with one write. A player that cannot write plays on: it only forgets.
    fn keep(&mut self, line: &Value) {
        if let Err(error) = self.file.write_all(format!("{line}\n").as_bytes()) {
            let path = self.path.display();
            tell(&format!(
                "could not write {path}, which a restart needs: {error}"
            ));
        }
    }
}
