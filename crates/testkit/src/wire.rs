//! Just enough of HTTP/1.1 for servers that tests talk to, right or wrong byte by byte.

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// `POST /v1/chat/completions HTTP/1.1` and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// The next request on a connection; none at its end.
pub(crate) async fn next_request(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
        head.push('\n');
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { head, body })
}

/// Sends a whole answer; false if nobody is there any more.
pub(crate) async fn send_whole(
    stream: &mut BufReader<TcpStream>,
    status: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> bool {
    let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).await.is_ok()
}

/// One part of an answer whose length is not known before.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// The end of such an answer.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
