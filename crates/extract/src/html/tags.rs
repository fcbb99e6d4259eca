//! Cuts HTML into tags and text, one after the other.

/// What stands at a place of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Text(&'a str),
    Open(Tag<'a>),
    Close(&'a str),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    pub(super) attributes: &'a str,
}

impl<'a> Tag<'a> {
    /// The value of an attribute, as it is written.
    pub(super) fn attribute(&self, wanted: &str) -> Option<&'a str> {
        Attributes { rest: self.attributes }
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value)
    }

    pub(super) fn attribute_count(&self) -> usize {
        Attributes { rest: self.attributes }.count()
    }
}

/// Names and values of attributes, in order.
struct Attributes<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        let is_name_end =
            |at: usize, c: char| at > 0 && (c == '=' || c == '/' || c.is_ascii_whitespace());
        let name_end = rest
            .char_indices()
            .find(|(at, c)| is_name_end(*at, *c))
            .map_or(rest.len(), |(at, _)| at);
        let (name, after) = rest.split_at_checked(name_end)?;
        let Some(value) = after.trim_ascii_start().strip_prefix('=') else {
            self.rest = after;
            return Some((name, ""));
        };
        let value = value.trim_ascii_start();
        let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (value, rest) = match quote {
            Some(quote) => {
                let inner = value.strip_prefix(quote).unwrap_or(value);
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            None => {
                let end = value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len());
                value.split_at_checked(end)?
            }
        };
        self.rest = rest;
        Some((name, value))
    }
}

pub(super) struct Tokens<'a> {
    rest: &'a str,
}

pub(super) fn tokens(html: &str) -> Tokens<'_> {
    Tokens { rest: html }
}

impl<'a> Tokens<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Leaves out everything up to the closing tag of that name, or up to the end.
    pub(super) fn skip_past_close(&mut self, name: &str) {
        let mut rest = self.rest;
        while let Some((_, after)) = rest.split_once("</") {
            let is_close =
                after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
            if is_close {
                self.rest = after.split_once('>').map_or("", |(_, after)| after);
                return;
            }
            rest = after;
        }
        self.rest = "";
    }

    /// Leaves out the rest of an element that has just been opened, with all that is in it.
    pub(super) fn skip_past_balanced(&mut self, name: &str) {
        if matches!(name, "script" | "style" | "noscript" | "iframe") {
            return self.skip_past_close(name);
        }
        let mut depth = 1usize;
        while let Some(token) = self.next() {
            match token {
                Token::Open(tag) if tag.name == name => depth += 1,
                Token::Open(tag)
                    if matches!(tag.name, "script" | "style" | "noscript" | "iframe") =>
                {
                    self.skip_past_close(tag.name);
                }
                Token::Close(closed) if closed == name => depth -= 1,
                Token::Open(_) | Token::Close(_) | Token::Text(_) => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let bytes = self.rest.as_bytes();
            match bytes {
                [] => return None,
                [b'<', b'a'..=b'z' | b'A'..=b'Z', ..] => {
                    let tag = self.take(tag_length(bytes));
                    return Some(Token::Open(parts(tag)));
                }
                [b'<', b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => {
                    let tag = self.take(tag_length(bytes));
                    let name = tag.get(2..).unwrap_or_default();
                    return Some(Token::Close(name_of(name)));
                }
                [b'<', b'!', b'-', b'-', ..] => {
                    let end = self.rest.find("-->").map_or(bytes.len(), |at| at + 3);
                    self.take(end);
                }
                [b'<', b'!' | b'?' | b'/', ..] => {
                    let end = self.rest.find('>').map_or(bytes.len(), |at| at + 1);
                    self.take(end);
                }
                _ => {
                    let end = bytes.iter().skip(1).position(|byte| *byte == b'<');
                    return Some(Token::Text(self.take(end.map_or(bytes.len(), |at| at + 1))));
                }
            }
        }
    }
}

/// Bytes up to and with the `>` that ends a tag; one in quotes does not.
fn tag_length(bytes: &[u8]) -> usize {
    let mut quote = None;
    let mut after_equals = false;
    for (at, &byte) in bytes.iter().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None => match byte {
                b'>' => return at + 1,
                b'"' | b'\'' if after_equals => quote = Some(byte),
                _ => {}
            },
        }
        if !byte.is_ascii_whitespace() {
            after_equals = byte == b'=';
        }
    }
    bytes.len()
}

fn parts(tag: &str) -> Tag<'_> {
    let inner = tag.strip_prefix('<').unwrap_or(tag);
    let inner = inner.strip_suffix('>').unwrap_or(inner);
    let name = name_of(inner);
    Tag { name, attributes: inner.get(name.len()..).unwrap_or_default() }
}

fn name_of(inner: &str) -> &str {
    let end = inner.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>');
    inner.get(..end.unwrap_or(inner.len())).unwrap_or_default()
}
