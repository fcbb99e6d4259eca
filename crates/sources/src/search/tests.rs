//! Checks every provider against a stand-in that answers in its documented forms, its errors included.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use agent::identity::Timestamp;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::answer::{retry_after, without_tags};
use super::*;
use crate::addresses::Network;
use crate::guard::EgressRules;
use crate::loopback::{Answer, Server, ok, with_headers};

/// Stands still.
struct Still(AtomicU64);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

fn searches(server: &Server, kind: ProviderKind) -> WebSearches {
    let loopback: Network = "127.0.0.0/8".parse().unwrap();
    let rules = EgressRules {
        allow_private: vec![loopback],
        ports: vec![server.port()],
        ..EgressRules::default()
    };
    let guard = Arc::new(EgressGuard::new(rules));
    let key = match kind {
        ProviderKind::Google => "engine:1/secret-key",
        ProviderKind::OpenAlex => "open-key",
        _ => "secret-key",
    };
    let key = Some(ProviderKey::new(key));
    let settings = vec![ProviderSettings { kind, base_url: server.url(""), key }];
    WebSearches::new(guard, Arc::new(Still(AtomicU64::new(0))), settings, None)
}

async fn ask(server: &Server, kind: ProviderKind) -> Result<Vec<Hit>, Failure> {
    let id = kind.id().unwrap();
    searches(server, kind)
        .search(&id, "budget alerts", 5, Freshness::MayBeRemembered)
        .await
        .map(|found| found.hits)
}

/// What a provider makes of these bytes.
async fn answered(kind: ProviderKind, body: &str) -> Result<Vec<Hit>, Failure> {
    let body = body.to_owned();
    let server = Server::start(move |_| ok("application/json", body.as_bytes())).await;
    ask(&server, kind).await
}

