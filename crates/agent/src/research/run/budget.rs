//! What a run has used, what it may still use, and the end of the search when a part of it is spent.
//!
//! Of everything a share is kept for the answer: a run whose budget is spent ends in a report that says so.

use super::{Phase, Run};
use crate::identity::Timestamp;
use crate::research::call::{CallSpent, Outcome};
use crate::research::message::{BudgetPart, BudgetUpdate, Party};
use crate::research::report::EndReason;

/// Hundredths of each budget that the search may use; the others are kept for the answer.
const SEARCH_PERCENT: u64 = 85;

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used {
    calls: u64,
    pages: u64,
    tokens: u64,
    picodollars: u64,
}

impl Used {
    pub(super) fn add(&mut self, outcome: &Outcome, spent: CallSpent) {
        // Nothing was sent for the one; what the other took over was called for in another run.
        let is_call = !matches!(outcome, Outcome::Unallowed { .. } | Outcome::Recalled { .. });
        self.calls += u64::from(is_call);
        self.pages += u64::from(matches!(outcome, Outcome::Read { .. }));
        let tokens = spent.usage.input.saturating_add(spent.usage.output);
        self.tokens = self.tokens.saturating_add(tokens);
        self.picodollars = self.picodollars.saturating_add(spent.cost.picodollars);
    }

    fn microdollars(&self) -> u64 {
        self.picodollars / 1_000_000
    }
}

/// One of the budgets: its name, what is used of it, what is allowed, and how the run ends when it is spent.
type Part = (&'static str, u64, Option<u64>, EndReason);

impl Run {
    fn parts(&self) -> [Part; 5] {
        let (used, budget) = (&self.used, &self.order.budget);
        let seconds = (self.now.0 - self.started.0).saturating_sub(self.idle) / 1_000;
        [
            ("seconds", seconds, budget.seconds, EndReason::TimeSpent),
            ("tokens", used.tokens, budget.tokens, EndReason::TokensSpent),
            ("microdollars", used.microdollars(), budget.microdollars, EndReason::MoneySpent),
            ("calls", used.calls, budget.calls, EndReason::CallsSpent),
            ("pages", used.pages, budget.pages, EndReason::PagesSpent),
        ]
    }

    /// Ends the search if its share of something is spent.
    pub(super) fn watch_budget(&mut self) {
        if !self.is_before_writing() {
            return;
        }
        let spent = self.parts().into_iter().find(|(name, used, allowed, _)| {
            // A run that reads no page does not lack them.
            let counts = *name != "pages" || *used > 0;
            counts && allowed.is_some_and(|allowed| *used >= searchable(allowed))
        });
        if let Some((_, _, _, reason)) = spent {
            self.finish_early(reason);
        }
    }

    /// Whether a model may still be asked for the answer.
    pub(super) fn may_write_with_model(&self) -> bool {
        let is_left = |(_, used, allowed, _): &Part| allowed.is_none_or(|allowed| *used < allowed);
        !self.is_model_out && self.parts().iter().filter(|part| part.0 != "pages").all(is_left)
    }

    /// Calls that may still be begun, with so many under way.
    pub(super) fn calls_left(&self, begun: usize) -> usize {
        let Some(allowed) = self.order.budget.calls.filter(|_| self.is_before_writing()) else {
            return usize::MAX;
        };
        let left = searchable(allowed).saturating_sub(self.used.calls);
        usize::try_from(left).unwrap_or(usize::MAX).saturating_sub(begun)
    }

    /// Pages that may still be read.
    pub(super) fn pages_left(&self) -> usize {
        let allowed = self.order.budget.pages.map(searchable);
        let left = allowed.map_or(u64::MAX, |allowed| allowed.saturating_sub(self.used.pages));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// When the search's share of the time is over.
    pub(super) fn time_over_at(&self) -> Option<Timestamp> {
        let waits = matches!(self.phase, Phase::Approving { .. });
        let seconds = self.order.budget.seconds.filter(|_| self.is_before_writing() && !waits)?;
        let milliseconds = searchable(seconds).saturating_mul(1_000).saturating_add(self.idle);
        Some(Timestamp(self.started.0.saturating_add(milliseconds)))
    }

    /// What is used of each budget, and what is allowed.
    pub(super) fn budget(&self) -> Vec<BudgetPart> {
        let part =
            |(name, used, allowed, _): Part| BudgetPart { name: name.to_owned(), used, allowed };
        self.parts().into_iter().map(part).collect()
    }

    pub(super) fn tell_budget(&mut self) {
        let exceeded = self
            .parts()
            .into_iter()
            .find(|(_, _, _, reason)| Some(*reason) == self.ended)
            .map(|(name, ..)| name.to_owned());
        let parts = self.budget();
        self.say(Party::System, BudgetUpdate { parts, exceeded });
    }
}

fn searchable(allowed: u64) -> u64 {
    (u128::from(allowed) * u128::from(SEARCH_PERCENT) / 100).try_into().unwrap_or(u64::MAX)
}
