//! Tasks that somebody watches or works on just now: who is told of what happens to them, and in which order.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use a2a::machine::{Told, ends_stream};
use a2a::model::{Event, Message, TaskState};
use a2a::version::Version;
use agent::ports::TaskKey;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use super::TaskService;
use super::record::Record;

/// Events that wait for somebody who reads slowly; whoever misses some is shown the task as it is.
const TOLD_WAITING_MAX: usize = 256;

/// The tasks that are watched or worked on.
#[derive(Clone, Default)]
pub(super) struct Lives(Arc<Mutex<HashMap<TaskKey, Weak<Live>>>>);

/// One of them. It is there as long as somebody holds it.
pub(super) struct Live {
    key: TaskKey,
    /// Made when somebody listens.
    told: OnceLock<broadcast::Sender<Arc<Told>>>,
    worker: Mutex<Option<Worker>>,
    /// How it was when it came to rest here; none while it is not at rest.
    rested: Mutex<Option<Arc<Record>>>,
    lives: Lives,
}

/// Whoever works on a task.
struct Worker {
    inbox: mpsc::Sender<Box<Message>>,
    stop: CancellationToken,
}

impl Lives {
    pub(super) fn of(&self, key: &TaskKey) -> Arc<Live> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = all.get(key).and_then(Weak::upgrade) {
            return live;
        }
        let live = self.unlisted(key);
        all.insert(key.clone(), Arc::downgrade(&live));
        live
    }

    /// Of a task that nobody else knows the name of; [`Self::list`] makes it one that others find.
    pub(super) fn unlisted(&self, key: &TaskKey) -> Arc<Live> {
        Arc::new(Live {
            key: key.clone(),
            told: OnceLock::new(),
            worker: Mutex::default(),
            rested: Mutex::default(),
            lives: self.clone(),
        })
    }

    pub(super) fn list(&self, live: &Arc<Live>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(live.key.clone(), Arc::downgrade(live));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let mut all = self.lives.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have come meanwhile and made another.
        if all.get(&self.key).is_some_and(|live| live.strong_count() == 0) {
            all.remove(&self.key);
        }
    }
}

impl Live {
    pub(super) fn tell(&self, told: &Arc<Told>) {
        if let Some(listeners) = self.told.get() {
            let _nobody = listeners.send(Arc::clone(told));
        }
    }

    fn listen(&self) -> broadcast::Receiver<Arc<Told>> {
        self.told.get_or_init(|| broadcast::channel(TOLD_WAITING_MAX).0).subscribe()
    }

    /// Notes how the task is, before anybody is told.
    pub(super) fn note(&self, record: &Arc<Record>) {
        let state = record.machine.state();
        let is_at_rest = state.is_terminal() || state.is_interrupted();
        let rested = is_at_rest.then(|| Arc::clone(record));
        *self.rested.lock().unwrap_or_else(PoisonError::into_inner) = rested;
    }

    /// Notes who works on it from now on.
    pub(super) fn begin(&self, inbox: mpsc::Sender<Box<Message>>, stop: CancellationToken) {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        *worker = Some(Worker { inbox, stop });
    }

