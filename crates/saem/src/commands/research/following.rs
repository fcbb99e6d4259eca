//! Follows a run to its end: shows it, asks about its plan and its calls, and lets whoever sits there cut it short.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

use agent::research::message::{Content, PlanQuestion, ToolQuestion, Uuid};
use anyhow::{Result, bail};
use engine::research::words::steps_named;
use server::api::wire::research::{ControlBody, ControlKind, PlanBody, PlanDecision};

use super::view::View;
use crate::backend::Backend;
use crate::backend::research::{LocalResearch, RunEvent, Word};
use crate::input::Input;
use crate::output::Output;

/// How often a stream that was cut is opened again in a row, and the pause before each.
const RETURNS_MAX: u32 = 5;
const RETURN_PAUSE: Duration = Duration::from_secs(1);

/// How following a run ended.
pub(super) enum Ended {
    Reported,
    Without(String),
    /// It is not over, and can be followed again.
    Left,
}

/// What the loop was woken by.
enum Woken {
    Told(RunEvent),
    Typed(Option<Vec<u8>>),
    Interrupted,
}

pub(super) async fn follow(
    backend: &Backend<LocalResearch>,
    id: Uuid,
    after: u64,
    output: &Output,
) -> Result<Ended> {
    let mut follower = Follower {
        backend,
        id,
        after,
        output,
        view: View::new(output),
        is_person: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
        asked: VecDeque::new(),
        is_cut: false,
    };
    let ended = follower.follow().await;
    follower.view.clear();
    ended
}

/// Something that waits for the person's word.
#[derive(Debug, Clone, PartialEq)]
enum Asked {
    Plan(PlanQuestion),
    Call(ToolQuestion),
}

struct Follower<'a> {
    backend: &'a Backend<LocalResearch>,
    id: Uuid,
    /// The last message that was seen.
    after: u64,
    output: &'a Output,
    view: View,
    /// Whether there is somebody to ask.
    is_person: bool,
    /// What the person is asked about, one after the other.
    asked: VecDeque<Asked>,
    /// The person has asked to write with what there is.
    is_cut: bool,
}

impl Follower<'_> {
    async fn follow(&mut self) -> Result<Ended> {
        let input = Input::standard()?;
        let mut watched = self.backend.watch(self.id, self.after).await?;
        let mut returns = 0;
        loop {
            let woken = tokio::select! {
                told = watched.next() => Woken::Told(told?),
                line = input.next(), if self.is_person && !self.asked.is_empty() => {
                    Woken::Typed(line?)
                }
                stopped = tokio::signal::ctrl_c() => {
                    stopped?;
                    Woken::Interrupted
                }
            };
            match woken {
                Woken::Told(RunEvent::Said(message)) => {
                    returns = 0;
                    self.after = message.more.seq.unwrap_or(self.after);
                    self.output.json(&message)?;
                    self.view.take(&message);
                    self.heed(&message.content).await;
                }
                Woken::Told(RunEvent::Ended { has_report: true, .. }) => {
                    return Ok(Ended::Reported);
                }
                Woken::Told(RunEvent::Ended { reason, .. }) => return Ok(Ended::Without(reason)),
                Woken::Told(RunEvent::Failed(why)) => bail!(
                    "{why}: the run cannot go on now; later, go on with: saem research --resume {}",
                    self.id
                ),
                Woken::Told(RunEvent::Cut) => {
                    if !self.backend.is_remote() || returns == RETURNS_MAX {
                        return Ok(Ended::Left);
                    }
                    returns += 1;
                    tokio::time::sleep(RETURN_PAUSE).await;
                    if let Ok(again) = self.backend.watch(self.id, self.after).await {
                        watched = again;
                    }
                }
                Woken::Typed(line) => self.answer(line).await?,
                Woken::Interrupted => {
                    if !self.cut_short().await {
                        return Ok(Ended::Left);
                    }
                }
            }
        }
    }

    /// Asks the person where the run does.
    async fn heed(&mut self, content: &Content) {
        let before = self.asked.front().cloned();
        match content {
            Content::PlanApproval(approval) => {
                self.asked.retain(|asked| !matches!(asked, Asked::Plan(_)));
                self.asked.extend(approval.request.clone().map(Asked::Plan));
            }
            Content::PlanningRequest(_) => {
                self.asked.retain(|asked| !matches!(asked, Asked::Plan(_)));
            }
            Content::ToolApproval(approval) => {
                if let Some(decision) = &approval.decision {
                    let is_it = |asked: &Asked| matches!(asked, Asked::Call(question) if question.call == decision.call);
                    self.asked.retain(|asked| !is_it(asked));
                }
                if let Some(question) = approval.request.clone() {
                    return self.ask_about(question).await;
                }
            }
            _ => {}
        }
        if self.asked.front() != before.as_ref() {
            self.show_question();
        }
    }

    async fn ask_about(&mut self, question: ToolQuestion) {
        // At a server somebody else may answer; here there is nobody.
        if !self.is_person && !self.backend.is_remote() {
            return self.say_of_call(ControlKind::DoWithout, question.call).await;
        }
        // A run that was taken over asks again.
        let question = Asked::Call(question);
        if !self.asked.contains(&question) {
            self.asked.push_back(question);
        }
        if self.asked.len() == 1 {
            self.show_question();
        }
    }

    fn show_question(&self) {
        match self.asked.front() {
            Some(Asked::Plan(plan)) => self.view.ask(plan),
            Some(Asked::Call(question)) => self.view.ask_about(question),
            None => {}
        }
    }

    async fn answer(&mut self, line: Option<Vec<u8>>) -> Result<()> {
        let Some(asked) = self.asked.front().cloned() else { return Ok(()) };
        // Nobody types any more: the run does what it does without an answer.
        let Some(line) = line else {
            self.asked.clear();
            return Ok(());
        };
        let line = String::from_utf8_lossy(&line);
        match asked {
            Asked::Plan(plan) => match word(&line, &plan) {
                Some(body) => {
                    self.asked.pop_front();
                    self.steer(Word::Plan(body)).await;
                }
                None => self.show_question(),
            },
            Asked::Call(question) => match yes_or_no(&line) {
                Some(control) => {
                    self.asked.pop_front();
                    self.say_of_call(control, question.call).await;
                    self.show_question();
                }
                None => self.show_question(),
            },
        }
        Ok(())
    }

    async fn say_of_call(&self, control: ControlKind, call: String) {
        let body = ControlBody { control, instruction: None, call: Some(call) };
        self.steer(Word::Control(body)).await;
    }

    /// Too late is no fault: then the run has gone on by itself.
    async fn steer(&self, word: Word) {
        if let Err(error) = self.backend.steer(self.id, word).await {
            self.view.say(&format!("{error:#}"));
        }
    }

    /// Has the answer written with what there is; false if it is to be left alone.
    async fn cut_short(&mut self) -> bool {
        if self.is_cut {
            return false;
        }
        self.is_cut = true;
        self.view.say("Writing with what there is; Ctrl-C again leaves the run.");
        let control =
            ControlBody { control: ControlKind::FinishNow, instruction: None, call: None };
        match self.backend.steer(self.id, Word::Control(control)).await {
            Ok(_) => true,
            Err(error) => {
                self.view.say(&format!("{error:#}"));
                true
            }
        }
    }
}

