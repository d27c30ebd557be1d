//! Where an agent listens, by which host others reach it, and which peers it may call: as the user
//! specifies, else as configured, else loopback only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use crate::config::{AllowedEndpoint, NetworkConfig, SecurityConfig, SystemConfig};

/// Settings for an agent's address that override the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place<'p> {
    /// The address to listen on.
    pub(crate) bind: Option<IpAddr>,
    /// The name or address by which others reach it.
    pub(crate) host: Option<&'p str>,
}

impl Place<'_> {
    /// Overrides the configuration. Without a configured host, the host becomes the address by
    /// which `peer` would reach this machine.
    pub(crate) fn settle(&self, system: &mut SystemConfig, peer: Option<SocketAddr>) {
        if let Some(bind) = self.bind.or_else(|| self.implied(system.security.bind)) {
            system.security.bind = bind;
        }
        let configured = &system.network.base_host;
        let is_usual = *configured == NetworkConfig::default().base_host;
        if let Some(host) = self.host {
            system.network.base_host = host.to_owned();
        } else if is_usual {
            system.network.base_host = usual_host(system.security.bind, peer);
        }
    }

    /// The same for an agent that calls others: also allows its own address, the manager's address
    /// if one is given, and `more`.
    pub(crate) fn settle_caller(
        &self,
        system: &mut SystemConfig,
        manager: Option<SocketAddr>,
        more: &[AllowedEndpoint],
    ) {
        self.settle(system, manager);
        system.security.allowed_endpoints.extend(more);
        let own = called(system, manager).parse().ok();
        let known = own.into_iter().chain(manager.map(|manager| manager.ip()));
        for address in known {
            if !system.security.allows(address) {
                let entry = AllowedEndpoint::address(address);
                system.security.allowed_endpoints.push(entry);
            }
        }
    }

    /// The same for an agent that joins a league: also replaces a configured host name by an
    /// address, because other agents do not resolve names.
    pub(crate) fn settle_joining(
        &self,
        system: &mut SystemConfig,
        manager: Option<SocketAddr>,
        more: &[AllowedEndpoint],
    ) {
        self.settle_caller(system, manager, more);
        system.network.base_host = called(system, manager);
    }

    /// The address to listen on if loopback is configured but the given host is another address of
    /// this machine: that address.
    fn implied(&self, configured: IpAddr) -> Option<IpAddr> {
        let named: IpAddr = self.host?.parse().ok()?;
        let other = !named.to_canonical().is_loopback() && is_own(named);
        (configured.is_loopback() && other).then_some(named)
    }
}

/// The default host for an agent with this bind address.
fn usual_host(bind: IpAddr, peer: Option<SocketAddr>) -> String {
    let usual = NetworkConfig::default().base_host;
    if bind == Ipv4Addr::LOCALHOST {
        return usual;
    }
    let address = match bind.is_unspecified() {
        true => address_towards(peer),
        false => Some(bind),
    };
    address.map_or(usual, |address| address.to_string())
}

/// The host that other agents use, `peer` in particular. People may use a name, but agents do not
/// resolve names.
pub(crate) fn called(system: &SystemConfig, peer: Option<SocketAddr>) -> String {
    let host = &system.network.base_host;
    match is_name(host) {
        true => usual_host(system.security.bind, peer),
        false => host.clone(),
    }
}

/// Whether a host is a name that must be resolved.
pub(crate) fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && *host != NetworkConfig::default().base_host
}

/// A placeholder for any remote address: reserved for documentation, so no machine has it.
const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The addresses of this machine that others can call, IPv4 first.
pub(crate) fn addresses() -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = networks().into_iter().map(|(own, _)| own).collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses
}

/// The network of one of the addresses of this machine.
pub(crate) fn network_of(address: IpAddr) -> Option<AllowedEndpoint> {
    let mut networks = networks().into_iter();
    let (_, network) = networks.find(|(own, _)| *own == address)?;
    Some(network)
}

/// Whether an address certainly belongs to this machine.
pub(crate) fn is_own(address: IpAddr) -> bool {
    owns(listed().as_deref(), address).unwrap_or(false)
}

/// Whether an address may belong to this machine; any may if the system does not list them.
pub(crate) fn may_be_own(address: IpAddr) -> bool {
    owns(listed().as_deref(), address).unwrap_or(true)
}

/// Whether an address is listed or loopback; `None` if there is no list.
fn owns(listed: Option<&[(IpAddr, AllowedEndpoint)]>, address: IpAddr) -> Option<bool> {
    let address = address.to_canonical();
    if address.is_loopback() {
        return Some(true);
    }
    listed.map(|listed| listed.iter().any(|(own, _)| *own == address))
}

/// The address by which a peer reaches this machine; for a missing or local peer, the address that
/// most others use.
pub(crate) fn address_towards(peer: Option<SocketAddr>) -> Option<IpAddr> {
    let elsewhere = peer.filter(|peer| !peer.ip().is_loopback());
    let found = elsewhere.and_then(source).or_else(|| source(ANYWHERE));
    found.or_else(|| addresses().first().copied())
}

/// The names of this machine on its networks: its host name, and its multicast DNS name.
pub(crate) fn names() -> Vec<String> {
    let system = rustix::system::uname();
    names_of(&system.nodename().to_string_lossy())
}

fn names_of(host: &str) -> Vec<String> {
    let name = host.to_ascii_lowercase();
    let short = name.split('.').next().unwrap_or_default().to_owned();
    let names = [format!("{short}.local"), short, name];
    let usable = |name: &String| !name.is_empty() && !name.starts_with('.');
    names.into_iter().filter(usable).collect()
}

