//! Where the body of an answer ends, and its bytes without what they are wrapped in.

use super::{CONTENT_LENGTH, HeaderMap, LineError, TRANSFER_ENCODING};

/// Longest line that says how long a piece is, and longest trailer, in bytes: nobody writes any.
const LINE_BYTES_MAX: usize = 4 << 10;

/// The body of an answer, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    end: End,
    is_over: bool,
}

/// What says where the body ends.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// So many bytes are left.
    Length(u64),
    /// Pieces, each behind its length.
    Pieces(Place),
    /// The connection's end.
    Closing,
}

/// What is to come next of a body in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Size,
    /// So many bytes of a piece.
    Data(u64),
    /// The end of a piece's line.
    DataEnd,
    /// Lines up to an empty one; so many bytes of them have been.
    Trailer(usize),
}

fn broken(why: &str) -> LineError {
    LineError::Broken(why.to_owned())
}

impl Body {
    pub(super) fn of(status: u16, headers: &HeaderMap) -> Result<Self, LineError> {
        if matches!(status, 204 | 304) {
            return Ok(Self { end: End::Length(0), is_over: true });
        }
        if let Some(last) = headers.get_all(TRANSFER_ENCODING).iter().next_back() {
            let last = last.to_str().unwrap_or_default().rsplit(',').next().unwrap_or_default();
            let is_chunked = last.trim().eq_ignore_ascii_case("chunked");
            let end = if is_chunked { End::Pieces(Place::Size) } else { End::Closing };
            return Ok(Self { end, is_over: false });
        }
        let lengths = headers.get_all(CONTENT_LENGTH).iter();
        let mut lengths = lengths.map(|length| length.to_str().ok()?.trim().parse::<u64>().ok());
        let Some(first) = lengths.next() else {
            return Ok(Self { end: End::Closing, is_over: false });
        };
        let wrong = || broken("its answer says two lengths, or none that is a number");
        let length = first.filter(|_| lengths.all(|other| other == first)).ok_or_else(wrong)?;
        Ok(Self { end: End::Length(length), is_over: length == 0 })
    }

