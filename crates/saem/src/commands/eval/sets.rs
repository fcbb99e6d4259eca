//! The sets of questions, read from their own formats.

use std::collections::BTreeMap;
use std::path::Path;

use agent::knowledge::Passage;
use anyhow::{Context, Result};
use serde::Deserialize;

use crate::commands::demo_files::DEMO_FILES;

/// Documents and questions about them.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) documents: Vec<SetDocument>,
    pub(crate) questions: Vec<Question>,
    /// A document is the answer, wherever in it the passage stands; otherwise places are.
    pub(crate) ranks_documents: bool,
}

pub(crate) struct SetDocument {
    pub(crate) collection: &'static str,
    pub(crate) source: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Question {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) relevant: Vec<Place>,
}

/// Where an answer stands.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Place {
    document: String,
    /// The heading that it stands under.
    heading: Option<String>,
    /// The question of the FAQ pair that it is.
    question: Option<String>,
}

impl Place {
    /// The demo corpus names the language in its paths.
    fn language(&self) -> &'static str {
        let is_korean = self.document.contains("/ko/") || self.document.contains("-ko.");
        if is_korean { "ko" } else { "en" }
    }

    pub(crate) fn is_in(&self, passage: &Passage) -> bool {
        passage.source == self.document
            && self.heading.as_ref().is_none_or(|heading| passage.heading_path.contains(heading))
            && self.question.as_ref().is_none_or(|question| passage.text.starts_with(question))
    }
}

#[derive(Deserialize)]
struct Korquad {
    data: Vec<KorquadArticle>,
}

#[derive(Deserialize)]
struct KorquadArticle {
    paragraphs: Vec<KorquadParagraph>,
}

#[derive(Deserialize)]
struct KorquadParagraph {
    context: String,
    qas: Vec<KorquadQuestion>,
}

#[derive(Deserialize)]
struct KorquadQuestion {
    question: String,
}

/// Korean questions over Wikipedia: a paragraph is a document, the question's own the right one.
pub(crate) fn korquad(folder: &Path) -> Result<Set> {
    let korquad: Korquad = read(&folder.join("korquad/KorQuAD_v1.0_dev.json"))?;
    let mut documents = BTreeMap::new();
    let mut questions = Vec::new();
    let paragraphs = korquad.data.into_iter().flat_map(|article| article.paragraphs);
    for paragraph in paragraphs {
        let number = documents.len();
        let source =
            documents.entry(paragraph.context).or_insert(format!("{number:04}.txt")).clone();
        questions.extend(paragraph.qas.into_iter().map(|qa| Question {
            kind: "ko".to_owned(),
            text: qa.question,
            relevant: vec![Place { document: source.clone(), heading: None, question: None }],
        }));
    }
    let documents = documents.into_iter().map(|(text, source)| SetDocument {
        collection: "korquad",
        source,
        bytes: text.into_bytes(),
    });
    Ok(Set { name: "korquad", documents: documents.collect(), questions, ranks_documents: true })
}

#[derive(Deserialize)]
struct Hotpot {
    question: String,
    answer: String,
    #[serde(rename = "type")]
    kind: String,
    supporting_facts: HotpotFacts,
    context: HotpotContext,
}

#[derive(Deserialize)]
struct HotpotFacts {
    title: Vec<String>,
    sent_id: Vec<usize>,
}

#[derive(Deserialize)]
struct HotpotContext {
    title: Vec<String>,
    sentences: Vec<Vec<String>>,
}

/// English questions that need two paragraphs each.
pub(crate) fn hotpotqa(folder: &Path) -> Result<Set> {
    let entries: Vec<Hotpot> = read(&folder.join("hotpotqa/dev_distractor_100.json"))?;
    let mut documents = BTreeMap::new();
    let mut questions = Vec::new();
    for entry in entries {
        for (title, sentences) in entry.context.title.into_iter().zip(entry.context.sentences) {
            documents.entry(title).or_insert_with(|| sentences.concat());
        }
        let mut titles = entry.supporting_facts.title;
        titles.sort();
        titles.dedup();
        let place = |title| Place { document: title, heading: None, question: None };
        questions.push(Question {
            kind: "en".to_owned(),
            text: entry.question,
            relevant: titles.into_iter().map(place).collect(),
        });
    }
    let documents = documents.into_iter().map(|(title, text)| SetDocument {
        collection: "hotpotqa",
        bytes: format!("# {title}\n\n{text}\n").into_bytes(),
        source: title,
    });
    Ok(Set { name: "hotpotqa", documents: documents.collect(), questions, ranks_documents: true })
}

