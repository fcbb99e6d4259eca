//! What happens to a real Redis, and what becomes of sessions then: no turn is lost or doubled, nothing hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent::memory::Session;
use agent::ports::{PortError, Sessions};
use store::redis::{RedisSessions, RedisSettings};
use testkit::redis_server::RedisServer;
use testkit::samples::tenant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::redis_sessions::{NOW, connect, eventually, name, next, questions, settings};

/// Limits that a silent server reaches soon.
fn impatient(port: u16) -> RedisSettings {
    RedisSettings {
        connect_time_max: Duration::from_millis(1_000),
        reply_time_max: Duration::from_millis(500),
        retries: 1,
        ..settings(vec![format!("redis://127.0.0.1:{port}")])
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_in_a_crash_and_the_connection_comes_back_by_itself() {
    let mut server = RedisServer::start_with(&["--appendfsync", "always"]).await;
    let sessions = connect(&server).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    for revision in 0..20 {
        assert!(
            sessions
                .keep(&mine, next(&mut session, revision, &format!("q{revision}")))
                .await
                .unwrap()
        );
    }
    server.kill();
    let away = sessions.keep(&mine, next(&mut session.clone(), 20, "away")).await.unwrap_err();
    assert!(matches!(&away, PortError::Unavailable { what, .. } if what == "Redis"), "{away}");
    server.revive().await;
    let expected: Vec<String> = (0..20).map(|number| format!("q{number}")).collect();
    assert_eq!(questions(&sessions, &mine, &id).await, expected);
    assert!(sessions.keep(&mine, next(&mut session, 20, "after")).await.unwrap());
    let kept = sessions.session(&mine, &id, NOW).await.unwrap().unwrap();
    assert_eq!((kept.revision, kept.session), (21, session));
}

#[tokio::test]
async fn a_server_that_falls_silent_gives_an_error_in_time_and_serves_afterwards() {
    let server = RedisServer::start().await;
    let limits = impatient(server.port());
    let time_max = limits.operation_time_max();
    let sessions = RedisSessions::connect(limits).await.unwrap();
    let (mine, id) = (tenant("acme"), name("s1"));
    server.ask(&["CLIENT", "PAUSE", "4000"]).await;
    // The limit, and as much again for a machine that is busy.
    let answer = tokio::time::timeout(time_max * 2, sessions.session(&mine, &id, NOW)).await;
    let error = answer.unwrap().unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("no reply within"), "{error}");
    eventually(|| async { sessions.session(&mine, &id, NOW).await.ok() }).await;
    assert!(
        sessions.keep(&mine, next(&mut Session::new(id.clone(), NOW), 0, "after")).await.unwrap()
    );
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_counts_once_when_it_is_repeated() {
    let server = RedisServer::start().await;
    let line = Line::to(server.port()).await;
    let sessions = RedisSessions::connect(impatient(line.port)).await.unwrap();
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    // One answer is lost: the repetition finds that it is done.
    line.lose_answers(1);
    assert!(sessions.keep(&mine, next(&mut session, 0, "one")).await.unwrap());
    assert_eq!(questions(&sessions, &mine, &id).await, ["one"]);
    // All answers are lost: whoever asked is told so, and may ask again.
    line.lose_answers(2);
    let lost = next(&mut session, 1, "two");
    let error = sessions.keep(&mine, lost.clone()).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    assert_eq!(questions(&sessions, &mine, &id).await, ["one", "two"]);
    assert!(sessions.keep(&mine, lost.clone()).await.unwrap());
    // Also when others have written since, as long as they were few. What they have asked for stays.
    let mut third = next(&mut session, 2, "three");
    third.is_due = true;
    assert!(sessions.keep(&mine, third).await.unwrap());
    assert!(sessions.keep(&mine, lost).await.unwrap());
    assert_eq!(sessions.due().await.unwrap(), [(mine.clone(), id.clone())]);
    let other = next(&mut Session::new(id.clone(), NOW), 1, "not two");
    assert!(!sessions.keep(&mine, other).await.unwrap());
    assert_eq!(questions(&sessions, &mine, &id).await, ["one", "two", "three"]);
    let kept = sessions.session(&mine, &id, NOW).await.unwrap().unwrap();
    assert_eq!((kept.revision, kept.session), (3, session));
}

/// A line to a server on which the answers to some writes are lost, and with them all that would follow.
struct Line {
    port: u16,
    losses: Arc<AtomicUsize>,
    _connections: JoinSet<()>,
}

impl Line {
    async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let losses = Arc::new(AtomicUsize::new(0));
        let mut accepting = JoinSet::new();
        let told = Arc::clone(&losses);
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                connections.spawn(carry(client, server, Arc::clone(&told)));
            }
        });
        Self { port, losses, _connections: accepting }
    }

    /// The answers to the next so many commands that keep a session do not arrive.
    fn lose_answers(&self, count: usize) {
        self.losses.store(count, Ordering::SeqCst);
    }
}

