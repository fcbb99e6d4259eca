//! A2A as gRPC: both services, beside everything else that the server's port takes.

use std::convert::Infallible;
use std::sync::Arc;

use ::a2a::error::{Error, ErrorKind};
use ::a2a::grpc::{self, Deframer, Method, Status, frame};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use engine::agents::serving::Watching;
use futures_util::stream::{self, StreamExt};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Version};
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio_util::sync::CancellationToken;

use super::calls::Outcome;
use super::{Agent, Asked, MESSAGE_BYTES_MAX};
use crate::events::Pulse;
use crate::guard::Standing;
use crate::problem::Problem;

/// The paths of the two services.
pub(super) const PATHS: [&str; 2] =
    ["/lf.a2a.v1.A2AService/{method}", "/a2a.v1.A2AService/{method}"];

// Statuses of gRPC itself.
const UNAVAILABLE: i32 = 14;
const UNAUTHENTICATED: i32 = 16;

/// What comes of a call, with the method that writes it.
enum Answered {
    Once(Vec<u8>),
    Stream(Method, Box<Watching>),
}

impl Agent {
    pub(super) async fn grpc(self: Arc<Self>, request: Request) -> Result<Response, Problem> {
        let asked = Asked::read(&self, request).await?;
        Ok(match self.grpc_call(&asked).await {
            Ok(Answered::Once(message)) => {
                let frames = [data(&message), Frame::trailers(trailers(&well()))];
                body(stream::iter(frames))
            }
            Ok(Answered::Stream(method, watching)) => {
                let told = Told {
                    method,
                    watching: *watching,
                    shutdown: asked.shutdown.clone(),
                    standing: asked.standing.clone(),
                    pulse: Pulse::every(super::streams::PULSE),
                };
                body(stream::unfold(Some(told), |told| async move { told?.next().await }))
            }
            Err(error) => refused(&grpc::status(&error)),
        })
    }

    async fn grpc_call(&self, asked: &Asked) -> Result<Answered, Error> {
        let method = Method::at_path(&asked.path, asked.version.as_deref())?;
        let broken = |why: grpc::FrameError| Error::new(ErrorKind::InvalidRequest, why.to_string());
        let mut frames = Deframer::new(usize::try_from(MESSAGE_BYTES_MAX).unwrap_or(usize::MAX));
        frames.push(&asked.body);
        let message = frames.next_message().map_err(broken)?;
        frames.end().map_err(broken)?;
        let message = message.ok_or_else(|| Error::of(ErrorKind::InvalidRequest))?;
        let call = method.read_call(&message, &self.fresh()?)?;
        match self.perform(asked, method.form.version(), call).await? {
            Outcome::Answer(answer) => method.write_answer(&answer).map(Answered::Once),
            Outcome::Stream(watching) => Ok(Answered::Stream(method, Box::new(watching))),
        }
    }
}

struct Told {
    method: Method,
    watching: Watching,
    shutdown: CancellationToken,
    standing: Option<Standing>,
    pulse: Pulse,
}

impl Told {
    /// The next frame, and who tells those after it.
    async fn next(mut self) -> Option<(Frame<Bytes>, Option<Self>)> {
        let end = |status: &Status| Some((Frame::trailers(trailers(status)), None));
        loop {
            tokio::select! {
                told = self.watching.next() => {
                    let Some(event) = told else { return end(&well()) };
                    return match self.method.write_event(&event) {
                        Ok(message) => Some((data(&message), Some(self))),
                        Err(error) => end(&grpc::status(&error)),
                    };
                }
                () = self.shutdown.cancelled() => {
                    return end(&said(UNAVAILABLE, "the server is stopping"));
                }
                () = self.pulse.beat() => {
                    let stands = match &self.standing {
                        Some(standing) => standing.check().await.is_ok(),
                        None => true,
                    };
                    if !stands {
                        return end(&said(UNAUTHENTICATED, "the credentials do not hold any more"));
                    }
                }
            }
        }
    }
}

fn data(message: &[u8]) -> Frame<Bytes> {
    Frame::data(frame(message).into())
}

fn well() -> Status {
    said(grpc::OK, "")
}

fn said(code: i32, message: &str) -> Status {
    Status { code, message: message.to_owned(), details: String::new() }
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    let code = status.code.to_string();
    for (name, value) in [
        ("grpc-status", &code),
        ("grpc-message", &status.message),
        ("grpc-status-details-bin", &status.details),
    ] {
        if let (Ok(value), false) = (HeaderValue::from_str(value), value.is_empty()) {
            trailers.insert(HeaderName::from_static(name), value);
        }
    }
    trailers
}

fn body(frames: impl stream::Stream<Item = Frame<Bytes>> + Send + 'static) -> Response {
    let frames = frames.map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::new(StreamBody::new(frames)));
    *response.version_mut() = Version::HTTP_2;
    let kind = HeaderValue::from_static(grpc::MEDIA_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A refusal is a head alone.
fn refused(status: &Status) -> Response {
    let mut response = Response::new(Body::empty());
    let kind = HeaderValue::from_static(grpc::MEDIA_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().extend(trailers(status));
    response
}
