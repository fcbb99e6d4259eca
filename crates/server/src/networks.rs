//! Which networks may reach which paths: what comes from elsewhere finds nothing there.

use std::net::IpAddr;
use std::str::FromStr;

/// Addresses whose first bits are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u32,
}

/// A rule: paths that begin so are there for these networks alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathNetworks {
    start: String,
    networks: Vec<Network>,
}

/// A rule that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no rule such as /a2a=10.1.0.0/16 or \"/a2a=10.1.0.0/16 127.0.0.1\"")]
pub struct PathNetworksError(String);

impl FromStr for PathNetworks {
    type Err = PathNetworksError;

    fn from_str(text: &str) -> Result<Self, PathNetworksError> {
        let wrong = || PathNetworksError(text.chars().take(100).collect());
        let (start, networks) = text.split_once('=').ok_or_else(wrong)?;
        let networks: Option<Vec<Network>> = networks.split_whitespace().map(network).collect();
        let fits = |networks: &Vec<Network>| start.starts_with('/') && !networks.is_empty();
        let networks = networks.filter(fits).ok_or_else(wrong)?;
        Ok(Self { start: start.to_owned(), networks })
    }
}

fn network(text: &str) -> Option<Network> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address.parse::<IpAddr>().ok()?, Some(bits.parse().ok()?)),
        None => (text.parse().ok()?, None),
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    (bits <= most).then_some(Network { address, bits })
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        let same = |own: u128, other: u128, length: u32| {
            let cut = length - self.bits;
            // All bits are cut off where none counts.
            own.checked_shr(cut).unwrap_or(0) == other.checked_shr(cut).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                same(u32::from(own).into(), u32::from(other).into(), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => same(own.into(), other.into(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Whether a path is there for whoever is at this address: the rule with the longest beginning counts.
pub(crate) fn admits(rules: &[PathNetworks], path: &str, peer: IpAddr) -> bool {
    let peer = peer.to_canonical();
    let fitting = rules.iter().filter(|rule| is_below(path, &rule.start));
    let rule = fitting.max_by_key(|rule| rule.start.len());
    rule.is_none_or(|rule| rule.networks.iter().any(|network| network.contains(peer)))
}

/// Whether a path is the other, or below it: `/a2a` says nothing of `/a2ab`.
fn is_below(path: &str, start: &str) -> bool {
    let rest = path.strip_prefix(start.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &[&str], path: &str, peer: &str, admitted: bool) {
        let rules: Vec<PathNetworks> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        assert_eq!(admits(&rules, path, peer.parse().unwrap()), admitted, "{path} {peer}");
    }

    #[test]
    fn a_path_is_there_for_its_networks_alone() {
        let rules = ["/=10.0.0.0/8 ::1", "/a2a=10.1.0.0/16", "/health=0.0.0.0/0 ::/0"];
        check(&[], "/", "8.8.8.8", true);
        check(&rules, "/api/search", "10.9.9.9", true);
        check(&rules, "/api/search", "11.0.0.1", false);
        check(&rules, "/api/search", "::1", true);
        check(&rules, "/a2a", "10.1.2.3", true);
        check(&rules, "/a2a/tasks", "10.2.0.1", false);
        check(&rules, "/a2ab", "10.2.0.1", true);
        check(&rules, "/health/live", "8.8.8.8", true);
        check(&rules, "/health/live", "2001:db8::1", true);
        check(&rules, "/a2a", "::ffff:10.1.2.3", true);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "/a2a", "a2a=10.0.0.0/8", "/=10.0.0.0/33", "/=x", "/=", "/=10.0.0.0/8,::1"]
        {
            assert!(text.parse::<PathNetworks>().is_err(), "{text}");
        }
    }
}
