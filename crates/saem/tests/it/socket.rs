//! A client of WebSockets, as small as a test needs it.

use base64::Engine as _;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::{PATIENCE, Served};

/// An open socket; dropping it cuts it.
pub(crate) struct Socket {
    stream: BufReader<TcpStream>,
}

impl Socket {
    pub(crate) async fn open(served: &Served, path: &str) -> Self {
        let host = served.address.strip_prefix("http://").unwrap();
        let mut stream = BufReader::new(TcpStream::connect(host).await.unwrap());
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
             Origin: {}\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n",
            served.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).await.unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        let proof = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
        let proof = digest(&SHA1_FOR_LEGACY_USE_ONLY, proof.as_bytes());
        let accept = base64::engine::general_purpose::STANDARD.encode(proof);
        assert!(head.contains(&accept), "{head}");
        Self { stream }
    }

    /// The next text; none when the other side closes.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let (kind, content) = timeout(PATIENCE, self.frame()).await.unwrap()?;
            match kind {
                1 => return Some(serde_json::from_slice(&content).unwrap()),
                8 => return None,
                _ => {}
            }
        }
    }

    async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).await.ok()?;
        assert_eq!(head[1] & 0x80, 0, "a server masks nothing");
        let length = match head[1] {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut content = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut content).await.ok()?;
        Some((head[0] & 0x0f, content))
    }

    pub(crate) async fn send(&mut self, value: &Value) {
        let text = value.to_string();
        let length = u8::try_from(text.len()).unwrap();
        assert!(length < 126);
        let mask = [7, 1, 9, 4];
        let mut frame = vec![0x81, 0x80 | length];
        frame.extend(mask);
        frame.extend(text.bytes().zip(mask.into_iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&frame).await.unwrap();
    }
}
