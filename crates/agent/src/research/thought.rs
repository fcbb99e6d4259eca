//! What models give back in a run, each in its shape, and how a choice of speaker is read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::schema::known_shape;
use crate::model::structured::value_in;

/// A plan as a model makes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "plan")]
pub struct PlanThought {
    /// How the question is gone about, in one sentence.
    pub strategy: String,
    /// Two to six steps, each about another part of the question.
    #[schemars(length(min = 2, max = 6))]
    pub steps: Vec<StepThought>,
    /// How long it will take, in seconds.
    pub estimated_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepThought {
    /// What is looked for in this step.
    pub description: String,
    /// Names of sources from the list.
    pub sources: Vec<String>,
    /// The words to search for, in the words that the sources would use.
    pub keywords: Vec<String>,
}

/// What a model thinks of what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "assessment")]
pub struct AssessThought {
    /// How well the sources fit the question: 0 to 1.
    pub relevance: f64,
    /// How much of the question they answer: 0 to 1.
    pub coverage: f64,
    /// Whether another search is needed for an answer.
    pub needs_more_search: bool,
    /// What is good and what is missing, in a sentence or two.
    pub feedback: String,
    /// What to look for next; empty if nothing.
    pub more_keywords: Vec<String>,
    /// Headings of the sections of the answer, in order.
    pub structure: Vec<String>,
}

/// A section as a model writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "section")]
pub struct SectionThought {
    /// Statements, each of one or two sentences.
    pub claims: Vec<ClaimThought>,
    /// What the sources do not say about this; empty if nothing.
    pub not_found: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimThought {
    /// The statement, without links and numbers of sources.
    pub text: String,
    pub citations: Vec<QuoteThought>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuoteThought {
    /// The number of the source.
    pub source: u32,
    /// Words of that source that say it, copied exactly.
    pub quote: String,
}

/// Who speaks next, as a model chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "choice")]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Whether the search is over.
    pub terminate: bool,
    /// Why.
    pub reason: String,
    /// The name of the agent that speaks next; null if none does.
    #[serde(deserialize_with = "present")]
    pub next_speaker: Option<String>,
    /// A last word; null if there is none.
    #[serde(deserialize_with = "present")]
    pub final_message: Option<String>,
}

/// A field that may be null but has to be there.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

/// Reads a choice: the whole text as JSON, else the last of several objects, else what the last fence holds.
///
/// # Errors
/// If none of the three is a choice; the fault is for the model to read.
pub fn choice(text: &str) -> Result<Choice, String> {
    let strict = serde_json::from_str::<Choice>(text.trim());
    let fault = match strict {
        Ok(choice) => return Ok(choice),
        Err(fault) => fault.to_string(),
    };
    let objects = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let last = objects.map_while(Result::ok).last();
    if let Some(choice) = last.and_then(|last| serde_json::from_value(last).ok()) {
        return Ok(choice);
    }
    let fenced = text.rsplit("```").nth(1).unwrap_or_default();
    let fenced = fenced.trim_start_matches("json").trim();
    serde_json::from_str(fenced).map_err(|_| fault)
}

/// Reads what a model wrote as a value of one of these shapes.
///
/// # Errors
/// If it holds none; the fault is for the model to read.
pub fn thought<T: for<'de> Deserialize<'de> + JsonSchema + 'static>(
    text: &str,
) -> Result<T, String> {
    value_in(text, &known_shape::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"terminate": false, "reason": "more", "next_speaker": "research", "final_message": null}"#;
    const END: &str =
        r#"{"terminate": true, "reason": "done", "next_speaker": null, "final_message": "bye"}"#;

    #[track_caller]
    fn check(text: &str, speaker: Option<&str>) {
        assert_eq!(choice(text).unwrap().next_speaker.as_deref(), speaker);
    }

    #[test]
    fn a_choice_is_read_strictly_then_from_the_last_object_then_from_the_last_fence() {
        check(GOOD, Some("research"));
        check(&format!("{GOOD}\n{END}"), None);
        check(&format!("{END}{GOOD}"), Some("research"));
        check(
            &format!("First:\n```json\n{END}\n```\nNo:\n```json\n{GOOD}\n```\n"),
            Some("research"),
        );
        check(&format!("```\n{GOOD}\n```"), Some("research"));
    }

    #[test]
    fn a_choice_with_a_field_too_many_or_too_few_is_none() {
        assert!(choice(&GOOD.replace("\"reason\"", "\"because\"")).is_err());
        assert!(choice(r#"{"terminate": true, "reason": "done"}"#).is_err());
        assert!(choice("research").is_err());
        assert!(choice("").is_err());
    }
}
