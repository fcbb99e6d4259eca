//! What is asked, in the words of a chat completion and in the manner that the model takes.

use std::borrow::Cow;
use std::io::Write as _;

use agent::model::{
    Message, ModelRequest, Output, ToolCall, ToolChoice, ToolSpec, answer_in_json, answer_tool,
    call_in_text, tools_in_text,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::capabilities::{Capabilities, Manner, SchemaMode, SystemMessages, Used};

/// Where the conversation and the form of the answer stand in the body.
const MESSAGES: &str = "messages";
const FORMAT: &str = "response_format";

/// About what a body takes besides its messages, in bytes.
const SETTINGS_BYTES: usize = 2 << 10;

/// Longest name of a schema or tool that OpenAI takes.
const NAME_LETTERS_MAX: usize = 64;

/// The body of the request. `extra` is put in last and wins.
pub(super) fn body(
    model: &str,
    request: &ModelRequest,
    manner: &Manner,
    extra: &Map<String, Value>,
) -> Vec<u8> {
    let mut others = settings(model, request, manner);
    others.extend(extra.iter().map(|(name, value)| (name.clone(), value.clone())));
    // Messages and schema are most of it: they are written from where they stand, once, into a text that seldom has to grow.
    let mut body = Vec::with_capacity(request.text_bytes() * 9 / 8 + SETTINGS_BYTES);
    body.push(b'{');
    // Texts and trees of values can always be written, to memory at least.
    if !extra.contains_key(MESSAGES) {
        let messages = messages(request, manner);
        let messages: Vec<WireMessage<'_>> = messages.iter().map(WireMessage::of).collect();
        _ = write!(body, "\"{MESSAGES}\":");
        _ = serde_json::to_writer(&mut body, &messages);
        body.push(b',');
    }
    if let (Output::Json { name, schema }, SchemaMode::Native) = (&request.output, manner.schema)
        && !extra.contains_key(FORMAT)
    {
        let (name, text, is_strict) = (plain(name), schema.text(), schema.is_strict());
        let named = format!("\"name\":\"{name}\",\"schema\":{text},\"strict\":{is_strict}");
        _ = write!(body, "\"{FORMAT}\":{{\"type\":\"json_schema\",\"json_schema\":{{{named}}}}},");
    }
    // Never empty, as it names the model.
    let others = Value::Object(others).to_string();
    body.extend_from_slice(others.trim_start_matches('{').as_bytes());
    body
}

/// All of the body but the messages and the form of the answer.
fn settings(model: &str, request: &ModelRequest, manner: &Manner) -> Map<String, Value> {
    let can = &manner.capabilities;
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", json!(model));
    put("stream", json!(can.streams));
    if can.streams && can.counts_in_streams {
        put("stream_options", json!({"include_usage": true}));
    }
    if let Some(tokens_max) = request.tokens_max {
        put(can.cap.name(), json!(tokens_max));
    }
    if let Some(temperature) = request.temperature.filter(|_| can.takes_temperature) {
        put("temperature", json!(temperature));
    }
    if can.takes_stop && !request.stop.is_empty() {
        put("stop", json!(request.stop));
    }
    let tools = tools(request, manner);
    if !tools.is_empty() {
        put("tools", Value::Array(tools));
        if let Some(choice) = tool_choice(request, manner) {
            put("tool_choice", json!(choice));
        }
    }
    body
}

/// What of the manner this request makes use of.
pub(super) fn used(request: &ModelRequest) -> Used {
    let json = matches!(request.output, Output::Json { .. });
    Used {
        cap: request.tokens_max.is_some(),
        temperature: request.temperature.is_some(),
        stop: !request.stop.is_empty(),
        json,
        tools: json || !request.tools.is_empty(),
        own_tools: !request.tools.is_empty(),
    }
}

/// The name of the tool by which the model gives its JSON, if that is how it does.
pub(super) fn output_tool(request: &ModelRequest, manner: &Manner) -> Option<String> {
    match (&request.output, manner.schema) {
        (Output::Json { name, .. }, SchemaMode::Tool) => Some(plain(name)),
        (Output::Json { .. }, SchemaMode::Native | SchemaMode::Prompted) | (Output::Text, _) => {
            None
        }
    }
}

/// The messages in the manner that the model takes; as they are where it takes them so.
fn messages<'a>(request: &'a ModelRequest, manner: &Manner) -> Cow<'a, [Message]> {
    let mut messages = Cow::Borrowed(request.messages.as_slice());
    if let (Output::Json { schema, .. }, SchemaMode::Prompted) = (&request.output, manner.schema) {
        let place = messages.iter().take_while(|message| is_system(message)).count();
        messages.to_mut().insert(place, Message::system(answer_in_json(schema.value())));
    }
    if !manner.capabilities.takes_tools && !request.tools.is_empty() {
        messages = Cow::Owned(tools_written_down(messages.into_owned()));
        if request.tool_choice != ToolChoice::Never {
            let place = messages.iter().take_while(|message| is_system(message)).count();
            messages.to_mut().insert(place, Message::system(tools_in_text(&request.tools)));
        }
    }
    arranged(messages, &manner.capabilities)
}

