//! Bad input gets a clear error that says what to do, and loses nothing.

use crate::world::{World, shown};

#[test]
fn every_bad_file_has_its_reason_and_the_rest_goes_in() {
    let world = World::new();
    let table: &[(&str, &[u8], &str)] = &[
        ("empty.md", b"", "empty"),
        ("blank.txt", b" \n\t\n", "empty"),
        ("program.exe", b"MZ\x90\x00\x03\x00\x00\x00\xff\xff\x00\x00", "type"),
        ("broken.pdf", b"%PDF-1.7\nthis is no pdf at all", "PDF"),
        ("broken.docx", b"PK\x03\x04 not a zip", "the DOCX file is damaged"),
        ("broken.json", b"{\"a\": [1, 2", "JSON"),
    ];
    for (name, bytes, _) in table {
        world.file(&format!("docs/{name}"), bytes);
    }
    world.file("docs/good.md", "# Good\n\nThis one is fine.");
    let docs = world.files().join("docs");
    let output = world.run(&["ingest", docs.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["loaded"], 1, "{report}");
    let failed = report["failed"].as_array().unwrap();
    for (name, _, expected) in table {
        let of = failed.iter().find(|f| f["source"].as_str().unwrap().ends_with(name));
        let reason = of.unwrap_or_else(|| panic!("{name} is not among {failed:?}"))["reason"]
            .as_str()
            .unwrap();
        let has = reason.to_lowercase().contains(&expected.to_lowercase());
        assert!(has && !reason.contains('\n'), "{name}: {reason}");
    }
    assert!(world.ok(&["search", "fine"]).contains("This one is fine."));
}

#[test]
fn a_bad_new_version_leaves_the_good_old_one_searchable() {
    let world = World::new();
    let file = world.file("data.json", r#"[{"question": "Where?", "answer": "Here."}]"#);
    world.ok(&["ingest", file.to_str().unwrap()]);
    std::fs::write(&file, "[{").unwrap();
    assert_eq!(world.run(&["ingest", file.to_str().unwrap()]).status.code(), Some(2));
    assert!(world.ok(&["search", "where"]).contains("Here."));
    assert!(world.ok(&["documents", "list"]).contains("failed"));
}

#[test]
fn wrong_calls_say_what_to_do() {
    let world = World::new();
    let file = world.file("a.md", "# A\n\nText.");
    world.ok(&["ingest", file.to_str().unwrap()]);
    let long = "가나다 ".repeat(100_000);
    let twice = world.file("x/a.md", "# B");
    for (arguments, expected) in [
        (&["ingest", "/no/such/file.md"][..], "is the path right"),
        (&["ingest", "x", "--collection", "../etc"], "not a legal name"),
        (
            &["ingest", file.to_str().unwrap(), twice.to_str().unwrap()],
            "would both be the document",
        ),
        (&["search", "text", "--collection", "nowhere"], "there is no collection nowhere"),
        (&["search", "text", "--where", "plna=pro"], "no document has a tag"),
        (&["search", "text", "--where", "plan"], "cannot be read"),
        (&["search"], "nothing to search for"),
        (&["search", "text", "--count", "0"], "1 to 100"),
        (&["documents", "show", "abc"], "32 digits"),
        (&["key", "create", "--scopes", "everything"], "there is no scope"),
        (&["key", "revoke", "nothing"], "there is no key"),
        (&["eval", "retrieval", "--set", "korquad"], "--sets"),
        (&["eval", "memory", "--set", "locomo"], "--sets"),
    ] {
        let error = world.error(arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    }
    let request = world.file("long.txt", &long);
    let _kept = request;
    assert!(world.ok(&["search", "text"]).contains("Text."));
}

#[test]
fn a_fetch_of_a_private_address_or_a_file_is_refused() {
    let world = World::new();
    for address in
        ["http://127.0.0.1:9/x", "http://localhost/x", "file:///etc/passwd", "http://[::1]/x"]
    {
        let output = world.run(&["ingest", address]);
        assert_eq!(output.status.code(), Some(2), "{address}: {}", shown(&output));
        assert!(shown(&output).contains("1 failed"), "{}", shown(&output));
    }
}
