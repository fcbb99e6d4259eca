//! Research runs: does the calls that a run wants, writes everything down before it counts, and tells who follows it.

mod callees;
mod calling;
mod driving;
mod elsewhere;
mod live;
mod pages;
mod service;
mod standing;
#[cfg(test)]
mod tests;
pub mod words;

use std::sync::Arc;

use agent::identity::{Principal, Scope};
use agent::model::LanguageModel;
use agent::names::TenantId;
use agent::ports::{
    Clock, Entropy, Journals, KeptRun, Ledger, NewEntries, RunLine, RunList, Searches,
};
use agent::price::PriceList;
use agent::research::journal::{Entry, Event, Steering};
use agent::research::message::{AgentMessage, ProviderId, Uuid};
use agent::research::order::{
    Approval, Basis, Chooser, Class, Order, Provider, RunBudget, RunLimits, Thinking,
};
use agent::research::report::{EndReason, Report};
use agent::research::run::Run;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};

pub use self::callees::Callees;
use self::driving::{Driver, Surroundings};
use self::elsewhere::Elsewhere;
pub use self::live::{Gap, Line, Over, Seen, Watching};
use self::live::{Live, Worker};
pub use self::pages::{PageTexts, StrangersPages};
pub use self::service::{Asked, Research, ResearchRules, RunView};
use crate::chat::{Library, QUESTION_BYTES_MAX};
use crate::error::EngineError;
use crate::tasks::Tasks;

/// Wishes that may wait for a run.
const WISHES_WAITING_MAX: usize = 16;

/// What research works with.
pub struct ResearchParts {
    pub library: Arc<dyn Library>,
    /// Places outside that can be searched; none for one's own documents alone.
    pub searches: Option<Arc<dyn Searches>>,
    /// Tools and agents that can be called; none for nobody.
    pub callees: Option<Callees>,
    /// Reads what stands at the addresses that they give.
    pub pages: Option<Arc<dyn PageTexts>>,
    pub journals: Arc<dyn Journals>,
    pub ledger: Arc<dyn Ledger>,
    /// None: the words of question and documents have to do.
    pub model: Option<Arc<dyn LanguageModel>>,
    pub prices: PriceList,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub tasks: Tasks,
}

/// What somebody wants researched.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub question: String,
    /// Where to search; empty for wherever it can be.
    pub sources: Vec<ProviderId>,
    /// Who asks.
    pub principal: String,
    /// Whether that one may have tools and agents called.
    pub calling: Calling,
    pub approval: Approval,
    pub chooser: Chooser,
    pub limits: RunLimits,
    pub budget: RunBudget,
    /// Seconds after which a question about a call counts as answered with no; none for never.
    pub answer_seconds: Option<u64>,
    /// Agents that what leads to the run has come through.
    pub hops: u32,
    /// The finished run that it stands on: one of the same caller.
    pub basis: Option<Basis>,
    /// The conversation of another protocol that it belongs to.
    pub conversation: Option<String>,
}

impl Wanted {
    /// A question of the owner's while nobody is there: the plan is followed at once, and nobody is called.
    #[must_use]
    pub fn unattended(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            sources: Vec::new(),
            principal: "owner".to_owned(),
            calling: Calling::Forbidden,
            approval: Approval::Given,
            chooser: Chooser::Rules,
            limits: RunLimits::default(),
            budget: RunBudget::default(),
            answer_seconds: None,
            hops: 0,
            basis: None,
            conversation: None,
        }
    }
}

/// Whether tools and agents may be called for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calling {
    Allowed,
    Forbidden,
}

impl Calling {
    /// Whoever may only read has nothing done elsewhere.
    fn of(principal: &Principal) -> Self {
        match principal.may(Scope::Write) {
            true => Self::Allowed,
            false => Self::Forbidden,
        }
    }
}

/// What happens in a run, in order. The last is `Ended`, `Left` or `Failed`.
#[derive(Debug)]
pub enum Told {
    Said(Box<AgentMessage>),
    Ended {
        reason: EndReason,
        /// None of a run that was stopped.
        report: Option<Arc<Report>>,
    },
    /// This process is ending, or another has taken the run over; it goes on there.
    Left,
    Failed(Arc<EngineError>),
}

