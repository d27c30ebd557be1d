//! Where agents listen, by which host they are reached, and where they may answer: by flags, else as
//! configured, else on this machine alone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Args;
use league::config::{AllowedEndpoint, NetworkConfig, SystemConfig};
use league::net::endpoint::{Endpoint, url};
use league::net::machine;

use super::common::quoted;
use super::failure::{Failure, Kind};

/// Under which heading the flags stand in the help.
const HEADING: &str = "Over several machines";

/// Where somebody listens, and by which host it is reached.
#[derive(Debug, Clone, Args)]
pub(super) struct Listening {
    /// The address to listen on; 0.0.0.0 for all of this machine [default: from config, 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", help_heading = HEADING)]
    bind: Option<IpAddr>,
    /// The name or address by which others reach it, for a player or referee an address; one of
    /// this machine is listened on too [default: from config, else where it listens]
    #[arg(long, value_name = "HOST", value_parser = host, help_heading = HEADING)]
    host: Option<String>,
}

/// The same of agents that call others, and where those may answer.
#[derive(Debug, Clone, Args)]
pub(super) struct Reach {
    #[command(flatten)]
    listening: Listening,
    /// Let agents answer there, besides where config says: an address, or a network such as
    /// 192.168.1.0/24; more than once for more
    #[arg(long, value_name = "NETWORK", value_parser = allowed, help_heading = HEADING)]
    allow: Vec<AllowedEndpoint>,
}

/// Reads a host as it stands in an address.
fn host(text: &str) -> Result<String, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>().ok();
    if address.is_some_and(|address| address.is_unspecified()) {
        return Err("it stands for all addresses of this machine; name one of them".to_owned());
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    if address.is_some() || !bare.is_empty() && bare.chars().all(plain) {
        return Ok(bare.to_owned());
    }
    Err("give a name or an address alone, such as 192.168.1.10".to_owned())
}

fn allowed(text: &str) -> Result<AllowedEndpoint, String> {
    let expected = "give an address, a network such as 192.168.1.0/24, or `loopback`";
    AllowedEndpoint::parse(text).ok_or_else(|| expected.to_owned())
}

impl Listening {
    /// Puts flags in the place of the configuration, and finds the host if nobody names it: the
    /// one by which `peer` would know this machine.
    pub(super) fn settle(&self, system: &mut SystemConfig, peer: Option<SocketAddr>) {
        if let Some(bind) = self.bind.or_else(|| self.implied(system.security.bind)) {
            system.security.bind = bind;
        }
        let configured = &system.network.base_host;
        let is_usual = *configured == NetworkConfig::default().base_host;
        if let Some(host) = &self.host {
            system.network.base_host = host.clone();
        } else if is_usual {
            system.network.base_host = usual_host(system.security.bind, peer);
        }
    }

    /// Where one listens that would be at loopback alone, and is said to be at another address of
    /// this machine: there.
    fn implied(&self, configured: IpAddr) -> Option<IpAddr> {
        let named: IpAddr = self.host.as_deref()?.parse().ok()?;
        let other = !named.to_canonical().is_loopback() && machine::is_own(named);
        (configured.is_loopback() && other).then_some(named)
    }
}

impl Reach {
    /// Puts flags in the place of the configuration, for agents of which `manager` is the manager.
    ///
    /// Where an agent is itself, and where the manager is that somebody named, may be called.
    pub(super) fn settle(&self, system: &mut SystemConfig, manager: Option<SocketAddr>) {
        self.listening.settle(system, manager);
        let security = &mut system.security;
        security.allowed_endpoints.extend(&self.allow);
        let own = called(system, manager).parse().ok();
        let known = own.into_iter().chain(manager.map(|manager| manager.ip()));
        for address in known {
            if !system.security.allows(address) {
                let entry = AllowedEndpoint::address(address);
                system.security.allowed_endpoints.push(entry);
            }
        }
    }

    /// The same flags again, for commands that are printed.
    pub(super) fn flags(&self) -> String {
        let Listening { bind, host } = &self.listening;
        let bind = bind.map(|bind| format!(" --bind {bind}"));
        let host = host
            .as_deref()
            .map(|host| format!(" --host {}", quoted(host)));
        let allow = self.allow.iter().map(|entry| format!(" --allow {entry}"));
        bind.into_iter().chain(host).chain(allow).collect()
    }
}

impl Reach {
    /// Sees that a manager can call an agent of this machine: a name that somebody gives it is not
    /// looked up, and from another machine loopback is not reached.
    pub(super) fn check(
        &self,
        system: &SystemConfig,
        agent: &str,
        manager: SocketAddr,
    ) -> Result<(), Failure> {
        let Listening { bind, host } = &self.listening;
        let named = host.as_deref().filter(|host| is_name(host));
        if let Some(name) = named {
            return Err(Failure {
                what: format!("could not start the {agent}"),
                cause: format!("`--host {name}` is a name, and managers call agents by addresses"),
                hint: format!("give the address that `{name}` stands for"),
                kind: Kind::Use,
            });
        }
        // Whoever says so with both flags has a tunnel, or the like, that leads here.
        let meant = bind.is_some() && host.is_some();
        within_reach(system, agent, manager, meant)
    }
}

/// The host of one who listens here, if nobody names it.
fn usual_host(bind: IpAddr, peer: Option<SocketAddr>) -> String {
    let usual = NetworkConfig::default().base_host;
    if bind == Ipv4Addr::LOCALHOST {
        return usual;
    }
    let address = match bind.is_unspecified() {
        true => machine::address_towards(peer),
        false => Some(bind),
    };
    address.map_or(usual, |address| address.to_string())
}

