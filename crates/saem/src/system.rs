//! What the machine gives: the time, chance, signals, and for tests a place to be interrupted at.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use agent::identity::Timestamp;
use agent::ports::{Clock, Entropy, Failpoints, NoFailpoints, PortError};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everybody else is given")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Timestamp(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

/// The machine's source of chance.
pub(crate) struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        getrandom::fill(bytes).map_err(|error| PortError::Unavailable {
            what: "the system's source of random numbers".to_owned(),
            why: error.to_string(),
        })
    }
}

/// Hears Ctrl-C and the request to end in good order, from the moment it is made.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Needs a runtime; before this, either signal ends the process at once.
    pub(crate) fn heard() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Ends the process the n-th time that a point is reached, as a power cut would.
struct Interrupt {
    point: String,
    left: AtomicU32,
}

impl Failpoints for Interrupt {
    fn reached(&self, point: &'static str) {
        if point == self.point && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    }
}

/// Points as `SAEM_FAILPOINT=name:count` sets them; release builds have none.
pub(crate) fn failpoints(setting: Option<&str>) -> Arc<dyn Failpoints> {
    let Some(setting) = setting.filter(|_| cfg!(debug_assertions)) else {
        return Arc::new(NoFailpoints);
    };
    let (point, count) = setting.split_once(':').unwrap_or((setting, "1"));
    let left = AtomicU32::new(count.parse().unwrap_or(1));
    Arc::new(Interrupt { point: point.to_owned(), left })
}