async fn carry(mut client: TcpStream, mut server: TcpStream, losses: Arc<AtomicUsize>) {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    let (mut heard, mut is_cut) = (Vec::new(), false);
    loop {
        tokio::select! {
            Ok(1..) = client.read_buf(&mut asked) => {
                heard.extend_from_slice(&asked);
                // Only the script that keeps a session says this.
                if heard.windows(7).any(|word| word == b"PEXPIRE") {
                    heard.clear();
                    let less = |losses: usize| losses.checked_sub(1);
                    is_cut |= losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
                }
                server.write_all(&asked).await.unwrap();
                asked.clear();
            }
            Ok(1..) = server.read_buf(&mut answered) => {
                // Whoever waits for it may be gone.
                let _gone = if is_cut { Ok(()) } else { client.write_all(&answered).await };
                answered.clear();
            }
            else => return,
        }
    }
}

#[tokio::test]
async fn a_pause_shorter_than_the_patience_is_not_noticed() {
    let server = RedisServer::start().await;
    let patient = RedisSettings { retries: 10, ..impatient(server.port()) };
    let sessions = RedisSessions::connect(patient).await.unwrap();
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    server.ask(&["CLIENT", "PAUSE", "800", "WRITE"]).await;
    assert!(sessions.keep(&mine, next(&mut session, 0, "one")).await.unwrap());
    assert_eq!(questions(&sessions, &mine, &id).await, ["one"]);
}

#[tokio::test]
async fn a_replica_is_read_and_says_that_it_takes_no_writes() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut session, 0, "one")).await.unwrap());
    // Port 1: nobody is there.
    server.ask(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let second = next(&mut session, 1, "two");
    let error = sessions.keep(&mine, second.clone()).await.unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("replica"), "{error}");
    assert_eq!(questions(&sessions, &mine, &id).await, ["one"]);
    server.ask(&["REPLICAOF", "NO", "ONE"]).await;
    assert!(sessions.keep(&mine, second).await.unwrap());
    assert_eq!(questions(&sessions, &mine, &id).await, ["one", "two"]);
}

#[tokio::test]
async fn full_memory_refuses_turns_whole_and_takes_them_when_there_is_room() {
    let server = RedisServer::start_with(&["--maxmemory-policy", "noeviction"]).await;
    let sessions = connect(&server).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut session, 0, "one")).await.unwrap());
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let second = next(&mut session, 1, "two");
    let error = sessions.keep(&mine, second.clone()).await.unwrap_err();
    assert!(matches!(error, PortError::Full), "{error}");
    assert!(error.to_string().contains("maxmemory"), "{error}");
    assert_eq!(questions(&sessions, &mine, &id).await, ["one"]);
    assert_eq!(sessions.session(&mine, &id, NOW).await.unwrap().unwrap().revision, 1);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert!(sessions.keep(&mine, second).await.unwrap());
    assert_eq!(questions(&sessions, &mine, &id).await, ["one", "two"]);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_replaced_without_a_word() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    for revision in 0..5 {
        assert!(sessions.keep(&mine, next(&mut session, revision, "again")).await.unwrap());
        assert_ne!(server.ask(&["CLIENT", "KILL", "TYPE", "normal"]).await, "0");
    }
    assert_eq!(questions(&sessions, &mine, &id).await.len(), 5);
}

#[tokio::test]
async fn a_wrong_or_missing_password_is_named_and_never_shown() {
    let server = RedisServer::start_with(&["--requirepass", "right-password"]).await;
    for (credentials, expected) in
        [("", "wants a password"), (":wrong-password@", "refuses the user or the password")]
    {
        let url = format!("redis://{credentials}127.0.0.1:{}", server.port());
        let error = RedisSessions::connect(settings(vec![url])).await.err().unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("-password"), "{text}");
    }
    let url = format!("redis://:right-password@127.0.0.1:{}", server.port());
    assert!(RedisSessions::connect(settings(vec![url])).await.is_ok());
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_refused_without_its_password() {
    let urls = [
        vec!["http://:hunter2@localhost".to_owned()],
        vec!["redis://:hunter2@localhost:port".to_owned()],
        vec!["hunter2".to_owned()],
        vec![],
        vec!["redis://:hunter2@a".to_owned(), "redis://:hunter2@b".to_owned()],
    ];
    for urls in urls {
        let error = RedisSessions::connect(settings(urls.clone())).await.err().unwrap();
        assert!(matches!(error, PortError::Refused(_)), "{urls:?} {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    let wrong = RedisSettings {
        cluster: true,
        ..settings(vec!["redis://:hunter2@localhost:port".to_owned()])
    };
    let error = RedisSessions::connect(wrong).await.err().unwrap();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn where_nobody_listens_or_nobody_speaks_tls_connecting_fails_in_time_with_a_reason() {
    let mut server = RedisServer::start().await;
    let tls = RedisSettings {
        urls: vec![server.url().replace("redis://", "rediss://")],
        ..impatient(server.port())
    };
    let error = RedisSessions::connect(tls).await.err().unwrap();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    server.kill();
    let error = RedisSessions::connect(impatient(server.port())).await.err().unwrap();
    assert!(error.to_string().contains("nothing listens"), "{error}");
}
