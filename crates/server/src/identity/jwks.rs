//! The issuer's public keys: fetched through the caller, kept warm over an outage, never fetched at a stranger's pace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::ports::Later;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::limits::Rate;
use crate::quota::Buckets;

/// Largest document of keys that is parsed: a hundred keys with certificates.
const JWKS_BYTES_MAX: usize = 1024 * 1024;

/// Most keys of an issuer: more is not rotation but a mistake.
const KEYS_MAX: usize = 100;

/// How long a fetch may take; a request waits for it.
const FETCH_WAIT_MAX: Duration = Duration::from_secs(5);

/// After this the keys are fetched anew, so that a withdrawn key stops working.
const FRESH: Duration = Duration::from_secs(3600);

/// For this long the keys are believed while the issuer does not answer.
const STALE_MAX: Duration = Duration::from_secs(24 * 3600);

/// How long a key's name stays known as unknown.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);

/// Most names remembered as unknown: strangers choose them.
const UNKNOWN_MAX: usize = 256;

/// When to come back while the issuer does not answer.
pub(crate) const RETRY_SECONDS: u64 = 30;

/// How often keys are fetched at most: names of unknown keys come from strangers.
const FETCH_RATE: Rate = Rate { per_second: 1.0 / RETRY_SECONDS as f64, burst: 5 };

/// Fetches the issuer's document of keys, at most 1 MiB, without following redirects.
pub trait JwksSource: Send + Sync {
    fn fetch(&self) -> Later<'_, Vec<u8>>;
}

/// Why there is no key to check with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFault {
    Unknown,
    /// No keys at all, and the issuer does not answer.
    Unreachable,
}

pub(crate) struct Jwks {
    source: Arc<dyn JwksSource>,
    state: Mutex<State>,
    /// One fetch at a time.
    turn: Semaphore,
    fetches: Buckets<()>,
}

#[derive(Default)]
struct State {
    keys: Vec<Key>,
    fetched_at: Option<Instant>,
    /// Counts the documents that were taken over.
    generation: u64,
    unknown: HashMap<String, Instant>,
}

struct Key {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

enum Looked {
    Found {
        key: DecodingKey,
        fresh: bool,
    },
    /// It was looked for not long ago.
    KnownUnknown,
    Missing {
        generation: u64,
    },
}

impl Jwks {
    pub(crate) fn new(source: Arc<dyn JwksSource>) -> Self {
        let fetches = Buckets::new(FETCH_RATE);
        Self { source, state: Mutex::default(), turn: Semaphore::new(1), fetches }
    }

