//! Sees from time to time whether agents are there, takes up what their cards say now, and gives up those that are gone.

use std::time::Duration;

use a2a::model::AgentCard;
use a2a::registry::changes::is_breaking;
use a2a::registry::health::{Health, Outcome};
use agent::names::TenantId;
use futures_util::StreamExt as _;

use super::cards::checked;
use super::changing::ending;
use super::{Catalogue, CatalogueError, Listed, read};

/// Checks at the same time: a catalogue is no reason to keep a machine or a network busy.
const AT_ONCE_MAX: usize = 8;

/// How often it is looked whether a check is due; checks themselves are minutes apart.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Who gives agents up, in the audit log.
const CHECKER: &str = "saem";

/// What a round of checks did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    pub answered: usize,
    pub failed: usize,
    pub updated: usize,
    pub evicted: usize,
}

impl Catalogue {
    /// Checks agents until everything ends.
    pub fn keep_checking(&self) {
        let (catalogue, stop) = (self.clone(), self.shared.parts.tasks.stopping());
        self.shared.parts.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                }
                let round = tokio::select! {
                    () = stop.cancelled() => return,
                    round = catalogue.check_due() => round,
                };
                match round {
                    Ok(Round { answered: 0, failed: 0, .. }) => {}
                    Ok(round) => tracing::debug!(?round, "checked agents of the catalogue"),
                    Err(error) => {
                        tracing::warn!(%error, "agents of the catalogue were not checked")
                    }
                }
            }
        });
    }

    /// Checks every agent that is due now.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn check_due(&self) -> Result<Round, CatalogueError> {
        let now = self.now();
        let policy = &self.shared.rules.health;
        let is_due = |health: &Health| health.next_check(policy).is_none_or(|due| due <= now);
        let due: Vec<(String, String)> = self
            .listed()
            .iter()
            .filter(|listed| is_due(&listed.entry.health))
            .filter_map(|listed| Some((listed.entry.identifier.clone(), address(listed)?)))
            .collect();
        let fetching = due.into_iter().map(|(identifier, address)| async move {
            let fetched = self.fetch_card(&address).await;
            // A card that breaks the rules is as good as none.
            let card = fetched.ok().map(|it| it.card).filter(|card| checked(card).is_ok());
            (identifier, card)
        });
        let found: Vec<(String, Option<AgentCard>)> =
            futures_util::stream::iter(fetching).buffer_unordered(AT_ONCE_MAX).collect().await;
        let mut round = Round::default();
        let mut outcomes = Vec::new();
        for (identifier, card) in found {
            match card {
                Some(card) => {
                    round.answered += 1;
                    outcomes.push((identifier.clone(), Outcome::Answered));
                    round.updated += usize::from(self.take_up(&identifier, card).await?);
                }
                None => {
                    round.failed += 1;
                    outcomes.push((identifier, Outcome::Failed));
                }
            }
        }
        let _turn = self.shared.changing.acquire().await.map_err(|_| ending())?;
        self.note(outcomes).await?;
        round.evicted = self.give_up().await?;
        Ok(round)
    }

    /// Keeps what a card says now, if it is of an agent that was registered by its address; says whether it is new.
    async fn take_up(&self, identifier: &str, card: AgentCard) -> Result<bool, CatalogueError> {
        let _turn = self.shared.changing.acquire().await.map_err(|_| ending())?;
        let Some(kept) = self.shared.parts.entries.entry(identifier).await? else {
            return Ok(false);
        };
        let mut entry = read(&kept)?;
        let before = entry.versions.last().map(|version| version.number);
        if entry.source.is_none() {
            return Ok(false);
        }
        let changes = entry.update(card, self.now());
        if entry.versions.last().map(|version| version.number) == before {
            return Ok(false);
        }
        let action = if is_breaking(&changes) { "agents.update-breaking" } else { "agents.update" };
        let owner = owner(&entry.owner);
        self.keep(&entry, kept.revision, &owner, CHECKER, action).await?;
        Ok(true)
    }

    /// Notes what checks found. Whoever calls has the turn.
    pub(super) async fn note(
        &self,
        outcomes: Vec<(String, Outcome)>,
    ) -> Result<(), CatalogueError> {
        let now = self.now();
        let mut written = Vec::new();
        let mut seen: Vec<(String, Listed)> = Vec::new();
        for (identifier, outcome) in outcomes {
            let Some(listed) = self.one(&identifier) else { continue };
            let mut health = listed.entry.health.clone();
            health.observe(outcome, now);
            written.push((identifier.clone(), serde_json::to_vec(&health).unwrap_or_default()));
            seen.push((identifier, listed.with_health(health)));
        }
        if written.is_empty() {
            return Ok(());
        }
        self.shared.parts.entries.note_health(written).await?;
        for (identifier, listed) in seen {
            self.show(&identifier, Some(listed));
        }
        Ok(())
    }

    /// Drops the agents that have been gone for too long; says how many.
    async fn give_up(&self) -> Result<usize, CatalogueError> {
        let (now, policy) = (self.now(), &self.shared.rules.health);
        let mut evicted = 0;
        for listed in self.listed() {
            let entry = &listed.entry;
            if entry.health.is_given_up(policy, now) {
                let owner = owner(&entry.owner);
                let name = entry.identifier.as_str();
                self.forget(name, listed.revision, &owner, CHECKER, "agents.evict").await?;
                evicted += 1;
            }
        }
        Ok(evicted)
    }
}

/// Where an agent is looked for: where its card came from, or else at the address that it says.
fn address(listed: &Listed) -> Option<String> {
    let said = || listed.entry.card()?.interfaces.iter().find(|one| one.url.starts_with("http"));
    let origin = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        Some(format!("{scheme}://{}", rest.split(['/', '?', '#']).next()?))
    };
    listed.entry.source.clone().or_else(|| origin(&said()?.url))
}

/// The tenant in whose log it is told.
fn owner(name: &str) -> TenantId {
    name.parse().unwrap_or_else(|_| TenantId::local())
}
