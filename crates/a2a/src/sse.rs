//! Server-sent events, as the streams of JSON-RPC and HTTP+JSON carry them: bytes in, the data of whole events out.

/// An event has more bytes than are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {bytes_max} bytes")]
pub struct TooLarge {
    bytes_max: usize,
}

/// Reads events, however their bytes are cut. What an event is called and what it may be resumed by is not of interest.
#[derive(Debug, Clone)]
pub struct Events {
    bytes_max: usize,
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// The line before ended with a carriage return, so a line feed that follows belongs to it.
    ended_with_return: bool,
}

impl Events {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, line: Vec::new(), data: None, ended_with_return: false }
    }

    /// Takes bytes; gives the data of each event that is whole by now.
    ///
    /// # Errors
    /// If an event is too large. Nothing that follows can be read then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLarge> {
        let mut events = Vec::new();
        for byte in bytes {
            let follows_return = std::mem::replace(&mut self.ended_with_return, *byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(*byte),
            }
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > self.bytes_max {
                return Err(TooLarge { bytes_max: self.bytes_max });
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = self.data.take()?;
            return Some(String::from_utf8_lossy(&data).into_owned());
        }
        let value = line.strip_prefix(b"data:")?;
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        for cut in 0..=text.len() {
            let mut events = Events::new(100);
            let (first, second) = text.as_bytes().split_at(cut);
            let mut found = events.push(first).unwrap();
            found.extend(events.push(second).unwrap());
            assert_eq!(found, expected, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn events_are_the_same_wherever_their_bytes_are_cut() {
        check("data: {\"a\":\"샘\"}\n\ndata:b\n\n", &["{\"a\":\"샘\"}", "b"]);
        check("event: x\r\nid: 1\r\ndata: one\r\ndata: two\r\n\r\n", &["one\ntwo"]);
        check(": still here\r\rdata: a\r\r", &["a"]);
        check("\n\ndata: not yet whole\n", &[]);
    }

    #[test]
    fn an_event_that_is_too_large_is_an_error_before_it_is_whole() {
        for text in ["data: 0123456789", "data: 0\ndata: 1\ndata: 2\ndata: 3456"] {
            assert!(Events::new(8).push(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(Events::new(16).push(b"data: 0123456789\n\n").unwrap(), ["0123456789"]);
    }
}
