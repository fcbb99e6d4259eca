//! The content agent: sections from the sources, checked against them, reviewed and put together.

use std::collections::BTreeSet;

use super::asking::Task;
use super::reflecting::{RELEVANT_MIN, StepAsked};
use super::{Phase, Run};
use crate::context::research_section;
use crate::offline::Asked;
use crate::research::call::Purpose;
use crate::research::citation::supports;
use crate::research::message::{
    AnswerDraft, AnswerReady, CheckVerdict, CitationCheck, ContentRequest, DraftApproval,
    DraftSection, FinalAnswer, FinalApproval, Moment, Party, QualityScore, QuotedSource, Share,
    Uuid, WritingProgress,
};
use crate::research::offline;
use crate::research::report::{
    Citation, CitedSource, Claim, EndReason, Report, Section, is_korean,
};
use crate::research::source::Source;
use crate::research::thought::{self, ClaimThought, SectionThought};
use crate::text::clip;

/// Sources that a section is written from.
const SECTION_SOURCES_MAX: usize = 8;

/// Sources that an answer is written from.
const APPROVED_MAX: usize = 40;

/// Claims of a section, citations of a claim, and longest heading, claim and quote, in bytes.
const CLAIMS_MAX: usize = 12;
const CITATIONS_MAX: usize = 6;
const HEADING_BYTES_MAX: usize = 200;
const CLAIM_BYTES_MAX: usize = 2_000;
const QUOTE_BYTES_MAX: usize = 2_000;

/// Things that a report names as not found.
const NOT_FOUND_MAX: usize = 12;

/// A draft of which less is supported is written again, if there is another draft.
const SUPPORTED_MIN: f64 = 0.7;

/// An answer that is being written.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Draft {
    number: u32,
    sections: Vec<DraftPart>,
    /// What the last review found wanting.
    feedback: Option<String>,
    not_found: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct DraftPart {
    heading: String,
    /// The sources it is written from, as they are numbered for it.
    sources: Vec<Uuid>,
    /// None until it is written.
    claims: Option<Vec<Claim>>,
}

impl Run {
    pub(super) fn start_writing(&mut self) {
        self.phase = Phase::Writing;
        self.ended.get_or_insert(EndReason::Enough);
        let approved = self.approved(&self.steps_asked());
        let headings = if approved.is_empty() { Vec::new() } else { self.headings() };
        let score = |(score, source): &(Share, &Source)| QualityScore {
            result_id: source.id,
            score: *score,
        };
        let quality_scores: Vec<QualityScore> = approved.iter().map(score).collect();
        let approved_result_ids: Vec<Uuid> = approved.iter().map(|(_, source)| source.id).collect();
        let sections: Vec<DraftPart> = headings
            .iter()
            .map(|heading| DraftPart {
                heading: heading.clone(),
                sources: self.sources_for(heading, &approved_result_ids),
                claims: None,
            })
            .collect();
        self.draft = Draft { number: 1, sections, ..Draft::default() };
        let suggested_structure = headings;
        self.say(
            Party::Reflect,
            ContentRequest { approved_result_ids, quality_scores, suggested_structure },
        );
        self.write_on();
    }

    /// The sources that count with their scores, the best first.
    fn approved(&self, steps: &[StepAsked]) -> Vec<(Share, &Source)> {
        let scored = self.sources.iter().map(|source| (self.score(source, steps), source));
        let mut scored: Vec<(Share, &Source)> =
            scored.filter(|(score, _)| score.get() >= RELEVANT_MIN).collect();
        scored.sort_by(|a, b| b.0.get().total_cmp(&a.0.get()));
        scored.truncate(APPROVED_MAX);
        scored
    }

    /// The headings that the judge wants, else the steps of the plan.
    fn headings(&self) -> Vec<String> {
        let wanted = self.assessed.as_ref().map(|it| it.structure.clone()).unwrap_or_default();
        let steps = self.plan.iter().flat_map(|plan| &plan.steps);
        let steps: Vec<String> = steps.map(|step| step.description.clone()).collect();
        let mut known = BTreeSet::new();
        let mut tidy = |headings: Vec<String>| -> Vec<String> {
            let flat = |heading: &String| {
                let words = spoken(heading).split_whitespace().collect::<Vec<_>>().join(" ");
                clip(words.trim_start_matches('#').trim(), HEADING_BYTES_MAX).to_owned()
            };
            let headings = headings.iter().map(flat).filter(|it| !it.is_empty());
            headings.filter(|it| known.insert(it.to_lowercase())).collect()
        };
        let wanted = tidy(wanted);
        let mut headings = if wanted.is_empty() { tidy(steps) } else { wanted };
        headings.truncate(self.order.limits.sections_max.max(1));
        if headings.is_empty() {
            headings.push(clip(&self.order.question, HEADING_BYTES_MAX).to_owned());
        }
        headings
    }

