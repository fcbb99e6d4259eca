//! Makes one call of a run: asks the model, searches, or calls whom it is searched at.

use std::sync::Arc;
use std::time::Duration;

use agent::filter::Filter;
use agent::knowledge::Passage;
use agent::ledger::Component;
use agent::model::{Message, ModelError, ModelRequest, Output, gather};
use agent::names::TenantId;
use agent::ports::PortError;
use agent::price::Cost;
use agent::research::call::{Call, CallKey, CallSpent, Failure, Freshness, Outcome, Purpose};
use agent::research::message::{ErrorType, ProviderId};
use agent::research::order::Basis;
use agent::research::source::{Hit, TEXT_BYTES_MAX};
use agent::text::clip;
use tracing::Instrument as _;

use super::callees::{Asking, Behalf};
use super::{ResearchParts, kept_run};
use crate::error::EngineError;
use crate::telemetry;

/// For one search.
const SEARCH_TIME_MAX: Duration = Duration::from_secs(60);

/// For one page, its reading included.
const PAGE_TIME_MAX: Duration = Duration::from_secs(90);

/// For one answer of a model: slow machines take minutes for a section.
const MODEL_TIME_MAX: Duration = Duration::from_secs(600);

/// Longest answer of a model, in tokens, its thinking included.
const ANSWER_TOKENS_MAX: u32 = 6_000;

/// A call that was made.
pub(super) struct Made {
    pub(super) key: CallKey,
    pub(super) outcome: Outcome,
    pub(super) spent: CallSpent,
    /// The model that answered, or the provider that was paid.
    pub(super) model: Option<String>,
}

pub(super) async fn make(
    parts: Arc<ResearchParts>,
    behalf: Arc<Behalf>,
    key: CallKey,
    call: Call,
) -> Made {
    let tenant = &behalf.tenant;
    match call {
        Call::Ask { purpose, messages } => ask(&parts, key, purpose, messages).await,
        Call::Search { provider, query, results_max, is_allowed, .. }
            if provider.callee().is_some() =>
        {
            let asking = Asking { provider: &provider, query: &query, results_max, is_allowed };
            let outcome = called(&parts, &behalf, &asking).await.unwrap_or_else(Outcome::Failed);
            Made { key, outcome, spent: CallSpent::default(), model: None }
        }
        Call::Search { provider, query, results_max, freshness, .. } => {
            let mut cost = Cost::default();
            let wanted = Searching { query: &query, results_max, freshness };
            let search = search(&parts, tenant, &provider, wanted, &mut cost);
            let outcome = in_time(SEARCH_TIME_MAX, "the search", search).await;
            // Booked under the provider's name, as a call to a model is under the model's.
            let model = (cost > Cost::default()).then(|| provider.to_string());
            Made { key, outcome, spent: CallSpent { cost, ..CallSpent::default() }, model }
        }
        Call::Read { address, freshness, .. } => {
            let reading = read(&parts, tenant, &address, freshness);
            let outcome = in_time(PAGE_TIME_MAX, "the page", reading).await;
            Made { key, outcome, spent: CallSpent::default(), model: None }
        }
        Call::Recall { basis } => {
            let outcome = recall(&parts, tenant, basis).await.unwrap_or_else(Outcome::Failed);
            Made { key, outcome, spent: CallSpent::default(), model: None }
        }
    }
}

async fn ask(
    parts: &ResearchParts,
    key: CallKey,
    purpose: Purpose,
    messages: Vec<Message>,
) -> Made {
    let Some(model) = &parts.model else {
        // A run that was begun with a model goes on without one.
        let why = "there is no model any more".to_owned();
        let failure = Failure { status: Some(401), ..Failure::new(ErrorType::ApiError, why) };
        let outcome = Outcome::Failed(failure);
        return Made { key, outcome, spent: CallSpent::default(), model: None };
    };
    let shape = purpose.shape();
    let request = ModelRequest {
        output: Output::Json { name: shape.name.clone(), schema: shape.schema.clone() },
        tokens_max: Some(ANSWER_TOKENS_MAX),
        temperature: Some(0.0),
        ..ModelRequest::new(messages)
    };
    let span = telemetry::model_call(Component::Research, model.name());
    let asking = gather(model.name(), model.stream(request)).instrument(span.clone());
    let Ok((usage, answer)) = tokio::time::timeout(MODEL_TIME_MAX, asking).await else {
        let why = format!("{} took longer than {} s", model.name(), MODEL_TIME_MAX.as_secs());
        let failure = Failure { is_passing: true, ..Failure::new(ErrorType::Timeout, why) };
        let outcome = Outcome::Failed(failure);
        return Made { key, outcome, spent: CallSpent::default(), model: None };
    };
    let (name, outcome) = match answer {
        Ok(answer) => (answer.model, Outcome::Said { text: answer.text }),
        Err(error) => (model.name().to_owned(), Outcome::Failed(of_model(&error))),
    };
    let failed = match &outcome {
        Outcome::Failed(failure) => Some(failure.message.as_str()),
        Outcome::Said { .. }
        | Outcome::Found { .. }
        | Outcome::Read { .. }
        | Outcome::Recalled { .. }
        | Outcome::Unallowed { .. } => None,
    };
    telemetry::model_called(&span, &name, &usage, failed);
    let cost = parts.prices.cost(&name, &usage).unwrap_or_default();
    Made { key, outcome, spent: CallSpent { usage, cost }, model: Some(name) }
}

