//! Programs that serve tools and take more of the machine than they may: they are stopped, and nobody else notices.

use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};
use testkit::tool_server::{Answer, ToolServer, legacy, reads, tools};

use crate::tenants::key;
use crate::world::{PATIENCE, World};

/// A server in the language that every machine has: its tools do what `$WORK` says, and answer with what that printed.
const SCRIPT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}]}}\n' "$id" ;;
    *'"tools/call"'*) said=$(eval "$WORK" 2>&1 | tr '\n' ' '); printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$said" ;;
  esac
done
"#;

fn server(work: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", SCRIPT], "env": { "WORK": work }, "trust": "trusted" })
}

fn world(servers: &Value) -> World {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let file = json!({ "mcpServers": servers }).to_string();
    std::fs::write(world.data().join("mcp.json"), file).unwrap();
    world
}

#[track_caller]
fn work(world: &World, server: &str) -> String {
    world.json(&["mcp", "call", &format!("{server}__work")])[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_program_gets_the_limits_of_the_configuration_and_its_own() {
    let all = "ulimit -c; ulimit -n; ulimit -d";
    let mut own = server(all);
    own["memory_mib_max"] = json!(100);
    own["files_max"] = json!(40);
    let mut free = server(all);
    free["memory_mib_max"] = json!(0);
    let world = world(&json!({ "usual": server(all), "own": own, "free": free }));
    let kibibytes = 4_096 * 1_024;
    assert_eq!(work(&world, "usual").trim(), format!("0 1024 {kibibytes}"));
    assert_eq!(work(&world, "own").trim(), format!("0 40 {}", 100 * 1_024));
    assert_eq!(work(&world, "free").trim(), "0 1024 unlimited");
}

#[test]
fn a_program_that_takes_too_much_memory_does_not_get_it() {
    let doubling = "awk 'BEGIN { s = \"x\"; while (length(s) < 268435456) s = s s }' >/dev/null 2>&1 && echo got || echo none";
    let mut hungry = server(doubling);
    hungry["memory_mib_max"] = json!(64);
    let world = world(&json!({ "hungry": hungry, "modest": server("echo fine") }));
    assert_eq!(work(&world, "hungry").trim(), "none");
    assert_eq!(work(&world, "modest").trim(), "fine");
}

#[test]
fn a_program_that_is_not_there_says_which() {
    let world = world(&json!({ "none": { "command": "no-program-is-called-this" } }));
    let error = world.error(&["mcp", "call", "none__work"]);
    assert!(error.contains("no-program-is-called-this cannot be started"), "{error}");
}

#[tokio::test]
async fn no_route_starts_a_program_that_its_caller_names() {
    let world = World::new();
    // Whoever has a key, of whatever scopes and of a tenant beside the owner's, and whoever has none.
    let keys = [("local", "read,write,admin"), ("local", "read"), ("other", "read,write,admin")];
    let keys: Vec<String> = keys.map(|(tenant, scopes)| key(&world, tenant, scopes)).into();
    let quota = ("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "600000");
    let served = world.serve_with(&[quota]).await;
    let file = world.files().join("started");
    let command = format!("touch {}", file.display());
    let entry = json!({ "command": "sh", "args": ["-c", command] });
    let body = json!({
        "command": "sh", "args": ["-c", command], "name": "evil", "uri": command, "url": command,
        "launch": entry, "server": entry, "mcpServers": { "evil": entry }, "servers": { "evil": entry },
    });
    let owner = served.client.get(served.url("/api/openapi.json")).bearer_auth(&keys[0]);
    let description: Value = owner.send().await.unwrap().json().await.unwrap();
    let mut tried = 0;
    for role in keys.iter().map(Some).chain([None]) {
        for (path, methods) in description["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let Ok(method) = method.to_uppercase().parse::<reqwest::Method>() else { continue };
                let path = path.replace("{id}", "evil").replace("{name}", "evil__work");
                let mut request = served.client.request(method, served.url(&path)).json(&body);
                if let Some(key) = role {
                    request = request.bearer_auth(key);
                }
                // Some routes answer with a stream that stays open: its head is enough.
                let answer = tokio::time::timeout(PATIENCE, request.send()).await.unwrap().unwrap();
                assert!(answer.status().as_u16() < 500, "{path}: {}", answer.status());
                tried += 1;
            }
        }
    }
    assert!(tried > 120, "{tried}");
    assert!(!file.exists());
    let id = served.child.id().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    assert_eq!(children.trim(), "", "no program was started");
}

#[tokio::test]
async fn a_result_without_end_costs_little_memory() {
    let fake = ToolServer::start(|request| {
        legacy(request, |method| match method {
            "tools/list" => tools(request, &[reads("x")]),
            _ => Answer::Endless,
        })
    })
    .await;
    let world = world(&json!({ "bad": { "url": fake.url, "trust": "trusted" } }));
    let served = world.serve().await;
    served.get("/api/tools").await;
    let path = format!("/proc/{}/status", served.child.id().unwrap());
    let highest = || {
        let status = std::fs::read_to_string(&path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = highest();
    for _ in 0..3 {
        let (status, said) = served.post("/api/tools/bad__x/call", &json!({})).await;
        assert_eq!(status, 502, "{said}");
    }
    let grown = highest().saturating_sub(before);
    assert!(grown <= 64 << 10, "{grown} KiB");
}

/// How many processes have this among their arguments.
fn running(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let arguments =
        processes.map(|of| std::fs::read(of.path().join("cmdline")).unwrap_or_default());
    let has_mark = |all: &Vec<u8>| all.split(|byte| *byte == 0).any(|one| one == mark.as_bytes());
    arguments.filter(has_mark).count()
}

#[tokio::test]
async fn a_fork_bomb_is_stopped_and_other_turns_go_on() {
    // A number of seconds that nobody else sleeps for.
    let mark = format!("9{}", std::process::id());
    // It takes its own server down with it when nothing more can be started.
    let work = format!("trap 'kill -9 $$' EXIT; while :; do sleep {mark} >/dev/null 2>&1 & done");
    let mut bomb = server(&work);
    bomb["processes_max"] = json!(50);
    // The system does not count root's processes: there, the program is somebody else's.
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let nobody = ["--reuid", "65534", "--clear-groups", "sh", "-c", SCRIPT];
        bomb["command"] = json!("setpriv");
        bomb["args"] = json!(nobody);
    }
    let world = world(&json!({ "bomb": bomb, "modest": server("echo fine") }));
    let page = world.file("budget.md", "# Budget alerts\n\nAn alert is sent at the threshold.");
    world.ok(&["ingest", page.to_str().unwrap()]);
    let served = world.serve().await;
    let (status, tools) = served.get("/api/tools").await;
    assert_eq!((status, tools["tools"].as_array().unwrap().len()), (200, 2), "{tools}");
    let no_arguments = json!({});
    let bombing = served.post("/api/tools/bomb__work/call", &no_arguments);
    let others = async {
        while running(&mark) < 20 {
            tokio::task::yield_now().await;
        }
        for _ in 0..5 {
            let turn = served.turn("When is an alert sent?", "other").await;
            assert_eq!(turn["outcome"], "answered", "{turn}");
            let (status, said) = served.post("/api/tools/modest__work/call", &no_arguments).await;
            assert_eq!((status, said["text"].as_str()), (200, Some("fine ")), "{said}");
        }
    };
    let both = async { tokio::join!(bombing, others) };
    let ((status, said), ()) = tokio::time::timeout(PATIENCE, both).await.expect("both end");
    assert_eq!((status, said["code"].as_str()), (502, Some("tool_lost")), "{said}");
    // Its server has ended, and with it whatever it had started.
    let ended = async {
        while running(&mark) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("nothing of the bomb is left");
}
