//! Calls that wait for their outcome, and what happens when there is none: trying again, or doing without.

use serde_json::json;

use super::Run;
use super::permitting::Question;
use crate::context::research_repair;
use crate::identity::Timestamp;
use crate::model::Message;
use crate::research::call::{Call, CallKey, Failure, Purpose};
use crate::research::message::{AgentError, ErrorType, Party};
use crate::text::clip;

/// Longest time that a provider is left alone before it is asked again, in seconds: another is asked instead.
const RETRY_WAIT_SECONDS_MAX: u64 = 120;

/// Waited before a call is made again if nobody says how long, in milliseconds; twice as long each time.
const RETRY_WAIT: u64 = 1_000;

/// How often a model is told that its answer cannot be used.
const REPAIRS_MAX: u32 = 1;

/// Failures of models, each after all its tries, after which none is asked any more.
const MODEL_FAILURES_MAX: u32 = 2;

/// Longest account of a failure that goes into a message, in bytes.
const WHY_BYTES_MAX: usize = 400;

/// A call that the run wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pending {
    pub(super) key: CallKey,
    pub(super) call: Call,
    pub(super) task: Task,
    pub(super) state: PendingState,
    pub(super) not_before: Timestamp,
    /// What a person is asked about it.
    pub(super) question: Option<Question>,
    /// What it is for, without the attempt.
    name: String,
    tries: u32,
    repairs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingState {
    Waiting,
    Begun,
    /// It may have been made or not, and must not be made twice.
    Unsure,
    /// It needs a yes; one of those that wait for the same yes is asked about.
    Unallowed {
        is_asked: bool,
        is_lasting: bool,
    },
}

impl PendingState {
    /// Whether nothing becomes of it without a person.
    pub(super) fn needs_person(self) -> bool {
        match self {
            Self::Unsure | Self::Unallowed { .. } => true,
            Self::Waiting | Self::Begun => false,
        }
    }
}

/// What is done with the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Recall,
    Plan,
    Choose,
    Search { work: usize },
    Read { source: usize },
    Assess,
    Write { section: usize },
}

impl Task {
    pub(super) fn agent(self) -> Party {
        match self {
            Self::Recall | Self::Plan => Party::Planning,
            Self::Search { .. } | Self::Read { .. } => Party::Research,
            Self::Assess => Party::Reflect,
            Self::Write { .. } => Party::Content,
            Self::Choose => Party::System,
        }
    }
}

impl Run {
    pub(super) fn want(&mut self, name: String, call: Call, task: Task) {
        let key = CallKey::new(&format!("{name}.1"), &call);
        let state = PendingState::Waiting;
        let not_before = self.now;
        self.pending.push(Pending {
            key,
            call,
            task,
            state,
            not_before,
            question: None,
            name,
            tries: 1,
            repairs: 0,
        });
    }

    pub(super) fn want_thought(
        &mut self,
        name: String,
        purpose: Purpose,
        messages: Vec<Message>,
        task: Task,
    ) {
        self.want(name, Call::Ask { purpose, messages }, task);
    }

    pub(super) fn set(&mut self, key: &CallKey, state: PendingState) {
        if let Some(pending) = self.pending.iter_mut().find(|it| it.key == *key) {
            pending.state = state;
        }
    }

    /// Lets go of every call; those under way may still end.
    pub(super) fn abandon(&mut self) {
        for pending in self.pending.drain(..) {
            if pending.state == PendingState::Begun {
                self.abandoned.insert(pending.key);
            }
        }
    }

    /// Whether a call can be made again without harm: models and pages always can.
    pub(super) fn is_repeatable(&self, key: &CallKey) -> bool {
        let call = self.pending.iter().find(|it| it.key == *key).map(|it| &it.call);
        call.is_none_or(|call| self.is_harmless(call))
    }

    fn is_harmless(&self, call: &Call) -> bool {
        match call {
            Call::Search { provider, .. } => {
                let known = self.order.providers.iter().find(|known| known.id == *provider);
                known.is_some_and(|known| known.is_repeatable)
            }
            Call::Ask { .. } | Call::Read { .. } | Call::Recall { .. } => true,
        }
    }

    /// What a model said, for whoever asked it.
    pub(super) fn said(&mut self, pending: Pending, text: &str) {
        let fault = match pending.task {
            Task::Plan => self.take_plan(text),
            Task::Choose => self.take_choice(text),
            Task::Assess => self.take_assessment(text),
            Task::Write { section } => self.take_section(section, text),
            Task::Recall | Task::Search { .. } | Task::Read { .. } => return self.unfit(pending),
        };
        if let Err(fault) = fault {
            self.unusable(pending, text, &fault);
        }
    }

    /// Has the model correct its answer, or does without it.
    fn unusable(&mut self, pending: Pending, answer: &str, fault: &str) {
        let is_over = pending.repairs >= REPAIRS_MAX || !self.may_go_on(pending.task);
        let message = format!("the model's answer cannot be used: {}", clip(fault, WHY_BYTES_MAX));
        let action = if is_over { "goes on without the model" } else { "asks the model again" };
        self.tell_error(pending.task, ErrorType::ValidationError, message, None, !is_over, action);
        let Call::Ask { purpose, messages } = pending.call.clone() else { return };
        if is_over {
            return self.do_without(pending.task, "the model's answer could not be used");
        }
        let messages = research_repair(messages, purpose, answer, fault);
        let call = Call::Ask { purpose, messages };
        let repairs = pending.repairs + 1;
        self.again(Pending { call, repairs, ..pending }, self.now);
    }

