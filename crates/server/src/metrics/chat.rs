//! Counts turns, their tokens and what they cost, and what becomes of memories.

use std::sync::Arc;
use std::time::Duration;

use agent::names::TenantId;
use agent::turn::{ModelCall, TurnRecord};
use engine::chat::{MemoryOutcome, Watcher};

use super::Metrics;

/// The numbers of the copilot.
pub struct ChatMetrics {
    metrics: Arc<Metrics>,
}

impl ChatMetrics {
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }

    fn call(&self, call: &ModelCall) {
        let component = call.component.as_str();
        let labels = [("component", component), ("model", call.model.as_str())];
        let took = Duration::from_millis(call.took_milliseconds);
        let name = "saem_model_call_seconds";
        self.metrics.durations(name, "Time of calls to models", &labels).observe(took);
        let tokens = [
            ("input", call.usage.input - call.usage.cached.min(call.usage.input)),
            ("cached", call.usage.cached),
            ("output", call.usage.output),
        ];
        for (kind, count) in tokens {
            let labels = [("component", component), ("model", call.model.as_str()), ("kind", kind)];
            let name = "saem_model_tokens_total";
            self.metrics.counter(name, "Tokens read and written by models", &labels).add(count);
        }
        if let Some(cost) = call.cost {
            let name = "saem_model_cost_microdollars_total";
            let help = "What calls to models cost, in millionths of a dollar";
            self.metrics.counter(name, help, &labels).add(cost.microdollars());
        }
        if call.failed.is_some() {
            let name = "saem_model_failures_total";
            self.metrics.counter(name, "Calls to models that failed", &labels).add(1);
        }
    }
}

impl Watcher for ChatMetrics {
    fn turn_ended(&self, _tenant: &TenantId, record: &TurnRecord) {
        let outcome = [("outcome", record.outcome.as_str())];
        let help = "Turns by how they ended; not_found and in_preparation are fallbacks";
        self.metrics.counter("saem_turns_total", help, &outcome).add(1);
        let took = Duration::from_millis(record.took_milliseconds);
        self.metrics.durations("saem_turn_seconds", "Time of whole turns", &[]).observe(took);
        if !record.persisted {
            let help = "Turns that were not kept";
            self.metrics.counter("saem_turns_unkept_total", help, &[]).add(1);
        }
        record.calls.iter().for_each(|call| self.call(call));
    }

    fn memory_updated(&self, _tenant: &TenantId, outcome: MemoryOutcome) {
        let help = "Memories that were due, by what became of them";
        let labels = [("outcome", outcome.as_str())];
        self.metrics.counter("saem_memory_updates_total", help, &labels).add(1);
    }
}
