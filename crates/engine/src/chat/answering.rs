//! Writes the answer: by a model as it comes, or in the words of the documents and of the conversation.

use agent::citation::Citing;
use agent::context::{self, Material};
use agent::knowledge::Passage;
use agent::ledger::Component;
use agent::model::{Finish, LanguageModel, ModelError, ModelEvent, ModelRequest, Usage};
use agent::offline;
use agent::reply;
use agent::turn::{Citation, Outcome};
use futures_util::StreamExt as _;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::Doing;
use super::running::{Answer, Run, Stopped, TIME_OVER};
use crate::telemetry;

/// What a model's answer came to.
struct Written {
    text: String,
    cited: Vec<usize>,
    usage: Usage,
    model: String,
    end: End,
}

impl Written {
    /// Ends before the server has counted: what it read of `bytes`, and wrote, has to be paid for all the same.
    fn give_up(&mut self, end: End, bytes: usize) {
        self.end = end;
        self.usage += Usage::about(bytes, self.text.len());
    }
}

enum End {
    Whole,
    /// Cut off by the model's or our limit on length.
    Long,
    Broken(String),
    /// The reader left.
    Left,
}

impl Run {
    /// Answers from passages, best first, and leads whoever asks where something is.
    pub(super) async fn answer(
        &mut self,
        passages: Vec<Passage>,
        is_partial: bool,
    ) -> Result<Answer, Stopped> {
        self.doing(Doing::Answering).await?;
        let mut answer = self.answer_from(passages, is_partial).await?;
        if reply::asks_where(&self.question) && answer.outcome.is_complete() {
            answer.menu = self.copilot.parts.menu.find(&self.query, self.language);
            let pages = reply::pages(self.language, &answer.menu);
            // A reader who leaves here has the whole answer.
            if !pages.is_empty() && self.say(pages.clone()).await.is_ok() {
                answer.text.push_str(&pages);
            }
        }
        Ok(answer)
    }

    async fn answer_from(
        &mut self,
        passages: Vec<Passage>,
        is_partial: bool,
    ) -> Result<Answer, Stopped> {
        let Some(model) = self.copilot.parts.models.answer.clone() else {
            let answer = self.quote(&passages, is_partial).await?;
            self.notes.push(reply::no_model(self.language).to_owned());
            return Ok(answer);
        };
        let why = match self.may_ask() {
            Err(why) => why,
            Ok(()) => match self.write(&*model, &passages, is_partial).await? {
                Ok(answer) => return Ok(answer),
                Err(why) => why,
            },
        };
        let answer = self.quote(&passages, is_partial).await?;
        self.notes.push(reply::model_failed(self.language, &why));
        Ok(answer)
    }

    /// Has the model write. The inner error says why there is not a word of it.
    async fn write(
        &mut self,
        model: &dyn LanguageModel,
        passages: &[Passage],
        is_partial: bool,
    ) -> Result<Result<Answer, String>, Stopped> {
        let limits = &self.copilot.rules.memory;
        let material = Material {
            question: &self.question,
            language: self.language,
            memory: &self.session.memory.text,
            entities: &self.session.entities,
            recalled: &self.recalled,
            short_term: self.session.short_term(limits),
            passages,
            is_partial,
        };
        let tokenizer = &*self.copilot.parts.tokenizer;
        let built = context::answer(&material, &self.copilot.rules.budget, tokenizer);
        self.context = built.parts;
        let request = ModelRequest {
            tokens_max: self.copilot.rules.answer_tokens_max,
            ..ModelRequest::new(built.messages)
        };
        let started = Instant::now();
        let span = telemetry::model_call(Component::Answer, model.name());
        let following = self.follow(model, request, built.passages);
        let written = following.instrument(span.clone()).await;
        let failed = match &written.end {
            End::Broken(why) => Some(why.clone()),
            End::Whole | End::Long | End::Left => None,
        };
        telemetry::model_called(&span, &written.model, &written.usage, failed.as_deref());
        self.called(Component::Answer, &written.model, written.usage, started, failed);
        let text = written.text.trim_end().to_owned();
        let outcome = match written.end {
            End::Left if text.is_empty() => return Err(Stopped::Gone),
            End::Broken(why) if text.is_empty() => return Ok(Err(why)),
            End::Whole if text.is_empty() => return Ok(Err("it said nothing".to_owned())),
            End::Broken(why) => {
                self.notes.push(why);
                Outcome::Incomplete
            }
            End::Left => Outcome::Incomplete,
            End::Long if text.is_empty() => {
                return Ok(Err("it thought until its limit".to_owned()));
            }
            End::Long => Outcome::Long,
            End::Whole if passages.is_empty() => Outcome::FromConversation,
            End::Whole if is_partial => Outcome::Partial,
            End::Whole => Outcome::Answered,
        };
        let citations = citations(&written.cited, passages);
        Ok(Ok(Answer { citations, ..Answer::plain(text, outcome) }))
    }

    /// Passes the model's answer on to the reader, as it comes.
    async fn follow(
        &self,
        model: &dyn LanguageModel,
        request: ModelRequest,
        passages: usize,
    ) -> Written {
        let mut written = Written {
            text: String::new(),
            cited: Vec::new(),
            usage: Usage::default(),
            model: model.name().to_owned(),
            end: End::Broken(broke_off(model)),
        };
        let mut citing = Citing::new(passages);
        let bytes = request.text_bytes();
        let mut stream = model.stream(request);
        // Once for all pieces: to wait for each anew costs more than to read it.
        let (left, late) = (self.tell.closed(), tokio::time::sleep_until(self.deadline));
        tokio::pin!(left, late);
        loop {
            let event = tokio::select! {
                event = stream.next() => event,
                () = &mut left => {
                    written.give_up(End::Left, bytes);
                    break;
                }
                () = &mut late => {
                    written.give_up(End::Broken(TIME_OVER.to_owned()), bytes);
                    break;
                }
            };
            let shown = match event {
                Some(Ok(ModelEvent::Text(piece))) => citing.take(&piece),
                Some(Ok(ModelEvent::Usage(usage))) => {
                    written.usage += usage;
                    continue;
                }
                // No tool was offered, and thinking is nobody's business.
                Some(Ok(ModelEvent::Reasoning(_) | ModelEvent::ToolCall(_))) => continue,
                Some(Ok(ModelEvent::Done { finish, model })) => {
                    written.model = model;
                    written.end = match finish {
                        Finish::Length => End::Long,
                        Finish::Stop | Finish::ToolCalls => End::Whole,
                    };
                    break;
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, "the model gave no whole answer");
                    written.end = End::Broken(error.to_string());
                    break;
                }
                None => break,
            };
            written.text.push_str(&shown);
            if !shown.is_empty() && self.say(shown).await.is_err() {
                written.give_up(End::Left, bytes);
                break;
            }
        }
        let rest = citing.end();
        written.text.push_str(&rest);
        if !rest.is_empty() && !matches!(written.end, End::Left) && self.say(rest).await.is_err() {
            written.end = End::Left;
        }
        written.cited = citing.cited().to_vec();
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

fn broke_off(model: &dyn LanguageModel) -> String {
    let why = "it ended without saying so".to_owned();
    ModelError::BrokenStream { model: model.name().to_owned(), why }.to_string()
}

fn citations(numbers: &[usize], passages: &[Passage]) -> Vec<Citation> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let passage = |number: usize| passages.get(number.checked_sub(1)?);
    let cited =
        numbers.into_iter().filter_map(|number| Some(Citation::new(number, passage(number)?)));
    cited.collect()
}
