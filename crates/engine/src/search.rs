//! Searching: both sides of the index at once, merged and picked as `agent` says.

use std::ops::Range;
use std::sync::Arc;

use agent::filter::{Condition, Filter, TagValue, Test};
use agent::fusion::{
    self, Fused, KeywordFound, KeywordHit, PassageLanguage, VECTOR_HITS, VectorHit,
};
use agent::knowledge::{Found, Passage, Section};
use agent::language::Language;
use agent::names::{CollectionName, SectionId, TenantId};
use agent::ports::{ChunkKey, EmbedFor, Find, Finding, Hit, Lane};
use agent::retrieval::{self, FAQ};
use agent::text::clip;
use extract::{Extracted, estimate_tokens};

use crate::error::EngineError;
use crate::knowledge::Knowledge;
use crate::reading;
use crate::trees::Tree;

/// Longest question, in bytes: what is longer is a document.
pub const QUERY_BYTES_MAX: usize = 8 << 10;

/// Most passages one search gives.
pub const PASSAGES_MAX: usize = 100;

/// Candidates of each side for each passage wanted: fusion and repeats need a choice.
const CANDIDATES_PER_PASSAGE: usize = 5;

/// Candidates that are loaded for each passage of a shared-out answer: the rarer kind is seldom further down.
const LOADED_PER_PASSAGE: usize = 3;

/// Candidates that are loaded beyond those wanted, to stand in for repeats.
const REPEATS_EXPECTED: usize = 5;

/// Candidates of each side, at least: what fusion asks for.
const CANDIDATES_MIN: usize = VECTOR_HITS;

/// Longest section text that is given out, in tokens, unless less is asked for.
pub const SECTION_TOKENS_MAX: usize = 4000;

/// Most chunks of a document that are shown at once: more than anybody reads.
const CHUNKS_SHOWN_MAX: usize = 500;

/// A chunk of a document as it is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkView {
    /// Its place in the document, from 0.
    pub number: usize,
    pub section: SectionId,
    pub range: Range<usize>,
    /// With the header or question that it needs to be understood.
    pub text: String,
}

/// Which sides of the index are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Hybrid,
    Keyword,
    Vector,
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchRequest {
    /// Empty: everything that passes the filter, newest first.
    pub text: String,
    pub filter: Filter,
    pub collection: Option<CollectionName>,
    pub mode: Mode,
    /// How many passages; none for the shares of each kind, as a turn takes them.
    pub count: Option<usize>,
}

/// How much around a section is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widen {
    /// Levels to climb.
    pub up: u8,
    /// Sections under the same parent, before and after.
    pub neighbours: u8,
    /// Most tokens of text, within [`SECTION_TOKENS_MAX`].
    pub tokens_max: usize,
}

