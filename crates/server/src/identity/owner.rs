//! The owner's token: how a running server knows the owner of its data folder, keys or not.

use agent::ports::{Entropy, PortError};
use engine::keys::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Every token starts with this: it is no key, and not taken for one.
const MARK: &str = "saem-owner_";

/// Random bytes of a token: 256 bits, which nobody guesses.
const CHANCE_BYTES: usize = 32;

/// A new token. It is good for one process, and only from the machine that the process runs on.
pub fn token(entropy: &dyn Entropy) -> Result<Secret, PortError> {
    let mut chance = [0_u8; CHANCE_BYTES];
    entropy.fill(&mut chance)?;
    let digits: String = chance.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(format!("{MARK}{digits}")))
}

/// Whether this means to be an owner's token.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Knows a token without holding it.
pub(crate) struct Owner {
    hash: [u8; 32],
}

impl Owner {
    pub(crate) fn of(token: &Secret) -> Self {
        Self { hash: hash(token) }
    }

    /// Takes the same time whatever is given.
    pub(crate) fn is(&self, given: &Secret) -> bool {
        self.hash.ct_eq(&hash(given)).into()
    }
}

fn hash(token: &Secret) -> [u8; 32] {
    Sha256::digest(token.expose().as_bytes()).into()
}
