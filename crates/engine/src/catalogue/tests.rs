//! The catalogue in a small world: written pages, a hand-set clock, a store in memory.

mod disclosure;
mod queries;

use std::sync::Arc;

use a2a::registry::disclosure::{Caller, Disclosure, Tier};
use a2a::registry::health::{Condition, Policy};
use a2a::registry::registration::Registration;
use a2a::registry::{Entry, Standing};
use agent::identity::{Principal, Scope};
use agent::ports::{Audit, Embedder, Later};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use testkit::clock::HandClock;
use testkit::entries::{MemoryEntries, WrittenPages};

use super::*;

const HOUR: u64 = 3_600_000;

/// Turns nothing into vectors.
struct Wordless;

impl Embedder for Wordless {
    fn identity(&self) -> &str {
        "none"
    }

    fn dimensions(&self) -> usize {
        0
    }

    fn embed<'a>(
        &'a self,
        _texts: &'a [String],
        _purpose: agent::ports::EmbedFor,
    ) -> Later<'a, Vec<Vec<f32>>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

struct World {
    catalogue: Catalogue,
    entries: Arc<MemoryEntries>,
    pages: Arc<WrittenPages>,
    clock: Arc<HandClock>,
}

impl World {
    async fn new() -> Self {
        Self::with(&[], rules()).await
    }

    /// A catalogue that has these entries already.
    async fn with(known: &[Entry], rules: CatalogueRules) -> Self {
        let entries = Arc::new(MemoryEntries::default());
        for entry in known {
            let keep = agent::ports::KeepEntry {
                identifier: entry.identifier.clone(),
                revision: 0,
                body: serde_json::to_vec(entry).unwrap(),
                tenant: TenantId::local(),
                audit: testkit::samples::audit("agents.register"),
            };
            assert!(entries.keep_entry(keep).await.unwrap());
        }
        let (pages, clock) =
            (Arc::new(WrittenPages::default()), Arc::new(HandClock::at(1_700_000_000_000)));
        let parts = CatalogueParts {
            entries: Arc::clone(&entries) as Arc<dyn AgentEntries>,
            embedder: Arc::new(Wordless),
            pages: Arc::clone(&pages) as Arc<dyn Pages>,
            catalogues: Arc::clone(&pages) as Arc<dyn Catalogues>,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            tasks: Tasks::new(),
        };
        let catalogue = Catalogue::open(parts, rules).await.unwrap();
        Self { catalogue, entries, pages, clock }
    }

    async fn register(&self, who: &Principal, url: &str) -> Result<Registered, CatalogueError> {
        self.catalogue.register(who, by_url(url)).await
    }

    async fn audit(&self, tenant: &str) -> Vec<String> {
        let tenant = tenant.parse().unwrap();
        let lines = Audit::entries(self.entries.as_ref(), &tenant, 100).await.unwrap();
        lines.into_iter().rev().map(|line| format!("{} {}", line.principal, line.action)).collect()
    }

    async fn seen(&self, who: Option<&Principal>) -> Vec<String> {
        let caller = self.catalogue.caller(who);
        let find = Find { limit: 100, ..Find::default() };
        let page = self.catalogue.find(&caller, &find).await.unwrap();
        page.found.into_iter().map(|found| found.view.identifier).collect()
    }
}

fn rules() -> CatalogueRules {
    CatalogueRules {
        keepers: vec![TenantId::local()],
        needs_approval: false,
        health: Policy::default(),
        upstreams: Vec::new(),
    }
}

fn somebody(tenant: &str) -> Principal {
    Principal {
        tenant: tenant.parse().unwrap(),
        name: format!("key:{tenant}"),
        scopes: vec![Scope::Read, Scope::Write],
    }
}

fn keeper() -> Principal {
    Principal::local_owner()
}

fn by_url(url: &str) -> NewAgent {
    let disclosure = Some(Disclosure::of(Tier::Public));
    NewAgent { placed: Placed::Url(url.to_owned()), identifier: None, disclosure }
}

