//! The words of a chat completion as servers say them, whole or in pieces.
//!
//! A piece is a word, and an answer has hundreds of them: what they say is read into its place, without a tree of values.

use std::fmt;

use agent::model::Usage;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// What ends a stream.
pub(super) const DONE: &str = "[DONE]";

/// A piece of an answer, or the whole: the two differ in `delta` and `message` only. What few pieces have is in a box,
/// as each is moved some times on its way.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    choices: Option<First>,
    usage: Option<Box<WireUsage>>,
    x_groq: Option<Box<Groq>>,
    /// An error may come where an answer is expected.
    pub(super) error: Option<Box<Value>>,
}

#[derive(Debug, Deserialize)]
struct Groq {
    usage: Option<WireUsage>,
}

/// The first choice of a list, if it has one: never more than one is asked for.
#[derive(Debug)]
struct First(Option<Choice>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choices;
        impl<'de> Visitor<'de> for Choices {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<First, A::Error> {
                let mut first = None;
                while let Some(choice) = choices.next_element::<Choice>()? {
                    if first.is_none() && choice.index.unwrap_or(0) == 0 {
                        first = Some(choice);
                    }
                }
                Ok(First(first))
            }
        }
        deserializer.deserialize_seq(Choices)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    index: Option<u32>,
    delta: Option<Delta>,
    message: Option<Box<Delta>>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Deserialize, Default)]
pub(super) struct Delta {
    #[serde(default)]
    content: Said,
    /// DeepSeek, Z.AI, older vLLM.
    #[serde(default)]
    reasoning_content: Said,
    /// Ollama, newer vLLM, OpenRouter.
    #[serde(default)]
    reasoning: Said,
    pub(super) refusal: Option<String>,
    tool_calls: Option<Vec<Fragment>>,
}

/// What stands where a text is expected.
#[derive(Debug, Default)]
enum Said {
    #[default]
    Nothing,
    Text(String),
    /// Mistral's typed parts.
    Parts(Vec<Value>),
}

impl Said {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nothing | Self::Parts(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnySaid)
    }
}

struct AnySaid;

