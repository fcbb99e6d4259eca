//! Counts turns, their tokens and what they cost, and what becomes of memories.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::ledger::Component;
use agent::names::TenantId;
use agent::turn::{ModelCall, TurnRecord};
use engine::chat::{MemoryOutcome, Watcher};

use super::{Counter, Histogram, Metrics};

/// Models whose numbers are kept at hand: more than anybody has configured.
const MODELS_MAX: usize = 64;

/// The numbers of the copilot.
pub struct ChatMetrics {
    metrics: Arc<Metrics>,
    /// By what a model was asked for, and its name: to look them up by their labels takes longer than to count.
    calls: Mutex<HashMap<Component, HashMap<String, Arc<CallNumbers>>>>,
}

/// The numbers of the calls of a model for one purpose.
struct CallNumbers {
    seconds: Histogram,
    /// Read, cached, written.
    tokens: [Counter; 3],
    microdollars: Counter,
    failures: Counter,
}

impl CallNumbers {
    fn new(metrics: &Metrics, component: Component, model: &str) -> Self {
        let labels = [("component", component.as_str()), ("model", model)];
        let tokens = ["input", "cached", "output"].map(|kind| {
            let [component, model] = labels;
            let help = "Tokens read and written by models";
            let labels = [component, model, ("kind", kind)];
            metrics.counter("saem_model_tokens_total", help, &labels)
        });
        let name = "saem_model_call_seconds";
        let seconds = metrics.durations(name, "Time of calls to models", &labels);
        let help = "What calls to models cost, in millionths of a dollar";
        let microdollars = metrics.counter("saem_model_cost_microdollars_total", help, &labels);
        let help = "Calls to models that failed";
        let failures = metrics.counter("saem_model_failures_total", help, &labels);
        Self { seconds, tokens, microdollars, failures }
    }

    fn count(&self, call: &ModelCall) {
        self.seconds.observe(Duration::from_millis(call.took_milliseconds));
        let read = call.usage.input - call.usage.cached.min(call.usage.input);
        let counts = [read, call.usage.cached, call.usage.output];
        self.tokens.iter().zip(counts).for_each(|(counter, count)| counter.add(count));
        if let Some(cost) = call.cost {
            self.microdollars.add(cost.microdollars());
        }
        self.failures.add(u64::from(call.failed.is_some()));
    }
}

impl ChatMetrics {
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, calls: Mutex::default() }
    }

    fn of_calls(&self, component: Component, model: &str) -> Arc<CallNumbers> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let by_model = calls.entry(component).or_default();
        if let Some(known) = by_model.get(model) {
            return Arc::clone(known);
        }
        let numbers = Arc::new(CallNumbers::new(&self.metrics, component, model));
        if by_model.len() < MODELS_MAX {
            by_model.insert(model.to_owned(), Arc::clone(&numbers));
        }
        numbers
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
        for call in &record.calls {
            self.of_calls(call.component, &call.model).count(call);
        }
    }

    fn memory_updated(&self, _tenant: &TenantId, outcome: MemoryOutcome) {
        let help = "Memories that were due, by what became of them";
        let labels = [("outcome", outcome.as_str())];
        self.metrics.counter("saem_memory_updates_total", help, &labels).add(1);
    }
}
