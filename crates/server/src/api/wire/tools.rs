//! Tools, approvals and activity as they go over the wire.

use agent::tools::activity::{Activity, Ending};
use agent::tools::definition::Effect;
use agent::tools::outcome::ToolOutput;
use agent::tools::policy::{Approval, Extent, Grant, Standing};
use agent::tools::question::{Question, Reply};
use agent::tools::suspicion::Finding;
use engine::tools::{
    Catalogue, Entry, Followed, OpenQuestion, PromptLine, ResourceLine, ServerLine, ServerState,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Every tool that can be called, and the servers that they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsBody {
    pub tools: Vec<ToolBody>,
    pub servers: Vec<ToolServerBody>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolBody {
    /// `server__tool`: what it is called by.
    pub name: String,
    pub server: String,
    /// What its server calls it.
    pub original: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Value,
    pub effect: EffectBody,
    /// Known tools can be called; a new or changed one is off until its definition is accepted.
    pub standing: StandingBody,
    /// What is suspicious about it, in words.
    pub findings: Vec<String>,
}

/// What a call does: reads, sends what it is given out, or changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectBody {
    Reads,
    Sends,
    Changes,
}

/// How a definition stands to the one that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StandingBody {
    Known,
    New,
    Changed,
}

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolServerBody {
    pub id: String,
    pub name: String,
    /// The program or address.
    pub launch: String,
    pub trusted: bool,
    /// `off`, `idle`, `up` or `down`.
    pub state: String,
    /// Whether it can be switched on and off here: what the configuration has off stays off.
    #[serde(default)]
    pub switchable: bool,
    /// Whether it may want a login.
    #[serde(default)]
    pub takes_login: bool,
    /// Why it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version of MCP that it speaks, once it is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub tools: usize,
    /// Tools that were left out, each with the reason.
    pub refused: Vec<String>,
}

impl From<Effect> for EffectBody {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Reads => Self::Reads,
            Effect::Sends => Self::Sends,
            Effect::Changes => Self::Changes,
        }
    }
}

impl From<Catalogue> for ToolsBody {
    fn from(catalogue: Catalogue) -> Self {
        Self {
            tools: catalogue.tools.into_iter().map(Into::into).collect(),
            servers: catalogue.servers.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Entry> for ToolBody {
    fn from(Entry { tool, standing }: Entry) -> Self {
        let standing = match standing {
            Standing::Known => StandingBody::Known,
            Standing::New => StandingBody::New,
            Standing::Changed => StandingBody::Changed,
        };
        Self {
            effect: tool.effect().into(),
            name: tool.name.into(),
            server: tool.server.into(),
            original: agent::tools::suspicion::clean(&tool.original),
            title: tool.title,
            description: tool.description,
            input_schema: tool.input_schema,
            standing,
            findings: tool.findings.iter().map(Finding::says).collect(),
        }
    }
}

impl From<ServerLine> for ToolServerBody {
    fn from(line: ServerLine) -> Self {
        let (state, reason, version) = match line.state {
            ServerState::Off => ("off", None, None),
            ServerState::Idle => ("idle", None, None),
            ServerState::Up { version } => ("up", None, Some(version)),
            ServerState::Down { why } => ("down", Some(why), None),
        };
        let refused = line.refused.into_iter().map(|(tool, why)| format!("{tool}: {why}"));
        Self {
            id: line.id.into(),
            name: line.name,
            launch: line.launch,
            trusted: line.is_trusted,
            state: state.to_owned(),
            switchable: line.is_switchable,
            takes_login: line.takes_login,
            reason,
            version,
            tools: line.tools,
            refused: refused.collect(),
        }
    }
}

/// The servers, none of which was started for this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolServersBody {
    pub servers: Vec<ToolServerBody>,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallBody {
    /// An object that fits the tool's schema.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The session that an approval may be for.
    #[serde(default)]
    pub session: Option<String>,
}

/// What a tool or a resource gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutputBody {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The tool says that it failed.
    pub is_error: bool,
    /// Some of it was left out, as it was too much.
    pub is_cut: bool,
}

impl From<ToolOutput> for ToolOutputBody {
    fn from(output: ToolOutput) -> Self {
        let ToolOutput { text, structured, is_error, is_cut, links: _ } = output;
        Self { text, structured, is_error, is_cut }
    }
}

/// Which definitions are accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptBody {
    /// One tool of the server; all, if left out.
    #[serde(default)]
    pub tool: Option<String>,
}

/// The tools whose new definitions were accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedBody {
    pub accepted: Vec<String>,
}

/// Which resource is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBody {
    pub uri: String,
}

/// Which resource is followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowBody {
    pub uri: String,
    /// The `state` of the answer before; the resource as it is now, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
}

/// A followed resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FollowedBody {
    /// Names the state that it is in.
    pub state: u64,
    /// Left out if it is still in the state that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ToolOutputBody>,
}

impl From<Followed> for FollowedBody {
    fn from(Followed { state, output }: Followed) -> Self {
        Self { state, resource: output.map(Into::into) }
    }
}

/// Which prompt is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptBody {
    pub name: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// The messages of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptMessagesBody {
    pub messages: Vec<PromptMessageBody>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptMessageBody {
    /// `user` or `assistant`.
    pub role: String,
    pub text: String,
}

