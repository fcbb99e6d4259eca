//! Conversations with questions about them, read from their own formats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agent::identity::Timestamp;
use agent::memory::SaidTurn;
use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::coverage::Measure;
use crate::commands::eval::sets::read;

pub(super) struct MemorySet {
    pub(super) name: &'static str,
    pub(super) measure: Measure,
    pub(super) conversations: Vec<Conversation>,
}

pub(super) struct Conversation {
    pub(super) name: String,
    pub(super) turns: Vec<SaidTurn>,
    pub(super) questions: Vec<Asked>,
}

/// A question after the last turn; none without an answer is among them.
pub(super) struct Asked {
    pub(super) kind: String,
    pub(super) question: String,
    pub(super) answer: String,
    /// The numbers of the turns that hold the answer; 0 for one that is named and does not exist.
    pub(super) evidence: Vec<u64>,
}

impl MemorySet {
    /// Keeps the first questions only, and the conversations that they are about.
    pub(super) fn truncate(&mut self, questions_max: usize) {
        let mut left = questions_max;
        for conversation in &mut self.conversations {
            conversation.questions.truncate(left);
            left -= conversation.questions.len();
        }
        self.conversations.retain(|conversation| !conversation.questions.is_empty());
    }
}

fn turn(number: u64, question: String, answer: String) -> SaidTurn {
    SaidTurn { number, at: Timestamp(number), question, answer, is_complete: true }
}

#[derive(Deserialize)]
struct Dialogue {
    id: String,
    turns: Vec<DialogueTurn>,
    questions: Vec<DialogueQuestion>,
}

#[derive(Deserialize)]
struct DialogueTurn {
    turn: u64,
    user: String,
    assistant: String,
}

#[derive(Deserialize)]
struct DialogueQuestion {
    question: String,
    answer: String,
    evidence: Vec<u64>,
    kind: String,
}

/// Our own, in Korean and English.
pub(super) fn dialogues() -> Result<MemorySet> {
    let mut conversations = Vec::new();
    for line in include_str!("../../../../../../evals/dialogues/dialogues.jsonl").lines() {
        let Dialogue { id, turns, questions } = serde_json::from_str(line)?;
        let turns = turns.into_iter().map(|said| turn(said.turn, said.user, said.assistant));
        let answerable = questions.into_iter().filter(|question| !question.answer.is_empty());
        let questions = answerable.map(|asked| Asked {
            kind: asked.kind,
            question: asked.question,
            answer: asked.answer,
            evidence: asked.evidence,
        });
        conversations.push(Conversation {
            name: id,
            turns: turns.collect(),
            questions: questions.collect(),
        });
    }
    Ok(MemorySet { name: "dialogues", measure: Measure::Words, conversations })
}

#[derive(Deserialize)]
struct Locomo {
    sample_id: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<LocomoQuestion>,
}

