//! Every kind of question, in Korean and English, here and at other catalogues.

use a2a::model::AgentCard;
use a2a::registry::ard::{ExploreRequest, SearchRequest};
use a2a::registry::health::{Health, Outcome};
use a2a::registry::query::{Capability, Query};
use a2a::timestamp::Timestamp;
use a2a::version::Version;
use a2a::wire::read_card;

use super::*;

pub(super) fn entry(name: &str, owner: &str, card: &AgentCard) -> Entry {
    let moment = Timestamp::from_milliseconds(1_600_000_000_000).unwrap();
    let mut entry = Entry {
        identifier: format!("urn:air:agents.example.com:{name}"),
        owner: owner.to_owned(),
        standing: Standing::Approved,
        disclosure: Disclosure::of(Tier::Public),
        versions: Vec::new(),
        registered_at: moment,
        health: Health::default(),
        source: None,
    };
    entry.update(card.clone(), moment);
    entry
}

fn agent(name: &str, description: &str, provider: &str, more: &Value) -> Entry {
    let mut card = card(name, "agents.example.com");
    card["description"] = json!(description);
    card["provider"] = json!({ "organization": provider, "url": "https://agents.example.com" });
    for (field, value) in more.as_object().unwrap() {
        card[field] = value.clone();
    }
    entry(&name.to_lowercase(), "acme", &read_card(&card).unwrap())
}

fn agents() -> Vec<Entry> {
    let skill = |id: &str, name: &str, text: &str, tags: &[&str]| json!([{ "id": id, "name": name, "description": text, "tags": tags }]);
    vec![
        agent("Painter", "Draws pictures", "Nubi", &json!({})),
        agent(
            "Ledger",
            "정산과 청구서를 맞춥니다",
            "Hana",
            &json!({
                "skills": skill("reconcile", "정산", "청구서와 입금을 맞춥니다", &["회계", "invoice"]),
                "capabilities": { "pushNotifications": true },
                "defaultInputModes": ["text/csv"],
                "defaultOutputModes": ["application/json"],
                "version": "2.1.0",
            }),
        ),
        agent(
            "Weather",
            "Tells the weather of a city",
            "Nubi",
            &json!({
                "skills": skill("forecast", "Forecast", "날씨를 알려 줍니다", &["weather", "날씨"]),
                "capabilities": {},
                "defaultOutputModes": ["text/plain"],
                "supportedInterfaces": [
                    { "url": "https://w.example.com", "protocolBinding": "JSONRPC", "protocolVersion": "0.3" }
                ],
            }),
        ),
    ]
}

async fn names(world: &World, find: Find) -> Vec<String> {
    let find = Find { limit: 100, ..find };
    let page = world.catalogue.find(&Caller::Anonymous, &find).await.unwrap();
    assert_eq!(page.total, page.found.len());
    page.found.into_iter().map(|found| found.view.card.name).collect()
}

#[tokio::test]
async fn agents_are_found_by_everything_that_their_cards_say() {
    let world = World::with(&agents(), rules()).await;
    let by = |query: Query| names(&world, Find { query, ..Find::default() });
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(by(Query { skill: text("정산"), ..Query::default() }).await, ["Ledger"]);
    assert_eq!(by(Query { skill: text("forecast"), ..Query::default() }).await, ["Weather"]);
    assert_eq!(by(Query { tags: vec!["회계".into()], ..Query::default() }).await, ["Ledger"]);
    assert_eq!(
        by(Query { provider: text("nubi"), ..Query::default() }).await,
        ["Painter", "Weather"]
    );
    let push = vec![Capability::PushNotifications];
    assert_eq!(by(Query { capabilities: push, ..Query::default() }).await, ["Ledger"]);
    assert_eq!(by(Query { input_mode: text("text/csv"), ..Query::default() }).await, ["Ledger"]);
    assert_eq!(by(Query { output_mode: text("image/*"), ..Query::default() }).await, ["Painter"]);
    let old = Some(Version::V0_3);
    assert_eq!(by(Query { protocol: old, ..Query::default() }).await, ["Weather"]);
    assert_eq!(by(Query { version: text("2.1.0"), ..Query::default() }).await, ["Ledger"]);
    assert_eq!(by(Query { version: text("9"), ..Query::default() }).await, Vec::<String>::new());
}

