//! Tests of fetching pages through the guard.

use std::sync::Arc;

use agent::ports::{Fetched, Pages as _, PortError};

use super::WebPages;
use crate::guard::{EgressGuard, EgressRules};
use crate::loopback::{Answer, Server, ok, redirect_to, with_headers};

async fn fetch(server: &Server, path: &str) -> Result<Fetched, PortError> {
    let rules = EgressRules {
        allow_private: vec!["127.0.0.1".parse().unwrap()],
        ports: vec![server.port()],
        ..EgressRules::default()
    };
    let pages = WebPages::new(Arc::new(EgressGuard::new(rules)));
    pages.fetch(&server.url(path)).await
}

#[tokio::test]
async fn a_page_comes_with_its_final_address_and_media_type() {
    let server = Server::start(|head| match head {
        head if head.starts_with("get /old ") => redirect_to("/new?q=1"),
        _ => ok("text/html; charset=euc-kr", b"<p>\xbb\xf9"),
    } as Answer)
    .await;
    let fetched = fetch(&server, "/old").await.unwrap();
    assert_eq!(
        fetched,
        Fetched {
            address: server.url("/new?q=1"),
            media_type: Some("text/html; charset=euc-kr".to_owned()),
            bytes: b"<p>\xbb\xf9".to_vec(),
        }
    );
    assert!(server.heads()[1].contains("accept: text/html"), "{:?}", server.heads());
}

#[tokio::test]
async fn a_page_without_a_media_type_has_none() {
    let server = Server::start(|_| with_headers("200 OK", &[], b"x")).await;
    assert_eq!(fetch(&server, "/").await.unwrap().media_type, None);
}

#[tokio::test]
async fn what_is_not_a_page_is_an_error_that_says_what_to_do() {
    for (status, message) in [
        (
            "401 Unauthorized",
            "is not open to everybody (401): download it and upload the file instead",
        ),
        (
            "403 Forbidden",
            "is not open to everybody (403): download it and upload the file instead",
        ),
        ("404 Not Found", "is not there (404): check the address"),
        ("418 Teapot", "gives no page but status 418: check the address"),
        ("304 Not Modified", "gives no page but status 304: check the address"),
        ("429 Too Many", "does not answer: it says 429; try again later"),
        ("503 Unavailable", "does not answer: it says 503; try again later"),
    ] {
        let server = Server::start(|_| with_headers(status, &[], b"")).await;
        let error = fetch(&server, "/page?token=s3cret").await.unwrap_err();
        assert_eq!(error.to_string(), format!("{} {message}", server.url("/page")));
    }
}

#[tokio::test]
async fn the_inside_is_closed_to_pages_by_default() {
    let canary = Server::canary([127, 0, 0, 1].into(), 0).await;
    let rules = EgressRules { ports: vec![canary.port()], ..EgressRules::default() };
    let pages = WebPages::new(Arc::new(EgressGuard::new(rules)));
    for host in ["127.0.0.1", "localhost"] {
        let address = format!("http://{host}:{}/", canary.port());
        let error = pages.fetch(&address).await.unwrap_err();
        assert!(matches!(error, PortError::Refused(_)), "{error:?}");
    }
    assert_eq!(canary.connections(), 0);
}
