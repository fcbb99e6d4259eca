//! Fetches agents' cards, and finds out which host has signed one.

use a2a::card::{self, Algorithm, ProtectedHeader};
use a2a::model::AgentCard;
use a2a::registry::registration::{card_addresses, host, is_within};
use a2a::registry::validation::{Fault, Severity, faults};
use a2a::wire::read_card;
use agent::ports::{Fetched, PortError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

use super::{CARD_BYTES_MAX, Catalogue, CatalogueError};

/// Largest set of keys that is looked at, in bytes, and keys of it that are tried.
const KEYS_BYTES_MAX: usize = 64 << 10;
const KEYS_MAX: usize = 32;

/// A card and where it was found in the end.
pub(super) struct FetchedCard {
    pub(super) card: AgentCard,
    pub(super) address: String,
}

impl Catalogue {
    /// The card of the agent at an address, looked for in all the places where it may be.
    pub(super) async fn fetch_card(&self, url: &str) -> Result<FetchedCard, CatalogueError> {
        let mut why: Option<CatalogueError> = None;
        for address in card_addresses(url) {
            match self.shared.parts.pages.fetch(&address).await {
                Ok(Fetched { address, bytes, .. }) => match parse(&bytes) {
                    Ok(card) => return Ok(FetchedCard { card, address }),
                    Err(error) => why = why.or(Some(error)),
                },
                // The next place may have it, if nothing is there.
                Err(PortError::Refused(told)) => {
                    why = why.or(Some(CatalogueError::Refused(told)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let nowhere = || CatalogueError::Refused(format!("{url} is no address of an agent"));
        Err(why.unwrap_or_else(nowhere))
    }

    /// The host whose key has signed the card, if that host may speak for `domain`. Keys are asked for nowhere else.
    pub(super) async fn signed_by(&self, received: &Value, domain: &str) -> Option<String> {
        let card = read_card(received).ok()?;
        for address in card.signatures.iter().filter_map(key_address) {
            let Some(host) = host(&address).filter(|host| is_within(host, domain)) else {
                continue;
            };
            let Ok(Fetched { address: found, bytes, .. }) =
                self.shared.parts.pages.fetch(&address).await
            else {
                continue;
            };
            // Keys that another host hands out are that host's.
            let is_own = self::host(&found).is_some_and(|found| is_within(found, domain));
            if !is_own || bytes.len() > KEYS_BYTES_MAX {
                continue;
            }
            let Ok(keys) = serde_json::from_slice::<Value>(&bytes) else { continue };
            let verified = card::verify(received, |header, message, signature| {
                header.jku.as_deref() == Some(address.as_str())
                    && verifies(&keys, header, message, signature)
            });
            if verified.is_ok() {
                return Some(host.to_owned());
            }
        }
        None
    }
}

/// Reads a card.
///
/// # Errors
/// With what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<AgentCard, CatalogueError> {
    if bytes.len() > CARD_BYTES_MAX {
        let why = format!("the card has more than {} KiB", CARD_BYTES_MAX >> 10);
        return Err(CatalogueError::Refused(why));
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| CatalogueError::Refused(format!("the card is no JSON: {error}")))?;
    read_value(&value)
}

/// Reads a card that is JSON already.
///
/// # Errors
/// With what is wrong with it.
pub(super) fn read_value(value: &Value) -> Result<AgentCard, CatalogueError> {
    read_card(value).map_err(|error| CatalogueError::Refused(format!("this is no card: {error}")))
}

/// What is wrong with a card without being reason enough to refuse it.
///
/// # Errors
/// If something is.
pub(super) fn checked(card: &AgentCard) -> Result<Vec<Fault>, CatalogueError> {
    let (errors, advice): (Vec<Fault>, Vec<Fault>) =
        faults(card).into_iter().partition(|fault| fault.severity == Severity::Error);
    if errors.is_empty() {
        return Ok(advice);
    }
    let told: Vec<String> =
        errors.iter().map(|fault| format!("{} {}", fault.field, fault.description)).collect();
    let why = format!("the card does not hold to the rules; wanted: {}", told.join("; "));
    Err(CatalogueError::Refused(why))
}

/// Where the key of a signature is said to be.
fn key_address(signature: &a2a::model::CardSignature) -> Option<String> {
    let header = URL_SAFE_NO_PAD.decode(signature.protected.trim_end_matches('=')).ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    Some(header.get("jku")?.as_str()?.to_owned())
}

fn verifies(keys: &Value, header: &ProtectedHeader, message: &[u8], signature: &[u8]) -> bool {
    let keys = keys.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut named = keys
        .iter()
        .take(KEYS_MAX)
        .filter(|key| key.get("kid").and_then(Value::as_str) == Some(header.key_id.as_str()));
    named.any(|key| verifies_with(key, header.algorithm, message, signature).is_some())
}

/// A key of one kind is never used with another's algorithm: that is how signatures are forged.
fn verifies_with(
    key: &Value,
    algorithm: Algorithm,
    message: &[u8],
    signature: &[u8],
) -> Option<()> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
    let curve: (&str, &dyn signature::VerificationAlgorithm) = match algorithm {
        Algorithm::Es256 => ("P-256", &signature::ECDSA_P256_SHA256_FIXED),
        Algorithm::Es384 => ("P-384", &signature::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDsa => ("Ed25519", &signature::ED25519),
        Algorithm::Rs256 => {
            return rsa(key, &signature::RSA_PKCS1_2048_8192_SHA256, message, signature);
        }
        Algorithm::Rs384 => {
            return rsa(key, &signature::RSA_PKCS1_2048_8192_SHA384, message, signature);
        }
        Algorithm::Rs512 => {
            return rsa(key, &signature::RSA_PKCS1_2048_8192_SHA512, message, signature);
        }
        Algorithm::Ps256 => {
            return rsa(key, &signature::RSA_PSS_2048_8192_SHA256, message, signature);
        }
        Algorithm::Ps384 => {
            return rsa(key, &signature::RSA_PSS_2048_8192_SHA384, message, signature);
        }
        Algorithm::Ps512 => {
            return rsa(key, &signature::RSA_PSS_2048_8192_SHA512, message, signature);
        }
        // Nobody whom we know signs cards so, and the library does not check it.
        Algorithm::Es512 => return None,
    };
    let (name, algorithm) = curve;
    let point = match (text("kty")?, text("crv")?) {
        ("EC", found) if found == name && found != "Ed25519" => {
            [&[4][..], &bytes("x")?, &bytes("y")?].concat()
        }
        ("OKP", "Ed25519") if name == "Ed25519" => bytes("x")?,
        _ => return None,
    };
    UnparsedPublicKey::new(algorithm, point).verify(message, signature).ok()
}

fn rsa(key: &Value, parameters: &RsaParameters, message: &[u8], signature: &[u8]) -> Option<()> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
    let components = RsaPublicKeyComponents { n: bytes("n")?, e: bytes("e")? };
    if text("kty") != Some("RSA") {
        return None;
    }
    components.verify(parameters, message, signature).ok()
}
