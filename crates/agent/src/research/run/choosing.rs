//! Who speaks next: by the order of the work, or as a model chooses among those who have something to do.

use super::asking::Task;
use super::{Phase, Run};
use crate::context::research_choice;
use crate::research::call::Purpose;
use crate::research::message::Party;
use crate::research::order::Chooser;
use crate::research::thought;

impl Run {
    /// Ends a turn: by rule the next one is this agent's.
    pub(super) fn end_turn(&mut self, by_rule: Party) {
        self.phase = Phase::Choosing { by_rule };
        let agents = self.free_to_speak(by_rule);
        let is_asked = self.order.chooser == Chooser::Manager && !self.is_model_out;
        if !is_asked || agents.len() < 2 {
            return self.choose_by_rule();
        }
        let agents: Vec<(&str, &str)> =
            agents.iter().map(|agent| (agent.as_str(), does(*agent))).collect();
        let messages = research_choice(&self.research(), &agents, &self.happened());
        self.want_thought(
            format!("choose.{}", self.turns.len()),
            Purpose::Choose,
            messages,
            Task::Choose,
        );
    }

    pub(super) fn choose_by_rule(&mut self) {
        if let Phase::Choosing { by_rule } = self.phase {
            self.speak(by_rule);
        }
    }

    /// Takes a model's choice.
    pub(super) fn take_choice(&mut self, text: &str) -> Result<(), String> {
        let Phase::Choosing { by_rule } = self.phase else { return Ok(()) };
        let choice = thought::choice(text)?;
        let agents = self.free_to_speak(by_rule);
        if choice.terminate {
            self.speak(Party::Content);
            return Ok(());
        }
        let name = choice.next_speaker.unwrap_or_default();
        let chosen = agents.iter().find(|agent| agent.as_str() == name.trim());
        let names: Vec<&str> = agents.iter().map(|agent| agent.as_str()).collect();
        let chosen = chosen.copied().ok_or_else(|| {
            format!("next_speaker: {name:?} cannot speak now; one of {} can", names.join(", "))
        })?;
        self.speak(chosen);
        Ok(())
    }

    /// Those who have something to do, the one by rule first.
    fn free_to_speak(&self, by_rule: Party) -> Vec<Party> {
        let mut agents = vec![by_rule];
        match by_rule {
            // After a search, and when a judge wants another.
            Party::Reflect | Party::Research if self.round > 0 => {
                if self.replans < self.order.limits.replans_max {
                    agents.push(Party::Planning);
                }
                agents.push(Party::Content);
            }
            _ => {}
        }
        agents
    }

    fn happened(&self) -> String {
        let turns: Vec<&str> = self.turns.iter().map(|turn| turn.as_str()).collect();
        let feedback = self.assessed.as_ref().map(|assessed| assessed.feedback.as_str());
        format!(
            "turns: {}; {} rounds of at most {}; {} sources. {}",
            turns.join(", "),
            self.round,
            self.order.limits.rounds_max,
            self.sources.len(),
            feedback.unwrap_or_default()
        )
    }
}

fn does(agent: Party) -> &'static str {
    match agent {
        Party::Planning => "makes another plan",
        Party::Research => "searches for what is missing",
        Party::Reflect => "judges what was found",
        Party::Content => "writes the answer with what there is",
        Party::User | Party::System => "does nothing",
    }
}
