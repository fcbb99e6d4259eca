//! Agents of the catalogue as our own API writes and reads them.

use std::collections::BTreeMap;

use a2a::registry::changes::{Change as CardChange, Effect};
use a2a::registry::disclosure::Disclosure;
use a2a::registry::health::Condition;
use a2a::registry::query::{Capability, Query};
use a2a::registry::registration::Registration;
use a2a::registry::{CardVersion, Standing};
use a2a::version::Version;
use a2a::wire::write_card;
use engine::catalogue::{
    Change, Crawled, Find, Found, FoundPage, NewAgent, Own, Placed, Registered,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Agents of a page unless fewer are asked for, and at most.
const AGENTS: usize = 20;
const AGENTS_MAX: usize = 100;

/// What to look for; everything that is given has to fit.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindAgentsQuery {
    /// Words, in Korean or English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// The id or the name of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Tags, with commas between them; all have to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// `streaming`, `push`, `extendedAgentCard`, with commas between them; all have to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<String>,
    /// A media type, or a range such as `image/*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_mode: Option<String>,
    /// A version of the protocol, such as `1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// A version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// At most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl FindAgentsQuery {
    /// What it asks for.
    ///
    /// # Errors
    /// With what cannot be understood.
    pub fn read(self) -> Result<Find, String> {
        let list = |text: Option<String>| -> Vec<String> {
            let text = text.unwrap_or_default();
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let mut capabilities = Vec::new();
        for name in list(self.capabilities) {
            let known = Capability::read(&name)
                .ok_or("capabilities are streaming, push and extendedAgentCard")?;
            capabilities.push(known);
        }
        let protocol = match self.protocol {
            None => None,
            Some(text) => Some(Version::read(&text).ok_or("protocol is 0.1, 0.2, 0.3 or 1.0")?),
        };
        let query = Query {
            skill: self.skill,
            tags: list(self.tags),
            provider: self.provider,
            capabilities,
            input_mode: self.input_mode,
            output_mode: self.output_mode,
            protocol,
            version: self.version,
        };
        let limit = self.limit.unwrap_or(AGENTS).clamp(1, AGENTS_MAX);
        Ok(Find { text: self.q, query, limit, after: self.after })
    }
}

/// Agents that were found, best first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AgentsFoundBody {
    pub agents: Vec<AgentBody>,
    pub total: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many of all that were found have what.
    pub facets: BTreeMap<String, Vec<AgentFacetBody>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AgentFacetBody {
    pub value: String,
    pub count: u64,
}

/// An agent as the caller sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AgentBody {
    pub identifier: String,
    pub name: String,
    pub description: String,
    pub version: String,
    /// `pending`, `approved` or `deprecated`.
    pub standing: String,
    /// 0 to 100; left out if nothing was asked in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<u8>,
    pub health: HealthBody,
    pub updated_at: String,
    /// In the form of A2A 1.0, without what the caller may not see.
    pub card: Value,
    /// For the owner and the catalogue's keepers alone, as all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<DisclosureBody>,
    /// Where the card was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<AgentVersionBody>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HealthBody {
    /// `unknown`, `up`, `failing` or `down`.
    pub condition: String,
    /// The share of checks that the agent answered, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime_percent: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_check: Option<String>,
}

/// Who sees what: `public`, `authenticated`, `partner:<tenant>` or `private`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisclosureBody {
    pub agent: String,
    /// As visible as the agent if left out, as the two that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AgentVersionBody {
    pub number: u32,
    pub version: String,
    pub since: String,
    pub is_breaking: bool,
    pub changes: Vec<CardChangeBody>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CardChangeBody {
    pub is_breaking: bool,
    pub field: String,
    pub description: String,
}

/// An agent to register: by its address, or by its card.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgentBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Value>,
    /// `urn:air:<domain>:<name>`; made of the agent's host and name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<DisclosureBody>,
}

/// What became of a registration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredBody {
    pub identifier: String,
    pub is_new: bool,
    pub standing: String,
    /// What is different from the card of before.
    pub changes: Vec<CardChangeBody>,
    pub is_breaking: bool,
    /// What could be better about the card.
    pub advice: Vec<String>,
}

/// What is to be different.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentChangeBody {
    /// `approved`, `deprecated` or `pending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<DisclosureBody>,
}

/// A host whose agents are to be registered.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrawlBody {
    /// The host's address, or that of a manifest.
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<DisclosureBody>,
}

impl CrawlBody {
    /// Who is to see them.
    ///
    /// # Errors
    /// If something is no tier.
    pub fn disclosure(&self) -> Result<Option<Disclosure>, String> {
        self.disclosure.as_ref().map(DisclosureBody::read).transpose()
    }
}

impl From<Crawled> for ImportedBody {
    fn from(crawled: Crawled) -> Self {
        let agents = crawled.agents.into_iter().map(RegisteredBody::from).collect();
        Self { agents, failures: crawled.failures }
    }
}

/// What became of the lines of an import, or of the agents of a host.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ImportedBody {
    pub agents: Vec<RegisteredBody>,
    /// What was left out, and why.
    pub failures: Vec<String>,
}

impl ImportedBody {
    pub(super) fn fail(&mut self, line: usize, why: &str) {
        self.failures.push(format!("line {line}: {why}"));
    }
}

