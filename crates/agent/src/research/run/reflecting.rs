//! The reflecting agent: what the findings are worth, and whether more is wanted.
//!
//! Scores rest on what can be counted: steps of the plan that something was found for, different places, sources that
//! say something of the question. A model's view is averaged in, and never stands alone.

use std::collections::BTreeSet;

use super::asking::Task;
use super::researching::Work;
use super::{Phase, Run};
use crate::context::research_assessment;
use crate::offline::Asked;
use crate::research::call::Purpose;
use crate::research::message::{Measured, Party, QualityAssessment, SearchStep, Share};
use crate::research::report::{EndReason, is_korean};
use crate::research::source::Source;
use crate::research::thought::{self, AssessThought};
use crate::text::clip;

/// How much of a step, or of the question, a source must say to count.
pub(super) const RELEVANT_MIN: f64 = 0.25;

/// Different places that make a search broad.
const DOMAINS_ENOUGH: usize = 3;

/// Sources that a judge sees.
const JUDGED_MAX: usize = 24;

/// Keywords of one further search, and longest text of a model that is passed on, in bytes.
const MORE_KEYWORDS_MAX: usize = 6;
const FEEDBACK_BYTES_MAX: usize = 1_000;

/// What the findings were judged to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assessed {
    pub(super) feedback: String,
    /// Headings that the answer should have.
    pub(super) structure: Vec<String>,
    /// Why another search is wanted; taken when it begins.
    pub(super) wants: Option<String>,
    /// Sources that count, as of this judgement.
    relevant: usize,
}

impl Run {
    pub(super) fn start_assessing(&mut self) {
        self.phase = Phase::Reflecting;
        if self.is_model_out || self.sources.is_empty() {
            return self.assess_offline(None);
        }
        let sources = self.best_sources(&self.question, JUDGED_MAX);
        let steps: Vec<SearchStep> =
            self.plan.as_ref().map(|plan| plan.steps.clone()).unwrap_or_default();
        let sections_max = self.order.limits.sections_max;
        let messages = research_assessment(&self.research(), &steps, &sources, sections_max);
        self.want_thought(
            format!("assess.{}", self.round),
            Purpose::Assess,
            messages,
            Task::Assess,
        );
    }

    pub(super) fn take_assessment(&mut self, text: &str) -> Result<(), String> {
        let thought: AssessThought = thought::thought(text)?;
        self.assessed_as(Some(&thought));
        Ok(())
    }

