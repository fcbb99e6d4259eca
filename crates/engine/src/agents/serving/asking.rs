//! The work that Saem does for other agents: answers questions as the copilot does, and searches.

use std::sync::Arc;

use a2a::ids::ArtifactId;
use a2a::model::{Artifact, Content, Message, Object, Part, TaskState};
use agent::identity::Principal;
use agent::memory::SessionId;
use agent::ports::Pages;
use agent::tools::policy::Extent;
use agent::tools::question::{Person, Question as Asked, Reply};
use agent::turn::TurnRecord;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::context::{self, Read};
use super::executor::{Ended, Executor, Step, Teller, Work};
use super::researching;
use crate::chat::{Asking, Copilot, Question, Talk, ToolUser, TurnEvent, Whom};
use crate::error::EngineError;
use crate::knowledge::Knowledge;
use crate::research::Research;
use crate::search::SearchRequest;

/// The skills, by the ids of the card. A message names one in its metadata, under `skill`.
pub const ASK: &str = "ask";
pub const SEARCH: &str = "search";
pub const RESEARCH: &str = "research";

/// Passages that a search gives.
const PASSAGES: usize = 10;

/// Pieces of an answer are gathered until they have so many bytes: each is kept before it is told.
const PIECE_BYTES_MIN: usize = 48;

/// Questions that wait for the caller: tools ask one at a time.
const QUESTIONS_WAITING_MAX: usize = 4;

/// What the work is done with.
#[derive(Clone)]
pub struct SaemParts {
    pub knowledge: Knowledge,
    pub copilot: Copilot,
    pub pages: Arc<dyn Pages>,
    pub research: Research,
}

/// Answers from the documents.
pub struct Saem(SaemParts);

impl Saem {
    #[must_use]
    pub fn new(parts: SaemParts) -> Self {
        Self(parts)
    }
}

impl Executor for Saem {
    fn media_types(&self) -> &'static [&'static str] {
        context::MEDIA_TYPES
    }

    fn reply(&self, _message: &Message) -> Option<Vec<Part>> {
        None
    }

    fn work(&self, work: Work) -> BoxFuture<'static, ()> {
        let parts = self.0.clone();
        Box::pin(async move {
            // Whoever does not listen any more needs no result.
            let _ended = begin(parts, work).await;
        })
    }
}

async fn begin(parts: SaemParts, mut work: Work) -> Result<(), Ended> {
    work.tell.status(TaskState::Working, Vec::new()).await?;
    let mut message = work.message.clone();
    loop {
        match skill(&message, work.metadata.as_ref()).as_str() {
            ASK => ask(&parts, &mut work, &message).await?,
            SEARCH => search(&parts, &work, &message).await?,
            RESEARCH => {
                let Read { question, .. } = context::read(&message, &parts.pages).await;
                researching::research(&parts.research, &mut work, &message, question).await?;
            }
            other => {
                let name: String = other.chars().take(64).collect();
                let words =
                    format!("There is no skill {name:?}: use {ASK}, {SEARCH} or {RESEARCH}.");
                return work.tell.status(TaskState::Rejected, vec![Part::text(words)]).await;
            }
        }
        // What was said meanwhile is answered too.
        match work.inbox.try_recv() {
            Ok(next) => message = *next,
            Err(_) => return work.tell.status(TaskState::Completed, Vec::new()).await,
        }
    }
}

/// The skill that is asked for.
fn skill(message: &Message, metadata: Option<&Object>) -> String {
    let named = |object: &Object| {
        let name = ["skill", "skillId"].into_iter().find_map(|name| object.get(name)?.as_str());
        name.map(str::to_owned)
    };
    let named = message.metadata.as_ref().and_then(named).or_else(|| metadata.and_then(named));
    named.unwrap_or_else(|| ASK.to_owned())
}

async fn search(parts: &SaemParts, work: &Work, message: &Message) -> Result<(), Ended> {
    let Read { question, .. } = context::read(message, &parts.pages).await;
    let request =
        SearchRequest { text: question, count: Some(PASSAGES), ..SearchRequest::default() };
    let answer = match parts.knowledge.search(&work.principal.tenant, request).await {
        Ok(answer) => answer,
        Err(error) => return failed(&work.tell, error).await,
    };
    let line = |passage: &agent::knowledge::Passage| {
        format!("{}\n{}\n", passage.heading_path.join(" › "), passage.text)
    };
    let text: String = answer.passages.iter().map(line).collect::<Vec<_>>().join("\n");
    let passages: Vec<Value> = answer.passages.iter().map(passage).collect();
    let text = if text.is_empty() { "Nothing was found.".to_owned() } else { text };
    let data = json!({ "passages": passages, "warnings": answer.warnings });
    let parts = vec![Part::text(text), Part::new(Content::Data(data))];
    work.tell.artifact(artifact("passages", message, parts)).await
}

