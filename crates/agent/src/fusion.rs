//! Merges what the words of a question found with what its meaning found.
//!
//! The keyword side is right more often, so it leads; the vector side gets a weight that grows as
//! less of the question is met by words. A passage in another language than the question is found by
//! few words or none: there its nearness in meaning stands in for the words.

/// What the keyword index found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeywordFound<Id> {
    /// In any order; each id once.
    pub hits: Vec<KeywordHit<Id>>,
    /// How much of what was asked the best hit says, by weight: 0 to 1.
    pub coverage: f32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KeywordHit<Id> {
    pub id: Id,
    /// Above 0, in any unit.
    pub score: f32,
}

/// What the vector index found: in any order; each id once, with its best piece.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorHit<Id> {
    pub id: Id,
    pub cosine: f32,
    pub language: PassageLanguage,
}

/// A passage's language, seen from the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassageLanguage {
    Same,
    Other,
}

/// A passage with its place in both lists, which says how it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused<Id> {
    pub id: Id,
    /// 0 to 1; comparable within one question only.
    pub score: f32,
    /// From 1; none when that side did not find it.
    pub keyword_rank: Option<usize>,
    pub vector_rank: Option<usize>,
}

/// Share of the vector side when words meet the question well.
const VECTOR_SHARE_MIN: f32 = 0.15;

/// And when they meet next to nothing of it.
const VECTOR_SHARE_MAX: f32 = 0.5;

/// Coverage from which words are trusted fully, and below which they are trusted least.
const COVERAGE_GOOD: f32 = 0.35;
const COVERAGE_POOR: f32 = 0.1;

/// What nearness counts as words in a passage that is in another language: squared, as only the nearest are about
/// the same thing, while most of a question's words have none to meet there.
const OTHER_LANGUAGE: f32 = 0.8;

/// Steps of a score: what differs by less is equal. Sums of floating-point numbers depend on the order in which an
/// index adds them up, and two indexes of the same documents should give the same scores.
const SCORE_STEPS: f32 = 10_000.0;

/// How many passages to ask the vector side for. The last of them marks nearness 0: cosines there
/// are the noise of the corpus, and say how much above it the first ones stand.
pub const VECTOR_HITS: usize = 100;

/// Returns the passages of both lists, best first; equal ones in the order of their ids.
///
/// Ask the vector side for [`VECTOR_HITS`], however few are shown in the end. A score that is not
/// a number counts as not found.
pub fn fuse<Id: Ord + Clone>(
    keyword: &KeywordFound<Id>,
    vector: &[VectorHit<Id>],
) -> Vec<Fused<Id>> {
    let keyword_hits = best_first(&keyword.hits, |hit| (hit.score, &hit.id));
    let vector_hits = best_first(vector, |hit| (hit.cosine, &hit.id));
    let best = keyword_hits.first().map_or(1.0, |hit| hit.score).max(f32::MIN_POSITIVE);
    let by_words = (1..).zip(&keyword_hits).map(|(rank, hit)| {
        let words = (hit.score / best).max(0.0);
        (&hit.id, Evidence { words, keyword_rank: Some(rank), ..Evidence::default() })
    });
    let mut passages: Vec<(&Id, Evidence)> = by_words.collect();
    passages.sort_unstable_by_key(|(id, _)| *id);
    let by_words = passages.len();
    let nearest = vector_hits.first().map_or(1.0, |hit| hit.cosine);
    let last = vector_hits.get(VECTOR_HITS - 1).or(vector_hits.last());
    let far = last.map_or(0.0, |hit| hit.cosine);
    for (rank, hit) in (1..).zip(&vector_hits) {
        let known = passages.get(..by_words).unwrap_or_default();
        let place = known.binary_search_by_key(&&hit.id, |(id, _)| *id);
        let place = place.unwrap_or_else(|_| {
            passages.push((&hit.id, Evidence::default()));
            passages.len() - 1
        });
        let Some((_, evidence)) = passages.get_mut(place) else { continue };
        evidence.nearness = nearness(hit.cosine, nearest, far);
        evidence.vector_rank = Some(rank);
        if hit.language == PassageLanguage::Other {
            evidence.words = evidence.words.max(OTHER_LANGUAGE * evidence.nearness.powi(2));
        }
    }
    let vector_share = vector_share(!keyword_hits.is_empty(), keyword.coverage);
    let fused = |(id, evidence): (&Id, Evidence)| evidence.fused(id.clone(), vector_share);
    let mut fused: Vec<Fused<Id>> = passages.into_iter().map(fused).collect();
    fused.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    fused
}

/// A score as it is given out.
#[must_use]
pub fn in_steps(score: f32) -> f32 {
    (score * SCORE_STEPS).round() / SCORE_STEPS
}

/// What both sides say of a passage; 0 where a side did not find it.
#[derive(Default)]
struct Evidence {
    /// 0 to 1, the best keyword hit having 1.
    words: f32,
    /// 0 to 1, the nearest vector hit having 1.
    nearness: f32,
    keyword_rank: Option<usize>,
    vector_rank: Option<usize>,
}

impl Evidence {
    fn fused<Id>(self, id: Id, vector_share: f32) -> Fused<Id> {
        let score = (1.0 - vector_share) * self.words + vector_share * self.nearness;
        let score = in_steps(score);
        Fused { id, score, keyword_rank: self.keyword_rank, vector_rank: self.vector_rank }
    }
}

fn best_first<'hits, Hit, Id: Ord + 'hits>(
    hits: &'hits [Hit],
    key: impl Fn(&'hits Hit) -> (f32, &'hits Id),
) -> Vec<&'hits Hit> {
    let mut sorted: Vec<&Hit> = hits.iter().filter(|hit| key(hit).0.is_finite()).collect();
    sorted.sort_by(|a, b| {
        let ((a_score, a_id), (b_score, b_id)) = (key(a), key(b));
        b_score.total_cmp(&a_score).then_with(|| a_id.cmp(b_id))
    });
    sorted
}

fn nearness(cosine: f32, nearest: f32, far: f32) -> f32 {
    let range = nearest - far;
    if range > f32::EPSILON { ((cosine - far) / range).clamp(0.0, 1.0) } else { 1.0 }
}

fn vector_share(found_by_words: bool, coverage: f32) -> f32 {
    if !found_by_words {
        return 1.0;
    }
    let coverage = if coverage.is_nan() { 0.0 } else { coverage };
    let lack = ((COVERAGE_GOOD - coverage) / (COVERAGE_GOOD - COVERAGE_POOR)).clamp(0.0, 1.0);
    VECTOR_SHARE_MIN + (VECTOR_SHARE_MAX - VECTOR_SHARE_MIN) * lack
}

#[cfg(test)]
mod tests;
