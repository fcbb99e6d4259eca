//! What a model is told about the form of its answer, when the form is JSON.

use serde_json::{Value, json};

use super::{ToolCall, ToolSpec};
use crate::text::clip;

const ANSWER_IN_JSON: &str = include_str!("../../prompts/answer_in_json.md");
const ANSWER_TOOL: &str = include_str!("../../prompts/answer_tool.md");
const TOOLS_IN_TEXT: &str = include_str!("../../prompts/tools_in_text.md");
const REPAIR_JSON: &str = include_str!("../../prompts/repair_json.md");

/// Longest account of what is wrong that a model gets to read, in bytes: more than one fault confuses a small model.
const FAULT_BYTES_MAX: usize = 2_000;

/// For models that cannot be held to a schema in another way.
#[must_use]
pub fn answer_in_json(schema: &Value) -> String {
    ANSWER_IN_JSON.trim_end().replace("{{schema}}", &schema.to_string())
}

/// The description of a tool whose call is the answer.
#[must_use]
pub fn answer_tool() -> &'static str {
    ANSWER_TOOL.trim_end()
}

/// For models whose server takes no tools: what there is, and how a call is written down.
#[must_use]
pub fn tools_in_text(tools: &[ToolSpec]) -> String {
    let line = |tool: &ToolSpec| {
        format!("- {}: {} Arguments: {}\n", tool.name, tool.description, tool.parameters)
    };
    let tools: String = tools.iter().map(line).collect();
    // The list goes in last: descriptions are strangers' words.
    TOOLS_IN_TEXT.trim_end().replacen("{{tools}}", tools.trim_end(), 1)
}

/// A call as such a model writes it down.
#[must_use]
pub fn call_in_text(call: &ToolCall) -> String {
    format!("```json\n{}\n```", json!({"name": call.name, "arguments": call.arguments}))
}

/// After an answer that could not be used.
#[must_use]
pub fn repair_json(fault: &str, schema: &Value) -> String {
    // The schema goes in first: a fault that spells the other mark is not filled in.
    let text = REPAIR_JSON.trim_end().replace("{{schema}}", &schema.to_string());
    text.replacen("{{fault}}", clip(fault, FAULT_BYTES_MAX), 1)
}
