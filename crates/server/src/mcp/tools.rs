//! Saem's own tools: what each takes and gives, and the calls themselves.

mod agents;
mod forms;
mod research;
mod schema;
mod words;

use std::time::Duration;

use agent::filter::Filter;
use agent::identity::Scope;
use agent::memory::SessionId;
use agent::names::SectionId;
use agent::ports::DocumentList;
use engine::chat::{Question, Talk, ToolUser, TurnEvent, Whom};
use engine::search::{Mode, SECTION_TOKENS_MAX, SearchRequest, Widen};
use engine::{EngineError, Order, Upload};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    ProgressNotificationParam, Tool, ToolAnnotations,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::agents::{AgentCardGiven, FindAgents, FoundAgents, GetAgentCard};
use self::forms::{
    Answered, Ask, GetSection, IngestDocument, ListDocuments, SearchAll, SearchByMetadata,
    SearchMode,
};
use self::words::Words;
use crate::api::wire::chat::TurnBody;
use crate::api::wire::{DocumentsBody, JobBody, PassageBody, SearchBody, SectionBody};
use crate::mcp::icons;
use crate::mcp::knowledge::Own;
use crate::mcp::offer::Asked;
use crate::problem::Problem;

/// Documents in one page unless fewer are asked for, and at most: a model has to read them.
const DOCUMENTS: usize = 50;
const DOCUMENTS_MAX: usize = 200;

/// Most passages of one search: more would crowd out everything else that a model reads.
const PASSAGES_MAX: usize = 50;

/// How long a call waits for a document to become findable before it answers with the job as it is.
const INGEST_WAIT_MAX: Duration = Duration::from_secs(60);

/// Where documents go that name no collection.
const COLLECTION: &str = "documents";

/// The tools, in the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SearchAll,
    SearchByMetadata,
    GetSection,
    Ask,
    Research,
    ListDocuments,
    IngestDocument,
    FindAgents,
    GetAgentCard,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::SearchAll,
        Self::SearchByMetadata,
        Self::GetSection,
        Self::Ask,
        Self::Research,
        Self::ListDocuments,
        Self::IngestDocument,
        Self::FindAgents,
        Self::GetAgentCard,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::SearchAll => "search_all",
            Self::SearchByMetadata => "search_by_metadata",
            Self::GetSection => "get_section",
            Self::Ask => "ask",
            Self::Research => "research",
            Self::ListDocuments => "list_documents",
            Self::IngestDocument => "ingest_document",
            Self::FindAgents => "find_agents",
            Self::GetAgentCard => "get_agent_card",
        }
    }

    /// What calling it needs.
    pub(super) fn scope(self) -> Scope {
        match self {
            Self::IngestDocument => Scope::Write,
            Self::SearchAll
            | Self::SearchByMetadata
            | Self::GetSection
            | Self::Ask
            | Self::Research
            | Self::ListDocuments
            | Self::FindAgents
            | Self::GetAgentCard => Scope::Read,
        }
    }

    fn definition(self) -> Tool {
        match self {
            Self::SearchAll => tool::<SearchAll, SearchBody>(
                self,
                "Search all documents",
                "Finds passages in all documents, by meaning and by words, in Korean and English. Returns passages with \
                 their section ids; read on around one with get_section.",
                reads(),
            ),
            Self::SearchByMetadata => tool::<SearchByMetadata, SearchBody>(
                self,
                "Search by metadata",
                "Finds passages whose tags fulfil all conditions, such as has_steps=true, plan=pro|team or \
                 updated_at>=2026-01-01; with words, the best of those first.",
                reads(),
            ),
            Self::GetSection => tool::<GetSection, SectionBody>(
                self,
                "Read a section",
                "Reads the section around a passage, with all below it; `up` climbs to the section above, `neighbours` \
                 adds sections before and after.",
                reads(),
            ),
            // A turn is kept as part of a conversation, so that it changes something of ours, and nothing else.
            Self::Ask => tool::<Ask, Answered>(
                self,
                "Ask Saem",
                "Answers a question from the documents, with numbered citations, in the language of the question. \
                 Returns a session: pass it to ask on.",
                ToolAnnotations::new()
                    .read_only(false)
                    .destructive(false)
                    .idempotent(false)
                    .open_world(false),
            ),
            Self::Research => research::definition(self),
            Self::ListDocuments => tool::<ListDocuments, DocumentsBody>(
                self,
                "List documents",
                "Lists documents with their titles, types and tags, page by page.",
                reads(),
            ),
            Self::IngestDocument => tool::<IngestDocument, JobBody>(
                self,
                "Add a document",
                "Takes a document in, from its text or from a web address; one of the same name in the collection is \
                 replaced. Needs the scope write.",
                ToolAnnotations::new()
                    .read_only(false)
                    .destructive(true)
                    .idempotent(true)
                    .open_world(true),
            ),
            Self::FindAgents => tool::<FindAgents, FoundAgents>(
                self,
                "Find agents",
                "Finds A2A agents in the catalogue by what they do, in Korean or English, and by skill, tag, provider, \
                 capability, media type and version. Read an agent's card with get_agent_card.",
                reads(),
            ),
            Self::GetAgentCard => tool::<GetAgentCard, AgentCardGiven>(
                self,
                "Get an agent's card",
                "Gives the card of an agent of the catalogue: where it is reached, how, and what it can do.",
                reads(),
            ),
        }
    }
}

