//! The API as its caller meets it.

use serde_json::json;

use crate::world::{World, answer};

#[tokio::test]
async fn a_document_comes_in_as_json_is_found_and_goes() {
    let world = World::new();
    let served = world.serve().await;
    let text = "# 예산\n\n## 알림 켜기\n\n1. 설정을 엽니다.\n2. 알림을 켭니다.\n";
    let body =
        json!({ "name": "budget.md", "text": text, "collection": "guides", "type": "guide" });
    let job = served.add(&body).await;
    assert_eq!(job["state"], "done", "{job}");
    let (_, found) = served.get("/api/search?q=%EC%95%8C%EB%A6%BC&explain=true").await;
    let passage = &found["passages"][0];
    assert_eq!(passage["heading_path"], json!(["예산", "알림 켜기"]));
    assert_eq!(passage["tags"]["has_steps"], json!([true]));
    assert_eq!(passage["found"]["keyword_rank"], 1);
    let (start, end) = (passage["start"].as_u64().unwrap(), passage["end"].as_u64().unwrap());
    let range = usize::try_from(start).unwrap()..usize::try_from(end).unwrap();
    assert!(text.get(range).unwrap().contains("설정을 엽니다"), "the range is the source's");
    let (status, section) =
        served.get(&format!("/api/sections/{}?up=1", passage["section"].as_str().unwrap())).await;
    assert_eq!(status, 200);
    assert!(section["text"].as_str().unwrap().starts_with("# 예산"));
    let id = passage["document"].as_str().unwrap();
    let (_, document) = served.get(&format!("/api/documents/{id}")).await;
    assert_eq!((&document["status"], &document["doc_type"]), (&json!("ready"), &json!("guide")));
    assert_eq!(served.delete(&format!("/api/documents/{id}")).await.0, 204);
    assert!(served.search("알림").await.is_empty());
    assert_eq!(served.get(&format!("/api/documents/{id}")).await.0, 404);
    assert_eq!(served.delete(&format!("/api/documents/{id}")).await.0, 404);
}

#[tokio::test]
async fn a_form_with_a_file_is_a_document_too() {
    let world = World::new();
    let served = world.serve().await;
    let bytes = encoded_in_cp949();
    let boundary = "--boundary";
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"collection\"\r\n\r\nfaq\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"faq.csv\"\r\nContent-Type: text/csv\r\n\r\n"
    ).into_bytes();
    body.extend(bytes);
    body.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
    let request = served
        .client
        .post(served.url("/api/documents"))
        .header("content-type", format!("multipart/form-data; boundary={boundary}"))
        .body(body);
    let (status, job) = answer(request.send().await.unwrap()).await;
    assert_eq!(status, 202, "{job}");
    let job = served.finished(job["id"].as_str().unwrap()).await;
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(served.search("환불").await, ["환불은 언제 되나요?\n\n사흘 안에 됩니다."]);
}

/// `question,answer` and one pair, in the charset that Korean spreadsheets write.
fn encoded_in_cp949() -> Vec<u8> {
    let mut bytes = b"question,answer\r\n".to_vec();
    // 환불은 언제 되나요?
    bytes.extend([
        0xc8, 0xaf, 0xba, 0xd2, 0xc0, 0xba, 0x20, 0xbe, 0xf0, 0xc1, 0xa6, 0x20, 0xb5, 0xc7, 0xb3,
        0xaa, 0xbf, 0xe4, 0x3f, 0x2c,
    ]);
    // 사흘 안에 됩니다.
    bytes.extend([
        0xbb, 0xe7, 0xc8, 0xea, 0x20, 0xbe, 0xc8, 0xbf, 0xa1, 0x20, 0xb5, 0xcb, 0xb4, 0xcf, 0xb4,
        0xd9, 0x2e, 0x0d, 0x0a,
    ]);
    bytes
}

#[tokio::test]
async fn the_same_idempotency_key_gives_the_same_job() {
    let world = World::new();
    let served = world.serve().await;
    let mut ids = Vec::new();
    for text in ["one", "two"] {
        let request = served
            .client
            .post(served.url("/api/documents"))
            .header("idempotency-key", "k-1")
            .json(&json!({ "name": "a.txt", "text": text }));
        let (status, job) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 202);
        ids.push(job["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids[0], ids[1]);
    served.finished(&ids[0]).await;
    assert_eq!(served.search("one two").await, ["one"]);
}

#[tokio::test]
async fn every_error_says_what_why_and_what_to_do() {
    let world = World::new();
    let served = world.serve().await;
    let long = "x".repeat(9000);
    for (path, expected) in [
        ("/api/search", 400),
        ("/api/search?q=x&count=1000", 400),
        ("/api/search?q=x&filter=nothing%3D1", 400),
        ("/api/search?q=x&collection=nowhere", 400),
        ("/api/search?q=x&wrong=1", 400),
        (&format!("/api/search?q={long}"), 400),
        ("/api/documents/0", 404),
        ("/api/documents/00000000000000000000000000000000", 404),
        ("/api/sections/00000000000000000000000000000000.1", 404),
        ("/api/jobs/none", 404),
        ("/nowhere", 404),
    ] {
        let response = served.client.get(served.url(path)).send().await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        let (status, body) = answer(response).await;
        assert_eq!((status, kind.as_str()), (expected, "application/problem+json"), "{path}");
        for part in ["title", "detail", "action", "code"] {
            assert!(!body[part].as_str().unwrap().is_empty(), "{path}: {body}");
        }
    }
    for body in [
        json!({}),
        json!({ "text": "x" }),
        json!({ "name": "a.txt", "text": "x", "url": "http://x" }),
        json!({ "name": "a.txt", "text": "x", "surprise": 1 }),
    ] {
        assert_eq!(served.post("/api/documents", &body).await.0, 400, "{body}");
    }
}

#[tokio::test]
async fn readiness_metrics_and_the_description_are_there() {
    let world = World::new();
    let served = world.serve().await;
    assert_eq!(served.get("/health/live").await.0, 200);
    let (status, ready) = served.get("/health/ready").await;
    assert_eq!(
        (status, &ready["parts"]["store"]["ready"], &ready["parts"]["index"]["ready"]),
        (200, &json!(true), &json!(true))
    );
    let metrics =
        served.client.get(served.url("/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("http_requests_total"), "{metrics}");
    let (_, description) = served.get("/api/openapi.json").await;
    assert!(description["paths"]["/api/search"]["get"].is_object());
    let committed = include_str!("../../../../docs/openapi.json");
    let committed: serde_json::Value = serde_json::from_str(committed).unwrap();
    assert_eq!(description, committed, "docs/openapi.json is what the server serves");
}
