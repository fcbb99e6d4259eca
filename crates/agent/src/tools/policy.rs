//! Decides whether a call runs, is asked about or is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::definition::{Definition, Effect};
use super::naming::ToolName;
use super::suspicion::Finding;
use crate::identity::Timestamp;
use crate::path_rule;

/// How far the owner of the machine believes a server's own words about its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Every call is asked about.
    #[default]
    Untrusted,
    /// What it calls read-only runs without asking.
    Trusted,
}

/// What the configuration says of a server's tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerRules {
    pub trust: Trust,
    /// Only these tools; all, if empty. Names as the server has them, `*` for any letters.
    pub allow: Vec<String>,
    /// None of these.
    pub deny: Vec<String>,
}

impl ServerRules {
    /// Whether the tool is there at all.
    #[must_use]
    pub fn admit(&self, original: &str) -> bool {
        let named =
            |list: &[String]| list.iter().any(|rule| rule == original || fits(rule, original));
        !named(&self.deny) && (self.allow.is_empty() || named(&self.allow))
    }
}

fn fits(rule: &str, name: &str) -> bool {
    !name.contains('/') && path_rule::fits(rule, name)
}

/// The definitions of a server's tools as they were when somebody last looked: original name → pin.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pins(pub BTreeMap<String, String>);

/// How a definition stands to its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As it was seen.
    Known,
    /// The server was seen without it.
    New,
    /// It was seen, but with other words.
    Changed,
}

impl Pins {
    /// The pins of a list at the first meeting with its server.
    #[must_use]
    pub fn of(tools: &[Definition]) -> Self {
        Self(tools.iter().map(|tool| (tool.original.clone(), tool.pin.clone())).collect())
    }

    #[must_use]
    pub fn standing(&self, tool: &Definition) -> Standing {
        match self.0.get(&tool.original) {
            Some(pin) if *pin == tool.pin => Standing::Known,
            Some(_) => Standing::Changed,
            None => Standing::New,
        }
    }
}

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    Once,
    Session,
    Always,
}

/// A yes that is remembered. It holds for one definition, one person and, unless always, one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub tool: ToolName,
    pub pin: String,
    /// None for always.
    pub session: Option<String>,
    /// Whose yes it was; nobody else's calls run on it.
    pub by: String,
    pub at: Timestamp,
    pub expires_at: Timestamp,
}

/// Who calls, and what has happened in that turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circumstances<'a> {
    pub principal: &'a str,
    pub session: Option<&'a str>,
    pub now: Timestamp,
    pub attendance: Attendance,
    pub influence: Influence,
}

/// Whether there is somebody to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    Attended,
    Unattended,
}

/// Whose words led to the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Influence {
    /// The person's alone.
    Person,
    /// A model that has read what strangers wrote: documents, pages, results of tools.
    Strangers,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Run(Grant),
    /// Only after a yes, for one of these extents; the reasons are shown.
    Ask {
        extents: Vec<Extent>,
        reasons: Vec<String>,
    },
    /// Off until somebody has looked at the definition as it is now.
    Hold(String),
    Refuse(String),
}

/// Why a call may run without asking, or on whose word it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// Its server is trusted, and it only reads.
    Trusted,
    Once,
    Session,
    Always,
}

/// Decides on a call of `tool`.
#[must_use]
pub fn rule(
    tool: &Definition,
    rules: &ServerRules,
    standing: Standing,
    approvals: &[Approval],
    circumstances: &Circumstances<'_>,
) -> Ruling {
    let name = &tool.name;
    if !rules.admit(&tool.original) {
        return Ruling::Refuse(format!("the configuration does not allow {name}"));
    }
    if let Some(finding) = tool.findings.iter().find(|finding| finding.is_fatal()) {
        return Ruling::Refuse(format!("{name} is refused: {}", finding.says()));
    }
    match standing {
        Standing::Known => {}
        Standing::New => return Ruling::Hold(format!("{name} is new on its server")),
        Standing::Changed => {
            return Ruling::Hold(format!("the definition of {name} has changed since it was seen"));
        }
    }
    if let Some(grant) = grant(tool, rules, approvals, circumstances) {
        return Ruling::Run(grant);
    }
    match circumstances.attendance {
        Attendance::Attended => ask(tool, circumstances),
        Attendance::Unattended => {
            Ruling::Refuse(format!("{name} needs an approval, and there is nobody to ask"))
        }
    }
}

fn grant(
    tool: &Definition,
    rules: &ServerRules,
    approvals: &[Approval],
    circumstances: &Circumstances<'_>,
) -> Option<Grant> {
    // What a stranger's text may have asked for, and what would carry data out, is asked about each time.
    if needs_fresh_yes(tool, circumstances) {
        return None;
    }
    let is_trusted = rules.trust == Trust::Trusted && tool.findings.is_empty();
    if is_trusted && tool.effect() != Effect::Changes {
        return Some(Grant::Trusted);
    }
    let holds = |approval: &&Approval| {
        approval.tool == tool.name
            && approval.pin == tool.pin
            && approval.by == circumstances.principal
            && circumstances.now < approval.expires_at
    };
    approvals.iter().filter(holds).find_map(|approval| match &approval.session {
        Some(session) => {
            (circumstances.session == Some(session.as_str())).then_some(Grant::Session)
        }
        None => extents(tool).contains(&Extent::Always).then_some(Grant::Always),
    })
}

fn needs_fresh_yes(tool: &Definition, circumstances: &Circumstances<'_>) -> bool {
    let carries_out = tool.annotations.open_world != Some(false);
    circumstances.influence == Influence::Strangers
        && carries_out
        && tool.effect() == Effect::Changes
}

fn ask(tool: &Definition, circumstances: &Circumstances<'_>) -> Ruling {
    let mut reasons = vec![match tool.effect() {
        Effect::Reads => "it only reads, as its server says".to_owned(),
        Effect::Sends => "what it is given may leave this machine".to_owned(),
        Effect::Changes if tool.annotations.read_only.is_none() => {
            "its server does not say what it does, so it may change or delete".to_owned()
        }
        Effect::Changes if tool.annotations.destructive == Some(false) => {
            "it changes something, as its server says without deleting".to_owned()
        }
        Effect::Changes => "it may change or delete".to_owned(),
    }];
    reasons.extend(tool.findings.iter().map(Finding::says));
    let mut extents = extents(tool);
    if circumstances.session.is_none() || needs_fresh_yes(tool, circumstances) {
        extents.retain(|extent| *extent != Extent::Session);
    }
    if needs_fresh_yes(tool, circumstances) {
        reasons.push("a model asks for it that has read what strangers wrote".to_owned());
    }
    Ruling::Ask { extents, reasons }
}

/// What a yes may cover: always only for what neither changes nor sends anything, and hides nothing.
fn extents(tool: &Definition) -> Vec<Extent> {
    let is_harmless = tool.effect() == Effect::Reads && tool.findings.is_empty();
    let always = is_harmless.then_some(Extent::Always);
    [Extent::Once, Extent::Session].into_iter().chain(always).collect()
}

#[cfg(test)]
mod tests;
