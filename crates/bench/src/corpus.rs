//! Makes documents to measure with: Markdown and HTML in Korean and English, the same ones for the same seed.
//!
//! Sentences come from the demo corpus; in each, some words give way to made-up ones, so that the index meets as many
//! different words as in a company's own files and no two documents are alike.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Made-up words of each language; the first are drawn far more often than the last.
const MADE_UP_WORDS: u64 = 30_000;

/// One word in so many is made up.
const MADE_UP_EVERY: u64 = 7;

const SECTIONS: std::ops::Range<u64> = 4..8;
const PARAGRAPHS: std::ops::Range<u64> = 1..4;
const SENTENCES: std::ops::Range<u64> = 2..6;

/// A generated document.
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Sentences to make documents of.
pub(crate) struct Corpus {
    korean: Vec<String>,
    english: Vec<String>,
}

impl Corpus {
    /// Reads the demo corpus's guides.
    pub(crate) fn of_demo(repository: &Path) -> Result<Self> {
        let mut files = Vec::new();
        for language in ["ko", "en"] {
            let folder = repository.join("examples/cloudcost/guides").join(language);
            for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
                files.push(entry?.path());
            }
        }
        files.sort();
        let mut corpus = Self { korean: Vec::new(), english: Vec::new() };
        for file in files {
            corpus.add(&std::fs::read_to_string(file)?);
        }
        ensure!(!corpus.korean.is_empty() && !corpus.english.is_empty(), "the guides are empty");
        Ok(corpus)
    }

    fn add(&mut self, text: &str) {
        let plain = text.lines().filter(|line| line.starts_with(char::is_alphabetic));
        for sentence in plain.flat_map(|line| line.split_inclusive(". ")) {
            let sentence = sentence.trim();
            if sentence.split_whitespace().count() < 4 {
                continue;
            }
            let is_korean = sentence.contains(|letter: char| ('가'..='힣').contains(&letter));
            let list = if is_korean { &mut self.korean } else { &mut self.english };
            list.push(sentence.to_owned());
        }
    }

    /// The document of this number: every second one is HTML, every second pair Korean.
    pub(crate) fn document(&self, number: u64) -> Document {
        let mut writer = Writer {
            random: Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5ae0),
            sentences: if (number / 2).is_multiple_of(2) { &self.korean } else { &self.english },
            is_korean: (number / 2).is_multiple_of(2),
        };
        if number.is_multiple_of(2) {
            Document { name: format!("doc-{number:06}.md"), text: writer.markdown() }
        } else {
            Document { name: format!("doc-{number:06}.html"), text: writer.html() }
        }
    }
}

/// A small generator of random numbers (SplitMix64), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn within(&mut self, range: &std::ops::Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }
}

struct Writer<'corpus> {
    random: Random,
    sentences: &'corpus [String],
    is_korean: bool,
}

impl Writer<'_> {
    fn sentence(&mut self) -> String {
        let place = self.random.below(self.sentences.len() as u64);
        let place = usize::try_from(place).unwrap_or(0);
        let sentence = self.sentences.get(place).map_or("", String::as_str);
        let mut words = Vec::new();
        for word in sentence.split_whitespace() {
            if self.random.below(MADE_UP_EVERY) == 0 {
                words.push(self.made_up());
            } else {
                words.push(word.to_owned());
            }
        }
        let mut sentence = words.join(" ");
        if !sentence.ends_with(['.', '?', '!']) {
            sentence.push('.');
        }
        sentence
    }

    /// A word that exists nowhere else; squaring makes few of them common and most of them rare.
    fn made_up(&mut self) -> String {
        let share = self.random.below(1 << 20) as f64 / f64::from(1 << 20);
        let rank = (share * share * share * MADE_UP_WORDS as f64) as u64;
        let mut letters = Random(rank ^ 0xfeed);
        let syllables = 2 + letters.below(2);
        if self.is_korean {
            let mut word: String = (0..syllables)
                .filter_map(|_| char::from_u32(0xac00 + u32::try_from(letters.below(11_172)).ok()?))
                .collect();
            let particle = usize::try_from(rank % 4).unwrap_or(0);
            word.push_str(["를", "에서", "는", ""].get(particle).unwrap_or(&""));
            return word;
        }
        let mut word = String::new();
        for _ in 0..syllables {
            for choice in ["bcdfghklmnprstvw", "aeiou", "bdklmnprst"] {
                let place = letters.below(choice.len() as u64);
                word.extend(choice.chars().nth(usize::try_from(place).unwrap_or(0)));
            }
        }
        word
    }

    fn heading(&mut self) -> String {
        let sentence = self.sentence();
        let words: Vec<&str> = sentence.split_whitespace().take(4).collect();
        words.join(" ").trim_end_matches('.').to_owned()
    }

    fn paragraph(&mut self) -> String {
        let sentences = self.random.within(&SENTENCES);
        let sentences: Vec<String> = (0..sentences).map(|_| self.sentence()).collect();
        sentences.join(" ")
    }

    fn markdown(&mut self) -> String {
        let mut text = format!("# {}\n\n{}\n", self.heading(), self.paragraph());
        for _ in 0..self.random.within(&SECTIONS) {
            text.push_str(&format!("\n## {}\n", self.heading()));
            for _ in 0..self.random.within(&PARAGRAPHS) {
                text.push_str(&format!("\n{}\n", self.paragraph()));
            }
            match self.random.below(4) {
                0 => {
                    text.push('\n');
                    for step in 1..5 {
                        text.push_str(&format!("{step}. {}\n", self.sentence()));
                    }
                }
                1 => {
                    text.push_str("\n| Name | Value |\n|---|---|\n");
                    for _ in 0..4 {
                        let value = self.random.below(100_000);
                        text.push_str(&format!("| {} | {value} |\n", self.heading()));
                    }
                }
                2 => text.push_str("\n```sh\nsaem search \"cost of storage\" --json\n```\n"),
                _ => {}
            }
        }
        text
    }

    fn html(&mut self) -> String {
        let title = self.heading();
        let mut text = format!(
            "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title>\
             <style>body {{ margin: 0 }}</style></head><body>\n<nav><ul>"
        );
        for place in 0..8 {
            text.push_str(&format!("<li><a href=\"/{place}\">Page {place}</a></li>"));
        }
        text.push_str(&format!("</ul></nav>\n<main><article><h1>{title}</h1>\n"));
        text.push_str(&format!("<p>{}</p>\n", self.paragraph()));
        for _ in 0..self.random.within(&SECTIONS) {
            text.push_str(&format!("<h2>{}</h2>\n", self.heading()));
            for _ in 0..self.random.within(&PARAGRAPHS) {
                text.push_str(&format!("<p>{}</p>\n", self.paragraph()));
            }
            if self.random.below(3) == 0 {
                text.push_str("<ul>");
                for _ in 0..4 {
                    text.push_str(&format!("<li>{}</li>", self.sentence()));
                }
                text.push_str("</ul>\n");
            }
        }
        text.push_str(
            "</article></main>\n<footer><p>All rights reserved.</p></footer></body></html>\n",
        );
        text
    }
}
