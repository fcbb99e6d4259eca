//! Every method and object of every version: golden files, there and back, and whatever else a stranger may send.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::jsonrpc;
use crate::samples::{any_event, any_json, any_task, fresh};

/// The golden files of a folder, by name.
fn golden(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &Path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    files.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

#[track_caller]
fn same(found: &Value, expected: &Value, name: &str) {
    assert_eq!(
        serde_json::to_string_pretty(found).unwrap(),
        serde_json::to_string_pretty(expected).unwrap(),
        "{name}"
    );
}

/// Returns the operation of the file, or nothing if it has no request.
fn check_exchange(version: Version, name: &str, file: &Value) -> Option<OperationKind> {
    let form = Form::from(version);
    let request = file.get("request")?;
    let read = jsonrpc::read_request(&serde_json::to_vec(request).unwrap()).unwrap();
    let kind = kind_of(version, &read.method).unwrap();
    let call = read_call(form, kind, &read.params, &fresh()).unwrap();
    assert_eq!(call.operation.kind(), kind);
    let params = write_call(form, &call).unwrap();
    same(&jsonrpc::write_request(&read.id, method(version, kind).unwrap(), params), request, name);
    if let Some(response) = file.get("response") {
        assert!(!kind.streams(), "{name}");
        let result = jsonrpc::read_response(&read.id, response.clone()).unwrap();
        let answer = read_answer(form, kind, &result).unwrap();
        same(&jsonrpc::write_result(&read.id, write_answer(form, &answer)), response, name);
    }
    for response in file.get("stream").and_then(Value::as_array).into_iter().flatten() {
        assert!(kind.streams(), "{name}");
        let result = jsonrpc::read_response(&read.id, response.clone()).unwrap();
        let event = read_event(form, &result).unwrap();
        let written = write_event(form, &event).unwrap();
        same(&jsonrpc::write_result(&read.id, written), response, name);
    }
    assert!(file.get("response").is_some() || file.get("stream").is_some(), "{name}");
    Some(kind)
}

#[track_caller]
fn check_version(version: Version) {
    let files = golden(version.as_str());
    let exchanges = files.iter().filter_map(|(name, file)| check_exchange(version, name, file));
    let covered: BTreeSet<_> = exchanges.collect();
    let has = |kind: &OperationKind| method(version, *kind).is_some();
    let all: BTreeSet<_> = OperationKind::ALL.into_iter().filter(has).collect();
    assert_eq!(covered, all, "a method without a golden file");
    let (name, card) = files.iter().find(|(name, _)| name.ends_with("/card.json")).unwrap();
    same(&write_card(version, &read_card(card).unwrap()), card, name);
}

#[test]
fn every_method_of_0_1_is_read_and_written_to_the_letter() {
    check_version(Version::V0_1);
}

#[test]
fn every_method_of_0_2_is_read_and_written_to_the_letter() {
    check_version(Version::V0_2);
}

#[test]
fn every_method_of_0_3_is_read_and_written_to_the_letter() {
    check_version(Version::V0_3);
}

#[test]
fn every_method_of_1_0_is_read_and_written_to_the_letter() {
    check_version(Version::V1_0);
}

#[test]
fn every_error_of_1_0_is_written_to_the_letter() {
    let files = golden("1.0");
    let (_, errors) = files.iter().find(|(name, _)| name.ends_with("/errors.json")).unwrap();
    for kind in ErrorKind::ALL.into_iter().filter(|kind| *kind != ErrorKind::InvalidParams) {
        let expected = &errors[format!("{kind:?}")];
        let error = Error::new(kind, "words");
        same(&error.to_jsonrpc(Version::V1_0), &expected["jsonrpc"], &format!("{kind:?}"));
        same(&error.to_http(Version::V1_0), &expected["http"], &format!("{kind:?}"));
    }
}

#[test]
fn http_of_both_versions_is_read_and_written_to_the_letter() {
    use crate::http::{self, Verb};
    use crate::version::Bare;
    for (folder, version) in [("1.0-http", Version::V1_0), ("0.3-http", Version::V0_3)] {
        let mut covered = BTreeSet::new();
        for (name, file) in golden(folder) {
            let verb = match file["verb"].as_str() {
                Some("GET") => Verb::Get,
                Some("POST") => Verb::Post,
                Some("DELETE") => Verb::Delete,
                other => panic!("{name}: {other:?}"),
            };
            let path = file["path"].as_str().unwrap();
            let pairs: Vec<(String, String)> = file["query"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect();
            let query: Vec<String> = pairs
                .iter()
                .map(|(name, value)| {
                    format!("{name}={}", value.replace(' ', "+").replace(':', "%3A"))
                })
                .collect();
            let header = (version == Version::V1_0).then_some("1.0");
            let route = http::route(verb, path, header, Bare::Refuse).unwrap();
            assert_eq!(
                route,
                http::route(verb, &format!("{path}/"), header, Bare::Refuse).unwrap()
            );
            let body = file.get("body").cloned();
            let call = http::read_call(&route, &query.join("&"), body.clone(), &fresh()).unwrap();
            let written = http::write_call(version, &call).unwrap();
            assert_eq!((written.verb, written.path.as_str()), (verb, path), "{name}");
            assert_eq!(written.query, pairs, "{name}");
            assert_eq!(written.body, body, "{name}");
            if let Some(response) = file.get("response") {
                let answer = read_answer(route.form, route.kind, response).unwrap();
                same(&write_answer(route.form, &answer), response, &name);
            }
            for event in file.get("stream").and_then(Value::as_array).into_iter().flatten() {
                let read = read_event(route.form, event).unwrap();
                same(&write_event(route.form, &read).unwrap(), event, &name);
            }
            covered.insert(route.kind);
        }
        let has = |kind: &OperationKind| method(version, *kind).is_some();
        let all: BTreeSet<_> = OperationKind::ALL.into_iter().filter(has).collect();
        assert_eq!(covered, all, "{folder}");
    }
}

#[track_caller]
fn check_refused(version: Version, method: &str, params: &Value, field: &str) {
    let kind = kind_of(version, method).unwrap();
    let error = read_call(Form::from(version), kind, params, &fresh()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidParams, "{params}");
    assert_eq!(error.violations[0].field, field, "{params}");
}

#[test]
fn wrong_parameters_are_refused_where_they_stand() {
    let new = |message: Value| json!({ "message": message });
    let check = |message: Value, field: &str| {
        check_refused(Version::V1_0, "SendMessage", &new(message), field)
    };
    check(Value::Null, "message");
    check(json!({ "role": "ROLE_USER", "parts": [{ "text": "x" }] }), "message.messageId");
    check(
        json!({ "messageId": "", "role": "ROLE_USER", "parts": [{ "text": "x" }] }),
        "message.messageId",
    );
    check(json!({ "messageId": "m", "role": "user", "parts": [{ "text": "x" }] }), "message.role");
    check(json!({ "messageId": "m", "role": 0, "parts": [{ "text": "x" }] }), "message.role");
    check(json!({ "messageId": "m", "role": 1, "parts": [] }), "message.parts");
    check(json!({ "messageId": "m", "role": 1 }), "message.parts");
    check(json!({ "messageId": "m", "role": 1, "parts": [{}] }), "message.parts[0]");
    check(
        json!({ "messageId": "m", "role": 1, "parts": [{ "text": "x", "url": "y" }] }),
        "message.parts[0]",
    );
    check(
        json!({ "messageId": "m", "role": 1, "parts": [{ "raw": "%%%" }] }),
        "message.parts[0].raw",
    );
    check(json!({ "messageId": "m", "role": 1, "parts": ["x"] }), "message.parts[0]");
    check(
        json!({ "messageId": "m\n", "role": 1, "parts": [{ "text": "x" }] }),
        "message.messageId",
    );
    for size in [json!(0), json!(101), json!(-1), json!("x")] {
        check_refused(Version::V1_0, "ListTasks", &json!({ "pageSize": size }), "pageSize");
    }
    check_refused(Version::V1_0, "ListTasks", &json!({ "status": "BOGUS" }), "status");
    check_refused(
        Version::V1_0,
        "ListTasks",
        &json!({ "statusTimestampAfter": "x" }),
        "statusTimestampAfter",
    );
    check_refused(Version::V1_0, "GetTask", &Value::Null, "id");
    check_refused(Version::V0_3, "message/send", &json!({}), "message");
    let part =
        |part: Value| json!({ "message": { "messageId": "m", "role": "user", "parts": [part] } });
    check_refused(
        Version::V0_3,
        "message/send",
        &part(json!({ "kind": "video" })),
        "message.parts[0].kind",
    );
    check_refused(
        Version::V0_3,
        "message/send",
        &part(json!({ "kind": "data", "data": [] })),
        "message.parts[0].data",
    );
    let file = json!({ "kind": "file", "file": { "bytes": "AA==", "uri": "x" } });
    check_refused(Version::V0_3, "message/send", &part(file), "message.parts[0].file");
    check_refused(Version::V0_1, "tasks/send", &json!({ "message": {} }), "id");
    check_refused(
        Version::V0_1,
        "tasks/get",
        &json!({ "id": "x", "historyLength": -1 }),
        "historyLength",
    );
}

#[test]
fn every_text_list_and_file_has_its_limit() {
    use crate::limits::{
        FILE_BYTES_MAX, ID_BYTES_MAX, NAMES_MAX, NESTING_MAX, PARTS_MAX, TEXT_BYTES_MAX,
        URL_BYTES_MAX,
    };
    let text = |bytes: usize| Value::from("x".repeat(bytes));
    let list = |items: usize, item: Value| Value::from(vec![item; items]);
    let part = json!({ "text": "x" });
    let file = |bytes: usize| Value::from(base64(&vec![0; bytes]));
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let whole = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [part], "metadata": {} } });
    for (place, name, fits, exceeds) in [
        ("/message", "messageId", text(ID_BYTES_MAX), text(ID_BYTES_MAX + 1)),
        ("/message", "parts", list(PARTS_MAX, part.clone()), list(PARTS_MAX + 1, part.clone())),
        ("/message", "extensions", list(NAMES_MAX, json!("x")), list(NAMES_MAX + 1, json!("x"))),
        (
            "/message",
            "referenceTaskIds",
            list(NAMES_MAX, json!("x")),
            list(NAMES_MAX + 1, json!("x")),
        ),
        ("/message", "extensions", json!([text(URL_BYTES_MAX)]), json!([text(URL_BYTES_MAX + 1)])),
        ("/message/parts/0", "text", text(TEXT_BYTES_MAX), text(TEXT_BYTES_MAX + 1)),
        (
            "/message",
            "parts",
            json!([{ "raw": file(FILE_BYTES_MAX) }]),
            json!([{ "raw": file(FILE_BYTES_MAX + 1) }]),
        ),
        ("/message/metadata", "x", nested(NESTING_MAX - 3), nested(NESTING_MAX - 2)),
    ] {
        for (value, fine) in [(fits, true), (exceeds, false)] {
            let mut params = whole.clone();
            params
                .pointer_mut(place)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .insert(name.to_owned(), value);
            let read = read_call(Form::V1_0, OperationKind::Send, &params, &fresh());
            assert_eq!(read.is_ok(), fine, "{place} {name}");
        }
    }
}

