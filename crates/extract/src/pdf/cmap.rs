//! Reads the tables in which a PDF says what its character codes mean.

use std::collections::BTreeMap;

/// Most entries of one table: more than all characters that a font can have.
const ENTRIES_MAX: usize = 70_000;

#[derive(Debug, Default)]
pub(super) struct CMap {
    characters: BTreeMap<u32, String>,
    /// From the first code of a range: its last code, and what the first one means.
    ranges: BTreeMap<u32, (u32, String)>,
    /// Whether codes of one byte occur.
    pub(super) has_short_codes: bool,
}

impl CMap {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut section = Section::None;
        let mut values = Vec::new();
        let mut tokens = Tokens { bytes };
        while let Some(token) = tokens.next() {
            if map.characters.len() + map.ranges.len() > ENTRIES_MAX {
                break;
            }
            match token {
                Token::Word(b"begincodespacerange") => section = Section::Space,
                Token::Word(b"beginbfchar") => section = Section::Characters,
                Token::Word(b"beginbfrange") => section = Section::Ranges,
                Token::Word(word) if word.starts_with(b"end") => {
                    section = Section::None;
                    values.clear();
                }
                Token::Word(_) => {}
                Token::Hex(value) => values.push(Value::Code(value)),
                Token::List(items) => values.push(Value::List(items)),
            }
            map.take(section, &mut values);
        }
        map
    }

    /// What a code means, if the table says so.
    pub(super) fn get(&self, code: u32) -> Option<String> {
        if let Some(text) = self.characters.get(&code) {
            return Some(text.clone());
        }
        let (first, (last, text)) = self.ranges.range(..=code).next_back()?;
        (code <= *last).then(|| advanced(text, code - first)).flatten()
    }

    fn take(&mut self, section: Section, values: &mut Vec<Value>) {
        match (section, values.as_slice()) {
            (Section::Space, [Value::Code(low), Value::Code(_)]) => {
                self.has_short_codes |= low.len() == 1;
            }
            (Section::Characters, [Value::Code(code), Value::Code(text)]) => {
                self.characters.insert(number(code), utf_16(text));
            }
            (Section::Ranges, [Value::Code(low), Value::Code(high), Value::Code(text)]) => {
                self.ranges.insert(number(low), (number(high), utf_16(text)));
            }
            (Section::Ranges, [Value::Code(low), Value::Code(_), Value::List(texts)]) => {
                let codes = number(low)..=u32::MAX;
                self.characters.extend(codes.zip(texts.iter().map(|text| utf_16(text))));
            }
            _ => return,
        }
        values.clear();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Space,
    Characters,
    Ranges,
}

enum Value {
    Code(Vec<u8>),
    List(Vec<Vec<u8>>),
}

fn number(code: &[u8]) -> u32 {
    code.iter().fold(0, |number, byte| number.wrapping_shl(8) | u32::from(*byte))
}

fn utf_16(bytes: &[u8]) -> String {
    encoding_rs::UTF_16BE.decode_without_bom_handling(bytes).0.into_owned()
}

/// The text with its last character moved on.
fn advanced(text: &str, by: u32) -> Option<String> {
    let mut characters = text.chars();
    let last = characters.next_back()?;
    let moved = char::from_u32(u32::from(last).checked_add(by)?)?;
    Some(characters.chain([moved]).collect())
}

enum Token<'a> {
    Word(&'a [u8]),
    Hex(Vec<u8>),
    List(Vec<Vec<u8>>),
}

struct Tokens<'a> {
    bytes: &'a [u8],
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.bytes = self.bytes.trim_ascii_start();
            match self.bytes {
                [] => return None,
                [b'<', b'<', rest @ ..] | [b'>' | b']' | b')', rest @ ..] => self.bytes = rest,
                [b'<', ..] => return Some(Token::Hex(self.hex())),
                [b'[', rest @ ..] => {
                    self.bytes = rest;
                    return Some(Token::List(self.list()));
                }
                [b'%', ..] => self.skip_until(|byte| byte == b'\n' || byte == b'\r'),
                [first, rest @ ..] => {
                    let is_end =
                        |byte: &u8| byte.is_ascii_whitespace() || b"<>[]%/()".contains(byte);
                    let end = rest.iter().position(is_end).unwrap_or(rest.len());
                    let word = self.bytes.get(..end + 1).unwrap_or(std::slice::from_ref(first));
                    self.bytes = rest.get(end..).unwrap_or_default();
                    return Some(Token::Word(word));
                }
            }
        }
    }

    fn skip_until(&mut self, is_end: impl Fn(u8) -> bool) {
        let end = self.bytes.iter().position(|byte| is_end(*byte)).unwrap_or(self.bytes.len());
        self.bytes = self.bytes.get(end..).unwrap_or_default();
    }

    /// The bytes of a hexadecimal text at the beginning.
    fn hex(&mut self) -> Vec<u8> {
        let end = self.bytes.iter().position(|byte| *byte == b'>').unwrap_or(self.bytes.len());
        let digits = self.bytes.get(1..end).unwrap_or_default();
        let digits: Vec<u8> = digits
            .iter()
            .filter_map(|byte| char::from(*byte).to_digit(16))
            .filter_map(|digit| u8::try_from(digit).ok())
            .collect();
        self.bytes = self.bytes.get(end + 1..).unwrap_or_default();
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
    }

    fn list(&mut self) -> Vec<Vec<u8>> {
        let mut items = Vec::new();
        loop {
            self.bytes = self.bytes.trim_ascii_start();
            match self.bytes {
                [b'<', ..] => items.push(self.hex()),
                [b']', rest @ ..] => {
                    self.bytes = rest;
                    return items;
                }
                [] => return items,
                [_, rest @ ..] => self.bytes = rest,
            }
        }
    }
}
