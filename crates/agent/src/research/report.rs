//! What a run comes to: sections of claims, each with the words of its sources, and what was not found.

mod blocks;
mod docx;
mod html;
mod markdown;
mod pdf;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::message::{CheckVerdict, Moment, ProviderId, Share, Uuid};
use crate::language::Language;
use crate::tools::suspicion::clean;

/// A report. Everything in it that is cited was found by Saem: a model only names the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub id: Uuid,
    pub question: String,
    pub sections: Vec<Section>,
    /// Those that are cited, in the order of their first citation; the first is `[1]`.
    pub sources: Vec<CitedSource>,
    /// What was looked for and not found.
    pub not_found: Vec<String>,
    /// What a reader should know of how it came about.
    pub notes: Vec<String>,
    /// Why the run ended.
    pub ended: EndReason,
    pub made_at: Moment,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// There was enough.
    Enough,
    /// The rounds were used up.
    Rounds,
    /// Nothing new was found any more.
    Stalled,
    /// Somebody wanted it written now.
    FinishedEarly,
    /// Nobody wanted the plan.
    Refused,
    /// Somebody stopped it; there is no report.
    Stopped,
    /// It could not be taken up where its journal ends; there is no report.
    Failed,
    TimeSpent,
    TokensSpent,
    MoneySpent,
    CallsSpent,
    PagesSpent,
}

impl EndReason {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enough => "enough",
            Self::Rounds => "rounds",
            Self::Stalled => "stalled",
            Self::FinishedEarly => "finished_early",
            Self::Refused => "refused",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::TimeSpent => "time_spent",
            Self::TokensSpent => "tokens_spent",
            Self::MoneySpent => "money_spent",
            Self::CallsSpent => "calls_spent",
            Self::PagesSpent => "pages_spent",
        }
    }

    /// Whether a run that ended so has come to a report.
    #[must_use]
    pub fn has_report(self) -> bool {
        !matches!(self, Self::Refused | Self::Stopped)
    }

    /// For a reader; nothing where nothing was cut short.
    #[must_use]
    pub fn told(self, language: Language) -> Option<&'static str> {
        let (english, korean) = match self {
            Self::Enough => return None,
            Self::Rounds => (
                "The search ended after its last round; some of it may be missing.",
                "정해진 횟수만큼 검색한 뒤 끝냈습니다. 빠진 내용이 있을 수 있습니다.",
            ),
            Self::Stalled => (
                "Further searches found nothing new.",
                "더 검색해도 새로운 내용이 나오지 않았습니다.",
            ),
            Self::FinishedEarly => (
                "It was written early, as asked, with what had been found.",
                "요청에 따라 그때까지 찾은 내용으로 미리 작성했습니다.",
            ),
            Self::Refused => ("The plan was refused.", "계획이 거절되었습니다."),
            Self::Stopped => ("It was stopped.", "중지되었습니다."),
            Self::Failed => ("It could not go on.", "더 진행할 수 없었습니다."),
            Self::TimeSpent => (
                "The time for it was used up; this is what had been found.",
                "정해진 시간을 다 써서 그때까지 찾은 내용으로 작성했습니다.",
            ),
            Self::TokensSpent => (
                "The tokens for it were used up; this is what had been found.",
                "정해진 토큰을 다 써서 그때까지 찾은 내용으로 작성했습니다.",
            ),
            Self::MoneySpent => (
                "The money for it was used up; this is what had been found.",
                "정해진 비용을 다 써서 그때까지 찾은 내용으로 작성했습니다.",
            ),
            Self::CallsSpent => (
                "The calls for it were used up; this is what had been found.",
                "정해진 호출 횟수를 다 써서 그때까지 찾은 내용으로 작성했습니다.",
            ),
            Self::PagesSpent => (
                "The pages for it were used up; this is what had been found.",
                "정해진 쪽수를 다 읽어서 그때까지 찾은 내용으로 작성했습니다.",
            ),
        };
        Some(if is_korean(language) { korean } else { english })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    pub heading: String,
    pub claims: Vec<Claim>,
}

/// A sentence or two that stand on the same sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub text: String,
    pub citations: Vec<Citation>,
    /// Its quotes stand in their sources and say it.
    pub is_supported: bool,
}

/// Words of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    pub source_id: Uuid,
    /// As it stands in the source, if it does.
    pub quote: String,
    /// In bytes of the source's text.
    pub start: u64,
    pub end: u64,
    pub verdict: CheckVerdict,
}

