//! Checks that no number of a missing passage comes through, wherever the text is cut.

use proptest::prelude::*;

use super::*;

/// What comes through of an answer from three passages, and what it cites.
fn through(pieces: &[&str]) -> (String, Vec<usize>) {
    let mut citing = Citing::new(3);
    let mut shown: String = pieces.iter().map(|piece| citing.take(piece)).collect();
    shown.push_str(&citing.end());
    (shown, citing.cited().to_vec())
}

#[track_caller]
fn check(text: &str, expected: &str, cited: &[usize]) {
    assert_eq!(through(&[text]), (expected.to_owned(), cited.to_vec()), "{text}");
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(through(&letters), (expected.to_owned(), cited.to_vec()), "{text} by letters");
}

#[test]
fn numbers_of_passages_come_through_and_others_do_not() {
    check("예산은 됩니다. [1]", "예산은 됩니다. [1]", &[1]);
    check("Yes [2][1].", "Yes [2][1].", &[2, 1]);
    check("Yes [1, 3].", "Yes [1][3].", &[1, 3]);
    check("Yes [4]. No [0].", "Yes. No.", &[]);
    check("Yes [1, 9] so.", "Yes [1] so.", &[1]);
    check("끝.[9]", "끝.", &[]);
    check("끝.[99999999999999999999999]", "끝.", &[]);
}

#[test]
fn what_is_no_citation_stays() {
    check("[x] and [ ] and [", "[x] and [ ] and [", &[]);
    check("- [ ] to do\n- [x] done", "- [ ] to do\n- [x] done", &[]);
    check("a  b [", "a  b [", &[]);
    check("[[1]", "[[1]", &[1]);
    check("S3[1] and list[9]", "S3[1] and list[9]", &[1]);
}

#[test]
fn code_is_left_alone() {
    check("Use `x [9]` here [9].", "Use `x [9]` here.", &[]);
    check("```\nlet y = [7];\n```\nDone [2].", "```\nlet y = [7];\n```\nDone [2].", &[2]);
}

proptest! {
    #[test]
    fn where_the_text_is_cut_changes_nothing(
        text in "[ab가\\[\\] 0-9,`.\n]{0,60}",
        cuts in proptest::collection::vec(0usize..60, 0..6),
    ) {
        let mut places: Vec<usize> =
            cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|cut| text.get(cut[0]..cut[1]).unwrap()).collect();
        prop_assert_eq!(through(&pieces), through(&[&text]));
    }
}
