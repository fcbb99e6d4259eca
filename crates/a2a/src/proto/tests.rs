//! Every golden request and answer goes through the binary form and comes back as it was.

use std::fs;
use std::path::Path;

use super::*;

fn golden(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
        })
        .collect()
}

#[track_caller]
fn check(message: &Message, value: &Value) {
    let bytes = write(message, value);
    let back = read_message(message, &bytes, 0).unwrap();
    assert_eq!(&Value::Object(back), value);
}

#[test]
fn a_card_of_1_0_is_the_same_after_it_was_binary() {
    let (_, card) = golden("1.0").into_iter().find(|(name, _)| name == "card").unwrap();
    check(&v1_0::AGENT_CARD, &card);
}

#[test]
fn messages_keep_every_kind_of_part() {
    let value = json!({
        "messageId": "m", "role": "ROLE_USER", "taskId": "t",
        "parts": [
            { "text": "" }, { "raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain" },
            { "url": "https://x.example/a" },
            { "data": { "a": [1, 2.5, -3, "나", true, null, { "b": {} }] }, "metadata": { "x": 1e300 } },
            { "data": null },
        ],
    });
    let request = json!({ "message": value, "configuration": { "historyLength": 0, "returnImmediately": true } });
    check(&v1_0::SEND_MESSAGE_REQUEST, &request);
    let status = json!({ "state": "TASK_STATE_CANCELED", "timestamp": "2026-11-15T23:00:00.123Z" });
    check(&v1_0::TASK, &json!({ "id": "t", "status": status }));
    let old = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "content": [
        { "file": { "fileWithBytes": "aGk=", "mimeType": "text/plain" } }, { "data": { "data": { "a": 1 } } } ] } });
    check(&v0_3::SEND_MESSAGE_REQUEST, &old);
}

#[test]
fn calls_are_read_and_events_written() {
    let fresh = "f".parse().unwrap();
    let bytes = write(&v1_0::GET_TASK_REQUEST, &json!({ "id": "t", "historyLength": 3 }));
    let call = read_call(Service::V1_0, OperationKind::Get, &bytes, &fresh).unwrap();
    assert_eq!(call.operation.kind(), OperationKind::Get);
    let bytes = write(&v0_3::GET_TASK_REQUEST, &json!({ "name": "tasks/t" }));
    assert!(read_call(Service::V0_3, OperationKind::Get, &bytes, &fresh).is_ok());
    for service in Service::ALL {
        for kind in OperationKind::ALL {
            if let Some(method) = service.method(kind) {
                assert_eq!(service.kind_of(method), Some(kind));
            }
        }
    }
    let status = write_status(&Error::task_not_found());
    let status = read_message(&STATUS, &status, 0).unwrap();
    assert_eq!((&status["code"], &status["message"]), (&json!(5), &json!("Task not found")));
    let info = STANDARD.decode(status["details"][0]["value"].as_str().unwrap()).unwrap();
    assert_eq!(read_message(&ERROR_INFO, &info, 0).unwrap()["reason"], "TASK_NOT_FOUND");
}

#[test]
fn bytes_that_are_no_message_are_refused_and_what_is_new_is_skipped() {
    let fresh = "f".parse().unwrap();
    for bytes in [
        &[0xff][..],
        &[0x0a, 0x7f, 1],
        &[0x12, 0x02, 0xff, 0xfe],
        &[0x07],
        &[0x00, 0x00],
        &[0x80; 20],
    ] {
        let read = read_call(Service::V1_0, OperationKind::Get, bytes, &fresh);
        assert_eq!(read.unwrap_err().kind, ErrorKind::InvalidParams, "{bytes:?}");
    }
    let mut bytes = write(&v1_0::GET_TASK_REQUEST, &json!({ "id": "t" }));
    write_bytes(&mut bytes, 99, b"later");
    write_number(&mut bytes, 98, u64::MAX);
    assert!(read_call(Service::V1_0, OperationKind::Get, &bytes, &fresh).is_ok());
    let mut deep = Vec::new();
    for _ in 0..5_000 {
        let mut list = Vec::new();
        write_bytes(&mut list, 1, &deep);
        deep = Vec::new();
        write_bytes(&mut deep, 6, &list);
    }
    assert_eq!(read_value(&deep, 0), None);
}
