//! `bench research`: a scripted research run of six turns with its journal on disk, beside the same turns as a group chat of
//! Microsoft Agent Framework with its checkpoints on disk. The model answers at once: what is measured is everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use agent::filter::{Filter, Tags};
use agent::identity::Timestamp;
use agent::knowledge::{Excerpt, Found, Passage, Section};
use agent::model::{
    Finish, LanguageModel, Message, ModelEvent, ModelRequest, ModelStream, Output, Usage,
};
use agent::names::{SectionId, TenantId};
use agent::ports::{Clock, Entropy, Journals, Ledger, PortError};
use agent::price::PriceList;
use agent::research::message::Uuid;
use agent::retrieval::Marks;
use anyhow::{Context, Result, bail, ensure};
use engine::EngineError;
use engine::chat::Library;
use engine::research::{ResearchParts, Researcher, Told, Wanted};
use engine::search::SearchAnswer;
use engine::tasks::Tasks;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Options, Store};

use crate::Places;
use crate::peer::{Peer, number};
use crate::report::{median, result, rounded, say};
use crate::saem::fresh_folder;
use crate::usage;

/// How much less processor time a run is to take.
const RATIO_MIN: f64 = 20.0;

const QUESTION: &str = "How do budget alerts work and what do they cost?";

const TEXTS: [(&str, &str); 3] = [
    (
        "alerts.md",
        "A budget alert is sent when 80 percent of the monthly budget is spent. Budget alerts go to the owner by mail.",
    ),
    (
        "costs.md",
        "Budget alerts cost nothing for the first 10 budgets. Each further budget costs 2 dollars in a month.",
    ),
    ("owners.md", "The owner of a budget is whoever made it, until somebody else is named."),
];

pub(crate) struct Size {
    pub(crate) runs: usize,
    pub(crate) rounds: usize,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    runs: usize,
    rounds: usize,
    turns: usize,
    messages: usize,
    model_calls: usize,
    searches: usize,
    saem_cpu_ms: f64,
    saem_wall_ms: f64,
    peer: String,
    peer_cpu_ms: f64,
    peer_wall_ms: f64,
    /// The peer's processor time by Saem's, in the same round.
    ratio: f64,
}

pub(crate) fn run(places: &Places, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let material = work.path().join("material.json");
    std::fs::write(&material, material_of().to_string())?;
    let mut peer = Peer::start(&places.python, "agent_framework_research.py", &[&material])?;
    let version = peer.ask("version")?.as_str().unwrap_or_default().to_owned();
    let runtime = tokio::runtime::Runtime::new()?;
    let world = World::new(work.path())?;
    let first = runtime.block_on(world.counted())?;
    ask(&mut peer, 2)?;
    let mut rounds = Vec::new();
    for round in 1..=size.rounds {
        usage::settle()?;
        let before = usage::of_process(std::process::id())?.processor;
        let begun = Instant::now();
        for _ in 0..size.runs {
            runtime.block_on(world.run())?;
        }
        let wall = begun.elapsed().as_secs_f64() * 1000.0 / size.runs as f64;
        let cpu = usage::of_process(std::process::id())?.processor - before;
        let cpu = cpu.as_secs_f64() * 1000.0 / size.runs as f64;
        let theirs = ask(&mut peer, (size.runs / PEER_SHARE).max(1))?;
        let line = format!("round {round}: CPU a run: Saem {cpu:.2} ms, {version} {:.1}", theirs.0);
        say(&line);
        rounds.push((cpu, wall, theirs.0, theirs.1));
    }
    let middle =
        |of: fn(&(f64, f64, f64, f64)) -> f64| rounded(median(rounds.iter().map(of).collect()));
    let figures = Figures {
        bench: "research",
        runs: size.runs,
        rounds: size.rounds,
        turns: first.turns,
        messages: first.messages,
        model_calls: first.model_calls,
        searches: first.searches,
        saem_cpu_ms: middle(|round| round.0),
        saem_wall_ms: middle(|round| round.1),
        peer: version,
        peer_cpu_ms: middle(|round| round.2),
        peer_wall_ms: middle(|round| round.3),
        ratio: middle(|round| round.2 / round.0),
    };
    let verdict = if figures.ratio >= RATIO_MIN { "reached" } else { "MISSED" };
    say(&format!("{:.1} times less, wanted {RATIO_MIN}: {verdict}", figures.ratio));
    result(&figures)
}

/// Runs of Saem for one of the peer, which takes that much longer.
const PEER_SHARE: usize = 10;

fn ask(peer: &mut Peer, runs: usize) -> Result<(f64, f64)> {
    let answer = peer.ask(&runs.to_string())?;
    Ok((number(&answer, "cpu_ms")?, number(&answer, "wall_ms")?))
}

/// What the peer's agents say: as much as Saem's do.
fn material_of() -> Value {
    let found: Vec<&str> = TEXTS.iter().map(|(_, text)| *text).collect();
    let all = found.join("\n");
    json!({
        "question": QUESTION,
        "lines": {
            "planning": [plan().to_string()],
            "research": [all, TEXTS.last().map(|(_, text)| *text)],
            "reflect": [assessment(true).to_string(), assessment(false).to_string()],
            "content": [all],
        },
    })
}

/// What a run came to.
struct Came {
    turns: usize,
    messages: usize,
    model_calls: usize,
    searches: usize,
}

