//! Reads a SentencePiece model: its pieces, and the table of its normalizer.

use std::error::Error;

use super::forms::Forms;

/// The character that stands for a space at the start of a word.
pub(crate) const WORD_START: char = '\u{2581}';

/// A piece's kind where the model says nothing: ordinary text.
const KIND_NORMAL: u64 = 1;
/// Numbers of fields in the model, in a piece, and in the normalizer's settings.
const MODEL_PIECE: u64 = 1;
const MODEL_NORMALIZER: u64 = 3;
const PIECE_TEXT: u64 = 1;
const PIECE_SCORE: u64 = 2;
const PIECE_KIND: u64 = 3;
const NORMALIZER_TABLE: u64 = 2;

/// What is needed of the model.
pub(crate) struct Model {
    pub(crate) pieces: Vec<Piece>,
    /// What is written how: the form found in text, and the form pieces have.
    pub(crate) forms: Forms,
}

/// A piece; its number in the model is its position.
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) score: f32,
    /// Whether it stands for text, rather than being a mark.
    pub(crate) is_text: bool,
}

impl Piece {
    /// The text behind the mark of a word's start.
    pub(crate) fn body(&self) -> &str {
        self.text.strip_prefix(WORD_START).unwrap_or(&self.text)
    }
}

impl Model {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut pieces = Vec::new();
        let mut forms = Forms::new();
        for (field, value) in fields(bytes)? {
            match (field, value) {
                (MODEL_PIECE, Value::Bytes(piece)) => pieces.push(read_piece(piece)?),
                (MODEL_NORMALIZER, Value::Bytes(settings)) => {
                    for (field, value) in fields(settings)? {
                        if let (NORMALIZER_TABLE, Value::Bytes(table)) = (field, value) {
                            forms = read_forms(table)?;
                        }
                    }
                }
                _ => {}
            }
        }
        if forms.is_empty() { Err("no normalizer".into()) } else { Ok(Self { pieces, forms }) }
    }

    /// The score of a character that has no piece: worse than any piece's.
    pub(crate) fn unknown_score(&self) -> f32 {
        self.pieces.iter().map(|piece| piece.score).fold(0.0, f32::min) - 10.0
    }
}

fn read_piece(bytes: &[u8]) -> Result<Piece, Box<dyn Error>> {
    let mut piece = Piece { text: String::new(), score: 0.0, is_text: true };
    for (field, value) in fields(bytes)? {
        match (field, value) {
            (PIECE_TEXT, Value::Bytes(text)) => piece.text = String::from_utf8(text.to_vec())?,
            (PIECE_SCORE, Value::Fixed(score)) => piece.score = f32::from_bits(score),
            (PIECE_KIND, Value::Number(kind)) => piece.is_text = kind == KIND_NORMAL,
            _ => {}
        }
    }
    Ok(piece)
}

/// A value of the wire format, as far as the model uses it.
enum Value<'a> {
    Number(u64),
    Fixed(u32),
    Bytes(&'a [u8]),
}

/// The fields of a message, in their order.
fn fields(mut rest: &[u8]) -> Result<Vec<(u64, Value<'_>)>, Box<dyn Error>> {
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let tag = take_number(&mut rest)?;
        let value = match tag & 7 {
            0 => Value::Number(take_number(&mut rest)?),
            2 => {
                let length = usize::try_from(take_number(&mut rest)?)?;
                let (bytes, left) = rest.split_at_checked(length).ok_or("a field is cut off")?;
                rest = left;
                Value::Bytes(bytes)
            }
            5 => {
                let (bytes, left) = rest.split_first_chunk().ok_or("a field is cut off")?;
                rest = left;
                Value::Fixed(u32::from_le_bytes(*bytes))
            }
            other => return Err(format!("a field of unknown type {other}").into()),
        };
        fields.push((tag >> 3, value));
    }
    Ok(fields)
}

/// A number in seven bits a byte, lowest first.
fn take_number(rest: &mut &[u8]) -> Result<u64, Box<dyn Error>> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first().ok_or("a number is cut off")?;
        *rest = left;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a number is too long".into())
}

/// Lists the normalizer's table: its size in bytes, a double-array trie of the forms, and the
/// replacements, each ended by a zero byte, which the trie's values point at.
fn read_forms(table: &[u8]) -> Result<Forms, Box<dyn Error>> {
    let (size, rest) = table.split_first_chunk().ok_or("an empty table")?;
    let size = usize::try_from(u32::from_le_bytes(*size))?;
    let (trie, replacements) = rest.split_at_checked(size).ok_or("the table is cut off")?;
    let units: Vec<u32> = trie.as_chunks().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
    let unit = |node: u32| units.get(node as usize).copied().unwrap_or(0);
    // Each node to visit: where its children are numbered from, and the form up to there.
    let mut waiting = vec![(offset(unit(0)), Vec::new())];
    let mut forms = Forms::new();
    while let Some((base, form)) = waiting.pop() {
        for byte in 1..=u8::MAX {
            let node = base ^ u32::from(byte);
            let child = unit(node);
            if child & 0x8000_00FF != u32::from(byte) {
                continue;
            }
            let mut longer = form.clone();
            longer.push(byte);
            let child_base = node ^ offset(child);
            if child & 0x100 != 0 {
                let value = usize::try_from(unit(child_base) & 0x7FFF_FFFF)?;
                let text = replacements.get(value..).unwrap_or_default();
                let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
                let replacement = String::from_utf8(text.to_vec())?;
                forms.insert(String::from_utf8(longer.clone())?, replacement);
            }
            waiting.push((child_base, longer));
        }
    }
    Ok(forms)
}

/// How far a node's children are from it, in the packed form of the double array.
fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 0x200) >> 6)
}
