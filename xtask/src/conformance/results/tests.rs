//! Results as the suite writes them, good, bad and treacherous.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::scenarios::{are_there, scored};
use super::*;

const LIST: &str = "# Words.
spec_version: 2025-11-25
server:
  - ping
  # A word between.
  - tools-list

client:
  - auth/basic-cimd

not_scored:
  - scenario: json-schema
    leg: server
    reason: pending
  - scenario: auth/dpop
    leg: client
    reason: extension
";

const MOMENT: &str = "2026-11-15T19-52-16-527Z";

/// A run whose scenarios have these checks: id and status, separated by blanks.
fn run_of(side: Side, scenarios: &[(&str, &str)]) -> Run {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("saem-conformance-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    for (scenario, checks) in scenarios {
        let prefix = if side == Side::Server { "server-" } else { "" };
        let path = folder.join(format!("{prefix}{scenario}-{MOMENT}"));
        fs::create_dir_all(&path).unwrap();
        let words: Vec<&str> = checks.split(' ').collect();
        let checks = words.chunks(2).map(|pair| {
            serde_json::json!({ "id": pair[0], "status": pair[1], "description": "what is looked at", "errorMessage": null })
        });
        let checks = Value::Array(checks.collect()).to_string();
        fs::write(path.join("checks.json"), checks).unwrap();
    }
    fs::write(folder.join("suite.txt"), "✓").unwrap();
    let run = Run::read(&folder, side, &scored(LIST, side));
    fs::remove_dir_all(&folder).unwrap();
    run.unwrap()
}

fn bar(side: Side, success_min: usize) -> Bar {
    let scored = scored(LIST, side).len();
    Bar { side, revision: "2025-11-25", scored, success_min }
}

#[test]
fn a_list_says_what_is_scored_and_what_is_run_beside_it() {
    assert_eq!(scored(LIST, Side::Server), ["ping", "tools-list"]);
    assert_eq!(scored(LIST, Side::Client), ["auth/basic-cimd"]);
    assert!(are_there(LIST, Side::Server, "json-schema"));
    assert!(!are_there(LIST, Side::Client, "json-schema"));
    assert!(are_there(LIST, Side::Client, "auth/basic-cimd"));
    assert!(!are_there(LIST, Side::Server, "pin"));
}

#[test]
fn a_run_in_which_all_holds_is_counted_and_has_no_fault() {
    let run = run_of(
        Side::Server,
        &[
            ("ping", "answered SUCCESS wire-schema-valid SUCCESS"),
            ("tools-list", "listed SUCCESS named SUCCESS late INFO"),
            ("json-schema", "kept SUCCESS other SKIPPED"),
        ],
    );
    assert_eq!(run.faults(&bar(Side::Server, 5)), Vec::<String>::new());
    assert_eq!(run.failures(), Vec::<String>::new());
    let row = run.row(&bar(Side::Server, 5));
    let fields: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(fields, ["server", "2025-11-25", "5", "0", "0", "1", "2", "of", "2"]);
    assert_eq!(
        run.faults(&bar(Side::Server, 6)),
        ["server 2025-11-25: 5 checks hold, 6 are needed"]
    );
}

#[test]
fn a_scenario_whose_checks_were_all_skipped_does_not_hold() {
    for skipped in ["a SKIPPED b SKIPPED", "a SKIPPED wire-schema-valid SUCCESS"] {
        let run = run_of(Side::Server, &[("ping", skipped), ("tools-list", "listed SUCCESS")]);
        assert_eq!(
            run.faults(&bar(Side::Server, 0)),
            ["server 2025-11-25: 1 of 2 scored scenarios hold"]
        );
        assert_eq!(run.failures(), ["✗ ping: nothing was checked"]);
    }
}

#[test]
fn a_scored_scenario_that_was_not_run_is_missed() {
    let run = run_of(Side::Server, &[("ping", "answered SUCCESS")]);
    assert_eq!(run.failures(), ["✗ tools-list: nothing was checked"]);
    assert_eq!(run.faults(&bar(Side::Server, 1)).len(), 1);
}

#[test]
fn a_failure_counts_where_the_scenario_does_and_is_shown_everywhere() {
    let run = run_of(
        Side::Client,
        &[("auth/basic-cimd", "metadata SUCCESS slow WARNING"), ("auth/dpop", "proof FAILURE")],
    );
    assert_eq!(run.faults(&bar(Side::Client, 1)), Vec::<String>::new());
    assert_eq!(
        run.failures(),
        [
            "! auth/basic-cimd: slow: what is looked at",
            "✗ auth/dpop (not scored): proof: what is looked at"
        ]
    );
    let bad = run_of(Side::Client, &[("auth/basic-cimd", "a SUCCESS b FAILURE")]);
    assert_eq!(bad.faults(&bar(Side::Client, 1)).len(), 1);
}

#[test]
fn another_number_of_scored_scenarios_than_known_is_a_fault() {
    let run = run_of(Side::Client, &[("auth/basic-cimd", "a SUCCESS")]);
    let bar = Bar { side: Side::Client, revision: "2025-11-25", scored: 18, success_min: 0 };
    assert_eq!(run.faults(&bar), ["client 2025-11-25: 1 scenarios are scored, not 18"]);
}

#[test]
fn a_status_that_nobody_knows_is_an_error_and_so_is_no_json() {
    assert!(checks(r#"[{"id":"a","status":"MAYBE"}]"#).is_err());
    assert!(checks("✓").is_err());
    let read = checks(r#"[{"id":"a","status":"FAILURE","errorMessage":"why","details":{}}]"#);
    let expected = Check { id: "a".to_owned(), status: Status::Failure, message: "why".to_owned() };
    assert_eq!(read.unwrap(), [expected]);
    let long = format!(r#"[{{"status":"FAILURE","errorMessage":"{}\nmore"}}]"#, "샘".repeat(400));
    assert_eq!(checks(&long).unwrap()[0].message, "샘".repeat(MESSAGE_CHARS_MAX));
}
