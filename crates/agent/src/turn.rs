//! One chat turn as a value: it says what to do next and takes what came of it.
//!
//! Search everything, have the passages judged, then answer, look again, or read a section; three calls of tools at
//! most, and in the end an answer or one of three fallbacks. Whatever a judge may say has an outcome here. With tools
//! of servers at hand, the answering model may have some called first, for so many rounds.

mod record;
#[cfg(test)]
mod tests;
mod tools;
mod verdict;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::filter::{Condition, Filter, TagValue, Test};
use crate::knowledge::{Passage, Section};
use crate::model::ToolCall;
use crate::names::SectionId;

pub use self::record::{Citation, Considered, ModelCall, Outcome, TurnId, TurnRecord};
pub use self::tools::{CALLS_AT_ONCE_MAX, ToolUse, batches};
pub use self::verdict::{NextAction, Verdict};

/// The numbers of a turn; the defaults are the product's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// Calls of tools, the first search included.
    pub calls_max: usize,
    /// Below this the passages are taken for strangers.
    pub confidence_min: f32,
    /// Passages that are judged at a time.
    pub passages_max: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { calls_max: 3, confidence_min: 0.5, passages_max: 20 }
    }
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Call(Call),
    /// Have the passages judged.
    Judge,
    /// Answer from these passages, best first; without any, from what was said.
    Answer {
        ranked: Vec<usize>,
        is_partial: bool,
    },
    /// No document answers: see whether the model wants a tool, and fall back if it does not.
    SeekTool(Fallback),
    /// Have these tools of servers called, as the model wants.
    CallTools {
        calls: Vec<ToolCall>,
    },
    FallBack(Fallback),
}

/// A call of one of the turn's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum Call {
    SearchAll { query: String },
    SearchByMetadata { query: String, tag: String },
    GetSection { section: SectionId },
}

impl Call {
    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SearchAll { .. } => "search_all",
            Self::SearchByMetadata { .. } => "search_by_metadata",
            Self::GetSection { .. } => "get_section",
        }
    }

    /// What a search by metadata is held to.
    #[must_use]
    pub fn filter(&self) -> Filter {
        match self {
            Self::SearchByMetadata { tag, .. } => {
                let test = Test::AnyOf(vec![TagValue::Flag(true)]);
                Filter { conditions: vec![Condition { tag: tag.clone(), test }] }
            }
            Self::SearchAll { .. } | Self::GetSection { .. } => Filter::default(),
        }
    }
}

/// What is said instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// Something was found, but hardly what was asked about.
    NotFound,
    /// Nothing that was found belongs to the question.
    InPreparation,
}

/// What was done, for whoever wants to see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Done {
    Called {
        #[serde(flatten)]
        call: Call,
        /// Passages that were not known before.
        found: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    Judged {
        verdict: Verdict,
        /// The judge gave nothing usable, and the evidence of the search stood in for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        without_judge: Option<String>,
    },
    /// A tool of a server was called, or was not allowed to be.
    Used(ToolUse),
}

/// A turn on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    limits: TurnLimits,
    query: String,
    /// Something was said before, so that the question may be about that.
    has_conversation: bool,
    passages: Vec<Passage>,
    queries_asked: BTreeSet<String>,
    calls: usize,
    verdict: Option<Verdict>,
    next: Step,
    done: Vec<Done>,
    /// Rounds in which the model may still have tools called.
    tool_rounds_left: usize,
    /// The user has put something beside the question that can be answered from.
    has_attachments: bool,
    /// What follows the calls of tools.
    after_tools: Option<Step>,
    /// What would have been said if no tool had been wanted.
    instead: Option<Fallback>,
}

impl Turn {
    /// Begins with what to search for: the question, put so that it makes sense without the conversation.
    #[must_use]
    pub fn new(query: String, has_conversation: bool, limits: TurnLimits) -> Self {
        let next = Step::Call(Call::SearchAll { query: query.clone() });
        Self {
            limits,
            has_conversation,
            queries_asked: BTreeSet::new(),
            query,
            passages: Vec::new(),
            calls: 0,
            verdict: None,
            next,
            done: Vec::new(),
            tool_rounds_left: 0,
            has_attachments: false,
            after_tools: None,
            instead: None,
        }
    }

    /// Lets the answering model have tools called, for so many rounds.
    #[must_use]
    pub fn with_tools(self, rounds: usize) -> Self {
        Self { tool_rounds_left: rounds, ..self }
    }

    /// Lets the model answer without a passage, from what the user has put beside the question.
    #[must_use]
    pub fn with_attachments(self, has_attachments: bool) -> Self {
        Self { has_attachments, ..self }
    }

    #[must_use]
    pub fn has_attachments(&self) -> bool {
        self.has_attachments
    }

    #[must_use]
    pub fn next(&self) -> &Step {
        &self.next
    }

