//! Callers at the same time: each has a connection of its own, and takes the next request when its last is answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::http::Connection;

/// Sends requests number 0 to `times` over these connections; gives what `send` found of each, in no order, and how long all took.
pub(crate) fn play<T: Send>(
    connections: Vec<Connection>,
    times: usize,
    send: impl Fn(&mut Connection, usize) -> Result<T> + Sync,
) -> Result<(Vec<T>, Duration)> {
    let next = AtomicUsize::new(0);
    let call = |mut to: Connection| -> Result<Vec<T>> {
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= times {
                return Ok(found);
            }
            found.push(send(&mut to, number)?);
        }
    };
    let start = Instant::now();
    let found = std::thread::scope(|scope| -> Result<Vec<T>> {
        let callers: Vec<_> = connections.into_iter().map(|to| scope.spawn(|| call(to))).collect();
        let mut all = Vec::with_capacity(times);
        for caller in callers {
            all.extend(caller.join().map_err(|_| anyhow::anyhow!("a caller broke"))??);
        }
        Ok(all)
    })?;
    Ok((found, start.elapsed()))
}
