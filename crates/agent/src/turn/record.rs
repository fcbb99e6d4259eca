//! A turn as it is kept and shown: what was said, and how it came about.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Done, Fallback};
use crate::context::Part;
use crate::identity::Timestamp;
use crate::knowledge::{Found, Passage};
use crate::ledger::Component;
use crate::memory::{SaidTurn, SessionId, SessionIdError};
use crate::menu::MenuLink;
use crate::model::Usage;
use crate::names::{DocumentId, SectionId};
use crate::price::Cost;
use crate::retrieval;
use crate::text::clip;

/// Longest text of a cited passage that is kept with a turn, in bytes: what a card shows.
const CITED_BYTES_MAX: usize = 1_500;

/// Names a turn: its session, a dot, and letters of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TurnId {
    pub session: SessionId,
    /// Later turns have larger ones.
    pub token: String,
}

impl TurnId {
    /// A name from the time and some random bytes.
    #[must_use]
    pub fn new(session: SessionId, at: Timestamp, random: u64) -> Self {
        Self { session, token: format!("{:011x}{random:016x}", at.0) }
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.session, self.token)
    }
}

impl FromStr for TurnId {
    type Err = SessionIdError;

    fn from_str(text: &str) -> Result<Self, SessionIdError> {
        let (session, token) = text.rsplit_once('.').ok_or(SessionIdError)?;
        let is_token = token.len() == 27 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_token {
            return Err(SessionIdError);
        }
        Ok(Self { session: session.parse()?, token: token.to_owned() })
    }
}

impl TryFrom<String> for TurnId {
    type Error = SessionIdError;

    fn try_from(text: String) -> Result<Self, SessionIdError> {
        text.parse()
    }
}

impl From<TurnId> for String {
    fn from(id: TurnId) -> Self {
        id.to_string()
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Answered,
    /// The passages did not hold everything, and the answer says so.
    Partial,
    /// From what was said in the conversation, without documents.
    FromConversation,
    SmallTalk,
    NotFound,
    InPreparation,
    /// The answer reached its longest length and was cut off.
    Long,
    /// The answer broke off: what there is of it is not the whole.
    Incomplete,
}

impl Outcome {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Partial => "partial",
            Self::FromConversation => "from_conversation",
            Self::SmallTalk => "small_talk",
            Self::NotFound => "not_found",
            Self::InPreparation => "in_preparation",
            Self::Long => "long",
            Self::Incomplete => "incomplete",
        }
    }

    /// Whether the answer is the whole of what was to be said.
    #[must_use]
    pub fn is_complete(self) -> bool {
        !matches!(self, Self::Long | Self::Incomplete)
    }
}

impl From<Fallback> for Outcome {
    fn from(fallback: Fallback) -> Self {
        match fallback {
            Fallback::NotFound => Self::NotFound,
            Fallback::InPreparation => Self::InPreparation,
        }
    }
}

/// A passage that the answer names by its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// As it stands in the answer, from 1.
    pub number: usize,
    pub document: DocumentId,
    pub section: SectionId,
    pub title: String,
    pub source: String,
    pub heading_path: Vec<String>,
    pub text: String,
}

impl Citation {
    #[must_use]
    pub fn new(number: usize, passage: &Passage) -> Self {
        Self {
            number,
            document: passage.document.clone(),
            section: passage.section.clone(),
            title: passage.title.clone(),
            source: passage.source.clone(),
            heading_path: place(passage),
            text: clip(&passage.text, CITED_BYTES_MAX).to_owned(),
        }
    }
}

/// The headings above a passage; a pair of a FAQ is known by its question.
fn place(passage: &Passage) -> Vec<String> {
    match retrieval::pair(&passage.text).filter(|_| retrieval::is_faq(passage)) {
        Some((question, _)) => vec![question.split_whitespace().collect::<Vec<_>>().join(" ")],
        None => passage.heading_path.clone(),
    }
}

/// A passage that was found, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    pub section: SectionId,
    pub chunk: u32,
    pub title: String,
    pub score: f32,
    pub found: Found,
}

impl From<&Passage> for Considered {
    fn from(passage: &Passage) -> Self {
        Self {
            section: passage.section.clone(),
            chunk: passage.chunk,
            title: passage.title.clone(),
            score: passage.score,
            found: passage.found,
        }
    }
}

/// A call of a model, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    pub component: Component,
    pub model: String,
    pub usage: Usage,
    /// None where the price is unknown.
    pub cost: Option<Cost>,
    pub took_milliseconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A turn, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub id: TurnId,
    /// Its place in the session, from 1; 0 for a turn that could not be kept.
    pub number: u64,
    pub at: Timestamp,
    pub question: String,
    pub answer: String,
    pub outcome: Outcome,
    /// What was searched for: the question, put so that it makes sense without the conversation.
    pub query: String,
    pub citations: Vec<Citation>,
    pub menu: Vec<MenuLink>,
    /// Searches, readings, verdicts and calls of tools, in order.
    pub done: Vec<Done>,
    pub passages: Vec<Considered>,
    /// What the model got to read, and what was left out.
    pub context: Vec<Part>,
    pub calls: Vec<ModelCall>,
    pub took_milliseconds: u64,
    /// What the reader should know, such as why no model has answered.
    pub notes: Vec<String>,
    /// Whether the turn is kept; one that is not still reaches the reader.
    pub persisted: bool,
}

impl TurnRecord {
    /// The turn as the session remembers it.
    #[must_use]
    pub fn said(&self) -> SaidTurn {
        SaidTurn {
            number: self.number,
            at: self.at,
            question: self.question.clone(),
            answer: self.answer.clone(),
            is_complete: self.outcome.is_complete(),
        }
    }

    /// What all calls together cost; none if one of them has no price.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        self.calls.iter().map(|call| call.cost).sum()
    }
}
