//! One research run as a value: it says which calls it needs next and takes what came of them.
//!
//! Four agents talk as a group: what one says all hear, and one at a time speaks, chosen by the order of the work or
//! by a model. Everything that happens comes in as an [`Entry`]; the same entries make the same run, so that a journal
//! of them is all that another process needs to go on.

mod asking;
mod budget;
mod choosing;
mod log;
mod permitting;
mod planning;
mod recalling;
mod reflecting;
mod researching;
mod status;
mod steering;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Call, CallKey, CallSpent, Outcome};
use super::journal::{Entry, Event};
use super::message::{AgentMessage, Party, ProviderId, SubmitQuery};
use super::order::{Approval, Order, Provider, Thinking};
use super::recalled::Followed;
use super::report::{EndReason, Report};
use super::source::Source;
use crate::context::Research;
use crate::identity::Timestamp;
use crate::language::Language;
use crate::offline::Asked;

use self::asking::{Pending, PendingState, Task};
use self::budget::Used;
use self::log::Log;
use self::planning::Plan;
use self::reflecting::Assessed;
use self::researching::Work;
pub use self::status::{Stage, Status};
use self::writing::Draft;

/// Why an entry does not belong to a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The operator: the run was begun by another version, which would have made other calls.
    #[error(
        "the journal tells of the call {key}, which this version of saem would not make: finish the run with the \
         version that began it, or start it anew"
    )]
    Unknown { key: String },
    /// Whoever steers: this cannot be done now.
    #[error("{0}")]
    Refused(String),
}

/// What a run needs next.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Next {
    /// Calls to be made, at once if wanted.
    pub calls: Vec<(CallKey, Call)>,
    /// What a person is waited for.
    pub awaits: Vec<Awaiting>,
    /// When the run wants to be told the time, if nothing happens before.
    pub wake_at: Option<Timestamp>,
    /// Nothing more will happen.
    pub is_ended: bool,
}

/// What a person is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaiting {
    /// A word about the plan.
    Plan,
    /// Whether a call that may have been made is made again.
    Repeat(CallKey),
    /// A yes to a call that needs one.
    Allow(CallKey),
    /// The end of a pause.
    Resume,
}

/// What the run is doing.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    Planning,
    /// The plan waits for a person, and goes on by itself at this time.
    Approving {
        until: Option<Timestamp>,
    },
    Researching,
    /// A model chooses who speaks next; by rule it would be this one.
    Choosing {
        by_rule: Party,
    },
    Reflecting,
    Writing,
    Ended,
}

/// A run on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    order: Order,
    /// The question as words.
    question: Asked,
    language: Language,
    now: Timestamp,
    started: Timestamp,
    /// Milliseconds in which a person was waited for.
    idle: u64,
    phase: Phase,
    is_paused: bool,
    pending: Vec<Pending>,
    /// Calls that were under way when nobody wanted their outcome any more.
    abandoned: BTreeSet<CallKey>,
    log: Log,
    turns: Vec<Party>,
    used: Used,
    /// Told so often that a model failed; after the second time none is asked.
    model_failures: u32,
    is_model_out: bool,
    plan: Option<Plan>,
    instructions: Vec<String>,
    /// Steps that an instruction asked for and nobody has searched yet.
    queued: Vec<u32>,
    /// Providers that will not answer in this run.
    out: BTreeSet<ProviderId>,
    /// Those that a person has said yes to for the whole run.
    allowed: BTreeSet<ProviderId>,
    round: u32,
    round_started: Timestamp,
    work: Vec<Work>,
    next_work: Vec<Work>,
    /// Searches that were made, each with the step that it was made for.
    asked: BTreeMap<(ProviderId, String), u32>,
    sources: Vec<Source>,
    /// The first so many of them were known before it began.
    recalled: usize,
    /// The report that its question follows.
    followed: Option<Followed>,
    assessed: Option<Assessed>,
    stalls: u32,
    replans: u32,
    draft: Draft,
    notes: Vec<String>,
    ended: Option<EndReason>,
    report: Option<Report>,
}

