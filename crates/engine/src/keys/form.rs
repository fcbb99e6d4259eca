//! The form of an API key: how one is made, recognised and compared.

use std::fmt;

use agent::identity::{ApiKey, Scope, Timestamp};
use agent::names::TenantId;
use agent::ports::{Entropy, PortError};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::reading::sha256_hex;

/// Every key starts with this, so that people and scanners know one when they see it.
const MARK: &str = "saem_";

/// Characters of the public part: 40 bits tell a million keys apart.
const PREFIX_CHARS: usize = 8;

/// Characters of the secret part: 160 bits, which nobody guesses.
const SECRET_CHARS: usize = 32;

/// Characters of the checksum: one mistyped key in a million passes for a real one.
const CHECKSUM_CHARS: usize = 4;

/// Base 32 without digits that look like letters.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A credential in clear. It shows itself only when it is asked to.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The credential itself: for the one time that it is shown.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What a new key is for.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub tenant: TenantId,
    pub label: String,
    pub scopes: Vec<Scope>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// Makes a key: the secret, to be shown once, and what is kept of it.
pub fn mint(entropy: &dyn Entropy, wanted: NewKey) -> Result<(Secret, ApiKey), PortError> {
    let prefix = random_text(entropy, PREFIX_CHARS)?;
    let secret = random_text(entropy, SECRET_CHARS)?;
    let mut whole = format!("{MARK}{prefix}_{secret}");
    whole.push_str(&checksum(&whole));
    let NewKey { tenant, label, scopes, created_at, expires_at } = wanted;
    let hash = hash(&whole);
    let key =
        ApiKey { prefix, hash, tenant, label, scopes, created_at, expires_at, revoked_at: None };
    Ok((Secret(whole), key))
}

/// Whether this means to be one of our keys.
#[must_use]
pub fn looks_like_one(text: &str) -> bool {
    text.starts_with(MARK)
}

/// The public part of a key that was copied without a mistake.
#[must_use]
pub fn checked_prefix(text: &str) -> Option<&str> {
    let whole_chars = MARK.len() + PREFIX_CHARS + 1 + SECRET_CHARS + CHECKSUM_CHARS;
    if text.len() != whole_chars {
        return None;
    }
    let (body, check) = text.split_at_checked(whole_chars - CHECKSUM_CHARS)?;
    let (prefix, secret) = body.strip_prefix(MARK)?.split_once('_')?;
    let legal = |part: &str| part.bytes().all(|byte| ALPHABET.contains(&byte));
    let whole = prefix.len() == PREFIX_CHARS && legal(prefix) && legal(secret);
    (whole && checksum(body) == check).then_some(prefix)
}

/// The key, if it is the one whose secret this is. Takes the same time for a wrong secret as for an unknown key.
#[must_use]
pub fn matching(known: Option<ApiKey>, secret: &str) -> Option<ApiKey> {
    let given = hash(secret);
    let kept = known.as_ref().map_or_else(|| "0".repeat(given.len()), |key| key.hash.clone());
    let same: bool = given.as_bytes().ct_eq(kept.as_bytes()).into();
    known.filter(|_| same)
}

fn hash(text: &str) -> String {
    sha256_hex(&[text.as_bytes()])
}

fn checksum(body: &str) -> String {
    let digest = Sha256::new().chain_update(b"saem key checksum:").chain_update(body).finalize();
    digest.iter().take(CHECKSUM_CHARS).map(|byte| letter(*byte)).collect()
}

fn random_text(entropy: &dyn Entropy, chars: usize) -> Result<String, PortError> {
    let mut bytes = vec![0_u8; chars];
    entropy.fill(&mut bytes)?;
    Ok(bytes.into_iter().map(letter).collect())
}

/// Five bits of a byte, as a character: 256 is a multiple of 32, so each is as likely as the others.
fn letter(byte: u8) -> char {
    ALPHABET.get(usize::from(byte % 32)).copied().map_or('a', char::from)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
            bytes.fill_with(|| self.0.fetch_add(7, Ordering::Relaxed));
            Ok(())
        }
    }

    fn minted(entropy: &Counting) -> (Secret, ApiKey) {
        let wanted = NewKey {
            tenant: TenantId::local(),
            label: "test".to_owned(),
            scopes: vec![Scope::Read],
            created_at: Timestamp(1),
            expires_at: None,
        };
        mint(entropy, wanted).unwrap()
    }

    #[test]
    fn a_key_is_found_by_its_prefix_and_known_by_its_hash() {
        let (secret, key) = minted(&Counting::default());
        assert!(looks_like_one(secret.expose()));
        assert_eq!(checked_prefix(secret.expose()), Some(key.prefix.as_str()));
        assert_eq!(key.hash.len(), 64);
        assert!(!format!("{key:?}").contains(secret.expose()));
        assert!(matching(Some(key.clone()), secret.expose()).is_some());
        assert!(matching(None, secret.expose()).is_none());
        let (other, _) = minted(&Counting(AtomicU8::new(1)));
        assert!(matching(Some(key), other.expose()).is_none());
    }

    #[test]
    fn every_mistyped_character_is_noticed() {
        let (secret, _) = minted(&Counting::default());
        let mut unnoticed = 0;
        for place in 0..secret.expose().len() {
            let mut typed = secret.expose().as_bytes().to_vec();
            typed[place] = if typed[place] == b'x' { b'y' } else { b'x' };
            let typed = String::from_utf8(typed).unwrap();
            unnoticed += usize::from(checked_prefix(&typed).is_some());
        }
        assert_eq!(unnoticed, 0);
    }

    #[test]
    fn what_is_no_key_is_refused_without_a_panic() {
        let (secret, _) = minted(&Counting::default());
        let whole = secret.expose();
        let cut: String = whole.chars().take(40).collect();
        for text in ["", "saem_", "saem_가", "saem__", &cut, &format!("{whole}a")] {
            assert_eq!(checked_prefix(text), None, "{text:?}");
        }
        let korean = format!("saem_{}", "가".repeat(15));
        assert_eq!(korean.len(), whole.len());
        assert_eq!(checked_prefix(&korean), None);
        assert_eq!(checked_prefix(&whole.to_uppercase()), None);
    }

    #[test]
    fn a_secret_does_not_show_itself() {
        let (secret, _) = minted(&Counting::default());
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
