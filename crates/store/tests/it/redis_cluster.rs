//! Sessions in a real cluster of three: the contract, the slots, and a node that goes away and comes back.

use std::time::Duration;

use agent::memory::Session;
use agent::names::TenantId;
use agent::ports::{PortError, Sessions};
use store::redis::{RedisSessions, RedisSettings};
use testkit::contracts;
use testkit::redis_server::{RedisServer, cluster};
use testkit::samples::tenant;

use crate::redis_sessions::{NOW, eventually, name, next, questions, settings};

async fn connect(nodes: &[RedisServer]) -> RedisSessions {
    let urls = nodes.iter().map(RedisServer::url).collect();
    RedisSessions::connect(RedisSettings { cluster: true, ..settings(urls) }).await.unwrap()
}

#[tokio::test]
async fn a_cluster_keeps_the_contract_of_sessions() {
    let nodes = cluster(3, &[]).await;
    let sessions = connect(&nodes).await;
    contracts::sessions::keeps_its_promise(&sessions).await;
    let durability = sessions.durability().await.unwrap();
    assert!(durability.is_cluster);
    assert_eq!(durability.servers.len(), 3);
    assert!(durability.findings().iter().all(|finding| !finding.is_warning), "{durability:?}");
}

#[tokio::test]
async fn the_keys_of_a_session_share_a_slot_and_sessions_are_spread() {
    let nodes = cluster(3, &[]).await;
    let sessions = connect(&nodes).await;
    for place in 0..30 {
        let mut session = Session::new(name(&format!("a.{place}@b-c")), NOW);
        assert!(sessions.keep(&tenant("acme"), next(&mut session, 0, "hello")).await.unwrap());
    }
    let mut nodes_with_sessions = 0;
    let mut slots = std::collections::BTreeMap::<String, Vec<String>>::new();
    for node in &nodes {
        let keys = node.ask(&["KEYS", "chat:{acme:*}:*"]).await;
        nodes_with_sessions += usize::from(!keys.is_empty());
        for key in keys.lines() {
            let (session, _) = key.rsplit_once(':').unwrap();
            let slot = node.ask(&["CLUSTER", "KEYSLOT", key]).await;
            slots.entry(session.to_owned()).or_default().push(slot);
        }
    }
    assert_eq!((nodes_with_sessions, slots.len()), (3, 30));
    assert!(
        slots.values().all(|slots| slots.len() == 5 && slots.iter().all(|slot| *slot == slots[0]))
    );
}