impl Run {
    /// Begins a run. It wants something at once: see [`Self::next`].
    #[must_use]
    pub fn new(order: Order, at: Timestamp) -> Self {
        let language = Language::of(&order.question);
        let log = Log::new(order.id);
        let mut run = Self {
            question: Asked::new(&order.question),
            language,
            now: at,
            started: at,
            idle: 0,
            phase: Phase::Planning,
            is_paused: false,
            pending: Vec::new(),
            abandoned: BTreeSet::new(),
            log,
            turns: Vec::new(),
            used: Used::default(),
            model_failures: 0,
            is_model_out: order.thinking == Thinking::Offline,
            plan: None,
            instructions: Vec::new(),
            queued: Vec::new(),
            out: BTreeSet::new(),
            allowed: BTreeSet::new(),
            round: 0,
            round_started: at,
            work: Vec::new(),
            next_work: Vec::new(),
            asked: BTreeMap::new(),
            sources: Vec::new(),
            recalled: 0,
            followed: None,
            assessed: None,
            stalls: 0,
            replans: 0,
            draft: Draft::default(),
            notes: Vec::new(),
            ended: None,
            report: None,
            order,
        };
        let query = run.order.question.clone();
        let sources = run.order.providers.iter().map(|provider| provider.id.clone()).collect();
        run.say(Party::User, SubmitQuery { query, sources });
        match run.order.basis {
            Some(basis) => run.start_recalling(basis),
            None => run.speak(Party::Planning),
        }
        run.watch_budget();
        run
    }

    /// Takes up a run where its journal ends.
    ///
    /// # Errors
    /// If the journal is of another version's run.
    pub fn resumed(order: Order, at: Timestamp, entries: &[Entry]) -> Result<Self, RunError> {
        let mut run = Self::new(order, at);
        entries.iter().try_for_each(|entry| run.apply(entry))?;
        Ok(run)
    }

    /// A run that nobody could take up any more, as far as its journal can be followed.
    #[must_use]
    pub fn given_up(order: Order, at: Timestamp, entries: &[Entry]) -> Self {
        let mut run = Self::new(order, at);
        let why = entries.iter().find_map(|entry| run.apply(entry).err());
        run.give_up(why.map_or_else(
            || "another version of saem could not take it up".to_owned(),
            |error| error.to_string(),
        ));
        run
    }

    /// What it needs; asked twice, the same.
    #[must_use]
    pub fn next(&self) -> Next {
        if self.phase == Phase::Ended {
            return Next { is_ended: true, ..Next::default() };
        }
        let begun = self.pending.iter().filter(|it| it.state == PendingState::Begun).count();
        let slots = self.order.limits.parallel_max.max(1).saturating_sub(begun);
        let slots = if self.is_paused { 0 } else { slots.min(self.calls_left(begun)) };
        let waiting = || self.pending.iter().filter(|it| it.state == PendingState::Waiting);
        let ready = waiting().filter(|it| it.not_before <= self.now).take(slots);
        let later = waiting().map(|it| it.not_before).filter(|at| *at > self.now).min();
        let approval = match self.phase {
            Phase::Approving { until } => until,
            _ => None,
        };
        let times = [approval, later, self.question_over_at(), self.time_over_at()];
        Next {
            calls: ready.map(|it| (it.key.clone(), it.call.clone())).collect(),
            awaits: self.awaits(),
            wake_at: if self.is_paused { None } else { times.into_iter().flatten().min() },
            is_ended: false,
        }
    }

