//! The catalogue's rules: who sees what, what breaks whom, what is taken, found, counted and dropped.

mod ard;

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::disclosure::{Caller, Field, Tier, View, indexed_texts, view};
use super::facets::{Counts, Facet, count};
use super::health::{Condition, Outcome, Policy};
use super::query::{Capability, Query, matches};
use super::validation::{Severity, faults};
use super::*;
use crate::model::{
    Capabilities, CardSignature, Extension, Interface, Provider, SecurityScheme,
    SecuritySchemeKind, Skill,
};
use crate::samples::moment;
use crate::version::Version;

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn card() -> AgentCard {
    let bearer = SecurityScheme {
        description: None,
        kind: SecuritySchemeKind::Http { scheme: "Bearer".to_owned(), bearer_format: None },
    };
    AgentCard {
        name: "그림 에이전트".to_owned(),
        description: "Draws pictures".to_owned(),
        version: "1.0.0".to_owned(),
        interfaces: vec![Interface {
            url: "https://draw.example.com/a2a".to_owned(),
            binding: "JSONRPC".to_owned(),
            version: Some("1.0".to_owned()),
            tenant: None,
        }],
        provider: Some(Provider {
            organization: "Example".to_owned(),
            url: "https://example.com".to_owned(),
        }),
        capabilities: Capabilities { streaming: Some(true), ..Capabilities::default() },
        security_schemes: BTreeMap::from([("bearer".to_owned(), bearer)]),
        security: vec![BTreeMap::from([("bearer".to_owned(), Vec::new())])],
        default_input_modes: words(&["text/plain"]),
        default_output_modes: words(&["image/png"]),
        skills: vec![Skill {
            id: "draw".to_owned(),
            name: "이미지 생성".to_owned(),
            description: "Makes an image".to_owned(),
            tags: words(&["image", "그림"]),
            examples: words(&["고양이를 그려 줘", "draw a cat"]),
            security: vec![BTreeMap::from([("bearer".to_owned(), Vec::new())])],
            ..Skill::default()
        }],
        signatures: vec![CardSignature {
            protected: "e30".to_owned(),
            signature: "AA".to_owned(),
            header: None,
        }],
        ..AgentCard::default()
    }
}

fn entry(disclosure: Disclosure) -> Entry {
    let mut entry = Entry {
        identifier: "urn:air:example.com:draw".to_owned(),
        owner: "mina".to_owned(),
        standing: Standing::Approved,
        disclosure,
        versions: Vec::new(),
        registered_at: moment(0),
        health: Health::default(),
        source: None,
    };
    assert!(entry.update(card(), moment(0)).is_empty());
    entry
}

fn known(subject: &str, partners: &[&str]) -> Caller {
    Caller::Known { subject: subject.to_owned(), partners: words(partners).into_iter().collect() }
}

/// Callers, each with the tiers that it reaches, in the order of `tiers`.
fn callers() -> Vec<(Caller, [bool; 5])> {
    vec![
        (Caller::Anonymous, [true, false, false, false, false]),
        (known("joon", &[]), [true, true, false, false, false]),
        (known("joon", &["acme"]), [true, true, true, false, false]),
        (known("joon", &["acme", "beta"]), [true, true, true, true, false]),
        (known("mina", &[]), [true; 5]),
        (Caller::Keeper, [true; 5]),
    ]
}

fn tiers() -> [Tier; 5] {
    let partner = |name: &str| Tier::Partner(name.to_owned());
    [Tier::Public, Tier::Authenticated, partner("acme"), partner("beta"), Tier::Private]
}

