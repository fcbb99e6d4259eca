//! Who may put an agent into the catalogue, or change one that is there.

use super::Entry;
use super::ard::publisher;
use super::disclosure::{Caller, view};

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
    if let Some(entry) = existing
        && !may_change(entry, caller)
    {
        let seen = view(entry, caller).is_some();
        return Err(if seen { RegistrationError::Taken } else { RegistrationError::Unavailable });
    }
    let proven = match proof {
        Proof::Fetched(url) => host(url).is_some_and(|host| is_within(host, domain)),
        Proof::Signed { host } => is_within(host, domain),
        Proof::Vouched => *caller == Caller::Keeper,
    };
    match (proven, existing) {
        (false, _) => Err(RegistrationError::Unproven),
        (true, None) => Ok(Registration::New),
        (true, Some(_)) => Ok(Registration::Update),
    }
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
fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // Credentials are a way to look like another host.
    if authority.contains('@') {
        return None;
    }
    authority.split(':').next().filter(|host| !host.is_empty())
}

/// A host speaks for its own domain, and one below it for it too: `a2a.example.com` for `example.com`.
fn is_within(host: &str, domain: &str) -> bool {
    let (host, domain) =
        (host.trim_end_matches('.').to_ascii_lowercase(), domain.to_ascii_lowercase());
    // A name of one part has everybody below it.
    let below =
        domain.contains('.') && host.strip_suffix(&domain).is_some_and(|rest| rest.ends_with('.'));
    host == domain || below
}
