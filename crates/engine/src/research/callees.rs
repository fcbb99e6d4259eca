//! Tools of servers and other agents as places to search: looked up when a run is made, called when it wants them.

use std::sync::Arc;

use a2a::model::{Sent, TaskState};
use a2a::version::Version;
use a2a::wire::write_card;
use agent::identity::{Principal, Scope};
use agent::names::TenantId;
use agent::research::call::{Failure, Outcome};
use agent::research::callee::{arguments, hits, query_argument};
use agent::research::message::{Callee, ErrorType, ProviderId, Uuid};
use agent::research::order::{Class, Provider};
use agent::tools::definition::Definition;
use agent::tools::naming::{ServerId, ToolName};
use agent::tools::outcome::ToolOutput;
use agent::tools::policy::{Attendance, Extent, Influence, Standing};
use agent::tools::question::{Person, Question, Reply};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::error::EngineError;
use crate::peers::error::shown;
use crate::peers::skills::{given, words};
use crate::peers::{Agent, Order, PeerError, Peers};
use crate::tools::{CallError, Caller, Entry, Host, ServerState};

/// What identifiers of the catalogue begin with.
const IDENTIFIER: &str = "urn:air:";

/// Names that an error lists: a line.
const LISTED_MAX: usize = 12;

/// Whom runs may call besides providers of searches. Cheap to clone.
#[derive(Clone)]
pub struct Callees {
    pub host: Host,
    pub catalogue: Catalogue,
    /// Those that a run calls that names no sources.
    pub usual: Vec<ProviderId>,
}

/// For whom a run calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Behalf {
    pub(super) tenant: TenantId,
    /// Who began the run.
    pub(super) principal: String,
    pub(super) run: Uuid,
    /// Agents that what led to the run has come through.
    pub(super) hops: u32,
}

/// What is asked of somebody.
pub(super) struct Asking<'a> {
    pub(super) provider: &'a ProviderId,
    pub(super) query: &'a str,
    pub(super) results_max: u32,
    /// A person has said yes to it.
    pub(super) is_allowed: bool,
}

impl Callees {
    /// Those that a run calls that names no sources. What cannot be reached now is told by the run that calls it.
    pub(super) async fn usual(&self, tenant: &TenantId) -> Vec<Provider> {
        let mut providers = Vec::new();
        if !self.host.may_use(tenant) {
            return providers;
        }
        for id in &self.usual {
            let unreached =
                |_| Provider { id: id.clone(), class: Class::Tool, is_repeatable: false };
            providers.push(self.provider(tenant, id).await.unwrap_or_else(unreached));
        }
        providers
    }

    /// A tool or an agent that somebody names as a source.
    ///
    /// # Errors
    /// If it is not there, or cannot be searched: says why, and what is there.
    pub(super) async fn provider(
        &self,
        tenant: &TenantId,
        id: &ProviderId,
    ) -> Result<Provider, EngineError> {
        let refused = |why: String| EngineError::Refused(format!("{id} cannot be searched: {why}"));
        if !self.host.may_use(tenant) {
            return Err(refused("tools and agents are not for this tenant".to_owned()));
        }
        match id.callee() {
            Some(Callee::Tool(name)) => {
                let tool = self.tool(tenant, name).await.map_err(|it| refused(it.why()))?;
                let says = tool.annotations;
                let is_repeatable = says.read_only == Some(true) || says.idempotent == Some(true);
                Ok(Provider { id: ProviderId::tool(&tool.name), class: Class::Tool, is_repeatable })
            }
            Some(Callee::Agent(name)) => {
                let id = self.agent_id(tenant, name).await.map_err(refused)?;
                Ok(Provider { id, class: Class::Tool, is_repeatable: false })
            }
            None => Err(refused("it names neither a tool nor an agent".to_owned())),
        }
    }

