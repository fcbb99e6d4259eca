//! Fixtures to read: resources, a template and prompts.

use rmcp::model::{
    ContentBlock, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    InputRequests, InputRequiredResult, Prompt, PromptArgument, PromptMessage,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Value, json};

use super::rounds::filled;
use super::{elicitation, request};

/// An image of one pixel.
pub(super) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A sound of one sample.
pub(super) const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub(super) fn resources() -> Vec<Resource> {
    let resource = |uri: &str, name: &str, what: &str, kind: &str| {
        Resource::new(uri, name).with_description(what).with_mime_type(kind)
    };
    vec![
        resource(TEXT, "static-text", "A text that never changes", "text/plain"),
        resource(BINARY, "static-binary", "An image that never changes", "image/png"),
        resource(WATCHED, "watched-resource", "A text to watch", "text/plain"),
    ]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("Data of any id")
            .with_mime_type("application/json"),
    ]
}

/// What an address holds, if it is one of these.
pub(super) fn read(uri: &str) -> Option<ReadResourceResponse> {
    let text = |text: &str| ResourceContents::text(text, uri);
    let contents = match uri {
        TEXT => text("This is the content of the static text resource."),
        BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        WATCHED => text("This is a resource to watch."),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let value =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            text(&value.to_string()).with_mime_type("application/json")
        }
    };
    Some(ReadResourceResult::new(vec![contents]).into())
}

pub(super) fn prompts() -> Vec<Prompt> {
    let argument =
        |name: &str| PromptArgument::new(name).with_description("Any text").with_required(true);
    vec![
        Prompt::new("test_simple_prompt", Some("A text"), None),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("A text with two arguments"),
            Some(vec![argument("arg1"), argument("arg2")]),
        ),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            Some("A resource and a text"),
            Some(vec![argument("resourceUri")]),
        ),
        Prompt::new("test_prompt_with_image", Some("An image and a text"), None),
        Prompt::new("test_input_required_result_prompt", Some("Asks first"), None),
    ]
}

pub(super) fn prompt(get: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let found = get.arguments.as_ref().and_then(|arguments| arguments.get(name));
        found.and_then(Value::as_str).unwrap_or_default()
    };
    let user = |content: ContentBlock| PromptMessage::new(Role::User, content);
    let messages = match get.name.as_str() {
        "test_simple_prompt" => {
            vec![user(ContentBlock::text("This is a simple prompt for testing."))]
        }
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![user(ContentBlock::text(text))]
        }
        "test_prompt_with_embedded_resource" => {
            let text = "Embedded resource content for testing.";
            let resource = ResourceContents::text(text, argument("resourceUri"));
            vec![
                user(ContentBlock::resource(resource)),
                user(ContentBlock::text("Please process the embedded resource above.")),
            ]
        }
        "test_prompt_with_image" => vec![
            user(ContentBlock::image(PNG, "image/png")),
            user(ContentBlock::text("Please analyze the image above.")),
        ],
        _ => return asking(get),
    };
    Ok(GetPromptResult::new(messages).into())
}

fn asking(get: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let responses = get.input_responses.as_ref();
    let context = responses.and_then(|responses| filled(responses.get("user_context")?, "context"));
    if let Some(context) = context.and_then(Value::as_str) {
        let message = PromptMessage::new_text(Role::User, format!("With this in mind: {context}"));
        return Ok(GetPromptResult::new(vec![message]).into());
    }
    let form = json!({ "context": { "type": "string" } });
    let form = request(elicitation("What is it about?", form, &["context"]))?;
    let requests = InputRequests::from([("user_context".to_owned(), form)]);
    Ok(InputRequiredResult::from_input_requests(requests).into())
}
