//! The copilot: answers questions from the documents, remembers the conversation, and books what it costs.

mod answering;
mod attaching;
mod keeping;
mod library;
mod memory;
mod running;
mod sessions;
#[cfg(test)]
mod tests;
mod tooling;
mod writing;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::context::{Budget, ToolBudget};
use agent::enclosure::Enclosure;
use agent::memory::{MemoryLimits, SaidTurn, SessionId};
use agent::menu::Menu;
use agent::model::{LanguageModel, Tokenizer};
use agent::names::TenantId;
use agent::ports::{Audit, Clock, Entropy, Ledger, Sessions};
use agent::price::{Cost, PriceList};
use agent::tools::attachment::{ATTACHMENTS_MAX, Attachment};
use agent::turn::{TurnId, TurnLimits, TurnRecord};
use tokio::sync::{Notify, mpsc};
use tracing::Instrument as _;

pub use self::library::Library;
use self::running::{Asked, Run};
pub use self::sessions::{MemoryView, SessionView};
pub use self::tooling::{ToolUser, Whom};
use crate::error::EngineError;
use crate::tasks::Tasks;
use crate::telemetry::{self, Content};
use crate::tools::Host;

/// Longest question, in bytes: some pages of text.
pub const QUESTION_BYTES_MAX: usize = 32 << 10;

/// A question of which more than one letter in so many is a control character is no text.
const LETTERS_PER_CONTROL: usize = 10;

/// Events that wait for a slow reader; then the model waits too.
const EVENTS_WAITING_MAX: usize = 64;

/// What a copilot works with.
pub struct CopilotParts {
    pub library: Arc<dyn Library>,
    pub sessions: Arc<dyn Sessions>,
    pub ledger: Arc<dyn Ledger>,
    pub audit: Arc<dyn Audit>,
    pub models: Roles,
    /// Whose tools the answering model may have called; none, and it has none.
    pub host: Option<Host>,
    pub tokenizer: Arc<dyn Tokenizer>,
    pub prices: PriceList,
    pub menu: Menu,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub tasks: Tasks,
    pub watcher: Arc<dyn Watcher>,
}

/// Who does what; where there is nobody, the documents' own words have to do.
#[derive(Clone, Default)]
pub struct Roles {
    pub judge: Option<Arc<dyn LanguageModel>>,
    pub answer: Option<Arc<dyn LanguageModel>>,
    pub memory: Option<Arc<dyn LanguageModel>>,
}

/// Sees what happens, to count it.
pub trait Watcher: Send + Sync {
    fn turn_ended(&self, tenant: &TenantId, record: &TurnRecord);
    fn memory_updated(&self, tenant: &TenantId, outcome: MemoryOutcome);
}

/// What became of a memory that was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOutcome {
    Rewritten,
    Refused,
    Failed,
}

impl MemoryOutcome {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rewritten => "rewritten",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// Numbers of the configuration.
#[derive(Debug, Clone)]
pub struct CopilotRules {
    pub turn: TurnLimits,
    pub memory: MemoryLimits,
    pub budget: Budget,
    /// What tools may take beside it.
    pub tool_budget: ToolBudget,
    /// How often in a turn the model may have tools called before it answers.
    pub tool_rounds: usize,
    /// Tokens for older turns that a question brings back; none for none.
    pub recall_tokens: Option<usize>,
    /// How long a session is kept after its last use.
    pub session_kept: Duration,
    pub allowance: Allowance,
    /// Longest answer of a model, in tokens, its thinking included; none for the model's own limit.
    pub answer_tokens_max: Option<u32>,
    /// For a whole turn: what is not there then is not waited for.
    pub turn_time_max: Duration,
    /// Whether traces hold what was asked and answered.
    pub traced: Content,
}

impl Default for CopilotRules {
    fn default() -> Self {
        Self {
            turn: TurnLimits::default(),
            memory: MemoryLimits::default(),
            budget: Budget::default(),
            tool_budget: ToolBudget::default(),
            tool_rounds: 3,
            recall_tokens: None,
            session_kept: Duration::from_secs(24 * 3600),
            allowance: Allowance::default(),
            answer_tokens_max: None,
            turn_time_max: Duration::from_secs(300),
            traced: Content::Left,
        }
    }
}

/// What one turn may use of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    pub requests_max: u32,
    pub tokens_max: u64,
    /// None for no limit.
    pub cost_max: Option<Cost>,
}