/// A run on its way. Dropping it leaves the run alone: it goes on.
pub struct Following {
    pub id: Uuid,
    watching: Watching,
}

/// What somebody wants of a run, and where the answer goes.
struct Wish {
    steering: Steering,
    answer: oneshot::Sender<Result<(), EngineError>>,
}

impl Following {
    /// What happens next; none after the last.
    pub async fn next(&mut self) -> Option<Told> {
        Some(match self.watching.next().await? {
            Seen::Said(line) => Told::Said(Box::new(read(&line)?)),
            Seen::Over(Over::Ended { reason, report }) => Told::Ended { reason, report },
            Seen::Over(Over::Failed(error)) => Told::Failed(error),
            // Whoever sleeps through thousands of messages can ask for them.
            Seen::Over(Over::Left) | Seen::Gap(_) => Told::Left,
        })
    }

    /// A handle that steers the run.
    #[must_use]
    pub fn wheel(&self) -> Wheel {
        self.watching.wheel()
    }
}

/// The message of a line; every line was made from one.
fn read(line: &Line) -> Option<AgentMessage> {
    let value: Value = serde_json::from_str(&line.json).ok()?;
    AgentMessage::read(&value).ok()
}

/// Steers a run. Cheap to clone.
#[derive(Clone)]
pub struct Wheel {
    wishes: mpsc::Sender<Wish>,
}

impl Wheel {
    /// Has the run do this; it is written down when the future is ready.
    pub async fn steer(&self, steering: Steering) -> Result<(), EngineError> {
        let over = || EngineError::Conflict("the run has ended".to_owned());
        let (answer, outcome) = oneshot::channel();
        self.wishes.send(Wish { steering, answer }).await.map_err(|_| over())?;
        outcome.await.map_err(|_| over())?
    }
}

/// Makes runs. Cheap to clone.
#[derive(Clone)]
pub struct Researcher {
    parts: Arc<ResearchParts>,
    /// One for each run that may make calls at a time.
    seats: Arc<Semaphore>,
}