/// The outcome, or that there was none in time.
async fn in_time(
    most: Duration,
    what: &str,
    call: impl Future<Output = Result<Outcome, Failure>>,
) -> Outcome {
    let late = || Failure {
        is_passing: true,
        ..Failure::new(ErrorType::Timeout, format!("{what} took longer than {} s", most.as_secs()))
    };
    let outcome = tokio::time::timeout(most, call).await.unwrap_or_else(|_| Err(late()));
    outcome.unwrap_or_else(Outcome::Failed)
}

/// What is searched for at a provider.
struct Searching<'a> {
    query: &'a str,
    results_max: u32,
    freshness: Freshness,
}

async fn search(
    parts: &ResearchParts,
    tenant: &TenantId,
    provider: &ProviderId,
    Searching { query, results_max, freshness }: Searching<'_>,
    cost: &mut Cost,
) -> Result<Outcome, Failure> {
    let span = telemetry::tool_call("research_search");
    if *provider == ProviderId::local() {
        let searching = parts.library.search(tenant, query, Filter::default());
        let answer = searching.instrument(span).await.map_err(|error| of_engine(&error))?;
        return Ok(Outcome::Found { hits: answer.passages.iter().map(hit).collect() });
    }
    let Some(searches) = &parts.searches else {
        let why = format!("{provider} cannot be searched here");
        return Err(Failure::new(ErrorType::InternalError, why));
    };
    let asking = searches.search(provider, query, results_max, freshness);
    let found = asking.instrument(span).await?;
    *cost = found.cost;
    Ok(Outcome::Found { hits: found.hits })
}

/// Tools and agents have waits of their own, as long as each needs.
async fn called(
    parts: &ResearchParts,
    behalf: &Behalf,
    asking: &Asking<'_>,
) -> Result<Outcome, Failure> {
    let Some(callees) = &parts.callees else {
        let why = format!("{} cannot be called here", asking.provider);
        return Err(Failure::new(ErrorType::InternalError, why));
    };
    let span = telemetry::tool_call("research_call");
    callees.call(behalf, asking).instrument(span).await
}

async fn read(
    parts: &ResearchParts,
    tenant: &TenantId,
    address: &str,
    freshness: Freshness,
) -> Result<Outcome, Failure> {
    let Some(pages) = &parts.pages else {
        return Err(Failure::new(ErrorType::InternalError, "no page can be read here".to_owned()));
    };
    let span = telemetry::tool_call("research_read");
    let reading = pages.text(tenant, address, freshness).instrument(span);
    let text = reading.await.map_err(|error| of_engine(&error))?;
    Ok(Outcome::Read { text: clip(&text, TEXT_BYTES_MAX).to_owned() })
}

/// What a finished run knows. Whose it is was asked when the run was begun that stands on it.
async fn recall(
    parts: &ResearchParts,
    tenant: &TenantId,
    basis: Basis,
) -> Result<Outcome, Failure> {
    let run = kept_run(parts, tenant, basis.run()).await.map_err(|error| of_engine(&error))?;
    let gone =
        || Failure::new(ErrorType::InternalError, "the run is not there any more".to_owned());
    let recalled = Box::new(run.ok_or_else(gone)?.recalled(basis));
    Ok(Outcome::Recalled { recalled })
}

/// What an error of ours says about trying again: time helps where something does not answer.
fn of_engine(error: &EngineError) -> Failure {
    let is_passing =
        matches!(error, EngineError::Port(PortError::Busy { .. } | PortError::Unavailable { .. }));
    Failure { is_passing, ..Failure::new(ErrorType::ApiError, error.to_string()) }
}

fn hit(passage: &Passage) -> Hit {
    let published = passage.tags.get("updated_at").and_then(|values| values.first());
    Hit {
        place: passage.source.clone(),
        title: passage.title.clone(),
        address: Some(passage.source.clone()).filter(|source| source.starts_with("http")),
        published: published.map(ToString::to_string),
        text: passage.text.clone(),
        start: passage.range.start as u64,
        is_summary: false,
    }
}

/// What a model's error says about asking again.
fn of_model(error: &ModelError) -> Failure {
    let message = error.to_string();
    let plain = Failure::new(ErrorType::ApiError, message);
    match error {
        ModelError::Transient { retry_after, .. } => Failure {
            retry_after: retry_after.map(|wait| wait.as_secs()),
            is_passing: true,
            ..plain
        },
        ModelError::TimedOut { .. } => {
            Failure { error_type: ErrorType::Timeout, is_passing: true, ..plain }
        }
        ModelError::BrokenStream { .. }
        | ModelError::BrokenCall { .. }
        | ModelError::Unreachable { .. } => Failure { is_passing: true, ..plain },
        ModelError::Unauthorized { .. } => Failure { status: Some(401), ..plain },
        ModelError::QuotaSpent { .. } => Failure { status: Some(402), ..plain },
        ModelError::ContextOverflow { .. }
        | ModelError::Refused { .. }
        | ModelError::BadRequest { .. }
        | ModelError::Malformed { .. }
        | ModelError::LimitReached { .. } => plain,
    }
}
