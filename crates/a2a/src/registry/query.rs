//! Which agents a question is about. Free text is the search index's; everything else is decided here, on views alone.

use super::disclosure::View;
use super::health::{Condition, Health, Policy};
use crate::version::Version;

/// What an agent has to have; every field that is set counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// The id or the name of a skill.
    pub skill: Option<String>,
    /// All of them.
    pub tags: Vec<String>,
    pub provider: Option<String>,
    /// All of them.
    pub capabilities: Vec<Capability>,
    /// A media type, or a range such as `image/*`.
    pub input_mode: Option<String>,
    pub output_mode: Option<String>,
    /// A version of the protocol that one of its interfaces speaks.
    pub protocol: Option<Version>,
    /// A version of the agent.
    pub version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    Streaming,
    PushNotifications,
    ExtendedCard,
}

impl Capability {
    pub const ALL: [(Self, &str); 3] = [
        (Self::Streaming, "streaming"),
        (Self::PushNotifications, "pushNotifications"),
        (Self::ExtendedCard, "extendedAgentCard"),
    ];

    /// The capability of a name as cards have it; `push` is short for `pushNotifications`.
    #[must_use]
    pub fn read(name: &str) -> Option<Self> {
        if same(name, "push") {
            return Some(Self::PushNotifications);
        }
        Self::ALL.iter().find(|(_, known)| same(known, name)).map(|(capability, _)| *capability)
    }
}

/// Whether what the caller sees of an agent is what was asked for.
#[must_use]
pub fn matches(query: &Query, view: &View) -> bool {
    let card = &view.card;
    let skill = |wanted: &String| {
        card.skills.iter().any(|skill| same(&skill.id, wanted) || same(&skill.name, wanted))
    };
    let tag = |wanted: &String| {
        card.skills.iter().flat_map(|skill| &skill.tags).any(|tag| same(tag, wanted))
    };
    let provider = |wanted: &String| {
        card.provider.as_ref().is_some_and(|provider| same(&provider.organization, wanted))
    };
    let has = |capability: &Capability| {
        let said = match capability {
            Capability::Streaming => card.capabilities.streaming,
            Capability::PushNotifications => card.capabilities.push_notifications,
            Capability::ExtendedCard => card.capabilities.extended_card,
        };
        said == Some(true)
    };
    let protocol = |wanted: Version| {
        card.interfaces
            .iter()
            .any(|one| one.version.as_deref().and_then(Version::read) == Some(wanted))
    };
    query.skill.as_ref().is_none_or(skill)
        && query.tags.iter().all(tag)
        && query.provider.as_ref().is_none_or(provider)
        && query.capabilities.iter().all(has)
        && query
            .input_mode
            .as_ref()
            .is_none_or(|wanted| input_modes(view).any(|mode| fits(mode, wanted)))
        && query
            .output_mode
            .as_ref()
            .is_none_or(|wanted| output_modes(view).any(|mode| fits(mode, wanted)))
        && query.protocol.is_none_or(protocol)
        && query.version.as_ref().is_none_or(|wanted| card.version == *wanted)
}

/// Where an agent stands among those that were found: the greater, the earlier. Relevance counts first; among equals,
/// those that answer their checks come before those that nobody has checked, and these before those that fail.
#[must_use]
pub fn rank(relevance: u8, health: &Health, policy: &Policy) -> (u8, u8, u32) {
    let standing = match health.condition(policy) {
        Condition::Up => 3,
        Condition::Unknown => 2,
        Condition::Failing => 1,
        Condition::Down => 0,
    };
    (relevance, standing, health.uptime_thousandths().unwrap_or_default())
}

pub(super) fn input_modes(view: &View) -> impl Iterator<Item = &String> {
    let own = view.card.skills.iter().flat_map(|skill| &skill.input_modes);
    view.card.default_input_modes.iter().chain(own)
}

pub(super) fn output_modes(view: &View) -> impl Iterator<Item = &String> {
    let own = view.card.skills.iter().flat_map(|skill| &skill.output_modes);
    view.card.default_output_modes.iter().chain(own)
}

/// Without regard to case; Hangul has none.
fn same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// Whether a media type is the wanted one or in its range; either side may name a range.
fn fits(mode: &str, wanted: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_lowercase();
    let (mode, wanted) = (essence(mode), essence(wanted));
    let within = |one: &str, range: &str| match range.strip_suffix('*') {
        Some("" | "*/") => true,
        Some(start) => start.ends_with('/') && one.starts_with(start),
        None => one == range,
    };
    within(&mode, &wanted) || within(&wanted, &mode)
}
