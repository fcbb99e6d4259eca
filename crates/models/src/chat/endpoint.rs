//! One model server: its address and key, how many may ask at once, and whether it is asked at all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::model::Limit;
use agent::ports::PortError;
use reqwest::Url;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::breaker::{Breaker, Verdict};
use super::response::Way;
use crate::http::{self, SecretKey};
use crate::line::Line;

/// Whose settings messages speak of.
const WHOSE: &str = "the model server";

/// Longest time for which a server is left in peace, whatever the settings say.
const REST_MAX: Duration = Duration::from_secs(3600);

/// Where a model server is and how much it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointSettings {
    /// Up to the version: `https://api.openai.com/v1`.
    pub base_url: String,
    pub api_key: Option<SecretKey>,
    pub connect_time_max: Duration,
    /// Requests on the way at once, over all models and callers.
    pub concurrency_max: usize,
    /// Requests that wait for their turn; more are refused at once.
    pub waiting_max: usize,
    /// Failures in a row after which the server is left in peace.
    pub failures_max: u32,
    /// For how long it is left in peace.
    pub rest: Duration,
}

impl EndpointSettings {
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            connect_time_max: Duration::from_secs(5),
            // Hosted models take hundreds; a local one answers them one after another, which waiting here does too.
            concurrency_max: 64,
            // Each is a person who waits: beyond this, a quick refusal is kinder.
            waiting_max: 1024,
            // Enough that a lost connection or two change nothing.
            failures_max: 5,
            // Long enough to spare a server that starts, short enough that nobody gives up on it.
            rest: Duration::from_secs(10),
        }
    }
}

/// A model server, shared by all models that it offers.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) way: Way,
    pub(super) settings: EndpointSettings,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    breaker: Mutex<Breaker>,
}

impl Endpoint {
    /// Checks the settings; nothing is sent.
    pub fn new(settings: EndpointSettings) -> Result<Arc<Self>, PortError> {
        let chat = http::address(WHOSE, &settings.base_url, "chat/completions")?;
        let concurrency = settings.concurrency_max.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Arc::new(Self {
            way: way(chat, &settings)?,
            permits: Arc::new(Semaphore::new(concurrency)),
            waiting: AtomicUsize::new(0),
            breaker: Mutex::new(Breaker::new(settings.failures_max, settings.rest.min(REST_MAX))),
            settings,
        }))
    }

    /// A place among those who may ask at once, kept until it is dropped.
    pub(super) async fn enter(&self) -> Result<OwnedSemaphorePermit, Limit> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let waiting_max = self.settings.waiting_max;
        let place = Waiting::join(&self.waiting);
        if place.before >= waiting_max {
            return Err(Limit::Waiting(waiting_max));
        }
        // The semaphore is never closed; were it, nobody could ask.
        Arc::clone(&self.permits).acquire_owned().await.map_err(|_| Limit::Waiting(waiting_max))
    }

    /// Leave to ask now; else for how long the server is left in peace.
    pub(super) fn ask(self: &Arc<Self>) -> Result<Trial, Duration> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner).ask(Instant::now())?;
        Ok(Trial { endpoint: Arc::clone(self), verdict: Verdict::Unknown })
    }

    pub(super) fn clean(&self, words: &str) -> String {
        http::clean(words, self.settings.api_key.as_ref())
    }
}

fn way(chat: Url, settings: &EndpointSettings) -> Result<Way, PortError> {
    let (key, connect_time_max) = (settings.api_key.as_ref(), settings.connect_time_max);
    if chat.scheme() == "http" {
        let headers = http::headers(WHOSE, key)?;
        let line = Line::new(&chat, &headers, connect_time_max, settings.concurrency_max);
        return Ok(Way::Plain(line));
    }
    let client = http::client(WHOSE, &chat, key, |builder| {
        // Tokens are small and wanted at once, and a packed answer may be a bomb: none is asked for.
        builder.connect_timeout(connect_time_max).no_gzip()
    })?;
    Ok(Way::Encrypted { client, chat })
}

/// One who waits, counted for as long as it does.
struct Waiting<'a> {
    count: &'a AtomicUsize,
    before: usize,
}

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One request to the server. When it is dropped, the breaker learns what came of it.
#[derive(Debug)]
pub(super) struct Trial {
    endpoint: Arc<Endpoint>,
    pub(super) verdict: Verdict,
}

impl Drop for Trial {
    fn drop(&mut self) {
        let mut breaker = self.endpoint.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        breaker.learn(self.verdict, Instant::now());
    }
}
