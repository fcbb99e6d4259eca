//! What was spent, over the wire.

use std::collections::BTreeMap;

use agent::ledger::{Projection, Spent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostBody {
    /// The first and the last day, as `2026-11-15`.
    pub from: String,
    pub to: String,
    /// By component, session, day or model, as it was asked for.
    pub spent: BTreeMap<String, SpentBody>,
    pub total: SpentBody,
    /// What a month would cost; none before the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<ProjectionBody>,
}

/// What was spent under one head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpentBody {
    pub calls: u64,
    /// Calls whose price nobody knows: their cost is not in `dollars`.
    pub calls_without_price: u64,
    pub tokens_in: u64,
    pub tokens_cached: u64,
    pub tokens_out: u64,
    pub dollars: f64,
}

impl From<Spent> for SpentBody {
    fn from(spent: Spent) -> Self {
        Self {
            calls: spent.calls,
            calls_without_price: spent.calls_without_price,
            tokens_in: spent.usage.input,
            tokens_cached: spent.usage.cached,
            tokens_out: spent.usage.output,
            dollars: spent.cost.dollars(),
        }
    }
}

/// What a month would cost, from this installation's own averages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectionBody {
    pub sessions_per_day: f64,
    pub turns_per_session: f64,
    /// Turns that the averages are of.
    pub turns_seen: u64,
    pub memory_dollars: f64,
    pub answer_dollars: f64,
    pub total_dollars: f64,
}

impl From<Projection> for ProjectionBody {
    fn from(projection: Projection) -> Self {
        Self {
            sessions_per_day: projection.load.sessions_per_day,
            turns_per_session: projection.load.turns_per_session,
            turns_seen: projection.turns_seen,
            memory_dollars: projection.memory,
            answer_dollars: projection.answers,
            total_dollars: projection.total(),
        }
    }
}