    /// All that was found, in the order in which the judge sees them.
    #[must_use]
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    #[must_use]
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// Takes what a search found, or why it could not be done.
    pub fn found(&mut self, outcome: Result<Vec<Passage>, String>) {
        let Step::Call(call) = self.next.clone() else { return };
        let (passages, failed) = match outcome {
            Ok(passages) => (passages, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let before = self.passages.len();
        for passage in passages {
            self.take(passage);
        }
        self.called(call, self.passages.len() - before, failed);
    }

    /// Takes a section that was read, or why it could not be.
    pub fn read(&mut self, outcome: Result<Section, String>) {
        let Step::Call(call) = self.next.clone() else { return };
        let (found, failed) = match outcome {
            Ok(section) => (usize::from(self.widen(section)), None),
            Err(why) => (0, Some(why)),
        };
        self.called(call, found, failed);
    }

    /// Takes a verdict. Without one, the evidence of the search stands in: `stand_in` is its verdict.
    pub fn judged(&mut self, outcome: Result<Verdict, String>, stand_in: Verdict) {
        let (verdict, without_judge) = match outcome {
            Ok(verdict) => (verdict, None),
            Err(why) => (stand_in, Some(why)),
        };
        let verdict = verdict.within(self.passages.len());
        self.done.push(Done::Judged { verdict: verdict.clone(), without_judge });
        self.next = self.after(&verdict);
        self.verdict = Some(verdict);
    }

    fn take(&mut self, passage: Passage) {
        let is_known =
            |known: &Passage| known.document == passage.document && known.chunk == passage.chunk;
        if self.passages.len() < self.limits.passages_max && !self.passages.iter().any(is_known) {
            self.passages.push(passage);
        }
    }

    /// Puts the section's text in the place of the first of its passages.
    fn widen(&mut self, section: Section) -> bool {
        let place = self.passages.iter().position(|passage| passage.section == section.id);
        let Some(passage) = place.and_then(|place| self.passages.get_mut(place)) else {
            return false;
        };
        let is_more = section.text.len() > passage.text.len();
        if is_more {
            let excerpt = passage.edit();
            excerpt.text = section.text;
            excerpt.range = section.range;
        }
        is_more
    }

    fn called(&mut self, call: Call, found: usize, failed: Option<String>) {
        self.calls += 1;
        if let Call::SearchAll { query } = &call {
            self.queries_asked.insert(normal(query));
        }
        let is_first = self.calls == 1;
        self.done.push(Done::Called { call, found, failed });
        let is_hopeless = self.passages.is_empty() && !self.has_conversation;
        self.next = if is_hopeless {
            self.without_passages(Fallback::InPreparation)
        } else if is_first || found > 0 {
            Step::Judge
        } else {
            // Nothing new to judge: what there is has to do.
            self.end(&self.verdict.clone().unwrap_or_default())
        };
    }

    fn after(&self, verdict: &Verdict) -> Step {
        if verdict.is_sufficient || self.calls >= self.limits.calls_max {
            return self.end(verdict);
        }
        self.call_for(verdict).map_or_else(|| self.end(verdict), Step::Call)
    }

    fn end(&self, verdict: &Verdict) -> Step {
        let is_sure = verdict.confidence >= self.limits.confidence_min;
        let needs_no_passage = self.has_conversation && verdict.is_sufficient && is_sure;
        if verdict.ranked_indices.is_empty() && needs_no_passage {
            Step::Answer { ranked: Vec::new(), is_partial: false }
        } else if verdict.ranked_indices.is_empty() {
            self.without_passages(Fallback::InPreparation)
        } else if !is_sure {
            self.without_passages(Fallback::NotFound)
        } else {
            let ranked = verdict.ranked_indices.clone();
            Step::Answer { ranked, is_partial: !verdict.is_sufficient }
        }
    }

    /// The call that the verdict asks for; none if it asks for nothing, or for what was done already.
    fn call_for(&self, verdict: &Verdict) -> Option<Call> {
        match verdict.next_action? {
            NextAction::GetSection => {
                let best = verdict.ranked_indices.first().copied().unwrap_or(0);
                let section = self.passages.get(best)?.section.clone();
                let call = Call::GetSection { section };
                (!self.did(&call)).then_some(call)
            }
            NextAction::SearchAgain => {
                let refined = verdict.refined_query.as_deref().map(str::trim).unwrap_or_default();
                let query = if refined.is_empty() { &self.query } else { refined };
                if let Some(tag) = verdict.missing_tag() {
                    let call =
                        Call::SearchByMetadata { query: query.to_owned(), tag: tag.to_owned() };
                    return (!self.did(&call)).then_some(call);
                }
                let is_new = !self.queries_asked.contains(&normal(query));
                is_new.then(|| Call::SearchAll { query: query.to_owned() })
            }
        }
    }

    fn did(&self, wanted: &Call) -> bool {
        self.done.iter().any(|done| matches!(done, Done::Called { call, .. } if call == wanted))
    }
}

/// The same question in other letters is the same question.
fn normal(query: &str) -> String {
    query.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
