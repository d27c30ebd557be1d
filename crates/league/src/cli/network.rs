//! Where agents listen, which host others reach them by, which addresses agents may have, and TLS:
//! by flags, else as configured, else on this machine only, without TLS.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::arguments::{existing_config, quoted};
use crate::cli::failure::CommandError;
use crate::config::{AllowedEndpoint, SystemConfig};
use crate::http::endpoint::{Endpoint, Scheme, url};
use crate::http::local::{self, called};
use crate::http::tls::{Tls, TlsError, Trust};
use crate::storage::root::Root;

/// Where a server listens, and which host others reach it by.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListenArgs {
    /// Address to listen on; 0.0.0.0 for all [default: config]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Name or address for others to call [default: config]
    #[arg(long, value_name = "HOST", value_parser = host)]
    host: Option<String>,
    /// Listen on a public address without TLS
    #[arg(long)]
    insecure: bool,
}

/// Which authorities are trusted besides those of this machine.
#[derive(Debug, Clone, Args)]
pub(crate) struct TrustArgs {
    /// Authorities to trust too, in PEM [default: config]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// The same for agents that call others, and which addresses those may have.
#[derive(Debug, Clone, Args)]
pub(crate) struct NetworkArgs {
    #[command(flatten)]
    listening: ListenArgs,
    /// Allow agents there too, such as 192.168.1.0/24; repeat it
    #[arg(long, value_name = "NETWORK", value_parser = allowed)]
    allow: Vec<AllowedEndpoint>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

/// Reads the host of an address.
pub(crate) fn host(text: &str) -> Result<String, String> {
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
    let expected = "give an address, a network such as 192.168.1.0/24, `loopback`, or `public`";
    AllowedEndpoint::parse(text).ok_or_else(|| expected.to_owned())
}

impl ListenArgs {
    /// Overrides the configuration with the flags.
    pub(crate) fn settle(&self, system: &mut SystemConfig) {
        self.settle_towards(system, None);
    }

    fn settle_towards(&self, system: &mut SystemConfig, peer: Option<SocketAddr>) {
        local::settle(system, self.bind, self.host.as_deref(), peer);
        system.security.insecure |= self.insecure;
    }
}

impl TrustArgs {
    /// Overrides the configuration with the flag.
    fn settle(&self, system: &mut SystemConfig) {
        if let Some(ca) = &self.ca {
            // On the command line it is not relative to the root.
            let ca = std::path::absolute(ca).unwrap_or_else(|_| ca.clone());
            system.security.ca = Some(ca);
        }
    }

    /// The authorities that a command trusts.
    pub(crate) fn load(&self, root: &Root, what: &str) -> Result<Trust, CommandError> {
        let mut system = existing_config(root)?;
        self.settle(&mut system);
        let ca = system.security.ca.map(|ca| root.as_path().join(ca));
        Trust::load(ca.as_deref()).map_err(|error| bad_tls(what, &error))
    }

    /// The authorities that a command trusts without a root.
    pub(crate) fn load_given(&self, what: &str) -> Result<Trust, CommandError> {
        Trust::load(self.ca.as_deref()).map_err(|error| bad_tls(what, &error))
    }

    /// The same flag, for a printed command.
    pub(crate) fn flag(&self) -> String {
        ca_flag(self.ca.as_deref())
    }
}

fn ca_flag(file: Option<&Path>) -> String {
    file.map_or_else(String::new, |file| {
        format!(" --ca {}", quoted(&file.display().to_string()))
    })
}

/// The TLS of a process that listens, after the flags were applied; `tell` gets warnings for the
/// user.
pub(crate) fn load_tls(
    root: &Root,
    system: &SystemConfig,
    what: &str,
    mut tell: impl FnMut(&str),
) -> Result<Tls, CommandError> {
    let (tls, warnings) =
        Tls::load(root.as_path(), system).map_err(|error| bad_tls(what, &error))?;
    for warning in &warnings {
        tell(warning);
    }
    Ok(tls)
}

/// Logs a warning about TLS, which also prints it.
pub(crate) fn log_warning(warning: &str) {
    tracing::warn!(event_type = "TLS", "{warning}");
}

fn bad_tls(what: &str, error: &TlsError) -> CommandError {
    CommandError::usage(what, error.to_string(), error.hint())
}

impl NetworkArgs {
    /// Overrides the configuration with the flags, for a whole league or its manager.
    pub(crate) fn settle(&self, system: &mut SystemConfig) {
        self.listening.settle(system);
        self.trust.settle(system);
        local::allow_calls(system, None, &self.allow);
        // It is that of an agent that joins.
        system.network.public_url = None;
    }

