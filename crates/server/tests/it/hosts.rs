//! Host and Origin: the table of names and pages, on the settings that a server has without any.

use server::identity::Mode;
use server::{Server, Settings};

use crate::world::{LOOPBACK, World};

const ORIGINS: [(&str, bool); 8] = [
    ("", true),
    ("Origin: SAME\r\n", true),
    ("Origin: null\r\n", false),
    ("Origin: http://evil.com\r\n", false),
    ("Origin: http://localhost.evil\r\n", false),
    ("Origin: http://localhost:9999\r\n", false),
    ("Origin: SAME\r\nOrigin: SAME\r\n", false),
    ("Origin: file://localhost:8080\r\n", false),
];

/// Asks for a protected and a public route under each Origin.
async fn check(target: &str, host_lines: &str, same: &str, host_status: u16) {
    let world = World::new(Mode::LocalOwner);
    for path in ["/open", "/things", "/nowhere"] {
        for (origin, allowed) in ORIGINS {
            let origin = origin.replace("SAME", same);
            let asked = format!("GET {target}{path} HTTP/1.1\r\n{host_lines}{origin}\r\n");
            let answer = world.ask_from(LOOPBACK, &asked).await;
            let good = if path == "/nowhere" { 404 } else { 200 };
            let expected = match (host_status, allowed) {
                (200, true) => good,
                (200, false) => 403,
                (refused, _) => refused,
            };
            assert_eq!(answer.status, expected, "{asked}{}", answer.body);
            if answer.status != 200 {
                answer.problem();
            }
        }
    }
}

#[tokio::test]
async fn loopback_names_are_ours_and_others_are_not() {
    let same = "http://localhost:8080";
    check("", "Host: localhost:8080\r\n", same, 200).await;
    check("", "Host: LocalHost:8080\r\n", same, 200).await;
    check("", "Host: 127.0.0.1\r\n", "http://127.0.0.1", 200).await;
    check("", "Host: [::1]\r\n", "http://[::1]", 200).await;
    check("", "Host: [::1]:8080\r\n", "http://[::1]:8080", 200).await;
    check("", "Host: evil.com\r\n", "http://evil.com", 421).await;
    check("", "Host: evil.com:8080\r\n", "http://evil.com:8080", 421).await;
    check("", "Host: localhost.evil.com\r\n", "http://localhost.evil.com", 421).await;
    check("", "Host: 127.0.0.1.evil.com\r\n", same, 421).await;
    check("", "Host: localhost.\r\n", same, 421).await;
    check("", "Host: 0.0.0.0:8080\r\n", "http://0.0.0.0:8080", 421).await;
    check("", "Host: 192.168.0.7\r\n", "http://192.168.0.7", 421).await;
}

#[tokio::test]
async fn a_host_that_is_missing_doubled_or_garbled_is_refused() {
    let same = "http://localhost:8080";
    check("", "", same, 400).await;
    check("", "Host: localhost:8080\r\nHost: localhost:8080\r\n", same, 400).await;
    check("", "Host: localhost:8080\r\nHost: evil.com\r\n", same, 400).await;
    check("", "Host: \r\n", same, 400).await;
    check("", "Host: localhost:99999\r\n", same, 400).await;
    check("", "Host: localhost:\r\n", same, 400).await;
    check("", "Host: user@localhost:8080\r\n", same, 400).await;
    check("", "Host: localhost/evil\r\n", same, 400).await;
    check("", "Host: local%68ost\r\n", same, 400).await;
}

#[tokio::test]
async fn an_address_in_the_request_line_must_be_that_of_the_host() {
    let same = "http://localhost:8080";
    check("http://localhost:8080", "Host: localhost:8080\r\n", same, 200).await;
    check("http://evil.com", "Host: localhost:8080\r\n", same, 400).await;
    check("http://localhost:8080", "Host: evil.com\r\n", same, 400).await;
    check("http://evil.com", "Host: evil.com\r\n", "http://evil.com", 421).await;
}

#[tokio::test]
async fn configured_names_and_pages_are_allowed_as_far_as_they_go() {
    let settings = || Settings {
        hosts: vec!["saem.example.com".to_owned(), "10.0.0.7:8080".to_owned()],
        origins: vec!["https://portal.example.com".to_owned()],
        ..Settings::default()
    };
    let cases = [
        ("Host: saem.example.com\r\n", 200),
        ("Host: saem.example.com:444\r\n", 200),
        ("Host: SAEM.example.com\r\nOrigin: https://saem.example.com\r\n", 200),
        ("Host: 10.0.0.7:8080\r\n", 200),
        ("Host: 10.0.0.7\r\n", 421),
        ("Host: 10.0.0.7:8081\r\n", 421),
        ("Host: saem.example.com\r\nOrigin: https://portal.example.com\r\n", 200),
        ("Host: saem.example.com\r\nOrigin: https://portal.example.com:443\r\n", 200),
        ("Host: saem.example.com\r\nOrigin: http://portal.example.com\r\n", 403),
        ("Host: saem.example.com\r\nOrigin: https://x.portal.example.com\r\n", 403),
    ];
    for (headers, status) in cases {
        let world = World::with(settings(), Mode::LocalOwner, vec![], |identity| identity);
        let answer = world.ask(&format!("GET /open HTTP/1.1\r\n{headers}\r\n")).await;
        assert_eq!(answer.status, status, "{headers}");
    }
}

#[tokio::test]
async fn a_setting_that_is_no_host_or_origin_is_told_at_once() {
    for (hosts, origins) in [(vec!["http://a".to_owned()], vec![]), (vec![], vec!["*".to_owned()])]
    {
        let settings = Settings { hosts, origins, ..Settings::default() };
        let world = World::new(Mode::LocalOwner);
        let parts = server::Parts {
            identity: server::identity::Identity::new(
                Mode::Required,
                world.keys.clone(),
                world.clock.clone(),
            ),
            metrics: world.metrics.clone(),
            ready: vec![],
        };
        let access = server::routes::Access::Public;
        let table = server::routes::Table::<()>::new(vec![], access).unwrap();
        assert!(Server::new(settings, parts, table, ()).is_err());
    }
}

#[tokio::test]
async fn every_answer_is_sealed() {
    let world = World::new(Mode::LocalOwner);
    for (path, headers) in
        [("/open", ""), ("/nowhere", ""), ("/panic", ""), ("/open", "Origin: null\r\n")]
    {
        let answer = world.get(path, headers).await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    }
}
