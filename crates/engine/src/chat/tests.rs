//! Checks whole turns: what the reader gets, what is kept and what it costs.

mod attachments;
mod memories;
mod tools;

use std::sync::{Arc, Mutex};

use agent::filter::Filter;
use agent::identity::AuditEntry;
use agent::knowledge::{Excerpt, Found, Passage, Section};
use agent::ledger::{By, Component, Day, sum};
use agent::menu::{Bilingual, Menu, MenuEntry};
use agent::model::{Finish, ModelError, ModelEvent};
use agent::names::{SectionId, TenantId};
use agent::ports::{Audit, Clock as _, Entropy, Later, PortError, Sessions as _};
use agent::price::{Price, PriceList};
use agent::retrieval::Marks;
use agent::turn::{Done, Outcome};
use futures_util::future::BoxFuture;
use serde_json::json;
use testkit::clock::HandClock;
use testkit::samples;
use testkit::scripted_model::{Script, ScriptedModel};
use testkit::sessions::MemorySessions;

use super::*;
use crate::search::SearchAnswer;

/// Finds the same passages whatever is asked, unless it is broken.
struct Shelf {
    passages: Vec<Passage>,
    asked: Mutex<Vec<String>>,
    is_broken: bool,
}

impl Library for Shelf {
    fn search<'a>(
        &'a self,
        _tenant: &'a TenantId,
        query: &'a str,
        _filter: Filter,
    ) -> BoxFuture<'a, Result<SearchAnswer, EngineError>> {
        self.asked.lock().unwrap().push(query.to_owned());
        let passages = self.passages.clone();
        let answer = SearchAnswer { passages, warnings: vec![] };
        let broken = PortError::Unavailable { what: "the index".to_owned(), why: "x".to_owned() };
        let answer = if self.is_broken { Err(broken.into()) } else { Ok(answer) };
        Box::pin(std::future::ready(answer))
    }

    fn section<'a>(
        &'a self,
        _tenant: &'a TenantId,
        id: &'a SectionId,
    ) -> BoxFuture<'a, Result<Section, EngineError>> {
        let text = "The whole section says that alerts go out at nine each morning.".to_owned();
        let section = Section {
            id: id.clone(),
            parent: None,
            level: 1,
            heading: String::new(),
            heading_path: vec![],
            range: 0..text.len(),
            text,
            is_cut: false,
        };
        Box::pin(std::future::ready(Ok(section)))
    }
}

struct Counting;

impl Tokenizer for Counting {
    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn clip<'text>(&self, text: &'text str, tokens_max: usize) -> &'text str {
        agent::text::clip(text, tokens_max * 8)
    }
}

struct Dice(Mutex<u8>);

impl Entropy for Dice {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        let mut last = self.0.lock().unwrap();
        *last += 1;
        bytes.fill(*last);
        Ok(())
    }
}

struct Notes(Mutex<Vec<AuditEntry>>);

impl Audit for Notes {
    fn note<'a>(&'a self, _tenant: &'a TenantId, entry: AuditEntry) -> Later<'a, ()> {
        self.0.lock().unwrap().push(entry);
        Box::pin(std::future::ready(Ok(())))
    }

    fn entries<'a>(&'a self, _tenant: &'a TenantId, _limit: usize) -> Later<'a, Vec<AuditEntry>> {
        Box::pin(std::future::ready(Ok(self.0.lock().unwrap().clone())))
    }

    fn first_forged<'a>(&'a self, _tenant: &'a TenantId) -> Later<'a, Option<u64>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Tells the test when a memory was updated.
struct Bell(mpsc::Sender<MemoryOutcome>);

impl Watcher for Bell {
    fn turn_ended(&self, _tenant: &TenantId, _record: &TurnRecord) {}

