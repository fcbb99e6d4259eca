//! Puts logins at servers of tools together: where they are kept, and by which way out they are got.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use engine::tools::{LoginParts, Outside};
use futures_util::future::BoxFuture;
use http::{Request, Response, StatusCode};
use sources::guard::{EgressError, EgressGuard, EgressRules, Limits, Refusal};
use store::FileVault;
use url::{Host, Url};

/// The folder in the data folder that holds logins.
const FOLDER: &str = "mcp-logins";

/// Bytes of a login's answer: descriptions of the largest have a few thousand.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A login's answer takes a second; a person or a model waits for it.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(15);

/// Logins that nobody is asked for; `saem mcp login` brings a browser.
pub(crate) fn parts(data_folder: &Path, rules: EgressRules) -> Result<LoginParts> {
    let outside = Guarded::new(rules)?;
    let vault = FileVault::new(data_folder.join(FOLDER));
    Ok(LoginParts { vault: Arc::new(vault), outside: Arc::new(outside), browser: None })
}

/// The egress guard. A server on this machine may name addresses of this machine; no other may.
struct Guarded {
    rules: EgressRules,
    home: EgressGuard,
}

impl Guarded {
    fn new(rules: EgressRules) -> Result<Self> {
        let mut home = rules.clone();
        for network in ["127.0.0.0/8", "::1"] {
            home.allow_private.push(network.parse()?);
        }
        // Whoever is on this machine for a test or for development is on any port.
        home.ports = (1..=u16::MAX).collect();
        Ok(Self { rules, home: EgressGuard::new(home) })
    }

    async fn exchange(
        &self,
        server: &str,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, EgressError> {
        let url = Url::parse(server).ok();
        let own;
        let guard = if url.as_ref().is_some_and(is_here) {
            &self.home
        } else {
            let mut rules = self.rules.clone();
            // The port that the owner has written down.
            rules.ports.extend(url.and_then(|url| url.port()));
            own = EgressGuard::new(rules);
            &own
        };
        let limits = Limits {
            bytes_max: ANSWER_BYTES_MAX,
            total_time_max: ANSWER_TIME_MAX,
            redirects_max: 0,
        };
        let (head, body) = request.into_parts();
        let address = head.uri.to_string();
        let answer = if head.method == http::Method::GET {
            guard.get(&address, &head.headers, &limits).await
        } else {
            guard.post(&address, &head.headers, Bytes::from(body), &limits).await
        };
        let mut response = Response::new(Vec::new());
        match answer {
            Ok(answer) => {
                *response.status_mut() = answer.status;
                *response.headers_mut() = answer.headers;
                *response.body_mut() = answer.bytes;
            }
            // A description that is elsewhere is not here: whoever names an address names the right one.
            Err(EgressError::Refused { why: Refusal::Redirects { .. }, .. }) => {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            Err(error) => return Err(error),
        }
        Ok(response)
    }
}

impl Outside for Guarded {
    fn send<'a>(
        &'a self,
        server: &'a str,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'a, Result<Response<Vec<u8>>, String>> {
        Box::pin(
            async move { self.exchange(server, request).await.map_err(|error| error.to_string()) },
        )
    }
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(server: &str, address: &str) -> Result<Response<Vec<u8>>, String> {
        let request = Request::get(address).body(Vec::new()).unwrap();
        Guarded::new(EgressRules::default()).unwrap().send(server, request).await
    }

    #[tokio::test]
    async fn a_server_elsewhere_cannot_send_us_to_this_machine() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for server in ["https://mcp.example.com/mcp", "https://localhost.example.com/mcp"] {
            for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254"] {
                let refused = sent(server, &format!("http://{host}:{port}/token")).await;
                assert!(refused.is_err(), "{server} {host}");
                let refused = sent(server, &format!("http://{host}/token")).await;
                assert!(refused.is_err(), "{server} {host}");
            }
        }
        let here = format!("http://127.0.0.1:{port}/mcp");
        assert!(sent(&here, "http://169.254.169.254/token").await.is_err());
    }
}
