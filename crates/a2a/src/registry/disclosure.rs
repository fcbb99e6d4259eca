//! Who sees what of an agent. What a caller may not see looks as if it were not there.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::registration::may_change;
use super::{Entry, Standing};
use crate::limits::NAME_BYTES_MAX;
use crate::model::{AgentCard, Skill};
use crate::timestamp::Timestamp;

/// Who may see something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tier {
    Public,
    /// Whoever proves who it is.
    Authenticated,
    /// Whoever belongs to this partner.
    Partner(String),
    /// The owner and the keepers of the catalogue.
    Private,
}

/// The text is no tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is public, authenticated, partner:<name> or private")]
pub struct TierError;

impl FromStr for Tier {
    type Err = TierError;

    fn from_str(text: &str) -> Result<Self, TierError> {
        match text {
            "public" => Ok(Self::Public),
            "authenticated" => Ok(Self::Authenticated),
            "private" => Ok(Self::Private),
            _ => {
                let name = text.strip_prefix("partner:").ok_or(TierError)?;
                let fits = (1..=NAME_BYTES_MAX).contains(&name.len())
                    && !name.chars().any(char::is_control);
                if fits { Ok(Self::Partner(name.to_owned())) } else { Err(TierError) }
            }
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("public"),
            Self::Authenticated => f.write_str("authenticated"),
            Self::Partner(name) => write!(f, "partner:{name}"),
            Self::Private => f.write_str("private"),
        }
    }
}

impl TryFrom<String> for Tier {
    type Error = TierError;
    fn try_from(text: String) -> Result<Self, TierError> {
        text.parse()
    }
}

impl From<Tier> for String {
    fn from(tier: Tier) -> Self {
        tier.to_string()
    }
}

/// Who may see the agent at all, and who more of it. What is not said is as visible as the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disclosure {
    pub agent: Tier,
    pub url: Option<Tier>,
    pub skills: Option<Tier>,
    pub security: Option<Tier>,
}

/// The parts of a card that may have a tier of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Where the agent is reached.
    Url,
    Skills,
    /// How a caller proves who it is.
    Security,
}

impl Disclosure {
    #[must_use]
    pub fn of(agent: Tier) -> Self {
        Self { agent, url: None, skills: None, security: None }
    }

    fn tier(&self, field: Field) -> Option<&Tier> {
        match field {
            Field::Url => self.url.as_ref(),
            Field::Skills => self.skills.as_ref(),
            Field::Security => self.security.as_ref(),
        }
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    Anonymous,
    Known {
        subject: String,
        partners: BTreeSet<String>,
    },
    /// Keeps the catalogue, and sees all of it.
    Keeper,
}

impl Caller {
    fn reaches(&self, tier: &Tier) -> bool {
        match (self, tier) {
            (_, Tier::Public) | (Self::Keeper, _) | (Self::Known { .. }, Tier::Authenticated) => {
                true
            }
            (Self::Known { partners, .. }, Tier::Partner(name)) => partners.contains(name),
            (Self::Anonymous, _) | (Self::Known { .. }, Tier::Private) => false,
        }
    }
}

/// An entry as a caller sees it. Lists, counts, facets and matches are made of views alone.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub identifier: String,
    pub standing: Standing,
    /// Without what the caller may not see. It has its signatures only if it is whole.
    pub card: AgentCard,
    pub updated_at: Timestamp,
    /// The caller sees who owns the entry and its versions, and may change it.
    pub is_own: bool,
}

/// What a caller sees of an entry; `None` looks the same as no entry.
#[must_use]
pub fn view(entry: &Entry, caller: &Caller) -> Option<View> {
    let is_own = may_change(entry, caller);
    let shown = entry.standing != Standing::Pending && caller.reaches(&entry.disclosure.agent);
    if !is_own && !shown {
        return None;
    }
    let sees =
        |field| is_own || entry.disclosure.tier(field).is_none_or(|tier| caller.reaches(tier));
    let hidden: Vec<Field> = [Field::Url, Field::Skills, Field::Security]
        .into_iter()
        .filter(|field| !sees(*field))
        .collect();
    Some(View {
        identifier: entry.identifier.clone(),
        standing: entry.standing,
        card: without(entry.card()?, &hidden),
        updated_at: entry.updated_at(),
        is_own,
    })
}

fn without(card: &AgentCard, hidden: &[Field]) -> AgentCard {
    let mut card = card.clone();
    for field in hidden {
        // What is left is not what was signed.
        card.signatures.clear();
        match field {
            Field::Url => card.interfaces.clear(),
            Field::Skills => card.skills.clear(),
            Field::Security => {
                card.security_schemes.clear();
                card.security.clear();
                card.legacy_authentication = None;
                card.skills.iter_mut().for_each(|skill| skill.security.clear());
            }
        }
    }
    card
}

/// A text of an entry for the search index, with the tiers that a caller has to reach for the text to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedText {
    pub tiers: Vec<Tier>,
    pub text: String,
}

impl IndexedText {
    /// Whether a match in the text may count for a caller.
    #[must_use]
    pub fn is_for(&self, caller: &Caller) -> bool {
        self.tiers.iter().all(|tier| caller.reaches(tier))
    }
}

/// What of an entry is to be indexed. A search that finds by what it may not see would tell that it is there.
#[must_use]
pub fn indexed_texts(entry: &Entry) -> Vec<IndexedText> {
    let Some(card) = entry.card() else { return Vec::new() };
    let provider = card.provider.as_ref().map(|provider| provider.organization.as_str());
    let can = |has: Option<bool>, words: &'static str| Some(words).filter(|_| has == Some(true));
    let general = [
        Some(card.name.as_str()),
        Some(card.description.as_str()),
        provider,
        can(card.capabilities.streaming, "streaming 스트리밍"),
        can(card.capabilities.push_notifications, "push notifications 푸시 알림"),
    ];
    let general: Vec<&str> = general.into_iter().flatten().collect();
    let agent = entry.disclosure.agent.clone();
    let mut texts = vec![IndexedText { tiers: vec![agent.clone()], text: general.join("\n") }];
    let mut tiers = vec![agent];
    tiers.extend(entry.disclosure.skills.clone());
    for skill in &card.skills {
        texts.push(IndexedText { tiers: tiers.clone(), text: skill_text(skill) });
    }
    texts
}

fn skill_text(skill: &Skill) -> String {
    let words = [skill.name.as_str(), skill.description.as_str()].into_iter();
    let words = words
        .chain(skill.tags.iter().map(String::as_str))
        .chain(skill.examples.iter().map(String::as_str));
    words.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
