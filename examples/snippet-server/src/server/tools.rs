//! What a model can do: add, list and delete snippets.

use rmcp::handler::server::common::{schema_for_output, schema_for_type};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Resource, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::folder::{Folder, Outcome, Snippet};
use crate::names::{BadName, uri};

/// Adds a snippet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    /// The editor's id of the language, such as rust, typescript or python
    language: String,
    /// What the snippet is called in the editor's menu
    name: String,
    /// What one types to get it
    prefix: String,
    /// The text, with tab stops such as $1, ${2:default} and $0
    body: String,
    /// What it does, in a sentence
    description: Option<String>,
}

/// Lists snippets.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// Only those of this language
    language: Option<String>,
}

/// Deletes a snippet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Delete {
    /// The editor's id of the language
    language: String,
    /// What the snippet is called
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Added {
    uri: String,
    /// The file in the folder of snippets
    file: String,
    /// False if the same snippet was there already
    added: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    snippets: Vec<Item>,
    /// Files that were left out, and why
    problems: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Item {
    uri: String,
    language: String,
    name: String,
    prefixes: Vec<String>,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Deleted {
    uri: String,
}

/// The tools, always in the same order.
pub(super) fn all() -> Vec<Tool> {
    vec![
        tool::<Add, Added>(
            "add_snippet",
            "Add a snippet",
            "Adds a snippet to the user's editor. One that is there already is never replaced.",
        )
        .with_annotations(
            hints("Add a snippet").read_only(false).destructive(false).idempotent(true),
        ),
        tool::<Delete, Deleted>(
            "delete_snippet",
            "Delete a snippet",
            "Deletes a snippet from the user's editor, for good.",
        )
        .with_annotations(
            hints("Delete a snippet").read_only(false).destructive(true).idempotent(true),
        ),
        tool::<List, Listed>(
            "list_snippets",
            "List snippets",
            "Lists the snippets of the user's editor, of one language or of all.",
        )
        .with_annotations(hints("List snippets").read_only(true)),
    ]
}

fn tool<Input, Output>(name: &'static str, title: &str, description: &'static str) -> Tool
where
    Input: JsonSchema + 'static,
    Output: JsonSchema + 'static,
{
    Tool::new(name, description, schema_for_type::<Input>())
        .with_title(title)
        .with_raw_output_schema(schema_for_output::<Output>())
}

/// None of the tools reaches further than this machine.
fn hints(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).open_world(false)
}

/// A call with its arguments.
#[derive(Debug)]
pub(super) enum Call {
    Add(Add),
    List(List),
    Delete(Delete),
}

/// What a call gave, and the URI of what is another thing now.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) result: CallToolResult,
    pub(super) changed: Option<String>,
}

impl Call {
    /// The call of a tool; nothing if there is no such tool, and a message for the model if the arguments are wrong.
    pub(super) fn read(name: &str, arguments: JsonObject) -> Option<Result<Self, String>> {
        match name {
            "add_snippet" => Some(arguments_of(arguments).map(Self::Add)),
            "list_snippets" => Some(arguments_of(arguments).map(Self::List)),
            "delete_snippet" => Some(arguments_of(arguments).map(Self::Delete)),
            _ => None,
        }
    }

    /// Does it. An error is for the model to read.
    pub(super) fn run(self, folder: &Folder) -> Result<Done, String> {
        match self {
            Self::Add(arguments) => add(folder, arguments),
            Self::List(arguments) => list(folder, &arguments),
            Self::Delete(arguments) => delete(folder, &arguments),
        }
    }
}

fn arguments_of<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

