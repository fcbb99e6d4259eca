//! Whatever happens, a run ends; wherever it was interrupted, it ends in the same report.

use proptest::prelude::*;

use super::world::*;
use crate::research::call::{Call, CallKey, Failure, Outcome};
use crate::research::journal::{Event, Steering};
use crate::research::message::{AgentMessage, ErrorType, Uuid};
use crate::research::order::{
    Approval, Basis, Chooser, Class, Order, RunBudget, RunLimits, Thinking,
};
use crate::research::report::EndReason;
use crate::research::run::Run;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn any_order(dice: &mut Dice) -> Order {
    let maybe = |dice: &mut Dice, most: u64| (dice.roll(2) == 0).then(|| dice.roll(most));
    Order {
        providers: vec![
            provider("local", Class::Own),
            provider("brave", Class::Web),
            provider("tavily", Class::Web),
            provider("mcp:shop", Class::Tool),
        ],
        approval: match dice.roll(3) {
            0 => Approval::Given,
            1 => Approval::After { seconds: 5 },
            _ => Approval::Asked,
        },
        thinking: if dice.roll(3) == 0 { Thinking::Offline } else { Thinking::Model },
        chooser: if dice.roll(2) == 0 { Chooser::Rules } else { Chooser::Manager },
        limits: RunLimits {
            rounds_max: u32::try_from(dice.roll(6)).unwrap(),
            stalls_max: u32::try_from(dice.roll(4)).unwrap(),
            replans_max: u32::try_from(dice.roll(3)).unwrap(),
            parallel_max: usize::try_from(dice.roll(5)).unwrap(),
            ..RunLimits::default()
        },
        budget: RunBudget {
            seconds: maybe(dice, 300),
            tokens: maybe(dice, 3_000),
            microdollars: maybe(dice, 100),
            calls: maybe(dice, 60),
            pages: maybe(dice, 10),
        },
        answer_seconds: maybe(dice, 100),
        ..order()
    }
}

/// Good answers, bad ones, and none.
fn any_outcome(dice: &mut Dice, key: &CallKey, call: &Call) -> Outcome {
    match dice.roll(14) {
        0 => failure(503, true, None),
        1 => failure(429, true, Some(dice.roll(200))),
        2 => failure(401, false, None),
        3 => failure(400, false, None),
        4 => Outcome::Said { text: "{\"steps\": []}".to_owned() },
        5 => Outcome::Found { hits: vec![] },
        6 => match call {
            Call::Ask { .. } => assessment(true),
            Call::Search { .. } | Call::Read { .. } | Call::Recall { .. } => {
                Outcome::Read { text: String::new() }
            }
        },
        7 => {
            let mut hit = hit(&format!("https://a.example/{}", dice.roll(9)), "Budget alerts cost");
            hit.address = Some(hit.place.clone());
            hit.is_summary = true;
            Outcome::Found { hits: vec![hit] }
        }
        8 => Outcome::Unallowed { reason: "it sends".to_owned(), is_lasting: dice.roll(2) == 0 },
        9 => {
            let failure = Failure::new(ErrorType::Timeout, "no answer".to_owned());
            Outcome::Failed(Failure { is_unsure: true, is_passing: true, ..failure })
        }
        _ => well(key, call),
    }
}

fn any_steering(dice: &mut Dice) -> Steering {
    match dice.roll(9) {
        0 => Steering::Pause,
        1 => Steering::Resume,
        2 => Steering::FinishNow,
        3 => Steering::Instruct { text: "and who pays?".to_owned() },
        4 => Steering::Stop,
        5 => Steering::Refuse,
        6 => Steering::Edit { steps: vec![] },
        _ => Steering::Approve,
    }
}

