//! Tools and agents as places to search: which argument takes the query, and what an answer comes to as findings.

use serde_json::{Map, Value, json};

use super::message::ProviderId;
use super::source::{Hit, TEXT_BYTES_MAX};
use crate::text::clip;
use crate::tools::outcome::{Link, ToolOutput};
use crate::tools::suspicion::clean;

/// What people call the argument that takes the words to look for, the likeliest first.
const QUERY_NAMES: [&str; 5] = ["query", "q", "question", "search", "text"];

/// What people call the parts of a finding.
const ADDRESS_NAMES: [&str; 5] = ["url", "link", "href", "uri", "address"];
const TITLE_NAMES: [&str; 3] = ["title", "name", "headline"];
const TEXT_NAMES: [&str; 8] =
    ["snippet", "description", "summary", "text", "content", "excerpt", "abstract", "body"];
const DATE_NAMES: [&str; 5] = ["published", "date", "published_at", "published_date", "updated"];

/// How deep findings are looked for in data: `{"data": {"web": {"results": [ … ]}}}` is the deepest in use.
const DEPTH_MAX: usize = 4;

/// Values that are looked at for findings: some hundreds of rows.
const VALUES_MAX: usize = 5_000;

/// Longest text of a finding whose page can be read, in bytes: a paragraph about it.
const SUMMARY_BYTES_MAX: usize = 4_000;

/// Longest query in the name of a source, in bytes: a line.
const QUERY_BYTES_MAX: usize = 120;

/// The arguments that have a tool search for this.
///
/// # Errors
/// If its schema has no argument for a text, or demands others besides: why, for whoever named the tool as a source.
pub fn arguments(schema: &Value, query: &str) -> Result<Map<String, Value>, String> {
    let name = query_argument(schema)?;
    Ok(Map::from_iter([(name.to_owned(), json!(query))]))
}

/// The argument that takes the words to look for.
///
/// # Errors
/// As [`arguments`].
pub fn query_argument(schema: &Value) -> Result<&str, String> {
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let texts: Vec<&str> = properties
        .into_iter()
        .flatten()
        .filter(|(_, property)| is_text(property))
        .map(|(name, _)| name.as_str())
        .collect();
    let usual = QUERY_NAMES.iter().find_map(|known| texts.iter().find(|name| *name == known));
    let only = match required.as_slice() {
        [one] => texts.iter().find(|name| *name == one),
        _ => None,
    };
    let Some(name) = usual.or(only) else {
        return Err(format!(
            "it has no argument for what is searched: none of {}, and no text that alone is required",
            QUERY_NAMES.join(", ")
        ));
    };
    let others: Vec<&str> = required.into_iter().filter(|other| other != name).collect();
    if others.is_empty() {
        return Ok(name);
    }
    Err(format!("it needs {} besides {name}, which a search does not have", others.join(", ")))
}

/// A property without a type takes a text too.
fn is_text(property: &Value) -> bool {
    match property.get("type") {
        None => property.get("enum").is_none(),
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        Some(kind) => kind == "string" && property.get("enum").is_none(),
    }
}

/// What a tool or an agent gave, as findings: places of the web that it names are read there, anything else is a text
/// that was read, under the name of who said it.
#[must_use]
pub fn hits(provider: &ProviderId, query: &str, output: &ToolOutput, results_max: u32) -> Vec<Hit> {
    let data = output.structured.clone().or_else(|| serde_json::from_str(&output.text).ok());
    let mut rows = Rows::default();
    if let Some(data) = &data {
        rows.look_in(data, DEPTH_MAX);
    }
    let is_listed = !rows.hits.is_empty();
    output.links.iter().for_each(|link| rows.add(link_hit(link)));
    let most = usize::try_from(results_max).unwrap_or(usize::MAX);
    let mut hits = rows.hits;
    hits.truncate(most);
    let says_more = output.text.lines().any(|line| {
        !line.trim().is_empty() && !output.links.iter().any(|link| link.shown() == line)
    });
    if says_more && !is_listed {
        // First, as what is found last is the first to be left out.
        hits.insert(0, said(provider, query, &output.text));
        hits.truncate(most.max(1));
    }
    hits
}

/// A text under the name of who said it, and what it was asked: another question has another answer.
fn said(provider: &ProviderId, query: &str, text: &str) -> Hit {
    let name = provider.callee().map_or(provider.as_str(), |callee| callee.name());
    let asked = clip(query, QUERY_BYTES_MAX);
    Hit {
        place: format!("{provider} {query}"),
        title: format!("{name}: {asked}"),
        address: None,
        published: None,
        text: clip(text, TEXT_BYTES_MAX).to_owned(),
        start: 0,
        is_summary: false,
    }
}

fn link_hit(link: &Link) -> Option<Hit> {
    found(&link.address, &link.title, "", None)
}

/// Something of which the whole can be read at its address; none if that is no address of the web.
fn found(address: &str, title: &str, text: &str, published: Option<&str>) -> Option<Hit> {
    let address = clean(address.trim());
    let is_web = ["https://", "http://"].iter().any(|start| address.starts_with(start));
    if !is_web || address.contains(char::is_whitespace) {
        return None;
    }
    let title = one_line(title);
    Some(Hit {
        place: address.clone(),
        title: if title.is_empty() { address.clone() } else { title },
        address: Some(address),
        published: published.map(one_line),
        text: clip(&clean(text), SUMMARY_BYTES_MAX).to_owned(),
        start: 0,
        is_summary: true,
    })
}

fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Findings of a search that was answered with data.
#[derive(Default)]
struct Rows {
    hits: Vec<Hit>,
    seen: usize,
}

impl Rows {
    fn look_in(&mut self, data: &Value, depth_left: usize) {
        self.seen += 1;
        if self.seen > VALUES_MAX {
            return;
        }
        match data {
            Value::Array(rows) if depth_left > 0 => {
                rows.iter().for_each(|row| self.look_in(row, depth_left - 1));
            }
            Value::Object(fields) => match row(fields) {
                Some(hit) => self.add(Some(hit)),
                None if depth_left > 0 => {
                    fields.values().for_each(|inner| self.look_in(inner, depth_left - 1));
                }
                None => {}
            },
            Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {}
        }
    }

    /// Takes a finding, unless its address is there already.
    fn add(&mut self, hit: Option<Hit>) {
        let is_new = |hit: &Hit| self.hits.iter().all(|known| known.place != hit.place);
        if let Some(hit) = hit.filter(is_new) {
            self.hits.push(hit);
        }
    }
}

/// A finding, if the fields have an address and say something about what is there.
fn row(fields: &Map<String, Value>) -> Option<Hit> {
    let field = |names: &[&str]| {
        let named = names.iter().find_map(|name| fields.get(*name)?.as_str());
        named.filter(|text| !text.trim().is_empty())
    };
    let (title, text) = (field(&TITLE_NAMES), field(&TEXT_NAMES));
    title.or(text)?;
    let address = field(&ADDRESS_NAMES)?;
    found(address, title.unwrap_or_default(), text.unwrap_or_default(), field(&DATE_NAMES))
}

#[cfg(test)]
mod tests;
