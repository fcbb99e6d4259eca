//! Markdown as HTML that can do nothing: a short list of tags, no address but of web pages and mail, and text as text.
//!
//! HTML inside the Markdown is shown as the text it is. Images are shown by their words: nothing is ever fetched for
//! whoever reads an answer. Marks that turn or hide letters are dropped, so that what is read is what is there.

use agent::tools::suspicion::clean;
use pulldown_cmark::{
    Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd, TextMergeStream,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Longest text that is read as Markdown, in bytes: several times the longest answer. A longer one is shown as it is.
const MARKDOWN_BYTES_MAX: usize = 256 << 10;

/// Longest number of a passage, in digits.
const NUMBER_DIGITS_MAX: usize = 3;

/// A sign of punctuation of a script that no answer is written in.
const SIDE_MARK: char = '\u{a874}';

/// Addresses that a link may have.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// How the blocks of a text differ from what they were: the first `keep` stay, those after them are new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HtmlChange {
    pub keep: usize,
    pub blocks: Vec<String>,
}

/// A text that grows, and its blocks.
#[derive(Debug, Default)]
pub struct Growing {
    text: String,
    blocks: Vec<String>,
}

impl Growing {
    /// Takes the next piece in and says which blocks are others now.
    pub fn push(&mut self, piece: &str) -> HtmlChange {
        self.text.push_str(piece);
        let now = blocks(&self.text);
        let keep = self.blocks.iter().zip(&now).take_while(|(old, new)| old == new).count();
        let new = now.iter().skip(keep).cloned().collect();
        self.blocks = now;
        HtmlChange { keep, blocks: new }
    }
}

/// The blocks of a Markdown text, each a piece of HTML that is whole by itself.
#[must_use]
pub fn blocks(markdown: &str) -> Vec<String> {
    let markdown = eased(&clean(markdown));
    if markdown.len() > MARKDOWN_BYTES_MAX {
        return vec![format!("<pre>{}</pre>", escaped(&markdown))];
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in TextMergeStream::new(Parser::new_ext(&markdown, options)) {
        writer.take(event);
    }
    writer.end_block();
    writer.blocks
}

/// Emphasis as people write it in Korean: `**50%**이고`, `한도**(월)**는`. Markdown's rule takes such stars for stars, as it expects a
/// blank between words; a mark at their side that counts as punctuation makes them count. It is never written out.
fn eased(markdown: &str) -> String {
    let mut eased = String::with_capacity(markdown.len());
    let mut is_open = false;
    for (place, part) in markdown.replace(SIDE_MARK, "").split("**").enumerate() {
        if place > 0 {
            let (before, after) = (eased.chars().next_back(), part.chars().next());
            let opens_late = !is_open && is_joined(before) && after.is_some_and(is_sign);
            let closes_early = is_open && before.is_some_and(is_sign) && is_joined(after);
            eased.extend(opens_late.then_some(SIDE_MARK));
            eased.push_str("**");
            eased.extend(closes_early.then_some(SIDE_MARK));
            is_open = !is_open;
        }
        // Emphasis does not reach over a paragraph's end.
        is_open &= !part.contains("\n\n");
        eased.push_str(part);
    }
    eased
}

/// Whether this letter stands in a row without blanks: no letter that Markdown knows words by.
fn is_joined(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter.is_alphabetic() && !letter.is_ascii())
}

fn is_sign(letter: char) -> bool {
    !letter.is_alphanumeric() && !letter.is_whitespace()
}

