//! Checks runs over a shelf of documents: whole ones, interrupted ones, steered ones.

mod called;
mod served;
mod standing;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use agent::filter::{Filter, Tags};
use agent::knowledge::{Excerpt, Found, Passage, Section};
use agent::ledger::Day;
use agent::model::{Message, ModelRequest, Output};
use agent::names::SectionId;
use agent::ports::{Ledger as _, PortError, Searched};
use agent::research::call::{Failure, Freshness};
use agent::research::journal::Event;
use agent::research::message::{CheckVerdict, Content};
use agent::research::source::Hit;
use agent::retrieval::Marks;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use testkit::clock::HandClock;
use testkit::contracts;
use testkit::journals::MemoryJournals;
use testkit::samples;
use testkit::scripted_model::{Script, ScriptedModel};
use testkit::sessions::MemorySessions;

use super::*;
use crate::search::SearchAnswer;

const TEXTS: [(&str, &str); 3] = [
    (
        "alerts.md",
        "A budget alert is sent when 80 percent of the monthly budget is spent. Budget alerts go to the owner by mail.",
    ),
    (
        "costs.md",
        "Budget alerts cost nothing for the first 10 budgets. Each further budget costs 2 dollars in a month.",
    ),
    ("tea.md", "Barley tea is served cold in summer."),
];

/// Finds the documents that share a word with the query.
#[derive(Default)]
struct Shelf {
    asked: Mutex<Vec<String>>,
}

impl Library for Shelf {
    fn search<'a>(
        &'a self,
        _tenant: &'a TenantId,
        query: &'a str,
        _filter: Filter,
    ) -> BoxFuture<'a, Result<SearchAnswer, EngineError>> {
        self.asked.lock().unwrap().push(query.to_owned());
        let is_found = |(_, text): &&(&str, &str)| {
            query.split_whitespace().any(|word| word.len() > 3 && text.contains(word))
        };
        let passages = TEXTS.iter().filter(is_found).map(|(name, text)| passage(name, text));
        let answer = SearchAnswer { passages: passages.collect(), warnings: vec![] };
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn section<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _id: &'a SectionId,
    ) -> BoxFuture<'a, Result<Section, EngineError>> {
        Box::pin(std::future::ready(Err(EngineError::Absent { what: "section" })))
    }
}

fn passage(name: &str, text: &str) -> Passage {
    let document = samples::id('a');
    let excerpt = Excerpt {
        section: SectionId { document: document.clone(), ordinal: 0 },
        document,
        chunk: 0,
        title: name.to_owned(),
        source: name.to_owned(),
        heading_path: vec![],
        text: text.to_owned(),
        range: 0..text.len(),
        tags: Tags::new(),
        marks: Marks::default(),
    };
    Passage { excerpt: Arc::new(excerpt), score: 1.0, found: Found::default() }
}

/// Gives the same bytes each time, so that runs can be compared; others in a world where several are wanted.
struct Same(Arc<AtomicU8>);

impl Entropy for Same {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        bytes.fill(self.0.load(Ordering::SeqCst));
        Ok(())
    }
}

/// Answers every question of a run from what it is shown.
fn model() -> ScriptedModel {
    ScriptedModel::answering("scripted", |request| {
        ScriptedModel::new("scripted").script_saying(&answer(request).to_string())
    })
}

fn answer(request: &ModelRequest) -> Value {
    let Output::Json { name, .. } = &request.output else { panic!("{request:?}") };
    match name.as_str() {
        "plan" => json!({
            "strategy": "alerts, then costs", "estimated_seconds": 10, "steps": [
                {"description": "how budget alerts work", "sources": ["local"], "keywords": ["alert"]},
                {"description": "what budget alerts cost", "sources": ["local"], "keywords": ["cost"]},
            ],
        }),
        "assessment" => json!({
            "relevance": 0.9, "coverage": 0.9, "needs_more_search": false, "feedback": "enough",
            "more_keywords": [], "structure": ["Alerts", "Costs"],
        }),
        "section" => {
            let Some(Message::User { text }) = request.messages.get(1) else { panic!() };
            let body = text.split_once("<<<source [1]").unwrap().1.split_once('\n').unwrap().1;
            let quote = body.split_inclusive('.').next().unwrap();
            let heading = text.rsplit("Write the section: ").next().unwrap();
            let claim = format!("{heading}: {quote}");
            let good = json!({"text": claim, "citations": [{"source": 1, "quote": quote}]});
            json!({"claims": [good], "not_found": []})
        }
        other => panic!("nobody asks for {other}"),
    }
}

