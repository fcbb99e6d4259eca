//! Pages of other servers: which of them may read our answers, and what their browsers are told beforehand.

use server::Settings;
use server::identity::Mode;

use crate::world::{Answer, World, request};

const PORTAL: &str = "https://portal.example.com";
const LOCAL_PAGE: &str = "http://localhost:3000";

/// A server that allows two pages, and wants keys.
fn world() -> World {
    let origins = vec![PORTAL.to_owned(), LOCAL_PAGE.to_owned()];
    let settings = Settings { origins, ..Settings::default() };
    World::with(settings, Mode::Required, vec![], |identity| identity)
}

fn origin(origin: &str) -> String {
    format!("Origin: {origin}\r\n")
}

/// All headers that open something to a page.
fn opens(answer: &Answer) -> Vec<String> {
    let named = answer.head.lines().filter_map(|line| line.split_once(':'));
    let named = named.map(|(name, value)| (name.to_ascii_lowercase(), value.trim()));
    let mut found: Vec<String> = named
        .filter(|(name, _)| name.starts_with("access-control-"))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    found.sort();
    found
}

const ALLOWED: [&str; 2] = [PORTAL, LOCAL_PAGE];

/// Near misses: none of them is one of the two.
const STRANGERS: [&str; 12] = [
    "https://evil.com",
    "http://portal.example.com",
    "https://portal.example.com:8443",
    "https://portal.example.com.evil.com",
    "https://evil.portal.example.com",
    "https://portal.example.com/",
    "https://portal.example.com@evil.com",
    "https://localhost:3000",
    "http://localhost",
    "http://127.0.0.1:3000",
    "null",
    "*",
];

#[tokio::test]
async fn an_allowed_page_reads_every_answer_and_no_other_page_reads_any() {
    for (path, status) in [("/open", 200), ("/things", 401), ("/nowhere", 404)] {
        for page in ALLOWED {
            let answer = world().get(path, &origin(page)).await;
            assert_eq!(answer.status, status, "{path}: what is asked for is asked of pages too");
            let expected = [
                format!("access-control-allow-origin: {page}"),
                "access-control-expose-headers: mcp-session-id, retry-after, www-authenticate"
                    .to_owned(),
            ];
            assert_eq!(opens(&answer), expected, "{path}");
            assert_eq!(answer.header("vary"), Some("origin"));
        }
        for page in STRANGERS {
            let answer = world().get(path, &origin(page)).await;
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (403, "foreign_origin"),
                "{page}"
            );
            assert_eq!(opens(&answer), [""; 0], "{page}");
            assert_eq!(answer.header("vary"), Some("origin"));
        }
        for lines in [String::new(), origin("http://localhost:8080")] {
            let answer = world().get(path, &lines).await;
            assert_eq!((answer.status, opens(&answer).len()), (status, 0), "{lines}");
            assert_eq!(answer.header("vary"), Some("origin"), "a cache must not mix them up");
        }
        let twice = format!("{}{}", origin(PORTAL), origin(PORTAL));
        let answer = world().get(path, &twice).await;
        assert_eq!((answer.status, opens(&answer).len()), (403, 0));
    }
}

#[tokio::test]
async fn a_preflight_is_answered_for_allowed_pages_alone_and_opens_nothing_by_itself() {
    let asks = |page: &str| format!("{}Access-Control-Request-Method: POST\r\n", origin(page));
    for page in ALLOWED {
        for (path, methods) in [("/things", "GET, POST, HEAD"), ("/open", "GET, HEAD")] {
            let answer = world().ask(&request("OPTIONS", path, &asks(page), "")).await;
            let expected = [
                "access-control-allow-headers: authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, \
             mcp-protocol-version, mcp-session-id, x-api-key"
                    .to_owned(),
                format!("access-control-allow-methods: {methods}"),
                format!("access-control-allow-origin: {page}"),
                "access-control-expose-headers: mcp-session-id, retry-after, www-authenticate".to_owned(),
                "access-control-max-age: 600".to_owned(),
            ];
            assert_eq!((answer.status, opens(&answer)), (204, expected.to_vec()), "{path}");
            assert_eq!((answer.header("vary"), answer.body.as_str()), (Some("origin"), ""));
        }
        let answer = world().ask(&request("OPTIONS", "/nowhere", &asks(page), "")).await;
        assert_eq!(answer.status, 404);
    }
    for page in STRANGERS {
        let answer = world().ask(&request("OPTIONS", "/things", &asks(page), "")).await;
        assert_eq!((answer.status, opens(&answer).len()), (403, 0), "{page}");
    }
    let own = asks("http://localhost:8080");
    for headers in [own.as_str(), "", &origin(PORTAL)] {
        let answer = world().ask(&request("OPTIONS", "/things", headers, "")).await;
        assert_eq!(answer.status, 405, "no preflight, or not for a page elsewhere: {headers}");
    }
}

#[tokio::test]
async fn a_server_without_allowed_pages_says_nothing_of_pages() {
    let world = World::new(Mode::LocalOwner);
    for headers in ["", "Origin: http://localhost:8080\r\n"] {
        let answer = world.get("/open", headers).await;
        assert_eq!((opens(&answer).len(), answer.header("vary")), (0, None));
    }
    let asks = format!("{}Access-Control-Request-Method: POST\r\n", origin(PORTAL));
    let answer = world.ask(&request("OPTIONS", "/things", &asks, "")).await;
    assert_eq!((answer.status, opens(&answer).len()), (403, 0));
}

#[tokio::test]
async fn an_allowed_page_with_a_key_is_served_and_never_with_cookies() {
    let world = world();
    let key = world.key("acme", &[agent::identity::Scope::Read]);
    let headers = format!("{}Authorization: Bearer {key}\r\n", origin(PORTAL));
    let answer = world.get("/things", &headers).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(PORTAL));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}
