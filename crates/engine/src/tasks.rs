//! The one place where tasks are spawned, so that shutdown can wait for all of them.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that belong to one running Saem. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    /// Where this value was made: the threads for what goes on by itself.
    home: Option<Handle>,
}

impl Tasks {
    #[must_use]
    pub fn new() -> Self {
        Self { home: Handle::try_current().ok(), ..Self::default() }
    }

    /// Runs `task` until it ends by itself; it should watch [`Self::stopping`].
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.home {
            Some(home) => self.tracker.spawn_on(task, home),
            None => self.tracker.spawn(task),
        };
    }

    /// As [`Self::spawn`], on the threads of whoever calls: for what somebody there waits for.
    pub fn spawn_here(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Is cancelled when everything has to come to an end.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Asks every task to end and waits for it; false if some have not ended in time.
    pub async fn stop(&self, wait_max: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(wait_max, self.tracker.wait()).await.is_ok()
    }
}
