//! Research runs: does the calls that a run wants, writes everything down before it counts, and tells who follows it.

mod calling;
mod driving;
mod pages;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use agent::model::LanguageModel;
use agent::names::TenantId;
use agent::ports::{Clock, Entropy, Journals, KeptRun, Ledger, RunLine, Searches};
use agent::price::PriceList;
use agent::research::journal::Steering;
use agent::research::message::{AgentMessage, ProviderId, Uuid};
use agent::research::order::{
    Approval, Chooser, Class, Order, Provider, RunBudget, RunLimits, Thinking,
};
use agent::research::report::{EndReason, Report};
use agent::research::run::Run;
use tokio::sync::{mpsc, oneshot};

use self::driving::Driver;
pub use self::pages::{PageTexts, StrangersPages};
use crate::chat::{Library, QUESTION_BYTES_MAX};
use crate::error::EngineError;
use crate::tasks::Tasks;

/// What is told to a slow follower before the run waits for it.
const TOLD_WAITING_MAX: usize = 256;

/// Runs that are taken up at a time: the others are left to other processes, or follow.
const ADOPTED_MAX: usize = 16;

/// Wishes that may wait for a run.
const WISHES_WAITING_MAX: usize = 16;

/// What research works with.
pub struct ResearchParts {
    pub library: Arc<dyn Library>,
    /// Places outside that can be searched; none for one's own documents alone.
    pub searches: Option<Arc<dyn Searches>>,
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
    pub approval: Approval,
    pub chooser: Chooser,
    pub limits: RunLimits,
    pub budget: RunBudget,
}

/// What happens in a run, in order. The last is `Ended`, `Left` or `Failed`.
#[derive(Debug)]
pub enum Told {
    Said(Box<AgentMessage>),
    Ended {
        reason: EndReason,
        /// None of a run that was stopped.
        report: Option<Box<Report>>,
    },
    /// This process is ending, or another has taken the run over; it goes on there.
    Left,
    Failed(EngineError),
}

/// A run on its way. Dropping it leaves the run alone: it goes on.
pub struct Following {
    pub id: Uuid,
    told: mpsc::Receiver<Told>,
    wishes: mpsc::Sender<Wish>,
}

/// What somebody wants of a run, and where the answer goes.
struct Wish {
    steering: Steering,
    answer: oneshot::Sender<Result<(), EngineError>>,
}

impl Following {
    /// What happens next; none after the last.
    pub async fn next(&mut self) -> Option<Told> {
        self.told.recv().await
    }

    /// A handle that steers the run.
    #[must_use]
    pub fn wheel(&self) -> Wheel {
        Wheel { wishes: self.wishes.clone() }
    }
}

/// Steers a run. Cheap to clone.
#[derive(Clone)]
pub struct Wheel {
    wishes: mpsc::Sender<Wish>,
}

impl Wheel {
    /// Has the run do this; it is written down when the future is ready.
    pub async fn steer(&self, steering: Steering) -> Result<(), EngineError> {
        let over = || EngineError::Refused("the run has ended".to_owned());
        let (answer, outcome) = oneshot::channel();
        self.wishes.send(Wish { steering, answer }).await.map_err(|_| over())?;
        outcome.await.map_err(|_| over())?
    }
}

/// Makes runs. Cheap to clone.
#[derive(Clone)]
pub struct Researcher {
    parts: Arc<ResearchParts>,
}