    /// The same for an agent of a manager at these addresses; the first decides by which address the
    /// agent is reached. A configured name is for people; agents may not know it, so the host becomes
    /// an address.
    pub(crate) fn settle_joining(&self, system: &mut SystemConfig, managers: &[SocketAddr]) {
        let manager = managers.first().copied();
        self.listening.settle_towards(system, manager);
        self.trust.settle(system);
        local::allow_calls(system, manager, &self.allow);
        for manager in managers {
            local::allow_calls(system, Some(*manager), &[]);
        }
        if self.listening.host.is_none() {
            system.network.base_host = called(system, manager);
        }
    }

    /// The same flags, for a printed command.
    pub(crate) fn flags(&self) -> String {
        let ListenArgs {
            bind,
            host,
            insecure,
        } = &self.listening;
        let bind = bind.map(|bind| format!(" --bind {bind}"));
        let host = host
            .as_deref()
            .map(|host| format!(" --host {}", quoted(host)));
        let allow = self.allow.iter().map(|entry| format!(" --allow {entry}"));
        let insecure = insecure.then(|| " --insecure".to_owned());
        let flags = bind.into_iter().chain(host).chain(allow).chain(insecure);
        flags.chain([self.trust.flag()]).collect()
    }

    /// Checks that a manager can call an agent of this machine: it does not reach the loopback of
    /// another.
    pub(crate) fn check(
        &self,
        system: &SystemConfig,
        agent: &str,
        manager: SocketAddr,
    ) -> Result<(), CommandError> {
        let ListenArgs { bind, host, .. } = &self.listening;
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
    let read = Endpoint::parse(&url(Scheme::Http, told, manager.port()));
    let told_here = read.is_ok_and(|read| read.is_loopback());
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
             another address, give it with `--host`; if a tunnel leads here, give its URL with \
             `--public-url`"
        ),
    ))
}

/// What the organiser of a league should know about other machines, a line each.
pub(crate) fn invitation(system: &SystemConfig, manager: &str) -> Vec<String> {
    if !is_open(system) {
        return unreached(system).into_iter().collect();
    }
    let mut lines = vec![
        format!(
            "join from another machine with `{}`",
            joining(system, manager)
        ),
        format!(
            "or with your own player: `league new player --lang python`, then \
             `python3 player.py --manager {manager}{}{} --host ADDRESS --name NAME`",
            ca_copy(system),
            code_to_show(system)
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
    let read = Endpoint::parse(&url(Scheme::Http, host, 0));
    let here = read.is_ok_and(|read| read.is_loopback());
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
pub(crate) fn joining(system: &SystemConfig, manager: &str) -> String {
    let (ca, code) = (ca_copy(system), code_to_show(system));
    format!("league player --manager {manager}{ca}{code} --bind 0.0.0.0 --name NAME")
}

/// The flag of the join code. The organiser hands the code out; no screen shows it.
fn code_to_show(system: &SystemConfig) -> &'static str {
    match system.security.join_code() {
        Some(_) => " --join-code CODE",
        None => "",
    }
}

/// The flag by which others trust what we trust, with a copy of our file.
fn ca_copy(system: &SystemConfig) -> String {
    let security = &system.security;
    let ca = security.ca.as_ref().filter(|_| security.tls_cert.is_some());
    let name = ca.and_then(|ca| ca.file_name());
    ca_flag(name.map(Path::new))
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
