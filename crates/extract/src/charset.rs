//! Turns bytes of any likely charset into text with plain line breaks.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::{ExtractError, Format, Hint};

/// How far into a page its own naming of the charset is looked for: browsers look as far.
const CHARSET_NAME_BYTES_MAX: usize = 1024;
/// How many bytes tell whether a text without a mark is UTF-16.
const UTF_16_SAMPLE_BYTES: usize = 4096;
/// How many bytes are decoded to look at the beginning of a text.
const PEEK_BYTES: usize = 4096;
/// One undecodable or control character in so many is a flaw; more is not text.
const CHARACTERS_PER_FLAW_MIN: usize = 10;

pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) warnings: Vec<String>,
}

/// Decodes a whole document; what cannot be decoded becomes a warning, too much of it an error.
pub(crate) fn decode(
    bytes: &[u8],
    format: Format,
    hint: &Hint<'_>,
) -> Result<Decoded, ExtractError> {
    let mut warnings = Vec::new();
    let valid = simdutf8::basic::from_utf8(bytes).ok();
    let (text, encoding) = decode_with_guess(bytes, valid, format, hint);
    let characters = text.bytes().filter(|byte| !is_continuation(*byte)).count();
    let controls = text.bytes().filter(|byte| is_control(*byte)).count();
    let nuls = if controls == 0 { 0 } else { text.bytes().filter(|byte| *byte == 0).count() };
    // A text that was UTF-8 all along has lost nothing, whatever signs it holds.
    let lost = match valid {
        Some(_) => 0,
        None => text.matches(char::REPLACEMENT_CHARACTER).count(),
    };
    if (lost + controls) * CHARACTERS_PER_FLAW_MIN > characters {
        return Err(ExtractError::NotText);
    }
    if lost > 0 {
        let name = encoding.name();
        warnings.push(format!("{lost} characters could not be read as {name} and were replaced"));
    }
    let mut text = text;
    if nuls > 0 {
        warnings.push(format!("{nuls} NUL characters were removed"));
        text.retain(|character| character != '\0');
    }
    Ok(Decoded { text: with_plain_line_breaks(text), warnings })
}

/// The beginning of the bytes as text, roughly: enough to see what kind of text it is.
pub(crate) fn peek(bytes: &[u8]) -> String {
    let head = bytes.get(..PEEK_BYTES).unwrap_or(bytes);
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => utf_16_without_mark(bytes).unwrap_or(UTF_8),
    };
    encoding.decode(head).0.into_owned()
}

/// Whether the bytes hold NULs that UTF-16 does not explain.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let head = bytes.get(..UTF_16_SAMPLE_BYTES).unwrap_or(bytes);
    let nuls = head.iter().filter(|byte| **byte == 0).count();
    nuls * CHARACTERS_PER_FLAW_MIN > head.len()
        && Encoding::for_bom(bytes).is_none()
        && utf_16_without_mark(bytes).is_none()
}

/// `valid` are the bytes as the UTF-8 that they may be.
fn decode_with_guess(
    bytes: &[u8],
    valid: Option<&str>,
    format: Format,
    hint: &Hint<'_>,
) -> (String, &'static Encoding) {
    if let Some((encoding, mark_length)) = Encoding::for_bom(bytes) {
        let body = bytes.get(mark_length..).unwrap_or_default();
        return (encoding.decode_without_bom_handling(body).0.into_owned(), encoding);
    }
    if let Some(encoding) = utf_16_without_mark(bytes) {
        return (encoding.decode_without_bom_handling(bytes).0.into_owned(), encoding);
    }
    if let Some(text) = valid {
        return (text.to_owned(), UTF_8);
    }
    let encoding = named(bytes, format, hint).unwrap_or_else(|| guess(bytes));
    (encoding.decode_without_bom_handling(bytes).0.into_owned(), encoding)
}

/// UTF-16 without a byte order mark shows as NULs on one side of the pairs, where ASCII stands.
fn utf_16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = bytes.get(..UTF_16_SAMPLE_BYTES).unwrap_or(bytes);
    if !bytes.len().is_multiple_of(2) || !sample.contains(&0) {
        return None;
    }
    let (mut first, mut second) = (0, 0);
    for pair in sample.chunks_exact(2) {
        first += usize::from(pair.first() == Some(&0));
        second += usize::from(pair.last() == Some(&0));
    }
    // Korean text has a blank in every few letters; a wrong order shows as letters of no known use.
    let encoding = match (first, second) {
        (0, second) if second * 32 >= sample.len() / 2 => UTF_16LE,
        (first, 0) if first * 32 >= sample.len() / 2 => UTF_16BE,
        _ => return None,
    };
    let (text, had_errors) = encoding.decode_without_bom_handling(sample);
    let strange = text.chars().filter(|character| !is_usual(*character)).count();
    let truncated_pair = usize::from(had_errors);
    (strange <= truncated_pair + text.chars().count() / 20).then_some(encoding)
}

/// Letters and signs of the scripts that documents without a mark are likely to be in.
fn is_usual(character: char) -> bool {
    matches!(character,
        '\t'..='\r' | ' '..='\u{52F}' | '\u{1100}'..='\u{11FF}' | '\u{2000}'..='\u{27BF}' | '\u{3000}'..='\u{33FF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{FF00}'..='\u{FFEF}')
}