    fn sources_for(&self, heading: &str, approved: &[Uuid]) -> Vec<Uuid> {
        let asked = Asked::new(&format!("{heading} {}", self.order.question));
        let best = self.best_sources(&asked, self.sources.len());
        let best = best.into_iter().filter(|source| approved.contains(&source.id));
        best.take(SECTION_SOURCES_MAX).map(|source| source.id).collect()
    }

    /// Writes the next section, or has the draft reviewed.
    fn write_on(&mut self) {
        let next = self.draft.sections.iter().position(|part| part.claims.is_none());
        let Some(place) = next else { return self.review() };
        let (total, done) = (self.draft.sections.len(), place);
        let heading = self.draft.sections.get(place).map(|part| part.heading.clone());
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.say(
            Party::Content,
            WritingProgress {
                current_section: heading.unwrap_or_default(),
                sections_completed: number(done),
                total_sections: number(total),
                progress: Share::of(done, total),
            },
        );
        if self.may_write_with_model() {
            self.want_section(place);
        } else {
            self.write_offline(place, None);
        }
    }

    fn want_section(&mut self, place: usize) {
        let Some(part) = self.draft.sections.get(place) else { return };
        let headings: Vec<String> =
            self.draft.sections.iter().map(|part| part.heading.clone()).collect();
        let sources = self.by_ids(&part.sources);
        let asked = Asked::new(&format!("{} {}", part.heading, self.order.question));
        let shown = |source: &Source, bytes: usize| offline::best_part(&asked, source, bytes);
        let feedback = self.draft.feedback.as_deref();
        let messages = research_section(
            &self.research(),
            &part.heading,
            &headings,
            &sources,
            &shown,
            feedback,
        );
        let name = format!("write.{}.{place}", self.draft.number);
        self.want_thought(name, Purpose::Write, messages, Task::Write { section: place });
    }

    fn by_ids(&self, ids: &[Uuid]) -> Vec<&Source> {
        let find = |id: &Uuid| self.sources.iter().find(|source| source.id == *id);
        ids.iter().filter_map(find).collect()
    }

    pub(super) fn take_section(&mut self, place: usize, text: &str) -> Result<(), String> {
        let thought: SectionThought = thought::thought(text)?;
        self.wrote(place, thought);
        Ok(())
    }

    pub(super) fn write_offline(&mut self, place: usize, why: Option<&str>) {
        if let Some(why) = why {
            self.notes.push(format!("a section was put together without a model: {why}"));
        }
        let Some(part) = self.draft.sections.get(place) else { return };
        let known = self.draft.sections.iter().flat_map(|part| part.claims.iter().flatten());
        let known = known.map(|claim| claim.text.clone()).collect();
        let sources = self.by_ids(&part.sources);
        let thought = offline::section(&self.order.question, &part.heading, &sources, &known);
        self.wrote(place, thought);
    }

    fn wrote(&mut self, place: usize, thought: SectionThought) {
        let Some(part) = self.draft.sections.get(place) else { return };
        let ids = part.sources.clone();
        let before: BTreeSet<String> = self
            .draft
            .sections
            .iter()
            .flat_map(|part| part.claims.iter().flatten())
            .map(|claim| claim.text.clone())
            .collect();
        let mut claims: Vec<Claim> = Vec::new();
        for claim in thought.claims.into_iter().take(CLAIMS_MAX) {
            let Some(claim) = self.checked(claim, &ids) else { continue };
            match claims.iter_mut().find(|known| known.text == claim.text) {
                Some(known) => {
                    known.citations.extend(claim.citations);
                    known.is_supported |= claim.is_supported;
                }
                None if before.contains(&claim.text) => {}
                None => claims.push(claim),
            }
        }
        self.draft.not_found.extend(thought.not_found);
        if let Some(part) = self.draft.sections.get_mut(place) {
            part.claims = Some(claims);
        }
        self.write_on();
    }

