//! Tests of the egress guard, against servers on loopback that try to lead it inside.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::Method;
use reqwest::dns::Resolve as _;
use reqwest::header::{HeaderMap, HeaderValue};

use super::{
    ADDRESS_BYTES_MAX, CheckedNames, EgressError, EgressGuard, EgressRules, Limits, Refusal, Reply,
    Resolver,
};
use crate::loopback::{Answer, Server, ok, redirect_to, with_headers};

/// Stands for the public internet in tests, where nothing but the own machine is dialled.
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));

/// Stands for the inside.
const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// A resolver that knows a few names and gives each answer once, the last one for ever.
#[derive(Default)]
struct Names {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    questions: AtomicUsize,
}

impl Names {
    fn of(names: &[(&str, &[&[IpAddr]])]) -> Arc<Self> {
        let answers = names
            .iter()
            .map(|(name, turns)| {
                ((*name).to_owned(), turns.iter().map(|turn| turn.to_vec()).collect())
            })
            .collect();
        Arc::new(Self { answers: Mutex::new(answers), questions: AtomicUsize::new(0) })
    }
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            self.questions.fetch_add(1, Ordering::SeqCst);
            let mut answers = self.answers.lock().unwrap();
            let turns = answers.get_mut(name).ok_or_else(|| io::Error::other("no such name"))?;
            Ok(if turns.len() > 1 { turns.pop_front().unwrap() } else { turns[0].clone() })
        })
    }
}

/// Rules under which 127.0.0.1 is public and everything else of the machine is inside.
fn rules(ports: &[u16]) -> EgressRules {
    EgressRules {
        allow_private: vec!["127.0.0.1".parse().unwrap()],
        ports: ports.to_vec(),
        ..EgressRules::default()
    }
}

fn guard(rules: EgressRules) -> EgressGuard {
    EgressGuard::with_resolver(rules, Names::of(&[]))
}

async fn get(guard: &EgressGuard, address: &str) -> Result<Reply, EgressError> {
    guard.get(address, &HeaderMap::new(), &Limits::default()).await
}

async fn refusal(guard: &EgressGuard, address: &str) -> Refusal {
    match get(guard, address).await {
        Err(EgressError::Refused { why, .. }) => why,
        other => panic!("{address} should be refused, but: {other:?}"),
    }
}

#[tokio::test]
async fn no_way_of_writing_an_inside_address_reaches_it() {
    let canary = Server::canary(PUBLIC, 0).await;
    let port = canary.port();
    let local: &[IpAddr] = &[PUBLIC];
    let names = Names::of(&[
        ("localhost", &[local]),
        ("localhost.", &[local]),
        ("sub.localhost", &[local]),
        ("alias.example", &[local]),
    ]);
    let closed = EgressRules { ports: vec![port], ..EgressRules::default() };
    let closed = EgressGuard::with_resolver(closed, names);
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0x0.0x0.0x1",
        "017700000001",
        "0177.0.0.01",
        "2130706433",
        "①②⑦.⓪.⓪.①",
        "１２７。０。０。１",
        "%31%32%37.0.0.1",
        "127%2e0%2e0%2e1",
        "0",
        "0.0.0.0",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "sub.localhost",
        "alias.example",
    ] {
        for address in [format!("http://{host}:{port}/"), format!("http:\\\\{host}:{port}\\")] {
            assert_eq!(refusal(&closed, &address).await, Refusal::Inside, "{address}");
        }
    }
    assert_eq!(canary.connections(), 0);
}

/// Checked without dialling: a guard that is broken must not make its tests reach for somebody's network.
fn refusal_unopened(guard: &EgressGuard, address: &str) -> Refusal {
    match guard.check(address) {
        Err(EgressError::Refused { why, .. }) => why,
        other => panic!("{address} should be refused, but: {other:?}"),
    }
}

#[test]
fn inside_addresses_of_other_machines_are_refused() {
    let guard = guard(EgressRules::default());
    for host in [
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.0.1",
        "255.255.255.255",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[fc00::1]",
        "[ff02::1]",
    ] {
        for address in [format!("http://{host}/"), format!("http:\\\\{host}\\")] {
            assert_eq!(refusal_unopened(&guard, &address), Refusal::Inside, "{address}");
        }
    }
    guard.check("https://example.org/page").unwrap();
    guard.check("https://8.8.8.8/").unwrap();
}

