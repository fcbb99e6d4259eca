//! Checks what a reader gets to see of a report.

use super::*;
use crate::identity::Timestamp;

fn id(number: u64) -> Uuid {
    Uuid::from_random([1; 16]).derived("test", number)
}

fn sample() -> Report {
    let citation = |verdict| Citation {
        source_id: id(1),
        quote: "An alert is sent at 80 %".to_owned(),
        start: 0,
        end: 24,
        verdict,
    };
    let claim = |text: &str, verdict, is_supported| Claim {
        text: text.to_owned(),
        citations: vec![citation(verdict)],
        is_supported,
    };
    let good = claim("Alerts come at 80 %.", CheckVerdict::Verified, true);
    let bad = claim("<script>alert(1)</script> & more", CheckVerdict::Unsupported, false);
    Report {
        id: id(0),
        question: "When do alerts <b>come</b>?".to_owned(),
        sections: vec![Section { heading: "Alerts".to_owned(), claims: vec![good, bad] }],
        sources: vec![CitedSource {
            id: id(1),
            provider: ProviderId::local(),
            title: "Budget guide".to_owned(),
            place: "budget.md".to_owned(),
            address: Some("javascript:alert(1)".to_owned()),
            published: Some("2026-01-02".to_owned()),
            accessed: Moment(Timestamp(1_763_201_400_000)),
        }],
        not_found: vec!["what an alert costs".to_owned()],
        notes: vec!["arxiv did not answer".to_owned()],
        ended: EndReason::TimeSpent,
        made_at: Moment(Timestamp(1_763_201_400_000)),
    }
}

#[test]
fn markdown_says_what_is_supported_what_is_not_and_what_was_not_found() {
    let expected = "\
# When do alerts &lt;b>come&lt;/b>?

## Alerts

Alerts come at 80 %. [1]

&lt;script>alert(1)&lt;/script> &amp; more *(not supported by a source)*

## What was not found

- what an alert costs

## Sources

1. **Budget guide** · budget.md · published 2026-01-02 · accessed 2025-11-15T10:10:00Z (local)
   > “An alert is sent at 80 %”

## About this report

- The time for it was used up; this is what had been found.
- arxiv did not answer
";
    assert_eq!(sample().to_markdown(), expected);
}

#[test]
fn a_page_shows_what_others_wrote_as_text_and_links_to_the_web_alone() {
    let page = sample().to_html();
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    assert!(!page.contains("href=\"javascript"), "{page}");
    assert!(page.contains("<a href=\"#source-1\">[1]</a>"), "{page}");
    assert!(page.contains("not supported by a source"), "{page}");
    let mut report = sample();
    report.sources[0].address = Some("https://example.org/?a=1&b=2".to_owned());
    let page = report.to_html();
    assert!(page.contains("href=\"https://example.org/?a=1&amp;b=2\""), "{page}");
}

#[test]
fn what_others_wrote_is_text_in_markdown() {
    for (text, expected) in [
        ("a *b* `c` snake_case _d_", r"a \*b\* \`c\` snake_case \_d\_"),
        ("![x](http://evil.net/y) ~~z~~", r"!\[x\](http://evil.net/y) \~\~z\~\~"),
        ("1. one\n2. two", r"1\. one 2. two"),
        ("12) twelve", r"12\) twelve"),
        ("# one", r"\# one"),
        ("- one", r"\- one"),
        (r"C:\x", r"C:\\x"),
        ("3.5 dollars", "3.5 dollars"),
        ("-5 % _", r"-5 % \_"),
        ("in\u{200b}visible \u{202e}turned\u{7}", "invisible turned"),
    ] {
        let mut report = sample();
        report.sections[0].claims[0].text = text.to_owned();
        let markdown = report.to_markdown();
        assert!(markdown.contains(&format!("\n{expected} [1]\n")), "{text}: {markdown}");
    }
}

#[test]
fn a_korean_question_gets_a_korean_report() {
    let mut report = sample();
    report.question = "알림은 언제 오나요?".to_owned();
    assert!(report.to_markdown().contains("## 찾지 못한 내용"));
    assert!(report.to_html().contains("<html lang=\"ko\">"));
}

#[test]
fn a_report_without_a_claim_says_so() {
    let mut report = sample();
    (report.sections, report.sources) = (vec![], vec![]);
    assert!(report.to_markdown().contains("Nothing was found"));
    assert_eq!(report.supported_share(), Share::NONE);
}
