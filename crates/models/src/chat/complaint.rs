//! What a server says is wrong, in whichever of the common places and words it says so.

use serde_json::Value;

/// Words by which servers tell that the conversation is too long.
const OVERFLOW_WORDS: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "prompt is too long",
    "input is too long",
    "too many tokens",
];

/// Words by which servers tell that a filter stopped the request.
const FILTER_WORDS: &[&str] =
    &["content_filter", "content_policy", "content management policy", "moderation", "flagged"];

/// Words by which servers tell that there is no money left. Plain "quota" is not among them: some say it of a rate.
const MONEY_WORDS: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "billing",
    "insufficient balance",
    "credit balance",
    "insufficient credit",
    "payment required",
];

/// An error as the server tells it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Complaint {
    pub(super) message: String,
    pub(super) param: Option<String>,
    /// A status inside the words: streams begin with 200 and may end in an error.
    pub(super) status: Option<u16>,
    pub(super) tokens: Option<u64>,
    pub(super) tokens_max: Option<u64>,
    /// Message, code and type in lower case: where words are looked for.
    all: String,
}

impl Complaint {
    pub(super) fn read(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self::from_words(&String::from_utf8_lossy(body)),
        }
    }

    pub(super) fn from_value(value: &Value) -> Self {
        // Some wrap it in a list of one.
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").unwrap_or(value);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let number = |name: &str| error.get(name).and_then(Value::as_u64);
        let message = error
            .as_str()
            .or_else(|| text("message"))
            .or_else(|| text("detail"))
            .or_else(|| value.get("message").and_then(Value::as_str))
            .map(str::to_owned)
            .or_else(|| error.get("detail").map(Value::to_string))
            .unwrap_or_default();
        let all = [Some(message.as_str()), text("code"), text("type"), text("param")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        Self {
            param: text("param").map(str::to_owned),
            status: number("code")
                .or_else(|| number("status"))
                .and_then(|code| code.try_into().ok()),
            tokens: number("n_prompt_tokens"),
            tokens_max: number("n_ctx"),
            message,
            all,
        }
    }

    fn from_words(words: &str) -> Self {
        Self { message: words.to_owned(), all: words.to_lowercase(), ..Self::default() }
    }

    pub(super) fn is_about(&self, field: &str) -> bool {
        match &self.param {
            Some(param) if !param.is_empty() => param.starts_with(field),
            _ => self.all.contains(field),
        }
    }

    pub(super) fn is_overflow(&self) -> bool {
        self.speaks_of(OVERFLOW_WORDS)
    }

    pub(super) fn is_filter(&self) -> bool {
        self.speaks_of(FILTER_WORDS)
    }

    pub(super) fn is_money(&self) -> bool {
        self.speaks_of(MONEY_WORDS)
    }

    pub(super) fn is_overload(&self) -> bool {
        self.speaks_of(&["overloaded", "rate_limit", "rate limit", "server_error", "unavailable"])
    }

    fn speaks_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.all.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::Complaint;

    #[track_caller]
    fn check(body: &str, message: &str) -> Complaint {
        let complaint = Complaint::read(body.as_bytes());
        assert_eq!(complaint.message, message, "{body}");
        complaint
    }

    #[test]
    fn the_message_is_found_where_servers_put_it() {
        check(r#"{"error":{"message":"a","code":"b"}}"#, "a");
        check(r#"{"error":"a"}"#, "a");
        check(r#"{"message":"a"}"#, "a");
        check(r#"{"object":"error","message":"a","code":40303}"#, "a");
        check(r#"{"detail":"a"}"#, "a");
        check(r#"{"detail":[{"msg":"a","loc":["body"]}]}"#, r#"[{"loc":["body"],"msg":"a"}]"#);
        check(r#"[{"error":{"code":429,"message":"a"}}]"#, "a");
        check("<html>a", "<html>a");
        check("{}", "");
    }

    #[test]
    fn servers_own_words_for_too_long_filtered_and_unpaid_are_understood() {
        let llama = check(
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
            "the request exceeds the available context size",
        );
        assert!(llama.is_overflow());
        assert_eq!(
            (llama.tokens, llama.tokens_max, llama.status),
            (Some(9000), Some(8192), Some(400))
        );
        let openai =
            Complaint::read(br#"{"error":{"message":"m","code":"context_length_exceeded"}}"#);
        assert!(openai.is_overflow() && !openai.is_filter() && !openai.is_money());
        let filter = Complaint::read(br#"{"error":{"message":"m","code":"content_filter"}}"#);
        assert!(filter.is_filter());
        let unpaid = Complaint::read(br#"{"error":{"message":"m","type":"insufficient_quota"}}"#);
        assert!(unpaid.is_money());
        assert!(
            !Complaint::read(br#"{"error":{"message":"Quota exceeded for requests per minute"}}"#)
                .is_money()
        );
    }

    #[test]
    fn a_named_parameter_says_more_than_the_words() {
        let named = Complaint::read(
            br#"{"error":{"message":"Use 'max_completion_tokens' instead of 'max_tokens'.","param":"max_tokens"}}"#,
        );
        assert!(named.is_about("max_tokens") && !named.is_about("max_completion_tokens"));
        assert!(Complaint::read(b"unknown field stream_options").is_about("stream_options"));
        let nested =
            Complaint::read(br#"{"error":{"message":"m","param":"stream_options.include_usage"}}"#);
        assert!(nested.is_about("stream_options"));
    }
}
