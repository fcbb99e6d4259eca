//! What holds for whatever bytes a stranger sends.

use proptest::prelude::*;

use crate::{ExtractError, Format, Hint, Limits, SplitLimits, checks, extract, split};

const NAMES: [&str; 8] =
    ["x.md", "x.txt", "x.html", "x.pdf", "x.docx", "x.csv", "x.json", "x.jsonl"];

fn read(bytes: &[u8], file_name: &str) -> Result<crate::Extracted, ExtractError> {
    let hint = Hint { file_name: Some(file_name), ..Hint::default() };
    extract(bytes, &hint, &Limits::default())
}

fn survives(bytes: &[u8]) {
    for name in NAMES {
        if let Ok(extracted) = read(bytes, name) {
            split(&extracted, &SplitLimits::default());
        }
    }
}

#[test]
fn nothing_and_blanks_are_empty_in_every_format() {
    for name in NAMES {
        assert_eq!(read(b"", name), Err(ExtractError::Empty), "{name}");
        assert_eq!(read(b" \r\n\t \n", name), Err(ExtractError::Empty), "{name}");
    }
}

#[test]
fn zeros_and_a_picture_are_of_unknown_type() {
    for name in NAMES {
        assert_eq!(read(&[0; 5000], name), Err(ExtractError::UnknownType), "{name}");
    }
}

#[test]
fn a_source_beyond_the_limit_is_refused_before_it_is_read() {
    let limits = Limits { source_bytes_max: 10, ..Limits::default() };
    let found = extract(b"eleven bytes", &Hint::default(), &limits);
    assert_eq!(found, Err(ExtractError::TooLarge { what: "bytes", limit: 10 }));
}

#[test]
fn an_error_says_what_to_do_in_one_line() {
    let errors = [
        ExtractError::Empty,
        ExtractError::Encrypted,
        ExtractError::TooLarge { what: "pages", limit: 5000 },
        ExtractError::malformed(Format::Docx, "cut short"),
    ];
    for error in errors {
        let line = error.to_string();
        assert!(line.contains(": ") && !line.contains('\n'), "{line}");
    }
}

#[test]
fn what_was_extracted_survives_being_written_down() {
    let extracted =
        read("---\ntitle: 안내\n---\n# A\n\n| a |\n|---|\n| 1 |\n".as_bytes(), "x.md").unwrap();
    let bytes = extracted.clone().to_bytes().unwrap();
    assert_eq!(crate::Extracted::from_bytes(&bytes).unwrap(), extracted);
}

#[test]
fn markdown_marks_without_end_are_survived() {
    for text in [
        "> ", "- ", "* ", "[", "![", "`", "**a", "|", "<a ", "&#", "1. ", "\\", "# ", "```\n",
        "_a ",
    ] {
        survives(text.repeat(20_000).as_bytes());
    }
}

/// The committed inputs of a fuzz target: a name and its bytes each.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = std::fs::read_dir(folder.join(target)).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn what_the_fuzzer_has_found_still_holds() {
    for (target, check) in [("chunker", checks::chunker as fn(&[u8])), ("html", checks::html)] {
        let inputs = corpus(target);
        assert!(inputs.len() > 20, "the corpus of {target} is there");
        for (name, bytes) in inputs {
            // The name is told only when the check panics.
            let outcome = std::panic::catch_unwind(|| check(&bytes));
            assert!(outcome.is_ok(), "{name}");
        }
    }
}

#[test]
fn the_corpora_stay_small() {
    let sizes = ["chunker", "html"].map(|target| {
        let sizes = corpus(target).into_iter().map(|(_, bytes)| bytes.len());
        sizes.sum::<usize>()
    });
    assert!(sizes.iter().sum::<usize>() <= 1 << 20, "{sizes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_bytes_end_in_a_result(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        survives(&bytes);
    }

    #[test]
    fn any_text_ends_in_a_result(text in "\\PC{0,400}") {
        survives(text.as_bytes());
    }

    #[test]
    fn any_tags_end_in_a_result(text in "(</?(div|p|table|tr|td|li|ul|ol|pre|b|h1|blockquote|svg|script|title)( a=['\"]?x['\"]?)?/?>|text &amp; |\n){0,60}") {
        survives(text.as_bytes());
    }

    #[test]
    fn any_damage_to_a_pdf_ends_in_a_result(at in 0usize..400, byte in any::<u8>(), cut in 0usize..400) {
        let mut bytes = crate::pdf::sample("BT /F1 12 Tf 72 700 Td (Hello there) Tj ET");
        if let Some(slot) = bytes.get_mut(at) { *slot = byte; }
        survives(&bytes);
        bytes.truncate(cut);
        survives(&bytes);
    }

    #[test]
    fn any_damage_to_a_word_document_ends_in_a_result(at in 0usize..2000, byte in any::<u8>()) {
        let mut bytes = crate::docx::sample("<w:p><w:r><w:t>Hello there</w:t></w:r></w:p>");
        let at = at % bytes.len();
        bytes[at] = byte;
        survives(&bytes);
    }
}
