//! A2A as gRPC: both services, beside everything else that the server's port takes; and every refusal in gRPC's words.

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
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode, Version};
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio_util::sync::CancellationToken;

use super::calls::Outcome;
use super::{Agent, Asked, MESSAGE_BYTES_MAX};
use crate::events::Pulse;
use crate::guard::Standing;
use crate::problem::{Problem, Refusal};

/// The paths of the two services.
pub(super) const PATHS: [&str; 2] =
    ["/lf.a2a.v1.A2AService/{method}", "/a2a.v1.A2AService/{method}"];

// Statuses of gRPC itself.
const INVALID_ARGUMENT: i32 = 3;
const DEADLINE_EXCEEDED: i32 = 4;
const PERMISSION_DENIED: i32 = 7;
const RESOURCE_EXHAUSTED: i32 = 8;
const ABORTED: i32 = 10;
const UNIMPLEMENTED: i32 = 12;
const INTERNAL: i32 = 13;
const UNAVAILABLE: i32 = 14;
const UNAUTHENTICATED: i32 = 16;

/// Whether somebody asks in gRPC, be it at a path that is none of its services'.
pub(crate) fn is_grpc(version: Version, headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let rest = kind.and_then(|kind| kind.strip_prefix(grpc::MEDIA_TYPE));
    // `application/grpc-web` is another protocol.
    version == Version::HTTP_2
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

/// The answer to somebody who asks in gRPC: what another layer has said in HTTP's words is said as a head alone.
///
/// A body would end its stream before there are trailers, and a client may take that for a fault of the protocol.
pub(crate) fn as_refusal(response: Response) -> Response {
    if is_grpc(Version::HTTP_2, response.headers()) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    let why = parts.extensions.get::<Refusal>().map_or("", |refusal| &*refusal.detail);
    let mut refusal = refused(&Status::new(code_of(parts.status), why));
    // What else the head says, such as when to come back, holds here too.
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.extend(std::mem::take(refusal.headers_mut()));
    *refusal.headers_mut() = parts.headers;
    refusal
}

/// The status of gRPC that says what one of HTTP does.
fn code_of(status: StatusCode) -> i32 {
    match status.as_u16() {
        401 => UNAUTHENTICATED,
        403 => PERMISSION_DENIED,
        404 | 405 | 501 => UNIMPLEMENTED,
        408 | 504 => DEADLINE_EXCEEDED,
        409 => ABORTED,
        413 | 429 | 507 => RESOURCE_EXHAUSTED,
        502 | 503 => UNAVAILABLE,
        400..=499 => INVALID_ARGUMENT,
        // An answer in another protocol that is no refusal is our own fault too.
        _ => INTERNAL,
    }
}

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
                    return end(&Status::new(UNAVAILABLE, "the server is stopping"));
                }
                () = self.pulse.beat() => {
                    let stands = match &self.standing {
                        Some(standing) => standing.check().await.is_ok(),
                        None => true,
                    };
                    if !stands {
                        return end(&Status::new(UNAUTHENTICATED, "the credentials do not hold any more"));
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
    Status::new(grpc::OK, "")
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

#[cfg(test)]
mod tests {
    use axum::body::HttpBody as _;
    use axum::response::IntoResponse as _;

    use super::*;

    fn of(version: Version, kind: &'static str) -> bool {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        is_grpc(version, &headers)
    }

    #[test]
    fn grpc_is_told_from_what_looks_like_it() {
        for kind in ["application/grpc", "application/grpc+proto", "application/grpc;x=y"] {
            assert!(of(Version::HTTP_2, kind), "{kind}");
            assert!(!of(Version::HTTP_11, kind), "{kind}");
        }
        for kind in ["application/grpc-web", "application/grpcx", "application/json", ""] {
            assert!(!of(Version::HTTP_2, kind), "{kind}");
        }
    }

    #[test]
    fn a_problem_becomes_a_head_alone_with_the_status_of_grpc() {
        for (status, code) in
            [(401, "16"), (403, "7"), (404, "12"), (413, "8"), (429, "8"), (503, "14"), (500, "13")]
        {
            let status = StatusCode::from_u16(status).unwrap();
            let problem =
                Problem::new(status, "code", "title", "키가 없습니다: 100%", "act").retry_after(7);
            let refusal = as_refusal(problem.into_response());
            assert!(refusal.body().is_end_stream());
            assert_eq!(refusal.status(), 200);
            let head = |name: &str| refusal.headers()[name].to_str().unwrap();
            assert_eq!((head("grpc-status"), head("retry-after")), (code, "7"));
            assert_eq!(head("content-type"), grpc::MEDIA_TYPE);
            assert!(head("grpc-message").ends_with(": 100%25"), "{refusal:?}");
            assert!(!refusal.headers().contains_key(CONTENT_LENGTH));
        }
    }

    #[test]
    fn an_answer_in_grpc_stays_as_it_is() {
        let answer = as_refusal(body(stream::iter([data(b"said")])));
        assert!(!answer.body().is_end_stream());
        assert!(!answer.headers().contains_key("grpc-status"));
    }
}