#[tokio::test]
async fn the_same_spellings_reach_the_server_once_its_network_is_allowed() {
    let server = Server::start(|_| ok("text/plain", b"here")).await;
    let port = server.port();
    let guard = guard(rules(&[port]));
    let hosts = ["127.0.0.1", "127.0.0.1.", "0x7f.1", "017700000001", "2130706433", "①②⑦.⓪.⓪.①"];
    for host in hosts {
        let reply = get(&guard, &format!("http://{host}:{port}/")).await.unwrap();
        assert_eq!(reply.bytes, b"here", "{host}");
    }
    assert_eq!(server.connections(), hosts.len());
}

#[tokio::test]
async fn only_plain_web_addresses_are_opened() {
    let canary = Server::canary(PUBLIC, 0).await;
    let port = canary.port();
    let guard = guard(rules(&[port]));
    for (address, why) in [
        ("file:///etc/passwd".to_owned(), Refusal::Scheme),
        (format!("file://127.0.0.1:{port}/x"), Refusal::NotAnAddress),
        (format!("gopher://127.0.0.1:{port}/_x"), Refusal::Scheme),
        (format!("ftp://127.0.0.1:{port}/x"), Refusal::Scheme),
        (format!("ws://127.0.0.1:{port}/x"), Refusal::Scheme),
        ("unix:/run/x.sock".to_owned(), Refusal::Scheme),
        ("javascript:alert(1)".to_owned(), Refusal::Scheme),
        ("java\nscript:alert(1)".to_owned(), Refusal::Scheme),
        ("data:text/html,hi".to_owned(), Refusal::Scheme),
        ("about:blank".to_owned(), Refusal::Scheme),
        (format!("http://mina@127.0.0.1:{port}/"), Refusal::Credentials),
        (format!("http://mina:pass@127.0.0.1:{port}/"), Refusal::Credentials),
        (format!("http://:pass@127.0.0.1:{port}/"), Refusal::Credentials),
        (format!("http://example.org%2f@127.0.0.1:{port}/"), Refusal::Credentials),
        ("http://127.0.0.1:22/".to_owned(), Refusal::Port),
        ("http://127.0.0.1:0/".to_owned(), Refusal::Port),
        ("https://127.0.0.1:6379/".to_owned(), Refusal::Port),
        (String::new(), Refusal::NotAnAddress),
        ("example.org".to_owned(), Refusal::NotAnAddress),
        ("/etc/passwd".to_owned(), Refusal::NotAnAddress),
        ("//127.0.0.1/".to_owned(), Refusal::NotAnAddress),
        ("http://".to_owned(), Refusal::NotAnAddress),
        ("http://exa mple.org/".to_owned(), Refusal::NotAnAddress),
        ("http://1.2.3.256/".to_owned(), Refusal::NotAnAddress),
        ("http://[::1/".to_owned(), Refusal::NotAnAddress),
        ("http://[fe80::1%25eth0]/".to_owned(), Refusal::NotAnAddress),
        (format!("http://127.0.0.1:{port}/{}", "a".repeat(ADDRESS_BYTES_MAX)), Refusal::TooLong),
    ] {
        assert_eq!(refusal(&guard, &address).await, why, "{address}");
        assert!(guard.check(&address).is_err(), "{address}");
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn plain_http_is_refused_where_only_https_is_wanted() {
    let canary = Server::canary(PUBLIC, 0).await;
    let guard = guard(EgressRules { https_only: true, ..rules(&[canary.port()]) });
    assert_eq!(refusal(&guard, &canary.url("/")).await, Refusal::PlainHttp);
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn no_rule_opens_an_address_that_hands_out_credentials() {
    let everything = EgressRules {
        allow_private: vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()],
        ..EgressRules::default()
    };
    let guard = guard(everything.clone());
    guard.check("http://10.0.0.1/").unwrap();
    for address in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://2852039166/",
    ] {
        assert_eq!(refusal_unopened(&guard, address), Refusal::Inside, "{address}");
    }
    let metadata: &[IpAddr] = &[IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))];
    let resolver = Names::of(&[("metadata.example", &[metadata])]);
    let names = CheckedNames { rules: Arc::new(everything), resolver };
    let refused = names.resolve("metadata.example".parse().unwrap()).await.err().unwrap();
    assert_eq!(refused.downcast_ref(), Some(&Refusal::Inside));
}

