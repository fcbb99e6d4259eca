//! How often a task is kept, and what becomes of it when its caller leaves meanwhile.

use agent::ports::{KeepTask, KeptTask, TaskRows};
use futures_util::FutureExt as _;

use super::*;

#[tokio::test]
async fn work_that_is_done_at_once_is_kept_by_one_write() {
    let world = World::new();
    let service = world.service();
    let revision = async |task: &Task| {
        let kept = world.tasks.task(&key(&mina(), &task.id), world.clock.now()).await;
        kept.unwrap().unwrap().revision
    };
    let done = sent(&service, message("m1", "work one two done", None)).await;
    assert_eq!((done.artifacts.len(), revision(&done).await), (1, 1));
    let asking = sent(&service, message("m2", "one ask", None)).await;
    assert_eq!((asking.status.state, revision(&asking).await), (TaskState::InputRequired, 1));
    // Somebody who watches is told all of it all the same.
    let watching = streamed(&service, message("m3", "work one two done", None)).await;
    let told = ["task submitted", "working", "one", "two", "completed"];
    assert_eq!(all(watching).await, told);
}

#[tokio::test]
async fn whoever_watches_a_task_that_asks_at_once_hears_the_rest_too() {
    let service = World::new().service();
    let mut watching = streamed(&service, message("m1", "one ask", None)).await;
    let Some(Event::Task(task)) = watching.next().await else { panic!("the task comes first") };
    let answered = sent(&service, message("m2", "two done", Some(&task.id))).await;
    assert_eq!(answered.status.state, TaskState::Completed);
    let told = all(watching).await;
    assert_eq!(told, ["one", "input-required", "working", "two", "completed"]);
}

/// A store whose writes wait for the test.
struct Slow {
    tasks: Arc<MemoryAgentTasks>,
    go: Arc<Notify>,
}

impl AgentTasks for Slow {
    fn task<'a>(
        &'a self,
        key: &'a TaskKey,
        now: agent::identity::Timestamp,
    ) -> Later<'a, Option<KeptTask>> {
        self.tasks.task(key, now)
    }

    fn keep(&self, keep: KeepTask) -> Later<'_, bool> {
        Box::pin(async {
            self.go.notified().await;
            self.tasks.keep(keep).await
        })
    }

    fn list<'a>(
        &'a self,
        tenant: &'a agent::names::TenantId,
        owner: &'a str,
        list: TaskList,
        now: agent::identity::Timestamp,
    ) -> Later<'a, TaskRows> {
        self.tasks.list(tenant, owner, list, now)
    }

    fn running(&self) -> Later<'_, Vec<TaskKey>> {
        self.tasks.running()
    }

    fn forget_expired_tasks(
        &self,
        now: agent::identity::Timestamp,
        limit: usize,
    ) -> Later<'_, u64> {
        self.tasks.forget_expired_tasks(now, limit)
    }
}

#[tokio::test]
async fn a_task_that_is_being_kept_is_there_though_its_caller_has_left() {
    let world = World::new();
    let go = Arc::new(Notify::new());
    let slow = Slow { tasks: Arc::clone(&world.tasks), go: Arc::clone(&go) };
    let service = TaskService::new(
        ServingParts { tasks: Arc::new(slow), ..world.parts() },
        ServingRules::default(),
    );
    let sending = send(message("m", "work one done", None), Returns::AtRest);
    let mina = mina();
    // It has begun, and then nobody waits for it any more.
    assert!(service.send(&mina, Version::V1_0, sending).now_or_never().is_none());
    go.notify_one();
    let kept = async {
        loop {
            let listed = service.list(&mina, ListQuery::default()).await.unwrap();
            if listed.total_size > 0 {
                return listed;
            }
            tokio::task::yield_now().await;
        }
    };
    let listed = tokio::time::timeout(Duration::from_secs(10), kept).await.expect("it is kept");
    assert_eq!(listed.tasks[0].status.state, TaskState::Completed);
    // What has not begun does not begin by itself.
    drop(service.send(&mina, Version::V1_0, send(message("n", "done", None), Returns::AtRest)));
    go.notify_one();
    tokio::task::yield_now().await;
    let listed = service.list(&mina, ListQuery::default()).await.unwrap();
    assert_eq!(listed.total_size, 1);
}
