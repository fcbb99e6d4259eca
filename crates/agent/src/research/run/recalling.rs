//! Standing on a finished run: what is taken over from it, which steps are known by that, and one step done anew.

use std::collections::BTreeMap;

use super::asking::Task;
use super::planning::Plan;
use super::reflecting::step_asked;
use super::{Phase, Run};
use crate::research::call::{Call, Freshness};
use crate::research::message::{Content, Party, SearchStep, StandsOn, Uuid};
use crate::research::offline;
use crate::research::order::Basis;
use crate::research::recalled::{
    Followed, REPORT_BYTES_MAX, Recalled, RecalledPlan, SOURCES_BYTES_MAX, SOURCES_MAX,
};
use crate::research::report::EndReason;
use crate::research::source::Source;
use crate::text::clip;

/// How much of a step one passage must say for the step to be known: most of its words, not some.
const KNOWN_MIN: f32 = 0.75;

/// Longest passage that is looked at for that, in bytes: words that stand far apart say nothing together.
const PASSAGE_BYTES_MAX: usize = 1_200;

/// Seconds that the search of a step takes at each of its sources, about.
const STEP_SECONDS: u64 = 3;

impl Run {
    /// All steps that were planned in it, those of plans that were given up included.
    #[must_use]
    pub fn steps(&self) -> Vec<SearchStep> {
        let told = self.messages().iter().filter_map(|message| match &message.content {
            Content::PlanningRequest(plan) => Some(&plan.search_steps),
            _ => None,
        });
        let present = self.plan.iter().map(|plan| &plan.steps);
        let by_number: BTreeMap<u32, &SearchStep> =
            told.chain(present).flatten().map(|step| (step.step_number, step)).collect();
        by_number.into_values().cloned().collect()
    }

    /// What another run takes over from this one, which has ended.
    #[must_use]
    pub fn recalled(&self, basis: Basis) -> Recalled {
        match basis {
            Basis::Follows { run } => Recalled {
                followed: self.report.as_ref().map(|report| Followed {
                    run,
                    question: self.order.question.clone(),
                    report: clip(&report.to_markdown(), REPORT_BYTES_MAX).to_owned(),
                }),
                sources: self.sources_to_follow(),
                plan: None,
            },
            Basis::Again { step, .. } => Recalled {
                followed: self.followed.clone(),
                sources: self.sources_without(step),
                plan: Some(self.plan_without(step)),
            },
        }
    }

    /// What was cited first, then what else was read, as much as there is room for.
    fn sources_to_follow(&self) -> Vec<Source> {
        let cited = self.report.iter().flat_map(|report| &report.sources);
        let cited: Vec<Uuid> = cited.map(|source| source.id).collect();
        let rank = |source: &Source| cited.iter().position(|id| *id == source.id);
        // Of a page that nobody has read there is nothing to cite.
        let mut read: Vec<&Source> = self.sources.iter().filter(|it| !it.is_summary).collect();
        read.sort_by_key(|source| rank(source).unwrap_or(usize::MAX));
        let mut left = SOURCES_BYTES_MAX;
        let mut taken = Vec::new();
        for source in read {
            if taken.len() == SOURCES_MAX {
                break;
            }
            if let Some(rest) = left.checked_sub(source.text_bytes()) {
                left = rest;
                taken.push(Source { steps: Vec::new(), ..source.clone() });
            }
        }
        taken
    }

    /// What was found for other steps, or was at hand before.
    fn sources_without(&self, step: u32) -> Vec<Source> {
        let is_of_step_alone = |source: &Source| source.steps == [step];
        let kept = self.sources.iter().filter(|source| !is_of_step_alone(source)).cloned();
        kept.map(|mut source| {
            source.steps.retain(|number| *number != step);
            source
        })
        .collect()
    }

    fn plan_without(&self, step: u32) -> RecalledPlan {
        let asked = self.asked.iter().filter(|(_, of)| **of != step);
        RecalledPlan {
            strategy: self.plan.as_ref().map(|plan| plan.strategy.clone()).unwrap_or_default(),
            steps: self.steps(),
            instructions: self.instructions.clone(),
            asked: asked.map(|((id, query), of)| (id.clone(), query.clone(), *of)).collect(),
        }
    }

    pub(super) fn start_recalling(&mut self, basis: Basis) {
        self.phase = Phase::Planning;
        self.want("recall".to_owned(), Call::Recall { basis }, Task::Recall);
    }

    pub(super) fn take_recalled(&mut self, recalled: Recalled) {
        let Recalled { followed, sources, plan } = recalled;
        self.recalled = sources.len();
        self.sources = sources;
        self.followed = followed;
        match (plan, self.step_again()) {
            (Some(plan), Some(step)) => self.plan_again(plan, step),
            _ => {
                self.note_followed();
                self.speak(Party::Planning);
            }
        }
    }

