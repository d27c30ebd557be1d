//! Why the database does not do what it is asked, and what to do about it.

use std::io;

use league_protocol::id::LeagueId;
use thiserror::Error;
use tokio_postgres::error::SqlState;
use tokio_rustls::rustls;

use super::VERSION;

/// The store on PostgreSQL cannot be used, or refused a write.
#[derive(Debug, Error)]
pub(crate) enum DatabaseError {
    #[error("this is not an address of PostgreSQL: {}", sentence(.0))]
    Address(tokio_postgres::Error),
    #[error("the thread of the database could not start: {0}")]
    Thread(io::Error),
    #[error("TLS cannot be used: {0}")]
    Tls(rustls::Error),
    /// The server cannot be reached, or refused a statement.
    #[error("{}", sentence(.0))]
    Server(#[from] tokio_postgres::Error),
    #[error("the server did not answer within `{seconds}` seconds")]
    Silent { seconds: u64 },
    #[error("its tables are of version `{found}`, and this program needs version `{VERSION}`")]
    Version { found: i32 },
    /// Another process holds the lease.
    #[error("`{agent}` of league `{league}` is held by the agent at `{address}`")]
    Held {
        league: LeagueId,
        agent: String,
        address: String,
    },
    /// Another process took the lease; nothing was written.
    #[error(
        "league `{league}` was taken over by the agent at `{address}`, so this one writes nothing more"
    )]
    Replaced { league: LeagueId, address: String },
    /// Lines that were stored are gone or replaced; nothing was written.
    #[error(
        "the database has lost line `{line}` of league `{league}`, or has another one in its place, \
         so nothing more is written"
    )]
    Lost { league: LeagueId, line: u64 },
    /// What the folder has is not the beginning of what the database has.
    #[error(
        "the folder has line {line} of league `{league}`, and the database has another one or none"
    )]
    Apart { league: LeagueId, line: u64 },
    #[error("league `{0}` is in the database already")]
    Exists(LeagueId),
    #[error("the database was closed")]
    Closed,
}

impl DatabaseError {
    /// Whether the same question may be answered later: the server is away, starts, stops, lacks
    /// room, or undid a transaction for another one.
    pub(crate) fn is_passing(&self) -> bool {
        let error = match self {
            Self::Server(error) => error,
            Self::Silent { .. } => return true,
            _ => return false,
        };
        match error.code() {
            // No answer of the server at all.
            None => true,
            // A standby that takes no writes is about to be promoted, or another host is asked.
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => true,
            Some(state) => {
                let class = state.code().get(..2).unwrap_or_default();
                matches!(class, "08" | "40" | "53" | "57")
            }
        }
    }

    /// Whether a row of this key is there already.
    pub(super) fn is_duplicate(&self) -> bool {
        let state =
            |error: &tokio_postgres::Error| error.code() == Some(&SqlState::UNIQUE_VIOLATION);
        matches!(self, Self::Server(error) if state(error))
    }

    /// What to do about it, in one sentence for people.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => {
                "give one such as `postgres://league@localhost/league?sslmode=require`; `sslmode` is \
                 `disable`, `prefer` or `require`, and `--ca` names another authority"
            }
            Self::Thread(_) | Self::Closed => "start again",
            Self::Tls(_) => "check the certificates of this machine and `--ca`",
            Self::Server(error) if is_handshake(error) => {
                "check `sslmode` in the address, and that this machine knows the authority of the \
                 server's certificate, or name it with `--ca`"
            }
            Self::Server(_) | Self::Silent { .. } => {
                "check that the server runs, and what its log says"
            }
            Self::Version { found } if *found < VERSION => "run `league db migrate` first",
            Self::Version { .. } => "use the program that made the tables, or a newer one",
            Self::Held { .. } => "stop that agent, or wait for its league with `--standby`",
            Self::Replaced { .. } => {
                "start it again with `--standby` if it is to wait for its turn"
            }
            Self::Lost { .. } => {
                "see whether the server went on without its last writes, as an asynchronous standby \
                 may; with another `--root` the league goes on from what the database has"
            }
            Self::Apart { .. } => "use another `--root`, which is filled from the database",
            Self::Exists(_) => "choose another league, or another database",
        }
    }
}

/// Whether TLS did not begin.
fn is_handshake(error: &tokio_postgres::Error) -> bool {
    error.to_string() == "error performing TLS handshake"
}

/// The error of the server in a sentence.
fn sentence(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(refusal) => format!("the server says: {}", refusal.message()),
        None => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::super::Database;
    use super::*;
    use crate::http::tls::Trust;

    fn refused(url: &str) -> DatabaseError {
        Database::connect(url, &Trust::default()).unwrap_err()
    }

    #[test]
    fn address_that_is_refused_names_what_is_wrong_with_it() {
        for (option, named) in [
            ("sslmode=verify-full", "`sslmode`"),
            ("sslrootcert=/ca.pem", "`sslrootcert`"),
        ] {
            let error = refused(&format!("postgres://league@localhost/league?{option}"));
            assert!(error.to_string().contains(named), "{error}");
            assert!(error.hint().contains("`--ca`"), "{}", error.hint());
        }
    }

    #[test]
    fn failure_of_tls_is_told_as_such() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.read_exact(&mut [0; 8]).unwrap();
            client.write_all(b"N").unwrap();
        });
        let error = refused(&format!(
            "postgres://me@127.0.0.1:{port}/league?sslmode=require"
        ));
        server.join().unwrap();
        assert!(
            error.hint().contains("sslmode"),
            "{error}: {}",
            error.hint()
        );
        assert!(error.hint().contains("authority"), "{error}");
    }
}