/// A question with its answer and the sentences that it rests on, each with the title of its paragraph.
pub(crate) struct HotpotQuestion {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) answer: String,
    pub(crate) facts: Vec<(String, String)>,
}

/// The same questions, for whoever looks closer.
pub(crate) fn hotpot_questions(folder: &Path) -> Result<Vec<HotpotQuestion>> {
    let entries: Vec<Hotpot> = read(&folder.join("hotpotqa/dev_distractor_100.json"))?;
    let question = |entry: Hotpot| {
        let HotpotFacts { title: titles, sent_id } = entry.supporting_facts;
        let HotpotContext { title: known, sentences } = entry.context;
        let sentence = |(title, number): (String, usize)| {
            let paragraph = known.iter().position(|it| *it == title);
            let sentence = paragraph.and_then(|place| sentences.get(place)?.get(number).cloned());
            sentence.map(|sentence| (title, sentence))
        };
        let facts = titles.into_iter().zip(sent_id).filter_map(sentence).collect();
        HotpotQuestion { kind: entry.kind, text: entry.question, answer: entry.answer, facts }
    };
    Ok(entries.into_iter().map(question).collect())
}

#[derive(Deserialize)]
struct CloudcostQuestion {
    kind: String,
    language: String,
    question: String,
    #[serde(default)]
    relevant: Vec<Place>,
}

impl CloudcostQuestion {
    /// What stands in another language than the question is not worded like it, nor a paraphrase of it: a question
    /// that is answered in both languages is judged twice, each time by the places of one.
    fn judged(self) -> Vec<Question> {
        let Self { kind, language, question: text, relevant } = self;
        let (own, others): (Vec<Place>, Vec<Place>) =
            relevant.into_iter().partition(|place| place.language() == language);
        let kinds = [(kind, own), (CROSS_LANGUAGE.to_owned(), others)];
        let kinds = kinds.into_iter().filter(|(_, relevant)| !relevant.is_empty());
        kinds.map(|(kind, relevant)| Question { kind, text: text.clone(), relevant }).collect()
    }
}

const CROSS_LANGUAGE: &str = "cross_language";

/// The questions of the demo corpus, one a line.
const CLOUDCOST_QUESTIONS: &str = include_str!("../../../../../examples/cloudcost/questions.jsonl");

/// The demo corpus with the questions that belong to it.
pub(crate) fn cloudcost() -> Result<Set> {
    let documents = DEMO_FILES.iter().map(|file| SetDocument {
        collection: file.collection,
        source: file.source.to_owned(),
        bytes: file.bytes.to_vec(),
    });
    let mut questions = Vec::new();
    for line in CLOUDCOST_QUESTIONS.lines() {
        let question: CloudcostQuestion = serde_json::from_str(line)?;
        let kinds = ["worded", "paraphrase", "paraphrase_hard", CROSS_LANGUAGE];
        if kinds.contains(&question.kind.as_str()) {
            questions.extend(question.judged());
        }
    }
    let documents = documents.collect();
    Ok(Set { name: "cloudcost", documents, questions, ranks_documents: false })
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the data set {} cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not what it was", path.display()))
}

/// A question of the demo corpus as a user would ask it, with what was asked before.
#[derive(Debug, Deserialize)]
pub(crate) struct CopilotQuestion {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) language: String,
    #[serde(default)]
    pub(crate) history: Vec<String>,
    pub(crate) question: String,
    /// Empty for a question that no document answers.
    #[serde(default)]
    pub(crate) relevant: Vec<Place>,
    /// The place of the menu that it is about.
    #[serde(default)]
    pub(crate) menu: Option<String>,
}

/// All questions of the demo corpus.
pub(crate) fn copilot_questions() -> Result<Vec<CopilotQuestion>> {
    let read = |line: &str| serde_json::from_str(line).context("a question of the demo");
    CLOUDCOST_QUESTIONS.lines().map(read).collect()
}
