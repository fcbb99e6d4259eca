//! The agent's key: signs its card, and webhooks that want to be convinced; its public half is for everybody.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use engine::agents::serving::Signer;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a coordinate of a point on the curve.
const COORDINATE: usize = 32;

/// A key of the curve P-256: what every library of JOSE knows.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    key_id: String,
}

/// A key that cannot be used. What it was is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no private key of the curve P-256 in PKCS#8 and PEM: \
     `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one"
)]
pub struct SigningKeyError;

impl SigningKey {
    /// Reads a key in PKCS#8 and PEM.
    pub fn read(pem: &str) -> Result<Self, SigningKeyError> {
        let lines = pem.lines().map(str::trim);
        let inside = lines.skip_while(|line| *line != "-----BEGIN PRIVATE KEY-----").skip(1);
        let text: String = inside.take_while(|line| *line != "-----END PRIVATE KEY-----").collect();
        let bytes = STANDARD.decode(text).map_err(|_| SigningKeyError)?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random)
            .map_err(|_| SigningKeyError)?;
        let hash = Sha256::digest(pair.public_key());
        let key_id = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { pair, random, key_id })
    }

    pub(super) fn key_id(&self) -> &str {
        &self.key_id
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, SigningKeyError> {
        let signature = self.pair.sign(&self.random, bytes).map_err(|_| SigningKeyError)?;
        Ok(signature.as_ref().to_vec())
    }

    /// The public half, as a set of keys.
    pub(super) fn key_set(&self) -> Value {
        // The first byte says that both coordinates follow.
        let point = self.pair.public_key().as_ref().get(1..).unwrap_or_default();
        let (x, y) = point.split_at_checked(COORDINATE).unwrap_or_default();
        json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.key_id,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }] })
    }
}

impl Signer for SigningKey {
    fn token(&self, claims: &Value) -> Option<String> {
        let header = json!({ "alg": "ES256", "typ": "JWT", "kid": self.key_id });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let input = format!("{}.{}", part(&header), part(claims));
        let signature = self.sign(input.as_bytes()).ok()?;
        Some(format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    fn key() -> SigningKey {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let text = STANDARD.encode(made);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        SigningKey::read(&pem).unwrap()
    }

    #[test]
    fn a_token_is_good_for_whoever_has_the_public_key() {
        let key = key();
        let token = key.token(&json!({ "taskId": "t" })).unwrap();
        let (input, signature) = token.rsplit_once('.').unwrap();
        let set = key.key_set();
        let coordinate =
            |name: &str| URL_SAFE_NO_PAD.decode(set["keys"][0][name].as_str().unwrap()).unwrap();
        let point = [&[4][..], &coordinate("x"), &coordinate("y")].concat();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(public.verify(input.as_bytes(), &signature).is_ok());
        assert!(public.verify(b"other", &signature).is_err());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "x"] {
            assert!(SigningKey::read(text).is_err());
        }
    }
}