#[derive(Default)]
struct Writer {
    blocks: Vec<String>,
    block: String,
    depth: usize,
    /// Open stretches of code, in which a number in brackets cites nothing.
    code_depth: usize,
    /// For each open link, whether it has an address that may be followed.
    links: Vec<bool>,
    alignments: Vec<Alignment>,
    column: usize,
    is_head: bool,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                self.start(tag);
            }
            Event::End(tag) => {
                self.end(tag);
                self.depth = self.depth.saturating_sub(1);
            }
            Event::Text(text) if self.code_depth > 0 => self.block.push_str(&escaped(&text)),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.block.push_str(&cited(&text));
            }
            Event::Code(text) => self.push(&["<code>", &escaped(&text), "</code>"]),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.block.push_str(&escaped(&text))
            }
            Event::SoftBreak => self.block.push('\n'),
            Event::HardBreak => self.block.push_str("<br>"),
            Event::Rule => self.block.push_str("<hr>"),
            Event::TaskListMarker(done) => self.block.push_str(if done { "☑ " } else { "☐ " }),
        }
        if self.depth == 0 {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        if !self.block.trim().is_empty() {
            self.blocks.push(std::mem::take(&mut self.block));
        }
        self.block.clear();
    }

    fn push(&mut self, parts: &[&str]) {
        parts.iter().for_each(|part| self.block.push_str(part));
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block.push_str("<p>"),
            Tag::Heading { level, .. } => self.push(&["<h", heading(level as usize), ">"]),
            Tag::BlockQuote(_) => self.block.push_str("<blockquote>"),
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::List(Some(1)) => self.block.push_str("<ol>"),
            Tag::List(Some(first)) => self.push(&["<ol start=\"", &first.to_string(), "\">"]),
            Tag::List(None) => self.block.push_str("<ul>"),
            Tag::Item => self.block.push_str("<li>"),
            Tag::Emphasis => self.block.push_str("<em>"),
            Tag::Strong => self.block.push_str("<strong>"),
            Tag::Strikethrough => self.block.push_str("<del>"),
            Tag::Link { dest_url, .. } => self.start_link(&dest_url),
            // Its words stand for it.
            Tag::Image { .. } => self.block.push_str("<em>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.block.push_str("<table>");
            }
            Tag::TableHead => {
                (self.is_head, self.column) = (true, 0);
                self.block.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.block.push_str("<tr>");
            }
            Tag::TableCell => self.start_cell(),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.block.push_str("</p>"),
            TagEnd::Heading(level) => self.push(&["</h", heading(level as usize), ">"]),
            TagEnd::BlockQuote(_) => self.block.push_str("</blockquote>"),
            TagEnd::CodeBlock => {
                self.code_depth = self.code_depth.saturating_sub(1);
                self.block.push_str("</code></pre>");
            }
            TagEnd::List(true) => self.block.push_str("</ol>"),
            TagEnd::List(false) => self.block.push_str("</ul>"),
            TagEnd::Item => self.block.push_str("</li>"),
            TagEnd::Emphasis | TagEnd::Image => self.block.push_str("</em>"),
            TagEnd::Strong => self.block.push_str("</strong>"),
            TagEnd::Strikethrough => self.block.push_str("</del>"),
            TagEnd::Link => {
                let is_open = self.links.pop().unwrap_or_default();
                self.block.push_str(if is_open { "</a>" } else { "" });
            }
            TagEnd::Table => self.block.push_str("</tbody></table>"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.block.push_str("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.block.push_str("</tr>"),
            TagEnd::TableCell => self.block.push_str(if self.is_head { "</th>" } else { "</td>" }),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.code_depth += 1;
        let words = match kind {
            CodeBlockKind::Fenced(words) => words.split_whitespace().next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "+-#._".contains(letter);
        match !words.is_empty() && words.chars().all(is_plain) {
            true => self.push(&["<pre><code class=\"language-", words, "\">"]),
            false => self.block.push_str("<pre><code>"),
        }
    }

    fn start_link(&mut self, address: &str) {
        let lower = address.trim().to_ascii_lowercase();
        let is_open = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
        self.links.push(is_open);
        if is_open {
            let address = escaped(address.trim());
            let rest = "\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">";
            self.push(&["<a href=\"", &address, rest]);
        }
    }

    fn start_cell(&mut self) {
        let side = match self.alignments.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            Some(Alignment::Left | Alignment::None) | None => "",
        };
        self.column += 1;
        self.push(&[if self.is_head { "<th" } else { "<td" }, side, ">"]);
    }
}

/// An answer stands under the page's own headings: its first level is the third.
fn heading(level: usize) -> &'static str {
    match level {
        0 | 1 => "3",
        2 => "4",
        3 => "5",
        _ => "6",
    }
}

/// The text with what HTML would read otherwise written out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            SIDE_MARK => {}
            letter => out.push(letter),
        }
    }
    out
}

/// The text, escaped, with `[2]` and `[1, 3]` as something that can be pressed.
fn cited(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(&escaped(before));
        let group =
            after.split_once(']').and_then(|(inside, after)| Some((numbers(inside)?, after)));
        match group {
            Some((numbers, after)) => {
                for number in numbers {
                    let digits = number.to_string();
                    out.push_str("<button type=\"button\" class=\"cite\" data-cite=\"");
                    out.push_str(&digits);
                    out.push_str("\">");
                    out.push_str(&digits);
                    out.push_str("</button>");
                }
                rest = after;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(&escaped(rest));
    out
}

/// The numbers of passages between two brackets, if that is what stands there.
fn numbers(inside: &str) -> Option<Vec<u16>> {
    let number = |part: &str| {
        let part = part.trim();
        let is_one = !part.is_empty()
            && part.len() <= NUMBER_DIGITS_MAX
            && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|number| is_one && *number > 0)
    };
    inside.split(',').map(number).collect()
}
