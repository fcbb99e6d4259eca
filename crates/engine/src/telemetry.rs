//! The spans of the copilot, under the names of OpenTelemetry's conventions for generative AI: all of them are here.
//!
//! What was asked and answered is in none of them unless that is wanted. The conventions are still in development: a
//! name that changes there changes here.

use agent::ledger::Component;
use agent::model::Usage;
use agent::turn::TurnRecord;
use tracing::{Span, field};

/// Marks spans that are traced; others are only for the log.
pub const TARGET: &str = "saem::trace";

/// Whether questions and answers go into the spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    #[default]
    Left,
    Taken,
}

/// A turn.
#[must_use]
pub fn turn(tenant: &str, session: &str, turn: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "invoke_agent saem",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = "saem",
        gen_ai.conversation.id = session,
        saem.tenant = tenant,
        saem.turn.id = turn,
        saem.turn.outcome = field::Empty,
        saem.turn.persisted = field::Empty,
        gen_ai.aggregated_usage.input_tokens = field::Empty,
        gen_ai.aggregated_usage.output_tokens = field::Empty,
        gen_ai.input.messages = field::Empty,
        gen_ai.output.messages = field::Empty,
    )
}

/// How a turn ended. Sums have names of their own: whoever adds up all spans must not count twice.
pub fn turn_ended(span: &Span, record: &TurnRecord, content: Content) {
    let tokens =
        |of: fn(&Usage) -> u64| record.calls.iter().map(|call| of(&call.usage)).sum::<u64>();
    span.record("saem.turn.outcome", record.outcome.as_str());
    span.record("saem.turn.persisted", record.persisted);
    span.record("gen_ai.aggregated_usage.input_tokens", tokens(|usage| usage.input));
    span.record("gen_ai.aggregated_usage.output_tokens", tokens(|usage| usage.output));
    if content == Content::Taken {
        span.record("gen_ai.input.messages", record.question.as_str());
        span.record("gen_ai.output.messages", record.answer.as_str());
    }
}

/// A call of a model.
#[must_use]
pub fn model_call(component: Component, model: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "chat",
        otel.name = format!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
        gen_ai.response.model = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        error.type = field::Empty,
        saem.component = component.as_str(),
    )
}

/// What a call came to.
pub fn model_called(span: &Span, model: &str, usage: &Usage, failed: Option<&str>) {
    span.record("gen_ai.response.model", model);
    span.record("gen_ai.usage.input_tokens", usage.input);
    span.record("gen_ai.usage.output_tokens", usage.output);
    if let Some(why) = failed {
        span.record("error.type", why);
    }
}

/// A search, or the reading of a section.
#[must_use]
pub fn tool_call(tool: &'static str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "execute_tool",
        otel.name = format!("execute_tool {tool}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
    )
}

/// The rewriting of a memory.
#[must_use]
pub fn memory_update(tenant: &str, session: &str) -> Span {
    tracing::info_span!(
        target: TARGET,
        "update_memory",
        gen_ai.operation.name = "update_memory",
        gen_ai.memory.store.id = "session",
        gen_ai.memory.record.id = session,
        gen_ai.conversation.id = session,
        saem.tenant = tenant,
        saem.memory.outcome = field::Empty,
    )
}

/// What became of it.
pub fn memory_updated(span: &Span, outcome: &str) {
    span.record("saem.memory.outcome", outcome);
}
