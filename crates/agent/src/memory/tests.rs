//! Checks when a memory is rewritten, what may take its place, and the rules of facts.

use proptest::prelude::*;

use super::*;
use crate::samples::{self, Words};

fn limits() -> MemoryLimits {
    MemoryLimits::default()
}

fn said(number: u64) -> SaidTurn {
    samples::said(number, &format!("question {number}"), &format!("answer {number}"))
}

/// A session in which so many turns were said and nothing was rewritten.
fn session(turns: u64) -> Session {
    let mut session = Session::new("s1".parse().unwrap(), Timestamp(0));
    (1..=turns).for_each(|number| session.add(said(number), &limits()));
    session
}

fn numbers(turns: &[SaidTurn]) -> Vec<u64> {
    turns.iter().map(|turn| turn.number).collect()
}

fn rewritten(text: &str) -> Rewritten {
    Rewritten {
        text: text.to_owned(),
        entities: Entities::default(),
        written_by: "model".to_owned(),
        written_at: Timestamp(9),
    }
}

fn entity(key: &str, value: &str) -> NewEntity {
    NewEntity { key: key.to_owned(), value: value.to_owned() }
}

#[test]
fn the_sixth_turn_has_the_oldest_five_taken_in() {
    assert_eq!(session(5).fold(&limits()), None);
    let mut six = session(6);
    let fold = six.fold(&limits()).unwrap();
    assert_eq!(numbers(&fold.turns), [1, 2, 3, 4, 5]);
    assert_eq!(numbers(six.short_term(&limits())), [2, 3, 4, 5, 6]);
    assert!(six.remember(&fold, rewritten("They talked."), &limits()));
    assert_eq!((six.memory.version, six.memory.folded_to), (1, 5));
    assert_eq!(numbers(six.short_term(&limits())), [2, 3, 4, 5, 6]);
    for number in 7..=10 {
        six.add(said(number), &limits());
        assert_eq!(six.fold(&limits()), None, "{number}");
    }
    six.add(said(11), &limits());
    assert_eq!(numbers(&six.fold(&limits()).unwrap().turns), [6, 7, 8, 9, 10]);
}

#[test]
fn a_turn_that_is_in_no_memory_is_never_let_go() {
    let mut late = session(14);
    assert_eq!(numbers(late.left_over(&limits())), (1..=9).collect::<Vec<_>>());
    assert_eq!(late.next_number(), 15);
    let fold = late.fold(&limits()).unwrap();
    assert_eq!(numbers(&fold.turns), [1, 2, 3, 4, 5]);
    assert!(late.remember(&fold, rewritten("x."), &limits()));
    assert_eq!(numbers(late.left_over(&limits())), [6, 7, 8, 9]);
    assert_eq!(numbers(&late.turns), (6..=14).collect::<Vec<_>>());
}

#[test]
fn a_rewrite_of_another_version_is_not_taken() {
    let mut session = session(6);
    let fold = session.fold(&limits()).unwrap();
    assert!(session.remember(&fold, rewritten("first."), &limits()));
    assert!(!session.remember(&fold, rewritten("second."), &limits()));
    assert_eq!(session.memory.text, "first.");
}

#[test]
fn an_earlier_version_comes_back_and_its_turns_are_due_again() {
    let mut session = session(6);
    let all: Vec<SaidTurn> = (1..=11).map(said).collect();
    let fold = session.fold(&limits()).unwrap();
    assert!(session.remember(&fold, rewritten("good."), &limits()));
    (7..=11).for_each(|number| session.add(said(number), &limits()));
    let fold = session.fold(&limits()).unwrap();
    assert!(session.remember(&fold, rewritten("bad."), &limits()));
    assert_eq!((session.memory.version, numbers(&session.turns)), (2, vec![7, 8, 9, 10, 11]));
    session.roll_back(1, all.clone(), Timestamp(20), &limits()).unwrap();
    assert_eq!((session.memory.text.as_str(), session.memory.version), ("good.", 3));
    assert_eq!(numbers(&session.fold(&limits()).unwrap().turns), [6, 7, 8, 9, 10]);
    assert!(!session.remember(&fold, rewritten("late."), &limits()));
    let missing = session.roll_back(9, all, Timestamp(21), &limits()).unwrap_err();
    assert_eq!(missing.to_string(), "there is no version 9; there are: 0, 1, 2");
}

