//! What each kind of message says, field by field.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Kind, ProviderId, Share, Uuid};

/// Declares [`Content`] with one variant for each kind, named as its type is.
macro_rules! contents {
    ($($name:ident),* $(,)?) => {
        /// What a message says.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Content {
            $($name($name),)*
        }

        impl Content {
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$name(_) => Kind::$name,)*
                }
            }

            fn fields(&self) -> Value {
                let fields = match self {
                    $(Self::$name(content) => serde_json::to_value(content),)*
                };
                fields.unwrap_or_default()
            }

            /// Reads the fields of a kind; the fault names the one that is wrong.
            pub(super) fn read(kind: Kind, fields: Map<String, Value>) -> Result<Self, Fault> {
                match kind {
                    $(Kind::$name => typed(fields).map(Self::$name),)*
                }
            }
        }

        $(impl From<$name> for Content {
            fn from(content: $name) -> Self {
                Self::$name(content)
            }
        })*

        pub(super) fn schema_of(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
            match kind {
                $(Kind::$name => <$name>::json_schema(generator),)*
            }
        }
    };
}

contents!(
    SubmitQuery,
    PlanningRequest,
    PlanApproval,
    SearchProgress,
    SourceRead,
    SearchResults,
    QualityAssessment,
    AdditionalSearchRequest,
    ContentRequest,
    WritingProgress,
    AnswerDraft,
    CitationCheck,
    DraftApproval,
    FinalAnswer,
    FinalApproval,
    BudgetUpdate,
    RunControl,
    ToolApproval,
    AnswerReady,
    AgentError,
);

/// What is wrong in a content, and where.
pub(super) struct Fault {
    pub(super) field: String,
    pub(super) why: String,
}

fn typed<T: for<'de> Deserialize<'de>>(fields: Map<String, Value>) -> Result<T, Fault> {
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        let path = error.path().to_string();
        let why = error.into_inner().to_string();
        // What is missing or too much is named in the words only.
        let named = why.split('`').nth(1).filter(|_| why.contains("field `"));
        let field = match (path.as_str(), named) {
            (".", Some(named)) => format!("content.{named}"),
            (".", None) => "content".to_owned(),
            (path, Some(named)) if !path.ends_with(named) => format!("content.{path}.{named}"),
            (path, _) => format!("content.{path}"),
        };
        Fault { field, why }
    })
}

impl Content {
    /// As it goes over the wire, with the word that tells its kind.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = self.fields();
        if let (Some(fields), Some((field, word))) = (fields.as_object_mut(), self.kind().word()) {
            fields.insert(field.to_owned(), Value::String(word.to_owned()));
        }
        fields
    }
}

/// A question, as it came in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitQuery {
    pub query: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ProviderId>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchStep {
    pub step_number: u32,
    pub description: String,
    pub sources: Vec<ProviderId>,
    pub keywords: Vec<String>,
}

/// The plan, for whoever searches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanningRequest {
    pub strategy: String,
    pub search_steps: Vec<SearchStep>,
    /// In seconds.
    pub estimated_time: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_on: Option<StandsOn>,
}

/// The finished run that a plan stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StandsOn {
    pub run: Uuid,
    /// What it was asked.
    pub question: String,
    /// Sources of it that are at hand.
    pub sources: u32,
    /// Steps for which that is enough: they are not searched.
    pub known_steps: Vec<u32>,
    /// The one step that is done anew; none where the plan is for a question that follows the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_step: Option<u32>,
}

/// Asks a person about a plan, or is the answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanApproval {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<PlanQuestion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The plan as the person wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_plan: Option<Vec<SearchStep>>,
}

/// The plan that is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanQuestion {
    pub strategy: String,
    pub search_steps: Vec<SearchStep>,
    pub estimated_time: u64,
    /// Seconds after which the run goes on by itself; none if it waits.
    pub goes_on_after: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_on: Option<StandsOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Edit,
    Refuse,
    /// Nobody answered in time, and the run goes on.
    WentOn,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchProgress {
    pub step_number: u32,
    pub step_description: String,
    pub progress: Share,
    pub sources_found: u64,
}

