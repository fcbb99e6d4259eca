//! Checks which turns a question brings back, in both languages and inside a budget.

use proptest::prelude::*;

use super::*;
use crate::samples::{Words, said};

/// A conversation of these questions and answers, numbered from 1.
fn conversation(turns: &[(&str, &str)]) -> Vec<SaidTurn> {
    (1..).zip(turns).map(|(number, (question, answer))| said(number, question, answer)).collect()
}

#[track_caller]
fn check(turns: &[(&str, &str)], question: &str, tokens_max: usize, expected: &[u64]) {
    let recalled = recall(question, &conversation(turns), tokens_max, &Words);
    let numbers: Vec<u64> = recalled.iter().map(|turn| turn.number).collect();
    assert_eq!(numbers, expected, "{question}");
}

const KOREAN: &[(&str, &str)] = &[
    ("결제 계정 번호는 111122223333이에요.", "네, 적어 두었습니다."),
    ("점심 뭐 먹죠?", "따뜻한 국물이 좋겠습니다."),
    ("하루픽에 월 예산을 걸어 둘래요. 500만 원으로요.", "그렇게 하겠습니다."),
    ("날씨가 춥네요.", "따뜻하게 입으세요."),
    ("슬랙은 #cost-watch 채널로 할게요.", "등록해 주세요."),
];

const ENGLISH: &[(&str, &str)] = &[
    ("We booked the flights.", "How many of you travel?"),
    ("Nice weather today.", "Indeed it is."),
    ("The charge code is SAL-3306.", "Noted."),
    ("I am hungry.", "Have a sandwich."),
    ("Aoife hiked in Norway.", "What a trip."),
];

#[test]
fn korean_is_found_whatever_particle_follows() {
    // 8 for the turn's two messages and as much as its words; the turns beside it do not fit.
    check(KOREAN, "하루픽의 예산은 얼마였죠?", 20, &[3]);
    check(KOREAN, "계정번호가 뭐였나요?", 16, &[1]);
    check(KOREAN, "알림을 받을 채널은 어디인가요?", 16, &[5]);
}

#[test]
fn english_is_found_in_whatever_form() {
    check(ENGLISH, "What are the charge codes?", 14, &[3]);
    check(ENGLISH, "Who went hiking?", 15, &[5]);
    check(ENGLISH, "Which flight did we book?", 17, &[1]);
}

#[test]
fn what_says_nothing_brings_nothing_back() {
    check(ENGLISH, "And then?", 500, &[]);
    check(ENGLISH, "Zebra", 500, &[]);
    check(&[], "What are the charge codes?", 500, &[]);
    check(ENGLISH, "What are the charge codes?", 0, &[]);
}

#[test]
fn the_turns_beside_a_match_come_with_it_in_the_order_they_were_said() {
    check(ENGLISH, "What are the charge codes?", 500, &[2, 3, 4]);
    let corrected = &[
        ("They run 43 vessels.", "Good."),
        ("Correction: 34 it is.", "Fixed."),
        ("Rain again.", "A pity."),
        ("Lunch?", "Soup."),
    ];
    check(corrected, "How many vessels do they run?", 26, &[1, 2]);
}

#[test]
fn of_equals_the_newest_counts() {
    let turns =
        &[("the dog barks", "yes"), ("rain", "snow"), ("sun", "moon"), ("the dog barks", "yes")];
    check(turns, "dog", 12, &[4]);
    check(turns, "dog", 24, &[1, 4]);
}

#[test]
fn a_rare_word_says_more_than_a_usual_one() {
    let turns = &[
        ("the budget grew", "ok"),
        ("the budget shrank", "ok"),
        ("the vessel sank", "ok"),
        ("the budget stayed", "ok"),
    ];
    check(turns, "budget vessel", 12, &[3]);
}

#[test]
fn what_does_not_fit_is_passed_over_for_the_next_best() {
    let long = "word ".repeat(30);
    let turns = &[("zebra zebra", "yes"), ("rain", "snow"), ("zebra", long.as_str())];
    check(turns, "zebra", 30, &[1, 2]);
    // Enough of them, and the rest is not looked at.
    let mut many = vec![("zebra zebra zebra", "yes"), ("zebra zebra zebra", "yes")];
    many.extend(vec![("zebra zebra", long.as_str()); PASSED_OVER_MAX]);
    many.push(("zebra", "none of this"));
    let all = recall("zebra", &conversation(&many), 30, &Words);
    assert!(all.iter().all(|turn| turn.number <= 2), "{all:?}");
}

#[test]
fn the_best_is_cut_where_it_is_longer_than_all_there_is_room_for() {
    let long = "zebra ".repeat(200);
    let turns = conversation(&[("which animal", long.as_str()), ("rain", "snow")]);
    let recalled = recall("zebra", &turns, 100, &Words);
    let [cut] = recalled.as_slice() else { panic!("{recalled:?}") };
    assert!(cut.number == 1 && !cut.is_complete && cut.answer.ends_with("zebra…"));
    assert!(context::turn_tokens(cut, &Words) <= 100);
    assert!(recall("zebra", &turns, 20, &Words).iter().all(|turn| turn.number == 2));
}

#[test]
fn only_the_newest_turns_are_looked_through() {
    let mut turns: Vec<SaidTurn> = (2..=1001).map(|number| said(number, "rain", "snow")).collect();
    turns.insert(0, said(1, "zebra", "yes"));
    assert!(recall("zebra", &turns, 500, &Words).is_empty());
    turns.remove(1);
    assert_eq!(recall("zebra", &turns, 500, &Words)[0].number, 1);
}

proptest! {
    #[test]
    fn recall_stays_in_its_budget_and_in_order(
        turns in prop::collection::vec(("[가-깋a-d ]{0,30}", "[가-깋a-d ]{0,60}"), 0..40),
        question in "[가-깋a-d ]{0,20}",
        tokens_max in 0usize..120,
    ) {
        let turns: Vec<SaidTurn> =
            (1..).zip(&turns).map(|(number, (one, other))| said(number, one, other)).collect();
        let recalled = recall(&question, &turns, tokens_max, &Words);
        let tokens: usize = recalled.iter().map(|turn| context::turn_tokens(turn, &Words)).sum();
        prop_assert!(tokens <= tokens_max);
        prop_assert!(recalled.is_sorted_by(|one, other| one.number < other.number));
        prop_assert_eq!(&recalled, &recall(&question, &turns, tokens_max, &Words));
    }
}
