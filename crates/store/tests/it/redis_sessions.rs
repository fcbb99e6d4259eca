//! Sessions in one real Redis: the contract, the keys, and what is left of a session when it ends.

use std::sync::Arc;
use std::time::Duration;

use agent::identity::Timestamp;
use agent::memory::{MemoryLimits, NewEntity, Session, SessionId};
use agent::names::TenantId;
use agent::ports::{KeepSession, RECORDS_MAX, SAID_MAX, Sessions};
use futures_util::future::try_join_all;
use store::redis::{RedisSessions, RedisSettings};
use testkit::contracts;
use testkit::redis_server::RedisServer;
use testkit::samples::{tenant, turn};

pub(crate) const NOW: Timestamp = Timestamp(1_000_000_000);
pub(crate) const HOUR: u64 = 3_600_000;

/// Short limits, so that a test of them ends soon; long enough for a machine that is busy.
pub(crate) fn settings(urls: Vec<String>) -> RedisSettings {
    RedisSettings {
        urls,
        cluster: false,
        connect_time_max: Duration::from_secs(2),
        reply_time_max: Duration::from_secs(2),
        retries: 2,
    }
}

pub(crate) async fn connect(server: &RedisServer) -> RedisSessions {
    RedisSessions::connect(settings(vec![server.url()])).await.unwrap()
}

pub(crate) fn name(text: &str) -> SessionId {
    text.parse().unwrap()
}

/// The session with one more turn, to be kept over `revision`.
pub(crate) fn next(session: &mut Session, revision: u64, question: &str) -> KeepSession {
    let record = turn(session.id.as_str(), session.next_number(), question, "an answer");
    session.add(record.said(), &MemoryLimits::default());
    let expires_at = Timestamp(NOW.0 + HOUR);
    KeepSession {
        session: session.clone(),
        revision,
        turn: Some(Arc::new(record)),
        bookings: Vec::new(),
        is_due: false,
        now: NOW,
        expires_at,
    }
}

pub(crate) async fn questions(
    sessions: &dyn Sessions,
    tenant: &TenantId,
    id: &SessionId,
) -> Vec<String> {
    let said = sessions.said(tenant, id, 1000, NOW).await.unwrap();
    said.into_iter().map(|turn| turn.question).collect()
}

/// Looks again and again until it is as expected, and no longer than a busy machine may need.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.unwrap()
}

#[tokio::test]
async fn one_redis_keeps_the_contract_of_sessions() {
    let server = RedisServer::start().await;
    // An address may ask for the newer protocol, in which answers have other forms.
    let url = format!("{}/3?protocol=resp3", server.url());
    let sessions = RedisSessions::connect(settings(vec![url])).await.unwrap();
    contracts::sessions::keeps_its_promise(&sessions).await;
}

#[tokio::test]
async fn the_parts_of_a_session_lie_under_the_names_of_the_specification_and_expire_together() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let mut session = Session::new(name("s1"), NOW);
    let fact = NewEntity { key: "budget".to_owned(), value: "$10,000".to_owned() };
    session.entities.put(&fact, 1, 25);
    assert!(sessions.keep(&tenant("acme"), next(&mut session, 0, "first")).await.unwrap());
    let entities = server.ask(&["GET", "chat:{acme:s1}:entities"]).await;
    assert_eq!(entities, r#"[{"key":"budget","value":"$10,000","turn":1}]"#);
    let mut keys: Vec<String> =
        server.ask(&["KEYS", "*"]).await.lines().map(str::to_owned).collect();
    keys.sort();
    let parts = ["entities", "memory", "records", "said", "short"]
        .map(|part| format!("chat:{{acme:s1}}:{part}"));
    let lists = ["chat:expiring", "chat:{acme}:sessions"].map(str::to_owned);
    let mut expected = [parts.to_vec(), lists.to_vec()].concat();
    expected.sort();
    assert_eq!(keys, expected);
    let ends = || ends(&server, &parts);
    let first = ends().await;
    assert!(first.iter().all(|end| *end == first[0]), "{first:?}");
    // Every write moves all of them, also one that brings no turn.
    let mut keep = next(&mut session, 1, "second");
    keep.turn = None;
    keep.expires_at = Timestamp(NOW.0 + 2 * HOUR);
    assert!(sessions.keep(&tenant("acme"), keep).await.unwrap());
    let second = ends().await;
    assert!(second.iter().all(|end| *end == second[0]), "{second:?}");
    let seconds: u64 = server.ask(&["TIME"]).await.lines().next().unwrap().parse().unwrap();
    let left = second[0] - seconds * 1_000;
    // A minute for a machine that is busy.
    assert!((2 * HOUR - 60_000..=2 * HOUR + 1_000).contains(&left), "{left}");
}