#[tokio::test]
async fn a_node_that_was_away_is_used_again_and_what_it_acknowledged_is_there() {
    let mut nodes = cluster(3, &["--appendfsync", "always"]).await;
    let sessions = connect(&nodes).await;
    let mine = tenant("acme");
    let mut kept: Vec<Session> = Vec::new();
    for place in 0..12 {
        let mut session = Session::new(name(&format!("s{place}")), NOW);
        assert!(sessions.keep(&mine, next(&mut session, 0, "turn 0")).await.unwrap());
        kept.push(session);
    }
    nodes[1].kill();
    let mut failures = 0;
    for session in &kept {
        match sessions.session(&mine, &session.id, NOW).await {
            Ok(found) => assert!(found.is_some()),
            Err(PortError::Unavailable { what, .. }) => {
                assert_eq!(what, "Redis");
                failures += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(failures > 0, "some sessions lie on the node that is away");
    nodes[1].revive().await;
    keep_each(&sessions, &mine, &mut kept, 1).await;
    // All of them at once: then nobody is left who could say where the others are.
    for node in &mut nodes {
        node.kill();
    }
    for node in &mut nodes {
        node.revive().await;
    }
    keep_each(&sessions, &mine, &mut kept, 2).await;
}

/// Each session takes one more turn. Until all nodes have noticed that one is back, a cluster may refuse.
async fn keep_each(sessions: &RedisSessions, mine: &TenantId, kept: &mut [Session], revision: u64) {
    for session in kept {
        let keep = next(session, revision, &format!("turn {revision}"));
        let is_kept = eventually(|| async { sessions.keep(mine, keep.clone()).await.ok() }).await;
        assert!(is_kept, "what was acknowledged before is not there");
        let expected: Vec<String> = (0..=revision).map(|turn| format!("turn {turn}")).collect();
        assert_eq!(questions(sessions, mine, &session.id).await, expected);
    }
}

#[tokio::test]
async fn a_session_is_followed_to_another_node_during_and_after_the_move() {
    let nodes = cluster(3, &[]).await;
    let sessions = connect(&nodes).await;
    let (mine, id) = (tenant("acme"), name("s1"));
    let mut session = Session::new(id.clone(), NOW);
    assert!(sessions.keep(&mine, next(&mut session, 0, "one")).await.unwrap());
    let slot = nodes[0].ask(&["CLUSTER", "KEYSLOT", "chat:{acme:s1}:short"]).await;
    let (mut source, mut target, mut keys) = (&nodes[0], &nodes[1], String::new());
    for (place, node) in nodes.iter().enumerate() {
        let found = node.ask(&["KEYS", "chat:{acme:s1}:*"]).await;
        if !found.is_empty() {
            (source, target, keys) = (node, &nodes[(place + 1) % 3], found);
        }
    }
    let (from, to) =
        (source.ask(&["CLUSTER", "MYID"]).await, target.ask(&["CLUSTER", "MYID"]).await);
    let is_done = |answer: String| assert_eq!(answer, "OK");
    is_done(target.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from]).await);
    is_done(source.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to]).await);
    let port = target.port().to_string();
    let moving = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
    is_done(source.ask(&[moving, keys.lines().collect()].concat()).await);
    assert!(sessions.keep(&mine, next(&mut session, 1, "two")).await.unwrap());
    for node in [target, source].into_iter().chain(&nodes) {
        is_done(node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &to]).await);
    }
    assert!(sessions.keep(&mine, next(&mut session, 2, "three")).await.unwrap());
    assert_eq!(questions(&sessions, &mine, &id).await, ["one", "two", "three"]);
    assert_eq!(target.ask(&["EXISTS", "chat:{acme:s1}:short"]).await, "1");
}

#[tokio::test]
async fn a_cluster_that_falls_silent_gives_an_error_in_time_and_serves_afterwards() {
    let nodes = cluster(3, &[]).await;
    let urls = nodes.iter().map(RedisServer::url).collect();
    let limits = RedisSettings {
        cluster: true,
        connect_time_max: Duration::from_millis(1_000),
        reply_time_max: Duration::from_millis(500),
        retries: 1,
        ..settings(urls)
    };
    let time_max = limits.operation_time_max();
    let sessions = RedisSessions::connect(limits).await.unwrap();
    let (mine, id) = (tenant("acme"), name("s1"));
    for node in &nodes {
        node.ask(&["CLIENT", "PAUSE", "4000"]).await;
    }
    // The limit, and as much again for a machine that is busy.
    let answer = tokio::time::timeout(time_max * 2, sessions.session(&mine, &id, NOW)).await;
    let error = answer.unwrap().unwrap_err();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
    eventually(|| async { sessions.session(&mine, &id, NOW).await.ok() }).await;
    assert!(
        sessions.keep(&mine, next(&mut Session::new(id.clone(), NOW), 0, "after")).await.unwrap()
    );
}

#[tokio::test]
async fn a_single_server_that_is_called_a_cluster_is_refused_with_a_reason() {
    let server = RedisServer::start().await;
    let wrong = RedisSettings { cluster: true, ..settings(vec![server.url()]) };
    let error = RedisSessions::connect(wrong).await.err().unwrap();
    assert!(matches!(error, PortError::Unavailable { .. }), "{error}");
}
