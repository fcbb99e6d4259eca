//! MCP's types and ours: the one place where the first become the second.

use agent::tools::definition::{Annotations, Offered};
use agent::tools::outcome::{Link, Piece, ToolOutput};
use agent::tools::suspicion::clean;
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, Prompt, ReadResourceResult, Resource,
    ResourceContents, Role, Tool,
};
use serde_json::Value;

use super::connection::{PromptLine, ResourceLine};

pub(super) fn offered(tool: Tool) -> Offered {
    let hints = tool.annotations.unwrap_or_default();
    Offered {
        name: tool.name.into_owned(),
        title: tool.title.or(hints.title),
        description: tool.description.map(std::borrow::Cow::into_owned).unwrap_or_default(),
        input_schema: Value::Object(tool.input_schema.as_ref().clone()),
        output_schema: tool.output_schema.map(|schema| Value::Object(schema.as_ref().clone())),
        annotations: Annotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        },
    }
}

pub(super) fn output(result: CallToolResult) -> ToolOutput {
    let pieces = result.content.into_iter().map(piece).collect();
    ToolOutput::of(pieces, result.structured_content, result.is_error.unwrap_or(false))
}

pub(super) fn contents(result: ReadResourceResult) -> ToolOutput {
    ToolOutput::of(result.contents.into_iter().map(content).collect(), None, false)
}

/// A prompt's messages, each under the name of who says it.
pub(super) fn messages(result: GetPromptResult) -> Vec<(String, String)> {
    let said = result.messages.into_iter().map(|message| {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let text = ToolOutput::of(vec![piece(message.content)], None, false).text;
        (role.to_owned(), text)
    });
    said.collect()
}

fn piece(block: ContentBlock) -> Piece {
    match block {
        ContentBlock::Text(text) => Piece::Text(text.text),
        ContentBlock::Image(image) => bytes(image.mime_type, &image.data),
        ContentBlock::Audio(audio) => bytes(audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => content(resource.resource),
        ContentBlock::ResourceLink(link) => {
            Piece::Link(Link { title: link.title.unwrap_or(link.name), address: link.uri })
        }
        _ => Piece::Text("[something that this version cannot read]".to_owned()),
    }
}

fn content(contents: ResourceContents) -> Piece {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Piece::Text(text),
        ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
            bytes(mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()), &blob)
        }
        _ => Piece::Text("[something that this version cannot read]".to_owned()),
    }
}

/// Four letters of base64 are three bytes.
fn bytes(kind: String, base64: &str) -> Piece {
    Piece::Bytes { kind, size: base64.trim_end_matches('=').len() * 3 / 4 }
}

pub(super) fn resource(resource: Resource) -> ResourceLine {
    ResourceLine {
        address: resource.uri,
        title: clean(&resource.title.unwrap_or(resource.name)),
        description: clean(&resource.description.unwrap_or_default()),
        media_type: resource.mime_type,
    }
}

pub(super) fn prompt(prompt: Prompt) -> PromptLine {
    let arguments = prompt.arguments.unwrap_or_default().into_iter();
    PromptLine {
        name: prompt.name,
        description: clean(&prompt.description.or(prompt.title).unwrap_or_default()),
        arguments: arguments.map(|of| (of.name, of.required.unwrap_or(false))).collect(),
    }
}