#[test]
fn proto_json_is_read_as_any_peer_writes_it() {
    let params = json!({
        "message": {
            "message_id": "m", "context_id": null, "task_id": "", "role": 1, "unknown": 1,
            "parts": [{ "raw": "_-8", "media_type": "text/plain" }, { "data": null }],
        },
        "configuration": { "history_length": "3", "return_immediately": false },
    });
    let call = read_call(Form::V1_0, OperationKind::Send, &params, &fresh()).unwrap();
    assert_eq!(
        write_call(Form::V1_0, &call).unwrap(),
        json!({
            "message": {
                "messageId": "m", "role": "ROLE_USER",
                "parts": [{ "raw": "/+8=", "mediaType": "text/plain" }, { "data": null }],
            },
            "configuration": { "historyLength": 3 },
        })
    );
    let listed = json!({ "status": 5 });
    let call = read_call(Form::V1_0, OperationKind::List, &listed, &fresh()).unwrap();
    assert_eq!(write_call(Form::V1_0, &call).unwrap(), json!({ "status": "TASK_STATE_CANCELED" }));
}

#[test]
fn a_state_that_we_do_not_know_is_no_reason_to_lose_a_task() {
    let task = json!({ "id": "t", "status": { "state": "TASK_STATE_PONDERING" } });
    let Ok(Answer::Task(task)) = read_answer(Form::V1_0, OperationKind::Get, &task) else {
        panic!()
    };
    assert_eq!(task.status.state, crate::model::TaskState::Unspecified);
}

