//! The prompt that asks a model for a good snippet.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role,
};

use super::broken;
use crate::folder::Folder;
use crate::names::{BadName, Language};

const NAME: &str = "write_snippet";

const TEXT: &str = include_str!("../../prompts/write_snippet.md");

/// Prefixes that a model is told are taken: more would bury the rest of the prompt.
const TAKEN_MAX: usize = 200;

/// Longest wish, in characters: a paragraph.
const PURPOSE_CHARS_MAX: usize = 2_000;

pub(super) fn definition() -> Prompt {
    let language = PromptArgument::new("language")
        .with_description("The editor's id of the language, such as rust")
        .with_required(true);
    let purpose = PromptArgument::new("purpose")
        .with_description("What the snippet is for, in your words")
        .with_required(true);
    let said = "Asks for a good snippet and has it added to the editor";
    Prompt::new(NAME, Some(said), Some(vec![language, purpose])).with_title("Write a snippet")
}

/// The prompt with its arguments, and with the prefixes that are taken.
pub(super) fn fill(
    folder: &Folder,
    request: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let bad = |message: String| ErrorData::invalid_params(message, None);
    if request.name != NAME {
        return Err(bad(format!("there is no prompt {}", request.name)));
    }
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name)?.as_str());
        let value = value.map(str::trim).filter(|value| !value.is_empty());
        value.ok_or_else(|| bad(format!("the argument {name} is missing")))
    };
    let (language, purpose) = (argument("language")?, argument("purpose")?);
    if purpose.chars().count() > PURPOSE_CHARS_MAX {
        return Err(bad(format!("the purpose is longer than {PURPOSE_CHARS_MAX} characters")));
    }
    let language: Language = language.parse().map_err(|error: BadName| bad(error.to_string()))?;
    let listing = folder.list(Some(&language)).map_err(|fault| broken(&fault))?;
    let prefixes = listing.snippets.iter().flat_map(|snippet| &snippet.prefixes).take(TAKEN_MAX);
    let taken: Vec<String> = prefixes.map(|prefix| format!("`{prefix}`")).collect();
    let taken = if taken.is_empty() { "(none yet)".to_owned() } else { taken.join(", ") };
    // The wish goes in last: braces in it are the user's own.
    let text = TEXT.replace("{language}", &language.to_string()).replace("{taken}", &taken);
    let text = text.replacen("{purpose}", purpose, 1);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]))
}
