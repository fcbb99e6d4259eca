//! API keys, the local owner, and the quotas of callers.

use std::sync::atomic::Ordering;

use agent::identity::{Scope, Timestamp};
use engine::keys::Secret;
use server::Settings;
use server::identity::{Mode, owner};
use server::limits::{Limits, Rate};

use crate::world::{CountingEntropy, LOOPBACK, NOW, World, request};

async fn check(world: &World, headers: &str, status: u16, code: &str) {
    let answer = world.get("/things", headers).await;
    assert_eq!((answer.status, answer.problem().as_str()), (status, code), "{headers}");
}

#[tokio::test]
async fn a_key_is_its_tenant() {
    let world = World::new(Mode::Required);
    let (ours, theirs) = (world.key("acme", &[Scope::Read]), world.key("globex", &[Scope::Read]));
    for (key, tenant) in [(ours, "acme"), (theirs, "globex")] {
        let lines = [
            format!("Authorization: Bearer {key}\r\n"),
            format!("authorization: bearer {key}\r\n"),
            format!("x-api-key: {key}\r\n"),
            format!("x-api-key: {key}\r\nAuthorization: Bearer {key}\r\n"),
        ];
        for headers in lines {
            let answer = world.get("/things", &headers).await;
            assert_eq!(answer.json()["tenant"], tenant, "{headers}");
            assert!(answer.json()["caller"].as_str().unwrap().starts_with("key:"));
            assert!(!answer.body.contains(&key));
        }
    }
}

#[tokio::test]
async fn a_key_that_is_wrong_in_any_way_opens_nothing() {
    let world = World::new(Mode::Required);
    let key = world.key("acme", &[Scope::Read]);
    let bearer = |key: &str| format!("Authorization: Bearer {key}\r\n");

    let lookups = || world.keys.lookups.load(Ordering::Relaxed);
    let mut mistyped = key.clone();
    let last = if mistyped.pop() == Some('a') { 'b' } else { 'a' };
    mistyped.push(last);
    check(&world, &bearer(&mistyped), 401, "key_mistyped").await;
    check(&world, &bearer("saem_"), 401, "key_mistyped").await;
    check(&world, &bearer(&format!("saem_{}", "x".repeat(4000))), 401, "key_mistyped").await;
    assert_eq!(lookups(), 0, "a mistyped key costs no lookup");

    let unknown = World::new(Mode::Required).key("acme", &[Scope::Admin]);
    world.keys.kept.lock().unwrap().clear();
    check(&world, &bearer(&unknown), 401, "key_unknown").await;
    assert_eq!(lookups(), 1);

    let key = world.key("acme", &[Scope::Read]);
    world.change_key(&key, |kept| kept.hash = "0".repeat(64));
    check(&world, &bearer(&key), 401, "key_unknown").await;
    assert_eq!(lookups(), 2, "an unknown and a wrong key cost the same");

    check(&world, &bearer("sk-something-else"), 401, "key_unknown").await;
    check(&world, "Authorization: Basic dXNlcjpwYXNz\r\n", 400, "credential_unclear").await;
    check(&world, "Authorization: Bearer\r\n", 400, "credential_unclear").await;
    check(&world, "Authorization: Bearer  \r\n", 400, "credential_unclear").await;
    check(&world, "x-api-key: \r\n", 400, "credential_unclear").await;
}

#[tokio::test]
async fn a_key_stops_at_its_end_and_at_once_when_it_is_revoked() {
    let world = World::new(Mode::Required);
    let key = world.key("acme", &[Scope::Read]);
    let header = format!("x-api-key: {key}\r\n");
    assert_eq!(world.get("/things", &header).await.status, 200);
    world.change_key(&key, |kept| kept.expires_at = Some(Timestamp(NOW.0 + 1)));
    assert_eq!(world.get("/things", &header).await.status, 200);
    world.clock.0.store(NOW.0 + 1, Ordering::Relaxed);
    check(&world, &header, 401, "key_expired").await;
    world.change_key(&key, |kept| kept.expires_at = None);
    assert_eq!(world.get("/things", &header).await.status, 200);
    world.change_key(&key, |kept| kept.revoked_at = Some(NOW));
    check(&world, &header, 401, "key_revoked").await;
}

#[tokio::test]
async fn a_revoked_key_loses_the_answer_that_is_under_way() {
    let world = World::new(Mode::Required);
    let key = world.key("acme", &[Scope::Read]);
    let mut connection = world.connect(LOOPBACK);
    connection.send(&request("GET", "/stands", &format!("x-api-key: {key}\r\n"), "")).await;
    world.app.waiting.notified().await;
    world.change_key(&key, |kept| kept.revoked_at = Some(NOW));
    world.app.bell.notify_one();
    assert_eq!(connection.answer().await.status, 401);
}