fn card(name: &str, host: &str) -> Value {
    json!({
        "name": name,
        "description": format!("{name} paints"),
        "version": "1.0.0",
        "supportedInterfaces": [
            { "url": format!("https://{host}/a2a"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
        ],
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["image/png"],
        "skills": [{ "id": "draw", "name": "Draw", "description": "Draws pictures", "tags": ["image"] }]
    })
}

const WELL_KNOWN: &str = "https://a.example.com/.well-known/agent-card.json";
const AGENT: &str = "urn:air:a.example.com:painter";

/// A catalogue that everybody may look at, with one agent.
pub(crate) async fn painters() -> Catalogue {
    with_painter().await.catalogue
}

async fn with_painter() -> World {
    let world = World::new().await;
    world.pages.write(WELL_KNOWN, card("Painter", "a.example.com").to_string());
    let registered = world.register(&somebody("acme"), "https://a.example.com").await.unwrap();
    assert_eq!(registered.identifier, AGENT);
    world
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract_of_stores() {
    let entries = MemoryEntries::default();
    testkit::contracts::entries::keeps_its_promise(&entries, &entries).await;
}

#[tokio::test]
async fn an_agent_is_registered_by_its_address_and_survives_a_new_start() {
    let world = with_painter().await;
    assert_eq!(world.seen(None).await, [AGENT]);
    assert_eq!(world.audit("acme").await, ["key:acme agents.register"]);
    let parts = CatalogueParts {
        entries: Arc::clone(&world.entries) as Arc<dyn AgentEntries>,
        embedder: Arc::new(Wordless),
        pages: Arc::clone(&world.pages) as Arc<dyn Pages>,
        catalogues: Arc::clone(&world.pages) as Arc<dyn Catalogues>,
        clock: Arc::clone(&world.clock) as Arc<dyn Clock>,
        tasks: Tasks::new(),
    };
    let again = Catalogue::open(parts, rules()).await.unwrap();
    let (found, own) = again.show_one(&Caller::Keeper, AGENT).await.unwrap();
    assert_eq!((found.condition, found.uptime_thousandths), (Condition::Up, Some(1000)));
    let own = own.unwrap();
    assert_eq!((own.entry.owner.as_str(), own.versions().len()), ("acme", 1));
}

#[tokio::test]
async fn the_old_places_of_a_card_and_its_own_address_are_looked_at_too() {
    let world = World::new().await;
    let acme = somebody("acme");
    let old = card("Old", "old.example.com").to_string();
    world.pages.write("https://old.example.com/.well-known/agent.json", old);
    world.register(&acme, "https://old.example.com/").await.unwrap();
    let many = card("Second", "many.example.com").to_string();
    world.pages.write("https://many.example.com/agents/second.json", many);
    let url = "https://many.example.com/agents/second.json";
    let registered = world.register(&acme, url).await.unwrap();
    assert_eq!(registered.identifier, "urn:air:many.example.com:second");
    let error = world.register(&acme, "https://nobody.example.com").await.unwrap_err();
    assert!(matches!(error, CatalogueError::Refused(_)), "{error}");
}

#[tokio::test]
async fn a_card_is_taken_only_from_its_own_domain() {
    let world = World::new().await;
    let eve = somebody("eve");
    let stolen = card("Painter", "a.example.com").to_string();
    world.pages.write("https://eve.example.net/card.json", stolen.clone());
    let new = NewAgent {
        identifier: Some(AGENT.to_owned()),
        ..by_url("https://eve.example.net/card.json")
    };
    let error = world.catalogue.register(&eve, new).await.unwrap_err();
    assert!(error.to_string().contains("not shown to be"), "{error}");
    // A redirect to somewhere else is no word of the domain that it starts from.
    world.pages.redirect(WELL_KNOWN, "https://eve.example.net/card.json", stolen.clone());
    let new = NewAgent { identifier: Some(AGENT.to_owned()), ..by_url(WELL_KNOWN) };
    assert!(world.catalogue.register(&eve, new).await.is_err());
    // A card that is handed in shows nothing, but to a keeper.
    let new = NewAgent {
        placed: Placed::Card(serde_json::from_str(&stolen).unwrap()),
        identifier: None,
        disclosure: None,
    };
    let error = world.catalogue.register(&eve, new.clone()).await.unwrap_err();
    assert!(error.to_string().contains("sign the card"), "{error}");
    assert_eq!(world.catalogue.register(&keeper(), new).await.unwrap().identifier, AGENT);
}

#[tokio::test]
async fn a_card_that_its_domain_has_signed_is_taken_and_a_changed_one_is_not() {
    let world = World::new().await;
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let key =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
            .unwrap();
    let point = key.public_key().as_ref();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..]));
    let keys = json!({ "keys": [{ "kty": "EC", "crv": "P-256", "kid": "k1", "x": x, "y": y }] });
    let jku = "https://keys.a.example.com/jwks.json";
    let signed = |jku: &str| {
        let mut model = a2a::wire::read_card(&card("Painter", "a.example.com")).unwrap();
        let header = a2a::card::SigningHeader {
            algorithm: a2a::card::Algorithm::Es256,
            key_id: "k1".to_owned(),
            jku: Some(jku.to_owned()),
        };
        let signer = |input: &[u8]| key.sign(&random, input).map(|it| it.as_ref().to_vec());
        model.signatures = a2a::card::sign(&model, &header, signer).unwrap();
        a2a::wire::write_card(a2a::version::Version::V1_0, &model)
    };
    let register = async |card: Value| {
        let new = NewAgent {
            placed: Placed::Card(card),
            identifier: Some("urn:air:a.example.com:painter".to_owned()),
            disclosure: None,
        };
        world.catalogue.register(&somebody("acme"), new).await
    };
    assert!(register(signed(jku)).await.is_err(), "the keys are not there");
    world.pages.write(jku, keys.to_string());
    world.pages.write("https://eve.example.net/jwks.json", keys.to_string());
    let before = world.pages.asked().len();
    assert!(register(signed("https://eve.example.net/jwks.json")).await.is_err());
    assert_eq!(world.pages.asked().len(), before, "keys of strangers are not asked for");
    let mut changed = signed(jku);
    changed["name"] = json!("Somebody else");
    assert!(register(changed).await.is_err());
    assert_eq!(register(signed(jku)).await.unwrap().registration, Registration::New);
}