#[test]
fn http_of_0_3_takes_the_form_of_json_rpc_and_files_that_were_encoded_twice() {
    let plain = json!({ "message": {
        "kind": "message", "messageId": "m", "role": "user", "parts": [{ "kind": "text", "text": "hi" }],
    }});
    let call = read_call(Form::V0_3Proto, OperationKind::Send, &plain, &fresh()).unwrap();
    assert_eq!(write_call(Form::V0_3, &call).unwrap(), plain);
    let message = |file: &str| {
        json!({ "message": {
            "messageId": "m", "role": "ROLE_USER", "content": [{ "file": { "fileWithBytes": file } }],
        }})
    };
    let read_back = |file: &str| {
        let call = read_call(Form::V0_3Proto, OperationKind::Send, &message(file), &fresh());
        write_call(Form::V0_3Proto, &call.unwrap()).unwrap()
    };
    let once = base64("샘물이 솟는 곳".as_bytes());
    assert_eq!(read_back(&base64(once.as_bytes())), message(&once));
    for honest in ["test", "9f86d081884c7d659a2feaa0c55ad015"] {
        let once = base64(honest.as_bytes());
        assert_eq!(read_back(&once), message(&once), "{honest}");
    }
}

#[test]
fn http_of_0_3_waits_unless_a_configuration_does_not_say_so() {
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "content": [{ "text": "hi" }] });
    for (configuration, waits) in [
        (Value::Null, true),
        (json!({}), false),
        (json!({ "blocking": false }), false),
        (json!({ "blocking": true }), true),
    ] {
        let params = json!({ "message": message, "configuration": configuration });
        let call = read_call(Form::V0_3Proto, OperationKind::Send, &params, &fresh()).unwrap();
        let Operation::Send(send) = call.operation else { panic!() };
        assert_eq!(send.configuration.returns.waits(), waits, "{configuration}");
    }
}