    /// The key of this name for this kind of signature.
    pub(crate) async fn key(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, KeyFault> {
        match self.look(kid, algorithm) {
            Looked::Found { key, fresh: true } => Ok(key),
            Looked::Found { key, fresh: false } => {
                // One caller refreshes; the others go on with what there is.
                let Ok(_turn) = self.turn.try_acquire() else { return Ok(key) };
                if !self.fetch().await {
                    return Ok(key);
                }
                self.found(kid, algorithm).ok_or(KeyFault::Unknown)
            }
            Looked::KnownUnknown => Err(KeyFault::Unknown),
            Looked::Missing { generation } => {
                self.key_after_fetch(kid, algorithm, generation).await
            }
        }
    }

    async fn key_after_fetch(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
        seen: u64,
    ) -> Result<DecodingKey, KeyFault> {
        let Ok(_turn) = self.turn.acquire().await else { return Err(KeyFault::Unreachable) };
        // Whoever had the turn before may have fetched what is wanted here.
        let fetched = self.lock().generation != seen || self.fetch().await;
        if let Some(key) = self.found(kid, algorithm) {
            return Ok(key);
        }
        let mut state = self.lock();
        if fetched && let Some(kid) = kid {
            state.remember_unknown(kid);
        }
        Err(if state.keys.is_empty() && !fetched {
            KeyFault::Unreachable
        } else {
            KeyFault::Unknown
        })
    }

    fn look(&self, kid: Option<&str>, algorithm: Algorithm) -> Looked {
        let mut state = self.lock();
        let age = state.fetched_at.map(|at| at.elapsed());
        if age.is_some_and(|age| age > STALE_MAX) {
            state.keys.clear();
        }
        if let Some(key) = state.find(kid, algorithm) {
            return Looked::Found { key, fresh: age.is_some_and(|age| age < FRESH) };
        }
        let known = kid.and_then(|kid| state.unknown.get(kid));
        match known {
            Some(since) if since.elapsed() < UNKNOWN_FOR => Looked::KnownUnknown,
            Some(_) | None => Looked::Missing { generation: state.generation },
        }
    }

    fn found(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        self.lock().find(kid, algorithm)
    }

    /// Fetches the document once; a failure leaves the keys of before.
    async fn fetch(&self) -> bool {
        if self.fetches.take((), Instant::now()).is_err() {
            return false;
        }
        let keys = match timeout(FETCH_WAIT_MAX, self.source.fetch()).await {
            Ok(Ok(bytes)) => parse(&bytes),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("it took too long".to_owned()),
        };
        match keys {
            Ok(keys) => {
                let mut state = self.lock();
                state.keys = keys;
                state.fetched_at = Some(Instant::now());
                state.generation = state.generation.wrapping_add(1);
                true
            }
            Err(why) => {
                tracing::warn!(why, "the issuer's keys cannot be fetched; those of before stay");
                false
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A token that names no key is fine as long as only one key can be meant.
    fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let mut fitting = self.keys.iter().filter(|key| key.algorithms.contains(&algorithm));
        match kid {
            Some(kid) => {
                fitting.find(|key| key.kid.as_deref() == Some(kid)).map(|key| key.key.clone())
            }
            None => {
                let only = fitting.next()?;
                fitting.next().is_none().then(|| only.key.clone())
            }
        }
    }

    fn remember_unknown(&mut self, kid: &str) {
        if self.unknown.len() >= UNKNOWN_MAX {
            self.unknown.retain(|_, since| since.elapsed() < UNKNOWN_FOR);
        }
        if self.unknown.len() < UNKNOWN_MAX {
            self.unknown.insert(kid.to_owned(), Instant::now());
        }
    }
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

fn parse(bytes: &[u8]) -> Result<Vec<Key>, String> {
    if bytes.len() > JWKS_BYTES_MAX {
        return Err(format!("the document is larger than {JWKS_BYTES_MAX} bytes"));
    }
    let document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if document.keys.len() > KEYS_MAX {
        return Err(format!("there are more than {KEYS_MAX} keys"));
    }
    // A key of a kind that is not known here stands in nobody's way.
    Ok(document.keys.into_iter().filter_map(usable).collect())
}

fn usable(value: serde_json::Value) -> Option<Key> {
    let named = value.get("alg").and_then(serde_json::Value::as_str).map(str::to_owned);
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    let signs = match &jwk.common.public_key_use {
        Some(usage) => *usage == PublicKeyUse::Signature,
        None => true,
    };
    let operations = jwk.common.key_operations.as_ref();
    let verifies = operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify));
    let mut algorithms = algorithms(&jwk.algorithm);
    algorithms.retain(|algorithm| named.as_ref().is_none_or(|n| *n == format!("{algorithm:?}")));
    if !signs || !verifies || algorithms.is_empty() {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(Key { kid: jwk.common.key_id, algorithms, key })
}

/// The signatures that this kind of key can make; a shared secret makes none that is believed.
fn algorithms(parameters: &AlgorithmParameters) -> Vec<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    match parameters {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => vec![ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => vec![ES384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            vec![EdDSA]
        }
        // Shared secrets, and whatever else there will be.
        _ => Vec::new(),
    }
}
