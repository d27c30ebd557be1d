//! Where agents listen, which host others reach them by, and which addresses agents may have: by
//! flags, else as configured, else on this machine only.

use std::net::{IpAddr, SocketAddr};

use clap::Args;

use crate::cli::arguments::quoted;
use crate::cli::failure::CommandError;
use crate::config::{AllowedEndpoint, SystemConfig};
use crate::http::endpoint::{Endpoint, url};
use crate::http::local::{self, Place, called, is_name};

/// The heading of these flags in the help.
const HEADING: &str = "Several machines";

/// Where a server listens, and which host others reach it by.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListenArgs {
    /// Address to listen on; 0.0.0.0 for all of this machine [default: from config, 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", help_heading = HEADING)]
    bind: Option<IpAddr>,
    /// Name or address that others reach it by (for a player or referee: an address); if it is an
    /// address of this machine, it listens there too [default: from config, else where it listens]
    #[arg(long, value_name = "HOST", value_parser = host, help_heading = HEADING)]
    host: Option<String>,
}

/// The same for agents that call others, and which addresses those may have.
#[derive(Debug, Clone, Args)]
pub(crate) struct NetworkArgs {
    #[command(flatten)]
    listening: ListenArgs,
    /// Allow agents at this address or network, such as 192.168.1.0/24, in addition to config; may
    /// be repeated
    #[arg(long, value_name = "NETWORK", value_parser = allowed, help_heading = HEADING)]
    allow: Vec<AllowedEndpoint>,
}

/// Reads the host of an address.
fn host(text: &str) -> Result<String, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>().ok();
    if address.is_some_and(|address| address.is_unspecified()) {
        return Err("this stands for all addresses of the machine; name one of them".to_owned());
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    if address.is_some() || !bare.is_empty() && bare.chars().all(plain) {
        return Ok(bare.to_owned());
    }
    Err("give only a name or an address, such as 192.168.1.10".to_owned())
}

fn allowed(text: &str) -> Result<AllowedEndpoint, String> {
    let expected = "give an address, a network such as 192.168.1.0/24, or `loopback`";
    AllowedEndpoint::parse(text).ok_or_else(|| expected.to_owned())
}

impl ListenArgs {
    fn place(&self) -> Place<'_> {
        Place {
            bind: self.bind,
            host: self.host.as_deref(),
        }
    }

    /// Overrides the configuration with the flags.
    pub(crate) fn settle(&self, system: &mut SystemConfig) {
        self.place().settle(system, None);
    }
}

impl NetworkArgs {
    /// Overrides the configuration with the flags, for a whole league or its manager.
    pub(crate) fn settle(&self, system: &mut SystemConfig) {
        let place = self.listening.place();
        place.settle_caller(system, None, &self.allow);
    }

    /// The same for an agent of `manager`.
    pub(crate) fn settle_joining(&self, system: &mut SystemConfig, manager: Option<SocketAddr>) {
        let place = self.listening.place();
        place.settle_joining(system, manager, &self.allow);
    }

    /// The same flags, for a printed command.
    pub(crate) fn flags(&self) -> String {
        let ListenArgs { bind, host } = &self.listening;
        let bind = bind.map(|bind| format!(" --bind {bind}"));
        let host = host
            .as_deref()
            .map(|host| format!(" --host {}", quoted(host)));
        let allow = self.allow.iter().map(|entry| format!(" --allow {entry}"));
        bind.into_iter().chain(host).chain(allow).collect()
    }

    /// Checks that a manager can call an agent of this machine: managers do not resolve names, and
    /// do not reach the loopback of another machine.
    pub(crate) fn check(
        &self,
        system: &SystemConfig,
        agent: &str,
        manager: SocketAddr,
    ) -> Result<(), CommandError> {
        let ListenArgs { bind, host } = &self.listening;
        let named = host.as_deref().filter(|host| is_name(host));
        if let Some(name) = named {
            return Err(CommandError::usage(
                format!("could not start the {agent}"),
                format!("`--host {name}` is a name, but managers call agents by address"),
                format!("give the address of `{name}`"),
            ));
        }
        // Both flags together mean that a tunnel or the like leads here.
        let meant = bind.is_some() && host.is_some();
        within_reach(system, agent, manager, meant)
    }
}

/// Checks that a manager on another machine can call an agent of this one, unless listening on
/// loopback is `meant`.
fn within_reach(
    system: &SystemConfig,
    agent: &str,
    manager: SocketAddr,
    meant: bool,
) -> Result<(), CommandError> {
    let (bind, told) = (system.security.bind, &system.network.base_host);
    let read = Endpoint::parse(&url(told, manager.port()));
    let told_here = read.is_ok_and(|read| read.address.ip().is_loopback());
    let kept_in = told_here || bind.to_canonical().is_loopback() && !meant;
    if !kept_in || local::is_own(manager.ip()) {
        return Ok(());
    }
    let host = if told_here {
        told.clone()
    } else {
        bind.to_string()
    };
    let own = local::address_towards(Some(manager));
    let own = own.map_or_else(String::new, |own| {
        format!(" (its address there is `{own}`)")
    });
    Err(CommandError::usage(
        format!("could not start the {agent}"),
        format!(
            "the manager is on another machine, `{}`, and cannot reach an agent at `{host}`",
            manager.ip()
        ),
        format!(
            "listen on the network with `--bind 0.0.0.0`{own}; if others reach this machine by \
             another address, give it with `--host`"
        ),
    ))
}

/// What the organiser of a league should know about other machines, a line each.
pub(crate) fn invitation(system: &SystemConfig, manager: &str) -> Vec<String> {
    if !is_open(system) {
        return unreached(system).into_iter().collect();
    }
    let mut lines = vec![
        format!("join from another machine with `{}`", joining(manager)),
        format!(
            "or with your own player: `league new player --lang python`, then \
             `python3 player.py --manager {manager} --host ADDRESS --name NAME`"
        ),
    ];
    let entries = &system.security.allowed_endpoints;
    let told: Vec<String> = entries.iter().map(ToString::to_string).collect();
    lines.push(format!("agents are allowed at {}", told.join(", ")));
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
            "agents on other machines are refused; to allow them, start it with `--allow {network}`"
        ));
    }
    lines
}

/// A warning for an advertised host where nothing listens.
fn unreached(system: &SystemConfig) -> Option<String> {
    let (bind, host) = (system.security.bind, &system.network.base_host);
    let read = Endpoint::parse(&url(host, 0));
    let here = read.is_ok_and(|read| read.address.ip().is_loopback());
    (!here).then(|| {
        format!(
            "it listens on {bind} only: for others to reach it at {host}, start it with \
             `--bind 0.0.0.0`, unless a proxy forwards to it"
        )
    })
}

/// Whether other machines can reach a server with this configuration.
pub(crate) fn is_open(system: &SystemConfig) -> bool {
    !system.security.bind.is_loopback()
}

/// The command that joins a league from another machine.
pub(crate) fn joining(manager: &str) -> String {
    format!("league player --manager {manager} --bind 0.0.0.0 --name NAME")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_bare_name_or_address() {
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
