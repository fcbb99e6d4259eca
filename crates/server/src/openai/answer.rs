//! What a client gets: whole, or in pieces; citations as annotations of the text.

use agent::turn::{Outcome, TurnId, TurnRecord};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::events::event;
use crate::problem::{Problem, clipped};

/// The one model that a client may name.
const MODEL: &str = "saem";

/// The models that a client may name.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelList {
    object: &'static str,
    data: Vec<Model>,
}

/// A model that a client may name.
#[derive(Serialize, JsonSchema)]
pub(super) struct Model {
    id: &'static str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

impl ModelList {
    pub(super) fn saem() -> Self {
        let model = Model { id: MODEL, object: "model", created: 0, owned_by: "saem" };
        Self { object: "list", data: vec![model] }
    }

    /// The model of this name.
    pub(super) fn find(self, id: &str) -> Option<Model> {
        self.data.into_iter().find(|model| model.id == id)
    }
}

/// A whole answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct Completion {
    id: String,
    object: &'static str,
    /// Seconds since 1970.
    created: u64,
    model: &'static str,
    choices: Vec<Choice>,
    usage: Tokens,
    saem: Extra,
}

#[derive(Serialize, JsonSchema)]
struct Choice {
    index: u32,
    message: Message,
    finish_reason: &'static str,
    logprobs: Option<()>,
}

#[derive(Serialize, JsonSchema)]
struct Message {
    role: &'static str,
    content: String,
    refusal: Option<()>,
    annotations: Vec<Annotation>,
}

/// Where in the text a source is cited.
#[derive(Serialize, JsonSchema)]
struct Annotation {
    r#type: &'static str,
    url_citation: UrlCitation,
}

#[derive(Serialize, JsonSchema)]
struct UrlCitation {
    /// Characters of the content, the end not included.
    start_index: usize,
    end_index: usize,
    title: String,
    url: String,
}

/// Tokens of all calls of the turn.
#[derive(Serialize, JsonSchema)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

/// What other clients pass over.
#[derive(Serialize, JsonSchema)]
struct Extra {
    turn: String,
    session: String,
    outcome: &'static str,
    persisted: bool,
    notes: Vec<String>,
}

/// A piece of an answer.
#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'static str,
    choices: &'a [Piece<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    saem: Option<&'a Extra>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
}

#[derive(Serialize)]
struct Piece<'a> {
    index: u32,
    delta: Delta<'a>,
    finish_reason: Option<&'a str>,
}

#[derive(Serialize, Default)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Vec<Annotation>>,
}

/// A turn on its way to a client.
pub(super) struct Answering {
    id: String,
    created: u64,
    base: String,
    wants_usage: bool,
    has_begun: bool,
}

impl Answering {
    pub(super) fn new(turn: &TurnId, base: String, wants_usage: bool) -> Self {
        // The token begins with its time, in milliseconds.
        let time = turn.token.get(..11).and_then(|time| u64::from_str_radix(time, 16).ok());
        let created = time.unwrap_or(0) / 1000;
        Self { id: format!("chatcmpl-{turn}"), created, base, wants_usage, has_begun: false }
    }

    /// The whole answer; one that broke off is none.
    pub(super) fn whole(&self, record: &TurnRecord) -> Result<Completion, Problem> {
        if record.outcome == Outcome::Incomplete {
            return Err(broke_off(record));
        }
        let note = note(record);
        let annotations = annotations(record, &self.base);
        let (usage, finish_reason) = (tokens(record), finish(record.outcome));
        let saem = extra(record);
        let content = format!("{}{note}", record.answer);
        let message = Message { role: "assistant", content, refusal: None, annotations };
        let choice = Choice { index: 0, message, finish_reason, logprobs: None };
        Ok(Completion {
            id: self.id.clone(),
            object: "chat.completion",
            created: self.created,
            model: MODEL,
            choices: vec![choice],
            usage,
            saem,
        })
    }

    /// The next piece of the answer; the first says who speaks.
    pub(super) fn piece(&mut self, text: &str) -> String {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let role = is_first.then_some("assistant");
        self.chunk(Delta { role, content: Some(text), annotations: None }, None, None)
    }

