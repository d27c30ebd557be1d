//! Appends lines to the store of leagues as the journal of a manager does, and tells how long it took.

use std::io::{self, Write};
use std::time::Instant;

use league_protocol::id::LeagueId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::cli::failure::CommandError;
use crate::http::tls::Trust;
use crate::storage::database::{Database, Stream};
use crate::storage::store::{Head, StoreError};

/// Lines for the journal of a league that does not exist yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AppendsPlan {
    /// The address of the store.
    pub(crate) store: String,
    pub(crate) league: LeagueId,
    /// How many lines go into one batch, and how many batches there are.
    pub(crate) lines: u64,
    pub(crate) batches: u64,
    /// The length of a line in bytes.
    pub(crate) length: usize,
}

impl AppendsPlan {
    /// Appends all batches one after the other, and prints the microseconds that each took.
    pub(crate) fn host(&self, what: &str) -> Result<(), CommandError> {
        let micros = self.append().map_err(|error| {
            let hint = "see that the database answers, and that it has no league of this name";
            CommandError::world(what, error.to_string(), hint)
        })?;
        Ok(writeln!(io::stdout(), "{}", json!({ "micros": micros }))?)
    }

    fn append(&self) -> Result<Vec<u128>, StoreError> {
        let database = Database::open(&self.store, &Trust::default())?;
        let lease = database.take(&Stream::of_manager(&self.league), "bench", "")?;
        let line = format!("{:x<1$}\n", "", self.length.saturating_sub(1));
        let batch = line.repeat(usize::try_from(self.lines).unwrap_or(1));
        let hash = Sha256::digest(line.trim_end()).into();
        let mut before = Head::default();
        let batches = (0..self.batches).map(|_| {
            let since = Instant::now();
            lease.append(&before, batch.as_bytes())?;
            let sequence = before.sequence + self.lines;
            before = Head { sequence, hash };
            Ok(since.elapsed().as_micros())
        });
        batches.collect()
    }
}
