//! Cards: the form that each path and version gets, what a client chooses from one, and their signatures.

mod canonical;
mod freshness;
mod signature;

use serde_json::{Map, Value};

pub use canonical::{CanonicalError, canonical};
pub use freshness::keep_for;
pub use signature::{
    Algorithm, ProtectedHeader, SignatureError, SigningHeader, Verified, sign, verify,
};

use crate::error::{Error, ErrorKind};
use crate::model::{AgentCard, Interface};
use crate::version::Version;
use crate::wire::{self, write_card};

/// Where a card is since 0.3.
pub const CARD_PATH: &str = "/.well-known/agent-card.json";

/// Where a card was before 0.3.
pub const OLD_CARD_PATH: &str = "/.well-known/agent.json";

/// Where the extended card is in 0.2, beside the agent's URL: that version has no method for it.
pub const OLD_EXTENDED_CARD_PATH: &str = "/agent/authenticatedExtendedCard";

/// Where a client looks for a card, in this order.
pub const CARD_PATHS: [&str; 3] = [CARD_PATH, OLD_CARD_PATH, "/agent.json"];

/// What a client that does not say its version finds at [`CARD_PATH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BareCard {
    /// The fields of 1.0 and of 0.3 together: both kinds of clients find theirs.
    #[default]
    Merged,
    /// The form of 1.0 alone: a validator with a closed schema accepts it.
    Strict,
}

/// The card at [`CARD_PATH`], for a client that names its version or does not. The answer depends on the header
/// `A2A-Version`, so it says `Vary`.
///
/// # Errors
/// If the client names a version that nobody speaks.
pub fn at_path(card: &AgentCard, header: Option<&str>, bare: BareCard) -> Result<Value, Error> {
    let header = header.map(str::trim).filter(|header| !header.is_empty());
    match header.map(Version::read) {
        Some(None) => Err(Error::of(ErrorKind::VersionNotSupported)),
        Some(Some(Version::V1_0)) => Ok(write_card(Version::V1_0, card)),
        Some(Some(Version::V0_1 | Version::V0_2 | Version::V0_3)) => {
            Ok(write_card(Version::V0_3, card))
        }
        None => Ok(match bare {
            BareCard::Merged => {
                merged(write_card(Version::V1_0, card), write_card(Version::V0_3, card))
            }
            BareCard::Strict => write_card(Version::V1_0, card),
        }),
    }
}

/// The card at [`OLD_CARD_PATH`]: the fields of 0.2 and of 0.1 together.
#[must_use]
pub fn at_old_path(card: &AgentCard) -> Value {
    merged(write_card(Version::V0_2, card), write_card(Version::V0_1, card))
}

/// Adds to a card what another form of it has besides, however deep. Where both have a value, the first one's stays.
fn merged(mut first: Value, second: Value) -> Value {
    merge(&mut first, second);
    first
}

fn merge(first: &mut Value, second: Value) {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) => {
            for (name, value) in second {
                match first.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => {
                        first.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(first), Value::Array(second)) => {
            first.iter_mut().zip(second).for_each(|(known, value)| merge(known, value));
        }
        _ => {}
    }
}

/// What a weak ETag of a served card is the hash of: the card without its signatures, as these differ each time.
///
/// # Errors
/// If the card is nested too deep.
pub fn etag_input(served: &Value) -> Result<String, CanonicalError> {
    canonical(&without_signatures(served))
}

fn without_signatures(card: &Value) -> Value {
    match card {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "signatures");
            Value::Object(
                fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>(),
            )
        }
        other => other.clone(),
    }
}

/// The card that a caller whom the server knows may have besides.
///
/// # Errors
/// If the card does not declare one, or declares one that is not there.
pub fn extended<'a>(
    card: &AgentCard,
    extended: Option<&'a AgentCard>,
) -> Result<&'a AgentCard, Error> {
    if card.capabilities.extended_card != Some(true) {
        return Err(Error::of(ErrorKind::UnsupportedOperation));
    }
    extended.ok_or_else(|| Error::of(ErrorKind::ExtendedCardNotConfigured))
}

/// How a client talks to an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub interface: Interface,
    pub version: Version,
    /// The card does not say which version: if `message/send` is not known there, `tasks/send` may be.
    pub may_be_oldest: bool,
}

/// Chooses the first interface of a card whose binding is spoken, in the version that it offers. There is no falling
/// back to an older version than the card names.
#[must_use]
pub fn choose(card: &AgentCard, bindings: &[&str]) -> Option<Choice> {
    card.interfaces
        .iter()
        .filter(|interface| bindings.contains(&interface.binding.as_str()))
        .find_map(|interface| {
            let (version, may_be_oldest) = match &interface.version {
                Some(text) => (Version::read(text)?, false),
                None => (Version::V0_3, true),
            };
            // 0.1 and 0.2 are spoken over JSON-RPC alone.
            let spoken = version >= Version::V0_3 || interface.binding == "JSONRPC";
            spoken.then(|| Choice { interface: interface.clone(), version, may_be_oldest })
        })
}

/// Reads a card that was fetched or registered.
///
/// # Errors
/// If it is no card, or beyond a limit; the error says where.
pub fn read(card: &Value) -> Result<AgentCard, Error> {
    wire::read_card(card)
}

#[cfg(test)]
mod tests;
