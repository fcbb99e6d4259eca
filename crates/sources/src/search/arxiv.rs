//! Reads the Atom feeds of arXiv, of all three generations that it has sent.

use agent::research::source::Hit;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// Entries that are read of one feed.
const ENTRIES_MAX: usize = 200;

/// Longest title, summary and id of an entry, in bytes.
const FIELD_BYTES_MAX: usize = 20_000;

/// A feed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Feed {
    /// How many results arXiv says that there are.
    pub(super) total: u64,
    pub(super) hits: Vec<Hit>,
    /// What arXiv complains about, if it does.
    pub(super) error: Option<String>,
}

/// One entry on its way.
#[derive(Debug, Default)]
struct Entry {
    id: String,
    title: String,
    summary: String,
    published: String,
}

/// Reads a feed; the fault says what is wrong with it.
pub(super) fn feed(bytes: &[u8]) -> Result<Feed, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())?;
    let mut reader = Reader::from_str(text);
    let (mut feed, mut entry): (Feed, Option<Entry>) = (Feed::default(), None);
    let (mut path, mut total, mut is_feed): (Vec<String>, String, bool) = Default::default();
    loop {
        match reader.read_event().map_err(|error| format!("it is no XML: {error}"))? {
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_owned();
                is_feed |= name == "feed";
                if name == "entry" {
                    entry = Some(Entry::default());
                }
                path.push(name);
            }
            Event::End(_) => {
                let ended = path.pop().is_some_and(|name| name == "entry");
                let entry = entry.take_if(|_| ended);
                entry.iter().for_each(|entry| take(&mut feed, entry));
            }
            Event::Text(words) => {
                put(&words.xml10_content(), &path, entry.as_mut(), &mut total);
            }
            Event::CData(words) => {
                put(&words.xml10_content(), &path, entry.as_mut(), &mut total);
            }
            Event::GeneralRef(name) => {
                let letter = name.resolve_char_ref().ok().flatten().map(String::from);
                let entity = name.xml10_content();
                let letters = letter.as_deref().or_else(|| resolve_predefined_entity(&entity));
                put(letters.unwrap_or(" "), &path, entry.as_mut(), &mut total);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if !is_feed || !path.is_empty() {
        return Err("it is no whole feed".to_owned());
    }
    feed.total = total.trim().parse().unwrap_or(0);
    Ok(feed)
}

fn put(words: &str, path: &[String], entry: Option<&mut Entry>, total: &mut String) {
    let place = path.last().map(String::as_str).unwrap_or_default();
    let above = path.len().checked_sub(2).and_then(|above| path.get(above));
    let field = match (entry, place) {
        (Some(entry), "id") => &mut entry.id,
        (Some(entry), "title") => &mut entry.title,
        (Some(entry), "summary") => &mut entry.summary,
        (Some(entry), "published") => &mut entry.published,
        (None, "totalResults") => total,
        _ => return,
    };
    let is_of_entry = above.is_none_or(|above| above == "entry" || above == "feed");
    if is_of_entry && field.len() + words.len() <= FIELD_BYTES_MAX {
        field.push_str(words);
    }
}

fn take(feed: &mut Feed, entry: &Entry) {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (id, summary) = (entry.id.trim().to_owned(), flat(&entry.summary));
    if id.contains("/api/errors") {
        feed.error = Some(summary);
        return;
    }
    if id.is_empty() || summary.is_empty() || feed.hits.len() >= ENTRIES_MAX {
        return;
    }
    // Older feeds name papers without TLS.
    let address = match id.strip_prefix("http://") {
        Some(rest) => format!("https://{rest}"),
        None => id,
    };
    feed.hits.push(Hit {
        place: address.clone(),
        title: flat(&entry.title),
        address: Some(address),
        published: Some(entry.published.trim().to_owned()).filter(|day| !day.is_empty()),
        // The summary is what arXiv gives to be quoted; the paper itself is a PDF.
        text: summary,
        start: 0,
        is_summary: false,
    });
}