    pub(super) fn assess_offline(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.notes.push(format!("what was found was judged without a model: {why}"));
        }
        self.assessed_as(None);
    }

    fn assessed_as(&mut self, thought: Option<&AssessThought>) {
        let steps = self.steps_asked();
        let missing = self.uncovered(&steps);
        let (measured, relevance) = self.measure(&steps, missing.len());
        let covered = Share::of(measured.steps_covered as usize, measured.steps as usize).get();
        let domains =
            Share::of((measured.domains as usize).min(DOMAINS_ENOUGH), DOMAINS_ENOUGH).get();
        let relevant =
            Share::of(measured.relevant_sources as usize, measured.sources as usize).get();
        let with = |own: f64, of_model: Option<f64>| match of_model {
            Some(other) => Share::about(f64::midpoint(own, Share::about(other).get())),
            None => Share::about(own),
        };
        let before = self.assessed.as_ref().map_or(0, |assessed| assessed.relevant);
        let now = measured.relevant_sources as usize;
        self.stalls = if now > before { 0 } else { self.stalls + 1 };
        let more = self.more_work(thought, &missing);
        let is_whole = measured.steps_covered == measured.steps;
        let is_wanted = thought.map_or(!is_whole, |thought| thought.needs_more_search);
        let verdict = self.verdict(is_wanted, &more);
        let feedback = self.feedback(thought, &measured);
        let recommendations = missing.into_iter().map(|step| step.description).collect();
        let structure = thought.map(|it| it.structure.clone()).unwrap_or_default();
        let needs_more_search = verdict.is_none();
        let wants = needs_more_search.then(|| feedback.clone());
        self.say(
            Party::Reflect,
            QualityAssessment {
                quality_score: Share::about((covered + domains + relevant) / 3.0),
                relevance_score: with(relevance, thought.map(|it| it.relevance)),
                coverage_score: with(covered, thought.map(|it| it.coverage)),
                needs_more_search,
                feedback: feedback.clone(),
                recommendations,
                measured: Some(measured),
            },
        );
        self.assessed = Some(Assessed { feedback, structure, wants, relevant: now });
        match verdict {
            None if self.is_stalled() => self.end_turn(Party::Planning),
            None => {
                self.queued.clear();
                self.next_work = more;
                self.end_turn(Party::Research);
            }
            Some(reason) => {
                self.ended.get_or_insert(reason);
                self.end_turn(Party::Content);
            }
        }
    }

    fn is_stalled(&self) -> bool {
        self.stalls >= self.order.limits.stalls_max
    }

    /// Why it is to be written now; none if it is to be searched again.
    fn verdict(&self, is_wanted: bool, more: &[Work]) -> Option<EndReason> {
        let is_asked_for = !self.queued.is_empty() && !more.is_empty();
        if !is_wanted && !is_asked_for {
            return Some(EndReason::Enough);
        }
        if self.round >= self.order.limits.rounds_max {
            return Some(EndReason::Rounds);
        }
        let may_replan = self.replans < self.order.limits.replans_max && !self.is_model_out;
        let is_over = if self.is_stalled() { !may_replan } else { more.is_empty() };
        is_over.then_some(EndReason::Stalled)
    }

    /// Searches that might find what is missing and were not made.
    fn more_work(&self, thought: Option<&AssessThought>, missing: &[SearchStep]) -> Vec<Work> {
        let steps = self.plan.iter().flat_map(|plan| &plan.steps);
        let queued: Vec<SearchStep> =
            steps.filter(|step| self.queued.contains(&step.step_number)).cloned().collect();
        let mut work = self.work_for(&queued);
        let keywords: Vec<&str> = thought
            .iter()
            .flat_map(|thought| &thought.more_keywords)
            .map(|keyword| keyword.trim())
            .filter(|keyword| !keyword.is_empty())
            .take(MORE_KEYWORDS_MAX)
            .collect();
        let first_missing = missing.first().map_or(1, |step| step.step_number);
        for provider in self.provider_ids() {
            self.add_work(&mut work, first_missing, &provider, &keywords.join(" "));
        }
        for step in missing.iter().filter(|_| keywords.is_empty()) {
            let words = step_asked(step);
            for provider in step.sources.iter().filter(|id| !self.out.contains(id)) {
                self.add_work(&mut work, step.step_number, provider, &words.words().join(" "));
            }
        }
        work
    }

    fn measure(&self, asked: &[StepAsked], missing: usize) -> (Measured, f64) {
        let steps = asked.len();
        let score = |source| self.score(source, asked).get();
        let scores: Vec<f64> = self.sources.iter().map(score).collect();
        let is_relevant = |score: &&f64| **score >= RELEVANT_MIN;
        let relevant = scores.iter().filter(is_relevant).count();
        let counted = self.sources.iter().zip(&scores).filter(|(_, score)| **score >= RELEVANT_MIN);
        let domains: BTreeSet<&str> = counted.map(|(source, _)| source.domain()).collect();
        let mean = match relevant {
            0 => 0.0,
            count => scores.iter().filter(is_relevant).sum::<f64>() / count as f64,
        };
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let measured = Measured {
            round: self.round,
            steps_covered: number(steps - missing),
            steps: number(steps),
            domains: number(domains.len()),
            relevant_sources: number(relevant),
            sources: number(self.sources.len()),
        };
        (measured, mean)
    }

    /// What each step of the plan asks.
    pub(super) fn steps_asked(&self) -> Vec<StepAsked> {
        let steps = self.plan.iter().flat_map(|plan| &plan.steps);
        steps.map(|step| (step.step_number, step_asked(step))).collect()
    }

    /// How much of the question, or of a step that it was found for, a source says.
    pub(super) fn score(&self, source: &Source, steps: &[StepAsked]) -> Share {
        let text = format!("{}\n{}", source.title, source.text());
        let question = self.question.coverage(&text);
        let steps = steps.iter().filter(|(number, _)| source.steps.contains(number));
        let best = steps.map(|(_, asked)| asked.coverage(&text)).fold(question, f32::max);
        Share::about(f64::from(best))
    }

    /// Steps for which nothing was found that says something of them.
    pub(super) fn uncovered(&self, asked: &[StepAsked]) -> Vec<SearchStep> {
        let is_covered = |(number, asked): &StepAsked| {
            let of_step = self.sources.iter().filter(|it| it.steps.contains(number));
            let mut said = of_step.map(|source| {
                let text = format!("{}\n{}", source.title, source.text());
                f64::from(asked.coverage(&text))
            });
            said.any(|said| said >= RELEVANT_MIN)
        };
        let steps = self.plan.iter().flat_map(|plan| &plan.steps).zip(asked);
        steps.filter(|(_, asked)| !is_covered(asked)).map(|(step, _)| step.clone()).collect()
    }

    /// The sources that say most of what is asked, the best first.
    pub(super) fn best_sources(&self, asked: &Asked, count_max: usize) -> Vec<&Source> {
        let mut scored: Vec<(f32, usize, &Source)> = self
            .sources
            .iter()
            .enumerate()
            .map(|(place, source)| {
                let text = format!("{}\n{}", source.title, source.text());
                (asked.coverage(&text), place, source)
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.into_iter().take(count_max).map(|(_, _, source)| source).collect()
    }

    fn feedback(&self, thought: Option<&AssessThought>, measured: &Measured) -> String {
        if let Some(thought) = thought.filter(|thought| !thought.feedback.trim().is_empty()) {
            return clip(thought.feedback.trim(), FEEDBACK_BYTES_MAX).to_owned();
        }
        let Measured { steps_covered, steps, relevant_sources, domains, .. } = measured;
        if is_korean(self.language) {
            format!(
                "{steps}단계 중 {steps_covered}단계의 내용을 찾음. 관련 출처 {relevant_sources}개, 출처 위치 {domains}곳."
            )
        } else {
            format!(
                "{steps_covered} of {steps} steps have findings; {relevant_sources} relevant sources from {domains} places."
            )
        }
    }
}

/// The number of a step, and what it asks.
pub(super) type StepAsked = (u32, Asked);

pub(super) fn step_asked(step: &SearchStep) -> Asked {
    Asked::new(&format!("{} {}", step.description, step.keywords.join(" ")))
}
