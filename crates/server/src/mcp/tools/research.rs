//! The tool `research`: a whole run. Whoever sits at the client is asked about its plan and calls, if the client can ask.

mod task;

use agent::identity::Principal;
use agent::research::call::CallKey;
use agent::research::journal::Steering;
use agent::research::message::{
    AgentMessage, Content, PlanQuestion, ProviderId, ToolQuestion, Uuid,
};
use agent::research::order::Approval;
use agent::research::report::Report;
use engine::EngineError;
use engine::research::words::{call_asked, shown, steps_named, told};
use engine::research::{Asked as Wanted, Over, Seen};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InputRequests, InputRequiredResult,
    ProtocolVersion, Tool, ToolAnnotations,
};
use rmcp::service::ElicitationMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::words::Words;
use super::{Fault, Kind, given, progress, read, tool};
use crate::api::wire::research::BudgetBody;
use crate::mcp::knowledge::Own;
use crate::mcp::offer::Asked;
use crate::problem::Problem;

/// Under which names a client's answers about the plan and about a call come.
const PLAN: &str = "plan";
const CALL: &str = "call";

/// A question to be researched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResearchForm {
    question: String,
    /// Where to search, such as `local` for the documents, `arxiv`, `tool:SERVER__TOOL`, `agent:NAME`; wherever it can be, if
    /// left out.
    #[serde(default)]
    sources: Vec<ProviderId>,
    /// What it may use; what is left out has no limit.
    #[serde(default)]
    budget: BudgetBody,
    /// A finished run whose report the question follows: what it has found is used before anything is searched.
    #[serde(default)]
    follows: Option<Uuid>,
    /// Follow the plan without asking about it.
    #[serde(default)]
    yes: bool,
}

/// A report.
#[derive(Debug, Serialize, JsonSchema)]
struct Researched {
    /// The run, as /api/research knows it.
    run: Uuid,
    /// Why it ended: `enough`, `refused`, `stopped`, `time_spent`, …
    ended: String,
    /// In Markdown; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
    claims: usize,
    /// Claims that no source says.
    unsupported: usize,
    sources: Vec<Cited>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Cited {
    number: usize,
    title: String,
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

impl Words for Researched {
    fn words(&self) -> String {
        let none = || format!("There is no report: {}.", self.ended);
        self.report.clone().unwrap_or_else(none)
    }
}

/// How a client can be asked something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a request of ours, while the call goes on.
    Request,
    /// By a result that asks for input; the call comes again with it.
    Round,
    None,
}

fn way(asked: &Asked) -> Way {
    let version = asked.context.protocol_version();
    if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        let can = asked.context.client_capabilities().unwrap_or_default();
        return if can.elicitation.is_some() { Way::Round } else { Way::None };
    }
    let modes = asked.peer().supported_elicitation_modes();
    if modes.contains(&ElicitationMode::Form) { Way::Request } else { Way::None }
}

pub(super) fn definition(kind: Kind) -> Tool {
    tool::<ResearchForm, Researched>(
        kind,
        "Research a question",
        "Researches a question in rounds of searches over the documents and the places set up for it, and gives a report \
         whose every citation is checked. Takes minutes: it is a task for a client that knows tasks, and progress is told to \
         others. The plan is asked about where the client can ask.",
        ToolAnnotations::new()
            .read_only(false)
            .destructive(false)
            .idempotent(false)
            .open_world(true),
    )
}

pub(super) async fn call(
    own: &Own,
    call: CallToolRequestParams,
    asked: &Asked,
) -> Result<CallToolResponse, Fault> {
    let form: ResearchForm = read(call.arguments.clone().unwrap_or_default())?;
    let way = if form.yes { Way::None } else { way(asked) };
    let (id, after) = match &call.request_state {
        Some(state) => answered(own, state, &call, asked).await?,
        None => {
            let approval = Some(if way == Way::None { Approval::Given } else { Approval::Asked });
            let budget = form.budget.read()?;
            let wanted = Wanted {
                question: form.question,
                sources: form.sources,
                approval,
                budget,
                hops: 0,
                follows: form.follows,
                conversation: None,
            };
            let run = own.research.create(&asked.principal, wanted).await?;
            if task::is_known_to(asked) {
                return Ok(task::begun(&run).into());
            }
            (run.line.id, 0)
        }
    };
    let mut watching = own.research.watch(&asked.principal, id, after).await?;
    let mut steps = 0.0;
    loop {
        let seen = tokio::select! {
            seen = watching.next() => seen,
            () = asked.context.ct.cancelled() => return taken_back(own, id, asked).await,
        };
        let line = match seen {
            Some(Seen::Said(line)) => line,
            Some(Seen::Over(Over::Ended { reason, report })) => {
                return Ok(given(&researched(id, reason.as_str(), report.as_deref()))?.into());
            }
            Some(Seen::Over(Over::Failed(error))) => return Err(Fault::Tell(error.to_string())),
            Some(Seen::Over(Over::Left) | Seen::Gap(_)) | None => {
                return Err(crate::events::stopping().into());
            }
        };
        let Some(message) = message(&line.json) else { continue };
        steps += 1.0;
        if let Some(words) = told(&message.content) {
            progress(asked, steps, words).await;
        }
        let Some(question) = Question::of(&message.content) else { continue };
        match way {
            Way::Round => return ask_by_round(id, line.seq, &question),
            Way::Request => {
                let answer = tokio::select! {
                    answer = ask_by_request(&question, asked) => answer?,
                    () = asked.context.ct.cancelled() => return taken_back(own, id, asked).await,
                };
                steer(own, id, question.decided(&answer), asked).await?;
            }
            // Nobody can be asked: a plan goes on by itself, a call is done without.
            Way::None => {
                if let Question::Call(call) = question {
                    steer(own, id, about(&call, false), asked).await?;
                }
            }
        }
    }
}

