//! Sends what webhooks are told, through the egress guard.

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Later, PortError, Posts};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::guard::{EgressGuard, Limits};

/// Most that is read of an answer: only its status counts.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Longest that a receiver may take.
const TIME_MAX: Duration = Duration::from_secs(15);

/// Addresses of the web that take something, through the egress guard.
#[derive(Debug, Clone)]
pub struct WebPosts {
    guard: Arc<EgressGuard>,
}

impl WebPosts {
    #[must_use]
    pub fn new(guard: Arc<EgressGuard>) -> Self {
        Self { guard }
    }

    async fn send(
        &self,
        address: &str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<u16, PortError> {
        let refused = || PortError::Refused("a header of the webhook cannot be sent".to_owned());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().map_err(|_| refused())?;
            let mut value: HeaderValue = value.parse().map_err(|_| refused())?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        let limits =
            Limits { bytes_max: ANSWER_BYTES_MAX, total_time_max: TIME_MAX, redirects_max: 0 };
        let reply = self.guard.post(address, &map, body.into(), &limits).await?;
        Ok(reply.status.as_u16())
    }
}

impl Posts for WebPosts {
    fn check(&self, address: &str) -> Result<(), PortError> {
        Ok(self.guard.check(address)?)
    }

    fn post<'a>(
        &'a self,
        address: &'a str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Later<'a, u16> {
        Box::pin(self.send(address, headers, body))
    }
}