/// A source whose text is at hand now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceRead {
    pub source_id: Uuid,
    pub provider: ProviderId,
    pub title: String,
    pub address: Option<String>,
    pub characters: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchResults {
    pub total_results: u64,
    /// What the provider behind the alias `google` found.
    pub google_results: u64,
    pub arxiv_results: u64,
    pub result_ids: Vec<Uuid>,
    /// In seconds.
    pub execution_time: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub results_by_source: BTreeMap<ProviderId, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityAssessment {
    pub quality_score: Share,
    pub relevance_score: Share,
    pub coverage_score: Share,
    pub needs_more_search: bool,
    pub feedback: String,
    pub recommendations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// What the scores rest on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub round: u32,
    pub steps_covered: u32,
    pub steps: u32,
    /// Different places that sources come from.
    pub domains: u32,
    /// Sources whose text says something of the question.
    pub relevant_sources: u32,
    pub sources: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdditionalSearchRequest {
    pub reason: String,
    pub keywords: Vec<String>,
    pub sources: Vec<ProviderId>,
    pub max_results: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentRequest {
    pub approved_result_ids: Vec<Uuid>,
    pub quality_scores: Vec<QualityScore>,
    pub suggested_structure: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityScore {
    pub result_id: Uuid,
    pub score: Share,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WritingProgress {
    pub current_section: String,
    pub sections_completed: u32,
    pub total_sections: u32,
    pub progress: Share,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerDraft {
    pub answer_id: Uuid,
    pub sections: Vec<DraftSection>,
    pub word_count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftSection {
    pub heading: String,
    pub content: String,
    /// Numbers of the list of sources, from 1.
    pub citations: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotes: Vec<QuotedSource>,
}

/// Words of a source, and where they stand in its text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotedSource {
    pub source_id: Uuid,
    pub quote: String,
    pub start: u64,
    pub end: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CitationCheck {
    /// Section and claim, from 1: `2.3`.
    pub claim_id: String,
    pub source_id: Uuid,
    pub quote: String,
    pub verdict: CheckVerdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The words stand there.
    Verified,
    /// Nearly these words do.
    Similar,
    /// They do not.
    Unsupported,
}

/// What the review of a draft came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftApproval {
    pub answer_id: Uuid,
    pub approved: bool,
    pub supported_share: Share,
    pub feedback: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalAnswer {
    pub answer_id: Uuid,
    pub total_sources: u64,
    pub word_count: u64,
}

/// The run's answer is the one that was reviewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalApproval {
    pub answer_id: Uuid,
    pub approved: bool,
    pub unsupported_claims: u32,
}

/// What has been used of what the run may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetUpdate {
    pub parts: Vec<BudgetPart>,
    /// The part that ended the search, if one did.
    pub exceeded: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetPart {
    /// `seconds`, `tokens`, `microdollars`, `calls` or `pages`.
    pub name: String,
    pub used: u64,
    pub allowed: Option<u64>,
}

/// What somebody wants of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunControl {
    pub control: Control,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    Pause,
    Resume,
    /// Ends without an answer.
    Cancel,
    /// Writes with what there is.
    FinishNow,
    Instruct,
}

/// Asks a person about a call, or is the answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolApproval {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ToolQuestion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ToolDecision>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolQuestion {
    /// The call that is asked about.
    pub call: String,
    pub provider: ProviderId,
    pub arguments: Value,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDecision {
    pub call: String,
    pub approved: bool,
}

/// The end, for the one who asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerReady {
    /// None if the run was stopped before there was one.
    pub answer_id: Option<Uuid>,
    pub stop_reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentError {
    pub error_type: ErrorType,
    pub error_message: String,
    #[serde(default)]
    pub details: Option<Map<String, Value>>,
    pub recoverable: bool,
    #[serde(default)]
    pub suggested_action: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorType {
    Timeout,
    ApiError,
    ValidationError,
    InternalError,
}
