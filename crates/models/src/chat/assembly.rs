//! Puts the pieces of an answer together: events as soon as they are certain, tool calls when they are whole.

use agent::model::{Finish, Limit, ModelEvent, ToolCall, Usage};
use serde_json::{Map, Value};

use super::refrain::Refrain;
use super::thinking::{self, ThinkingSplitter};
use super::wire::{Chunk, DONE, Fragment};

/// Calls in one answer: far more than any model makes on purpose.
const TOOL_CALLS_MAX: usize = 64;

/// Refrains that are looked for in vain: some servers put something else into every piece.
const REFRAINS_MAX: u8 = 8;

/// What is wrong with an answer, apart from who gave it.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    Broken(String),
    Malformed(String),
    /// The model wants a tool called and does not say so in a way that can be read.
    Call(String),
    Refused(String),
    Limit(Limit),
    /// The server says that it failed.
    Complaint(Value),
}

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// The server has said that this was all.
    Done,
}

#[derive(Debug)]
struct PartialCall {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

/// An answer that is being given.
#[derive(Debug)]
pub(super) struct Assembly {
    /// Set where thinking may stand in the text.
    splitter: Option<ThinkingSplitter>,
    /// The tool by which the model gives its JSON: its arguments are the text of the answer.
    output_tool: Option<String>,
    output_bytes_max: usize,
    output_bytes: usize,
    calls: Vec<PartialCall>,
    usage: Option<Usage>,
    finish: Option<String>,
    refusal: String,
    /// Known after a piece that was nothing but words.
    refrain: Option<Refrain>,
    /// Refrains that are still looked for; all of them again once one has held.
    refrains_left: u8,
}

impl Assembly {
    pub(super) fn new(
        thinks_in_tags: bool,
        output_tool: Option<String>,
        output_bytes_max: usize,
    ) -> Self {
        Self {
            splitter: thinks_in_tags.then(ThinkingSplitter::new),
            output_tool,
            output_bytes_max,
            output_bytes: 0,
            calls: Vec::new(),
            usage: None,
            finish: None,
            refusal: String::new(),
            refrain: None,
            refrains_left: REFRAINS_MAX,
        }
    }

    /// Whether the answer is over, though usage may still come.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether the model has written anything, shown or not.
    pub(super) fn has_output(&self) -> bool {
        self.output_bytes > 0 || self.usage.is_some()
    }

    /// What was used so far, if the answer ends here.
    pub(super) fn usage(&self, input_bytes: usize) -> Usage {
        self.usage.unwrap_or_else(|| Usage::about(input_bytes, self.output_bytes))
    }

    /// Takes the data of one event.
    pub(super) fn take(
        &mut self,
        data: &str,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Progress, Fault> {
        let data = data.trim();
        if data == DONE {
            return Ok(Progress::Done);
        }
        if data.is_empty() {
            return Ok(Progress::More);
        }
        if let Some(words) = self.refrain.as_ref().and_then(|refrain| refrain.words(data)) {
            self.refrains_left = REFRAINS_MAX;
            count(&mut self.output_bytes, words.len(), self.output_bytes_max)?;
            add_text(&mut self.splitter, words, events);
            return Ok(Progress::More);
        }
        let mut chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            Fault::Malformed(format!("an event is no piece of an answer: {error}"))
        })?;
        if let Some(error) = chunk.error.take().filter(|error| !error.is_null()) {
            return Err(Fault::Complaint(*error));
        }
        let usage = chunk.usage();
        let is_usual = usage.is_none() && !chunk.has_more();
        self.usage = usage.or(self.usage);
        if let Some(mut choice) = chunk.choice() {
            let is_usual = is_usual && choice.is_only_words();
            let mut delta = choice.said();
            let (text, thoughts) = delta.texts();
            let refusal = delta.refusal.take().unwrap_or_default();
            self.count(text.len() + thoughts.len() + refusal.len())?;
            self.refusal.push_str(&refusal);
            if is_usual && self.refrains_left > 0 {
                self.refrains_left -= 1;
                self.refrain = Refrain::of(data, &text);
            }
            if !thoughts.is_empty() {
                events.push(ModelEvent::Reasoning(thoughts));
            }
            add_text(&mut self.splitter, &text, events);
            for fragment in delta.fragments() {
                self.add_fragment(fragment, events)?;
            }
            // The first reason counts: some servers repeat it, or send an empty one after it.
            if self.finish.is_none() {
                self.finish = choice.finish_reason.filter(|reason| !reason.is_empty());
            }
        }
        Ok(Progress::More)
    }

