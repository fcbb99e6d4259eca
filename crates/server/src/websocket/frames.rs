//! Frames of a WebSocket as bytes: what a server sends, and what it takes from a client, which masks it.

use bytes::{Buf as _, BytesMut};

/// Longest text that is taken, in bytes: the largest plan, with letters written as six.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// Longest content of a ping, pong or close (RFC 6455, section 5.5).
const CONTROL_BYTES_MAX: usize = 125;

const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

const CONTINUED: u8 = 0x0;
const TEXT: u8 = 0x1;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

/// Why a socket ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// There is nothing more to say.
    Done,
    /// The server ends.
    Away,
    /// What was sent is against the rules.
    Protocol,
    /// What was sent is no text.
    Unsupported,
    /// A text is not UTF-8.
    NotUtf8,
    /// The caller may not have this any more.
    Policy,
    /// A text is too long.
    TooLong,
}

impl Close {
    fn code(self) -> u16 {
        match self {
            Self::Done => 1000,
            Self::Away => 1001,
            Self::Protocol => 1002,
            Self::Unsupported => 1003,
            Self::NotUtf8 => 1007,
            Self::Policy => 1008,
            Self::TooLong => 1009,
        }
    }
}

/// What was heard.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Text(String),
    Ping(Vec<u8>),
    Pong,
    Close(Close),
}

/// Puts texts together that come in several frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    text: Option<Vec<u8>>,
}

/// The beginning of a frame.
struct Head {
    is_final: bool,
    kind: u8,
    mask: [u8; 4],
    length: usize,
    /// Bytes before the content.
    bytes: usize,
}

impl Frames {
    /// What the bytes hold, which are taken away then; none if there is too little of it yet.
    pub(super) fn take(&mut self, bytes: &mut BytesMut) -> Option<Heard> {
        loop {
            let head = match head(bytes)? {
                Ok(head) => head,
                Err(close) => return Some(Heard::Close(close)),
            };
            let before = self.text.as_ref().map_or(0, Vec::len);
            if head.kind & CLOSE == 0 && before.saturating_add(head.length) > TEXT_BYTES_MAX {
                return Some(Heard::Close(Close::TooLong));
            }
            if bytes.len() - head.bytes < head.length {
                return None;
            }
            bytes.advance(head.bytes);
            let mut content = bytes.split_to(head.length).to_vec();
            for (byte, mask) in content.iter_mut().zip(head.mask.iter().cycle()) {
                *byte ^= mask;
            }
            let heard = self.heard(&head, content);
            if heard.is_some() {
                return heard;
            }
        }
    }

    fn heard(&mut self, head: &Head, content: Vec<u8>) -> Option<Heard> {
        let heard = match (head.kind, self.text.take()) {
            (PING, text) => {
                self.text = text;
                Heard::Ping(content)
            }
            (PONG, text) => {
                self.text = text;
                Heard::Pong
            }
            (CLOSE, _) => Heard::Close(Close::Done),
            (TEXT, None) => return self.gather(head, Vec::new(), &content),
            (CONTINUED, Some(text)) => return self.gather(head, text, &content),
            (TEXT | CONTINUED, _) => Heard::Close(Close::Protocol),
            _ => Heard::Close(Close::Unsupported),
        };
        Some(heard)
    }

    fn gather(&mut self, head: &Head, mut text: Vec<u8>, content: &[u8]) -> Option<Heard> {
        text.extend_from_slice(content);
        if !head.is_final {
            self.text = Some(text);
            return None;
        }
        Some(String::from_utf8(text).map_or(Heard::Close(Close::NotUtf8), Heard::Text))
    }
}

/// The beginning of a frame, or why it cannot be one; none if there is too little of it yet.
fn head(bytes: &[u8]) -> Option<Result<Head, Close>> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (is_final, kind) = (first & FINAL != 0, first & 0x0f);
    // No extension was agreed upon, and clients mask what they send.
    if first & 0x70 != 0 || second & MASKED == 0 {
        return Some(Err(Close::Protocol));
    }
    let (length, at) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
        short => (u64::from(short), 2),
    };
    let is_control = kind & CLOSE != 0;
    if is_control && (!is_final || length > CONTROL_BYTES_MAX as u64) {
        return Some(Err(Close::Protocol));
    }
    let Ok(length) = usize::try_from(length) else { return Some(Err(Close::TooLong)) };
    let mask = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(Ok(Head { is_final, kind, mask, length, bytes: at + 4 }))
}