#[tokio::test]
async fn a_name_that_turns_inward_after_its_first_use_is_refused() {
    // Left open, so that a second request would go over the first connection if it were kept.
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npublic";
    let server = Server::start(|_| Answer::ThenSilence(answer.to_vec())).await;
    let port = server.port();
    let canary = Server::canary(INSIDE, port).await;
    let names = Names::of(&[("rebinding.example", &[&[PUBLIC], &[INSIDE]])]);
    let guard = EgressGuard::with_resolver(rules(&[port]), Arc::clone(&names) as Arc<dyn Resolver>);
    let address = format!("http://rebinding.example:{port}/");
    assert_eq!(get(&guard, &address).await.unwrap().bytes, b"public");
    // Asked once: nothing can change between the check and the dialling.
    assert_eq!(names.questions.load(Ordering::SeqCst), 1);
    assert_eq!(refusal(&guard, &address).await, Refusal::Inside);
    assert_eq!((server.connections(), canary.connections()), (1, 0));
}

#[tokio::test]
async fn one_inside_address_among_the_answers_refuses_them_all() {
    let server = Server::start(|_| ok("text/plain", b"public")).await;
    let port = server.port();
    let canary = Server::canary(INSIDE, port).await;
    let six: IpAddr = "::1".parse().unwrap();
    let hidden: IpAddr = "::ffff:127.0.0.2".parse().unwrap();
    let names = Names::of(&[
        ("first.example", &[&[INSIDE, PUBLIC]]),
        ("last.example", &[&[PUBLIC, PUBLIC, INSIDE]]),
        ("six.example", &[&[six]]),
        ("hidden.example", &[&[PUBLIC, hidden]]),
    ]);
    let guard = EgressGuard::with_resolver(rules(&[port]), names);
    for name in ["first", "last", "six", "hidden"] {
        let address = format!("http://{name}.example:{port}/");
        assert_eq!(refusal(&guard, &address).await, Refusal::Inside, "{name}");
    }
    assert_eq!((server.connections(), canary.connections()), (0, 0));
}

