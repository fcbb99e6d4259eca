//! Work that is done where its caller waits, and goes on by itself when the caller leaves.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::tasks::Tasks;

/// Work that goes on by itself when whoever waits for it goes away after it has begun.
pub(super) struct ToTheEnd<T: Send + 'static> {
    work: Option<BoxFuture<'static, T>>,
    has_begun: bool,
    spawner: Tasks,
}

impl<T: Send + 'static> ToTheEnd<T> {
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static, spawner: Tasks) -> Self {
        Self { work: Some(Box::pin(work)), has_begun: false, spawner }
    }
}

impl<T: Send + 'static> Future for ToTheEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.has_begun = true;
        // Taken out meanwhile: what panics is not begun again.
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let polled = work.poll_unpin(context);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for ToTheEnd<T> {
    fn drop(&mut self) {
        let is_running = tokio::runtime::Handle::try_current().is_ok();
        if let Some(work) = self.work.take().filter(|_| self.has_begun && is_running) {
            self.spawner.spawn(async move { drop(work.await) });
        }
    }
}
