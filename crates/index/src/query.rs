//! Turns what a person typed into a tantivy query, and says how well it could be met at best.
//!
//! The query is a plain disjunction of weighted terms, the one form that tantivy can cut short
//! (block-max WAND): a question costs what its rare terms cost. In a small index what would be cut short is less than
//! what it takes to make ready for that, and lists that are known are added up (`known_terms`).

use std::collections::{BTreeMap, HashMap};

use agent::analysis::{GramPlace, Translation, Word, WordKind, translations, words};
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, SchemaBuilder, TextFieldIndexing, TextOptions};
use tantivy::{DocAddress, Score, Searcher, Term};

use crate::top::Top;

/// Longest question looked at, in bytes: some 600 syllables. What follows is a pasted document.
pub(crate) const QUESTION_BYTES_MAX: usize = 2_000;

/// Most terms in a query. A question of 12 words gives some 60 that exist, and the weightiest 40
/// find the same passages as all of them.
pub(crate) const TERMS_MAX: usize = 40;

/// Most entries of the index that a query may touch: what bounds its time in a large collection.
/// The lightest terms, which are also the commonest, fall out first.
const ENTRIES_MAX: u64 = 50_000;

/// So many terms are looked up whatever they cost.
const TERMS_MIN: usize = 4;

/// What the schema says takes texts apart. tantivy is never given one: a segment is made of terms that are numbered already.
pub(crate) const TOKENIZER: &str = "terms";

/// The fields of the keyword index. Positions are not kept: what stands in quotes is looked for in the texts found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeywordFields {
    pub(crate) words: Field,
    pub(crate) grams: Field,
    /// The words of the headings once more: what a part is called says more than what it mentions.
    pub(crate) heading: Field,
}

impl KeywordFields {
    /// Declares the fields.
    pub(crate) fn declare(schema: &mut SchemaBuilder) -> Self {
        let mut field = |name: &str| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(TOKENIZER)
                .set_fieldnorms(true)
                .set_index_option(IndexRecordOption::WithFreqs);
            schema.add_text_field(name, TextOptions::default().set_indexing_options(indexing))
        };
        Self { words: field("words"), grams: field("grams"), heading: field("heading") }
    }
}

/// What was found, best first.
pub(crate) struct WordsFound {
    pub(crate) hits: Vec<(Score, DocAddress)>,
    /// About the score of a passage that says everything asked.
    pub(crate) full_score: f32,
}

/// Finds the passages that say most of what is asked; none when nothing in the question is a word.
pub(crate) fn find(
    searcher: &Searcher,
    fields: KeywordFields,
    question: &str,
    top: &Top,
) -> tantivy::Result<Option<WordsFound>> {
    let Some(plan) = plan(searcher, fields, question)? else { return Ok(None) };
    let hits = searcher.search_with_statistics_provider(&*plan.query, top, &plan.statistics)?;
    Ok(Some(WordsFound { hits, full_score: plan.full_score }))
}

/// A question made ready for the index.
struct Plan {
    query: Box<dyn Query>,
    statistics: PassageStatistics,
    /// About the score of a passage that says everything asked.
    full_score: f32,
}

/// How much of what was asked the passage with this score says, by weight: 0 to 1.
pub(crate) fn coverage(score: f32, full_score: f32) -> f32 {
    (score / full_score).clamp(0.0, 1.0)
}

/// Makes the plan; none when nothing in the question is a word.
fn plan(
    searcher: &Searcher,
    fields: KeywordFields,
    question: &str,
) -> tantivy::Result<Option<Plan>> {
    let mut statistics = PassageStatistics::of(searcher, fields)?;
    let choice = choose(fields, question, searcher.num_docs(), |field, text| {
        let term = Term::from_field_text(field, text);
        let found_in = searcher.doc_freq(&term)?;
        statistics.found_in.insert(term.clone(), found_in);
        Ok((term, found_in))
    })?;
    let Some(Choice { terms, full_score }) = choice else { return Ok(None) };
    let clauses = terms
        .into_iter()
        .map(|ChosenTerm { term, weight, .. }| {
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            let boosted: Box<dyn Query> = Box::new(BoostQuery::new(Box::new(query), weight));
            (Occur::Should, boosted)
        })
        .collect();
    let query = Box::new(BooleanQuery::new(clauses));
    Ok(Some(Plan { query, statistics, full_score }))
}