impl Default for Allowance {
    fn default() -> Self {
        // Three verdicts, each asked for twice, and an answer; with budgets as they are, half of these tokens.
        Self { requests_max: 8, tokens_max: 100_000, cost_max: None }
    }
}

/// A question as it comes in.
#[derive(Debug, Clone)]
pub struct Question {
    pub text: String,
    pub conversation: Talk,
    /// What was said before, oldest first, as the caller tells it; counts only where nothing is remembered.
    pub told: Vec<SaidTurn>,
    /// For whom tools of servers may be used; none, and the turn uses none.
    pub user: Option<ToolUser>,
    /// Texts that came along to be read for this turn.
    pub enclosed: Vec<Enclosure>,
    /// What is to be read with it, for that user.
    pub attach: Vec<Attachment>,
    /// Agents that the question has come through.
    pub hops: u32,
}

/// Which conversation a question belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Talk {
    /// One that begins with it.
    New,
    Known(SessionId),
    /// One that the caller remembers by itself: nothing is kept but what it costs.
    Unkept,
}

impl Question {
    #[must_use]
    pub fn new(text: String, conversation: Talk) -> Self {
        let (told, enclosed, attach) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, conversation, told, user: None, enclosed, attach, hops: 0 }
    }

    /// Puts something of servers beside it.
    #[must_use]
    pub fn with_attachments(self, attach: Vec<Attachment>) -> Self {
        Self { attach, ..self }
    }

    /// Lets the turn use tools, for this person.
    #[must_use]
    pub fn with_tools(self, user: ToolUser) -> Self {
        Self { user: Some(user), ..self }
    }

    /// Says that an agent asks, and how many before it: what the turn asks of agents has come further.
    #[must_use]
    pub fn come_through(self, hops: u32) -> Self {
        Self { hops, ..self }
    }
}

/// What happens in a turn, in order. The last is `Done` or `Failed`.
#[derive(Debug)]
pub enum TurnEvent {
    Doing(Doing),
    /// The next piece of the answer.
    Text(String),
    /// The turn as it is kept.
    Done(Box<TurnRecord>),
    /// There is no answer, and nothing was kept.
    Failed(EngineError),
}

/// What Saem is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    Searching {
        query: String,
    },
    Judging {
        passages: usize,
    },
    Reading {
        title: String,
    },
    Answering,
    /// Tools of servers are called, at once.
    CallingTools {
        names: Vec<String>,
    },
    /// A call, or the server that it went to, waits for a person.
    AwaitingApproval {
        server: String,
        tool: Option<String>,
        session: String,
    },
}

/// A turn on its way. Dropping it stops the turn; what there is of an answer is kept as incomplete.
pub struct Asking {
    pub turn: TurnId,
    events: mpsc::Receiver<TurnEvent>,
    is_end_alone: Arc<AtomicBool>,
}

impl Asking {
    /// The next event; none after the last.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.events.recv().await
    }

    /// Waits for the end.
    pub async fn finish(mut self) -> Result<TurnRecord, EngineError> {
        self.is_end_alone.store(true, Ordering::Relaxed);
        while let Some(event) = self.next().await {
            match event {
                TurnEvent::Done(record) => return Ok(*record),
                TurnEvent::Failed(error) => return Err(error),
                TurnEvent::Doing(_) | TurnEvent::Text(_) => {}
            }
        }
        Err(EngineError::Refused("saem is stopping: ask again in a moment".to_owned()))
    }
}

