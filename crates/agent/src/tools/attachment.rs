//! What a person puts beside a question: `@server:uri` for a resource of a server, `/server:prompt` for one of its prompts.

use serde_json::{Map, Value};

use super::naming::ServerId;

/// Attachments of one question: more would leave none of them room.
pub const ATTACHMENTS_MAX: usize = 8;

/// Something of a server that is to be read with a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Attachment {
    Resource { server: ServerId, address: String },
    Prompt { server: ServerId, name: String, arguments: Map<String, Value> },
}

impl Attachment {
    #[must_use]
    pub fn server(&self) -> &ServerId {
        match self {
            Self::Resource { server, .. } | Self::Prompt { server, .. } => server,
        }
    }

    /// As a person writes it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Resource { server, address } => format!("@{server}:{address}"),
            Self::Prompt { server, name, .. } => format!("/{server}:{name}"),
        }
    }
}

/// A line of a conversation: the question, and what it names. A line that is nothing but a prompt is its own question.
#[must_use]
pub fn read(line: &str) -> (String, Vec<Attachment>) {
    let line = line.trim();
    let mut attached = Vec::new();
    let mut question = line.to_owned();
    if let Some((prompt, rest)) = prompt(line) {
        attached.push(prompt);
        if !rest.is_empty() {
            question = rest.to_owned();
        }
    }
    for word in question.split_whitespace() {
        if let Some(resource) = resource(word)
            && !attached.contains(&resource)
        {
            attached.push(resource);
        }
    }
    (question, attached)
}

/// `@files:file:///a.md`, with whatever ends a sentence behind it.
fn resource(word: &str) -> Option<Attachment> {
    let (server, address) = word.strip_prefix('@')?.split_once(':')?;
    let address = address.trim_end_matches([',', '.', ';', '?', '!', ')']);
    // Somebody may be spoken to: `@mina: look`.
    let is_address = address.contains([':', '/']);
    let server = server.parse().ok().filter(|_| is_address)?;
    Some(Attachment::Resource { server, address: address.to_owned() })
}

/// `/issues:triage label=bug days=3 and then the question`.
fn prompt(line: &str) -> Option<(Attachment, &str)> {
    let command = line.strip_prefix('/')?;
    let (command, mut rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let (server, name) = command.split_once(':')?;
    let server = server.parse().ok().filter(|_| !name.is_empty())?;
    let mut arguments = Map::new();
    while let Some((key, value, after)) = argument(rest) {
        arguments.insert(key.to_owned(), Value::from(value));
        rest = after;
    }
    Some((Attachment::Prompt { server, name: name.to_owned(), arguments }, rest.trim()))
}

/// The next `key=value` or `key="a value"`, and what comes after it.
fn argument(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.trim_start();
    let (key, rest) = text.split_once('=')?;
    let is_key = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    if key.is_empty() || !key.chars().all(is_key) {
        return None;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, after) = quoted.split_once('"')?;
        return Some((key, value, after));
    }
    let (value, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some((key, value, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(line: &str, question: &str, attached: &[&str]) -> Vec<Attachment> {
        let (read_question, read_attached) = read(line);
        let shown: Vec<String> = read_attached.iter().map(Attachment::shown).collect();
        assert_eq!(
            (read_question.as_str(), shown),
            (question, attached.iter().map(|one| (*one).to_owned()).collect())
        );
        read_attached
    }

    #[test]
    fn resources_are_named_anywhere_and_stay_in_the_question() {
        let line = "Is @files:file:///a.md like @files:file:///b.md?";
        check(line, line, &["@files:file:///a.md", "@files:file:///b.md"]);
        let twice = "@docs:doc://1 and @docs:doc://1";
        check(twice, twice, &["@docs:doc://1"]);
    }

    #[test]
    fn people_and_paths_are_no_resources() {
        for line in [
            "@mina: look at this",
            "@mina:hello",
            "a@b.example:8/x",
            "/new",
            "/usr/bin is full",
            "@:x/y",
        ] {
            check(line, line, &[]);
        }
    }

    #[test]
    fn a_prompt_has_arguments_and_may_have_a_question() {
        let line = "/issues:triage label=bug note=\"두 단어\" what comes first?";
        let attached = check(line, "what comes first?", &["/issues:triage"]);
        let Attachment::Prompt { arguments, .. } = &attached[0] else { panic!("{attached:?}") };
        assert_eq!(Value::Object(arguments.clone()), json!({"label": "bug", "note": "두 단어"}));
        check("/issues:triage", "/issues:triage", &["/issues:triage"]);
        let both = "/issues:triage is @docs:doc://1 right?";
        check(both, "is @docs:doc://1 right?", &["/issues:triage", "@docs:doc://1"]);
    }
}
