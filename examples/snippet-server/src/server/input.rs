//! Input that says when it has ended. rmcp answers what is still open then, and waits some seconds for it; a client that
//! listens always has something open.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::changes::Changes;

#[derive(Debug)]
pub(crate) struct Input<R> {
    input: R,
    changes: Arc<Changes>,
}

impl<R> Input<R> {
    pub(super) fn new(input: R, changes: Arc<Changes>) -> Self {
        Self { input, changes }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        let has_ended = match &read {
            Poll::Pending => false,
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
        };
        if has_ended {
            self.changes.end();
        }
        read
    }
}