/// Calls and their results as texts, for servers that know of neither. Results of one round are one message: many chat
/// templates stop at a second of the same speaker.
fn tools_written_down(messages: Vec<Message>) -> Vec<Message> {
    let mut written: Vec<Message> = Vec::new();
    let mut follows_result = false;
    for message in messages {
        let is_result = matches!(message, Message::Tool { .. });
        match (message, written.last_mut()) {
            (Message::Tool { text, .. }, Some(Message::User { text: before }))
                if follows_result =>
            {
                before.push('\n');
                before.push_str(&text);
            }
            (Message::Tool { text, .. }, _) => written.push(Message::user(text)),
            (Message::Assistant { text, tool_calls }, _) if !tool_calls.is_empty() => {
                let calls = tool_calls.iter().map(call_in_text);
                let all = std::iter::once(text).filter(|text| !text.is_empty()).chain(calls);
                written.push(Message::assistant(all.collect::<Vec<_>>().join("\n")));
            }
            (other, _) => written.push(other),
        }
        follows_result = is_result;
    }
    written
}

/// System messages where the server takes them.
fn arranged<'a>(messages: Cow<'a, [Message]>, can: &Capabilities) -> Cow<'a, [Message]> {
    // One that stands at the beginning is where it belongs.
    let is_in_place = || messages.iter().skip(1).all(|message| !is_system(message));
    if can.system == SystemMessages::Many || can.system == SystemMessages::One && is_in_place() {
        return messages;
    }
    let (system, mut others): (Vec<Message>, Vec<Message>) =
        messages.into_owned().into_iter().partition(is_system);
    let texts = system.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    if text.is_empty() {
        return Cow::Owned(others);
    }
    match (can.system, others.first_mut()) {
        (SystemMessages::No, Some(Message::User { text: first })) => {
            *first = format!("{text}\n\n{first}");
        }
        (SystemMessages::No, _) => others.insert(0, Message::user(text)),
        (SystemMessages::One | SystemMessages::Many, _) => others.insert(0, Message::system(text)),
    }
    Cow::Owned(others)
}

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System { .. })
}

/// A message as it goes over the wire.
#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> WireMessage<'a> {
    fn of(message: &'a Message) -> Self {
        let plain = |role, content| Self { role, content, tool_calls: vec![], tool_call_id: None };
        match message {
            Message::System { text } => plain("system", text),
            Message::User { text } => plain("user", text),
            Message::Assistant { text, tool_calls } => {
                let tool_calls = tool_calls.iter().map(call).collect();
                Self { tool_calls, ..plain("assistant", text) }
            }
            Message::Tool { call_id, text } => {
                Self { tool_call_id: Some(call_id), ..plain("tool", text) }
            }
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tools(request: &ModelRequest, manner: &Manner) -> Vec<Value> {
    let own = request.tools.iter().filter(|_| manner.capabilities.takes_tools);
    let mut tools: Vec<Value> = own.map(tool).collect();
    if let (Output::Json { name, schema }, SchemaMode::Tool) = (&request.output, manner.schema) {
        tools.push(tool(&ToolSpec {
            name: plain(name),
            description: answer_tool().to_owned(),
            parameters: schema.value().clone(),
        }));
    }
    tools
}

fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    let function = json!({"name": name, "description": description, "parameters": parameters});
    json!({"type": "function", "function": function})
}

fn tool_choice(request: &ModelRequest, manner: &Manner) -> Option<&'static str> {
    let is_output = output_tool(request, manner).is_some();
    match request.tool_choice {
        _ if is_output && manner.capabilities.can_require_tools => Some("required"),
        ToolChoice::Required if manner.capabilities.can_require_tools => Some("required"),
        ToolChoice::Never if !is_output => Some("none"),
        ToolChoice::Auto | ToolChoice::Never | ToolChoice::Required => None,
    }
}

/// A name of the letters that servers take.
fn plain(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') => letter,
        _ => '_',
    });
    let name: String = letters.take(NAME_LETTERS_MAX).collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}
