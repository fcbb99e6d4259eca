//! Has one task worked on: takes steps from its executor, keeps them, and tells of them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use a2a::error::{Error, ErrorKind};
use a2a::machine::{Applied, Told, Update};
use a2a::model::{Message, Object, Part};
use a2a::version::Version;
use agent::identity::Principal;
use agent::ports::TaskKey;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::executor::{Step, Teller, Work};
use super::live::{Live, Watching};
use super::record::{self, Record};
use super::{TRIES_MAX, TaskService, failed};

/// Steps that wait to be kept; then the work waits too.
const STEPS_WAITING_MAX: usize = 256;

/// Messages that wait for whoever works on a task.
const MESSAGES_WAITING_MAX: usize = 16;

/// A task while it is worked on.
struct Running {
    service: TaskService,
    key: TaskKey,
    live: Arc<Live>,
    record: Arc<Record>,
    revision: u64,
}

/// Who works on it, and how that goes on.
struct Labour {
    work: BoxFuture<'static, ()>,
    steps: mpsc::Receiver<Box<Step>>,
    stop: CancellationToken,
}

/// Whether there is anything left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    On,
    Over,
}

/// What somebody wants done.
pub(super) struct Order {
    pub(super) principal: Principal,
    pub(super) message: Message,
    pub(super) metadata: Option<Object>,
}

impl TaskService {
    /// Has the message worked on, from now on and by itself.
    pub(super) fn work(
        &self,
        live: Arc<Live>,
        key: &TaskKey,
        (record, revision): (Record, u64),
        order: Order,
    ) {
        let Some(labour) = self.labour(&live, &record, order) else { return };
        let record = Arc::new(record);
        let running = Running { service: self.clone(), key: key.clone(), live, record, revision };
        running.go_on(labour);
    }

    /// Has a new task worked on. What the work has to say at once is kept with the task, in one write: work that is done
    /// soon costs no more than one. None if there is a task of this name.
    pub(super) async fn work_anew(
        &self,
        live: Arc<Live>,
        key: &TaskKey,
        version: Version,
        (record, made): (Record, Told),
        order: Order,
    ) -> Result<Option<Watching>, Error> {
        let Some(mut labour) = self.labour(&live, &record, order) else {
            return Err(Error::of(ErrorKind::Internal));
        };
        let (service, key, record) = (self.clone(), key.clone(), Arc::new(record));
        let mut running = Running { service, key, live, record, revision: 0 };
        let polled = poll_fn(|context| Poll::Ready(labour.work.poll_unpin(context))).await;
        let is_working = polled.is_pending();
        if !is_working {
            running.live.end();
        }
        let first = Arc::new(made);
        let mut told = vec![Arc::clone(&first)];
        told.extend(running.advance(labour.waiting(), is_working)?);
        let has_ended = running.record.machine.state().is_terminal();
        if !has_ended {
            // Once it is kept, others may know its name.
            self.inner.lives.list(&running.live);
        }
        if !running.keep(&told).await? {
            running.live.end();
            return Ok(None);
        }
        let (service, key, live) = (self.clone(), running.key.clone(), Arc::clone(&running.live));
        // It listens before anything more is told.
        let mut watching = match has_ended {
            true => Watching::of_ended(service, key, live, version),
            false => Watching::new(service, key, live, version),
        };
        watching.start(first);
        watching.was_told(told);
        match running.record.is_running {
            true => running.go_on(labour),
            false => running.live.end(),
        }
        Ok(Some(watching))
    }

    /// Whoever does the work, who has not begun. Nobody does for a task without a context, which there is none of.
    fn labour(&self, live: &Live, record: &Record, order: Order) -> Option<Labour> {
        let Order { principal, message, metadata } = order;
        let task = record.machine.task();
        let (task, context) = (task.id.clone(), task.context.clone()?);
        let (inbox, messages) = mpsc::channel(MESSAGES_WAITING_MAX);
        let (tell, steps) = mpsc::channel(STEPS_WAITING_MAX);
        let stop = CancellationToken::new();
        live.begin(inbox, stop.clone());
        let (tell, inbox) = (Teller(tell), messages);
        let work = Work { principal, task, context, message, metadata, tell, inbox };
        let work = self.inner.parts.executor.work(work);
        Some(Labour { work, steps, stop })
    }
}

