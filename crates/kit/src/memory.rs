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
    /// The manager that the tokens and events are of.
    manager: String,
    /// Whether the latest write failed, so that the file may end in the middle of a line.
    is_torn: bool,
}

impl MemoryFile {
    /// Opens the file and lets the player live through its events with this manager; returns the
    /// latest tokens. Those of another manager are never shown to this one.
    pub(crate) fn open(
        path: &Path,
        manager: &str,
        player: &mut Player,
    ) -> io::Result<(Self, Option<Tokens>)> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let mut reader = BufReader::new(&mut file);
        let (mut tokens, mut number, mut line) = (None, 0_u64, Vec::new());
        // Tokens stand before the events that follow from them.
        let (mut is_ours, mut is_torn) = (false, false);
        loop {
            line.clear();
            let limited = &mut io::Read::take(&mut reader, MAX_LINE);
            if limited.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            number += 1;
            // The process may have ended in the middle of a line.
            is_torn = line.last() != Some(&b'\n');
            if line.trim_ascii().is_empty() {
                continue;
            }
            let read: Option<Value> = serde_json::from_slice(&line).ok();
            let event = read.clone().map(serde_json::from_value::<Event>);
            if let Some((read, found)) = read.and_then(|it| Tokens::read(&it).map(|to| (it, to))) {
                is_ours = read["manager"] == manager;
                tokens = if is_ours { Some(found) } else { tokens };
            } else if let Some(Ok(event)) = event {
                if is_ours {
                    player.apply(&event);
                }
            } else {
                let path = path.display();
                tell(&format!("line {number} of {path} is damaged and ignored"));
            }
        }
        let mut memory = Self {
            file,
            path: path.to_owned(),
            manager: manager.to_owned(),
            is_torn,
        };
        if let Some(tokens) = tokens.as_ref().filter(|_| !is_ours) {
            memory.keep(&[memory.tokens_line(tokens)])?;
        }
        Ok((memory, tokens))
    }

    /// The line that holds tokens.
    pub(crate) fn tokens_line(&self, tokens: &Tokens) -> Value {
        let return_token = tokens.return_token.as_ref().map(AuthToken::reveal);
        let shown = json!({"auth_token": tokens.token.reveal(), "return_token": return_token});
        json!({"tokens": shown, "manager": self.manager})
    }

    /// Adds lines with one write.
    pub(crate) fn keep(&mut self, lines: &[Value]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = String::from(if self.is_torn { "\n" } else { "" });
        for line in lines {
            text.push_str(&format!("{line}\n"));
        }
        let written = self.file.write_all(text.as_bytes());
        if let Err(error) = written.as_ref()
            && !self.is_torn
        {
            let path = self.path.display();
            tell(&format!(
                "could not write {path}, without which nothing is answered: {error}"
            ));
        }
        self.is_torn = written.is_err();
        written
    }

    /// Lets every further write fail; returns the file that can be written.
    #[cfg(test)]
    pub(crate) fn spoil(&mut self) -> File {
        std::mem::replace(&mut self.file, File::open(&self.path).unwrap())
    }

    #[cfg(test)]
    pub(crate) fn mend(&mut self, file: File) {
        self.file = file;
    }
}
