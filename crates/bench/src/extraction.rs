//! `bench extract`: the main text of web pages, by Saem and by trafilatura (Python), against what people marked.
//!
//! The measure is that of the public benchmark the pages come from: runs of four words, counted as often as they stand there;
//! precision and recall of each page, their means, and the F1 of the means.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use extract::{Hint, Limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Places;
use crate::peer::Peer;
use crate::report::{median, result, rounded, say};

/// Words of a run.
const RUN_WORDS: usize = 4;

/// What is wanted.
const F1_MIN: f64 = 0.95;

pub(crate) struct Size {
    pub(crate) rounds: usize,
}

#[derive(Deserialize)]
struct Truth {
    #[serde(rename = "articleBody")]
    body: String,
}

struct Page {
    html: Vec<u8>,
    body: String,
}

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    pages: usize,
    rounds: usize,
    f1: f64,
    precision: f64,
    recall: f64,
    ms_per_page: f64,
    slowest_page_ms: f64,
    empty: usize,
    peer: String,
    peer_f1: f64,
    peer_ms_per_page: f64,
    /// The peer's time by Saem's, in the same round.
    ratio: f64,
}

pub(crate) fn run(places: &Places, size: &Size) -> Result<()> {
    let folder = places.data.join("article-extraction");
    let pages = read(&folder)?;
    let mut peer = Peer::start(&places.python, "trafilatura_extract.py", &[&folder])?;
    let version = peer.ask("version")?.as_str().unwrap_or_default().to_owned();
    let (mut times, mut peer_times) = (Vec::new(), Vec::new());
    let (mut texts, mut peer_texts, mut slowest) = (Vec::new(), Vec::new(), Duration::ZERO);
    for round in 1..=size.rounds {
        let begun = Instant::now();
        texts.clear();
        for page in &pages {
            let page_begun = Instant::now();
            texts.push(text(&page.html));
            slowest = slowest.max(page_begun.elapsed());
        }
        let ours = begun.elapsed().as_secs_f64() * 1000.0 / pages.len() as f64;
        let answer = peer.ask("go")?;
        let theirs = crate::peer::number(&answer, "ms_per_page")?;
        peer_texts = answer
            .get("texts")
            .and_then(Value::as_array)
            .context("texts")?
            .iter()
            .map(|text| text.as_str().unwrap_or_default().to_owned())
            .collect();
        say(&format!("round {round}: Saem {ours:.2} ms a page, {version} {theirs:.2}"));
        times.push(ours);
        peer_times.push(theirs);
    }
    let judged = judge(&pages, &texts);
    let ratios = peer_times.iter().zip(&times).map(|(theirs, ours)| theirs / ours).collect();
    let figures = Figures {
        bench: "extract",
        pages: pages.len(),
        rounds: size.rounds,
        f1: rounded(judged.f1()),
        precision: rounded(judged.precision),
        recall: rounded(judged.recall),
        ms_per_page: rounded(median(times)),
        slowest_page_ms: rounded(slowest.as_secs_f64() * 1000.0),
        empty: texts.iter().filter(|text| text.trim().is_empty()).count(),
        peer: version,
        peer_f1: rounded(judge(&pages, &peer_texts).f1()),
        peer_ms_per_page: rounded(median(peer_times)),
        ratio: rounded(median(ratios)),
    };
    let verdict = if figures.f1 >= F1_MIN { "reached" } else { "MISSED" };
    say(&format!("F1 {:.3}, wanted {F1_MIN}: {verdict}", figures.f1));
    result(&figures)
}

fn read(folder: &Path) -> Result<Vec<Page>> {
    let truths = std::fs::read_to_string(folder.join("ground-truth.json"))
        .with_context(|| format!("{} is not there", folder.display()))?;
    let truths: BTreeMap<String, Truth> = serde_json::from_str(&truths)?;
    let mut pages = Vec::new();
    for (name, truth) in truths {
        let file = folder.join("html").join(format!("{name}.html.gz"));
        // Not all pages of the benchmark are at hand.
        let Ok(packed) = std::fs::File::open(&file) else { continue };
        let mut html = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut html)?;
        pages.push(Page { html, body: truth.body });
    }
    Ok(pages)
}

fn text(html: &[u8]) -> String {
    let hint = Hint { media_type: Some("text/html"), ..Hint::default() };
    extract::extract(html, &hint, &Limits::default()).map_or_else(|_| String::new(), |it| it.text)
}

#[derive(Debug, Clone, Copy, Default)]
struct Judged {
    precision: f64,
    recall: f64,
}

impl Judged {
    fn f1(&self) -> f64 {
        2.0 * self.precision * self.recall / (self.precision + self.recall).max(f64::MIN_POSITIVE)
    }
}

fn judge(pages: &[Page], texts: &[String]) -> Judged {
    let (mut precisions, mut recalls) = (Vec::new(), Vec::new());
    for (page, text) in pages.iter().zip(texts) {
        let (right, given) = (runs(&page.body), runs(text));
        let shared: usize =
            right.iter().map(|(run, count)| given.get(run).map_or(0, |it| *it.min(count))).sum();
        // What is empty has no precision, and is left out of its mean.
        for (counts, shares) in [(&given, &mut precisions), (&right, &mut recalls)] {
            let all: usize = counts.values().sum();
            if all > 0 {
                shares.push(shared as f64 / all as f64);
            }
        }
    }
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    Judged { precision: mean(&precisions), recall: mean(&recalls) }
}

/// Runs of words and how often each stands in a text; a shorter text is one run.
fn runs(text: &str) -> BTreeMap<Vec<&str>, usize> {
    let is_between = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let words: Vec<&str> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    let mut runs = BTreeMap::new();
    if words.is_empty() {
        return runs;
    }
    for run in words.windows(RUN_WORDS.min(words.len())) {
        *runs.entry(run.to_vec()).or_default() += 1;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_and_recall_are_counted_in_runs_of_words() {
        let page = |body: &str| Page { html: vec![], body: body.to_owned() };
        let same = judge(&[page("one two three four five")], &["one two, three four five".into()]);
        assert_eq!((same.precision, same.recall), (1.0, 1.0));
        let more = judge(&[page("a b c d")], &["a b c d e".to_owned()]);
        assert_eq!((more.precision, more.recall), (0.5, 1.0));
        let none = judge(&[page("a b c d")], &[String::new()]);
        assert_eq!((none.precision, none.recall, none.f1()), (0.0, 0.0, 0.0));
    }
}
