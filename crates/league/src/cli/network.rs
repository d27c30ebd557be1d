//! Where agents listen, by which host they are reached, and where they may answer: by flags, else as
//! configured, else on this machine alone.

use std::net::{IpAddr, SocketAddr};

use clap::Args;

use crate::cli::arguments::quoted;
use crate::cli::failure::{Failure, Kind};
use crate::config::{AllowedEndpoint, SystemConfig};
use crate::http::endpoint::{Endpoint, url};
use crate::http::local;
use crate::http::local::{Place, called, is_name};

/// Under which heading the flags stand in the help.
const HEADING: &str = "Over several machines";

/// Where somebody listens, and by which host it is reached.
#[derive(Debug, Clone, Args)]
pub(crate) struct Listening {
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
pub(crate) struct Reach {
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
    fn place(&self) -> Place<'_> {
        Place {
            bind: self.bind,
            host: self.host.as_deref(),
        }
    }

    /// Puts flags in the place of the configuration.
    pub(crate) fn settle(&self, system: &mut SystemConfig) {
        self.place().settle(system, None);
    }
}

impl Reach {
    /// Puts flags in the place of the configuration, for a whole league or its manager.
    pub(crate) fn settle(&self, system: &mut SystemConfig) {
        let place = self.listening.place();
        place.settle_caller(system, None, &self.allow);
    }

    /// The same for an agent of which `manager` is the manager.
    pub(crate) fn settle_joining(&self, system: &mut SystemConfig, manager: Option<SocketAddr>) {
        let place = self.listening.place();
        place.settle_joining(system, manager, &self.allow);
    }

    /// The same flags again, for commands that are printed.
    pub(crate) fn flags(&self) -> String {
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
    pub(crate) fn check(
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
    if !kept_in || local::is_own(manager.ip()) {
        return Ok(());
    }
    let host = match told_here {
        true => told.clone(),
        false => bind.to_string(),
    };
    let own = local::address_towards(Some(manager));
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
pub(crate) fn invitation(system: &SystemConfig, manager: &str) -> Vec<String> {
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
        let network = own.and_then(local::network_of);
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
pub(crate) fn is_open(system: &SystemConfig) -> bool {
    !system.security.bind.is_loopback()
}

/// The command by which somebody on another machine joins a league.
pub(crate) fn joining(manager: &str) -> String {
    format!("league player --manager {manager} --bind 0.0.0.0 --name NAME")
}

#[cfg(test)]
mod tests {
    use super::*;

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