impl Default for Widen {
    fn default() -> Self {
        Self { up: 0, neighbours: 0, tokens_max: SECTION_TOKENS_MAX }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchAnswer {
    pub passages: Vec<Passage>,
    /// What the caller should know, such as that only keywords were searched.
    pub warnings: Vec<String>,
}

impl Knowledge {
    /// Finds the passages that fit best.
    pub async fn search(
        &self,
        tenant: &TenantId,
        request: SearchRequest,
    ) -> Result<SearchAnswer, EngineError> {
        let request = checked(request)?;
        let filter = self.filter(tenant, &request).await?;
        let mut warnings = Vec::new();
        let wanted = request.count.unwrap_or(self.rules.shares.total());
        let find = Find {
            text: wants_words(&request).then(|| request.text.clone()),
            vector: self.vector(tenant, &request, &mut warnings).await?,
            filter,
            count: (wanted * CANDIDATES_PER_PASSAGE).max(CANDIDATES_MIN),
        };
        let passages = match request.count {
            Some(count) => self.best(tenant, &find, count).await?,
            None => self.shared_out(tenant, find).await?,
        };
        Ok(SearchAnswer { passages, warnings })
    }

    async fn best(
        &self,
        tenant: &TenantId,
        find: &Find,
        count: usize,
    ) -> Result<Vec<Passage>, EngineError> {
        let finding = self.parts.index.find(tenant, find).await?;
        let quotes = retrieval::quoted(find.text.as_deref().unwrap_or_default());
        let loaded = count * loaded_for(&quotes) + REPEATS_EXPECTED;
        let mut passages = candidates(&*finding, language_of(find), loaded).await?;
        passages = retrieval::without_repeats(retrieval::exact_first(passages, &quotes));
        passages.truncate(count);
        Ok(passages)
    }

    /// The best of each kind; a kind that the candidates have too little of is searched for by itself.
    async fn shared_out(
        &self,
        tenant: &TenantId,
        mut find: Find,
    ) -> Result<Vec<Passage>, EngineError> {
        let shares = self.rules.shares;
        let finding = self.parts.index.find(tenant, &find).await?;
        let mut passages =
            candidates(&*finding, language_of(&find), shares.total() * LOADED_PER_PASSAGE).await?;
        let quotes = retrieval::quoted(find.text.as_deref().unwrap_or_default());
        passages = retrieval::exact_first(passages, &quotes);
        passages = retrieval::without_repeats_to_share(passages, shares);
        let faq = passages.iter().filter(|passage| retrieval::is_faq(passage)).count();
        let lacks_faq = faq < shares.faq;
        let lacks_guide = passages.len() - faq < shares.guide;
        if (lacks_faq || lacks_guide) && passages.len() >= shares.total() {
            let kind = TagValue::Text(FAQ.to_owned());
            let test = if lacks_faq { Test::AnyOf(vec![kind]) } else { Test::Not(kind) };
            find.filter.conditions.push(Condition { tag: "doc_type".to_owned(), test });
            find.count = CANDIDATES_MIN;
            let finding = self.parts.index.find(tenant, &find).await?;
            let more = candidates(&*finding, language_of(&find), shares.total()).await?;
            let floor = passages.last().map_or(0.0, |passage| passage.score);
            passages.extend(more.into_iter().map(|mut passage| {
                // They did not reach the list by themselves, so none may stand above it.
                passage.score = passage.score.min(floor);
                passage
            }));
            passages = retrieval::without_repeats(passages);
        }
        Ok(retrieval::share_out(passages, shares))
    }

    /// The filter with the collection in it, every tag of it known.
    async fn filter(
        &self,
        tenant: &TenantId,
        request: &SearchRequest,
    ) -> Result<Filter, EngineError> {
        let mut filter = request.filter.clone();
        if let Some(name) = &request.collection {
            self.collection(tenant, name).await?;
            filter = filter.and("collection", TagValue::Text(name.to_string()));
        }
        if !request.filter.conditions.is_empty() {
            let known = self.parts.index.known_tags(tenant).await?;
            filter.check(known.iter().map(String::as_str))?;
        }
        Ok(filter)
    }

    /// The question as a vector of the serving index's embedder; without one, keywords have to do.
    async fn vector(
        &self,
        tenant: &TenantId,
        request: &SearchRequest,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        if request.mode == Mode::Keyword || request.text.is_empty() {
            return Ok(None);
        }
        let Some(state) = self.parts.index.state(tenant, Lane::Serving).await? else {
            return Ok(None);
        };
        let Some(embedder) = self.parts.embedder_of(&state.embedder) else {
            warnings.push(
                "only keywords were searched: the index is being made anew for another embedder"
                    .to_owned(),
            );
            return Ok(None);
        };
        if embedder.dimensions() == 0 {
            if request.mode == Mode::Vector {
                let why = "there are no vectors to search: embedder.kind is none";
                return Err(EngineError::Refused(why.to_owned()));
            }
            return Ok(None);
        }
        let texts = [request.text.clone()];
        match embedder.embed(&texts, EmbedFor::Query).await {
            Ok(vectors) => Ok(vectors.into_iter().next()),
            Err(error) if request.mode == Mode::Vector => Err(error.into()),
            Err(error) => {
                warnings.push(format!("only keywords were searched: {error}"));
                Ok(None)
            }
        }
    }

    /// A section with its text and all below it, widened and cut as asked.
    pub async fn section(
        &self,
        tenant: &TenantId,
        id: &SectionId,
        widen: Widen,
    ) -> Result<Section, EngineError> {
        let absent = || EngineError::Absent { what: "section of this id" };
        let tree = self.tree(tenant, id).await?;
        let Tree { document, split, extracted } = tree.as_ref();
        let mut place = usize::try_from(id.ordinal).unwrap_or(usize::MAX);
        let mut section = split.sections.get(place).ok_or_else(absent)?;
        for _ in 0..widen.up {
            let Some(parent) = section.parent else { break };
            place = parent;
            section = split.sections.get(place).ok_or_else(absent)?;
        }
        let range = with_neighbours(&split.sections, section, usize::from(widen.neighbours));
        let text = extracted.text.get(range.clone()).unwrap_or_default();
        let shown = first_tokens(text, widen.tokens_max.min(SECTION_TOKENS_MAX));
        Ok(Section {
            id: reading::section_id(&id.document, place),
            parent: section.parent.map(|parent| reading::section_id(&id.document, parent)),
            level: section.level,
            heading: section.heading.clone(),
            heading_path: reading::heading_path(document, &split.sections, place),
            text: shown.to_owned(),
            range: range.start..range.start + shown.len(),
            is_cut: shown.len() < text.len(),
        })
    }

    /// The heading tree of a document, without its texts.
    pub async fn sections(
        &self,
        tenant: &TenantId,
        id: &agent::names::DocumentId,
    ) -> Result<Vec<Section>, EngineError> {
        let whole = SectionId { document: id.clone(), ordinal: 0 };
        let tree = self.tree(tenant, &whole).await?;
        let Tree { document, split, .. } = tree.as_ref();
        let all = split.sections.iter().enumerate().map(|(place, section)| Section {
            id: reading::section_id(id, place),
            parent: section.parent.map(|parent| reading::section_id(id, parent)),
            level: section.level,
            heading: section.heading.clone(),
            heading_path: reading::heading_path(document, &split.sections, place),
            text: String::new(),
            range: section.start..section.end,
            is_cut: true,
        });
        Ok(all.collect())
    }

    /// The chunks of a document, or of one of its sections alone, as they are searched.
    pub async fn chunks(
        &self,
        tenant: &TenantId,
        id: &agent::names::DocumentId,
        section: Option<u32>,
    ) -> Result<Vec<ChunkView>, EngineError> {
        let whole = SectionId { document: id.clone(), ordinal: 0 };
        let tree = self.tree(tenant, &whole).await?;
        let wanted = section.and_then(|ordinal| usize::try_from(ordinal).ok());
        let all = tree.split.chunks.iter().enumerate();
        let of = all.filter(|(_, chunk)| wanted.is_none_or(|section| chunk.section == section));
        let view = |(place, chunk): (usize, &extract::Chunk)| ChunkView {
            number: place,
            section: reading::section_id(id, chunk.section),
            range: chunk.start..chunk.end,
            text: chunk.text.clone(),
        };
        Ok(of.take(CHUNKS_SHOWN_MAX).map(view).collect())
    }

    async fn tree(&self, tenant: &TenantId, id: &SectionId) -> Result<Arc<Tree>, EngineError> {
        let absent = || EngineError::Absent { what: "section of this id" };
        let documents = &self.parts.documents;
        let document = documents.get(tenant, &id.document).await?.ok_or_else(absent)?;
        if let Some(tree) = self.trees.get(tenant, &document) {
            return Ok(tree);
        }
        let content = documents.content(tenant, &id.document).await?.ok_or_else(absent)?;
        let limits = self.rules.split.clone();
        let splitting = move || {
            let extracted = Extracted::from_bytes(&content).ok()?;
            Some(Tree { split: extract::split(&extracted, &limits), extracted, document })
        };
        let tree = tokio::task::spawn_blocking(splitting).await.ok().flatten();
        let tree = Arc::new(tree.ok_or_else(absent)?);
        self.trees.put(tenant, &tree);
        Ok(tree)
    }
}

fn checked(mut request: SearchRequest) -> Result<SearchRequest, EngineError> {
    request.text = request.text.trim().to_owned();
    if request.text.len() > QUERY_BYTES_MAX {
        let why = format!(
            "the question has {} bytes and {QUERY_BYTES_MAX} are allowed: ask a shorter one",
            request.text.len()
        );
        return Err(EngineError::Refused(why));
    }
    if request.text.is_empty()
        && request.filter.conditions.is_empty()
        && request.collection.is_none()
    {
        let why = "nothing to search for: give some words, or a filter such as has_steps=true";
        return Err(EngineError::Refused(why.to_owned()));
    }
    if request.count.is_some_and(|count| count == 0 || count > PASSAGES_MAX) {
        let why = format!("a search gives 1 to {PASSAGES_MAX} passages");
        return Err(EngineError::Refused(why));
    }
    Ok(request)
}

/// The language of the question; with vectors alone, every language is as good.
fn language_of(find: &Find) -> Language {
    find.text.as_deref().map_or(Language::Other, Language::of)
}

/// Candidates loaded for each passage wanted: what is meant word for word may stand further down.
fn loaded_for(quotes: &[String]) -> usize {
    if quotes.is_empty() { 1 } else { LOADED_PER_PASSAGE }
}

fn wants_words(request: &SearchRequest) -> bool {
    request.mode != Mode::Vector && !request.text.is_empty()
}

/// The fused candidates, best first, loaded.
async fn candidates(
    finding: &dyn Finding,
    language: Language,
    count: usize,
) -> Result<Vec<Passage>, EngineError> {
    let chosen = match finding.listed() {
        [] => merged(finding, language, count),
        listed => listed.iter().map(|hit| (hit.key, hit.score, Found::default())).collect(),
    };
    let keys: Vec<ChunkKey> = chosen.iter().take(count).map(|(key, ..)| *key).collect();
    let mut passages = finding.load(&keys).await?;
    for (passage, (_, score, found)) in passages.iter_mut().zip(chosen) {
        passage.score = score;
        passage.found = found;
    }
    Ok(passages)
}

/// Both lists as one, each entry with what either side says of it.
fn merged(finding: &dyn Finding, question: Language, count: usize) -> Vec<(ChunkKey, f32, Found)> {
    let hits = finding.keyword().iter();
    let keyword = KeywordFound {
        hits: hits.map(|hit| KeywordHit { id: hit.key, score: hit.score }).collect(),
        coverage: finding.coverage(),
    };
    let language = |of: Language| {
        if question.shares_words_with(of) { PassageLanguage::Same } else { PassageLanguage::Other }
    };
    let near = finding.vector().iter();
    let vector: Vec<VectorHit<ChunkKey>> = near
        .map(|hit| VectorHit { id: hit.key, cosine: hit.score, language: language(hit.language) })
        .collect();
    let score_of = |hits: &[Hit], rank: Option<usize>| {
        rank.and_then(|rank| hits.get(rank.checked_sub(1)?)).map(|hit| fusion::in_steps(hit.score))
    };
    // The best hit says so much, and the others in proportion.
    let best = finding.keyword().first().map_or(0.0, |hit| hit.score);
    let coverage = |score: f32| {
        let share = if best > 0.0 { score / best } else { 0.0 };
        fusion::in_steps(finding.coverage() * share)
    };
    let short = |rank: Option<usize>| rank.and_then(|rank| u32::try_from(rank).ok());
    let fused = fusion::fuse(&keyword, &vector).into_iter().take(count);
    fused
        .map(|Fused { id, score, keyword_rank, vector_rank }| {
            let keyword_score = score_of(finding.keyword(), keyword_rank);
            let found = Found {
                keyword_rank: short(keyword_rank),
                keyword_score,
                coverage: keyword_score.map(coverage),
                vector_rank: short(vector_rank),
                similarity: score_of(finding.vector(), vector_rank),
            };
            (id, score, found)
        })
        .collect()
}

/// The bytes of a section and of its neighbours under the same parent.
fn with_neighbours(
    all: &[extract::Section],
    section: &extract::Section,
    neighbours: usize,
) -> Range<usize> {
    let siblings: Vec<&extract::Section> =
        all.iter().filter(|other| other.parent == section.parent && other.level > 0).collect();
    let Some(own) = siblings.iter().position(|other| *other == section) else {
        return section.start..section.end;
    };
    let first = siblings.get(own.saturating_sub(neighbours)).unwrap_or(&section).start;
    let last = siblings.get((own + neighbours).min(siblings.len() - 1)).unwrap_or(&section).end;
    first..last
}

/// The beginning of a text, at a paragraph's end if one is near.
fn first_tokens(text: &str, tokens_max: usize) -> &str {
    if estimate_tokens(text) <= tokens_max {
        return text;
    }
    let (mut low, mut high) = (0, text.len());
    while high - low > 16 {
        let middle = low.midpoint(high);
        if estimate_tokens(clip(text, middle)) <= tokens_max { low = middle } else { high = middle }
    }
    let shown = clip(text, low);
    match shown.rfind("\n\n") {
        Some(end) if end * 2 > shown.len() => clip(shown, end),
        _ => shown,
    }
}
