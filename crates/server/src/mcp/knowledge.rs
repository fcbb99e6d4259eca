//! Saem's own offer: tools over the knowledge and the copilot, documents and sections as resources, prompts from files.

use agent::identity::Scope;
use agent::knowledge::{Document, Status};
use agent::names::{DocumentId, SectionId};
use agent::ports::DocumentList;
use engine::catalogue::Catalogue;
use engine::chat::Copilot;
use engine::research::Research;
use engine::search::Widen;
use engine::{EngineError, Knowledge};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse,
    MetaObject, Prompt, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, Resource, ResourceContents, ResourceTemplate, Tool,
};
use serde_json::json;

use crate::mcp::handler::no_resource;
use crate::mcp::icons;
use crate::mcp::offer::{Answer, Asked, Completing, Offer, Part};
use crate::mcp::prompts::{Prompts, Values};
use crate::mcp::tasks::Deferred;
use crate::mcp::tools::{self, Kind};
use crate::problem::Problem;

/// Where every address of ours begins.
const DOCUMENTS: &str = "saem://documents/";
const DOCUMENT_TEMPLATE: &str = "saem://documents/{id}";
const SECTION_TEMPLATE: &str = "saem://documents/{id}/sections/{number}";

/// Documents in one page of resources.
const PAGE: usize = 100;

/// Longest text of a document that is given out as one resource, in bytes; longer ones are read section by section.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Documents that are looked through for a completion.
const LOOKED_THROUGH_MAX: usize = 1000;

/// What was cut off is said with this.
const IS_CUT: &str = "saem/isCut";

/// Saem's knowledge and copilot, for MCP.
pub(super) struct Own {
    pub(super) knowledge: Knowledge,
    pub(super) copilot: Copilot,
    pub(super) research: Research,
    pub(super) catalogue: Catalogue,
    prompts: Prompts,
    tools: Vec<Tool>,
    templates: Vec<ResourceTemplate>,
}

/// A document or a part of it, as an address.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Document(DocumentId),
    Section(SectionId),
}

impl Own {
    pub(super) fn new(
        knowledge: Knowledge,
        copilot: Copilot,
        research: Research,
        catalogue: Catalogue,
        prompts: Prompts,
    ) -> Self {
        let templates = vec![
            ResourceTemplate::new(DOCUMENT_TEMPLATE, "document")
                .with_title("A document")
                .with_description("The text of a document; its id is as list_documents shows it")
                .with_mime_type("text/markdown")
                .with_icons(icons()),
            ResourceTemplate::new(SECTION_TEMPLATE, "section")
                .with_title("A section of a document")
                .with_description(
                    "A section with all below it; 0 is the whole document's first section",
                )
                .with_mime_type("text/markdown")
                .with_icons(icons()),
        ];
        let tools = tools::definitions();
        Self { knowledge, copilot, research, catalogue, prompts, tools, templates }
    }

    async fn document(&self, id: &DocumentId, uri: &str, asked: &Asked) -> Found {
        let whole = self.knowledge.text(asked.tenant(), id, TEXT_BYTES_MAX).await;
        let whole = whole.map_err(|error| fault(error, uri))?;
        let kind = mime_type(&whole.document.format);
        Ok(contents(uri, kind, whole.text, whole.is_cut))
    }

    async fn section(&self, id: &SectionId, uri: &str, asked: &Asked) -> Found {
        let section = self.knowledge.section(asked.tenant(), id, Widen::default()).await;
        let section = section.map_err(|error| fault(error, uri))?;
        let document = self.knowledge.document(asked.tenant(), &id.document).await;
        let kind = mime_type(&document.map_err(|error| fault(error, uri))?.format);
        Ok(contents(uri, kind, section.text, section.is_cut))
    }

    async fn values(
        &self,
        of: &Values,
        typed: &str,
        asked: &Asked,
    ) -> Result<Vec<String>, ErrorData> {
        let all = match of {
            Values::Free => Vec::new(),
            Values::Listed(values) => values.clone(),
            Values::Collections => {
                let all = self.knowledge.collections(asked.tenant()).await.map_err(ours)?;
                all.into_iter().map(|collection| collection.name.into()).collect()
            }
            Values::Documents => {
                let documents = self.some_documents(asked).await?;
                documents.into_iter().map(|document| document.title).collect()
            }
        };
        Ok(beginning_with(all, typed))
    }

