//! What is different between two versions of a card, and what of it breaks those who use the agent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::model::{AgentCard, Skill};

/// Something that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub effect: Effect,
    /// Where, in the words of 1.0.
    pub field: String,
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Somebody who used the agent as it was may not be able to any more.
    Breaking,
    Compatible,
}

/// Whether one of the changes breaks somebody.
#[must_use]
pub fn is_breaking(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.effect == Effect::Breaking)
}

/// Compares two versions of a card.
#[must_use]
pub fn between(old: &AgentCard, new: &AgentCard) -> Vec<Change> {
    let mut changes = Changes(Vec::new());
    for (field, old, new) in [
        ("name", &old.name, &new.name),
        ("description", &old.description, &new.description),
        ("version", &old.version, &new.version),
    ] {
        if old != new {
            changes.add(Effect::Compatible, field, "is another".to_owned());
        }
    }
    let interfaces = |card: &AgentCard| -> BTreeSet<String> {
        let name = |version: &Option<String>| version.clone().unwrap_or_default();
        card.interfaces
            .iter()
            .map(|one| format!("{} {}", one.binding, name(&one.version)))
            .collect()
    };
    changes.compare("supportedInterfaces", &interfaces(old), &interfaces(new));
    let addresses = |card: &AgentCard| -> BTreeSet<String> {
        card.interfaces.iter().map(|interface| interface.url.clone()).collect()
    };
    if addresses(old) != addresses(new) {
        changes.add(Effect::Compatible, "supportedInterfaces", "has other addresses".to_owned());
    }
    compare_capabilities(old, new, &mut changes);
    changes.compare(
        "defaultInputModes",
        &set(&old.default_input_modes),
        &set(&new.default_input_modes),
    );
    changes.compare(
        "defaultOutputModes",
        &set(&old.default_output_modes),
        &set(&new.default_output_modes),
    );
    compare_security(old, new, &mut changes);
    compare_skills(old, new, &mut changes);
    changes.0
}

struct Changes(Vec<Change>);

impl Changes {
    fn add(&mut self, effect: Effect, field: &str, description: String) {
        self.0.push(Change { effect, field: field.to_owned(), description });
    }

    /// What is gone breaks somebody; what is new does not.
    fn compare(&mut self, field: &str, old: &BTreeSet<String>, new: &BTreeSet<String>) {
        for gone in old.difference(new) {
            self.add(Effect::Breaking, field, format!("{gone} is gone"));
        }
        for added in new.difference(old) {
            self.add(Effect::Compatible, field, format!("{added} is new"));
        }
    }
}

fn set(texts: &[String]) -> BTreeSet<String> {
    texts.iter().cloned().collect()
}

fn compare_capabilities(old: &AgentCard, new: &AgentCard, changes: &mut Changes) {
    let capabilities = |card: &AgentCard| -> BTreeSet<String> {
        let all = &card.capabilities;
        let named = [
            ("streaming", all.streaming),
            ("pushNotifications", all.push_notifications),
            ("extendedAgentCard", all.extended_card),
        ];
        named
            .into_iter()
            .filter(|(_, has)| *has == Some(true))
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    changes.compare("capabilities", &capabilities(old), &capabilities(new));
    let required = |card: &AgentCard| -> BTreeSet<String> {
        let extensions = card.capabilities.extensions.iter();
        extensions.filter(|one| one.required == Some(true)).map(|one| one.uri.clone()).collect()
    };
    for uri in required(new).difference(&required(old)) {
        changes.add(Effect::Breaking, "capabilities.extensions", format!("{uri} is required now"));
    }
    for uri in required(old).difference(&required(new)) {
        changes.add(
            Effect::Compatible,
            "capabilities.extensions",
            format!("{uri} is not required any more"),
        );
    }
}

/// A way in that was there and is not any more locks somebody out. Without any requirement everybody was let in.
fn compare_security(old: &AgentCard, new: &AgentCard, changes: &mut Changes) {
    let field = "securityRequirements";
    if old.security.is_empty() && !new.security.is_empty() {
        changes.add(Effect::Breaking, field, "asks for credentials now".to_owned());
        return;
    }
    if new.security.is_empty() {
        if !old.security.is_empty() {
            changes.add(Effect::Compatible, field, "asks for no credentials any more".to_owned());
        }
        return;
    }
    let ways = |card: &AgentCard| -> BTreeSet<String> {
        let way = |all: &crate::model::SecurityRequirement| {
            let scheme = |(name, scopes): (&String, &Vec<String>)| {
                let scopes: BTreeSet<&String> = scopes.iter().collect();
                let scopes: Vec<&str> = scopes.into_iter().map(String::as_str).collect();
                format!("{name} [{}]", scopes.join(" "))
            };
            all.iter().map(scheme).collect::<Vec<_>>().join(" and ")
        };
        card.security.iter().map(way).collect()
    };
    changes.compare(field, &ways(old), &ways(new));
}

fn compare_skills(old: &AgentCard, new: &AgentCard, changes: &mut Changes) {
    let ids = |card: &AgentCard| -> BTreeSet<String> {
        card.skills.iter().map(|skill| skill.id.clone()).collect()
    };
    changes.compare("skills", &ids(old), &ids(new));
    for skill in &old.skills {
        let Some(now) = new.skills.iter().find(|now| now.id == skill.id) else { continue };
        let field = |name: &str| format!("skills.{}.{name}", skill.id);
        let modes = |skill: &Skill, own: fn(&Skill) -> &Vec<String>, default: &[String]| {
            if own(skill).is_empty() { set(default) } else { set(own(skill)) }
        };
        // A default that changed is told once, above.
        if skill.input_modes != now.input_modes {
            let own: fn(&Skill) -> &Vec<String> = |skill| &skill.input_modes;
            let (before, after) = (
                modes(skill, own, &old.default_input_modes),
                modes(now, own, &new.default_input_modes),
            );
            changes.compare(&field("inputModes"), &before, &after);
        }
        if skill.output_modes != now.output_modes {
            let own: fn(&Skill) -> &Vec<String> = |skill| &skill.output_modes;
            let (before, after) = (
                modes(skill, own, &old.default_output_modes),
                modes(now, own, &new.default_output_modes),
            );
            changes.compare(&field("outputModes"), &before, &after);
        }
        if (&skill.name, &skill.description, &skill.tags)
            != (&now.name, &now.description, &now.tags)
        {
            changes.add(
                Effect::Compatible,
                &field("description"),
                "is described otherwise".to_owned(),
            );
        }
    }
}