fn passage(passage: &agent::knowledge::Passage) -> Value {
    json!({
        "text": passage.text,
        "title": passage.title,
        "source": passage.source,
        "section": passage.section.to_string(),
        "heading_path": passage.heading_path,
        "score": passage.score,
    })
}

async fn ask(parts: &SaemParts, work: &mut Work, message: &Message) -> Result<(), Ended> {
    let Read { question, enclosed, notes } = context::read(message, &parts.pages).await;
    let (ask, mut questions) = mpsc::channel(QUESTIONS_WAITING_MAX);
    let person: Arc<dyn Person> = Arc::new(ByMessage(ask));
    let principal = work.principal.clone();
    let user = ToolUser { principal: principal.clone(), asked: Whom::Person(person) };
    let talk = conversation(&principal, work.context.as_str());
    let hops = a2a::hops::read(None, message, work.metadata.as_ref());
    let question = Question::new(question, talk).with_tools(user).come_through(hops);
    let question = Question { enclosed, ..question };
    let mut asking = match parts.copilot.ask(&principal.tenant, question) {
        Ok(asking) => asking,
        Err(error) => return failed(&work.tell, error).await,
    };
    let mut answer = Answer { message, notes, piece: String::new(), has_begun: false };
    let mut waiting: Option<Waiting> = None;
    while let Some(next) = next(&mut asking, &mut questions, work, waiting.is_some()).await {
        match next {
            Next::Told(TurnEvent::Doing(_)) => {}
            Next::Told(TurnEvent::Text(text)) => answer.say(&work.tell, &text).await?,
            Next::Told(TurnEvent::Done(record)) => return answer.end(&work.tell, &record).await,
            Next::Told(TurnEvent::Failed(error)) => return failed(&work.tell, error).await,
            Next::Asked(asked) => {
                work.tell.status(TaskState::InputRequired, shown(&asked.question)).await?;
                waiting = Some(asked);
            }
            Next::Answered(message) => {
                if let Some(Waiting { question, answer }) = waiting.take() {
                    let _gone = answer.send(question.settle(reply(&question, &message)));
                }
            }
        }
    }
    failed(&work.tell, EngineError::Refused("the agent is stopping".to_owned())).await
}

/// What happens next in a turn that may ask its caller something.
enum Next {
    Told(TurnEvent),
    Asked(Waiting),
    Answered(Message),
}

/// A question that the caller is to answer.
struct Waiting {
    question: Asked,
    answer: oneshot::Sender<Reply>,
}

async fn next(
    asking: &mut Asking,
    questions: &mut mpsc::Receiver<Waiting>,
    work: &mut Work,
    is_waiting: bool,
) -> Option<Next> {
    tokio::select! {
        biased;
        Some(asked) = questions.recv(), if !is_waiting => Some(Next::Asked(asked)),
        Some(message) = work.inbox.recv(), if is_waiting => Some(Next::Answered(*message)),
        told = asking.next() => told.map(Next::Told),
    }
}

/// Asks whoever gave the task, by a message.
struct ByMessage(mpsc::Sender<Waiting>);

impl Person for ByMessage {
    fn ask<'a>(&'a self, question: &'a Asked) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let waiting = Waiting { question: question.clone(), answer };
            if self.0.send(waiting).await.is_err() {
                return Reply::No;
            }
            answered.await.unwrap_or(Reply::No)
        })
    }
}

/// A question as the caller reads it: for people as text, for programs as data.
fn shown(question: &Asked) -> Vec<Part> {
    let text = match question {
        Asked::Call { tool, arguments, .. } => {
            format!("May the tool {tool} be called with {arguments}? Answer yes or no.")
        }
        Asked::Form { server, message, .. } => {
            format!("{server} asks: {message} Answer with the fields as data, or no.")
        }
        Asked::Link { server, message, address, has_foreign_letters, .. } => {
            let warning = if *has_foreign_letters {
                "The name of the page is written in letters that may look like others. "
            } else {
                ""
            };
            format!(
                "{server} asks you to open {address}: {message} {warning}Answer yes when it is done, or no."
            )
        }
        Asked::Sample { server, .. } => {
            format!("{server} wants the model of this agent to answer something. Answer yes or no.")
        }
    };
    // A question of ours can always be written.
    let data = serde_json::to_value(question).unwrap_or_default();
    vec![Part::text(text), Part::new(Content::Data(json!({ "question": data })))]
}

/// What a caller answers. What is not clearly a yes is a no; words fill a form that asks for one text.
fn reply(question: &Asked, message: &Message) -> Reply {
    if let (Asked::Form { schema, .. }, Some(words)) = (question, only_words(message))
        && let Some(name) = only_text(schema)
        && !is_no(&words)
    {
        return Reply::Filled(serde_json::Map::from_iter([(name, words.into())]));
    }
    for part in &message.parts {
        match &part.content {
            Content::Data(Value::Object(fields)) => {
                return match fields.get("approved").and_then(Value::as_bool) {
                    Some(true) => Reply::Yes(extent(fields.get("extent"))),
                    Some(false) => Reply::No,
                    None => Reply::Filled(fields.clone()),
                };
            }
            Content::Text(text) if is_yes(text) => return Reply::Yes(Extent::Once),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Data(_) => {}
        }
    }
    Reply::No
}

