//! Signatures of JSON Web Tokens, done by ring: the one cryptography library that TLS uses too.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::jwk::{EllipticCurve, ThumbprintHash};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{
    self as keys, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RsaEncoding,
    RsaKeyPair, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// Makes ring the library behind all tokens of this process; later calls do nothing.
pub fn use_ring() {
    static ONCE: Once = Once::new();
    // Somebody else's choice of before stays: it verifies as well.
    ONCE.call_once(|| _ = PROVIDER.install_default());
}

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory,
    verifier_factory,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: rsa_public,
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::InvalidKeyFormat.into()),
        ec_pub_components_from_private_key: ec_public,
        ed_pub_components_from_private_key: ed_public,
        compute_digest,
    },
};

/// A private key of some kind.
enum Private {
    Rsa(&'static dyn RsaEncoding, Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

struct RingSigner {
    algorithm: Algorithm,
    key: Private,
}

impl Signer<Vec<u8>> for RingSigner {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        let random = SystemRandom::new();
        let failed = |_: ring::error::Unspecified| signature::Error::new();
        match &self.key {
            Private::Rsa(encoding, key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(*encoding, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
            Private::Ec(key) => Ok(key.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
            Private::Ed(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }
}

impl JwtSigner for RingSigner {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn signer_factory(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    let algorithm = *algorithm;
    check_family(algorithm, key.family())?;
    let bytes = key.as_bytes();
    let key = if let Some(encoding) = rsa_encoding(algorithm) {
        Private::Rsa(encoding, Box::new(rsa_key(bytes)?))
    } else if let Some((signing, ..)) = curve(algorithm) {
        Private::Ec(ec_key(signing, bytes)?)
    } else if algorithm == Algorithm::EdDSA {
        Private::Ed(ed_key(bytes)?)
    } else {
        return Err(ErrorKind::InvalidAlgorithm.into());
    };
    Ok(Box::new(RingSigner { algorithm, key }))
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let failed = |_: ring::error::Unspecified| signature::Error::new();
        match (self.key.kind(), rsa_parameters(self.algorithm), other_parameters(self.algorithm)) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, Some(parameters), _) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature).map_err(failed)
            }
            (DecodingKeyKind::SecretOrDer(bytes), Some(parameters), _) => {
                UnparsedPublicKey::new(parameters, bytes).verify(message, signature).map_err(failed)
            }
            (DecodingKeyKind::SecretOrDer(bytes), None, Some(parameters)) => {
                UnparsedPublicKey::new(parameters, bytes).verify(message, signature).map_err(failed)
            }
            _ => Err(signature::Error::new()),
        }
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn verifier_factory(
    algorithm: &Algorithm,
    key: &DecodingKey,
) -> Result<Box<dyn JwtVerifier>, Error> {
    check_family(*algorithm, key.family())?;
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() }))
}

/// A key of one family must never be used with another's algorithm: that is how tokens are forged.
fn check_family(algorithm: Algorithm, family: AlgorithmFamily) -> Result<(), Error> {
    let is_known = rsa_parameters(algorithm).is_some() || other_parameters(algorithm).is_some();
    if is_known && algorithm.family() == family {
        return Ok(());
    }
    Err(ErrorKind::InvalidKeyFormat.into())
}

fn rsa_encoding(algorithm: Algorithm) -> Option<&'static dyn RsaEncoding> {
    match algorithm {
        Algorithm::RS256 => Some(&keys::RSA_PKCS1_SHA256),
        Algorithm::RS384 => Some(&keys::RSA_PKCS1_SHA384),
        Algorithm::RS512 => Some(&keys::RSA_PKCS1_SHA512),
        Algorithm::PS256 => Some(&keys::RSA_PSS_SHA256),
        Algorithm::PS384 => Some(&keys::RSA_PSS_SHA384),
        Algorithm::PS512 => Some(&keys::RSA_PSS_SHA512),
        _ => None,
    }
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&keys::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&keys::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&keys::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&keys::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&keys::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&keys::RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

fn other_parameters(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    match algorithm {
        Algorithm::ES256 => Some(&keys::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Some(&keys::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Some(&keys::ED25519),
        _ => None,
    }
}

/// How a curve signs, its name, and the bytes of each coordinate.
fn curve(algorithm: Algorithm) -> Option<(&'static EcdsaSigningAlgorithm, EllipticCurve, usize)> {
    match algorithm {
        Algorithm::ES256 => Some((&keys::ECDSA_P256_SHA256_FIXED_SIGNING, EllipticCurve::P256, 32)),
        Algorithm::ES384 => Some((&keys::ECDSA_P384_SHA384_FIXED_SIGNING, EllipticCurve::P384, 48)),
        _ => None,
    }
}

fn rsa_key(der: &[u8]) -> Result<RsaKeyPair, Error> {
    RsaKeyPair::from_der(der).map_err(|error| ErrorKind::InvalidRsaKey(error.to_string()).into())
}

fn ec_key(signing: &'static EcdsaSigningAlgorithm, pkcs8: &[u8]) -> Result<EcdsaKeyPair, Error> {
    EcdsaKeyPair::from_pkcs8(signing, pkcs8, &SystemRandom::new())
        .map_err(|_| ErrorKind::InvalidEcdsaKey.into())
}

fn ed_key(pkcs8: &[u8]) -> Result<Ed25519KeyPair, Error> {
    // Keys from OpenSSL come without their public half.
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(|_| ErrorKind::InvalidEddsaKey.into())
}

fn rsa_public(der: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let key = rsa_key(der)?;
    let components = RsaPublicKeyComponents::<Vec<u8>>::from(key.public());
    Ok((components.n, components.e))
}

fn ec_public(
    pkcs8: &[u8],
    algorithm: Algorithm,
) -> Result<(EllipticCurve, Vec<u8>, Vec<u8>), Error> {
    let (signing, name, bytes) = curve(algorithm).ok_or(ErrorKind::InvalidEcdsaKey)?;
    let key = ec_key(signing, pkcs8)?;
    // A point in its long form: a sign, then both coordinates.
    let point = key.public_key().as_ref().strip_prefix(&[4]).ok_or(ErrorKind::InvalidEcdsaKey)?;
    let (x, y) = point.split_at_checked(bytes).ok_or(ErrorKind::InvalidEcdsaKey)?;
    Ok((name, x.to_vec(), y.to_vec()))
}

fn ed_public(pkcs8: &[u8], curve: &EllipticCurve) -> Result<Vec<u8>, Error> {
    match curve {
        EllipticCurve::Ed25519 => Ok(ed_key(pkcs8)?.public_key().as_ref().to_vec()),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the library's table of functions says so")]
fn compute_digest(data: &[u8], hash: ThumbprintHash) -> Result<Vec<u8>, Error> {
    let algorithm = match hash {
        ThumbprintHash::SHA256 => &digest::SHA256,
        ThumbprintHash::SHA384 => &digest::SHA384,
        ThumbprintHash::SHA512 => &digest::SHA512,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    Ok(digest::digest(algorithm, data).as_ref().to_vec())
}
