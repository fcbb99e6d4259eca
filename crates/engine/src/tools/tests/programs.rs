//! Servers that are programs: started with little, heard on standard error, and gone when we are.

use super::*;

/// A server of tools in the language that every machine has. It speaks the old era and has one tool.
const SCRIPT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"env","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}\n' "$id" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$(ANSWER)" ;;
  esac
done
"#;

fn script(answer: &str) -> String {
    SCRIPT.replace("ANSWER", answer)
}

fn program(name: &str, script: &str) -> ServerSettings {
    let environment = [("GIVEN".to_owned(), "yes".to_owned())];
    server(
        name,
        Launch::Program {
            command: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: environment.into(),
            folder: None,
        },
    )
}

#[tokio::test]
async fn a_program_gets_the_variables_that_are_named_and_no_others() {
    let world = world(vec![program("sh", &script("env | cut -d= -f1 | sort | tr '\\n' ' '"))]);
    let output = world.call("sh__env", json!({})).await.unwrap();
    let names: Vec<&str> = output.text.split_whitespace().collect();
    assert!(names.contains(&"GIVEN") && names.contains(&"PATH"), "{names:?}");
    // The shell adds these by itself.
    let own = ["GIVEN", "PATH", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| own.contains(name)), "{names:?}");
    world.tasks.stop(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn no_child_survives_us_nor_does_what_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grandchild");
    let begin = format!("sleep 1000 & echo $! > {}\n", path.display());
    let world = world(vec![program("sh", &format!("{begin}{}", script("echo hi")))]);
    assert_eq!(world.call("sh__env", json!({})).await.unwrap().text, "hi");
    let grandchild = std::fs::read_to_string(&path).unwrap().trim().to_owned();
    let lives = || std::path::Path::new(&format!("/proc/{grandchild}/cwd")).exists();
    assert!(std::path::Path::new(&format!("/proc/{grandchild}")).exists());
    assert!(world.tasks.stop(Duration::from_secs(20)).await);
    // A killed process is gone for itself at once; its parent may take a moment to notice.
    while lives() && is_running(&grandchild) {
        tokio::task::yield_now().await;
    }
}

fn is_running(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

#[tokio::test]
async fn a_program_that_ends_at_once_says_why() {
    let script = "echo 'no such \u{1b}[31mtoken' >&2; exit 3";
    let world = world(vec![program("sh", script)]);
    let catalogue = world.catalogue().await;
    let ServerState::Down { why } = &catalogue.servers[0].state else { panic!() };
    assert!(!why.contains('\u{1b}'), "{why}");
    let missing = server(
        "none",
        Launch::Program {
            command: "/does/not/exist".to_owned(),
            arguments: vec![],
            environment: BTreeMap::new(),
            folder: None,
        },
    );
    let world = super::world(vec![missing]);
    let ServerState::Down { why } = &world.catalogue().await.servers[0].state else { panic!() };
    assert!(why.contains("/does/not/exist cannot be started"), "{why}");
}

#[tokio::test]
async fn a_program_that_floods_standard_error_or_talks_nonsense_still_works() {
    let noise =
        "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo 'Starting up...'; echo '{\"a\":'; ";
    let world = world(vec![program("sh", &format!("{noise}{}", script("echo ok")))]);
    assert_eq!(world.call("sh__env", json!({})).await.unwrap().text, "ok");
    world.tasks.stop(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn a_program_that_writes_a_line_without_end_costs_its_own_call() {
    let answer = "head -c 100000000 /dev/zero | tr '\\0' 'x'";
    let (flood, fine) = (program("flood", &script(answer)), program("fine", &script("echo ok")));
    let world = world(vec![flood, fine]);
    let error = world.call("flood__env", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Lost(_) | CallError::TimedOut(_)), "{error:?}");
    assert_eq!(world.call("fine__env", json!({})).await.unwrap().text, "ok");
    world.tasks.stop(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("left").display().to_string();
    let answer = format!("sleep 1000 >/dev/null 2>&1 & echo $! > {path}; kill -9 $$");
    let world = world(vec![program("sh", &script(&answer))]);
    let error = world.call("sh__env", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error:?}");
    let left = std::fs::read_to_string(&path).unwrap().trim().to_owned();
    while is_running(&left) {
        tokio::task::yield_now().await;
    }
    world.tasks.stop(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn a_program_that_dies_in_a_call_is_started_again_for_the_next_one_and_the_call_is_not_repeated()
 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls").display().to_string();
    // The first call kills the server; later ones are answered.
    let answer = format!("echo x >> {path}; [ $(wc -l < {path}) -gt 1 ] && echo back || kill $$");
    let world = world(vec![program("sh", &script(&answer))]);
    let error = world.call("sh__env", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Lost(_)), "{error:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    assert_eq!(world.call("sh__env", json!({})).await.unwrap().text, "back");
    world.tasks.stop(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn standard_error_is_kept_in_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = program("sh", &format!("echo 'hello from sh' >&2\n{}", script("echo ok")));
    settings.rules.trust = Trust::Trusted;
    let tasks = Tasks::new();
    let parts = HostParts {
        records: Arc::new(MemoryToolRecords::default()),
        clock: Arc::new(HandClock::at(1)),
        tasks: tasks.clone(),
        lending: None,
        logins: None,
    };
    let rules = HostRules {
        servers: vec![settings],
        tenants: vec![TenantId::local()],
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        logs: Some(folder.path().join("logs")),
        ..HostRules::default()
    };
    let host = Host::new(parts, rules);
    host.catalogue(&TenantId::local(), None).await;
    let path = folder.path().join("logs/sh.log");
    while !std::fs::read_to_string(&path).unwrap_or_default().contains("hello from sh") {
        tokio::task::yield_now().await;
    }
    tasks.stop(Duration::from_secs(20)).await;
}