/// Something that waits for a word.
enum Question {
    Plan(PlanQuestion),
    Call(ToolQuestion),
}

impl Question {
    fn of(content: &Content) -> Option<Self> {
        match content {
            Content::PlanApproval(approval) => approval.request.clone().map(Self::Plan),
            Content::ToolApproval(approval) => approval.request.clone().map(Self::Call),
            _ => None,
        }
    }

    /// Under which name its answer comes.
    fn name(&self) -> &'static str {
        match self {
            Self::Plan(_) => PLAN,
            Self::Call(_) => CALL,
        }
    }

    fn form(&self) -> Value {
        match self {
            Self::Plan(plan) => form(plan),
            Self::Call(call) => call_form(call),
        }
    }

    fn decided(&self, answer: &Value) -> Steering {
        match self {
            Self::Plan(plan) => decided(answer, plan),
            Self::Call(call) => about(call, is_yes(answer)),
        }
    }
}

fn about(call: &ToolQuestion, is_wanted: bool) -> Steering {
    Steering::Repeat { key: CallKey::from(call.call.clone()), is_wanted }
}

/// Only a clear yes to a call is one.
fn is_yes(answer: &Value) -> bool {
    let decision = answer.get("content").and_then(|it| it.get("decision")?.as_str());
    answer.get("action").and_then(Value::as_str) == Some("accept") && decision == Some("approve")
}

/// Takes what a client answers in a further round; gives the run, and the last message that the round before has seen.
async fn answered(
    own: &Own,
    state: &str,
    call: &CallToolRequestParams,
    asked: &Asked,
) -> Result<(Uuid, u64), Fault> {
    let unknown = || Fault::Tell("requestState does not belong to this call".to_owned());
    // The name of a run opens nothing to anybody else: it is looked for among the caller's own.
    let (id, seen) = state.split_once('.').ok_or_else(unknown)?;
    let id: Uuid = id.parse().map_err(|_| unknown())?;
    let seen: u64 = seen.parse().map_err(|_| unknown())?;
    let view = own.research.view(&asked.principal, id).await.map_err(|_| unknown())?;
    let last = view.status.map_or(0, |status| status.last_seq);
    let responses = call.input_responses.as_ref();
    let lines = own.research.messages(&asked.principal, id, seen, usize::MAX).await?;
    // The first question after what was seen is the one that the round before has asked.
    let question = lines
        .iter()
        .find_map(|line| Some((line.seq, Question::of(&message(&line.json)?.content)?)));
    let Some((seq, question)) = question else { return Ok((id, last)) };
    if let Some(response) = responses.and_then(|all| all.get(question.name())) {
        steer(own, id, question.decided(response), asked).await?;
    }
    Ok((id, seq))
}

/// Has the run do what somebody wants; that it comes too late is no fault.
async fn steer(own: &Own, id: Uuid, steering: Steering, asked: &Asked) -> Result<(), Fault> {
    Ok(steered(own, id, steering, &asked.principal).await?)
}