#[tokio::test]
async fn agents_are_found_by_words_of_either_language() {
    let world = World::with(&agents(), rules()).await;
    for (text, expected) in [
        ("그림을 그려 주는 에이전트, 스트리밍", vec!["Painter"]),
        ("draw pictures", vec!["Painter"]),
        ("청구서 정산", vec!["Ledger"]),
        ("reconcile an invoice", vec!["Ledger"]),
        ("오늘 날씨", vec!["Weather"]),
        ("what is the weather like", vec!["Weather"]),
        ("quantum chess", vec![]),
    ] {
        let find = Find { text: Some(text.to_owned()), ..Find::default() };
        let found = names(&world, find).await;
        assert_eq!(
            found.first().map(String::as_str),
            expected.first().copied(),
            "{text}: {found:?}"
        );
    }
}

#[tokio::test]
async fn of_equals_those_that_answer_their_checks_come_first_and_pages_follow_each_other() {
    let mut entries: Vec<Entry> = Vec::new();
    for (number, outcome) in
        [None, Some(Outcome::Failed), Some(Outcome::Answered)].into_iter().enumerate()
    {
        let mut one = agent("Painter", "Draws pictures", "Nubi", &json!({}));
        one.identifier = format!("urn:air:agents.example.com:p{number}");
        if let Some(outcome) = outcome {
            one.health.observe(outcome, one.registered_at);
        }
        entries.push(one);
    }
    let world = World::with(&entries, rules()).await;
    let mut find = Find { text: Some("pictures".to_owned()), limit: 2, ..Find::default() };
    let first = world.catalogue.find(&Caller::Anonymous, &find).await.unwrap();
    assert_eq!((first.total, first.found.len()), (3, 2));
    find.after = first.next;
    let last = world.catalogue.find(&Caller::Anonymous, &find).await.unwrap();
    let order: Vec<char> = first
        .found
        .iter()
        .chain(&last.found)
        .filter_map(|found| found.view.identifier.chars().last())
        .collect();
    assert_eq!((order, last.next), (vec!['2', '0', '1'], None));
    find.text = Some("something else".to_owned());
    assert!(matches!(
        world.catalogue.find(&Caller::Anonymous, &find).await,
        Err(CatalogueError::Refused(_))
    ));
}

fn asked(text: &str, more: &Value) -> SearchRequest {
    let mut request = json!({ "query": { "text": text } });
    for (name, value) in more.as_object().unwrap() {
        request[name] = value.clone();
    }
    serde_json::from_value(request).unwrap()
}

