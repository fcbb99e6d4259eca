//! Decides at the moment of use which addresses may be reached, and reaches them within limits.
//!
//! An address that came from outside may point at the inside. So every address is taken apart and checked before
//! anything is dialled, names are resolved by a resolver that lets only checked addresses through to the socket,
//! and redirects are followed by hand with the same check at each hop.

mod clients;
mod error;
mod names;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use reqwest::header::{self, HeaderMap, HeaderName};
use reqwest::{Body, Client, Method, Response, StatusCode};
use url::{Host, Url};

pub use self::clients::Certificates;
pub use self::error::{EgressError, Refusal, Sent};
pub use self::names::{Resolver, SystemResolver};

use self::clients::Clients;
use self::names::CheckedNames;
use crate::addresses::{Network, is_blocked, is_never_allowed};

#[cfg(test)]
mod tests;

/// Longest address that is looked at, in bytes: what browsers and servers take in practice.
pub const ADDRESS_BYTES_MAX: usize = 8_192;

/// Headers that follow a redirect. All others may hold a secret meant for the first address only.
const TRAVELLING: &[HeaderName] = &[header::ACCEPT, header::ACCEPT_LANGUAGE];

/// Headers that the guard writes itself: another's would confuse the receiver about where a message ends or goes.
const OURS: &[HeaderName] = &[
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TRANSFER_ENCODING,
];

/// How much one exchange may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of body, counted after decompression.
    pub bytes_max: usize,
    /// From the first look-up to the last byte, redirects included.
    pub total_time_max: Duration,
    pub redirects_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A manual as PDF with pictures fits; a few at once fit into the memory of a small machine.
            bytes_max: 16 * 1024 * 1024,
            // Long enough for a slow site, short enough for a person who waits.
            total_time_max: Duration::from_secs(30),
            // http to https, then to the usual host name, then to the page.
            redirects_max: 3,
        }
    }
}

/// What may be reached, and at what cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressRules {
    /// Networks that are open although they are inside: those of configured services.
    /// Addresses that hand out credentials stay closed.
    pub allow_private: Vec<Network>,
    /// Ports besides 80 and 443.
    pub ports: Vec<u16>,
    pub https_only: bool,
    pub connect_time_max: Duration,
    /// A call may ask for less than this, never for more.
    pub limits: Limits,
}

impl Default for EgressRules {
    fn default() -> Self {
        Self {
            allow_private: Vec::new(),
            ports: Vec::new(),
            https_only: false,
            // Three tries of the first packet of a connection.
            connect_time_max: Duration::from_secs(10),
            limits: Limits::default(),
        }
    }
}

impl EgressRules {
    /// Whether the address may be dialled.
    fn admits(&self, address: std::net::IpAddr) -> bool {
        !is_never_allowed(address)
            && (!is_blocked(address)
                || self.allow_private.iter().any(|network| network.contains(address)))
    }
}

/// What came back, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Where it was found in the end, redirects followed.
    pub address: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

/// An answer that has begun.
#[derive(Debug)]
pub struct Opened {
    url: Url,
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    trailers: HeaderMap,
}

impl Opened {
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// What came after the body; empty before its end.
    #[must_use]
    pub fn trailers(&self) -> &HeaderMap {
        &self.trailers
    }

    /// More of the body; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| EgressError::of_request(&self.url, error))?;
            match frame.into_data() {
                Ok(data) => return Ok(Some(data)),
                Err(other) => self.trailers.extend(other.into_trailers().unwrap_or_default()),
            }
        }
        Ok(None)
    }
}

/// The one way out to addresses that came from outside.
#[derive(Debug)]
pub struct EgressGuard {
    rules: Arc<EgressRules>,
    clients: Clients,
}