#[test]
fn every_caller_sees_what_its_tier_reaches_and_nothing_else() {
    for (caller, reaches) in callers() {
        for (agent, tier) in tiers().into_iter().enumerate() {
            for field in [Field::Url, Field::Skills, Field::Security] {
                for (more, field_tier) in tiers().into_iter().enumerate() {
                    let mut disclosure = Disclosure::of(tier.clone());
                    match field {
                        Field::Url => disclosure.url = Some(field_tier),
                        Field::Skills => disclosure.skills = Some(field_tier),
                        Field::Security => disclosure.security = Some(field_tier),
                    }
                    let entry = entry(disclosure);
                    let seen = view(&entry, &caller);
                    assert_eq!(seen.is_some(), reaches[agent], "{caller:?} {entry:?}");
                    let Some(seen) = seen else { continue };
                    let shown = reaches[more];
                    check_card(&seen.card, field, shown);
                    assert_eq!(seen.card == card(), shown);
                    assert_eq!(
                        seen.card.signatures.is_empty(),
                        !shown,
                        "a part is not what was signed"
                    );
                }
            }
        }
    }
}

#[track_caller]
fn check_card(card: &AgentCard, field: Field, shown: bool) {
    let (url, skills) = (!card.interfaces.is_empty(), !card.skills.is_empty());
    let text = serde_json::to_string(card).unwrap();
    match field {
        Field::Url => {
            assert_eq!((url, skills), (shown, true));
            assert_eq!(text.contains("draw.example.com"), shown);
        }
        Field::Skills => {
            assert_eq!((url, skills), (true, shown));
            assert_eq!(text.contains("이미지"), shown);
        }
        Field::Security => {
            assert_eq!((url, skills), (true, true));
            assert_eq!(text.contains("bearer"), shown);
        }
    }
}

#[test]
fn what_is_pending_is_there_for_its_owner_and_the_keepers_alone() {
    let mut entry = entry(Disclosure::of(Tier::Public));
    entry.standing = Standing::Pending;
    let sees: Vec<bool> =
        callers().iter().map(|(caller, _)| view(&entry, caller).is_some()).collect();
    assert_eq!(sees, [false, false, false, false, true, true]);
}

#[test]
fn a_search_counts_only_words_that_the_caller_may_see() {
    let entry = entry(Disclosure { skills: Some(Tier::Private), ..Disclosure::of(Tier::Public) });
    let texts = indexed_texts(&entry);
    let visible = |caller: &Caller| -> String {
        texts.iter().filter(|text| text.is_for(caller)).map(|text| text.text.as_str()).collect()
    };
    assert!(!visible(&Caller::Anonymous).contains("이미지"));
    assert!(visible(&Caller::Anonymous).contains("Draws pictures"));
    assert!(visible(&Caller::Keeper).contains("고양이를 그려 줘"));
}

#[test]
fn a_tier_reads_back_as_it_was_written() {
    for tier in tiers() {
        assert_eq!(tier.to_string().parse(), Ok(tier));
    }
    for text in ["", "Public", "partner", "partner:", "partner:a\nb", "secret"] {
        assert!(text.parse::<Tier>().is_err(), "{text}");
    }
}

fn seen() -> View {
    view(&entry(Disclosure::of(Tier::Public)), &Caller::Anonymous).unwrap()
}

#[track_caller]
fn check_query(query: &Query, expected: bool) {
    assert_eq!(matches(query, &seen()), expected, "{query:?}");
}

#[test]
fn agents_are_found_by_skill_tag_provider_capability_mode_and_version() {
    let text = |text: &str| Some(text.to_owned());
    check_query(&Query::default(), true);
    for (skill, found) in [("draw", true), ("이미지 생성", true), ("DRAW", true), ("그림", false)]
    {
        check_query(&Query { skill: text(skill), ..Query::default() }, found);
    }
    check_query(&Query { tags: words(&["그림", "Image"]), ..Query::default() }, true);
    check_query(&Query { tags: words(&["그림", "sound"]), ..Query::default() }, false);
    check_query(&Query { provider: text("example"), ..Query::default() }, true);
    check_query(&Query { provider: text("other"), ..Query::default() }, false);
    check_query(&Query { capabilities: vec![Capability::Streaming], ..Query::default() }, true);
    check_query(
        &Query { capabilities: vec![Capability::PushNotifications], ..Query::default() },
        false,
    );
    for (mode, found) in [
        ("image/png", true),
        ("image/*", true),
        ("*/*", true),
        ("image/gif", false),
        ("im*", false),
    ] {
        check_query(&Query { output_mode: text(mode), ..Query::default() }, found);
    }
    check_query(&Query { input_mode: text("text/plain; charset=utf-8"), ..Query::default() }, true);
    check_query(&Query { protocol: Some(Version::V1_0), ..Query::default() }, true);
    check_query(&Query { protocol: Some(Version::V0_3), ..Query::default() }, false);
    check_query(&Query { version: text("1.0.0"), ..Query::default() }, true);
    assert_eq!(Capability::read("push"), Some(Capability::PushNotifications));
}

