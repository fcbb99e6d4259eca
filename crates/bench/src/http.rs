//! The least of HTTP that a bench needs: requests on a connection that stays open.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    /// The headers that every request has.
    headers: String,
    /// When the first event of the last answer was there, if it had events.
    first_event: Option<Instant>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (reader, headers) = (BufReader::new(stream), format!("Host: {address}\r\n"));
        Ok(Self { reader, headers, first_event: None })
    }

    /// The same with an API key.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.headers.push_str(&format!("Authorization: Bearer {key}\r\n"));
        self
    }

    /// The same with more headers, a line each.
    pub(crate) fn with_headers(mut self, lines: &str) -> Self {
        self.headers.push_str(lines);
        self
    }

    /// The body of the answer to a GET; anything but 200 is an error.
    pub(crate) fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        let request = format!("GET {path} HTTP/1.1\r\n{}\r\n", self.headers);
        self.exchange(&request)
    }

    /// The body of the answer to a POST of JSON; anything but 200 is an error.
    pub(crate) fn post(&mut self, path: &str, json: &str) -> Result<Vec<u8>> {
        let request = format!(
            "POST {path} HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
            self.headers,
            json.len()
        );
        self.exchange(&request)
    }

    /// The same for an answer that comes as events: its body, and when the first event was there.
    pub(crate) fn post_for_events(&mut self, path: &str, json: &str) -> Result<(Vec<u8>, Instant)> {
        let body = self.post(path, json)?;
        Ok((body, self.first_event.take().context("an answer without an event")?))
    }

    fn exchange(&mut self, request: &str) -> Result<Vec<u8>> {
        self.first_event = None;
        self.reader.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let status = line.trim().to_owned();
        let (mut length, mut is_chunked) = (None, false);
        loop {
            line.clear();
            ensure!(self.reader.read_line(&mut line)? > 0, "the server hung up");
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
            is_chunked |= header == "transfer-encoding: chunked";
        }
        let body = if is_chunked {
            self.chunks()?
        } else {
            self.exactly(length.context("an answer without a length")?)?
        };
        ensure!(status.contains(" 200 "), "{status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    fn exactly(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// A body in pieces, each with its length before it.
    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16)?;
            let piece = self.exactly(length)?;
            if self.first_event.is_none() && piece.windows(5).any(|part| part == b"data:") {
                self.first_event = Some(Instant::now());
            }
            body.extend(piece);
            self.exactly(2)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }
}

/// A text as it may stand in a query.
pub(crate) fn encoded(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_encoded_for_a_query() {
        assert_eq!(encoded("a b&한"), "a%20b%26%ED%95%9C");
    }
}
