//! Cards: where they are found, how long they are kept, and what is believed of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};

use super::*;

#[tokio::test]
async fn a_card_is_looked_for_where_each_version_has_it() {
    let world = World::new(rules(), |heard| match heard.line.as_str() {
        "GET http://agent.test/.well-known/agent.json" => json_reply(&card_of_0_3(AT)),
        _ => not_found(),
    });
    let agent = world.peers.agent("http://agent.test/below/").await.unwrap();
    assert_eq!(agent.spoken(), "0.3 JSONRPC");
    let below = [
        "/below/.well-known/agent-card.json",
        "/below/.well-known/agent.json",
        "/below/agent.json",
    ];
    let above = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
    let expected = below.into_iter().chain(above).map(|path| format!("GET {AT}{path}"));
    assert_eq!(world.lines(), expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_card_is_kept_as_long_as_it_says_and_then_asked_for_by_its_tag() {
    let world = World::new(rules(), |heard| {
        let headers =
            vec![("etag", "\"v1\"".to_owned()), ("cache-control", "max-age=60".to_owned())];
        if heard.header("if-none-match") == Some("\"v1\"") {
            return Reply { trailers: Trailers::default(), status: 304, headers, body: bytes("") };
        }
        Reply { headers, ..json_reply(&card_of_1_0("JSONRPC", AT)) }
    });
    for _ in 0..2 {
        world.peers.agent(AT).await.unwrap();
    }
    assert_eq!(world.lines().len(), 1);
    world.clock.advance(61_000);
    world.peers.agent(AT).await.unwrap();
    assert_eq!(world.lines().len(), 2);
    assert!(world.last().header("if-none-match").is_some());
    world.peers.agent(AT).await.unwrap();
    assert_eq!(world.lines().len(), 2, "what was confirmed holds again");
}

#[tokio::test]
async fn credentials_go_to_the_agents_own_addresses_and_to_nobody_elses() {
    for (url, is_own) in [
        ("http://agent.test/rpc", true),
        ("http://api.test/rpc", true),
        ("http://agent.test:81/rpc", false),
        ("https://agent.test/rpc", false),
        ("http://evil.test/rpc", false),
        ("http://127.0.0.1/rpc", false),
    ] {
        let mut agent = configured("painter", Source::Address(AT.to_owned()));
        agent.origins = vec!["http://api.test".to_owned()];
        let card = card_of_1_0("JSONRPC", url);
        let world = World::new(PeerRules { agents: vec![agent], ..rules() }, move |heard| {
            if is_card(heard) {
                json_reply(&card)
            } else {
                result(heard, &json!({ "task": task("COMPLETED") }))
            }
        });
        world.ask("painter", Order::text("hi")).await.unwrap();
        let last = world.last();
        let expected = if is_own { Reach::WrittenDown } else { Reach::Stranger };
        assert_eq!(last.reach, expected, "{url}");
        assert_eq!(last.header("authorization").is_some(), is_own, "{url}");
    }
}

#[tokio::test]
async fn a_card_that_cannot_be_used_says_why() {
    let mut deep = json!({});
    for _ in 0..120 {
        deep = json!({ "x": deep });
    }
    let mut demanding = card_of_1_0("JSONRPC", AT);
    demanding["capabilities"]["extensions"] = json!([{ "uri": "urn:x", "required": true }]);
    for (card, words) in [
        (json!([]), "cannot be used"),
        (json!({ "name": "x" }), "cannot be used"),
        (deep, "cannot be used"),
        (card_of_1_0("CARRIER-PIGEON", AT), "CARRIER-PIGEON"),
        (card_of_1_0("JSONRPC", "file:///etc/passwd"), "no web address"),
        (demanding, "urn:x"),
    ] {
        let world = World::new(rules(), move |_| json_reply(&card));
        let refused = world.peers.agent(AT).await.err().unwrap();
        assert!(matches!(refused, PeerError::Card(_)), "{refused:?}");
        assert!(refused.to_string().contains(words), "{refused}");
    }
}

#[tokio::test]
async fn what_is_too_large_leads_elsewhere_or_is_closed_is_no_card() {
    let endless = || Reply {
        trailers: Trailers::default(),
        status: 200,
        headers: Vec::new(),
        body: stream::repeat_with(|| Ok(vec![b' '; 65_536])).boxed(),
    };
    let cases: [(Box<Script>, &str); 4] = [
        (Box::new(move |_: &Heard| endless()), "more than"),
        (Box::new(|_: &Heard| status_reply(302, &json!({}))), "redirect"),
        (Box::new(|_: &Heard| status_reply(401, &json!({}))), "who calls"),
        (Box::new(|_: &Heard| not_found()), "no card at"),
    ];
    for (script, words) in cases {
        let world = World::new(rules(), script);
        let refused = world.peers.agent(AT).await.err().unwrap().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

/// A signed card, and the set with its key.
fn signed(jku: Option<&str>) -> (Value, Value) {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let mut card = card_of_1_0("JSONRPC", AT);
    let header = a2a::card::SigningHeader {
        algorithm: a2a::card::Algorithm::EdDsa,
        key_id: "k1".to_owned(),
        jku: jku.map(str::to_owned),
    };
    let read = a2a::card::read(&card).unwrap();
    let sign = |bytes: &[u8]| Ok::<_, ()>(pair.sign(bytes).as_ref().to_vec());
    let signatures = a2a::card::sign(&read, &header, sign).unwrap();
    let signatures = signatures
        .iter()
        .map(|one| json!({ "protected": one.protected, "signature": one.signature }));
    card["signatures"] = signatures.collect();
    let x = URL_SAFE_NO_PAD.encode(pair.public_key());
    (card, json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": x }] }))
}

#[tokio::test]
async fn a_signature_counts_by_keys_that_were_written_down() {
    let (card, keys) = signed(None);
    let agent = |keys: Option<Value>| AgentSettings {
        keys,
        must_be_signed: true,
        ..configured("painter", Source::Card(card.clone()))
    };
    let found = async |agent: AgentSettings| {
        let world = World::new(PeerRules { agents: vec![agent], ..rules() }, |_| not_found());
        world.peers.agent("painter").await.map(|agent| agent.card().signature.clone())
    };
    let holds = Signature::Holds { key_id: "k1".to_owned() };
    assert_eq!(found(agent(Some(keys.clone()))).await.unwrap(), holds);
    assert!(matches!(found(agent(None)).await, Err(PeerError::Card(_))), "no key is known");
    let mut other = keys.clone();
    other["keys"][0]["kid"] = json!("k2");
    assert!(matches!(found(agent(Some(other))).await, Err(PeerError::Card(_))), "another key");
    let mut tampered = agent(Some(keys));
    tampered.must_be_signed = false;
    let mut lie = card.clone();
    lie["name"] = json!("Forger");
    tampered.source = Source::Card(lie);
    assert!(matches!(found(tampered).await, Err(PeerError::Card(_))), "changed by somebody else");
}

#[tokio::test]
async fn keys_that_a_card_names_count_only_on_its_own_address() {
    for (jku, expected) in [
        ("http://agent.test/keys", Signature::Holds { key_id: "k1".to_owned() }),
        ("http://evil.test/keys", Signature::Unchecked),
    ] {
        let (card, keys) = signed(Some(jku));
        let world =
            World::new(
                rules(),
                move |heard| {
                    if is_card(heard) { json_reply(&card) } else { json_reply(&keys) }
                },
            );
        assert_eq!(world.peers.agent(AT).await.unwrap().card().signature, expected);
        assert!(!world.lines().iter().any(|line| line.contains("evil")), "nobody asks a stranger");
    }
}

fn catalogue(entry: &Value) -> impl Fn(&Heard) -> Reply + Send + Sync + 'static {
    let results = json!({ "results": [entry] });
    move |heard| match heard.line.as_str() {
        "POST http://catalogue.test/ard/search" => json_reply(&results),
        line if line.ends_with("agent-card.json") => {
            json_reply(&card_of_1_0("JSONRPC", "http://painter.test/"))
        }
        _ => result(heard, &json!({ "task": task("COMPLETED") })),
    }
}

#[tokio::test]
async fn an_agent_of_a_catalogue_is_a_strangers() {
    let identifier = "urn:air:painter.test:painter";
    let entry = json!({
        "identifier": identifier, "displayName": "Painter", "type": "application/a2a-agent-card+json",
        "url": "http://painter.test/.well-known/agent-card.json", "score": 90, "source": "http://catalogue.test/ard",
    });
    let registries = vec!["http://catalogue.test/ard".to_owned()];
    let world = World::new(PeerRules { registries, ..rules() }, catalogue(&entry));
    let found = world.peers.search("그림", None, 5).await.unwrap();
    assert_eq!((found.len(), found[0].score), (1, 90));
    assert_eq!(world.last().body["query"]["text"], "그림");
    world.ask(identifier, Order::text("hi")).await.unwrap();
    let heard = world.net.heard.lock().unwrap().clone();
    let reaches: Vec<Reach> = heard[1..].iter().map(|heard| heard.reach).collect();
    assert_eq!(reaches, [Reach::WrittenDown, Reach::Stranger, Reach::Stranger]);
    let absent = world.peers.agent("urn:air:painter.test:other").await.err().unwrap();
    assert!(matches!(absent, PeerError::Absent(_)), "{absent:?}");
}