impl DisclosureBody {
    /// Who sees what.
    ///
    /// # Errors
    /// If something is no tier.
    pub fn read(&self) -> Result<Disclosure, String> {
        let tier = |name: &str, text: &str| text.parse().map_err(|error| format!("{name} {error}"));
        let field = |name: &str, text: &Option<String>| {
            text.as_deref().map(|text| tier(name, text)).transpose()
        };
        Ok(Disclosure {
            agent: tier("agent", &self.agent)?,
            url: field("url", &self.url)?,
            skills: field("skills", &self.skills)?,
            security: field("security", &self.security)?,
        })
    }
}

impl From<&Disclosure> for DisclosureBody {
    fn from(disclosure: &Disclosure) -> Self {
        let text =
            |tier: &Option<a2a::registry::disclosure::Tier>| tier.as_ref().map(ToString::to_string);
        Self {
            agent: disclosure.agent.to_string(),
            url: text(&disclosure.url),
            skills: text(&disclosure.skills),
            security: text(&disclosure.security),
        }
    }
}

impl NewAgentBody {
    pub fn read(self) -> Result<NewAgent, String> {
        let placed = match (self.url, self.card) {
            (Some(url), None) => Placed::Url(url),
            (None, Some(card)) => Placed::Card(card),
            _ => return Err("give either url or card".to_owned()),
        };
        let disclosure = self.disclosure.map(|disclosure| disclosure.read()).transpose()?;
        Ok(NewAgent { placed, identifier: self.identifier, disclosure })
    }
}

impl AgentChangeBody {
    pub fn read(self) -> Result<Change, String> {
        let standing = self.standing.map(|text| match text.as_str() {
            "approved" => Ok(Standing::Approved),
            "deprecated" => Ok(Standing::Deprecated),
            "pending" => Ok(Standing::Pending),
            _ => Err("standing is approved, deprecated or pending".to_owned()),
        });
        let standing = standing.transpose()?;
        let disclosure = self.disclosure.map(|disclosure| disclosure.read()).transpose()?;
        if standing.is_none() && disclosure.is_none() {
            return Err("say standing or disclosure".to_owned());
        }
        Ok(Change { standing, disclosure })
    }
}

fn standing_name(standing: Standing) -> String {
    let name = match standing {
        Standing::Pending => "pending",
        Standing::Approved => "approved",
        Standing::Deprecated => "deprecated",
    };
    name.to_owned()
}

impl From<Registered> for RegisteredBody {
    fn from(registered: Registered) -> Self {
        let changes: Vec<CardChangeBody> = registered.changes.into_iter().map(Into::into).collect();
        let advice = registered.advice.into_iter();
        Self {
            identifier: registered.identifier,
            is_new: registered.registration == Registration::New,
            standing: standing_name(registered.standing),
            is_breaking: changes.iter().any(|change| change.is_breaking),
            changes,
            advice: advice.map(|fault| format!("{} {}", fault.field, fault.description)).collect(),
        }
    }
}

impl From<CardChange> for CardChangeBody {
    fn from(change: CardChange) -> Self {
        let is_breaking = change.effect == Effect::Breaking;
        Self { is_breaking, field: change.field, description: change.description }
    }
}

impl From<&CardVersion> for AgentVersionBody {
    fn from(version: &CardVersion) -> Self {
        let changes: Vec<CardChangeBody> =
            version.changes.iter().cloned().map(Into::into).collect();
        Self {
            number: version.number,
            version: version.card.version.clone(),
            since: version.since.to_string(),
            is_breaking: changes.iter().any(|change| change.is_breaking),
            changes,
        }
    }
}

impl AgentBody {
    /// With what only its owner sees.
    #[must_use]
    pub fn whole(found: Found, own: Option<Own>) -> Self {
        let mut body = Self::from(found);
        body.relevance = None;
        if let Some(own) = own {
            body.owner = Some(own.entry.owner.clone());
            body.disclosure = Some((&own.entry.disclosure).into());
            body.source.clone_from(&own.entry.source);
            body.versions = own.versions().iter().map(Into::into).collect();
        }
        body
    }
}

impl From<Found> for AgentBody {
    fn from(found: Found) -> Self {
        let condition = match found.condition {
            Condition::Unknown => "unknown",
            Condition::Up => "up",
            Condition::Failing => "failing",
            Condition::Down => "down",
        };
        let card = &found.view.card;
        Self {
            identifier: found.view.identifier.clone(),
            name: card.name.clone(),
            description: card.description.clone(),
            version: card.version.clone(),
            standing: standing_name(found.view.standing),
            relevance: Some(found.relevance).filter(|relevance| *relevance > 0),
            health: HealthBody {
                condition: condition.to_owned(),
                uptime_percent: found.uptime_thousandths.map(|share| f64::from(share) / 10.0),
                last_check: found.last_check.map(|moment| moment.to_string()),
            },
            updated_at: found.view.updated_at.to_string(),
            card: write_card(Version::V1_0, card),
            owner: None,
            disclosure: None,
            source: None,
            versions: Vec::new(),
        }
    }
}

impl From<FoundPage> for AgentsFoundBody {
    fn from(page: FoundPage) -> Self {
        let facet = |(value, count): (String, u64)| AgentFacetBody { value, count };
        let facets = page.facets.into_iter().map(|(name, counts)| {
            (name.to_owned(), counts.buckets.into_iter().map(facet).collect())
        });
        Self {
            agents: page.found.into_iter().map(Into::into).collect(),
            total: page.total,
            next: page.next,
            facets: facets.collect(),
        }
    }
}
