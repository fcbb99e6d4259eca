//! Fetches strangers' pages and files for the engine.

use std::sync::Arc;

use agent::ports::{Fetched, Later, Pages, PortError};
use agent::text::clip;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::guard::{EgressGuard, Reply, shown_address};

#[cfg(test)]
mod tests;

/// What we can read, best first.
const READABLE: &str =
    "text/html,application/xhtml+xml,text/markdown,text/plain,application/pdf,*/*;q=0.5";

/// Longest media type that is passed on, in bytes: a type, a subtype and a charset.
const MEDIA_TYPE_BYTES_MAX: usize = 200;

/// Pages of the web, through the egress guard.
#[derive(Debug, Clone)]
pub struct WebPages {
    guard: Arc<EgressGuard>,
}

impl WebPages {
    #[must_use]
    pub fn new(guard: Arc<EgressGuard>) -> Self {
        Self { guard }
    }

    async fn open(&self, address: &str) -> Result<Fetched, PortError> {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(READABLE))]);
        let reply = self.guard.get(address, &headers, &self.guard.limits()).await?;
        page(reply)
    }
}

impl Pages for WebPages {
    fn fetch<'a>(&'a self, address: &'a str) -> Later<'a, Fetched> {
        Box::pin(self.open(address))
    }
}

fn page(reply: Reply) -> Result<Fetched, PortError> {
    let what = shown_address(&reply.address);
    match reply.status.as_u16() {
        200..=299 => Ok(Fetched {
            media_type: media_type(&reply.headers),
            address: reply.address,
            bytes: reply.bytes,
        }),
        401 | 403 => Err(PortError::Refused(format!(
            "{what} is not open to everybody ({}): download it and upload the file instead",
            reply.status.as_u16()
        ))),
        404 | 410 => Err(PortError::Refused(format!(
            "{what} is not there ({}): check the address",
            reply.status.as_u16()
        ))),
        429 | 500..=599 => Err(PortError::Unavailable {
            what,
            why: format!("it says {}; try again later", reply.status.as_u16()),
        }),
        status => Err(PortError::Refused(format!(
            "{what} gives no page but status {status}: check the address"
        ))),
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?.trim();
    Some(clip(text, MEDIA_TYPE_BYTES_MAX).to_owned()).filter(|text| !text.is_empty())
}
