//! The command line as its user meets it.

use crate::world::{World, cloudcost};

#[test]
fn documents_go_in_and_the_right_passages_come_out_in_both_languages() {
    let world = World::new();
    let folder = cloudcost();
    let guides = folder.join("guides");
    let faq = folder.join("faq");
    let report = world.json(&[
        "ingest",
        guides.to_str().unwrap(),
        "--collection",
        "guides",
        "--type",
        "guide",
    ]);
    assert_eq!(report[0]["failed"], serde_json::json!([]));
    assert_eq!(report[0]["loaded"], 24);
    world.json(&["ingest", faq.to_str().unwrap(), "--collection", "faq", "--type", "faq"]);
    for (question, source) in [
        ("남은 예산을 다음 달로 이월할 수 있나요?", "guides/ko/budgets.md"),
        ("How is idle cost shared in Kubernetes?", "guides/en/kubernetes-cost.md"),
        ("NB-6104", "guides/ko/error-codes.md"),
        ("CSV를 엑셀에서 열면 한글이 깨져요", "faq/faq-ko.csv"),
    ] {
        let found = world.json(&["search", question]);
        let passages = found[0]["passages"].as_array().unwrap();
        assert_eq!(passages.len(), 10, "{question}");
        let sources: Vec<&str> = passages.iter().map(|p| p["source"].as_str().unwrap()).collect();
        assert!(sources[..3].contains(&source), "{question}: {sources:?}");
        let faqs = sources.iter().filter(|source| source.starts_with("faq/")).count();
        assert_eq!(faqs, 3, "three of ten are from the FAQ");
    }
}

#[test]
fn what_has_not_changed_costs_nothing_and_what_has_is_swapped() {
    let world = World::new();
    world.file("docs/a.md", "# 첫째\n\n사과는 빨갛다.");
    world.file("docs/b.md", "# 둘째\n\n바나나는 노랗다.");
    let docs = world.files().join("docs");
    let ingest = ["ingest", docs.to_str().unwrap(), "--prune"];
    assert_eq!(world.json(&ingest)[0]["loaded"], 2);
    let again = &world.json(&ingest)[0];
    assert_eq!((&again["loaded"], &again["unchanged"]), (&0.into(), &2.into()));
    world.file("docs/a.md", "# 첫째\n\n포도는 보랏빛이다.");
    std::fs::remove_file(docs.join("b.md")).unwrap();
    let third = &world.json(&ingest)[0];
    assert_eq!((&third["loaded"], &third["deleted"]), (&1.into(), &1.into()));
    let found = world.ok(&["search", "사과 바나나 포도"]);
    assert!(
        found.contains("포도") && !found.contains("사과는") && !found.contains("바나나는"),
        "{found}"
    );
}

#[test]
fn a_document_is_listed_shown_and_deleted() {
    let world = World::new();
    let file = world
        .file("guide.md", "---\nplan: [pro, team]\n---\n# Title\n\n## Part\n\nText of the part.");
    world.ok(&["ingest", file.to_str().unwrap(), "--type", "guide"]);
    let listed = world.json(&["documents", "list"]);
    assert_eq!(listed[0]["source"], "guide.md");
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    let shown = world.ok(&["documents", "show", &id]);
    assert!(shown.contains("Part") && shown.contains("plan: pro, team"), "{shown}");
    let found = world.json(&["search", "--where", "plan=team"]);
    assert_eq!(found[0]["passages"].as_array().unwrap().len(), 1);
    world.ok(&["documents", "delete", &id]);
    assert!(world.ok(&["search", "text"]).contains("nothing found"));
    assert!(world.error(&["documents", "delete", &id]).contains("there is no document"));
}

#[test]
fn standard_input_is_a_document_with_a_name() {
    let world = World::new();
    let output = world.run_with_input(
        &["ingest", "-", "--name", "notes.md"],
        "# 메모\n\n회의는 세 시".as_bytes(),
    );
    assert!(output.status.success());
    assert!(world.ok(&["search", "회의"]).contains("세 시"));
    let output = world.run_with_input(&["ingest", "-"], b"text");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--name"));
}

#[test]
fn explain_says_how_each_passage_was_found() {
    let world = World::new();
    let file = world.file("a.md", "# 예산\n\n예산 알림을 켜려면 설정을 엽니다.");
    world.ok(&["ingest", file.to_str().unwrap()]);
    let found = world.ok(&["search", "예산 알림", "--explain"]);
    assert!(found.contains("keyword rank 1") && found.contains("vector rank 1"), "{found}");
}

#[test]
fn keys_are_shown_once_and_never_kept() {
    let world = World::new();
    let created = world.json(&["key", "create", "--scopes", "read,write", "--label", "page"]);
    let secret = created[0]["key"].as_str().unwrap();
    let prefix = created[0]["prefix"].as_str().unwrap();
    let listed = world.ok(&["key", "list"]);
    assert!(
        listed.contains(prefix) && listed.contains("live") && !listed.contains(secret),
        "{listed}"
    );
    world.ok(&["key", "revoke", prefix]);
    assert!(world.ok(&["key", "list"]).contains("dead"));
    let stored = std::fs::read(world.data().join("saem.redb")).unwrap();
    let is_there = |needle: &str| stored.windows(needle.len()).any(|w| w == needle.as_bytes());
    assert!(is_there(prefix) && !is_there(secret));
}

#[test]
fn doctor_says_what_is_there_and_what_would_add_what() {
    let world = World::new();
    let says = world.ok(&["doctor"]);
    for part in ["data folder", "embedder", "API keys", "saem ingest", "saem key create"] {
        assert!(says.contains(part), "{part}: {says}");
    }
}

#[test]
fn cleanup_reports_what_it_did() {
    let world = World::new();
    for text in ["one", "two", "three"] {
        let file = world.file("a.txt", text);
        world.ok(&["ingest", file.to_str().unwrap()]);
    }
    let report = &world.json(&["cleanup"])[0];
    assert_eq!(report["tenants"], 1);
    assert!(report["index_bytes_freed"].as_u64().unwrap() > 0, "{report}");
    assert!(world.ok(&["search", "three"]).contains("three"));
}
