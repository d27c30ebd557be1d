//! Where an agent listens, by which host it is reached, and where others may answer: as somebody
//! says, else as configured, else on this machine alone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::interfaces;
use crate::config::{AllowedEndpoint, NetworkConfig, SystemConfig};

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
        let other = !named.to_canonical().is_loopback() && interfaces::is_own(named);
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
        true => interfaces::address_towards(peer),
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
        for own in interfaces::addresses() {
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
        for own in interfaces::addresses() {
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
}
