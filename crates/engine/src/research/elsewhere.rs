//! Follows a run that another process works on: what that one writes down is told here, and what is wanted here is left for it.

use std::sync::Arc;
use std::time::Duration;

use agent::names::TenantId;
use agent::ports::PortError;
use agent::research::journal::{Entry, Event, Steering};
use agent::research::run::Run;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::driving::check;
use super::live::{Live, Over};
use super::{ResearchParts, Wish, replayed};
use crate::error::EngineError;

/// How often is looked for what was written meanwhile: a person who watches takes it for at once.
const LOOK_PERIOD: Duration = Duration::from_millis(250);

/// How long after a lease a wish may still be granted: by then another process has the run.
const GRACE: Duration = Duration::from_secs(1);

/// A run of another process, and who watches it here.
pub(super) struct Elsewhere {
    pub(super) parts: Arc<ResearchParts>,
    pub(super) tenant: TenantId,
    /// As far as it is known here.
    pub(super) run: Run,
    /// Entries of the journal that are known here.
    pub(super) length: u64,
    pub(super) live: Arc<Live>,
    pub(super) wishes: mpsc::Receiver<Wish>,
}

impl Elsewhere {
    /// Goes on until the end of the run, or until nobody watches it here.
    pub(super) async fn follow(mut self) {
        let over = self.follow_on().await.unwrap_or_else(|error| {
            // Whoever watches comes back, and is told then whether it lasts.
            tracing::warn!(%error, run = %self.live.id, "a run of another process cannot be followed");
            Over::Left
        });
        self.live.end(over);
    }

    async fn follow_on(&mut self) -> Result<Over, EngineError> {
        let stopping = self.parts.tasks.stopping();
        loop {
            let is_watched = Arc::strong_count(&self.live) > 1 && self.live.is_on_its_way();
            if self.run.end_reason().is_some() || !is_watched {
                return Ok(Over::of(&self.run));
            }
            tokio::select! {
                Some(wish) = self.wishes.recv() => {
                    let Wish { steering, answer } = wish;
                    let _gone = answer.send(self.pass_on(steering).await);
                }
                () = sleep(LOOK_PERIOD) => {
                    self.look().await?;
                }
                () = stopping.cancelled() => return Ok(Over::Left),
            }
        }
    }

    /// Takes in what was written since, and gives it.
    async fn look(&mut self) -> Result<Vec<Entry>, EngineError> {
        let (journals, id) = (&self.parts.journals, self.live.id);
        let absent = || EngineError::Absent { what: "run" };
        let length = journals.length(&self.tenant, id).await?;
        if length.ok_or_else(absent)? == self.length {
            return Ok(Vec::new());
        }
        let kept = journals.run(&self.tenant, id).await?.ok_or_else(absent)?;
        let known = usize::try_from(self.length).unwrap_or(usize::MAX);
        let new = kept.entries.iter().skip(known).cloned().collect();
        self.length = kept.entries.len() as u64;
        self.run = replayed(kept)?;
        self.live.tell(&self.run);
        Ok(new)
    }

    /// Leaves a wish for the process that works on the run, and waits until it is written down there.
    async fn pass_on(&mut self, steering: Steering) -> Result<(), EngineError> {
        self.look().await?;
        check(&self.run, &steering, self.parts.clock.now())?;
        let journals = &self.parts.journals;
        journals.leave_wish(&self.tenant, self.live.id, steering.clone()).await?;
        let wanted = Event::Steered { steering };
        let late = Instant::now() + journals.lease().unwrap_or_default() + GRACE;
        while Instant::now() < late {
            if self.look().await?.iter().any(|entry| entry.event == wanted) {
                return Ok(());
            }
            sleep(LOOK_PERIOD).await;
        }
        let why =
            "the process that works on the run does not answer; another takes it over".to_owned();
        Err(EngineError::Port(PortError::Unavailable { what: "the run".to_owned(), why }))
    }
}