impl Researcher {
    #[must_use]
    pub fn new(parts: ResearchParts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Begins a run. It goes on by itself.
    pub async fn begin(&self, tenant: &TenantId, wanted: Wanted) -> Result<Following, EngineError> {
        let order = self.order(&wanted)?;
        let at = self.parts.clock.now();
        let journals = &self.parts.journals;
        journals.begin(tenant, order.clone(), wanted.principal, at).await?;
        Ok(self.follow(tenant, Run::new(order, at), 0, 0))
    }

    /// Takes a run up where its journal ends; whoever had it can do nothing more with it.
    pub async fn resume(&self, tenant: &TenantId, id: Uuid) -> Result<Following, EngineError> {
        let taken = self.parts.journals.take_over(tenant, id).await?;
        let Some(KeptRun { order, begun_at, epoch, entries, .. }) = taken else {
            let is_there = self.parts.journals.run(tenant, id).await?.is_some();
            return Err(if is_there {
                EngineError::Conflict("the run has ended".to_owned())
            } else {
                EngineError::Absent { what: "run" }
            });
        };
        let run = Run::resumed(order, begun_at, &entries)
            .map_err(|error| EngineError::Refused(error.to_string()))?;
        Ok(self.follow(tenant, run, epoch, entries.len() as u64))
    }

    /// Takes up the unfinished runs that no process works on; each goes on by itself. To be called now and then where runs are
    /// shared among processes, and once at the start where they are not.
    pub async fn adopt(&self) -> Result<Vec<(TenantId, Following)>, EngineError> {
        let mut adopted = Vec::new();
        for (tenant, id) in self.parts.journals.unfinished().await? {
            if adopted.len() >= ADOPTED_MAX {
                break;
            }
            let Some(kept) = self.parts.journals.adopt(&tenant, id).await? else { continue };
            let (epoch, length) = (kept.epoch, kept.entries.len() as u64);
            match Run::resumed(kept.order, kept.begun_at, &kept.entries) {
                Ok(run) => adopted.push((tenant.clone(), self.follow(&tenant, run, epoch, length))),
                // Another version may be able to: it stays where it is.
                Err(error) => tracing::warn!(%error, run = %id, "a run cannot be taken up"),
            }
        }
        Ok(adopted)
    }

    /// A run as it is now, made from its journal; none if it is not there.
    pub async fn run(&self, tenant: &TenantId, id: Uuid) -> Result<Option<Run>, EngineError> {
        let Some(kept) = self.parts.journals.run(tenant, id).await? else { return Ok(None) };
        let run = Run::resumed(kept.order, kept.begun_at, &kept.entries);
        run.map(Some).map_err(|error| EngineError::Refused(error.to_string()))
    }

    /// The one begun last first.
    pub async fn runs(&self, tenant: &TenantId, limit: usize) -> Result<Vec<RunLine>, EngineError> {
        Ok(self.parts.journals.runs(tenant, limit).await?)
    }

    fn follow(&self, tenant: &TenantId, run: Run, epoch: u64, length: u64) -> Following {
        let (tell, told) = mpsc::channel(TOLD_WAITING_MAX);
        let (wishes, wanted) = mpsc::channel(WISHES_WAITING_MAX);
        let id = run.order().id;
        let parts = Arc::clone(&self.parts);
        let driver = Driver::new(parts, tenant.clone(), run, epoch, length, tell, wanted);
        self.parts.tasks.spawn(driver.drive());
        Following { id, told, wishes }
    }

    fn order(&self, wanted: &Wanted) -> Result<Order, EngineError> {
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
            providers: self.providers(&wanted.sources)?,
            approval: wanted.approval,
            thinking: match self.parts.model {
                Some(_) => Thinking::Model,
                None => Thinking::Offline,
            },
            chooser: wanted.chooser,
            limits: wanted.limits,
            budget: wanted.budget,
        })
    }

    /// Those that are wanted, of all that can be searched.
    fn providers(&self, wanted: &[ProviderId]) -> Result<Vec<Provider>, EngineError> {
        let local = Provider { id: ProviderId::local(), class: Class::Own, is_repeatable: true };
        let others = self.parts.searches.as_ref().map(|searches| searches.providers());
        let mut all = vec![local];
        all.extend(others.unwrap_or_default());
        if let Some(unknown) = wanted.iter().find(|id| all.iter().all(|it| it.id != **id)) {
            let known: Vec<&str> = all.iter().map(|provider| provider.id.as_str()).collect();
            return Err(EngineError::Refused(format!(
                "{unknown} cannot be searched here: use {}, or set it up in research.providers",
                known.join(", ")
            )));
        }
        all.retain(|provider| wanted.is_empty() || wanted.contains(&provider.id));
        Ok(all)
    }
}
