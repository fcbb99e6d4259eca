//! A form with a file (multipart/form-data), written by hand: it is a few lines, and a crate for it brings five.

use agent::ports::{Entropy, PortError};

/// A form under construction.
pub(super) struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    /// The line between two parts must not occur in any: chance sees to that.
    pub(super) fn new(entropy: &dyn Entropy) -> Result<Self, PortError> {
        let mut chance = [0_u8; 16];
        entropy.fill(&mut chance)?;
        let boundary = chance.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { boundary, body: Vec::new() })
    }

    /// A field; `name` is one of ours, the value may hold anything.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.part(&format!("name=\"{name}\""), value.as_bytes());
    }

    pub(super) fn file(&mut self, name: &str, bytes: &[u8]) {
        self.part(&format!("name=\"{name}\"; filename=\"{name}\""), bytes);
    }

    fn part(&mut self, about: &str, bytes: &[u8]) {
        let head =
            format!("--{}\r\nContent-Disposition: form-data; {about}\r\n\r\n", self.boundary);
        self.body.reserve(head.len() + bytes.len() + self.boundary.len() + 8);
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    /// The form's content type, and its bytes.
    pub(super) fn finish(mut self) -> (String, Vec<u8>) {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        (format!("multipart/form-data; boundary={}", self.boundary), self.body)
    }
}
