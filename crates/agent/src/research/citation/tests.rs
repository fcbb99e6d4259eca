//! Checks what counts as standing in a source.

use proptest::prelude::*;

use super::*;

const SOURCE: &str = "# Budgets\n\nAn alert is **sent** when 80 % of the monthly budget is\nspent — “at once”, and again when all of it is gone. \
                      예산이 남아도 다음 달로 이월되지 않습니다.";

#[track_caller]
fn check(quote: &str, expected: Option<(CheckVerdict, &str)>) {
    let found = locate(quote, SOURCE);
    let found = found.map(|found| (found.verdict, SOURCE.get(found.range).unwrap()));
    assert_eq!(found, expected, "{quote}");
}

#[test]
fn a_quote_is_found_whatever_its_blanks_letter_case_and_signs() {
    use CheckVerdict::Verified;
    check("80 % of the monthly budget", Some((Verified, "80 % of the monthly budget")));
    check("an ALERT is sent when 80 %", Some((Verified, "An alert is **sent** when 80 %")));
    check("budget is spent - \"at once\"", Some((Verified, "budget is\nspent — “at once”")));
    check("다음 달로  이월되지 않습니다.", Some((Verified, "다음 달로 이월되지 않습니다.")));
}

#[test]
fn nearly_the_same_words_are_similar() {
    let quote = "alert is sent when 80 % of the monthly budget is spent at once and then again when all of it is gone";
    let found = locate(quote, SOURCE).unwrap();
    assert_eq!(found.verdict, CheckVerdict::Similar);
}

#[test]
fn another_number_or_a_negation_is_another_statement() {
    let long = "An alert is sent when 80 % of the monthly budget is spent at once and again when all of it is gone";
    assert!(locate(&long.replace("at once and again", "at once, again"), SOURCE).is_some());
    check(&long.replace("80", "90"), None);
    check(&long.replace("is sent", "is not sent"), None);
}

#[test]
fn what_is_not_there_or_says_nothing_is_no_quote() {
    check("the budget is carried over to the next month", None);
    check("is", None);
    check("", None);
    check(" - ", None);
}

#[test]
fn quotes_carry_a_claim_only_with_its_numbers_and_enough_of_its_words() {
    let quote = "An alert is sent when 80 % of the monthly budget is spent";
    assert!(supports("Alerts are sent at 80 % of the budget.", &[quote]));
    assert!(!supports("Alerts are sent at 95 % of the budget.", &[quote]));
    assert!(!supports("Kubernetes shares idle cost by namespace.", &[quote]));
    assert!(!supports("Alerts are sent.", &[]));
    assert!(supports("예산의 80 %를 쓰면 알림이 옵니다.", &[quote]));
    assert!(!supports("예산의 70 %를 쓰면 알림이 옵니다.", &[quote]));
}

proptest! {
    #[test]
    fn any_part_of_a_text_is_found_where_it_stands(start in 0usize..100, length in 12usize..80) {
        let letters: Vec<char> = SOURCE.chars().collect();
        let start = start.min(letters.len() - 1);
        let end = (start + length).min(letters.len());
        let quote: String = letters[start..end].iter().collect();
        if let Some(found) = locate(&quote, SOURCE) {
            prop_assert_eq!(found.verdict, CheckVerdict::Verified);
            prop_assert!(SOURCE.get(found.range).is_some());
        } else {
            prop_assert!(quote.chars().filter(|letter| letter.is_alphanumeric()).count() < QUOTE_CHARS_MIN);
        }
    }

    #[test]
    fn no_text_breaks_the_search(quote in ".{0,80}", text in ".{0,200}") {
        if let Some(found) = locate(&quote, &text) {
            prop_assert!(text.get(found.range).is_some());
        }
    }
}
