//! Which manifests of other hosts are read, and which agents they lead to: bounded, and each host speaks for itself alone.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use super::ard::{CatalogEntry, publisher};
use super::registration::{host, is_within};

/// Where a host has its manifest: where 0.91 has it, and where 0.9 has it.
pub const MANIFEST_PATHS: [&str; 2] = ["/.well-known/ard.json", "/.well-known/ai-catalog.json"];

/// Manifests that are read in one go.
const MANIFESTS_MAX: usize = 32;

/// How deep manifests may lie in each other.
const DEPTH_MAX: usize = 3;

/// Agents that are taken from one go.
const AGENTS_MAX: usize = 1000;

const AGENT: &str = "application/a2a-agent-card+json";
const CATALOG: &str = "application/ai-catalog+json";

/// A walk through manifests: says which to fetch next, and takes what was found there.
#[derive(Debug, Clone, Default)]
pub struct Crawl {
    waiting: VecDeque<(String, usize)>,
    seen: BTreeSet<String>,
    /// How deep the manifest lies that was asked for last.
    depth: usize,
    agents: Vec<Listed>,
    left_out: Vec<String>,
}

/// An agent of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub identifier: String,
    pub card: ListedCard,
}

/// Where its card is.
#[derive(Debug, Clone, PartialEq)]
pub enum ListedCard {
    Url(String),
    Inline(Value),
}

/// All that a walk has found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CrawlFound {
    pub agents: Vec<Listed>,
    /// What was not taken, and why.
    pub left_out: Vec<String>,
}

impl Crawl {
    /// Begins at a manifest's address, or at a host's: then at the places where manifests are.
    #[must_use]
    pub fn at(address: &str) -> Self {
        let mut crawl = Self::default();
        let base = address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let is_bare = base.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        if is_bare {
            MANIFEST_PATHS.iter().for_each(|path| crawl.wait(format!("{base}{path}"), 0));
        } else {
            crawl.wait(address.to_owned(), 0);
        }
        crawl
    }

    /// The next manifest to be fetched; none when all have been.
    pub fn next_address(&mut self) -> Option<String> {
        let (address, depth) = self.waiting.pop_front()?;
        self.depth = depth;
        Some(address)
    }

    /// Takes a manifest that was found at an address, redirects followed.
    pub fn take(&mut self, found_at: &str, manifest: &Value) {
        self.read(found_at, manifest, self.depth);
    }

    /// Notes that a manifest could not be had.
    pub fn missed(&mut self, address: &str, why: &str) {
        self.left_out.push(format!("{address}: {why}"));
    }

    #[must_use]
    pub fn end(self) -> CrawlFound {
        CrawlFound { agents: self.agents, left_out: self.left_out }
    }

    fn wait(&mut self, address: String, depth: usize) {
        if depth > DEPTH_MAX || self.seen.len() >= MANIFESTS_MAX {
            self.left_out.push(format!("{address}: too many manifests lie in each other"));
        } else if self.seen.insert(address.clone()) {
            self.waiting.push_back((address, depth));
        }
    }

    fn read(&mut self, found_at: &str, manifest: &Value, depth: usize) {
        let Some(entries) = manifest.get("entries").and_then(Value::as_array) else {
            return self.missed(found_at, "this is no manifest: it has no entries");
        };
        for entry in entries {
            let entry = match serde_json::from_value::<CatalogEntry>(entry.clone()) {
                Ok(entry) => entry,
                Err(error) => {
                    self.missed(found_at, &format!("an entry cannot be read: {error}"));
                    continue;
                }
            };
            if let Err(error) = entry.check() {
                self.missed(&entry.identifier, &error.to_string());
                continue;
            }
            match entry.kind.as_str() {
                CATALOG => self.go_into(found_at, entry, depth + 1),
                AGENT => self.list(found_at, entry),
                // Servers of tools, other catalogues, whatever comes: not ours.
                _ => {}
            }
        }
    }

    fn go_into(&mut self, found_at: &str, entry: CatalogEntry, depth: usize) {
        match (entry.url, entry.data) {
            (Some(address), _) => self.wait(address, depth),
            (None, Some(_)) if depth > DEPTH_MAX => {
                self.missed(&entry.identifier, "too many manifests lie in each other");
            }
            // It came from the same host.
            (None, Some(manifest)) => self.read(found_at, &manifest, depth),
            (None, None) => {}
        }
    }