#[test]
fn a_person_corrects_a_memory_within_its_bounds() {
    let mut session = session(3);
    let facts = vec![entity("budget", "$5,000")];
    let edit = MemoryEdit { text: Some("  As it is. ".to_owned()), entities: Some(facts) };
    session.edit(edit, Timestamp(9), &limits(), &Words).unwrap();
    assert_eq!((session.memory.text.as_str(), session.memory.version), ("As it is.", 1));
    assert_eq!(session.memory.written_by, "person");
    assert_eq!(session.entities.get("budget").map(|fact| fact.turn), Some(3));
    let long = MemoryEdit { text: Some("word ".repeat(501)), entities: None };
    let refused = session.edit(long, Timestamp(9), &limits(), &Words);
    assert_eq!(refused, Err(EditError::TooLong { found: 501, most: 500 }));
    let many = (0..26).map(|n| entity(&n.to_string(), "x")).collect();
    let many = MemoryEdit { text: None, entities: Some(many) };
    let refused = session.edit(many, Timestamp(9), &limits(), &Words);
    assert_eq!(refused, Err(EditError::TooMany { found: 26, most: 25 }));
    assert_eq!(session.memory.version, 1);
    for version in 2..=9 {
        session.edit(MemoryEdit::default(), Timestamp(9), &limits(), &Words).unwrap();
        assert_eq!(session.memory.version, version);
    }
    let versions: Vec<u64> = session.earlier.iter().map(|earlier| earlier.memory.version).collect();
    assert_eq!(versions, [5, 6, 7, 8], "five are kept, the present one included");
}

#[test]
fn a_session_is_called_by_its_first_question_until_it_is_named() {
    let mut session = session(2);
    assert_eq!(session.title, "question 1");
    session.rename("  our\n budget ");
    session.add(said(3), &limits());
    assert_eq!(session.title, "our budget");
    session.rename(" ");
    assert_eq!(session.title, "our budget");
}

#[test]
fn a_session_has_a_name_that_fits_a_key() {
    for name in ["s1", "kim@example.com", "a.b-c_d", &"x".repeat(128)] {
        assert!(name.parse::<SessionId>().is_ok(), "{name}");
    }
    for name in ["", "a b", "a/b", "a:b", "{a}", "가", "-a", ".", "a\n", &"x".repeat(129)] {
        assert!(name.parse::<SessionId>().is_err(), "{name:?}");
    }
}

#[track_caller]
fn check_gate(memory_before: &str, draft: &str, entities: &[NewEntity], expected: &[Rejected]) {
    let mut session = session(6);
    session.memory.text = memory_before.to_owned();
    session.entities.put(&entity("budget", "$10,000"), 1, 25);
    let fold = session.fold(&limits()).unwrap();
    let draft = Draft { memory: draft.to_owned(), entities: entities.to_vec() };
    let found = gate(&fold, &draft, &limits(), &Words).err();
    assert_eq!(found.as_slice(), expected, "{draft:?}");
}

#[test]
fn what_says_nothing_rambles_or_echoes_is_refused() {
    check_gate("", "The user plans a trip.", &[], &[]);
    check_gate("", " \n", &[], &[Rejected::Empty]);
    check_gate("", "# Memory\n## Topics:\n", &[], &[Rejected::Empty]);
    check_gate("", "Previous memory: none.", &[], &[Rejected::Echo]);
    let many = "It is so. ".repeat(21);
    check_gate("", &many, &[], &[Rejected::TooManySentences { found: 21, most: 20 }]);
    check_gate("", &"It is so. ".repeat(20), &[], &[]);
    let long = format!("{}.", vec!["word"; 501].join(" "));
    check_gate("", &long, &[], &[Rejected::TooLong { found: 501, most: 500 }]);
}

