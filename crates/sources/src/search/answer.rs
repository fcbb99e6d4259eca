//! What the answers of providers mean: results, or why there are none.

use agent::research::call::Failure;
use agent::research::message::{ErrorType, Moment};
use agent::research::source::Hit;
use agent::text::clip;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::{ProviderKind, arxiv, openalex};
use crate::guard::Reply;

/// Longest words of a provider about a failure that are passed on, in bytes.
const WHY_BYTES_MAX: usize = 300;

/// Longest text of one result, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 20_000;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub(super) hits: Vec<Hit>,
    /// The provider says that there are results, and gives none.
    pub(super) is_lost: bool,
}

/// Reads an answer.
pub(super) fn hits(kind: ProviderKind, reply: &Reply) -> Result<Answered, Failure> {
    let status = reply.status.as_u16();
    if !(200..300).contains(&status) {
        return Err(failed(kind, reply));
    }
    if kind == ProviderKind::Arxiv {
        let feed = arxiv::feed(&reply.bytes).map_err(|why| malformed(kind, &why))?;
        return match feed.error {
            Some(why) => Err(refused(kind, 400, &why)),
            None => {
                Ok(Answered { is_lost: feed.total > 0 && feed.hits.is_empty(), hits: feed.hits })
            }
        };
    }
    let body: Value =
        serde_json::from_slice(&reply.bytes).map_err(|_| malformed(kind, "it is no JSON"))?;
    // Wikipedia says with 200 that it is too busy.
    if let Some(code) = body.pointer("/error/code").and_then(Value::as_str) {
        let is_passing = matches!(code, "maxlag" | "ratelimited" | "readonly");
        let retry_after = retry_after(&reply.headers);
        return Err(Failure { is_passing, retry_after, ..refused(kind, status, code) });
    }
    let results = list(kind, &body).ok_or_else(|| malformed(kind, "it has no list of results"))?;
    let hits = results.iter().filter_map(|result| hit(kind, result)).collect();
    Ok(Answered { hits, is_lost: false })
}

/// Where the results stand; none if the answer is of another form.
fn list(kind: ProviderKind, body: &Value) -> Option<Vec<Value>> {
    let object = body.as_object()?;
    let at = |pointer: &str| body.pointer(pointer).and_then(Value::as_array).cloned();
    match kind {
        // Without results there is no such field.
        ProviderKind::Wikipedia => {
            let mut pages = at("/query/pages").or_else(|| {
                (object.contains_key("batchcomplete") || object.is_empty()).then(Vec::new)
            })?;
            pages.sort_by_key(|page| page.get("index").and_then(Value::as_u64).unwrap_or(u64::MAX));
            Some(pages)
        }
        ProviderKind::Brave => at("/web/results").or_else(|| {
            let is_search = object.get("type").is_some_and(|kind| kind == "search");
            is_search.then(Vec::new)
        }),
        ProviderKind::Searxng
        | ProviderKind::Tavily
        | ProviderKind::Exa
        | ProviderKind::OpenAlex => at("/results"),
        ProviderKind::Google => at("/items").or_else(|| {
            let is_search = object.get("kind").is_some_and(|kind| kind == "customsearch#search");
            is_search.then(Vec::new)
        }),
        ProviderKind::Serper => {
            at("/organic").or_else(|| object.contains_key("searchParameters").then(Vec::new))
        }
        ProviderKind::SemanticScholar => {
            at("/data").or_else(|| object.contains_key("total").then(Vec::new))
        }
        ProviderKind::Crossref => at("/message/items"),
        ProviderKind::Arxiv => None,
    }
}

