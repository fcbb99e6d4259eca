//! Tasks from their beginning to their end: several watch them, somebody cancels them, webhooks are told of them.

mod hooks;
mod keeping;

use std::collections::VecDeque;

use a2a::ids::ArtifactId;
use a2a::model::{
    Artifact, Event, Part, PushAuthentication, PushConfig, Returns, Role, SendConfiguration,
    TaskState,
};
use agent::ports::Later;
use futures_util::future::BoxFuture;
use testkit::agent_tasks::MemoryAgentTasks;
use testkit::clock::HandClock;
use testkit::samples;
use tokio::sync::Notify;

use super::*;

/// Does what the text of a message says; what it says is `then` waits for the test.
#[derive(Default)]
struct Puppet {
    then: Arc<Notify>,
}

impl Executor for Puppet {
    fn media_types(&self) -> &'static [&'static str] {
        &["text/*"]
    }

    fn reply(&self, message: &Message) -> Option<Vec<Part>> {
        (words(message) == "reply").then(|| vec![Part::text("at once")])
    }

    fn work(&self, mut work: Work) -> BoxFuture<'static, ()> {
        let then = Arc::clone(&self.then);
        Box::pin(async move {
            for word in words(&work.message).split_whitespace() {
                let told = match word {
                    "then" => {
                        then.notified().await;
                        Ok(())
                    }
                    "hear" => {
                        let heard = work.inbox.recv().await.unwrap();
                        work.tell.artifact(artifact(&words(&heard))).await
                    }
                    "forever" => std::future::pending().await,
                    "work" => work.tell.status(TaskState::Working, vec![]).await,
                    "ask" => {
                        let said = vec![Part::text("what?")];
                        work.tell.status(TaskState::InputRequired, said).await
                    }
                    "done" => work.tell.status(TaskState::Completed, vec![]).await,
                    text => work.tell.artifact(artifact(text)).await,
                };
                if told.is_err() {
                    return;
                }
            }
        })
    }
}

fn words(message: &Message) -> String {
    match &message.parts.first().unwrap().content {
        a2a::model::Content::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

fn artifact(text: &str) -> Artifact {
    Artifact {
        id: ArtifactId::numbered(0),
        name: None,
        description: None,
        parts: vec![Part::text(text)],
        extensions: vec![],
        metadata: None,
    }
}

struct Dice(Mutex<u128>);

impl Entropy for Dice {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        let mut last = self.0.lock().unwrap();
        *last += 1;
        bytes.copy_from_slice(&last.to_le_bytes());
        Ok(())
    }
}

/// Headers and body.
type Mail = (Vec<(String, String)>, serde_json::Value);

/// A receiver of webhooks that answers as it is told, and then with 200.
#[derive(Default)]
struct Mailbox {
    answers: Mutex<VecDeque<u16>>,
    got: Mutex<Vec<Mail>>,
    rings: Notify,
}

impl Posts for Mailbox {
    fn check(&self, address: &str) -> Result<(), PortError> {
        let is_inside = address.contains("127.0.0.1");
        if is_inside { Err(PortError::Refused("inside".to_owned())) } else { Ok(()) }
    }

    fn post<'a>(
        &'a self,
        _address: &'a str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Later<'a, u16> {
        let status = self.answers.lock().unwrap().pop_front().unwrap_or(200);
        self.got.lock().unwrap().push((headers, serde_json::from_slice(&body).unwrap()));
        self.rings.notify_one();
        Box::pin(std::future::ready(Ok(status)))
    }
}

/// Shows what it is to sign.
struct Stamp;

impl Signer for Stamp {
    fn token(&self, claims: &serde_json::Value) -> Option<String> {
        Some(claims.to_string())
    }
}

struct World {
    tasks: Arc<MemoryAgentTasks>,
    mail: Arc<Mailbox>,
    clock: Arc<HandClock>,
    then: Arc<Notify>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(HandClock::at(1_000_000));
        Self { tasks: Arc::default(), mail: Arc::default(), clock, then: Arc::default() }
    }

    /// A service as it is after a start; a second one is what the next process would be.
    fn service(&self) -> TaskService {
        TaskService::new(self.parts(), ServingRules::default())
    }

    fn parts(&self) -> ServingParts {
        ServingParts {
            tasks: Arc::clone(&self.tasks) as Arc<dyn AgentTasks>,
            outbox: Arc::clone(&self.tasks) as Arc<dyn Outbox>,
            posts: Arc::clone(&self.mail) as Arc<dyn Posts>,
            executor: Arc::new(Puppet { then: Arc::clone(&self.then) }),
            signer: Some(Arc::new(Stamp)),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            entropy: Arc::new(Dice(Mutex::default())),
            spawner: Tasks::new(),
        }
    }

    /// Waits until so many webhooks have come, and gives the states or texts that they tell of.
    async fn mail(&self, count: usize) -> Vec<String> {
        loop {
            let rung = self.mail.rings.notified();
            if self.mail.got.lock().unwrap().len() >= count {
                break;
            }
            rung.await;
        }
        let got = self.mail.got.lock().unwrap();
        let told = |body: &serde_json::Value| {
            let state = &body["statusUpdate"]["status"]["state"];
            let text = &body["artifactUpdate"]["artifact"]["parts"][0]["text"];
            state.as_str().or(text.as_str()).unwrap_or_default().to_owned()
        };
        got.iter().map(|(_, body)| told(body)).collect()
    }
}

