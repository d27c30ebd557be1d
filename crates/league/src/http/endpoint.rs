//! The endpoint of an agent, and the check whether it may be called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use league_mcp::Origin;
use thiserror::Error;

use super::group::{Group, MAX_ADDRESSES};
use super::local;
use super::names::{self, LookupError, Resolver};
use super::tls::ServerTls;
use crate::config::{AllowedEndpoint, SecurityConfig, SystemConfig};

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

/// A callable address: `http://host:port/path` or `https://…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    site: Site,
    /// The value of the `Host` header.
    pub(crate) authority: Arc<str>,
    /// The path, with its leading slash.
    pub(crate) path: Arc<str>,
    /// All addresses of the peer, of which this is the first; only a manager has them.
    group: Option<Arc<Group>>,
}

/// Where calls to an endpoint go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Site {
    Address(SocketAddr),
    /// Resolved for each connection.
    Name(Arc<NamedSite>),
}

/// A name that an agent registered, with the list that checks each address it leads to: nothing else
/// can make an endpoint with a name, so no address of a name is called unchecked.
#[derive(Debug)]
struct NamedSite {
    name: String,
    port: u16,
    allowed: AllowList,
}

impl PartialEq for NamedSite {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.port) == (&other.name, other.port)
    }
}

impl Eq for NamedSite {}

