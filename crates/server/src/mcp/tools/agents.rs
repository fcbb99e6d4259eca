//! The tools over the catalogue of agents.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, JsonObject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::words::Words;
use super::{Fault, given, read};
use crate::mcp::knowledge::Own;
use crate::mcp::offer::Asked;
use crate::problem::Problem;
use crate::registry::{AgentBody, FindAgentsQuery};

/// Agents of one answer unless fewer are asked for: a model has to read them.
const AGENTS: usize = 10;

/// What to look for; everything that is given has to fit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindAgents {
    /// What the agent should do, in Korean or English.
    #[serde(default)]
    query: Option<String>,
    /// The id or the name of a skill.
    #[serde(default)]
    skill: Option<String>,
    /// All of them.
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    provider: Option<String>,
    /// `streaming`, `push` or `extendedAgentCard`; all of them.
    #[serde(default)]
    capabilities: Vec<String>,
    /// A media type that it takes, or a range such as `image/*`.
    #[serde(default)]
    input_mode: Option<String>,
    /// A media type that it gives.
    #[serde(default)]
    output_mode: Option<String>,
    /// A version of the agent.
    #[serde(default)]
    version: Option<String>,
    /// At most 100.
    #[serde(default)]
    limit: Option<usize>,
    /// `next` of the page before.
    #[serde(default)]
    after: Option<String>,
}

/// Which agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetAgentCard {
    /// As find_agents shows it: `urn:air:<domain>:<name>`.
    identifier: String,
}

/// Agents, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundAgents {
    agents: Vec<FoundAgent>,
    total: usize,
    /// Pass it as `after` to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundAgent {
    identifier: String,
    name: String,
    description: String,
    version: String,
    /// `approved`, `deprecated` or `pending`.
    standing: String,
    /// 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<u8>,
    /// `up`, `failing`, `down` or `unknown`.
    condition: String,
    skills: Vec<String>,
}

/// An agent's card, in the form of A2A 1.0.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgentCardGiven {
    identifier: String,
    card: JsonObject,
}

pub(super) async fn find(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: FindAgents = read(arguments)?;
    let joined = |all: Vec<String>| Some(all.join(",")).filter(|all| !all.is_empty());
    let query = FindAgentsQuery {
        q: wanted.query,
        skill: wanted.skill,
        tags: joined(wanted.tags),
        provider: wanted.provider,
        capabilities: joined(wanted.capabilities),
        input_mode: wanted.input_mode,
        output_mode: wanted.output_mode,
        protocol: None,
        version: wanted.version,
        limit: Some(wanted.limit.unwrap_or(AGENTS)),
        after: wanted.after,
    };
    let find = query.read().map_err(Fault::Tell)?;
    let caller = own.catalogue.caller(Some(&asked.principal));
    let page = own.catalogue.find(&caller, &find).await.map_err(Problem::from)?;
    let (total, next) = (page.total, page.next);
    let agents = page.found.into_iter().map(|found| FoundAgent::from(AgentBody::from(found)));
    given(&FoundAgents { agents: agents.collect(), total, next })
}

pub(super) async fn card(
    own: &Own,
    arguments: JsonObject,
    asked: &Asked,
) -> Result<CallToolResult, Fault> {
    let wanted: GetAgentCard = read(arguments)?;
    let caller = own.catalogue.caller(Some(&asked.principal));
    let found = own.catalogue.show_one(&caller, &wanted.identifier).await;
    let (found, _) = found.map_err(Problem::from)?;
    let card = AgentBody::from(found).card.as_object().cloned().unwrap_or_default();
    given(&AgentCardGiven { identifier: wanted.identifier, card })
}

impl From<AgentBody> for FoundAgent {
    fn from(agent: AgentBody) -> Self {
        let skills = agent.card.get("skills").and_then(Value::as_array);
        let name = |skill: &Value| Some(skill.get("name")?.as_str()?.to_owned());
        Self {
            skills: skills.into_iter().flatten().filter_map(name).collect(),
            identifier: agent.identifier,
            name: agent.name,
            description: agent.description,
            version: agent.version,
            standing: agent.standing,
            relevance: agent.relevance,
            condition: agent.health.condition,
        }
    }
}

impl Words for FoundAgents {
    fn words(&self) -> String {
        let mut text = String::new();
        if self.agents.is_empty() {
            text.push_str("No agent was found. Try other words, or fewer conditions.\n");
        }
        for agent in &self.agents {
            let (name, identifier) = (&agent.name, &agent.identifier);
            let advice = if agent.standing == "deprecated" { ", deprecated" } else { "" };
            _ = writeln!(text, "{name} ({identifier}, {}{advice})", agent.condition);
            _ = writeln!(text, "{}", agent.description);
            if !agent.skills.is_empty() {
                _ = writeln!(text, "Skills: {}", agent.skills.join(", "));
            }
        }
        if let Some(next) = &self.next {
            _ = writeln!(text, "There are more: pass after={next}");
        }
        text.trim_end().to_owned()
    }
}

impl Words for AgentCardGiven {
    fn words(&self) -> String {
        serde_json::to_string_pretty(&self.card).unwrap_or_default()
    }
}