#[test]
fn a_rewrite_that_loses_values_is_refused() {
    let before = "예산은 $10,000이고 11월 비용은 $12,500입니다. 태그는 \"team-a\"입니다.";
    let lost = ["team-a", "11월", "$12,500"].map(str::to_owned).to_vec();
    check_gate(before, "예산 $10,000을 이야기했다.", &[], &[Rejected::LostValues(lost)]);
    check_gate(before, "11월 비용 $12,500, 예산 $10,000, \"team-a\".", &[], &[]);
    // The facts hold what the text leaves out.
    let facts = [entity("november", "11월 $12,500"), entity("tag", "team-a")];
    check_gate(before, "비용을 이야기했다.", &facts, &[]);
    // What the new turns replace need not be carried on.
    check_gate("The budget is $10,000.", "Now it is more.", &[entity("Budget", "$12,000")], &[]);
}

#[test]
fn a_fact_said_again_goes_to_the_end_and_the_oldest_gives_way() {
    let mut entities = Entities::default();
    for (turn, (key, value)) in
        [("provider", "aws"), ("budget", "$1"), ("Provider ", "gcp")].into_iter().enumerate()
    {
        entities.put(&entity(key, value), turn as u64, 25);
    }
    let shown: Vec<_> = entities
        .as_slice()
        .iter()
        .map(|one| (one.key.as_str(), one.value.as_str(), one.turn))
        .collect();
    assert_eq!(shown, [("budget", "$1", 1), ("provider", "gcp", 2)]);
    entities.put(&entity("", "x"), 3, 25);
    entities.put(&entity("x", " "), 3, 25);
    assert_eq!(entities.as_slice().len(), 2);
    assert!(entities.remove("budget") && !entities.remove("budget"));
}

proptest! {
    #[test]
    fn facts_keep_their_rules(puts in prop::collection::vec(("[a-e]{1,2}", "[a-z0-9]{1,4}"), 0..80)) {
        let mut entities = Entities::default();
        for (turn, (key, value)) in puts.iter().enumerate() {
            entities.put(&entity(key, value), turn as u64, 25);
            let facts = entities.as_slice();
            prop_assert!(facts.len() <= 25);
            prop_assert!(facts.is_sorted_by_key(|fact| fact.turn));
            prop_assert_eq!(facts.last().map(|fact| (&fact.key, &fact.value)), Some((key, value)));
            let keys: std::collections::BTreeSet<&str> =
                facts.iter().map(|fact| fact.key.as_str()).collect();
            prop_assert_eq!(keys.len(), facts.len());
        }
    }

    /// Whatever comes in whatever order, each turn is in the memory, in the short-term, or waits.
    #[test]
    fn no_turn_is_lost(steps in prop::collection::vec(any::<bool>(), 1..60)) {
        let mut session = session(0);
        let mut pending: Option<Fold> = None;
        for fold_now in steps {
            if fold_now {
                if let Some(fold) = pending.take() {
                    session.remember(&fold, rewritten("so."), &limits());
                }
                pending = session.fold(&limits());
            } else {
                let next = session.next_number();
                session.add(said(next), &limits());
            }
            let last = session.next_number() - 1;
            let kept = numbers(&session.turns);
            prop_assert!((1..=last).all(|number| number <= session.memory.folded_to || kept.contains(&number)));
            prop_assert!(session.short_term(&limits()).len() == (last as usize).min(5));
            prop_assert!(session.fold(&limits()).is_none_or(|fold| fold.turns.len() == 5));
            prop_assert_eq!(session.fold(&limits()).is_some(), session.unfolded().len() > 5);
        }
    }
}
