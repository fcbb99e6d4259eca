//! What is asked, in the words of a chat completion and in the manner that the model takes.

use agent::model::{
    Message, ModelRequest, Output, ToolCall, ToolChoice, ToolSpec, answer_in_json, answer_tool,
    call_in_text, tools_in_text,
};
use serde_json::{Map, Value, json};

use super::capabilities::{Capabilities, Manner, SchemaMode, SystemMessages, Used};
use agent::model::schema;

/// Longest name of a schema or tool that OpenAI takes.
const NAME_LETTERS_MAX: usize = 64;

/// The body of the request. `extra` is put in last and wins.
pub(super) fn body(
    model: &str,
    request: &ModelRequest,
    manner: &Manner,
    extra: &Map<String, Value>,
) -> Value {
    let can = &manner.capabilities;
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", json!(model));
    put("messages", messages(request, manner));
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
    if let (Output::Json { name, schema }, SchemaMode::Native) = (&request.output, manner.schema) {
        let format =
            json!({"name": plain(name), "schema": schema, "strict": schema::is_strict(schema)});
        put("response_format", json!({"type": "json_schema", "json_schema": format}));
    }
    body.extend(extra.iter().map(|(name, value)| (name.clone(), value.clone())));
    Value::Object(body)
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

fn messages(request: &ModelRequest, manner: &Manner) -> Value {
    let mut messages = request.messages.clone();
    if let (Output::Json { schema, .. }, SchemaMode::Prompted) = (&request.output, manner.schema) {
        let place = messages.iter().take_while(|message| is_system(message)).count();
        messages.insert(place, Message::system(answer_in_json(schema)));
    }
    if !manner.capabilities.takes_tools && !request.tools.is_empty() {
        messages = tools_written_down(messages);
        if request.tool_choice != ToolChoice::Never {
            let place = messages.iter().take_while(|message| is_system(message)).count();
            messages.insert(place, Message::system(tools_in_text(&request.tools)));
        }
    }
    let messages = arranged(messages, &manner.capabilities);
    Value::Array(messages.iter().map(message).collect())
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
fn arranged(messages: Vec<Message>, can: &Capabilities) -> Vec<Message> {
    if can.system == SystemMessages::Many {
        return messages;
    }
    let (system, mut others): (Vec<Message>, Vec<Message>) =
        messages.into_iter().partition(is_system);
    let texts = system.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    if text.is_empty() {
        return others;
    }
    match (can.system, others.first_mut()) {
        (SystemMessages::No, Some(Message::User { text: first })) => {
            *first = format!("{text}\n\n{first}");
        }
        (SystemMessages::No, _) => others.insert(0, Message::user(text)),
        (SystemMessages::One | SystemMessages::Many, _) => others.insert(0, Message::system(text)),
    }
    others
}

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System { .. })
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, tool_calls } => {
            let calls: Vec<Value> = tool_calls.iter().map(call).collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Tool { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
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
            parameters: schema.clone(),
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