    async fn some_documents(&self, asked: &Asked) -> Result<Vec<Document>, ErrorData> {
        let list = DocumentList { collection: None, after: None, limit: LOOKED_THROUGH_MAX };
        Ok(self.knowledge.documents(asked.tenant(), list).await.map_err(ours)?.items)
    }

    async fn complete_address(
        &self,
        template: &str,
        completing: &Completing,
        asked: &Asked,
    ) -> Result<Option<Vec<String>>, ErrorData> {
        let typed = completing.argument.value.as_str();
        match (template, completing.argument.name.as_str()) {
            (DOCUMENT_TEMPLATE | SECTION_TEMPLATE, "id") => {
                let documents = self.some_documents(asked).await?;
                let ids = documents.into_iter().map(|document| document.id.into()).collect();
                Ok(Some(beginning_with(ids, typed)))
            }
            (SECTION_TEMPLATE, "number") => {
                let known =
                    completing.context.as_ref().and_then(|context| context.arguments.as_ref());
                let id = known.and_then(|known| known.get("id")).and_then(|id| id.parse().ok());
                let Some(id) = id else { return Ok(Some(Vec::new())) };
                // Whoever completes a section of no document gets nothing to choose from.
                let sections = self.knowledge.sections(asked.tenant(), &id).await;
                let sections = sections.unwrap_or_default();
                let numbers =
                    sections.iter().map(|section| section.id.ordinal.to_string()).collect();
                Ok(Some(beginning_with(numbers, typed)))
            }
            (DOCUMENT_TEMPLATE | SECTION_TEMPLATE, _) => Ok(Some(Vec::new())),
            _ => Ok(None),
        }
    }
}

type Found = Result<ReadResourceResponse, ErrorData>;

impl Offer for Own {
    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn scope(&self, tool: &str) -> Scope {
        Kind::named(tool).map_or(Scope::Admin, Kind::scope)
    }

    fn call<'a>(
        &'a self,
        call: CallToolRequestParams,
        asked: &'a Asked,
    ) -> Answer<'a, CallToolResponse> {
        Box::pin(async move {
            let unknown = || ErrorData::invalid_params("there is no such tool", None);
            let kind = Kind::named(&call.name).ok_or_else(unknown)?;
            tools::call(self, kind, call, asked).await
        })
    }

    fn resources<'a>(
        &'a self,
        after: Option<String>,
        asked: &'a Asked,
    ) -> Answer<'a, Part<Resource>> {
        Box::pin(async move {
            let list = DocumentList { collection: None, after, limit: PAGE };
            let page = self.knowledge.documents(asked.tenant(), list).await.map_err(ours)?;
            let items = page.items.iter().map(resource).collect();
            Ok(Part { items, next: page.next })
        })
    }

    fn templates(&self) -> &[ResourceTemplate] {
        &self.templates
    }

    fn owns(&self, uri: &str) -> bool {
        place(uri).is_some()
    }

    fn read<'a>(
        &'a self,
        read: ReadResourceRequestParams,
        asked: &'a Asked,
    ) -> Answer<'a, ReadResourceResponse> {
        Box::pin(async move {
            match place(&read.uri).ok_or_else(|| no_resource(&read.uri))? {
                Place::Document(id) => self.document(&id, &read.uri, asked).await,
                Place::Section(id) => self.section(&id, &read.uri, asked).await,
            }
        })
    }

    fn prompts(&self) -> &[Prompt] {
        self.prompts.list()
    }

    fn prompt<'a>(
        &'a self,
        get: GetPromptRequestParams,
        _asked: &'a Asked,
    ) -> Answer<'a, GetPromptResponse> {
        Box::pin(async move { Ok(self.prompts.get(&get)?.into()) })
    }

    fn complete<'a>(
        &'a self,
        completing: Completing,
        asked: &'a Asked,
    ) -> Answer<'a, Option<Vec<String>>> {
        Box::pin(async move {
            match &completing.of {
                Reference::Prompt(prompt) => {
                    let (name, argument) = (&prompt.name, &completing.argument);
                    match self.prompts.values(name, &argument.name) {
                        Some(values) => {
                            Ok(Some(self.values(values, &argument.value, asked).await?))
                        }
                        None => Ok(None),
                    }
                }
                Reference::Resource(resource) => {
                    self.complete_address(&resource.uri, &completing, asked).await
                }
                _ => Ok(None),
            }
        })
    }

    fn knowledge(&self) -> Option<&Knowledge> {
        Some(&self.knowledge)
    }

    fn tasks(&self) -> Option<&dyn Deferred> {
        Some(self)
    }
}

