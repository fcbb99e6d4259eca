//! What a judge says of the passages.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Most things that a verdict may miss, and the longest query that it may want searched, in bytes.
const MISSING_MAX: usize = 8;
const QUERY_BYTES_MAX: usize = 500;

/// Order, sufficiency and what to do about it, in one go. Passages are counted from 0 here, and from 1 on the wire:
/// models see them as `[1]`, `[2]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verdict")]
pub struct Verdict {
    /// The numbers of the passages that help to answer the question, the best first; leave out those that do not.
    #[serde(with = "from_one")]
    #[schemars(with = "Vec<u32>", length(max = 20))]
    pub ranked_indices: Vec<usize>,
    /// Whether these passages are enough for a complete and correct answer.
    pub is_sufficient: bool,
    /// What is missing for it, such as "steps", "conditions", "prices"; empty if nothing.
    #[schemars(length(max = 8))]
    pub missing: Vec<String>,
    /// "get_section" to read the whole section of the best passage, "search_again" to search with refined_query, or null.
    pub next_action: Option<NextAction>,
    /// The better query for search_again; null otherwise.
    pub refined_query: Option<String>,
    /// How sure it is that the passages are about what was asked: 0 to 1.
    pub confidence: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    GetSection,
    SearchAgain,
}

/// Written out, as models follow a plain list of words best.
impl JsonSchema for NextAction {
    fn schema_name() -> Cow<'static, str> {
        "next_action".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": ["get_section", "search_again"]})
    }
}

impl Verdict {
    /// The same verdict with nothing in it that cannot be: numbers of passages that there are, each once, and a
    /// confidence between 0 and 1.
    #[must_use]
    pub(super) fn within(mut self, passages: usize) -> Self {
        let mut seen = vec![false; passages];
        self.ranked_indices.retain(|index| {
            seen.get_mut(*index).is_some_and(|seen| !std::mem::replace(seen, true))
        });
        self.confidence =
            if self.confidence.is_nan() { 0.0 } else { self.confidence.clamp(0.0, 1.0) };
        self.missing.retain(|missing| !missing.trim().is_empty());
        self.missing.truncate(MISSING_MAX);
        let query = self.refined_query.map(|query| {
            let query: String = query
                .chars()
                .map(|letter| if letter.is_control() { ' ' } else { letter })
                .collect();
            crate::text::clip(query.trim(), QUERY_BYTES_MAX).to_owned()
        });
        self.refined_query = query.filter(|query| !query.is_empty());
        self
    }

    /// The tag that what is missing would carry, if chunks are tagged with it.
    pub(super) fn missing_tag(&self) -> Option<&'static str> {
        const TAGS: [(&str, &[&str]); 4] = [
            ("has_steps", &["step", "steps", "procedure", "단계", "절차"]),
            ("has_table", &["table", "표"]),
            ("has_code", &["code", "example code", "코드"]),
            ("has_conditions", &["condition", "conditions", "조건"]),
        ];
        let missing = self.missing.first()?.trim().to_lowercase();
        TAGS.iter().find(|(_, words)| words.contains(&missing.as_str())).map(|(tag, _)| *tag)
    }
}

/// Numbers from 1 for those who count so; what is no such number is left out by [`Verdict::within`].
mod from_one {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        indices: &[usize],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(indices.iter().map(|index| index + 1))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<usize>, D::Error> {
        let numbers = Vec::<i64>::deserialize(deserializer)?;
        let index = |number: i64| usize::try_from(number).ok()?.checked_sub(1);
        Ok(numbers.into_iter().filter_map(index).collect())
    }
}
