//! Paths that are there, in the version they are in, and paths that are not.

use super::*;
use crate::samples::fresh;

#[track_caller]
fn check(
    verb: Verb,
    path: &str,
    header: Option<&str>,
    expected: Result<(Form, OperationKind), (Version, ErrorKind)>,
) {
    let found = route(verb, path, header, Bare::Refuse).map(|route| (route.form, route.kind));
    let found = found.map_err(|refused| (refused.version, refused.error.kind));
    assert_eq!(found, expected, "{verb:?} {path} {header:?}");
}

#[test]
fn the_prefix_and_the_header_choose_the_version() {
    use ErrorKind::{MethodNotFound, VersionNotSupported};
    let new = Ok((Form::V1_0, OperationKind::Send));
    let old = Ok((Form::V0_3Proto, OperationKind::Send));
    check(Verb::Post, "/message:send", Some("1.0"), new);
    check(Verb::Post, "/acme/message:send", Some("1.1"), new);
    check(Verb::Post, "/v1/message:send", Some("1.0"), new);
    check(Verb::Post, "/v1/message:send", None, old);
    check(Verb::Post, "/v1/message:send", Some("0.3"), old);
    check(Verb::Post, "/message:send", None, Err((Version::V1_0, VersionNotSupported)));
    check(Verb::Post, "/message:send", Some("0.3"), Err((Version::V0_3, MethodNotFound)));
    check(Verb::Post, "/message:send", Some("2.0"), Err((Version::V1_0, VersionNotSupported)));
    check(Verb::Get, "/v1/tasks", None, Err((Version::V1_0, VersionNotSupported)));
    check(Verb::Get, "/v1/tasks", Some("0.3"), Err((Version::V0_3, MethodNotFound)));
    check(Verb::Get, "/message:send", Some("1.0"), Err((Version::V1_0, MethodNotFound)));
    check(Verb::Get, "/a/b/tasks", Some("1.0"), Err((Version::V1_0, MethodNotFound)));
    check(Verb::Get, "/tasks/%ff", Some("1.0"), Err((Version::V1_0, MethodNotFound)));
    check(Verb::Get, "/tasks/x:cancel", Some("1.0"), Err((Version::V1_0, MethodNotFound)));
    check(
        Verb::Post,
        "/tasks/x:subscribe",
        Some("1.0"),
        Ok((Form::V1_0, OperationKind::Subscribe)),
    );
    check(Verb::Get, "", None, Err((Version::V0_3, MethodNotFound)));
    assert!(route(Verb::Post, "/message:send", None, Bare::Serve).is_ok());
}

#[test]
fn a_body_that_names_another_task_than_the_path_is_refused() {
    let route = route(Verb::Post, "/tasks/t-1:cancel", Some("1.0"), Bare::Refuse).unwrap();
    let body = serde_json::json!({ "id": "t-2" });
    let error = read_call(&route, "", Some(body), &fresh()).unwrap_err();
    assert_eq!(error.violations[0].field, "id");
    assert!(read_call(&route, "", None, &fresh()).is_ok());
    assert!(read_call(&route, "", Some(serde_json::json!([])), &fresh()).is_err());
    assert!(read_call(&route, "a=%zz", None, &fresh()).is_err());
}

#[test]
fn an_answer_is_in_the_media_type_of_its_version_unless_plain_json_is_asked_for() {
    let own = "application/a2a+json";
    for (accept, expected) in [
        (None, own),
        (Some("*/*"), own),
        (Some("application/json"), "application/json"),
        (Some("text/event-stream, Application/JSON;q=0.9"), "application/json"),
        (Some("application/json, application/a2a+json"), own),
    ] {
        assert_eq!(media_type(Version::V1_0, accept), expected, "{accept:?}");
        assert_eq!(media_type(Version::V0_3, accept), "application/json");
    }
    assert!(is_readable(None) && is_readable(Some("application/json; charset=utf-8")));
    assert!(is_readable(Some(own)) && !is_readable(Some("text/plain")));
}
