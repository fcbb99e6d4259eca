//! Each snippet as a resource, in the editor's own form; and words that complete its URI.

use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::broken;
use crate::folder::{Fault, Folder, Listing};
use crate::names::{URI_TEMPLATE, of_uri, uri};

/// What a snippet is written in.
pub(super) const MIME_TYPE: &str = "application/json";

/// The resources of all snippets.
pub(super) fn all(listing: &Listing) -> Vec<Resource> {
    let resource = |snippet: &crate::folder::Snippet| {
        let uri = uri(&snippet.language, &snippet.name);
        let resource = Resource::new(uri, snippet.name.to_string()).with_mime_type(MIME_TYPE);
        let prefixes = snippet.prefixes.join(", ");
        let said = snippet.description.as_deref().unwrap_or_default();
        resource.with_description(
            format!("{} · {prefixes} · {said}", snippet.language).trim_end_matches(" · "),
        )
    };
    listing.snippets.iter().map(resource).collect()
}

/// The one template that all of them follow.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new(URI_TEMPLATE, "snippet").with_mime_type(MIME_TYPE);
    vec![template.with_description("A snippet of the user's editor, by its language and name")]
}

/// The text of one.
pub(super) fn read(folder: &Folder, uri: String) -> Result<ReadResourceResult, ErrorData> {
    let absent = || {
        ErrorData::resource_not_found(
            "there is no such snippet",
            Some(json!({ "uri": uri.clone() })),
        )
    };
    let (language, name) = of_uri(&uri).ok_or_else(absent)?;
    let snippet = match folder.find(&language, &name) {
        Ok(snippet) => snippet,
        Err(Fault::Absent(_)) => return Err(absent()),
        Err(fault) => return Err(broken(&fault)),
    };
    let mut value = json!({
        "prefix": snippet.prefixes,
        "body": snippet.body.split('\n').collect::<Vec<_>>(),
    });
    if let (Some(description), Some(fields)) = (snippet.description, value.as_object_mut()) {
        fields.insert("description".to_owned(), description.into());
    }
    let text = format!("{:#}", json!({ name.to_string(): value }));
    let contents = ResourceContents::text(text, uri).with_mime_type(MIME_TYPE);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Languages and names that begin with what was typed.
pub(super) fn complete(
    listing: &Listing,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let chosen = request.context.as_ref().and_then(|context| context.arguments.as_ref());
    let language = chosen.and_then(|arguments| arguments.get("language"));
    let of_language = |snippet: &&crate::folder::Snippet| {
        language.is_none_or(|language| *language == snippet.language.to_string())
    };
    let mut values: Vec<String> = match request.argument.name.as_str() {
        "language" => listing.snippets.iter().map(|snippet| snippet.language.to_string()).collect(),
        "name" => {
            let snippets = listing.snippets.iter().filter(of_language);
            snippets.map(|snippet| snippet.name.to_string()).collect()
        }
        _ => Vec::new(),
    };
    values.retain(|value| value.starts_with(&request.argument.value));
    values.sort();
    values.dedup();
    values.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::new(values);
    info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}
