//! Tasks of other agents in a real Redis, alone and as a cluster: the contract, and what servers that share it see of each other.

use agent::identity::Timestamp;
use agent::ports::{AgentTasks, HookKey, KeepTask, NewNotice, Outbox, TaskKey, TaskList};
use store::redis::{RedisSettings, RedisTasks};
use testkit::contracts;
use testkit::redis_server::{RedisServer, cluster};
use testkit::samples::tenant;

use crate::redis_sessions::settings;

const NOW: Timestamp = Timestamp(1_000);

async fn connect(server: &RedisServer, name: &str) -> RedisTasks {
    RedisTasks::connect(settings(vec![server.url()]), name).await.unwrap()
}

/// A task that somebody works on, with something to tell.
fn task(id: &str) -> KeepTask {
    KeepTask {
        key: TaskKey { tenant: tenant("acme"), owner: "mi:na{}".to_owned(), id: id.to_owned() },
        revision: 0,
        body: vec![0, 255, b':', 10],
        context: "c".to_owned(),
        state: "working".to_owned(),
        updated_at: Timestamp(5),
        is_running: true,
        now: NOW,
        expires_at: Timestamp(3_600_000),
        notices: vec![NewNotice { hook: "h:1".to_owned(), body: vec![b'{', 0, b':'] }],
    }
}

#[tokio::test]
async fn one_redis_keeps_the_contract_of_tasks() {
    let server = RedisServer::start().await;
    contracts::tasks::keeps_its_promise(&connect(&server, "one").await).await;
}

#[tokio::test]
async fn a_cluster_keeps_the_contract_of_tasks() {
    let nodes = cluster(3, &[]).await;
    let urls = nodes.iter().map(RedisServer::url).collect();
    let settings = RedisSettings { cluster: true, ..settings(urls) };
    let tasks = RedisTasks::connect(settings, "one").await.unwrap();
    contracts::tasks::keeps_its_promise(&tasks).await;
}

#[tokio::test]
async fn servers_see_the_same_tasks_and_each_takes_up_its_own_alone() {
    let server = RedisServer::start().await;
    let (one, two) = (connect(&server, "one").await, connect(&server, "two").await);
    assert!(one.keep(task("a")).await.unwrap());
    let (key, hook) = (task("a").key, HookKey { task: task("a").key, hook: "h:1".to_owned() });
    let seen = two.task(&key, NOW).await.unwrap().unwrap();
    assert_eq!((seen.body, seen.revision), (task("a").body, 1));
    let all = || TaskList { limit: 10, ..TaskList::default() };
    assert_eq!(two.list(&key.tenant, &key.owner, all(), NOW).await.unwrap().total, 1);
    assert_eq!(two.running().await.unwrap(), []);
    assert_eq!(two.hooks_waiting().await.unwrap(), []);
    // It comes back under its name, as after a crash.
    drop(one);
    let one = connect(&server, "one").await;
    assert_eq!(one.running().await.unwrap(), std::slice::from_ref(&key));
    assert_eq!(one.hooks_waiting().await.unwrap(), std::slice::from_ref(&hook));
    let notice = one.next_notice(&hook).await.unwrap().unwrap();
    assert_eq!(notice.body, task("a").notices[0].body);
    one.told(&hook, notice.number).await.unwrap();
    assert_eq!(one.hooks_waiting().await.unwrap(), []);
    // Written by the other one, it is the other one's from then on only if it works on it.
    let done = KeepTask { revision: 1, is_running: false, notices: Vec::new(), ..task("a") };
    assert!(one.keep(done).await.unwrap());
    assert_eq!(one.running().await.unwrap(), []);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_redis_was_killed() {
    let mut server = RedisServer::start_with(&["--appendfsync", "always"]).await;
    let tasks = connect(&server, "one").await;
    for id in 0..20 {
        assert!(tasks.keep(task(&id.to_string())).await.unwrap());
    }
    server.kill();
    server.revive().await;
    let list = TaskList { limit: 100, ..TaskList::default() };
    let rows = tasks.list(&tenant("acme"), "mi:na{}", list, NOW).await.unwrap();
    assert_eq!((rows.total, rows.bodies.len()), (20, 20));
    assert_eq!(tasks.hooks_waiting().await.unwrap().len(), 20);
}