#[derive(Deserialize)]
struct Utterance {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

#[derive(Deserialize)]
struct LocomoQuestion {
    question: String,
    /// Some are numbers, and those that cannot be answered have none.
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

/// The category of what was never said, and that of what is answered by more than what was.
const ADVERSARIAL: u8 = 5;
const OPEN_DOMAIN: u8 = 3;

/// Long conversations between two people, in English.
pub(super) fn locomo(folder: &Path) -> Result<MemorySet> {
    let samples: Vec<Locomo> = read(&folder.join("locomo/locomo10.json"))?;
    let conversations = samples.into_iter().map(locomo_conversation).collect::<Result<_>>()?;
    Ok(MemorySet { name: "locomo", measure: Measure::Stems, conversations })
}

/// Two people talk and no one assists: of two utterances in a row one is taken as the question and one as the answer.
fn locomo_conversation(sample: Locomo) -> Result<Conversation> {
    let mut turns: Vec<SaidTurn> = Vec::new();
    let mut turn_of: BTreeMap<String, u64> = BTreeMap::new();
    for session in 1.. {
        let date = sample.conversation.get(&format!("session_{session}_date_time"));
        let Some(date) = date.and_then(Value::as_str) else { break };
        let Some(said) = sample.conversation.get(&format!("session_{session}")) else { continue };
        let said: Vec<Utterance> = serde_json::from_value(said.clone())?;
        for pair in said.chunks(2) {
            let number = turns.len() as u64 + 1;
            let mut texts = pair.iter().map(|utterance| utterance.text(date));
            let (question, answer) = (texts.next(), texts.next());
            turns.push(turn(number, question.unwrap_or_default(), answer.unwrap_or_default()));
            turn_of.extend(pair.iter().map(|utterance| (utterance.dia_id.clone(), number)));
        }
    }
    let answerable = sample.qa.into_iter().filter(|asked| asked.category != ADVERSARIAL);
    let questions = answerable.map(|asked| asked.asked(&turn_of)).collect();
    Ok(Conversation { name: sample.sample_id, turns, questions })
}

impl Utterance {
    fn text(&self, date: &str) -> String {
        let Self { speaker, text, blip_caption, .. } = self;
        let image = blip_caption.as_ref().map(|caption| format!(" (image: {caption})"));
        format!("[{date}] {speaker}: {text}{}", image.unwrap_or_default())
    }
}

impl LocomoQuestion {
    fn asked(self, turn_of: &BTreeMap<String, u64>) -> Asked {
        let whole = self.answer.as_str().map_or_else(|| self.answer.to_string(), str::to_owned);
        let answer = match self.category {
            OPEN_DOMAIN => whole.split(';').next().unwrap_or_default().to_owned(),
            _ => whole,
        };
        let ids: BTreeSet<String> = self.evidence.iter().flat_map(|text| ids(text)).collect();
        let evidence = ids.iter().map(|id| turn_of.get(id).copied().unwrap_or(0)).collect();
        Asked { kind: self.category.to_string(), question: self.question, answer, evidence }
    }
}

/// What looks like `D3:14` in a text: some name several utterances at once, and some none.
fn ids(text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for (at, _) in text.match_indices('D') {
        let rest = text.get(at + 1..).unwrap_or_default();
        let Some((session, rest)) = rest.split_once(':') else { continue };
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        let utterance = rest.get(..digits).unwrap_or_default();
        let is_session =
            !session.is_empty() && session.chars().all(|letter| letter.is_ascii_digit());
        if is_session && !utterance.is_empty() {
            ids.push(format!("D{session}:{utterance}"));
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_is_what_looks_like_it() {
        assert_eq!(ids("D8:6; D9:17"), ["D8:6", "D9:17"]);
        assert_eq!(ids("D30:05"), ["D30:05"]);
        assert_eq!(ids("D:11:26 D"), Vec::<String>::new());
    }

    #[test]
    fn two_utterances_are_a_turn_and_a_session_never_ends_inside_one() {
        let said = |id: &str, text: &str| json!({"speaker": "Ann", "dia_id": id, "text": text});
        let sample = json!({
            "sample_id": "c1",
            "conversation": {
                "session_1_date_time": "1 May", "session_1": [said("D1:1", "a"), said("D1:2", "b"), said("D1:3", "c")],
                "session_2_date_time": "2 May",
                "session_3_date_time": "3 May", "session_3": [said("D3:1", "d")],
            },
            "qa": [
                {"question": "q", "answer": 7, "evidence": ["D1:3; D3:1", "D9:9"], "category": 3},
                {"question": "q", "adversarial_answer": "x", "evidence": [], "category": 5},
            ],
        });
        let read = locomo_conversation(serde_json::from_value(sample).unwrap()).unwrap();
        let turns: Vec<_> =
            read.turns.iter().map(|turn| (turn.question.as_str(), turn.answer.as_str())).collect();
        let expected =
            [("[1 May] Ann: a", "[1 May] Ann: b"), ("[1 May] Ann: c", ""), ("[3 May] Ann: d", "")];
        assert_eq!(turns, expected);
        let asked: Vec<_> = read
            .questions
            .iter()
            .map(|one| (one.answer.as_str(), one.evidence.as_slice()))
            .collect();
        assert_eq!(asked, [("7", &[2, 3, 0][..])]);
    }
}