/// A source as a report lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedSource {
    pub id: Uuid,
    pub provider: ProviderId,
    pub title: String,
    pub place: String,
    pub address: Option<String>,
    pub published: Option<String>,
    pub accessed: Moment,
}

impl CitedSource {
    /// Its address, if it is one that a reader can open.
    #[must_use]
    pub fn web_address(&self) -> Option<&str> {
        let is_web = |address: &&str| {
            let is_plain = !address.contains(|letter: char| {
                letter.is_whitespace() || letter.is_control() || "<>\"".contains(letter)
            });
            is_plain && (address.starts_with("https://") || address.starts_with("http://"))
        };
        self.address.as_deref().filter(is_web)
    }
}

impl Report {
    #[must_use]
    pub fn to_markdown(&self) -> String {
        markdown::report(self)
    }

    /// A page of its own: no script, nothing from elsewhere, every text as text.
    #[must_use]
    pub fn to_html(&self) -> String {
        html::report(self)
    }

    /// On paper, with its citations leading to their sources. The letters come from the reader's own fonts.
    #[must_use]
    pub fn to_pdf(&self) -> Vec<u8> {
        pdf::report(self)
    }

    /// For a word processor.
    #[must_use]
    pub fn to_docx(&self) -> Vec<u8> {
        docx::report(self)
    }

    /// The number of a source, from 1.
    #[must_use]
    pub fn number(&self, source: Uuid) -> Option<usize> {
        self.sources.iter().position(|known| known.id == source).map(|place| place + 1)
    }

    #[must_use]
    pub fn words(&self) -> usize {
        let claims = self.sections.iter().flat_map(|section| &section.claims);
        claims.map(|claim| claim.text.split_whitespace().count()).sum()
    }

    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.sections.iter().flat_map(|section| &section.claims)
    }

    #[must_use]
    pub fn unsupported(&self) -> usize {
        self.claims().filter(|claim| !claim.is_supported).count()
    }

    #[must_use]
    pub fn supported_share(&self) -> Share {
        let all = self.claims().count();
        Share::of(all - self.unsupported(), all)
    }

    fn language(&self) -> Language {
        Language::of(&self.question)
    }

    /// The numbers that stand behind a claim, each once.
    fn numbers(&self, claim: &Claim) -> Vec<usize> {
        let mut numbers = Vec::new();
        let good = claim.citations.iter().filter(|it| it.verdict != CheckVerdict::Unsupported);
        for number in good.filter_map(|citation| self.number(citation.source_id)) {
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        numbers
    }

    /// The quotes that stand in a source, each once.
    fn quotes(&self, source: Uuid) -> Vec<&str> {
        let mut quotes: Vec<&str> = Vec::new();
        let all = self.claims().flat_map(|claim| &claim.citations);
        let good =
            all.filter(|it| it.source_id == source && it.verdict != CheckVerdict::Unsupported);
        for citation in good {
            if !quotes.contains(&citation.quote.as_str()) {
                quotes.push(&citation.quote);
            }
        }
        quotes
    }

    fn words_of(&self) -> &'static Words {
        if is_korean(self.language()) { &KOREAN } else { &ENGLISH }
    }
}

pub(super) fn is_korean(language: Language) -> bool {
    matches!(language, Language::Korean | Language::Mixed)
}

/// What a reader can see of a text: no letters that hide or turn others, no signs that steer a terminal or break a file.
fn seen(text: &str) -> String {
    clean(text).replace(['\u{FFFE}', '\u{FFFF}'], "")
}

/// The same on one line.
fn one_line(text: &str) -> String {
    seen(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words around what was found.
struct Words {
    language: &'static str,
    unsupported: &'static str,
    not_found: &'static str,
    sources: &'static str,
    notes: &'static str,
    nothing: &'static str,
    accessed: &'static str,
    published: &'static str,
}

const ENGLISH: Words = Words {
    language: "en",
    unsupported: "not supported by a source",
    not_found: "What was not found",
    sources: "Sources",
    notes: "About this report",
    nothing: "Nothing was found that answers the question.",
    accessed: "accessed",
    published: "published",
};

const KOREAN: Words = Words {
    language: "ko",
    unsupported: "출처로 뒷받침되지 않음",
    not_found: "찾지 못한 내용",
    sources: "출처",
    notes: "이 보고서에 대하여",
    nothing: "질문에 답하는 내용을 찾지 못했습니다.",
    accessed: "확인",
    published: "발행",
};