impl Labour {
    /// The steps that were told and not taken yet.
    fn waiting(&mut self) -> Vec<Step> {
        std::iter::from_fn(|| self.steps.try_recv().ok()).map(|step| *step).collect()
    }
}

impl Running {
    fn go_on(self, labour: Labour) {
        let spawner = self.service.inner.parts.spawner.clone();
        spawner.spawn_here(self.run(labour, spawner.stopping()));
    }

    async fn run(mut self, mut labour: Labour, stopping: CancellationToken) {
        let mut batch = Vec::new();
        let mut is_working = true;
        while is_working {
            // Never while something is being kept: what is kept is told.
            tokio::select! {
                biased;
                () = labour.stop.cancelled() => break,
                // What is not done is failed when the agent starts anew.
                () = stopping.cancelled() => break,
                // The work first: all that it has to say is then kept at once.
                () = &mut labour.work => is_working = false,
                Some(step) = labour.steps.recv() => batch.push(*step),
            }
            batch.extend(labour.waiting());
            if !is_working {
                self.live.end();
            }
            match self.take(&batch, is_working).await {
                Ok(Going::On) => batch.clear(),
                Ok(Going::Over) => break,
                Err(error) => {
                    tracing::warn!(%error, task = self.key.id, "a task could not be kept");
                    break;
                }
            }
        }
        self.live.end();
    }

    /// Takes steps, keeps what became of the task, and tells of it.
    async fn take(&mut self, steps: &[Step], is_working: bool) -> Result<Going, Error> {
        for _ in 0..TRIES_MAX {
            let was_running = self.record.is_running;
            let told = self.advance(steps.to_vec(), is_working)?;
            let has_ended = self.record.machine.state().is_terminal();
            let going = if has_ended { Going::Over } else { Going::On };
            if told.is_empty() && self.record.is_running == was_running {
                return Ok(going);
            }
            if self.keep(&told).await? {
                return Ok(going);
            }
            // Somebody else has changed it: a message came, or it was cancelled.
            let (record, revision) = self.service.load(&self.key).await?;
            (self.record, self.revision) = (Arc::new(record), revision);
        }
        Err(failed(agent::ports::PortError::Busy { what: "the task" }))
    }

    /// What becomes of the task by these steps.
    fn advance(&mut self, steps: Vec<Step>, is_working: bool) -> Result<Vec<Arc<Told>>, Error> {
        let mut told = Vec::new();
        for step in steps {
            told.extend(self.apply(step)?);
        }
        let state = self.record.machine.state();
        if !is_working && !state.is_terminal() && !state.is_interrupted() {
            let words = "The work ended without a result.";
            let (id, now) = (self.service.fresh()?, self.service.now());
            told.extend(Arc::make_mut(&mut self.record).fail(words, id, now));
        }
        let is_running = is_working && !self.record.machine.state().is_terminal();
        if self.record.is_running != is_running {
            Arc::make_mut(&mut self.record).is_running = is_running;
        }
        Ok(told.into_iter().map(Arc::new).collect())
    }

    /// Keeps the task as it is now, and tells of it; false if somebody else has changed it.
    async fn keep(&mut self, told: &[Arc<Told>]) -> Result<bool, Error> {
        let Self { service, key, live, record, revision } = self;
        let is_kept = service.keep(live, key, record, *revision, told).await.map_err(failed)?;
        if is_kept {
            *revision += 1;
        }
        Ok(is_kept)
    }

    fn apply(&mut self, step: Step) -> Result<Option<Told>, Error> {
        let update = match step {
            Step::Status { state, said } => {
                Update::Status { state, message: self.said(said)?, metadata: None }
            }
            Step::Artifact { artifact, append, last_chunk } => {
                Update::Artifact { artifact, append, last_chunk, metadata: None }
            }
        };
        let machine = &mut Arc::make_mut(&mut self.record).machine;
        Ok(match machine.apply(machine.next_step(), update, self.service.now()) {
            Applied::Told(told) => Some(*told),
            Applied::Refused(refusal) => {
                tracing::warn!(%refusal, task = self.key.id, "a step was refused");
                None
            }
            Applied::Late | Applied::Repeated | Applied::Early { .. } => None,
        })
    }

    fn said(&self, parts: Vec<Part>) -> Result<Option<Message>, Error> {
        if parts.is_empty() {
            return Ok(None);
        }
        Ok(Some(record::said(self.service.fresh()?, parts)))
    }
}
