//! Tokens of an issuer: which are believed, and how its keys are fetched.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::ports::{Later, PortError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use server::Settings;
use server::identity::Mode;
use server::identity::jwks::JwksSource;
use server::identity::jwt::{Jwt, JwtSettings};

use crate::world::{NOW, World};

const ISSUER: &str = "https://issuer.example.com";
const AUDIENCE: &str = "https://saem.example.com";

fn rsa() -> EncodingKey {
    EncodingKey::from_rsa_der(include_bytes!("keys/rsa.test-key.der"))
}

fn ec() -> EncodingKey {
    EncodingKey::from_ec_der(include_bytes!("keys/ec.test-key.der"))
}

fn ed() -> EncodingKey {
    EncodingKey::from_ed_der(include_bytes!("keys/ed.test-key.der"))
}

/// The public half of a key, as issuers publish it.
fn public(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Value {
    server::identity::signatures::use_ring();
    let mut jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
    jwk.common.key_id = Some(kid.to_owned());
    serde_json::to_value(jwk).unwrap()
}

fn all_keys() -> Vec<u8> {
    let keys = [
        public(&rsa(), Algorithm::RS256, "rsa"),
        public(&ec(), Algorithm::ES256, "ec"),
        public(&ed(), Algorithm::EdDSA, "ed"),
    ];
    json!({ "keys": keys }).to_string().into_bytes()
}

struct Issuer {
    /// None while it does not answer.
    document: Mutex<Option<Vec<u8>>>,
    fetches: AtomicUsize,
    silent: Mutex<bool>,
}

impl JwksSource for Issuer {
    fn fetch(&self) -> Later<'_, Vec<u8>> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let (document, silent) =
            (self.document.lock().unwrap().clone(), *self.silent.lock().unwrap());
        Box::pin(async move {
            if silent {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            let gone =
                || PortError::Unavailable { what: "the issuer".to_owned(), why: "down".to_owned() };
            document.ok_or_else(gone)
        })
    }
}

impl Issuer {
    fn with(document: Option<Vec<u8>>) -> Arc<Self> {
        let (document, silent) = (Mutex::new(document), Mutex::new(false));
        Arc::new(Self { document, fetches: AtomicUsize::new(0), silent })
    }

    fn publishes(&self, document: Option<Vec<u8>>) {
        *self.document.lock().unwrap() = document;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }
}

fn settings() -> JwtSettings {
    JwtSettings::new(ISSUER.to_owned(), AUDIENCE.to_owned())
}

fn world(issuer: &Arc<Issuer>) -> World {
    let mut settings = settings();
    settings.resource = Some(AUDIENCE.to_owned());
    let jwt = Jwt::new(settings, issuer.clone()).unwrap();
    World::with(Settings::default(), Mode::Required, vec![], |identity| identity.with_jwt(jwt))
}

fn claims() -> Value {
    let now = NOW.0 / 1000;
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "kim", "tenant": "acme",
        "scope": "openid saem:read write", "exp": now + 300,
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => claims.as_object_mut().unwrap().remove(field),
        value => claims.as_object_mut().unwrap().insert(field.to_owned(), value),
    };
    claims
}

fn signed(key: &EncodingKey, algorithm: Algorithm, kid: Option<&str>, claims: &Value) -> String {
    let mut header = Header::new(algorithm);
    header.kid = kid.map(str::to_owned);
    server::identity::signatures::use_ring();
    encode(&header, claims, key).unwrap()
}

/// A token that is signed with a shared secret, which the server must never accept.
fn signed_by_secret(secret: &[u8], kid: &str, claims: &Value) -> String {
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encoded(&json!({"alg": "HS256", "kid": kid})), encoded(claims));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let signature = ring::hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
}

fn token(claims: &Value) -> String {
    signed(&rsa(), Algorithm::RS256, Some("rsa"), claims)
}

