//! Says which IP addresses belong to the public internet, and which are somebody's inside.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// IPv4 networks that no public page lives in.
const BLOCKED_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),  // "this host": dials the own machine
    (Ipv4Addr::new(10, 0, 0, 0), 8), // private
    (Ipv4Addr::new(100, 64, 0, 0), 10), // carrier-grade NAT, and overlay networks
    (Ipv4Addr::new(127, 0, 0, 0), 8), // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16), // link-local, cloud metadata among it
    (Ipv4Addr::new(172, 16, 0, 0), 12), // private
    (Ipv4Addr::new(192, 0, 0, 0), 24), // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24), // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24), // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16), // private
    (Ipv4Addr::new(198, 18, 0, 0), 15), // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24), // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4), // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4), // reserved, broadcast among it
];

/// The only part of IPv6 that is handed out to the public internet: `::1`, `fc00::/7`, `fe80::/10`, `ff00::/8`
/// and all that is yet to be invented lie outside of it.
const PUBLIC_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What is not public inside of it.
const BLOCKED_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments, Teredo among it
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Addresses at which clouds hand out credentials to whoever asks from inside: no rule opens them.
const NEVER: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), // most clouds
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),   // AWS tasks
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),  // AWS pods
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),   // Azure; looks public
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), // Alibaba
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),     // Oracle
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), // AWS
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)), // AWS pods
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)), // Google
];

/// Whether the address is outside the public internet, the IPv4 address hidden in an IPv6 one included.
#[must_use]
pub fn is_blocked(address: IpAddr) -> bool {
    if is_never_allowed(address) {
        return true;
    }
    match address {
        IpAddr::V4(address) => is_blocked_v4(address),
        IpAddr::V6(address) => {
            embedded_v4(address).map_or_else(|| is_blocked_v6(address), is_blocked_v4)
        }
    }
}

/// Whether the address gives away credentials and stays closed under every rule.
#[must_use]
pub fn is_never_allowed(address: IpAddr) -> bool {
    let embedded = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => embedded_v4(address).map(IpAddr::V4),
    };
    NEVER.contains(&address) || embedded.is_some_and(|embedded| NEVER.contains(&embedded))
}

fn is_blocked_v4(address: Ipv4Addr) -> bool {
    BLOCKED_V4.iter().any(|(base, length)| same_v4(address, *base, *length))
}

fn is_blocked_v6(address: Ipv6Addr) -> bool {
    let (base, length) = PUBLIC_V6;
    !same_v6(address, base, length)
        || BLOCKED_V6.iter().any(|(base, length)| same_v6(address, *base, *length))
}

/// The IPv4 address that a packet to this IPv6 address ends up at: mapped, NAT64 and 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(joined(g, h)),
        [0x2002, ..] => Some(joined(b, c)),
        _ => None,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))
}

/// A network such as `10.0.0.0/8` or `fd12::/16`; a bare address is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    length: u8,
}

/// Why a text is not a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a network: write it like 10.0.0.0/8, fd12::/16 or 127.0.0.1")]
pub struct NotANetwork;

impl Network {
    /// Whether the address is inside; an IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is the IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (address.to_canonical(), self.base) {
            (IpAddr::V4(address), IpAddr::V4(base)) => same_v4(address, base, self.length),
            (IpAddr::V6(address), IpAddr::V6(base)) => same_v6(address, base, self.length),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (base, length) = match text.split_once('/') {
            Some((base, length)) => (base, Some(length)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| NotANetwork)?;
        let length_max = if base.is_ipv4() { 32 } else { 128 };
        let length = match length {
            Some(length) => length.parse().map_err(|_| NotANetwork)?,
            None => length_max,
        };
        if length > length_max {
            return Err(NotANetwork);
        }
        Ok(Self { base, length })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.base, self.length)
    }
}

// A shift by the whole width overflows, which is how the networks of length 0 hold everything.
fn same_v4(address: Ipv4Addr, base: Ipv4Addr, length: u8) -> bool {
    let different = address.to_bits() ^ base.to_bits();
    different.checked_shr(32_u32.saturating_sub(length.into())).unwrap_or(0) == 0
}

fn same_v6(address: Ipv6Addr, base: Ipv6Addr, length: u8) -> bool {
    let different = address.to_bits() ^ base.to_bits();
    different.checked_shr(128_u32.saturating_sub(length.into())).unwrap_or(0) == 0
}