pub(super) fn text(text: &str) -> Vec<u8> {
    frame(TEXT, text.as_bytes())
}

pub(super) fn ping() -> Vec<u8> {
    frame(PING, &[])
}

pub(super) fn pong(data: &[u8]) -> Vec<u8> {
    frame(PONG, data)
}

pub(super) fn close(close: Close) -> Vec<u8> {
    frame(CLOSE, &close.code().to_be_bytes())
}

/// A whole frame of a server, which is not masked.
fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![FINAL | kind];
    match (u8::try_from(content.len()), u16::try_from(content.len())) {
        (Ok(length @ 0..=125), _) => frame.push(length),
        (_, Ok(length)) => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((content.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(content);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of a client.
    fn masked(first: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = frame(first & 0x0f, content);
        bytes[0] = first;
        bytes[1] |= MASKED;
        let head = bytes.len() - content.len();
        let mask = [1, 2, 3, 4];
        let hidden: Vec<u8> = content.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect();
        bytes.truncate(head);
        bytes.extend(mask);
        bytes.extend(hidden);
        bytes
    }

    fn heard(bytes: &[u8]) -> Vec<Heard> {
        let (mut frames, mut buffer) = (Frames::default(), BytesMut::new());
        let mut heard = Vec::new();
        // One byte at a time: frames come in any pieces.
        for byte in bytes {
            buffer.extend_from_slice(&[*byte]);
            heard.extend(frames.take(&mut buffer));
        }
        heard
    }

    #[test]
    fn texts_come_whole_however_they_are_cut() {
        let long = "가".repeat(30_000);
        for text in
            ["", "{}", "안녕", &"x".repeat(125), &"x".repeat(126), &"x".repeat(65_535), &long]
        {
            assert_eq!(heard(&masked(FINAL | TEXT, text.as_bytes())), [Heard::Text(text.into())]);
        }
        let mut parts = masked(TEXT, "예".as_bytes());
        parts.extend(masked(FINAL | PING, b"p"));
        parts.extend(masked(CONTINUED, " ".as_bytes()));
        parts.extend(masked(FINAL | CONTINUED, "산".as_bytes()));
        assert_eq!(heard(&parts), [Heard::Ping(b"p".to_vec()), Heard::Text("예 산".into())]);
    }

    #[test]
    fn what_is_against_the_rules_ends_the_socket() {
        let mut unmasked = masked(FINAL | TEXT, b"x");
        unmasked[1] &= !MASKED;
        let huge = [FINAL | TEXT, MASKED | 127, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        let cases: [(Vec<u8>, Close); 9] = [
            (unmasked, Close::Protocol),
            (masked(FINAL | 0x40 | TEXT, b"x"), Close::Protocol),
            (masked(FINAL | CONTINUED, b"x"), Close::Protocol),
            (masked(PING, b"x"), Close::Protocol),
            (masked(FINAL | PING, &[0; 126]), Close::Protocol),
            (masked(FINAL | 0x2, b"x"), Close::Unsupported),
            (masked(FINAL | TEXT, b"\xff"), Close::NotUtf8),
            (huge.to_vec(), Close::TooLong),
            (masked(FINAL | CLOSE, &1000_u16.to_be_bytes()), Close::Done),
        ];
        for (bytes, close) in cases {
            assert_eq!(heard(&bytes).first(), Some(&Heard::Close(close)), "{bytes:?}");
        }
    }

    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        for (length, head) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            assert_eq!(frame(TEXT, &vec![0; length]).len(), length + head);
        }
        assert_eq!(close(Close::Away), [0x88, 2, 0x03, 0xe9]);
    }
}
