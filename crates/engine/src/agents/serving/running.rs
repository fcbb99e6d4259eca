//! Has one task worked on: takes steps from its executor, keeps them, and tells of them.

use std::sync::Arc;

use a2a::error::Error;
use a2a::machine::{Applied, Told, Update};
use a2a::model::{Message, Object, Part};
use agent::identity::Principal;
use agent::ports::TaskKey;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::executor::{Step, Teller, Work};
use super::live::Live;
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
    record: Record,
    revision: u64,
}

/// Whether there is anything left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    On,
    Over,
}

impl TaskService {
    /// Has the message worked on, from now on and by itself.
    pub(super) fn work(
        &self,
        live: Arc<Live>,
        key: &TaskKey,
        (record, revision): (Record, u64),
        principal: Principal,
        message: Message,
        metadata: Option<Object>,
    ) {
        let (inbox, messages) = mpsc::channel(MESSAGES_WAITING_MAX);
        let (tell, steps) = mpsc::channel(STEPS_WAITING_MAX);
        let stop = CancellationToken::new();
        live.begin(inbox, stop.clone());
        let task = record.machine.task();
        let Some(context) = task.context.clone() else { return };
        let work = Work {
            principal,
            task: task.id.clone(),
            context,
            message,
            metadata,
            tell: Teller(tell),
            inbox: messages,
        };
        let work = self.inner.parts.executor.work(work);
        let running = Running { service: self.clone(), key: key.clone(), live, record, revision };
        let stopping = self.inner.parts.spawner.stopping();
        self.inner.parts.spawner.spawn(running.run(work, steps, stop, stopping));
    }
}

impl Running {
    async fn run(
        mut self,
        mut work: impl Future<Output = ()> + Unpin,
        mut steps: mpsc::Receiver<Step>,
        stop: CancellationToken,
        stopping: CancellationToken,
    ) {
        let mut batch = Vec::new();
        let mut is_working = true;
        while is_working {
            // Never while something is being kept: what is kept is told.
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                // What is not done is failed when the agent starts anew.
                () = stopping.cancelled() => break,
                // The work first: all that it has to say is then kept at once.
                () = &mut work => is_working = false,
                _ = steps.recv_many(&mut batch, STEPS_WAITING_MAX) => {}
            }
            while let Ok(step) = steps.try_recv() {
                batch.push(step);
            }
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
            let mut told = Vec::new();
            for step in steps {
                told.extend(self.apply(step)?);
            }
            let state = self.record.machine.state();
            if !is_working && !state.is_terminal() && !state.is_interrupted() {
                let words = "The work ended without a result.";
                told.extend(self.record.fail(words, self.service.fresh()?, self.service.now()));
            }
            let has_ended = self.record.machine.state().is_terminal();
            let is_running = is_working && !has_ended;
            if told.is_empty() && self.record.is_running == is_running {
                return Ok(if has_ended { Going::Over } else { Going::On });
            }
            self.record.is_running = is_running;
            let kept =
                self.service.keep(&self.live, &self.key, &self.record, self.revision, told).await;
            if kept.map_err(failed)? {
                self.revision += 1;
                return Ok(if has_ended { Going::Over } else { Going::On });
            }
            // Somebody else has changed it: a message came, or it was cancelled.
            (self.record, self.revision) = self.service.load(&self.key).await?;
        }
        Err(failed(agent::ports::PortError::Busy { what: "the task" }))
    }

    fn apply(&mut self, step: &Step) -> Result<Option<Told>, Error> {
        let update = match step.clone() {
            Step::Status { state, said } => {
                Update::Status { state, message: self.said(said)?, metadata: None }
            }
            Step::Artifact { artifact, append, last_chunk } => {
                Update::Artifact { artifact, append, last_chunk, metadata: None }
            }
        };
        let machine = &mut self.record.machine;
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