/// The charset that the transport or the page itself names.
fn named(bytes: &[u8], format: Format, hint: &Hint<'_>) -> Option<&'static Encoding> {
    let from_hint = hint.media_type.and_then(|media_type| charset_after(media_type.as_bytes()));
    let from_page = || {
        let head = bytes.get(..CHARSET_NAME_BYTES_MAX).unwrap_or(bytes);
        (format == Format::Html).then(|| charset_after(head)).flatten()
    };
    // Bytes that are not valid UTF-8 are not UTF-8, whatever they are called.
    from_hint.or_else(from_page).filter(|encoding| *encoding != UTF_8)
}

fn charset_after(bytes: &[u8]) -> Option<&'static Encoding> {
    const NAME: &[u8] = b"charset=";
    let at = bytes.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME))?;
    let label: Vec<u8> = bytes
        .iter()
        .skip(at + NAME.len())
        .skip_while(|byte| matches!(byte, b'"' | b'\''))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .copied()
        .collect();
    Encoding::for_label(&label)
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    if is_nearly_utf_8(bytes) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    // Short texts leave the choice open between the East Asian charsets; our users write Korean.
    detector.guess(Some(b"kr"), Utf8Detection::Deny)
}

/// A few broken characters among many good ones: a file that was cut or joined badly.
fn is_nearly_utf_8(bytes: &[u8]) -> bool {
    let (mut good, mut broken) = (0usize, 0usize);
    for part in bytes.utf8_chunks() {
        good += part.valid().bytes().filter(|byte| *byte >= 0xC0).count();
        broken += usize::from(!part.invalid().is_empty());
    }
    good >= broken * CHARACTERS_PER_FLAW_MIN
}

/// Whether a byte of UTF-8 is a character that no text has; escape, tab and form feed do occur.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=0x8 | 0xE..=0x1A | 0x1C..=0x1F)
}

/// Whether a byte of UTF-8 is one of a character but its first.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

fn with_plain_line_breaks(text: String) -> String {
    if !text.as_bytes().contains(&b'\r') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    for (index, line) in text.split('\r').enumerate() {
        let line = if index == 0 {
            line
        } else {
            plain.push('\n');
            line.strip_prefix('\n').unwrap_or(line)
        };
        plain.push_str(line);
    }
    plain
}

#[cfg(test)]
mod tests {
    use encoding_rs::EUC_KR;

    use super::*;

    const KOREAN: &str = "비용 분석 메뉴에서 예산을 설정합니다.\n알림은 이메일로 옵니다.\n";

    fn text(bytes: &[u8]) -> String {
        decode(bytes, Format::Text, &Hint::default()).unwrap().text
    }

    fn utf_16(order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        KOREAN.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn every_usual_charset_gives_the_same_text() {
        assert_eq!(text(KOREAN.as_bytes()), KOREAN);
        assert_eq!(text(&[b"\xEF\xBB\xBF", KOREAN.as_bytes()].concat()), KOREAN);
        assert_eq!(text(&EUC_KR.encode(KOREAN).0), KOREAN);
        assert_eq!(text(&utf_16(u16::to_le_bytes)), KOREAN);
        assert_eq!(text(&utf_16(u16::to_be_bytes)), KOREAN);
        assert_eq!(text(&[b"\xFF\xFE".to_vec(), utf_16(u16::to_le_bytes)].concat()), KOREAN);
        assert_eq!(text(&[b"\xFE\xFF".to_vec(), utf_16(u16::to_be_bytes)].concat()), KOREAN);
    }

    #[test]
    fn a_short_korean_text_in_cp949_is_read() {
        assert_eq!(text(&EUC_KR.encode("똠방각하 펲시콜라").0), "똠방각하 펲시콜라");
        assert_eq!(text(&EUC_KR.encode("질문,답변\n환불,됩니다\n").0), "질문,답변\n환불,됩니다\n");
    }

    #[test]
    fn western_text_is_not_taken_for_korean() {
        assert_eq!(
            text(b"Le caf\xE9 est ferm\xE9 aujourd'hui, d\xE9sol\xE9."),
            "Le café est fermé aujourd'hui, désolé."
        );
    }

    #[test]
    fn a_page_names_its_charset_itself() {
        let page = "<html><head><meta charset=\"euc-kr\"></head><body>요금</body></html>";
        let decoded = decode(&EUC_KR.encode(page).0, Format::Html, &Hint::default()).unwrap();
        assert_eq!(decoded.text, page);
    }

    #[test]
    fn a_broken_character_is_a_warning() {
        let mut bytes = KOREAN.repeat(3).into_bytes();
        bytes.extend(b"\xEA\xB0");
        let decoded = decode(&bytes, Format::Text, &Hint::default()).unwrap();
        assert!(decoded.text.starts_with(KOREAN));
        assert_eq!(decoded.warnings.len(), 1);
    }

    #[test]
    fn noise_is_not_text() {
        let noise: Vec<u8> =
            (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let decoded = decode(&noise, Format::Text, &Hint::default());
        assert_eq!(decoded.err(), Some(ExtractError::NotText));
    }

    #[test]
    fn line_breaks_of_all_systems_become_one_kind() {
        assert_eq!(text(b"a\r\nb\rc\nd\r\n\r\ne\r"), "a\nb\nc\nd\n\ne\n");
    }

    #[test]
    fn a_few_nuls_are_removed_with_a_warning() {
        let decoded =
            decode(b"abcdefghijkl\0mnopqrstuvwxyz!!", Format::Text, &Hint::default()).unwrap();
        assert_eq!(decoded.text, "abcdefghijklmnopqrstuvwxyz!!");
        assert_eq!(decoded.warnings.len(), 1);
    }
}
