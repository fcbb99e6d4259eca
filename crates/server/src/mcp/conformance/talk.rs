//! Fixtures of the older era: they log, and ask the client back while they are being called.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, LoggingLevel,
    LoggingMessageNotificationParam, Tool,
};
use serde_json::{Value, json};

use super::{form, plain, said, text_argument, tool};
use crate::mcp::offer::Asked;

/// Between two log messages, as the suite describes it.
const STEP: Duration = Duration::from_millis(50);

pub(super) fn tools() -> Vec<Tool> {
    vec![
        plain("test_tool_with_logging", "Logs three messages"),
        tool(
            "test_sampling",
            "Asks the client's model",
            json!({ "prompt": { "type": "string" } }),
            &["prompt"],
        ),
        tool(
            "test_elicitation",
            "Asks the client's user",
            json!({ "message": { "type": "string" } }),
            &["message"],
        ),
        plain("test_elicitation_sep1034_defaults", "Asks with defaults of every kind"),
        plain("test_elicitation_sep1330_enums", "Asks with choices of every kind"),
    ]
}

/// The answer, if the tool is one of these.
pub(super) async fn call(
    call: &CallToolRequestParams,
    asked: &Asked,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let answer = match &*call.name {
        "test_tool_with_logging" => logging(asked).await,
        "test_sampling" => sampling(text_argument(call, "prompt"), asked).await,
        "test_elicitation" => {
            let properties =
                json!({ "username": { "type": "string" }, "email": { "type": "string" } });
            let message = text_argument(call, "message");
            match elicit(message, properties, &["username", "email"], asked).await {
                Ok((action, content)) => {
                    said(format!("User response: action={action}, content={content}"))
                }
                Err(why) => failed(&why),
            }
        }
        "test_elicitation_sep1034_defaults" => completed(defaults(), asked).await,
        "test_elicitation_sep1330_enums" => completed(choices(), asked).await,
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

async fn logging(asked: &Asked) -> CallToolResponse {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
        _ = asked.peer().notify_logging_message(told).await;
        tokio::time::sleep(STEP).await;
    }
    said("Three messages were logged.")
}

async fn sampling(prompt: &str, asked: &Asked) -> CallToolResponse {
    let declared = asked.context.client_capabilities().is_some_and(|of| of.sampling.is_some());
    if !declared {
        return failed("the client cannot sample");
    }
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = serde_json::from_value(json!({ "messages": [message], "maxTokens": 100 }));
    let params = match params {
        Ok(params) => params,
        Err(error) => return failed(&error),
    };
    match asked.peer().create_message(params).await {
        Ok(result) => {
            let value = serde_json::to_value(&result).unwrap_or_default();
            let text = value.pointer("/content/text").and_then(Value::as_str);
            said(format!("LLM response: {}", text.unwrap_or_default()))
        }
        Err(error) => failed(&error),
    }
}

async fn completed(properties: Value, asked: &Asked) -> CallToolResponse {
    match elicit("Please fill this in", properties, &[], asked).await {
        Ok((action, content)) => {
            said(format!("Elicitation completed: action={action}, content={content}"))
        }
        Err(why) => failed(&why),
    }
}

/// Asks the user; gives what was done and what was filled in.
async fn elicit(
    message: &str,
    properties: Value,
    required: &[&str],
    asked: &Asked,
) -> Result<(String, Value), String> {
    let schema = form(properties, required);
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    let params = serde_json::from_value(params).map_err(|error| error.to_string())?;
    let result =
        asked.peer().create_elicitation(params).await.map_err(|error| error.to_string())?;
    let action = serde_json::to_value(&result.action).unwrap_or_default();
    let action = action.as_str().unwrap_or_default().to_owned();
    Ok((action, result.content.unwrap_or_else(|| json!({}))))
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let titled = |values: [(&str, &str); 3]| {
        values.map(|(value, title)| json!({ "const": value, "title": title }))
    };
    let options = || titled([("value1", "First"), ("value2", "Second"), ("value3", "Third")]);
    json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": options() },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
        },
        "titledMulti": { "type": "array", "items": { "anyOf": options() } },
    })
}

fn failed(why: &(impl ToString + ?Sized)) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(why.to_string())]).into()
}
