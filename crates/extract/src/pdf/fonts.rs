//! Turns the codes that a PDF shows into letters and widths.

use encoding_rs::{BIG5, EUC_KR, Encoding as Charset, GBK, SHIFT_JIS, UTF_16BE};
use lopdf::{Dictionary, Document, Encoding, Object};

use crate::ExtractError;
use crate::limits::Limits;
use crate::pdf::cmap::CMap;
use crate::pdf::explained;

/// Widths are in thousandths of the font's size.
const EM: f32 = 1000.0;
/// What a letter takes when the font does not say.
const LATIN_WIDTH: f32 = 500.0;
/// Most ranges of codes that share a width: real fonts have a few dozen.
const WIDTH_RANGES_MAX: usize = 256;
/// Most bytes that the table of a font may inflate to.
const TABLE_BYTES_MAX: usize = 8 << 20;

pub(super) struct Font {
    letters: Letters,
    to_unicode: Option<CMap>,
    widths: Widths,
}

enum Letters {
    /// One byte each, 256 of them.
    Bytes(Vec<String>),
    /// Two bytes each, known only by the font's own table.
    Glyphs,
    /// Two bytes each, in UTF-16.
    Utf16,
    /// One or two bytes each, in an East Asian charset.
    Charset(&'static Charset),
}

#[derive(Default)]
struct Widths {
    first: u32,
    list: Vec<f32>,
    /// First and last code, and the width of all between.
    ranges: Vec<(u32, u32, f32)>,
    default: f32,
}

/// A code as shown: its letters, nothing when they are not known, and its width in parts of the size.
pub(super) struct Shown {
    pub(super) text: Option<String>,
    pub(super) width: f32,
    pub(super) is_space: bool,
}

impl Font {
    pub(super) fn read(
        dictionary: &Dictionary,
        document: &Document,
        limits: &Limits,
    ) -> Result<Self, ExtractError> {
        let subtype = dictionary.get(b"Subtype").and_then(Object::as_name).unwrap_or_default();
        let bytes_max = TABLE_BYTES_MAX.min(limits.inflated_bytes_max);
        let table = dictionary.get_deref(b"ToUnicode", document).and_then(Object::as_stream);
        let to_unicode =
            table.ok().and_then(|stream| stream.get_plain_content_with_limit(bytes_max).ok());
        let to_unicode = to_unicode.map(|bytes| CMap::parse(&bytes));
        if subtype == b"Type0" {
            let encoding = dictionary.get_deref(b"Encoding", document).and_then(Object::as_name);
            let letters = letters_of(encoding.unwrap_or_default());
            return Ok(Self { letters, to_unicode, widths: cid_widths(dictionary, document) });
        }
        let encoding = dictionary.get_font_encoding_with_limit(document, bytes_max);
        let letters = match encoding {
            Ok(encoding) => byte_letters(&encoding),
            Err(lopdf::Error::DictType { .. }) => Vec::new(),
            Err(error) => return Err(explained(&error, limits)),
        };
        Ok(Self {
            letters: Letters::Bytes(letters),
            to_unicode,
            widths: simple_widths(dictionary, document),
        })
    }

    /// What the bytes of a shown text mean.
    pub(super) fn decode(&self, bytes: &[u8]) -> Vec<Shown> {
        let mut rest = bytes;
        let mut shown = Vec::with_capacity(bytes.len());
        while !rest.is_empty() {
            let length = self.code_length(rest).min(rest.len());
            let (code, after) = rest.split_at(length);
            rest = after;
            shown.push(self.decode_code(code));
        }
        shown
    }

    fn code_length(&self, rest: &[u8]) -> usize {
        match self.letters {
            Letters::Bytes(_) => 1,
            // A letter beyond the first plane takes two units.
            Letters::Utf16 if rest.first().is_some_and(|byte| (0xD8..=0xDB).contains(byte)) => 4,
            Letters::Glyphs | Letters::Utf16 => 2,
            Letters::Charset(_) if rest.first().is_some_and(u8::is_ascii) => 1,
            Letters::Charset(_) => 2,
        }
    }