    async fn tool(&self, tenant: &TenantId, name: &str) -> Result<Definition, Unusable> {
        let fixed = Unusable::Fixed;
        let name = name.parse::<ToolName>().map_err(|error| fixed(error.to_string()))?;
        let servers = self.host.known_servers(tenant);
        let is_known = |id: &ServerId| servers.iter().any(|server| server.id == *id);
        let id = name.server().filter(is_known).ok_or_else(|| {
            let known = listed(servers.iter().map(|server| server.id.as_str()));
            fixed(format!("there is no such server; there are {known}"))
        })?;
        let catalogue = self.host.catalogue(tenant, Some(&id)).await;
        match catalogue.servers.first().map(|server| &server.state) {
            Some(ServerState::Off) => {
                return Err(fixed(format!("the server {id} is switched off")));
            }
            Some(ServerState::Down { why }) => {
                return Err(Unusable::Down(format!("{id} does not answer: {why}")));
            }
            Some(ServerState::Idle | ServerState::Up { .. }) | None => {}
        }
        let entry = catalogue.tools.iter().find(|entry| entry.tool.name == name);
        let entry = entry.ok_or_else(|| {
            let tools = listed(catalogue.tools.iter().map(|entry| entry.tool.name.as_str()));
            fixed(format!("{id} has no such tool that is switched on; there are {tools}"))
        })?;
        usable(entry).map_err(fixed)?;
        Ok(entry.tool.clone())
    }

    async fn agent_id(&self, tenant: &TenantId, name: &str) -> Result<ProviderId, String> {
        let peers = self.host.agents(tenant).ok_or_else(|| "agents are off".to_owned())?;
        if name.starts_with(IDENTIFIER) {
            self.card(tenant, name).await.map_err(|error| error.to_string())?;
            return ProviderId::agent(name).map_err(|error| format!("it {error}"));
        }
        let known = peers.configured().iter().find(|it| it.name == name || it.id.as_str() == name);
        let known = known.ok_or_else(|| {
            let names = listed(peers.configured().iter().map(|agent| agent.id.as_str()));
            format!(
                "there is no such agent in the configuration; there are {names}, and those of the catalogue by their {IDENTIFIER}…"
            )
        })?;
        ProviderId::agent(known.id.as_str()).map_err(|error| format!("it {error}"))
    }

    /// An agent's card as the catalogue shows it to a tenant.
    async fn card(&self, tenant: &TenantId, identifier: &str) -> Result<Value, PeerError> {
        let who = principal(tenant, "");
        let shown = self.catalogue.show_one(&self.catalogue.caller(Some(&who)), identifier).await;
        let (found, _) = shown.map_err(|_| {
            PeerError::Absent(
                "there is no such agent in the catalogue: `saem agents find` looks for them"
                    .to_owned(),
            )
        })?;
        Ok(write_card(Version::V1_0, &found.view.card))
    }

    /// Calls whom a run searches.
    pub(super) async fn call(
        &self,
        behalf: &Behalf,
        asking: &Asking<'_>,
    ) -> Result<Outcome, Failure> {
        let output = match asking.provider.callee() {
            Some(Callee::Tool(name)) => match self.call_tool(behalf, asking, name).await? {
                Called::Given(output) => output,
                Called::Unallowed(outcome) => return Ok(outcome),
            },
            Some(Callee::Agent(name)) => self.ask_agent(behalf, asking, name).await?,
            None => return Err(final_failure("it is neither a tool nor an agent".to_owned())),
        };
        let hits = hits(asking.provider, asking.query, &output, asking.results_max);
        Ok(Outcome::Found { hits })
    }

    async fn call_tool(
        &self,
        behalf: &Behalf,
        asking: &Asking<'_>,
        name: &str,
    ) -> Result<Called, Failure> {
        let tool = self.tool(&behalf.tenant, name).await.map_err(|it| it.failure(name))?;
        let arguments = arguments(&tool.input_schema, asking.query).map_err(final_failure)?;
        let caller = caller(behalf, asking.is_allowed);
        let arguments = Value::Object(arguments);
        if !asking.is_allowed {
            let question = self.host.question(&caller, &tool.name, arguments.clone()).await;
            if let Some(question) = question.map_err(|error| of_call(&error))? {
                return Ok(Called::Unallowed(unallowed(&question)));
            }
        }
        let called = self.host.call(&caller, &tool.name, arguments, None).await;
        let output = called.map_err(|error| sent(of_call(&error)))?;
        match output.is_error {
            true => Err(Failure::new(
                ErrorType::ApiError,
                format!("{name} says: {}", shown(&output.text)),
            )),
            false => Ok(Called::Given(output)),
        }
    }

