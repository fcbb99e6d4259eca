//! Checks that tokens are renewed, stay with the server and issuer that they are from, and are never shown.

use std::collections::HashMap;
use std::sync::Mutex as Lock;

use agent::ports::{Later, LoginVault};
use futures_util::future::BoxFuture;
use serde_json::json;
use testkit::clock::HandClock;

use super::*;

const SERVER: &str = "https://mcp.example.com/mcp";
const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

#[derive(Default)]
struct Memory(Lock<HashMap<String, Vec<u8>>>);

impl LoginVault for Memory {
    fn load<'a>(&'a self, _: &'a TenantId, server: &'a ServerId) -> Later<'a, Option<Vec<u8>>> {
        let found = self.0.lock().unwrap().get(server.as_str()).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn save<'a>(&'a self, _: &'a TenantId, server: &'a ServerId, secret: Vec<u8>) -> Later<'a, ()> {
        self.0.lock().unwrap().insert(server.to_string(), secret);
        Box::pin(std::future::ready(Ok(())))
    }

    fn clear<'a>(&'a self, _: &'a TenantId, server: &'a ServerId) -> Later<'a, bool> {
        let was_there = self.0.lock().unwrap().remove(server.as_str()).is_some();
        Box::pin(std::future::ready(Ok(was_there)))
    }
}

/// A server whose login is at `issuer`, and what was sent to tokens' addresses.
struct Web {
    issuer: &'static str,
    sent: Lock<Vec<(String, String)>>,
}

impl Web {
    fn answer(&self, request: &http::Request<Vec<u8>>) -> Option<Value> {
        let issuer = self.issuer;
        let address = request.uri().to_string();
        if address == METADATA {
            return Some(json!({"resource": SERVER, "authorization_servers": [issuer]}));
        }
        if address == format!("{issuer}/.well-known/oauth-authorization-server") {
            return Some(
                json!({"issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"), "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"]}),
            );
        }
        if address.ends_with("/token") {
            let body = String::from_utf8_lossy(request.body()).into_owned();
            self.sent.lock().unwrap().push((address, body));
            return Some(
                json!({"access_token": "new", "token_type": "bearer", "expires_in": 3600}),
            );
        }
        None
    }
}

impl Outside for Web {
    fn send<'a>(
        &'a self,
        _server: &'a str,
        request: http::Request<Vec<u8>>,
    ) -> BoxFuture<'a, Result<http::Response<Vec<u8>>, String>> {
        let answer = self.answer(&request);
        let status = if answer.is_some() { 200 } else { 404 };
        let response =
            http::Response::builder().status(status).header("content-type", "application/json");
        let response = response.body(answer.unwrap_or_default().to_string().into_bytes()).unwrap();
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// A login that was made at the time 0 and has ended long ago.
fn old_login(url: &str) -> Vec<u8> {
    let kept = json!({
        "url": url, "issuer": "https://id.example.com", "client_id": "me", "client_secret": null,
        "redirect": "http://127.0.0.1:1/callback", "challenge": format!("Bearer resource_metadata=\"{METADATA}\""),
        "credentials": {"client_id": "me", "granted_scopes": ["read"], "token_received_at": 0,
            "token_response": {"access_token": "old", "token_type": "bearer", "expires_in": 60, "refresh_token": "again"}},
    });
    kept.to_string().into_bytes()
}

async fn access(issuer: &'static str, kept_for: &str) -> (Access, Arc<Web>, Arc<Memory>) {
    let (web, vault) =
        (Arc::new(Web { issuer, sent: Lock::default() }), Arc::new(Memory::default()));
    let (tenant, server) = (TenantId::local(), ServerId::for_name("files"));
    vault.save(&tenant, &server, old_login(kept_for)).await.unwrap();
    let outside: Arc<dyn Outside> = Arc::clone(&web) as _;
    let parts = LoginParts { vault: Arc::clone(&vault) as _, outside, browser: None };
    let clock = Arc::new(HandClock::at(1_000_000));
    let settings = LoginSettings::default();
    (Access::new(tenant, server, SERVER.to_owned(), settings, parts, clock), web, vault)
}