    /// The run that it should stand on is gone.
    pub(super) fn without_recalled(&mut self, why: &str) {
        match self.step_again() {
            // All else was to be kept: without it there is nothing to do again.
            Some(_) => self.end_without_answer(EndReason::Stopped),
            None => {
                self.notes.push(format!("the report that it follows is not at hand ({why})"));
                self.speak(Party::Planning);
            }
        }
    }

    fn note_followed(&mut self) {
        let Some(followed) = &self.followed else { return };
        let note = format!(
            "it follows the report on \u{201c}{}\u{201d}, of which {} sources were at hand",
            followed.question, self.recalled
        );
        self.notes.push(note);
    }

    /// Follows a plan of which everything is done but this step, and what was asked for since.
    fn plan_again(&mut self, plan: RecalledPlan, step: u32) {
        let RecalledPlan { strategy, steps, instructions, asked } = plan;
        self.turns.push(Party::Planning);
        self.note_followed();
        self.asked = asked.into_iter().map(|(id, query, of)| ((id, query), of)).collect();
        let of_step = steps.iter().find(|it| it.step_number == step);
        let searches = of_step.map_or(0, |it| it.sources.len() as u64);
        let words = of_step.map(|it| it.description.clone()).unwrap_or_default();
        self.notes.push(format!(
            "step {step} ({words}) was searched anew; what the other steps had found was kept"
        ));
        self.plan = Some(Plan { strategy, steps, estimated_time: STEP_SECONDS * searches });
        let new = std::mem::replace(&mut self.instructions, instructions);
        for instruction in new {
            self.add_step(&instruction);
            self.instructions.push(instruction);
        }
        let mut wanted = std::mem::take(&mut self.queued);
        wanted.push(step);
        self.follow_steps(|it| wanted.contains(&it.step_number));
    }

    pub(super) fn step_again(&self) -> Option<u32> {
        self.order.basis.and_then(Basis::step_again)
    }

    /// Whether what is searched for a step may be remembered from before.
    pub(super) fn freshness(&self, steps: &[u32]) -> Freshness {
        match self.step_again() {
            Some(again) if steps.contains(&again) => Freshness::MustBeFresh,
            Some(_) | None => Freshness::MayBeRemembered,
        }
    }

    /// Whether the page of a source may be read: of what was kept for other steps, none is.
    pub(super) fn may_read(&self, place: usize, source: &Source) -> bool {
        let is_kept = place < self.recalled;
        self.step_again().is_none_or(|again| !is_kept || source.steps.contains(&again))
    }

    /// Steps of its own plan that are known from the run that it follows.
    pub(super) fn known_steps(&self, steps: &[SearchStep]) -> Vec<u32> {
        let is_known = |step: &&SearchStep| self.known_for(step).next().is_some();
        // A plan is made again when what was at hand did not do.
        let steps = steps.iter().filter(|_| self.replans == 0).filter(is_known);
        steps.map(|step| step.step_number).collect()
    }

    /// The places of known sources that say a step.
    fn known_for(&self, step: &SearchStep) -> impl Iterator<Item = usize> {
        let asked = step_asked(step);
        let known = self.sources.iter().enumerate().take(self.recalled);
        known.filter_map(move |(place, source)| {
            let passage = offline::best_part(&asked, source, PASSAGE_BYTES_MAX);
            (asked.coverage(&passage) >= KNOWN_MIN).then_some(place)
        })
    }

    /// Takes known sources for what was found for the steps that they say.
    pub(super) fn use_known(&mut self, steps: &[SearchStep]) {
        for step in steps {
            let places: Vec<usize> = self.known_for(step).collect();
            for place in places {
                if let Some(source) = self.sources.get_mut(place)
                    && !source.steps.contains(&step.step_number)
                {
                    source.steps.push(step.step_number);
                }
            }
        }
    }

    /// What a plan says of the run that it stands on.
    pub(super) fn stands_on(&self, steps: &[SearchStep]) -> Option<StandsOn> {
        let basis = self.order.basis?;
        let again_step = basis.step_again();
        let followed = self.followed.as_ref();
        let question = match (again_step, followed) {
            (Some(_), _) => self.order.question.clone(),
            (None, Some(followed)) => followed.question.clone(),
            (None, None) => return None,
        };
        let known_steps = match again_step {
            Some(again) => {
                let others = steps.iter().map(|step| step.step_number);
                let is_done =
                    |number: &u32| *number != again && self.asked.values().any(|of| of == number);
                others.filter(is_done).collect()
            }
            None => self.known_steps(steps),
        };
        let sources = u32::try_from(self.recalled).unwrap_or(u32::MAX);
        Some(StandsOn { run: basis.run(), question, sources, known_steps, again_step })
    }
}
