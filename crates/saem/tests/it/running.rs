//! Commands find the server that has the data folder open, and do the same work through it.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::Value;

use crate::world::{PATIENCE, Served, World, cloudcost, shown};

/// What a user sees of a command, but for the moment it happened at.
fn seen(output: &Output) -> (Option<i32>, String) {
    let text = shown(output);
    let lines = text.lines().map(|line| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            forget_moments(&mut value);
            value.to_string()
        }
        Err(_) => line.to_owned(),
    });
    (output.status.code(), lines.collect::<Vec<_>>().join("\n"))
}

/// The one JSON value that a command printed.
#[track_caller]
fn json_of(output: &Output) -> Value {
    let text = shown(output);
    serde_json::from_slice(&output.stdout).expect(&text)
}

fn forget_moments(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "ingested_at");
            fields.values_mut().for_each(forget_moments);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_moments),
        _ => {}
    }
}

/// Files of every sort in the same places of both worlds.
fn fill(world: &World) {
    world
        .file("docs/a.md", "---\nplan: [pro, team]\n---\n# 예산\n\n## 알림\n\n예산 알림을 켭니다.");
    world.file("docs/b.txt", "The budget alert goes out at nine.");
    world.file("docs/c; d.md", "# Odd name\n\nIts name is a condition's worst case.");
    world.file("docs/faq.csv", "frage,antwort\n어디서 켜나요?,설정에서 켭니다.\n");
    world.file("docs/broken.pdf", b"%PDF-1.7\nthis is no pdf at all");
}