/// When these keys expire.
async fn ends(server: &RedisServer, keys: &[String]) -> Vec<u64> {
    let mut ends = Vec::new();
    for key in keys {
        ends.push(server.ask(&["PEXPIRETIME", key]).await.parse().unwrap());
    }
    ends
}

#[tokio::test]
async fn the_oldest_turns_give_way_in_redis_too() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let mut session = Session::new(name("s1"), NOW);
    assert!(sessions.keep(&tenant("acme"), next(&mut session, 0, "first")).await.unwrap());
    for (part, count) in [("said", SAID_MAX), ("records", RECORDS_MAX)] {
        let key = format!("chat:{{acme:s1}}:{part}");
        let older = vec!["{}"; count];
        server.ask(&[vec!["LPUSH", &key], older].concat()).await;
    }
    assert!(sessions.keep(&tenant("acme"), next(&mut session, 1, "second")).await.unwrap());
    for (part, count) in [("said", SAID_MAX), ("records", RECORDS_MAX)] {
        let key = format!("chat:{{acme:s1}}:{part}");
        assert_eq!(server.ask(&["LLEN", &key]).await, count.to_string());
        let newest = server.ask(&["LINDEX", &key, "-1"]).await;
        assert!(newest.contains("second"), "{newest}");
    }
}

#[tokio::test]
async fn a_session_that_redis_let_go_of_leaves_the_lists_when_they_are_swept() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let mine = tenant("acme");
    for id in ["gone", "stays"] {
        let mut keep = next(&mut Session::new(name(id), NOW), 0, "hello");
        keep.is_due = true;
        assert!(sessions.keep(&mine, keep).await.unwrap());
    }
    // As Redis does when the time has come.
    for part in ["short", "memory", "entities", "said", "records"] {
        server.ask(&["DEL", &format!("chat:{{acme:gone}}:{part}")]).await;
    }
    let later = Timestamp(NOW.0 + HOUR);
    assert_eq!(sessions.forget_expired(Timestamp(NOW.0 + 1), 10).await.unwrap(), 0);
    assert_eq!(sessions.forget_expired(later, 10).await.unwrap(), 1);
    assert_eq!(sessions.due().await.unwrap(), [(mine.clone(), name("stays"))]);
    assert_eq!(server.ask(&["ZRANGE", "chat:{acme}:sessions", "0", "-1"]).await, "stays");
    // Redis's clock says that the other one lives, so it stays, and is looked at again when it ends there.
    assert_eq!(server.ask(&["ZRANGE", "chat:expiring", "0", "-1"]).await, "acme:stays");
    assert!(sessions.session(&mine, &name("stays"), later).await.unwrap().is_some());
    assert_eq!(sessions.forget_expired(later, 10).await.unwrap(), 0);
}

#[tokio::test]
async fn a_writer_who_comes_too_late_does_not_move_a_session_in_the_list() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let mine = tenant("acme");
    for (id, used_at) in [("later", NOW.0 + 10), ("earlier", NOW.0 + 5)] {
        let mut session = Session::new(name(id), Timestamp(used_at));
        assert!(sessions.keep(&mine, next(&mut session, 0, "hello")).await.unwrap());
    }
    let late = next(&mut Session::new(name("later"), NOW), 0, "too late");
    assert!(!sessions.keep(&mine, late).await.unwrap());
    let page = sessions.sessions(&mine, None, 10, NOW).await.unwrap();
    let listed: Vec<&str> = page.items.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(listed, ["later", "earlier"]);
}

#[tokio::test]
async fn an_entry_without_a_session_is_not_listed_and_goes_once_it_is_old() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let mine = tenant("acme");
    assert!(
        sessions.keep(&mine, next(&mut Session::new(name("real"), NOW), 0, "hello")).await.unwrap()
    );
    let (young, old) = (NOW.0 + HOUR, NOW.0 - HOUR);
    for (score, id) in [(young, "young"), (old, "old")] {
        server.ask(&["ZADD", "chat:{acme}:sessions", &score.to_string(), id]).await;
    }
    let page = sessions.sessions(&mine, None, 10, Timestamp(young)).await.unwrap();
    assert_eq!(page.items.iter().map(|line| line.id.as_str()).collect::<Vec<_>>(), ["real"]);
    assert_eq!(page.next, None);
    assert_eq!(server.ask(&["ZRANGE", "chat:{acme}:sessions", "0", "-1"]).await, "real\nyoung");
}

