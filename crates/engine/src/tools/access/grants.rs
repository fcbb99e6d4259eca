//! Tokens that are got without a person: for a secret, a signature, a machine's or a company's token.

use agent::identity::Timestamp;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAuthentication, EmaExchangeRequest,
};
use rmcp::transport::auth::{AuthorizationMetadata, OAuthTokenResponse, StoredCredentials};
use serde_json::{Value, json};

use super::settings::{Enterprise, Outside};
use super::{LoginError, Way, failed};

/// A signature is good for this long: the request follows at once.
const ASSERTION_SECONDS: u64 = 120;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// For whom, at which server, at what time.
pub(super) struct Errand<'a> {
    pub(super) url: &'a str,
    pub(super) metadata: &'a AuthorizationMetadata,
    pub(super) client_id: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) now: Timestamp,
}

/// Client credentials, shown by a signature with the client's key.
pub(super) async fn by_key(
    errand: &Errand<'_>,
    pem: &str,
    outside: &dyn Outside,
) -> Result<StoredCredentials, LoginError> {
    let issuer = errand.metadata.issuer.as_deref();
    let audience = issuer.ok_or_else(|| LoginError::new("the login does not say who it is"))?;
    let assertion = assertion(pem, errand.client_id, audience, errand.now)?;
    let fields = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", CLIENT_ASSERTION),
        ("client_assertion", &assertion),
    ];
    ask(errand, &fields, outside).await
}

/// A token of the machine's surroundings, shown as it is. It is tried once: the same would be refused again.
pub(super) async fn by_workload(
    errand: &Errand<'_>,
    token: &str,
    outside: &dyn Outside,
) -> Result<StoredCredentials, LoginError> {
    let fields =
        [("grant_type", JWT_BEARER), ("assertion", token), ("client_id", errand.client_id)];
    ask(errand, &fields, outside).await
}

/// The company's login says who the employee is, and the server's login believes it.
pub(super) async fn by_enterprise(
    errand: &Errand<'_>,
    company: &Enterprise,
    secret: Option<&str>,
    way: &Way,
) -> Result<StoredCredentials, LoginError> {
    let issuer = errand.metadata.issuer.as_deref().unwrap_or_default();
    let idp = EmaAuthorizationServer::new(
        company.issuer.as_str(),
        company.token_endpoint.as_str(),
        company.client_id.as_str(),
    );
    let endpoint = errand.metadata.token_endpoint.as_str();
    let mut own = EmaAuthorizationServer::new(issuer, endpoint, errand.client_id);
    if let Some(secret) = secret {
        let secret = serde_json::from_value(Value::from(secret));
        let secret = secret.map_err(|_| LoginError::new("the client's secret is no text"))?;
        own = own.with_client_authentication(EmaClientAuthentication::ClientSecretBasic(secret));
    }
    let request = EmaExchangeRequest::new_with_id_token(idp, own, errand.url, &company.id_token)
        .with_scopes(errand.scopes.iter().cloned());
    let token = request.exchange(way, way).await.map_err(|error| failed(&error))?;
    let mut response = json!({
        "access_token": token.access_token.secret(),
        "token_type": "bearer",
    });
    if let (Some(lasts), Some(fields)) = (token.expires_in, response.as_object_mut()) {
        fields.insert("expires_in".to_owned(), Value::from(lasts.as_secs()));
    }
    stored(errand, &response)
}

async fn ask(
    errand: &Errand<'_>,
    fields: &[(&str, &str)],
    outside: &dyn Outside,
) -> Result<StoredCredentials, LoginError> {
    let mut form = reqwest::Url::parse("form:").map_err(|error| failed(&error))?;
    form.query_pairs_mut().extend_pairs(fields).append_pair("resource", errand.url);
    if !errand.scopes.is_empty() {
        form.query_pairs_mut().append_pair("scope", &errand.scopes.join(" "));
    }
    let body = form.query().unwrap_or_default().as_bytes().to_vec();
    let request = http::Request::post(&errand.metadata.token_endpoint)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(ACCEPT, "application/json")
        .body(body)
        .map_err(|error| failed(&error))?;
    let answer = outside.send(errand.url, request).await.map_err(|why| LoginError::new(&why))?;
    let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    if !answer.status().is_success() {
        let code = body.get("error").and_then(Value::as_str).unwrap_or("no reason given");
        let status = answer.status().as_u16();
        return Err(LoginError::new(&format!("HTTP {status}: {code}")));
    }
    stored(errand, &body)
}

fn stored(errand: &Errand<'_>, response: &Value) -> Result<StoredCredentials, LoginError> {
    let token: OAuthTokenResponse = serde_json::from_value(response.clone())
        .map_err(|_| LoginError::new("the login's answer holds no token"))?;
    let granted = match response.get("scope").and_then(Value::as_str) {
        Some(scopes) => scopes.split_whitespace().map(str::to_owned).collect(),
        None => errand.scopes.to_vec(),
    };
    let received = Some(errand.now.0 / 1_000);
    let stored =
        StoredCredentials::new(errand.client_id.to_owned(), Some(token), granted, received);
    Ok(stored.with_issuer(errand.metadata.issuer.clone()))
}

/// A signed statement (RFC 7523) that we are this client, for this issuer alone.
fn assertion(
    pem: &str,
    client_id: &str,
    audience: &str,
    now: Timestamp,
) -> Result<String, LoginError> {
    let unusable = || LoginError::new("the private key is no P-256 key in PEM (PKCS #8)");
    let lines = pem.lines().map(str::trim).filter(|line| !line.starts_with("-----"));
    let der = STANDARD.decode(lines.collect::<String>()).map_err(|_| unusable())?;
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random);
    let key = key.map_err(|_| unusable())?;
    let mut id = [0_u8; 16];
    random.fill(&mut id).map_err(|_| LoginError::new("there is no randomness"))?;
    let seconds = now.0 / 1_000;
    let claims = json!({
        "iss": client_id, "sub": client_id, "aud": audience, "iat": seconds,
        "exp": seconds + ASSERTION_SECONDS, "jti": URL_SAFE_NO_PAD.encode(id),
    });
    let head = json!({"alg": "ES256", "typ": "JWT"});
    let [head, claims] =
        [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string().as_bytes()));
    let text = format!("{head}.{claims}");
    let signature = key.sign(&random, text.as_bytes()).map_err(|_| unusable())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_signature_says_who_we_are_for_whom_and_until_when() {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(&key)
        );
        let signed = assertion(&pem, "me", "https://id.example.com", Timestamp(5_000)).unwrap();
        let parts: Vec<&str> = signed.split('.').collect();
        let claims: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
        assert_eq!(claims["iss"], "me");
        assert_eq!(claims["sub"], "me");
        assert_eq!(claims["aud"], "https://id.example.com");
        assert_eq!(claims["exp"], 5 + ASSERTION_SECONDS);
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random);
        let public = pair.unwrap().public_key().as_ref().to_vec();
        let text = format!("{}.{}", parts[0], parts[1]);
        let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        public.verify(text.as_bytes(), &signature).unwrap();
    }

    #[test]
    fn a_key_of_another_kind_is_refused_without_being_shown() {
        for pem in ["", "hush", "-----BEGIN PRIVATE KEY-----\naHVzaA==\n-----END PRIVATE KEY-----"]
        {
            let error = assertion(pem, "me", "a", Timestamp(0)).unwrap_err().to_string();
            assert!(error.contains("P-256") && !error.contains("hush"), "{error}");
        }
    }
}
