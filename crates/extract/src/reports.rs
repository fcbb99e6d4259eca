//! Checks that reports written as PDF and DOCX can be read again, word for word.

use agent::identity::Timestamp;
use agent::research::message::{CheckVerdict, Moment, ProviderId, Uuid};
use agent::research::report::{Citation, CitedSource, Claim, EndReason, Report, Section};

use crate::{BlockKind, Extracted, Hint, Limits, extract};

fn id(number: u64) -> Uuid {
    Uuid::from_random([1; 16]).derived("test", number)
}

fn sample(question: &str, claim: &str, address: &str) -> Report {
    let quote = "“quoted” — 인용 100 %".to_owned();
    let verdict = CheckVerdict::Verified;
    let citation = Citation { source_id: id(1), quote, start: 0, end: 9, verdict };
    let made_at = Moment(Timestamp(1_763_201_400_000));
    Report {
        id: id(0),
        question: question.to_owned(),
        sections: vec![Section {
            heading: "예산 알림 & <alerts>".to_owned(),
            claims: vec![
                Claim { text: claim.to_owned(), citations: vec![citation], is_supported: true },
                Claim {
                    text: "아무도 모른다.".to_owned(), citations: vec![], is_supported: false
                },
            ],
        }],
        sources: vec![CitedSource {
            id: id(1),
            provider: ProviderId::local(),
            title: "Guide (1) \\ 안내".to_owned(),
            place: "guide.md".to_owned(),
            address: Some(address.to_owned()),
            published: None,
            accessed: made_at,
        }],
        not_found: vec!["가격 😀 price".to_owned()],
        notes: vec![],
        ended: EndReason::Enough,
        made_at,
    }
}

fn read(bytes: &[u8]) -> Extracted {
    extract(bytes, &Hint::default(), &Limits::default()).unwrap()
}

/// What was read, without regard to where lines were broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_report_can_be_read_again_in_every_paper_form() {
    let report = sample(
        "알림은 언제 오나요? When (exactly)?",
        "알림은 예산의 80 %에서 옵니다 – “soon”.",
        "https://example.org/a(b)?q=1&r=2",
    );
    for (form, bytes) in [("pdf", report.to_pdf()), ("docx", report.to_docx())] {
        let read = read(&bytes);
        let text = words(&read.text);
        for part in [
            "알림은 언제 오나요? When (exactly)?",
            "예산 알림 & <alerts>",
            "알림은 예산의 80 %에서 옵니다 – “soon”. [1]",
            "아무도 모른다. (출처로 뒷받침되지 않음)",
            "가격 😀 price",
            "Guide (1) \\ 안내 · https://example.org/a(b)?q=1&r=2",
            "““quoted” — 인용 100 %”",
        ] {
            assert!(text.contains(part), "{form}: {part} is not in\n{text}");
        }
        assert!(read.warnings.is_empty(), "{form}: {:?}", read.warnings);
    }
}

#[test]
fn the_headings_of_a_word_report_are_headings() {
    let read = read(&sample("When?", "Now.", "guide").to_docx());
    let heading = |block: &&crate::Block| matches!(block.kind, BlockKind::Heading { .. });
    let headings: Vec<&str> = read
        .blocks
        .iter()
        .filter(heading)
        .filter_map(|block| read.text.get(block.start..block.end))
        .collect();
    assert_eq!(read.title.as_deref(), Some("When?"));
    assert_eq!(headings.len(), 4, "{headings:?}");
}

#[test]
fn a_long_report_goes_over_pages_and_a_long_word_over_lines() {
    let claim = format!("{} 끝.", "단어 word ".repeat(3_000));
    let address = format!("https://example.org/{}", "x".repeat(400));
    let report = sample("When?", &claim, &address);
    let read = read(&report.to_pdf());
    assert!(read.page_starts.len() > 5, "{}", read.page_starts.len());
    let text = words(&read.text);
    assert_eq!(text.matches("단어").count(), 3_000);
    assert!(text.contains("끝. [1]"));
    assert_eq!(text.matches('x').count(), 400 + 1);
}