impl Researcher {
    #[must_use]
    pub fn new(parts: ResearchParts) -> Self {
        Self { parts: Arc::new(parts), seats: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)) }
    }

    /// The same, with so many runs that make calls at a time; the others wait.
    #[must_use]
    pub fn with_seats(self, runs_max: usize) -> Self {
        Self { seats: Arc::new(Semaphore::new(runs_max.max(1))), ..self }
    }

    /// Begins a run. It goes on by itself.
    pub async fn begin(&self, tenant: &TenantId, wanted: Wanted) -> Result<Following, EngineError> {
        following(&self.start(tenant, wanted).await?, 0)
    }

    async fn start(&self, tenant: &TenantId, wanted: Wanted) -> Result<Arc<Live>, EngineError> {
        let order = self.order(tenant, &wanted).await?;
        let at = self.parts.clock.now();
        let journals = &self.parts.journals;
        journals.begin(tenant, order.clone(), wanted.principal.clone(), at).await?;
        Ok(self.drive(tenant, Run::new(order, at), wanted.principal, 0, 0))
    }

    /// Takes a run up where its journal ends; whoever had it can do nothing more with it.
    pub async fn resume(&self, tenant: &TenantId, id: Uuid) -> Result<Following, EngineError> {
        // What was said before was told to those who followed it then.
        let (live, said) = self.take_up(tenant, id).await?;
        following(&live, said)
    }

    /// A run that goes on here, and how many messages it had when it was taken up.
    async fn take_up(&self, tenant: &TenantId, id: Uuid) -> Result<(Arc<Live>, u64), EngineError> {
        let taken = self.parts.journals.take_over(tenant, id).await?;
        let Some(kept) = taken else {
            let is_there = self.parts.journals.run(tenant, id).await?.is_some();
            return Err(if is_there {
                EngineError::Conflict("the run has ended".to_owned())
            } else {
                EngineError::Absent { what: "run" }
            });
        };
        self.go_on(tenant, kept)
    }

    /// A run that goes on here; none if a process works on it, or it has ended.
    async fn adopt(&self, tenant: &TenantId, id: Uuid) -> Result<Option<Arc<Live>>, EngineError> {
        let Some(kept) = self.parts.journals.adopt(tenant, id).await? else { return Ok(None) };
        let (epoch, after) = (kept.epoch, kept.entries.len() as u64);
        match self.go_on(tenant, kept) {
            Ok((live, _)) => Ok(Some(live)),
            Err(error) => {
                self.give_up(tenant, id, epoch, after).await?;
                Err(error)
            }
        }
    }

    /// Ends a run that cannot be taken up. Where processes share runs, one after the other would try; a process that has all runs
    /// leaves it to the version that began it.
    async fn give_up(
        &self,
        tenant: &TenantId,
        run: Uuid,
        epoch: u64,
        after: u64,
    ) -> Result<(), EngineError> {
        if self.parts.journals.lease().is_none() {
            return Ok(());
        }
        let entry = Entry { at: self.parts.clock.now(), event: Event::TakenOver { epoch } };
        let ended = Some(EndReason::Failed);
        let new = NewEntries { run, epoch, after, entries: vec![entry], ended };
        self.parts.journals.append(tenant, new).await?;
        Ok(())
    }

    /// A run that another process works on, for those who watch and steer it here.
    fn follow(&self, tenant: &TenantId, kept: KeptRun) -> Result<Arc<Live>, EngineError> {
        let (principal, length) = (kept.principal.clone(), kept.entries.len() as u64);
        let run = replayed(kept)?;
        let (wish, wishes) = mpsc::channel(WISHES_WAITING_MAX);
        let live = Arc::new(Live::new(&run, principal, wish, Worker::Elsewhere));
        live.tell(&run);
        let (parts, tenant) = (Arc::clone(&self.parts), tenant.clone());
        let elsewhere = Elsewhere { parts, tenant, run, length, live: Arc::clone(&live), wishes };
        self.parts.tasks.spawn(elsewhere.follow());
        Ok(live)
    }

    fn go_on(&self, tenant: &TenantId, kept: KeptRun) -> Result<(Arc<Live>, u64), EngineError> {
        let KeptRun { order, principal, begun_at, epoch, entries, .. } = kept;
        let run = Run::resumed(order, begun_at, &entries)
            .map_err(|error| EngineError::Refused(error.to_string()))?;
        let said = run.messages().len() as u64;
        Ok((self.drive(tenant, run, principal, epoch, entries.len() as u64), said))
    }

    /// A run as it is now, made from its journal; none if it is not there.
    pub async fn run(&self, tenant: &TenantId, id: Uuid) -> Result<Option<Run>, EngineError> {
        kept_run(&self.parts, tenant, id).await
    }

    /// The one begun last first.
    pub async fn runs(&self, tenant: &TenantId, limit: usize) -> Result<Vec<RunLine>, EngineError> {
        let list = RunList { limit, ..RunList::default() };
        Ok(self.parts.journals.runs(tenant, list).await?)
    }

    /// Has a run go on by itself.
    fn drive(
        &self,
        tenant: &TenantId,
        run: Run,
        principal: String,
        epoch: u64,
        length: u64,
    ) -> Arc<Live> {
        let (wish, wishes) = mpsc::channel(WISHES_WAITING_MAX);
        let live = Arc::new(Live::new(&run, principal, wish, Worker::Here));
        live.tell(&run);
        let seats = Arc::clone(&self.seats);
        let surroundings = Surroundings { live: Arc::clone(&live), wishes, seats };
        let parts = Arc::clone(&self.parts);
        let driver = Driver::new(parts, tenant.clone(), run, epoch, length, surroundings);
        self.parts.tasks.spawn(driver.drive());
        live
    }

    async fn order(&self, tenant: &TenantId, wanted: &Wanted) -> Result<Order, EngineError> {
        let question = wanted.question.trim();
        if question.is_empty() {
            return Err(EngineError::Refused("the question is empty: ask something".to_owned()));
        }
        if question.len() > QUESTION_BYTES_MAX {
            return Err(EngineError::Refused(format!(
                "the question has {} bytes and {QUESTION_BYTES_MAX} are allowed: ask a shorter one",
                question.len()
            )));
        }
        let mut bytes = [0; 16];
        self.parts.entropy.fill(&mut bytes)?;
        Ok(Order {
            id: Uuid::from_random(bytes),
            question: question.to_owned(),
            providers: self.providers(tenant, wanted).await?,
            approval: wanted.approval,
            thinking: match self.parts.model {
                Some(_) => Thinking::Model,
                None => Thinking::Offline,
            },
            chooser: wanted.chooser,
            limits: wanted.limits,
            budget: wanted.budget,
            answer_seconds: wanted.answer_seconds,
            hops: wanted.hops,
            basis: wanted.basis,
            conversation: wanted.conversation.clone(),
        })
    }

    /// All that can be searched without calling a tool or an agent.
    fn searchable(&self) -> Vec<Provider> {
        let local = Provider { id: ProviderId::local(), class: Class::Own, is_repeatable: true };
        let others = self.parts.searches.as_ref().map(|searches| searches.providers());
        let mut all = vec![local];
        all.extend(others.unwrap_or_default());
        all
    }

    /// Whether this can be searched.
    async fn has(&self, tenant: &TenantId, id: &ProviderId, calling: Calling) -> bool {
        if id.callee().is_none() {
            return self.searchable().iter().any(|known| known.id == *id);
        }
        match &self.parts.callees {
            Some(callees) if calling == Calling::Allowed => {
                callees.provider(tenant, id).await.is_ok()
            }
            _ => false,
        }
    }

    /// Those that are wanted, of all that can be searched; tools and agents are looked for where they are.
    async fn providers(
        &self,
        tenant: &TenantId,
        Wanted { sources: wanted, calling, .. }: &Wanted,
    ) -> Result<Vec<Provider>, EngineError> {
        let mut all = self.searchable();
        let callees = self.parts.callees.as_ref();
        if wanted.is_empty() {
            if let Some(callees) = callees.filter(|_| *calling == Calling::Allowed) {
                all.extend(callees.usual(tenant).await);
            }
            return Ok(all);
        }
        let mut called: Vec<Provider> = Vec::new();
        for id in wanted {
            match callees.filter(|_| id.callee().is_some()) {
                Some(_) if *calling == Calling::Forbidden => {
                    let why = format!("{id} cannot be searched: calling it needs the scope write");
                    return Err(EngineError::Refused(why));
                }
                Some(callees) => {
                    let provider = callees.provider(tenant, id).await?;
                    if !called.contains(&provider) {
                        called.push(provider);
                    }
                }
                None if all.iter().any(|known| known.id == *id) => {}
                None => return Err(unsearchable(id, &all, callees.is_some())),
            }
        }
        all.retain(|provider| wanted.contains(&provider.id));
        all.extend(called);
        Ok(all)
    }
}

