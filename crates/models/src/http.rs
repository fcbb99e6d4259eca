//! What all our clients of model servers share: a checked address, a key that is never shown, bounded reading.

use std::fmt;

use agent::ports::PortError;
use agent::text::clip;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, ClientBuilder, Response, Url};

/// Largest answer of an error that is read, in bytes: its first sentence is what we want.
pub(crate) const COMPLAINT_BYTES_MAX: usize = 16 * 1024;

/// Longest part of the server's own words that goes into a message, in bytes: one line on a screen.
const SHOWN_BYTES_MAX: usize = 200;

/// A key that is sent and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(String);

impl SecretKey {
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

/// Another's words on one line, of bounded length, and without our key should they repeat it.
pub(crate) fn clean(words: &str, key: Option<&SecretKey>) -> String {
    let words = match key {
        Some(SecretKey(key)) if !key.is_empty() => words.replace(key, "[hidden]"),
        _ => words.to_owned(),
    };
    let line: String =
        words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    clip(line.trim(), SHOWN_BYTES_MAX).to_owned()
}

/// The address of `path` under a base URL that holds nothing but an address; `whose` names it in messages.
pub(crate) fn address(whose: &str, base_url: &str, path: &str) -> Result<Url, PortError> {
    let wrong = |why: &str| PortError::Refused(format!("{whose}'s base URL {why}"));
    let url: Url = base_url
        .parse()
        .map_err(|_| wrong("is not a URL: write it like http://127.0.0.1:11434/v1"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(wrong("must hold no user, password or query: give the key as the API key"));
    }
    if url.fragment().is_some() {
        return Err(wrong("must hold no #: leave out what follows it"));
    }
    format!("{}/{path}", url.as_str().trim_end_matches('/'))
        .parse()
        .map_err(|_| wrong(&format!("cannot be extended by /{path}: check it")))
}

/// What goes with every request to a server, its key among it.
pub(crate) fn headers(whose: &str, key: Option<&SecretKey>) -> Result<HeaderMap, PortError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(SecretKey(key)) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
            PortError::Refused(format!(
                "{whose}'s key holds characters that no key has: copy it again"
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

/// A client that sends the key to the server at `address` and nowhere else; `limits` sets its times.
pub(crate) fn client(
    whose: &str,
    address: &Url,
    key: Option<&SecretKey>,
    limits: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, PortError> {
    let headers = headers(whose, key)?;
    // Whoever comes first decides for the process; everybody here decides the same.
    _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let builder = Client::builder().default_headers(headers.clone()).no_proxy().http1_only();
        limits(builder.redirect(reqwest::redirect::Policy::none()))
    };
    let without_tls = || builder().tls_certs_only([]).build();
    let client = if address.scheme() == "http" {
        // To read the system's certificates takes longer than many a command.
        without_tls()
    } else {
        builder().build().or_else(|error| {
            // Without the system's certificates nothing can be built; an empty set says so when it is used.
            tracing::warn!(%error, "no https from here: install the system's CA certificates");
            without_tls()
        })
    };
    client.map_err(|error| PortError::Broken { what: "the TLS set-up", source: Box::new(error) })
}

/// The whole body, or none if it is larger than `bytes_max`.
pub(crate) async fn read(
    mut response: Response,
    bytes_max: usize,
) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > bytes_max {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