/// The host by which agents are called, by `peer` above all: people may use names, which agents do
/// not look up.
pub(super) fn called(system: &SystemConfig, peer: Option<SocketAddr>) -> String {
    let host = &system.network.base_host;
    match is_name(host) {
        true => usual_host(system.security.bind, peer),
        false => host.clone(),
    }
}

/// Whether a host is a name that has to be looked up.
fn is_name(host: &str) -> bool {
    host.parse::<IpAddr>().is_err() && *host != NetworkConfig::default().base_host
}

/// Sees that a manager on another machine can call an agent of this one, unless somebody `meant`
/// it to listen at loopback.
fn within_reach(
    system: &SystemConfig,
    agent: &str,
    manager: SocketAddr,
    meant: bool,
) -> Result<(), Failure> {
    let (bind, told) = (system.security.bind, &system.network.base_host);
    let read = Endpoint::parse(&url(told, manager.port()));
    let told_here = read.is_ok_and(|read| read.address.ip().is_loopback());
    let kept_in = told_here || bind.to_canonical().is_loopback() && !meant;
    if !kept_in || machine::is_own(manager.ip()) {
        return Ok(());
    }
    let host = match told_here {
        true => told.clone(),
        false => bind.to_string(),
    };
    let own = machine::address_towards(Some(manager));
    let own = own.map_or_else(String::new, |own| format!(", by which it is `{own}`"));
    Err(Failure {
        what: format!("could not start the {agent}"),
        cause: format!(
            "the manager is on another machine, `{}`, and cannot call an agent at `{host}`",
            manager.ip()
        ),
        hint: format!(
            "listen on the network with `--bind 0.0.0.0`{own}; if others reach this machine by \
             another address, name that with `--host`"
        ),
        kind: Kind::Use,
    })
}

/// What the organiser of a league that others can reach should know, a line each.
pub(super) fn invitation(system: &SystemConfig, manager: &str) -> Vec<String> {
    if !is_open(system) {
        return unreached(system).into_iter().collect();
    }
    let mut lines = vec![
        format!("join it from another machine with `{}`", joining(manager)),
        format!(
            "or with a player of one's own: `league new player --lang python`, then \
             `python3 player.py --manager {manager} --host ADDRESS --name NAME`"
        ),
    ];
    let entries = &system.security.allowed_endpoints;
    let told: Vec<String> = entries.iter().map(ToString::to_string).collect();
    lines.push(format!("agents may answer at {}", told.join(", ")));
    let own: Option<IpAddr> = called(system, None).parse().ok();
    let here = |entry: &AllowedEndpoint| match (*entry, own) {
        (AllowedEndpoint::Loopback, _) => true,
        (entry, Some(own)) => entry == AllowedEndpoint::address(own),
        (_, None) => false,
    };
    if entries.iter().all(here) {
        let network = own.and_then(machine::network_of);
        let network = network.map_or_else(|| "NETWORK".to_owned(), |network| network.to_string());
        lines.push(format!(
            "those on other machines are turned away until it is started with `--allow {network}`"
        ));
    }
    lines
}

/// What the organiser should know who names a host at which nobody listens.
fn unreached(system: &SystemConfig) -> Option<String> {
    let (bind, host) = (system.security.bind, &system.network.base_host);
    let read = Endpoint::parse(&url(host, 0));
    let here = read.is_ok_and(|read| read.address.ip().is_loopback());
    (!here).then(|| {
        format!(
            "it listens on {bind} alone: for others to reach it at {host}, start it with \
             `--bind 0.0.0.0`, unless a proxy leads here"
        )
    })
}

/// Whether others than this machine can reach what listens as configured.
pub(super) fn is_open(system: &SystemConfig) -> bool {
    !system.security.bind.is_loopback()
}

/// The command by which somebody on another machine joins a league.
pub(super) fn joining(manager: &str) -> String {
    format!("league player --manager {manager} --bind 0.0.0.0 --name NAME")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(bind: &str, named: Option<&str>) -> SystemConfig {
        let mut system = SystemConfig::default();
        let listening = Listening {
            bind: Some(bind.parse().unwrap()),
            host: named.map(str::to_owned),
        };
        listening.settle(&mut system, None);
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
            let listening = Listening {
                bind: bind.map(|bind| bind.parse().unwrap()),
                host: Some(host),
            };
            listening.settle(&mut system, None);
            system.security.bind
        };
        // A machine without a network has none.
        for own in machine::addresses() {
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
        for own in machine::addresses() {
            let manager = SocketAddr::new(own, 8000);
            assert_eq!(called(&system, Some(manager)), own.to_string());
        }
    }

    #[test]
    fn a_configured_host_stands_unless_a_flag_names_another() {
        let mut system = SystemConfig::default();
        system.network.base_host = "192.0.2.9".to_owned();
        let mut listening = Listening {
            bind: Some(Ipv4Addr::UNSPECIFIED.into()),
            host: None,
        };
        listening.settle(&mut system, None);
        assert_eq!(system.network.base_host, "192.0.2.9");
        listening.host = Some("board".to_owned());
        listening.settle(&mut system, None);
        assert_eq!(system.network.base_host, "board");
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_nothing_around_it() {
        assert_eq!(host("[fd12::7]"), Ok("fd12::7".to_owned()));
        assert_eq!(
            host("annas-laptop.local"),
            Ok("annas-laptop.local".to_owned())
        );
        for wrong in [
            "",
            "http://board",
            "board:8000",
            "a b",
            "0.0.0.0",
            "::",
            "board/mcp",
        ] {
            assert!(host(wrong).is_err(), "{wrong}");
        }
    }
}
