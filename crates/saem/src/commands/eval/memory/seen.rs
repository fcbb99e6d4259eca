//! What a model would see of a conversation, made by the product's own session, fold, gate, recall and context.

use agent::context::{self, Budget, Context, Material, Part, PartKind};
use agent::identity::Timestamp;
use agent::language::Language;
use agent::memory::{Entities, MemoryLimits, Rewritten, SaidTurn, Session, gate, recall};
use agent::model::{Message, Tokenizer};
use agent::offline;
use anyhow::{Context as _, Result};

use super::Row;
use super::conversations::{Asked, Conversation};

/// The session after its last turn, each fold done as soon as it was due.
pub(super) fn remembered(
    conversation: &Conversation,
    tokenizer: &dyn Tokenizer,
) -> Result<Session> {
    let limits = MemoryLimits::default();
    // What is made of people's own sentences forgets the oldest by and by, as a model's rewrite must not.
    let forgetting = MemoryLimits { lost_percent_max: 100, ..limits };
    let mut session = Session::new("eval".parse()?, Timestamp(0));
    for turn in &conversation.turns {
        session.add(turn.clone(), &limits);
        let Some(fold) = session.fold(&limits) else { continue };
        let draft = offline::remember(&fold, &limits, tokenizer);
        let (text, entities) = gate(&fold, &draft, &forgetting, tokenizer)
            .with_context(|| format!("{} at turn {}", conversation.name, turn.number))?;
        let written_by = "offline".to_owned();
        let rewritten = Rewritten { text, entities, written_by, written_at: turn.at };
        session.remember(&fold, rewritten, &limits);
    }
    Ok(session)
}

/// What stands in the context of a question that is asked after the last turn.
pub(super) struct Seen {
    /// All of it that is of the conversation: neither our instructions nor the question.
    pub(super) text: String,
    pub(super) tokens: usize,
    /// The turns that stand there word for word.
    pub(super) turns: Vec<u64>,
}

impl Seen {
    pub(super) fn new(
        conversation: &Conversation,
        session: &Session,
        asked: &Asked,
        row: &Row,
        tokenizer: &dyn Tokenizer,
    ) -> Self {
        let nothing = Session::new(session.id.clone(), Timestamp(0));
        let session = if row.holds_session { session } else { &nothing };
        let recalled = recalled(conversation, session, asked, row, tokenizer);
        let limits = MemoryLimits::default();
        let material = Material {
            memory: &session.memory.text,
            entities: &session.entities,
            recalled: &recalled,
            short_term: session.short_term(&limits),
            ..bare(&asked.question, &nothing.entities)
        };
        let budget = Budget::default();
        let context = context::answer(&material, &budget, tokenizer);
        let without =
            context::answer(&bare(&asked.question, &nothing.entities), &budget, tokenizer);
        let of_conversation =
            |part: &&Part| !matches!(part.kind, PartKind::System | PartKind::Question);
        let parts = context.parts.iter().filter(of_conversation);
        Self {
            text: beyond(&context, &without),
            tokens: parts.map(|part| part.tokens).sum(),
            turns: shown_turns(&context, &[&recalled, material.short_term]),
        }
    }
}

/// A question about which nothing is known.
fn bare<'a>(question: &'a str, nothing: &'a Entities) -> Material<'a> {
    Material {
        question,
        language: Language::of(question),
        memory: "",
        entities: nothing,
        recalled: &[],
        short_term: &[],
        passages: &[],
        is_partial: false,
        has_tools: false,
        has_attachments: false,
    }
}

/// The turns that wait for a fold and those that the question brings back, of all that the short-term does not show.
fn recalled(
    conversation: &Conversation,
    session: &Session,
    asked: &Asked,
    row: &Row,
    tokenizer: &dyn Tokenizer,
) -> Vec<SaidTurn> {
    let limits = MemoryLimits::default();
    let mut recalled = session.left_over(&limits).to_vec();
    if row.recall_tokens_max > 0 {
        let is_older = |turn: &&SaidTurn| {
            let mut in_sight = recalled.iter().chain(session.short_term(&limits));
            in_sight.all(|known| known.number != turn.number)
        };
        let older: Vec<SaidTurn> = conversation.turns.iter().filter(is_older).cloned().collect();
        recalled.extend(recall(&asked.question, &older, row.recall_tokens_max, tokenizer));
        recalled.sort_by_key(|turn| turn.number);
    }
    recalled
}

/// What a context says more than the one without the conversation; the question stands last in both.
fn beyond(context: &Context, without: &Context) -> String {
    let instructions = without.messages.first().map(text).unwrap_or_default();
    let before_question = context.messages.split_last().map_or(&[][..], |(_, before)| before);
    let texts = before_question.iter().map(text);
    let texts: Vec<&str> =
        texts.map(|text| text.strip_prefix(instructions).unwrap_or(text)).collect();
    texts.join("\n")
}

fn text(message: &Message) -> &str {
    match message {
        Message::System { text }
        | Message::User { text }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => text,
    }
}

/// The turns that went in, of those that were given.
fn shown_turns(context: &Context, given: &[&[SaidTurn]]) -> Vec<u64> {
    let went_in = |turn: &&SaidTurn| {
        let source = format!("turn {}", turn.number);
        context.parts.iter().any(|part| part.source == source && part.tokens > 0)
    };
    given.iter().copied().flatten().filter(went_in).map(|turn| turn.number).collect()
}
