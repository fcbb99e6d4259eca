//! An answer of a model server on its way, over either kind of connection.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use reqwest::{Client, Url};

use crate::http::root_cause;
use crate::line::{Line, LineError, Reply};

/// How a server is reached.
#[derive(Debug)]
pub(super) enum Way {
    Plain(Arc<Line>),
    Encrypted { client: Client, chat: Url },
}

impl Way {
    /// Sends a request; the answer is given when its head is there. `body` is asked for as often as it is sent.
    pub(super) async fn post(&self, body: impl Fn() -> Vec<u8>) -> Result<Response, LineError> {
        match self {
            Self::Plain(line) => line.post(body).await.map(Response::Plain),
            Self::Encrypted { client, chat } => {
                let send = || client.post(chat.clone()).body(body()).send();
                let sent = match send().await.map_err(line_error) {
                    // Closed after the answer before: nobody has read it.
                    Err(LineError::Closed) => send().await.map_err(line_error),
                    answered => answered,
                };
                sent.map(Response::Encrypted)
            }
        }
    }
}

#[derive(Debug)]
pub(super) enum Response {
    Plain(Reply),
    Encrypted(reqwest::Response),
}

impl Response {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Plain(reply) => reply.status,
            Self::Encrypted(response) => response.status().as_u16(),
        }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Plain(reply) => &reply.headers,
            Self::Encrypted(response) => response.headers(),
        }
    }

    /// What comes next of the body; none at its end. Nothing is lost when the future is dropped.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        match self {
            Self::Plain(reply) => reply.chunk().await,
            Self::Encrypted(response) => {
                let chunk = response.chunk().await.map_err(line_error)?;
                Ok(chunk.map(|bytes| bytes.to_vec()))
            }
        }
    }

    /// The whole body, or none if it is larger than `bytes_max`.
    pub(super) async fn whole(mut self, bytes_max: usize) -> Result<Option<Vec<u8>>, LineError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if bytes.len() + chunk.len() > bytes_max {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    }
}

fn line_error(error: reqwest::Error) -> LineError {
    let error = error.without_url();
    let why = root_cause(&error);
    if error.is_connect() && error.is_timeout() {
        LineError::ConnectTimedOut
    } else if error.is_connect() {
        LineError::Unreachable(why)
    } else if why.contains("connection closed before message completed") {
        LineError::Closed
    } else {
        LineError::Broken(why)
    }
}
