//! Finds agents: by what they have, by words, best first. Everything here is made of what the caller sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use a2a::registry::disclosure::{Caller, View, view};
use a2a::registry::facets::{Counts, Facet, count};
use a2a::registry::health::{Condition, Health};
use a2a::registry::query::{Query, matches, rank};
use a2a::registry::{CardVersion, Entry};
use a2a::timestamp::Timestamp;
use agent::ports::EmbedFor;
use agent::shortlist::{RELEVANCE_MIN, ShortQuestion};

use super::{Catalogue, CatalogueError, Listed, read};

/// Texts that are embedded for one search at most; those of later ones follow with the next.
const EMBEDDED_MAX: usize = 2048;

/// Texts that are embedded together.
const BATCH: usize = 64;

/// Longest question, in bytes.
const QUESTION_BYTES_MAX: usize = 4096;

/// Values of a facet that are given.
const FACET_VALUES: usize = 20;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Find {
    /// In Korean or English; without it all agents that fit, those that answer their checks first.
    pub text: Option<String>,
    pub query: Query,
    pub limit: usize,
    /// `next` of the page before.
    pub after: Option<String>,
}

/// An agent as its caller sees it, and how it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub view: View,
    /// 0 to 100; 0 if nothing was asked in words.
    pub relevance: u8,
    pub condition: Condition,
    /// Checks that the agent answered, in thousandths.
    pub uptime_thousandths: Option<u32>,
    pub last_check: Option<Timestamp>,
    pub registered_at: Timestamp,
}

/// Agents, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPage {
    pub found: Vec<Found>,
    pub total: usize,
    pub next: Option<String>,
    /// Over all that were found, on whatever page.
    pub facets: BTreeMap<&'static str, Counts>,
}

/// What only the owner of an agent and the catalogue's keepers see of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    pub entry: Entry,
}

impl Own {
    /// The versions of the card, the newest last.
    #[must_use]
    pub fn versions(&self) -> &[CardVersion] {
        &self.entry.versions
    }
}

impl Catalogue {
    /// Finds agents.
    ///
    /// # Errors
    /// If the question is too long, or `after` belongs to another question.
    pub async fn find(&self, caller: &Caller, find: &Find) -> Result<FoundPage, CatalogueError> {
        let found = self.matching(caller, find.text.as_deref(), |view| matches(&find.query, view));
        let found = found.await?;
        let facets = Facet::ALL
            .into_iter()
            .map(|(facet, name)| {
                (name, count(found.iter().map(|it| &it.view), facet, FACET_VALUES, 1))
            })
            .collect();
        let asked = format!("{:?} {:?}", find.text, find.query);
        let (found, total, next) = page(found, &asked, find.after.as_deref(), find.limit)?;
        Ok(FoundPage { found, total, next, facets })
    }

    /// One agent as the caller sees it, with all that is kept of it if it is the caller's own.
    ///
    /// # Errors
    /// If there is none that the caller sees.
    pub async fn show_one(
        &self,
        caller: &Caller,
        identifier: &str,
    ) -> Result<(Found, Option<Own>), CatalogueError> {
        let listed = self.one(identifier).ok_or(CatalogueError::Absent)?;
        let found = self.found(&listed, caller).ok_or(CatalogueError::Absent)?;
        if !found.view.is_own {
            return Ok((found, None));
        }
        let kept = self.shared.parts.entries.entry(identifier).await?;
        let own = kept.as_ref().map(read).transpose()?.map(|entry| Own { entry });
        Ok((found, own))
    }

    /// All that the caller sees and that fits, best first. With a text, only what is about it.
    pub(super) async fn matching(
        &self,
        caller: &Caller,
        text: Option<&str>,
        fits: impl Fn(&View) -> bool,
    ) -> Result<Vec<Found>, CatalogueError> {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        if text.is_some_and(|text| text.len() > QUESTION_BYTES_MAX) {
            let why = format!("the question has more than {QUESTION_BYTES_MAX} bytes");
            return Err(CatalogueError::Refused(why));
        }
        let policy = &self.shared.rules.health;
        let mut seen: Vec<(Found, Arc<Listed>)> = Vec::new();
        for listed in self.listed() {
            seen.extend(self.found(&listed, caller).map(|found| (found, listed)));
        }
        if let Some(text) = text {
            self.judge(text, caller, &mut seen).await;
            seen.retain(|(found, _)| found.relevance >= RELEVANCE_MIN);
        }
        // After the words: what a word is worth depends on what the caller sees, not on what else was asked.
        seen.retain(|(found, _)| fits(&found.view));
        let place = |found: &Found, health: &Health| rank(found.relevance, health, policy);
        // Stable, and the list was in the order of identifiers.
        seen.sort_by_key(|(found, listed)| std::cmp::Reverse(place(found, &listed.entry.health)));
        Ok(seen.into_iter().map(|(found, _)| found).collect())
    }