#[test]
fn python_a2a_is_understood() {
    let params = json!({
        "id": "t", "sessionId": "s", "status": { "state": "submitted" },
        "message": { "content": { "type": "text", "text": "hi" }, "role": "user", "message_id": "x" },
    });
    let call = read_call(Form::V0_1, OperationKind::Send, &params, &fresh()).unwrap();
    let Operation::Send(send) = call.operation else { panic!() };
    assert_eq!(send.message.parts, [crate::model::Part::text("hi")]);
    assert_eq!(send.message.id, fresh());
}

#[test]
fn a_webhook_is_told_the_event_in_1_0_and_the_task_before() {
    let task: crate::model::Task = crate::samples::task("t", crate::model::TaskState::Working);
    let update = crate::model::StatusUpdate {
        task: task.id.clone(),
        context: task.context.clone(),
        status: task.status.clone(),
        metadata: None,
    };
    let event = Event::Status(update);
    for version in Version::ALL {
        let (body, media_type) = write_push(version, &event, &task);
        let read = read_push(&body).unwrap();
        match version {
            Version::V1_0 => {
                assert_eq!((read, media_type), (event.clone(), "application/a2a+json"));
            }
            Version::V0_1 | Version::V0_2 | Version::V0_3 => {
                assert_eq!((read, media_type), (Event::Task(task.clone()), "application/json"));
            }
        }
    }
}