fn unsearchable(id: &ProviderId, all: &[Provider], can_call: bool) -> EngineError {
    let known: Vec<&str> = all.iter().map(|provider| provider.id.as_str()).collect();
    let more = if can_call { ", tool:SERVER__TOOL, agent:NAME" } else { "" };
    EngineError::Refused(format!(
        "{id} cannot be searched here: use {}{more}, or set it up in research.providers",
        known.join(", ")
    ))
}

/// A run as it is now, made from its journal; none if it is not there.
async fn kept_run(
    parts: &ResearchParts,
    tenant: &TenantId,
    id: Uuid,
) -> Result<Option<Run>, EngineError> {
    parts.journals.run(tenant, id).await?.map(replayed).transpose()
}

/// A run as its journal tells it.
fn replayed(kept: KeptRun) -> Result<Run, EngineError> {
    let KeptRun { order, begun_at, entries, ended, .. } = kept;
    if ended == Some(EndReason::Failed) {
        return Ok(Run::given_up(order, begun_at, &entries));
    }
    let run = Run::resumed(order, begun_at, &entries);
    run.map_err(|error| EngineError::Refused(error.to_string()))
}

fn following(live: &Arc<Live>, after: u64) -> Result<Following, EngineError> {
    Ok(Following { id: live.id, watching: live.watch(after)? })
}
