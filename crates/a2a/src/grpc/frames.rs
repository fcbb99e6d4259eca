//! Frames: a byte that says whether the message is compressed, its length, the message.

/// Bytes before a message.
const HEAD: usize = 5;

/// Why frames cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("messages are compressed, which was not offered")]
    Compressed,
    #[error("a message is longer than {0} bytes")]
    TooLong(usize),
    #[error("a message breaks off")]
    Broken,
}

/// A message in its frame.
#[must_use]
pub fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut framed = Vec::with_capacity(HEAD + message.len());
    framed.push(0);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

/// Takes messages out of a stream of bytes that comes in any pieces.
#[derive(Debug)]
pub struct Deframer {
    waiting: Vec<u8>,
    bytes_max: usize,
}

impl Deframer {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { waiting: Vec::new(), bytes_max }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next message that is whole.
    ///
    /// # Errors
    /// If it is compressed or longer than allowed; this is known before the whole of it is there.
    pub fn next_message(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some((head, rest)) = self.waiting.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [flag, length @ ..] = head;
        if *flag != 0 {
            return Err(FrameError::Compressed);
        }
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.bytes_max {
            return Err(FrameError::TooLong(self.bytes_max));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = message.to_vec();
        self.waiting.drain(..HEAD + length);
        Ok(Some(message))
    }

    /// Whether the stream may end here.
    ///
    /// # Errors
    /// If a message has begun.
    pub fn end(&self) -> Result<(), FrameError> {
        if self.waiting.is_empty() { Ok(()) } else { Err(FrameError::Broken) }
    }
}
