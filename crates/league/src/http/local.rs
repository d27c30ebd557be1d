//! Where an agent listens, by which host others reach it, and which peers it may call: as the user
//! specifies, else as configured, else loopback only.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::config::{AllowedEndpoint, NetworkConfig, SecurityConfig, SystemConfig};

/// Overrides the configured address to listen on and the host by which others reach it. Without a
/// configured host, the host becomes the address by which `peer` would reach this machine.
pub(crate) fn settle(
    system: &mut SystemConfig,
    bind: Option<IpAddr>,
    host: Option<&str>,
    peer: Option<SocketAddr>,
) {
    if let Some(bind) = bind.or_else(|| implied_bind(host?, system.security.bind)) {
        system.security.bind = bind;
    }
    let configured = &system.network.base_host;
    let is_usual = *configured == NetworkConfig::default().base_host;
    if let Some(host) = host {
        system.network.base_host = host.to_owned();
    } else if is_usual {
        system.network.base_host = usual_host(system.security.bind, peer);
    }
}

/// Allows calls to the agent's own address, to the manager's if one is given, and to `more`.
pub(crate) fn allow_calls(
    system: &mut SystemConfig,
    manager: Option<SocketAddr>,
    more: &[AllowedEndpoint],
) {
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

/// The address to listen on if loopback is configured but the given host is another address of
/// this machine: that address.
fn implied_bind(host: &str, configured: IpAddr) -> Option<IpAddr> {
    let named: IpAddr = host.parse().ok()?;
    let other = !named.to_canonical().is_loopback() && is_own(named);
    (configured.is_loopback() && other).then_some(named)
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

/// The host that other agents use, `peer` in particular. People may use a name that agents need not
/// know.
pub(crate) fn called(system: &SystemConfig, peer: Option<SocketAddr>) -> String {
    let host = &system.network.base_host;
    match is_name(host) {
        true => usual_host(system.security.bind, peer),
        false => host.clone(),
    }
}

/// Whether a host is a name that must be resolved.
fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && *host != NetworkConfig::default().base_host
}

/// A placeholder for any remote address: reserved for documentation, so no machine has it.
pub(crate) const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The addresses of this machine that others can call, IPv4 first.
pub(crate) fn addresses() -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = networks().into_iter().map(|(own, _)| own).collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses
}

/// The public address on which a server with this bind address listens, if there is one.
pub(crate) fn public_address(bind: IpAddr) -> Option<IpAddr> {
    public_among(bind, &addresses())
}

fn public_among(bind: IpAddr, own: &[IpAddr]) -> Option<IpAddr> {
    let bind = bind.to_canonical();
    if !bind.is_unspecified() {
        return Some(bind).filter(|bind| AllowedEndpoint::Public.holds(*bind));
    }
    // `::` listens on the addresses of IPv4 too.
    let mut own = own.iter().map(IpAddr::to_canonical);
    own.find(|own| AllowedEndpoint::Public.holds(*own) && (bind.is_ipv6() || own.is_ipv4()))
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

/// The addresses that count as one: a customer of a provider has 2^64 addresses of IPv6.
pub(crate) fn address_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
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

/// The source address that the system would use towards a peer, if others can call it.
fn source(peer: SocketAddr) -> Option<IpAddr> {
    route(peer).ok().filter(|own| is_reachable(*own))
}

/// The source address that the system would use towards a peer; no packet is sent.
pub(crate) fn route(peer: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(peer)?;
    Ok(socket.local_addr()?.ip().to_canonical())
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
        settle(&mut system, Some(bind.parse().unwrap()), named, None);
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
            let bind = bind.map(|bind| bind.parse().unwrap());
            settle(&mut system, bind, Some(&host), None);
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
        let bind = Some(Ipv4Addr::UNSPECIFIED.into());
        settle(&mut system, bind, None, None);
        assert_eq!(system.network.base_host, "192.0.2.9");
        settle(&mut system, bind, Some("board"), None);
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
    fn listening_is_public_only_where_the_internet_reaches_this_machine() {
        let own: Vec<IpAddr> = ["10.0.0.7", "9.9.9.9", "fd12::7", "2620:fe::9"]
            .map(|own| own.parse().unwrap())
            .into();
        for (bind, own, public) in [
            ("9.9.9.9", &[][..], Some("9.9.9.9")),
            ("2620:fe::9", &[], Some("2620:fe::9")),
            ("::ffff:9.9.9.9", &[], Some("9.9.9.9")),
            ("172.32.0.1", &[], Some("172.32.0.1")),
            ("100.128.0.1", &[], Some("100.128.0.1")),
            ("127.0.0.1", &own, None),
            ("10.0.0.7", &own, None),
            ("172.16.0.1", &own, None),
            ("192.168.1.10", &own, None),
            ("169.254.7.7", &own, None),
            ("100.64.0.1", &own, None),
            ("100.127.255.254", &own, None),
            ("192.0.2.7", &own, None),
            ("::1", &own, None),
            ("fd12::7", &own, None),
            ("fe80::1", &own, None),
            ("0.0.0.0", &own, Some("9.9.9.9")),
            ("0.0.0.0", &own[..1], None),
            ("0.0.0.0", &own[3..], None),
            ("0.0.0.0", &[], None),
            ("::", &own[3..], Some("2620:fe::9")),
            ("::", &own[1..2], Some("9.9.9.9")),
            ("::", &own[2..3], None),
        ] {
            let found = public_among(bind.parse().unwrap(), own);
            let public = public.map(|public| public.parse().unwrap());
            assert_eq!(found, public, "{bind} {own:?}");
        }
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
