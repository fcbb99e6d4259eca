//! How each provider is asked.

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use url::Url;

use super::{ProviderKind, ProviderSettings};
use agent::text::clip;

/// Most results that any provider is asked for at a time: the smallest of their own limits.
const RESULTS_MAX: u32 = 20;

/// Most results that Google gives at a time.
const GOOGLE_RESULTS_MAX: u32 = 10;

/// Longest query, in bytes: Brave takes 400 characters, the others more.
const QUERY_BYTES_MAX: usize = 400;

/// What Wikipedia is told besides: introductions as plain text, and to refuse when its replicas lag.
const WIKIPEDIA: [(&str, &str); 10] = [
    ("action", "query"),
    ("generator", "search"),
    ("prop", "extracts|info"),
    ("inprop", "url"),
    ("exintro", "1"),
    ("explaintext", "1"),
    ("exlimit", "max"),
    ("maxlag", "5"),
    ("format", "json"),
    ("formatversion", "2"),
];

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asking {
    pub(super) address: String,
    pub(super) headers: HeaderMap,
    /// None for a GET.
    pub(super) body: Option<Bytes>,
}

/// The request for a search; the fault names what is wrong with the settings.
pub(super) fn asking(
    settings: &ProviderSettings,
    query: &str,
    results_max: u32,
) -> Result<Asking, String> {
    let query = clip(query.trim(), QUERY_BYTES_MAX);
    let count = results_max.clamp(1, RESULTS_MAX);
    let number = count.to_string();
    let key = settings.key.as_ref().map(|key| key.0.as_str());
    match settings.kind {
        ProviderKind::Arxiv => {
            let words = arxiv_query(query);
            get(
                settings,
                "api/query",
                &[
                    ("search_query", &words),
                    ("start", "0"),
                    ("max_results", &number),
                    ("sortBy", "relevance"),
                ],
            )
        }
        ProviderKind::Wikipedia => {
            let asked = [("gsrsearch", query), ("gsrlimit", &number)];
            get(settings, "w/api.php", &[&asked[..], &WIKIPEDIA].concat())
        }
        ProviderKind::Searxng => get(settings, "search", &[("q", query), ("format", "json")]),
        ProviderKind::Brave => {
            let asking = get(settings, "res/v1/web/search", &[("q", query), ("count", &number)])?;
            with_key(asking, "x-subscription-token", key, settings.kind)
        }
        ProviderKind::Tavily => {
            let body = json!({"query": query, "max_results": count, "search_depth": "basic"});
            let asking = post(settings, "search", &body)?;
            match key {
                Some(key) => with_header(asking, AUTHORIZATION, &format!("Bearer {key}")),
                None => {
                    let mode = HeaderName::from_static("x-tavily-access-mode");
                    with_header(asking, mode, "keyless")
                }
            }
        }
        ProviderKind::Serper => {
            let asking = post(settings, "search", &json!({"q": query, "num": count}))?;
            with_key(asking, "x-api-key", key, settings.kind)
        }
        ProviderKind::Exa => {
            let contents = json!({"text": {"maxCharacters": 8_000}});
            let body = json!({"query": query, "numResults": count, "contents": contents});
            with_key(post(settings, "search", &body)?, "x-api-key", key, settings.kind)
        }
        ProviderKind::SemanticScholar => {
            let fields = "title,abstract,year,url,externalIds";
            let wanted = [("query", query), ("fields", fields), ("limit", &number)];
            let asking = get(settings, "graph/v1/paper/search", &wanted)?;
            match key {
                Some(_) => with_key(asking, "x-api-key", key, settings.kind),
                None => Ok(asking),
            }
        }
        ProviderKind::Crossref => {
            let select = "DOI,title,abstract,published,URL";
            get(settings, "works", &[("query", query), ("rows", &number), ("select", select)])
        }
        ProviderKind::OpenAlex => {
            let fields = "id,doi,title,publication_date,abstract_inverted_index,primary_location";
            let wanted = [("search", query), ("per_page", &number), ("select", fields)];
            // It takes its key in the address alone; addresses are shown to nobody with what they ask.
            let key = key.map(|key| ("api_key", key));
            let wanted: Vec<(&str, &str)> = wanted.into_iter().chain(key).collect();
            get(settings, "works", &wanted)
        }
        ProviderKind::Google => {
            let needed = "google needs a key of the form ENGINE/KEY";
            let (engine, key) = key.and_then(|key| key.split_once('/')).ok_or(needed)?;
            let number = count.min(GOOGLE_RESULTS_MAX).to_string();
            let wanted = [("q", query), ("cx", engine), ("num", &number)];
            let asking = get(settings, "customsearch/v1", &wanted)?;
            with_key(asking, "x-goog-api-key", Some(key), settings.kind)
        }
    }
}

/// Words that all have to stand somewhere, without what arXiv takes for operators.
fn arxiv_query(query: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '-';
    let words = query
        .split(|letter: char| !is_word(letter))
        .filter(|word| !word.is_empty() && !matches!(*word, "AND" | "OR" | "ANDNOT"));
    words.map(|word| format!("all:{word}")).collect::<Vec<_>>().join(" AND ")
}

fn get(settings: &ProviderSettings, path: &str, query: &[(&str, &str)]) -> Result<Asking, String> {
    let mut url = address(settings, path)?;
    url.query_pairs_mut().extend_pairs(query);
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("*/*"))]);
    Ok(Asking { address: url.into(), headers, body: None })
}

fn post(settings: &ProviderSettings, path: &str, body: &Value) -> Result<Asking, String> {
    let json = HeaderValue::from_static("application/json");
    let headers = HeaderMap::from_iter([(ACCEPT, json.clone()), (CONTENT_TYPE, json)]);
    let body = Some(Bytes::from(body.to_string()));
    Ok(Asking { address: address(settings, path)?.into(), headers, body })
}

fn address(settings: &ProviderSettings, path: &str) -> Result<Url, String> {
    let base = settings.base_url.trim_end_matches('/');
    let wrong = || format!("the address of {} is no URL", settings.kind.as_str());
    Url::parse(&format!("{base}/{path}")).map_err(|_| wrong())
}

fn with_key(
    asking: Asking,
    header: &'static str,
    key: Option<&str>,
    kind: ProviderKind,
) -> Result<Asking, String> {
    let key = key.ok_or_else(|| format!("{} needs a key", kind.as_str()))?;
    with_header(asking, HeaderName::from_static(header), key)
}

fn with_header(mut asking: Asking, name: HeaderName, value: &str) -> Result<Asking, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "the key holds characters that no key has".to_owned())?;
    value.set_sensitive(true);
    asking.headers.insert(name, value);
    Ok(asking)
}