fn add(folder: &Folder, arguments: Add) -> Result<Done, String> {
    let named = |error: BadName| error.to_string();
    let snippet = Snippet {
        language: arguments.language.parse().map_err(named)?,
        name: arguments.name.parse().map_err(named)?,
        prefixes: vec![arguments.prefix],
        // Lines are lines, whatever system the model thinks it is on.
        body: arguments.body.replace("\r\n", "\n"),
        description: arguments.description.filter(|description| !description.is_empty()),
    };
    let outcome = folder.add(&snippet).map_err(|fault| fault.to_string())?;
    let (uri, file) = (uri(&snippet.language, &snippet.name), format!("{}.json", snippet.language));
    let added = outcome == Outcome::Changed;
    let words = if added { "is in" } else { "was already in" };
    let text = format!(
        "{} {words} {file}: type {} to use it.",
        snippet.name,
        snippet.prefixes.join(" or ")
    );
    let link =
        Resource::new(&uri, snippet.name.to_string()).with_mime_type(super::resources::MIME_TYPE);
    let changed = added.then(|| uri.clone());
    let mut result = structured(text, &Added { uri, file, added });
    result.content.push(ContentBlock::resource_link(link));
    Ok(Done { result, changed })
}

fn list(folder: &Folder, arguments: &List) -> Result<Done, String> {
    let language = arguments.language.as_deref().map(str::parse).transpose();
    let language = language.map_err(|error: BadName| error.to_string())?;
    let listing = folder.list(language.as_ref()).map_err(|fault| fault.to_string())?;
    let item = |snippet: &Snippet| Item {
        uri: uri(&snippet.language, &snippet.name),
        language: snippet.language.to_string(),
        name: snippet.name.to_string(),
        prefixes: snippet.prefixes.clone(),
        body: snippet.body.clone(),
        description: snippet.description.clone(),
    };
    let listed = Listed {
        snippets: listing.snippets.iter().map(item).collect(),
        problems: listing.faults.iter().map(ToString::to_string).collect(),
    };
    let lines = listed.snippets.iter().map(|snippet| {
        format!("{} · {} · {}", snippet.language, snippet.prefixes.join(", "), snippet.name)
    });
    let lines: Vec<String> = lines.chain(listed.problems.iter().cloned()).collect();
    let text =
        if lines.is_empty() { "There are no snippets yet.".to_owned() } else { lines.join("\n") };
    Ok(Done { result: structured(text, &listed), changed: None })
}

fn delete(folder: &Folder, arguments: &Delete) -> Result<Done, String> {
    let named = |error: BadName| error.to_string();
    let language = arguments.language.parse().map_err(named)?;
    let name = arguments.name.parse().map_err(named)?;
    folder.delete(&language, &name).map_err(|fault| fault.to_string())?;
    let uri = uri(&language, &name);
    let result =
        structured(format!("{name} is gone from {language}.json."), &Deleted { uri: uri.clone() });
    Ok(Done { result, changed: Some(uri) })
}

/// A result for programs, and its words for a model.
fn structured(text: String, value: &impl Serialize) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!(value));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_what_it_takes_what_it_gives_and_what_it_may_do() {
        for tool in all() {
            assert!(tool.description.is_some() && tool.title.is_some(), "{}", tool.name);
            assert!(tool.output_schema.is_some(), "{}", tool.name);
            let annotations = tool.annotations.unwrap();
            assert_eq!(annotations.open_world_hint, Some(false), "{}", tool.name);
            assert_eq!(annotations.read_only_hint, Some(tool.name == "list_snippets"));
            assert_eq!(tool.input_schema["type"], "object");
        }
    }

    #[test]
    fn wrong_arguments_are_for_the_model_to_mend() {
        let read = |name: &str, arguments: Value| {
            let Value::Object(arguments) = arguments else { panic!("no object") };
            Call::read(name, arguments)
        };
        assert!(read("no_tool", json!({})).is_none());
        let missing = read("add_snippet", json!({ "language": "rust" })).unwrap().unwrap_err();
        assert!(missing.contains("name"), "{missing}");
        let unknown = read("list_snippets", json!({ "lang": "rust" })).unwrap().unwrap_err();
        assert!(unknown.contains("lang"), "{unknown}");
    }
}