    fn list(&mut self, found_at: &str, entry: CatalogEntry) {
        let domain = publisher(&entry.identifier).unwrap_or_default();
        if !host(found_at).is_some_and(|host| is_within(host, domain)) {
            let why = format!("the manifest at {found_at} does not speak for {domain}");
            return self.missed(&entry.identifier, &why);
        }
        if self.agents.len() >= AGENTS_MAX {
            return self.missed(&entry.identifier, "there are too many agents");
        }
        if self.agents.iter().any(|known| known.identifier == entry.identifier) {
            return;
        }
        let card = match (entry.url, entry.data) {
            (Some(url), _) => ListedCard::Url(url),
            (None, Some(card)) => ListedCard::Inline(card),
            (None, None) => return,
        };
        self.agents.push(Listed { identifier: entry.identifier, card });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(name: &str, kind: &str, place: &Value) -> Value {
        let mut entry = json!({ "identifier": name, "displayName": "x", "type": kind });
        for (name, value) in place.as_object().unwrap() {
            entry[name] = value.clone();
        }
        entry
    }

    fn manifest(entries: &[Value]) -> Value {
        json!({ "specVersion": "1.0", "entries": entries })
    }

    #[test]
    fn a_host_is_asked_where_manifests_are_and_an_address_as_it_is() {
        let mut crawl = Crawl::at("https://example.com/");
        assert_eq!(crawl.next_address().unwrap(), "https://example.com/.well-known/ard.json");
        assert_eq!(
            crawl.next_address().unwrap(),
            "https://example.com/.well-known/ai-catalog.json"
        );
        assert_eq!(crawl.next_address(), None);
        let mut crawl = Crawl::at("https://example.com/my.json");
        assert_eq!(crawl.next_address().unwrap(), "https://example.com/my.json");
    }

    #[test]
    fn agents_are_found_through_manifests_that_lie_in_each_other_and_each_is_read_once() {
        let mut crawl = Crawl::at("https://example.com/a.json");
        let address = crawl.next_address().unwrap();
        let inner = manifest(&[entry("urn:air:example.com:inner", AGENT, &json!({ "data": {} }))]);
        crawl.take(
            &address,
            &manifest(&[
                entry(
                    "urn:air:example.com:one",
                    AGENT,
                    &json!({ "url": "https://example.com/one" }),
                ),
                entry(
                    "urn:air:example.com:more",
                    CATALOG,
                    &json!({ "url": "https://b.example.com/b.json" }),
                ),
                entry(
                    "urn:air:example.com:self",
                    CATALOG,
                    &json!({ "url": "https://example.com/a.json" }),
                ),
                entry("urn:air:example.com:in", CATALOG, &json!({ "data": inner })),
                entry(
                    "urn:air:example.com:tools",
                    "application/mcp-server-card+json",
                    &json!({ "url": "https://x" }),
                ),
            ]),
        );
        assert_eq!(crawl.next_address().unwrap(), "https://b.example.com/b.json");
        assert_eq!(crawl.next_address(), None);
        let found = crawl.end();
        let names: Vec<_> = found.agents.iter().map(|agent| agent.identifier.as_str()).collect();
        assert_eq!(names, ["urn:air:example.com:one", "urn:air:example.com:inner"]);
        assert_eq!(found.left_out, Vec::<String>::new());
    }

    #[test]
    fn a_host_speaks_for_itself_alone() {
        let mut crawl = Crawl::at("https://evil.example/a.json");
        let address = crawl.next_address().unwrap();
        let named = |name: &str| entry(name, AGENT, &json!({ "url": "https://evil.example/x" }));
        crawl.take(&address, &manifest(&[named("urn:air:good.example:x"), named("nothing")]));
        crawl.take(&address, &json!([]));
        let found = crawl.end();
        assert_eq!((found.agents.len(), found.left_out.len()), (0, 3), "{found:?}");
    }

    #[test]
    fn an_endless_row_of_manifests_comes_to_an_end() {
        let mut crawl = Crawl::at("https://example.com/0.json");
        let mut read = 0;
        while let Some(address) = crawl.next_address() {
            read += 1;
            let inside: Vec<Value> = (0..50)
                .map(|number| json!({ "url": format!("{address}/{number}") }))
                .map(|place| entry("urn:air:example.com:more", CATALOG, &place))
                .collect();
            crawl.take(&address, &manifest(&inside));
        }
        assert_eq!(read, MANIFESTS_MAX);
    }
}
