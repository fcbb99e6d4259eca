//! The promise of `AgentTasks` and `Outbox`.

use agent::identity::Timestamp;
use agent::ports::{
    AgentTasks, HookKey, KeepTask, NewNotice, Notice, Outbox, TaskKey, TaskList, TaskRows,
};

use crate::samples::tenant;

/// A moment at which nothing of these tests has expired.
const NOW: Timestamp = Timestamp(100);

/// Runs every part on a fresh store.
pub async fn keeps_its_promise<T: AgentTasks + Outbox>(tasks: &T) {
    a_task_is_kept_if_nobody_else_has_written_it(tasks).await;
    owners_and_tenants_never_meet(tasks).await;
    lists_show_the_latest_first_and_count_all(tasks).await;
    running_tasks_are_named_until_they_rest(tasks).await;
    webhooks_are_told_everything_in_order(tasks).await;
    what_has_expired_is_gone(tasks).await;
}

fn key(owner: &str, id: &str) -> TaskKey {
    TaskKey { tenant: tenant("mine"), owner: owner.to_owned(), id: id.to_owned() }
}

/// A task as it is first kept.
fn fresh(key: TaskKey, updated_at: u64) -> KeepTask {
    KeepTask {
        body: key.id.clone().into_bytes(),
        key,
        revision: 0,
        context: "c".to_owned(),
        state: "working".to_owned(),
        updated_at: Timestamp(updated_at),
        is_running: false,
        now: NOW,
        expires_at: Timestamp(1_000),
        notices: Vec::new(),
    }
}

async fn a_task_is_kept_if_nobody_else_has_written_it(tasks: &dyn AgentTasks) {
    let key = key("kept", "a");
    assert_eq!(tasks.task(&key, NOW).await.unwrap(), None);
    assert!(tasks.keep(fresh(key.clone(), 1)).await.unwrap());
    assert!(!tasks.keep(fresh(key.clone(), 1)).await.unwrap(), "it is there already");
    let second = KeepTask { revision: 1, body: b"second".to_vec(), ..fresh(key.clone(), 2) };
    assert!(tasks.keep(second.clone()).await.unwrap());
    assert!(!tasks.keep(second).await.unwrap(), "it was written meanwhile");
    let kept = tasks.task(&key, NOW).await.unwrap().unwrap();
    assert_eq!((kept.body.as_slice(), kept.revision), (&b"second"[..], 2));
}

async fn owners_and_tenants_never_meet(tasks: &dyn AgentTasks) {
    let mine = key("one", "same");
    let other_owner = TaskKey { owner: "two".to_owned(), ..mine.clone() };
    let other_tenant = TaskKey { tenant: tenant("other"), ..mine.clone() };
    assert!(tasks.keep(fresh(mine.clone(), 1)).await.unwrap());
    assert_eq!(tasks.task(&other_owner, NOW).await.unwrap(), None);
    assert_eq!(tasks.task(&other_tenant, NOW).await.unwrap(), None);
    assert!(tasks.keep(fresh(other_owner, 1)).await.unwrap(), "the name counts for its owner");
    assert_eq!(listed(tasks, "one", all()).await.total, 1);
    let list = tasks.list(&tenant("other"), "one", all(), NOW).await.unwrap();
    assert_eq!(list, TaskRows::default());
}

fn all() -> TaskList {
    TaskList { limit: 100, ..TaskList::default() }
}

async fn listed(tasks: &dyn AgentTasks, owner: &str, list: TaskList) -> TaskRows {
    tasks.list(&tenant("mine"), owner, list, NOW).await.unwrap()
}

fn names(rows: &TaskRows) -> Vec<String> {
    rows.bodies.iter().map(|body| String::from_utf8(body.clone()).unwrap()).collect()
}

async fn lists_show_the_latest_first_and_count_all(tasks: &dyn AgentTasks) {
    let owner = "lists";
    for (id, updated_at) in [("a", 5), ("b", 9), ("c", 5), ("d", 1)] {
        assert!(tasks.keep(fresh(key(owner, id), updated_at)).await.unwrap());
    }
    let done = KeepTask { revision: 1, state: "done".to_owned(), ..fresh(key(owner, "d"), 7) };
    assert!(tasks.keep(done).await.unwrap());
    assert_eq!(names(&listed(tasks, owner, all()).await), ["b", "d", "a", "c"]);
    let page = listed(tasks, owner, TaskList { limit: 2, ..all() }).await;
    assert_eq!((names(&page), page.total, page.has_more), (vec!["b".into(), "d".into()], 4, true));
    let after = Some((Timestamp(7), "d".to_owned()));
    let page = listed(tasks, owner, TaskList { limit: 2, after, ..all() }).await;
    assert_eq!((names(&page), page.total, page.has_more), (vec!["a".into(), "c".into()], 4, false));
    let after = Some((Timestamp(5), "a".to_owned()));
    assert_eq!(names(&listed(tasks, owner, TaskList { after, ..all() }).await), ["c"]);
    let state = Some("done".to_owned());
    assert_eq!(names(&listed(tasks, owner, TaskList { state, ..all() }).await), ["d"]);
    let context = Some("other".to_owned());
    assert_eq!(listed(tasks, owner, TaskList { context, ..all() }).await.total, 0);
    let updated_from = Some(Timestamp(7));
    let recent = listed(tasks, owner, TaskList { updated_from, ..all() }).await;
    assert_eq!((names(&recent), recent.total), (vec!["b".into(), "d".into()], 2));
}

