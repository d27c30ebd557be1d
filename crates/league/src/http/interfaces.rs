//! This machine on its networks: its addresses, its names, and which of them others can use.
//!
//! Nothing is sent to find that out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use crate::config::{AllowedEndpoint, SecurityConfig};

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