/// The source address that the system would use towards a peer; no packet is sent.
fn source(peer: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(peer).ok()?;
    let own = socket.local_addr().ok()?.ip().to_canonical();
    is_reachable(own).then_some(own)
}

/// The addresses of this machine that others can call, each with its network.
fn networks() -> Vec<(IpAddr, AllowedEndpoint)> {
    listed().unwrap_or_default()
}

/// The same; `None` if the system does not list them.
fn listed() -> Option<Vec<(IpAddr, AllowedEndpoint)>> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let own = interfaces.into_iter().map(|interface| {
        let bits = match &interface.addr {
            if_addrs::IfAddr::V4(address) => address.prefixlen,
            if_addrs::IfAddr::V6(address) => address.prefixlen,
        };
        let address = interface.ip();
        (address, AllowedEndpoint::network(address, bits))
    });
    Some(own.filter(|(address, _)| is_reachable(*address)).collect())
}

fn is_reachable(address: IpAddr) -> bool {
    !address.is_loopback() && !SecurityConfig::never_allows(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(bind: &str, named: Option<&str>) -> SystemConfig {
        let mut system = SystemConfig::default();
        let place = Place {
            bind: Some(bind.parse().unwrap()),
            host: named,
        };
        place.settle(&mut system, None);
        system
    }

    #[test]
    fn one_who_listens_on_one_address_is_reached_there() {
        for (bind, named, host) in [
            ("127.0.0.1", None, "localhost"),
            ("127.0.0.2", None, "127.0.0.2"),
            ("::1", None, "::1"),
            ("192.0.2.7", None, "192.0.2.7"),
            ("192.0.2.7", Some("board"), "board"),
            ("0.0.0.0", Some("192.0.2.7"), "192.0.2.7"),
        ] {
            assert_eq!(settled(bind, named).network.base_host, host, "{bind}");
        }
        let all = settled("0.0.0.0", None).network.base_host;
        assert_ne!(all, "0.0.0.0");
    }

    #[test]
    fn an_address_of_this_machine_that_is_named_is_listened_on() {
        let settled = |bind: Option<&str>, host: String| {
            let mut system = SystemConfig::default();
            let place = Place {
                bind: bind.map(|bind| bind.parse().unwrap()),
                host: Some(&host),
            };
            place.settle(&mut system, None);
            system.security.bind
        };
        // Empty on a machine without a network.
        for own in addresses() {
            assert_eq!(settled(None, own.to_string()), own);
            let said = settled(Some("127.0.0.1"), own.to_string());
            assert_eq!(said, Ipv4Addr::LOCALHOST);
        }
        for other in ["192.0.2.7", "board", "127.0.0.2"] {
            assert_eq!(settled(None, other.to_owned()), Ipv4Addr::LOCALHOST);
        }
    }

    #[test]
    fn agents_are_called_by_an_address_where_people_use_a_name() {
        let called = |bind, host| called(&settled(bind, Some(host)), None);
        assert_eq!(called("192.0.2.7", "board"), "192.0.2.7");
        assert_eq!(called("127.0.0.1", "board"), "localhost");
        assert_eq!(called("0.0.0.0", "192.0.2.7"), "192.0.2.7");
    }

    #[test]
    fn of_several_addresses_the_one_is_told_by_which_the_manager_is_reached() {
        let system = settled("0.0.0.0", Some("board"));
        // On a machine with one network there is only one address.
        for own in addresses() {
            let manager = SocketAddr::new(own, 8000);
            assert_eq!(called(&system, Some(manager)), own.to_string());
        }
    }

    #[test]
    fn a_configured_host_stands_unless_a_flag_names_another() {
        let mut system = SystemConfig::default();
        system.network.base_host = "192.0.2.9".to_owned();
        let mut place = Place {
            bind: Some(Ipv4Addr::UNSPECIFIED.into()),
            host: None,
        };
        place.settle(&mut system, None);
        assert_eq!(system.network.base_host, "192.0.2.9");
        place.host = Some("board");
        place.settle(&mut system, None);
        assert_eq!(system.network.base_host, "board");
    }

    #[test]
    fn the_loopback_is_our_own_and_no_address_for_others() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(is_own("127.8.9.1".parse().unwrap()));
        assert!(addresses().iter().all(|address| !address.is_loopback()));
        assert!(!is_own(ANYWHERE.ip()), "nobody has this one");
    }

    #[test]
    fn of_a_machine_that_does_not_tell_its_addresses_nothing_is_certain() {
        assert_eq!(owns(None, ANYWHERE.ip()), None);
        assert_eq!(owns(None, Ipv4Addr::LOCALHOST.into()), Some(true));
        assert_eq!(owns(Some(&[]), ANYWHERE.ip()), Some(false));
        assert!(!may_be_own(ANYWHERE.ip()), "this one tells them");
    }

    #[test]
    fn an_address_for_others_is_one_of_ours() {
        // `None` on a machine without a network.
        let found = address_towards(None);
        assert!(found.is_none_or(is_own), "{found:?}");
        for own in addresses() {
            let network = network_of(own).unwrap();
            assert!(network.holds(own), "{own} {network}");
        }
    }

    #[test]
    fn a_peer_on_this_machine_tells_nothing_of_others() {
        let here = "127.0.0.1:8000".parse().unwrap();
        assert_eq!(address_towards(Some(here)), address_towards(None));
    }

    #[test]
    fn a_machine_goes_by_its_name_with_and_without_its_domain() {
        let whole = names_of("Board.example.org");
        assert_eq!(whole, ["board.local", "board", "board.example.org"]);
        assert_eq!(names_of("board"), ["board.local", "board", "board"]);
        assert!(names_of("").is_empty());
        assert!(names_of(".example").is_empty());
    }
}