/// All definitions, in a stable order.
pub(super) fn definitions() -> Vec<Tool> {
    Kind::ALL.into_iter().map(Kind::definition).collect()
}

fn tool<Takes: JsonSchema + 'static, Gives: JsonSchema + 'static>(
    kind: Kind,
    title: &str,
    description: &'static str,
    hints: ToolAnnotations,
) -> Tool {
    let mut annotations = hints;
    annotations.title = Some(title.to_owned());
    Tool::new(kind.name(), description, schema::taken::<Takes>())
        .with_title(title)
        .with_raw_output_schema(schema::given::<Gives>().into())
        .with_annotations(annotations)
        .with_icons(icons())
}

fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// Why a call has no answer.
enum Fault {
    /// The model: it is told, and may call again.
    Tell(String),
    /// Nobody but us.
    Ours(ErrorData),
}

impl Fault {
    /// Where there is no model that could be told.
    fn into_error(self) -> ErrorData {
        match self {
            Self::Tell(why) => ErrorData::invalid_params(why, None),
            Self::Ours(error) => error,
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        let told = format!("{}: {} {}", problem.title, problem.detail, problem.action);
        let is_ours = problem.status == http::StatusCode::INTERNAL_SERVER_ERROR;
        if is_ours { Self::Ours(ErrorData::internal_error(told, None)) } else { Self::Tell(told) }
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        Problem::from(error).into()
    }
}

impl From<agent::names::NameError> for Fault {
    fn from(error: agent::names::NameError) -> Self {
        Self::Tell(error.to_string())
    }
}

/// Calls a tool.
pub(super) async fn call(
    own: &Own,
    kind: Kind,
    call: CallToolRequestParams,
    asked: &Asked,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = call.arguments.clone().unwrap_or_default();
    let answer = match kind {
        Kind::Research => return told(research::call(own, call, asked).await),
        Kind::SearchAll => search_all(own, arguments, asked).await,
        Kind::SearchByMetadata => search_by_metadata(own, arguments, asked).await,
        Kind::GetSection => get_section(own, arguments, asked).await,
        Kind::Ask => ask(own, arguments, asked).await,
        Kind::ListDocuments => list_documents(own, arguments, asked).await,
        Kind::IngestDocument => ingest_document(own, arguments, asked).await,
        Kind::FindAgents => agents::find(own, arguments, asked).await,
        Kind::GetAgentCard => agents::card(own, arguments, asked).await,
    };
    told(answer.map(Into::into))
}

/// What the model can do something about is a result that says so.
fn told(answer: Result<CallToolResponse, Fault>) -> Result<CallToolResponse, ErrorData> {
    match answer {
        Ok(result) => Ok(result),
        Err(Fault::Tell(why)) => Ok(CallToolResult::error(vec![ContentBlock::text(why)]).into()),
        Err(Fault::Ours(error)) => Err(error),
    }
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Fault> {
    let read = serde_json::from_value(Value::Object(arguments));
    read.map_err(|error| Fault::Tell(format!("the arguments do not fit: {error}")))
}

/// The same twice: for models to read, and for programs.
fn given(body: &(impl Serialize + Words)) -> Result<CallToolResult, Fault> {
    let text = ContentBlock::text(body.words());
    let value = serde_json::to_value(body);
    let value = value.map_err(|error| Problem::broken("a tool's answer", &error))?;
    let mut result = CallToolResult::success(vec![text]);
    result.structured_content = Some(value);
    Ok(result)
}

async fn search_all(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: SearchAll = read(arguments)?;
    let request = SearchRequest {
        text: wanted.query,
        filter: Filter::default(),
        collection: wanted.collection.as_deref().map(str::parse).transpose()?,
        mode: match wanted.mode {
            SearchMode::Hybrid => Mode::Hybrid,
            SearchMode::Keyword => Mode::Keyword,
            SearchMode::Vector => Mode::Vector,
        },
        count: wanted.count.map(|count| count.clamp(1, PASSAGES_MAX)),
    };
    search(own, request, asked).await
}

async fn search_by_metadata(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: SearchByMetadata = read(arguments)?;
    let conditions =
        wanted.conditions.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    let request = SearchRequest {
        text: wanted.query,
        filter: Filter::read(conditions).map_err(|error| Fault::Tell(error.to_string()))?,
        collection: wanted.collection.as_deref().map(str::parse).transpose()?,
        mode: Mode::Hybrid,
        count: wanted.count.map(|count| count.clamp(1, PASSAGES_MAX)),
    };
    search(own, request, asked).await
}

async fn search(own: &Own, request: SearchRequest, asked: &Asked) -> Result<CallToolResult, Fault> {
    let answer = own.knowledge.search(asked.tenant(), request).await?;
    let passages = answer.passages.into_iter().map(|passage| PassageBody::new(passage, false));
    given(&SearchBody { passages: passages.collect(), warnings: answer.warnings })
}

async fn get_section(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: GetSection = read(arguments)?;
    let id: SectionId = wanted.section.parse()?;
    let widen = Widen {
        up: wanted.up,
        neighbours: wanted.neighbours,
        tokens_max: wanted.tokens.unwrap_or(SECTION_TOKENS_MAX),
    };
    let section = own.knowledge.section(asked.tenant(), &id, widen).await?;
    given(&SectionBody::with_text(section))
}

/// A whole turn. It stops when the client goes away or takes the call back.
async fn ask(own: &Own, arguments: JsonObject, asked: &Asked) -> Result<CallToolResult, Fault> {
    let wanted: Ask = read(arguments)?;
    let talk = match wanted.session {
        None => Talk::New,
        Some(name) => {
            Talk::Known(name.parse::<SessionId>().map_err(|error| Fault::Tell(error.to_string()))?)
        }
    };
    let user = ToolUser { principal: asked.principal.clone(), asked: Whom::Nobody };
    let question = Question::new(wanted.question, talk).with_tools(user);
    let mut asking = own.copilot.ask(asked.tenant(), question)?;
    let mut steps = 0.0;
    loop {
        let event = tokio::select! {
            event = asking.next() => event,
            () = asked.context.ct.cancelled() => {
                return Err(Fault::Ours(ErrorData::internal_error("the call was taken back", None)));
            }
        };
        match event {
            Some(TurnEvent::Doing(doing)) => {
                steps += 1.0;
                progress(asked, steps, words::doing(&doing)).await;
            }
            Some(TurnEvent::Text(_)) => {}
            Some(TurnEvent::Done(record)) => {
                let turn = TurnBody::from(*record);
                return given(&Answered {
                    answer: turn.answer,
                    outcome: turn.outcome,
                    session: turn.session,
                    turn: turn.id,
                    citations: turn.citations,
                    menu: turn.menu,
                    notes: turn.notes,
                });
            }
            Some(TurnEvent::Failed(error)) => return Err(error.into()),
            None => return Err(crate::events::stopping().into()),
        }
    }
}

async fn progress(asked: &Asked, steps: f64, message: String) {
    let Some(token) = asked.context.meta.get_progress_token() else { return };
    let told = ProgressNotificationParam::new(token, steps).with_message(message);
    // Whoever is gone needs no progress; that the call ends is seen elsewhere.
    _ = asked.peer().notify_progress(told).await;
}

async fn list_documents(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: ListDocuments = read(arguments)?;
    let list = DocumentList {
        collection: wanted.collection.as_deref().map(str::parse).transpose()?,
        after: wanted.after,
        limit: wanted.limit.unwrap_or(DOCUMENTS).clamp(1, DOCUMENTS_MAX),
    };
    let page = own.knowledge.documents(asked.tenant(), list).await?;
    let documents = page.items.into_iter().map(Into::into).collect();
    given(&DocumentsBody { documents, next: page.next })
}

async fn ingest_document(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: IngestDocument = read(arguments)?;
    let tell = |why: &str| Fault::Tell(why.to_owned());
    let (source, bytes, is_address) = match (wanted.url, wanted.text) {
        (Some(_), Some(_)) => return Err(tell("give either text or url, not both")),
        (None, None) => return Err(tell("there is no document: give text, or a url")),
        (Some(url), None) => (url, Vec::new(), true),
        (None, Some(text)) => {
            let name = wanted.name.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| tell("the document has no name: say name"))?;
            (name, text.into_bytes(), false)
        }
    };
    let order = Order {
        collection: wanted.collection.as_deref().unwrap_or(COLLECTION).parse()?,
        source,
        media_type: wanted.media_type,
        doc_type: wanted.doc_type,
        mapping: None,
        is_address,
        updated_at: None,
    };
    let upload = Upload { order, bytes, idempotency: None };
    let job = own.knowledge.accept(&asked.principal, upload).await?;
    progress(asked, 1.0, "accepted".to_owned()).await;
    let finished = own.knowledge.finished(asked.tenant(), &job.id);
    let job = match tokio::time::timeout(INGEST_WAIT_MAX, finished).await {
        Ok(finished) => finished?,
        // It goes on by itself.
        Err(_) => own.knowledge.job(asked.tenant(), &job.id).await?,
    };
    let body = JobBody::from(job);
    let mut result = given(&body)?;
    result.is_error = Some(!body.failures.is_empty());
    Ok(result)
}
