//! Writes the answer: by a model as it comes, or in the words of the documents and of the conversation.

use agent::context::{self, Material};
use agent::knowledge::Passage;
use agent::ledger::Component;
use agent::model::{LanguageModel, Message, ModelRequest, ToolChoice};
use agent::offline;
use agent::reply;
use agent::turn::{Citation, Fallback, Outcome, Turn};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::Doing;
use super::running::{Answer, Run, Stopped};
use super::tooling::Tooling;
use super::writing::{End, Show, Written};
use crate::telemetry;

/// What became of asking a model for the answer.
enum Wrote {
    Answer(Answer),
    /// It wants tools called first; the turn knows which.
    Calls,
    /// Not a word, and why.
    Nothing(String),
}

impl Run {
    /// Answers from passages, best first, and leads whoever asks where something is; none if the model wants tools
    /// called first.
    pub(super) async fn answer(
        &mut self,
        turn: &mut Turn,
        passages: Vec<Passage>,
        is_partial: bool,
    ) -> Result<Option<Answer>, Stopped> {
        self.doing(Doing::Answering).await?;
        let Some(mut answer) = self.answer_from(turn, passages, is_partial).await? else {
            return Ok(None);
        };
        if reply::asks_where(&self.question) && answer.outcome.is_complete() {
            answer.menu = self.copilot.parts.menu.find(&self.query, self.language);
            let pages = reply::pages(self.language, &answer.menu);
            // A reader who leaves here has the whole answer.
            if !pages.is_empty() && self.say(pages.clone()).await.is_ok() {
                answer.text.push_str(&pages);
            }
        }
        Ok(Some(self.with_what_was_said(answer)))
    }

    /// The answer with the words that came before and between calls of tools.
    fn with_what_was_said(&self, mut answer: Answer) -> Answer {
        if let Some(tools) = &self.tools {
            answer.text.insert_str(0, &tools.spoken);
        }
        answer
    }

    /// What there is of an answer whose reader left while tools were called.
    pub(super) fn left_alone(&self) -> Answer {
        let answer = self.with_what_was_said(Answer::plain(String::new(), Outcome::Incomplete));
        Answer { text: answer.text.trim_end().to_owned(), ..answer }
    }

    async fn answer_from(
        &mut self,
        turn: &mut Turn,
        passages: Vec<Passage>,
        is_partial: bool,
    ) -> Result<Option<Answer>, Stopped> {
        let Some(model) = self.copilot.parts.models.answer.clone() else {
            let answer = self.quote(&passages, is_partial).await?;
            self.notes.push(reply::no_model(self.language).to_owned());
            return Ok(Some(answer));
        };
        let why = match self.may_ask() {
            Err(why) => why,
            Ok(()) => match self.write(turn, &*model, &passages, is_partial).await? {
                Wrote::Answer(answer) => return Ok(Some(answer)),
                Wrote::Calls => return Ok(None),
                Wrote::Nothing(why) => why,
            },
        };
        let instead = turn.has_attachments().then_some(Fallback::InPreparation);
        let answer = match turn.instead().or(instead) {
            Some(fallback) if passages.is_empty() => self.fall_back(fallback).await?,
            _ => self.quote(&passages, is_partial).await?,
        };
        self.notes.push(reply::model_failed(self.language, &why));
        Ok(Some(answer))
    }

    /// Sees whether the model wants a tool where no document answers. What it says besides is not shown.
    pub(super) async fn seek_tool(&mut self, turn: &mut Turn) -> Result<(), Stopped> {
        let model = self.copilot.parts.models.answer.clone();
        let Some(model) = model.filter(|_| self.may_ask().is_ok()) else {
            turn.wants_no_tool();
            return Ok(());
        };
        if !self.has_tools().await {
            turn.wants_no_tool();
            return Ok(());
        }
        let written = self.ask_writer(&*model, &[], false, ToolChoice::Auto, Show::Nothing).await;
        match written.end {
            End::Left => return Err(Stopped::Gone),
            End::Whole => turn.wants(written.calls),
            End::Garbled(why) => self.misspoken(turn, &why),
            End::Long | End::Broken(_) => turn.wants_no_tool(),
        }
        Ok(())
    }

    /// Has the model write.
    async fn write(
        &mut self,
        turn: &mut Turn,
        model: &dyn LanguageModel,
        passages: &[Passage],
        is_partial: bool,
    ) -> Result<Wrote, Stopped> {
        let may_call = turn.tool_rounds_left() > 0 && self.has_tools().await;
        let choice = if may_call { ToolChoice::Auto } else { ToolChoice::Never };
        let written = self.ask_writer(model, passages, is_partial, choice, Show::Everything).await;
        if may_call && !written.calls.is_empty() && matches!(written.end, End::Whole) {
            self.said_before_calls(written.text.trim_end(), &written.cited).await?;
            turn.wants(written.calls);
            return Ok(Wrote::Calls);
        }
        if let (true, End::Garbled(why)) = (may_call, &written.end) {
            self.said_before_calls(written.text.trim_end(), &written.cited).await?;
            self.misspoken(turn, why);
            return Ok(Wrote::Calls);
        }
        let text = written.text.trim_end().to_owned();
        let outcome = match written.end {
            End::Left if text.is_empty() => return Err(Stopped::Gone),
            End::Broken(why) | End::Garbled(why) if text.is_empty() => {
                return Ok(Wrote::Nothing(why));
            }
            End::Whole if text.is_empty() => {
                return Ok(Wrote::Nothing("it said nothing".to_owned()));
            }
            End::Broken(why) | End::Garbled(why) => {
                self.notes.push(why);
                Outcome::Incomplete
            }
            End::Left => Outcome::Incomplete,
            End::Long if text.is_empty() => {
                return Ok(Wrote::Nothing("it thought until its limit".to_owned()));
            }
            End::Long => Outcome::Long,
            End::Whole if passages.is_empty() => outcome_without_passages(turn),
            End::Whole if is_partial => Outcome::Partial,
            End::Whole => Outcome::Answered,
        };
        let mut cited = written.cited;
        cited.extend(self.tools.iter().flat_map(|tools| &tools.cited));
        let citations = citations(&cited, passages);
        Ok(Wrote::Answer(Answer { citations, ..Answer::plain(text, outcome) }))
    }

