//! What a terminal shows of a run: lines for what is done, and below them what is being done.

use std::io::IsTerminal;
use std::time::Duration;

use agent::research::message::{AgentMessage, BudgetPart, Content, PlanQuestion, ToolQuestion};
use engine::research::words::{call_asked, planned, standing};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Output;

/// How often the view shows that it is alive.
const TICK: Duration = Duration::from_millis(200);

/// Micro-dollars in a dollar.
const MICRODOLLARS: u64 = 1_000_000;

/// The view of one run.
pub(super) struct View {
    multi: MultiProgress,
    /// What is being done, the searches, the sources, the budget.
    lines: [ProgressBar; 4],
    progress: Progress,
}

impl View {
    pub(super) fn new(output: &Output) -> Self {
        let is_hidden = output.is_json() || !std::io::stderr().is_terminal();
        let target = match is_hidden {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let multi = MultiProgress::with_draw_target(target);
        let lines = ["{spinner} {wide_msg}", "  {wide_msg}", "  {wide_msg}", "  {wide_msg}"].map(
            |template| {
                let line = multi.add(ProgressBar::new_spinner());
                if let Ok(style) = ProgressStyle::with_template(template) {
                    line.set_style(style);
                }
                line
            },
        );
        let [first, ..] = &lines;
        first.enable_steady_tick(TICK);
        let view = Self { multi, lines, progress: Progress::default() };
        view.draw();
        view
    }

    /// Shows what an agent says.
    pub(super) fn take(&mut self, message: &AgentMessage) {
        for line in told(&message.content) {
            self.say(&line);
        }
        self.progress.take(&message.content);
        self.draw();
    }

    /// A line above what is being done.
    pub(super) fn say(&self, line: &str) {
        // A terminal that is gone does not stop a run.
        let _gone = self.multi.println(line);
    }

    /// Shows a plan that waits for a word.
    pub(super) fn ask(&self, plan: &PlanQuestion) {
        self.say(&format!("plan: {}", plan.strategy));
        plan.search_steps.iter().for_each(|step| self.say(&format!("  {}", planned(step))));
        if let Some(on) = &plan.stands_on {
            self.say(&format!("  {}", standing(on)));
        }
        let wait = match plan.goes_on_after {
            Some(seconds) => format!("without an answer it is followed in {seconds} s"),
            None => "it waits for your word".to_owned(),
        };
        self.say(&format!(
            "Enter follows it, n refuses it, numbers such as 1 3 follow these steps alone; {wait}."
        ));
    }

    /// Shows a call that waits for a word.
    pub(super) fn ask_about(&self, question: &ToolQuestion) {
        self.say(&call_asked(question));
        self.say("y makes it, n goes on without it.");
    }

    pub(super) fn clear(&self) {
        self.lines.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn draw(&self) {
        for (line, text) in self.lines.iter().zip(self.progress.lines()) {
            line.set_message(text);
        }
    }
}

/// What is known of a run from what was said.
#[derive(Debug, Default, PartialEq)]
struct Progress {
    doing: String,
    round: u32,
    steps: usize,
    searches: u64,
    errors: u64,
    found: u64,
    read: u64,
    budget: Vec<BudgetPart>,
}

impl Progress {
    fn take(&mut self, content: &Content) {
        match content {
            Content::SubmitQuery(_) => "planning".clone_into(&mut self.doing),
            Content::PlanApproval(approval) => {
                let is_asked = approval.request.is_some();
                self.doing = if is_asked { "waiting for your word" } else { "searching" }.into();
            }
            Content::ToolApproval(approval) => {
                let is_asked = approval.request.is_some();
                self.doing = if is_asked { "waiting for your word" } else { "searching" }.into();
            }
            Content::PlanningRequest(plan) => {
                (self.round, self.steps) = (self.round + 1, plan.search_steps.len());
                "searching".clone_into(&mut self.doing);
            }
            Content::SearchProgress(progress) => {
                self.searches += 1;
                self.found = self.found.max(progress.sources_found);
                self.doing = format!(
                    "searching {:.0} %: {}",
                    progress.progress.get() * 100.0,
                    progress.step_description
                );
            }
            Content::SourceRead(_) => self.read += 1,
            Content::SearchResults(results) => {
                self.found = self.found.max(results.result_ids.len() as u64);
                "judging what was found".clone_into(&mut self.doing);
            }
            Content::AdditionalSearchRequest(more) => {
                self.round += 1;
                self.doing = format!("searching again: {}", more.keywords.join(" | "));
            }
            Content::ContentRequest(_) => "writing".clone_into(&mut self.doing),
            Content::WritingProgress(progress) => {
                self.doing = format!(
                    "writing {} of {}: {}",
                    (progress.sections_completed + 1).min(progress.total_sections),
                    progress.total_sections,
                    progress.current_section
                );
            }
            Content::AnswerDraft(_) => "checking every quote".clone_into(&mut self.doing),
            Content::BudgetUpdate(update) => self.budget.clone_from(&update.parts),
            Content::AgentError(_) => self.errors += 1,
            _ => {}
        }
    }

    fn lines(&self) -> [String; 4] {
        let doing = if self.doing.is_empty() { "planning" } else { &self.doing };
        let errors = match self.errors {
            0 => String::new(),
            errors => format!(" · {errors} errors"),
        };
        let budget: Vec<String> = self.budget.iter().filter_map(spent).collect();
        [
            format!("round {} · {doing}", self.round.max(1)),
            format!("searches: {} for {} steps{errors}", self.searches, self.steps),
            format!("sources: {} found · {} read", self.found, self.read),
            format!("budget: {}", if budget.is_empty() { "–".into() } else { budget.join(" · ") }),
        ]
    }
}

/// What is used of a budget; none where nothing is used and nothing limited.
fn spent(part: &BudgetPart) -> Option<String> {
    if part.used == 0 && part.allowed.is_none() {
        return None;
    }
    let shown = |amount: u64| match part.name.as_str() {
        "microdollars" => {
            format!("${}.{:04}", amount / MICRODOLLARS, amount % MICRODOLLARS / 100)
        }
        _ => amount.to_string(),
    };
    let name = if part.name == "microdollars" { "money" } else { &part.name };
    Some(match part.allowed {
        Some(allowed) => format!("{name} {} of {}", shown(part.used), shown(allowed)),
        None => format!("{name} {}", shown(part.used)),
    })
}

/// What stays on the terminal of what an agent says.
fn told(content: &Content) -> Vec<String> {
    match content {
        Content::PlanningRequest(plan) => {
            let steps = plan.search_steps.iter().map(|step| format!("  {}", planned(step)));
            std::iter::once(format!("plan: {}", plan.strategy)).chain(steps).collect()
        }
        Content::SearchResults(results) => {
            let found = results.result_ids.len();
            vec![format!("found: {} passages in {found} sources", results.total_results)]
        }
        Content::QualityAssessment(quality) => vec![format!(
            "judged: quality {:.2}, relevance {:.2}, coverage {:.2} · {}",
            quality.quality_score.get(),
            quality.relevance_score.get(),
            quality.coverage_score.get(),
            quality.feedback
        )],
        Content::AdditionalSearchRequest(more) => {
            vec![format!("more: {}", more.keywords.join(" | "))]
        }
        Content::DraftApproval(approval) => vec![format!(
            "checked: {:.0} % of the claims are supported",
            approval.supported_share.get() * 100.0
        )],
        Content::AgentError(error) => {
            let action = error.suggested_action.clone().unwrap_or_default();
            vec![format!("error: {} · {action}", error.error_message)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use agent::research::message::BudgetUpdate;

    use super::*;

    #[test]
    fn the_budget_is_shown_in_words_that_people_use() {
        let mut progress = Progress::default();
        let part = |name: &str, used, allowed| BudgetPart { name: name.into(), used, allowed };
        let parts = vec![
            part("tokens", 1_200, Some(50_000)),
            part("microdollars", 12_345, Some(200_000)),
            part("calls", 3, None),
            part("pages", 0, None),
        ];
        progress.take(&Content::from(BudgetUpdate { parts, exceeded: None }));
        let [doing, searches, sources, budget] = progress.lines();
        assert_eq!(doing, "round 1 · planning");
        assert_eq!(searches, "searches: 0 for 0 steps");
        assert_eq!(sources, "sources: 0 found · 0 read");
        assert_eq!(budget, "budget: tokens 1200 of 50000 · money $0.0123 of $0.2000 · calls 3");
    }
}