/// Answers questions. Cheap to clone.
#[derive(Clone)]
pub struct Copilot {
    parts: Arc<CopilotParts>,
    rules: Arc<CopilotRules>,
    /// Sessions whose memory is being rewritten by this process, and whether they are to be looked at again then.
    folding: Arc<Mutex<HashMap<(TenantId, SessionId), bool>>>,
    /// Told when one of them is done.
    folded: Arc<Notify>,
}

impl Copilot {
    #[must_use]
    pub fn new(parts: CopilotParts, rules: CopilotRules) -> Self {
        let (parts, rules) = (Arc::new(parts), Arc::new(rules));
        Self { parts, rules, folding: Arc::default(), folded: Arc::default() }
    }

    /// The models that answer, by their names; empty without one.
    #[must_use]
    pub fn model_name(&self) -> Option<&str> {
        self.parts.models.answer.as_deref().map(LanguageModel::name)
    }

    /// Begins a turn. It runs by itself; its events are to be read.
    pub fn ask(&self, tenant: &TenantId, question: Question) -> Result<Asking, EngineError> {
        if question.attach.len() > ATTACHMENTS_MAX {
            let why = format!("{ATTACHMENTS_MAX} things can be attached to a question");
            return Err(EngineError::Refused(why));
        }
        let text = match question.attach.first() {
            Some(prompt @ Attachment::Prompt { .. }) if question.text.trim().is_empty() => {
                checked(&prompt.shown())?
            }
            _ => checked(&question.text)?,
        };
        let at = self.parts.clock.now();
        let is_kept = question.conversation != Talk::Unkept;
        let session = match question.conversation {
            Talk::Known(session) => session,
            Talk::New | Talk::Unkept => self.new_session()?,
        };
        let turn = TurnId::new(session, at, self.random()?);
        let (tell, events) = mpsc::channel(EVENTS_WAITING_MAX);
        let user = question.user.filter(|user| user.principal.tenant == *tenant);
        let asked = Asked {
            tenant: tenant.clone(),
            turn: turn.clone(),
            at,
            text,
            is_kept,
            user,
            enclosed: question.enclosed,
            attach: question.attach,
            hops: question.hops,
        };
        let is_end_alone = Arc::new(AtomicBool::new(false));
        let run = Run::new(self.clone(), asked, question.told, tell, Arc::clone(&is_end_alone));
        let span = telemetry::turn(tenant.as_str(), turn.session.as_str(), &turn.to_string());
        self.parts.tasks.spawn_here(run.run().instrument(span));
        Ok(Asking { turn, events, is_end_alone })
    }

    fn new_session(&self) -> Result<SessionId, EngineError> {
        let name = format!("s-{:016x}", self.random()?);
        name.parse().map_err(|_| EngineError::Refused("the session has no name".to_owned()))
    }

    fn random(&self) -> Result<u64, EngineError> {
        let mut bytes = [0; 8];
        self.parts.entropy.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The question as text that can be searched for and shown, or why it is none.
fn checked(question: &str) -> Result<String, EngineError> {
    let refused = |why: String| Err(EngineError::Refused(why));
    if question.len() > QUESTION_BYTES_MAX {
        return refused(format!(
            "the question has {} bytes and {QUESTION_BYTES_MAX} are allowed: ask a shorter one, or load long texts \
             as documents",
            question.len()
        ));
    }
    let is_control = |letter: char| letter.is_control() && !letter.is_whitespace();
    let controls = question.chars().filter(|letter| is_control(*letter)).count();
    if controls * LETTERS_PER_CONTROL > question.chars().count() {
        return refused("the question is no text: it is full of control characters".to_owned());
    }
    let plain: String =
        question.chars().map(|letter| if is_control(letter) { ' ' } else { letter }).collect();
    let plain = plain.trim();
    if plain.is_empty() {
        return refused("the question is empty: ask something".to_owned());
    }
    Ok(plain.to_owned())
}