/// Which addresses agents may register with (ruling 28).
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowList {
    security: Arc<SecurityConfig>,
    resolver: Resolver,
    own_addresses: Arc<OwnAddresses>,
    /// The manager, if the user gave a name; names are not resolved again.
    manager: Option<Arc<(String, Endpoint)>>,
    /// The agents of this process that the agent calls, by the addresses that others know.
    neighbours: Arc<Vec<(String, Endpoint)>>,
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
    #[error("a manager has at most {MAX_ADDRESSES} addresses")]
    TooMany,
    #[error("`{0}` is a name; send an IP address or `localhost`")]
    Name(String),
    #[error("no address was found for `{0}`; give the address instead of the name")]
    Unknown(String),
    #[error("this machine cannot resolve `{name}` for now: {cause}")]
    Unresolved { name: String, cause: String },
    /// A name of which no address may be called.
    #[error("`{name}` leads to an address that is not called: {cause}")]
    Leads { name: String, cause: Box<Self> },
    /// The owner of a name decides where it leads, at any time, so it could aim our calls at the
    /// services of this machine.
    #[error(
        "`{0}` is an address of this machine, and a name may not lead here; send the address or \
         `localhost` instead of the name"
    )]
    NamedHere(IpAddr),
    /// A registered address is called later: a free path would let an agent aim our calls at any
    /// service of a machine.
    #[error(
        "`{0}` is not the path of an agent; send an address that ends in `/mcp` and has no query; \
         the organiser allows others with `security.any_path`"
    )]
    Path(String),
    #[error(
        "agents may not answer at `{0}` here; the organiser allows it with `--allow {0}`{public}, \
         given to the manager and to every referee",
        public = if AllowedEndpoint::Public.holds(.0.to_canonical()) { " or `--allow public`" } else { "" }
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
        let told_here = told.is_ok_and(|told| told.is_loopback());
        Self {
            behind_proxy: system.security.bind.to_canonical().is_loopback() && !told_here,
            resolver: Resolver::new(&system.network.hosts),
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

    /// The same list for an agent that calls others of its process.
    #[must_use]
    pub(crate) fn beside(self, neighbours: Vec<(String, Endpoint)>) -> Self {
        Self {
            neighbours: Arc::new(neighbours),
            ..self
        }
    }

    fn neighbour(&self, text: &str) -> Option<&Endpoint> {
        let mut all = self.neighbours.iter();
        all.find(|(known, _)| known == text).map(|(_, own)| own)
    }

    /// The same list, with names resolved otherwise.
    #[cfg(test)]
    pub(crate) fn resolving(self, resolver: Resolver) -> Self {
        Self { resolver, ..self }
    }

    /// The same list, which waits for names apart: addresses that strangers give cannot use up the
    /// lookups of the others.
    pub(crate) fn apart(&self) -> Self {
        Self {
            resolver: self.resolver.apart(),
            ..self.clone()
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

    /// Parses an address and checks that it may be called. A name is checked later, for each
    /// connection.
    ///
    /// # Errors
    ///
    /// Describes the problem and a correct address.
    pub(crate) fn check(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        if let Some((_, manager)) = self.manager.as_deref().filter(|(known, _)| known == text) {
            return self.check_manager(manager);
        }
        if let Some(neighbour) = self.neighbour(text) {
            return Ok(neighbour.clone());
        }
        let endpoint = self.parse(text)?;
        if let Some(address) = endpoint.address() {
            self.check_address(address, &endpoint.authority)?;
        }
        Ok(endpoint)
    }

    /// Checks each address of the manager. Its loopback is ours if the user gave it so, although
    /// another of its addresses is away.
    fn check_manager(&self, manager: &Endpoint) -> Result<Endpoint, BadEndpoint> {
        for member in manager.members() {
            if let Some(address) = member.address() {
                match self.check_address(address, &member.authority) {
                    Err(BadEndpoint::OnManager(_)) | Ok(()) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(manager.clone())
    }

    /// Parses an address, which may have a name.
    fn parse(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        Endpoint::read(text, |name, port| {
            Ok(Site::Name(Arc::new(NamedSite {
                name: name.to_owned(),
                port,
                allowed: self.clone(),
            })))
        })
    }

    fn check_address(&self, address: SocketAddr, authority: &str) -> Result<(), BadEndpoint> {
        let host = address.ip();
        if SecurityConfig::never_allows(host) {
            Err(BadEndpoint::Never(host))
        } else if !self.security.allows(host) {
            Err(BadEndpoint::NotAllowed(host))
        } else if self.is_away && host.to_canonical().is_loopback() {
            Err(BadEndpoint::OnManager(host))
        } else if self.is_own(address) {
            Err(BadEndpoint::Own(authority.to_owned()))
        } else {
            Ok(())
        }
    }

    /// Checks an address that a name leads to. The word `loopback` of the default list is for
    /// agents that give an address; a network of the list is for names as well.
    fn check_led(&self, address: SocketAddr, name: &str) -> Result<(), BadEndpoint> {
        let host = address.ip();
        let mut own = self.own_addresses.own.iter().map(SocketAddr::ip);
        let is_here = local::may_be_own(host) || own.any(|own| own.to_canonical() == host);
        let mut networks = self.security.allowed_endpoints.iter();
        let is_listed = networks
            .any(|entry| matches!(entry, AllowedEndpoint::Network { .. }) && entry.holds(host));
        if is_here && !(host.is_loopback() && is_listed) {
            return Err(BadEndpoint::NamedHere(host));
        }
        self.check_address(address, name)
    }

    /// Parses an address, and finds where an agent there may be called.
    ///
    /// # Errors
    ///
    /// Describes the problem and a correct address.
    pub(crate) async fn find(&self, text: &str) -> Result<Vec<SocketAddr>, BadEndpoint> {
        self.check(text)?.addresses().await
    }

    /// Finds an address that the organiser names; it must have the path of an agent.
    ///
    /// # Errors
    ///
    /// Describes the problem and a correct address.
    pub(crate) async fn find_named(&self, text: &str) -> Result<Vec<SocketAddr>, BadEndpoint> {
        self.check_path(text)?;
        self.find(text).await
    }

    /// Parses the address of an agent, and checks its path.
    fn check_path(&self, text: &str) -> Result<Endpoint, BadEndpoint> {
        let endpoint = self.parse(text)?;
        let path = &endpoint.path;
        let is_agents = path.strip_suffix('/').unwrap_or(path).ends_with("/mcp");
        if !self.security.any_path && (!is_agents || path.contains('?')) {
            return Err(BadEndpoint::Path(path.to_string()));
        }
        Ok(endpoint)
    }

    /// Parses the address that a caller registers with, and finds where it may be called.
    ///
    /// # Errors
    ///
    /// Describes the problem and a correct address.
    pub(crate) async fn find_of(
        &self,
        origin: Origin,
        text: &str,
    ) -> Result<Vec<SocketAddr>, BadEndpoint> {
        if let Some(neighbour) = self.neighbour(text)
            && matches!(origin, Origin::Network { from, .. } if local::is_own(from))
        {
            return neighbour.addresses().await;
        }
        let endpoint = self.check_of(origin, text)?;
        let found = endpoint.addresses().await?;
        for address in &found {
            self.check_origin(origin, &endpoint, *address)?;
        }
        Ok(found)
    }

    /// Parses the address that a caller registers with, and checks that it may be called, unless
    /// it has a name.
    fn check_of(&self, origin: Origin, text: &str) -> Result<Endpoint, BadEndpoint> {
        let endpoint = self.check_path(text)?;
        if let Some(address) = endpoint.address() {
            self.check_origin(origin, &endpoint, address)?;
        }
        self.check(text)
    }

    /// Checks that an address of this machine is registered by a caller of this machine.
    fn check_origin(
        &self,
        origin: Origin,
        Endpoint { scheme, path, .. }: &Endpoint,
        address: SocketAddr,
    ) -> Result<(), BadEndpoint> {
        let host = address.ip();
        if !self.leads_here(host, origin) || self.is_from_here(origin, address) {
            return Ok(());
        }
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
    pub(crate) fn is_at(&self, origin: Origin, address: SocketAddr) -> bool {
        let host = address.ip().to_canonical();
        match origin {
            Origin::Network { from, .. } if from.to_canonical() == host => true,
            _ => local::is_own(host) && self.is_from_here(origin, address),
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
        let told = Endpoint::parse(told).ok().and_then(|told| told.address());
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
            agents: read.flatten().filter_map(|agent| agent.address()).collect(),
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
                let authority = match (found.scheme, found.address()) {
                    (Scheme::Http, Some(address)) => address.to_string().into(),
                    _ => found.authority,
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

    /// Parses the addresses of a manager, with commas between them. They are one peer, which has the
    /// name of the first.
    ///
    /// # Errors
    ///
    /// An address is not valid, its name cannot be resolved, or there are too many.
    pub(crate) fn of_managers(text: &str) -> Result<Self, BadEndpoint> {
        let members = text.split(',').map(|one| {
            let one = one.trim();
            let endpoint = Self::of_manager(one)?;
            let written = match one.contains("://") {
                true => Self::of_location(one),
                false => Self::of_location(&format!("http://{one}")),
            }?;
            let path = Arc::clone(&endpoint.path);
            Ok((endpoint, Self { path, ..written }))
        });
        let members = members.collect::<Result<Vec<_>, BadEndpoint>>()?;
        let first = members.first().map(|(first, _)| first.clone());
        let first = first.ok_or_else(|| BadEndpoint::Malformed(String::new()))?;
        Ok(Self {
            group: Some(Arc::new(Group::of(members)?)),
            ..first
        })
    }

    /// Parses an address as a redirect shows it; a name in it is compared and never resolved.
    pub(crate) fn of_location(text: &str) -> Result<Self, BadEndpoint> {
        AllowList::default().parse(text)
    }

    /// The same address, as the only one of a manager.
    pub(crate) fn alone(self) -> Self {
        let member = (self.clone(), self.clone());
        Self {
            group: Group::of([member]).ok().map(Arc::new),
            ..self
        }
    }

    /// Whether two addresses lead to the same place, however their port is written.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.scheme, &self.site, &self.path) == (other.scheme, &other.site, &other.path)
    }

    /// All addresses of the peer, if it may have several.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.group.as_deref()
    }

    /// Each address of the peer.
    pub(crate) fn members(&self) -> Vec<&Self> {
        match self.group() {
            Some(group) => group.endpoints().collect(),
            None => vec![self],
        }
    }

    /// Parses an address without a name; `mcp://` counts as `http://`.
    ///
    /// # Errors
    ///
    /// The address is not valid, or has a name other than `localhost`.
    pub(crate) fn parse(text: &str) -> Result<Self, BadEndpoint> {
        Self::read(text, |name, _| Err(BadEndpoint::Name(name.to_owned())))
    }

    /// Parses the address that an agent of ours gives to others, which may have a name.
    ///
    /// # Errors
    ///
    /// The address is not valid.
    pub(crate) fn own(text: &str) -> Result<Self, BadEndpoint> {
        AllowList::default().check_path(text)
    }

    /// The address of an agent of this process, called where the process listens: that needs no name
    /// and no way back from outside.
    ///
    /// # Errors
    ///
    /// The address is not valid.
    pub(crate) fn of_neighbour(
        text: &str,
        scheme: Scheme,
        listening: SocketAddr,
    ) -> Result<Self, BadEndpoint> {
        let host = match listening.ip() {
            IpAddr::V4(host) if host.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(host) if host.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            host => host,
        };
        Ok(Self {
            scheme,
            site: at(SocketAddr::new(host, listening.port())),
            ..Self::own(text)?
        })
    }

    fn read(
        text: &str,
        look_up: impl FnOnce(&str, u16) -> Result<Site, BadEndpoint>,
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
        let (site, authority) = locate(authority, scheme.usual_port(), malformed, look_up)?;
        Ok(Self {
            scheme,
            site,
            authority,
            path: if path.is_empty() { "/mcp" } else { path }.into(),
            group: None,
        })
    }

    /// The host, for which the certificate of a server must be valid.
    pub(crate) fn host(&self) -> &str {
        let with_port = self.authority.rsplit_once(':');
        let host = with_port.map_or(&*self.authority, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// What stands beside the `/mcp` of the same servers, such as `/health`.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let prefix = self.path.strip_suffix("/mcp");
        let prefix = prefix.unwrap_or(self.path.trim_end_matches('/'));
        let group = self.group();
        Self {
            path: format!("{prefix}/{name}").into(),
            group: group.map(|group| Arc::new(group.map(|member| member.beside(name)))),
            ..self.clone()
        }
    }

    /// Its address; `None` if it has a name, which may lead elsewhere each time.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match &self.site {
            Site::Address(address) => Some(*address),
            Site::Name(_) => None,
        }
    }

    /// Whether its address is one of loopback.
    pub(crate) fn is_loopback(&self) -> bool {
        self.address()
            .is_some_and(|address| address.ip().is_loopback())
    }

    /// Where it may be called now, at least one address. A name is resolved; those of its addresses
    /// that may not be called are left out.
    ///
    /// # Errors
    ///
    /// The name has no address, or none that may be called.
    pub(crate) async fn addresses(&self) -> Result<Vec<SocketAddr>, BadEndpoint> {
        match &self.site {
            Site::Address(address) => Ok(vec![*address]),
            Site::Name(site) => site.addresses().await,
        }
    }
}

impl NamedSite {
    async fn addresses(&self) -> Result<Vec<SocketAddr>, BadEndpoint> {
        let Self { name, allowed, .. } = self;
        let found = allowed.resolver.resolve(name).await;
        let found = found.map_err(|error| match error {
            LookupError::Unknown => BadEndpoint::Unknown(name.clone()),
            LookupError::Resolver(cause) => BadEndpoint::Unresolved {
                name: name.clone(),
                cause,
            },
        })?;
        let (mut callable, mut refused) = (Vec::new(), None);
        for host in found {
            let address = SocketAddr::new(host, self.port);
            match allowed.check_led(address, name) {
                Ok(()) => callable.push(address),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match refused.filter(|_| callable.is_empty()) {
            Some(error) => Err(BadEndpoint::Leads {
                name: name.clone(),
                cause: Box::new(error),
            }),
            None => Ok(callable),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// Reads host and port; also gives both as they are written in `Host`.
fn locate(
    authority: &str,
    usual_port: u16,
    malformed: impl Fn() -> BadEndpoint,
    look_up: impl FnOnce(&str, u16) -> Result<Site, BadEndpoint>,
) -> Result<(Site, Arc<str>), BadEndpoint> {
    if let Ok(address) = authority.parse() {
        return Ok((at(address), authority.into()));
    }
    let (host, digits) = match authority.rsplit_once(':') {
        Some((host, digits)) => (host, Some(digits)),
        None => (authority, None),
    };
    let port = match digits {
        Some(digits) if digits.starts_with('+') => return Err(malformed()),
        Some(digits) => digits.parse().map_err(|_| malformed())?,
        None => usual_port,
    };
    if let Ok(address) = host.parse() {
        return Ok((at(SocketAddr::new(address, port)), authority.into()));
    }
    let name = names::canonical(host).ok_or_else(malformed)?;
    let site = match &*name {
        "localhost" => at((Ipv4Addr::LOCALHOST, port).into()),
        _ => look_up(&name, port)?,
    };
    let authority = digits.map_or_else(|| name.clone(), |_| format!("{name}:{port}"));
    Ok((site, authority.into()))
}

/// The address in canonical form, so that two notations of it compare equal.
fn at(address: SocketAddr) -> Site {
    Site::Address(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

/// Resolves a name, preferring IPv4, on which most machines listen.
fn found(name: &str, port: u16) -> Result<Site, BadEndpoint> {
    let mut found = names::ask_system(name).unwrap_or_default();
    found.sort_by_key(IpAddr::is_ipv6);
    let first = found.first().copied();
    let first = first.ok_or_else(|| BadEndpoint::Unknown(name.to_owned()))?;
    Ok(at(SocketAddr::new(first, port)))
}

#[cfg(test)]
mod tests;
