//! A full disk refuses writes, keeps serving what is there, and is forgotten when there is room again.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::{PATIENCE, Served, World};

/// A server whose data folder is a small disk of its own, in a mount namespace of its own.
async fn on_a_small_disk(world: &World, reserve_mebibytes: &str) -> (Served, PathBuf) {
    let data = world.data();
    std::fs::create_dir_all(&data).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=24m saem-test {data} && exec {saem} serve --listen 127.0.0.1:0 --data {data}",
        data = data.display(),
        saem = env!("CARGO_BIN_EXE_saem"),
    );
    let mut command = tokio::process::Command::new("unshare");
    // A user who is not root gets a namespace of users too, in which they are.
    let is_root = std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "sh", "-c", &script]);
    command.env("SAEM_DATA_RESERVE_MEBIBYTES", reserve_mebibytes).stderr(Stdio::inherit());
    let served = Served::start(command).await;
    let inside =
        PathBuf::from(format!("/proc/{}/root{}", served.child.id().unwrap(), data.display()));
    (served, inside)
}

/// Writes until nothing more fits.
fn fill(path: &std::path::Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    let block = vec![0; 64 << 10];
    while file.write_all(&block).is_ok() {}
    let _full = file.write_all(&block[..1]);
}

fn document(number: u32) -> Value {
    json!({ "name": format!("{number}.md"), "text": format!("# Number {number}\n\nsample text {}", "words ".repeat(2000)) })
}

async fn goes_full_and_recovers(reserve_mebibytes: &str) {
    let world = World::new();
    let (served, disk) = on_a_small_disk(&world, reserve_mebibytes).await;
    assert_eq!(served.add(&document(1)).await["state"], "done");
    let filler = disk.join("filler");
    fill(&filler);
    let (status, problem) = served.post("/api/documents", &document(2)).await;
    assert_eq!(status, 507, "{problem}");
    assert!(problem["action"].as_str().unwrap().contains("space"), "{problem}");
    assert!(!served.search("sample").await.is_empty(), "reading goes on");
    let (status, ready) = served.get("/health/ready").await;
    if reserve_mebibytes != "0" {
        assert_eq!((status, &ready["parts"]["store"]["ready"]), (503, &json!(false)), "{ready}");
    }
    std::fs::remove_file(&filler).unwrap();
    let accepted = async {
        loop {
            let (status, job) = served.post("/api/documents", &document(3)).await;
            if status == 202 {
                return served.finished(job["id"].as_str().unwrap()).await;
            }
        }
    };
    let job = tokio::time::timeout(PATIENCE, accepted).await.expect("writing goes on by itself");
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(served.get("/health/ready").await.0, 200);
}

#[tokio::test]
async fn a_disk_with_less_than_the_reserve_refuses_writes_until_there_is_room() {
    goes_full_and_recovers("6").await;
}

#[tokio::test]
async fn a_disk_that_runs_full_in_the_middle_of_a_write_breaks_nothing() {
    goes_full_and_recovers("0").await;
}
