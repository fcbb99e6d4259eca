//! Fixtures that answer by themselves: every kind of content, errors, progress, schemas, headers and changes of lists.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    ErrorData, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ResourceContents, Tool,
};
use serde_json::json;

use super::papers::{PNG, WAV};
use super::{Fixtures, object, plain, said, text_argument, tool};
use crate::mcp::offer::{Asked, News};

/// Between two signs of progress, as the suite describes it.
const STEP: Duration = Duration::from_millis(50);

/// How long the reconnecting client is kept waiting.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) fn tools() -> Vec<Tool> {
    vec![
        plain("test_simple_text", "Returns a text"),
        plain("test_image_content", "Returns an image"),
        plain("test_audio_content", "Returns a sound"),
        plain("test_embedded_resource", "Returns a resource"),
        plain("test_multiple_content_types", "Returns text, image and resource"),
        plain("test_error_handling", "Returns an error"),
        plain("test_tool_with_progress", "Tells how far it is"),
        plain("test_reconnection", "Answers after a pause"),
        Tool::new("json_schema_2020_12_tool", "Has a schema of many keywords", object(schema())),
        plain("test_missing_capability", "Needs a client that can sample"),
        plain("test_logging_tool", "Logs if it is asked to"),
        plain("test_trigger_tool_change", "Says that the tools have changed"),
        plain("test_trigger_prompt_change", "Says that the prompts have changed"),
        tool(
            "test_custom_header",
            "Has an argument that travels as a header",
            json!({ "value": { "type": "string", "x-mcp-header": "Value" } }),
            &[],
        ),
    ]
}

fn schema() -> serde_json::Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

/// The answer, if the tool is one of these.
pub(super) async fn call(
    fixtures: &Fixtures,
    call: &CallToolRequestParams,
    asked: &Asked,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let answer = match &*call.name {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => shown(vec![ContentBlock::image(PNG, "image/png")]),
        "test_audio_content" => shown(vec![ContentBlock::audio(WAV, "audio/wav")]),
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            shown(vec![embedded("test://embedded-resource", "text/plain", text)])
        }
        "test_multiple_content_types" => {
            let uri = "test://mixed-content-resource";
            shown(vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::image(PNG, "image/png"),
                embedded(uri, "application/json", r#"{"test":"data","value":123}"#),
            ])
        }
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            CallToolResult::error(vec![ContentBlock::text(text)]).into()
        }
        "test_tool_with_progress" => progress(asked).await,
        "test_reconnection" => {
            tokio::time::sleep(PAUSE).await;
            said("Reconnection test completed")
        }
        "json_schema_2020_12_tool" => said("The schema was understood."),
        "test_custom_header" => said(format!("value: {}", text_argument(call, "value"))),
        "test_missing_capability" => needs_sampling(asked)?,
        "test_logging_tool" => logging(asked).await,
        "test_trigger_tool_change" => tell(fixtures, News::ToolsChanged),
        "test_trigger_prompt_change" => tell(fixtures, News::PromptsChanged),
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

fn shown(content: Vec<ContentBlock>) -> CallToolResponse {
    CallToolResult::success(content).into()
}

fn embedded(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(kind))
}

async fn progress(asked: &Asked) -> CallToolResponse {
    let token = asked.context.meta.get_progress_token();
    for step in [0.0, 50.0, 100.0] {
        if let Some(token) = token.clone() {
            let told = ProgressNotificationParam::new(token, step).with_total(100.0);
            _ = asked.peer().notify_progress(told).await;
        }
        tokio::time::sleep(STEP).await;
    }
    said("Progress was told.")
}

fn needs_sampling(asked: &Asked) -> Result<CallToolResponse, ErrorData> {
    let declared = asked.context.client_capabilities().is_some_and(|of| of.sampling.is_some());
    if declared {
        return Ok(said("The client can sample."));
    }
    let needed = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(needed))
}

async fn logging(asked: &Asked) -> CallToolResponse {
    if asked.context.meta.log_level().is_some() {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!("The tool ran"));
        _ = asked.peer().notify_logging_message(told).await;
    }
    said("Logged if it was asked to.")
}

fn tell(fixtures: &Fixtures, news: News) -> CallToolResponse {
    // Without a listener there is nobody to tell.
    _ = fixtures.news.send(news);
    said("Told.")
}