    /// A write may go on past the search's share of the budget, but not past the whole.
    fn may_go_on(&self, task: Task) -> bool {
        !matches!(task, Task::Write { .. }) || self.may_write_with_model()
    }

    pub(super) fn failed(&mut self, pending: Pending, failure: &Failure) {
        let wait = failure.retry_after.map_or_else(
            || RETRY_WAIT << pending.tries.saturating_sub(1).min(6),
            |seconds| seconds.saturating_mul(1_000),
        );
        let is_unsure = failure.is_unsure && !self.is_harmless(&pending.call);
        let is_tried_again = failure.is_passing
            && !failure.is_refusal()
            && !is_unsure
            && pending.tries < self.order.limits.tries_max
            && wait <= RETRY_WAIT_SECONDS_MAX * 1_000
            && self.may_go_on(pending.task);
        let why = clip(&failure.message, WHY_BYTES_MAX).to_owned();
        let action = if is_tried_again {
            format!("tries again in {} s", wait.div_ceil(1_000))
        } else if is_unsure {
            "asks whether it is to be made again".to_owned()
        } else {
            self.stand_in(&pending).map_or_else(
                || "goes on without it".to_owned(),
                |provider| format!("goes on with {provider}"),
            )
        };
        let details = Some(detailed(&pending, failure));
        self.tell_error(
            pending.task,
            failure.error_type,
            why.clone(),
            details,
            is_tried_again || is_unsure,
            &action,
        );
        if is_unsure {
            let key = pending.key.clone();
            self.pending.push(pending);
            return self.ask_to_repeat(&key, "it may have been made all the same");
        }
        if is_tried_again {
            let at = Timestamp(self.now.0.saturating_add(wait));
            return self.again(pending, at);
        }
        if failure.is_refusal() {
            self.put_out(&pending);
        }
        if matches!(pending.call, Call::Ask { .. }) {
            self.model_failures += 1;
            let is_out = failure.is_refusal() || self.model_failures >= MODEL_FAILURES_MAX;
            self.is_model_out = self.is_model_out || is_out;
        }
        self.do_without(pending.task, &why);
    }

    fn put_out(&mut self, pending: &Pending) {
        if let Call::Search { provider, .. } = &pending.call {
            self.out.insert(provider.clone());
        }
    }

    /// An outcome of another kind than was asked for.
    pub(super) fn unfit(&mut self, pending: Pending) {
        let message = "something else came back than was asked for".to_owned();
        let failure = Failure::new(ErrorType::InternalError, message);
        self.failed(pending, &failure);
    }

    /// Goes on as if the call had given nothing.
    pub(super) fn do_without(&mut self, task: Task, why: &str) {
        match task {
            Task::Recall => self.without_recalled(why),
            Task::Plan => self.plan_offline(Some(why)),
            Task::Choose => self.choose_by_rule(),
            Task::Search { work } => self.without_search(work, why),
            Task::Read { source } => self.without_page(source, why),
            Task::Assess => self.assess_offline(Some(why)),
            Task::Write { section } => self.write_offline(section, Some(why)),
        }
    }

    /// The same call with a yes, which makes it another one.
    pub(super) fn allow(&mut self, pending: Pending) {
        let Call::Search { provider, query, results_max, freshness, .. } = pending.call else {
            return;
        };
        let call = Call::Search { provider, query, results_max, is_allowed: true, freshness };
        let key = CallKey::new(&format!("{}.{}", pending.name, pending.tries), &call);
        let (state, question) = (PendingState::Waiting, None);
        self.pending.push(Pending { key, call, state, question, ..pending });
    }

    fn again(&mut self, pending: Pending, not_before: Timestamp) {
        let tries = pending.tries + 1;
        let key = CallKey::new(&format!("{}.{tries}", pending.name), &pending.call);
        let state = PendingState::Waiting;
        self.pending.push(Pending { key, tries, state, not_before, ..pending });
    }

    pub(super) fn tell_error(
        &mut self,
        task: Task,
        error_type: ErrorType,
        error_message: String,
        details: Option<serde_json::Map<String, serde_json::Value>>,
        recoverable: bool,
        action: &str,
    ) {
        let suggested_action = Some(action.to_owned());
        let error =
            AgentError { error_type, error_message, details, recoverable, suggested_action };
        self.say(task.agent(), error);
    }
}

pub(super) fn detailed(
    pending: &Pending,
    failure: &Failure,
) -> serde_json::Map<String, serde_json::Value> {
    let mut details = serde_json::Map::new();
    if let Call::Search { provider, .. } = &pending.call {
        details.insert("api".to_owned(), json!(provider));
    }
    if let Some(status) = failure.status {
        details.insert("status_code".to_owned(), json!(status));
    }
    if let Some(seconds) = failure.retry_after {
        details.insert("retry_after".to_owned(), json!(seconds));
    }
    details.insert("attempt".to_owned(), json!(pending.tries));
    details
}
