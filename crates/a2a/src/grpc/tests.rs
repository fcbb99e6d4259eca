//! Messages that another writer of protobuf made, there and back, and bytes that nobody should have made.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::samples::{any_event, any_task, fresh};

/// What the SDK of the version wrote for the golden exchanges: names, methods and messages in base64.
fn golden(version: Version) -> Map<String, Value> {
    let file = format!("tests/golden/grpc/{version}.json");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn message(value: &Value) -> Vec<u8> {
    wire::bytes(value.as_str().unwrap()).unwrap()
}

/// What stands in a message, without the fields that are there only to say nothing.
fn said(shape: &'static Shape, bytes: &[u8]) -> Value {
    fn bare(value: Value) -> Value {
        let is_nothing = |value: &Value| matches!(value, Value::Bool(false)) || *value == json!("");
        match value {
            Value::Object(map) => {
                let map = map.into_iter().map(|(name, value)| (name, bare(value)));
                Value::Object(map.filter(|(_, value)| !is_nothing(value)).collect())
            }
            Value::Array(items) => items.into_iter().map(bare).collect(),
            other => other,
        }
    }
    bare(Value::Object(protobuf::read(shape, bytes).unwrap()))
}

#[track_caller]
fn check_version(version: Version, service: &str) {
    let mut covered = BTreeSet::new();
    for (name, exchange) in golden(version) {
        let path = format!("/{service}/{}", exchange["method"].as_str().unwrap());
        let method = Method::at_path(&path, Some(version.as_str())).unwrap();
        let (own_path, own) = Method::for_caller(version, method.kind).unwrap();
        assert_eq!((own_path, own.kind), (path, method.kind), "{name}");
        covered.insert(method.kind);
        let request = message(&exchange["request"]);
        let call = method.read_call(&request, &fresh()).unwrap();
        assert_eq!(call.operation.kind(), method.kind, "{name}");
        let written = method.write_call(&call).unwrap();
        assert_eq!(said(method.request, &written), said(method.request, &request), "{name}");
        if let Some(answer) = exchange.get("answer").map(message) {
            let read = method.read_answer(&answer).unwrap();
            let written = method.write_answer(&read).unwrap();
            assert_eq!(said(method.answer, &written), said(method.answer, &answer), "{name}");
        }
        for event in exchange.get("events").and_then(Value::as_array).into_iter().flatten() {
            let event = message(event);
            let read = method.read_event(&event).unwrap();
            let written = method.write_event(&read).unwrap();
            assert_eq!(said(method.answer, &written), said(method.answer, &event), "{name}");
        }
    }
    let has = |kind: &OperationKind| name_of(version, *kind).is_some();
    assert_eq!(covered, OperationKind::ALL.into_iter().filter(has).collect(), "no golden file");
}

#[test]
fn every_method_of_1_0_is_read_and_written_as_the_sdk_writes_it() {
    check_version(Version::V1_0, "lf.a2a.v1.A2AService");
}

#[test]
fn every_method_of_0_3_is_read_and_written_as_the_sdk_writes_it() {
    check_version(Version::V0_3, "a2a.v1.A2AService");
}

#[test]
fn what_is_read_from_grpc_is_what_is_read_from_json() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/1.0/SendMessage.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let params = &file["request"]["params"];
    let call = wire::read_call(Form::V1_0, OperationKind::Send, params, &fresh()).unwrap();
    let (_, method) = Method::for_caller(Version::V1_0, OperationKind::Send).unwrap();
    let request = message(&golden(Version::V1_0)["SendMessage"]["request"]);
    assert_eq!(method.read_call(&request, &fresh()).unwrap(), call);
}

#[test]
fn a_card_of_0_3_has_its_security_where_the_proto_has_it() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/1.0/card.json");
    let card: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let card = Box::new(wire::read_card(&card).unwrap());
    let (_, method) = Method::for_caller(Version::V0_3, OperationKind::ExtendedCard).unwrap();
    let written = method.write_answer(&Answer::Card(card.clone())).unwrap();
    let said = protobuf::read(method.answer, &written).unwrap();
    let newer = wire::write_card(Version::V1_0, &card);
    assert_eq!(said["securitySchemes"], newer["securitySchemes"]);
    assert_eq!(said["security"], newer["securityRequirements"]);
    assert_eq!(said["protocolVersion"], "0.3.0");
}

