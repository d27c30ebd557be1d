//! Checks the `Host` and `Origin` headers of every request, before its body is read.
//!
//! A web page can make a browser send requests to a port on this machine. With a domain of its own
//! that resolves to this machine, it could even read the answers. These two headers reveal such
//! requests, and a page cannot set them.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::Uri;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use thiserror::Error;

use super::local;
use crate::config::SystemConfig;

/// The allowed hosts and origins.
///
/// The names and addresses of loopback are always allowed, and so is the address at which a
/// connection arrived. If agents listen on more than loopback, the machine's own names are allowed
/// as well; a foreign name that resolves to this machine is not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<AllowedNames>);

#[derive(Debug, Default)]
struct AllowedNames {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum GateRefusal {
    #[error(
        "the header `Host` is missing or names a host that this agent does not go by; \
         if it should, start it with `--host` and that name, or add the name to \
         `security.allowed_hosts` in config/system.json"
    )]
    Host,
    #[error(
        "pages of this `Origin` may not call this agent; \
         if they should, add it to `security.allowed_origins` in config/system.json"
    )]
    Origin,
}

impl Gate {
    /// Also allows the hosts and origins of the configuration.
    pub(crate) fn new(system: &SystemConfig) -> Self {
        let security = &system.security;
        // On a local network, people reach a machine by its name.
        let own = if security.bind.is_loopback() {
            Vec::new()
        } else {
            local::names()
        };
        let named = security.allowed_hosts.iter();
        let hosts = named.chain([&system.network.base_host]).chain(&own);
        let lower = |text: &String| text.trim().trim_end_matches('/').to_ascii_lowercase();
        Self(Arc::new(AllowedNames {
            hosts: hosts.map(lower).collect(),
            origins: security.allowed_origins.iter().map(lower).collect(),
        }))
    }

    /// Checks the head of a request that arrived at one of our addresses.
    ///
    /// # Errors
    ///
    /// Names the wrong header.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        arrived_at: Option<IpAddr>,
    ) -> Result<(), GateRefusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let named = match (uri.authority(), hosts.next()) {
            (Some(authority), _) => Some(authority.as_str()),
            (None, Some(host)) => host.to_str().ok(),
            (None, None) => None,
        };
        let authority = named.filter(|_| hosts.next().is_none());
        let named = authority.and_then(host);
        if !named.is_some_and(|named| self.goes_by(named, arrived_at)) {
            return Err(GateRefusal::Host);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        // A page that we served ourselves, under one of our names, may send us requests.
        let own = |origin: &str| {
            let scheme = origin.split_once("://").map(|(_, authority)| authority);
            scheme
                .zip(authority)
                .is_some_and(|(own, named)| own.eq_ignore_ascii_case(named))
        };
        let trusted = |origin: &str| own(origin) || self.trusts(origin);
        if origins.all(|origin| origin.to_str().is_ok_and(trusted)) {
            Ok(())
        } else {
            Err(GateRefusal::Origin)
        }
    }

    fn goes_by(&self, host: &str, arrived_at: Option<IpAddr>) -> bool {
        let mut hosts = self.0.hosts.iter();
        is_loopback(host)
            || arrived_at.is_some_and(|at| address(host) == Some(at.to_canonical()))
            || hosts.any(|name| host.eq_ignore_ascii_case(name))
    }

    fn trusts(&self, origin: &str) -> bool {
        let origin = origin.trim();
        let listed = |name: &String| name == "*" || origin.eq_ignore_ascii_case(name);
        if self.0.origins.iter().any(listed) {
            return true;
        }
        let authority = ["http://", "https://"].iter().find_map(|scheme| {
            let start = origin.get(..scheme.len())?;
            start
                .eq_ignore_ascii_case(scheme)
                .then(|| &origin[scheme.len()..])
        });
        authority.and_then(host).is_some_and(is_loopback)
    }
}