#[tokio::test]
async fn every_command_says_the_same_with_and_without_a_server() {
    let (alone, served) = (World::new(), World::new());
    for world in [&alone, &served] {
        fill(world);
        world.ok(&["key", "create", "--tenant", "acme", "--scopes", "read"]);
    }
    let server = served.serve().await;
    assert_eq!(server.get("/api/documents").await.0, 401, "this server wants keys");
    let check = |arguments: &[&str]| {
        let run = |world: &World| {
            let docs = world.files().join("docs");
            let docs = docs.to_str().unwrap();
            let filled: Vec<String> =
                arguments.iter().map(|argument| argument.replace("DOCS", docs)).collect();
            world.run(&filled.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(seen(&run(&served)), seen(&run(&alone)), "saem {arguments:?}");
        run(&served)
    };
    // Without a type, the first document to be read would give its own to the collection.
    let columns = ["--question", "frage", "--answer", "antwort"];
    let ingest = [&["ingest", "DOCS", "--json", "--type", "guide"][..], &columns].concat();
    check(&ingest);
    let report = json_of(&check(&ingest));
    assert_eq!((&report["unchanged"], &report["loaded"]), (&4.into(), &0.into()), "{report}");
    check(&["ingest", "file:///etc/passwd"]);
    check(&["ingest", "http://127.0.0.1:9/x", "--json"]);
    for search in [
        &["search", "예산 알림", "--explain"][..],
        &["search", "budget alert", "--json"],
        &["search", "budget alert", "--json", "--explain", "--mode", "keyword", "--count", "2"],
        &["search", "--where", "plan=team", "--where", "has_steps=false", "--json"],
        &["search", "--where", "source=docs/c; d.md", "--json"],
        &["search", "x", "--collection", "nowhere"],
        &["search", "x", "--where", "plna=pro"],
        &["search"],
        &["search", "x", "--count", "0"],
    ] {
        check(search);
    }
    let odd = check(&["search", "--where", "source=docs/c; d.md"]);
    assert!(shown(&odd).contains("worst case"), "{}", shown(&odd));
    let listed = check(&["documents", "list", "--json"]);
    check(&["documents", "list", "--collection", "documents"]);
    check(&["documents", "list", "--collection", "none"]);
    let absent = "0".repeat(32);
    check(&["documents", "show", &absent]);
    for line in String::from_utf8(listed.stdout).unwrap().lines() {
        let id = serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
        check(&["documents", "show", &id]);
        check(&["documents", "show", &id, "--json"]);
        check(&["documents", "delete", &id, &absent]);
    }
    check(&["documents", "list"]);
    check(&["key", "revoke", "nothing"]);
    check(&["key", "create", "--scopes", "everything"]);
    check(&["key", "create", "--tenant", "../etc"]);
}

#[tokio::test]
async fn ingest_through_a_server_swaps_prunes_and_takes_standard_input() {
    let world = World::new();
    let _served = world.serve().await;
    world.file("docs/a.md", "# 첫째\n\n사과는 빨갛다.");
    world.file("docs/b.md", "# 둘째\n\n바나나는 노랗다.");
    let docs = world.files().join("docs");
    let ingest = ["ingest", docs.to_str().unwrap(), "--prune"];
    assert_eq!(world.json(&ingest)[0]["loaded"], 2);
    world.file("docs/a.md", "# 첫째\n\n포도는 보랏빛이다.");
    std::fs::remove_file(docs.join("b.md")).unwrap();
    let second = &world.json(&ingest)[0];
    assert_eq!((&second["loaded"], &second["deleted"]), (&1.into(), &1.into()), "{second}");
    let found = world.ok(&["search", "사과 바나나 포도"]);
    assert!(found.contains("포도") && !found.contains("바나나는"), "{found}");
    let output =
        world.run_with_input(&["ingest", "-", "--name", "notes.md"], b"# Note\n\nAt three.");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(world.ok(&["search", "note"]).contains("At three."));
    let updated = world.json(&["documents", "list"]);
    let of_file = updated.iter().find(|document| document["source"] == "docs/a.md").unwrap();
    assert!(of_file["updated_at"].is_string(), "the file's date comes along: {of_file}");
}

#[tokio::test]
async fn a_key_made_while_the_server_runs_counts_at_once_and_so_does_its_end() {
    let world = World::new();
    let served = world.serve().await;
    assert_eq!(
        served.get("/api/documents").await.0,
        200,
        "on loopback without keys nobody is asked"
    );
    let made = &world.json(&["key", "create", "--tenant", "acme", "--scopes", "admin"])[0];
    let (key, prefix) = (made["key"].as_str().unwrap(), made["prefix"].as_str().unwrap());
    assert_eq!(served.get("/api/documents").await.0, 401, "from the first key on everybody is");
    let with_key = async |method: &str, path: &str| {
        let method = method.parse().unwrap();
        let request = served.client.request(method, served.url(path)).bearer_auth(key);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(with_key("GET", "/api/keys").await, 200);
    for (method, path) in [
        ("GET", "/api/owner/keys"),
        ("DELETE", "/api/owner/keys/x"),
        ("POST", "/api/owner/cleanup"),
    ] {
        assert_eq!(with_key(method, path).await, 403, "no key opens {method} {path}");
    }
    let listed = world.ok(&["key", "list"]);
    assert!(listed.contains(prefix) && listed.contains("acme"), "{listed}");
    let file = world.file("a.md", "# A\n\nText.");
    world.ok(&["ingest", file.to_str().unwrap()]);
    assert!(world.ok(&["search", "text"]).contains("Text."), "the owner needs no key");
    assert_eq!(world.json(&["cleanup"])[0]["tenants"], 1);
    world.ok(&["key", "revoke", prefix]);
    assert_eq!(with_key("GET", "/api/keys").await, 401);
    let doctor = world.ok(&["doctor"]);
    assert!(doctor.contains("server: process") && doctor.contains("ready"), "{doctor}");
}

#[tokio::test]
async fn a_file_that_a_killed_server_left_is_ignored() {
    let world = World::new();
    let mut served = world.serve().await;
    let file = world.file("a.md", "# A\n\nText.");
    world.ok(&["ingest", file.to_str().unwrap()]);
    served.child.start_kill().unwrap();
    served.child.wait().await.unwrap();
    assert!(world.data().join("server.json").exists(), "a killed server cannot clean up");
    assert!(world.ok(&["search", "text"]).contains("Text."));
    assert!(world.ok(&["key", "list"]).is_empty());
    let served = world.serve().await;
    assert!(world.ok(&["search", "text"]).contains("Text."));
    assert_eq!(served.search("text").await, ["Text."]);
}

/// Asks a process to end in good order.
fn terminate(served: &Served) {
    let pid = served.child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
}

#[tokio::test]
async fn the_file_is_for_its_user_alone_and_goes_with_the_server() {
    let world = World::new();
    let mut served = world.serve().await;
    let path = world.data().join("server.json");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(served.get("/health/live").await.0, 200, "it is up, and listens to signals");
    terminate(&served);
    let ended = tokio::time::timeout(PATIENCE, served.child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
    assert!(!path.exists());
    assert!(world.ok(&["search", "text"]).contains("nothing found"));
}

#[tokio::test]
async fn the_token_opens_the_server_to_this_machine_and_stands_in_no_log() {
    let world = World::new();
    world.ok(&["key", "create", "--scopes", "admin"]);
    let log = world.file("log", "");
    let script = format!(
        "exec {saem} serve -vv --listen 127.0.0.1:0 --data {data} 2>{log}",
        saem = env!("CARGO_BIN_EXE_saem"),
        data = world.data().display(),
        log = log.display(),
    );
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", &script]);
    let served = Served::start(command).await;
    let file = std::fs::read_to_string(world.data().join("server.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let token = file["token"].as_str().unwrap();
    assert!(token.len() >= 64, "it cannot be guessed");
    let ask = async |token: &str, proxied: bool| {
        let mut request = served.client.get(served.url("/api/documents")).bearer_auth(token);
        if proxied {
            request = request.header("x-forwarded-for", "10.0.0.1");
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask(token, false).await, 200);
    assert_eq!(ask(token, true).await, 401, "through a proxy it could be anybody");
    assert_eq!(ask(&token.replace(['0', '1', '2'], "3"), false).await, 401);
    assert_eq!(ask("saem-owner_", false).await, 401);
    let spoken = world.run(&["search", "x", "-vv"]);
    assert!(spoken.status.success() && !shown(&spoken).contains(token));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("/api/search"), "the log was kept: {log}");
    assert!(!log.contains(token));
}

#[tokio::test]
async fn a_server_that_listens_everywhere_is_found_on_this_machine() {
    let world = World::new();
    world.ok(&["key", "create", "--scopes", "admin"]);
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_saem"));
    command.args(["serve", "--listen", "0.0.0.0:0", "--data"]).arg(world.data());
    let _served = Served::start(command).await;
    assert!(world.ok(&["search", "x"]).contains("nothing found"));
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_told_so() {
    let world = World::new();
    let _served = world.serve().await;
    let error = world.error(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(error.contains("another saem is using") && error.contains("--data"), "{error}");
    assert!(world.ok(&["search", "x"]).contains("nothing found"), "the first one is still found");
}

#[tokio::test]
async fn a_server_anywhere_is_asked_by_its_address_with_a_key_from_the_environment() {
    let (world, elsewhere) = (World::new(), World::new());
    let made = &elsewhere.json(&["key", "create", "--tenant", "acme", "--scopes", "admin"])[0];
    let key = made["key"].as_str().unwrap();
    let served = elsewhere.serve().await;
    let ask = |arguments: &[&str], key: &str| {
        let arguments = [arguments, &["--server", &served.address]].concat();
        world.run_bare(&arguments, &[("SAEM_API_KEY", key)])
    };
    let guides = cloudcost().join("guides/ko");
    let guides = guides.to_str().unwrap();
    let output = ask(&["ingest", guides, "--json"], key);
    let report = json_of(&output);
    assert_eq!(report["loaded"], 11, "{report}");
    assert!(shown(&ask(&["search", "남은 예산 이월"], key)).contains("budgets.md"));
    assert!(shown(&ask(&["documents", "list"], key)).contains("11 documents"));
    let listed = shown(&ask(&["key", "list"], key));
    assert!(listed.contains("acme"), "{listed}");
    let created = json_of(&ask(&["key", "create", "--json"], key));
    let revoked = ask(&["key", "revoke", created["prefix"].as_str().unwrap()], key);
    assert!(revoked.status.success(), "{}", shown(&revoked));
    assert!(elsewhere.ok(&["documents", "list"]).contains("0 documents"), "it was acme's work");
    for (arguments, key, expected) in [
        (&["search", "x"][..], "", "SAEM_API_KEY"),
        (&["search", "x"], "saem_wrong", "Copy the whole key again"),
        (&["key", "create", "--tenant", "other"], key, "--tenant"),
        (&["cleanup"], key, "only the owner"),
        (&["serve"], key, "leave --server out"),
    ] {
        let output = ask(arguments, key);
        let text = shown(&output);
        assert!(!output.status.success() && text.contains(expected), "{arguments:?}: {text}");
        assert!(!text.contains(key) || key.is_empty() || key == "saem_wrong", "{text}");
    }
    let nobody = world.run_bare(&["search", "x", "--server", "http://127.0.0.1:9"], &[]);
    assert!(shown(&nobody).contains("does not answer"), "{}", shown(&nobody));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_gives_free_memory_back_at_once_unless_it_is_told_otherwise() {
    let world = World::new();
    for (environment, delay) in [(&[][..], "0"), (&[("MIMALLOC_PURGE_DELAY", "50")], "50")] {
        let server = world.serve_with(environment).await;
        let process = server.child.id().unwrap();
        let variables = std::fs::read_to_string(format!("/proc/{process}/environ")).unwrap();
        let setting = format!("MIMALLOC_PURGE_DELAY={delay}");
        assert!(variables.split('\0').any(|variable| variable == setting), "{variables:?}");
        server.kill().await;
    }
}