impl EgressGuard {
    #[must_use]
    pub fn new(rules: EgressRules) -> Self {
        Self::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// A guard that shows a certificate, or believes other CAs than the system's.
    pub fn showing(rules: EgressRules, shown: &Certificates) -> Result<Self, EgressError> {
        let guard = Self::with(rules, Arc::new(SystemResolver), shown.clone());
        // Now and not later: whoever wrote a wrong certificate into the settings is still there.
        guard.clients.http1()?;
        Ok(guard)
    }

    /// A guard that asks `resolver` for the addresses of a name, and then checks what it says.
    #[must_use]
    pub fn with_resolver(rules: EgressRules, resolver: Arc<dyn Resolver>) -> Self {
        Self::with(rules, resolver, Certificates::default())
    }

    fn with(rules: EgressRules, resolver: Arc<dyn Resolver>, shown: Certificates) -> Self {
        let rules = Arc::new(rules);
        let names = Arc::new(CheckedNames { rules: Arc::clone(&rules), resolver });
        let clients = Clients::new(names, shown);
        Self { rules, clients }
    }

    /// What a call may cost at most.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.rules.limits
    }

    /// Whether the address could be reached as far as can be told without asking for its name's addresses.
    pub fn check(&self, address: &str) -> Result<(), EgressError> {
        self.admitted(address).map(|_| ())
    }

    /// Opens an address, following redirects. `headers` are for this address alone: of them only `Accept` and
    /// `Accept-Language` go along to where it redirects.
    pub async fn get(
        &self,
        address: &str,
        headers: &HeaderMap,
        limits: &Limits,
    ) -> Result<Reply, EgressError> {
        self.exchange(Method::GET, address, headers, Bytes::new(), limits).await
    }

    /// Sends `body` to an address. A redirect is an error: what was sent is for this address alone.
    pub async fn post(
        &self,
        address: &str,
        headers: &HeaderMap,
        body: Bytes,
        limits: &Limits,
    ) -> Result<Reply, EgressError> {
        let limits = Limits { redirects_max: 0, ..*limits };
        self.exchange(Method::POST, address, headers, body, &limits).await
    }

    /// Sends a request and gives the answer as soon as it begins; its body is read by the caller, who bounds it. A redirect
    /// is given as it is, never followed. `wait_max` holds until the answer begins, whatever the rules say: only whoever
    /// asks knows for how long somebody thinks about an answer.
    pub async fn open(
        &self,
        request: (Method, &str),
        headers: &HeaderMap,
        body: Bytes,
        wait_max: Duration,
    ) -> Result<Opened, EgressError> {
        self.open_with(self.clients.http1()?, request, headers, body, wait_max).await
    }

    /// As [`Self::open`], over HTTP/2 from the first byte on.
    pub async fn open_http2(
        &self,
        request: (Method, &str),
        headers: &HeaderMap,
        body: Bytes,
        wait_max: Duration,
    ) -> Result<Opened, EgressError> {
        self.open_with(self.clients.http2()?, request, headers, body, wait_max).await
    }