    /// Whether the next answer can follow on the same connection.
    pub(super) fn may_be_kept(&self) -> bool {
        self.end != End::Closing
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The connection has ended.
    pub(super) fn closed(&mut self) -> Result<(), LineError> {
        if self.is_over || self.end == End::Closing {
            self.is_over = true;
            return Ok(());
        }
        Err(broken("it closed the connection before its answer was whole"))
    }

    /// Adds what `from` has of the body to `into`, and says how much of `from` is done with.
    pub(super) fn take(&mut self, from: &[u8], into: &mut Vec<u8>) -> Result<usize, LineError> {
        let mut rest = from;
        while !self.is_over && !rest.is_empty() {
            let taken = match &mut self.end {
                End::Closing => {
                    into.extend_from_slice(rest);
                    rest.len()
                }
                End::Length(left) => {
                    let taken = copy(rest, left, into);
                    self.is_over = *left == 0;
                    taken
                }
                End::Pieces(place) => {
                    let Some((taken, next)) = place.take(rest, into)? else { break };
                    match next {
                        Some(next) => *place = next,
                        None => self.is_over = true,
                    }
                    taken
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(from.len() - rest.len())
    }
}

impl Place {
    /// How much of `from` is done with, and what comes next, which is nothing after the last; none if more has to come.
    fn take(
        &mut self,
        from: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<Option<(usize, Option<Self>)>, LineError> {
        Ok(match self {
            Self::Size => {
                let wrong = |_| broken("a piece of its answer has no length");
                match httparse::parse_chunk_size(from).map_err(wrong)? {
                    httparse::Status::Complete((taken, 0)) => Some((taken, Some(Self::Trailer(0)))),
                    httparse::Status::Complete((taken, size)) => {
                        Some((taken, Some(Self::Data(size))))
                    }
                    httparse::Status::Partial => short_enough(from.len())?,
                }
            }
            Self::Data(left) => {
                let taken = copy(from, left, into);
                let next = if *left == 0 { Self::DataEnd } else { Self::Data(*left) };
                Some((taken, Some(next)))
            }
            Self::DataEnd => match from {
                [b'\r', b'\n', ..] => Some((2, Some(Self::Size))),
                [b'\n', ..] => Some((1, Some(Self::Size))),
                [b'\r'] => None,
                _ => return Err(broken("a piece of its answer is longer than it says")),
            },
            Self::Trailer(before) => match from.iter().position(|byte| *byte == b'\n') {
                Some(end) if matches!(from, [b'\n', ..] | [b'\r', b'\n', ..]) => {
                    Some((end + 1, None))
                }
                Some(end) => {
                    let sum = *before + end + 1;
                    short_enough(sum)?;
                    Some((end + 1, Some(Self::Trailer(sum))))
                }
                None => short_enough(*before + from.len())?,
            },
        })
    }
}

/// Waits for more, unless that is too much already.
fn short_enough(bytes: usize) -> Result<Option<(usize, Option<Place>)>, LineError> {
    if bytes > LINE_BYTES_MAX {
        return Err(broken("the pieces of its answer are wrapped in too much"));
    }
    Ok(None)
}

/// Takes at most `left` bytes, which are fewer then.
fn copy(from: &[u8], left: &mut u64, into: &mut Vec<u8>) -> usize {
    let taken = from.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    into.extend_from_slice(from.get(..taken).unwrap_or_default());
    *left -= taken as u64;
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::{HeaderName, HeaderValue};

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers = HeaderMap::new();
        for (name, value) in lines.iter().map(pair) {
            headers.append(name, value);
        }
        headers
    }

    fn pieces() -> Body {
        Body::of(200, &headers(&[("transfer-encoding", "chunked")])).unwrap()
    }

    /// What comes of bytes that come in these portions: the body, and what is left behind it.
    fn read(mut body: Body, portions: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>, bool), LineError> {
        let (mut into, mut buffer) = (Vec::new(), Vec::new());
        for portion in portions {
            buffer.extend_from_slice(portion);
            let taken = body.take(&buffer, &mut into)?;
            buffer.drain(..taken);
        }
        Ok((into, buffer, body.is_over()))
    }

    #[test]
    fn each_answer_ends_where_it_says() {
        let length = Body::of(200, &headers(&[("content-length", "3")])).unwrap();
        assert_eq!(read(length, &[b"ab", b"cde"]), Ok((b"abc".to_vec(), b"de".to_vec(), true)));
        let twice = headers(&[("content-length", "3"), ("content-length", "4")]);
        assert!(Body::of(200, &twice).is_err());
        assert!(Body::of(200, &headers(&[("content-length", "-3")])).is_err());
        let closing = Body::of(200, &headers(&[])).unwrap();
        assert!(!closing.may_be_kept());
        assert_eq!(read(closing, &[b"ab", b"c"]), Ok((b"abc".to_vec(), vec![], false)));
        assert!(Body::of(204, &headers(&[])).unwrap().is_over());
        let both = headers(&[("content-length", "3"), ("transfer-encoding", "chunked")]);
        assert_eq!(Body::of(200, &both).unwrap(), pieces());
        let text = b"3;name=x\r\nabc\r\n2\r\nde\r\n0\r\nsum: 5\r\n\r\nnext";
        assert_eq!(read(pieces(), &[text]), Ok((b"abcde".to_vec(), b"next".to_vec(), true)));
    }

    #[test]
    fn what_is_not_whole_or_wrapped_wrongly_is_an_error() {
        for wrong in ["x\r\n", "3\r\nabcd\r\n", "99999999999999999999\r\n"] {
            assert!(read(pieces(), &[wrong.as_bytes()]).is_err(), "{wrong}");
        }
        let endless = format!("0\r\n{}", "a: b\r\n".repeat(1000));
        assert!(read(pieces(), &[endless.as_bytes()]).is_err());
        for cut in ["3\r\nab", "3\r\nabc\r\n", "3\r\nabc\r\n0\r\n"] {
            let mut body = pieces();
            body.take(cut.as_bytes(), &mut Vec::new()).unwrap();
            assert!(body.closed().is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_changes_nothing(
            texts in prop::collection::vec("[a-z샘\r\n]{1,20}", 0..6),
            cuts in prop::collection::vec(0usize..200, 0..8),
        ) {
            let wrapped = |text: &String| format!("{:x}\r\n{text}\r\n", text.len());
            let wire: String = texts.iter().map(wrapped).chain(["0\r\n\r\n".to_owned()]).collect();
            let wire = wire.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(wire.len())).collect();
            cuts.extend([0, wire.len()]);
            cuts.sort_unstable();
            let portions: Vec<&[u8]> = cuts.windows(2).map(|pair| &wire[pair[0]..pair[1]]).collect();
            let whole = texts.concat().into_bytes();
            prop_assert_eq!(read(pieces(), &portions), Ok((whole, vec![], true)));
        }
    }
}