/// Plays with calls at once, answers in any order, people who interfere and processes that die.
fn play_wildly(dice: &mut Dice, mut played: Played, is_steered: bool) -> Played {
    let mut under_way: Vec<(CallKey, Call)> = Vec::new();
    loop {
        if is_steered && dice.roll(12) == 0 {
            let event = Event::Steered { steering: any_steering(dice) };
            let entry = crate::research::journal::Entry { at: START, event };
            if played.run.check(&entry).is_ok() {
                played.add(entry.event);
            }
        }
        if is_steered && dice.roll(30) == 0 {
            under_way.clear();
            played.add(Event::TakenOver { epoch: dice.roll(100) });
        }
        for (key, call) in played.run.next().calls {
            if dice.roll(2) == 0 {
                played.begin(&key);
                under_way.push((key, call));
            }
        }
        if under_way.is_empty() {
            if let Some((key, call)) = played.run.next().calls.first().cloned() {
                played.begin(&key);
                under_way.push((key, call));
            } else if !played.pass() {
                return played;
            }
        } else {
            let place = usize::try_from(dice.roll(under_way.len() as u64)).unwrap();
            let (key, call) = under_way.swap_remove(place);
            let outcome =
                if is_steered { any_outcome(dice, &key, &call) } else { well(&key, &call) };
            played.end(&key, &call, outcome);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_run_ends_and_its_messages_keep_the_rules(seed in 1u64..) {
        let mut dice = Dice(seed);
        let mut played = Played::new(any_order(&mut dice));
        played.tick = dice.roll(3_000);
        let played = play_wildly(&mut dice, played, true);
        let reason = played.run.end_reason().unwrap();
        let is_cut = matches!(reason, EndReason::Stopped | EndReason::Refused);
        prop_assert_eq!(played.run.report().is_none(), is_cut);
        for (number, message) in (1..).zip(played.run.messages()) {
            prop_assert_eq!(message.more.seq, Some(number));
            prop_assert!(AgentMessage::read(&message.to_value()).is_ok(), "{:?}", message);
        }
        // The journal alone makes the same run again.
        let again = Run::resumed(played.run.order().clone(), START, &played.journal).unwrap();
        prop_assert_eq!(again, played.run);
    }

    #[test]
    fn the_order_in_which_answers_come_does_not_change_the_report(seed in 1u64..) {
        let expected = Played::new(order()).play(&mut well).markdown();
        let played = play_wildly(&mut Dice(seed), Played::new(order()), false);
        prop_assert_eq!(played.markdown(), expected);
    }
}

/// Resumes a run from every prefix of its journal.
#[track_caller]
fn check_every_prefix(order: &Order) {
    check_every_prefix_in(order, &mut well);
}

#[track_caller]
fn check_every_prefix_in(order: &Order, world: &mut dyn FnMut(&CallKey, &Call) -> Outcome) {
    let whole = Played::new(order.clone()).play(world);
    for length in 0..=whole.journal.len() {
        let (prefix, _) = whole.journal.split_at(length);
        let run = Run::resumed(order.clone(), START, prefix).unwrap();
        let mut resumed = Played::of(run, prefix.to_vec());
        resumed.add(Event::TakenOver { epoch: 1 });
        let resumed = resumed.play(world);
        assert_eq!(resumed.markdown(), whole.markdown(), "after {length} entries");
        let is_done = |key: &CallKey| {
            let is_end =
                |event: &Event| matches!(event, Event::Ended { key: done, .. } if done == key);
            prefix.iter().any(|entry| is_end(&entry.event))
        };
        assert!(!resumed.made.iter().any(is_done), "a finished call was made again");
        let contents = |played: &Played| -> Vec<_> {
            played.run.messages().iter().map(|it| (it.id, it.content.clone())).collect()
        };
        assert_eq!(contents(&resumed), contents(&whole), "after {length} entries");
    }
}

#[test]
fn a_run_resumed_from_any_prefix_of_its_journal_ends_in_the_same_report() {
    check_every_prefix(&order());
    check_every_prefix(&offline());
    check_every_prefix(&Order { approval: Approval::Asked, ..order() });
    check_every_prefix(&Order { chooser: Chooser::Manager, ..order() });
}

#[test]
fn a_run_that_stands_on_another_resumes_from_any_prefix_of_its_journal_too() {
    let before = Played::new(order()).play(&mut well).run;
    let mut world = |key: &CallKey, call: &Call| match call {
        Call::Recall { basis } => Outcome::Recalled { recalled: Box::new(before.recalled(*basis)) },
        other => well(key, other),
    };
    let run = before.order().id;
    for basis in [Basis::Follows { run }, Basis::Again { run, step: 2 }] {
        let id = Uuid::from_random([6; 16]);
        check_every_prefix_in(&Order { id, basis: Some(basis), ..order() }, &mut world);
    }
}