async fn steered(
    own: &Own,
    id: Uuid,
    steering: Steering,
    principal: &Principal,
) -> Result<(), EngineError> {
    match own.research.steer(principal, id, steering).await {
        Ok(_) | Err(EngineError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn taken_back(own: &Own, id: Uuid, asked: &Asked) -> Result<CallToolResponse, Fault> {
    steer(own, id, Steering::Stop, asked).await?;
    Err(Fault::Ours(ErrorData::internal_error("the call was taken back", None)))
}

/// The question about a plan, as a form.
fn form(plan: &PlanQuestion) -> Value {
    let message = format!("{}\nIs this plan to be followed?", shown(plan));
    let properties = json!({
        "decision": { "type": "string", "enum": ["approve", "refuse"], "default": "approve" },
        "steps": {
            "type": "string",
            "description": "Numbers of the steps to follow, such as 1 3; all of them, if left empty",
        },
    });
    let schema = json!({ "type": "object", "properties": properties, "required": ["decision"] });
    json!({ "mode": "form", "message": message, "requestedSchema": schema })
}

/// The question about a call, as a form.
fn call_form(call: &ToolQuestion) -> Value {
    let decision = json!({ "type": "string", "enum": ["approve", "refuse"] });
    let schema = json!({
        "type": "object", "properties": { "decision": decision }, "required": ["decision"],
    });
    json!({ "mode": "form", "message": call_asked(call), "requestedSchema": schema })
}

/// A result that asks; its state names the run and the last message before the question.
fn ask_by_round(id: Uuid, seq: u64, question: &Question) -> Result<CallToolResponse, Fault> {
    let state = format!("{id}.{}", seq.saturating_sub(1));
    Ok(InputRequiredResult::new(Some(requests(question)?), Some(state)).into())
}

fn requests(question: &Question) -> Result<InputRequests, Fault> {
    let broken = |error| Fault::from(Problem::broken("a question of a run", &error));
    let request = json!({ "method": "elicitation/create", "params": question.form() });
    let mut requests = InputRequests::new();
    requests.insert(question.name().to_owned(), serde_json::from_value(request).map_err(broken)?);
    Ok(requests)
}

async fn ask_by_request(question: &Question, asked: &Asked) -> Result<Value, Fault> {
    let broken = |error| Fault::from(Problem::broken("a question of a run", &error));
    let params = serde_json::from_value(question.form()).map_err(broken)?;
    match asked.peer().create_elicitation(params).await {
        Ok(result) => serde_json::to_value(&result).map_err(broken),
        Err(error) => Err(Fault::Tell(format!("nobody could be asked about the run: {error}"))),
    }
}

/// What an answer to the form says.
fn decided(answer: &Value, plan: &PlanQuestion) -> Steering {
    let field = |name: &str| answer.get("content").and_then(|it| it.get(name)?.as_str());
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") if field("decision") != Some("refuse") => {}
        Some("cancel") => return Steering::Stop,
        _ => return Steering::Refuse,
    }
    let steps = steps_named(field("steps").unwrap_or_default(), plan);
    if steps.is_empty() { Steering::Approve } else { Steering::Edit { steps } }
}

fn message(json: &str) -> Option<AgentMessage> {
    AgentMessage::read(&serde_json::from_str(json).ok()?).ok()
}

fn researched(run: Uuid, ended: &str, report: Option<&Report>) -> Researched {
    let cited = |(number, source): (usize, &agent::research::report::CitedSource)| Cited {
        number,
        title: source.title.clone(),
        place: source.place.clone(),
        address: source.web_address().map(str::to_owned),
    };
    let sources = report.map(|report| (1..).zip(&report.sources).map(cited).collect());
    Researched {
        run,
        ended: ended.to_owned(),
        report: report.map(Report::to_markdown),
        claims: report.map_or(0, |report| report.claims().count()),
        unsupported: report.map_or(0, Report::unsupported),
        sources: sources.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use agent::research::message::SearchStep;

    use super::*;

    #[test]
    fn what_is_not_clearly_a_yes_about_a_plan_is_a_no() {
        let step = |step_number: u32| SearchStep {
            step_number,
            description: format!("step {step_number}"),
            sources: vec![ProviderId::local()],
            keywords: vec!["x".to_owned()],
        };
        let plan = PlanQuestion {
            strategy: "all".to_owned(),
            search_steps: vec![step(1), step(2)],
            estimated_time: 1,
            goes_on_after: None,
            stands_on: None,
        };
        let said = |answer: Value| decided(&answer, &plan);
        let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
        assert_eq!(said(yes), Steering::Approve);
        let some =
            json!({ "action": "accept", "content": { "decision": "approve", "steps": "2" } });
        let steps = vec![SearchStep { step_number: 1, ..step(2) }];
        assert_eq!(said(some), Steering::Edit { steps });
        let no = json!({ "action": "accept", "content": { "decision": "refuse" } });
        assert_eq!(said(no), Steering::Refuse);
        assert_eq!(said(json!({ "action": "decline" })), Steering::Refuse);
        assert_eq!(said(json!({})), Steering::Refuse);
        assert_eq!(said(json!({ "action": "cancel" })), Steering::Stop);
    }
}