    /// What comes after the text: annotations, the end, usage if it is wanted.
    pub(super) fn end(&mut self, record: &TurnRecord) -> String {
        if record.outcome == Outcome::Incomplete {
            let problem = broke_off(record);
            return Self::error(&problem.detail, problem.code);
        }
        let mut told = String::new();
        let note = note(record);
        if !note.is_empty() {
            told += &self.piece(&note);
        }
        let annotations = Some(annotations(record, &self.base));
        told += &self.chunk(Delta { annotations, ..Delta::default() }, None, None);
        let (reason, saem) = (finish(record.outcome), extra(record));
        told += &self.chunk(Delta::default(), Some(reason), Some(&saem));
        if self.wants_usage {
            told += &self.told(&[], None, Some(tokens(record)));
        }
        told + &event(None, "[DONE]")
    }

    /// An error in the middle of a stream, in the form that clients raise.
    pub(super) fn error(message: &str, code: &str) -> String {
        let error = json!({ "message": message, "type": code, "code": code, "param": null });
        event(None, &json!({ "error": error }).to_string())
    }

    fn chunk(&self, delta: Delta<'_>, finish_reason: Option<&str>, saem: Option<&Extra>) -> String {
        self.told(&[Piece { index: 0, delta, finish_reason }], saem, None)
    }

    fn told(&self, choices: &[Piece<'_>], saem: Option<&Extra>, usage: Option<Tokens>) -> String {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: MODEL,
            choices,
            saem,
            usage,
        };
        // Texts and numbers are always JSON.
        event(None, &serde_json::to_string(&chunk).unwrap_or_default())
    }
}

fn broke_off(record: &TurnRecord) -> Problem {
    let why = record.notes.last().cloned().unwrap_or_else(|| "The answer broke off.".to_owned());
    Problem::new(
        StatusCode::BAD_GATEWAY,
        "incomplete_answer",
        "the answer broke off",
        clipped(why.into()),
        "Ask again.",
    )
}

/// What a reader should know, once in a conversation; it is no part of what is remembered.
fn note(record: &TurnRecord) -> String {
    let is_first = record.number <= 1;
    match record.notes.last().filter(|_| is_first) {
        Some(note) => format!("\n\n> {note}"),
        None => String::new(),
    }
}

fn finish(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Long => "length",
        Outcome::Answered
        | Outcome::Partial
        | Outcome::FromConversation
        | Outcome::SmallTalk
        | Outcome::NotFound
        | Outcome::InPreparation
        | Outcome::Incomplete => "stop",
    }
}

fn tokens(record: &TurnRecord) -> Tokens {
    let prompt_tokens = record.calls.iter().map(|call| call.usage.input).sum();
    let completion_tokens = record.calls.iter().map(|call| call.usage.output).sum();
    Tokens { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

fn extra(record: &TurnRecord) -> Extra {
    Extra {
        turn: record.id.to_string(),
        session: record.id.session.to_string(),
        outcome: record.outcome.as_str(),
        persisted: record.persisted,
        notes: record.notes.clone(),
    }
}

/// Every place at which the answer names a passage.
fn annotations(record: &TurnRecord, base: &str) -> Vec<Annotation> {
    let mut annotations = Vec::new();
    for citation in &record.citations {
        let mark = format!("[{}]", citation.number);
        for (place, _) in record.answer.match_indices(&mark) {
            let before = record.answer.get(..place).unwrap_or_default();
            let start_index = before.chars().count();
            let is_address =
                citation.source.starts_with("https://") || citation.source.starts_with("http://");
            let url = if is_address {
                citation.source.clone()
            } else {
                format!("{base}/api/sections/{}", citation.section)
            };
            let end_index = start_index + mark.len();
            let title = citation.heading_path.join(" › ");
            let url_citation = UrlCitation { start_index, end_index, title, url };
            annotations.push(Annotation { r#type: "url_citation", url_citation });
        }
    }
    annotations.sort_by_key(|annotation| annotation.url_citation.start_index);
    annotations
}
