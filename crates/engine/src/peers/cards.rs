//! Cards: looked for where versions have them, kept as long as their servers say, and believed as far as they are signed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use a2a::card::{self, CARD_PATHS, SignatureError, keep_for};
use a2a::model::AgentCard;
use a2a::version::{VERSION_HEADER, Version};
use agent::identity::Timestamp;
use agent::tools::listing::Listing;
use http::header::{ACCEPT, AGE, CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use reqwest::Url;
use serde_json::{Value, json};

use super::directory::Peers;
use super::error::{PeerError, shown};
use super::events::read_all;
use super::outside::{Opened, Reach};
use super::settings::{AgentSettings, Source};
use super::signatures;
use crate::tools::digest;

/// Bytes of a card: two thousand skills of a kilobyte.
const CARD_BYTES_MAX: usize = 2 << 20;

/// Bytes of a set of keys: hundreds of keys.
const KEYS_BYTES_MAX: usize = 256 << 10;

/// Sets of keys that a card may have fetched for it.
const KEY_SETS_MAX: usize = 2;

/// Cards that are kept: all agents of a company, and a few addresses besides.
const CARDS_MAX: usize = 256;

/// A card that was read.
#[derive(Debug)]
pub struct Card {
    pub card: AgentCard,
    /// As it was served.
    pub received: Value,
    /// Where it was found; none if it was written down.
    pub address: Option<String>,
    pub signature: Signature,
    /// Of all that it says, its signatures left out: another one means that the card has changed.
    pub digest: String,
    /// Its skills as tools, once somebody has asked.
    pub(super) listing: OnceLock<Arc<Listing>>,
}

/// What is known of a card's signatures. One that does not hold is no card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    None,
    /// It is signed, but nobody has said which keys are to be believed.
    Unchecked,
    Holds {
        key_id: String,
    },
}

/// Cards that were read, by what their agents are called.
#[derive(Default)]
pub(super) struct Cards(Mutex<BTreeMap<String, Kept>>);

#[derive(Clone)]
struct Kept {
    card: Arc<Card>,
    etag: Option<HeaderValue>,
    until: Timestamp,
}

impl Cards {
    fn get(&self, name: &str) -> Option<Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Keeps a card; the one that expires first makes room.
    fn put(&self, name: &str, kept: Kept) {
        let mut cards = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cards.insert(name.to_owned(), kept);
        if cards.len() > CARDS_MAX {
            let others = cards.iter().filter(|(key, _)| *key != name);
            let first = others.min_by_key(|(_, kept)| kept.until).map(|(key, _)| key.clone());
            first.and_then(|key| cards.remove(&key));
        }
    }
}

/// What came of looking at one address.
enum Looked {
    Found {
        card: Box<Value>,
        headers: HeaderMap,
    },
    /// As it was.
    Unchanged(HeaderMap),
    NotHere,
}

impl Peers {
    /// The card of an agent: from memory while it holds, else asked for again.
    pub(super) async fn card(&self, settings: &AgentSettings) -> Result<Arc<Card>, PeerError> {
        let kept = self.cards.get(&settings.name);
        if let Some(kept) = &kept
            && self.parts.clock.now() < kept.until
        {
            return Ok(Arc::clone(&kept.card));
        }
        let limit = settings.waits.list;
        let looking = async {
            match &settings.source {
                Source::Address(address) => self.look(settings, address, kept).await,
                Source::Card(card) | Source::Listed(card) => {
                    self.take(settings, card.clone(), None).await
                }
                Source::Catalogue { registry, identifier } => {
                    let entry = self.entry(registry, identifier).await?;
                    match (entry.url, entry.data) {
                        (Some(address), _) => self.look(settings, &address, kept).await,
                        (None, Some(card)) => self.take(settings, card, None).await,
                        (None, None) => Err(PeerError::Card(format!(
                            "{identifier} has neither a card nor an address in its catalogue"
                        ))),
                    }
                }
            }
        };
        tokio::time::timeout(limit, looking).await.unwrap_or(Err(PeerError::TimedOut))
    }