    fn decode_code(&self, code: &[u8]) -> Shown {
        let number = code.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        let by_table = self.to_unicode.as_ref().and_then(|table| table.get(number));
        let text = by_table.or_else(|| match &self.letters {
            Letters::Bytes(letters) => letters.get(number as usize).cloned(),
            Letters::Glyphs => None,
            Letters::Utf16 => Some(UTF_16BE.decode_without_bom_handling(code).0.into_owned()),
            Letters::Charset(charset) => {
                Some(charset.decode_without_bom_handling(code).0.into_owned())
            }
        });
        let is_letter = |text: &String| !text.is_empty() && !text.contains(['\0', '\u{FFFD}']);
        Shown {
            text: text.filter(is_letter),
            width: self.widths.get(number) / EM,
            is_space: code == b" ",
        }
    }
}

impl Widths {
    fn get(&self, code: u32) -> f32 {
        let listed = code.checked_sub(self.first).and_then(|at| self.list.get(at as usize));
        let ranged =
            || self.ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&code));
        listed.copied().or_else(|| ranged().map(|(_, _, width)| *width)).unwrap_or(self.default)
    }
}

/// What the codes of a named East Asian table mean.
fn letters_of(name: &[u8]) -> Letters {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    match () {
        () if name.starts_with(b"Uni") => Letters::Utf16,
        () if has(b"KSC") => Letters::Charset(EUC_KR),
        () if has(b"RKSJ") => Letters::Charset(SHIFT_JIS),
        () if has(b"GB") => Letters::Charset(GBK),
        () if has(b"B5") => Letters::Charset(BIG5),
        () => Letters::Glyphs,
    }
}

fn byte_letters(encoding: &Encoding<'_>) -> Vec<String> {
    (0..=u8::MAX).map(|byte| encoding.bytes_to_string(&[byte]).unwrap_or_default()).collect()
}

fn simple_widths(font: &Dictionary, document: &Document) -> Widths {
    let first = font.get_deref(b"FirstChar", document).and_then(Object::as_i64).unwrap_or(0);
    let widths = font.get_deref(b"Widths", document).and_then(Object::as_array);
    let list = widths.map(|widths| widths.iter().map(|width| float(width, document)).collect());
    Widths {
        first: u32::try_from(first).unwrap_or(0),
        list: list.unwrap_or_default(),
        ranges: Vec::new(),
        default: LATIN_WIDTH,
    }
}

fn float(object: &Object, document: &Document) -> f32 {
    document.dereference(object).and_then(|(_, object)| object.as_float()).unwrap_or(LATIN_WIDTH)
}

/// Widths of a font of many glyphs: `first [width width …]` or `first last width`, again and again.
fn cid_widths(font: &Dictionary, document: &Document) -> Widths {
    let mut widths = Widths { default: EM, ..Widths::default() };
    let descendants = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array);
    let descendant = descendants.ok().and_then(|fonts| fonts.first());
    let descendant = descendant.and_then(|font| document.dereference(font).ok()?.1.as_dict().ok());
    let Some(descendant) = descendant else { return widths };
    if let Ok(default) = descendant.get_deref(b"DW", document).and_then(Object::as_float) {
        widths.default = default;
    }
    let Ok(list) = descendant.get_deref(b"W", document).and_then(Object::as_array) else {
        return widths;
    };
    let code = |object: &Object| object.as_i64().ok().and_then(|code| u32::try_from(code).ok());
    let (mut rest, mut ranges) = (list.as_slice(), 0);
    while let [first, second, after @ ..] = rest {
        let Some(first) = code(first) else { break };
        let second = document.dereference(second).map_or(second, |(_, object)| object);
        rest = after;
        if let Ok(each) = second.as_array() {
            let codes = first..=u32::MAX;
            widths
                .ranges
                .extend(codes.zip(each).map(|(code, width)| (code, code, float(width, document))));
        } else if let (Some(last), [width, after @ ..]) = (code(second), after) {
            ranges += 1;
            if ranges > WIDTH_RANGES_MAX {
                break;
            }
            widths.ranges.push((first, last, float(width, document)));
            rest = after;
        } else {
            break;
        }
    }
    widths.index();
    widths
}

impl Widths {
    /// Brings single codes that follow each other into a list, where they are found at once.
    fn index(&mut self) {
        let singles = self.ranges.iter().filter(|(first, last, _)| first == last);
        let highest = singles.clone().map(|(code, _, _)| *code).max().unwrap_or(0);
        // Codes have two bytes.
        let highest = highest.min(u32::from(u16::MAX));
        let mut list = vec![f32::NAN; highest as usize + 1];
        for (first, last, width) in &self.ranges {
            for code in *first..=(*last).min(highest) {
                if let Some(slot) = list.get_mut(code as usize).filter(|slot| slot.is_nan()) {
                    *slot = *width;
                }
            }
        }
        for slot in &mut list {
            if slot.is_nan() {
                *slot = self.default;
            }
        }
        self.ranges.retain(|(_, last, _)| *last > highest);
        self.list = list;
    }
}
