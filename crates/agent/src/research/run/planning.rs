//! The planning agent: steps to search, and a person's word about them.

use super::asking::Task;
use super::researching::Work;
use super::{Phase, Run};
use crate::context::{Before, research_plan};
use crate::identity::Timestamp;
use crate::research::call::Purpose;
use crate::research::message::{
    Decision, Party, PlanApproval, PlanQuestion, PlanningRequest, ProviderId, SearchStep,
};
use crate::research::offline;
use crate::research::order::{Approval, Class};
use crate::research::thought::{self, PlanThought, StepThought};
use crate::text::clip;

/// Longest description of a step, and longest keyword, in bytes; and keywords of a step.
const DESCRIPTION_BYTES_MAX: usize = 400;
const KEYWORD_BYTES_MAX: usize = 200;
const KEYWORDS_MAX: usize = 8;

/// Steps that a plan has at least: one search is no research.
const STEPS_MIN: usize = 2;

/// Longest time that is believed of an estimate, in seconds.
const ESTIMATE_SECONDS_MAX: u64 = 24 * 3_600;

/// What is to be searched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) strategy: String,
    /// Of the present plan.
    pub(super) steps: Vec<SearchStep>,
    pub(super) estimated_time: u64,
}

impl Run {
    pub(super) fn start_planning(&mut self) {
        self.phase = Phase::Planning;
        if self.plan.is_some() {
            self.replans += 1;
        }
        if self.is_model_out {
            return self.plan_offline(None);
        }
        let given_up = self.plan.as_ref().map(|plan| {
            let steps: Vec<&str> = plan.steps.iter().map(|it| it.description.as_str()).collect();
            steps.join("; ")
        });
        let report = self.followed.as_ref().map(|followed| followed.report.as_str());
        let before = Before { given_up: given_up.as_deref(), report };
        let ids = self.provider_ids();
        let steps_max = self.order.limits.steps_max;
        let messages = research_plan(&self.research(), &ids, steps_max, before);
        self.want_thought(format!("plan.{}", self.replans), Purpose::Plan, messages, Task::Plan);
    }

    pub(super) fn take_plan(&mut self, text: &str) -> Result<(), String> {
        let thought: PlanThought = thought::thought(text)?;
        if thought.steps.iter().all(|step| step.description.trim().is_empty()) {
            return Err("steps: each step says what it looks for".to_owned());
        }
        self.planned(thought);
        Ok(())
    }

