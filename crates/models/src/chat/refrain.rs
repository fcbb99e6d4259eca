//! What the pieces of a stream repeat around their words: where all else is the same, the words are read without the rest.
//!
//! A piece is some two hundred bytes around a word, and most of them are the bytes of the piece before. If a piece was read
//! and found to be nothing but its words, then one that begins and ends as it did, with other words between, is as well.

/// The name under which the words of a piece stand.
const CONTENT: &str = "\"content\"";

/// What stood before and behind the words of a piece that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refrain {
    before: String,
    behind: String,
}

impl Refrain {
    /// What is around the words in a piece that was nothing but them; none where that is not certain.
    pub(super) fn of(piece: &str, words: &str) -> Option<Self> {
        let (_, rest) = piece.split_once(CONTENT).filter(|(_, rest)| !rest.contains(CONTENT))?;
        let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        let behind = value.strip_prefix(words).filter(|behind| behind.starts_with('"'))?;
        let before = piece.get(..piece.len() - value.len())?;
        is_plain(words).then(|| Self { before: before.to_owned(), behind: behind.to_owned() })
    }

    /// The words of a piece that is the same but for them.
    pub(super) fn words<'a>(&self, piece: &'a str) -> Option<&'a str> {
        let words = piece.strip_prefix(&*self.before)?.strip_suffix(&*self.behind)?;
        is_plain(words).then_some(words)
    }
}

/// Whether JSON writes the text as it is, so that nothing in it can end it.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn piece(words: &str) -> String {
        let choice = json!({"index": 0, "delta": {"content": words}, "finish_reason": null});
        json!({"id": "1", "model": "word", "choices": [choice]}).to_string()
    }

    #[test]
    fn the_words_of_the_next_piece_are_found() {
        let refrain = Refrain::of(&piece("word"), "word").unwrap();
        for words in ["", " next", "다음", "a: {b}, [c]", "word"] {
            assert_eq!(refrain.words(&piece(words)), Some(words));
        }
        let spaced = r#"{"choices": [{"delta" : {"content" : "a"}}]}"#;
        let refrain = Refrain::of(spaced, "a").unwrap();
        assert_eq!(refrain.words(&spaced.replace("\"a\"", "\"bc\"")), Some("bc"));
    }

    #[test]
    fn what_is_not_the_same_but_for_its_words_is_left_to_be_read() {
        let refrain = Refrain::of(&piece("word"), "word").unwrap();
        assert_eq!(refrain.words(&piece("a\nb")), None, "written otherwise");
        assert_eq!(refrain.words(&piece("say \"so\"")), None);
        assert_eq!(refrain.words(&piece("back\\slash")), None);
        assert_eq!(refrain.words(&piece("word").replace("null", "\"stop\"")), None);
        assert_eq!(refrain.words(r#"{"error":{"message":"word"}}"#), None);
        let more = piece("a").replace("{\"content\":\"a\"}", r#"{"content":"a","reasoning":"b"}"#);
        assert_eq!(refrain.words(&more), None);
        assert_eq!(refrain.words(""), None);
    }

    #[test]
    fn where_the_words_stand_has_to_be_certain() {
        assert_eq!(Refrain::of(&piece("a\nb"), "a\nb"), None);
        assert_eq!(Refrain::of(&piece("word"), "other"), None);
        assert_eq!(Refrain::of(r#"{"content":"a","x":{"content":"a"}}"#, "a"), None);
        assert_eq!(Refrain::of(r#"{"content":["a"]}"#, "a"), None);
        assert_eq!(Refrain::of(r#"{"text":"a"}"#, "a"), None);
        assert_eq!(Refrain::of(&piece("a").replace("\"1\"", CONTENT), "a"), None);
    }

    proptest! {
        #[test]
        fn words_are_what_reading_the_piece_gives(
            first in "[a-z가-힣 ]{0,6}",
            words in "[a-z가-힣 \"\\\\\n{}:,]{0,12}",
            raw in any::<bool>(),
        ) {
            let refrain = Refrain::of(&piece(&first), &first).unwrap();
            // Also what no server should send: words that were put in as they are.
            let next = if raw { piece("@").replace('@', &words) } else { piece(&words) };
            if let Some(found) = refrain.words(&next) {
                let read: Value = serde_json::from_str(&next).unwrap();
                prop_assert_eq!(&read, &serde_json::from_str::<Value>(&piece(found)).unwrap());
            }
        }
    }
}