#[test]
fn what_is_hidden_is_neither_matched_nor_counted() {
    let hidden = entry(Disclosure { skills: Some(Tier::Private), ..Disclosure::of(Tier::Public) });
    let views = [seen(), view(&hidden, &Caller::Anonymous).unwrap()];
    let query = Query { tags: words(&["image"]), ..Query::default() };
    assert_eq!(views.iter().filter(|view| matches(&query, view)).count(), 1);
    let buckets = |facet, max| count(&views, facet, max, 1);
    let pair = |value: &str, count| (value.to_owned(), count);
    assert_eq!(buckets(Facet::Tag, 9).buckets, [pair("image", 1), pair("그림", 1)]);
    assert_eq!(buckets(Facet::Provider, 9).buckets, [pair("Example", 2)]);
    assert_eq!(buckets(Facet::Capability, 9).buckets, [pair("streaming", 2)]);
    assert_eq!(buckets(Facet::Tag, 1), Counts { buckets: vec![pair("image", 1)], other: 1 });
    assert_eq!(count(&views, Facet::Tag, 9, 2), Counts::default());
}

#[track_caller]
fn check_change(change: impl FnOnce(&mut AgentCard), field: &str, effect: changes::Effect) {
    let mut new = card();
    change(&mut new);
    let found = changes::between(&card(), &new);
    assert!(
        found.iter().any(|change| change.field == field && change.effect == effect),
        "{field}: {found:?}"
    );
    let breaks = effect == changes::Effect::Breaking;
    assert_eq!(changes::is_breaking(&found), breaks, "{found:?}");
}

#[test]
fn what_takes_something_away_is_breaking() {
    use changes::Effect::{Breaking, Compatible};
    check_change(|card| card.skills.clear(), "skills", Breaking);
    check_change(
        |card| card.skills.push(Skill { id: "new".to_owned(), ..Skill::default() }),
        "skills",
        Compatible,
    );
    check_change(
        |card| card.skills[0].output_modes = words(&["image/gif"]),
        "skills.draw.outputModes",
        Breaking,
    );
    check_change(
        |card| card.skills[0].input_modes = words(&["text/plain", "audio/wav"]),
        "skills.draw.inputModes",
        Compatible,
    );
    check_change(
        |card| card.skills[0].description = "x".to_owned(),
        "skills.draw.description",
        Compatible,
    );
    check_change(|card| card.default_output_modes.clear(), "defaultOutputModes", Breaking);
    check_change(|card| card.capabilities.streaming = None, "capabilities", Breaking);
    check_change(
        |card| card.capabilities.push_notifications = Some(true),
        "capabilities",
        Compatible,
    );
    check_change(
        |card| card.interfaces[0].version = Some("2.0".to_owned()),
        "supportedInterfaces",
        Breaking,
    );
    check_change(
        |card| card.interfaces[0].url = "https://new.example.com".to_owned(),
        "supportedInterfaces",
        Compatible,
    );
    check_change(
        |card| card.security[0] = BTreeMap::from([("key".to_owned(), vec![])]),
        "securityRequirements",
        Breaking,
    );
    check_change(|card| card.security.clear(), "securityRequirements", Compatible);
    check_change(|card| card.version = "2".to_owned(), "version", Compatible);
    let extension =
        Extension { uri: "x".to_owned(), description: None, required: Some(true), params: None };
    check_change(
        |card| card.capabilities.extensions.push(extension),
        "capabilities.extensions",
        Breaking,
    );
    let mut open = card();
    open.security.clear();
    assert!(changes::is_breaking(&changes::between(&open, &card())));
}