    /// Looks for a card at every place where it may be.
    async fn look(
        &self,
        settings: &AgentSettings,
        address: &str,
        kept: Option<Kept>,
    ) -> Result<Arc<Card>, PeerError> {
        let places = places(address)?;
        for place in &places {
            let known =
                kept.as_ref().filter(|kept| kept.card.address.as_deref() == Some(place.as_str()));
            let etag = known.and_then(|known| known.etag.clone());
            match self.look_at(settings, place, etag).await? {
                Looked::NotHere => {}
                Looked::Found { card, headers } => {
                    let card = self.take(settings, *card, Some(place)).await?;
                    // The same words as before are the same card: nobody has to compare it again.
                    let same = kept.filter(|kept| {
                        kept.card.digest == card.digest && kept.card.signature == card.signature
                    });
                    let card = same.map_or(card, |kept| kept.card);
                    self.keep(settings, &card, &headers);
                    return Ok(card);
                }
                Looked::Unchanged(headers) => {
                    let Some(known) = known else { break };
                    self.keep(settings, &known.card, &headers);
                    return Ok(Arc::clone(&known.card));
                }
            }
        }
        let tried: Vec<&str> = places.iter().map(Url::path).collect();
        let host = places.first().and_then(Url::host_str).unwrap_or_default();
        Err(PeerError::Absent(format!(
            "there is no agent at {host}: no card at {}",
            tried.join(", ")
        )))
    }

    async fn look_at(
        &self,
        settings: &AgentSettings,
        place: &Url,
        etag: Option<HeaderValue>,
    ) -> Result<Looked, PeerError> {
        let mut request = Request::new(Vec::new());
        *request.method_mut() = Method::GET;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let version = HeaderValue::from_static(Version::V1_0.as_str());
        request.headers_mut().insert(VERSION_HEADER, version);
        request.headers_mut().extend(etag.map(|etag| (IF_NONE_MATCH, etag)));
        let opened = self.open(settings, place, request, settings.waits.connect).await?;
        let headers = opened.headers.clone();
        match opened.status {
            StatusCode::NOT_MODIFIED => Ok(Looked::Unchanged(headers)),
            status if status.is_success() => {
                let body = read_all(opened.body, CARD_BYTES_MAX).await?;
                let card = serde_json::from_slice(&body).map_err(|_| {
                    PeerError::Card(format!("what is at {} is no JSON", shown(place.path())))
                })?;
                Ok(Looked::Found { card, headers })
            }
            status if status.is_client_error() => Ok(Looked::NotHere),
            status => Err(PeerError::Down(format!("the agent answers with status {status}"))),
        }
    }

    /// Reads a card and checks its signatures.
    async fn take(
        &self,
        settings: &AgentSettings,
        received: Value,
        place: Option<&Url>,
    ) -> Result<Arc<Card>, PeerError> {
        let read = card::read(&received).map_err(|error| {
            PeerError::Card(format!("the card cannot be used: {}", shown(&error.to_string())))
        })?;
        let signature = self.checked(settings, &received, place).await?;
        if settings.must_be_signed && !matches!(signature, Signature::Holds { .. }) {
            let why =
                "the card has no signature that can be checked, and the configuration wants one";
            return Err(PeerError::Card(why.to_owned()));
        }
        let said = card::etag_input(&received)
            .map_err(|_| PeerError::Card("the card is nested too deep".to_owned()))?;
        let card = Arc::new(Card {
            card: read,
            received,
            address: place.map(Url::to_string),
            signature,
            digest: digest(&said),
            listing: OnceLock::new(),
        });
        if place.is_none() {
            // What is written down holds until somebody writes something else down.
            let kept = Kept { card: Arc::clone(&card), etag: None, until: Timestamp(u64::MAX) };
            self.cards.put(&settings.name, kept);
        }
        Ok(card)
    }

    async fn checked(
        &self,
        settings: &AgentSettings,
        received: &Value,
        place: Option<&Url>,
    ) -> Result<Signature, PeerError> {
        let mut named = Vec::new();
        let unverified = card::verify(received, |header, _, _| {
            named.extend(header.jku.clone());
            false
        });
        if unverified == Err(SignatureError::NotSigned) {
            return Ok(Signature::None);
        }
        let keys = match &settings.keys {
            Some(keys) => keys.clone(),
            None => match self.keys_at(settings, named, place).await? {
                Some(keys) => keys,
                None => return Ok(Signature::Unchecked),
            },
        };
        let verified = card::verify(received, |header, signed, bytes| {
            signatures::holds(&keys, header, signed, bytes)
        });
        let verified = verified.map_err(|error| {
            PeerError::Card(format!("{error}: it may have been changed by somebody else"))
        })?;
        Ok(Signature::Holds { key_id: verified.header.key_id })
    }

