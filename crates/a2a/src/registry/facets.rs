//! How many of the agents that a caller sees have what: the numbers beside the filters.

use std::collections::{BTreeMap, BTreeSet};

use super::disclosure::View;
use super::query::{Capability, Query, input_modes, matches, output_modes};

/// What agents are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Facet {
    Skill,
    Tag,
    Provider,
    Capability,
    InputMode,
    OutputMode,
    Protocol,
}

impl Facet {
    pub const ALL: [(Self, &str); 7] = [
        (Self::Skill, "skill"),
        (Self::Tag, "tags"),
        (Self::Provider, "provider"),
        (Self::Capability, "capabilities"),
        (Self::InputMode, "inputModes"),
        (Self::OutputMode, "outputModes"),
        (Self::Protocol, "protocolVersion"),
    ];

    #[must_use]
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(facet, _)| *facet)
    }
}

/// The values of a facet, the most frequent first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    pub buckets: Vec<(String, u64)>,
    /// How many agents the values have that are not shown.
    pub other: u64,
}

/// Counts the values of a facet over what a caller sees; an agent counts once for a value.
#[must_use]
pub fn count<'a>(
    views: impl IntoIterator<Item = &'a View>,
    facet: Facet,
    values_max: usize,
    count_min: u64,
) -> Counts {
    count_values(views.into_iter().map(|view| values(view, facet)), values_max, count_min)
}

/// Counts values of agents, those of each agent given together.
#[must_use]
pub fn count_values(
    agents: impl IntoIterator<Item = BTreeSet<String>>,
    values_max: usize,
    count_min: u64,
) -> Counts {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for value in agents.into_iter().flatten() {
        *counts.entry(value).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count >= count_min).collect();
    counts.sort_by(|(a, many), (b, more)| more.cmp(many).then_with(|| a.cmp(b)));
    let hidden = counts.split_off(counts.len().min(values_max));
    Counts { buckets: counts, other: hidden.iter().map(|(_, count)| count).sum() }
}

fn values(view: &View, facet: Facet) -> BTreeSet<String> {
    let card = &view.card;
    match facet {
        Facet::Skill => card.skills.iter().map(|skill| skill.id.clone()).collect(),
        Facet::Tag => card.skills.iter().flat_map(|skill| skill.tags.clone()).collect(),
        Facet::Provider => {
            card.provider.iter().map(|provider| provider.organization.clone()).collect()
        }
        Facet::Capability => {
            let has = |capability| {
                matches(&Query { capabilities: vec![capability], ..Query::default() }, view)
            };
            Capability::ALL
                .into_iter()
                .filter(|(one, _)| has(*one))
                .map(|(_, name)| name.to_owned())
                .collect()
        }
        Facet::InputMode => input_modes(view).cloned().collect(),
        Facet::OutputMode => output_modes(view).cloned().collect(),
        Facet::Protocol => {
            card.interfaces.iter().filter_map(|interface| interface.version.clone()).collect()
        }
    }
}