#[test]
fn versions_are_kept_up_to_a_limit_and_a_new_signature_is_none() {
    let mut entry = entry(Disclosure::of(Tier::Public));
    let mut resigned = card();
    resigned.signatures[0].signature = "BB".to_owned();
    assert!(entry.update(resigned.clone(), moment(1)).is_empty());
    assert_eq!((entry.versions.len(), entry.card()), (1, Some(&resigned)));
    for number in 0..VERSIONS_MAX {
        let version = format!("2.{number}");
        assert_eq!(entry.update(AgentCard { version, ..card() }, moment(2)).len(), 1);
    }
    assert_eq!(entry.versions.len(), VERSIONS_MAX);
    assert_eq!(entry.versions.last().unwrap().number as usize, VERSIONS_MAX + 1);
    assert_eq!(entry.updated_at(), moment(2));
    let written = serde_json::to_string(&entry).unwrap();
    assert_eq!(serde_json::from_str::<Entry>(&written).unwrap(), entry);
}

#[track_caller]
fn check_fault(change: impl FnOnce(&mut AgentCard), field: &str, severity: Severity) {
    let mut wrong = card();
    change(&mut wrong);
    let found = faults(&wrong);
    let fields: Vec<_> = found.iter().map(|fault| (fault.field.as_str(), fault.severity)).collect();
    assert_eq!(fields, [(field, severity)]);
}

#[test]
fn a_card_that_nobody_could_use_is_refused() {
    use Severity::{Advice, Error};
    assert_eq!(faults(&card()), []);
    check_fault(|card| card.name = " ".to_owned(), "name", Error);
    check_fault(|card| card.interfaces.clear(), "supportedInterfaces", Error);
    check_fault(
        |card| card.interfaces[0].url = "/a2a".to_owned(),
        "supportedInterfaces[0].url",
        Error,
    );
    check_fault(
        |card| card.interfaces[0].url = "https://u:p@x.example".to_owned(),
        "supportedInterfaces[0].url",
        Error,
    );
    check_fault(
        |card| card.interfaces[0].url = "http://x.example".to_owned(),
        "supportedInterfaces[0].url",
        Advice,
    );
    check_fault(
        |card| card.interfaces[0].version = Some("9".to_owned()),
        "supportedInterfaces[0].protocolVersion",
        Advice,
    );
    check_fault(|card| card.skills.clear(), "skills", Error);
    check_fault(|card| card.skills.push(card.skills[0].clone()), "skills[1].id", Error);
    check_fault(|card| card.skills[0].tags.clear(), "skills[0].tags", Advice);
    check_fault(|card| card.default_input_modes = words(&["text"]), "defaultInputModes", Advice);
    check_fault(
        |card| card.security[0] = BTreeMap::from([("gone".to_owned(), vec![])]),
        "securityRequirements",
        Error,
    );
    check_fault(|card| card.icon_url = Some("javascript:alert(1)".to_owned()), "iconUrl", Error);
    let mut local = card();
    local.interfaces[0].url = "http://127.0.0.1:8080/a2a".to_owned();
    let grpc = Interface {
        url: "agent.example.com:443".to_owned(),
        binding: "GRPC".to_owned(),
        ..local.interfaces[0].clone()
    };
    local.interfaces.push(grpc);
    assert_eq!(faults(&local), []);
}