#[tokio::test]
async fn nobody_takes_over_the_identifier_of_another_and_strangers_learn_nothing() {
    let world = with_painter().await;
    let eve = somebody("eve");
    let error = world.register(&eve, "https://a.example.com").await.unwrap_err();
    assert!(matches!(error, CatalogueError::Conflict(_)), "{error}");
    // Without a say over the domain it does not matter what is there.
    let mut told = Vec::new();
    for name in ["painter", "nobody"] {
        world
            .pages
            .write("https://eve.example.net/c.json", card("X", "eve.example.net").to_string());
        let new = NewAgent {
            identifier: Some(format!("urn:air:a.example.com:{name}")),
            ..by_url("https://eve.example.net/c.json")
        };
        told.push(world.catalogue.register(&eve, new).await.unwrap_err().to_string());
    }
    assert_eq!(told[0], told[1]);
    let remove = |id: &'static str| world.catalogue.remove(&eve, id);
    assert!(matches!(remove(AGENT).await, Err(CatalogueError::Forbidden(_))));
    let hide = Change { disclosure: Some(Disclosure::of(Tier::Private)), ..Change::default() };
    world.catalogue.change(&somebody("acme"), AGENT, hide.clone()).await.unwrap();
    assert!(matches!(remove(AGENT).await, Err(CatalogueError::Absent)));
    assert!(matches!(remove("urn:air:x.example:y").await, Err(CatalogueError::Absent)));
    let changed = world.catalogue.change(&eve, AGENT, hide).await;
    assert!(matches!(changed, Err(CatalogueError::Absent)));
    world.catalogue.remove(&somebody("acme"), AGENT).await.unwrap();
    let said = ["key:acme agents.register", "key:acme agents.disclose", "key:acme agents.remove"];
    assert_eq!(world.audit("acme").await, said);
}

#[tokio::test]
async fn a_new_agent_waits_for_a_keeper_where_the_rules_say_so() {
    let world = World::with(&[], CatalogueRules { needs_approval: true, ..rules() }).await;
    world.pages.write(WELL_KNOWN, card("Painter", "a.example.com").to_string());
    let acme = somebody("acme");
    let registered = world.register(&acme, "https://a.example.com").await.unwrap();
    assert_eq!(registered.standing, Standing::Pending);
    assert!(world.seen(None).await.is_empty());
    assert!(world.seen(Some(&somebody("eve"))).await.is_empty());
    assert_eq!(world.seen(Some(&acme)).await, [AGENT]);
    let approve = Change { standing: Some(Standing::Approved), ..Change::default() };
    let refused = world.catalogue.change(&acme, AGENT, approve.clone()).await;
    assert!(matches!(refused, Err(CatalogueError::Forbidden(_))));
    world.catalogue.change(&keeper(), AGENT, approve).await.unwrap();
    assert_eq!(world.seen(None).await, [AGENT]);
    assert_eq!(world.audit("local").await, ["owner agents.approve"]);
    let deprecate = Change { standing: Some(Standing::Deprecated), ..Change::default() };
    assert_eq!(
        world.catalogue.change(&acme, AGENT, deprecate).await.unwrap(),
        Standing::Deprecated
    );
}

