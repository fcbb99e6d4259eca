//! Data folders that earlier versions wrote open in this one, with everything in them.
//!
//! `cargo xtask golden SAEM` writes the folder of a version; each that was released stays among the fixtures.

use std::io::Read;
use std::path::{Path, PathBuf};

use agent::names::TenantId;
use agent::ports::Audit;
use serde_json::{Value, json};
use store::{Options, Store};

use crate::world::{World, answer};

/// The archives, each with a data folder and the key that opens it.
fn archives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "zip")).collect();
    assert!(!found.is_empty());
    found
}

/// Unpacks a data folder into the world's; gives the key.
fn unpack(archive: &Path, world: &World) -> String {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(archive).unwrap()).unwrap();
    let mut key = String::new();
    archive.by_name("key.txt").unwrap().read_to_string(&mut key).unwrap();
    archive.extract(world.data().parent().unwrap()).unwrap();
    key
}

/// What a list says of each document, by its source.
fn states(listed: &[Value]) -> Vec<(&str, &str)> {
    let mut states: Vec<(&str, &str)> = listed
        .iter()
        .map(|document| {
            (document["source"].as_str().unwrap(), document["status"].as_str().unwrap())
        })
        .collect();
    states.sort_unstable();
    states
}

#[tokio::test]
async fn a_folder_of_every_version_opens_with_its_documents_keys_and_jobs() {
    for archive in archives() {
        let world = World::new();
        let secret = unpack(&archive, &world);
        let expected = [
            ("broken.json", "failed"),
            ("budget-ko.md", "ready"),
            ("faq.csv", "ready"),
            ("kubernetes-en.md", "ready"),
        ];
        assert_eq!(states(&world.json(&["documents", "list"])), expected, "{archive:?}");
        for (question, source) in [
            ("남은 예산은 이월되나요?", "budget-ko.md"),
            ("how is idle cost shared", "kubernetes-en.md"),
            ("환불", "faq.csv"),
        ] {
            let found = &world.json(&["search", question])[0];
            assert_eq!(found["passages"][0]["source"], source, "{archive:?} {question}: {found}");
        }
        let tagged = &world.json(&["search", "--where", "plan=team"])[0];
        assert_eq!(tagged["passages"][0]["tags"]["updated_at"], json!(["2026-03-01"]));
        let keys = world.json(&["key", "list"]);
        let prefix = secret.split('_').nth(1).unwrap();
        let live = keys.iter().find(|key| key["prefix"] == prefix).unwrap();
        assert_eq!((&live["tenant"], &live["live"]), (&json!("local"), &json!(true)));
        let dead = keys.iter().find(|key| key["prefix"] != prefix).unwrap();
        assert_eq!((&dead["tenant"], &dead["live"]), (&json!("acme"), &json!(false)));
        assert_eq!(keys.len(), 2);

        let served = world.serve().await;
        assert_eq!(served.get("/api/jobs").await.0, 401, "its keys are asked for");
        let request = served.client.get(served.url("/api/jobs")).bearer_auth(&secret);
        let (status, jobs) = answer(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "its key still opens it: {jobs}");
        let jobs = jobs["jobs"].as_array().unwrap();
        let states: Vec<&str> = jobs.iter().map(|job| job["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["failed", "done"]);
    }
}

#[tokio::test]
async fn the_audit_log_of_every_version_is_unbroken() {
    for archive in archives() {
        let world = World::new();
        unpack(&archive, &world);
        let store = Store::open(&world.data().join("saem.redb"), Options::default()).unwrap();
        for tenant in [TenantId::local(), "acme".parse().unwrap()] {
            assert_eq!(store.first_forged(&tenant).await.unwrap(), None, "{archive:?}");
            let entries = store.entries(&tenant, 100).await.unwrap();
            assert!(entries.iter().any(|entry| entry.action == "key.create"), "{entries:?}");
        }
    }
}
