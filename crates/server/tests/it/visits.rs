//! Browsers that sign in: a key becomes a cookie, which is good for our own page alone and ends with the key.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent::identity::Scope;
use agent::visits::REST_MILLISECONDS_MAX;
use server::Settings;
use server::identity::Mode;

use crate::world::{Answer, CountingEntropy, NOW, World, request};

fn world() -> World {
    World::with(Settings::default(), Mode::Required, vec![], |identity| {
        identity.with_visits(Arc::new(CountingEntropy::default()))
    })
}

async fn login(world: &World, key: &str, headers: &str) -> Answer {
    let body = serde_json::json!({ "key": key }).to_string();
    world.ask(&request("POST", "/api/login", headers, &body)).await
}

/// The header line of a visit, and the token that goes with it.
async fn visit(world: &World, key: &str) -> (String, String) {
    let answer = login(world, key, "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    (format!("Cookie: other=1; {cookie}\r\n"), answer.json()["csrf"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_key_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends() {
    let world = world();
    let key = world.key("acme", &[Scope::Read]);
    let answer = login(&world, &key, "").await;
    let cookie = answer.header("set-cookie").unwrap().to_owned();
    for part in ["saem_visit_8080=", "; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains(&key), "{cookie}");
    assert!(!answer.body.contains(&key), "{}", answer.body);
    let (cookie, csrf) = visit(&world, &key).await;
    let me = world.get("/api/me", &cookie).await.json();
    assert_eq!((&me["tenant"], &me["csrf"]), (&"acme".into(), &csrf.into()));
    assert_eq!(world.get("/things", &cookie).await.status, 200);
}

#[tokio::test]
async fn behind_https_the_cookie_is_for_https_alone() {
    let settings = Settings { hosts: vec!["saem.example.com".to_owned()], ..Settings::default() };
    let world = World::with(settings, Mode::Required, vec![], |identity| {
        identity.with_visits(Arc::new(CountingEntropy::default()))
    });
    let key = world.key("acme", &[Scope::Read]);
    let body = serde_json::json!({ "key": key }).to_string();
    let request = request("POST", "/api/login", "Origin: https://saem.example.com\r\n", &body);
    let request = request.replace("Host: localhost:8080", "Host: saem.example.com");
    let answer = world.ask(&request).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("saem_visit=") && cookie.ends_with("; Secure"), "{cookie}");
}

#[tokio::test]
async fn a_wrong_key_signs_nobody_in() {
    let world = world();
    world.key("acme", &[Scope::Read]);
    for key in ["", "saem_wrong", "saem_aaaaaaaa_bbbbbbbb", "e30.e30.e30", "saem-owner_00"] {
        let answer = login(&world, key, "").await;
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{key}");
    }
}

#[tokio::test]
async fn what_changes_something_needs_the_token_that_only_the_page_knows() {
    let world = world();
    let key = world.key("acme", &[Scope::Admin]);
    let (cookie, csrf) = visit(&world, &key).await;
    let (_, other) = visit(&world, &key).await;
    let make =
        |more: &str| request("POST", "/things", &format!("{cookie}{more}"), "{\"name\": \"x\"}");
    for more in ["", "x-saem-csrf: \r\n", &format!("x-saem-csrf: {other}\r\n")] {
        let answer = world.ask(&make(more)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (403, "foreign_request"), "{more}");
    }
    let ours = format!("x-saem-csrf: {csrf}\r\n");
    assert_eq!(world.ask(&make(&ours)).await.status, 201);
    let foreign = format!("{ours}Origin: http://attacker.example\r\n");
    assert_eq!(world.ask(&make(&foreign)).await.status, 403);
    // A key in a header is no cookie: it needs no token.
    let keyed = request("POST", "/things", &format!("x-api-key: {key}\r\n"), "{\"name\": \"x\"}");
    assert_eq!(world.ask(&keyed).await.status, 201);
}

#[tokio::test]
async fn a_visit_ends_with_its_key_with_time_and_when_it_is_left() {
    let world = world();
    let key = world.key("acme", &[Scope::Read]);
    let (cookie, csrf) = visit(&world, &key).await;
    let out = request("POST", "/api/logout", &format!("{cookie}x-saem-csrf: {csrf}\r\n"), "");
    let answer = world.ask(&out).await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"), "{answer:?}");
    assert_eq!(world.get("/things", &cookie).await.status, 401);

    let (cookie, _) = visit(&world, &key).await;
    world.clock.0.store(NOW.0 + REST_MILLISECONDS_MAX, Ordering::Relaxed);
    assert_eq!(world.get("/things", &cookie).await.status, 401);

    let (cookie, _) = visit(&world, &key).await;
    assert_eq!(world.get("/things", &cookie).await.status, 200);
    world.change_key(&key, |key| key.revoked_at = Some(NOW));
    assert_eq!(world.get("/things", &cookie).await.status, 401);
}

#[tokio::test]
async fn a_stream_of_a_visit_ends_when_the_visit_does() {
    let world = world();
    let key = world.key("acme", &[Scope::Read]);
    let (cookie, csrf) = visit(&world, &key).await;
    let mut stream = world.connect(crate::world::LOOPBACK);
    stream.send(&request("GET", "/stands", &cookie, "")).await;
    world.app.waiting.notified().await;
    let out = request("POST", "/api/logout", &format!("{cookie}x-saem-csrf: {csrf}\r\n"), "");
    assert_eq!(world.ask(&out).await.status, 204);
    world.app.bell.notify_one();
    let answer = stream.answer().await;
    assert_eq!((answer.status, answer.problem().as_str()), (401, "signed_out"));
}

#[tokio::test]
async fn the_page_lets_no_foreign_script_run_and_is_sent_once() {
    let world = world();
    let answer = world.get("/", "").await;
    assert_eq!(answer.status, 200);
    let policy = answer.header("content-security-policy").unwrap();
    for part in
        ["default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let tag = answer.header("etag").unwrap();
    let again = world.get("/", &format!("If-None-Match: {tag}\r\n")).await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let script = answer.body.split('"').find(|part| part.ends_with("/app.js")).unwrap();
    let file = world.get(script, "").await;
    assert_eq!(file.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(file.header("cache-control").unwrap().contains("immutable"));
    assert_eq!(world.get("/page/0000000000000000/app.js", "").await.status, 404);
    assert_eq!(world.get(&script.replace("app.js", "../Cargo.toml"), "").await.status, 404);
}