#[test]
fn a_card_of_any_version_names_where_each_version_is_spoken() {
    let files = golden("1.0");
    let (_, card) = files.iter().find(|(name, _)| name.ends_with("/card.json")).unwrap();
    let card = read_card(card).unwrap();
    let old = write_card(Version::V0_3, &card);
    assert_eq!(old["url"], "https://saem.example.com/a2a");
    assert_eq!(old["protocolVersion"], "0.3.0");
    assert_eq!(old["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(old["securitySchemes"]["key"]["in"], "header");
    assert!(old.get("supportedInterfaces").is_none());
    let oldest = write_card(Version::V0_1, &card);
    assert_eq!(
        oldest["authentication"],
        json!({ "schemes": ["ApiKey", "Bearer", "MutualTLS", "OAuth2", "OpenIdConnect"] })
    );
    // 0.2 cannot describe a certificate, so it does not demand one.
    let older = write_card(Version::V0_2, &card);
    assert!(older["securitySchemes"].get("mtls").is_none());
    assert_eq!(older["security"], json!([{ "key": [] }]));
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_it_was(event in any_event()) {
        for form in [Form::V0_2, Form::V0_3, Form::V0_3Proto, Form::V1_0] {
            let written = write_event(form, &event).unwrap();
            let read = read_event(form, &written).unwrap();
            prop_assert_eq!(write_event(form, &read).unwrap(), written);
            if form == Form::V1_0 {
                prop_assert_eq!(&read, &event);
            }
        }
    }

    #[test]
    fn a_task_survives_the_way_through_the_oldest_version(task in any_task()) {
        let written = write_answer(Form::V0_1, &Answer::Task(task.clone()));
        let Ok(Answer::Task(read)) = read_answer(Form::V0_1, OperationKind::Get, &written) else {
            return Err(TestCaseError::fail("not a task"));
        };
        prop_assert_eq!(write_answer(Form::V0_1, &Answer::Task(read.clone())), written);
        prop_assert_eq!((read.id, read.context), (task.id, task.context));
    }

    #[test]
    fn arbitrary_json_is_read_or_refused(value in any_json()) {
        for form in Form::ALL {
            for kind in OperationKind::ALL {
                if let Ok(call) = read_call(form, kind, &value, &fresh()) {
                    let _ = write_call(form, &call);
                }
                if let Ok(answer) = read_answer(form, kind, &value) {
                    let _ = write_answer(form, &answer);
                }
            }
            let _ = read_event(form, &value);
        }
        if let Ok(card) = read_card(&value) {
            for version in Version::ALL {
                let _ = write_card(version, &card);
            }
        }
        let _ = read_push(&value);
        let _ = Error::from_jsonrpc(&value);
        let _ = Error::from_http(400, &value);
        let body = serde_json::to_vec(&value).unwrap();
        let _ = jsonrpc::read_request(&body);
    }

}

proptest! {
    // Each case reads all files of a version.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn golden_requests_with_one_value_replaced_are_read_or_refused(
        at in 0usize..10_000, change in any_json(), which in 0usize..5
    ) {
        let folder = ["0.1", "0.2", "0.3", "1.0", "1.0"][which];
        let version = Version::read(folder).unwrap();
        for (_, mut file) in golden(folder) {
            replace(&mut file, at, &change);
            let body = serde_json::to_vec(&file["request"]).unwrap();
            if let Ok(request) = jsonrpc::read_request(&body)
                && let Some(kind) = kind_of(version, &request.method)
            {
                let _ = read_call(Form::from(version), kind, &request.params, &fresh());
                let _ = read_answer(Form::from(version), kind, &file["response"]["result"]);
            }
            let _ = read_card(&file);
        }
    }
}

/// Puts `change` in the place of the value number `at`, counted round and round.
fn replace(value: &mut Value, at: usize, change: &Value) {
    fn places(value: &Value, here: &str, found: &mut Vec<String>) {
        found.push(here.to_owned());
        match value {
            Value::Array(values) => {
                values
                    .iter()
                    .enumerate()
                    .for_each(|(index, value)| places(value, &format!("{here}/{index}"), found));
            }
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                places(
                    value,
                    &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    places(value, "", &mut found);
    let place = found[at % found.len()].clone();
    *value.pointer_mut(&place).unwrap() = change.clone();
}

#[test]
fn a_message_of_0_3_over_http_may_be_named_as_its_proto_names_it() {
    let fresh = "f".parse().unwrap();
    let message = json!({ "message_id": "m", "role": "ROLE_USER", "content": [{ "text": "hi" }] });
    let params = json!({ "request": message, "configuration": { "blocking": true } });
    let call = read_call(Form::V0_3Proto, OperationKind::Send, &params, &fresh).unwrap();
    let Operation::Send(send) = call.operation else { panic!("{call:?}") };
    assert_eq!((send.message.id.as_str(), send.message.parts.len()), ("m", 1));
}
