//! Looks at a page's tags before it is parsed, and refuses what would blow the parser up.

use crate::ExtractError;
use crate::document::slice;
use crate::html::tags::{Tag, Token, Tokens, tokens};
use crate::limits::{Limits, within};

/// Most tags of a page: each becomes a node in memory.
const TAGS_MAX: usize = 1_000_000;
/// Formatting that is left open is opened again in every block after it; so many copies are bearable.
const REOPENED_MAX: usize = 2_000_000;

/// Special characters times the length of their text: some seconds of the parser's time.
const ESCAPE_WORK_MAX: usize = 40_000_000_000;

const VOID: [&str; 16] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "frame", "keygen",
];
/// These end by themselves where the next one begins.
const IMPLIED_END: [&str; 16] = [
    "a", "nobr", "p", "li", "td", "th", "tr", "dt", "dd", "option", "optgroup", "thead", "tbody",
    "tfoot", "html", "body",
];
const FORMATTING: [&str; 12] =
    ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"];
const RAW_TEXT: [&str; 9] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"];
/// Drawings close their shapes in the tag itself.
const SHAPES: [&str; 17] = [
    "path",
    "circle",
    "rect",
    "line",
    "polygon",
    "polyline",
    "ellipse",
    "use",
    "stop",
    "g",
    "image",
    "text",
    "mask",
    "animate",
    "fegaussianblur",
    "feoffset",
    "lineargradient",
];

/// How many tags the page has, if it is within the limits.
pub(super) fn check(html: &str, limits: &Limits) -> Result<usize, ExtractError> {
    let mut guard = Guard {
        limits,
        open: Vec::new(),
        formatting: 0,
        reopened: 0,
        in_drawing: false,
        text: Escapes::default(),
        escape_work: 0,
    };
    let mut tags = 0;
    let mut page = tokens(html);
    while let Some(token) = page.next() {
        let tag = match token {
            Token::Text(text) => {
                guard.text.add(text);
                continue;
            }
            Token::Open(tag) => Some(tag),
            Token::Close(name) => {
                guard.close(&name.to_ascii_lowercase());
                None
            }
        };
        guard.end_text()?;
        if let Some(tag) = tag {
            guard.tag(&tag, &mut page)?;
        }
        tags += 1;
        within("tags", tags, TAGS_MAX)?;
    }
    guard.end_text()?;
    Ok(tags)
}

struct Guard<'a> {
    limits: &'a Limits,
    open: Vec<String>,
    formatting: usize,
    reopened: usize,
    in_drawing: bool,
    /// The text since the last tag.
    text: Escapes,
    escape_work: usize,
}

/// Characters that are written as entities, and the bytes of the text they stand in.
#[derive(Default)]
struct Escapes {
    characters: usize,
    bytes: usize,
}

impl Escapes {
    fn add(&mut self, text: &str) {
        // 0xC2 begins the no-break space.
        let is_escaped = |byte: &u8| matches!(byte, b'&' | b'<' | b'>' | b'"' | 0xC2);
        self.characters += text.bytes().filter(is_escaped).count();
        self.bytes += text.len();
    }
}

impl Guard<'_> {
    fn tag(&mut self, tag: &Tag<'_>, page: &mut Tokens<'_>) -> Result<(), ExtractError> {
        within("attributes in one tag", tag.attribute_count(), self.limits.attributes_max)?;
        self.text.add(tag.attributes);
        self.end_text()?;
        let name = tag.name.to_ascii_lowercase();
        if RAW_TEXT.contains(&name.as_str()) {
            let before = page.rest();
            page.skip_past_close(&name);
            self.text.add(slice(before, 0..before.len() - page.rest().len()));
            return self.end_text();
        }
        self.open(name, tag.attributes.ends_with('/'))
    }

    /// Each escaped character costs a look at the whole text it stands in.
    fn end_text(&mut self) -> Result<(), ExtractError> {
        let Escapes { characters, bytes } = std::mem::take(&mut self.text);
        self.escape_work = self.escape_work.saturating_add(characters.saturating_mul(bytes));
        within("special characters in one text", self.escape_work, ESCAPE_WORK_MAX)
    }

    fn open(&mut self, name: String, is_self_closed: bool) -> Result<(), ExtractError> {
        let known = |names: &[&str]| names.contains(&name.as_str());
        self.in_drawing = name == "svg" || (self.in_drawing && known(&SHAPES));
        self.reopened += self.formatting;
        within("unclosed formatting tags", self.reopened, REOPENED_MAX)?;
        if known(&VOID) || known(&IMPLIED_END) || (self.in_drawing && is_self_closed) {
            return Ok(());
        }
        self.formatting += usize::from(known(&FORMATTING));
        self.open.push(name);
        let limit = self.limits.nesting_max;
        if self.open.len() > limit { Err(ExtractError::TooDeep { limit }) } else { Ok(()) }
    }

    /// Closes the innermost open element of that name and all that are open inside it.
    fn close(&mut self, name: &str) {
        if FORMATTING.contains(&name) {
            self.formatting = self.formatting.saturating_sub(1);
        }
        if let Some(at) = self.open.iter().rposition(|open| open == name) {
            self.open.truncate(at);
        }
    }
}
