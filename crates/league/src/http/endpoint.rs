//! The endpoint of an agent, and the check whether it may be called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use league_mcp::Origin;
use thiserror::Error;

use super::local;
use super::tls::ServerTls;
use crate::config::{SecurityConfig, SystemConfig};

/// The longest accepted address, in bytes.
pub(crate) const MAX_ENDPOINT: usize = 256;

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// How a listener with this certificate is spoken to.
    pub(crate) const fn of(tls: Option<&ServerTls>) -> Self {
        match tls {
            None => Self::Http,
            Some(_) => Self::Https,
        }
    }

    const fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// A callable address: `http://host:port/path` or `https://…`, resolved once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    pub(crate) address: SocketAddr,
    /// The value of the `Host` header.
    pub(crate) authority: Arc<str>,
    /// The path, with its leading slash.
    pub(crate) path: Arc<str>,
}

/// Which addresses agents may register with (ruling 28).
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowList {
    security: Arc<SecurityConfig>,
    own_addresses: Arc<OwnAddresses>,
    /// The manager, if the user gave a name; names are not resolved again.
    manager: Option<Arc<(String, Endpoint)>>,
    /// Whether callers reach us through a proxy on this machine, so that all of them seem to be
    /// local.
    behind_proxy: bool,
    /// Whether the league manager runs on another machine, so that its loopback is not ours.
    is_away: bool,
}

/// The addresses of a manager and of the agents that its organiser configured.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnAddresses {
    /// Where the manager listens, and the address that it publishes.
    own: Vec<SocketAddr>,
    /// The addresses of agents that the organiser named.
    agents: Vec<SocketAddr>,
}

/// Why an address must not be called.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BadEndpoint {
    #[error("`{0}` is not an address; send one such as `http://localhost:8101/mcp`")]
    Malformed(String),
    #[error("the address is longer than {MAX_ENDPOINT} bytes")]
    TooLong,
    #[error("`{0}` is a name; send an IP address or `localhost`")]
    Name(String),
    #[error("no address was found for `{0}`; give the address instead of the name")]
    Unknown(String),
    /// A registered address is called later: a free path would let an agent aim our calls at any
    /// service of a machine.
    #[error(
        "`{0}` is not the path of an agent; send an address that ends in `/mcp` and has no query; \
         the organiser allows others with `--any-path`"
    )]
    Path(String),
    #[error(
        "agents may not answer at `{0}` here; the organiser allows it with `--allow {0}`, given to \
         the manager and to every referee"
    )]
    NotAllowed(IpAddr),
    /// It is the manager's loopback, and we run on another machine.
    #[error(
        "`{0}` is on the league manager's machine, and this referee is on another; start the \
         player with `--bind 0.0.0.0`, or play its matches with a referee on that machine"
    )]
    OnManager(IpAddr),
    /// It is an address of this machine, and the caller may be on another.
    #[error(
        "`{0}` leads to the league manager's machine, and nothing shows that you are there; send \
         the address by which others reach you"
    )]
    Here(IpAddr),
    /// It is an address of this machine, and callers may reach us from anywhere through a proxy.
    #[error(
        "`{0}` leads to the league manager's machine, and so does a proxy by which anybody may \
         call: send the address by which others reach you; the organiser admits agents of that \
         machine by naming them in config/agents/agents_config.json"
    )]
    BehindProxy(IpAddr),
    /// It is an address of this machine, and the caller is on another.
    #[error(
        "`{host}` does not lead to your machine from here, and you call from `{from}`: send \
         `{instead}`, and listen there (`league player --bind 0.0.0.0`, or a kit with \
         `--host {from}`)"
    )]
    Elsewhere {
        /// The host in the address.
        host: IpAddr,
        /// The host of the caller.
        from: IpAddr,
        /// The address that the caller may have meant.
        instead: String,
    },
    /// Never called, even if the configuration allows it.
    #[error(
        "`{0}` is never called, whatever `security.allowed_endpoints` says: it does not \
         belong to one machine on a network; give another address of the agent"
    )]
    Never(IpAddr),
    #[error("`{0}` is the league manager's own address; send the one at which you answer calls")]
    Own(String),
}

impl AllowList {
    /// The addresses that the configuration allows; by default only loopback.
    pub(crate) fn new(security: SecurityConfig) -> Self {
        Self {
            security: Arc::new(security),
            ..Self::default()
        }
    }

    /// The same list, with proxy detection from the configured bind address and host.
    pub(crate) fn of(system: &SystemConfig) -> Self {
        let told = Endpoint::parse(&url(Scheme::Http, &system.network.base_host, 0));
        let told_here = told.is_ok_and(|told| told.address.ip().is_loopback());
        Self {
            behind_proxy: system.security.bind.to_canonical().is_loopback() && !told_here,
            ..Self::new(system.security.clone())
        }
    }

    /// The same list for an agent on another machine than the league manager: the manager's
    /// loopback is not its own.
    #[must_use]
    pub(crate) fn away_from_manager(self) -> Self {
        Self {
            is_away: true,
            ..self
        }
    }

