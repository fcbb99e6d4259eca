//! Follows a model that writes: passes its words on as they come, and hears which tools it wants called.

use agent::citation::Citing;
use agent::model::{Finish, LanguageModel, ModelError, ModelEvent, ModelRequest, ToolCall, Usage};
use agent::tools::spoken::Listening;
use futures_util::StreamExt as _;

use super::running::{Run, TIME_OVER};

/// What a model's answer came to.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) cited: Vec<usize>,
    /// Tools that the model wants called before it goes on.
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Usage,
    pub(super) model: String,
    pub(super) end: End,
}

impl Written {
    /// Ends before the server has counted: what it read of `bytes`, and wrote, has to be paid for all the same.
    fn give_up(&mut self, end: End, bytes: usize) {
        self.end = end;
        self.usage += Usage::about(bytes, self.text.len());
    }
}

pub(super) enum End {
    Whole,
    /// Cut off by the model's or our limit on length.
    Long,
    Broken(String),
    /// It wants a tool called, and this is why that cannot be read.
    Garbled(String),
    /// The reader left.
    Left,
}

/// Whether the reader gets to see what is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    Everything,
    Nothing,
}

/// What is let through of the model's words.
struct Words {
    citing: Citing,
    /// Only where there are tools that could be called.
    listening: Option<Listening>,
}

impl Words {
    fn take(&mut self, piece: &str) -> String {
        match &mut self.listening {
            None => self.citing.take(piece),
            Some(listening) => {
                let text = listening.take(piece);
                self.citing.take(&text)
            }
        }
    }

    fn end(&mut self) -> String {
        let held = self.listening.as_mut().map(Listening::end);
        let mut rest = held.map(|held| self.citing.take(&held)).unwrap_or_default();
        rest.push_str(&self.citing.end());
        rest
    }
}

impl Run {
    /// Passes the model's answer on to the reader, as it comes.
    pub(super) async fn follow(
        &self,
        model: &dyn LanguageModel,
        request: ModelRequest,
        passages: usize,
        show: Show,
    ) -> Written {
        let mut written = Written {
            text: String::new(),
            cited: Vec::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            model: model.name().to_owned(),
            end: End::Broken(broke_off(model)),
        };
        let names = request.tools.iter().map(|tool| tool.name.clone());
        let listening = (!request.tools.is_empty()).then(|| Listening::new(names));
        let mut words = Words { citing: Citing::new(passages), listening };
        let bytes = request.text_bytes();
        let mut stream = model.stream(request);
        // Once for all pieces: to wait for each anew costs more than to read it.
        let (left, late) = (self.tell.closed(), tokio::time::sleep_until(self.deadline));
        tokio::pin!(left, late);
        loop {
            let event = tokio::select! {
                // What has come is taken first; whoever has left is met when it is shown.
                biased;
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
            let Some(piece) = written.take(event) else { break };
            let shown = words.take(&piece);
            written.text.push_str(&shown);
            if !self.shows(show, shown).await {
                written.give_up(End::Left, bytes);
                break;
            }
        }
        let rest = words.end();
        written.text.push_str(&rest);
        if !matches!(written.end, End::Left) && !self.shows(show, rest).await {
            written.end = End::Left;
        }
        written.cited = words.citing.cited().to_vec();
        written.calls.extend(words.listening.iter().flat_map(|heard| heard.calls().to_vec()));
        written
    }

    /// Shows a piece; false if there is nobody any more.
    async fn shows(&self, show: Show, piece: String) -> bool {
        piece.is_empty() || show == Show::Nothing || self.say(piece).await.is_ok()
    }
}

impl Written {
    /// The text of an event, empty for one that has none; nothing after the last.
    fn take(&mut self, event: Option<Result<ModelEvent, ModelError>>) -> Option<String> {
        match event? {
            Ok(ModelEvent::Text(piece)) => return Some(piece),
            Ok(ModelEvent::Usage(usage)) => self.usage += usage,
            Ok(ModelEvent::ToolCall(call)) => self.calls.push(call),
            // Thinking is nobody's business.
            Ok(ModelEvent::Reasoning(_)) => {}
            Ok(ModelEvent::Done { finish, model }) => {
                self.model = model;
                self.end = match finish {
                    Finish::Length => End::Long,
                    Finish::Stop | Finish::ToolCalls => End::Whole,
                };
                return None;
            }
            Err(ModelError::BrokenCall { why, .. }) => {
                tracing::info!(%why, "a model's call of a tool cannot be read");
                self.end = End::Garbled(why);
                return None;
            }
            Err(error) => {
                tracing::warn!(%error, "the model gave no whole answer");
                self.end = End::Broken(error.to_string());
                return None;
            }
        }
        Some(String::new())
    }
}

fn broke_off(model: &dyn LanguageModel) -> String {
    let why = "it ended without saying so".to_owned();
    ModelError::BrokenStream { model: model.name().to_owned(), why }.to_string()
}