    /// Nobody works on it any more.
    pub(super) fn end(&self) {
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Stops whoever works on it.
    pub(super) fn stop(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        worker.into_iter().for_each(|worker| worker.stop.cancel());
    }

    /// Gives a message to whoever works on it; false if nobody does.
    pub(super) fn pass_on(&self, message: Message) -> bool {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(worker) = worker.as_ref() else { return false };
        match worker.inbox.try_send(Box::new(message)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                tracing::warn!(task = self.key.id, "a message came while too many wait to be read");
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }
}

/// Tells what happens to a task, from how it was at the beginning to its end; everybody in the same order.
pub struct Watching {
    /// None for an answer that has no task.
    task: Option<Watched>,
    first: Option<Arc<Told>>,
    version: Version,
    is_over: bool,
    is_at_rest: bool,
}

struct Watched {
    service: TaskService,
    key: TaskKey,
    /// Keeps the channel open.
    live: Arc<Live>,
    /// None if nothing more is told.
    told: Option<broadcast::Receiver<Arc<Told>>>,
    /// The number of the next event.
    expected: u64,
    /// What was told before its turn.
    early: BTreeMap<u64, Arc<Told>>,
    has_missed: bool,
}

impl Watching {
    /// Listens from now on; [`Self::start`] says from which event.
    pub(super) fn new(
        service: TaskService,
        key: TaskKey,
        live: Arc<Live>,
        version: Version,
    ) -> Self {
        let told = Some(live.listen());
        Self::over(service, key, live, told, version)
    }

    /// All that is told of a task that has ended before anybody could listen; [`Self::was_told`] says what it is.
    pub(super) fn of_ended(
        service: TaskService,
        key: TaskKey,
        live: Arc<Live>,
        version: Version,
    ) -> Self {
        Self::over(service, key, live, None, version)
    }

    fn over(
        service: TaskService,
        key: TaskKey,
        live: Arc<Live>,
        told: Option<broadcast::Receiver<Arc<Told>>>,
        version: Version,
    ) -> Self {
        let watched = Watched {
            service,
            key,
            live,
            told,
            expected: 1,
            early: BTreeMap::new(),
            has_missed: false,
        };
        let task = Some(watched);
        Self { task, first: None, version, is_over: false, is_at_rest: false }
    }

    /// An answer that is one message.
    pub(super) fn of_message(message: Message) -> Self {
        let first = Some(Arc::new(Told { sequence: 0, event: Event::Message(message) }));
        Self { task: None, first, version: Version::V1_0, is_over: true, is_at_rest: true }
    }

    /// The task as it is now comes first, then what happens after it.
    pub(super) fn start(&mut self, now: Arc<Told>) {
        if let Some(task) = &mut self.task {
            task.expected = now.sequence + 1;
        }
        self.is_over = has_ended(&now.event);
        self.first = Some(now);
    }

    /// What was told before it listened.
    pub(super) fn was_told(&mut self, all: Vec<Arc<Told>>) {
        if let Some(task) = &mut self.task {
            let expected = task.expected;
            let new = all.into_iter().filter(|told| told.sequence >= expected);
            task.early.extend(new.map(|told| (told.sequence, told)));
        }
    }

    /// Nothing has to happen before it is answered.
    pub(super) fn is_at_rest(&mut self) {
        self.is_at_rest = true;
    }

    /// The next event; none after the last.
    pub async fn next(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(Arc::unwrap_or_clone(first).event);
        }
        if self.is_over {
            return None;
        }
        let told = self.task.as_mut()?.next().await?;
        self.is_over = match &told.event {
            Event::Status(update) => ends_stream(update.status.state, self.version),
            event => has_ended(event),
        };
        Some(Arc::unwrap_or_clone(told).event)
    }

    /// The task as it was when it came to rest here, if it is at rest and nothing was seen of it since.
    pub(super) fn rested(&self) -> Option<Arc<Record>> {
        let task = self.task.as_ref().filter(|_| self.is_at_rest)?;
        let rested = task.live.rested.lock().unwrap_or_else(PoisonError::into_inner).clone();
        rested.filter(|record| record.machine.sequence() + 1 >= task.expected)
    }

    /// Waits until the task has ended, or waits for its caller because of something after `since`.
    pub(super) async fn until_rest(&mut self, since: u64) {
        while let (false, Some(task)) = (self.is_at_rest, self.task.as_mut()) {
            let Some(told) = task.next().await else { return };
            self.is_at_rest = state_of(&told.event).is_some_and(|state| {
                state.is_terminal() || (state.is_interrupted() && told.sequence > since)
            });
        }
    }
}

impl Watched {
    /// Whoever stops waiting for it half-way misses nothing.
    async fn next(&mut self) -> Option<Arc<Told>> {
        loop {
            if self.has_missed {
                return self.catch_up().await;
            }
            if let Some(told) = self.early.remove(&self.expected) {
                self.expected += 1;
                return Some(told);
            }
            match self.told.as_mut()?.recv().await {
                Ok(told) if told.sequence >= self.expected => {
                    self.early.insert(told.sequence, told);
                }
                Ok(_known) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => self.has_missed = true,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Whoever has missed something is shown the task as it is.
    async fn catch_up(&mut self) -> Option<Arc<Told>> {
        let (record, _) = self.service.load(&self.key).await.ok()?;
        let sequence = record.machine.sequence();
        self.has_missed = false;
        self.expected = sequence + 1;
        self.early.retain(|number, _| *number > sequence);
        Some(Arc::new(Told { sequence, event: Event::Task(record.machine.task().clone()) }))
    }
}

fn has_ended(event: &Event) -> bool {
    state_of(event).is_some_and(TaskState::is_terminal)
}

fn state_of(event: &Event) -> Option<TaskState> {
    match event {
        Event::Task(task) => Some(task.status.state),
        Event::Status(update) => Some(update.status.state),
        Event::Message(_) | Event::Artifact(_) => None,
    }
}