/// Whatever else it is says nothing.
impl<'de> Visitor<'de> for AnySaid {
    type Value = Said;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or its parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Said, E> {
        Ok(Said::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Said, E> {
        Ok(Said::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Said, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        Ok(Said::Parts(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Said::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Said, E> {
        Ok(Said::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Said, E> {
        Ok(Said::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Said, E> {
        Ok(Said::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Said, E> {
        Ok(Said::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Said, E> {
        Ok(Said::Nothing)
    }
}

/// A part of a tool call: name and id come first, the arguments in pieces.
#[derive(Debug, Deserialize)]
pub(super) struct Fragment {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionFragment>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionFragment {
    pub(super) name: Option<String>,
    /// A piece of text that will be JSON; some servers give the object itself.
    pub(super) arguments: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for what was cached.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Chunk {
    pub(super) fn choice(&mut self) -> Option<Choice> {
        self.choices.take()?.0
    }

    /// Whether it says something besides its choice and its usage.
    pub(super) fn has_more(&self) -> bool {
        self.usage.is_some() || self.x_groq.is_some() || self.error.is_some()
    }

    /// None when nothing was counted: some servers send zeros before the end.
    pub(super) fn usage(&self) -> Option<Usage> {
        let groq = || self.x_groq.as_deref().and_then(|groq| groq.usage.as_ref());
        self.usage.as_deref().or_else(groq).and_then(WireUsage::usage)
    }
}

impl Choice {
    /// Whether it is a piece of an answer with words in it, and nothing else.
    pub(super) fn is_only_words(&self) -> bool {
        self.message.is_none()
            && self.finish_reason.is_none()
            && self.delta.as_ref().is_some_and(|delta| {
                matches!(delta.content, Said::Text(_))
                    && matches!(delta.reasoning_content, Said::Nothing)
                    && matches!(delta.reasoning, Said::Nothing)
                    && delta.refusal.is_none()
                    && delta.tool_calls.is_none()
            })
    }

    /// The next piece, or the whole where nothing came in pieces.
    pub(super) fn said(&mut self) -> Delta {
        let whole = || self.message.take().map(|message| *message);
        self.delta.take().or_else(whole).unwrap_or_default()
    }
}

impl Delta {
    /// What it says and what it thinks, in this order.
    pub(super) fn texts(&mut self) -> (String, String) {
        let (mut text, mut thoughts) = (String::new(), String::new());
        match std::mem::take(&mut self.content) {
            Said::Nothing => {}
            Said::Text(content) => text = content,
            Said::Parts(parts) => {
                for part in &parts {
                    text.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default());
                    thoughts.push_str(&thinking(part));
                }
            }
        }
        // Some servers say the same under both names.
        let named = self.reasoning_content.text().or_else(|| self.reasoning.text());
        thoughts.push_str(named.unwrap_or_default());
        (text, thoughts)
    }

    pub(super) fn fragments(&mut self) -> Vec<Fragment> {
        self.tool_calls.take().unwrap_or_default()
    }
}

/// Mistral's typed parts: `{"type":"thinking","thinking":[{"type":"text","text":"…"}]}`.
fn thinking(part: &Value) -> String {
    let parts = part.get("thinking").and_then(Value::as_array);
    let texts = parts.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
    texts.collect()
}

impl WireUsage {
    fn usage(&self) -> Option<Usage> {
        let input = self.prompt_tokens.unwrap_or(0);
        let written = self.completion_tokens.unwrap_or(0);
        if input == 0 && written == 0 {
            return None;
        }
        let details = self.completion_tokens_details.as_ref();
        let reasoning = details.and_then(|details| details.reasoning_tokens).unwrap_or(0);
        // xAI leaves reasoning out of what was written, but not out of the sum.
        let all = input.saturating_add(written).saturating_add(reasoning);
        let is_apart = reasoning > written || (reasoning > 0 && self.total_tokens == Some(all));
        let output = if is_apart { written.saturating_add(reasoning) } else { written };
        let details = self.prompt_tokens_details.as_ref();
        let cached = details
            .and_then(|details| details.cached_tokens)
            .or(self.prompt_cache_hit_tokens)
            .unwrap_or(0);
        Some(Usage { input, cached: cached.min(input), output, reasoning, is_estimated: false })
    }
}

#[cfg(test)]
mod tests {
    use agent::model::Usage;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_usage(usage: Value, expected: Option<[u64; 4]>) {
        let chunk: Chunk = serde_json::from_value(usage).unwrap();
        let expected = expected.map(|[input, cached, output, reasoning]| Usage {
            input,
            cached,
            output,
            reasoning,
            is_estimated: false,
        });
        assert_eq!(chunk.usage(), expected);
    }

    #[test]
    fn usage_is_read_in_every_dialect() {
        check_usage(
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
                "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5}}}),
            Some([10, 4, 7, 5]),
        );
        check_usage(
            json!({"usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 22,
                "completion_tokens_details": {"reasoning_tokens": 5}}}),
            Some([10, 0, 12, 5]),
        );
        check_usage(
            json!({"x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}),
            Some([1, 0, 2, 0]),
        );
        check_usage(
            json!({"usage": {"prompt_tokens": 5, "completion_tokens": 1, "prompt_cache_hit_tokens": 9}}),
            Some([5, 5, 1, 0]),
        );
        check_usage(json!({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}), None);
        check_usage(json!({"usage": null, "choices": null}), None);
    }

    #[track_caller]
    fn check_texts(delta: Value, text: &str, thoughts: &str) {
        let mut delta: Delta = serde_json::from_value(delta).unwrap();
        assert_eq!(delta.texts(), (text.to_owned(), thoughts.to_owned()));
    }

    #[test]
    fn text_and_thinking_are_read_in_every_dialect() {
        check_texts(json!({"role": "assistant", "content": "a", "refusal": null}), "a", "");
        check_texts(json!({"content": null, "reasoning_content": "a", "reasoning": "a"}), "", "a");
        check_texts(json!({"content": "", "reasoning": "a", "reasoning_content": null}), "", "a");
        check_texts(
            json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]},
                {"type": "text", "text": "a"}]}),
            "a",
            "b",
        );
    }
}
