//! Another embedder: the old index serves while the new one is made, and an embedder that is away is no disaster.

use serde_json::json;
use testkit::embeddings::EmbeddingServer;

use crate::world::{PATIENCE, World, shown};

#[tokio::test]
async fn a_change_of_embedder_embeds_anew_in_the_background() {
    let world = World::new();
    let served = world.serve().await;
    served.add(&json!({ "name": "a.md", "text": "# 사과\n\n사과는 빨갛다." })).await;
    served.kill().await;
    let embeddings = EmbeddingServer::start().await;
    let environment = [
        ("SAEM_EMBEDDER_KIND", "openai"),
        ("SAEM_EMBEDDER_BASE_URL", embeddings.base_url.as_str()),
        ("SAEM_EMBEDDER_MODEL", "test"),
    ];
    let served = world.serve_with(&environment).await;
    assert_eq!(served.search("사과").await, ["사과는 빨갛다."], "the old index serves at once");
    let switched = async {
        while !embeddings.was_asked_for("어떤 과일이 빨간가") {
            let (status, _) = served.get("/api/search?q=%EC%96%B4%EB%96%A4%20%EA%B3%BC%EC%9D%BC%EC%9D%B4%20%EB%B9%A8%EA%B0%84%EA%B0%80&mode=vector").await;
            assert_eq!(status, 200);
        }
    };
    tokio::time::timeout(PATIENCE, switched).await.expect("the new index takes over");
    assert!(embeddings.was_asked_for("사과는 빨갛다"), "the document was embedded anew");
    assert_eq!(served.search("사과").await, ["사과는 빨갛다."]);
}

#[test]
fn an_embedder_that_does_not_answer_is_named_with_what_to_do() {
    let world = World::new();
    let file = world.file("a.md", "# A");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_saem"))
        .args(["ingest", file.to_str().unwrap(), "--data"])
        .arg(world.data())
        .env("SAEM_EMBEDDER_KIND", "openai")
        .env("SAEM_EMBEDDER_BASE_URL", "http://127.0.0.1:9/v1")
        .env("SAEM_EMBEDDER_MODEL", "test")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(shown(&output).contains("is it running"), "{}", shown(&output));
}
