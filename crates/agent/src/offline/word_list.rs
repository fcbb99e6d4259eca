//! Lists of words that are written as a text and looked up as a set.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Words with blanks between them. The set is made when it is first asked.
pub(crate) struct WordList {
    text: &'static str,
    made: OnceLock<Made>,
}

struct Made {
    words: HashSet<&'static str>,
    /// Bytes of the longest one: no longer beginning or ending can be among them.
    longest: usize,
}

impl WordList {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, made: OnceLock::new() }
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.made().words.contains(word)
    }

    /// Whether some word of the list begins this one; those that `counts` alone.
    pub(crate) fn begins(&self, word: &str, counts: impl Fn(&str) -> bool) -> bool {
        let made = self.made();
        let ends = word.char_indices().map(|(place, letter)| place + letter.len_utf8());
        ends.take_while(|end| *end <= made.longest)
            .filter_map(|end| word.get(..end))
            .any(|start| made.words.contains(start) && counts(start))
    }

    /// The word without the longest of the list that it ends in; none if it ends in none.
    pub(crate) fn cut_off<'word>(&self, word: &'word str) -> Option<&'word str> {
        let made = self.made();
        let starts = word.char_indices().map(|(place, _)| place);
        starts
            .skip_while(|start| word.len() - start > made.longest)
            .filter_map(|start| word.split_at_checked(start))
            .find(|(_, ending)| made.words.contains(ending))
            .map(|(rest, _)| rest)
    }

    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let words: HashSet<&str> = self.text.split_whitespace().collect();
            let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
            Made { words, longest }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_at_the_beginning_and_at_the_end() {
        let list = WordList::new("에서 에서는 는 a ab");
        assert!(list.has("는") && list.has("ab") && !list.has("에"));
        assert!(list.begins("abc", |_| true) && list.begins("는다", |_| true));
        assert!(!list.begins("abc", |start| start.len() > 2) && !list.begins("다는", |_| true));
        assert_eq!(list.cut_off("콘솔에서는"), Some("콘솔"));
        assert_eq!(list.cut_off("콘솔은"), None);
        assert_eq!(list.cut_off("는"), Some(""));
        assert_eq!(list.cut_off(""), None);
    }
}