#[test]
fn a_path_of_another_service_or_version_is_refused() {
    let kind = |path: &str, header: Option<&str>| {
        Method::at_path(path, header).map(|method| method.kind).map_err(|error| error.kind)
    };
    let send = "/lf.a2a.v1.A2AService/SendMessage";
    assert_eq!(kind(send, None), Ok(OperationKind::Send));
    assert_eq!(kind(send, Some("1.0")), Ok(OperationKind::Send));
    assert_eq!(kind(send, Some("0.3")), Err(ErrorKind::VersionNotSupported));
    assert_eq!(kind(send, Some("9")), Err(ErrorKind::VersionNotSupported));
    let absent = Err(ErrorKind::MethodNotFound);
    for path in [
        "",
        "/",
        "SendMessage",
        "/a2a.v1.A2AService/ListTasks",
        "/x/SendMessage",
        "/lf.a2a.v1.A2AService/",
    ] {
        assert_eq!(kind(path, None), absent, "{path}");
    }
}

#[test]
fn an_error_says_its_reason_and_its_words() {
    let error = Error::new(ErrorKind::TaskNotFound, "no task t-1: 100% 없음");
    let status = status(&error);
    assert_eq!(
        (status.code, status.message.as_str()),
        (5, "no task t-1: 100%25 %EC%97%86%EC%9D%8C")
    );
    let back = error_of(status.code, &status.message, Some(&status.details));
    assert_eq!((back.kind, back.message), (error.kind, error.message));
    let not_cancelable = status_code_of(ErrorKind::TaskNotCancelable);
    assert_eq!(not_cancelable, ErrorKind::TaskNotCancelable, "by its reason, not its code");
    assert_eq!(error_of(12, "", None).kind, ErrorKind::MethodNotFound);
    assert_eq!(error_of(14, "", Some("%%%")).kind, ErrorKind::Internal);
}

fn status_code_of(kind: ErrorKind) -> ErrorKind {
    let status = status(&Error::of(kind));
    error_of(status.code, &status.message, Some(&status.details)).kind
}

#[test]
fn the_details_are_those_that_google_rpc_has() {
    let error = Error::violation("message.parts", "is required");
    let bytes = wire::bytes(&status(&error).details).unwrap();
    let status = protobuf::read(&schema::STATUS, &bytes).unwrap();
    let detail = &status["details"][0];
    assert_eq!(detail["typeUrl"], "type.googleapis.com/google.rpc.BadRequest");
    let bytes = wire::bytes(detail["value"].as_str().unwrap()).unwrap();
    let read = protobuf::read(&schema::BAD_REQUEST, &bytes).unwrap();
    assert_eq!(read["fieldViolations"][0]["field"], "message.parts");
}

#[test]
fn frames_are_found_in_whatever_pieces_they_come() {
    let stream = [frame(b"one"), frame(b""), frame(b"three")].concat();
    for size in 1..stream.len() {
        let mut deframer = Deframer::new(5);
        let mut found = Vec::new();
        for piece in stream.chunks(size) {
            deframer.push(piece);
            while let Some(message) = deframer.next_message().unwrap() {
                found.push(message);
            }
        }
        assert_eq!(found, [b"one".to_vec(), Vec::new(), b"three".to_vec()]);
        assert_eq!(deframer.end(), Ok(()));
    }
}

#[test]
fn a_frame_that_is_too_long_compressed_or_broken_is_refused() {
    let next = |bytes: &[u8]| {
        let mut deframer = Deframer::new(4);
        deframer.push(bytes);
        deframer.next_message()
    };
    assert_eq!(next(&frame(b"four")), Ok(Some(b"four".to_vec())));
    assert_eq!(next(&[0, 0, 0, 0, 5]), Err(FrameError::TooLong(4)), "before the rest is there");
    assert_eq!(next(&[1, 0, 0, 0, 1, 0]), Err(FrameError::Compressed));
    let mut deframer = Deframer::new(4);
    deframer.push(&[0, 0, 0, 0, 4, 1]);
    assert_eq!((deframer.next_message(), deframer.end()), (Ok(None), Err(FrameError::Broken)));
}

