//! Tells what a model thinks aloud, between tags at the beginning of its text, from what it answers.

use agent::model::ModelEvent;

/// How thinking begins and ends: DeepSeek, Qwen and most others; some fine-tunes.
const TAGS: &[(&str, &str)] = &[("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Where in the text we are. What may be the beginning of a tag is held back until that is known.
#[derive(Debug)]
enum Place {
    /// Nothing but blanks so far, and perhaps a part of a tag.
    Beginning(String),
    Thinking {
        held: String,
        end: &'static str,
    },
    /// Nothing but blanks since the thinking ended.
    AfterThinking,
    Answer,
}

/// Adds words of an answer. Those that have come together are one event: each costs whoever it passes as much as a page would.
pub(super) fn add_words(words: &str, events: &mut Vec<ModelEvent>) {
    match events.last_mut() {
        _ if words.is_empty() => {}
        Some(ModelEvent::Text(before)) => before.push_str(words),
        _ => events.push(ModelEvent::Text(words.to_owned())),
    }
}

/// Takes text in pieces, gives events. Blanks before the answer are dropped: many models write some first.
#[derive(Debug)]
pub(super) struct ThinkingSplitter {
    place: Place,
}

impl ThinkingSplitter {
    pub(super) fn new() -> Self {
        Self { place: Place::Beginning(String::new()) }
    }

    pub(super) fn push(&mut self, piece: &str, events: &mut Vec<ModelEvent>) {
        match &mut self.place {
            Place::Beginning(held) => {
                held.push_str(piece);
                let text = held.trim_start().to_owned();
                self.begin(text, events);
            }
            Place::Thinking { held, end } => {
                held.push_str(piece);
                let (text, end) = (std::mem::take(held), *end);
                self.think(&text, end, events);
            }
            Place::AfterThinking => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    self.place = Place::Answer;
                    events.push(ModelEvent::Text(text.to_owned()));
                }
            }
            Place::Answer => add_words(piece, events),
        }
    }

    /// Gives what was held back, now that no more comes.
    pub(super) fn finish(&mut self, events: &mut Vec<ModelEvent>) {
        match std::mem::replace(&mut self.place, Place::Answer) {
            Place::Beginning(held) if !held.is_empty() => events.push(ModelEvent::Text(held)),
            Place::Thinking { held, .. } if !held.is_empty() => {
                events.push(ModelEvent::Reasoning(held));
            }
            Place::Beginning(_) | Place::Thinking { .. } | Place::AfterThinking | Place::Answer => {
            }
        }
    }

    fn begin(&mut self, text: String, events: &mut Vec<ModelEvent>) {
        for (begin, end) in TAGS {
            if let Some(thoughts) = text.strip_prefix(begin) {
                return self.think(thoughts, end, events);
            }
        }
        if TAGS.iter().any(|(begin, _)| begin.starts_with(&text)) {
            self.place = Place::Beginning(text);
            return;
        }
        self.place = Place::Answer;
        events.push(ModelEvent::Text(text));
    }

    fn think(&mut self, text: &str, end: &'static str, events: &mut Vec<ModelEvent>) {
        let (thoughts, answer) = match text.split_once(end) {
            Some((thoughts, answer)) => (thoughts, Some(answer)),
            None => (text, None),
        };
        let held = if answer.is_some() { 0 } else { overlap(thoughts, end) };
        let (thoughts, held) = thoughts.split_at(thoughts.len() - held);
        if !thoughts.is_empty() {
            events.push(ModelEvent::Reasoning(thoughts.to_owned()));
        }
        match answer {
            None => self.place = Place::Thinking { held: held.to_owned(), end },
            Some(answer) => {
                self.place = Place::AfterThinking;
                self.push(answer, events);
            }
        }
    }
}

/// The length of the longest end of `text` that is a beginning of `tag`.
fn overlap(text: &str, tag: &str) -> usize {
    (1..tag.len())
        .rev()
        .find(|length| tag.get(..*length).is_some_and(|part| text.ends_with(part)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thinking and the answer of a text, however it is cut.
    #[track_caller]
    fn check(text: &str, thoughts: &str, answer: &str) {
        let letters: Vec<String> = text.chars().map(String::from).collect();
        for size in [1, 2, 3, 7, letters.len().max(1)] {
            let (mut splitter, mut events) = (ThinkingSplitter::new(), Vec::new());
            for piece in letters.chunks(size) {
                splitter.push(&piece.concat(), &mut events);
            }
            splitter.finish(&mut events);
            let (mut found, mut thought) = (String::new(), String::new());
            for event in events {
                match event {
                    ModelEvent::Text(piece) => found.push_str(&piece),
                    ModelEvent::Reasoning(piece) => thought.push_str(&piece),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!((thought.as_str(), found.as_str()), (thoughts, answer), "by {size}: {text}");
        }
    }

    #[test]
    fn what_stands_between_the_tags_is_no_answer() {
        check("<think>흠 <b></think>\n\n샘물 </think> <think>", "흠 <b>", "샘물 </think> <think>");
        check("\n <thinking>a</thinking>b", "a", "b");
        check("<think></think>  b  c", "", "b  c");
        check("<think>never closed </thi", "never closed </thi", "");
    }

    #[test]
    fn tags_count_at_the_beginning_only() {
        check("a <think>b</think>", "", "a <think>b</think>");
        check("<thin ice", "", "<thin ice");
        check("<thi", "", "<thi");
        check("  \n a b ", "", "a b ");
        check(" \n", "", "");
    }

    #[test]
    fn nothing_is_held_back_that_cannot_be_a_tag() {
        let (mut splitter, mut events) = (ThinkingSplitter::new(), Vec::new());
        splitter.push("<b", &mut events);
        assert_eq!(events, [ModelEvent::Text("<b".to_owned())]);
    }
}
