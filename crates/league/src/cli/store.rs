//! `--store`: leagues in a PostgreSQL database, and the folder that is filled from it.

use clap::Args;
use league_protocol::id::LeagueId;

use crate::chance::Chance;
use crate::cli::arguments::existing_config;
use crate::cli::failure::{CommandError, chain};
use crate::cli::network::TrustArgs;
use crate::config::SystemConfig;
use crate::http::tls::{Tls, Trust};
use crate::storage::database::{Database, DatabaseError};
use crate::storage::league_store::{LeagueStore, fill};
use crate::storage::root::Root;
use crate::storage::store::StoreError;

const WHAT: &str = "could not use the database";

/// The database that holds leagues, if there is one.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StoreArgs {
    /// PostgreSQL database of the leagues
    #[arg(long, value_name = "URL", env = "LEAGUE_STORE", hide_env_values = true)]
    store: Option<String>,
}

impl StoreArgs {
    /// Opens the database of the flag, else of the configuration, if there is one.
    pub(crate) fn open(
        &self,
        system: &SystemConfig,
        trust: &Trust,
    ) -> Result<Option<Database>, CommandError> {
        let given = self.store.as_ref().or(system.store.as_ref());
        let Some(url) = given.filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        Database::open(url, trust)
            .map(Some)
            .map_err(|error| unusable(&error))
    }

    /// The store of an agent that answers at this address, if there is one.
    pub(crate) fn of(
        &self,
        (system, tls): (&SystemConfig, &Tls),
        chance: &Chance,
        address: String,
    ) -> Result<Option<LeagueStore>, CommandError> {
        let database = self.open(system, &tls.trust)?;
        Ok(database.map(|database| LeagueStore::new(database, chance, address)))
    }

    /// Connects to the database that a command is about, even if it has no tables yet.
    pub(crate) fn connect(&self, root: &Root, trust: &TrustArgs) -> Result<Database, CommandError> {
        let (system, trust) = (existing_config(root)?, trust.load(root, WHAT)?);
        let Some(url) = self.store.as_ref().or(system.store.as_ref()) else {
            return Err(CommandError::usage(
                WHAT,
                "no database is named",
                "name one with `--store postgres://USER@HOST/NAME`, or `store` in the configuration",
            ));
        };
        Database::connect(url, &trust).map_err(|error| unusable(&error))
    }

    /// Fills a folder from the database, if a database is named: one league, or all.
    pub(crate) fn fill(
        &self,
        root: &Root,
        trust: &TrustArgs,
        league: Option<&LeagueId>,
    ) -> Result<(), CommandError> {
        let (system, trust) = (existing_config(root)?, trust.load(root, WHAT)?);
        let Some(database) = self.open(&system, &trust)? else {
            return Ok(());
        };
        fill(&database, root, league).map_err(|error| not_filled(root, &error))?;
        Ok(())
    }
}

/// The database cannot be used.
pub(crate) fn unusable(error: &DatabaseError) -> CommandError {
    match error {
        DatabaseError::Address(_) => CommandError::usage(WHAT, error.to_string(), error.hint()),
        _ => CommandError::world(WHAT, error.to_string(), error.hint()),
    }
}

/// A folder cannot be filled from the database.
pub(crate) fn not_filled(root: &Root, error: &StoreError) -> CommandError {
    let what = format!(
        "could not fill `{}` from the database",
        root.as_path().display()
    );
    CommandError::world(what, chain(error), error.hint())
}