    /// Takes what happened. An entry that does not belong here changes nothing.
    ///
    /// # Errors
    /// If no such call is under way, or the run cannot be steered so now.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), RunError> {
        self.check(entry)?;
        let at = entry.at.max(self.now);
        if self.is_idle() {
            self.idle += at.0 - self.now.0;
        }
        self.now = at;
        match &entry.event {
            Event::Begun { key } => self.set(key, PendingState::Begun),
            Event::Ended { key, outcome, spent } => self.ended(key, outcome.clone(), *spent),
            Event::Steered { steering } => self.steered(steering.clone()),
            Event::Woke => self.woke(),
            Event::TakenOver { epoch } => self.taken_over(*epoch),
        }
        // Calls that begin together all begin, whatever the time is.
        if !matches!(entry.event, Event::Begun { .. }) {
            self.watch_budget();
        }
        Ok(())
    }

    /// Whether an entry can be taken now; whoever keeps a journal asks before it is written.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn check(&self, entry: &Entry) -> Result<(), RunError> {
        let is_in = |key: &CallKey, state: PendingState| {
            self.pending.iter().any(|it| it.key == *key && it.state == state)
        };
        let known = match &entry.event {
            Event::Begun { key } => (key, is_in(key, PendingState::Waiting)),
            Event::Ended { key, .. } => {
                (key, is_in(key, PendingState::Begun) || self.abandoned.contains(key))
            }
            Event::Steered { steering } => return self.may(steering).map_err(RunError::Refused),
            Event::Woke | Event::TakenOver { .. } => return Ok(()),
        };
        match known {
            (_, true) => Ok(()),
            (key, false) => Err(RunError::Unknown { key: key.to_string() }),
        }
    }

    /// All that was said, in order.
    #[must_use]
    pub fn messages(&self) -> &[AgentMessage] {
        self.log.messages()
    }

    /// Who spoke, turn by turn.
    #[must_use]
    pub fn turns(&self) -> &[Party] {
        &self.turns
    }

    /// When it was begun.
    #[must_use]
    pub fn begun_at(&self) -> Timestamp {
        self.started
    }

    #[must_use]
    pub fn order(&self) -> &Order {
        &self.order
    }

    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The answer; none before the end, and none of a run that was stopped.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Why it ended; none while it has not.
    #[must_use]
    pub fn end_reason(&self) -> Option<EndReason> {
        self.ended.filter(|_| self.phase == Phase::Ended)
    }

    fn awaits(&self) -> Vec<Awaiting> {
        let mut awaits: Vec<Awaiting> = self.pending.iter().filter_map(Pending::awaits).collect();
        if matches!(self.phase, Phase::Approving { .. }) {
            awaits.push(Awaiting::Plan);
        }
        if self.is_paused {
            awaits.push(Awaiting::Resume);
        }
        awaits
    }

    /// Whether nothing can go on without a person: such time is not the run's.
    fn is_idle(&self) -> bool {
        let is_under_way = self.pending.iter().any(|it| !it.state.needs_person());
        self.is_paused || (!self.awaits().is_empty() && !is_under_way)
    }

    /// The next turn is this agent's.
    fn speak(&mut self, speaker: Party) {
        self.turns.push(speaker);
        match speaker {
            Party::Planning => self.start_planning(),
            Party::Research => self.start_round(),
            Party::Reflect => self.start_assessing(),
            Party::Content | Party::User | Party::System => self.start_writing(),
        }
    }

    fn ended(&mut self, key: &CallKey, outcome: Outcome, spent: CallSpent) {
        self.used.add(&outcome, spent);
        if self.abandoned.remove(key) {
            return;
        }
        let Some(place) = self.pending.iter().position(|it| it.key == *key) else { return };
        let pending = self.pending.remove(place);
        self.log.used(pending.task.agent(), spent.usage);
        match outcome {
            Outcome::Failed(failure) => self.failed(pending, &failure),
            Outcome::Unallowed { reason, is_lasting } => {
                self.unallowed(pending, &reason, is_lasting)
            }
            Outcome::Said { text } => self.said(pending, &text),
            Outcome::Found { hits } => match pending.task {
                Task::Search { work } => self.found(work, hits),
                _ => self.unfit(pending),
            },
            Outcome::Read { text } => match pending.task {
                Task::Read { source } => self.was_read(source, &text),
                _ => self.unfit(pending),
            },
            Outcome::Recalled { recalled } => match pending.task {
                Task::Recall => self.take_recalled(*recalled),
                _ => self.unfit(pending),
            },
        }
    }

    fn woke(&mut self) {
        let is_due =
            matches!(self.phase, Phase::Approving { until: Some(until) } if until <= self.now);
        if is_due {
            self.went_on();
        }
        self.end_questions();
    }

    fn taken_over(&mut self, epoch: u64) {
        self.log.epoch = epoch;
        let begun: Vec<CallKey> = self
            .pending
            .iter()
            .filter(|it| it.state == PendingState::Begun)
            .map(|it| it.key.clone())
            .collect();
        self.ask_again();
        for key in begun {
            if self.is_repeatable(&key) {
                self.set(&key, PendingState::Waiting);
            } else {
                self.ask_to_repeat(&key, "it may have been made before the run was interrupted");
            }
        }
        // Nobody will tell any more what came of these.
        self.abandoned.clear();
    }

    fn research(&self) -> Research<'_> {
        Research {
            question: &self.order.question,
            language: self.language,
            instructions: &self.instructions,
            follows: self.followed.as_ref().map(|followed| followed.question.as_str()),
        }
    }

    /// Providers that still answer, the preferred first.
    fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.order.providers.iter().filter(|provider| !self.out.contains(&provider.id))
    }

    fn provider_ids(&self) -> Vec<ProviderId> {
        self.providers().map(|provider| provider.id.clone()).collect()
    }

    fn is_before_writing(&self) -> bool {
        !matches!(self.phase, Phase::Writing | Phase::Ended)
    }

    fn waits_for_approval(&self) -> bool {
        self.order.approval != Approval::Given && self.replans == 0
    }
}
