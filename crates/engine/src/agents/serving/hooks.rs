//! Webhooks of tasks: set, shown and taken away by the task's owner.

use a2a::error::Error;
use a2a::ids::{PushConfigId, TaskId};
use a2a::limits::PAGE_SIZE_DEFAULT;
use a2a::model::{PushConfig, PushPage};
use a2a::version::Version;
use agent::identity::Principal;
use agent::ports::HookKey;

use super::{TaskService, failed, key};

impl TaskService {
    /// Sets a webhook, in the place of the one with its name.
    pub async fn create_push(
        &self,
        principal: &Principal,
        version: Version,
        config: PushConfig,
    ) -> Result<PushConfig, Error> {
        self.check_hook(&config)?;
        let config = self.named_hook(config)?;
        let task = config.task.clone().ok_or_else(Error::task_not_found)?;
        let (service, key) = (self.clone(), key(principal, &task));
        self.detached(async move {
            let live = service.inner.lives.of(&key);
            let set = config.clone();
            let changed = service.change(&live, &key, |record, _| {
                record.set_hook(set.clone(), version)?;
                Ok(Vec::new())
            });
            changed.await?;
            Ok(config)
        })
        .await
    }

    /// Shows a webhook: the one of this name, or the first.
    pub async fn get_push(
        &self,
        principal: &Principal,
        task: &TaskId,
        config: Option<&PushConfigId>,
    ) -> Result<PushConfig, Error> {
        let (record, _) = self.load(&key(principal, task)).await?;
        let found = match config {
            Some(id) => record.hook(id.as_str()),
            None => record.hooks.first(),
        };
        found.map(|hook| hook.config.clone()).ok_or_else(Error::task_not_found)
    }

    pub async fn list_push(
        &self,
        principal: &Principal,
        task: &TaskId,
        page_size: Option<u32>,
        page_token: Option<&str>,
    ) -> Result<PushPage, Error> {
        let (record, _) = self.load(&key(principal, task)).await?;
        let wrong = || Error::violation("pageToken", "is the one of the page before");
        let start: usize = match page_token {
            None => 0,
            Some(token) => token.parse().map_err(|_| wrong())?,
        };
        let size = page_size.filter(|size| *size > 0).unwrap_or(PAGE_SIZE_DEFAULT);
        let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        let all = record.hooks.iter().map(|hook| hook.config.clone());
        let configs = all.skip(start).take(end - start).collect();
        let has_more = end < record.hooks.len();
        Ok(PushPage { configs, next_page_token: has_more.then(|| end.to_string()) })
    }

    /// Takes a webhook away, with what it was still to be told; one that is not there has been taken away.
    pub async fn delete_push(
        &self,
        principal: &Principal,
        task: &TaskId,
        config: &PushConfigId,
    ) -> Result<(), Error> {
        let (service, key, config) = (self.clone(), key(principal, task), config.clone());
        self.detached(async move {
            let live = service.inner.lives.of(&key);
            let changed = service.change(&live, &key, |record, _| {
                record.remove_hook(&config);
                Ok(Vec::new())
            });
            changed.await?;
            let hook = HookKey { task: key, hook: config.to_string() };
            service.inner.parts.outbox.told(&hook, u64::MAX).await.map_err(failed)
        })
        .await
    }

    /// Refuses an address that could not be reached anyway. It is checked again each time that it is used.
    pub(super) fn check_hook(&self, config: &PushConfig) -> Result<(), Error> {
        self.inner.parts.posts.check(&config.url).map_err(|error| {
            tracing::debug!(%error, "a webhook was refused");
            Error::violation("url", "is an address that this agent may call")
        })
    }

    pub(super) fn named_hook(&self, config: PushConfig) -> Result<PushConfig, Error> {
        let id = match config.id.clone() {
            Some(id) => id,
            None => self.fresh_id()?,
        };
        Ok(PushConfig { id: Some(id), ..config })
    }
}
