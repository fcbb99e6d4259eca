//! Visits: a browser that has shown a key once goes on with a cookie, which no script can read and no other page can use.

use std::sync::{Arc, Mutex, PoisonError};

use agent::identity::Timestamp;
use agent::ports::{Entropy, PortError};
use agent::visits::{VISIT_MILLISECONDS_MAX, VisitDigest, Visits};
use engine::keys::Secret;
use http::header::{COOKIE, HOST, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, StatusCode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Identified;
use crate::problem::Problem;

/// The header that repeats the visit's token: a page of another origin cannot set it without being asked for leave.
pub(crate) const CSRF_HEADER: &str = "x-saem-csrf";

/// Random bytes of a visit's secret: 256 bits, which nobody guesses.
const CHANCE_BYTES: usize = 32;

/// Digits of the token that goes with a visit: 128 bits.
const CSRF_DIGITS: usize = 32;

/// The visits of a server. They are gone when it ends: their people show their keys again.
pub(crate) struct VisitBook {
    entropy: Arc<dyn Entropy>,
    open: Mutex<Visits<Identified>>,
}

/// A visit as a request names it.
#[derive(Debug, Clone)]
pub(crate) struct VisitCookie(Secret);

impl VisitBook {
    pub(crate) fn new(entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, open: Mutex::default() }
    }

    pub(crate) fn open(
        &self,
        caller: Identified,
        now: Timestamp,
    ) -> Result<VisitCookie, PortError> {
        let mut chance = [0_u8; CHANCE_BYTES];
        self.entropy.fill(&mut chance)?;
        let cookie = VisitCookie(Secret::new(digits(&chance)));
        let name = format!("{} {}", caller.principal.tenant, caller.principal.name);
        self.locked().open(cookie.digest(), &name, caller, now);
        Ok(cookie)
    }

    pub(crate) fn find(&self, digest: &VisitDigest, now: Timestamp) -> Option<Identified> {
        self.locked().find(digest, now)
    }

    pub(crate) fn close(&self, digest: &VisitDigest) {
        self.locked().close(digest);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Visits<Identified>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VisitCookie {
    /// The cookie of a request.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let name = cookie_name(headers);
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        let value = pairs.next()?;
        let is_one =
            value.len() == 2 * CHANCE_BYTES && value.bytes().all(|b| b.is_ascii_hexdigit());
        is_one.then(|| Self(Secret::new(value.to_owned())))
    }

    pub(crate) fn digest(&self) -> VisitDigest {
        Sha256::digest(self.0.expose().as_bytes()).into()
    }

    /// What requests that change something carry besides the cookie.
    pub(crate) fn csrf(&self) -> String {
        let digest = Sha256::digest(format!("csrf {}", self.0.expose()).as_bytes());
        digits(&digest).chars().take(CSRF_DIGITS).collect()
    }

    /// Refuses a request that changes something unless our own page has sent it.
    pub(crate) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
        if method.is_safe() {
            return Ok(());
        }
        let given = headers.get(CSRF_HEADER).map_or(&b""[..], HeaderValue::as_bytes);
        if self.csrf().as_bytes().ct_eq(given).into() {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_request",
            "this request does not come from the page",
            "A request with the page's cookie needs the token that only the page knows.",
            "Reload the page; programs send a key as Authorization: Bearer … instead.",
        ))
    }

    /// What has the browser keep it.
    pub(crate) fn kept(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        set_cookie(headers, self.0.expose(), VISIT_MILLISECONDS_MAX / 1000)
    }
}

/// What has the browser forget its visit.
pub(crate) fn forgotten(headers: &HeaderMap) -> Option<HeaderValue> {
    set_cookie(headers, "", 0)
}

fn set_cookie(headers: &HeaderMap, value: &str, seconds: u64) -> Option<HeaderValue> {
    // Over plain HTTP, as on loopback, a browser would throw a secure cookie away. The page's Origin says which it is.
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes).unwrap_or_default();
    let secure = if origin.starts_with(b"https:") { "; Secure" } else { "" };
    let name = cookie_name(headers);
    let cookie =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&cookie).ok()
}

/// Cookies know no ports, and one machine may run two servers: the name has the port in it.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())) {
        Some(port) => format!("saem_visit_{port}"),
        None => "saem_visit".to_owned(),
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