fn refused(bytes: &[u8]) -> protobuf::Fault {
    let (_, method) = Method::for_caller(Version::V1_0, OperationKind::Send).unwrap();
    protobuf::read(method.request, bytes).unwrap_err()
}

#[test]
fn bytes_that_are_no_message_say_why() {
    use protobuf::Fault;
    assert_eq!(refused(&[0x0a, 5, b'x']), Fault::Short);
    assert_eq!(refused(&[0x0a, 1, 0xff]), Fault::NotText);
    assert_eq!(refused(&[0x08, 1]), Fault::OtherKind, "a number where a text is");
    assert_eq!(refused(&[0x7b]), Fault::OtherKind, "a group");
    assert_eq!(refused(&[0xff; 11]), Fault::LongNumber);
    // A struct in a struct in a struct: each level is a field, an entry and a value.
    let mut deep = Vec::new();
    for _ in 0..200 {
        let mut value = vec![0x2a];
        value.extend(length_and(&deep));
        let mut entry = vec![0x12];
        entry.extend(length_and(&value));
        deep = vec![0x0a];
        deep.extend(length_and(&entry));
    }
    let mut request = vec![0x22];
    request.extend(length_and(&deep));
    assert_eq!(refused(&request), Fault::TooMuch);
    // A hundred thousand parts of two bytes each would be many megabytes of JSON.
    let parts = [0x2a, 0].repeat(300_000);
    let mut request = vec![0x12];
    request.extend(length_and(&parts));
    assert_eq!(refused(&request), Fault::TooMuch);
}

fn length_and(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(bytes);
    out
}

#[test]
fn of_two_contents_of_a_part_the_last_counts_and_what_is_unknown_is_passed_over() {
    let (_, method) = Method::for_caller(Version::V1_0, OperationKind::Send).unwrap();
    // text "a", then url "b", then field 99 with a varint.
    let part = [0x0a, 1, b'a', 0x1a, 1, b'b', 0x98, 0x06, 7];
    let message = [vec![0x2a], length_and(&part)].concat();
    let request = [vec![0x12], length_and(&message)].concat();
    let read = protobuf::read(method.request, &request).unwrap();
    assert_eq!(read["message"]["parts"], json!([{ "url": "b" }]));
}

/// Numbers as a double holds them: protobuf has no others in free-form data.
fn as_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => protobuf::number_of(number.as_f64().unwrap()).unwrap(),
        Value::Array(items) => items.into_iter().map(as_doubles).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(name, value)| (name, as_doubles(value))).collect()
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn any_task_and_event_come_back_as_they_were(task in any_task(), event in any_event()) {
        let (_, get) = Method::for_caller(Version::V1_0, OperationKind::Get).unwrap();
        let answer = Answer::Task(task);
        let written = get.write_answer(&answer).unwrap();
        let through_json = wire::read_answer(
            Form::V1_0,
            OperationKind::Get,
            &as_doubles(wire::write_answer(Form::V1_0, &answer)),
        ).unwrap();
        prop_assert_eq!(get.read_answer(&written).unwrap(), through_json);
        let (_, stream) = Method::for_caller(Version::V1_0, OperationKind::Stream).unwrap();
        let written = stream.write_event(&event).unwrap();
        let json = as_doubles(wire::write_event(Form::V1_0, &event).unwrap());
        let through_json = wire::read_event(Form::V1_0, &json).unwrap();
        prop_assert_eq!(stream.read_event(&written).unwrap(), through_json);
    }

    #[test]
    fn whatever_bytes_come_nothing_breaks(bytes in proptest::collection::vec(0_u8.., 0..200)) {
        for kind in OperationKind::ALL {
            for version in [Version::V1_0, Version::V0_3] {
                let Some((_, method)) = Method::for_caller(version, kind) else { continue };
                let _ = method.read_call(&bytes, &fresh());
                let _ = method.read_answer(&bytes);
                let _ = method.read_event(&bytes);
            }
        }
    }
}
