//! Holds memory and recall to what they have reached on our own dialogues.

use agent::context::Budget;

use super::*;

/// Percent of coverage and of evidence that a row must reach over all questions: what was measured, less a point.
const FLOORS: [(&str, f64, f64); 5] = [
    ("session", 69.0, 14.5),
    ("session+recall500", 97.4, 95.4),
    ("session+recall1500", 97.9, 96.4),
    ("recall500", 94.9, 93.5),
    ("recall1500", 95.6, 94.5),
];

/// Coverage of every row that holds the session, for what was changed or taken back: the old value must not outlive it.
const CHANGED_FLOORS: [(&str, f64); 3] =
    [("contradiction", 89.7), ("deletion", 93.0), ("update", 90.7)];

#[test]
fn the_dialogues_are_remembered_as_well_as_they_have_been() {
    let set = conversations::dialogues().unwrap();
    let tokens = &Tokens::new();
    let sessions = sessions(&set, tokens).unwrap();
    for (row, (name, coverage, evidence)) in ROWS.iter().zip(FLOORS) {
        assert_eq!(row.name, name);
        let kinds = measure(&set, &sessions, row, tokens, || ());
        let all = kinds[ALL];
        assert_eq!((all.questions, all.with_evidence), (207, 207));
        assert!(100.0 * all.coverage() >= coverage, "{name}: coverage {}", all.coverage());
        assert!(100.0 * all.evidence() >= evidence, "{name}: evidence {}", all.evidence());
        for (kind, coverage) in CHANGED_FLOORS.iter().filter(|_| row.holds_session) {
            let found = 100.0 * kinds[*kind].coverage();
            assert!(found >= *coverage, "{name}: {kind} {found}");
        }
        let room = Budget::default();
        let most = room.memory + room.entities + room.short_term + row.recall_tokens_max;
        assert!(all.mean(all.tokens) <= most as f64, "{name}: {} tokens", all.mean(all.tokens));
    }
}

#[test]
fn a_limit_keeps_the_first_questions_and_their_conversations() {
    let mut set = conversations::dialogues().unwrap();
    let first = set.conversations[0].questions.len();
    set.truncate(first + 2);
    let counts: Vec<usize> = set.conversations.iter().map(|one| one.questions.len()).collect();
    assert_eq!(counts, [first, 2]);
}
