//! The route table: who may call what, what is counted, and how it is described.

use std::sync::Arc;

use agent::identity::Scope;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use server::Settings;
use server::health::ReadyCheck;
use server::identity::Mode;
use server::input::Json;
use server::routes::{Access, Route, Table, TableError};

use crate::world::{Always, App, World, request, routes};

/// The only routes that answer to anybody.
const PUBLIC: [&str; 9] = [
    "/",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/api/login",
    "/api/openapi.json",
    "/health/live",
    "/health/ready",
    "/open",
    "/page/{edition}/{*path}",
];

/// Whether a route answers without credentials.
fn is_public(access: Access) -> bool {
    matches!(access, Access::Public | Access::Fixed)
}

fn table() -> Table<App> {
    Table::new(routes(), Access::Needs(Scope::Admin)).unwrap()
}

#[tokio::test]
async fn without_credentials_only_the_public_routes_answer() {
    let table = table();
    let mut public: Vec<&str> = Vec::new();
    for row in table.rows() {
        let world = World::new(Mode::Required);
        let path = row.path.replace("{name}", "x");
        let answer = world.ask(&request(row.method.as_str(), &path, "", "")).await;
        if is_public(row.access) {
            assert!(answer.status != 401 && answer.status != 403, "{path}");
            public.push(row.path);
        } else {
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (401, "no_credentials"),
                "{path}"
            );
            let challenge = match row.access {
                Access::Needs(scope) => format!("Bearer realm=\"saem\", scope=\"saem:{scope}\""),
                Access::Fixed | Access::Public | Access::Open | Access::Owner => {
                    "Bearer realm=\"saem\"".to_owned()
                }
            };
            assert_eq!(answer.header("www-authenticate"), Some(challenge.as_str()));
        }
    }
    public.sort_unstable();
    assert_eq!(public, PUBLIC);
}

#[tokio::test]
async fn each_route_asks_for_its_own_scope() {
    for row in table().rows() {
        let Access::Needs(needed) = row.access else { continue };
        for scope in Scope::ALL {
            let world = World::new(Mode::Required);
            let key = world.key("acme", &[scope]);
            let path = row.path.replace("{name}", "x");
            let key = format!("x-api-key: {key}\r\n");
            let mut connection = world.connect(crate::world::LOOPBACK);
            connection.send(&request(row.method.as_str(), &path, &key, "")).await;
            world.app.bell.notify_one();
            let status: u16 =
                connection.until("\r\n").await.split(' ').nth(1).unwrap().parse().unwrap();
            let allowed = scope == needed || scope == Scope::Admin;
            assert_eq!(status != 403, allowed, "{path} needs {needed}, has {scope}: {status}");
        }
    }
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let world = World::new(Mode::Required);
    let key = world.key("acme", &[Scope::Read]);
    let headers = format!("x-api-key: {key}\r\n");
    let answer = world.ask(&request("POST", "/things", &headers, "{}")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (403, "insufficient_scope"));
    let challenge = answer.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"saem:write\""), "{challenge}");
}

#[tokio::test]
async fn who_is_calling_is_asked_before_the_body_is_read() {
    let world = World::new(Mode::Required);
    let asked = "POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n";
    assert_eq!(world.ask(asked).await.status, 401, "although not a byte of the body has come");
}

#[tokio::test]
async fn what_is_not_in_the_table_is_a_problem_too() {
    let world = World::new(Mode::LocalOwner);
    for path in ["/nowhere", "/things/", "/Things", "//things", "/things/a/b", "/things%2f"] {
        let answer = world.get(path, "").await;
        assert_eq!((answer.status, answer.problem().as_str()), (404, "no_such_address"), "{path}");
    }
    let answer = world.ask(&request("DELETE", "/things", "", "")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (405, "wrong_method"));
    assert_eq!(answer.header("allow"), Some("GET, POST, HEAD"));
    let answer = world.ask(&request("TRACE", "/open", "", "")).await;
    assert_eq!(answer.status, 405);
}

#[tokio::test]
async fn bad_input_says_what_to_change() {
    let world = World::new(Mode::LocalOwner);
    let post = |body: &str| request("POST", "/things", "", body);
    assert_eq!(world.ask(&post("{\"name\":\"a\"}")).await.status, 201);
    for (body, code) in [
        ("{", "invalid_json"),
        ("{\"name\":1}", "invalid_field"),
        ("{\"name\":\"a\",\"name\":\"b\"}", "invalid_field"),
        ("{\"name\":\"a\",\"more\":1}", "invalid_field"),
    ] {
        let answer = world.ask(&post(body)).await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, code), "{body}");
    }
    let text = post("{\"name\":\"a\"}").replace("application/json", "text/plain");
    let answer = world.ask(&text).await;
    assert_eq!((answer.status, answer.problem().as_str()), (415, "not_json"));
    for query in ["limit=x", "limit=1&limit=2", "other=1", "limit=-1"] {
        let answer = world.get(&format!("/things?{query}"), "").await;
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_query"), "{query}");
    }
    let answer = world.get("/things/%ff", "").await;
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_path"));
    let answer = world.get("/things/none", "").await;
    assert_eq!((answer.status, answer.problem().as_str()), (404, "not_found"));
}

