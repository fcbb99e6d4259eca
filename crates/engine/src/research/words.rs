//! What a run says to somebody who waits for it, in words, and what somebody says about its plan.

use agent::research::message::{
    Content, PlanQuestion, ProviderId, SearchStep, StandsOn, ToolQuestion,
};

/// What a message says; none for what is of no use to somebody who waits.
#[must_use]
pub fn told(content: &Content) -> Option<String> {
    Some(match content {
        Content::SubmitQuery(_) => "planning".to_owned(),
        Content::PlanningRequest(plan) => {
            let words =
                format!("searching in {} steps: {}", plan.search_steps.len(), plan.strategy);
            match &plan.stands_on {
                Some(stands_on) => format!("{words} · {}", standing(stands_on)),
                None => words,
            }
        }
        Content::SearchProgress(progress) => {
            format!("searching: {} · {} found", progress.step_description, progress.sources_found)
        }
        Content::SourceRead(source) => format!("read: {}", source.title),
        Content::SearchResults(results) => {
            format!("{} passages in {} sources", results.total_results, results.result_ids.len())
        }
        Content::QualityAssessment(quality) => format!("judged: {}", quality.feedback),
        Content::AdditionalSearchRequest(more) => {
            format!("searching again: {}", more.keywords.join(" | "))
        }
        Content::WritingProgress(progress) => format!("writing: {}", progress.current_section),
        Content::DraftApproval(approval) => {
            format!("{:.0} % of the claims are supported", approval.supported_share.get() * 100.0)
        }
        Content::AgentError(error) => format!("error: {}", error.error_message),
        _ => return None,
    })
}

/// A plan as somebody reads it who is asked about it.
#[must_use]
pub fn shown(plan: &PlanQuestion) -> String {
    let steps: Vec<String> = plan.search_steps.iter().map(planned).collect();
    let words = format!("{}\n{}", plan.strategy, steps.join("\n"));
    match &plan.stands_on {
        Some(stands_on) => format!("{words}\n{}", standing(stands_on)),
        None => words,
    }
}

/// What a plan stands on, as somebody reads it.
#[must_use]
pub fn standing(on: &StandsOn) -> String {
    let StandsOn { question, sources, known_steps, again_step, .. } = on;
    let numbers: Vec<String> = known_steps.iter().map(u32::to_string).collect();
    let known = match numbers.as_slice() {
        [] => String::new(),
        numbers => format!("; known without a search: {}", numbers.join(", ")),
    };
    match again_step {
        Some(step) => format!("step {step} is done anew with {sources} sources kept{known}"),
        None => format!("follows the report on “{question}” with {sources} sources at hand{known}"),
    }
}

/// A call as somebody reads it who is asked about it.
#[must_use]
pub fn call_asked(question: &ToolQuestion) -> String {
    let ToolQuestion { provider, arguments, reason, .. } = question;
    format!("{provider} {arguments}\n{reason}\nIs this call to be made?")
}

/// A step as somebody reads it.
#[must_use]
pub fn planned(step: &SearchStep) -> String {
    let sources: Vec<&str> = step.sources.iter().map(ProviderId::as_str).collect();
    format!("{}. {} ({})", step.step_number, step.description, sources.join(", "))
}

/// The steps of a plan that a text names by their numbers, such as `1 3`, numbered anew; empty if it names none, or
/// holds anything else.
#[must_use]
pub fn steps_named(text: &str, plan: &PlanQuestion) -> Vec<SearchStep> {
    let words = text.split([' ', ',']).map(str::trim).filter(|word| !word.is_empty());
    let Ok(wanted) = words.map(str::parse).collect::<Result<Vec<u32>, _>>() else {
        return Vec::new();
    };
    let kept = plan.search_steps.iter().filter(|step| wanted.contains(&step.step_number));
    let renumbered =
        |(step_number, step): (u32, &SearchStep)| SearchStep { step_number, ..step.clone() };
    (1..).zip(kept).map(renumbered).collect()
}

#[cfg(test)]
mod tests {
    use agent::research::message::Uuid;

    use super::*;

    #[test]
    fn a_plan_says_what_it_stands_on() {
        let on = StandsOn {
            run: Uuid::from_random([1; 16]),
            question: "Why tea?".to_owned(),
            sources: 3,
            known_steps: vec![1, 3],
            again_step: None,
        };
        assert_eq!(
            standing(&on),
            "follows the report on “Why tea?” with 3 sources at hand; known without a search: 1, 3"
        );
        let again = StandsOn { again_step: Some(2), known_steps: vec![], ..on };
        assert_eq!(standing(&again), "step 2 is done anew with 3 sources kept");
    }
}
