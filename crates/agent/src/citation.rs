//! Lets an answer through piece by piece, and with it only the numbers of passages that there are.
//!
//! A model cites by number, like `[2]` or `[1, 3]`. A number of no passage is dropped before anybody sees it. Code is
//! left as it is: `list[9]` cites nothing.

#[cfg(test)]
mod tests;

/// Longest text between brackets that can be numbers of passages, in bytes.
const GROUP_BYTES_MAX: usize = 32;

/// An answer on its way to the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citing {
    passages: usize,
    /// What may be the beginning of a citation, with the blank before it.
    held: String,
    cited: Vec<usize>,
    /// The last letter that was let through.
    last: Option<char>,
    ticks: Ticks,
}

/// Where the text stands between backticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ticks {
    /// Backticks that opened the present stretch of code; 0 outside of code.
    open: usize,
    /// Backticks just read.
    run: usize,
}

impl Ticks {
    fn read(&mut self, letter: char) {
        if letter == '`' {
            self.run += 1;
            return;
        }
        if self.run > 0 {
            if self.open == 0 {
                self.open = self.run;
            } else if self.run >= self.open {
                self.open = 0;
            }
            self.run = 0;
        }
    }

    fn is_code(self) -> bool {
        self.open > 0
    }
}

impl Citing {
    /// For an answer from so many passages.
    #[must_use]
    pub fn new(passages: usize) -> Self {
        Self {
            passages,
            held: String::new(),
            cited: Vec::new(),
            last: None,
            ticks: Ticks::default(),
        }
    }

    /// Takes the next piece and gives what can be shown of it.
    pub fn take(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len());
        for letter in piece.chars() {
            self.read(letter, &mut shown);
        }
        shown
    }

    /// Gives what was held back.
    pub fn end(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.last = held.chars().last().or(self.last);
        held
    }

    /// The numbers that were cited, in the order of their first appearance.
    #[must_use]
    pub fn cited(&self) -> &[usize] {
        &self.cited
    }

    fn read(&mut self, letter: char, shown: &mut String) {
        self.ticks.read(letter);
        if self.ticks.is_code() {
            shown.push_str(&self.end());
            self.show(letter, shown);
            return;
        }
        match (self.held.trim_start().is_empty(), letter) {
            (true, '[') => self.held.push('['),
            (true, ' ') => {
                shown.push_str(&self.end());
                self.held.push(' ');
            }
            (true, _) => {
                shown.push_str(&self.end());
                self.show(letter, shown);
            }
            (false, ']') => {
                self.held.push(']');
                let held = std::mem::take(&mut self.held);
                let group = self.group(&held);
                self.last = group.chars().last().or(self.last);
                shown.push_str(&group);
            }
            (false, '0'..='9' | ',' | ' ' | ';') if self.held.len() < GROUP_BYTES_MAX => {
                self.held.push(letter);
            }
            (false, _) => {
                shown.push_str(&self.end());
                self.read_again(letter, shown);
            }
        }
    }

    /// A letter that ended what was held may begin something itself.
    fn read_again(&mut self, letter: char, shown: &mut String) {
        if letter == '[' || letter == ' ' {
            self.held.push(letter);
        } else {
            self.show(letter, shown);
        }
    }

    fn show(&mut self, letter: char, shown: &mut String) {
        shown.push(letter);
        self.last = Some(letter);
    }

    /// What is shown of ` [1, 9]`: the numbers that there are, each in its own brackets.
    fn group(&mut self, held: &str) -> String {
        let inside = held.trim().trim_start_matches('[').trim_end_matches(']');
        let parts: Vec<&str> =
            inside.split([',', ';', ' ']).filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return held.to_owned();
        }
        let legal: Vec<usize> = parts
            .iter()
            .filter_map(|part| part.parse().ok())
            .filter(|number| (1..=self.passages).contains(number))
            .collect();
        let follows_name = !held.starts_with(' ')
            && self.last.is_some_and(|last| last.is_ascii_alphanumeric() || last == '_');
        if legal.is_empty() {
            // An index of something, perhaps; a citation stands behind a blank or a sentence.
            return if follows_name { held.to_owned() } else { String::new() };
        }
        for number in &legal {
            if !self.cited.contains(number) {
                self.cited.push(*number);
            }
        }
        let blank = if held.starts_with(' ') { " " } else { "" };
        legal.iter().fold(blank.to_owned(), |text, number| format!("{text}[{number}]"))
    }
}
