//! Reads what the suite wrote down, counts it, and says what is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Bar, Side};

pub(super) mod scenarios;

/// The table's first line.
pub(super) const HEADING: &str =
    "run                  SUCCESS  FAILURE  WARNING  SKIPPED  scored and holding";

/// A check that the suite adds to every scenario: alone, it does not say that the scenario was run.
const ADDED_TO_ALL: &str = "wire-schema-valid";

/// A moment as the suite appends it to the name of a scenario's folder, after a hyphen: `2026-11-15T19-52-16-527Z`.
const MOMENT_LENGTH: usize = 24;

/// What is shown of a message, in characters: some quote a whole answer, and `checks.json` has all of it.
const MESSAGE_CHARS_MAX: usize = 300;

/// How a check ended, in the suite's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    /// Seen, and neither good nor bad.
    Info,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    id: String,
    status: Status,
    message: String,
}

/// A scenario and what was checked in it.
#[derive(Debug)]
struct Scenario {
    is_scored: bool,
    checks: Vec<Check>,
}

impl Scenario {
    fn holds(&self) -> bool {
        let was_run = |check: &Check| check.status != Status::Skipped && check.id != ADDED_TO_ALL;
        self.checks.iter().any(was_run)
            && self.checks.iter().all(|check| check.status != Status::Failure)
    }
}

/// All scenarios of one run, by name.
#[derive(Debug)]
pub(super) struct Run {
    scenarios: BTreeMap<String, Scenario>,
}

impl Run {
    /// Reads every `checks.json` below a folder. A scored scenario that left none is there without checks.
    pub(super) fn read(folder: &Path, side: Side, scored: &[String]) -> Result<Self> {
        let mut files = Vec::new();
        find(folder, "", &mut files)?;
        let absent =
            |name: &String| (name.clone(), Scenario { is_scored: true, checks: Vec::new() });
        let mut run = Self { scenarios: scored.iter().map(absent).collect() };
        for name in files {
            let path = folder.join(&name).join("checks.json");
            let text = fs::read_to_string(&path)?;
            let checks = checks(&text).with_context(|| path.display().to_string())?;
            let name = scenario_name(&name, side).to_owned();
            let is_scored = scored.contains(&name);
            run.scenarios.insert(name, Scenario { is_scored, checks });
        }
        Ok(run)
    }

    /// The run's line of the table.
    pub(super) fn row(&self, bar: &Bar) -> String {
        let [success, failure, warning, skipped] =
            [Status::Success, Status::Failure, Status::Warning, Status::Skipped]
                .map(|status| self.count(status));
        let run = format!("{} {}", bar.side.word(), bar.revision);
        format!(
            "{run:<20} {success:>7}  {failure:>7}  {warning:>7}  {skipped:>7}  {} of {}",
            self.holding(),
            bar.scored
        )
    }

    /// One line for each check that failed or warned, and for each scored scenario in which nothing was checked.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, scenario) in &self.scenarios {
            let mark = if scenario.is_scored { "" } else { " (not scored)" };
            let bad = |check: &&Check| matches!(check.status, Status::Failure | Status::Warning);
            let before = lines.len();
            for check in scenario.checks.iter().filter(bad) {
                let word = if check.status == Status::Failure { "✗" } else { "!" };
                lines.push(format!("{word} {name}{mark}: {}: {}", check.id, check.message));
            }
            if lines.len() == before && scenario.is_scored && !scenario.holds() {
                lines.push(format!("✗ {name}: nothing was checked"));
            }
        }
        lines
    }

    /// What keeps the run below its bar.
    pub(super) fn faults(&self, bar: &Bar) -> Vec<String> {
        let (holding, success) = (self.holding(), self.count(Status::Success));
        let run = format!("{} {}", bar.side.word(), bar.revision);
        let mut faults = Vec::new();
        let scored = self.scenarios.values().filter(|scenario| scenario.is_scored).count();
        if scored != bar.scored {
            faults.push(format!("{run}: {scored} scenarios are scored, not {}", bar.scored));
        }
        if holding != scored {
            faults.push(format!("{run}: {holding} of {scored} scored scenarios hold"));
        }
        if success < bar.success_min {
            faults.push(format!("{run}: {success} checks hold, {} are needed", bar.success_min));
        }
        faults
    }

    fn count(&self, status: Status) -> usize {
        let checks = self.scenarios.values().flat_map(|scenario| &scenario.checks);
        checks.filter(|check| check.status == status).count()
    }

    fn holding(&self) -> usize {
        let scored = self.scenarios.values().filter(|scenario| scenario.is_scored);
        scored.filter(|scenario| scenario.holds()).count()
    }
}

/// The folders below `folder` that have results; a scenario with a slash in its name is a folder deeper.
fn find(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder.join(prefix))? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if entry.path().join("checks.json").exists() {
            found.push(name);
        } else {
            find(folder, &name, found)?;
        }
    }
    Ok(())
}

/// The scenario of a folder of results: `server-ping-2026-11-15T19-52-16-527Z` is `ping`.
fn scenario_name(folder: &str, side: Side) -> &str {
    let end = folder.len().saturating_sub(MOMENT_LENGTH + 1);
    let name = folder.get(..end).unwrap_or(folder);
    match side {
        Side::Server => name.strip_prefix("server-").unwrap_or(name),
        Side::Client => name,
    }
}

/// The checks of a scenario, from the suite's JSON.
fn checks(text: &str) -> Result<Vec<Check>> {
    let checks: Vec<Value> = serde_json::from_str(text)?;
    let text = |check: &Value, field: &str| {
        check.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let read = |check: &Value| {
        let status = match text(check, "status").as_str() {
            "SUCCESS" => Status::Success,
            "FAILURE" => Status::Failure,
            "WARNING" => Status::Warning,
            "SKIPPED" => Status::Skipped,
            "INFO" => Status::Info,
            other => bail!("a check ended as {other:?}, which is not known"),
        };
        let (error, description) = (text(check, "errorMessage"), text(check, "description"));
        let message = if error.is_empty() { description } else { error };
        let message = message.lines().next().unwrap_or_default();
        let message = message.chars().take(MESSAGE_CHARS_MAX).collect();
        Ok(Check { id: text(check, "id"), status, message })
    };
    checks.iter().map(read).collect()
}

#[cfg(test)]
mod tests;