/// A token with a header made by hand, and the signature of another.
fn forged(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

async fn refused(token: &str, code: &str) {
    let answer = world(&Issuer::with(Some(all_keys()))).get_with("/things", token).await;
    assert_eq!((answer.status, answer.problem().as_str()), (401, code), "{token}");
    let challenge = answer.header("www-authenticate").unwrap();
    let metadata = format!("resource_metadata=\"{AUDIENCE}/.well-known/oauth-protected-resource\"");
    assert!(challenge.contains(&metadata) && challenge.contains("invalid_token"), "{challenge}");
}

#[tokio::test]
async fn a_token_of_the_issuer_names_tenant_subject_and_scopes() {
    let world = world(&Issuer::with(Some(all_keys())));
    let tokens = [
        token(&claims()),
        signed(&rsa(), Algorithm::RS256, None, &claims()),
        signed(&ec(), Algorithm::ES256, Some("ec"), &claims()),
        signed(&ed(), Algorithm::EdDSA, Some("ed"), &claims()),
        token(&with("aud", json!(["https://other.example.com", AUDIENCE]))),
        token(&with("scope", json!(["read"]))),
    ];
    for token in tokens {
        let answer = world.get_with("/things", &token).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.json()["tenant"], "acme");
        assert_eq!(answer.json()["caller"], "jwt:kim");
        assert!(!answer.body.contains(&token));
    }
    assert_eq!(world.get_with("/metrics", &token(&claims())).await.status, 403, "it is no admin");
    for scope in [json!(""), json!("openid"), json!("saem:everything"), json!(7), Value::Null] {
        let answer = world.get_with("/things", &token(&with("scope", scope))).await;
        assert_eq!(answer.status, 403, "a token without scopes may do nothing");
    }
}

#[tokio::test]
async fn a_token_for_others_or_from_others_is_refused() {
    refused(&token(&with("aud", json!("https://other.example.com"))), "token_audience").await;
    refused(&token(&with("aud", json!(["a", "b"]))), "token_audience").await;
    refused(&token(&with("aud", json!([]))), "token_audience").await;
    refused(&token(&with("aud", Value::Null)), "token_claims").await;
    refused(&token(&with("aud", json!(7))), "token_claims").await;
    refused(&token(&with("iss", json!("https://evil.example.com"))), "token_issuer").await;
    refused(&token(&with("iss", json!(format!("{ISSUER}/")))), "token_issuer").await;
    refused(&token(&with("iss", json!([ISSUER, "x"]))), "token_issuer").await;
    refused(&token(&with("iss", Value::Null)), "token_claims").await;
    for tenant in [Value::Null, json!("../acme"), json!("ACME"), json!(["acme"]), json!("")] {
        refused(&token(&with("tenant", tenant)), "token_tenant").await;
    }
    for subject in [Value::Null, json!(""), json!(7), json!("a\nb"), json!("x".repeat(300))] {
        refused(&token(&with("sub", subject)), "token_subject").await;
    }
}

#[tokio::test]
async fn a_token_counts_from_its_first_time_to_its_last_give_or_take_a_minute() {
    let now = NOW.0 / 1000;
    refused(&token(&with("exp", json!(now - 60))), "token_expired").await;
    refused(&token(&with("exp", json!(0))), "token_expired").await;
    refused(&token(&with("exp", Value::Null)), "token_claims").await;
    refused(&token(&with("exp", json!((now + 300).to_string()))), "token_claims").await;
    refused(&token(&with("nbf", json!(now + 61))), "token_not_yet").await;
    refused(&token(&with("nbf", json!((now - 300).to_string()))), "token_times").await;
    refused(&token(&with("nbf", json!(-1))), "token_times").await;
    let world = world(&Issuer::with(Some(all_keys())));
    for good in [with("exp", json!(now - 59)), with("nbf", json!(now + 60))] {
        assert_eq!(world.get_with("/things", &token(&good)).await.status, 200, "{good}");
    }
}

