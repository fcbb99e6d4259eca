//! Prompts from files: front matter says what they take, the rest is the text with `{{argument}}`s.

mod front_matter;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use self::front_matter::Argument;
use crate::mcp::icons;

/// Longest file of a prompt, in bytes: some pages of text.
const PROMPT_BYTES_MAX: usize = 64 << 10;

/// Longest value of an argument, in bytes: a page of text that somebody pastes.
const VALUE_BYTES_MAX: usize = 32 << 10;

/// The prompts that ship.
const SHIPPED: [(&str, &str); 2] = [
    ("answer-from-documents", include_str!("prompts/answer-from-documents.md")),
    ("summarize-document", include_str!("prompts/summarize-document.md")),
];

/// A prompt as it is written.
#[derive(Debug, Clone)]
pub struct PromptFile {
    /// The file's name without its ending.
    pub name: String,
    pub text: String,
}

/// A file that is no prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt {name}: {why}")]
pub struct PromptFault {
    name: String,
    why: String,
}

/// What an argument may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Values {
    Free,
    Listed(Vec<String>),
    /// The names of the caller's collections.
    Collections,
    /// The titles of the caller's documents.
    Documents,
}

/// All prompts, by their names.
pub(super) struct Prompts {
    list: Vec<Prompt>,
    known: BTreeMap<String, Known>,
}

struct Known {
    body: String,
    arguments: Vec<Argument>,
    description: Option<String>,
}

impl Prompts {
    /// The prompts that ship, and these: a later one of the same name takes the earlier one's place.
    pub(super) fn read(files: Vec<PromptFile>) -> Result<Self, PromptFault> {
        let shipped =
            SHIPPED.map(|(name, text)| PromptFile { name: name.to_owned(), text: text.to_owned() });
        let mut all = BTreeMap::new();
        for file in shipped.into_iter().chain(files) {
            let name = file.name.clone();
            let read = read(file).map_err(|why| PromptFault { name: name.clone(), why })?;
            all.insert(name, read);
        }
        let list = all.values().map(|(prompt, _)| prompt.clone()).collect();
        let known = all.into_iter().map(|(name, (_, known))| (name, known)).collect();
        Ok(Self { list, known })
    }

    pub(super) fn list(&self) -> &[Prompt] {
        &self.list
    }

    /// What an argument of a prompt may be; none if there is no such prompt.
    pub(super) fn values(&self, prompt: &str, argument: &str) -> Option<&Values> {
        const FREE: &Values = &Values::Free;
        let known = self.known.get(prompt)?;
        let found = known.arguments.iter().find(|known| known.name == argument);
        Some(found.map_or(FREE, |known| &known.values))
    }

    /// The prompt with its arguments filled in.
    pub(super) fn get(&self, get: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
        let refused = |why: String| ErrorData::invalid_params(why, None);
        let Some(known) = self.known.get(&get.name) else {
            return Err(refused("there is no prompt of this name".to_owned()));
        };
        let mut given = BTreeMap::new();
        for argument in &known.arguments {
            let name = argument.name.as_str();
            let value = get.arguments.as_ref().and_then(|arguments| arguments.get(name));
            let value = value.and_then(Value::as_str).unwrap_or_default();
            if value.len() > VALUE_BYTES_MAX {
                return Err(refused(format!("{name} has more than {VALUE_BYTES_MAX} bytes")));
            }
            if argument.is_required && value.trim().is_empty() {
                return Err(refused(format!("the argument {name} is missing")));
            }
            given.insert(name, value);
        }
        let message = PromptMessage::new_text(Role::User, filled(&known.body, &given));
        let mut result = GetPromptResult::new(vec![message]);
        result.description.clone_from(&known.description);
        Ok(result)
    }
}

fn read(file: PromptFile) -> Result<(Prompt, Known), String> {
    if file.text.len() > PROMPT_BYTES_MAX {
        return Err(format!("it has more than {PROMPT_BYTES_MAX} bytes"));
    }
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if file.name.is_empty() || file.name.len() > 64 || !file.name.chars().all(is_legal) {
        return Err("its name is not 1 to 64 of A-Z, a-z, 0-9, _, - and .".to_owned());
    }
    let (head, body) = front_matter::read(&file.text)?;
    let argument = |argument: &Argument| {
        let mut listed =
            PromptArgument::new(argument.name.clone()).with_required(argument.is_required);
        listed.title.clone_from(&argument.title);
        listed.description.clone_from(&argument.description);
        listed
    };
    let arguments = head.arguments.iter().map(argument).collect();
    let mut prompt = Prompt::new(file.name, head.description.clone(), Some(arguments));
    prompt.title = head.title;
    let known =
        Known { body: body.to_owned(), arguments: head.arguments, description: head.description };
    Ok((prompt.with_icons(icons()), known))
}

/// The text with every `{{name}}` replaced, once: what a value holds is not looked at again.
fn filled(body: &str, given: &BTreeMap<&str, &str>) -> String {
    let mut text = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let known = after.split_once("}}").and_then(|(name, behind)| {
            let value = given.get(name.trim())?;
            Some((*value, behind))
        });
        match known {
            Some((value, behind)) => {
                text.push_str(value);
                rest = behind;
            }
            None => {
                text.push_str("{{");
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text.trim().to_owned()
}
