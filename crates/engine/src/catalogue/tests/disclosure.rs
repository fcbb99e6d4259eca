//! What a caller may not see looks as if it were not there: every answer is compared with that of a catalogue that
//! really does not have it.

use a2a::registry::ard::{ExploreRequest, SearchRequest};
use a2a::registry::query::Query;
use a2a::wire::read_card;

use super::*;

/// Who asks, and which tiers that caller reaches.
fn callers() -> Vec<(Option<Principal>, Vec<Tier>)> {
    let partner = Tier::Partner("globex".to_owned());
    vec![
        (None, vec![Tier::Public]),
        (Some(somebody("eve")), vec![Tier::Public, Tier::Authenticated]),
        (Some(somebody("globex")), vec![Tier::Public, Tier::Authenticated, partner]),
        (Some(somebody("acme")), tiers()),
        (Some(keeper()), tiers()),
    ]
}

fn tiers() -> Vec<Tier> {
    let partner = Tier::Partner("globex".to_owned());
    vec![Tier::Public, Tier::Authenticated, partner, Tier::Private]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Agent,
    Url,
    Skills,
    Security,
}

const PARTS: [Part; 4] = [Part::Agent, Part::Url, Part::Skills, Part::Security];

/// The secret agent, with one part of it in a tier.
fn secret(part: Part, tier: &Tier) -> Entry {
    let mut card = card("Secret", "secret.example.com");
    card["description"] = json!("Hides marzipan");
    card["skills"][0]["name"] = json!("Smuggling");
    card["skills"][0]["tags"] = json!(["contraband"]);
    card["skills"][0]["description"] = json!("Carries truffles");
    card["securitySchemes"] = json!({
        "badge": { "apiKeySecurityScheme": { "location": "header", "name": "X-Badge" } }
    });
    card["securityRequirements"] = json!([{ "schemes": { "badge": { "list": [] } } }]);
    let mut entry = queries::entry("secret", "acme", &read_card(&card).unwrap());
    let public = Tier::Public;
    entry.disclosure = match part {
        Part::Agent => Disclosure::of(tier.clone()),
        Part::Url => Disclosure { url: Some(tier.clone()), ..Disclosure::of(public) },
        Part::Skills => Disclosure { skills: Some(tier.clone()), ..Disclosure::of(public) },
        Part::Security => Disclosure { security: Some(tier.clone()), ..Disclosure::of(public) },
    };
    entry
}

/// The same catalogue as it would be if the part did not exist.
fn without(part: Part) -> Vec<Entry> {
    let mut entry = secret(part, &Tier::Public);
    let card = &mut entry.versions.last_mut().unwrap().card;
    match part {
        Part::Agent => return vec![other()],
        Part::Url => card.interfaces.clear(),
        Part::Skills => card.skills.clear(),
        Part::Security => {
            card.security_schemes.clear();
            card.security.clear();
        }
    }
    vec![entry, other()]
}

fn other() -> Entry {
    queries::entry("other", "globex", &read_card(&card("Other", "other.example.com")).unwrap())
}

/// Everything that a caller can be told, in one text.
async fn everything(world: &World, who: Option<&Principal>) -> String {
    let caller = world.catalogue.caller(who);
    let catalogue = &world.catalogue;
    let mut told = Vec::new();
    let text = |text: &str| Some(text.to_owned());
    let queries = [
        Query::default(),
        Query { skill: text("smuggling"), ..Query::default() },
        Query { tags: vec!["contraband".to_owned()], ..Query::default() },
        Query { protocol: a2a::version::Version::read("1.0"), ..Query::default() },
    ];
    for words in [None, Some("marzipan"), Some("truffles contraband"), Some("pictures")] {
        for query in &queries {
            let find = Find {
                text: words.map(str::to_owned),
                query: query.clone(),
                limit: 1,
                after: None,
            };
            told.push(format!("{:?}", catalogue.find(&caller, &find).await));
        }
        let query = json!({ "query": { "text": words.unwrap_or("draw") } });
        let search: SearchRequest = serde_json::from_value(query).unwrap();
        told.push(format!("{:?}", catalogue.search(&caller, &search, "here").await));
    }
    let filter = json!({ "data.skills.tags": ["contraband"] });
    let search = json!({ "query": { "text": "draw pictures", "filter": filter } });
    let search: SearchRequest = serde_json::from_value(search).unwrap();
    told.push(format!("{:?}", catalogue.search(&caller, &search, "here").await));
    let fields = [
        "skill",
        "tags",
        "capabilities",
        "protocolVersion",
        "data.supportedInterfaces.url",
        "data.securitySchemes.badge.apiKeySecurityScheme.name",
        "publisher",
    ];
    let facets: Vec<Value> = fields.iter().map(|field| json!({ "field": field })).collect();
    let explore = json!({ "resultType": { "facets": facets } });
    let explore: ExploreRequest = serde_json::from_value(explore).unwrap();
    told.push(format!("{:?}", catalogue.explore(&caller, &explore).await));
    told.push(format!("{:?}", catalogue.agents(&caller, &AgentsQuestion::default()).await));
    let identifier = "urn:air:agents.example.com:secret";
    told.push(format!("{:?}", catalogue.show_one(&caller, identifier).await));
    if let Some(who) = who {
        let change = Change { standing: Some(Standing::Deprecated), ..Change::default() };
        if *who != somebody("acme") && *who != keeper() {
            told.push(format!("{:?}", catalogue.remove(who, identifier).await));
            told.push(format!("{:?}", catalogue.change(who, identifier, change).await));
        }
        let lines = catalogue.export(who);
        told.push(format!("{lines:?}"));
    }
    told.join("\n")
}

#[tokio::test]
async fn what_a_caller_may_not_see_looks_as_if_it_were_not_there() {
    let (mut hidden, mut shown) = (0, 0);
    for part in PARTS {
        for tier in tiers() {
            let world = World::with(&[secret(part, &tier), other()], rules()).await;
            let absent = World::with(&without(part), rules()).await;
            let whole = World::with(&[secret(part, &Tier::Public), other()], rules()).await;
            for (who, reached) in callers() {
                let told = everything(&world, who.as_ref()).await;
                let case = format!("{part:?} in {tier} for {who:?}");
                if reached.contains(&tier) {
                    let is_own = who
                        .as_ref()
                        .is_some_and(|who| *who == somebody("acme") || *who == keeper());
                    // Owners read the tiers themselves, which differ.
                    if !is_own {
                        assert_eq!(told, everything(&whole, who.as_ref()).await, "{case}");
                    }
                    shown += 1;
                } else {
                    assert_eq!(told, everything(&absent, who.as_ref()).await, "{case}");
                    hidden += 1;
                }
            }
        }
    }
    assert_eq!((hidden, shown), (24, 56));
}

#[tokio::test]
async fn an_agent_that_waits_is_not_there_for_others_whatever_its_tier() {
    let mut waiting = secret(Part::Agent, &Tier::Public);
    waiting.standing = Standing::Pending;
    let world = World::with(&[waiting, other()], rules()).await;
    let absent = World::with(&[other()], rules()).await;
    for who in [None, Some(somebody("eve")), Some(somebody("globex"))] {
        let told = everything(&world, who.as_ref()).await;
        assert_eq!(told, everything(&absent, who.as_ref()).await, "{who:?}");
    }
    assert_eq!(world.seen(Some(&somebody("acme"))).await.len(), 2);
}
