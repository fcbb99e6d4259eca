//! Shows Markdown on a terminal while it comes in, and text as it is elsewhere.

use std::io::{IsTerminal, Write};

use anyhow::Result;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// Text on its way to standard output.
pub(crate) struct Terminal {
    is_styled: bool,
    markdown: Markdown,
}

impl Terminal {
    /// With signs and colours if somebody looks at it.
    pub(crate) fn new() -> Self {
        Self { is_styled: std::io::stdout().is_terminal(), markdown: Markdown::default() }
    }

    /// Shows the next piece at once.
    pub(crate) fn show(&mut self, text: &str) -> Result<()> {
        let styled = if self.is_styled { self.markdown.style(text) } else { text.to_owned() };
        write(&styled)
    }

    /// Ends the text.
    pub(crate) fn end(&mut self) -> Result<()> {
        let rest = if self.is_styled { self.markdown.end() } else { String::new() };
        write(&format!("{rest}\n"))
    }

    /// A line beside the text, such as a source.
    pub(crate) fn aside(&self, text: &str) -> Result<()> {
        if self.is_styled {
            write(&format!("{DIM}{text}{PLAIN}\n"))
        } else {
            write(&format!("{text}\n"))
        }
    }
}

/// A reader that has gone away is no error: `saem ask … | head` is fine.
fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Where in the text we are.
#[derive(Default)]
struct Markdown {
    /// Signs that have no meaning yet: a star may be followed by another.
    held: String,
    is_bold: bool,
    is_code: bool,
    is_block: bool,
    is_heading: bool,
    /// Something other than blanks stands in the line.
    line_has_text: bool,
}

impl Markdown {
    fn style(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            // What a document says must not steer the terminal.
            let letter =
                if letter.is_control() && !matches!(letter, '\n' | '\t') { ' ' } else { letter };
            self.read(letter, &mut out);
        }
        out
    }

    fn end(&mut self) -> String {
        let mut out = String::new();
        self.settle(None, &mut out);
        if self.is_bold || self.is_code || self.is_block || self.is_heading {
            out.push_str(PLAIN);
        }
        *self = Self::default();
        out
    }

    fn read(&mut self, letter: char, out: &mut String) {
        if self.held.starts_with(letter) {
            self.held.push(letter);
            return;
        }
        self.settle(Some(letter), out);
        let opens = match letter {
            '*' => !self.is_code && !self.is_block,
            '`' => true,
            '#' => !self.line_has_text && !self.is_block,
            _ => false,
        };
        if opens {
            self.held.push(letter);
            return;
        }
        if letter == '\n' {
            if self.is_heading {
                out.push_str(PLAIN);
                self.is_heading = false;
            }
            self.line_has_text = false;
        } else if !letter.is_whitespace() {
            self.line_has_text = true;
        }
        out.push(letter);
    }

    /// Gives the held signs their meaning, now that it is known what follows.
    fn settle(&mut self, next: Option<char>, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        let at_start = !self.line_has_text;
        match held.as_str() {
            "" => {}
            "**" => {
                self.is_bold = !self.is_bold;
                out.push_str(if self.is_bold { BOLD } else { PLAIN });
            }
            "`" if !self.is_block => {
                self.is_code = !self.is_code;
                out.push_str(if self.is_code { CYAN } else { PLAIN });
            }
            "```" if at_start => {
                self.is_block = !self.is_block;
                out.push_str(if self.is_block { CYAN } else { PLAIN });
            }
            hashes if hashes.starts_with('#') && at_start && next == Some(' ') => {
                self.is_heading = true;
                out.push_str(BOLD);
            }
            other => {
                out.push_str(other);
                self.line_has_text = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut whole = Markdown::default();
        assert_eq!(whole.style(text) + &whole.end(), expected, "{text}");
        let mut pieces = Markdown::default();
        let letters = text.chars().map(|letter| pieces.style(&letter.to_string()));
        let mut shown: String = letters.collect();
        shown.push_str(&pieces.end());
        assert_eq!(shown, expected, "{text} by letters");
    }

    #[test]
    fn what_is_marked_is_shown_marked_however_it_comes() {
        check("a **b** c", "a \x1b[1mb\x1b[0m c");
        check("use `x` now", "use \x1b[36mx\x1b[0m now");
        check("## 제목\n글", "\x1b[1m 제목\x1b[0m\n글");
        check("```\na **b**\n```\nc", "\x1b[36m\na **b**\n\x1b[0m\nc");
    }

    #[test]
    fn what_means_nothing_stays() {
        check("2 * 3 # 4", "2 * 3 # 4");
        check("* item", "* item");
        check("#hash", "#hash");
    }

    #[test]
    fn an_open_mark_is_closed_at_the_end_and_nothing_steers_the_terminal() {
        check("a **b", "a \x1b[1mb\x1b[0m");
        check("\x1b[2Jx\x07", " [2Jx ");
    }
}
