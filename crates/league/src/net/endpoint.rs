//! Where an agent answers, and whether we call there at all.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use thiserror::Error;

use super::caller::Caller;
use super::machine;
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
    /// The host has a name that was looked up in vain.
    #[error("no address was found for `{0}`; give the address instead of the name")]
    Unknown(String),
    /// It is not on the list.
    #[error(
        "agents may not answer at `{0}` here; whoever runs the league allows it with \
         `--allow {0}`, given to the manager and to every referee"
    )]
    NotAllowed(IpAddr),
    /// It leads back to this machine, and the caller is on another.
    #[error(
        "`{host}` does not lead to your machine from here, and you call from `{from}`: send \
         `{instead}`, and listen there (`league player --bind 0.0.0.0`, or a kit with \
         `--host {from}`)"
    )]
    Elsewhere {
        /// The host that was given.
        host: IpAddr,
        /// Where the caller is.
        from: IpAddr,
        /// What may be meant.
        instead: String,
    },
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
            let reached = || match ours.is_unspecified() {
                true => machine::is_own(asked),
                false => ours.is_loopback() && asked.is_loopback(),
            };
            own.port() == address.port() && (here || reached())
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

    /// Reads the address that a caller says it answers at, and checks that it may be called.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it and what to send instead.
    pub fn check_of(&self, caller: Option<Caller>, text: &str) -> Result<Endpoint, BadEndpoint> {
        let Endpoint { address, path, .. } = Endpoint::parse(text)?;
        let (host, from) = (address.ip(), caller.and_then(Caller::elsewhere));
        match from.filter(|_| host.is_loopback() || host.is_unspecified()) {
            Some(from) => Err(BadEndpoint::Elsewhere {
                host,
                from,
                instead: format!("http://{}{path}", SocketAddr::new(from, address.port())),
            }),
            None => self.check(text),
        }
    }
}

/// The address of an agent at a port of a host.
pub fn url(host: &str, port: u16) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("http://[{address}]:{port}/mcp"),
        _ => format!("http://{host}:{port}/mcp"),
    }
}

impl Endpoint {
    /// Reads an address that a person named: a name in it is looked up, once.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it.
    pub fn look_up(text: &str) -> Result<Self, BadEndpoint> {
        match Self::parse(text) {
            Err(BadEndpoint::Name(_)) => {
                let found = Self::read(text, found)?;
                // The other side need not know the name that led to it.
                let authority = found.address.to_string().into();
                Ok(Self { authority, ..found })
            }
            read => read,
        }
    }

    /// Reads an address; `mcp://` counts as `http://`.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it. Names other than `localhost` are not looked up, so an address
    /// cannot come to mean another host later.
    pub fn parse(text: &str) -> Result<Self, BadEndpoint> {
        Self::read(text, |name, _| Err(BadEndpoint::Name(name.to_owned())))
    }

    fn read(
        text: &str,
        look_up: impl FnOnce(&str, u16) -> Result<SocketAddr, BadEndpoint>,
    ) -> Result<Self, BadEndpoint> {
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
            address: resolve(authority, malformed, look_up)?,
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
    look_up: impl FnOnce(&str, u16) -> Result<SocketAddr, BadEndpoint>,
) -> Result<SocketAddr, BadEndpoint> {
    if let Ok(address) = authority.parse() {
        return Ok(address);
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| malformed())?),
        None => (authority, 80),
    };
    match host {
        "localhost" => Ok((Ipv4Addr::LOCALHOST, port).into()),
        "" => Err(malformed()),
        _ => match host.parse::<IpAddr>() {
            Ok(address) => Ok((address, port).into()),
            Err(_) => look_up(host, port),
        },
    }
}

/// Looks up a name; most machines listen on an address of IPv4.
fn found(name: &str, port: u16) -> Result<SocketAddr, BadEndpoint> {
    let found = (name, port).to_socket_addrs();
    let mut found: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
    found.sort_by_key(SocketAddr::is_ipv6);
    let first = found.first().copied();
    first.ok_or_else(|| BadEndpoint::Unknown(name.to_owned()))
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
    fn whoever_calls_from_elsewhere_is_told_what_to_send_instead_of_localhost() {
        let list = AllowList::default();
        let caller = |from: &str| {
            let at = "192.168.1.10".parse().unwrap();
            Some(Caller::new(from.parse().unwrap(), at))
        };
        for mistaken in [
            "http://localhost:8101/mcp",
            "http://127.0.0.1:8101/mcp",
            "http://0.0.0.0:8101/mcp",
        ] {
            let refused = list.check_of(caller("192.168.1.20"), mistaken);
            let told = refused.unwrap_err().to_string();
            assert!(
                told.contains("send `http://192.168.1.20:8101/mcp`"),
                "{told}"
            );
        }
        for here in ["127.0.0.1", "192.168.1.10"] {
            let read = list.check_of(caller(here), "http://localhost:8101/mcp");
            assert!(read.is_ok(), "{here}: {read:?}");
        }
        assert!(list.check_of(None, "http://localhost:8101/mcp").is_ok());
        let elsewhere = list.check_of(caller("192.168.1.20"), "http://192.168.1.20:8101/mcp");
        assert!(matches!(elsewhere, Err(BadEndpoint::NotAllowed(_))));
    }

    #[test]
    fn only_a_name_is_looked_up() {
        let look_up = |name: &str, port| {
            assert_eq!(name, "board.example");
            Ok(SocketAddr::new([192, 0, 2, 7].into(), port))
        };
        let found = Endpoint::read("http://board.example:8000/mcp", look_up).unwrap();
        assert_eq!(found.address, "192.0.2.7:8000".parse().unwrap());
        for plain in ["http://localhost:8000/mcp", "http://[::1]:8000/mcp"] {
            assert_eq!(Endpoint::look_up(plain), Endpoint::parse(plain));
        }
    }

    #[test]
    fn an_address_of_ipv6_stands_in_brackets() {
        assert_eq!(url("::1", 8000), "http://[::1]:8000/mcp");
        assert_eq!(url("10.0.0.7", 8000), "http://10.0.0.7:8000/mcp");
        assert_eq!(url("board", 8000), "http://board:8000/mcp");
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