    /// Tells the model with its next request that what it wanted called cannot be read.
    fn misspoken(&mut self, turn: &mut Turn, why: &str) {
        let said = std::mem::take(&mut self.said_in_round);
        if let Some(tools) = &mut self.tools {
            if !said.is_empty() {
                tools.exchange.push(Message::assistant(said));
            }
            tools.exchange.push(context::broken_call(why));
        }
        turn.misspoke();
    }

    /// Keeps what the model said before it wanted tools called: the reader has seen it.
    async fn said_before_calls(&mut self, text: &str, cited: &[usize]) -> Result<(), Stopped> {
        text.clone_into(&mut self.said_in_round);
        let Some(tools) = &mut self.tools else { return Ok(()) };
        tools.cited.extend_from_slice(cited);
        if text.is_empty() {
            return Ok(());
        }
        tools.spoken.push_str(text);
        tools.spoken.push_str("\n\n");
        self.say("\n\n".to_owned()).await
    }

    /// Asks the model that answers, once, and follows it to its end.
    async fn ask_writer(
        &mut self,
        model: &dyn LanguageModel,
        passages: &[Passage],
        is_partial: bool,
        tool_choice: ToolChoice,
        show: Show,
    ) -> Written {
        let limits = &self.copilot.rules.memory;
        let shown = self.tools.as_ref().filter(|tools| {
            // Servers want to see the tools again whose calls they see.
            tool_choice != ToolChoice::Never || !tools.exchange.is_empty()
        });
        let specs = shown.map(Tooling::specs).unwrap_or_default();
        let material = Material {
            question: &self.question,
            language: self.language,
            memory: &self.session.memory.text,
            entities: &self.session.entities,
            recalled: &self.recalled,
            short_term: self.session.short_term(limits),
            passages,
            is_partial,
            has_tools: !specs.is_empty(),
            has_attachments: !self.attached.is_empty(),
        };
        let tokenizer = &*self.copilot.parts.tokenizer;
        let built = context::answer(&material, &self.copilot.rules.budget, tokenizer);
        let (mut messages, mut parts) = (built.messages, built.parts);
        if let Some(Message::User { text }) = messages.last_mut() {
            text.insert_str(0, &self.attached_text());
        }
        parts.extend(self.attached.iter().map(|(_, part)| part.clone()));
        if let Some(tools) = shown {
            parts.push(context::tool_definitions(&specs, tokenizer));
            parts.extend(tools.parts.iter().cloned());
            messages.extend(tools.exchange.iter().cloned());
        }
        self.context = parts;
        let request = ModelRequest {
            tokens_max: self.copilot.rules.answer_tokens_max,
            tools: specs,
            tool_choice,
            ..ModelRequest::new(messages)
        };
        let started = Instant::now();
        let span = telemetry::model_call(Component::Answer, model.name());
        let following = self.follow(model, request, built.passages, show);
        let written = following.instrument(span.clone()).await;
        let failed = match &written.end {
            End::Broken(why) | End::Garbled(why) => Some(why.clone()),
            End::Whole | End::Long | End::Left => None,
        };
        telemetry::model_called(&span, &written.model, &written.usage, failed.as_deref());
        self.called(Component::Answer, &written.model, written.usage, started, failed);
        written
    }

    /// Answers in the words of the passages, or without any in those of the conversation.
    async fn quote(&mut self, passages: &[Passage], is_partial: bool) -> Result<Answer, Stopped> {
        if passages.is_empty() {
            let said = offline::recollect(&self.question, &self.conversation());
            let said = said.map(|said| said.text).unwrap_or_default();
            let text = format!("{} “{said}”", reply::said_earlier(self.language));
            self.say(text.clone()).await?;
            return Ok(Answer::plain(text, Outcome::FromConversation));
        }
        let extracted = offline::answer(&self.query, passages);
        for paragraph in extracted.text.split_inclusive("\n\n") {
            self.say(paragraph.to_owned()).await?;
        }
        let numbers: Vec<usize> = extracted.cited.iter().map(|place| place + 1).collect();
        let outcome = if is_partial { Outcome::Partial } else { Outcome::Answered };
        let citations = citations(&numbers, passages);
        Ok(Answer { citations, ..Answer::plain(extracted.text, outcome) })
    }
}

/// How an answer without a passage came about.
fn outcome_without_passages(turn: &Turn) -> Outcome {
    match turn.instead() {
        _ if turn.has_tool_results() || turn.has_attachments() => Outcome::Answered,
        // The tools that were wanted gave nothing: it is the fallback, in the model's words.
        Some(fallback) => fallback.into(),
        None => Outcome::FromConversation,
    }
}

fn citations(numbers: &[usize], passages: &[Passage]) -> Vec<Citation> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let passage = |number: usize| passages.get(number.checked_sub(1)?);
    let cited =
        numbers.into_iter().filter_map(|number| Some(Citation::new(number, passage(number)?)));
    cited.collect()
}