    fn memory_updated(&self, _tenant: &TenantId, outcome: MemoryOutcome) {
        let _closed = self.0.try_send(outcome);
    }
}

/// A copilot with everything that it works with.
struct World {
    shelf: Arc<Shelf>,
    sessions: Arc<MemorySessions>,
    clock: Arc<HandClock>,
    audit: Arc<Notes>,
    models: Roles,
    host: Option<Host>,
    rules: CopilotRules,
    updates: mpsc::Receiver<MemoryOutcome>,
    bell: Arc<Bell>,
}

fn passage(digit: char, title: &str, text: &str) -> Passage {
    let document = samples::id(digit);
    let excerpt = Excerpt {
        section: SectionId { document: document.clone(), ordinal: 1 },
        document,
        chunk: 0,
        title: title.to_owned(),
        source: format!("{title}.md"),
        heading_path: vec![title.to_owned()],
        text: text.to_owned(),
        range: 0..text.len(),
        tags: agent::filter::Tags::new(),
        marks: Marks::default(),
    };
    let found = Found { similarity: Some(0.6), ..Found::default() };
    Passage { excerpt: Arc::new(excerpt), score: 0.9, found }
}

fn world() -> World {
    let (tell, updates) = mpsc::channel(64);
    let passages = vec![
        passage('a', "Budget alerts", "A budget alert is sent when the threshold is crossed."),
        passage('b', "Login", "Passwords have twelve letters."),
    ];
    World {
        shelf: Arc::new(Shelf { passages, asked: Mutex::default(), is_broken: false }),
        sessions: Arc::default(),
        clock: Arc::new(HandClock::at(1_000_000)),
        audit: Arc::new(Notes(Mutex::default())),
        models: Roles::default(),
        host: None,
        rules: CopilotRules::default(),
        updates,
        bell: Arc::new(Bell(tell)),
    }
}

impl World {
    fn with(mut self, judge: Option<&ScriptedModel>, answer: Option<&ScriptedModel>) -> Self {
        let model = |model: &ScriptedModel| Arc::new(model.clone()) as Arc<dyn LanguageModel>;
        self.models.judge = judge.map(model);
        self.models.answer = answer.map(model);
        self
    }

