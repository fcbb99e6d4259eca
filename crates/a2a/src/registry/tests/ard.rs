//! Agents as entries of ARD: what is written, searched for and refused.

use super::*;
use crate::registry::ard;

#[test]
fn an_agent_is_an_entry_of_ard_with_what_the_caller_sees() {
    let found = ard::entry(&seen());
    assert_eq!(found.check(), Ok(()));
    let written = serde_json::to_value(&found).unwrap();
    assert_eq!(written["type"], "application/a2a-agent-card+json");
    assert_eq!(written["displayName"], "그림 에이전트");
    assert_eq!(written["tags"], json!(["image", "그림"]));
    assert_eq!(written["data"]["supportedInterfaces"][0]["url"], "https://draw.example.com/a2a");
    assert_eq!(serde_json::from_value::<ard::CatalogEntry>(written).unwrap(), found);
    let other = json!({ "identifier": "urn:air:a.example:x", "displayName": "X", "mediaType": "x/y", "url": "https://a.example" });
    let other: ard::CatalogEntry = serde_json::from_value(other).unwrap();
    assert_eq!((other.check(), other.kind.as_str()), (Ok(()), "x/y"));
}

#[test]
fn identifiers_name_their_publisher() {
    for (identifier, expected) in [
        ("urn:air:example.com:draw", Some("example.com")),
        ("urn:air:example.com:team:draw_2", Some("example.com")),
        ("urn:air:agent.localhost:x", Some("agent.localhost")),
        ("urn:air:localhost:x", None),
        ("urn:air:example.com", None),
        ("urn:air:example.com:", None),
        ("urn:air::x", None),
        ("urn:air:example.com:a b", None),
        ("urn:air:예.com:x", None),
        ("urn:ai:example.com:x", None),
    ] {
        assert_eq!(ard::publisher(identifier), expected, "{identifier}");
    }
}

#[test]
fn an_entry_breaks_no_rule() {
    let entry = ard::entry(&seen());
    let check = |change: fn(&mut ard::CatalogEntry)| {
        let mut entry = entry.clone();
        change(&mut entry);
        entry.check()
    };
    assert_eq!(check(|entry| entry.identifier = "x".to_owned()), Err(ard::EntryError::Identifier));
    assert_eq!(check(|entry| entry.display_name.clear()), Err(ard::EntryError::Names));
    assert_eq!(check(|entry| entry.data = None), Err(ard::EntryError::Place));
    assert_eq!(check(|entry| entry.url = Some("x".to_owned())), Err(ard::EntryError::Place));
    assert_eq!(
        check(|entry| entry.representative_queries.truncate(1)),
        Err(ard::EntryError::Queries)
    );
    assert_eq!(
        check(|entry| {
            entry.metadata.insert("x".to_owned(), json!([]));
        }),
        Err(ard::EntryError::Metadata)
    );
}

#[test]
fn filters_by_path_and_by_expression_choose_entries() {
    let entry = ard::entry(&seen());
    for (path, values, found) in [
        ("tags", vec!["sound", "그림"], true),
        ("tags", vec!["sound"], false),
        ("publisher", vec!["example.com"], true),
        ("data.skills.id", vec!["draw"], true),
        ("data.capabilities.streaming", vec!["true"], true),
        ("metadata.provider", vec!["Example"], true),
        ("mediaType", vec![ard::CARD_TYPE], true),
        ("data", vec!["draw"], false),
    ] {
        let filter = ard::Filter::from([(path.to_owned(), words(&values))]);
        assert_eq!(ard::matches(&entry, &filter), found, "{path}");
    }
    for (expression, found) in [
        ("", true),
        ("type = 'application/a2a-agent-card+json'", true),
        ("publisherId='example.com' AND displayName = '그림 에이전트'", true),
        ("displayName = 'it''s'", false),
        ("updatedAfter > '1969-01-01T00:00:00Z'", true),
        ("updatedAfter > '1970-01-01T00:00:00Z'", false),
        ("createdAfter > '1960-01-01T00:00:00Z' AND type = 'x'", false),
    ] {
        assert_eq!(
            ard::parse(expression).unwrap().matches(&entry, moment(0)),
            found,
            "{expression}"
        );
    }
    for expression in [
        "x",
        "type",
        "type = x",
        "type > 'x'",
        "type = 'x",
        "type = 'x' AND",
        "type = 'x' OR type = 'y'",
        "updatedAfter > 'x'",
        "가 = 'x'",
    ] {
        assert!(ard::parse(expression).is_err(), "{expression}");
    }
}

#[test]
fn a_search_is_checked_before_it_is_done() {
    let search =
        |request: Value| serde_json::from_value::<ard::SearchRequest>(request).unwrap().check();
    assert_eq!(search(json!({ "query": { "text": "그림" } })), Ok(10));
    assert_eq!(
        search(
            json!({ "query": { "text": "x", "filter": { "tags": ["a"] } }, "federation": "auto", "pageSize": 100 })
        ),
        Ok(100)
    );
    assert_eq!(search(json!({ "query": { "text": " " } })), Err(ard::RequestError::Text));
    assert_eq!(
        search(json!({ "query": { "text": "x" }, "pageSize": 101 })),
        Err(ard::RequestError::PageSize)
    );
    assert_eq!(
        search(json!({ "query": { "text": "x", "filter": { "secret": ["a"] } } })),
        Err(ard::RequestError::Field)
    );
    let response = ard::SearchResponse {
        results: vec![ard::SearchResult {
            entry: ard::entry(&seen()),
            score: 90,
            source: "https://saem.example".to_owned(),
        }],
        referrals: Vec::new(),
        page_token: None,
    };
    let written = serde_json::to_value(&response).unwrap();
    assert_eq!(written.as_object().unwrap().keys().collect::<Vec<_>>(), ["results"]);
    assert_eq!(written["results"][0]["score"], 90);
    assert_eq!(written["results"][0]["identifier"], "urn:air:example.com:draw");
    let counts = Counts { buckets: vec![("image".to_owned(), 2)], other: 1 };
    let explored = ard::explore_response(&BTreeMap::from([("tags".to_owned(), counts)]));
    assert_eq!(
        explored,
        json!({ "resultType": "facets", "facets": { "tags": { "buckets": [{ "value": "image", "count": 2 }], "otherCount": 1 } } })
    );
    let manifest = ard::Manifest {
        spec_version: Some("1.0".to_owned()),
        host: None,
        entries: vec![ard::entry(&seen())],
    };
    assert_eq!(serde_json::to_value(&manifest).unwrap()["specVersion"], "1.0");
    assert_eq!(
        ard::ArdError::NotFound.body("x"),
        json!({ "errorCode": "NOT_FOUND", "message": "x" })
    );
}

proptest! {
    #[test]
    fn what_strangers_send_to_a_catalogue_is_read_or_refused(value in crate::samples::any_json(), text in "\\PC{0,40}") {
        let _ = ard::parse(&text);
        let _ = ard::publisher(&text);
        if let Ok(stranger) = crate::wire::read_card(&value) {
            let _ = faults(&stranger);
            let _ = changes::between(&stranger, &card());
        }
        if let Ok(entry) = serde_json::from_value::<ard::CatalogEntry>(value) {
            let _ = entry.check();
        }
    }
}