    /// The last events of an answer that is over: what was held back, the calls, usage. Not `Done`.
    pub(super) fn finish(
        &mut self,
        input_bytes: usize,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Finish, Fault> {
        let Some(reason) = self.finish.take() else {
            return Err(Fault::Broken("it ended without a reason to end".to_owned()));
        };
        if !self.refusal.is_empty() {
            return Err(Fault::Refused(std::mem::take(&mut self.refusal)));
        }
        let finish = finish(&reason)?;
        if let Some(splitter) = &mut self.splitter {
            splitter.finish(events);
        }
        let calls: Vec<ToolCall> = std::mem::take(&mut self.calls)
            .into_iter()
            .filter(|call| self.output_tool.as_ref() != Some(&call.name))
            .map(|call| call.whole(finish))
            .collect::<Result<_, _>>()?;
        let finish = match finish {
            Finish::Length => Finish::Length,
            Finish::Stop | Finish::ToolCalls if calls.is_empty() => Finish::Stop,
            Finish::Stop | Finish::ToolCalls => Finish::ToolCalls,
        };
        events.extend(calls.into_iter().map(ModelEvent::ToolCall));
        events.push(ModelEvent::Usage(self.usage(input_bytes)));
        Ok(finish)
    }

    fn add_fragment(
        &mut self,
        fragment: Fragment,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), Fault> {
        let function = fragment.function;
        let (name, arguments) = match function {
            Some(function) => (function.name, function.arguments),
            None => (None, None),
        };
        let arguments = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(piece)) => piece,
            // The object itself, where a text of it was expected.
            Some(whole) => whole.to_string(),
        };
        self.count(arguments.len() + name.as_ref().map_or(0, String::len))?;
        let place = self.place(fragment.index, fragment.id.as_deref(), name.as_deref())?;
        let Some(call) = self.calls.get_mut(place) else {
            return Ok(());
        };
        if let Some(id) = fragment.id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        if self.output_tool.as_ref() == Some(&call.name) {
            add_text(&mut self.splitter, &arguments, events);
        } else {
            call.arguments.push_str(&arguments);
        }
        Ok(())
    }

    /// Where the call of a fragment stands; a new one at the end if it begins here.
    fn place(
        &mut self,
        index: Option<usize>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Result<usize, Fault> {
        let last = self.calls.len().saturating_sub(1);
        let known = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.get(last).map(|_| last),
        };
        // Some servers give no index, or 0 to all calls: then another id with a name begins another call.
        let is_other = |call: &PartialCall| {
            let another_id = id.is_some_and(|id| !id.is_empty() && id != call.id);
            another_id && !call.id.is_empty() && name.is_some_and(|name| !name.is_empty())
        };
        match known {
            Some(place) if !self.calls.get(place).is_some_and(is_other) => Ok(place),
            _ if self.calls.len() >= TOOL_CALLS_MAX => {
                Err(Fault::Limit(Limit::ToolCalls(TOOL_CALLS_MAX)))
            }
            _ => {
                let place = self.calls.len();
                self.calls.push(PartialCall {
                    index: index.unwrap_or(place),
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                });
                Ok(place)
            }
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        count(&mut self.output_bytes, bytes, self.output_bytes_max)
    }
}

fn count(counted: &mut usize, bytes: usize, bytes_max: usize) -> Result<(), Fault> {
    *counted = counted.saturating_add(bytes);
    if *counted > bytes_max { Err(Fault::Limit(Limit::OutputBytes(bytes_max))) } else { Ok(()) }
}

fn add_text(splitter: &mut Option<ThinkingSplitter>, text: &str, events: &mut Vec<ModelEvent>) {
    match splitter {
        Some(splitter) => splitter.push(text, events),
        None => thinking::add_words(text, events),
    }
}

impl PartialCall {
    /// The call, if its arguments are an object; else it must not be made.
    fn whole(self, finish: Finish) -> Result<ToolCall, Fault> {
        if self.name.is_empty() {
            return Err(Fault::Call("it calls a tool without a name".to_owned()));
        }
        let arguments = match self.arguments.trim() {
            "" | "null" => Ok(Value::Object(Map::new())),
            text => serde_json::from_str(text),
        };
        match arguments {
            Ok(arguments @ Value::Object(_)) => {
                let id = if self.id.is_empty() { format!("call_{}", self.index) } else { self.id };
                Ok(ToolCall { id, name: self.name, arguments })
            }
            Ok(_) => Err(Fault::Call(format!(
                "the arguments of its call to `{}` are no object",
                self.name
            ))),
            Err(_) if finish == Finish::Length => Err(Fault::Call(format!(
                "its call to `{}` was cut off at the largest number of tokens",
                self.name
            ))),
            Err(error) => Err(Fault::Call(format!(
                "the arguments of its call to `{}` are no JSON: {error}",
                self.name
            ))),
        }
    }
}

fn finish(reason: &str) -> Result<Finish, Fault> {
    match reason {
        "length" | "max_tokens" | "model_length" => Ok(Finish::Length),
        "tool_calls" | "function_call" => Ok(Finish::ToolCalls),
        "content_filter" | "safety" | "refusal" => {
            Err(Fault::Refused("a filter stopped the answer".to_owned()))
        }
        "error" | "abort" | "cancelled" => {
            Err(Fault::Broken(format!("the server says `{reason}`")))
        }
        // "stop" and what others call it: "eos", "end_turn", "stop_sequence".
        _ => Ok(Finish::Stop),
    }
}
