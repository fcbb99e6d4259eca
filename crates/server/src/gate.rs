//! Which hosts and pages may speak to us: the guard against pages that reach into a visitor's own machine.

use std::net::IpAddr;

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, StatusCode};

use crate::cors::ForeignPage;
use crate::problem::Problem;

/// For answers that are data: nothing in them may load or run anything, and nobody may frame them.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Names under which we may be called, and pages that may call us.
///
/// A `Host` is allowed if its name is a loopback one (`localhost`, `127.0.0.0/8`, `[::1]`) or configured. The port
/// matters only where the configured name has one: a container or proxy may publish another than the one we listen on,
/// and a rebound name is still a foreign name. An `Origin` is allowed if it has exactly the `Host`'s name and port, or
/// is configured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    hosts: Vec<Place>,
    origins: Vec<Origin>,
}

/// Where a page comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: String,
    place: Place,
}

/// A name or address, in lower case, and the port if it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    name: String,
    port: Option<u16>,
}

/// A configured host or origin that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not {wanted}")]
pub struct GateError {
    given: String,
    wanted: &'static str,
}

impl Gate {
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, GateError> {
        let host = |given: &String| {
            let wanted = "a host, such as saem.example.com or 10.0.0.7:8080";
            place(given).ok_or_else(|| GateError { given: given.clone(), wanted })
        };
        let origin = |given: &String| {
            let wanted = "an origin, such as https://saem.example.com";
            read_origin(given).ok_or_else(|| GateError { given: given.clone(), wanted })
        };
        Ok(Self {
            hosts: hosts.iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
        })
    }

    /// Refuses a request that was made under a foreign name, or by a foreign page; names the page that is foreign and
    /// allowed.
    pub(crate) fn check(&self, parts: &Parts) -> Result<Option<ForeignPage>, Problem> {
        let host = self.host(parts)?;
        let mut origins = parts.headers.get_all(ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => return Ok(None),
            (Some(value), None) => value,
            (Some(_), Some(_)) => return Err(foreign_origin()),
        };
        let Some(from) = origin.to_str().ok().and_then(read_origin) else {
            return Err(foreign_origin());
        };
        if from.is_at(&host) {
            return Ok(None);
        }
        let listed = |known: &Origin| known.scheme == from.scheme && from.is_at(&known.place);
        if self.origins.iter().any(listed) {
            return Ok(Some(ForeignPage(origin.clone())));
        }
        Err(foreign_origin())
    }

    /// Whether pages of other servers may call at all.
    pub(crate) fn has_origins(&self) -> bool {
        !self.origins.is_empty()
    }

    fn host(&self, parts: &Parts) -> Result<Place, Problem> {
        let mut hosts = parts.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(bad_host("The request needs exactly one Host header."));
        };
        let host = host.to_str().ok().and_then(place);
        let host = host.ok_or_else(|| bad_host("The Host header is not a name or an address."))?;
        if let Some(authority) = parts.uri.authority()
            && place(authority.as_str()).as_ref() != Some(&host)
        {
            return Err(bad_host("The address in the request line differs from the Host header."));
        }
        let listed = |known: &Place| {
            known.name == host.name && (known.port.is_none() || known.port == host.port)
        };
        if is_loopback(&host.name) || self.hosts.iter().any(listed) {
            return Ok(host);
        }
        Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "foreign_host",
            "this server does not answer to that name",
            "The Host is neither a loopback name nor one that is allowed.",
            "Use http://localhost with the server's port, or add the name to its settings.",
        ))
    }
}

impl Origin {
    /// Whether the page comes from there: the same name and port, a missing port being the scheme's own.
    fn is_at(&self, other: &Place) -> bool {
        let default = default_port(&self.scheme);
        let from = &self.place;
        from.name == other.name && from.port.or(default) == other.port.or(default)
    }
}

/// Adds what every answer carries; a route that knows better has set its own.
pub(crate) fn seal(response: &mut Response) {
    let headers = response.headers_mut();
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, REFERRER_POLICY, "no-referrer");
    set(headers, X_FRAME_OPTIONS, "DENY");
    set(headers, CONTENT_SECURITY_POLICY, DATA_POLICY);
    set(headers, CACHE_CONTROL, "no-store");
    set(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

fn bad_host(detail: &'static str) -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "bad_host",
        "it is not clear which server is meant",
        detail,
        "Send one Host header that says which server is meant.",
    )
}

fn foreign_origin() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "foreign_origin",
        "this page may not call this server",
        "The Origin is neither this server's own nor one that is allowed.",
        "Open the server's own page, or add the origin to its settings.",
    )
}

fn read_origin(text: &str) -> Option<Origin> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    default_port(&scheme)?;
    Some(Origin { scheme, place: place(rest)? })
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

fn place(text: &str) -> Option<Place> {
    let authority: Authority = text.parse().ok()?;
    let name = authority.host();
    let port = match text.strip_prefix(name)? {
        "" => None,
        rest => Some(rest.strip_prefix(':')?.parse().ok()?),
    };
    // Only what names are made of: no credentials, no percent signs, no other scripts.
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let bracketed = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let valid = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.chars().all(legal),
    };
    valid.then(|| Place { name: name.to_ascii_lowercase(), port })
}

fn is_loopback(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
