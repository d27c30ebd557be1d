//! Where an agent listens, by which host it is reached, and where others may answer: as somebody
//! says, else as configured, else on this machine alone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use crate::config::{AllowedEndpoint, NetworkConfig, SecurityConfig, SystemConfig};

/// What somebody says of where an agent is, in the place of the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place<'p> {
    /// The address to listen on.
    pub(crate) bind: Option<IpAddr>,
    /// The name or address by which others reach it.
    pub(crate) host: Option<&'p str>,
}

impl Place<'_> {
    /// Puts it in the place of the configuration, and finds the host if nobody names it: the one by
    /// which `peer` would know this machine.
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

    /// The same for an agent that calls others: where it is itself, and where the manager is that
    /// somebody named, may be called, and so may `more`.
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

    /// The same for an agent that joins a league: whoever calls it looks up no name, such as a
    /// configured one.
    pub(crate) fn settle_joining(
        &self,
        system: &mut SystemConfig,
        manager: Option<SocketAddr>,
        more: &[AllowedEndpoint],
    ) {
        self.settle_caller(system, manager, more);
        system.network.base_host = called(system, manager);
    }

    /// Where one listens that would be at loopback alone, and is said to be at another address of
    /// this machine: there.
    fn implied(&self, configured: IpAddr) -> Option<IpAddr> {
        let named: IpAddr = self.host?.parse().ok()?;
        let other = !named.to_canonical().is_loopback() && is_own(named);
        (configured.is_loopback() && other).then_some(named)
    }
}

/// The host of one who listens here, if nobody names it.
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

/// The host by which agents are called, by `peer` above all: people may use names, which agents do
/// not look up.
pub(crate) fn called(system: &SystemConfig, peer: Option<SocketAddr>) -> String {
    let host = &system.network.base_host;
    match is_name(host) {
        true => usual_host(system.security.bind, peer),
        false => host.clone(),
    }
}

/// Whether a host is a name that has to be looked up.
pub(crate) fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && *host != NetworkConfig::default().base_host
}

/// An address that stands for anywhere: it is kept for documentation, and no machine has it.
const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The addresses of this machine that others can call, those of IPv4 first.
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

/// Whether an address is certain to be one of this machine.
pub(crate) fn is_own(address: IpAddr) -> bool {
    owns(listed().as_deref(), address).unwrap_or(false)
}

/// Whether an address may be one of this machine: any may, if the system does not tell them.
pub(crate) fn may_be_own(address: IpAddr) -> bool {
    owns(listed().as_deref(), address).unwrap_or(true)
}

/// Whether an address is one of those listed, or loopback; nobody knows if there is no list.
fn owns(listed: Option<&[(IpAddr, AllowedEndpoint)]>, address: IpAddr) -> Option<bool> {
    let address = address.to_canonical();
    if address.is_loopback() {
        return Some(true);
    }
    listed.map(|listed| listed.iter().any(|(own, _)| *own == address))
}

/// The address by which this machine is known to a peer; without a peer that is elsewhere, to most.
pub(crate) fn address_towards(peer: Option<SocketAddr>) -> Option<IpAddr> {
    let elsewhere = peer.filter(|peer| !peer.ip().is_loopback());
    let found = elsewhere.and_then(source).or_else(|| source(ANYWHERE));
    found.or_else(|| addresses().first().copied())
}

/// The names that this machine goes by on its own networks: its host name, and that of multicast DNS.
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

/// The own end of the way to a peer: the system is asked which it would take, and takes none.
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

/// The same; nothing if the system does not tell.
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
        // A machine without a network has none.
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
        // On a machine with one network there is only one to tell.
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
        // A machine without a network has none.
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
