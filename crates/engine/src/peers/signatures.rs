//! The mathematics of cards' signatures: keys of a JWK set, and whether one of them made a signature.

use a2a::card::{Algorithm, ProtectedHeader};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde_json::Value;

/// Keys of a set that are tried: several rotations' worth.
const KEYS_MAX: usize = 64;

/// Whether a key of the set made the signature. A key counts only for the algorithm that it is made for, and only under
/// its own id.
pub(super) fn holds(set: &Value, header: &ProtectedHeader, signed: &[u8], bytes: &[u8]) -> bool {
    let keys = set.get("keys").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |key: &Value, name: &str| key.get(name).and_then(Value::as_str).map(str::to_owned);
    keys.iter().take(KEYS_MAX).any(|key| {
        let is_named = text(key, "kid").is_some_and(|id| id == header.key_id);
        let signs = text(key, "use").is_none_or(|purpose| purpose == "sig");
        let fits = text(key, "alg").is_none_or(|name| name == header.algorithm.as_str());
        is_named && signs && fits && made(key, header.algorithm, signed, bytes).unwrap_or(false)
    })
}

fn made(key: &Value, algorithm: Algorithm, signed: &[u8], bytes: &[u8]) -> Option<bool> {
    let kind = key.get("kty")?.as_str()?;
    let curve = key.get("crv").and_then(Value::as_str).unwrap_or_default();
    let plain = |of: &'static dyn VerificationAlgorithm, public: Vec<u8>| {
        UnparsedPublicKey::new(of, public).verify(signed, bytes).is_ok()
    };
    let point = || -> Option<Vec<u8>> {
        // The uncompressed form, as SEC 1 has it.
        Some([vec![4], number(key, "x")?, number(key, "y")?].concat())
    };
    let rsa = |of: &'static signature::RsaParameters| -> Option<bool> {
        let public = RsaPublicKeyComponents { n: number(key, "n")?, e: number(key, "e")? };
        Some(public.verify(of, signed, bytes).is_ok())
    };
    match (algorithm, kind, curve) {
        (Algorithm::Es256, "EC", "P-256") => {
            Some(plain(&signature::ECDSA_P256_SHA256_FIXED, point()?))
        }
        (Algorithm::Es384, "EC", "P-384") => {
            Some(plain(&signature::ECDSA_P384_SHA384_FIXED, point()?))
        }
        (Algorithm::EdDsa, "OKP", "Ed25519") => Some(plain(&signature::ED25519, number(key, "x")?)),
        (Algorithm::Rs256, "RSA", _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        (Algorithm::Rs384, "RSA", _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        (Algorithm::Rs512, "RSA", _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        (Algorithm::Ps256, "RSA", _) => rsa(&signature::RSA_PSS_2048_8192_SHA256),
        (Algorithm::Ps384, "RSA", _) => rsa(&signature::RSA_PSS_2048_8192_SHA384),
        (Algorithm::Ps512, "RSA", _) => rsa(&signature::RSA_PSS_2048_8192_SHA512),
        // The library has no P-521, and nobody is known to sign with it.
        _ => None,
    }
}

fn number(key: &Value, name: &str) -> Option<Vec<u8>> {
    let text = key.get(name)?.as_str()?;
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}
