//! What the tools take and give, as their schemas say it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::wire::chat::{CitationBody, MenuBody};

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchAll {
    /// The question or words, in Korean or English.
    pub(super) query: String,
    /// Only in this collection.
    #[serde(default)]
    pub(super) collection: Option<String>,
    /// This many passages, at most 50, instead of the usual shares of FAQs and guides.
    #[serde(default)]
    pub(super) count: Option<usize>,
    #[serde(default)]
    pub(super) mode: SearchMode,
}

/// Which sides of the index are asked.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SearchMode {
    #[default]
    Hybrid,
    Keyword,
    Vector,
}

/// Which tags to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchByMetadata {
    /// Conditions that all have to hold: `has_steps=true`, `plan=pro|team`, `updated_at>=2026-01-01`.
    pub(super) conditions: Vec<String>,
    /// Words that order what fulfils them; newest first without.
    #[serde(default)]
    pub(super) query: String,
    #[serde(default)]
    pub(super) collection: Option<String>,
    /// This many passages, at most 50.
    #[serde(default)]
    pub(super) count: Option<usize>,
}

/// Which section, and how much around it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetSection {
    /// The section's id, as passages show it.
    pub(super) section: String,
    /// Levels to climb: 1 for the section above.
    #[serde(default)]
    pub(super) up: u8,
    /// Sections of the same level before and after it.
    #[serde(default)]
    pub(super) neighbours: u8,
    /// Most tokens of text.
    #[serde(default)]
    pub(super) tokens: Option<usize>,
}

/// A question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    pub(super) question: String,
    /// The conversation to go on with; a new one, if left out.
    #[serde(default)]
    pub(super) session: Option<String>,
}

/// An answer with its sources.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answered {
    pub(super) answer: String,
    /// `answered`, `partial`, `from_conversation`, `small_talk`, `not_found`, `in_preparation`, `long` or `incomplete`.
    pub(super) outcome: String,
    /// Pass it to ask on.
    pub(super) session: String,
    pub(super) turn: String,
    pub(super) citations: Vec<CitationBody>,
    pub(super) menu: Vec<MenuBody>,
    pub(super) notes: Vec<String>,
}

/// Which documents.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListDocuments {
    #[serde(default)]
    pub(super) collection: Option<String>,
    /// `next` of the page before.
    #[serde(default)]
    pub(super) after: Option<String>,
    /// At most 200.
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

/// A document: its text and name, or the address to fetch it from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IngestDocument {
    /// The document's name, unique in its collection; its ending says the format.
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    /// Instead of `text`: an http(s) address.
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) collection: Option<String>,
    /// `faq`, `guide` or any other word.
    #[serde(default, rename = "type")]
    pub(super) doc_type: Option<String>,
    /// Such as `text/markdown`, if the name does not tell.
    #[serde(default)]
    pub(super) media_type: Option<String>,
}