    async fn ask_agent(
        &self,
        behalf: &Behalf,
        asking: &Asking<'_>,
        name: &str,
    ) -> Result<ToolOutput, Failure> {
        let failed = |error: PeerError| of_peer(name, &error);
        let peers = self.host.agents(&behalf.tenant);
        let peers = peers.ok_or_else(|| final_failure("agents are off".to_owned()))?;
        let agent = self.agent(peers, &behalf.tenant, name).await.map_err(failed)?;
        let order = Order { hops: behalf.hops, ..Order::text(asking.query) };
        tracing::info!(agent = name, by = behalf.principal, run = %behalf.run, "a run asks an agent");
        let answered = agent.ask(order, &mut |_| {}).await;
        answer(name, &answered.map_err(|error| sent(failed(error)))?)
    }

    async fn agent(
        &self,
        peers: &Peers,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Agent, PeerError> {
        match name.starts_with(IDENTIFIER) {
            true => peers.listed_agent(name, self.card(tenant, name).await?).await,
            false => peers.configured_agent(name).await,
        }
    }
}

/// Why a tool cannot be searched.
enum Unusable {
    /// It may be later.
    Down(String),
    /// It stays so until somebody changes something.
    Fixed(String),
}

impl Unusable {
    fn why(self) -> String {
        match self {
            Self::Down(why) | Self::Fixed(why) => why,
        }
    }

    fn failure(self, name: &str) -> Failure {
        let is_passing = matches!(self, Self::Down(_));
        let message = format!("{name}: {}", self.why());
        let failure = Failure::new(ErrorType::ApiError, message);
        Failure { is_passing, is_final: !is_passing, ..failure }
    }
}

/// What came of calling a tool.
enum Called {
    Given(ToolOutput),
    Unallowed(Outcome),
}

/// A run reads for whoever began it, whatever else that one may do.
fn principal(tenant: &TenantId, name: &str) -> Principal {
    Principal { tenant: tenant.clone(), name: name.to_owned(), scopes: vec![Scope::Read] }
}

fn caller(behalf: &Behalf, is_allowed: bool) -> Caller {
    Caller {
        principal: principal(&behalf.tenant, &behalf.principal),
        session: Some(behalf.run.to_string()),
        turn: None,
        person: Arc::new(Asked { is_allowed }),
        attendance: Attendance::Attended,
        // What is searched for may come from what was read before.
        influence: Influence::Strangers,
        hops: behalf.hops,
    }
}

/// Whoever the run has asked: what they said holds for the call, and they say nothing else.
struct Asked {
    is_allowed: bool,
}

impl Person for Asked {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        let reply = match question {
            // For the session, which is the run, where that is offered: else it counts once.
            Question::Call { .. } if self.is_allowed => Reply::Yes(Extent::Session),
            Question::Call { .. }
            | Question::Form { .. }
            | Question::Link { .. }
            | Question::Sample { .. } => Reply::No,
        };
        Box::pin(std::future::ready(reply))
    }
}

fn unallowed(question: &Question) -> Outcome {
    let (extents, reasons) = match question {
        Question::Call { extents, reasons, .. } => (extents.as_slice(), reasons.as_slice()),
        Question::Form { .. } | Question::Link { .. } | Question::Sample { .. } => {
            (&[][..], &[][..])
        }
    };
    let is_lasting = extents.contains(&Extent::Session);
    Outcome::Unallowed { reason: reasons.join("; "), is_lasting }
}

