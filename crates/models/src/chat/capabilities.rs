//! What a model takes and what it does not: guessed from its name, set by the operator, corrected by its server.

use super::complaint::Complaint;

/// What is to be known of a model before it is asked. A guess that is wrong is put right by the server's complaint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    pub cap: Cap,
    /// Models that reason refuse it.
    pub takes_temperature: bool,
    /// Models that reason refuse it.
    pub takes_stop: bool,
    pub schema: SchemaMode,
    /// Whether it can be made to call a tool.
    pub can_require_tools: bool,
    /// Whether the server takes tools at all; where it does not, they stand in the instructions.
    pub takes_tools: bool,
    pub system: SystemMessages,
    /// Whether the answer can come in pieces.
    pub streams: bool,
    /// Whether usage can be asked for in a stream.
    pub counts_in_streams: bool,
    /// Whether thinking may stand between tags at the beginning of the text.
    pub thinks_in_tags: bool,
}

/// Under which name the largest number of tokens is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    MaxTokens,
    MaxCompletionTokens,
}

/// How a model is brought to answer in JSON of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// `response_format`: the server holds the model to it.
    Native,
    /// A tool whose parameters are the schema.
    Tool,
    /// The schema stands in the instructions.
    Prompted,
}

/// How many system messages a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemMessages {
    Many,
    /// One, at the beginning: many chat templates stop at a second.
    One,
    /// None: what they say goes to the beginning of the first message.
    No,
}

impl Capabilities {
    #[must_use]
    pub fn guess(model: &str) -> Self {
        let lower = model.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or_default();
        let is_openai = ["gpt-3", "gpt-4", "gpt-5", "gpt-6", "chatgpt", "o1", "o3", "o4"]
            .iter()
            .any(|start| name.starts_with(start));
        let reasons = is_openai
            && ["gpt-5", "gpt-6", "o1", "o3", "o4"].iter().any(|start| name.starts_with(start))
            && !name.contains("-chat");
        let cannot_be_made_to_call = ["gpt-oss", "kimi", "moonshot", "qwen3-coder", "qwen-3-coder"]
            .iter()
            .any(|start| name.starts_with(start));
        Self {
            cap: if reasons || name.starts_with("gpt-5") {
                Cap::MaxCompletionTokens
            } else {
                Cap::MaxTokens
            },
            takes_temperature: !reasons,
            takes_stop: !reasons,
            // Ollama's cloud takes a schema and passes it over in silence.
            schema: if name.ends_with("-cloud") {
                SchemaMode::Prompted
            } else {
                SchemaMode::Native
            },
            can_require_tools: !cannot_be_made_to_call,
            takes_tools: true,
            system: match name {
                _ if name.starts_with("o1-mini") => SystemMessages::No,
                _ if is_openai => SystemMessages::Many,
                _ => SystemMessages::One,
            },
            streams: true,
            counts_in_streams: true,
            thinks_in_tags: !is_openai,
        }
    }
}

/// How one request is put: what the model can, and how it is brought to JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) capabilities: Capabilities,
    pub(super) schema: SchemaMode,
    /// The name of the largest number was changed once; it is not changed back.
    cap_is_changed: bool,
}

/// What of a manner a request made use of: nothing else can be given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used {
    pub(super) cap: bool,
    pub(super) temperature: bool,
    pub(super) stop: bool,
    pub(super) json: bool,
    pub(super) tools: bool,
    /// Tools that the caller offers, and not one for JSON.
    pub(super) own_tools: bool,
}

impl Manner {
    pub(super) fn new(capabilities: Capabilities, schema: SchemaMode) -> Self {
        Self { capabilities, schema, cap_is_changed: false }
    }

    /// Gives up one thing that the server may have complained of; false if there is none left.
    ///
    /// Each thing is given up once, so a request is repeated only a few times.
    pub(super) fn concede(&mut self, complaint: &Complaint, used: Used) -> bool {
        let can = &mut self.capabilities;
        if can.streams && can.counts_in_streams && complaint.is_about("stream_options") {
            can.counts_in_streams = false;
        } else if used.temperature && can.takes_temperature && complaint.is_about("temperature") {
            can.takes_temperature = false;
        } else if used.stop && can.takes_stop && complaint.param.as_deref() == Some("stop") {
            can.takes_stop = false;
        } else if used.cap && !self.cap_is_changed && complaint.is_about(can.cap.name()) {
            self.cap_is_changed = true;
            can.cap = can.cap.other();
        } else if used.tools && can.can_require_tools && complaint.is_about("tool_choice") {
            can.can_require_tools = false;
        } else if used.own_tools && can.takes_tools && is_about_tools(complaint) {
            can.takes_tools = false;
        } else if used.json {
            // Servers complain of schemas in too many words to look for them.
            match self.schema {
                SchemaMode::Native => self.schema = SchemaMode::Tool,
                SchemaMode::Tool => self.schema = SchemaMode::Prompted,
                SchemaMode::Prompted => return false,
            }
        } else {
            return false;
        }
        true
    }
}

