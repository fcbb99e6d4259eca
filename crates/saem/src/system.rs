//! What the machine gives: the time, chance, signals, and for tests a place to be interrupted at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use agent::identity::Timestamp;
use agent::ports::{Clock, Entropy, Failpoints, NoFailpoints, PortError};

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

/// Waits for Ctrl-C or the request to end in good order.
pub(crate) async fn asked_to_stop() {
    let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    match terminate {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => {
            let _heard = tokio::signal::ctrl_c().await;
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