fn extent(named: Option<&Value>) -> Extent {
    match named.and_then(Value::as_str) {
        Some("session") => Extent::Session,
        Some("always") => Extent::Always,
        _ => Extent::Once,
    }
}

/// The text of a message that has nothing else.
fn only_words(message: &Message) -> Option<String> {
    let words = message.parts.iter().map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    });
    Some(words.collect::<Option<Vec<&str>>>()?.join("\n"))
}

/// The name of the only thing that a form asks for, if that is a text.
fn only_text(schema: &Value) -> Option<String> {
    let mut fields = schema.get("properties")?.as_object()?.iter();
    let (name, field) = fields.next()?;
    let is_text = field.get("type").and_then(Value::as_str) == Some("string");
    (is_text && fields.next().is_none()).then(|| name.clone())
}

fn is_no(text: &str) -> bool {
    const NO: [&str; 6] = ["no", "n", "cancel", "아니요", "아니오", "취소"];
    NO.contains(&text.trim().trim_end_matches(['.', '!']).to_lowercase().as_str())
}

pub(super) fn is_yes(text: &str) -> bool {
    const YES: [&str; 10] =
        ["yes", "y", "ok", "approve", "approved", "네", "예", "응", "승인", "허용"];
    let text = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    YES.contains(&text.as_str())
}

/// An answer on its way out, as an artifact in pieces.
struct Answer<'a> {
    message: &'a Message,
    notes: Vec<String>,
    /// What was written and not told yet: there is always something left for the last piece.
    piece: String,
    has_begun: bool,
}

impl Answer<'_> {
    async fn say(&mut self, tell: &Teller, text: &str) -> Result<(), Ended> {
        if self.piece.len() >= PIECE_BYTES_MIN {
            let piece = std::mem::take(&mut self.piece);
            self.tell(tell, vec![Part::text(piece)], false).await?;
        }
        self.piece.push_str(text);
        Ok(())
    }

    async fn end(mut self, tell: &Teller, record: &TurnRecord) -> Result<(), Ended> {
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(record.notes.iter().cloned());
        let citation = |citation: &agent::turn::Citation| {
            json!({
                "number": citation.number,
                "title": citation.title,
                "source": citation.source,
                "section": citation.section.to_string(),
                "heading_path": citation.heading_path,
                "text": citation.text,
            })
        };
        let data = json!({
            "turn": record.id.to_string(),
            "outcome": record.outcome.as_str(),
            "citations": record.citations.iter().map(citation).collect::<Vec<_>>(),
            "notes": notes,
        });
        let text = std::mem::take(&mut self.piece);
        let mut parts = vec![Part::new(Content::Data(data))];
        if !text.is_empty() {
            parts.insert(0, Part::text(text));
        }
        self.tell(tell, parts, true).await
    }

    async fn tell(&mut self, tell: &Teller, parts: Vec<Part>, is_last: bool) -> Result<(), Ended> {
        let artifact = artifact("answer", self.message, parts);
        let append = std::mem::replace(&mut self.has_begun, true);
        tell.tell(Step::Artifact { artifact, append, last_chunk: is_last }).await
    }
}

/// What came of a message, under a name that is the same for all pieces of it.
pub(super) fn artifact(name: &str, message: &Message, parts: Vec<Part>) -> Artifact {
    let id = format!("{name}-{}", digest(&[message.id.as_str()]));
    Artifact {
        // A name of ours and digits are always an id.
        id: id.parse().unwrap_or_else(|_| ArtifactId::numbered(0)),
        name: Some(name.to_owned()),
        description: None,
        parts,
        extensions: Vec::new(),
        metadata: None,
    }
}

pub(super) async fn failed(tell: &Teller, error: EngineError) -> Result<(), Ended> {
    let (state, words) = match error {
        EngineError::Refused(why) | EngineError::Conflict(why) => (TaskState::Rejected, why),
        EngineError::Absent { what } => (TaskState::Rejected, format!("there is no {what}")),
        EngineError::Port(error) => {
            tracing::warn!(%error, "a task could not be worked on");
            (TaskState::Failed, "The agent could not do it: try again in a moment.".to_owned())
        }
    };
    tell.status(state, vec![Part::text(words)]).await
}

/// The conversation that a context is: of two callers, two.
fn conversation(principal: &Principal, context: &str) -> Talk {
    let name = format!("a2a-{}", digest(&[&principal.name, context]));
    name.parse::<SessionId>().map_or(Talk::New, Talk::Known)
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