fn mina() -> Principal {
    Principal { name: "key:mina".to_owned(), ..Principal::local_owner() }
}

fn message(id: &str, text: &str, task: Option<&TaskId>) -> Message {
    Message {
        role: Role::User,
        task: task.cloned(),
        ..record::said(id.parse().unwrap(), vec![Part::text(text)])
    }
}

fn send(message: Message, returns: Returns) -> Send {
    let configuration = SendConfiguration { returns, ..SendConfiguration::default() };
    Send { message, configuration, metadata: None }
}

/// A message that its sender waits for.
async fn sent(service: &TaskService, message: Message) -> Task {
    let sent = service.send(&mina(), Version::V1_0, send(message, Returns::AtRest)).await;
    match sent.unwrap() {
        Sent::Task(task) => task,
        Sent::Message(message) => panic!("{message:?}"),
    }
}

fn seen(event: &Event) -> String {
    match event {
        Event::Task(task) => format!("task {}", task.status.state.name()),
        Event::Status(update) => update.status.state.name().to_owned(),
        Event::Artifact(update) => match &update.artifact.parts[0].content {
            a2a::model::Content::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        },
        Event::Message(message) => words(message),
    }
}

async fn all(mut watching: Watching) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(event) = watching.next().await {
        all.push(seen(&event));
    }
    all
}

async fn streamed(service: &TaskService, message: Message) -> Watching {
    let send = send(message, Returns::Unsaid);
    service.stream(&mina(), Version::V1_0, send).await.unwrap()
}

#[tokio::test]
async fn a_blocking_send_is_answered_at_the_end_with_all_that_came_of_it() {
    let service = World::new().service();
    let task = sent(&service, message("m", "work one done", None)).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.artifacts.len(), 1);
    assert_eq!(task.history[0].id.as_str(), "m");
    let again = service.get(&mina(), &task.id, Some(0)).await.unwrap();
    assert_eq!((again.status.state, again.history.len()), (TaskState::Completed, 0));
}

#[tokio::test]
async fn an_immediate_send_is_answered_when_the_task_exists() {
    let world = World::new();
    let service = world.service();
    let send = send(message("m", "work then done", None), Returns::Immediately);
    let Sent::Task(task) = service.send(&mina(), Version::V1_0, send).await.unwrap() else {
        panic!("no task");
    };
    assert!(!task.status.state.is_terminal());
    let watching = service.subscribe(&mina(), Version::V1_0, &task.id).await.unwrap();
    world.then.notify_one();
    assert_eq!(all(watching).await.last().unwrap(), "completed");
}

#[tokio::test]
async fn a_message_that_needs_no_task_makes_none() {
    let service = World::new().service();
    assert_eq!(all(streamed(&service, message("m", "reply", None)).await).await, ["at once"]);
    let listed = service.list(&mina(), ListQuery::default()).await.unwrap();
    assert_eq!(listed.total_size, 0);
}

#[tokio::test]
async fn everybody_who_watches_is_told_the_same_in_the_same_order() {
    let world = World::new();
    let service = world.service();
    let mut first = streamed(&service, message("m", "work then one two done", None)).await;
    let Some(Event::Task(task)) = first.next().await else { panic!("the task comes first") };
    assert_eq!(seen(&first.next().await.unwrap()), "working");
    let second = service.subscribe(&mina(), Version::V1_0, &task.id).await.unwrap();
    let left = service.subscribe(&mina(), Version::V1_0, &task.id).await.unwrap();
    drop(left);
    world.then.notify_one();
    assert_eq!(all(first).await, ["one", "two", "completed"]);
    assert_eq!(all(second).await, ["task working", "one", "two", "completed"]);
}

#[tokio::test]
async fn a_task_that_asks_goes_on_with_the_next_message() {
    let service = World::new().service();
    let asking = sent(&service, message("m1", "ask", None)).await;
    assert_eq!(asking.status.state, TaskState::InputRequired);
    let watching = service.subscribe(&mina(), Version::V1_0, &asking.id).await.unwrap();
    let done = sent(&service, message("m2", "answer done", Some(&asking.id))).await;
    assert_eq!((done.status.state, done.history.len()), (TaskState::Completed, 3));
    let told = ["task input-required", "working", "answer", "completed"];
    assert_eq!(all(watching).await, told);
    let again = message("m3", "done", Some(&asking.id));
    let error = service.send(&mina(), Version::V1_0, send(again, Returns::AtRest)).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::UnsupportedOperation);
    let repeated = sent(&service, message("m2", "answer done", Some(&asking.id))).await;
    assert_eq!(repeated.history.len(), 3, "the same message again changes nothing");
}

