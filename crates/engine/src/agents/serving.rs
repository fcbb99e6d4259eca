//! Saem as an agent: takes tasks on, has them worked on, and tells whoever watches; what was told has been kept before.

mod asking;
mod context;
mod delivery;
mod executor;
mod expiry;
mod hooks;
mod keeping;
mod live;
mod record;
mod researching;
mod running;
#[cfg(test)]
mod tests;
mod to_the_end;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a::admission::{self, Target};
use a2a::error::{Error, ErrorKind};
use a2a::ids::{ContextId, MessageId, TaskId};
use a2a::listing::Page;
use a2a::machine::{AcceptedKind, Artifacts, TaskMachine, Told};
use a2a::model::{ListQuery, Message, Send, Sent, Task, TaskPage};
use a2a::push::RetryPolicy;
use a2a::timestamp::Timestamp;
use a2a::version::Version;
use agent::identity::Principal;
use agent::ports::{
    AgentTasks, Clock, Entropy, HookKey, Outbox, PortError, Posts, TaskKey, TaskList,
};
use tokio::sync::Semaphore;

pub use self::asking::{ASK, RESEARCH, SEARCH, Saem, SaemParts};
pub use self::executor::{Ended, Executor, Step, Teller, Work};
pub use self::live::Watching;

use self::live::Lives;
use self::record::Record;
use self::running::Order;
use self::to_the_end::ToTheEnd;
use crate::tasks::Tasks;

/// How long an answer waits for its task: what takes longer is asked for again, streamed, or pushed.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(600);

/// How often a change is tried that somebody else's change came before.
const TRIES_MAX: usize = 32;

/// Webhooks that are called at once.
const DELIVERIES_MAX: usize = 64;

/// What the agent works with.
pub struct ServingParts {
    pub tasks: Arc<dyn AgentTasks>,
    pub outbox: Arc<dyn Outbox>,
    pub posts: Arc<dyn Posts>,
    pub executor: Arc<dyn Executor>,
    /// Signs webhooks that want to be convinced; none, and they go unsigned.
    pub signer: Option<Arc<dyn Signer>>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub spawner: Tasks,
}

/// Signs claims, so that whoever has the public key can check them.
pub trait Signer: std::marker::Send + Sync {
    /// A JSON Web Token; none if it cannot be made.
    fn token(&self, claims: &serde_json::Value) -> Option<String>;
}

/// Numbers of the configuration.
#[derive(Debug, Clone)]
pub struct ServingRules {
    /// How long a task is kept after its last change.
    pub kept: Duration,
    pub retries: RetryPolicy,
    /// Who signs, as receivers of webhooks know the agent.
    pub issuer: String,
}

impl Default for ServingRules {
    fn default() -> Self {
        Self {
            kept: Duration::from_secs(30 * 24 * 3600),
            retries: RetryPolicy::default(),
            issuer: "saem".to_owned(),
        }
    }
}

/// Takes tasks on. Cheap to clone.
#[derive(Clone)]
pub struct TaskService {
    inner: Arc<Inner>,
}

struct Inner {
    parts: ServingParts,
    rules: ServingRules,
    lives: Lives,
    /// Webhooks that somebody is telling something just now.
    delivering: Mutex<HashSet<HookKey>>,
    deliveries: Semaphore,
}

/// What a message led to, before anybody waits for anything.
enum Begun {
    Message(Message),
    Task(Box<Joined>),
}

/// A task that a message came to.
struct Joined {
    key: TaskKey,
    watching: Watching,
    /// What a blocking send waits for comes after this event.
    since: u64,
}

impl TaskService {
    #[must_use]
    pub fn new(parts: ServingParts, rules: ServingRules) -> Self {
        let (lives, delivering) = (Lives::default(), Mutex::default());
        let deliveries = Semaphore::new(DELIVERIES_MAX);
        Self { inner: Arc::new(Inner { parts, rules, lives, delivering, deliveries }) }
    }