#[tokio::test]
async fn a_token_that_has_ended_is_renewed_for_this_server_and_kept() {
    let (access, web, vault) = access("https://id.example.com", SERVER).await;
    assert_eq!(access.token().await.unwrap().unwrap(), "new");
    let sent = web.sent.lock().unwrap().clone();
    let [(address, body)] = sent.as_slice() else { panic!("{} requests", sent.len()) };
    assert_eq!(address, "https://id.example.com/token");
    assert!(
        body.contains("refresh_token=again")
            && body.contains("resource=https%3A%2F%2Fmcp.example.com%2Fmcp")
    );
    let kept = vault.load(&access.tenant, &access.server).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&kept).contains("\"new\""));
}

#[tokio::test]
async fn a_login_that_has_moved_is_not_shown_what_was_for_the_old_one() {
    let (access, web, _) = access("https://id.example.com.evil.net", SERVER).await;
    assert_eq!(access.token().await.unwrap(), None);
    assert!(web.sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_server_at_another_address_is_not_shown_the_token() {
    let (access, web, _) = access("https://id.example.com", "https://old.example.com/mcp").await;
    assert_eq!(access.token().await.unwrap(), None);
    assert!(web.sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn where_there_is_no_browser_it_is_said_how_to_log_in() {
    let (access, ..) = access("https://id.example.com", SERVER).await;
    let wanted = access.log_in("Bearer", None).await.unwrap_err().to_string();
    assert!(wanted.contains("saem mcp login files"), "{wanted}");
    let more = access.log_in("Bearer", Some("write")).await.unwrap_err().to_string();
    assert!(more.contains("--scope \"read write\""), "{more}");
}

#[test]
fn only_pages_of_the_web_are_shown_to_anybody() {
    for address in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "-x",
        "$(touch x)",
        "`touch x`",
        "https://",
        "http://id.example.com/authorize",
        "https://id.example.com@evil.net/authorize",
        "https://id.example.com/\u{202e}gro",
        "https://id.example.com/a\nb",
    ] {
        assert_eq!(host_of(address), None, "{address}");
    }
    assert_eq!(host_of("https://id.example.com/a?b=$(x)").unwrap(), "id.example.com");
    assert_eq!(host_of("http://127.0.0.1:8080/authorize").unwrap(), "127.0.0.1");
}

/// Notes that it was asked to show something.
#[derive(Default)]
struct Asked(Lock<Vec<String>>);

impl Browser for Asked {
    fn redirect(&self) -> &str {
        "http://127.0.0.1:1/callback"
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<String, String>> {
        self.0.lock().unwrap().push(address.to_owned());
        Box::pin(std::future::ready(Err("closed".to_owned())))
    }
}

#[tokio::test]
async fn a_login_page_that_is_none_is_not_shown() {
    for page in ["javascript:alert(1)", "file:///etc/passwd", "https://a:b@id.example.com/x"] {
        let (mut access, ..) = access("https://id.example.com", SERVER).await;
        let browser = Arc::new(Asked::default());
        access.parts.browser = Some(Arc::clone(&browser) as _);
        access.parts.outside = Arc::new(Elsewhere(page));
        access.settings.client_id = Some("me".to_owned());
        let challenge = format!("Bearer resource_metadata=\"{METADATA}\"");
        assert!(access.log_in(&challenge, None).await.is_err(), "{page}");
        assert!(browser.0.lock().unwrap().is_empty(), "{page}");
    }
}

/// A login whose page is somewhere else.
struct Elsewhere(&'static str);

impl Outside for Elsewhere {
    fn send<'a>(
        &'a self,
        server: &'a str,
        request: http::Request<Vec<u8>>,
    ) -> BoxFuture<'a, Result<http::Response<Vec<u8>>, String>> {
        Box::pin(async move {
            let web = Web { issuer: "https://id.example.com", sent: Lock::default() };
            let mut response = web.send(server, request).await?;
            let page = "https://id.example.com/authorize";
            let body = String::from_utf8_lossy(response.body()).replace(page, self.0);
            *response.body_mut() = body.into_bytes();
            Ok(response)
        })
    }
}

#[test]
fn secrets_are_not_printed() {
    let settings = LoginSettings {
        client_secret: Some("hush".to_owned()),
        grant: Grant::Workload { token: "hush".to_owned() },
        ..LoginSettings::default()
    };
    assert!(!format!("{settings:?}").contains("hush"));
}