/// The document that an address of ours belongs to.
pub(super) fn document_of(uri: &str) -> Option<DocumentId> {
    match place(uri)? {
        Place::Document(id) => Some(id),
        Place::Section(id) => Some(id.document),
    }
}

fn place(uri: &str) -> Option<Place> {
    let rest = uri.strip_prefix(DOCUMENTS)?;
    match rest.split_once('/') {
        None => Some(Place::Document(rest.parse().ok()?)),
        Some((document, section)) => {
            let number = section.strip_prefix("sections/")?;
            // One address for each section: no signs, no zeros in front.
            let ordinal: u32 = number.parse().ok()?;
            let document = document.parse().ok()?;
            (ordinal.to_string() == number)
                .then_some(Place::Section(SectionId { document, ordinal }))
        }
    }
}

fn resource(document: &Document) -> Resource {
    let what = match &document.status {
        Status::Ready => format!("{} in {}", document.doc_type, document.collection),
        Status::Failed { reason } => format!("could not be read: {reason}"),
    };
    Resource::new(format!("{DOCUMENTS}{}", document.id), document.source.clone())
        .with_title(document.title.clone())
        .with_description(what)
        .with_mime_type(mime_type(&document.format))
        .with_size(document.bytes)
}

/// What the text of a document is, once it has been read: headings and lists are written as in Markdown.
fn mime_type(format: &str) -> &'static str {
    match format {
        "Markdown" | "Html" | "Docx" => "text/markdown",
        _ => "text/plain",
    }
}

fn contents(uri: &str, kind: &str, text: String, is_cut: bool) -> ReadResourceResponse {
    let mut contents = ResourceContents::text(text, uri).with_mime_type(kind);
    if is_cut {
        let mut meta = MetaObject::new();
        meta.0.insert(IS_CUT.to_owned(), json!(true));
        contents = contents.with_meta(meta);
    }
    ReadResourceResult::new(vec![contents]).into()
}

fn beginning_with(all: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    all.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect()
}

/// What is not there and what is another's look the same.
fn fault(error: EngineError, uri: &str) -> ErrorData {
    match error {
        EngineError::Absent { .. } => no_resource(uri),
        EngineError::Refused(_) | EngineError::Conflict(_) | EngineError::Port(_) => ours(error),
    }
}

pub(super) fn ours(error: EngineError) -> ErrorData {
    let problem = Problem::from(error);
    let told = format!("{}: {} {}", problem.title, problem.detail, problem.action);
    if problem.status.is_client_error() {
        ErrorData::invalid_params(told, None)
    } else {
        ErrorData::internal_error(told, None)
    }
}

#[cfg(test)]
mod tests {
    use super::{document_of, place};

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_document_and_each_of_its_sections_have_one_address() {
        let document = format!("saem://documents/{ID}");
        let section = format!("{document}/sections/12");
        assert_eq!(document_of(&document).unwrap().as_str(), ID);
        assert_eq!(document_of(&section).unwrap().as_str(), ID);
    }

    #[test]
    fn what_is_not_exactly_an_address_is_none() {
        for rest in
            ["", "x", "../etc", "/sections/1", &format!("{ID}/"), &format!("{ID}/sections/")]
        {
            assert_eq!(place(&format!("saem://documents/{rest}")), None, "{rest}");
        }
        for number in ["+1", "01", "-1", "1/", "1 ", "4294967296", "1%20"] {
            let uri = format!("saem://documents/{ID}/sections/{number}");
            assert_eq!(place(&uri), None, "{uri}");
        }
        assert_eq!(place(&format!("SAEM://documents/{ID}")), None);
        assert_eq!(place(&format!("saem://documents/{}", ID.to_uppercase())), None);
    }
}