/// Why a tool that is there cannot be used, if it cannot.
fn usable(entry: &Entry) -> Result<(), String> {
    query_argument(&entry.tool.input_schema)?;
    if let Some(finding) = entry.tool.findings.iter().find(|finding| finding.is_fatal()) {
        return Err(finding.says());
    }
    let look = "look at it with `saem mcp tools` and accept it with `saem mcp accept`";
    match entry.standing {
        Standing::Known => Ok(()),
        Standing::New => Err(format!("it is new on its server: {look}")),
        Standing::Changed => Err(format!("it has changed since it was seen: {look}")),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "none".to_owned(),
        many if many > LISTED_MAX => {
            let first = names.iter().take(LISTED_MAX).copied().collect::<Vec<_>>().join(", ");
            format!("{first} and {} more", many - LISTED_MAX)
        }
        _ => names.join(", "),
    }
}

/// What an agent gave, if it is an answer.
fn answer(name: &str, sent: &Sent) -> Result<ToolOutput, Failure> {
    let output = ToolOutput::of(given(sent), None, false);
    let Sent::Task(task) = sent else { return Ok(output) };
    let said = task.status.message.as_ref().map(|message| shown(&words(&message.parts)));
    let said = said.filter(|said| !said.is_empty()).map(|said| format!(": {said}"));
    let said = said.unwrap_or_default();
    let failure = |what: &str| Failure::new(ErrorType::ApiError, format!("{name} {what}{said}"));
    Err(match task.status.state {
        TaskState::Completed => return Ok(output),
        TaskState::InputRequired => failure("asks back, and nobody is there to answer"),
        TaskState::AuthRequired => Failure { is_final: true, ..failure("wants a login") },
        TaskState::Failed => failure("failed"),
        TaskState::Rejected => failure("does not take this on"),
        TaskState::Canceled => failure("has cancelled it"),
        TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
            failure("came to no end")
        }
    })
}

/// Whoever failed so is left alone for the rest of the run.
fn final_failure(message: String) -> Failure {
    Failure { is_final: true, ..Failure::new(ErrorType::ApiError, message) }
}

/// A failure after something was sent: what time would mend may have happened before the connection broke.
fn sent(failure: Failure) -> Failure {
    Failure { is_unsure: failure.is_unsure || failure.is_passing, ..failure }
}

fn unsure(error_type: ErrorType, message: String) -> Failure {
    Failure { is_unsure: true, is_passing: true, ..Failure::new(error_type, message) }
}

fn of_call(error: &CallError) -> Failure {
    let plain = |error_type| Failure::new(error_type, error.to_string());
    match error {
        CallError::Absent(_) | CallError::Denied(_) | CallError::Held(_) => {
            final_failure(error.to_string())
        }
        CallError::Unusable(_) => plain(ErrorType::ValidationError),
        CallError::Refused(_) => plain(ErrorType::ApiError),
        CallError::Down(_) => Failure { is_passing: true, ..plain(ErrorType::ApiError) },
        CallError::TimedOut(_) => unsure(ErrorType::Timeout, error.to_string()),
        CallError::Lost(_) => unsure(ErrorType::ApiError, error.to_string()),
        CallError::Broken(_) => plain(ErrorType::InternalError),
    }
}

fn of_peer(name: &str, error: &PeerError) -> Failure {
    let message = format!("{name}: {error}");
    let plain = |error_type| Failure::new(error_type, message.clone());
    match error {
        PeerError::Absent(_)
        | PeerError::Card(_)
        | PeerError::Closed(_)
        | PeerError::Circle { .. } => final_failure(message),
        PeerError::Unusable(_) => plain(ErrorType::ValidationError),
        PeerError::Refused { .. } => plain(ErrorType::ApiError),
        PeerError::Down(_) => Failure { is_passing: true, ..plain(ErrorType::ApiError) },
        PeerError::TimedOut => unsure(ErrorType::Timeout, message),
        PeerError::Lost(_) => unsure(ErrorType::ApiError, message),
        PeerError::Broken(_) => plain(ErrorType::InternalError),
    }
}