    /// The same list for an agent of this manager, whose name is resolved already.
    #[must_use]
    pub(crate) fn knowing(self, manager: Endpoint) -> Self {
        Self {
            manager: Some(Arc::new((manager.to_string(), manager))),
            ..self
        }
    }

    /// The same list without our own addresses, at which no other agent can answer.
    pub(crate) fn within(&self, own_addresses: &OwnAddresses) -> Self {
        Self {
            own_addresses: Arc::new(own_addresses.clone()),
            ..self.clone()
        }
    }

    fn is_own(&self, address: SocketAddr) -> bool {
        self.own_addresses.own.iter().any(|own| {
            let (ours, asked) = (own.ip().to_canonical(), address.ip().to_canonical());
            let here = asked == ours || asked.is_unspecified();
            let reached = || match ours.is_unspecified() {
                true => local::may_be_own(asked),
                false => ours.is_loopback() && asked.is_loopback(),
            };
            own.port() == address.port() && (here || reached())
        })
    }

    /// Parses an address and checks that it may be called.
    ///
    /// # Errors
    ///
    /// Describes the problem and a correct address.
    pub(crate) fn check(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        let endpoint = match self.manager.as_deref() {
            Some((known, manager)) if known == text => manager.clone(),
            _ => Endpoint::parse(text)?,
        };
        let host = endpoint.address.ip();
        if SecurityConfig::never_allows(host) {
            Err(BadEndpoint::Never(host))
        } else if !self.security.allows(host) {
            Err(BadEndpoint::NotAllowed(host))
        } else if self.is_away && host.to_canonical().is_loopback() {
            Err(BadEndpoint::OnManager(host))
        } else if self.is_own(endpoint.address) {
            Err(BadEndpoint::Own(endpoint.authority.to_string()))
        } else {
            Ok(endpoint)
        }
    }

    /// Parses an address that the organiser names, and checks that an agent there may be called.
    pub(crate) fn check_named(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        self.check_path(text)?;
        self.check(text)
    }

    /// Parses the address of an agent, and checks its path.
    fn check_path(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        let endpoint = Endpoint::parse(text)?;
        let path = &endpoint.path;
        let is_agents = path.strip_suffix('/').unwrap_or(path).ends_with("/mcp");
        if !self.security.any_path && (!is_agents || path.contains('?')) {
            return Err(BadEndpoint::Path(path.to_string()));
        }
        Ok(endpoint)
    }

    /// Parses the address that a caller registers with, and checks that it may be called.
    ///
    /// # Errors
    ///
    /// Describes the problem and a correct address.
    pub(crate) fn check_of(&self, origin: Origin, text: &str) -> Result<Endpoint, BadEndpoint> {
        let Endpoint {
            scheme,
            address,
            path,
            ..
        } = self.check_path(text)?;
        if !self.leads_here(address.ip(), origin) || self.is_from_here(origin, address) {
            return self.check(text);
        }
        let host = address.ip();
        match origin {
            Origin::Network { from, .. } if local::is_own(from) => {
                Err(BadEndpoint::BehindProxy(host))
            }
            Origin::Network { from, .. } if !SecurityConfig::never_allows(from) => {
                Err(BadEndpoint::Elsewhere {
                    host,
                    from,
                    instead: format!("{scheme}://{}{path}", SocketAddr::new(from, address.port())),
                })
            }
            _ => Err(BadEndpoint::Here(host)),
        }
    }

    /// Whether a caller is on the machine of an address; all addresses of this machine are one.
    pub(crate) fn is_at(&self, origin: Origin, endpoint: &Endpoint) -> bool {
        let host = endpoint.address.ip().to_canonical();
        match origin {
            Origin::Network { from, .. } if from.to_canonical() == host => true,
            _ => local::is_own(host) && self.is_from_here(origin, endpoint.address),
        }
    }

    /// Whether a host may be this machine, at any port, directly or through a router. If the system
    /// does not list our addresses, any host but the caller's own may be ours.
    fn leads_here(&self, host: IpAddr, origin: Origin) -> bool {
        let mut own = self
            .own_addresses
            .own
            .iter()
            .map(|own| own.ip().to_canonical());
        let is_callers =
            matches!(origin, Origin::Network { from, .. } if from.to_canonical() == host);
        let is_machines = || match is_callers {
            true => local::is_own(host),
            false => local::may_be_own(host),
        };
        host.is_unspecified() || own.any(|own| own == host) || is_machines()
    }

    /// Whether a caller is local. A caller of unknown origin is, if only loopback can reach us.
    fn is_from_here(&self, origin: Origin, asked: SocketAddr) -> bool {
        match origin {
            Origin::Pipe => true,
            Origin::Network { from, at } => {
                let near = from == at || local::is_own(from);
                near && (!self.behind_proxy || self.own_addresses.agents.contains(&asked))
            }
            Origin::Unknown => {
                let mut own = self.own_addresses.own.iter().map(|own| own.ip());
                !self.behind_proxy
                    && own.len() > 0
                    && own.all(|own| own.to_canonical().is_loopback())
            }
        }
    }
}

