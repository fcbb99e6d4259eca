//! The two ways in which ARD filters entries: values by path, and an expression.

use serde_json::Value;

use super::{CatalogEntry, Filter, publisher, updated};
use crate::limits::NAME_BYTES_MAX;
use crate::timestamp::Timestamp;

/// Longest expression, in bytes.
const EXPRESSION_BYTES_MAX: usize = 4096;

/// Deepest path into an entry.
const PATH_PARTS_MAX: usize = 16;

/// The fields at which a path may begin.
const FIELDS: [&str; 14] = [
    "identifier",
    "displayName",
    "type",
    "mediaType",
    "url",
    "data",
    "description",
    "tags",
    "capabilities",
    "representativeQueries",
    "version",
    "updatedAt",
    "metadata",
    "trustManifest",
];

/// Whether a path begins at a field that entries have; `publisher` is derived from the identifier.
pub(super) fn is_known(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    let short = path.len() <= NAME_BYTES_MAX && path.split('.').count() <= PATH_PARTS_MAX;
    short && (path == "publisher" || FIELDS.contains(&first))
}

/// Whether an entry has, for every path, one of its values.
#[must_use]
pub fn matches(entry: &CatalogEntry, filter: &Filter) -> bool {
    let written = serde_json::to_value(entry).unwrap_or_default();
    filter.iter().all(|(path, wanted)| {
        let found = values_in(entry, &written, path);
        wanted.iter().any(|wanted| found.contains(wanted))
    })
}

/// What an entry has at a path; `None` if entries have no such path.
#[must_use]
pub fn values(entry: &CatalogEntry, path: &str) -> Option<Vec<String>> {
    let written = serde_json::to_value(entry).unwrap_or_default();
    is_known(path).then(|| values_in(entry, &written, path))
}

fn values_in(entry: &CatalogEntry, written: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    match path {
        "publisher" => found.extend(publisher(&entry.identifier).map(str::to_owned)),
        "mediaType" => found.push(entry.kind.clone()),
        path => {
            let path: Vec<&str> = path.split('.').take(PATH_PARTS_MAX).collect();
            collect(written, &path, &mut found);
        }
    }
    found
}

/// The scalars at the end of a path; every element of a list on the way counts.
fn collect(value: &Value, path: &[&str], found: &mut Vec<String>) {
    match (value, path.split_first()) {
        (Value::Array(values), _) => values.iter().for_each(|value| collect(value, path, found)),
        (Value::Object(fields), Some((first, rest))) => {
            if let Some(value) = fields.get(*first) {
                collect(value, rest, found);
            }
        }
        (Value::String(text), None) => found.push(text.clone()),
        (Value::Bool(_) | Value::Number(_), None) => found.push(value.to_string()),
        _ => {}
    }
}

/// The filter of `GET /agents`; all of it has to be so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentsFilter {
    pub display_name: Option<String>,
    pub kind: Option<String>,
    pub publisher: Option<String>,
    /// Later than this. Entries have no moment of creation on the wire, so the catalogue itself compares it.
    pub created_after: Option<Timestamp>,
    /// Later than this.
    pub updated_after: Option<Timestamp>,
}

/// The expression cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the filter is terms joined by AND: displayName, type or publisherId = '…', createdAfter or updatedAfter > '…'"
)]
pub struct FilterError;

/// Reads an expression such as `type = 'x' AND updatedAfter > '2026-01-01T00:00:00Z'`.
///
/// # Errors
/// If it is not one.
pub fn parse(expression: &str) -> Result<AgentsFilter, FilterError> {
    let mut filter = AgentsFilter::default();
    let mut rest = expression.trim();
    if rest.len() > EXPRESSION_BYTES_MAX {
        return Err(FilterError);
    }
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).ok_or(FilterError)?;
        let (field, after) = rest.split_at_checked(end).ok_or(FilterError)?;
        let after = after.trim_start();
        let operator = after.chars().next().ok_or(FilterError)?;
        let (value, after) =
            quoted(after.get(operator.len_utf8()..).ok_or(FilterError)?.trim_start())?;
        let moment = || value.parse().map(Some).map_err(|_| FilterError);
        match (field, operator) {
            ("displayName", '=') => filter.display_name = Some(value),
            ("type", '=') => filter.kind = Some(value),
            ("publisherId", '=') => filter.publisher = Some(value),
            ("createdAfter", '>') => filter.created_after = moment()?,
            ("updatedAfter", '>') => filter.updated_after = moment()?,
            _ => return Err(FilterError),
        }
        rest = match after.trim_start() {
            "" => "",
            after => {
                let after = after
                    .strip_prefix("AND")
                    .filter(|after| after.starts_with(char::is_whitespace));
                let after = after.ok_or(FilterError)?.trim_start();
                if after.is_empty() {
                    return Err(FilterError);
                }
                after
            }
        };
    }
    Ok(filter)
}

/// A text in single quotes, a quote in it written twice, and what follows.
fn quoted(text: &str) -> Result<(String, &str), FilterError> {
    let mut value = String::new();
    let mut rest = text.strip_prefix('\'').ok_or(FilterError)?;
    loop {
        let (before, after) = rest.split_once('\'').ok_or(FilterError)?;
        value.push_str(before);
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None => return Ok((value, after)),
        }
    }
}

impl AgentsFilter {
    /// Whether an entry that was made at `created` is wanted.
    #[must_use]
    pub fn matches(&self, entry: &CatalogEntry, created: Timestamp) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        is(&self.display_name, &entry.display_name)
            && is(&self.kind, &entry.kind)
            && is(&self.publisher, publisher(&entry.identifier).unwrap_or_default())
            && self.created_after.is_none_or(|after| created > after)
            && self
                .updated_after
                .is_none_or(|after| updated(entry).is_some_and(|moment| moment > after))
    }
}
