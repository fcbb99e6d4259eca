//! Reports as files: opened and read by programs of others, in two languages, with the worst that sources can hold.

use std::path::Path;

use agent::research::report::{CitedSource, Claim, Report, Section};
use serde_json::{Value, json};

use crate::peers::script_of;
use crate::world::{PATIENCE, Served, World, shown};

/// Prose, a table, code, and a line that no paper has room for.
fn korean() -> String {
    let long = "길".repeat(700);
    format!(
        "# 예산 알림 <script>alert(1)</script>\n\n예산 알림은 월 예산의 80 %를 쓰면 소유자에게 메일로 갑니다. \
         예산 알림의 비용은 예산 10개까지 없습니다 & \"그 뒤로는\" 월 $2입니다.\n\n\
         ## 한도 (표)\n\n| 요금제 | 예산 알림 한도 |\n|---|---|\n| Team | 예산 50개 |\n| Pro | 예산 500개 |\n\n\
         ```sh\nsaem budgets --alert 80 | tee \"알림.txt\" # 예산 알림\n```\n\n예산 알림 주소는 {long}입니다.\n"
    )
}

const ENGLISH: &str = "Budget alerts\n\nA budget alert [here](javascript:alert(1)) ![x](http://attacker.invalid/leak.png) is *sent* by _mail_ \
    <b onmouseover=alert(1)>at</b> 80 percent of the budget_limit_2 \\ month. Budget alerts cost nothing for `10` budgets and 2 dollars & more after that.\n\n\
    # 1) A budget alert goes to <owner@example.com> (the owner) ~~soon~~ | at once.\n";

/// Names that want to be more than names.
const NAMES: [&str; 2] = [
    "예산 <img src=x onerror=alert(1)> & 'x' (1).md",
    "[alerts](javascript:alert(1)) *b* `c` \"d\" \\e.txt",
];

async fn served() -> (World, Served) {
    let world = World::new();
    world.file(NAMES[0], korean());
    world.file(NAMES[1], ENGLISH);
    world.ok(&["ingest", world.files().to_str().unwrap()]);
    let served = world.serve().await;
    (world, served)
}

/// A run without a model, from its question to its end.
async fn ended(served: &Served, question: &str) -> String {
    let (status, run) =
        served.post("/api/research", &json!({"question": question, "approval": "given"})).await;
    assert!((200..300).contains(&status), "{run}");
    let id = run["id"].as_str().unwrap().to_owned();
    let waiting = async {
        while served.get(&format!("/api/research/{id}")).await.1["state"] != "ended" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the run ends");
    id
}

/// Has the readers of others open all files of a folder.
async fn check(folder: &Path) {
    let mut reader = script_of("report-readers", "report_reader.py");
    let output = reader.arg(folder).stderr(std::process::Stdio::piped()).output();
    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}

#[tokio::test]
async fn programs_of_others_open_a_report_in_every_form_and_read_what_it_says() {
    let (world, served) = served().await;
    for question in [
        "예산 알림은 언제 오고 비용은 얼마인가요?",
        "When is a budget alert sent and what does it cost?",
    ] {
        let id = ended(&served, question).await;
        for format in ["json", "pdf", "docx", "html", "md"] {
            let path = format!("/api/research/{id}/report?format={format}");
            let answer = served.client.get(served.url(&path)).send().await.unwrap();
            assert_eq!(answer.status(), 200, "{format}");
            let bytes = answer.bytes().await.unwrap();
            world.file(&format!("../{id}/report.{format}"), bytes);
        }
        let folder = world.files().join("..").join(&id);
        let report = std::fs::read_to_string(folder.join("report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_ne!(report["sources"], json!([]), "{report}");
        check(&folder).await;
    }
}

/// What a model or a provider could put into a report at worst.
fn worst(mut report: Report) -> Report {
    let hostile = [
        ENGLISH.to_owned(),
        korean(),
        "1. one\n\n2. two\n---\n* * *\n+ plus\n> quoted\n#hash ## more\n===\n\tcode()\n    indented".to_owned(),
        "\u{202e}txet desrever\u{202c} in\u{200b}visible\u{0}\u{1b}[31m \u{fffe} &amp; &#x41; </w:t></w:p> ]]> <!-- -->".to_owned(),
        format!("{} 😀 한글과 Ελληνικά, 漢字 (\\) <<>> %PDF endstream endobj", "x".repeat(900)),
        "[1]: http://attacker.invalid/ \"title\"\n\n[1]\n\n<http://attacker.invalid/>\n\n| a | b |\n|---|---|\n| c | d |".to_owned(),
    ];
    let first = report.claims().next().cloned().unwrap();
    let claims = hostile.into_iter().map(|text| Claim { text, ..first.clone() });
    let heading = "# 제목 <h1>*hostile*</h1> [x](y)\nnext".to_owned();
    report.sections.push(Section { heading, claims: claims.collect() });
    let addresses = ["https://example.org/a(b)_c*d*?q=1&r=한글#x", "javascript:alert(1)"];
    let known = report.sources.first().cloned().unwrap();
    for (number, address) in (1..).zip(addresses) {
        let (id, address) = (known.id.derived("test", number), Some(address.to_owned()));
        report.sources.push(CitedSource { id, address, ..known.clone() });
    }
    report.question.push_str(" <title> & \"quotes\" *stars* \u{202e}\u{7}");
    report.not_found = vec!["- nothing *at* all\n- <script>".to_owned()];
    report.notes = vec!["`arxiv` did not answer: [why](http://attacker.invalid)".to_owned()];
    report
}

#[tokio::test]
async fn the_worst_that_sources_can_hold_is_text_in_every_form() {
    let (world, served) = served().await;
    let id = ended(&served, "예산 알림은 언제 오고 비용은 얼마인가요? budget alert").await;
    let (_, found) = served.get(&format!("/api/research/{id}/report?format=json")).await;
    let report = worst(serde_json::from_value(found).unwrap());
    world.file("../worst/report.json", serde_json::to_vec(&report).unwrap());
    world.file("../worst/report.pdf", report.to_pdf());
    world.file("../worst/report.docx", report.to_docx());
    world.file("../worst/report.html", report.to_html());
    world.file("../worst/report.md", report.to_markdown());
    check(&world.files().join("../worst")).await;
}