impl OwnAddresses {
    /// The listening address and the published address of a manager.
    pub(crate) fn new(bound: Option<SocketAddr>, told: &str) -> Self {
        let told = Endpoint::parse(told).ok().map(|told| told.address);
        Self {
            own: bound.into_iter().chain(told).collect(),
            agents: Vec::new(),
        }
    }

    /// Adds the addresses of agents.
    pub(crate) fn with_agents<T: AsRef<str>>(self, agents: impl IntoIterator<Item = T>) -> Self {
        let read = agents
            .into_iter()
            .map(|agent| Endpoint::parse(agent.as_ref()));
        Self {
            agents: read.flatten().map(|agent| agent.address).collect(),
            ..self
        }
    }
}

/// The URL of an agent at a host and port.
pub(crate) fn url(scheme: Scheme, host: &str, port: u16) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("{scheme}://[{address}]:{port}/mcp"),
        _ => format!("{scheme}://{host}:{port}/mcp"),
    }
}

impl Endpoint {
    /// Parses an address that a person entered; a host name is resolved once.
    ///
    /// # Errors
    ///
    /// The address is not valid, or its name cannot be resolved.
    pub(crate) fn look_up(text: &str) -> Result<Self, BadEndpoint> {
        match Self::parse(text) {
            Err(BadEndpoint::Name(_)) => {
                let found = Self::read(text, found)?;
                // We send the address as `Host`, because the server need not know the name. A proxy
                // that routes by name must route calls for its address to the manager. A server
                // with a certificate knows the name in it.
                let authority = match found.scheme {
                    Scheme::Http => found.address.to_string().into(),
                    Scheme::Https => found.authority,
                };
                Ok(Self { authority, ..found })
            }
            read => read,
        }
    }

    /// Parses the address of a manager that a person entered: `http://` and `/mcp` may be omitted.
    ///
    /// # Errors
    ///
    /// The address is not valid, or its name cannot be resolved.
    pub(crate) fn of_manager(text: &str) -> Result<Self, BadEndpoint> {
        let found = match text.contains("://") {
            true => Self::look_up(text),
            false => Self::look_up(&format!("http://{text}")),
        }?;
        let is_bare = &*found.path == "/";
        Ok(Self {
            path: if is_bare { "/mcp".into() } else { found.path },
            ..found
        })
    }

    /// Parses an address; `mcp://` counts as `http://`.
    ///
    /// # Errors
    ///
    /// The address is not valid. Names other than `localhost` are not resolved, so an address
    /// cannot point to another host later.
    pub(crate) fn parse(text: &str) -> Result<Self, BadEndpoint> {
        Self::read(text, |name, _| Err(BadEndpoint::Name(name.to_owned())))
    }

    fn read(
        text: &str,
        look_up: impl FnOnce(&str, u16) -> Result<SocketAddr, BadEndpoint>,
    ) -> Result<Self, BadEndpoint> {
        if text.len() > MAX_ENDPOINT {
            return Err(BadEndpoint::TooLong);
        }
        let malformed = || BadEndpoint::Malformed(text.escape_debug().to_string());
        let (scheme, rest) = match text.split_once("://") {
            Some(("http" | "mcp", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            _ => return Err(malformed()),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'#' && byte != b'@';
        if !rest.bytes().all(plain) {
            return Err(malformed());
        }
        let address = resolve(authority, scheme.usual_port(), malformed, look_up)?;
        Ok(Self {
            scheme,
            // Canonical form, so that two notations of an address compare equal.
            address: SocketAddr::new(address.ip().to_canonical(), address.port()),
            authority: authority.into(),
            path: if path.is_empty() { "/mcp" } else { path }.into(),
        })
    }

    /// The host, for which the certificate of a server must be valid.
    pub(crate) fn host(&self) -> &str {
        let with_port = self.authority.rsplit_once(':');
        let host = with_port.map_or(&*self.authority, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

fn resolve(
    authority: &str,
    usual_port: u16,
    malformed: impl Fn() -> BadEndpoint,
    look_up: impl FnOnce(&str, u16) -> Result<SocketAddr, BadEndpoint>,
) -> Result<SocketAddr, BadEndpoint> {
    if let Ok(address) = authority.parse() {
        return Ok(address);
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| malformed())?),
        None => (authority, usual_port),
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

/// Resolves a name, preferring IPv4, on which most machines listen.
fn found(name: &str, port: u16) -> Result<SocketAddr, BadEndpoint> {
    let found = (name, port).to_socket_addrs();
    let mut found: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
    found.sort_by_key(SocketAddr::is_ipv6);
    let first = found.first().copied();
    first.ok_or_else(|| BadEndpoint::Unknown(name.to_owned()))
}

#[cfg(test)]
mod tests;