struct World {
    shelf: Arc<Shelf>,
    journals: Arc<MemoryJournals>,
    ledger: Arc<MemorySessions>,
    model: Option<ScriptedModel>,
    clock: Arc<HandClock>,
    tenant: TenantId,
    has_web: bool,
    /// How fresh what the web was asked for had to be.
    web_asked: Arc<Mutex<Vec<Freshness>>>,
    callees: Option<Callees>,
    /// What is drawn for the name of the next run.
    drawn: Arc<AtomicU8>,
}

/// A provider that knows one page, and that page. It notes how fresh an answer has to be.
struct Web(Arc<Mutex<Vec<Freshness>>>);

impl Searches for Web {
    fn providers(&self) -> Vec<Provider> {
        let id = "brave".parse().unwrap();
        vec![Provider { id, class: Class::Web, is_repeatable: true }]
    }

    fn search<'a>(
        &'a self,
        _provider: &'a ProviderId,
        _query: &'a str,
        _results_max: u32,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Searched, Failure>> {
        self.0.lock().unwrap().push(freshness);
        let address = "https://web.example/alerts".to_owned();
        let hit = Hit {
            place: address.clone(),
            title: "Alerts".to_owned(),
            address: Some(address),
            published: None,
            text: "Words about budget alerts".to_owned(),
            start: 0,
            is_summary: true,
        };
        let cost = agent::price::Cost::from_dollars(0.005);
        Box::pin(std::future::ready(Ok(Searched { hits: vec![hit], cost })))
    }
}

impl PageTexts for Web {
    fn text<'a>(
        &'a self,
        _tenant: &'a TenantId,
        _address: &'a str,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        self.0.lock().unwrap().push(freshness);
        let text = "Budget alerts work by mail and cost 3 dollars at this provider.".to_owned();
        Box::pin(std::future::ready(Ok(text)))
    }
}

impl World {
    fn new(model: Option<ScriptedModel>) -> Self {
        Self {
            shelf: Arc::default(),
            journals: Arc::default(),
            ledger: Arc::default(),
            model,
            clock: Arc::new(HandClock::at(1_763_201_400_000)),
            tenant: samples::tenant("mine"),
            has_web: false,
            web_asked: Arc::default(),
            callees: None,
            drawn: Arc::new(AtomicU8::new(7)),
        }
    }

    fn web(&self) -> Web {
        Web(Arc::clone(&self.web_asked))
    }

    /// A process of its own over what is kept.
    fn process(&self) -> Researcher {
        let model = self.model.clone().map(|model| Arc::new(model) as Arc<dyn LanguageModel>);
        Researcher::new(ResearchParts {
            library: Arc::clone(&self.shelf) as Arc<dyn Library>,
            searches: self.has_web.then(|| Arc::new(self.web()) as Arc<dyn Searches>),
            callees: self.callees.clone(),
            pages: self.has_web.then(|| Arc::new(self.web()) as Arc<dyn PageTexts>),
            journals: Arc::clone(&self.journals) as Arc<dyn Journals>,
            ledger: Arc::clone(&self.ledger) as Arc<dyn Ledger>,
            model,
            prices: PriceList::default(),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            entropy: Arc::new(Same(Arc::clone(&self.drawn))),
            tasks: Tasks::new(),
        })
    }

    /// External calls that were made.
    fn calls(&self) -> usize {
        let asked = self.model.as_ref().map_or(0, |model| model.requests().len());
        asked + self.shelf.asked.lock().unwrap().len()
    }

    async fn journal(&self) -> Vec<Event> {
        let Some((tenant, id)) = self.journals.unfinished().await.unwrap().pop() else {
            return Vec::new();
        };
        let run = self.journals.run(&tenant, id).await.unwrap().unwrap();
        run.entries.into_iter().map(|entry| entry.event).collect()
    }
}

