//! The addresses that agents may have (ruling 28).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

/// One entry of the list of addresses that agents may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedEndpoint {
    /// This machine.
    Loopback,
    /// All addresses that the whole Internet may reach.
    Public,
    /// All addresses with the same prefix.
    Network {
        /// The address that holds the prefix.
        address: IpAddr,
        /// The length of the prefix.
        bits: u8,
    },
}

impl AllowedEndpoint {
    /// Whether this entry includes an address.
    pub fn holds(self, asked: IpAddr) -> bool {
        match self {
            Self::Loopback => asked.is_loopback(),
            Self::Public => is_public(asked),
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

    /// The network of all addresses with this prefix; the other bits are set to zero.
    pub fn network(address: IpAddr, bits: u8) -> Self {
        let off = |width: u8| u32::from(width.saturating_sub(bits));
        let address = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(off(32)).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(off(128)).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        };
        Self::Network { address, bits }
    }

    /// Converts an IPv4-mapped IPv6 network to IPv4, the form in which addresses are compared.
    fn canonical(address: IpAddr, bits: u8) -> Self {
        let mapped = address.is_ipv6() && address.to_canonical().is_ipv4();
        match bits.checked_sub(MAPPED).filter(|_| mapped) {
            Some(bits) => Self::Network {
                address: address.to_canonical(),
                bits,
            },
            None => Self::Network { address, bits },
        }
    }

    /// A single address.
    pub fn address(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Self::Network { address, bits }
    }

    /// Parses an entry; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "loopback" => return Some(Self::Loopback),
            "public" => return Some(Self::Public),
            _ => {}
        }
        let (address, bits) = text
            .split_once('/')
            .map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        (bits <= most).then(|| Self::canonical(address, bits))
    }
}

/// The prefix length of IPv4-mapped IPv6 addresses.
const MAPPED: u8 = 96;

/// Metadata services of cloud providers outside the link-local addresses.
const CLOUDS: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Addresses that are never allowed, whatever the list says: unspecified, multicast, broadcast and
/// link-local addresses, and the metadata services of cloud providers, which reveal secrets.
pub(crate) fn never(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.octets()[0] == 0
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_link_local()
                || CLOUDS.contains(&address)
        }
        IpAddr::V6(address) => {
            address.is_unspecified()
                || address.is_multicast()
                || address.is_unicast_link_local()
                || matches!(address.segments()[..2], [0xfd00, 0x0ec2] | [0xfd20, 0x00ce])
                || translated(address).is_some_and(|address| never(address.into()))
        }
    }
}

/// Whether the whole Internet may reach an address: what is left when the special networks of the
/// IANA registries are taken away, and those that lead to another address inside (6to4, Teredo).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            !matches!(
                (first, second, third),
                (0 | 10 | 127 | 224.., ..)
                    | (100, 64..=127, _)
                    | (169, 254, _)
                    | (172, 16..=31, _)
                    | (192, 168, _)
                    | (192, 0, 0 | 2)
                    | (192, 88, 99)
                    | (198, 18 | 19, _)
                    | (198, 51, 100)
                    | (203, 0, 113)
            )
        }
        IpAddr::V6(address) => match address.segments() {
            [0x2001, ..0x0200 | 0x0db8, ..] | [0x2002, ..] | [0x3fff, ..0x1000, ..] => false,
            [first, ..] => first & 0xe000 == 0x2000,
        },
    }
}

/// The IPv4 address inside a NAT64 address (RFC 6052).
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first, second, 0, 0, 0, 0, high, low] = address.segments() else {
        return None;
    };
    let bits = u32::from(high) << 16 | u32::from(low);
    ([first, second] == [0x64, 0xff9b]).then(|| Ipv4Addr::from_bits(bits))
}

impl fmt::Display for AllowedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("loopback"),
            Self::Public => f.write_str("public"),
            Self::Network { address, bits } => match (address, bits) {
                (IpAddr::V4(_), 32) | (IpAddr::V6(_), 128) => write!(f, "{address}"),
                _ => write!(f, "{address}/{bits}"),
            },
        }
    }
}

impl Serialize for AllowedEndpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AllowedEndpoint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from).ok();
        text.and_then(|text| Self::parse(&text)).ok_or_else(|| {
            D::Error::custom("`loopback`, `public`, an address, or a network such as `10.0.0.0/8`")
        })
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
    fn only_listed_addresses_may_be_called() {
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
            (&["::ffff:192.168.1.7"], "192.168.1.7", true),
            (&["::ffff:10.0.0.0/104"], "10.200.3.4", true),
            (&["::ffff:10.0.0.0/104"], "11.0.0.1", false),
            (&["::/0"], "10.0.0.1", false),
            (&[], "127.0.0.1", false),
        ] {
            assert_eq!(allows(list, address), allowed, "{list:?} {address}");
        }
    }

    #[test]
    fn public_addresses_are_those_of_the_internet() {
        let public = "1.1.1.1 9.9.9.9 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 \
            198.20.0.1 223.255.255.254 ::ffff:9.9.9.9 2620:fe::9 2001:200::1 2a00:1450::1 \
            3fff:1000::1";
        for public in public.split_whitespace() {
            assert!(allows(&["public"], public), "{public}");
            assert!(!allows(&["loopback"], public), "{public}");
        }
        let other = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 168.63.129.16 \
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 \
            198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 \
            255.255.255.255 :: ::1 ::7f00:1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 64:ff9b::9.9.9.9 \
            64:ff9b:1::9.9.9.9 100::1 2001::1 2001:2::1 2001:1ff::1 2001:db8::1 2002:0a00:1::1 \
            3fff::1 3fff:fff::1 4000::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1";
        for other in other.split_whitespace() {
            assert!(!allows(&["public"], other), "{other}");
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
            "fd20:ce::254",
            "100.100.100.200",
            "168.63.129.16",
            "0.1.2.3",
            "64:ff9b::169.254.169.254",
            "::",
            "::ffff:169.254.169.254",
        ] {
            assert!(!allows(&["0.0.0.0/0", "::/0"], address), "{address}");
        }
    }

    #[test]
    fn entry_is_shown_as_it_is_written() {
        for text in [
            "loopback",
            "public",
            "192.168.1.7",
            "10.0.0.0/8",
            "::1",
            "fd12::/16",
        ] {
            assert_eq!(AllowedEndpoint::parse(text).unwrap().to_string(), text);
        }
        for (address, bits, network) in [
            ("192.168.1.7", 24, "192.168.1.0/24"),
            ("192.168.1.7", 0, "0.0.0.0/0"),
            ("192.168.1.7", 32, "192.168.1.7"),
            ("fd12::7", 64, "fd12::/64"),
        ] {
            let made = AllowedEndpoint::network(address.parse().unwrap(), bits);
            assert_eq!(made.to_string(), network);
        }
    }

    #[test]
    fn malformed_entry_is_refused() {
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