    fn copilot(&self) -> Copilot {
        let menu = Menu::new(vec![MenuEntry {
            link: "/billing".to_owned(),
            title: Bilingual { ko: "결제".to_owned(), en: "Billing".to_owned() },
            keywords: Bilingual {
                ko: vec!["영수증".to_owned()], en: vec!["invoice".to_owned()]
            },
        }]);
        let price = Price::per_million(1.0, None, 10.0).unwrap();
        let parts = CopilotParts {
            library: Arc::clone(&self.shelf) as Arc<dyn Library>,
            sessions: Arc::clone(&self.sessions) as Arc<dyn Sessions>,
            ledger: Arc::clone(&self.sessions) as Arc<dyn Ledger>,
            audit: Arc::clone(&self.audit) as Arc<dyn Audit>,
            models: self.models.clone(),
            host: self.host.clone(),
            tokenizer: Arc::new(Counting),
            prices: PriceList::new([("writer".to_owned(), price)]),
            menu,
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            entropy: Arc::new(Dice(Mutex::default())),
            tasks: Tasks::new(),
            watcher: Arc::clone(&self.bell) as Arc<dyn Watcher>,
        };
        Copilot::new(parts, self.rules.clone())
    }
}

fn tenant() -> TenantId {
    TenantId::local()
}

fn id() -> SessionId {
    "s1".parse().unwrap()
}

fn question(text: &str) -> Question {
    Question::new(text.to_owned(), Talk::Known(id()))
}

async fn ask(copilot: &Copilot, text: &str) -> TurnRecord {
    copilot.ask(&tenant(), question(text)).unwrap().finish().await.unwrap()
}

const VERDICT: &str = r#"{"ranked_indices":[1],"is_sufficient":true,"missing":[],"next_action":null,"refined_query":null,"confidence":0.9}"#;

#[tokio::test]
async fn without_a_model_the_documents_answer_and_say_so() {
    let world = world();
    let copilot = world.copilot();
    let mut asking = copilot.ask(&tenant(), question("When is a budget alert sent?")).unwrap();
    let (mut doing, mut text) = (Vec::new(), String::new());
    let record = loop {
        match asking.next().await.unwrap() {
            TurnEvent::Doing(step) => doing.push(step),
            TurnEvent::Text(piece) => text.push_str(&piece),
            TurnEvent::Done(record) => break record,
            TurnEvent::Failed(error) => panic!("{error}"),
        }
    };
    assert_eq!(text, "A budget alert is sent when the threshold is crossed. [1]");
    assert_eq!((record.answer.as_str(), record.outcome), (text.as_str(), Outcome::Answered));
    assert_eq!(record.citations.first().map(|cited| cited.title.as_str()), Some("Budget alerts"));
    assert!(record.notes.iter().any(|note| note.contains("models.base_url")), "{record:?}");
    assert!(record.persisted && record.number == 1);
    let query = "When is a budget alert sent?".to_owned();
    let expected = [Doing::Searching { query }, Doing::Judging { passages: 2 }, Doing::Answering];
    assert_eq!(doing, expected);
    assert_eq!(copilot.turn(&tenant(), &record.id).await.unwrap(), *record);
}

#[tokio::test]
async fn a_model_writes_and_its_invented_numbers_do_not_arrive() {
    let judge = ScriptedModel::new("judge").says(VERDICT);
    let writer =
        ScriptedModel::new("writer").says("It is sent [7] at the threshold [1]. More [2].");
    let world = world().with(Some(&judge), Some(&writer));
    let record = ask(&world.copilot(), "When is it sent?").await;
    // One passage was ranked, so one can be cited.
    assert_eq!(record.answer, "It is sent at the threshold [1]. More.");
    let numbers: Vec<usize> = record.citations.iter().map(|cited| cited.number).collect();
    assert_eq!(numbers, [1]);
    let components: Vec<Component> = record.calls.iter().map(|call| call.component).collect();
    assert_eq!(components, [Component::Judge, Component::Answer]);
    // 100 tokens in at $1 and 10 out at $10 the million; nobody knows what the judge costs.
    assert_eq!(record.calls.last().and_then(|call| call.cost).unwrap().to_string(), "$0.000200");
    assert_eq!(record.cost(), None);
    assert!(!record.context.is_empty());
    let booked = world.copilot().booked(&tenant(), Day(0), Day(9)).await.unwrap();
    let by = sum(&booked, By::Component);
    let of = |name: &str| by.iter().find(|(key, _)| key == name).unwrap().1;
    assert_eq!((of("answer").calls, of("answer").cost.microdollars()), (1, 200));
    assert_eq!(of("judge").calls_without_price, 1);
}

#[tokio::test]
async fn a_follow_up_is_searched_for_with_what_it_leans_on() {
    let world = world();
    let copilot = world.copilot();
    ask(&copilot, "11월 비용을 분석해줘").await;
    let record = ask(&copilot, "1월은?").await;
    assert_eq!(record.query, "비용 분석 1월은?");
    assert_eq!(world.shelf.asked.lock().unwrap().last(), Some(&record.query));
}

#[tokio::test]
async fn what_was_said_is_answered_from_the_conversation() {
    let world = world();
    let copilot = world.copilot();
    ask(&copilot, "우리 팀 이름은 한결커머스야.").await;
    let record = ask(&copilot, "우리 팀 이름이 뭐였지?").await;
    assert_eq!(record.outcome, Outcome::FromConversation);
    assert!(record.answer.contains("한결커머스"), "{}", record.answer);
}

#[tokio::test]
async fn small_talk_searches_nothing_and_costs_nothing() {
    let world = world().with(Some(&ScriptedModel::new("j")), Some(&ScriptedModel::new("w")));
    let record = ask(&world.copilot(), "안녕하세요!").await;
    assert_eq!(record.outcome, Outcome::SmallTalk);
    assert!(world.shelf.asked.lock().unwrap().is_empty() && record.calls.is_empty());
}

#[tokio::test]
async fn a_question_that_no_document_answers_is_led_to_the_menu() {
    let mut world = world();
    let mut far = passage('c', "Login", "Passwords have twelve letters.");
    far.found.similarity = Some(0.1);
    world.shelf =
        Arc::new(Shelf { passages: vec![far], asked: Mutex::default(), is_broken: false });
    let record = ask(&world.copilot(), "영수증은 어디서 뽑나요?").await;
    assert_eq!(record.outcome, Outcome::InPreparation);
    assert_eq!(
        record.answer,
        "해당 내용은 준비 중입니다.\n\n다음 메뉴가 도움이 될 수 있습니다.\n\n- [결제](/billing)"
    );
    assert_eq!(record.menu.first().map(|link| link.link.as_str()), Some("/billing"));
    let unsure = VERDICT.replace("0.9", "0.3");
    let judge = ScriptedModel::new("judge").says(&unsure);
    let world = self::world().with(Some(&judge), None);
    let record = ask(&world.copilot(), "Where is my invoice?").await;
    assert_eq!(record.outcome, Outcome::NotFound);
    assert!(record.answer.contains("[Billing](/billing)"), "{}", record.answer);
}

#[tokio::test]
async fn a_judge_that_cannot_judge_is_stood_in_for() {
    let judge = ScriptedModel::new("judge").says("no idea").says("still none");
    let writer = ScriptedModel::new("writer").says("At the threshold [1].");
    let world = world().with(Some(&judge), Some(&writer));
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert_eq!(record.outcome, Outcome::Answered);
    let told = |done: &Done| matches!(done, Done::Judged { without_judge: Some(_), .. });
    assert!(record.done.iter().any(told), "{:?}", record.done);
    assert!(record.calls.first().unwrap().failed.is_some());
}

fn broken() -> ModelError {
    ModelError::BrokenStream { model: "writer".to_owned(), why: "cut".to_owned() }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_kept_as_what_it_is() {
    let events = vec![Ok(ModelEvent::Text("At the thresh".to_owned())), Err(broken())];
    let writer = ScriptedModel::new("writer").plays(Script { events, hangs: false });
    let world = world().with(None, Some(&writer));
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert_eq!((record.answer.as_str(), record.outcome), ("At the thresh", Outcome::Incomplete));
    assert!(record.notes.iter().any(|note| note.contains("broke off")), "{:?}", record.notes);
    let said = world.sessions.said(&tenant(), &id(), 9, world.clock.now()).await.unwrap();
    assert!(!said.first().unwrap().is_complete);
}

#[tokio::test]
async fn a_model_that_says_nothing_is_stood_in_for_by_the_documents() {
    let silent = Script {
        events: vec![Ok(ModelEvent::Done { finish: Finish::Stop, model: "writer".to_owned() })],
        hangs: false,
    };
    for writer in
        [ScriptedModel::new("writer").fails(broken()), ScriptedModel::new("writer").plays(silent)]
    {
        let world = world().with(None, Some(&writer));
        let record = ask(&world.copilot(), "When is a budget alert sent?").await;
        assert_eq!(record.outcome, Outcome::Answered);
        assert!(record.answer.ends_with("crossed. [1]"), "{}", record.answer);
        let told = record.notes.iter().any(|note| note.contains("The model gave no answer"));
        assert!(told, "{:?}", record.notes);
    }
}

#[tokio::test]
async fn a_reader_who_leaves_stops_the_model_and_what_there_is_is_kept() {
    let writer = ScriptedModel::new("writer").hangs_after("At the ");
    let world = world().with(None, Some(&writer));
    let copilot = world.copilot();
    let mut asking = copilot.ask(&tenant(), question("When is a budget alert sent?")).unwrap();
    let turn = asking.turn.clone();
    while !matches!(asking.next().await.unwrap(), TurnEvent::Text(_)) {}
    drop(asking);
    assert!(copilot.parts.tasks.stop(Duration::from_secs(60)).await, "the turn hangs");
    let record = copilot.turn(&tenant(), &turn).await.unwrap();
    assert_eq!((record.answer.as_str(), record.outcome), ("At the", Outcome::Incomplete));
    // The server's count was not waited for, and what it read and wrote costs all the same.
    let call = record.calls.last().unwrap();
    assert!(call.usage.is_estimated && call.usage.input > 100 && call.usage.output > 0, "{call:?}");
    assert!(call.cost.is_some_and(|cost| cost.picodollars > 0), "{call:?}");
}

#[tokio::test]
async fn a_reader_who_leaves_before_the_verdict_leaves_the_bill() {
    let judge = ScriptedModel::new("writer").hangs_after("{");
    let world = world().with(Some(&judge), None);
    let copilot = world.copilot();
    let mut asking = copilot.ask(&tenant(), question("When is a budget alert sent?")).unwrap();
    let is_judging = |event: &TurnEvent| matches!(event, TurnEvent::Doing(Doing::Judging { .. }));
    while !is_judging(&asking.next().await.unwrap()) {}
    while judge.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(asking);
    assert!(copilot.parts.tasks.stop(Duration::from_secs(60)).await, "the turn hangs");
    let booked = copilot.booked(&tenant(), Day(0), Day(9)).await.unwrap();
    let by = sum(&booked, By::Component);
    let [(name, spent)] = by.as_slice() else { panic!("{by:?}") };
    assert_eq!((name.as_str(), spent.calls), ("judge", 1));
    assert!(spent.cost.picodollars > 0, "{spent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_is_not_waited_for_longer_than_a_turn_may_take() {
    let writer = ScriptedModel::new("writer").hangs_after("At the ");
    let world = world().with(None, Some(&writer));
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert_eq!(record.outcome, Outcome::Incomplete);
    let judge = ScriptedModel::new("judge").hangs_after("{");
    let world = self::world().with(Some(&judge), None);
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert_eq!(record.outcome, Outcome::Answered, "{record:?}");
}

#[tokio::test]
async fn a_store_that_is_down_costs_the_memory_and_not_the_answer() {
    let world = world();
    world.sessions.set_down(true);
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert_eq!((record.outcome, record.persisted, record.number), (Outcome::Answered, false, 0));
    assert!(record.notes.iter().any(|note| note.contains("could not be kept")), "{record:?}");
    world.sessions.set_down(false);
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert!(record.persisted && record.number == 1);
}

#[tokio::test]
async fn a_search_that_fails_is_an_error_and_no_fallback() {
    let mut world = world();
    world.shelf = Arc::new(Shelf { passages: vec![], asked: Mutex::default(), is_broken: true });
    let asked = world.copilot().ask(&tenant(), question("When?")).unwrap().finish().await;
    assert!(matches!(asked, Err(EngineError::Port(PortError::Unavailable { .. }))), "{asked:?}");
    let kept = world.sessions.session(&tenant(), &id(), world.clock.now()).await.unwrap();
    assert_eq!(kept, None);
}

#[tokio::test]
async fn a_turn_keeps_to_its_allowance() {
    let verdict =
        |action: &str| VERDICT.replace("true", "false").replace("\"next_action\":null", action);
    let again = verdict("\"next_action\":\"get_section\"");
    let judge = ScriptedModel::new("judge").says(&again);
    let writer = ScriptedModel::new("writer");
    let mut world = world().with(Some(&judge), Some(&writer));
    world.rules.allowance.requests_max = 1;
    let record = ask(&world.copilot(), "When is a budget alert sent?").await;
    assert_eq!((judge.requests().len(), writer.requests().len()), (1, 0));
    let told = record.notes.iter().any(|note| note.contains("a turn may ask models 1 times"));
    assert!(told, "{:?}", record.notes);
}

#[tokio::test]
async fn questions_that_are_none_are_refused() {
    let copilot = world().copilot();
    for (text, why) in [
        (String::new(), "empty"),
        (" \n\t ".to_owned(), "empty"),
        ("a".repeat(1 << 20), "allowed: ask a shorter one"),
        ("\u{1}\u{2}\u{3}abc".to_owned(), "control characters"),
    ] {
        let refused = copilot.ask(&tenant(), question(&text)).err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let record = ask(&copilot, "When is a budget\u{c}\u{7} alert sent, please tell me?").await;
    assert!(!record.question.contains('\u{7}'), "{:?}", record.question);
}

#[tokio::test]
async fn turns_of_one_session_at_once_are_all_kept_in_some_order() {
    let world = world();
    let copilot = world.copilot();
    let asking: Vec<Asking> =
        (0..8).map(|_| copilot.ask(&tenant(), question("When is it sent?")).unwrap()).collect();
    let mut numbers = Vec::new();
    for asking in asking {
        numbers.push(asking.finish().await.unwrap().number);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=8).collect::<Vec<u64>>());
}
