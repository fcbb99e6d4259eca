//! Reads works of OpenAlex, whose abstracts come as lists of where each word stands.

use std::collections::BTreeMap;

use agent::research::source::Hit;
use agent::text::clip;
use serde_json::Value;

use super::answer::TEXT_BYTES_MAX;

/// Words of an abstract that are put together: longer ones are whole papers.
const WORDS_MAX: usize = 5_000;

/// A work; none without an abstract, or without a place to look it up.
pub(super) fn work(result: &Value) -> Option<Hit> {
    let text = |pointer: &str| {
        let text = result.pointer(pointer).and_then(Value::as_str)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    // The DOI is where it stays; the page of its publisher may move.
    let address = ["/doi", "/primary_location/landing_page_url", "/id"];
    let address = address.iter().find_map(|pointer| text(pointer))?;
    let words = words(result.get("abstract_inverted_index")?)?;
    Some(Hit {
        place: address.clone(),
        title: text("/title").unwrap_or_default(),
        address: Some(address),
        published: text("/publication_date"),
        text: clip(&words, TEXT_BYTES_MAX).to_owned(),
        start: 0,
        is_summary: false,
    })
}

/// `{"We": [0], "study": [1, 3]}` read in order.
fn words(index: &Value) -> Option<String> {
    let mut places: BTreeMap<u64, &str> = BTreeMap::new();
    for (word, at) in index.as_object()? {
        for place in at.as_array()?.iter().filter_map(Value::as_u64) {
            if places.len() < WORDS_MAX {
                places.insert(place, word);
            }
        }
    }
    let words: Vec<&str> = places.into_values().collect();
    (!words.is_empty()).then(|| words.join(" "))
}