#[tokio::test]
async fn whoever_works_hears_what_the_caller_says_meanwhile() {
    let service = World::new().service();
    let asking = sent(&service, message("m1", "ask hear done", None)).await;
    assert_eq!(asking.status.state, TaskState::InputRequired);
    let done = sent(&service, message("m2", "yes", Some(&asking.id))).await;
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts[0].parts, [Part::text("yes")]);
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let service = World::new().service();
    let mut watching = streamed(&service, message("m", "work forever", None)).await;
    let Some(Event::Task(task)) = watching.next().await else { panic!("the task comes first") };
    let cancelled = service.cancel(&mina(), &task.id).await.unwrap();
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    assert_eq!(all(watching).await.last().unwrap(), "canceled");
    let again = service.cancel(&mina(), &task.id).await.unwrap_err();
    assert_eq!(again.kind, ErrorKind::TaskNotCancelable);
    let late = service.subscribe(&mina(), Version::V1_0, &task.id).await;
    assert_eq!(late.err().unwrap().kind, ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn nobody_sees_the_task_of_another() {
    let service = World::new().service();
    let task = sent(&service, message("m", "ask", None)).await;
    let joon = Principal { name: "key:joon".to_owned(), ..mina() };
    let other = Principal { tenant: samples::tenant("other"), ..mina() };
    for stranger in [joon, other] {
        let unknown = "unknown".parse().unwrap();
        for id in [&task.id, &unknown] {
            let kinds = [
                service.get(&stranger, id, None).await.unwrap_err(),
                service.cancel(&stranger, id).await.unwrap_err(),
                service.subscribe(&stranger, Version::V1_0, id).await.err().unwrap(),
                service.get_push(&stranger, id, None).await.unwrap_err(),
                service.list_push(&stranger, id, None, None).await.unwrap_err(),
                service.delete_push(&stranger, id, &"h".parse().unwrap()).await.unwrap_err(),
                service
                    .create_push(&stranger, Version::V1_0, hooks::hook(Some(id)))
                    .await
                    .unwrap_err(),
                service
                    .send(
                        &stranger,
                        Version::V1_0,
                        send(message("x", "done", Some(id)), Returns::AtRest),
                    )
                    .await
                    .unwrap_err(),
            ];
            assert!(kinds.iter().all(|error| *error == Error::task_not_found()), "{kinds:?}");
        }
        assert_eq!(service.list(&stranger, ListQuery::default()).await.unwrap().total_size, 0);
    }
}

#[tokio::test]
async fn lists_go_page_by_page() {
    let world = World::new();
    let service = world.service();
    for number in 0..5 {
        world.clock.advance(1);
        sent(&service, message(&format!("m{number}"), "one done", None)).await;
    }
    let query = |token| ListQuery { page_size: Some(2), page_token: token, ..ListQuery::default() };
    let mut seen = Vec::new();
    let mut token = None;
    loop {
        let page = service.list(&mina(), query(token)).await.unwrap();
        assert_eq!((page.total_size, page.page_size), (5, 2));
        seen.extend(page.tasks.iter().map(|task| task.history[0].id.to_string()));
        token = page.next_page_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["m4", "m3", "m2", "m1", "m0"]);
    let waiting = ListQuery { status: Some(TaskState::InputRequired), ..ListQuery::default() };
    assert_eq!(service.list(&mina(), waiting).await.unwrap().total_size, 0);
}

#[tokio::test]
async fn what_was_worked_on_when_the_process_ended_has_failed_and_what_waits_still_waits() {
    let world = World::new();
    let service = world.service();
    let mut watching = streamed(&service, message("m1", "work forever", None)).await;
    let Some(Event::Task(worked_on)) = watching.next().await else { panic!("no task") };
    assert_eq!(seen(&watching.next().await.unwrap()), "working");
    let waits = sent(&service, message("m2", "ask", None)).await;
    let next = world.service();
    next.resume().await.unwrap();
    let failed = next.get(&mina(), &worked_on.id, None).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    assert!(words(&failed.status.message.unwrap()).contains("started anew"));
    let done = sent(&next, message("m3", "done", Some(&waits.id))).await;
    assert_eq!(done.status.state, TaskState::Completed);
}

#[tokio::test]
async fn work_that_ends_without_a_result_has_failed() {
    let service = World::new().service();
    let task = sent(&service, message("m", "work", None)).await;
    assert_eq!(task.status.state, TaskState::Failed);
}

#[tokio::test]
async fn a_client_of_0_1_names_its_tasks_and_begins_them_again() {
    let service = World::new().service();
    let id = "mine".parse().unwrap();
    let ask = async |id: &str, text: &str, task: &TaskId| {
        let send = send(message(id, text, Some(task)), Returns::AtRest);
        match service.send(&mina(), Version::V0_1, send).await.unwrap() {
            Sent::Task(task) => task,
            Sent::Message(message) => panic!("{message:?}"),
        }
    };
    let first = ask("m1", "one done", &id).await;
    assert_eq!((first.id.as_str(), first.history.len()), ("mine", 0));
    let second = ask("m2", "two done", &id).await;
    assert_eq!(second.status.state, TaskState::Completed);
    assert_eq!(second.artifacts[0].parts, [Part::text("two")]);
    assert_eq!(service.origin(&mina(), &id).await, Some(Version::V0_1));
}