#[tokio::test]
async fn ard_searches_explores_and_lists() {
    let world = World::with(&agents(), rules()).await;
    let (everybody, here) = (Caller::Anonymous, "https://here.example.com/registry");
    let search = asked("weather", &json!({}));
    let answer = world.catalogue.search(&everybody, &search, here).await.unwrap();
    assert_eq!(answer.results.len(), 1);
    let result = &answer.results[0];
    assert_eq!((result.entry.check(), result.source.as_str()), (Ok(()), here));
    let filtered = json!({ "text": "weather", "filter": { "tags": ["image"] } });
    let search = asked("", &json!({ "query": filtered }));
    assert!(world.catalogue.search(&everybody, &search, here).await.unwrap().results.is_empty());
    for wrong in [
        json!({ "pageSize": 0 }),
        json!({ "pageSize": 101 }),
        json!({ "pageToken": "7-0" }),
        json!({ "query": { "text": " " } }),
        json!({ "query": { "text": "x", "filter": { "colour": ["red"] } } }),
    ] {
        let refused = world.catalogue.search(&everybody, &asked("x", &wrong), here).await;
        assert!(matches!(refused, Err(CatalogueError::Refused(_))), "{wrong}");
    }
    let explore = |fields: &[&str]| -> ExploreRequest {
        let facets: Vec<Value> = fields.iter().map(|field| json!({ "field": field })).collect();
        serde_json::from_value(json!({ "resultType": { "facets": facets } })).unwrap()
    };
    let fields = explore(&["tags", "publisher", "provider"]);
    let counts = world.catalogue.explore(&everybody, &fields).await.unwrap();
    assert_eq!(counts["publisher"].buckets, [("agents.example.com".to_owned(), 3)]);
    assert_eq!(counts["provider"].buckets[0], ("Nubi".to_owned(), 2));
    assert!(world.catalogue.explore(&everybody, &explore(&["colour"])).await.is_err());
    let list = |filter: &str| AgentsQuestion {
        filter: Some(filter.to_owned()),
        order_by: Some("displayName desc".to_owned()),
        page_size: Some(2),
        page_token: None,
    };
    let page = world.catalogue.agents(&everybody, &list("")).await.unwrap();
    let shown: Vec<&str> = page.items.iter().map(|item| item.display_name.as_str()).collect();
    assert_eq!((page.total, shown), (3, vec!["Weather", "Painter"]));
    let page = world.catalogue.agents(&everybody, &list("displayName = 'Ledger'")).await.unwrap();
    assert_eq!((page.total, page.page_token), (1, None));
    assert!(world.catalogue.agents(&everybody, &list("nonsense")).await.is_err());
}

#[tokio::test]
async fn other_catalogues_are_asked_once_and_named_and_not_believed_in_everything() {
    let upstream =
        |name: &str| Upstream::new(&format!("https://{name}.example.com/registry/")).unwrap();
    let rules = CatalogueRules {
        upstreams: vec![upstream("one"), upstream("down"), upstream("wrong")],
        ..rules()
    };
    let world = World::with(&agents(), rules).await;
    let result = |identifier: &str, score: u32, source: &str| {
        json!({
            "identifier": identifier, "displayName": "Theirs", "type": "application/a2a-agent-card+json",
            "url": "https://theirs.example.com/card.json", "score": score, "source": source
        })
    };
    let theirs = json!({ "results": [
        result("urn:air:theirs.example.com:weather", 99, "https://somebody.else.example.com"),
        result("urn:air:agents.example.com:weather", 99, ""),
        result("no identifier", 99, ""),
    ] });
    world.pages.write("https://one.example.com/registry/search", theirs.to_string());
    world.pages.write("https://wrong.example.com/registry/search", "no json");
    let here = "https://here.example.com/registry";
    let search = asked("weather", &json!({ "federation": "auto" }));
    let answer = world.catalogue.search(&Caller::Anonymous, &search, here).await.unwrap();
    let found: Vec<(&str, &str)> = answer
        .results
        .iter()
        .map(|result| (result.entry.identifier.as_str(), result.source.as_str()))
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.contains(&("urn:air:theirs.example.com:weather", "https://one.example.com/registry"))
    );
    assert!(found.contains(&("urn:air:agents.example.com:weather", here)));
    // They are asked to ask nobody, so that no question goes round in a circle.
    let sent = world.pages.asked();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|asked| asked.contains("\"federation\":\"none\"")), "{sent:?}");
    let search = asked("weather", &json!({ "federation": "referrals" }));
    let answer = world.catalogue.search(&Caller::Anonymous, &search, here).await.unwrap();
    assert_eq!((answer.results.len(), answer.referrals.len()), (1, 3));
    assert_eq!(answer.referrals[0].url, "https://one.example.com/registry");
    assert_eq!(world.pages.asked().len(), 3);
    assert!(Upstream::new("ftp://x").is_err() && Upstream::new("x").is_err());
}