/// The terms of a question that are looked up.
pub(crate) struct Choice<T> {
    pub(crate) terms: Vec<ChosenTerm<T>>,
    /// About the score of a passage that says everything asked.
    pub(crate) full_score: f32,
}

/// Chooses the terms to look up; none when nothing in the question is a word. `look_up` finds a term in the index and says
/// how many passages it is in.
pub(crate) fn choose<T>(
    fields: KeywordFields,
    question: &str,
    passages: u64,
    mut look_up: impl FnMut(Field, &str) -> tantivy::Result<(T, u64)>,
) -> tantivy::Result<Option<Choice<T>>> {
    let question =
        question.get(..question.floor_char_boundary(QUESTION_BYTES_MAX)).unwrap_or(question);
    let passages = passages.max(1);
    let words = words(question);
    let translations = translations(&words);
    let weights = weighted_terms(fields, question, &words, &translations);
    let (mut terms, mut full_score) = (Vec::with_capacity(weights.len()), 0.0_f32);
    for ((field, text), Weight { asked, translated }) in weights {
        let (term, found_in) = look_up(field, text)?;
        let found_in = found_in.min(passages);
        let rarity = rarity(found_in, passages);
        if [fields.words, fields.grams].contains(&field) {
            full_score += asked * rarity * SATURATION;
        }
        terms.push(ChosenTerm { term, weight: asked + translated, rarity, found_in });
    }
    let full_score = full_score.max(f32::MIN_POSITIVE);
    Ok((!terms.is_empty()).then(|| Choice { terms: worth_it(terms), full_score }))
}

/// The index's statistics with passages counted a third longer than they are.
///
/// tantivy fixes BM25 at k1 = 1.2 and b = 0.75. A longer average length acts as k1 = 0.98 and
/// b = 0.69: in passages of one size, the second mention of a word says less than in whole books.
///
/// The index is asked once for each: to look a term up costs as much as to read its shortest list.
pub(crate) struct PassageStatistics {
    passages: u64,
    tokens: [(Field, u64); 3],
    found_in: HashMap<Term, u64>,
}

impl PassageStatistics {
    pub(crate) fn of(searcher: &Searcher, fields: KeywordFields) -> tantivy::Result<Self> {
        let KeywordFields { words, grams, heading } = fields;
        let mut tokens = [(words, 0), (grams, 0), (heading, 0)];
        for (field, count) in &mut tokens {
            *count = searcher.total_num_tokens(*field)?.saturating_mul(4) / 3;
        }
        Ok(Self { passages: searcher.total_num_docs()?, tokens, found_in: HashMap::new() })
    }

    /// Passages of all segments, deleted ones included.
    pub(crate) fn passages(&self) -> u64 {
        self.passages
    }
}

impl Bm25StatisticsProvider for PassageStatistics {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Ok(self.tokens.iter().find(|(of, _)| *of == field).map_or(0, |(_, count)| *count))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.passages)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.found_in.get(term).copied().unwrap_or(0))
    }
}

/// A term that is looked up.
pub(crate) struct ChosenTerm<T> {
    pub(crate) term: T,
    pub(crate) weight: f32,
    rarity: f32,
    found_in: u64,
}

/// What a term seen often in a short passage comes to, as a multiple of its rarity: k1 + 1.
const SATURATION: f32 = 2.2;