/// Whether a host is a name or an address of loopback.
fn is_loopback(host: &str) -> bool {
    // The two usual forms need no parsing.
    host.eq_ignore_ascii_case("localhost")
        || host == "127.0.0.1"
        || address(host).is_some_and(|address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.parse()
        .ok()
        .map(|address: IpAddr| address.to_canonical())
}

/// The host in `host`, `host:port`, `[v6]` or `[v6]:port`; `None` for any other form.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':')?),
            };
            (host, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok());
    (!host.is_empty() && port_fits).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn verdict(gate: &Gate, host: Option<&str>, origin: Option<&str>) -> Result<(), GateRefusal> {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        let arrived_at = Some("10.0.0.7".parse().unwrap());
        gate.check(&Uri::from_static("/mcp"), &headers, arrived_at)
    }

    #[test]
    fn loopback_and_the_address_of_arrival_are_let_in() {
        let gate = Gate::default();
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:1",
            "[::1]:8000",
            "[::1]",
            "10.0.0.7:8101",
            "127.3.2.1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert_eq!(verdict(&gate, Some(host), None), Ok(()), "{host}");
        }
    }

    #[test]
    fn foreign_hosts_are_refused() {
        let gate = Gate::default();
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8000",
            "127.0.0.1.evil.example",
            "10.0.0.8",
            "[::2]:80",
            "localhost:port",
            "localhost:1:2",
            "[::1",
            "",
            "user@localhost",
        ] {
            assert_eq!(
                verdict(&gate, Some(host), None),
                Err(GateRefusal::Host),
                "{host}"
            );
        }
        assert_eq!(verdict(&gate, None, None), Err(GateRefusal::Host));
    }

    #[test]
    fn foreign_origins_are_refused() {
        let gate = Gate::default();
        let from = |origin| verdict(&gate, Some("localhost:1"), Some(origin));
        for origin in [
            "http://localhost",
            "https://localhost:5173",
            "http://[::1]:80",
        ] {
            assert_eq!(from(origin), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "localhost:1",
            "file://localhost",
            "http://evil.example#localhost",
            "http://localhost/",
        ] {
            assert_eq!(from(origin), Err(GateRefusal::Origin), "{origin}");
        }
    }

    #[test]
    fn our_own_pages_may_call_under_their_own_host() {
        let gate = Gate::default();
        let from = |host, origin| verdict(&gate, Some(host), Some(origin));
        assert_eq!(from("10.0.0.7:8000", "http://10.0.0.7:8000"), Ok(()));
        for origin in [
            "http://10.0.0.7:9000",
            "http://10.0.0.7",
            "http://10.0.0.7:8000/",
        ] {
            assert_eq!(
                from("10.0.0.7:8000", origin),
                Err(GateRefusal::Origin),
                "{origin}"
            );
        }
        let stranger = from("evil.example", "http://evil.example");
        assert_eq!(
            stranger,
            Err(GateRefusal::Host),
            "a name that only points here"
        );
    }

    #[test]
    fn beyond_loopback_the_names_of_the_machine_are_let_in() {
        let mut system = SystemConfig::default();
        let names = local::names();
        let own = |gate: &Gate| {
            let mut names = names.iter();
            names.all(|name| verdict(gate, Some(&format!("{name}:8000")), None) == Ok(()))
        };
        let is_localhost = names.iter().any(|name| name == "localhost");
        assert!(is_localhost || !own(&Gate::new(&system)));
        system.security.bind = "0.0.0.0".parse().unwrap();
        let gate = Gate::new(&system);
        assert!(own(&gate));
        for pointed_here in ["evil.example:8000", "sub.localhost.evil.example"] {
            let refused = verdict(&gate, Some(pointed_here), None);
            assert_eq!(refused, Err(GateRefusal::Host), "{pointed_here}");
        }
    }

    #[test]
    fn configured_hosts_and_origins_are_let_in() {
        let mut system = SystemConfig::default();
        system.security.allowed_hosts = vec!["League.example".to_owned()];
        system.security.allowed_origins = vec!["https://board.example".to_owned()];
        system.network.base_host = "10.1.2.3".to_owned();
        let gate = Gate::new(&system);
        let origin = Some("https://board.example");
        assert_eq!(verdict(&gate, Some("league.EXAMPLE:8000"), origin), Ok(()));
        assert_eq!(verdict(&gate, Some("10.1.2.3:8000"), None), Ok(()));
        let other_port = Some("https://board.example:444");
        let refused = verdict(&gate, Some("league.example"), other_port);
        assert_eq!(refused, Err(GateRefusal::Origin));
    }
}