/// Servers say "does not support tools", or that tool choice has to be enabled when they start.
fn is_about_tools(complaint: &Complaint) -> bool {
    complaint.is_about("tools") || complaint.is_about("tool choice")
}

impl Cap {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_reason_take_no_sampling_and_another_cap() {
        for name in ["gpt-5-nano", "openai/gpt-5.4-nano", "o3-mini", "GPT-6"] {
            let can = Capabilities::guess(name);
            assert_eq!(
                (can.cap, can.takes_temperature),
                (Cap::MaxCompletionTokens, false),
                "{name}"
            );
            assert!(!can.takes_stop, "{name}");
        }
        let chat = Capabilities::guess("gpt-5-chat-latest");
        assert_eq!((chat.cap, chat.takes_temperature), (Cap::MaxCompletionTokens, true));
        for name in ["gpt-4o", "llama3.2", "qwen2.5:7b", "gpt-oss:20b", "olmo"] {
            let can = Capabilities::guess(name);
            assert_eq!((can.cap, can.takes_temperature), (Cap::MaxTokens, true), "{name}");
        }
    }

    #[test]
    fn what_a_name_tells_of_schemas_tools_and_system_messages() {
        assert_eq!(Capabilities::guess("gpt-oss:120b-cloud").schema, SchemaMode::Prompted);
        assert_eq!(Capabilities::guess("gpt-oss:120b").schema, SchemaMode::Native);
        assert!(!Capabilities::guess("gpt-oss:120b").can_require_tools);
        assert!(Capabilities::guess("llama3.2").can_require_tools);
        assert_eq!(Capabilities::guess("o1-mini").system, SystemMessages::No);
        assert_eq!(Capabilities::guess("gpt-4o").system, SystemMessages::Many);
        assert_eq!(Capabilities::guess("llama3.2").system, SystemMessages::One);
    }

    const ALL: Used =
        Used { cap: true, temperature: true, stop: true, json: true, tools: true, own_tools: true };

    const NONE: Used = Used {
        cap: false,
        temperature: false,
        stop: false,
        json: false,
        tools: false,
        own_tools: false,
    };

    fn manner() -> Manner {
        Manner::new(Capabilities::guess("llama3.2"), SchemaMode::Native)
    }

    fn complaint(param: &str) -> Complaint {
        let body = format!(r#"{{"error":{{"message":"Unsupported","param":"{param}"}}}}"#);
        Complaint::read(body.as_bytes())
    }

    #[test]
    fn what_the_server_names_is_given_up_first() {
        let mut manner = manner();
        for param in ["stream_options", "temperature", "stop", "max_tokens", "tool_choice", "tools"]
        {
            assert!(manner.concede(&complaint(param), ALL), "{param}");
        }
        let can = &manner.capabilities;
        assert!(!can.counts_in_streams && !can.takes_temperature && !can.takes_stop);
        assert!(!can.takes_tools);
        assert_eq!((can.cap, can.can_require_tools), (Cap::MaxCompletionTokens, false));
        assert_eq!(manner.schema, SchemaMode::Native);
    }

    #[test]
    fn a_schema_is_given_up_step_by_step_and_then_nothing_is_left() {
        let mut manner = manner();
        let unclear = Complaint::read(b"Bad Request");
        let used = Used { json: true, ..NONE };
        let modes: Vec<SchemaMode> =
            std::iter::from_fn(|| manner.concede(&unclear, used).then_some(manner.schema))
                .collect();
        assert_eq!(modes, [SchemaMode::Tool, SchemaMode::Prompted]);
    }

    #[test]
    fn what_was_not_used_cannot_be_given_up() {
        let used = NONE;
        assert!(!manner().concede(&complaint("temperature"), used));
        assert!(!manner().concede(&Complaint::read(b"no"), used));
    }
}
