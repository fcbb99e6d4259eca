//! Conversations over the wire: turns, sessions, and what is remembered.

use agent::context::{Part, PartKind, Trust};
use agent::memory::{Entities, Entity, Memory, NewEntity, SaidTurn, Session, Version};
use agent::menu::MenuLink;
use agent::ports::SessionLine;
use agent::turn::{Citation, Considered, ModelCall, TurnRecord};
use engine::chat::{Doing, MemoryView, SessionView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FoundBody;
use super::attachments::AttachBody;
use crate::rich::{HtmlChange, blocks};

/// A question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    pub question: String,
    /// The conversation that it belongs to; a new one, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The answer's blocks as safe HTML too.
    #[serde(default)]
    pub html: bool,
    /// What is to be read with it: resources and prompts of servers of tools. With a prompt, the question may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attach: Vec<AttachBody>,
}

/// What Saem is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "doing", rename_all = "snake_case")]
pub enum DoingBody {
    Searching {
        query: String,
    },
    Judging {
        passages: usize,
    },
    Reading {
        title: String,
    },
    Answering,
    /// Tools of servers are called.
    CallingTools {
        names: Vec<String>,
    },
    /// A question about a tool, or of a server, lies in `/api/approvals`.
    AwaitingApproval {
        server: String,
        tool: Option<String>,
        session: String,
    },
}

impl From<Doing> for DoingBody {
    fn from(doing: Doing) -> Self {
        match doing {
            Doing::Searching { query } => Self::Searching { query },
            Doing::Judging { passages } => Self::Judging { passages },
            Doing::Reading { title } => Self::Reading { title },
            Doing::Answering => Self::Answering,
            Doing::CallingTools { names } => Self::CallingTools { names },
            Doing::AwaitingApproval { server, tool, session } => {
                Self::AwaitingApproval { server, tool, session }
            }
        }
    }
}

/// The next piece of an answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TextBody {
    pub text: String,
    /// What it changes of the answer's HTML, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<HtmlChange>,
}

/// A turn: what was said, and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnBody {
    pub id: String,
    pub session: String,
    /// Its place in the session, from 1; 0 for a turn that is not kept.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    pub question: String,
    pub answer: String,
    /// `answered`, `partial`, `from_conversation`, `small_talk`, `not_found`, `in_preparation`, `long` or `incomplete`.
    pub outcome: String,
    pub query: String,
    pub citations: Vec<CitationBody>,
    pub menu: Vec<MenuBody>,
    /// Searches, readings, verdicts and calls of tools, in order.
    pub done: Vec<Value>,
    pub passages: Vec<ConsideredBody>,
    pub context: Vec<PartBody>,
    pub calls: Vec<CallBody>,
    /// What all calls cost in dollars; none where a price is unknown.
    pub cost: Option<f64>,
    pub took_milliseconds: u64,
    pub notes: Vec<String>,
    pub persisted: bool,
    /// The answer's blocks as safe HTML, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<Vec<String>>,
}

impl TurnBody {
    /// The turn, with its answer as HTML too if that is wanted.
    #[must_use]
    pub fn of(record: TurnRecord, html: bool) -> Self {
        let turn = Self::from(record);
        Self { html: html.then(|| blocks(&turn.answer)), ..turn }
    }
}

/// A passage that an answer names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitationBody {
    pub number: usize,
    pub document: String,
    pub section: String,
    pub title: String,
    pub source: String,
    pub heading_path: Vec<String>,
    pub text: String,
}

/// A place of the product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MenuBody {
    pub title: String,
    pub link: String,
}

/// A passage that was found, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsideredBody {
    pub section: String,
    pub chunk: u32,
    pub title: String,
    pub score: f32,
    pub found: FoundBody,
}

