//! Fixtures that go on after their call has been answered: tasks, with questions in between, errors and cancellation.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    ErrorData, Tool,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use serde_json::{Value, json};

use super::rounds::{ask_name, filled, name_in};
use super::{Fixtures, argument, elicitation, plain, request, said, text_argument, tool};
use crate::mcp::offer::Asked;

/// How long a job takes that fails.
const FAILING: Duration = Duration::from_secs(1);

/// How often a client may ask, in milliseconds: the suite has little patience.
const POLL: u64 = 200;

/// Longest that a job may be told to take, in seconds.
const SECONDS_MAX: f64 = 600.0;

pub(super) fn tools() -> Vec<Tool> {
    let text = || json!({ "type": "string" });
    vec![
        tool("greet", "Greets at once", json!({ "name": text() }), &["name"]),
        tool(
            "slow_compute",
            "Takes its time",
            json!({ "seconds": { "type": "number" }, "label": text() }),
            &["seconds"],
        ),
        plain("failing_job", "Fails after a second"),
        plain("protocol_error_job", "Ends with an error of the protocol"),
        tool("confirm_delete", "Asks first", json!({ "filename": text() }), &["filename"]),
        plain("multi_input", "Asks two things at once"),
        plain("test_tool_with_task", "Asks first, and then goes on as a task"),
    ]
}

pub(super) async fn call(
    fixtures: &Fixtures,
    call: &CallToolRequestParams,
    asked: &Asked,
) -> Result<CallToolResponse, ErrorData> {
    let capabilities = asked.context.client_capabilities();
    let knows_tasks = capabilities.is_some_and(|of| of.supports_tasks());
    match &*call.name {
        "test_streaming_elicitation" => match name_in(call.input_responses.as_ref()) {
            Some(name) => Ok(said(format!("Hello, {name}!"))),
            None => ask_name(),
        },
        "greet" => Ok(said(format!("Hello, {}!", text_argument(call, "name")))),
        "slow_compute" => {
            let seconds = argument(call, "seconds").and_then(Value::as_f64).unwrap_or_default();
            let wait = Duration::from_secs_f64(seconds.clamp(0.0, SECONDS_MAX));
            let label = text_argument(call, "label").to_owned();
            if knows_tasks {
                return Ok(begin(fixtures, asked, move |task| slow(task, wait, label)));
            }
            tokio::time::sleep(wait).await;
            Ok(computed(&label).into())
        }
        "protocol_error_job" if !knows_tasks => Err(broken()),
        "protocol_error_job" => {
            Ok(begin(fixtures, asked, |_| async { Err(TaskExit::Error(broken())) }))
        }
        "test_tool_with_task" => match name_in(call.input_responses.as_ref()) {
            None => ask_name(),
            Some(_) if !knows_tasks => Err(needs_tasks()),
            Some(name) => {
                let result = text(format!("Hello, {name}, from a task!"));
                Ok(begin(fixtures, asked, |_| async { Ok(result) }))
            }
        },
        "failing_job" | "confirm_delete" | "multi_input" if !knows_tasks => Err(needs_tasks()),
        "failing_job" => Ok(begin(fixtures, asked, |_| failing())),
        "confirm_delete" => {
            let file = text_argument(call, "filename").to_owned();
            Ok(begin(fixtures, asked, move |task| confirm(task, file)))
        }
        "multi_input" => Ok(begin(fixtures, asked, both)),
        _ => Err(ErrorData::invalid_params("there is no such tool", None)),
    }
}

fn begin<F>(
    fixtures: &Fixtures,
    asked: &Asked,
    work: impl FnOnce(TaskContext) -> F,
) -> CallToolResponse
where
    F: Future<Output = Result<CallToolResult, TaskExit>> + Send + 'static,
{
    let options = TaskOptions::new().with_poll_interval_ms(POLL);
    fixtures.jobs.begin(&asked.principal, options, work).into()
}

async fn slow(
    task: TaskContext,
    wait: Duration,
    label: String,
) -> Result<CallToolResult, TaskExit> {
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(computed(&label)),
        () = task.cancelled() => Err(TaskExit::Cancelled),
    }
}

async fn failing() -> Result<CallToolResult, TaskExit> {
    tokio::time::sleep(FAILING).await;
    Ok(CallToolResult::error(vec![ContentBlock::text("The job failed, as it should.")]))
}

async fn confirm(task: TaskContext, file: String) -> Result<CallToolResult, TaskExit> {
    let form = elicitation(
        &format!("Delete {file}?"),
        json!({ "confirm": { "type": "boolean" } }),
        &["confirm"],
    );
    let response = task.request_input("confirm", request(form)?).await?;
    let is_confirmed = filled(&response, "confirm").is_some_and(|value| *value == json!(true));
    let outcome = if is_confirmed { "was deleted" } else { "was kept" };
    Ok(text(format!("{file} {outcome}.")))
}

async fn both(task: TaskContext) -> Result<CallToolResult, TaskExit> {
    let form = |field: &str| {
        elicitation(&format!("Your {field}?"), json!({ field: { "type": "string" } }), &[field])
    };
    let name = task.request_input("name", request(form("name"))?);
    let color = task.request_input("color", request(form("color"))?);
    let (name, color) = futures_util::future::try_join(name, color).await?;
    let said = |response: &Value, field: &str| {
        filled(response, field).and_then(Value::as_str).unwrap_or("nothing").to_owned()
    };
    Ok(text(format!("{} and {}", said(&name, "name"), said(&color, "color"))))
}

fn text(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn computed(label: &str) -> CallToolResult {
    text(format!("Computed {label}").trim_end().to_owned())
}

fn broken() -> ErrorData {
    ErrorData::internal_error("The job broke, as it should", None)
}

fn needs_tasks() -> ErrorData {
    let needed = ClientCapabilities::builder().enable_tasks().build();
    ErrorData::missing_required_client_capability(needed)
}