/// What a line says about a call; none if it says nothing that is understood. Only a clear yes is one.
fn yes_or_no(line: &str) -> Option<ControlKind> {
    match line.trim() {
        "y" | "Y" | "yes" | "네" | "ㅛ" => Some(ControlKind::Allow),
        "n" | "N" | "no" | "아니요" | "ㄴ" => Some(ControlKind::DoWithout),
        _ => None,
    }
}

/// What a line says about a plan; none if it says nothing that is understood.
fn word(line: &str, plan: &PlanQuestion) -> Option<PlanBody> {
    let (decision, steps) = match line.trim() {
        "" | "y" | "Y" | "yes" | "네" | "ㅛ" => (PlanDecision::Approve, Vec::new()),
        "n" | "N" | "no" | "아니요" | "ㄴ" => (PlanDecision::Refuse, Vec::new()),
        numbers => {
            let steps = steps_named(numbers, plan);
            if steps.is_empty() {
                return None;
            }
            (PlanDecision::Edit, steps)
        }
    };
    Some(PlanBody { decision, steps })
}

#[cfg(test)]
mod tests {
    use agent::research::message::SearchStep;

    use super::*;

    fn step(step_number: u32) -> SearchStep {
        let description = format!("step {step_number}");
        let sources = vec![agent::research::message::ProviderId::local()];
        SearchStep { step_number, description, sources, keywords: vec!["x".into()] }
    }

    #[test]
    fn a_word_about_a_plan_follows_refuses_or_shortens_it() {
        let search_steps = vec![step(1), step(2), step(3)];
        let strategy = String::new();
        let plan = PlanQuestion {
            strategy,
            search_steps,
            estimated_time: 1,
            goes_on_after: None,
            stands_on: None,
        };
        let said = |line: &str| word(line, &plan).map(|body| (body.decision, body.steps));
        assert_eq!(said("\n"), Some((PlanDecision::Approve, vec![])));
        assert_eq!(said("n\n"), Some((PlanDecision::Refuse, vec![])));
        let third = SearchStep { step_number: 2, ..step(3) };
        assert_eq!(said("1, 3\n"), Some((PlanDecision::Edit, vec![step(1), third])));
        assert_eq!(said("what?\n"), None);
        assert_eq!(said("7\n"), None);
    }

    #[test]
    fn a_call_is_made_after_a_clear_yes_alone() {
        assert_eq!(yes_or_no("y\n"), Some(ControlKind::Allow));
        assert_eq!(yes_or_no("아니요\n"), Some(ControlKind::DoWithout));
        assert_eq!((yes_or_no("\n"), yes_or_no("maybe\n")), (None, None));
    }
}