/// One result; none without an address or a text.
fn hit(kind: ProviderKind, result: &Value) -> Option<Hit> {
    if kind == ProviderKind::OpenAlex {
        return openalex::work(result);
    }
    let text = |name: &str| match result.get(name) {
        Some(Value::String(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Some(Value::Array(texts)) => texts.first()?.as_str().map(|text| text.trim().to_owned()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let (address, words, published) = match kind {
        ProviderKind::Wikipedia => ("fullurl", "extract", "touched"),
        ProviderKind::Searxng => ("url", "content", "publishedDate"),
        ProviderKind::Brave => ("url", "description", "page_age"),
        ProviderKind::Tavily => ("url", "content", "published_date"),
        ProviderKind::Serper => ("link", "snippet", "date"),
        ProviderKind::Exa => ("url", "text", "publishedDate"),
        ProviderKind::SemanticScholar => ("url", "abstract", "year"),
        ProviderKind::Crossref => ("URL", "abstract", "published"),
        ProviderKind::Google => ("link", "snippet", "date"),
        ProviderKind::Arxiv | ProviderKind::OpenAlex => return None,
    };
    let address = text(address)?;
    let words = text(words)?;
    // What is a whole text, or all that there is to read; the others are words about a page.
    let is_summary = matches!(
        kind,
        ProviderKind::Searxng
            | ProviderKind::Brave
            | ProviderKind::Tavily
            | ProviderKind::Serper
            | ProviderKind::Google
    );
    let is_marked_up =
        matches!(kind, ProviderKind::Brave | ProviderKind::Searxng | ProviderKind::Crossref);
    let words = if is_marked_up { without_tags(&words) } else { words };
    Some(Hit {
        place: address.clone(),
        title: text("title").map(|title| without_tags(&title)).unwrap_or_default(),
        address: Some(address),
        published: text(published).or_else(|| day(result.pointer("/published/date-parts/0"))),
        text: clip(&words, TEXT_BYTES_MAX).to_owned(),
        start: 0,
        is_summary,
    })
}

/// A day as Crossref writes it: `[2024, 5, 1]`, or less of it.
fn day(parts: Option<&Value>) -> Option<String> {
    let parts: Vec<String> = parts?
        .as_array()?
        .iter()
        .filter_map(Value::as_u64)
        .map(|part| format!("{part:02}"))
        .collect();
    Some(parts.join("-")).filter(|day| !day.is_empty())
}

/// Words without the tags that providers put around those that were searched for.
pub(super) fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_tag = false;
    for letter in text.chars() {
        match letter {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            letter if !is_tag => plain.push(letter),
            _ => {}
        }
    }
    let plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain.replace("&#x27;", "'").replace("&#39;", "'").replace("&amp;", "&").trim().to_owned()
}

/// What a status says about asking again.
fn failed(kind: ProviderKind, reply: &Reply) -> Failure {
    let status = reply.status.as_u16();
    let body: Value = serde_json::from_slice(&reply.bytes).unwrap_or_default();
    let places = ["/error/message", "/detail/error", "/error/code", "/message", "/error"];
    let said = places.iter().find_map(|place| body.pointer(place).and_then(Value::as_str));
    let atom = (kind == ProviderKind::Arxiv).then(|| arxiv::feed(&reply.bytes).ok()).flatten();
    let said = said.map(str::to_owned).or_else(|| atom.and_then(|feed| feed.error));
    let hint = match (kind, status) {
        (ProviderKind::Searxng, 403) => {
            Some("its settings do not allow JSON: add json to search.formats".to_owned())
        }
        _ => None,
    };
    let why = hint.or(said).unwrap_or_default();
    let of_body = body.pointer("/error/retry_after_seconds").and_then(Value::as_u64);
    let is_passing = status == 429 || (500..600).contains(&status);
    let retry_after = of_body.or_else(|| retry_after(&reply.headers)).filter(|_| is_passing);
    Failure { is_passing, retry_after, ..refused(kind, status, &why) }
}

fn refused(kind: ProviderKind, status: u16, why: &str) -> Failure {
    let why: String =
        why.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let why = clip(why.trim(), WHY_BYTES_MAX);
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    let message = format!("{} answers with {status}{why}", kind.as_str());
    Failure { status: Some(status), ..Failure::new(ErrorType::ApiError, message) }
}

fn malformed(kind: ProviderKind, why: &str) -> Failure {
    let message = format!("the answer of {} cannot be read: {why}", kind.as_str());
    Failure { is_passing: true, ..Failure::new(ErrorType::ApiError, message) }
}

/// Seconds that the provider wants to be left alone, in each form that they use.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(asked) = text(RETRY_AFTER.as_str()) {
        if let Ok(seconds) = asked.parse::<f64>() {
            return whole(seconds);
        }
        // By the server's own clock, which may differ from ours.
        let (then, now) = (moment(asked)?, moment(text(DATE.as_str())?)?);
        return Some(then.saturating_sub(now).div_ceil(1_000));
    }
    let numbers = |name: &str| -> Option<Vec<f64>> {
        text(name)?.split(',').map(|part| part.trim().parse().ok()).collect()
    };
    let (left, resets) = (numbers("x-ratelimit-remaining")?, numbers("x-ratelimit-reset")?);
    // One for each window: the longest of those that are used up counts.
    let spent = left.iter().zip(resets).filter(|(left, _)| **left <= 0.0);
    spent.map(|(_, reset)| reset).max_by(f64::total_cmp).and_then(whole)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is below 0 or no number is left out, and what is too large becomes the largest"
)]
fn whole(seconds: f64) -> Option<u64> {
    (seconds >= 0.0).then(|| seconds.ceil() as u64)
}

/// A date of HTTP, in milliseconds since 1970: `Wed, 21 Oct 2015 07:28:00 GMT`.
fn moment(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = date.split_once(", ")?.1.split(' ');
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let moment: Moment = format!("{year}-{month:02}-{day}T{time}Z").parse().ok()?;
    Some(moment.0.0)
}
