//! Keeps what was said in a run, and gives each message its place, its name and its time.

use std::collections::BTreeMap;

use super::Run;
use crate::identity::Timestamp;
use crate::model::Usage;
use crate::research::message::{
    AgentMessage, Content, Kind, Moment, More, Party, SCHEMA_VERSION, Uuid,
};

/// All messages of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Log {
    run: Uuid,
    pub(super) epoch: u64,
    messages: Vec<AgentMessage>,
    /// The last message of each kind, for those that answer it.
    last: BTreeMap<Kind, Uuid>,
    /// What agents used and have not said yet.
    usage: BTreeMap<Party, Usage>,
}

impl Log {
    pub(super) fn new(run: Uuid) -> Self {
        Self { run, epoch: 0, messages: Vec::new(), last: BTreeMap::new(), usage: BTreeMap::new() }
    }

    pub(super) fn messages(&self) -> &[AgentMessage] {
        &self.messages
    }

    /// Notes what an agent's next message took.
    pub(super) fn used(&mut self, agent: Party, usage: Usage) {
        if usage != Usage::default() {
            *self.usage.entry(agent).or_default() += usage;
        }
    }

    fn say(&mut self, sender: Party, content: Content, at: Timestamp) {
        let kind = content.kind();
        // Every kind that a party of a run says has a way from it.
        let Some((message_type, recipient)) = kind.way_from(sender) else { return };
        let seq = self.messages.len() as u64 + 1;
        let in_reply_to = answered(kind, sender).iter().rev().find_map(|kind| self.last.get(kind));
        let message = AgentMessage {
            id: self.run.derived("message", seq),
            query_id: self.run,
            sender,
            recipient,
            message_type,
            content,
            timestamp: Moment(at),
            more: More {
                seq: Some(seq),
                in_reply_to: in_reply_to.copied(),
                run_epoch: Some(self.epoch),
                schema_version: Some(SCHEMA_VERSION.to_owned()),
                usage: self.usage.remove(&sender),
            },
        };
        debug_assert_eq!(message.check(), Ok(()));
        self.last.insert(kind, message.id);
        self.messages.push(message);
    }
}

/// What a message of this kind answers, the last the more likely.
fn answered(kind: Kind, sender: Party) -> &'static [Kind] {
    match kind {
        Kind::PlanningRequest => &[Kind::SubmitQuery],
        Kind::PlanApproval if sender == Party::User => &[Kind::PlanApproval],
        Kind::SearchResults => &[Kind::PlanningRequest, Kind::AdditionalSearchRequest],
        Kind::QualityAssessment => &[Kind::SearchResults],
        Kind::AnswerDraft | Kind::FinalAnswer => &[Kind::ContentRequest],
        Kind::DraftApproval | Kind::FinalApproval => &[Kind::AnswerDraft],
        Kind::ToolApproval if sender == Party::User => &[Kind::ToolApproval],
        Kind::AnswerReady => &[Kind::SubmitQuery],
        _ => &[],
    }
}

impl Run {
    pub(super) fn say(&mut self, sender: Party, content: impl Into<Content>) {
        self.log.say(sender, content.into(), self.now);
    }
}
