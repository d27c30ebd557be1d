//! Where an agent listens, and how others call that.

use std::net::SocketAddr;

use crate::config::SystemConfig;
use crate::http::endpoint::{Endpoint, url};
use crate::http::server::bind;
use tokio::net::TcpListener;

use super::super::common::port_hint;
use super::super::failure::{Failure, Kind};

/// Listens on a port.
pub(super) async fn listen(
    system: &SystemConfig,
    agent: &str,
    port: u16,
) -> Result<TcpListener, Failure> {
    let address = SocketAddr::new(system.security.bind, port);
    bind(address).await.map_err(|error| Failure {
        what: format!("could not start {agent}"),
        cause: match error.kind() {
            std::io::ErrorKind::AddrInUse => format!("port {port} is in use"),
            _ => format!("port {port}: {error}"),
        },
        hint: port_hint(
            &error,
            "choose another with `--port`, or stop the agent that holds it",
        ),
        kind: Kind::World,
    })
}

/// The address that others call.
pub(super) fn endpoint(system: &SystemConfig, listener: &TcpListener) -> String {
    url(&system.network.base_host, port_taken(listener))
}

/// The port that was taken, where any would do.
pub(super) fn port_taken(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}

/// The port of an address in the configuration.
pub(super) fn port_of(endpoint: &str) -> Option<u16> {
    let endpoint = Endpoint::parse(endpoint).ok()?;
    Some(endpoint.address.port())
}
