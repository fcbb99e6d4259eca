//! Keeps one server for one tenant: starts it when it is needed, starts it again when it is gone, and ends it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::connection::Link;
use super::greeting::{Ground, connect};
use super::handler::{Lent, Shared};
use super::settings::ServerSettings;

/// Callers that may wait for a server to start.
const WAITING_MAX: usize = 256;

/// The wait after a failed start, doubled each time, and its end.
const AGAIN_FIRST: Duration = Duration::from_millis(500);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody has needed it yet.
    Idle,
    Up {
        version: String,
    },
    Down {
        why: String,
    },
}

type Answer = oneshot::Sender<Result<Arc<Link>, String>>;

/// A handle to the task that owns the connection. The task ends when the last handle is gone, or at shutdown.
pub(super) struct Keeper {
    orders: mpsc::Sender<Answer>,
    state: watch::Receiver<State>,
}

impl Keeper {
    pub(super) fn start(settings: ServerSettings, ground: &Ground, lent: Option<Lent>) -> Self {
        let (orders, inbox) = mpsc::channel(WAITING_MAX);
        let (tell, state) = watch::channel(State::Idle);
        let ground = ground.clone();
        let tasks = ground.tasks.clone();
        tasks.spawn(keep(
            Kept { settings, ground, lent, link: None, failures: 0, not_before: None, tell },
            inbox,
        ));
        Self { orders, state }
    }

    pub(super) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// The connection, made if there is none.
    pub(super) async fn link(&self) -> Result<Arc<Link>, String> {
        let (answer, outcome) = oneshot::channel();
        let ending = || "saem is about to end".to_owned();
        self.orders.try_send(answer).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => "too many callers wait for it".to_owned(),
            mpsc::error::TrySendError::Closed(_) => ending(),
        })?;
        outcome.await.unwrap_or_else(|_| Err(ending()))
    }
}

struct Kept {
    settings: ServerSettings,
    ground: Ground,
    lent: Option<Lent>,
    link: Option<Arc<Link>>,
    failures: u32,
    not_before: Option<Instant>,
    tell: watch::Sender<State>,
}

async fn keep(mut kept: Kept, mut inbox: mpsc::Receiver<Answer>) {
    let stopping = kept.ground.tasks.stopping();
    loop {
        let answer = tokio::select! {
            answer = inbox.recv() => answer,
            () = stopping.cancelled() => None,
        };
        let Some(answer) = answer else { break };
        let outcome = tokio::select! {
            outcome = kept.ready() => outcome,
            () = stopping.cancelled() => break,
        };
        let _gone = answer.send(outcome);
    }
    if let Some(link) = kept.link.take() {
        link.close().await;
    }
}

impl Kept {
    async fn ready(&mut self) -> Result<Arc<Link>, String> {
        if let Some(link) = &self.link {
            if link.is_up() {
                return Ok(Arc::clone(link));
            }
            let link = Arc::clone(link);
            self.link = None;
            link.close().await;
        }
        if let (Some(not_before), State::Down { why }) = (self.not_before, &*self.tell.borrow())
            && Instant::now() < not_before
        {
            return Err(why.clone());
        }
        let (id, roots) = (self.settings.id.clone(), self.settings.roots.clone());
        let shared = Arc::new(Shared::new(id, roots, self.lent.clone()));
        match connect(&self.settings, &shared, &self.ground).await {
            Ok(link) => {
                let link = Arc::new(link);
                self.failures = 0;
                self.not_before = None;
                self.tell.send_replace(State::Up { version: link.version() });
                self.link = Some(Arc::clone(&link));
                Ok(link)
            }
            Err(why) => {
                let wait = AGAIN_FIRST.saturating_mul(1 << self.failures.min(7)).min(AGAIN_MAX);
                self.failures += 1;
                self.not_before = Some(Instant::now() + wait);
                tracing::warn!(server = %self.settings.id, %why, "a server of tools did not start");
                self.tell.send_replace(State::Down { why: why.clone() });
                Err(why)
            }
        }
    }
}