#[test]
fn an_agent_that_does_not_come_back_is_given_up() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let policy = Policy {
        check_every: minutes(10),
        check_at_least_every: minutes(60),
        failures_until_down: 2,
        evict_after: Some(minutes(100)),
    };
    let at = |minutes: i64| moment(minutes * 60_000);
    let mut health = Health::default();
    assert_eq!(
        (health.condition(&policy), health.uptime_thousandths()),
        (Condition::Unknown, None)
    );
    assert_eq!(health.next_check(&policy), None);
    health.observe(Outcome::Answered, at(0));
    assert_eq!(health.condition(&policy), Condition::Up);
    assert_eq!(health.next_check(&policy), Some(at(10)));
    health.observe(Outcome::Failed, at(10));
    assert_eq!(health.condition(&policy), Condition::Failing);
    assert_eq!(health.next_check(&policy), Some(at(30)));
    health.observe(Outcome::Failed, at(30));
    assert_eq!(health.condition(&policy), Condition::Down);
    assert_eq!(health.uptime_thousandths(), Some(333));
    health.observe(Outcome::Answered, at(5));
    assert_eq!(health.condition(&policy), Condition::Down, "an old check says nothing");
    health.observe(Outcome::Failed, at(70));
    assert_eq!(health.next_check(&policy), Some(at(130)), "never more seldom than the policy says");
    assert!(!health.is_given_up(&policy, at(109)));
    assert!(health.is_given_up(&policy, at(110)));
    assert!(!health.is_given_up(&Policy { evict_after: None, ..policy.clone() }, at(1_000_000)));
    health.observe(Outcome::Answered, at(120));
    assert!(!health.is_given_up(&policy, at(1000)));
    for minute in 200..4000 {
        health.observe(Outcome::Answered, at(minute));
    }
    assert!(health.checks <= 1000 && health.uptime_thousandths() > Some(990));
}

#[test]
fn an_identifier_belongs_to_its_domain_and_its_first_owner() {
    use super::registration::{Proof, Registration, RegistrationError, decide};
    let fetched = |url: &str| Proof::Fetched(url.to_owned());
    let identifier = "urn:air:example.com:draw";
    let joon = known("joon", &[]);
    for (proof, expected) in [
        (fetched("https://example.com/.well-known/agent-card.json"), Ok(Registration::New)),
        (fetched("https://A2A.Example.com:8443/x"), Ok(Registration::New)),
        (fetched("https://evilexample.com/"), Err(RegistrationError::Unproven)),
        (fetched("https://example.com@evil.example/"), Err(RegistrationError::Unproven)),
        (fetched("https://example.com:x@evil.example/"), Err(RegistrationError::Unproven)),
        (fetched("https://example.com.evil.example/"), Err(RegistrationError::Unproven)),
        (Proof::Signed { host: "keys.example.com".to_owned() }, Ok(Registration::New)),
        (Proof::Vouched, Err(RegistrationError::Unproven)),
    ] {
        assert_eq!(decide(identifier, None, &joon, &proof), expected, "{proof:?}");
    }
    assert_eq!(decide(identifier, None, &Caller::Keeper, &Proof::Vouched), Ok(Registration::New));
    assert_eq!(decide("draw", None, &joon, &Proof::Vouched), Err(RegistrationError::Identifier));
    let tld = "urn:air:com:draw";
    assert_eq!(
        decide(tld, None, &joon, &fetched("https://x.com")),
        Err(RegistrationError::Unproven)
    );
    let proof = fetched("https://example.com/");
    let shown = entry(Disclosure::of(Tier::Public));
    assert_eq!(
        decide(identifier, Some(&shown), &known("mina", &[]), &proof),
        Ok(Registration::Update)
    );
    assert_eq!(decide(identifier, Some(&shown), &joon, &proof), Err(RegistrationError::Taken));
    let hidden = entry(Disclosure::of(Tier::Private));
    assert_eq!(
        decide(identifier, Some(&hidden), &joon, &proof),
        Err(RegistrationError::Unavailable)
    );
}

#[test]
fn among_equally_relevant_agents_those_that_answer_come_first() {
    use super::query::rank;
    let policy = Policy::default();
    let health = |outcomes: &[Outcome]| {
        let mut health = Health::default();
        outcomes.iter().zip(0i64..).for_each(|(outcome, at)| health.observe(*outcome, moment(at)));
        health
    };
    use Outcome::{Answered, Failed};
    let best_first = [
        rank(80, &health(&[Answered]), &policy),
        rank(50, &health(&[Answered, Answered]), &policy),
        rank(50, &health(&[Failed, Answered]), &policy),
        rank(50, &health(&[]), &policy),
        rank(50, &health(&[Answered, Failed]), &policy),
        rank(50, &health(&[Failed, Failed, Failed]), &policy),
        rank(49, &health(&[Answered]), &policy),
    ];
    assert!(best_first.is_sorted_by(|better, worse| better > worse), "{best_first:?}");
}
