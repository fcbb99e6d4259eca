//! The editor's folder of snippets: a file of JSON with comments for each language.

mod file;

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use crate::jsonc::{self, Object};
use crate::names::{Language, Name};

/// Files of languages that are looked at: editors know about 70 languages.
const FILES_MAX: usize = 500;

/// Longest text of a snippet, in bytes: some thousand lines, where a snippet has ten.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// Longest prefix and description, in characters: each is one line of a menu.
const LINE_CHARS_MAX: usize = 200;

/// Why something could not be done, in words for the model that asked for it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(
        "{0} already has another snippet of this name: choose another name, or delete that one first"
    )]
    Taken(String),
    #[error("{0} has no snippet of this name: list_snippets says what there is")]
    Absent(String),
    #[error("{what} is empty, longer than {most}, or not one line")]
    BadText { what: &'static str, most: String },
    #[error("{0} is not a plain file; nothing was changed")]
    NotPlain(String),
    #[error("{file} has more than {} bytes; nothing was changed", file::BYTES_MAX)]
    TooLong { file: String },
    #[error("{file} was left as it is: {source}")]
    Unreadable { file: String, source: jsonc::Fault },
    #[error("the folder of snippets cannot be used: {0}")]
    Folder(#[from] io::Error),
}

/// A snippet and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snippet {
    pub(crate) language: Language,
    pub(crate) name: Name,
    /// What one types to get it. Editors allow more than one.
    pub(crate) prefixes: Vec<String>,
    pub(crate) body: String,
    pub(crate) description: Option<String>,
}

/// What is in the folder, and the files that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) snippets: Vec<Snippet>,
    pub(crate) faults: Vec<Fault>,
}

/// Whether the folder is another one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Changed,
    /// It was there already, the same.
    Unchanged,
}

/// A snippet as editors write it: its body is a list of lines.
#[derive(Serialize)]
struct Written<'a> {
    prefix: &'a str,
    body: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

/// The folder; it is made when the first snippet is added.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The snippets of one language or of all, in the order of their languages and names.
    pub(crate) fn list(&self, language: Option<&Language>) -> Result<Listing, Fault> {
        let languages = match language {
            Some(language) => vec![language.clone()],
            None => self.languages()?,
        };
        let mut listing = Listing::default();
        for language in languages {
            match self.object(&language) {
                Ok(object) => listing.snippets.extend(snippets(&language, &object)),
                Err(fault) => listing.faults.push(fault),
            }
        }
        listing.snippets.sort_by(|a, b| (&a.language, &a.name).cmp(&(&b.language, &b.name)));
        Ok(listing)
    }

    /// One snippet.
    pub(crate) fn find(&self, language: &Language, name: &Name) -> Result<Snippet, Fault> {
        let found =
            snippets(language, &self.object(language)?).find(|snippet| snippet.name == *name);
        found.ok_or_else(|| Fault::Absent(file_name(language)))
    }

    /// Adds a snippet. Another one of the same name is never replaced.
    pub(crate) fn add(&self, snippet: &Snippet) -> Result<Outcome, Fault> {
        check(snippet)?;
        std::fs::create_dir_all(&self.path)?;
        let _lock = file::lock(&self.path)?;
        let object = self.object(&snippet.language)?;
        let name = snippet.name.to_string();
        if let Some(present) = object.values().get(&name) {
            let same =
                of_value(&snippet.language, &snippet.name, present).as_ref() == Some(snippet);
            let file = file_name(&snippet.language);
            return if same { Ok(Outcome::Unchanged) } else { Err(Fault::Taken(file)) };
        }
        let written = Written {
            prefix: snippet.prefixes.first().map(String::as_str).unwrap_or_default(),
            body: snippet.body.split('\n').collect(),
            description: snippet.description.as_deref(),
        };
        self.write(&snippet.language, object.with(&name, &json!(written)))?;
        Ok(Outcome::Changed)
    }

    /// Removes a snippet.
    pub(crate) fn delete(&self, language: &Language, name: &Name) -> Result<(), Fault> {
        let absent = || Fault::Absent(file_name(language));
        if !self.path.is_dir() {
            return Err(absent());
        }
        let _lock = file::lock(&self.path)?;
        let object = self.object(language)?;
        if !object.values().contains_key(&name.to_string()) {
            return Err(absent());
        }
        self.write(language, object.without(&name.to_string()))
    }

    /// The languages that have a file.
    pub(crate) fn languages(&self) -> Result<Vec<Language>, Fault> {
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let language = |entry: io::Result<std::fs::DirEntry>| {
            entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.parse().ok()
        };
        let mut languages: Vec<Language> = entries.filter_map(language).take(FILES_MAX).collect();
        languages.sort();
        Ok(languages)
    }

    fn object(&self, language: &Language) -> Result<Object, Fault> {
        let file = file_name(language);
        let text = file::read(&self.path.join(&file))?;
        Object::read(&text).map_err(|source| Fault::Unreadable { file, source })
    }

    fn write(&self, language: &Language, text: Result<String, jsonc::Fault>) -> Result<(), Fault> {
        let file = file_name(language);
        match text {
            Ok(text) => file::replace(&self.path.join(&file), &text),
            Err(source) => Err(Fault::Unreadable { file, source }),
        }
    }
}

fn file_name(language: &Language) -> String {
    format!("{language}.json")
}

fn check(snippet: &Snippet) -> Result<(), Fault> {
    let is_line = |text: &str| {
        !text.trim().is_empty()
            && text.chars().count() <= LINE_CHARS_MAX
            && !text.chars().any(char::is_control)
    };
    let line = |what| Fault::BadText { what, most: format!("{LINE_CHARS_MAX} characters") };
    if !snippet.prefixes.iter().all(|prefix| is_line(prefix)) {
        return Err(line("the prefix"));
    }
    if !snippet.description.as_deref().is_none_or(is_line) {
        return Err(line("the description"));
    }
    if snippet.body.is_empty() || snippet.body.len() > BODY_BYTES_MAX || snippet.body.contains('\0')
    {
        return Err(Fault::BadText { what: "the body", most: format!("{BODY_BYTES_MAX} bytes") });
    }
    Ok(())
}

/// The snippets of a file. What is no snippet in it is somebody else's business.
fn snippets(language: &Language, object: &Object) -> impl Iterator<Item = Snippet> {
    object
        .values()
        .iter()
        .filter_map(|(name, value)| of_value(language, &name.parse().ok()?, value))
}

fn of_value(language: &Language, name: &Name, value: &Value) -> Option<Snippet> {
    Some(Snippet {
        language: language.clone(),
        name: name.clone(),
        prefixes: value.get("prefix").map(texts).unwrap_or_default(),
        body: texts(value.get("body")?).join("\n"),
        description: value.get("description").map(|description| texts(description).join("\n")),
    })
}

/// Editors take a text or a list of texts.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