#[tokio::test]
async fn versions_are_kept_and_what_breaks_users_is_flagged() {
    let world = with_painter().await;
    let acme = somebody("acme");
    let mut next = card("Painter", "a.example.com");
    next["version"] = json!("2.0.0");
    next["skills"][0]["id"] = json!("paint");
    world.pages.write(WELL_KNOWN, next.to_string());
    let registered = world.register(&acme, "https://a.example.com").await.unwrap();
    assert_eq!(registered.registration, Registration::Update);
    assert!(a2a::registry::changes::is_breaking(&registered.changes));
    let caller = world.catalogue.caller(Some(&acme));
    let (_, own) = world.catalogue.show_one(&caller, AGENT).await.unwrap();
    let own = own.unwrap();
    let numbers: Vec<u32> = own.versions().iter().map(|version| version.number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(world.audit("acme").await[1], "key:acme agents.update-breaking");
    let mut bad = card("Painter", "a.example.com");
    bad["skills"] = json!([bad["skills"][0], bad["skills"][0]]);
    world.pages.write(WELL_KNOWN, bad.to_string());
    let error = world.register(&acme, "https://a.example.com").await.unwrap_err();
    assert!(error.to_string().contains("skills[1].id is unique"), "{error}");
}

#[tokio::test]
async fn agents_are_checked_when_they_are_due_and_given_up_when_they_are_gone() {
    let world = with_painter().await;
    let round = |answered, failed, updated, evicted| Round { answered, failed, updated, evicted };
    assert_eq!(world.catalogue.check_due().await.unwrap(), round(0, 0, 0, 0));
    world.clock.advance(HOUR);
    assert_eq!(world.catalogue.check_due().await.unwrap(), round(1, 0, 0, 0));
    let mut newer = card("Painter", "a.example.com");
    newer["version"] = json!("1.1.0");
    world.pages.write(WELL_KNOWN, newer.to_string());
    world.clock.advance(HOUR);
    assert_eq!(world.catalogue.check_due().await.unwrap(), round(1, 0, 1, 0));
    world.pages.remove(WELL_KNOWN);
    let mut failures = 0;
    for _ in 0..3 {
        world.clock.advance(24 * HOUR);
        failures += world.catalogue.check_due().await.unwrap().failed;
    }
    assert_eq!(failures, 3);
    let (found, _) = world.catalogue.show_one(&Caller::Keeper, AGENT).await.unwrap();
    assert_eq!((found.condition, found.uptime_thousandths), (Condition::Down, Some(500)));
    world.clock.advance(40 * 24 * HOUR);
    assert_eq!(world.catalogue.check_due().await.unwrap(), round(0, 1, 0, 1));
    assert!(world.seen(Some(&keeper())).await.is_empty());
    let said = ["key:acme agents.register", "saem agents.update", "saem agents.evict"];
    assert_eq!(world.audit("acme").await, said);
}

#[tokio::test]
async fn what_was_exported_can_be_read_in_elsewhere() {
    let world = with_painter().await;
    assert!(world.catalogue.export(&somebody("eve")).is_empty());
    let lines = world.catalogue.export(&keeper());
    assert_eq!(lines.len(), 1);
    let other = World::new().await;
    let refused = other.catalogue.import(&somebody("acme"), lines[0].clone()).await;
    assert!(matches!(refused, Err(CatalogueError::Forbidden(_))));
    other.catalogue.import(&keeper(), lines[0].clone()).await.unwrap();
    assert_eq!(other.catalogue.export(&keeper()), lines);
    let again = other.catalogue.import(&keeper(), lines[0].clone()).await.unwrap();
    assert_eq!((again.registration, again.changes.len()), (Registration::Update, 0));
}

#[tokio::test]
async fn an_owner_cannot_fill_the_catalogue_alone() {
    let mut entries = Vec::new();
    let model = a2a::wire::read_card(&card("Painter", "a.example.com")).unwrap();
    for number in 0..ENTRIES_PER_OWNER_MAX {
        entries.push(queries::entry(&format!("n{number:04}"), "acme", &model));
    }
    let world = World::with(&entries, rules()).await;
    world.pages.write(WELL_KNOWN, card("Painter", "a.example.com").to_string());
    let error = world.register(&somebody("acme"), "https://a.example.com").await.unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
    world.register(&somebody("other"), "https://a.example.com").await.unwrap();
}