#[tokio::test]
async fn credentials_in_the_address_are_refused() {
    let world = World::new(Mode::Required);
    let key = world.key("acme", &[Scope::Admin]);
    for query in ["api_key=…", "access_token=…", "key=…", "limit=1&API_KEY=…", "%61pi_key=…"]
    {
        let path = format!("/things?{}", query.replace('…', &key));
        for headers in [String::new(), format!("x-api-key: {key}\r\n")] {
            let answer = world.get(&path, &headers).await;
            assert_eq!((answer.status, answer.problem().as_str()), (400, "credential_in_query"));
            assert!(!answer.body.contains(&key) && !answer.head.contains(&key));
        }
    }
}

#[tokio::test]
async fn two_different_credentials_are_refused() {
    let world = World::new(Mode::Required);
    let (one, two) = (world.key("acme", &[Scope::Read]), world.key("acme", &[Scope::Read]));
    let lines = [
        format!("x-api-key: {one}\r\nAuthorization: Bearer {two}\r\n"),
        format!("Authorization: Bearer {one}\r\nAuthorization: Bearer {two}\r\n"),
        format!("x-api-key: {one}\r\nx-api-key: {two}\r\n"),
        format!("x-api-key: {one}\r\nAuthorization: Basic dXNlcg==\r\n"),
    ];
    for headers in lines {
        check(&world, &headers, 400, "credential_unclear").await;
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_lets_nobody_in() {
    let world = World::new(Mode::Required);
    let key = world.key("acme", &[Scope::Admin]);
    *world.keys.broken.lock().unwrap() = true;
    let answer = world.get("/things", &format!("x-api-key: {key}\r\n")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (503, "busy"));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn on_loopback_without_keys_whoever_calls_is_the_owner() {
    let world = World::new(Mode::LocalOwner);
    for (peer, headers, status) in [
        ("127.0.0.1:1", "", 200),
        ("127.0.0.9:1", "", 200),
        ("[::1]:1", "", 200),
        ("[::ffff:127.0.0.1]:1", "", 200),
        ("127.0.0.1:1", "Authorization: Bearer sk-just-any\r\n", 200),
        ("127.0.0.1:1", "Authorization: Bearer saem_not-a-key\r\n", 401),
        ("10.0.0.1:1", "", 401),
        ("[::ffff:10.0.0.1]:1", "", 401),
        ("127.0.0.1:1", "X-Forwarded-For: 10.0.0.1\r\n", 401),
        ("127.0.0.1:1", "Forwarded: for=10.0.0.1\r\n", 401),
    ] {
        let answer = world.ask_from(peer, &request("GET", "/things", headers, "")).await;
        assert_eq!(answer.status, status, "{peer} {headers}");
        if status == 200 {
            assert_eq!(answer.json()["caller"], "owner");
        }
    }
    let strict = World::new(Mode::Required);
    assert_eq!(strict.get("/things", "").await.status, 401, "not if credentials are required");
}

#[tokio::test]
async fn the_first_key_ends_the_time_of_the_open_door() {
    let world = World::new(Mode::LocalOwner);
    assert_eq!(world.get("/things", "").await.status, 200);
    let key = world.key("acme", &[Scope::Read]);
    check(&world, "", 401, "no_credentials").await;
    check(&world, "Authorization: Bearer sk-just-any\r\n", 401, "key_unknown").await;
    assert_eq!(world.get_with("/things", &key).await.status, 200);
    world.change_key(&key, |kept| kept.revoked_at = Some(NOW));
    check(&world, "", 401, "no_credentials").await;
}

/// A server that knows this owner.
fn owned(token: &Secret, limits: Limits) -> World {
    let settings = Settings { limits, ..Settings::default() };
    World::with(settings, Mode::Required, vec![], |identity| identity.with_owner(token))
}

#[tokio::test]
async fn the_owners_token_opens_everything_but_only_from_this_machine() {
    let token = owner::token(&CountingEntropy::default()).unwrap();
    let world = owned(&token, Limits::default());
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let good = bearer(token.expose());
    for (peer, headers, status) in [
        ("127.0.0.1:1", good.clone(), 200),
        ("[::1]:1", good.clone(), 200),
        ("10.0.0.1:1", good.clone(), 401),
        ("127.0.0.1:1", format!("{good}X-Forwarded-For: 10.0.0.1\r\n"), 401),
        ("127.0.0.1:1", format!("{good}Via: 1.1 proxy\r\n"), 401),
        ("127.0.0.1:1", bearer("saem-owner_"), 401),
        ("127.0.0.1:1", bearer(&format!("{}0", token.expose())), 401),
        ("127.0.0.1:1", bearer(&token.expose().to_uppercase()), 401),
    ] {
        for path in ["/things", "/owner"] {
            let answer = world.ask_from(peer, &request("GET", path, &headers, "")).await;
            assert_eq!(answer.status, status, "{peer} {headers}");
            assert!(!answer.body.contains(token.expose()));
        }
    }
    let stranger = World::new(Mode::LocalOwner);
    assert_eq!(stranger.get("/things", &good).await.status, 401, "another server's token");
}

#[tokio::test]
async fn what_concerns_every_tenant_is_the_owners_alone() {
    let token = owner::token(&CountingEntropy::default()).unwrap();
    let world = owned(&token, Limits::default());
    let key = world.key("acme", &[Scope::Admin]);
    let answer = world.get_with("/owner", &key).await;
    assert_eq!((answer.status, answer.problem().as_str()), (403, "owner_only"));
    assert_eq!(world.get("/owner", "").await.status, 401);
    let open = World::new(Mode::LocalOwner);
    assert_eq!(open.get("/owner", "").await.status, 403, "not even where nobody is asked");
}

#[tokio::test]
async fn the_owner_is_not_held_to_a_quota() {
    let token = owner::token(&CountingEntropy::default()).unwrap();
    let caller_rate = Rate { per_second: 0.001, burst: 1 };
    let world = owned(&token, Limits { caller_rate, ..Limits::default() });
    let key = world.key("acme", &[Scope::Read]);
    assert_eq!(world.get_with("/things", &key).await.status, 200);
    assert_eq!(world.get_with("/things", &key).await.status, 429);
    for _ in 0..3 {
        assert_eq!(world.get_with("/things", token.expose()).await.status, 200);
    }
}

fn limited(limits: Limits) -> World {
    let settings = Settings { limits, ..Settings::default() };
    World::with(settings, Mode::Required, vec![], |identity| identity)
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_asks_too_often_is_told_when_to_come_back() {
    let caller_rate = Rate { per_second: 0.5, burst: 2 };
    let world = limited(Limits { caller_rate, ..Limits::default() });
    let (one, two) = (world.key("acme", &[Scope::Read]), world.key("acme", &[Scope::Read]));
    let (one, two) = (format!("x-api-key: {one}\r\n"), format!("x-api-key: {two}\r\n"));
    assert_eq!(world.get("/things", &one).await.status, 200);
    assert_eq!(world.get("/things", &one).await.status, 200);
    let answer = world.get("/things", &one).await;
    assert_eq!((answer.status, answer.problem().as_str()), (429, "too_often"));
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&wait), "{wait}");
    assert_eq!(world.get("/things", &two).await.status, 200, "each key has its own quota");
    tokio::time::advance(std::time::Duration::from_secs(wait)).await;
    assert_eq!(world.get("/things", &one).await.status, 200);
}

#[tokio::test]
async fn a_caller_has_only_so_many_requests_at_once() {
    let world = limited(Limits { caller_requests_max: 1, ..Limits::default() });
    let key = world.key("acme", &[Scope::Read]);
    let header = format!("x-api-key: {key}\r\n");
    let mut waiting = world.connect(LOOPBACK);
    waiting.send(&request("GET", "/wait", &header, "")).await;
    world.app.waiting.notified().await;
    check(&world, &header, 429, "too_many_at_once").await;
    world.app.bell.notify_one();
    assert_eq!(waiting.answer().await.body, "rung");
    assert_eq!(world.get("/things", &header).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_known_is_counted_by_address() {
    let address_rate = Rate { per_second: 0.001, burst: 3 };
    let world = limited(Limits { address_rate, ..Limits::default() });
    let key = world.key("acme", &[Scope::Read]);
    for path in ["/open", "/things", "/nowhere"] {
        assert_ne!(world.get(path, "").await.status, 429, "{path}");
    }
    for path in ["/open", "/things", "/nowhere"] {
        let answer = world.get(path, "").await;
        assert_eq!((answer.status, answer.problem().as_str()), (429, "too_often"), "{path}");
    }
    let good = world.get("/things", &format!("x-api-key: {key}\r\n")).await;
    assert_eq!(good.status, 200, "a good key does not pay for its neighbours");
    let elsewhere = world.ask_from("10.0.0.2:1", &request("GET", "/open", "", "")).await;
    assert_eq!(elsewhere.status, 200);
    for host in 1..=4_u8 {
        let peer = format!("[2001:db8:0:1200::{host}]:1");
        let answer = world.ask_from(&peer, &request("GET", "/open", "", "")).await;
        assert_eq!(answer.status == 429, host == 4, "one IPv6 customer is one address");
    }
}