    /// The keys at the addresses that a card names, as far as these are the agent's own: a stranger's keys prove nothing.
    async fn keys_at(
        &self,
        settings: &AgentSettings,
        mut named: Vec<String>,
        place: Option<&Url>,
    ) -> Result<Option<Value>, PeerError> {
        named.dedup();
        let own = named.iter().filter_map(|jku| jku.parse::<Url>().ok()).filter(|url| {
            let is_beside = place.is_some_and(|place| place.origin() == url.origin());
            is_beside || settings.reach(url) == Reach::WrittenDown
        });
        let mut keys = Vec::new();
        let own: Vec<Url> = own.take(KEY_SETS_MAX).collect();
        for url in &own {
            let opened = self.open(settings, url, Request::new(Vec::new()), settings.waits.connect);
            let opened = opened.await?;
            if !opened.status.is_success() {
                let status = opened.status;
                return Err(PeerError::Card(format!(
                    "the keys of the card are not there: {status}"
                )));
            }
            let set = read_all(opened.body, KEYS_BYTES_MAX).await?;
            let set: Value = serde_json::from_slice(&set)
                .map_err(|_| PeerError::Card("the keys of the card are no JSON".to_owned()))?;
            keys.extend(set.get("keys").and_then(Value::as_array).into_iter().flatten().cloned());
        }
        Ok((!own.is_empty()).then(|| json!({ "keys": keys })))
    }

    /// Sends a request to an address of an agent's, with what the agent is to be shown if the address is its own.
    pub(super) async fn open(
        &self,
        settings: &AgentSettings,
        url: &Url,
        mut request: Request<Vec<u8>>,
        wait_max: std::time::Duration,
    ) -> Result<Opened, PeerError> {
        let reach = settings.reach(url);
        *request.uri_mut() = url
            .as_str()
            .parse()
            .map_err(|_| PeerError::Card("the agent's address cannot be used".to_owned()))?;
        if reach == Reach::WrittenDown {
            request.headers_mut().extend(own_headers(settings)?);
        }
        let opened = self.parts.outside.open(reach, request, wait_max).await?;
        match opened.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(PeerError::Closed(format!(
                "the agent wants to know who calls ({}): give it credentials with `headers` in [agents.{}]",
                opened.status, settings.name
            ))),
            status if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                Err(PeerError::Down("the address answers with a redirect, which is not followed: use the address it leads to".to_owned()))
            }
            _ => Ok(opened),
        }
    }

    fn keep(&self, settings: &AgentSettings, card: &Arc<Card>, headers: &HeaderMap) {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let lasting = keep_for(text(CACHE_CONTROL), text(AGE));
        let lasting = u64::try_from(lasting.as_millis()).unwrap_or(u64::MAX);
        let until = Timestamp(self.parts.clock.now().0.saturating_add(lasting));
        let etag = headers.get(ETAG).cloned();
        self.cards.put(&settings.name, Kept { card: Arc::clone(card), etag, until });
    }
}

/// Where the card of an agent may be: at the address itself if that is a file, else at each well-known path, below the
/// address and then at the top of its host.
fn places(address: &str) -> Result<Vec<Url>, PeerError> {
    let wrong = || PeerError::Card("the agent's address is no web address".to_owned());
    let url: Url = address.parse().map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong());
    }
    if url.path().ends_with(".json") {
        return Ok(vec![url]);
    }
    let below = url.path().trim_end_matches('/');
    let at = |path: String| {
        let mut place = url.clone();
        place.set_path(&path);
        place.set_query(None);
        place.set_fragment(None);
        place
    };
    let mut places: Vec<Url> = CARD_PATHS.iter().map(|path| at(format!("{below}{path}"))).collect();
    if !below.is_empty() {
        places.extend(CARD_PATHS.iter().map(|path| at((*path).to_owned())));
    }
    Ok(places)
}

fn own_headers(settings: &AgentSettings) -> Result<HeaderMap, PeerError> {
    let each = settings.headers.iter().map(|(name, value)| {
        let wrong =
            || PeerError::Unusable(format!("the header {name:?} of the agent is not legal"));
        let name = http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    });
    each.collect()
}