    /// A claim with its quotes as they stand in their sources; none without words.
    fn checked(&self, thought: ClaimThought, ids: &[Uuid]) -> Option<Claim> {
        let text = spoken(&thought.text);
        if text.is_empty() {
            return None;
        }
        let mut citations: Vec<Citation> = Vec::new();
        for quoted in thought.citations.into_iter().take(CITATIONS_MAX) {
            // A number of no source is nothing.
            let place = usize::try_from(quoted.source).ok().and_then(|it| it.checked_sub(1));
            let id = place.and_then(|place| ids.get(place));
            let source = id.and_then(|id| self.sources.iter().find(|it| it.id == *id));
            let Some(source) = source else { continue };
            citations.push(cited(source, clip(&quoted.quote, QUOTE_BYTES_MAX)));
        }
        let good = citations.iter().filter(|it| it.verdict != CheckVerdict::Unsupported);
        let quotes: Vec<&str> = good.map(|citation| citation.quote.as_str()).collect();
        let is_supported = supports(&text, &quotes);
        Some(Claim { text, citations, is_supported })
    }

    /// Has the reflecting agent look at the draft.
    fn review(&mut self) {
        let report = self.compiled();
        if report.sections.is_empty() {
            return self.end_with(report);
        }
        self.tell_draft(&report);
        self.turns.push(Party::Reflect);
        for (section, part) in (1..).zip(&report.sections) {
            for (number, claim) in (1..).zip(&part.claims) {
                for citation in &claim.citations {
                    let check = CitationCheck {
                        claim_id: format!("{section}.{number}"),
                        source_id: citation.source_id,
                        quote: citation.quote.clone(),
                        verdict: citation.verdict,
                    };
                    self.say(Party::Reflect, check);
                }
            }
        }
        let share = report.supported_share();
        let may_write_again = self.draft.number < self.order.limits.drafts_max
            && self.may_write_with_model()
            && share.get() < SUPPORTED_MIN;
        let feedback = self.review_feedback(&report);
        let approval = DraftApproval {
            answer_id: report.id,
            approved: !may_write_again,
            supported_share: share,
            feedback: feedback.clone(),
        };
        self.say(Party::Reflect, approval);
        self.turns.push(Party::Content);
        if may_write_again {
            return self.write_again(feedback);
        }
        self.end_with(report);
    }

    fn review_feedback(&self, report: &Report) -> String {
        let unsupported = report.unsupported();
        match (unsupported, is_korean(self.language)) {
            (0, true) => "모든 주장이 출처로 뒷받침됩니다.".to_owned(),
            (0, false) => "Every claim is supported by its sources.".to_owned(),
            (count, true) => format!(
                "주장 {count}개의 인용문이 출처에 없거나 주장을 뒷받침하지 않습니다. 출처의 문장을 그대로 인용하세요."
            ),
            (count, false) => format!(
                "{count} claims have no quote that stands in its source and says them. Quote the sources letter for letter."
            ),
        }
    }

    /// Writes the sections again whose claims are not supported.
    fn write_again(&mut self, feedback: String) {
        self.draft.number += 1;
        self.draft.feedback = Some(feedback);
        for part in &mut self.draft.sections {
            let is_bad = |claims: &Vec<Claim>| claims.iter().any(|claim| !claim.is_supported);
            if part.claims.as_ref().is_some_and(is_bad) {
                part.claims = None;
            }
        }
        self.write_on();
    }

    fn tell_draft(&mut self, report: &Report) {
        let section = |part: &Section| {
            let texts: Vec<&str> = part.claims.iter().map(|claim| claim.text.as_str()).collect();
            let all = || part.claims.iter().flat_map(|claim| &claim.citations);
            let good = all().filter(|it| it.verdict != CheckVerdict::Unsupported);
            let mut citations: Vec<u32> = good
                .clone()
                .filter_map(|citation| report.number(citation.source_id))
                .filter_map(|number| u32::try_from(number).ok())
                .collect();
            citations.sort_unstable();
            citations.dedup();
            let quotes = good
                .map(|citation| QuotedSource {
                    source_id: citation.source_id,
                    quote: citation.quote.clone(),
                    start: citation.start,
                    end: citation.end,
                })
                .collect();
            let heading = part.heading.clone();
            DraftSection { heading, content: texts.join("\n\n"), citations, quotes }
        };
        let sections = report.sections.iter().map(section).collect();
        let word_count = report.words() as u64;
        self.say(Party::Content, AnswerDraft { answer_id: report.id, sections, word_count });
    }

