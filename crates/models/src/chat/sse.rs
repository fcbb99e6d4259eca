//! Server-sent events from bytes, however they were cut: only what the `data` lines say is of use here.

use std::io::BufRead as _;
use std::mem::take;

/// The byte order mark that some servers begin with.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line, or the data of an event, is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// What has been read of the line and the event that are not over yet.
#[derive(Debug)]
pub(super) struct SseParser {
    bytes_max: usize,
    line: Vec<u8>,
    /// What the event says, if it has said anything.
    data: Vec<u8>,
    has_data: bool,
    is_first_line: bool,
    is_after_return: bool,
}

impl SseParser {
    /// `bytes_max` holds for a line and for all data of one event.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_first_line: true,
            is_after_return: false,
        }
    }

    /// Reads on, and hands over the data of each event that is over; also of those before a line too long.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut event: impl FnMut(&str),
    ) -> Result<(), TooLong> {
        while let Some(first) = bytes.first() {
            if take(&mut self.is_after_return) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let (line, rest) = bytes.split_at(line_length(bytes));
            if self.line.len() + line.len() > self.bytes_max {
                return Err(TooLong);
            }
            let Some(end) = rest.first() else {
                self.line.extend_from_slice(line);
                return Ok(());
            };
            self.is_after_return = *end == b'\r';
            bytes = rest.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.end_line(line, &mut event)?;
            } else {
                self.line.extend_from_slice(line);
                self.end_held_line(&mut event)?;
            }
        }
        Ok(())
    }

    /// The data of an event whose end did not come. The specification drops it; some servers leave the end out.
    pub(super) fn rest(&mut self) -> Option<String> {
        if !self.line.is_empty() {
            self.end_held_line(&mut |_: &str| {}).ok()?;
        }
        take(&mut self.has_data).then(|| String::from_utf8_lossy(&take(&mut self.data)).into())
    }

    /// Ends a line that came in several pieces.
    fn end_held_line(&mut self, event: &mut impl FnMut(&str)) -> Result<(), TooLong> {
        let mut line = take(&mut self.line);
        let ended = self.end_line(&line, event);
        line.clear();
        self.line = line;
        ended
    }

    fn end_line(&mut self, mut line: &[u8], event: &mut impl FnMut(&str)) -> Result<(), TooLong> {
        if take(&mut self.is_first_line) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            if take(&mut self.has_data) {
                match str::from_utf8(&self.data) {
                    Ok(text) => event(text),
                    // Bytes that are no text are marked. To look for them takes longer than to see that there are none.
                    Err(_) => event(&String::from_utf8_lossy(&self.data)),
                }
                self.data.clear();
            }
            return Ok(());
        }
        // Most lines are these.
        if let Some(value) = line.strip_prefix(b"data: ") {
            return self.add_data(value);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        // llama.cpp's server has sent errors under a name of their own.
        if matches!(name, b"data" | b"error") {
            let value = value.strip_prefix(b":").unwrap_or(value);
            self.add_data(value.strip_prefix(b" ").unwrap_or(value))?;
        }
        Ok(())
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        if self.has_data {
            if self.data.len() + value.len() >= self.bytes_max {
                return Err(TooLong);
            }
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }
}

/// Bytes before the next end of a line; all of them if there is none.
fn line_length(bytes: &[u8]) -> usize {
    let before = |bytes: &[u8], end: u8| {
        // It looks at many bytes at once, as a loop over them does not; of a slice it cannot fail.
        let passed = (&mut &*bytes).skip_until(end).unwrap_or_default();
        passed - usize::from(bytes.get(..passed).is_some_and(|passed| passed.ends_with(&[end])))
    };
    let line = before(bytes, b'\n');
    before(bytes.get(..line).unwrap_or_default(), b'\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SseParser, TooLong};

    fn parse(pieces: &[&[u8]]) -> (Vec<String>, Option<String>) {
        let (mut parser, mut events) = (SseParser::new(1000), Vec::new());
        for piece in pieces {
            parser.feed(piece, |event| events.push(event.to_owned())).unwrap();
        }
        let rest = parser.rest();
        (events, rest)
    }

    #[track_caller]
    fn check(text: &str, events: &[&str], rest: Option<&str>) {
        let expected =
            (events.iter().map(|&event| event.to_owned()).collect(), rest.map(str::to_owned));
        assert_eq!(parse(&[text.as_bytes()]), expected, "{text:?}");
        for end in ["\n", "\r", "\r\n"] {
            let other = text.replace('\n', end);
            assert_eq!(parse(&[other.as_bytes()]), expected, "{other:?}");
        }
    }

    #[test]
    fn each_blank_line_ends_an_event() {
        check("data: a\n\ndata:b\n\n", &["a", "b"], None);
        check("\n\n\ndata: a\n\n\n\n", &["a"], None);
        check("data: a\n\ndata: b\n", &["a"], Some("b"));
        check("data: a\n\ndata: b", &["a"], Some("b"));
        check("", &[], None);
    }

    #[test]
    fn data_over_several_lines_is_one_event() {
        check("data: a\ndata:  b\ndata\n\n", &["a\n b\n"], None);
    }

    #[test]
    fn comments_names_and_a_byte_order_mark_are_passed_over() {
        check("\u{feff}data: a\n\n", &["a"], None);
        check(": waiting\n\nevent: x\nid: 1\ndata: a\nretry: 5\n\n:\n\n", &["a"], None);
        check("database: a\n\n", &[], None);
        check("data: \u{feff}a\n\n", &["\u{feff}a"], None);
    }

    #[test]
    fn an_error_under_its_own_name_is_heard() {
        check("error: {\"code\":500}\n\n", &["{\"code\":500}"], None);
    }

    #[test]
    fn line_ends_may_be_mixed_even_within_one_event() {
        let text = b"data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\r";
        assert_eq!(parse(&[text]).0, ["a\nb\nc", "d"]);
        assert_eq!(parse(&[b"data: a\r", b"\n\r", b"\ndata: b\n", b"\n"]).0, ["a", "b"]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_stream() {
        assert_eq!(parse(&[b"data: a\xFFb\n\n"]).0, ["a\u{fffd}b"]);
    }

    #[test]
    fn a_line_or_an_event_that_is_too_long_is_an_error_and_not_memory() {
        let (mut parser, mut events) = (SseParser::new(10), Vec::new());
        let mut feed = |parser: &mut SseParser, bytes: &[u8]| {
            parser.feed(bytes, |event| events.push(event.to_owned()))
        };
        assert_eq!(feed(&mut parser, b"data: a\n\ndata: 123"), Ok(()));
        assert_eq!(feed(&mut parser, b"45"), Err(TooLong));
        let mut parser = SseParser::new(10);
        assert_eq!(feed(&mut parser, b"data:12345\n"), Ok(()));
        assert_eq!(feed(&mut parser, b"data:12345\n"), Err(TooLong));
        assert_eq!(events, ["a"]);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_changes_nothing(
            text in "(data: ?|:|event: |샘|[a-z]|\r|\n|\r\n){0,40}",
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&pieces), parse(&[bytes]));
        }
    }
}
