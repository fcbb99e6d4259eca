//! Heads, bodies and connections that are too large, too slow or too many.

use std::sync::atomic::Ordering;
use std::time::Duration;

use server::Settings;
use server::identity::Mode;
use server::limits::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::world::{LOOPBACK, World, request};

fn whole_seconds(since: Instant) -> u64 {
    since.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_head_that_trickles_in_is_cut_off_after_ten_seconds() {
    for requests_before in [0, 1] {
        let world = World::new(Mode::LocalOwner);
        let mut connection = world.connect(LOOPBACK);
        for _ in 0..requests_before {
            connection.send(&request("GET", "/open", "", "")).await;
            connection.answer().await;
        }
        let start = Instant::now();
        connection.send("GET /open HTTP/1.1\r\nHost: localhost\r\n").await;
        let mut open_for = 0;
        // A byte now and then must not buy more time.
        for _ in 0..20 {
            if connection.0.write_all(b"x").await.is_err() {
                break;
            }
            open_for = whole_seconds(start);
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(connection.rest().await, "");
        assert!((8..=10).contains(&open_for), "{open_for} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_is_closed() {
    let world = World::new(Mode::LocalOwner);
    let start = Instant::now();
    assert_eq!(world.connect(LOOPBACK).rest().await, "");
    assert_eq!(whole_seconds(start), 10);
}

#[tokio::test(start_paused = true)]
async fn a_kept_alive_connection_rests_for_a_minute_and_its_next_head_has_ten_seconds() {
    let world = World::new(Mode::LocalOwner);
    let mut connection = world.connect(LOOPBACK);
    for rest in [0, 50] {
        tokio::time::sleep(Duration::from_secs(rest)).await;
        connection.send(&request("GET", "/open", "", "")).await;
        assert_eq!(connection.answer().await.body, "open");
    }
    let start = Instant::now();
    assert_eq!(connection.rest().await, "");
    assert_eq!(whole_seconds(start), 60);

    let mut connection = world.connect(LOOPBACK);
    connection.send(&request("GET", "/open", "", "")).await;
    connection.answer().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    connection.send("GET /open HTTP/1.1\r\n").await;
    let start = Instant::now();
    assert_eq!(connection.rest().await, "");
    assert_eq!(whole_seconds(start), 10);
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_take_longer_than_a_head() {
    let world = World::new(Mode::LocalOwner);
    let mut connection = world.connect(LOOPBACK);
    connection.send(&request("GET", "/wait", "", "")).await;
    world.app.waiting.notified().await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    world.app.bell.notify_one();
    assert_eq!(connection.answer().await.body, "rung");
    let start = Instant::now();
    assert_eq!(connection.rest().await, "");
    assert_eq!(whole_seconds(start), 60, "and rests as long as any other");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_pauses_or_trickles_is_given_up() {
    let world = World::new(Mode::LocalOwner);
    let head = "PUT /blob HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n";
    // It says nothing after the head; it brings 1 byte a second; it brings much, and then nothing.
    for (first, trickles) in [(0, false), (0, true), (80_000, false)] {
        let mut connection = world.connect(LOOPBACK);
        connection.send(head).await;
        connection.send(&"x".repeat(first)).await;
        let start = Instant::now();
        while trickles && whole_seconds(start) < 100 {
            if connection.0.write_all(b"x").await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.problem().as_str()), (408, "body_too_slow"));
        assert_eq!(answer.header("connection"), Some("close"));
        // One who trickles notices only when it is no longer heard out.
        assert!((30..=34).contains(&whole_seconds(start)), "{} s", whole_seconds(start));
    }
    let mut connection = world.connect(LOOPBACK);
    connection.send(head).await;
    for _ in 0..45 {
        connection.send(&"x".repeat(2000)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(connection.answer().await.status, 204, "2 kB a second is fast enough");
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_does_not_read_is_let_go() {
    let world = World::new(Mode::LocalOwner);
    let mut connection = world.connect(LOOPBACK);
    connection.send(&request("GET", "/flood", "", "")).await;
    let in_flight = || world.metrics.render().contains("http_requests_in_flight 1");
    while !in_flight() {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert!(in_flight());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!in_flight(), "it was let go after 30 s");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_it_is_read() {
    let world = World::new(Mode::LocalOwner);
    let put = |length: &str| format!("PUT /blob HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n");
    for length in ["Content-Length: 100001", "Content-Length: 9000000000000000000"] {
        let answer = world.ask(&put(length)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (413, "body_too_large"), "{length}");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    let expects = put("Content-Length: 100001\r\nExpect: 100-continue");
    assert_eq!(world.ask(&expects).await.status, 413, "and is not even asked for");

    let mut connection = world.connect(LOOPBACK);
    connection.send(&put("Transfer-Encoding: chunked")).await;
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    for _ in 0..8 {
        connection.send(&chunk).await;
    }
    let answer = connection.answer().await;
    assert_eq!((answer.status, answer.problem().as_str()), (413, "body_too_large"));
    assert_eq!(world.app.bytes_read.load(Ordering::Relaxed), 0, "it was cut off at the limit");

    let body = "x".repeat(100_000);
    let good = put("Content-Length: 100000") + &body;
    assert_eq!(world.ask(&good).await.status, 204);
    assert_eq!(world.app.bytes_read.load(Ordering::Relaxed), 100_000);
}

#[tokio::test]
async fn a_caller_who_listens_only_when_all_is_sent_hears_the_refusal() {
    let world = World::new(Mode::LocalOwner);
    let mut connection = world.connect(LOOPBACK);
    let body = "x".repeat(1_000_000);
    let put = format!(
        "PUT /blob HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.0.write_all(put.as_bytes()).await.expect("the connection stays until all is sent");
    assert_eq!(connection.answer().await.status, 413);
    assert_eq!(world.app.bytes_read.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_never_stops_sending_is_let_go() {
    let world = World::new(Mode::LocalOwner);
    let mut connection = world.connect(LOOPBACK);
    let start = Instant::now();
    connection
        .send("PUT /blob HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n")
        .await;
    assert_eq!(connection.answer().await.status, 413);
    while connection.0.write_all(b"more").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(whole_seconds(start), 2);
    assert!(world.metrics.render().contains("http_connections 0"));
}

#[tokio::test]
async fn json_has_the_common_limit_and_other_routes_take_no_body() {
    let world = World::new(Mode::LocalOwner);
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(1024 * 1024));
    let answer = world.ask(&request("POST", "/things", "", &large)).await;
    assert_eq!((answer.status, answer.problem().as_str()), (413, "body_too_large"));
    let answer = world.ask(&request("GET", "/things", "", "{}")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (413, "body_not_taken"));
}

#[tokio::test]
async fn a_form_has_the_limit_of_its_route() {
    let world = World::new(Mode::LocalOwner);
    let form = |bytes: usize| {
        let file = "Content-Disposition: form-data; name=\"file\"; filename=\"a\"";
        format!("--edge\r\n{file}\r\n\r\n{}\r\n--edge--\r\n", "x".repeat(bytes))
    };
    let edge = "multipart/form-data; boundary=edge";
    let post = |body: &str| request("POST", "/form", "", body).replace("application/json", edge);
    assert_eq!(world.ask(&post(&form(2_500_000))).await.status, 204);
    assert_eq!(world.app.bytes_read.load(Ordering::Relaxed), 2_500_000);
    assert_eq!(world.ask(&post(&form(3_000_000))).await.status, 413);
    let body = form(3_000_000);
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let chunked = format!(
        "POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Type: {edge}\r\n\
         Transfer-Encoding: chunked\r\n\r\n{chunks}"
    );
    let answer = world.ask(&chunked).await;
    assert_eq!((answer.status, answer.problem().as_str()), (413, "body_too_large"));
    let answer = world.ask(&post("no form at all")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_request"));
    let answer = world.ask(&request("POST", "/form", "", "{}")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (415, "not_a_form"));
}

#[tokio::test]
async fn compressed_bodies_are_refused() {
    let world = World::new(Mode::LocalOwner);
    for (encoding, status) in
        [("gzip", 415), ("br", 415), ("identity, gzip", 415), ("identity", 201)]
    {
        let headers = format!("Content-Encoding: {encoding}\r\n");
        let answer = world.ask(&request("POST", "/things", &headers, "{\"name\":\"a\"}")).await;
        assert_eq!(answer.status, status, "{encoding}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused_with_431() {
    let world = World::new(Mode::LocalOwner);
    let long = format!("X-Long: {}\r\n", "x".repeat(64 * 1024));
    let many: String = (0..200).map(|number| format!("X-{number}: 1\r\n")).collect();
    let endless = "X-Many: 1\r\n".repeat(100_000);
    for headers in [long, many, endless] {
        assert_eq!(world.get("/open", &headers).await.status, 431);
    }
    let fits = format!("X-Long: {}\r\n", "x".repeat(20 * 1024));
    assert_eq!(world.get("/open", &fits).await.status, 200);
}

#[tokio::test]
async fn what_is_not_http_is_an_error_of_the_caller_and_the_server_goes_on() {
    let world = World::new(Mode::LocalOwner);
    for garbage in [
        "\r\n\r\n\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET /open HTTP/9.9\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /open HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "PUT /blob HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "PUT /blob HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "PUT /blob HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "PUT /blob HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
    ] {
        let mut connection = world.connect(LOOPBACK);
        connection.send(garbage).await;
        let _ = connection.0.shutdown().await;
        let answer = connection.rest().await;
        let status = answer.split(' ').nth(1).unwrap_or("400").to_owned();
        assert!(status.starts_with('4'), "{garbage:?}: {answer}");
    }
    assert_eq!(world.get("/open", "").await.status, 200);
}

#[tokio::test]
async fn connections_over_the_limit_are_closed_at_once() {
    for (limits, reason) in [
        (Limits { connections_max: 2, ..Limits::default() }, "connections"),
        (Limits { connections_per_address_max: 2, ..Limits::default() }, "connections_of_address"),
    ] {
        let settings = Settings { limits, ..Settings::default() };
        let world = World::with(settings, Mode::LocalOwner, vec![], |identity| identity);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
        let (server, until) = (world.server.clone(), shutdown.clone());
        let tasks = TaskTracker::new();
        let serving = tasks.spawn(async move { server.serve(listener, until).await });

        let (mut one, mut two) = (open(address).await, open(address).await);
        assert!(answers(&mut one).await && answers(&mut two).await);
        let mut three = TcpStream::connect(address).await.unwrap();
        assert!(!answers(&mut three).await, "there are only two places");
        assert!(answers(&mut one).await, "who was there stays");
        drop(two);
        // The place is free once the server has noticed.
        while !answers(&mut open(address).await).await {
            tokio::task::yield_now().await;
        }
        assert!(
            world.metrics.render().contains(&format!("http_refused_total{{reason=\"{reason}\"}}"))
        );
        shutdown.cancel();
        drop(one);
        assert_eq!(serving.await.unwrap().cut, 0);
    }
}

#[tokio::test]
async fn a_connection_that_became_something_else_still_counts() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let world = World::with(settings, Mode::LocalOwner, vec![], |identity| identity);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
    let (server, until, tasks) = (world.server.clone(), shutdown.clone(), TaskTracker::new());
    let serving = tasks.spawn(async move { server.serve(listener, until).await });
    let mut echo = open(address).await;
    let headers = "Connection: upgrade\r\nUpgrade: echo\r\n";
    echo.write_all(request("GET", "/upgrade", headers, "").as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        assert_ne!(echo.read_buf(&mut seen).await.unwrap(), 0);
    }
    assert!(seen.starts_with(b"HTTP/1.1 101"));
    for _ in 0..20 {
        assert!(!answers(&mut open(address).await).await, "the one place is taken");
        echo.write_all(b"hello").await.unwrap();
        let mut back = [0; 5];
        echo.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"hello");
    }
    shutdown.cancel();
    drop(echo);
    assert_eq!(serving.await.unwrap().cut, 0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_became_something_else_may_be_silent() {
    let world = World::new(Mode::LocalOwner);
    let mut echo = world.connect(LOOPBACK);
    let headers = "Connection: upgrade\r\nUpgrade: echo\r\n";
    echo.send(&request("GET", "/upgrade", headers, "")).await;
    assert!(echo.until("\r\n\r\n").await.starts_with("HTTP/1.1 101"));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    echo.send("still there?").await;
    assert_eq!(echo.until("?").await, "still there?");
}

async fn open(address: std::net::SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

async fn answers(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 1024];
    let asked = stream.write_all(request("GET", "/open", "", "").as_bytes()).await;
    asked.is_ok() && stream.read(&mut buffer).await.is_ok_and(|count| count > 0)
}