#[tokio::test]
async fn a_long_list_is_paged_without_gaps_though_many_were_used_at_the_same_moment() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let mine = tenant("acme");
    let mut expected: Vec<String> = (0..250).map(|place| format!("s{place:03}")).collect();
    let keeps = expected.iter().map(|id| next(&mut Session::new(name(id), NOW), 0, "hello"));
    let kept = try_join_all(keeps.map(|keep| sessions.keep(&mine, keep))).await.unwrap();
    assert!(kept.into_iter().all(|is_kept| is_kept));
    // Entries of sessions that are gone lie between them and are taken out on the way.
    for place in 0..150 {
        server
            .ask(&["ZADD", "chat:{acme}:sessions", &NOW.0.to_string(), &format!("r{place:03}")])
            .await;
    }
    expected.reverse();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = sessions.sessions(&mine, after, 30, Timestamp(NOW.0 + HOUR)).await.unwrap();
        assert!(page.items.len() <= 30);
        listed.extend(page.items.iter().map(|line| line.id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, expected);
    assert_eq!(server.ask(&["ZCARD", "chat:{acme}:sessions"]).await, "250");
}

#[tokio::test]
async fn what_is_left_of_a_session_that_lost_a_part_is_not_a_session() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    for lost in ["short", "memory", "entities"] {
        let mut session = Session::new(id.clone(), NOW);
        assert!(sessions.keep(&mine, next(&mut session, 0, "old")).await.unwrap(), "{lost}");
        server.ask(&["DEL", &format!("chat:{{acme:s1}}:{lost}")]).await;
        assert_eq!(sessions.session(&mine, &id, NOW).await.unwrap(), None, "{lost}");
        assert!(questions(&sessions, &mine, &id).await.is_empty(), "{lost}");
        let mut again = Session::new(id.clone(), NOW);
        assert!(sessions.keep(&mine, next(&mut again, 0, "new")).await.unwrap(), "{lost}");
        assert_eq!(questions(&sessions, &mine, &id).await, ["new"], "{lost}");
        assert!(sessions.forget(&mine, &id).await.unwrap());
    }
}

#[tokio::test]
async fn a_session_of_a_later_form_is_refused_and_left_alone() {
    let server = RedisServer::start().await;
    let sessions = connect(&server).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    assert!(
        sessions.keep(&mine, next(&mut Session::new(id.clone(), NOW), 0, "hello")).await.unwrap()
    );
    server.ask(&["HSET", "chat:{acme:s1}:short", "form", "99"]).await;
    let refused = sessions.session(&mine, &id, NOW).await.unwrap_err().to_string();
    assert!(refused.contains("newer saem") && refused.contains("99"), "{refused}");
}

#[tokio::test]
async fn a_server_says_what_it_promises_and_what_it_keeps_to_itself_is_a_finding() {
    let server =
        RedisServer::start_with(&["--appendfsync", "always", "--maxmemory-policy", "allkeys-lru"])
            .await;
    let sessions = connect(&server).await;
    let durability = sessions.durability().await.unwrap();
    assert!(!durability.is_cluster);
    let [told] = durability.servers.as_slice() else { panic!("{durability:?}") };
    assert_eq!(told.address, format!("127.0.0.1:{}", server.port()));
    assert!(told.version.as_deref().is_some_and(|version| version.starts_with('7')), "{told:?}");
    assert_eq!((told.append_only, told.append_fsync.as_deref()), (Some(true), Some("always")));
    assert_eq!((told.save.as_deref(), told.eviction.as_deref()), (Some(""), Some("allkeys-lru")));
    let warnings: Vec<String> = warnings(&sessions).await;
    assert!(matches!(warnings.as_slice(), [one] if one.contains("noeviction")), "{warnings:?}");
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    assert_eq!(warnings_count(&sessions).await, 0);
    server.ask(&["CONFIG", "SET", "appendonly", "no"]).await;
    assert_eq!(warnings_count(&sessions).await, 1);
    server.ask(&["ACL", "SETUSER", "default", "-config"]).await;
    let durability = sessions.durability().await.unwrap();
    let [told] = durability.servers.as_slice() else { panic!("{durability:?}") };
    assert_eq!((told.append_only, told.append_fsync.as_deref()), (Some(false), None));
    assert_eq!(told.eviction.as_deref(), Some("noeviction"));
    assert!(durability.findings().iter().any(|finding| finding.text.contains("does not say")));
}

async fn warnings(sessions: &RedisSessions) -> Vec<String> {
    let findings = sessions.durability().await.unwrap().findings();
    findings.into_iter().filter(|finding| finding.is_warning).map(|finding| finding.text).collect()
}

async fn warnings_count(sessions: &RedisSessions) -> usize {
    warnings(sessions).await.len()
}