    pub(super) fn plan_offline(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.notes.push(format!("the plan was made without a model: {why}"));
        }
        let plan =
            offline::plan(&self.order.question, &self.provider_ids(), self.order.limits.steps_max);
        self.planned(plan);
    }

    fn planned(&mut self, mut thought: PlanThought) {
        // A report is there already that answers the rest.
        let steps_min = if self.followed.is_some() { 1 } else { STEPS_MIN };
        if thought.steps.len() < steps_min {
            let ids = self.provider_ids();
            let more = offline::plan(&self.order.question, &ids, self.order.limits.steps_max);
            thought.steps.extend(more.steps);
        }
        thought.steps.truncate(self.order.limits.steps_max.max(STEPS_MIN));
        let first = self.plan.as_ref().and_then(|plan| plan.steps.last());
        let first = first.map_or(1, |last| last.step_number + 1);
        let steps: Vec<SearchStep> =
            (first..).zip(&thought.steps).map(|(number, step)| self.step(number, step)).collect();
        self.plan = Some(Plan {
            strategy: clip(thought.strategy.trim(), DESCRIPTION_BYTES_MAX).to_owned(),
            steps,
            estimated_time: thought.estimated_seconds.min(ESTIMATE_SECONDS_MAX),
        });
        for instruction in std::mem::take(&mut self.instructions_before_plan()) {
            self.add_step(&instruction);
        }
        if self.waits_for_approval() {
            self.ask_about_plan();
        } else {
            self.follow_plan();
        }
    }

    /// What was wanted before there was a plan that could hold it.
    fn instructions_before_plan(&self) -> Vec<String> {
        if self.replans == 0 { self.instructions.clone() } else { Vec::new() }
    }

    fn step(&self, number: u32, thought: &StepThought) -> SearchStep {
        let description = clip(thought.description.trim(), DESCRIPTION_BYTES_MAX).to_owned();
        let keywords = keywords(&thought.keywords);
        let keywords = if keywords.is_empty() { vec![description.clone()] } else { keywords };
        let sources = self.known_providers(&thought.sources);
        SearchStep { step_number: number, description, sources, keywords }
    }

    /// The providers that are meant by these names; all, if they mean none.
    fn known_providers(&self, names: &[String]) -> Vec<ProviderId> {
        let mut known: Vec<ProviderId> = Vec::new();
        for name in names {
            let name = name.trim().to_lowercase();
            let is_it = |id: &ProviderId| id.as_str().eq_ignore_ascii_case(&name);
            let by_name = self.providers().find(|provider| is_it(&provider.id));
            // Whoever says so means the web.
            let is_web = matches!(name.as_str(), "google" | "web");
            let of_web =
                || self.providers().find(|provider| is_web && provider.class == Class::Web);
            let id = by_name.or_else(of_web).map(|provider| provider.id.clone());
            known.extend(id.filter(|id| !known.contains(id)));
        }
        if known.is_empty() { self.provider_ids() } else { known }
    }

    fn ask_about_plan(&mut self) {
        let Some(plan) = self.plan.clone() else { return };
        let seconds = match self.order.approval {
            Approval::After { seconds } => Some(seconds),
            Approval::Given | Approval::Asked => None,
        };
        let until = seconds
            .map(|seconds| Timestamp(self.now.0.saturating_add(seconds.saturating_mul(1_000))));
        self.phase = Phase::Approving { until };
        let request = PlanQuestion {
            stands_on: self.stands_on(&plan.steps),
            strategy: plan.strategy,
            search_steps: plan.steps,
            estimated_time: plan.estimated_time,
            goes_on_after: seconds,
        };
        self.say(
            Party::Planning,
            PlanApproval { request: Some(request), ..PlanApproval::default() },
        );
    }

    /// Nobody has objected in time.
    pub(super) fn went_on(&mut self) {
        self.decide(Decision::WentOn, None);
    }

    /// Takes a person's word about the plan.
    pub(super) fn decide(&mut self, decision: Decision, edited_plan: Option<Vec<SearchStep>>) {
        let edited = edited_plan.clone();
        let decided = PlanApproval { request: None, decision: Some(decision), edited_plan };
        self.say(Party::User, decided);
        match decision {
            Decision::Approve | Decision::WentOn => self.follow_plan(),
            Decision::Edit => {
                if let (Some(plan), Some(steps)) = (&mut self.plan, edited) {
                    plan.steps = steps;
                }
                self.follow_plan();
            }
            Decision::Refuse => {
                self.end_without_answer(crate::research::report::EndReason::Refused)
            }
        }
    }

    fn follow_plan(&mut self) {
        let steps = self.plan.as_ref().map(|plan| plan.steps.clone()).unwrap_or_default();
        let known = self.known_steps(&steps);
        let of_known: Vec<SearchStep> =
            steps.into_iter().filter(|step| known.contains(&step.step_number)).collect();
        self.use_known(&of_known);
        self.queued.clear();
        self.follow_steps(|step| !known.contains(&step.step_number));
    }

    /// Tells the plan, of which only some steps are to be searched.
    pub(super) fn follow_steps(&mut self, is_wanted: impl Fn(&SearchStep) -> bool) {
        let Some(plan) = self.plan.clone() else { return };
        let wanted: Vec<SearchStep> =
            plan.steps.iter().filter(|step| is_wanted(step)).cloned().collect();
        self.next_work = self.work_for(&wanted);
        self.say(
            Party::Planning,
            PlanningRequest {
                stands_on: self.stands_on(&plan.steps),
                strategy: plan.strategy,
                search_steps: plan.steps,
                estimated_time: plan.estimated_time,
            },
        );
        self.end_turn(Party::Research);
    }

    /// Searches for these steps that were not made yet.
    pub(super) fn work_for(&self, steps: &[SearchStep]) -> Vec<Work> {
        let mut work = Vec::new();
        for step in steps {
            for provider in step.sources.iter().filter(|id| !self.out.contains(id)) {
                let query = step.keywords.join(" ");
                self.add_work(&mut work, step.step_number, provider, &query);
            }
        }
        work
    }

    /// Adds a step that somebody asked for.
    pub(super) fn add_step(&mut self, text: &str) {
        let sources = self.provider_ids();
        let Some(plan) = &mut self.plan else { return };
        let number = plan.steps.last().map_or(1, |last| last.step_number + 1);
        plan.steps.push(SearchStep {
            step_number: number,
            description: clip(text, DESCRIPTION_BYTES_MAX).to_owned(),
            sources,
            keywords: vec![clip(text, KEYWORD_BYTES_MAX).to_owned()],
        });
        self.queued.push(number);
    }

    /// Whether a person's plan can be followed.
    pub(super) fn may_edit(&self, steps: &[SearchStep]) -> Result<(), String> {
        let steps_max = self.order.limits.steps_max.max(STEPS_MIN);
        if steps.is_empty() || steps.len() > steps_max {
            return Err(format!("a plan has 1 to {steps_max} steps, this one has {}", steps.len()));
        }
        for (place, step) in (1u32..).zip(steps) {
            if step.step_number != place {
                return Err(format!("step {place} has the number {}", step.step_number));
            }
            if keywords(&step.keywords).is_empty() {
                return Err(format!("step {place} has no keywords"));
            }
            let unknown = step.sources.iter().find(|id| !self.provider_ids().contains(id));
            match unknown {
                Some(id) => return Err(format!("step {place}: {id} cannot be searched here")),
                None if step.sources.is_empty() => {
                    return Err(format!("step {place} has no source"));
                }
                None => {}
            }
        }
        Ok(())
    }
}

/// Words that can be searched for, each once.
fn keywords(given: &[String]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for keyword in given {
        let plain: String =
            keyword.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let plain = clip(plain.trim(), KEYWORD_BYTES_MAX).to_owned();
        if !plain.is_empty() && !known.contains(&plain) {
            known.push(plain);
        }
    }
    known.truncate(KEYWORDS_MAX);
    known
}
