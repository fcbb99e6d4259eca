//! Tests of which addresses are inside: the whole table of networks, and every way of hiding one.

use std::net::IpAddr;

use super::{Network, NotANetwork, is_blocked, is_never_allowed};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn network(text: &str) -> Network {
    text.parse().unwrap()
}

#[test]
fn every_inside_network_is_blocked_from_its_first_address_to_its_last() {
    for (first, last) in [
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("127.0.0.0", "127.255.255.255"),
        ("169.254.0.0", "169.254.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "255.255.255.255"),
        ("::", "::ffff:0:0"),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
        ("100::", "100::ffff:ffff:ffff:ffff"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        assert!(is_blocked(ip(first)), "{first}");
        assert!(is_blocked(ip(last)), "{last}");
    }
}

#[test]
fn the_neighbours_of_inside_networks_are_public() {
    for public in [
        "1.0.0.0",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::1",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2606:4700:4700::1111",
        "2a00:1450::1",
        "3ffe:ffff::",
    ] {
        assert!(!is_blocked(ip(public)), "{public}");
    }
}

#[test]
fn an_ipv4_address_hidden_in_an_ipv6_one_is_checked() {
    for (hidden, expected) in [
        ("::ffff:127.0.0.1", true),
        ("::ffff:169.254.169.254", true),
        ("::ffff:8.8.8.8", false),
        ("64:ff9b::7f00:1", true),
        ("64:ff9b::10.1.2.3", true),
        ("64:ff9b::8.8.8.8", false),
        ("2002:7f00:1::", true),
        ("2002:c0a8:101::1", true),
        ("2002:808:808::1", false),
        ("::127.0.0.1", true),
        ("::8.8.8.8", true),
        ("::ffff:0:127.0.0.1", true),
    ] {
        assert_eq!(is_blocked(ip(hidden)), expected, "{hidden}");
    }
}

#[test]
fn an_address_that_hands_out_credentials_is_never_allowed_in_any_form() {
    for metadata in [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "168.63.129.16",
        "fd00:ec2::254",
    ] {
        assert!(is_never_allowed(ip(metadata)), "{metadata}");
        assert!(is_blocked(ip(metadata)), "{metadata}");
    }
    assert!(!is_never_allowed(ip("169.254.169.253")));
    assert!(!is_never_allowed(ip("127.0.0.1")));
}

#[test]
fn a_network_holds_its_own_addresses_and_no_others() {
    for (text, address, expected) in [
        ("10.1.0.0/16", "10.1.255.255", true),
        ("10.1.0.0/16", "10.2.0.0", false),
        ("10.1.2.3/16", "10.1.0.0", true),
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "127.0.0.2", false),
        ("127.0.0.1", "::ffff:127.0.0.1", true),
        ("127.0.0.0/8", "64:ff9b::7f00:1", false),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "::1", false),
        ("::/0", "fe80::1", true),
        ("::/0", "10.0.0.1", false),
        ("fd12::/16", "fd12:ffff::1", true),
        ("fd12::/16", "fd13::1", false),
        ("::1", "::1", true),
        ("::1", "::2", false),
    ] {
        assert_eq!(network(text).contains(ip(address)), expected, "{address} in {text}");
    }
}

#[test]
fn a_network_is_written_with_a_length_that_fits_its_family() {
    for wrong in
        ["", "10", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/", "a/8", "1.2.3.4/8/8"]
    {
        assert_eq!(wrong.parse::<Network>(), Err(NotANetwork), "{wrong}");
    }
    assert_eq!(network("10.0.0.0/8").to_string(), "10.0.0.0/8");
    assert_eq!(network("::1").to_string(), "::1/128");
}
