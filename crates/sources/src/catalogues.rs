//! Asks other catalogues of agents for the engine.

use std::sync::Arc;

use agent::ports::{Catalogues, Later, PortError};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::guard::{EgressGuard, shown_address};

/// Other catalogues, through the egress guard.
#[derive(Debug, Clone)]
pub struct WebCatalogues {
    guard: Arc<EgressGuard>,
}

impl WebCatalogues {
    #[must_use]
    pub fn new(guard: Arc<EgressGuard>) -> Self {
        Self { guard }
    }

    async fn send(&self, address: &str, question: Vec<u8>) -> Result<Vec<u8>, PortError> {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(ACCEPT, json.clone()), (CONTENT_TYPE, json)]);
        let limits = self.guard.limits();
        let reply = self.guard.post(address, &headers, question.into(), &limits).await?;
        if reply.status.is_success() {
            return Ok(reply.bytes);
        }
        let why = format!("it says {}", reply.status.as_u16());
        Err(PortError::Unavailable { what: shown_address(&reply.address), why })
    }
}

impl Catalogues for WebCatalogues {
    fn ask<'a>(&'a self, address: &'a str, question: Vec<u8>) -> Later<'a, Vec<u8>> {
        Box::pin(self.send(address, question))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::EgressRules;
    use crate::loopback::{Server, ok, with_headers};

    fn catalogues(rules: EgressRules) -> WebCatalogues {
        WebCatalogues::new(Arc::new(EgressGuard::new(rules)))
    }

    #[tokio::test]
    async fn a_good_answer_is_given_and_the_inside_is_not_asked() {
        let server = Server::start(|head| {
            if head.starts_with("post /search ") {
                ok("application/json", b"{}")
            } else {
                with_headers("503 Busy", &[], b"")
            }
        })
        .await;
        let open = EgressRules {
            allow_private: vec!["127.0.0.0/8".parse().unwrap()],
            ports: vec![server.port()],
            ..EgressRules::default()
        };
        let asking = catalogues(open);
        assert_eq!(asking.ask(&server.url("/search"), b"{}".to_vec()).await.unwrap(), b"{}");
        let down = asking.ask(&server.url("/other"), b"{}".to_vec()).await.unwrap_err();
        assert!(matches!(down, PortError::Unavailable { .. }), "{down}");
        let before = server.connections();
        let inside =
            catalogues(EgressRules { ports: vec![server.port()], ..EgressRules::default() });
        assert!(inside.ask(&server.url("/search"), Vec::new()).await.is_err());
        assert_eq!(server.connections(), before);
    }
}
