//! Tells webhooks what happens: at least once, in order, and again later if nobody takes it, also over a restart.

use std::collections::HashSet;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use a2a::model::PushConfig;
use a2a::push::{self, Retry, RetryPolicy};
use agent::identity::Timestamp;
use agent::ports::{HookKey, Notice, PortError};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::TaskService;
use super::record::Letter;

/// The scheme by which a receiver asks for a signed token.
const JWT: &str = "JWT";

/// How long a token is good: a slow receiver, and clocks that differ.
const TOKEN_SECONDS: u64 = 300;

/// What became of the oldest notice of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// It is dealt with; there may be more.
    Done,
    /// There was none.
    Nothing,
    /// Saem is stopping: the rest is told at the next start.
    Stopping,
}

impl TaskService {
    /// Tells a webhook what waits for it, by itself; one teller at a time.
    pub(super) fn deliver(&self, hook: HookKey) {
        if !self.delivering().insert(hook.clone()) {
            return;
        }
        let service = self.clone();
        self.inner.parts.spawner.spawn(async move {
            if let Err(error) = service.deliver_all(&hook).await {
                service.delivering().remove(&hook);
                tracing::warn!(%error, "a webhook is told the rest later");
            }
        });
    }

    fn delivering(&self) -> MutexGuard<'_, HashSet<HookKey>> {
        self.inner.delivering.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn deliver_all(&self, hook: &HookKey) -> Result<(), PortError> {
        loop {
            match self.deliver_next(hook).await? {
                Delivery::Done => {}
                Delivery::Stopping => return Ok(()),
                Delivery::Nothing => {
                    self.delivering().remove(hook);
                    // Something may have come between the look and the goodbye.
                    let is_empty = self.inner.parts.outbox.next_notice(hook).await?.is_none();
                    if is_empty || !self.delivering().insert(hook.clone()) {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn deliver_next(&self, hook: &HookKey) -> Result<Delivery, PortError> {
        let outbox = &self.inner.parts.outbox;
        let Some(notice) = outbox.next_notice(hook).await? else { return Ok(Delivery::Nothing) };
        if !self.wait_until(notice.not_before).await {
            return Ok(Delivery::Stopping);
        }
        let stopping = self.inner.parts.spawner.stopping();
        let is_taken = tokio::select! {
            () = stopping.cancelled() => return Ok(Delivery::Stopping),
            posted = self.post(hook, &notice) => posted?,
        };
        match is_taken {
            // The webhook is gone, with all that it was to be told.
            None => outbox.told(hook, u64::MAX).await?,
            Some(true) => outbox.told(hook, notice.number).await?,
            Some(false) => self.not_taken(hook, &notice).await?,
        }
        Ok(Delivery::Done)
    }

    /// Whether it was taken; none if there is no such webhook any more.
    async fn post(&self, hook: &HookKey, notice: &Notice) -> Result<Option<bool>, PortError> {
        let now = self.inner.parts.clock.now();
        let kept = self.inner.parts.tasks.task(&hook.task, now).await?;
        let Some(kept) = kept else { return Ok(None) };
        let record = super::record::Record::read(&kept.body)?;
        let Some(known) = record.hook(&hook.hook) else { return Ok(None) };
        let Ok(letter) = serde_json::from_slice::<Letter>(&notice.body) else { return Ok(None) };
        let headers = push::headers(&known.config).into_iter();
        let mut headers: Vec<(String, String)> =
            headers.map(|(name, value)| (name.to_owned(), value)).collect();
        headers.push(("Content-Type".to_owned(), letter.media_type));
        if let Some(token) = self.token(hook, notice, &known.config, &letter.body) {
            headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        let Ok(_place) = self.inner.deliveries.acquire().await else { return Ok(Some(false)) };
        let posting = self.inner.parts.posts.post(&known.config.url, headers, letter.body.into());
        Ok(Some(match posting.await {
            Ok(status) => RetryPolicy::is_taken(status),
            Err(error) => {
                tracing::debug!(%error, "a webhook was not reached");
                false
            }
        }))
    }

    /// A token for a receiver that wants one instead of credentials of its own: it says who sends what to whom, and when.
    fn token(
        &self,
        hook: &HookKey,
        notice: &Notice,
        config: &PushConfig,
        body: &str,
    ) -> Option<String> {
        let authentication = config.authentication.as_ref()?;
        let mut schemes = authentication.schemes.iter();
        let wants_one = schemes.any(|scheme| scheme.eq_ignore_ascii_case(JWT));
        let signer = self.inner.parts.signer.as_ref();
        let signer = signer.filter(|_| wants_one && authentication.credentials.is_none())?;
        let now = self.inner.parts.clock.now().0 / 1000;
        let hash = Sha256::digest(body);
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        signer.token(&json!({
            "iss": self.inner.rules.issuer,
            "aud": config.url,
            "iat": now,
            "exp": now + TOKEN_SECONDS,
            // The same when it is sent again, so that a receiver can tell.
            "jti": format!("{}-{}", hook.hook, notice.number),
            "taskId": hook.task.id,
            "request_body_sha256": hash,
        }))
    }

    async fn not_taken(&self, hook: &HookKey, notice: &Notice) -> Result<(), PortError> {
        let (outbox, failures) = (&self.inner.parts.outbox, notice.failures.saturating_add(1));
        match self.inner.rules.retries.after(failures) {
            Retry::GiveUp => {
                let (task, name) = (&hook.task.id, &hook.hook);
                tracing::warn!(task, hook = name, failures, "a webhook was given up");
                outbox.told(hook, u64::MAX).await
            }
            Retry::After(wait) => {
                let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                let now = self.inner.parts.clock.now().0;
                let not_before = Timestamp(now.saturating_add(wait));
                outbox.put_off(hook, notice.number, failures, not_before).await
            }
        }
    }

    /// False if Saem stops before.
    async fn wait_until(&self, moment: Timestamp) -> bool {
        let left = moment.0.saturating_sub(self.inner.parts.clock.now().0);
        let stopping = self.inner.parts.spawner.stopping();
        tokio::select! {
            () = stopping.cancelled() => false,
            () = tokio::time::sleep(Duration::from_millis(left)) => true,
        }
    }
}
