//! Signatures of cards: JWS over the canonical card. The mathematics is the caller's; what is signed is decided here.
//!
//! The specification keeps required fields even when they are empty. The SDKs for Python and JavaScript drop every empty
//! text, list and object before they sign and verify. Where the two differ, a card gets a signature of each kind, as
//! one valid signature suffices; a signature is tried against both, and against the card as it was received.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::{canonical, without_signatures};
use crate::limits::{SECRET_BYTES_MAX, URL_BYTES_MAX};
use crate::model::{AgentCard, CardSignature};
use crate::version::Version;
use crate::wire::{read_card, write_card};

/// Signatures of a card that are tried: enough for a rotation of keys, too few to keep somebody busy.
const SIGNATURES_MAX: usize = 8;

/// The algorithms that count: asymmetric ones alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Es256,
    Es384,
    Es512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    EdDsa,
}

impl Algorithm {
    const ALL: [(Self, &str); 10] = [
        (Self::Es256, "ES256"),
        (Self::Es384, "ES384"),
        (Self::Es512, "ES512"),
        (Self::Rs256, "RS256"),
        (Self::Rs384, "RS384"),
        (Self::Rs512, "RS512"),
        (Self::Ps256, "PS256"),
        (Self::Ps384, "PS384"),
        (Self::Ps512, "PS512"),
        (Self::EdDsa, "EdDSA"),
    ];

    /// The name in a JWS header.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(algorithm, _)| *algorithm == self).map_or("", |(_, name)| name)
    }

    fn read(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(algorithm, _)| *algorithm)
    }
}

/// With what a card is to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningHeader {
    pub algorithm: Algorithm,
    pub key_id: String,
    /// Where the public key is found.
    pub jku: Option<String>,
}

/// With what a card says it was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedHeader {
    pub algorithm: Algorithm,
    pub key_id: String,
    /// It came from outside: only the egress guard may follow it, and only to a host that is trusted.
    pub jku: Option<String>,
}

/// Why a card's signatures do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the card is not signed")]
    NotSigned,
    #[error("none of the card's signatures is valid")]
    NoneValid,
    #[error("the card cannot be read, so its signatures cannot be checked")]
    NoCard,
}

/// A card whose signature was found valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub card: AgentCard,
    pub header: ProtectedHeader,
}

/// Makes the signatures of a card: `signer` is given what to sign, and returns the bytes of the signature. They go into
/// the card's form of 1.0; no other form is signed.
///
/// # Errors
/// With the signer's error.
pub fn sign<E>(
    card: &AgentCard,
    header: &SigningHeader,
    mut signer: impl FnMut(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Vec<CardSignature>, E> {
    let mut protected = Map::new();
    protected.insert("alg".to_owned(), header.algorithm.as_str().into());
    protected.insert("kid".to_owned(), header.key_id.as_str().into());
    protected.insert("typ".to_owned(), "JOSE".into());
    if let Some(jku) = &header.jku {
        protected.insert("jku".to_owned(), jku.as_str().into());
    }
    let protected = URL_SAFE_NO_PAD.encode(Value::Object(protected).to_string());
    let mut signatures = Vec::new();
    for payload in payloads(&write_card(Version::V1_0, card)) {
        let signature = signer(signing_input(&protected, &payload).as_bytes())?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        signatures.push(CardSignature { protected: protected.clone(), signature, header: None });
    }
    Ok(signatures)
}

/// Checks the signatures of a card as it was received. `verifier` is given the header, what was signed and the
/// signature's bytes; it finds the key, and refuses keys that it does not trust or that do not fit the algorithm.
///
/// # Errors
/// If the card has no signature, or none that the verifier accepts.
pub fn verify(
    received: &Value,
    mut verifier: impl FnMut(&ProtectedHeader, &[u8], &[u8]) -> bool,
) -> Result<Verified, SignatureError> {
    let card = read_card(received).map_err(|_| SignatureError::NoCard)?;
    if card.signatures.is_empty() {
        return Err(SignatureError::NotSigned);
    }
    let mut candidates = payloads(&write_card(Version::V1_0, &card));
    candidates.extend(canonical(&without_signatures(received)).ok());
    candidates.dedup();
    for signature in card.signatures.iter().take(SIGNATURES_MAX) {
        let Some(header) = read_header(&signature.protected) else { continue };
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(signature.signature.trim_end_matches('=')) else {
            continue;
        };
        let valid = candidates.iter().any(|payload| {
            verifier(&header, signing_input(&signature.protected, payload).as_bytes(), &bytes)
        });
        if valid {
            return Ok(Verified { card, header });
        }
    }
    Err(SignatureError::NoneValid)
}

/// What may be signed of a card: with its required empty values, and without any.
fn payloads(card: &Value) -> Vec<String> {
    let card = without_signatures(card);
    let full = canonical(&card).ok();
    let lean = canonical(&without_empties(&card).unwrap_or_else(|| json!({}))).ok();
    let mut payloads: Vec<String> = full.into_iter().chain(lean).collect();
    payloads.dedup();
    payloads
}

/// The value without empty texts, lists and objects; `None` if nothing is left of it.
fn without_empties(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::Array(values) => {
            let values: Vec<Value> = values.iter().filter_map(without_empties).collect();
            (!values.is_empty()).then_some(Value::Array(values))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields: Map<String, Value> = fields
                .filter_map(|(name, value)| Some((name.clone(), without_empties(value)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

fn signing_input(protected: &str, payload: &str) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

/// The header of a signature that may count: an algorithm that we know, a key, and nothing that must be understood.
fn read_header(protected: &str) -> Option<ProtectedHeader> {
    if protected.len() > SECRET_BYTES_MAX {
        return None;
    }
    let json = URL_SAFE_NO_PAD.decode(protected.trim_end_matches('=')).ok()?;
    let header: Map<String, Value> = serde_json::from_slice(&json).ok()?;
    if header.contains_key("crit") || header.get("b64").is_some_and(|encoded| *encoded != true) {
        return None;
    }
    let jku = match header.get("jku") {
        None => None,
        Some(jku) => Some(jku.as_str().filter(|jku| jku.len() <= URL_BYTES_MAX)?.to_owned()),
    };
    Some(ProtectedHeader {
        algorithm: Algorithm::read(header.get("alg")?.as_str()?)?,
        key_id: header.get("kid")?.as_str()?.to_owned(),
        jku,
    })
}

#[cfg(test)]
mod tests;