    fn found(&self, listed: &Listed, caller: &Caller) -> Option<Found> {
        let health = &listed.entry.health;
        Some(Found {
            view: view(&listed.entry, caller)?,
            relevance: 0,
            condition: health.condition(&self.shared.rules.health),
            uptime_thousandths: health.uptime_thousandths(),
            last_check: health.last_check,
            registered_at: listed.entry.registered_at,
        })
    }

    async fn judge(&self, text: &str, caller: &Caller, seen: &mut [(Found, Arc<Listed>)]) {
        let vector = self.embed_question(text).await;
        if vector.is_some() {
            self.embed_missing(seen).await;
        }
        let question = ShortQuestion::of(text, vector);
        let things: Vec<_> = seen
            .iter()
            .map(|(found, listed)| {
                let counts = listed
                    .texts
                    .iter()
                    .filter(|text| found.view.is_own || text.indexed.is_for(caller));
                counts.map(|text| (&text.terms, text.vector.get().map(Vec::as_slice))).collect()
            })
            .collect();
        let relevances = question.relevances(&things);
        for ((found, _), relevance) in seen.iter_mut().zip(relevances) {
            found.relevance = relevance;
        }
    }

    /// Without an embedder, or with one that is away, words have to do.
    async fn embed_question(&self, text: &str) -> Option<Vec<f32>> {
        let embedder = &self.shared.parts.embedder;
        if embedder.dimensions() == 0 {
            return None;
        }
        match embedder.embed(&[text.to_owned()], EmbedFor::Query).await {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) => {
                tracing::warn!(%error, "a question to the catalogue is searched by its words alone");
                None
            }
        }
    }

    async fn embed_missing(&self, seen: &[(Found, Arc<Listed>)]) {
        let texts = seen.iter().flat_map(|(_, listed)| &listed.texts);
        let missing: Vec<_> =
            texts.filter(|text| text.vector.get().is_none()).take(EMBEDDED_MAX).collect();
        for batch in missing.chunks(BATCH) {
            let texts: Vec<String> = batch.iter().map(|text| text.indexed.text.clone()).collect();
            let Ok(vectors) = self.shared.parts.embedder.embed(&texts, EmbedFor::Passage).await
            else {
                return;
            };
            for (text, vector) in batch.iter().zip(vectors) {
                // Somebody else may have been faster, with the same.
                _ = text.vector.set(vector);
            }
        }
    }
}

/// A page of a list, how long the list is, and where the next page starts.
pub(super) fn page<T>(
    all: Vec<T>,
    asked: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<T>, usize, Option<String>), CatalogueError> {
    let mark = number(asked);
    let from = match after {
        None => 0,
        Some(after) => place(after, mark).ok_or_else(|| {
            CatalogueError::Refused("the page token belongs to another question".to_owned())
        })?,
    };
    let total = all.len();
    let page: Vec<T> = all.into_iter().skip(from).take(limit).collect();
    let end = from + page.len();
    let next = (end < total && !page.is_empty()).then(|| format!("{end}-{mark:016x}"));
    Ok((page, total, next))
}

/// The token of a page that starts at `place`.
pub(super) fn token(asked: &str, place: usize) -> String {
    format!("{place}-{:016x}", number(asked))
}

fn place(token: &str, mark: u64) -> Option<usize> {
    let (place, of) = token.split_once('-')?;
    (u64::from_str_radix(of, 16).ok()? == mark).then(|| place.parse().ok())?
}

/// FNV-1a of 64 bits: it tells questions apart, and keeps nothing secret.
fn number(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
