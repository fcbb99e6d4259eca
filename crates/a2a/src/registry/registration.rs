//! Who may put an agent into the catalogue, or change one that is there.

use super::Entry;
use super::ard::publisher;
use super::disclosure::{Caller, view};
use crate::card::CARD_PATHS;

/// What a caller did to show that an agent is of the domain that its identifier names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The card was fetched from this URL, by us.
    Fetched(String),
    /// The card has a valid signature by a key that this host publishes.
    Signed { host: String },
    /// A keeper of the catalogue vouches for it.
    Vouched,
}

/// What a registration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    New,
    Update,
}

/// Why a registration is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    #[error("the identifier is urn:air:<domain>:<name>")]
    Identifier,
    #[error(
        "the domain of the identifier is not shown to be the agent's: register it by a URL of that domain, or sign the card"
    )]
    Unproven,
    /// The entry is one that the caller sees.
    #[error("the identifier belongs to another owner")]
    Taken,
    /// The entry is one that the caller does not see: it is told as little as possible.
    #[error("the identifier cannot be used")]
    Unavailable,
}

/// Decides on a registration of `identifier`, where `existing` is the entry that has it already.
///
/// # Errors
/// If the identifier is illegal, somebody else's, or of a domain that is not shown to be the agent's.
pub fn decide(
    identifier: &str,
    existing: Option<&Entry>,
    caller: &Caller,
    proof: &Proof,
) -> Result<Registration, RegistrationError> {
    let domain = publisher(identifier).ok_or(RegistrationError::Identifier)?;
    let proven = match proof {
        Proof::Fetched(url) => host(url).is_some_and(|host| is_within(host, domain)),
        Proof::Signed { host } => is_within(host, domain),
        Proof::Vouched => *caller == Caller::Keeper,
    };
    // First: whoever has no say over a domain does not learn which of its identifiers are in use.
    if !proven {
        return Err(RegistrationError::Unproven);
    }
    match existing {
        None => Ok(Registration::New),
        Some(entry) if may_change(entry, caller) => Ok(Registration::Update),
        Some(entry) if view(entry, caller).is_some() => Err(RegistrationError::Taken),
        Some(_) => Err(RegistrationError::Unavailable),
    }
}

/// Where the card of an agent at `url` may be, in the order in which to look: the address itself unless it is a bare
/// host, and the well-known paths below it.
#[must_use]
pub fn card_addresses(url: &str) -> Vec<String> {
    let base = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let is_bare = base.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    let known = CARD_PATHS.iter().map(|path| format!("{base}{path}"));
    let own = if is_bare { None } else { Some(url.to_owned()) };
    let is_card = !is_bare && base.ends_with(".json");
    if is_card { own.into_iter().collect() } else { own.into_iter().chain(known).collect() }
}

/// An identifier for an agent that was registered without one: the host, and the name in the letters that identifiers
/// have. A name without any such letters gets a number that is always the same for it.
#[must_use]
pub fn identifier_for(url: &str, name: &str) -> Option<String> {
    let host = host(url)?.trim_end_matches('.').to_ascii_lowercase();
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() {
            words.push(letter.to_ascii_lowercase());
        } else if !words.is_empty() && !words.ends_with('-') {
            words.push('-');
        }
    }
    let mut words = words.trim_end_matches('-').to_owned();
    if words.is_empty() {
        words = format!("agent-{:08x}", number(name));
    }
    words.truncate(SLUG_BYTES_MAX);
    let identifier = format!("urn:air:{host}:{words}");
    publisher(&identifier).map(|_| identifier.clone())
}

/// Longest name in an identifier that we make: a line of a list.
const SLUG_BYTES_MAX: usize = 64;

/// FNV-1a of 32 bits.
fn number(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Whether a caller may change or remove an entry. Who may not and does not see it is told that there is none.
#[must_use]
pub fn may_change(entry: &Entry, caller: &Caller) -> bool {
    match caller {
        Caller::Anonymous => false,
        Caller::Known { subject, .. } => *subject == entry.owner,
        Caller::Keeper => true,
    }
}

/// The host of a URL, without its port.
#[must_use]
pub fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // Credentials are a way to look like another host.
    if authority.contains('@') {
        return None;
    }
    authority.split(':').next().filter(|host| !host.is_empty())
}

/// A host speaks for its own domain, and one below it for it too: `a2a.example.com` for `example.com`.
#[must_use]
pub fn is_within(host: &str, domain: &str) -> bool {
    let (host, domain) =
        (host.trim_end_matches('.').to_ascii_lowercase(), domain.to_ascii_lowercase());
    // A name of one part has everybody below it.
    let below =
        domain.contains('.') && host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'));
    host == domain || below
}
