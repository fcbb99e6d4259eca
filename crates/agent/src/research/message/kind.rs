//! The kinds of messages: what tells them apart, and who sends them to whom.

use super::{MessageType, Party};

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    SubmitQuery,
    PlanningRequest,
    PlanApproval,
    SearchProgress,
    SourceRead,
    SearchResults,
    QualityAssessment,
    AdditionalSearchRequest,
    ContentRequest,
    WritingProgress,
    AnswerDraft,
    CitationCheck,
    DraftApproval,
    FinalAnswer,
    FinalApproval,
    BudgetUpdate,
    RunControl,
    ToolApproval,
    AnswerReady,
    AgentError,
}

/// A way that messages of a kind go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) message_type: MessageType,
    pub(super) senders: &'static [Party],
    /// None for all.
    pub(super) recipient: Option<Party>,
}

const fn request(senders: &'static [Party], recipient: Option<Party>) -> Route {
    Route { message_type: MessageType::Request, senders, recipient }
}

const fn response(senders: &'static [Party], recipient: Party) -> Route {
    Route { message_type: MessageType::Response, senders, recipient: Some(recipient) }
}

const fn notification(senders: &'static [Party]) -> Route {
    Route { message_type: MessageType::Notification, senders, recipient: None }
}

impl Kind {
    pub const ALL: [Self; 20] = [
        Self::SubmitQuery,
        Self::PlanningRequest,
        Self::PlanApproval,
        Self::SearchProgress,
        Self::SourceRead,
        Self::SearchResults,
        Self::QualityAssessment,
        Self::AdditionalSearchRequest,
        Self::ContentRequest,
        Self::WritingProgress,
        Self::AnswerDraft,
        Self::CitationCheck,
        Self::DraftApproval,
        Self::FinalAnswer,
        Self::FinalApproval,
        Self::BudgetUpdate,
        Self::RunControl,
        Self::ToolApproval,
        Self::AnswerReady,
        Self::AgentError,
    ];

    /// The field of the content that tells the kind, and its word; an error has none.
    #[must_use]
    pub fn word(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::SubmitQuery => ("action", "submit_query"),
            Self::PlanningRequest => ("action", "search"),
            Self::PlanApproval => ("action", "plan_approval"),
            Self::SearchProgress => ("event", "search_progress"),
            Self::SourceRead => ("event", "source_read"),
            Self::SearchResults => ("action", "search_completed"),
            Self::QualityAssessment => ("event", "quality_assessment"),
            Self::AdditionalSearchRequest => ("action", "additional_search"),
            Self::ContentRequest => ("action", "generate_answer"),
            Self::WritingProgress => ("event", "writing_progress"),
            Self::AnswerDraft => ("action", "review_draft"),
            Self::CitationCheck => ("event", "citation_check"),
            Self::DraftApproval => ("action", "approval"),
            Self::FinalAnswer => ("event", "answer_completed"),
            Self::FinalApproval => ("action", "final_approval"),
            Self::BudgetUpdate => ("event", "budget_update"),
            Self::RunControl => ("action", "run_control"),
            Self::ToolApproval => ("action", "tool_approval"),
            Self::AnswerReady => ("event", "answer_ready"),
            Self::AgentError => return None,
        })
    }

    /// Its name in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SubmitQuery => "SubmitQuery",
            Self::PlanningRequest => "PlanningRequest",
            Self::PlanApproval => "PlanApproval",
            Self::SearchProgress => "SearchProgress",
            Self::SourceRead => "SourceRead",
            Self::SearchResults => "SearchResults",
            Self::QualityAssessment => "QualityAssessment",
            Self::AdditionalSearchRequest => "AdditionalSearchRequest",
            Self::ContentRequest => "ContentRequest",
            Self::WritingProgress => "WritingProgress",
            Self::AnswerDraft => "AnswerDraft",
            Self::CitationCheck => "CitationCheck",
            Self::DraftApproval => "DraftApproval",
            Self::FinalAnswer => "FinalAnswer",
            Self::FinalApproval => "FinalApproval",
            Self::BudgetUpdate => "BudgetUpdate",
            Self::RunControl => "RunControl",
            Self::ToolApproval => "ToolApproval",
            Self::AnswerReady => "AnswerReady",
            Self::AgentError => "AgentError",
        }
    }

    /// The ways that messages of this kind go; the first is the usual one.
    pub(super) fn routes(self) -> &'static [Route] {
        use Party::{Content, Planning, Reflect, Research, System, User};
        const ERROR: Route = Route {
            message_type: MessageType::Error,
            senders: &[Planning, Research, Reflect, Content, System],
            recipient: None,
        };
        const READY: Route = Route {
            message_type: MessageType::Notification,
            senders: &[System],
            recipient: Some(User),
        };
        match self {
            Self::SubmitQuery => const { &[request(&[User], Some(Planning))] },
            Self::PlanningRequest => const { &[request(&[Planning], Some(Research))] },
            Self::PlanApproval => {
                const { &[request(&[Planning], Some(User)), response(&[User], Planning)] }
            }
            Self::SearchProgress | Self::SourceRead => const { &[notification(&[Research])] },
            Self::SearchResults => const { &[response(&[Research], Reflect)] },
            Self::QualityAssessment | Self::CitationCheck => const { &[notification(&[Reflect])] },
            Self::AdditionalSearchRequest => const { &[request(&[Reflect], Some(Research))] },
            Self::ContentRequest => const { &[request(&[Reflect], Some(Content))] },
            Self::WritingProgress | Self::FinalAnswer => const { &[notification(&[Content])] },
            Self::AnswerDraft => const { &[request(&[Content], Some(Reflect))] },
            Self::DraftApproval => const { &[response(&[Reflect], Content)] },
            Self::FinalApproval => const { &[response(&[Reflect], Planning)] },
            Self::BudgetUpdate => const { &[notification(&[System])] },
            Self::RunControl => const { &[request(&[User, System], None)] },
            Self::ToolApproval => {
                const { &[request(&[Research], Some(User)), response(&[User], Research)] }
            }
            Self::AnswerReady => const { &[READY] },
            Self::AgentError => const { &[ERROR] },
        }
    }

    /// The type and the recipient of messages that this party sends of this kind.
    pub(crate) fn way_from(self, sender: Party) -> Option<(MessageType, Option<Party>)> {
        let route = self.routes().iter().find(|route| route.senders.contains(&sender))?;
        Some((route.message_type, route.recipient))
    }
}
