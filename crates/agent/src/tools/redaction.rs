//! Arguments as the activity log keeps them: enough to see what was done, nothing that opens a door.

use serde_json::{Map, Value};

use super::suspicion::clean;
use crate::text::clip;

/// Bytes of one text that are kept.
const TEXT_BYTES_MAX: usize = 200;

/// Values that are kept of one call, however they nest.
const VALUES_MAX: usize = 50;

/// How deep arguments are kept.
const DEPTH_MAX: usize = 6;

const HIDDEN: &str = "[redacted]";

/// Parts of keys whose values are nobody's business.
const SECRET_KEYS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "privatekey",
    "accesskey",
    "sessionid",
    "pincode",
    "비밀번호",
];

/// How texts begin that are keys themselves.
const SECRET_STARTS: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "saem_",
    "eyJ",
    "-----BEGIN",
];

/// The arguments without secrets, and short.
#[must_use]
pub fn redact(arguments: &Value) -> Value {
    let mut left = VALUES_MAX;
    redacted(arguments, DEPTH_MAX, &mut left)
}

fn redacted(value: &Value, depth_left: usize, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    if depth_left == 0 {
        return Value::from("…");
    }
    match value {
        Value::String(text) => Value::from(shown(text)),
        Value::Array(items) => {
            let mut kept = Vec::new();
            for item in items {
                if *left == 0 {
                    kept.push(Value::from("…"));
                    break;
                }
                kept.push(redacted(item, depth_left - 1, left));
            }
            Value::Array(kept)
        }
        Value::Object(map) => {
            let mut kept = Map::new();
            for (key, inner) in map {
                if *left == 0 {
                    kept.insert("…".to_owned(), Value::Null);
                    break;
                }
                let inner = if is_secret_key(key) {
                    Value::from(HIDDEN)
                } else {
                    redacted(inner, depth_left - 1, left)
                };
                kept.insert(clip(&clean(key), TEXT_BYTES_MAX).to_owned(), inner);
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

pub(super) fn is_secret_key(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    SECRET_KEYS.iter().any(|secret| plain.contains(secret))
}

fn shown(text: &str) -> String {
    let text = clean(text);
    // A word that is a key hides the whole text: what stands around it may be the rest of it.
    let has_secret =
        text.split([' ', '\n', '\t', '"', '\'', '=', '&', ',', ':', '?']).any(is_secret);
    let has_login = text.contains("://")
        && text
            .split("://")
            .skip(1)
            .any(|rest| rest.split(['/', ' ']).next().is_some_and(|host| host.contains('@')));
    if has_secret || has_login || text.to_lowercase().contains("bearer ") {
        return HIDDEN.to_owned();
    }
    let cut = clip(&text, TEXT_BYTES_MAX);
    if cut.len() == text.len() { text } else { format!("{cut}… ({} bytes)", text.len()) }
}

fn is_secret(word: &str) -> bool {
    word.len() >= 16 && SECRET_STARTS.iter().any(|start| word.starts_with(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_arguments_stay() {
        let plain = json!({"path": "docs/가이드.md", "count": 3, "deep": [true, null]});
        assert_eq!(redact(&plain), plain);
    }

    #[test]
    fn what_opens_a_door_is_not_kept() {
        let given = json!({
            "apiKey": "k", "API_KEY": "k", "auth": {"access_token": {"a": 1}}, "비밀번호": "k",
            "url": "https://user:pass@host/x", "header": "Authorization: Bearer abc",
            "note": "use sk-0123456789abcdef0123 for it", "jwt": "eyJhbGciOiJIUzI1NiJ9.e30.x",
        });
        let kept = redact(&given).to_string();
        for secret in ["\"k\"", "pass@", "abc", "0123", "eyJ", "\"a\""] {
            assert!(!kept.contains(secret), "{secret} in {kept}");
        }
        assert_eq!(redact(&json!({"url": "https://host/a@b"})), json!({"url": "https://host/a@b"}));
    }

    #[test]
    fn much_is_kept_short_and_whole_characters() {
        let long = redact(&json!({"text": "샘".repeat(10_000)}));
        assert!(long.to_string().len() < 300 && long.to_string().contains("30000 bytes"));
        let wide = redact(&json!(vec![1; 100_000]));
        assert!(wide.to_string().len() < 300);
        let mut deep = json!("end");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(redact(&deep).to_string().len() < 50);
        assert_eq!(redact(&json!({"a\u{202e}": "\u{1b}[2J"})), json!({"a": "[2J"}));
    }
}
