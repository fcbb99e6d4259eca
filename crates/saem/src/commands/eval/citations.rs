//! `saem eval citations`: whether the check that a report's claims go through tells what a source supports from what it does not.
//!
//! No model takes part: the check is the one of `agent::research::citation`, given a claim and all of its references.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent::research::citation::supports;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::json;

use super::NO_FOLDER;
use crate::output::Output;

/// The kind that stands for all claims together.
const ALL: &str = "all";

#[derive(Deserialize)]
struct Pair {
    claim: String,
    references: Vec<String>,
    attribution_label: String,
    src_dataset: String,
}

/// How often the check said what, by what is true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Verdicts {
    /// Supported, and said so.
    kept: usize,
    /// Supported, and said not to be.
    missed: usize,
    /// Not supported, and said to be.
    passed: usize,
    /// Not supported, and said so.
    caught: usize,
}

impl Verdicts {
    fn add(&mut self, is_supported: bool, is_said: bool) {
        match (is_supported, is_said) {
            (true, true) => self.kept += 1,
            (true, false) => self.missed += 1,
            (false, true) => self.passed += 1,
            (false, false) => self.caught += 1,
        }
    }

    fn claims(&self) -> usize {
        self.kept + self.missed + self.passed + self.caught
    }

    fn accuracy(&self) -> f64 {
        share(self.kept + self.caught, self.claims())
    }

    /// The mean of how well each of the two sides is told.
    fn macro_f1(&self) -> f64 {
        let wrong = self.missed + self.passed;
        let side = |right: usize| share(2 * right, 2 * right + wrong);
        f64::midpoint(side(self.kept), side(self.caught))
    }
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

pub(super) fn run(
    folder: Option<PathBuf>,
    limit: Option<usize>,
    output: &Output,
) -> Result<ExitCode> {
    let pairs = read(&folder.context(NO_FOLDER)?.join("attributionbench/dev.jsonl"))?;
    let mut kinds: BTreeMap<String, Verdicts> = BTreeMap::new();
    for pair in pairs.into_iter().take(limit.unwrap_or(usize::MAX)) {
        let is_supported = match pair.attribution_label.as_str() {
            "attributable" => true,
            "not attributable" => false,
            other => bail!("AttributionBench has no label {other:?}"),
        };
        let references: Vec<&str> = pair.references.iter().map(String::as_str).collect();
        let is_said = supports(&pair.claim, &references);
        kinds.entry(pair.src_dataset).or_default().add(is_supported, is_said);
        kinds.entry(ALL.to_owned()).or_default().add(is_supported, is_said);
    }
    for (kind, verdicts) in &kinds {
        output.json(&json!({
            "set": "attributionbench", "kind": kind, "claims": verdicts.claims(),
            "macro_f1": verdicts.macro_f1(), "accuracy": verdicts.accuracy(),
            "kept": share(verdicts.kept, verdicts.kept + verdicts.missed),
            "caught": share(verdicts.caught, verdicts.caught + verdicts.passed),
        }))?;
        output.line(&format!(
            "{kind:<20} {:>5} claims  macro-F1 {:.4}  accuracy {:.4}  kept {:.4}  caught {:.4}",
            verdicts.claims(),
            verdicts.macro_f1(),
            verdicts.accuracy(),
            share(verdicts.kept, verdicts.kept + verdicts.missed),
            share(verdicts.caught, verdicts.caught + verdicts.passed),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Vec<Pair>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the data set {} cannot be read", path.display()))?;
    let pair = |line: &str| serde_json::from_str(line);
    let pairs: serde_json::Result<Vec<Pair>> = text.lines().map(pair).collect();
    pairs.with_context(|| format!("{} is not what it was", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_the_textbook() {
        let verdicts = Verdicts { kept: 30, missed: 10, passed: 20, caught: 40 };
        assert!((verdicts.accuracy() - 0.7).abs() < 1e-12);
        let expected = f64::midpoint(60.0 / 90.0, 80.0 / 110.0);
        assert!((verdicts.macro_f1() - expected).abs() < 1e-12);
        assert_eq!(Verdicts::default().macro_f1(), 0.0);
    }
}