#[tokio::test]
async fn a_panic_is_an_answer_and_the_connection_goes_on() {
    let world = World::new(Mode::LocalOwner);
    let mut connection = world.connect(crate::world::LOOPBACK);
    for _ in 0..2 {
        connection.send(&request("GET", "/panic", "", "")).await;
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.problem().as_str()), (500, "internal"));
        assert!(!answer.body.contains("the handler of this test"), "{}", answer.body);
    }
    connection.send(&request("GET", "/things", "", "")).await;
    assert_eq!(connection.answer().await.status, 200);
    assert!(world.metrics.render().contains("http_panics_total 2"));
}

#[tokio::test]
async fn a_bare_status_of_a_handler_is_made_a_problem() {
    let answer = World::new(Mode::LocalOwner).get("/bare", "").await;
    assert_eq!((answer.status, answer.problem().as_str()), (410, "invalid_request"));
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Lenient {
    name: String,
}

#[test]
fn a_table_that_cannot_be_right_is_refused() {
    let refused = |routes: Vec<Route<()>>| match Table::new(routes, Access::Public) {
        Ok(_) => panic!("the table was taken"),
        Err(error) => error,
    };
    let get = |path| Route::get(path, Access::Public, "A", || async {});
    let twice = refused(vec![get("/a/{x}"), get("/a/{y}")]);
    assert!(matches!(twice, TableError::Twice { path: "/a/{y}", .. }), "{twice}");
    assert!(matches!(refused(vec![get("/health/live")]), TableError::Twice { .. }));
    for path in ["", "a", "/a{x}", "/{}", "/{x", "/{*}"] {
        assert_eq!(refused(vec![get(path)]), TableError::Path { path });
    }
    let lenient = |_body: Json<Lenient>| async {};
    let route = Route::post("/a", Access::Public, "A", lenient).takes::<Lenient>();
    assert!(matches!(refused(vec![route]), TableError::Lenient { .. }));
}

#[tokio::test]
async fn readiness_names_the_part_that_does_not_work() {
    let world = World::new(Mode::Required);
    assert_eq!(world.get("/health/live", "").await.json()["status"], "ok");
    assert_eq!(world.get("/health/ready", "").await.status, 200);
    let good: Arc<dyn ReadyCheck> = Arc::new(Always("index", Ok(())));
    let bad: Arc<dyn ReadyCheck> = Arc::new(Always("writer", Err("the disk is full".to_owned())));
    let world = World::with(Settings::default(), Mode::Required, vec![good, bad], |it| it);
    let answer = world.get("/health/ready", "").await;
    assert_eq!(answer.status, 503);
    let health = answer.json();
    assert_eq!(health["ready"], false);
    assert_eq!(health["parts"]["index"]["ready"], true);
    assert_eq!(health["parts"]["writer"]["reason"], "the disk is full");
    assert_eq!(world.get("/health/live", "").await.status, 200);
}

#[tokio::test]
async fn requests_are_counted_under_their_routes() {
    let world = World::new(Mode::LocalOwner);
    world.get("/things/a", "").await;
    world.get("/things/b", "").await;
    world.get("/made-up-by-a-stranger", "").await;
    world.ask(&request("BREW", "/open", "", "")).await;
    world.get("/open", "Origin: null\r\n").await;
    let text = world.get("/metrics", "").await.body;
    for line in [
        "http_requests_total{method=\"GET\",route=\"/things/{name}\",status=\"200\"} 2",
        "http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"} 1",
        "http_requests_total{method=\"other\",route=\"unmatched\",status=\"405\"} 1",
        "http_refused_total{reason=\"foreign_origin\"} 1",
        "http_request_duration_seconds_count{route=\"/things/{name}\"} 2",
        "http_requests_in_flight 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("made-up"));
}

#[tokio::test]
async fn the_description_has_every_route_and_nothing_that_points_nowhere() {
    let world = World::new(Mode::Required);
    let document = world.get("/api/openapi.json", "").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    for row in table().rows() {
        let method = row.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][row.path.replace("{*", "{")][&method];
        assert_eq!(operation["summary"], row.summary, "{}", row.path);
        let protected = operation["security"].as_array().is_some_and(|list| !list.is_empty());
        assert_eq!(protected, !is_public(row.access), "{}", row.path);
    }
    let make = &document["paths"]["/things"]["post"];
    assert_eq!(make["x-scope"], "saem:write");
    assert!(make["responses"]["201"].is_object() && make["responses"]["default"].is_object());
    let parameters = &document["paths"]["/things"]["get"]["parameters"];
    assert_eq!(parameters[0]["name"], "limit");
    assert_eq!(parameters[0]["required"], false);
    assert_eq!(document["paths"]["/things/{name}"]["get"]["parameters"][0]["in"], "path");
    assert!(document["components"]["schemas"]["NewThing"].is_object());
    for reference in references(&document) {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn references(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(fields) => {
            let here = fields.get("$ref").and_then(|text| text.as_str()).map(str::to_owned);
            here.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        serde_json::Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_same_table_is_described_in_the_same_words() {
    assert_eq!(table().openapi("1").to_string(), table().openapi("1").to_string());
    let gives =
        table().rows().filter(|row| row.gives.iter().any(|g| g.status == StatusCode::OK)).count();
    assert!(gives >= 8);
}
