//! Where an agent answers, and whether we call there at all.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use thiserror::Error;

use crate::config::SecurityConfig;

/// The longest address that is taken, in bytes.
pub const LONGEST_ENDPOINT: usize = 256;

/// An address that may be called: `http://host:port/path`, resolved once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Where to connect.
    pub address: SocketAddr,
    /// What the header `Host` says.
    pub authority: Arc<str>,
    /// What stands behind it, with its slash.
    pub path: Arc<str>,
}

/// Which addresses agents may register with (ruling 28).
#[derive(Debug, Clone, Default)]
pub struct AllowList {
    security: Arc<SecurityConfig>,
    /// Where we answer ourselves.
    own: Option<SocketAddr>,
}

/// Why an address is not called.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadEndpoint {
    /// It is no address.
    #[error("`{0}` is no address; send one such as `http://localhost:8101/mcp`")]
    Malformed(String),
    /// It is too long.
    #[error("the address is longer than {LONGEST_ENDPOINT} bytes")]
    TooLong,
    /// The host has a name that is not looked up.
    #[error("`{0}` is a name; send an IP address or `localhost`")]
    Name(String),
    /// It is not on the list.
    #[error(
        "`{0}` is not on the list of allowed hosts; \
         add it to `security.allowed_endpoints` in config/system.json"
    )]
    NotAllowed(IpAddr),
    /// Nobody may answer there, whatever the list says.
    #[error(
        "`{0}` is never called, whatever `security.allowed_endpoints` says: it is the address of \
         no machine, of many, or of one link alone; give another address of the agent"
    )]
    Never(IpAddr),
    /// It is our own.
    #[error("`{0}` is the league manager's own address; send the one at which you answer calls")]
    Own(String),
}

impl AllowList {
    /// The addresses that the configuration allows; without one, loopback.
    pub fn new(security: SecurityConfig) -> Self {
        Self {
            security: Arc::new(security),
            own: None,
        }
    }

    /// The same list without the address at which we answer ourselves: nobody else does there.
    pub fn without(&self, own: SocketAddr) -> Self {
        Self {
            own: Some(own),
            ..self.clone()
        }
    }

    fn is_own(&self, address: SocketAddr) -> bool {
        self.own.is_some_and(|own| {
            let (ours, asked) = (own.ip().to_canonical(), address.ip().to_canonical());
            let here = asked == ours || asked.is_unspecified();
            let reached = ours.is_unspecified() || ours.is_loopback();
            own.port() == address.port() && (here || reached && asked.is_loopback())
        })
    }

    /// Reads an address and checks that it may be called.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it and what to send instead.
    pub fn check(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        let endpoint = Endpoint::parse(text)?;
        let host = endpoint.address.ip();
        if SecurityConfig::never_allows(host) {
            Err(BadEndpoint::Never(host))
        } else if !self.security.allows(host) {
            Err(BadEndpoint::NotAllowed(host))
        } else if self.is_own(endpoint.address) {
            Err(BadEndpoint::Own(endpoint.authority.to_string()))
        } else {
            Ok(endpoint)
        }
    }
}

impl Endpoint {
    /// Reads an address; `mcp://` counts as `http://`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it. Names other than `localhost` are not looked up, so an address
    /// cannot come to mean another host later.
    pub fn parse(text: &str) -> Result<Self, BadEndpoint> {
        if text.len() > LONGEST_ENDPOINT {
            return Err(BadEndpoint::TooLong);
        }
        let malformed = || BadEndpoint::Malformed(text.escape_debug().to_string());
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("mcp://"))
            .ok_or_else(malformed)?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'#' && byte != b'@';
        if !rest.bytes().all(plain) {
            return Err(malformed());
        }
        Ok(Self {
            address: resolve(authority, malformed)?,
            authority: authority.into(),
            path: if path.is_empty() { "/mcp" } else { path }.into(),
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

fn resolve(
    authority: &str,
    malformed: impl Fn() -> BadEndpoint,
) -> Result<SocketAddr, BadEndpoint> {
    if let Ok(address) = authority.parse() {
        return Ok(address);
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| malformed())?),
        None => (authority, 80),
    };
    let ip = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        "" => return Err(malformed()),
        _ => host
            .parse()
            .map_err(|_| BadEndpoint::Name(host.to_owned()))?,
    };
    Ok(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_whole() {
        let endpoint = Endpoint::parse("http://localhost:8101/mcp").unwrap();
        assert_eq!(endpoint.address, "127.0.0.1:8101".parse().unwrap());
        assert_eq!(&*endpoint.path, "/mcp");
        assert_eq!(endpoint.to_string(), "http://localhost:8101/mcp");
        let bare = Endpoint::parse("mcp://127.0.0.1:9").unwrap();
        assert_eq!(&*bare.path, "/mcp");
        let six = Endpoint::parse("http://[::1]:8101/agents/P01/mcp").unwrap();
        assert_eq!(six.address, "[::1]:8101".parse().unwrap());
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "localhost:8101",
            "https://localhost:8101/mcp",
            "http://",
            "http://:80/mcp",
            "http://localhost:99999/mcp",
            "http://user@localhost:1/mcp",
            "http://localhost:1/m cp",
            "http://localhost:1/\u{202e}",
        ] {
            let found = Endpoint::parse(text);
            assert!(
                matches!(found, Err(BadEndpoint::Malformed(_))),
                "{text}: {found:?}"
            );
        }
        assert_eq!(
            Endpoint::parse("http://example.test/mcp"),
            Err(BadEndpoint::Name("example.test".into()))
        );
        assert_eq!(
            Endpoint::parse(&format!("http://localhost/{}", "x".repeat(300))),
            Err(BadEndpoint::TooLong)
        );
    }

    #[test]
    fn nobody_else_answers_at_our_own_address() {
        for (own, asked, is_own) in [
            ("127.0.0.1:8000", "http://localhost:8000/mcp", true),
            ("127.0.0.1:8000", "mcp://127.0.0.1:8000", true),
            ("127.0.0.1:8000", "http://[::1]:8000/other", true),
            ("0.0.0.0:8000", "http://localhost:8000/mcp", true),
            ("[::]:8000", "http://127.0.0.1:8000/mcp", true),
            ("127.0.0.1:8000", "http://localhost:8001/mcp", false),
        ] {
            let list = AllowList::default().without(own.parse().unwrap());
            let found = list.check(asked);
            let refused = matches!(found, Err(BadEndpoint::Own(_)));
            assert_eq!(refused, is_own, "{own} {asked}: {found:?}");
            assert!(AllowList::default().check(asked).is_ok(), "{asked}");
        }
    }

    #[test]
    fn only_listed_hosts_are_called() {
        let list = AllowList::default();
        assert!(list.check("http://127.0.0.1:1/mcp").is_ok());
        assert_eq!(
            list.check("http://169.254.169.254/mcp"),
            Err(BadEndpoint::Never("169.254.169.254".parse().unwrap()))
        );
        assert_eq!(
            list.check("http://192.0.2.1/mcp"),
            Err(BadEndpoint::NotAllowed("192.0.2.1".parse().unwrap()))
        );
    }
}
