//! A connection that does not wait for ever: not for a head, not for the next request, not for a reader.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::limits::Limits;

/// A caller who still sends when its answer is out is heard out for so long: closing at once would tear the
/// connection down, and the answer with it.
const LINGER_MAX: Duration = Duration::from_secs(2);

/// What such a caller sends is taken in pieces of this size, and dropped.
const LINGER_BUFFER_BYTES: usize = 8 << 10;

/// Newly opened: the first head is awaited, and its time runs from the opening.
const OPENED: u8 = 0;
/// An answer has just ended: the time until the next request starts at the next look.
const RESTED: u8 = 1;
/// Waiting for the next request, with the time running.
const RESTING: u8 = 2;
/// In the middle of a head, with the time running.
const HEAD: u8 = 3;
/// A request is being answered: its own limits hold.
const BUSY: u8 = 4;

/// What a connection is doing, known to the socket below and to the requests above.
#[derive(Debug, Clone)]
pub(crate) struct Phase(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    phase: AtomicU8,
    /// The caller has been told that the connection ends, perhaps in the middle of what it sends.
    ends: AtomicBool,
    /// The connection's task: it looks at the socket before an answer has ended, and must look again after.
    task: AtomicWaker,
}

/// A request that is being answered; the connection rests again when this is dropped.
pub(crate) struct Busy {
    phase: Phase,
}

impl Phase {
    pub(crate) fn opened() -> Self {
        let (phase, ends) = (AtomicU8::new(OPENED), AtomicBool::new(false));
        Self(Arc::new(Inner { phase, ends, task: AtomicWaker::new() }))
    }

    pub(crate) fn busy(&self) -> Busy {
        self.set(BUSY);
        Busy { phase: self.clone() }
    }

    /// The answer under way says that the connection ends after it.
    pub(crate) fn ends(&self) {
        self.0.ends.store(true, Ordering::Release);
    }

    fn get(&self) -> u8 {
        self.0.phase.load(Ordering::Acquire)
    }

    fn set(&self, phase: u8) {
        self.0.phase.store(phase, Ordering::Release);
    }
}

impl Busy {
    /// The connection has become something else than HTTP, which looks after itself.
    pub(crate) fn for_good(mut self) {
        self.phase = Phase::opened();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.phase.set(RESTED);
        self.phase.0.task.wake();
    }
}

/// A socket with the times that a connection may take. It outlives HTTP if the connection becomes something else.
pub(crate) struct Timed<IO, H> {
    io: IO,
    /// What the connection takes up as long as it is open.
    _held: H,
    phase: Phase,
    read_clock: Pin<Box<Sleep>>,
    /// There only while a reader on the other side does not read.
    write_clock: Option<Pin<Box<Sleep>>>,
    /// There only once everything is said and the other side still speaks.
    linger_clock: Option<Pin<Box<Sleep>>>,
    head_wait_max: Duration,
    keep_alive_max: Duration,
    write_wait_max: Duration,
}

impl<IO, H> Timed<IO, H> {
    pub(crate) fn new(io: IO, held: H, phase: Phase, limits: &Limits) -> Self {
        Self {
            io,
            _held: held,
            phase,
            read_clock: Box::pin(sleep(limits.head_wait_max)),
            write_clock: None,
            linger_clock: None,
            head_wait_max: limits.head_wait_max,
            keep_alive_max: limits.keep_alive_max,
            write_wait_max: limits.write_wait_max,
        }
    }

    fn restart(&mut self, wait: Duration) {
        self.read_clock.as_mut().reset(Instant::now() + wait);
    }

    /// Something came: the first byte after a rest starts the time of a head.
    fn came(&mut self) {
        match self.phase.get() {
            RESTED | RESTING => {
                self.restart(self.head_wait_max);
                self.phase.set(HEAD);
            }
            // Of a new connection, the time runs from its opening.
            _ => {}
        }
    }

    /// Nothing came: says whether it has been too long.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Registered before the look, so that an end in between is not missed.
        self.phase.0.task.register(context.waker());
        match self.phase.get() {
            BUSY => return Poll::Pending,
            RESTED => {
                self.restart(self.keep_alive_max);
                self.phase.set(RESTING);
            }
            _ => {}
        }
        self.read_clock.as_mut().poll(context)
    }

    /// A write did, or did not, get through: says whether the reader has been away for too long.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.write_clock = None;
            return outcome;
        }
        let wait = self.write_wait_max;
        let clock = self.write_clock.get_or_insert_with(|| Box::pin(sleep(wait)));
        ready!(clock.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<IO: AsyncRead + Unpin, H> Timed<IO, H> {
    /// Takes what still comes and drops it, until the other side is done or has had its time.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; LINGER_BUFFER_BYTES];
        let mut still_sends = self.phase.0.ends.load(Ordering::Acquire);
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            let outcome = Pin::new(&mut self.io).poll_read(context, &mut buffer);
            match outcome {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => still_sends = true,
                // It is done, or gone.
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            if still_sends {
                self.linger_clock.get_or_insert_with(|| Box::pin(sleep(LINGER_MAX)));
            }
            let Some(clock) = self.linger_clock.as_mut() else { return Poll::Ready(()) };
            if outcome.is_pending() || clock.is_elapsed() {
                return clock.as_mut().poll(context);
            }
        }
    }
}

impl<IO: AsyncRead + Unpin, H: Unpin> AsyncRead for Timed<IO, H> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_read(context, buffer);
        if outcome.is_ready() {
            self.came();
            return outcome;
        }
        ready!(self.poll_late(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin, H: Unpin> AsyncWrite for Timed<IO, H> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(context, buffer);
        self.written(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(context, buffers);
        self.written(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(context);
        self.written(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger_clock.is_none() {
            let outcome = Pin::new(&mut self.io).poll_shutdown(context);
            ready!(self.written(context, outcome))?;
        }
        self.poll_linger(context).map(Ok)
    }
}