impl From<Vec<(String, String)>> for PromptMessagesBody {
    fn from(said: Vec<(String, String)>) -> Self {
        let messages = said.into_iter().map(|(role, text)| PromptMessageBody { role, text });
        Self { messages: messages.collect() }
    }
}

/// The resources and prompts of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OffersBody {
    pub resources: Vec<ResourceBody>,
    pub prompts: Vec<PromptLineBody>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceBody {
    pub uri: String,
    pub title: String,
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptLineBody {
    pub name: String,
    pub description: String,
    /// Names of arguments; those that have to be given end in `*`.
    pub arguments: Vec<String>,
}

impl From<ResourceLine> for ResourceBody {
    fn from(line: ResourceLine) -> Self {
        let ResourceLine { address, title, description, media_type } = line;
        Self { uri: address, title, description, media_type }
    }
}

impl From<PromptLine> for PromptLineBody {
    fn from(line: PromptLine) -> Self {
        let arguments = line.arguments.into_iter();
        let marked =
            arguments.map(|(name, is_needed)| if is_needed { format!("{name}*") } else { name });
        Self { name: line.name, description: line.description, arguments: marked.collect() }
    }
}

/// Questions that wait for the caller, and yeses that are remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalsBody {
    pub open: Vec<OpenQuestionBody>,
    pub remembered: Vec<ApprovalBody>,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestionBody {
    pub id: u64,
    /// Milliseconds since 1970.
    pub asked_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `kind` is `call`, `form`, `link` or `sample`; the rest is what is asked, exactly.
    pub question: Value,
}

impl From<OpenQuestion> for OpenQuestionBody {
    fn from(open: OpenQuestion) -> Self {
        Self {
            id: open.id,
            asked_at: open.asked_at.0,
            session: open.session,
            question: serde_json::to_value(&open.question).unwrap_or_default(),
        }
    }
}

impl OpenQuestionBody {
    /// The question as it was asked, if this version knows its kind.
    #[must_use]
    pub fn read(&self) -> Option<Question> {
        serde_json::from_value(self.question.clone()).ok()
    }
}

/// A yes that is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalBody {
    pub tool: String,
    /// None for always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub by: String,
    pub at: u64,
    pub expires_at: u64,
}

impl From<Approval> for ApprovalBody {
    fn from(approval: Approval) -> Self {
        Self {
            tool: approval.tool.into(),
            session: approval.session,
            by: approval.by,
            at: approval.at.0,
            expires_at: approval.expires_at.0,
        }
    }
}

/// An answer to an open question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerBody {
    pub answer: AnswerKind,
    /// The fields of a form.
    #[serde(default)]
    pub values: Option<Map<String, Value>>,
}

/// What is said: no, or yes for how long. One that is wider than was offered counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    No,
    Once,
    Session,
    Always,
}

impl From<AnswerBody> for Reply {
    fn from(body: AnswerBody) -> Self {
        match (body.answer, body.values) {
            (AnswerKind::No, _) => Self::No,
            (_, Some(values)) => Self::Filled(values),
            (AnswerKind::Once, None) => Self::Yes(Extent::Once),
            (AnswerKind::Session, None) => Self::Yes(Extent::Session),
            (AnswerKind::Always, None) => Self::Yes(Extent::Always),
        }
    }
}

impl From<Reply> for AnswerBody {
    fn from(reply: Reply) -> Self {
        let (answer, values) = match reply {
            Reply::No => (AnswerKind::No, None),
            Reply::Yes(Extent::Once) => (AnswerKind::Once, None),
            Reply::Yes(Extent::Session) => (AnswerKind::Session, None),
            Reply::Yes(Extent::Always) => (AnswerKind::Always, None),
            Reply::Filled(values) => (AnswerKind::Once, Some(values)),
        };
        Self { answer, values }
    }
}

/// How many yeses were taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenBackBody {
    pub taken_back: u64,
}

/// A page of the activity log, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActivitiesBody {
    pub activity: Vec<ActivityBody>,
    /// Pass it as `after` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityBody {
    /// Milliseconds since 1970.
    pub at: u64,
    pub principal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn whose model wanted it; none for a person's own call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub tool: String,
    /// Without secrets, and short.
    pub arguments: Value,
    /// On whose word it ran: `trusted`, `once`, `session` or `always`; none if it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    pub milliseconds: u64,
    /// `done`, `tool_error`, `failed`, `timed_out`, `cancelled` or `denied`.
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Tokens of the result, about.
    pub tokens: u64,
}

impl From<Activity> for ActivityBody {
    fn from(line: Activity) -> Self {
        let outcome = line.ending.as_str().to_owned();
        let reason = match line.ending {
            Ending::Done | Ending::TimedOut | Ending::Cancelled => None,
            Ending::ToolError(why) | Ending::Failed(why) | Ending::Denied(why) => Some(why),
        };
        let approval = line.grant.map(|grant| match grant {
            Grant::Trusted => "trusted",
            Grant::Once => "once",
            Grant::Session => "session",
            Grant::Always => "always",
        });
        Self {
            at: line.at.0,
            principal: line.principal,
            session: line.session,
            turn: line.turn,
            server: line.server,
            tool: line.tool.into(),
            arguments: line.arguments,
            approval: approval.map(str::to_owned),
            milliseconds: line.milliseconds,
            outcome,
            reason,
            tokens: line.tokens,
        }
    }
}