struct World {
    researcher: Researcher,
    shelf: Arc<Shelf>,
    model: Arc<Scripted>,
}

impl World {
    fn new(folder: &std::path::Path) -> Result<Self> {
        let store = Arc::new(Store::open(&folder.join("saem.redb"), Options::default())?);
        let (shelf, model) = (Arc::<Shelf>::default(), Arc::<Scripted>::default());
        let researcher = Researcher::new(ResearchParts {
            library: Arc::clone(&shelf) as Arc<dyn Library>,
            searches: None,
            callees: None,
            pages: None,
            journals: Arc::clone(&store) as Arc<dyn Journals>,
            ledger: store as Arc<dyn Ledger>,
            model: Some(Arc::clone(&model) as Arc<dyn LanguageModel>),
            prices: PriceList::default(),
            clock: Arc::new(Machine),
            entropy: Arc::new(Machine),
            tasks: Tasks::new(),
        });
        Ok(Self { researcher, shelf, model })
    }

    /// Runs once, and counts what happened.
    async fn counted(&self) -> Result<Came> {
        let id = self.run().await?;
        let run = self.researcher.run(&TenantId::local(), id).await?.context("the run is gone")?;
        Ok(Came {
            turns: run.turns().len(),
            messages: run.messages().len(),
            model_calls: self.model.asked.load(Ordering::Relaxed),
            searches: self.shelf.asked.load(Ordering::Relaxed),
        })
    }

    async fn run(&self) -> Result<Uuid> {
        self.model.assessed.store(0, Ordering::Relaxed);
        self.model.asked.store(0, Ordering::Relaxed);
        self.shelf.asked.store(0, Ordering::Relaxed);
        let tenant = TenantId::local();
        let mut following = self.researcher.begin(&tenant, Wanted::unattended(QUESTION)).await?;
        let report = loop {
            match following.next().await.context("the run went away")? {
                Told::Said(_) => {}
                Told::Ended { report, .. } => break report.context("there is no report")?,
                Told::Left => bail!("the run was left"),
                Told::Failed(error) => return Err(error.into()),
            }
        };
        ensure!(report.unsupported() == 0, "a claim is not supported");
        Ok(following.id)
    }
}

/// Finds the documents that share a word with the query.
#[derive(Default)]
struct Shelf {
    asked: AtomicUsize,
}

impl Library for Shelf {
    fn search<'a>(
        &'a self,
        _tenant: &'a TenantId,
        query: &'a str,
        _filter: Filter,
    ) -> BoxFuture<'a, Result<SearchAnswer, EngineError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let is_found = |(_, text): &&(&str, &str)| {
            query.split_whitespace().any(|word| word.len() > 3 && text.contains(word))
        };
        let passages = TEXTS.iter().filter(is_found).filter_map(|(name, text)| passage(name, text));
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

fn passage(name: &str, text: &str) -> Option<Passage> {
    let document: agent::names::DocumentId = "a".repeat(32).parse().ok()?;
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
    Some(Passage { excerpt: Arc::new(excerpt), score: 1.0, found: Found::default() })
}

/// Answers every question of a run from what it is shown, at once.
#[derive(Default)]
struct Scripted {
    asked: AtomicUsize,
    assessed: AtomicUsize,
}

impl LanguageModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let name = match &request.output {
            Output::Json { name, .. } => name.as_str(),
            Output::Text => "",
        };
        let answer = match name {
            "plan" => plan(),
            "assessment" => assessment(self.assessed.fetch_add(1, Ordering::Relaxed) == 0),
            _ => section(&request).unwrap_or_default(),
        };
        let done = ModelEvent::Done { finish: Finish::Stop, model: "scripted".to_owned() };
        let events = [
            ModelEvent::Text(answer.to_string()),
            ModelEvent::Usage(Usage::about(4000, 400)),
            done,
        ];
        Box::pin(futures_util::stream::iter(events.into_iter().map(Ok)))
    }
}

fn plan() -> Value {
    let step = |description: &str, keywords: &str| json!({"description": description, "sources": ["local"], "keywords": [keywords]});
    json!({
        "strategy": "alerts, then costs, then owners", "estimated_seconds": 10,
        "steps": [
            step("how budget alerts work", "budget alert"), step("when they are sent", "alert sent"),
            step("what budget alerts cost", "alerts cost"), step("what further ones cost", "further dollars"),
            step("who gets them", "owner mail"),
        ],
    })
}

fn assessment(is_first: bool) -> Value {
    let more: &[&str] = if is_first { &["owner named"] } else { &[] };
    json!({
        "relevance": 0.9, "coverage": 0.9, "needs_more_search": is_first, "feedback": "as expected",
        "more_keywords": more, "structure": ["Alerts"],
    })
}

/// One claim with the first sentence of the first source.
fn section(request: &ModelRequest) -> Option<Value> {
    let Some(Message::User { text }) = request.messages.get(1) else { return None };
    let body = text.split_once("<<<source [1]")?.1.split_once('\n')?.1;
    let quote = body.split_inclusive('.').next()?;
    let claim = json!({"text": quote, "citations": [{"source": 1, "quote": quote}]});
    Some(json!({"claims": [claim], "not_found": []}))
}

/// The machine's clock, and names that are never the same.
struct Machine;

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Entropy for Machine {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), PortError> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        for (byte, value) in bytes.iter_mut().zip(count.iter().cycle()) {
            *byte = *value;
        }
        Ok(())
    }
}
