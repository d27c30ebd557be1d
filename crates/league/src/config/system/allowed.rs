//! Where agents may answer (ruling 28).

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::config::Wrong;
use crate::config::setting::{Reading, Setting, wrong};

/// One entry of the list of places where agents may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedEndpoint {
    /// This machine.
    Loopback,
    /// All addresses that begin with the same bits.
    Network {
        /// The address that tells the bits.
        address: IpAddr,
        /// How many bits count.
        bits: u8,
    },
}

impl AllowedEndpoint {
    /// Whether an address is meant by this entry.
    pub fn holds(self, asked: IpAddr) -> bool {
        match self {
            Self::Loopback => asked.is_loopback(),
            Self::Network { address, bits } => match (address, asked) {
                (IpAddr::V4(own), IpAddr::V4(asked)) => {
                    let differing = own.to_bits() ^ asked.to_bits();
                    differing.leading_zeros() >= u32::from(bits)
                }
                (IpAddr::V6(own), IpAddr::V6(asked)) => {
                    let differing = own.to_bits() ^ asked.to_bits();
                    differing.leading_zeros() >= u32::from(bits)
                }
                _ => false,
            },
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text == "loopback" {
            return Some(Self::Loopback);
        }
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        (bits <= most).then_some(Self::Network { address, bits })
    }
}

/// Addresses at which nobody may answer, whatever the list says: those of no machine or of many,
/// and those at which clouds tell their secrets.
pub(super) fn never(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_unspecified()
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_link_local()
        }
        IpAddr::V6(address) => {
            address.is_unspecified()
                || address.is_multicast()
                || address.is_unicast_link_local()
                || address.segments()[..2] == [0xfd00, 0x0ec2]
        }
    }
}

impl fmt::Display for AllowedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("loopback"),
            Self::Network { address, bits } => write!(f, "{address}/{bits}"),
        }
    }
}

impl Serialize for AllowedEndpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Setting for AllowedEndpoint {
    fn expected() -> String {
        "`loopback`, an address, or a network such as `10.0.0.0/8`".to_owned()
    }

    fn read(value: &Value, path: &str, _: &mut Reading) -> Result<Self, Wrong> {
        let parsed = value.as_str().and_then(Self::parse);
        parsed.ok_or_else(|| wrong(path, value, Self::expected()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SecurityConfig;

    fn allows(list: &[&str], address: &str) -> bool {
        let entries = list
            .iter()
            .map(|text| AllowedEndpoint::parse(text).unwrap());
        let security = SecurityConfig {
            allowed_endpoints: entries.collect(),
            ..SecurityConfig::default()
        };
        security.allows(address.parse().unwrap())
    }

    #[test]
    fn only_what_is_listed_may_be_called() {
        for (list, address, allowed) in [
            (&["loopback"][..], "127.0.0.1", true),
            (&["loopback"], "127.8.8.8", true),
            (&["loopback"], "::1", true),
            (&["loopback"], "::ffff:127.0.0.1", true),
            (&["loopback"], "10.0.0.1", false),
            (&["10.0.0.0/8"], "10.200.3.4", true),
            (&["10.0.0.0/8"], "11.0.0.1", false),
            (&["10.0.0.0/8"], "::ffff:10.0.0.1", true),
            (&["10.0.0.0/8"], "::1", false),
            (&["192.168.1.7"], "192.168.1.7", true),
            (&["192.168.1.7"], "192.168.1.8", false),
            (&["fd12::/16"], "fd12:1::1", true),
            (&[], "127.0.0.1", false),
        ] {
            assert_eq!(allows(list, address), allowed, "{list:?} {address}");
        }
    }

    #[test]
    fn some_addresses_are_never_called() {
        for address in [
            "169.254.169.254",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "fe80::1",
            "fd00:ec2::254",
            "::",
            "::ffff:169.254.169.254",
        ] {
            assert!(!allows(&["0.0.0.0/0", "::/0"], address), "{address}");
        }
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for text in [
            "",
            "localhost",
            "10.0.0.0/33",
            "10.0.0/8",
            "::/129",
            "10.0.0.0/-1",
        ] {
            assert_eq!(AllowedEndpoint::parse(text), None, "{text}");
        }
    }
}