/// A part of what the model got to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartBody {
    /// `system`, `memory`, `entities`, `recalled`, `short_term`, `passage`, `question`, `tools` or `tool_result`.
    pub kind: String,
    /// Whose words they are: `ours`, `conversation`, `document` or `tool`.
    pub trust: String,
    pub source: String,
    /// Tokens that it takes; 0 if it was left out.
    pub tokens: usize,
    /// Tokens that it would have taken.
    pub wanted: usize,
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallBody {
    pub component: String,
    pub model: String,
    pub tokens_in: u64,
    pub tokens_cached: u64,
    pub tokens_out: u64,
    pub tokens_reasoning: u64,
    /// The server did not count, so it was reckoned.
    pub is_estimated: bool,
    /// In dollars; none where the price is unknown.
    pub cost: Option<f64>,
    pub took_milliseconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl From<TurnRecord> for TurnBody {
    fn from(record: TurnRecord) -> Self {
        Self {
            id: record.id.to_string(),
            session: record.id.session.to_string(),
            number: record.number,
            at: record.at.0,
            outcome: record.outcome.as_str().to_owned(),
            cost: record.cost().map(agent::price::Cost::dollars),
            question: record.question,
            answer: record.answer,
            query: record.query,
            citations: record.citations.into_iter().map(Into::into).collect(),
            menu: record.menu.into_iter().map(Into::into).collect(),
            // Only a map with keys that are no text cannot be JSON, and none is here.
            done: record.done.iter().filter_map(|done| serde_json::to_value(done).ok()).collect(),
            passages: record.passages.into_iter().map(Into::into).collect(),
            context: record.context.into_iter().map(Into::into).collect(),
            calls: record.calls.into_iter().map(Into::into).collect(),
            took_milliseconds: record.took_milliseconds,
            notes: record.notes,
            persisted: record.persisted,
            html: None,
        }
    }
}

impl From<Citation> for CitationBody {
    fn from(citation: Citation) -> Self {
        Self {
            number: citation.number,
            document: citation.document.into(),
            section: citation.section.into(),
            title: citation.title,
            source: citation.source,
            heading_path: citation.heading_path,
            text: citation.text,
        }
    }
}

impl From<MenuLink> for MenuBody {
    fn from(MenuLink { title, link }: MenuLink) -> Self {
        Self { title, link }
    }
}

impl From<Considered> for ConsideredBody {
    fn from(passage: Considered) -> Self {
        Self {
            section: passage.section.into(),
            chunk: passage.chunk,
            title: passage.title,
            score: passage.score,
            found: passage.found.into(),
        }
    }
}

impl From<Part> for PartBody {
    fn from(part: Part) -> Self {
        let kind = match part.kind {
            PartKind::System => "system",
            PartKind::Memory => "memory",
            PartKind::Entities => "entities",
            PartKind::Recalled => "recalled",
            PartKind::ShortTerm => "short_term",
            PartKind::Passage => "passage",
            PartKind::Question => "question",
            PartKind::Tools => "tools",
            PartKind::ToolResult => "tool_result",
            PartKind::Attachment => "attachment",
        };
        let trust = match part.trust {
            Trust::Ours => "ours",
            Trust::Conversation => "conversation",
            Trust::Document => "document",
            Trust::Tool => "tool",
        };
        let (kind, trust) = (kind.to_owned(), trust.to_owned());
        Self { kind, trust, source: part.source, tokens: part.tokens, wanted: part.wanted }
    }
}

impl From<ModelCall> for CallBody {
    fn from(call: ModelCall) -> Self {
        Self {
            component: call.component.to_string(),
            model: call.model,
            tokens_in: call.usage.input,
            tokens_cached: call.usage.cached,
            tokens_out: call.usage.output,
            tokens_reasoning: call.usage.reasoning,
            is_estimated: call.usage.is_estimated,
            cost: call.cost.map(agent::price::Cost::dollars),
            took_milliseconds: call.took_milliseconds,
            failed: call.failed,
        }
    }
}

/// A page of conversations, the one used last first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsBody {
    pub sessions: Vec<SessionLineBody>,
    /// Pass it as `after` for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLineBody {
    pub id: String,
    pub title: String,
    /// Milliseconds since 1970.
    pub used_at: u64,
}

impl From<SessionLine> for SessionLineBody {
    fn from(line: SessionLine) -> Self {
        Self { id: line.id.into(), title: line.title, used_at: line.used_at.0 }
    }
}