// What terms weigh in comparison with a word of the text.
const STEM_OF_SYLLABLES: f32 = 0.5; // its grams count besides
const CODE: f32 = 1.5;
const PART: f32 = 0.5;
const GRAM_AT_ENDING: f32 = 0.3;
const QUOTED: f32 = 2.0;
const HEADING_SHARE: f32 = 0.5;
const TRANSLATED: f32 = 0.6;

type Weights<'a> = BTreeMap<(Field, &'a str), Weight>;

/// What a term of a query weighs, in comparison with a word of the text.
#[derive(Clone, Copy, Default)]
struct Weight {
    /// By the question's own words.
    asked: f32,
    /// By what these are called in the other language; a text that says nothing of it is no worse an answer.
    translated: f32,
}

/// Every term of the question with its weight; one that comes twice weighs twice.
fn weighted_terms<'a>(
    fields: KeywordFields,
    question: &str,
    words: &'a [Word],
    translations: &[Translation],
) -> Weights<'a> {
    let quotes = agent::retrieval::quotes(question);
    let is_quoted = |from| quotes.iter().any(|quote| quote.contains(&from));
    let has_content = words.iter().any(|word| word.kind != WordKind::Function);
    let mut weights = Weights::new();
    for word in words {
        let is_quoted = is_quoted(word.from);
        let weight = if is_quoted { QUOTED } else { 1.0 };
        if is_quoted || !has_content || word.kind != WordKind::Function {
            terms_of(fields, word, |term, share| {
                weights.entry(term).or_default().asked += weight * share;
            });
        }
    }
    // What stands in quotes is meant as it is written.
    for Translation { word, .. } in translations.iter().filter(|found| !is_quoted(found.from)) {
        terms_of(fields, word, |term, share| {
            weights.entry(term).or_default().translated += TRANSLATED * share;
        });
    }
    weights
}

/// Gives the terms of a word, each with its share of the word's weight.
fn terms_of<'a>(
    fields: KeywordFields,
    word: &'a Word,
    mut give: impl FnMut((Field, &'a str), f32),
) {
    let mut add = |field: Field, text: &'a str, share: f32| {
        if text.is_empty() {
            return;
        }
        give((field, text), share);
        if field == fields.words {
            give((fields.heading, text), share * HEADING_SHARE);
        }
    };
    let whole = match word.kind {
        WordKind::Code => CODE,
        WordKind::Ordinary | WordKind::Function if word.grams.is_empty() => 1.0,
        WordKind::Ordinary | WordKind::Function => STEM_OF_SYLLABLES,
    };
    add(fields.words, &word.stem, whole);
    for part in &word.parts {
        add(fields.words, part, PART);
    }
    for gram in &word.grams {
        let share = match gram.place {
            GramPlace::Stem | GramPlace::Single => 1.0,
            GramPlace::Ending => GRAM_AT_ENDING,
        };
        add(fields.grams, &gram.text, share);
    }
}

/// The terms worth looking up: those that exist, the weightiest first, as far as the budget goes.
fn worth_it<T>(mut terms: Vec<ChosenTerm<T>>) -> Vec<ChosenTerm<T>> {
    terms.retain(|term| term.found_in > 0);
    terms.sort_by(|a, b| (b.weight * b.rarity).total_cmp(&(a.weight * a.rarity)));
    let mut entries_left = ENTRIES_MAX;
    let mut taken = 0;
    terms.retain(|term| {
        let fits = taken < TERMS_MIN || (taken < TERMS_MAX && term.found_in <= entries_left);
        if fits {
            taken += 1;
            entries_left = entries_left.saturating_sub(term.found_in);
        }
        fits
    });
    terms
}

/// BM25's weight of a term found in so many of the passages.
fn rarity(found_in: u64, passages: u64) -> f32 {
    let (found_in, passages) = (found_in as f32, passages as f32);
    (1.0 + (passages - found_in + 0.5) / (found_in + 0.5)).ln()
}

#[cfg(test)]
mod tests;
