//! What the protocol's conformance suite wants to find on a server, served beside Saem's own offer, and only by the command
//! that runs the suite.
#![expect(deprecated, reason = "the suite also asks for what the newer era has dropped")]

mod jobs;
mod papers;
mod rounds;
mod simple;
mod talk;

use std::sync::Arc;

use agent::identity::Scope;
use agent::ports::{Entropy, PortError};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    GetPromptRequestParams, GetPromptResponse, InputRequest, JsonObject, Prompt,
    ReadResourceRequestParams, ReadResourceResponse, Reference, Resource, ResourceTemplate, Tool,
};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::mcp::offer::{Answer, Asked, Completing, News, Offer, Part};
use crate::mcp::state::Seal;
use crate::mcp::tasks::{Deferred, TaskOffer};
use crate::mcp::{Mcp, McpError, McpParts};

/// News that wait for a slow listener.
const NEWS_WAITING_MAX: usize = 16;

impl Mcp {
    /// A server that also offers what the conformance suite looks for.
    pub fn under_test(parts: McpParts) -> Result<Self, McpError> {
        let fixtures = Fixtures::new(parts.entropy.as_ref())?;
        Self::with_offers(parts, vec![Arc::new(fixtures)])
    }
}

struct Fixtures {
    tools: Vec<Tool>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
    seal: Seal,
    jobs: TaskOffer,
    news: broadcast::Sender<News>,
}

impl Fixtures {
    fn new(entropy: &dyn Entropy) -> Result<Self, PortError> {
        let mut tools = simple::tools();
        tools.extend(talk::tools());
        tools.extend(rounds::tools());
        tools.extend(jobs::tools());
        Ok(Self {
            tools,
            templates: papers::templates(),
            prompts: papers::prompts(),
            seal: Seal::new(entropy)?,
            jobs: TaskOffer::default(),
            news: broadcast::channel(NEWS_WAITING_MAX).0,
        })
    }
}

impl Offer for Fixtures {
    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn scope(&self, _tool: &str) -> Scope {
        Scope::Read
    }

    fn call<'a>(
        &'a self,
        call: CallToolRequestParams,
        asked: &'a Asked,
    ) -> Answer<'a, CallToolResponse> {
        Box::pin(async move {
            let name = call.name.to_string();
            if let Some(suffix) = name.strip_prefix(rounds::PREFIX) {
                return rounds::call(self, suffix, &call, asked);
            }
            if let Some(answer) = simple::call(self, &call, asked).await? {
                return Ok(answer);
            }
            if let Some(answer) = talk::call(&call, asked).await? {
                return Ok(answer);
            }
            jobs::call(self, &call, asked).await
        })
    }

    fn resources<'a>(
        &'a self,
        _after: Option<String>,
        _asked: &'a Asked,
    ) -> Answer<'a, Part<Resource>> {
        Box::pin(async { Ok(Part { items: papers::resources(), next: None }) })
    }

    fn templates(&self) -> &[ResourceTemplate] {
        &self.templates
    }

    fn owns(&self, uri: &str) -> bool {
        papers::read(uri).is_some()
    }

    fn read<'a>(
        &'a self,
        read: ReadResourceRequestParams,
        _asked: &'a Asked,
    ) -> Answer<'a, ReadResourceResponse> {
        Box::pin(async move {
            papers::read(&read.uri).ok_or_else(|| crate::mcp::handler::no_resource(&read.uri))
        })
    }

    fn prompts(&self) -> &[Prompt] {
        &self.prompts
    }

    fn prompt<'a>(
        &'a self,
        get: GetPromptRequestParams,
        _asked: &'a Asked,
    ) -> Answer<'a, GetPromptResponse> {
        Box::pin(async move { papers::prompt(&get) })
    }

    fn complete<'a>(
        &'a self,
        completing: Completing,
        _asked: &'a Asked,
    ) -> Answer<'a, Option<Vec<String>>> {
        Box::pin(async move {
            let is_ours = match &completing.of {
                Reference::Prompt(of) => self.prompts.iter().any(|prompt| prompt.name == of.name),
                _ => false,
            };
            let values = ["paris", "park", "party"].map(str::to_owned);
            let begins = |value: &String| value.starts_with(&completing.argument.value);
            Ok(is_ours.then(|| values.into_iter().filter(begins).collect()))
        })
    }

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        Some(self.news.subscribe())
    }

    fn tasks(&self) -> Option<&dyn Deferred> {
        Some(&self.jobs)
    }

    fn logs(&self) -> bool {
        true
    }
}

/// A tool with these properties, all of them required if they are named so.
fn tool(
    name: &'static str,
    description: &'static str,
    properties: Value,
    required: &[&str],
) -> Tool {
    Tool::new(name, description, form(properties, required))
}

fn plain(name: &'static str, description: &'static str) -> Tool {
    Tool::new(name, description, object(json!({ "type": "object", "properties": {} })))
}

/// A schema of these properties.
fn form(properties: Value, required: &[&str]) -> JsonObject {
    let mut schema = object(json!({ "type": "object", "required": required }));
    schema.insert("properties".to_owned(), properties);
    schema
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn argument<'a>(call: &'a CallToolRequestParams, name: &str) -> Option<&'a Value> {
    call.arguments.as_ref()?.get(name)
}

fn text_argument<'a>(call: &'a CallToolRequestParams, name: &str) -> &'a str {
    argument(call, name).and_then(Value::as_str).unwrap_or_default()
}

/// A request to the client, from its JSON.
fn request(value: Value) -> Result<InputRequest, ErrorData> {
    let read = serde_json::from_value(value);
    read.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A question with a form.
fn elicitation(message: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": message,
            "requestedSchema": form(properties, required),
        },
    })
}