/// A conversation with its newest turns, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionBody {
    pub id: String,
    pub title: String,
    pub created_at: u64,
    pub used_at: u64,
    pub turns_said: u64,
    /// The oldest turn that is kept.
    #[serde(default)]
    pub first_turn: u64,
    /// Turns before `turns` of which only the words are kept, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<SaidBody>,
    pub turns: Vec<TurnBody>,
}

/// A turn word for word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SaidBody {
    pub number: u64,
    pub at: u64,
    pub question: String,
    pub answer: String,
    /// The answer ended as it should.
    pub is_complete: bool,
    /// The answer as safe HTML, a block each, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<Vec<String>>,
}

impl SaidBody {
    fn of(said: SaidTurn, html: bool) -> Self {
        Self {
            html: html.then(|| blocks(&said.answer)),
            number: said.number,
            at: said.at.0,
            question: said.question,
            answer: said.answer,
            is_complete: said.is_complete,
        }
    }
}

impl SessionBody {
    /// The conversation without its turns.
    #[must_use]
    pub fn head(session: Session) -> Self {
        Self {
            id: session.id.into(),
            title: session.title,
            created_at: session.created_at.0,
            used_at: session.used_at.0,
            turns_said: session.turns_said,
            first_turn: 0,
            said: Vec::new(),
            turns: Vec::new(),
        }
    }
}

impl SessionBody {
    /// The conversation with its turns, their answers as HTML too if that is wanted.
    #[must_use]
    pub fn of(view: SessionView, html: bool) -> Self {
        let turns = view.turns.into_iter().map(|record| TurnBody::of(record, html)).collect();
        let said = view.said.into_iter().map(|said| SaidBody::of(said, html)).collect();
        Self { said, turns, first_turn: view.first_turn, ..Self::head(view.session) }
    }
}

/// Another title for a conversation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameBody {
    pub title: String,
}

/// What is remembered of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryBody {
    #[serde(flatten)]
    pub now: VersionBody,
    /// Turns that are shown to a model word for word.
    pub short_term: usize,
    /// Turns that wait to be taken into the memory.
    pub unfolded: usize,
    /// Why the last rewrite was refused, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What it was before, oldest first.
    pub earlier: Vec<VersionBody>,
}

/// One state of a memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionBody {
    pub version: u64,
    pub memory: String,
    pub entities: Vec<EntityBody>,
    /// The last turn that is in it.
    pub folded_to: u64,
    pub written_by: String,
    pub written_at: u64,
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntityBody {
    pub key: String,
    pub value: String,
    pub turn: u64,
}

impl VersionBody {
    fn new(memory: Memory, entities: &Entities) -> Self {
        let body = |fact: &Entity| EntityBody {
            key: fact.key.clone(),
            value: fact.value.clone(),
            turn: fact.turn,
        };
        Self {
            version: memory.version,
            memory: memory.text,
            entities: entities.as_slice().iter().map(body).collect(),
            folded_to: memory.folded_to,
            written_by: memory.written_by,
            written_at: memory.written_at.0,
        }
    }
}

impl From<MemoryView> for MemoryBody {
    fn from(view: MemoryView) -> Self {
        let earlier = |Version { memory, entities }| VersionBody::new(memory, &entities);
        Self {
            refused: view.memory.refused.clone(),
            now: VersionBody::new(view.memory, &view.entities),
            short_term: view.short_term,
            unfolded: view.unfolded,
            earlier: view.earlier.into_iter().map(earlier).collect(),
        }
    }
}

/// What a person changes of a memory; what is left out stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryEditBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// All facts from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<Vec<NewEntityBody>>,
}

/// A fact as a person gives it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEntityBody {
    pub key: String,
    pub value: String,
}

impl From<NewEntityBody> for NewEntity {
    fn from(NewEntityBody { key, value }: NewEntityBody) -> Self {
        Self { key, value }
    }
}

/// The version to go back to.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollBackBody {
    pub version: u64,
}
