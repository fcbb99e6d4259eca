//! Calls that need a person's word: asked about, and made or done without as that person says.

use serde_json::json;

use super::asking::{Pending, PendingState, detailed};
use super::{Awaiting, Run};
use crate::identity::Timestamp;
use crate::research::call::{Call, CallKey, Failure};
use crate::research::message::{
    ErrorType, Party, ProviderId, ToolApproval, ToolDecision, ToolQuestion,
};

/// Why a call is done without that nobody has said anything about.
const UNANSWERED: &str = "it was asked about, and nobody answered in time";

/// What a person is asked about a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    reason: String,
    /// When it counts as answered.
    until: Option<Timestamp>,
}

impl Pending {
    /// What a person is waited for, if one is.
    pub(super) fn awaits(&self) -> Option<Awaiting> {
        match self.state {
            PendingState::Unsure => Some(Awaiting::Repeat(self.key.clone())),
            PendingState::Unallowed { is_asked: true, .. } => {
                Some(Awaiting::Allow(self.key.clone()))
            }
            PendingState::Unallowed { is_asked: false, .. }
            | PendingState::Waiting
            | PendingState::Begun => None,
        }
    }

    fn provider(&self) -> Option<&ProviderId> {
        match &self.call {
            Call::Search { provider, .. } => Some(provider),
            Call::Ask { .. } | Call::Read { .. } | Call::Recall { .. } => None,
        }
    }

    /// Whether it waits for a yes to all that this provider is asked.
    fn waits_for_all_of(&self, of: &ProviderId) -> bool {
        let is_lasting = matches!(self.state, PendingState::Unallowed { is_lasting: true, .. });
        is_lasting && self.provider() == Some(of)
    }
}

impl Run {
    /// Asks whether a call that may have been made is made again.
    pub(super) fn ask_to_repeat(&mut self, key: &CallKey, why: &str) {
        self.set(key, PendingState::Unsure);
        self.ask_about(key, why);
    }

    /// Takes that a call needs a yes. Calls that one yes is enough for lead to one question.
    pub(super) fn unallowed(&mut self, mut pending: Pending, reason: &str, is_lasting: bool) {
        let Call::Search { provider, is_allowed: false, .. } = &pending.call else {
            return self.unfit(pending);
        };
        if self.out.contains(provider) {
            return self.do_without(pending.task, "it was not allowed");
        }
        // It was under way when the yes came.
        if is_lasting && self.allowed.contains(provider) {
            return self.allow(pending);
        }
        let is_asked = !is_lasting || !self.pending.iter().any(|it| it.waits_for_all_of(provider));
        let key = pending.key.clone();
        pending.state = PendingState::Unallowed { is_asked, is_lasting };
        self.pending.push(pending);
        if is_asked {
            self.ask_about(&key, reason);
        }
    }

    fn ask_about(&mut self, key: &CallKey, reason: &str) {
        let until = self.question_ends();
        let Some(pending) = self.pending.iter_mut().find(|it| it.key == *key) else { return };
        let Call::Search { provider, query, .. } = &pending.call else { return };
        let request = ToolQuestion {
            call: key.to_string(),
            provider: provider.clone(),
            arguments: json!({"query": query}),
            reason: reason.to_owned(),
        };
        pending.question = Some(Question { reason: reason.to_owned(), until });
        self.say(Party::Research, ToolApproval { request: Some(request), decision: None });
    }

    /// Makes a call that was asked about, and all others that the same yes is for.
    pub(super) fn permit(&mut self, key: &CallKey) {
        self.tell_decision(key, true);
        let Some(place) = self.pending.iter().position(|it| it.key == *key) else { return };
        match self.pending.get(place).map(|it| it.state) {
            Some(PendingState::Unallowed { is_lasting, .. }) => {
                let pending = self.pending.remove(place);
                let provider = pending.provider().cloned();
                self.allow(pending);
                if let Some(provider) = provider.filter(|_| is_lasting) {
                    self.allow_all_of(provider);
                }
            }
            Some(PendingState::Unsure) => self.set(key, PendingState::Waiting),
            Some(PendingState::Waiting | PendingState::Begun) | None => {}
        }
    }

    fn allow_all_of(&mut self, provider: ProviderId) {
        let of_it = |it: &mut Pending| it.waits_for_all_of(&provider);
        let waiting: Vec<Pending> = self.pending.extract_if(.., of_it).collect();
        waiting.into_iter().for_each(|pending| self.allow(pending));
        self.allowed.insert(provider);
    }

    /// Does without a call that was asked about. Who may not be called is out for the run.
    pub(super) fn forbid(&mut self, key: &CallKey, why: &str) {
        self.tell_decision(key, false);
        let Some(place) = self.pending.iter().position(|it| it.key == *key) else { return };
        let pending = self.pending.remove(place);
        let is_unallowed = matches!(pending.state, PendingState::Unallowed { .. });
        match pending.provider().cloned().filter(|_| is_unallowed) {
            Some(provider) => self.expel(pending, provider, why),
            None => self.do_without(pending.task, why),
        }
    }

    fn expel(&mut self, pending: Pending, provider: ProviderId, why: &str) {
        let message = format!("{provider} may not be called: {why}");
        let failure = Failure::new(ErrorType::ApiError, message.clone());
        let details = Some(detailed(&pending, &failure));
        let action = "goes on without it";
        self.tell_error(pending.task, failure.error_type, message, details, false, action);
        // What is under way ends by itself; nothing more is begun.
        let of_it =
            |it: &mut Pending| it.provider() == Some(&provider) && it.state != PendingState::Begun;
        let others: Vec<Pending> = self.pending.extract_if(.., of_it).collect();
        self.out.insert(provider);
        for dropped in std::iter::once(pending).chain(others) {
            self.do_without(dropped.task, why);
        }
    }

    fn tell_decision(&mut self, key: &CallKey, approved: bool) {
        let decision = ToolDecision { call: key.to_string(), approved };
        self.say(Party::User, ToolApproval { request: None, decision: Some(decision) });
    }

    fn question_ends(&self) -> Option<Timestamp> {
        let milliseconds = self.order.answer_seconds?.saturating_mul(1_000);
        Some(Timestamp(self.now.0.saturating_add(milliseconds)))
    }

    /// When the first question counts as answered.
    pub(super) fn question_over_at(&self) -> Option<Timestamp> {
        self.open_questions().filter_map(|(_, question)| question.until).min()
    }

    fn open_questions(&self) -> impl Iterator<Item = (&CallKey, &Question)> {
        let asked = self.pending.iter().filter(|it| it.awaits().is_some());
        asked.filter_map(|it| Some((&it.key, it.question.as_ref()?)))
    }

    /// Asks again what is open: whoever follows the run from now on is asked too, and gets the whole time.
    pub(super) fn ask_again(&mut self) {
        let open: Vec<(CallKey, String)> = self
            .open_questions()
            .map(|(key, question)| (key.clone(), question.reason.clone()))
            .collect();
        open.iter().for_each(|(key, reason)| self.ask_about(key, reason));
    }

    /// Does without the calls that nobody has said anything about in time.
    pub(super) fn end_questions(&mut self) {
        let is_over = |question: &Question| question.until.is_some_and(|until| until <= self.now);
        let over: Vec<CallKey> = self
            .open_questions()
            .filter(|(_, question)| is_over(question))
            .map(|(key, _)| key.clone())
            .collect();
        for key in over {
            if self.pending.iter().any(|it| it.key == key) {
                self.forbid(&key, UNANSWERED);
            }
        }
    }
}