async fn running_tasks_are_named_until_they_rest(tasks: &dyn AgentTasks) {
    let key = key("runs", "a");
    let is_named = async || tasks.running().await.unwrap().contains(&key);
    assert!(tasks.keep(KeepTask { is_running: true, ..fresh(key.clone(), 1) }).await.unwrap());
    assert!(is_named().await);
    assert!(tasks.keep(KeepTask { revision: 1, ..fresh(key.clone(), 1) }).await.unwrap());
    assert!(!is_named().await);
}

fn notice(hook: &str, body: &str) -> NewNotice {
    NewNotice { hook: hook.to_owned(), body: body.as_bytes().to_vec() }
}

async fn webhooks_are_told_everything_in_order<T: AgentTasks + Outbox>(tasks: &T) {
    let task = key("hooks", "a");
    let hook = |name: &str| HookKey { task: task.clone(), hook: name.to_owned() };
    let (first, second) = (hook("h1"), hook("h2"));
    assert_eq!(tasks.next_notice(&first).await.unwrap(), None);
    let notices = vec![notice("h1", "one"), notice("h2", "one"), notice("h1", "two")];
    assert!(tasks.keep(KeepTask { notices, ..fresh(task.clone(), 1) }).await.unwrap());
    let notices = vec![notice("h1", "three")];
    let refused = KeepTask { notices: notices.clone(), ..fresh(task.clone(), 1) };
    assert!(!tasks.keep(refused).await.unwrap(), "what is not kept is not told");
    let again = KeepTask { revision: 1, notices, ..fresh(task.clone(), 1) };
    assert!(tasks.keep(again).await.unwrap());
    let waiting = tasks.hooks_waiting().await.unwrap();
    assert!(waiting.contains(&first) && waiting.contains(&second));
    let next = tasks.next_notice(&first).await.unwrap().unwrap();
    assert_eq!((next.body.as_slice(), next.failures), (&b"one"[..], 0));
    tasks.put_off(&first, next.number, 3, Timestamp(55)).await.unwrap();
    let put_off = Notice { failures: 3, not_before: Timestamp(55), ..next.clone() };
    assert_eq!(tasks.next_notice(&first).await.unwrap(), Some(put_off));
    for body in ["two", "three"] {
        let before = tasks.next_notice(&first).await.unwrap().unwrap();
        tasks.told(&first, before.number).await.unwrap();
        let next = tasks.next_notice(&first).await.unwrap().unwrap();
        assert_eq!(next.body, body.as_bytes());
        assert!(next.number > before.number);
    }
    tasks.told(&first, u64::MAX).await.unwrap();
    tasks.put_off(&first, next.number, 1, Timestamp(1)).await.unwrap();
    assert_eq!(tasks.next_notice(&first).await.unwrap(), None, "what is gone does not come back");
    assert!(tasks.next_notice(&second).await.unwrap().is_some());
    assert!(!tasks.hooks_waiting().await.unwrap().contains(&first));
}

async fn what_has_expired_is_gone<T: AgentTasks + Outbox>(tasks: &T) {
    let task = key("expires", "a");
    let hook = HookKey { task: task.clone(), hook: "h".to_owned() };
    let dies = KeepTask {
        expires_at: Timestamp(200),
        is_running: true,
        notices: vec![notice("h", "x")],
        ..fresh(task.clone(), 1)
    };
    assert!(tasks.keep(dies).await.unwrap());
    let late = Timestamp(200);
    assert_eq!(tasks.task(&task, late).await.unwrap(), None);
    let rows = tasks.list(&task.tenant, &task.owner, all(), late).await.unwrap();
    assert_eq!(rows.total, 0);
    assert_eq!(tasks.forget_expired_tasks(Timestamp(199), 10).await.unwrap(), 0);
    assert_eq!(tasks.forget_expired_tasks(late, 10).await.unwrap(), 1);
    assert_eq!(tasks.task(&task, NOW).await.unwrap(), None);
    assert_eq!(tasks.next_notice(&hook).await.unwrap(), None);
    assert!(!tasks.running().await.unwrap().contains(&task));
}
