//! A connection to the server whose silence is bounded: a server that hangs or has no power is given
//! up within half a minute, and the next host of the address is tried.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Connection, Error, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::DatabaseError;

/// How long a host may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take until it can be asked.
const HOST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the machine of the server may leave what is sent to it unacknowledged.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The least that a connection carries, in bytes a second; a large question takes longer.
const MIN_SPEED: u64 = 1 << 20;

/// A value of a statement.
pub(super) type Value<'v> = &'v (dyn ToSql + Sync);

/// What asks by a connection, and the connection itself, which has to be polled.
pub(super) type Connected = (
    Client,
    Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>,
);

/// What questions are asked by. A connection on which one is not answered in time is closed, so that
/// the others fail too, and the next one is asked by another.
pub(super) struct Link {
    client: Client,
    connection: AbortHandle,
    /// How long an answer may take, in seconds.
    patience: AtomicU64,
}

impl Link {
    /// Serves a connection on the runtime of the caller.
    pub(super) fn serve((client, connection): Connected) -> Self {
        // Its error reaches the questions that wait.
        let served = tokio::spawn(async move { connection.await.unwrap_or_default() });
        Self {
            client,
            connection: served.abort_handle(),
            patience: AtomicU64::new(ANSWER_TIMEOUT.as_secs()),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Gives this and later questions the time that so many bytes may need; questions behind them
    /// wait as long.
    pub(super) fn allow(&self, bytes: u64) {
        let needed = ANSWER_TIMEOUT.as_secs() + bytes / MIN_SPEED;
        self.patience.fetch_max(needed, Ordering::Relaxed);
    }

    pub(super) async fn query(
        &self,
        question: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, DatabaseError> {
        self.answer(self.client.query(question, values)).await
    }

    pub(super) async fn query_opt(
        &self,
        question: &str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, DatabaseError> {
        self.answer(self.client.query_opt(question, values)).await
    }

    pub(super) async fn execute(
        &self,
        statement: &str,
        values: &[Value<'_>],
    ) -> Result<u64, DatabaseError> {
        self.answer(self.client.execute(statement, values)).await
    }

    pub(super) async fn batch_execute(&self, script: &str) -> Result<(), DatabaseError> {
        self.answer(self.client.batch_execute(script)).await
    }

    async fn answer<T>(
        &self,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, DatabaseError> {
        let seconds = self.patience.load(Ordering::Relaxed);
        let answered = timeout(Duration::from_secs(seconds), asked).await;
        let answer = answered.map_err(|_| {
            self.connection.abort();
            DatabaseError::Silent { seconds }
        })?;
        Ok(answer?)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// The settings for each host of an address, which is given a time of its own.
pub(super) fn hosts(config: &Config) -> Vec<Config> {
    let count = config.get_hosts().len().max(config.get_hostaddrs().len());
    (0..count.max(1)).map(|place| host(config, place)).collect()
}

fn host(config: &Config, place: usize) -> Config {
    let mut one = Config::new();
    one.application_name("league")
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_user_timeout(ACKNOWLEDGE_TIMEOUT)
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(2))
        .keepalives_retries(3);
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    match config.get_hosts().get(place) {
        Some(Host::Tcp(name)) => one.host(name),
        Some(Host::Unix(path)) => one.host_path(path),
        None => &mut one,
    };
    if let Some(address) = config.get_hostaddrs().get(place) {
        one.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(place).or(ports.first()) {
        one.port(*port);
    }
    one
}

/// Connects to the first host that takes what is asked.
pub(super) async fn connect(
    hosts: &[Config],
    tls: &MakeRustlsConnect,
) -> Result<Connected, DatabaseError> {
    let mut failed = DatabaseError::Closed;
    for host in hosts {
        failed = match timeout(HOST_TIMEOUT, host.connect(tls.clone())).await {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(error)) => error.into(),
            Err(_) => DatabaseError::Silent {
                seconds: HOST_TIMEOUT.as_secs(),
            },
        };
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_the_port_of_its_place_and_the_settings_of_all() {
        let url = "postgres://me:word@a:1,b:2/league?target_session_attrs=read-write\
                   &sslmode=disable&options=-csearch_path%3Dx";
        let config: Config = url.parse().unwrap();
        let each = hosts(&config);
        let places = each.iter().map(|one| (one.get_hosts(), one.get_ports()));
        let named = |name: &str| Host::Tcp(name.to_owned());
        let expected = [([named("a")], [1]), ([named("b")], [2])];
        let expected = expected
            .each_ref()
            .map(|(host, port)| (&host[..], &port[..]));
        assert_eq!(places.collect::<Vec<_>>(), expected);
        for one in each {
            let seen = (one.get_user(), one.get_password(), one.get_dbname());
            assert_eq!(seen, (Some("me"), Some(&b"word"[..]), Some("league")));
            assert_eq!(one.get_options(), Some("-csearch_path=x"));
            assert_eq!(one.get_ssl_mode(), config.get_ssl_mode());
            let wanted = config.get_target_session_attrs();
            assert_eq!(one.get_target_session_attrs(), wanted);
        }
    }
}