#[tokio::test]
async fn a_signature_of_the_wrong_kind_is_refused() {
    let none = json!({ "alg": "none", "typ": "JWT", "kid": "rsa" });
    refused(&forged(&none, &claims(), ""), "token_malformed").await;
    let public_key = include_bytes!("keys/rsa.test-key.public.pem");
    let shared = signed_by_secret(public_key, "rsa", &claims());
    refused(&shared, "token_signature_kind").await;
    let header = json!({ "alg": "RS256", "kid": "rsa" });
    refused(&forged(&header, &claims(), shared.rsplit('.').next().unwrap()), "token_signature")
        .await;
    let not_allowed = signed(&rsa(), Algorithm::RS384, Some("rsa"), &claims());
    refused(&not_allowed, "token_signature_kind").await;
    // The name of one kind of key under the signature of another.
    let crossed = signed(&ec(), Algorithm::ES256, Some("rsa"), &claims());
    refused(&crossed, "token_key_unknown").await;
    let critical = json!({ "alg": "RS256", "kid": "rsa", "crit": ["exp"] });
    refused(&forged(&critical, &claims(), "AAAA"), "token_signature_kind").await;
    let good = token(&claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    refused(&format!("{message}.{}", signature.replace('A', "B")), "token_signature").await;
    refused(&format!("{message}."), "token_signature").await;
    let other = token(&with("tenant", json!("globex")));
    let swapped = other.split('.').nth(1).unwrap();
    let parts: Vec<&str> = good.split('.').collect();
    refused(&format!("{}.{swapped}.{}", parts[0], parts[2]), "token_signature").await;
    for garbage in ["a.b.c", "...", "eyJ.eyJ.eyJ", "가.나.다"] {
        let answer = world(&Issuer::with(Some(all_keys()))).get_with("/things", garbage).await;
        assert!(answer.status == 401 || answer.status == 400, "{garbage}");
    }
}

#[tokio::test]
async fn a_token_of_64_kib_does_not_even_fit_and_one_of_20_is_refused() {
    let long = |length: usize| token(&with("more", json!("x".repeat(length))));
    refused(&long(15 * 1024), "token_too_long").await;
    let world = world(&Issuer::with(Some(all_keys())));
    assert_eq!(world.get_with("/things", &long(64 * 1024)).await.status, 431);
    assert_eq!(world.get_with("/things", &long(8 * 1024)).await.status, 200);
}

#[tokio::test]
async fn settings_with_shared_secrets_or_without_signatures_are_refused() {
    for algorithms in [vec![], vec![Algorithm::RS256, Algorithm::HS256], vec![Algorithm::HS512]] {
        let settings = JwtSettings { algorithms, ..settings() };
        assert!(Jwt::new(settings, Issuer::with(None)).is_err());
    }
}

#[tokio::test]
async fn a_shared_secret_among_the_issuers_keys_is_not_used() {
    let secret = URL_SAFE_NO_PAD.encode("secret");
    let keys = json!({ "keys": [{ "kty": "oct", "kid": "s", "k": secret }, { "kty": "new" }, 7] });
    let world = world(&Issuer::with(Some(keys.to_string().into_bytes())));
    let token = signed_by_secret(b"secret", "s", &claims());
    assert_eq!(world.get_with("/things", &token).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_looked_for_once() {
    let issuer = Issuer::with(Some(all_keys()));
    let world = world(&issuer);
    assert_eq!(world.get_with("/things", &token(&claims())).await.status, 200);
    assert_eq!(world.get_with("/things", &token(&claims())).await.status, 200);
    assert_eq!(issuer.fetches(), 1);
    let unknown = |kid: &str| signed(&rsa(), Algorithm::RS256, Some(kid), &claims());
    for _ in 0..5 {
        let answer = world.get_with("/things", &unknown("other")).await;
        assert_eq!((answer.status, answer.problem().as_str()), (401, "token_key_unknown"));
    }
    assert_eq!(issuer.fetches(), 2);
    for kid in
        ["../../etc/passwd", "/dev/null", "rsa\u{0}", "' OR 1=1 --", "http://evil/", "RSA", ""]
    {
        assert_eq!(world.get_with("/things", &unknown(kid)).await.status, 401, "{kid}");
    }
    for number in 0..40 {
        world.get_with("/things", &unknown(&format!("made-up-{number}"))).await;
    }
    assert!(issuer.fetches() <= 6, "strangers do not set the pace: {}", issuer.fetches());
    assert_eq!(world.get_with("/things", &token(&claims())).await.status, 200);
}

#[tokio::test]
async fn many_callers_at_once_make_one_fetch() {
    let issuer = Issuer::with(Some(all_keys()));
    let world = world(&issuer);
    let token = token(&claims());
    let asked = (0..20).map(|_| world.get_with("/things", &token));
    let answers = futures_util::future::join_all(asked).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn keys_rotate_without_a_restart_and_withdrawn_ones_stop() {
    let only = |key: Value| Some(json!({ "keys": [key] }).to_string().into_bytes());
    let issuer = Issuer::with(only(public(&rsa(), Algorithm::RS256, "rsa")));
    let world = world(&issuer);
    let (old, new) = (token(&claims()), signed(&ec(), Algorithm::ES256, Some("ec"), &claims()));
    assert_eq!(world.get_with("/things", &old).await.status, 200);
    issuer.publishes(only(public(&ec(), Algorithm::ES256, "ec")));
    assert_eq!(world.get_with("/things", &new).await.status, 200, "a new key is found at once");
    assert_eq!(world.get_with("/things", &old).await.status, 401, "and the old one is gone");

    issuer.publishes(only(public(&rsa(), Algorithm::RS256, "rsa")));
    tokio::time::advance(Duration::from_secs(3601)).await;
    assert_eq!(world.get_with("/things", &new).await.status, 401, "withdrawn within the hour");
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_issuer_leaves_known_keys_working() {
    let issuer = Issuer::with(None);
    let world = world(&issuer);
    let token = token(&claims());
    let answer = world.get_with("/things", &token).await;
    assert_eq!((answer.status, answer.problem().as_str()), (503, "issuer_unreachable"));
    assert!(answer.header("retry-after").is_some());
    issuer.publishes(Some(all_keys()));
    assert_eq!(world.get_with("/things", &token).await.status, 200);

    let huge = json!({ "keys": [], "more": "x".repeat(5_000_000) }).to_string().into_bytes();
    let key = public(&rsa(), Algorithm::RS256, "many");
    let many = json!({ "keys": vec![key; 101] }).to_string().into_bytes();
    for document in [None, Some(huge), Some(many), Some(b"<html>".to_vec()), Some(b"{}".to_vec())] {
        issuer.publishes(document);
        tokio::time::advance(Duration::from_secs(3601)).await;
        let before = issuer.fetches();
        assert_eq!(world.get_with("/things", &token).await.status, 200);
        assert!(issuer.fetches() > before, "it was tried");
    }
    *issuer.silent.lock().unwrap() = true;
    tokio::time::advance(Duration::from_secs(3601)).await;
    let start = tokio::time::Instant::now();
    assert_eq!(world.get_with("/things", &token).await.status, 200);
    assert!(start.elapsed() <= Duration::from_secs(6), "a silent issuer holds nobody for long");
    tokio::time::advance(Duration::from_secs(24 * 3600)).await;
    assert_eq!(world.get_with("/things", &token).await.status, 503, "but not for ever");
}

#[tokio::test]
async fn where_tokens_come_from_is_told() {
    let world = world(&Issuer::with(Some(all_keys())));
    let metadata = world.get("/.well-known/oauth-protected-resource", "").await.json();
    assert_eq!(metadata["resource"], AUDIENCE);
    assert_eq!(metadata["authorization_servers"], json!([ISSUER]));
    assert_eq!(metadata["scopes_supported"], json!(["saem:read", "saem:write", "saem:admin"]));
    let mcp = world.get("/.well-known/oauth-protected-resource/mcp", "").await.json();
    assert_eq!(mcp["resource"], format!("{AUDIENCE}/mcp"));
    assert_eq!(mcp["authorization_servers"], json!([ISSUER]));
    let without = World::new(Mode::Required);
    assert_eq!(without.get("/.well-known/oauth-protected-resource", "").await.status, 404);
    assert_eq!(without.get("/.well-known/oauth-protected-resource/mcp", "").await.status, 404);
}

#[tokio::test]
async fn a_token_for_our_address_or_its_mcp_part_is_meant_for_us() {
    let world = world(&Issuer::with(Some(all_keys())));
    for (audience, status) in [
        (AUDIENCE.to_owned(), 200),
        (format!("{AUDIENCE}/mcp"), 200),
        (format!("{AUDIENCE}/mcp/"), 401),
        (format!("{AUDIENCE}/other"), 401),
        ("https://elsewhere.example.com/mcp".to_owned(), 401),
    ] {
        let token = token(&with("aud", json!(audience)));
        assert_eq!(world.get_with("/things", &token).await.status, status, "{audience}");
    }
}