    /// The report as the draft has it.
    fn compiled(&self) -> Report {
        let sections: Vec<Section> = self
            .draft
            .sections
            .iter()
            .filter_map(|part| {
                let claims = part.claims.clone().filter(|claims| !claims.is_empty())?;
                Some(Section { heading: part.heading.clone(), claims })
            })
            .collect();
        let mut sources: Vec<CitedSource> = Vec::new();
        let citations = sections.iter().flat_map(|section| &section.claims);
        let citations = citations.flat_map(|claim| &claim.citations);
        for citation in citations.filter(|it| it.verdict != CheckVerdict::Unsupported) {
            let is_known = sources.iter().any(|source| source.id == citation.source_id);
            let source = self.sources.iter().find(|source| source.id == citation.source_id);
            sources.extend(source.filter(|_| !is_known).map(listed));
        }
        Report {
            id: self.order.id.derived("answer", 0),
            question: self.order.question.clone(),
            sections,
            sources,
            not_found: self.not_found(),
            notes: self.notes.clone(),
            ended: self.ended.unwrap_or(EndReason::Enough),
            made_at: Moment(self.now),
        }
    }

    fn not_found(&self) -> Vec<String> {
        let steps = self.uncovered(&self.steps_asked()).into_iter().map(|step| step.description);
        let mut known = BTreeSet::new();
        let all = steps.chain(self.draft.not_found.iter().map(|text| spoken(text)));
        let mut all: Vec<String> =
            all.filter(|text| !text.is_empty() && known.insert(text.to_lowercase())).collect();
        all.truncate(NOT_FOUND_MAX);
        all
    }

    fn end_with(&mut self, report: Report) {
        let answer_id = report.id;
        let unsupported_claims = u32::try_from(report.unsupported()).unwrap_or(u32::MAX);
        let answer = FinalAnswer {
            answer_id,
            total_sources: report.sources.len() as u64,
            word_count: report.words() as u64,
        };
        let stop_reason = report.ended.as_str().to_owned();
        self.phase = Phase::Ended;
        self.say(Party::Content, answer);
        self.say(Party::Reflect, FinalApproval { answer_id, approved: true, unsupported_claims });
        self.tell_budget();
        self.say(Party::System, AnswerReady { answer_id: Some(answer_id), stop_reason });
        self.report = Some(report);
    }
}

/// A quote as it stands in its source; as it was given, if it does not.
fn cited(source: &Source, quote: &str) -> Citation {
    let number = |place: usize| u64::try_from(place).unwrap_or(u64::MAX);
    match source.locate(quote) {
        Some(found) => Citation {
            source_id: source.id,
            quote: source.words(&found.range).unwrap_or_else(|| quote.to_owned()),
            start: number(found.range.start),
            end: number(found.range.end),
            verdict: found.verdict,
        },
        None => Citation {
            source_id: source.id,
            quote: quote.to_owned(),
            start: 0,
            end: 0,
            verdict: CheckVerdict::Unsupported,
        },
    }
}

fn listed(source: &Source) -> CitedSource {
    CitedSource {
        id: source.id,
        provider: source.provider.clone(),
        title: source.title.clone(),
        place: source.place.clone(),
        address: source.address.clone(),
        published: source.published.clone(),
        accessed: source.accessed,
    }
}

/// A model's words without what only Saem may write: links, and numbers of sources.
fn spoken(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        plain.push_str(rest.get(..open).unwrap_or_default());
        let behind = rest.get(open + 1..).unwrap_or_default();
        let Some((inside, after)) = behind.split_once(']') else {
            rest = behind;
            continue;
        };
        let is_number = |letter: char| letter.is_ascii_digit() || ", ;".contains(letter);
        if let Some((_, after)) = after.strip_prefix('(').and_then(|it| it.split_once(')')) {
            plain.push_str(inside);
            rest = after;
        } else {
            if !inside.chars().all(is_number) {
                plain.push_str(&format!("[{inside}]"));
            } else if plain.ends_with(' ') {
                plain.pop();
            }
            rest = after;
        }
    }
    plain.push_str(rest);
    let words = plain.split(' ').filter(|word| !word.contains("://"));
    clip(words.collect::<Vec<_>>().join(" ").trim(), CLAIM_BYTES_MAX).to_owned()
}