#[tokio::test]
async fn a_name_without_an_address_is_not_known() {
    let names = Names::of(&[("empty.example", &[&[]])]);
    let guard = EgressGuard::with_resolver(rules(&[]), names);
    for address in ["http://empty.example/?q=s3cret", "http://nowhere.example/?q=s3cret"] {
        let error = get(&guard, address).await.unwrap_err();
        assert!(matches!(error, EgressError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("its name is not known"), "{error}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
}

#[tokio::test]
async fn a_redirect_into_the_inside_is_refused() {
    let inside = Server::canary(INSIDE, 0).await;
    let port = inside.port();
    for (location, why) in [
        (inside.url("/"), Refusal::Inside),
        (format!("//127.0.0.2:{port}/"), Refusal::Inside),
        (format!("http://inside.example:{port}/"), Refusal::Inside),
        ("file:///etc/passwd".to_owned(), Refusal::Scheme),
        ("javascript:alert(1)".to_owned(), Refusal::Scheme),
        ("http://mina:pass@127.0.0.1/".to_owned(), Refusal::Credentials),
        ("http://127.0.0.1:22/".to_owned(), Refusal::Port),
        ("http://[".to_owned(), Refusal::Location),
    ] {
        let target = location.clone();
        let server = Server::start(move |_| redirect_to(&target)).await;
        let names = Names::of(&[("inside.example", &[&[INSIDE]])]);
        let guard = EgressGuard::with_resolver(rules(&[server.port(), port]), names);
        assert_eq!(refusal(&guard, &server.url("/")).await, why, "{location}");
        assert_eq!(server.connections(), 1);
    }
    assert_eq!(inside.connections(), 0);
}

#[test]
fn a_redirect_to_metadata_or_from_https_to_plain_http_is_refused() {
    let guard = guard(rules(&[]));
    let plain = "http://127.0.0.1/a".parse().unwrap();
    let error = guard.next(&plain, b"http://169.254.169.254/latest/").unwrap_err();
    assert!(matches!(error, EgressError::Refused { why: Refusal::Inside, .. }), "{error:?}");
    let from = "https://127.0.0.1/a".parse().unwrap();
    let error = guard.next(&from, b"http://127.0.0.1/b").unwrap_err();
    assert!(matches!(error, EgressError::Refused { why: Refusal::Downgrade, .. }), "{error:?}");
    assert_eq!(guard.next(&from, b"b").unwrap().as_str(), "https://127.0.0.1/b");
}

/// `/3` redirects to `/2`, and so on; `/0` is the page.
async fn stairs() -> Server {
    Server::start(|head| match head.split(' ').nth(1).unwrap().trim_matches('/').parse() {
        Ok(0) => ok("text/plain", b"down"),
        Ok(step) => redirect_to(&format!("{}", step - 1)),
        Err(_) => with_headers("404 Not Found", &[], b""),
    } as Answer)
    .await
}

#[tokio::test]
async fn three_redirects_are_followed_and_the_fourth_is_not() {
    let server = stairs().await;
    let guard = guard(rules(&[server.port()]));
    let reply = get(&guard, &server.url("/3#top")).await.unwrap();
    assert_eq!((reply.bytes.as_slice(), reply.address), (&b"down"[..], server.url("/0")));
    assert_eq!(server.connections(), 4);
    assert_eq!(refusal(&guard, &server.url("/4")).await, Refusal::Redirects { redirects_max: 3 });
    assert_eq!(server.connections(), 8);
}

#[tokio::test]
async fn secrets_for_the_first_address_do_not_travel_on() {
    let server = stairs().await;
    let guard = guard(rules(&[server.port()]));
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", "Bearer s3cret"),
        ("cookie", "session=s3cret"),
        ("x-api-key", "s3cret"),
        ("accept", "application/json"),
        ("host", "inside.example"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    guard.get(&server.url("/1"), &headers, &Limits::default()).await.unwrap();
    let heads = server.heads();
    assert_eq!(heads.len(), 2);
    assert_eq!(heads[0].matches("s3cret").count(), 3, "{}", heads[0]);
    assert_eq!(heads[1].matches("s3cret").count(), 0, "{}", heads[1]);
    for head in heads {
        assert!(head.contains("accept: application/json"), "{head}");
        assert!(!head.contains("inside.example"), "{head}");
        assert!(head.contains("user-agent: saem/"), "{head}");
    }
}

#[tokio::test]
async fn what_is_posted_follows_no_redirect() {
    let server = stairs().await;
    let guard = guard(rules(&[server.port()]));
    let body = Bytes::from_static(b"{}");
    let (headers, limits) = (HeaderMap::new(), Limits::default());
    let (last, first) = (server.url("/0"), server.url("/1"));
    let post = |address| guard.post(address, &headers, body.clone(), &limits);
    assert_eq!(post(&last).await.unwrap().status, 200);
    let error = post(&first).await.unwrap_err();
    assert!(matches!(error, EgressError::Refused { .. }), "{error:?}");
    let heads = server.heads();
    assert_eq!(heads.len(), 2);
    assert!(heads[0].starts_with("post /0"), "{}", heads[0]);
    assert!(heads[0].contains("content-length: 2"), "{}", heads[0]);
}

fn small() -> Limits {
    Limits { bytes_max: 1_000_000, ..Limits::default() }
}

async fn check_size(server: &Server, fits: bool) {
    let guard = guard(rules(&[server.port()]));
    match guard.get(&server.url("/big?token=s3cret"), &HeaderMap::new(), &small()).await {
        Ok(reply) => assert!(fits && reply.bytes.len() == 1_000_000, "{}", reply.bytes.len()),
        Err(EgressError::TooLarge { address, bytes_max: 1_000_000 }) => {
            assert!(!fits && address == server.url("/big"), "{address}");
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_taken_and_one_byte_more_is_not() {
    for (length, fits) in [(1_000_000, true), (1_000_001, false)] {
        let server = Server::start(move |_| ok("text/plain", &vec![b'x'; length])).await;
        check_size(&server, fits).await;
        let server = Server::start(move |_| {
            let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            Answer::Bytes([&head[..], &vec![b'x'; length]].concat())
        })
        .await;
        check_size(&server, fits).await;
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let head = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let server = Server::start(|_| Answer::ThenEndless(head.to_vec())).await;
    check_size(&server, false).await;
}

#[tokio::test]
async fn an_announced_body_that_is_too_large_is_not_waited_for() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000001\r\n\r\n";
    let server = Server::start(|_| Answer::ThenSilence(head.to_vec())).await;
    check_size(&server, false).await;
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn bytes_are_counted_after_decompression() {
    for (length, fits) in [(1_000_000, true), (10_000_000, false)] {
        let packed = gzip(&vec![0; length]);
        assert!(packed.len() < 100_000, "the bomb is small: {}", packed.len());
        let server = Server::start(move |_| {
            with_headers("200 OK", &[("Content-Encoding", "gzip")], &packed)
        })
        .await;
        check_size(&server, fits).await;
    }
}

#[tokio::test]
async fn a_server_that_is_silent_is_not_waited_for() {
    for beginning in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"]
    {
        let server = Server::start(|_| Answer::ThenSilence(beginning.as_bytes().to_vec())).await;
        let guard = guard(rules(&[server.port()]));
        let hurry = Limits { total_time_max: Duration::from_millis(60), ..Limits::default() };
        let address = server.url("/?token=s3cret");
        let error = guard.get(&address, &HeaderMap::new(), &hurry).await.unwrap_err();
        assert!(matches!(error, EgressError::Slow { .. }), "{error:?}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}

#[tokio::test]
async fn a_call_may_ask_for_less_than_the_rules_give_but_not_for_more() {
    let server = Server::start(|_| ok("text/plain", b"four")).await;
    let few = EgressRules {
        limits: Limits { bytes_max: 3, ..Limits::default() },
        ..rules(&[server.port()])
    };
    let error = get(&guard(few), &server.url("/")).await.unwrap_err();
    assert!(matches!(error, EgressError::TooLarge { bytes_max: 3, .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error() {
    for bytes in ["", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
        let server = Server::start(|_| Answer::Bytes(bytes.as_bytes().to_vec())).await;
        let guard = guard(rules(&[server.port()]));
        let error = get(&guard, &server.url("/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Unreachable { .. }), "{bytes:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_cannot_be_reached_by_https() {
    let server = Server::start(|_| ok("text/plain", b"plain")).await;
    let port = server.port();
    let error =
        get(&guard(rules(&[port])), &format!("https://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(matches!(error, EgressError::Unreachable { .. }), "{error:?}");
    assert!(server.heads().is_empty());
}

#[test]
fn a_machine_without_certificates_can_still_make_a_client() {
    guard(rules(&[])).clients.builder().tls_certs_only([]).build().unwrap();
}

#[test]
fn messages_keep_the_secrets_of_an_address_to_themselves() {
    let guard = guard(rules(&[]));
    for (address, message) in [
        (
            "http://10.0.0.1/a/b?key=s3cret#s3cret",
            "http://10.0.0.1/a/b may not be opened: it leads into a private or reserved network; \
             if that is meant, have the network added to the egress rules",
        ),
        (
            "https://s3cret:s3cret@example.org/a?s3cret",
            "https://example.org/a may not be opened: it holds a user name or password; \
             remove the part before the @",
        ),
        (
            "data:text/plain,s3cret",
            "a data: address may not be opened: only http and https addresses are opened",
        ),
        (
            "s3cret",
            "the address may not be opened: it is not a web address; \
             write it like https://example.org/page",
        ),
    ] {
        let error = guard.check(address).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[tokio::test]
async fn an_opened_answer_is_checked_like_any_other_and_follows_no_redirect() {
    let server = Server::start(|head| {
        if head.starts_with("get /away") {
            redirect_to("http://127.0.0.2/")
        } else {
            Answer::ThenSilence(b"HTTP/1.1 200 OK\r\n\r\nfirst".to_vec())
        }
    })
    .await;
    let guard = EgressGuard::new(rules(&[server.port()]));
    let patience = Duration::from_secs(20);
    let open = async |address: &str, wait_max| {
        guard.open((Method::GET, address), &HeaderMap::new(), Bytes::new(), wait_max).await
    };
    let mut opened = open(&server.url("/"), patience).await.unwrap();
    assert_eq!(opened.status(), 200);
    assert_eq!(opened.chunk().await.unwrap().unwrap(), "first", "before the end is there");
    let away = open(&server.url("/away"), patience).await.unwrap();
    assert_eq!(away.status(), 302);
    let inside = open("http://127.0.0.2/", patience).await;
    assert!(matches!(inside, Err(EgressError::Refused { why: Refusal::Inside, .. })), "{inside:?}");
    let silent = Server::start(|_| Answer::ThenSilence(Vec::new())).await;
    let guard = EgressGuard::new(rules(&[silent.port()]));
    let wait_max = Duration::from_millis(50);
    let address = silent.url("/");
    let none = HeaderMap::new();
    let slow = guard.open((Method::GET, &address), &none, Bytes::new(), wait_max);
    assert!(matches!(slow.await, Err(EgressError::Slow { .. })));
}
