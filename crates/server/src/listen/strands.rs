//! Strands: threads that each serve some of the connections, with all that their requests do.
//!
//! Where threads share their tasks, a request that waits for a disk or a model wakes one thread after the other. In a strand
//! everything that belongs to a connection happens on one thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// How long what was begun on a thread besides may take to come to its end.
const ENDING_MAX: Duration = Duration::from_secs(5);

/// The threads of a server; they end with this value, which belongs to none of them.
pub struct Strands {
    open: OpenStrands,
    threads: Vec<JoinHandle<()>>,
    end: CancellationToken,
}

/// The ways into strands.
#[derive(Clone, Default)]
pub(crate) struct OpenStrands(Arc<[Strand]>);

struct Strand {
    handle: Handle,
    /// Connections that it serves.
    connections: Arc<AtomicUsize>,
}

/// A place in a strand; free again when it is dropped.
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Strands {
    /// Starts so many, each with a number of threads for what takes a moment.
    pub fn start(count: usize, working_threads_max: usize) -> io::Result<Self> {
        let end = CancellationToken::new();
        let (mut strands, mut threads) = (Vec::new(), Vec::new());
        for number in 1..=count {
            let mut builder = Builder::new_current_thread();
            let runtime = builder.max_blocking_threads(working_threads_max).enable_all().build()?;
            strands.push(Strand { handle: runtime.handle().clone(), connections: Arc::default() });
            let end = end.clone();
            let serve = move || {
                runtime.block_on(end.cancelled());
                runtime.shutdown_timeout(ENDING_MAX);
            };
            threads
                .push(std::thread::Builder::new().name(format!("strand-{number}")).spawn(serve)?);
        }
        Ok(Self { open: OpenStrands(strands.into()), threads, end })
    }

    pub(crate) fn open(&self) -> OpenStrands {
        self.open.clone()
    }
}

impl OpenStrands {
    /// The strand with the fewest connections, if there are strands.
    pub(super) fn take(&self) -> Option<(&Handle, Place)> {
        let busy = |strand: &&Strand| strand.connections.load(Ordering::Relaxed);
        let strand = self.0.iter().min_by_key(busy)?;
        strand.connections.fetch_add(1, Ordering::Relaxed);
        Some((&strand.handle, Place(Arc::clone(&strand.connections))))
    }
}

impl Drop for Strands {
    fn drop(&mut self) {
        self.end.cancel();
        for thread in self.threads.drain(..) {
            // It has said why it broke.
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_where_the_fewest_are() {
        let strands = Strands::start(2, 1).unwrap();
        let open = strands.open();
        let (first, place) = open.take().unwrap();
        let (second, _) = open.take().unwrap();
        assert_ne!(first.id(), second.id());
        // The second's place is free again.
        let (third, _third) = open.take().unwrap();
        assert_eq!(third.id(), second.id());
        drop(place);
        let (fourth, _fourth) = open.take().unwrap();
        assert_eq!(fourth.id(), first.id());
    }

    #[test]
    fn what_is_begun_in_a_strand_stays_on_its_thread_until_the_strands_end() {
        let strands = Strands::start(1, 1).unwrap();
        let open = strands.open();
        let (strand, _place) = open.take().unwrap();
        let here = || std::thread::current().name().map(str::to_owned);
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        strand.spawn(async move {
            let begun = Handle::current().spawn(async move { here() }).await.unwrap();
            tell.send((here(), begun)).unwrap();
            // It waits for good, and ends with the strands.
            std::future::pending::<()>().await;
            drop(tell);
        });
        let strand_1 = || Some("strand-1".to_owned());
        assert_eq!(told.recv().unwrap(), (strand_1(), strand_1()));
        drop(strands);
        assert!(told.recv().is_err(), "it has ended");
    }
}
