//! How a server ends: requests finish, streams are told, and what does not listen is cut.

use std::time::Duration;

use server::identity::Mode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::world::{LOOPBACK, World, request};

#[tokio::test(start_paused = true)]
async fn a_request_on_a_kept_alive_connection_is_told_that_the_server_ends() {
    let (world, shutdown) = (World::new(Mode::LocalOwner), CancellationToken::new());
    let mut connection = world.connect_until(LOOPBACK, shutdown.clone());
    connection.send(&request("GET", "/open", "", "")).await;
    assert_eq!(connection.answer().await.status, 200);
    shutdown.cancel();
    tokio::task::yield_now().await;
    connection.send(&request("GET", "/open", "", "")).await;
    let answer = connection.answer().await;
    assert_eq!((answer.status, answer.problem().as_str()), (503, "shutting_down"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(connection.rest().await, "");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_ends_soon_and_a_request_under_way_is_finished() {
    let (world, shutdown) = (World::new(Mode::LocalOwner), CancellationToken::new());
    let mut idle = world.connect_until(LOOPBACK, shutdown.clone());
    idle.send(&request("GET", "/open", "", "")).await;
    idle.answer().await;
    let mut busy = world.connect_until(LOOPBACK, shutdown.clone());
    busy.send(&request("GET", "/wait", "", "")).await;
    world.app.waiting.notified().await;
    let start = Instant::now();
    shutdown.cancel();
    assert_eq!(idle.rest().await, "");
    assert_eq!(start.elapsed().as_secs(), 1);
    tokio::time::sleep(Duration::from_secs(15)).await;
    world.app.bell.notify_one();
    assert_eq!(busy.answer().await.body, "rung");
    assert_eq!(busy.rest().await, "");
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_itself_when_the_server_does() {
    let (world, shutdown) = (World::new(Mode::LocalOwner), CancellationToken::new());
    let mut connection = world.connect_until(LOOPBACK, shutdown.clone());
    connection.send(&request("GET", "/stream", "", "")).await;
    connection.until("data: hello\n\n").await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let start = Instant::now();
    shutdown.cancel();
    assert!(connection.rest().await.contains("event: end\n\n"));
    assert!(start.elapsed() <= Duration::from_secs(1));
}

#[tokio::test]
async fn what_does_not_listen_is_cut_when_the_time_is_over() {
    let mut settings = server::Settings::default();
    settings.limits.drain_max = Duration::from_millis(200);
    settings.limits.linger_max = Duration::from_millis(20);
    let world = World::with(settings, Mode::LocalOwner, vec![], |identity| identity);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
    let (server, until, tasks) = (world.server.clone(), shutdown.clone(), TaskTracker::new());
    let serving = tasks.spawn(async move { server.serve(listener, until).await });

    let mut streams = Vec::new();
    for path in ["/deaf", "/stream", "/stream"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request("GET", path, "", "").as_bytes()).await.unwrap();
        let mut seen = Vec::new();
        while !seen.windows(5).any(|bytes| bytes == b"hello") {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
        }
        streams.push(stream);
    }
    shutdown.cancel();
    assert_eq!(serving.await.unwrap().cut, 1, "only the deaf one had to be cut");
    assert!(TcpStream::connect(address).await.is_err(), "nobody is accepted any more");
    assert!(world.metrics.render().contains("http_connections 0"));
    assert!(world.metrics.render().contains("http_requests_in_flight 0"));
}
