//! What was found for a run, and the words of it that are at hand.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::citation::{Located, locate};
use super::message::{Moment, ProviderId, Uuid};
use crate::text::clip;

/// Longest text that is kept of one source, in bytes: a long article, or what a search gives of a document.
pub const TEXT_BYTES_MAX: usize = 200_000;

/// Longest title, address and date of a stranger, in bytes.
const FIELD_BYTES_MAX: usize = 2_000;

/// One finding of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Names what was found at its provider: the same place is the same source.
    pub place: String,
    pub title: String,
    /// Where a reader can look it up; none where there is no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// When it was published or last changed, as its provider says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// What the search gives of its text.
    pub text: String,
    /// Where that stands in the whole, in bytes.
    pub start: u64,
    /// The whole text can be read at the address, and `text` may be words about it.
    #[serde(default)]
    pub is_summary: bool,
}

/// Something that a report may cite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub id: Uuid,
    pub provider: ProviderId,
    pub place: String,
    pub title: String,
    pub address: Option<String>,
    pub published: Option<String>,
    pub accessed: Moment,
    /// What is at hand of its text, in the order of finding.
    pub excerpts: Vec<Excerpt>,
    /// Only words about it are at hand: the text itself has not been read.
    pub is_summary: bool,
    /// The steps of the plan that it was found for.
    pub steps: Vec<u32>,
}

/// A stretch of a source's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    /// Where it stands in the whole, in bytes.
    pub start: u64,
    pub text: String,
}

impl Source {
    #[must_use]
    pub fn new(id: Uuid, provider: ProviderId, hit: Hit, step: u32, accessed: Moment) -> Self {
        let short = |text: String| clip(&text, FIELD_BYTES_MAX).to_owned();
        let mut source = Self {
            id,
            provider,
            place: hit.place,
            title: short(hit.title),
            address: hit.address.map(short),
            published: hit.published.map(short),
            accessed,
            excerpts: Vec::new(),
            is_summary: hit.is_summary,
            steps: vec![step],
        };
        source.add(hit.start, &hit.text);
        source
    }

    /// Takes another stretch of its text, unless it is there already or there is no room.
    pub fn add(&mut self, start: u64, text: &str) {
        let text = clip(text, TEXT_BYTES_MAX.saturating_sub(self.text_bytes()));
        let is_known = self.excerpts.iter().any(|known| known.text.contains(text));
        if !text.trim().is_empty() && !is_known {
            self.excerpts.push(Excerpt { start, text: text.to_owned() });
        }
    }

    /// Takes the whole text in the place of what was said about it.
    pub fn read(&mut self, text: &str) {
        self.excerpts.clear();
        self.is_summary = false;
        self.add(0, text);
    }

    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.excerpts.iter().map(|excerpt| excerpt.text.len()).sum()
    }

    /// All that is at hand, stretch after stretch.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.excerpts.iter().map(|excerpt| excerpt.text.as_str()).collect();
        texts.join("\n\n")
    }

    /// Where a quote stands in the whole.
    #[must_use]
    pub fn locate(&self, quote: &str) -> Option<Located> {
        let found = self.excerpts.iter().filter_map(|excerpt| {
            let found = locate(quote, &excerpt.text)?;
            let start = usize::try_from(excerpt.start).ok()?;
            let range = Range { start: start + found.range.start, end: start + found.range.end };
            Some(Located { range, ..found })
        });
        // Word for word before nearly so.
        found.min_by_key(|found| found.verdict as u8)
    }

    /// The words that stand at a place of the whole.
    #[must_use]
    pub fn words(&self, range: &Range<usize>) -> Option<String> {
        self.excerpts.iter().find_map(|excerpt| {
            let start = usize::try_from(excerpt.start).ok()?;
            let part = range.start.checked_sub(start)?..range.end.checked_sub(start)?;
            excerpt.text.get(part).map(str::to_owned)
        })
    }

    /// Where it comes from, for counting how many different places there are: a host, the tool or agent that said it, or
    /// the document itself.
    #[must_use]
    pub fn domain(&self) -> &str {
        let host = self.address.as_deref().and_then(|address| address.split_once("://"));
        let host = host.and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        let is_said = self.provider.callee().is_some();
        host.unwrap_or(if is_said { self.provider.as_str() } else { &self.place })
    }
}