fn wanted(approval: Approval) -> Wanted {
    let question = "How do budget alerts work and what do they cost?";
    Wanted { calling: Calling::Allowed, approval, ..Wanted::unattended(question) }
}

/// All that is told, and how it ended.
async fn to_the_end(mut following: Following) -> (Vec<AgentMessage>, Told) {
    let mut messages = Vec::new();
    loop {
        match following.next().await.unwrap() {
            Told::Said(message) => messages.push(*message),
            last => return (messages, last),
        }
    }
}

fn report(told: Told) -> Report {
    match told {
        Told::Ended { report: Some(report), .. } => Report::clone(&report),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_journals_in_memory_keep_the_contract() {
    contracts::research::keeps_its_promise(&MemoryJournals::default()).await;
}

#[tokio::test]
async fn a_run_without_a_model_quotes_documents_word_for_word() {
    let world = World::new(None);
    let following = world.process().begin(&world.tenant, wanted(Approval::Given)).await.unwrap();
    let id = following.id;
    let (messages, last) = to_the_end(following).await;
    let report = report(last);
    assert!(report.claims().count() >= 2);
    let citations = report.claims().flat_map(|claim| &claim.citations);
    for citation in citations {
        assert_eq!(citation.verdict, CheckVerdict::Verified);
        let stands = |(_, text): &(&str, &str)| text.contains(&citation.quote);
        assert!(TEXTS.iter().any(stands), "{citation:?}");
    }
    let seqs: Vec<u64> = messages.iter().filter_map(|message| message.more.seq).collect();
    assert_eq!(seqs, (1..=messages.len() as u64).collect::<Vec<_>>());
    let kept = world.process().run(&world.tenant, id).await.unwrap().unwrap();
    assert_eq!(kept.messages(), messages);
    assert_eq!(kept.report(), Some(&report));
    assert_eq!(world.process().runs(&world.tenant, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_run_with_a_model_books_what_it_costs() {
    let world = World::new(Some(model()));
    let following = world.process().begin(&world.tenant, wanted(Approval::Given)).await.unwrap();
    let report = report(to_the_end(following).await.1);
    assert_eq!(report.sections.len(), 2);
    assert_eq!(report.unsupported(), 0);
    let booked = world.ledger.booked(&world.tenant, Day(0), Day(u32::MAX)).await.unwrap();
    assert_eq!(booked.len(), 1);
    assert_eq!(booked[0].account.component, agent::ledger::Component::Research);
    assert_eq!(booked[0].spent.calls, 4);
}

#[tokio::test]
async fn a_run_that_is_cut_off_at_any_write_ends_in_the_same_report_and_repeats_no_finished_call() {
    let whole = World::new(Some(model()));
    let following = whole.process().begin(&whole.tenant, wanted(Approval::Given)).await.unwrap();
    let expected = report(to_the_end(following).await.1);
    let calls = whole.calls();
    let mut cuts = 0;
    for writes in 1.. {
        let world = World::new(Some(model()));
        world.journals.break_after(Some(writes));
        let following =
            world.process().begin(&world.tenant, wanted(Approval::Given)).await.unwrap();
        let id = following.id;
        let (_, last) = to_the_end(following).await;
        if !matches!(last, Told::Failed(_)) {
            assert_eq!(report(last), expected);
            break;
        }
        cuts += 1;
        let is_end = |event: &&Event| matches!(event, Event::Ended { .. });
        let finished = world.journal().await.iter().filter(is_end).count();
        let before = world.calls();
        world.journals.break_after(None);
        let following = world.process().resume(&world.tenant, id).await.unwrap();
        assert_eq!(report(to_the_end(following).await.1), expected, "cut after {writes} writes");
        assert_eq!(world.calls() - before, calls - finished, "cut after {writes} writes");
    }
    assert!(cuts > 5, "{cuts}");
}

#[tokio::test]
async fn a_process_that_was_taken_over_can_do_nothing_more() {
    let world = World::new(None);
    let following = world.process().begin(&world.tenant, wanted(Approval::Asked)).await.unwrap();
    let (id, wheel) = (following.id, following.wheel());
    let taken = world.process().resume(&world.tenant, id).await.unwrap();
    let other = taken.wheel();
    assert!(wheel.steer(Steering::Approve).await.is_err());
    let (_, last) = to_the_end(following).await;
    assert!(matches!(last, Told::Left), "{last:?}");
    other.steer(Steering::Approve).await.unwrap();
    assert!(matches!(to_the_end(taken).await.1, Told::Ended { report: Some(_), .. }));
    let again = world.process().resume(&world.tenant, id).await;
    assert!(matches!(again.err(), Some(EngineError::Conflict(_))));
}

#[tokio::test]
async fn a_plan_waits_for_its_approval_over_a_restart() {
    let world = World::new(Some(model()));
    let mut following =
        world.process().begin(&world.tenant, wanted(Approval::Asked)).await.unwrap();
    let id = following.id;
    loop {
        match following.next().await.unwrap() {
            Told::Said(message) if matches!(message.content, Content::PlanApproval(_)) => break,
            Told::Said(_) => {}
            other => panic!("{other:?}"),
        }
    }
    drop(following);
    let asked = world.calls();
    let taken = world.process().resume(&world.tenant, id).await.unwrap();
    let wheel = taken.wheel();
    let refused = wheel.steer(Steering::Resume).await.unwrap_err();
    assert!(refused.to_string().contains("not paused"), "{refused}");
    wheel.steer(Steering::Approve).await.unwrap();
    assert!(report(to_the_end(taken).await.1).claims().count() > 0);
    assert_eq!(asked, 1, "the plan was not made twice");
}

#[tokio::test]
async fn a_stop_takes_effect_while_a_call_is_under_way() {
    let hanging = ScriptedModel::answering("slow", |_| Script { events: vec![], hangs: true });
    let world = World::new(Some(hanging));
    let following = world.process().begin(&world.tenant, wanted(Approval::Given)).await.unwrap();
    let wheel = following.wheel();
    wheel.steer(Steering::Stop).await.unwrap();
    let (_, last) = to_the_end(following).await;
    assert!(matches!(last, Told::Ended { reason: EndReason::Stopped, report: None }), "{last:?}");
}

#[tokio::test]
async fn pages_of_the_web_are_read_and_quoted_with_their_addresses() {
    let world = World { has_web: true, ..World::new(None) };
    let following = world.process().begin(&world.tenant, wanted(Approval::Given)).await.unwrap();
    let report = report(to_the_end(following).await.1);
    let page = report.sources.iter().find(|source| source.address.is_some()).unwrap();
    let booked = world.ledger.booked(&world.tenant, Day(0), Day(u32::MAX)).await.unwrap();
    assert!(booked.iter().any(|booking| booking.account.model == "brave"));
    assert_eq!(page.web_address(), Some("https://web.example/alerts"));
    assert!(report.to_markdown().contains("cost 3 dollars"), "{}", report.to_markdown());
    let sources = vec![ProviderId::local()];
    let own = Wanted { sources, ..wanted(Approval::Given) };
    let following = world.process();
    let tenant = samples::tenant("other");
    let (messages, _) = to_the_end(following.begin(&tenant, own).await.unwrap()).await;
    assert!(!format!("{messages:?}").contains("web.example"));
    let unknown = Wanted { sources: vec!["bing".parse().unwrap()], ..wanted(Approval::Given) };
    let refused = following.begin(&tenant, unknown).await.err().unwrap();
    assert!(refused.to_string().contains("local, brave"), "{refused}");
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let world = World::new(None);
    for question in [" ".to_owned(), "x".repeat(QUESTION_BYTES_MAX + 1)] {
        let wanted = Wanted { question, ..wanted(Approval::Given) };
        let begun = world.process().begin(&world.tenant, wanted).await;
        assert!(matches!(begun.err(), Some(EngineError::Refused(_))));
    }
    let id = Uuid::from_random([1; 16]);
    let absent = world.process().resume(&world.tenant, id).await;
    assert!(matches!(absent.err(), Some(EngineError::Absent { .. })));
}