async fn refused(
    kind: ProviderKind,
    status: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Failure {
    let (status, body) = (status.to_owned(), body.to_owned());
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let server = Server::start(move |_| {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        with_headers(&status, &headers, body.as_bytes())
    })
    .await;
    ask(&server, kind).await.unwrap_err()
}

async fn check(
    kind: ProviderKind,
    body: &Value,
    (address, text, is_summary): (&str, &str, bool),
    line: &str,
) {
    let body = body.to_string();
    let server = Server::start(move |_| ok("application/json", body.as_bytes())).await;
    let hits = ask(&server, kind).await.unwrap();
    let first = hits.first().unwrap();
    assert_eq!(first.address.as_deref(), Some(address), "{kind:?}");
    assert_eq!((first.text.as_str(), first.is_summary), (text, is_summary), "{kind:?}");
    let head = server.heads().remove(0);
    assert!(head.starts_with(line), "{kind:?}: {head}");
    let line = head.lines().next().unwrap_or_default();
    assert!(!line.contains("secret-key"), "a key in an address: {line}");
}

#[tokio::test]
async fn each_provider_of_pages_is_asked_and_read_in_its_own_form() {
    let cases = [
        (
            ProviderKind::Wikipedia,
            json!({"batchcomplete": true, "query": {"pages": [
                {"index": 2, "title": "Later", "fullurl": "https://w.example/b", "extract": "Second."},
                {"index": 1, "title": "Budget", "fullurl": "https://w.example/a", "extract": "A budget is a plan."},
            ]}}),
            ("https://w.example/a", "A budget is a plan.", false),
            "get /w/api.php?gsrsearch=budget+alerts&gsrlimit=5&action=query&generator=search",
        ),
        (
            ProviderKind::Searxng,
            json!({"query": "q", "results": [
                {"url": "https://s.example/a", "title": "T", "content": "About <b>budgets</b>", "engine": "x"},
                {"url": "https://s.example/empty", "title": "No words", "content": ""},
            ], "unresponsive_engines": [["x", "timeout"]]}),
            ("https://s.example/a", "About budgets", true),
            "get /search?q=budget+alerts&format=json",
        ),
        (
            ProviderKind::Brave,
            json!({"type": "search", "query": {"original": "q"}, "web": {"results": [
                {"url": "https://b.example/a", "title": "T", "description": "It&#x27;s <strong>budget</strong>", "page_age": "2026-01-02"},
            ]}}),
            ("https://b.example/a", "It's budget", true),
            "get /res/v1/web/search?q=budget+alerts&count=5",
        ),
        (
            ProviderKind::Tavily,
            json!({"query": "q", "answer": null, "results": [
                {"url": "https://t.example/a", "title": "T", "content": "Budgets", "score": 0.9},
            ], "response_time": 1.0}),
            ("https://t.example/a", "Budgets", true),
            "post /search",
        ),
        (
            ProviderKind::Serper,
            json!({"searchParameters": {}, "organic": [
                {"link": "https://g.example/a", "title": "T", "snippet": "Budgets", "position": 1},
            ], "credits": 1}),
            ("https://g.example/a", "Budgets", true),
            "post /search",
        ),
        (
            ProviderKind::Exa,
            json!({"results": [
                {"id": "1", "url": "https://e.example/a", "title": "T", "text": "The whole text.", "publishedDate": "2026-01-02"},
            ], "costDollars": {"total": 0.005}}),
            ("https://e.example/a", "The whole text.", false),
            "post /search",
        ),
        (
            ProviderKind::Google,
            json!({"kind": "customsearch#search", "items": [
                {"link": "https://c.example/a", "title": "T", "snippet": "Budgets"},
            ]}),
            ("https://c.example/a", "Budgets", true),
            "get /customsearch/v1?q=budget+alerts&cx=engine%3a1&num=5",
        ),
    ];
    for (kind, body, found, line) in cases {
        check(kind, &body, found, line).await;
    }
}

#[tokio::test]
async fn each_provider_of_papers_is_asked_and_read_in_its_own_form() {
    let cases = [
        (
            ProviderKind::SemanticScholar,
            json!({"total": 1, "offset": 0, "data": [
                {"url": "https://p.example/a", "title": "T", "abstract": "We study budgets.", "year": 2024},
                {"url": "https://p.example/none", "title": "No abstract", "abstract": null},
            ]}),
            ("https://p.example/a", "We study budgets.", false),
            "get /graph/v1/paper/search?query=budget+alerts",
        ),
        (
            ProviderKind::Crossref,
            json!({"status": "ok", "message": {"total-results": 1, "items": [
                {"DOI": "10.1/x", "URL": "https://doi.example/x", "title": ["T"], "abstract": "<jats:p>We study budgets.</jats:p>",
                 "published": {"date-parts": [[2024, 5]]}},
            ]}}),
            ("https://doi.example/x", "We study budgets.", false),
            "get /works?query=budget+alerts",
        ),
        (
            ProviderKind::OpenAlex,
            json!({"meta": {"count": 1}, "results": [
                {"id": "https://o.example/W1", "doi": null, "title": "No words", "abstract_inverted_index": null},
                {"id": "https://o.example/W2", "doi": "https://doi.example/2", "title": "T", "publication_date": "2024-05-01",
                 "abstract_inverted_index": {"study": [1, 4], "We": [0], "budgets": [2], "and": [3]}},
            ]}),
            ("https://doi.example/2", "We study budgets and study", false),
            "get /works?search=budget+alerts&per_page=5&select=",
        ),
    ];
    for (kind, body, found, line) in cases {
        check(kind, &body, found, line).await;
    }
    let dated = json!({"message": {"items": [
        {"URL": "https://doi.example/x", "title": ["T"], "abstract": "A", "published": {"date-parts": [[2024, 5]]}},
    ]}}).to_string();
    let published = answered(ProviderKind::Crossref, &dated);
    assert_eq!(published.await.unwrap()[0].published.as_deref(), Some("2024-05"));
}

#[tokio::test]
async fn nothing_found_is_no_failure() {
    let empty = [
        (ProviderKind::Wikipedia, json!({"batchcomplete": true})),
        (ProviderKind::Brave, json!({"type": "search", "query": {"bad_results": true}})),
        (ProviderKind::Serper, json!({"searchParameters": {}})),
        (ProviderKind::SemanticScholar, json!({"total": 0, "offset": 0})),
        (ProviderKind::Searxng, json!({"results": []})),
        (ProviderKind::OpenAlex, json!({"meta": {"count": 0}, "results": []})),
        (ProviderKind::Google, json!({"kind": "customsearch#search"})),
    ];
    for (kind, body) in empty {
        assert_eq!(answered(kind, &body.to_string()).await, Ok(vec![]), "{kind:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_a_passing_failure() {
    for kind in ProviderKind::ALL {
        for body in ["", "{", "[]", "<html>busy</html>", "null"] {
            let failure = answered(kind, body).await.unwrap_err();
            assert!(
                failure.is_passing && failure.message.contains("cannot be read"),
                "{kind:?}: {failure:?}"
            );
        }
    }
}

#[tokio::test]
async fn refusals_are_final_and_busy_providers_are_not() {
    let tavily = r#"{"detail":{"error":"plan limit"}}"#;
    let failure = refused(ProviderKind::Tavily, "432 Plan Limit", &[], tavily).await;
    assert!(failure.is_refusal() && !failure.is_passing, "{failure:?}");
    assert_eq!(failure.message, "tavily answers with 432 (plan limit)");
    for status in ["401 Unauthorized", "402 Payment Required", "403 Forbidden", "433 Pay"] {
        assert!(refused(ProviderKind::Brave, status, &[], "").await.is_refusal());
    }
    let failure = refused(ProviderKind::Searxng, "403 Forbidden", &[], "").await;
    assert!(failure.message.contains("search.formats"), "{failure:?}");
    let busy = refused(ProviderKind::Exa, "429 Slow Down", &[("Retry-After", "7")], "").await;
    assert_eq!((busy.is_passing, busy.retry_after, busy.is_refusal()), (true, Some(7), false));
    let limits = [("X-RateLimit-Remaining", "0, 1977"), ("X-RateLimit-Reset", "1, 389223")];
    let busy = refused(ProviderKind::Brave, "429 Slow Down", &limits, "").await;
    assert_eq!((busy.is_passing, busy.retry_after), (true, Some(1)));
    let keyless = r#"{"error":{"code":"rate","message":"slow","retry_after_seconds":30}}"#;
    let busy = refused(ProviderKind::Tavily, "429 Slow Down", &[], keyless).await;
    assert_eq!(busy.retry_after, Some(30));
    assert!(refused(ProviderKind::Crossref, "503 Busy", &[], "").await.is_passing);
    let lag = r#"{"error":{"code":"maxlag","info":"waiting"}}"#;
    let busy = refused(ProviderKind::Wikipedia, "200 OK", &[("Retry-After", "5")], lag).await;
    assert_eq!((busy.is_passing, busy.retry_after), (true, Some(5)));
}

#[test]
fn a_wait_is_read_in_each_of_its_forms() {
    let wait = |pairs: &[(&str, &str)]| {
        let headers = pairs.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        retry_after(&headers.collect())
    };
    assert_eq!(wait(&[("retry-after", "120")]), Some(120));
    assert_eq!(wait(&[("retry-after", "0.5")]), Some(1));
    assert_eq!(wait(&[("retry-after", "-1")]), None);
    let date = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:29:30 GMT"), date]), Some(90));
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT"), date]), Some(0));
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    let both = [("x-ratelimit-remaining", "0, 0"), ("x-ratelimit-reset", "1, 900")];
    assert_eq!(wait(&both), Some(900));
    assert_eq!(wait(&[("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "9")]), None);
    assert_eq!(wait(&[]), None);
}

#[test]
fn tags_and_signs_of_pages_become_plain_words() {
    assert_eq!(
        without_tags("a <b>bold</b> &amp; &quot;quoted&quot; word"),
        "a bold & \"quoted\" word"
    );
}

/// The three generations of arXiv's feeds: of its manual, of November 2025 and of April 2026.
fn feeds() -> [String; 3] {
    let entry = |id: &str, links: &str, published: &str| {
        format!(
            "<entry><id>{id}</id><updated>{published}</updated><published>{published}</published>\
             <title>Budgets\n  &amp; alerts</title><summary>  We study\n budgets &lt; 10. </summary>\
             <author><name>A. Author</name><arxiv:affiliation>Home</arxiv:affiliation></author>\
             {links}<arxiv:primary_category term=\"cs.AI\"/><category term=\"cs.AI\"/></entry>"
        )
    };
    let feed = |title: &str, entry: String| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" \
             xmlns:arxiv=\"http://arxiv.org/schemas/atom\" xmlns:opensearch=\"http://a9.com/-/spec/opensearch/1.1/\">\
             <title>{title}</title><id>http://arxiv.org/api/x</id>\
             <opensearch:totalResults>1</opensearch:totalResults>{entry}</feed>"
        )
    };
    [
        feed(
            "ArXiv Query: all:budget",
            entry(
                "http://arxiv.org/abs/0704.0001v1",
                "<link href=\"http://arxiv.org/abs/0704.0001v1\" rel=\"alternate\" type=\"text/html\"/>",
                "2007-04-02T19:18:42-04:00",
            ),
        ),
        feed(
            "arXiv Query: search_query=all:budget",
            entry(
                "http://arxiv.org/abs/0704.0001v1",
                "<link href=\"https://arxiv.org/abs/0704.0001v1\" type=\"text/html\"/>",
                "2007-04-02T23:18:42Z",
            ),
        ),
        feed(
            "arXiv Query",
            entry(
                "https://arxiv.org/abs/0704.0001v1",
                "<link rel=\"alternate\" href=\"https://arxiv.org/abs/0704.0001v1\"/><link rel=\"related\" title=\"pdf\" href=\"https://arxiv.org/pdf/0704.0001v1\"/>",
                "2007-04-02T23:18:42Z",
            ),
        ),
    ]
}

#[tokio::test]
async fn three_generations_of_arxiv_say_the_same() {
    for body in feeds() {
        let server = Server::start(move |_| ok("application/atom+xml", body.as_bytes())).await;
        let hits = ask(&server, ProviderKind::Arxiv).await.unwrap();
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].address.as_deref(), Some("https://arxiv.org/abs/0704.0001v1"));
        assert_eq!(hits[0].title, "Budgets & alerts");
        assert_eq!(hits[0].text, "We study budgets < 10.");
        assert!(hits[0].published.as_ref().unwrap().starts_with("2007-04-02"));
        let head = server.heads().remove(0);
        assert!(
            head.starts_with("get /api/query?search_query=all%3abudget+and+all%3aalerts"),
            "{head}"
        );
    }
}

#[tokio::test]
async fn a_complaint_of_arxiv_is_a_failure_under_either_status() {
    let body = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><id>https://arxiv.org/api/errors#x</id>\
                <title>Error</title><summary>max_results must be smaller</summary></entry></feed>";
    for status in ["200 OK", "400 Bad Request"] {
        let failure = refused(ProviderKind::Arxiv, status, &[], body).await;
        assert!(!failure.is_passing && failure.message.contains("max_results"), "{failure:?}");
    }
    for status in ["429 Slow Down", "503 Busy"] {
        assert!(refused(ProviderKind::Arxiv, status, &[], "").await.is_passing);
    }
}

#[tokio::test]
async fn a_page_that_arxiv_has_lost_is_asked_for_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    let [full, ..] = feeds();
    let (start, rest) = full.split_once("<entry>").unwrap();
    let lost = format!("{start}</feed>");
    assert!(!rest.is_empty());
    let server = Server::start(move |_| {
        let count = seen.fetch_add(1, Ordering::SeqCst);
        let body = if count < 2 { &lost } else { &full };
        ok("application/atom+xml", body.as_bytes())
    })
    .await;
    let mut searches = searches(&server, ProviderKind::Arxiv);
    // At no pace: nobody waits here.
    searches.providers.get_mut(&ProviderId::arxiv()).unwrap().bucket = Mutex::new(Bucket::new(0));
    let hits = searches
        .search(&ProviderId::arxiv(), "budget", 5, Freshness::MayBeRemembered)
        .await
        .unwrap()
        .hits;
    assert_eq!((hits.len(), asked.load(Ordering::SeqCst)), (1, 3));
}

#[tokio::test]
async fn a_provider_without_its_key_says_so_and_asks_nobody() {
    let server = Server::start(|_| Answer::Bytes(vec![])).await;
    let mut searches = searches(&server, ProviderKind::Brave);
    let id = ProviderKind::Brave.id().unwrap();
    searches.providers.get_mut(&id).unwrap().settings.key = None;
    let failure = searches.search(&id, "budget", 5, Freshness::MayBeRemembered).await.unwrap_err();
    assert!(failure.message.contains("needs a key"), "{failure:?}");
    let unknown = searches
        .search(&ProviderId::local(), "budget", 5, Freshness::MayBeRemembered)
        .await
        .unwrap_err();
    assert!(unknown.message.contains("not set up"), "{unknown:?}");
    assert_eq!(server.connections(), 0);
    assert_eq!(format!("{:?}", ProviderKey::new("secret-key")), "[hidden]");
}

#[tokio::test]
async fn a_search_says_what_it_costs_and_costs_nothing_the_second_time() {
    let body = json!({"results": [
        {"url": "https://e.example/a", "title": "T", "text": "Words."},
    ], "costDollars": {"total": 0.007}})
    .to_string();
    let server = Server::start(move |_| ok("application/json", body.as_bytes())).await;
    let folder = std::env::temp_dir().join(format!("saem-searches-{}", std::process::id()));
    let mut searches = searches(&server, ProviderKind::Exa);
    searches.cache = Cache::open(&folder, Timestamp(0));
    let id = ProviderKind::Exa.id().unwrap();
    let first =
        searches.search(&id, "Budget  alerts", 5, Freshness::MayBeRemembered).await.unwrap();
    assert_eq!(first.cost, Cost::from_dollars(0.007));
    let again = searches.search(&id, "budget alerts", 5, Freshness::MayBeRemembered).await.unwrap();
    assert_eq!((again.hits, again.cost), (first.hits, Cost::default()));
    assert_eq!(server.heads().len(), 1);
    searches.search(&id, "budget alerts", 6, Freshness::MayBeRemembered).await.unwrap();
    assert_eq!(server.heads().len(), 2);
    let anew = searches.search(&id, "budget alerts", 5, Freshness::MustBeFresh).await.unwrap();
    assert_eq!((server.heads().len(), anew.cost), (3, Cost::from_dollars(0.007)));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn prices_are_for_those_who_pay() {
    let settings = |kind, key: Option<&str>| ProviderSettings {
        kind,
        base_url: String::new(),
        key: key.map(ProviderKey::new),
    };
    let cost = |kind, key| price::cost(&settings(kind, key), b"{}");
    assert_eq!(cost(ProviderKind::Brave, Some("k")), Cost::from_dollars(0.005));
    assert_eq!(cost(ProviderKind::Tavily, None), Cost::default());
    assert_eq!(cost(ProviderKind::Arxiv, Some("k")), Cost::default());
    assert!(ProviderKind::Google.warning().is_some_and(|it| it.contains("2027-01-01")));
}

#[tokio::test]
async fn a_key_that_stands_in_an_address_is_in_no_failure() {
    let failure = refused(ProviderKind::OpenAlex, "403 Forbidden", &[], "").await;
    assert!(!failure.message.contains("open-key"), "{failure:?}");
    let gone = {
        let server = Server::start(|_| Answer::Bytes(vec![])).await;
        ask(&server, ProviderKind::OpenAlex).await.unwrap_err()
    };
    assert!(!gone.message.contains("open-key"), "{gone:?}");
}