    /// Media types of parts that can be read, ranges among them.
    #[must_use]
    pub fn media_types(&self) -> &'static [&'static str] {
        self.inner.parts.executor.media_types()
    }

    /// Takes a message; answers when its task rests, or at once if the caller wants that.
    pub async fn send(
        &self,
        principal: &Principal,
        version: Version,
        send: Send,
    ) -> Result<Sent, Error> {
        let configuration = &send.configuration;
        let history_length = version.history_length(configuration.history_length);
        let waits = configuration.returns.waits();
        let mut joined = match self.begin(principal, version, send).await? {
            Begun::Message(message) => return Ok(Sent::Message(message)),
            Begun::Task(joined) => joined,
        };
        if waits {
            let resting = joined.watching.until_rest(joined.since);
            // Who waits longer is told how far it is.
            _ = tokio::time::timeout(ANSWER_WAIT_MAX, resting).await;
        }
        let record = match joined.watching.rested() {
            Some(record) => record,
            None => Arc::new(self.load(&joined.key).await?.0),
        };
        Ok(Sent::Task(record.machine.view(history_length, Artifacts::With)))
    }

    /// Takes a message; all that happens is told.
    pub async fn stream(
        &self,
        principal: &Principal,
        version: Version,
        send: Send,
    ) -> Result<Watching, Error> {
        match self.begin(principal, version, send).await? {
            Begun::Message(message) => Ok(Watching::of_message(message)),
            Begun::Task(joined) => Ok(joined.watching),
        }
    }

    /// A task as it is.
    pub async fn get(
        &self,
        principal: &Principal,
        id: &TaskId,
        history_length: Option<u32>,
    ) -> Result<Task, Error> {
        let (record, _) = self.load(&key(principal, id)).await?;
        Ok(record.machine.view(history_length, Artifacts::With))
    }

    /// The version whose client made a task; none if it is not there.
    pub async fn origin(&self, principal: &Principal, id: &TaskId) -> Option<Version> {
        Some(self.load(&key(principal, id)).await.ok()?.0.machine.origin())
    }

    pub async fn list(&self, principal: &Principal, query: ListQuery) -> Result<TaskPage, Error> {
        let page = Page::read(query)?;
        let query = page.query();
        let list = TaskList {
            context: query.context.as_ref().map(ToString::to_string),
            state: query.status.map(|state| state.name().to_owned()),
            updated_from: query.updated_after.map(stamp),
            after: page.after().map(|(at, id)| (at.map(stamp).unwrap_or_default(), id.to_string())),
            limit: usize::try_from(page.size()).unwrap_or(usize::MAX),
        };
        let (tenant, now) = (&principal.tenant, self.inner.parts.clock.now());
        let listed = self.inner.parts.tasks.list(tenant, &principal.name, list, now);
        let rows = listed.await.map_err(failed)?;
        let records: Result<Vec<Record>, Error> =
            rows.bodies.iter().map(|body| Record::read(body).map_err(failed)).collect();
        let records = records?;
        let last = records.last().filter(|_| rows.has_more);
        Ok(TaskPage {
            next_page_token: last.map(|record| page.next_token(record.machine.task())),
            tasks: records.iter().map(|record| page.show(record.machine.task())).collect(),
            page_size: page.size(),
            total_size: u32::try_from(rows.total).unwrap_or(u32::MAX),
        })
    }

    /// Ends a task on its owner's wish.
    pub async fn cancel(&self, principal: &Principal, id: &TaskId) -> Result<Task, Error> {
        let (service, key) = (self.clone(), key(principal, id));
        self.detached(async move {
            let live = service.inner.lives.of(&key);
            let record = service
                .change(&live, &key, |record, now| {
                    record.is_running = false;
                    Ok(vec![record.machine.cancel(now)?])
                })
                .await?;
            live.stop();
            Ok(record.machine.view(None, Artifacts::With))
        })
        .await
    }

    /// Watches a task, from how it is now.
    pub async fn subscribe(
        &self,
        principal: &Principal,
        version: Version,
        id: &TaskId,
    ) -> Result<Watching, Error> {
        let key = key(principal, id);
        let live = self.inner.lives.of(&key);
        let mut watching = Watching::new(self.clone(), key.clone(), live, version);
        let (record, _) = self.load(&key).await?;
        watching.start(Arc::new(record.machine.subscribe()?));
        Ok(watching)
    }

    /// Fails what somebody worked on when the last process ended, and goes on telling webhooks.
    pub async fn resume(&self) -> Result<(), PortError> {
        for key in self.inner.parts.tasks.running().await? {
            let live = self.inner.lives.of(&key);
            let ended = self.change(&live, &key, |record, now| {
                let words = "The agent was started anew while it worked on this task. Send the message again.";
                let failing = record.fail(words, self.fresh()?, now);
                record.is_running = false;
                Ok(failing.into_iter().collect())
            });
            if let Err(error) = ended.await {
                tracing::warn!(%error, task = key.id, "a task of the last run was not ended");
            }
        }
        for hook in self.inner.parts.outbox.hooks_waiting().await? {
            self.deliver(hook);
        }
        Ok(())
    }

    async fn begin(
        &self,
        principal: &Principal,
        version: Version,
        send: Send,
    ) -> Result<Begun, Error> {
        admission::check_parts(&send.message, self.media_types())?;
        if let Some(push) = &send.configuration.push {
            self.check_hook(push)?;
        }
        let (service, principal) = (self.clone(), principal.clone());
        // Whoever asked may leave; what was begun goes on.
        self.detached(async move {
            match admission::target(&send.message, version) {
                Target::New => service.create(principal, version, None, send).await,
                Target::Existing(id) => service.join(principal, version, &id, send).await,
                Target::Named(id) => {
                    match service.join(principal.clone(), version, &id, send.clone()).await {
                        Err(error) if error.kind == ErrorKind::TaskNotFound => {
                            service.create(principal, version, Some(id), send).await
                        }
                        joined => joined,
                    }
                }
            }
        })
        .await
    }

    /// Makes a task of a message, unless it needs none.
    async fn create(
        &self,
        principal: Principal,
        version: Version,
        id: Option<TaskId>,
        send: Send,
    ) -> Result<Begun, Error> {
        let Send { message, configuration, metadata } = send;
        let context = match message.context.clone() {
            Some(context) => context,
            None => self.fresh_id::<ContextId>()?,
        };
        if let Some(parts) = self.inner.parts.executor.reply(&message) {
            let reply = record::said(self.fresh()?, parts);
            return Ok(Begun::Message(Message { context: Some(context), ..reply }));
        }
        let is_named = id.is_some();
        let id = id.map_or_else(|| self.fresh_id::<TaskId>(), Ok)?;
        let key = key(&principal, &id);
        let (machine, told) =
            TaskMachine::create(id, context, version, message.clone(), self.now());
        let mut record = Record::new(machine);
        if let Some(push) = configuration.push {
            record.set_hook(self.named_hook(push)?, version)?;
        }
        let lives = &self.inner.lives;
        let live = if is_named { lives.of(&key) } else { lives.unlisted(&key) };
        let since = told.sequence;
        let order = Order { principal, message, metadata };
        let Some(watching) = self.work_anew(live, &key, version, (record, told), order).await?
        else {
            // Only a client of 0.1 names tasks; it sent the same one twice at once.
            return Err(Error::violation("id", "is being made by another request"));
        };
        Ok(Begun::Task(Box::new(Joined { key, watching, since })))
    }

    /// Takes a further message to a task.
    async fn join(
        &self,
        principal: Principal,
        version: Version,
        id: &TaskId,
        send: Send,
    ) -> Result<Begun, Error> {
        let Send { message, configuration, metadata } = send;
        let push = configuration.push.map(|push| self.named_hook(push)).transpose()?;
        let key = key(&principal, id);
        let live = self.inner.lives.of(&key);
        let mut watching = Watching::new(self.clone(), key.clone(), Arc::clone(&live), version);
        let (mut kind, mut since, mut was_running) = (AcceptedKind::Repeated, 0, false);
        let changed = self.change(&live, &key, |record, now| {
            let accepted = record.machine.accept(message.clone(), now)?;
            if let Some(push) = push.clone() {
                record.set_hook(push, version)?;
            }
            (kind, since, was_running) = (accepted.kind, accepted.since, record.is_running);
            record.is_running = record.is_running || kind != AcceptedKind::Repeated;
            Ok(accepted.told.into_iter().collect())
        });
        let record = changed.await?;
        let task = record.machine.task().clone();
        watching.start(Arc::new(Told {
            sequence: record.machine.sequence(),
            event: a2a::model::Event::Task(task),
        }));
        match kind {
            AcceptedKind::Repeated => {}
            // Somebody waits for it, or will look for it.
            _ if was_running && live.pass_on(message.clone()) => {}
            AcceptedKind::Resumes | AcceptedKind::Joins | AcceptedKind::Restarts => {
                let loaded = self.load(&key).await?;
                self.work(live, &key, loaded, Order { principal, message, metadata });
            }
        }
        if record.machine.is_at_rest_since(since) {
            watching.is_at_rest();
        }
        Ok(Begun::Task(Box::new(Joined { key, watching, since })))
    }

    /// Runs something to its end, even if whoever waits for it goes away half-way.
    fn detached<T: std::marker::Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + std::marker::Send + 'static,
    ) -> ToTheEnd<Result<T, Error>> {
        ToTheEnd::new(work, self.inner.parts.spawner.clone())
    }

    fn now(&self) -> Timestamp {
        let now = i64::try_from(self.inner.parts.clock.now().0).unwrap_or_default();
        // Our clock is between the years 1970 and 9999.
        Timestamp::from_milliseconds(now).unwrap_or(Timestamp::EPOCH)
    }

    fn fresh(&self) -> Result<MessageId, Error> {
        self.fresh_id()
    }

    /// A name that nobody can guess, in the form of a UUID.
    fn fresh_id<T: std::str::FromStr>(&self) -> Result<T, Error> {
        let mut bytes = [0; 16];
        self.inner.parts.entropy.fill(&mut bytes).map_err(failed)?;
        let number = u128::from_le_bytes(bytes);
        let (a, b, c) = (number >> 96, number >> 80 & 0xffff, number >> 68 & 0xfff);
        let (d, e) = (number >> 52 & 0x3fff | 0x8000, number & 0xffff_ffff_ffff);
        let text = format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}");
        text.parse().map_err(|_| Error::of(ErrorKind::Internal))
    }
}

/// Names a task of somebody.
fn key(principal: &Principal, id: &TaskId) -> TaskKey {
    let (tenant, owner) = (principal.tenant.clone(), principal.name.clone());
    TaskKey { tenant, owner, id: id.to_string() }
}

fn stamp(moment: Timestamp) -> agent::identity::Timestamp {
    agent::identity::Timestamp(u64::try_from(moment.milliseconds()).unwrap_or_default())
}

/// A failure of ours as a caller reads it; the cause goes to the log.
pub(super) fn failed(error: PortError) -> Error {
    match error {
        PortError::Busy { .. } => {
            Error::new(ErrorKind::Internal, "The agent is busy: try again in a moment")
        }
        PortError::Full => {
            Error::new(ErrorKind::Internal, "The agent has no room for more: its disk is full")
        }
        error => {
            tracing::error!(%error, "a task could not be kept or read");
            Error::of(ErrorKind::Internal)
        }
    }
}