    async fn open_with(
        &self,
        client: &Client,
        request: (Method, &str),
        headers: &HeaderMap,
        body: Bytes,
        wait_max: Duration,
    ) -> Result<Opened, EgressError> {
        let (method, address) = request;
        let url = self.admitted(address)?;
        let mut headers = headers.clone();
        for name in OURS {
            headers.remove(name);
        }
        let sent = client.request(method, url.clone()).headers(headers).body(body).send();
        let sent = tokio::time::timeout(wait_max, sent).await;
        let slow = || EgressError::Slow { address: error::shown(&url) };
        let sent = sent.map_err(|_| slow())?;
        let response = sent.map_err(|error| EgressError::of_request(&url, error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Opened { url, status, headers, body: response.into(), trailers: HeaderMap::new() })
    }

    async fn exchange(
        &self,
        method: Method,
        address: &str,
        headers: &HeaderMap,
        body: Bytes,
        limits: &Limits,
    ) -> Result<Reply, EgressError> {
        let most = self.rules.limits;
        let limits = Limits {
            bytes_max: limits.bytes_max.min(most.bytes_max),
            total_time_max: limits.total_time_max.min(most.total_time_max),
            redirects_max: limits.redirects_max.min(most.redirects_max),
        };
        let url = self.admitted(address)?;
        let shown = error::shown(&url);
        let exchange = Box::pin(self.follow(method, url, headers, body, limits));
        tokio::time::timeout(limits.total_time_max, exchange)
            .await
            .unwrap_or(Err(EgressError::Slow { address: shown }))
    }

    async fn follow(
        &self,
        method: Method,
        mut url: Url,
        headers: &HeaderMap,
        body: Bytes,
        limits: Limits,
    ) -> Result<Reply, EgressError> {
        let mut headers = headers.clone();
        for name in OURS {
            headers.remove(name);
        }
        let client = self.clients.http1()?;
        for _ in 0..=limits.redirects_max {
            let request = client
                .request(method.clone(), url.clone())
                .headers(headers.clone())
                .body(body.clone());
            let response =
                request.send().await.map_err(|error| EgressError::of_request(&url, error))?;
            match redirect(&response) {
                None => return read(response, &url, limits.bytes_max).await,
                Some(location) => url = self.next(&url, location)?,
            }
            headers = travelling(&headers);
        }
        Err(refused(&url, Refusal::Redirects { redirects_max: limits.redirects_max }))
    }

    /// The address of the next hop, checked like the first.
    fn next(&self, from: &Url, location: &[u8]) -> Result<Url, EgressError> {
        let next = std::str::from_utf8(location)
            .ok()
            .filter(|location| location.len() <= ADDRESS_BYTES_MAX)
            .and_then(|location| from.join(location).ok())
            .ok_or_else(|| refused(from, Refusal::Location))?;
        if from.scheme() == "https" && next.scheme() == "http" {
            return Err(refused(from, Refusal::Downgrade));
        }
        self.admit(next)
    }

    fn admitted(&self, address: &str) -> Result<Url, EgressError> {
        let unreadable = |why| EgressError::Refused { address: "the address".to_owned(), why };
        if address.len() > ADDRESS_BYTES_MAX {
            return Err(unreadable(Refusal::TooLong));
        }
        let url = Url::parse(address).map_err(|_| unreadable(Refusal::NotAnAddress))?;
        self.admit(url)
    }

    /// Everything that can be said of an address before its name is resolved.
    fn admit(&self, mut url: Url) -> Result<Url, EgressError> {
        match self.refusal(&url) {
            Some(why) => Err(refused(&url, why)),
            None => {
                url.set_fragment(None);
                Ok(url)
            }
        }
    }

    fn refusal(&self, url: &Url) -> Option<Refusal> {
        match url.scheme() {
            "https" => {}
            "http" if self.rules.https_only => return Some(Refusal::PlainHttp),
            "http" => {}
            _ => return Some(Refusal::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Some(Refusal::Credentials);
        }
        match url.port_or_known_default() {
            Some(80 | 443) => {}
            Some(port) if self.rules.ports.contains(&port) => {}
            _ => return Some(Refusal::Port),
        }
        // The HTTP library asks no resolver when the host is an address already.
        let literal = match url.host()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(name) => name.parse().ok(),
        };
        literal.filter(|address| !self.rules.admits(*address)).map(|_| Refusal::Inside)
    }
}

/// An address as it may stand in a message: without query and credentials, where secrets are carried.
#[must_use]
pub fn shown_address(address: &str) -> String {
    Url::parse(address).map_or_else(|_| "the address".to_owned(), |url| error::shown(&url))
}

fn refused(url: &Url, why: Refusal) -> EgressError {
    EgressError::Refused { address: error::shown(url), why }
}

/// Where the response sends us, if it does.
fn redirect(response: &Response) -> Option<&[u8]> {
    match response.status().as_u16() {
        301 | 302 | 303 | 307 | 308 => {
            response.headers().get(header::LOCATION).map(header::HeaderValue::as_bytes)
        }
        _ => None,
    }
}

fn travelling(headers: &HeaderMap) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| TRAVELLING.contains(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

async fn read(mut response: Response, url: &Url, bytes_max: usize) -> Result<Reply, EgressError> {
    let too_large = || EgressError::TooLarge { address: error::shown(url), bytes_max };
    // Told before it is sent: no need to read it first.
    if response.content_length().is_some_and(|length| length > bytes_max as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| EgressError::of_request(url, error))?
    {
        if bytes.len() + chunk.len() > bytes_max {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Reply {
        address: url.to_string(),
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        bytes,
    })
}
