//! The life of a task, told in a few plain ones and in thousands of random ones beside a naive model.

use proptest::prelude::*;

use super::*;
use crate::model::Role;
use crate::samples::{artifact, message, moment};

fn machine(origin: Version) -> TaskMachine {
    let ask = message("m-1", Role::User, "hi");
    let (machine, told) =
        TaskMachine::create("t".parse().unwrap(), "c".parse().unwrap(), origin, ask, moment(0));
    assert_eq!(told, Told { sequence: 1, event: Event::Task(machine.task().clone()) });
    machine
}

fn status(state: TaskState) -> Update {
    Update::Status { state, message: None, metadata: None }
}

fn said(state: TaskState, id: &str) -> Update {
    let message = Some(message(id, Role::Agent, id));
    Update::Status { state, message, metadata: None }
}

fn piece(id: &str, text: &str, append: bool, last_chunk: bool) -> Update {
    Update::Artifact { artifact: artifact(id, text), append, last_chunk, metadata: None }
}

/// Takes the step whose turn it is.
#[track_caller]
fn go(machine: &mut TaskMachine, update: Update) -> Told {
    match machine.apply(machine.next_step(), update, moment(1)) {
        Applied::Told(told) => *told,
        other => panic!("{other:?}"),
    }
}

fn history(machine: &TaskMachine) -> Vec<&str> {
    machine.task().history.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn a_step_counts_once_and_in_its_turn() {
    let mut machine = machine(Version::V1_0);
    let early = machine.apply(2, status(TaskState::Completed), moment(1));
    assert_eq!(early, Applied::Early { expected: 1 });
    assert_eq!(go(&mut machine, status(TaskState::Working)).sequence, 2);
    let before = machine.clone();
    assert_eq!(machine.apply(1, status(TaskState::Failed), moment(2)), Applied::Repeated);
    assert_eq!(machine, before);
    assert_eq!(go(&mut machine, status(TaskState::Completed)).sequence, 3);
    let before = machine.clone();
    assert_eq!(machine.apply(3, status(TaskState::Working), moment(3)), Applied::Late);
    assert_eq!(machine.apply(9, piece("a", "x", false, true), moment(3)), Applied::Late);
    assert_eq!(machine, before);
}

#[test]
fn nothing_becomes_submitted_again_or_unknown_and_what_has_ended_has_ended() {
    for from in TaskState::ALL {
        for to in TaskState::ALL {
            let allowed =
                !from.is_terminal() && !matches!(to, TaskState::Submitted | TaskState::Unspecified);
            assert_eq!(may_become(from, to), allowed, "{from:?} {to:?}");
        }
    }
    let mut machine = machine(Version::V1_0);
    let refused = machine.apply(1, status(TaskState::Submitted), moment(1));
    assert_eq!(refused, Applied::Refused(Refusal::Transition));
    assert_eq!(machine.next_step(), 2);
}

#[test]
fn chunks_are_put_together_and_nothing_follows_the_last() {
    let mut machine = machine(Version::V1_0);
    let orphan = machine.apply(1, piece("a", "x", true, false), moment(1));
    assert_eq!(orphan, Applied::Refused(Refusal::NoArtifact));
    go(&mut machine, piece("b", "other", false, true));
    go(&mut machine, piece("a", "chunk-1 ", false, false));
    let told = go(&mut machine, piece("a", "chunk-2", true, true));
    let Event::Artifact(update) = told.event else { panic!() };
    assert_eq!((update.index, update.append, update.last_chunk), (1, true, true));
    assert_eq!(machine.task().artifacts[1].parts, [Part::text("chunk-1 chunk-2")]);
    let after = machine.apply(machine.next_step(), piece("a", "x", true, false), moment(1));
    assert_eq!(after, Applied::Refused(Refusal::Complete));
    go(&mut machine, piece("a", "anew", false, false));
    go(&mut machine, piece("a", "!", true, true));
    assert_eq!(machine.task().artifacts[1].parts, [Part::text("anew!")]);
}

#[test]
fn words_of_a_stream_are_one_text_and_all_else_stays_apart() {
    let mut machine = machine(Version::V1_0);
    let mut tell = |parts: Vec<Part>, append| {
        let artifact = Artifact { parts, ..artifact("a", "") };
        let piece = Update::Artifact { artifact, append, last_chunk: false, metadata: None };
        go(&mut machine, piece);
    };
    let data = || Part { content: Content::Data(serde_json::json!({"n": 1})), ..Part::text("") };
    let markdown = |text| Part { media_type: Some("text/markdown".to_owned()), ..Part::text(text) };
    tell(vec![Part::text("It is on p")], false);
    // Texts that come together were told apart by who sent them.
    tell(vec![Part::text("age 4."), Part::text("A second thought.")], true);
    tell(vec![data()], true);
    tell(vec![Part::text("After it")], true);
    tell(vec![markdown("*It*")], true);
    let texts = ["It is on page 4.", "A second thought."].map(Part::text);
    let [first, second] = texts;
    let expected = [first, second, data(), Part::text("After it"), markdown("*It*")];
    assert_eq!(machine.task().artifacts[0].parts, expected);
}

#[test]
fn a_stream_of_texts_does_not_grow_into_endless_parts() {
    let mut machine = machine(Version::V1_0);
    go(&mut machine, piece("a", "w", false, false));
    for _ in 0..ARTIFACT_PARTS_MAX {
        let artifact =
            Artifact { parts: vec![Part::text("w"), Part::text("w")], ..artifact("a", "") };
        let two = Update::Artifact { artifact, append: true, last_chunk: false, metadata: None };
        go(&mut machine, two);
    }
    let parts = &machine.task().artifacts[0].parts;
    assert!(parts.len() <= ARTIFACT_PARTS_MAX);
    let text: usize = parts
        .iter()
        .map(|part| match &part.content {
            Content::Text(text) => text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(text, 2 * ARTIFACT_PARTS_MAX + 1);
}

#[test]
fn an_answer_to_a_question_resumes_the_task() {
    let mut machine = machine(Version::V1_0);
    go(&mut machine, said(TaskState::InputRequired, "q-1"));
    assert!(machine.is_at_rest_since(1));
    assert!(machine.subscribe().is_ok());
    assert!(!machine.ends_stream(Version::V1_0));
    assert!(machine.ends_stream(Version::V0_3));
    let accepted = machine.accept(message("m-2", Role::User, "prod"), moment(2)).unwrap();
    assert_eq!(accepted.kind, AcceptedKind::Resumes);
    assert_eq!(machine.state(), TaskState::Working);
    assert_eq!(history(&machine), ["m-1", "q-1", "m-2"]);
    assert!(!machine.is_at_rest_since(accepted.since));
    go(&mut machine, status(TaskState::Completed));
    assert!(machine.is_at_rest_since(accepted.since));
}

#[test]
fn a_message_to_a_task_that_waits_for_credentials_authorises_nothing() {
    let mut machine = machine(Version::V1_0);
    go(&mut machine, said(TaskState::AuthRequired, "q-1"));
    let accepted = machine.accept(message("m-2", Role::User, "done"), moment(2)).unwrap();
    assert_eq!((accepted.kind, accepted.told), (AcceptedKind::Joins, None));
    assert_eq!(machine.state(), TaskState::AuthRequired);
    assert_eq!(machine.task().status.message.as_ref().unwrap().id.as_str(), "q-1");
    assert!(!machine.is_at_rest_since(accepted.since), "the send waits for what comes of it");
    go(&mut machine, said(TaskState::AuthRequired, "q-2"));
    assert!(machine.is_at_rest_since(accepted.since));
}

#[test]
fn a_message_sent_twice_is_taken_once() {
    let mut machine = machine(Version::V1_0);
    let before = machine.clone();
    let again = machine.accept(message("m-1", Role::User, "hi"), moment(2)).unwrap();
    assert_eq!(again.kind, AcceptedKind::Repeated);
    let other = machine.accept(message("m-1", Role::User, "other"), moment(2)).unwrap_err();
    assert_eq!(other.violations[0].field, "message.messageId");
    let foreign =
        Message { context: Some("d".parse().unwrap()), ..message("m-3", Role::User, "x") };
    let foreign = machine.accept(foreign, moment(2)).unwrap_err();
    assert_eq!(foreign.violations[0].field, "message.contextId");
    assert_eq!(machine, before);
}

#[test]
fn a_task_that_has_ended_takes_no_message_but_from_clients_of_0_1() {
    for version in Version::ALL {
        let mut machine = machine(version);
        go(&mut machine, status(TaskState::Completed));
        let result = machine.accept(message("m-2", Role::User, "more"), moment(2));
        if version == Version::V0_1 {
            assert_eq!(result.unwrap().kind, AcceptedKind::Restarts);
            assert_eq!(machine.state(), TaskState::Submitted);
            go(&mut machine, status(TaskState::Working));
        } else {
            assert_eq!(result.unwrap_err().kind, ErrorKind::UnsupportedOperation);
            assert_eq!(machine.state(), TaskState::Completed);
        }
    }
}

#[test]
fn a_second_cancel_changes_nothing() {
    let mut machine = machine(Version::V1_0);
    assert!(machine.cancel(moment(1)).is_ok());
    let before = machine.clone();
    assert_eq!(machine.cancel(moment(2)).unwrap_err().kind, ErrorKind::TaskNotCancelable);
    assert_eq!(machine.subscribe().unwrap_err().kind, ErrorKind::UnsupportedOperation);
    assert_eq!(machine, before);
}

#[test]
fn history_is_as_long_as_asked_for_and_never_endless() {
    let mut machine = machine(Version::V1_0);
    for number in 0..HISTORY_MESSAGES_MAX + 5 {
        go(&mut machine, said(TaskState::Working, &format!("s-{number}")));
    }
    assert_eq!(machine.task().history.len(), HISTORY_MESSAGES_MAX);
    let last = machine.view(Some(2), Artifacts::With).history;
    assert_eq!(last[1].id.as_str(), format!("s-{}", HISTORY_MESSAGES_MAX + 3));
    assert!(machine.view(Some(0), Artifacts::With).history.is_empty());
    assert_eq!(machine.view(None, Artifacts::With), *machine.task());
    assert!(machine.view(None, Artifacts::Without).artifacts.is_empty());
}

#[test]
fn a_clock_set_back_does_not_put_a_task_into_its_past() {
    let mut machine = machine(Version::V1_0);
    machine.apply(1, status(TaskState::Working), moment(100));
    machine.apply(2, status(TaskState::Working), moment(50));
    assert_eq!(machine.task().status.timestamp, Some(moment(100)));
}

#[test]
fn a_machine_written_down_is_the_same_when_read() {
    let mut machine = machine(Version::V0_3);
    go(&mut machine, piece("a", "x", false, true));
    let raw = Part::new(Content::Raw(vec![0, 255]));
    let update = Artifact { parts: vec![raw], ..artifact("b", "") };
    go(
        &mut machine,
        Update::Artifact { artifact: update, append: false, last_chunk: false, metadata: None },
    );
    go(&mut machine, said(TaskState::InputRequired, "q"));
    let text = serde_json::to_string(&machine).unwrap();
    assert_eq!(serde_json::from_str::<TaskMachine>(&text).unwrap(), machine);
}

/// What may be done to a task in the model test.
#[derive(Debug, Clone)]
enum Deed {
    /// A step, so many after the one whose turn it is.
    Step(i64, Box<Update>),
    Accept(u8),
    Cancel,
}

/// The naive model: everything that counted, in order; the task is made anew from it each time it is looked at.
#[derive(Default)]
struct Naive {
    counted: Vec<Counted>,
    steps: u64,
}

enum Counted {
    Update(Update),
    Message(String),
    Cancel,
}

#[derive(Debug, PartialEq)]
struct Seen {
    state: TaskState,
    history: Vec<String>,
    artifacts: Vec<(String, String)>,
    events: u64,
}

impl Naive {
    fn seen(&self) -> Seen {
        let mut seen = Seen {
            state: TaskState::Submitted,
            history: vec!["m".to_owned()],
            artifacts: vec![],
            events: 1,
        };
        let (mut now_saying, mut complete): (Option<String>, Vec<String>) = (None, vec![]);
        for counted in &self.counted {
            match counted {
                Counted::Cancel => {
                    seen.history.extend(now_saying.take());
                    (seen.state, seen.events) = (TaskState::Canceled, seen.events + 1);
                }
                Counted::Message(id) => {
                    let resumes = seen.state == TaskState::InputRequired;
                    if resumes {
                        seen.history.extend(now_saying.take());
                    }
                    seen.history.push(id.clone());
                    if resumes {
                        (seen.state, seen.events) = (TaskState::Working, seen.events + 1);
                    }
                }
                Counted::Update(Update::Status { state, message, .. }) => {
                    if matches!(state, TaskState::Submitted | TaskState::Unspecified) {
                        continue;
                    }
                    seen.history.extend(now_saying.take());
                    now_saying = message.as_ref().map(|message| message.id.to_string());
                    (seen.state, seen.events) = (*state, seen.events + 1);
                }
                Counted::Update(Update::Artifact { artifact, append, last_chunk, .. }) => {
                    let id = artifact.id.to_string();
                    let Content::Text(text) = &artifact.parts[0].content else { panic!() };
                    let known = seen.artifacts.iter_mut().find(|(known, _)| *known == id);
                    match known {
                        _ if *append && complete.contains(&id) => continue,
                        Some((_, all)) if *append => all.push_str(text),
                        Some((_, all)) => all.clone_from(text),
                        None if *append => continue,
                        None => seen.artifacts.push((id.clone(), text.clone())),
                    }
                    complete.retain(|known| *known != id);
                    if *last_chunk {
                        complete.push(id);
                    }
                    seen.events += 1;
                }
            }
        }
        seen
    }

    fn do_it(&mut self, deed: &Deed) {
        let seen = self.seen();
        match deed {
            Deed::Step(offset, update) => {
                let step = step_number(self.steps, *offset);
                if step == self.steps + 1 && !seen.state.is_terminal() {
                    self.steps = step;
                    self.counted.push(Counted::Update(*update.clone()));
                }
            }
            Deed::Accept(number) => {
                let id = format!("u-{number}");
                let known = self
                    .counted
                    .iter()
                    .any(|counted| matches!(counted, Counted::Message(known) if *known == id));
                if !known && !seen.state.is_terminal() {
                    self.counted.push(Counted::Message(id));
                }
            }
            Deed::Cancel if !seen.state.is_terminal() => self.counted.push(Counted::Cancel),
            Deed::Cancel => {}
        }
    }
}

fn step_number(taken: u64, offset: i64) -> u64 {
    (taken + 1).saturating_add_signed(offset)
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let state = prop_oneof![
        6 => Just(TaskState::Working),
        2 => Just(TaskState::InputRequired),
        2 => Just(TaskState::AuthRequired),
        1 => prop::sample::select(TaskState::ALL.to_vec()),
    ];
    let status = (state, any::<bool>()).prop_map(|(state, speaks)| {
        let message = speaks.then(|| message("said", Role::Agent, "said"));
        Update::Status { state, message, metadata: None }
    });
    let piece = (0u8..3, "[a-c]", any::<bool>(), prop::bool::weighted(0.2))
        .prop_map(|(id, text, append, last)| piece(&format!("a-{id}"), &text, append, last));
    let offset = prop_oneof![6 => Just(0i64), 1 => -3i64..4];
    prop_oneof![
        12 => (offset, prop_oneof![status, piece]).prop_map(|(offset, update)| Deed::Step(offset, Box::new(update))),
        3 => (0u8..6).prop_map(Deed::Accept),
        1 => Just(Deed::Cancel),
    ]
}

fn seen(machine: &TaskMachine) -> Seen {
    let text = |artifact: &Artifact| {
        artifact
            .parts
            .iter()
            .map(|part| match &part.content {
                Content::Text(text) => text.as_str(),
                _ => "",
            })
            .collect::<String>()
    };
    let task = machine.task();
    Seen {
        state: task.status.state,
        history: task.history.iter().map(|message| message.id.to_string()).collect(),
        artifacts: task
            .artifacts
            .iter()
            .map(|artifact| (artifact.id.to_string(), text(artifact)))
            .collect(),
        events: machine.sequence(),
    }
}

proptest! {
    #[test]
    fn a_task_is_what_the_naive_model_says_whatever_comes_in_whatever_order(
        deeds in prop::collection::vec(any_deed(), 0..60)
    ) {
        let ask = message("m", Role::User, "hi");
        let (mut machine, first) = TaskMachine::create(
            "t".parse().unwrap(), "c".parse().unwrap(), Version::V1_0, ask, moment(0));
        let mut naive = Naive::default();
        let mut watched = crate::follow::Follower::default();
        watched.observe(first.event, crate::follow::Delivery::Stream);
        for (now, deed) in (1i64..).zip(&deeds) {
            let before = machine.clone();
            let told = match deed {
                Deed::Step(offset, update) => {
                    let step = step_number(machine.next_step() - 1, *offset);
                    match machine.apply(step, *update.clone(), moment(now)) {
                        Applied::Told(told) => Some(*told),
                        Applied::Refused(_) => None,
                        Applied::Repeated | Applied::Early { .. } | Applied::Late => {
                            prop_assert_eq!(&machine, &before);
                            None
                        }
                    }
                }
                Deed::Accept(number) => {
                    let more = message(&format!("u-{number}"), Role::User, "more");
                    machine.accept(more, moment(now)).ok().and_then(|accepted| accepted.told)
                }
                Deed::Cancel => machine.cancel(moment(now)).ok(),
            };
            naive.do_it(deed);
            prop_assert_eq!(seen(&machine), naive.seen(), "{:?}", deed);
            prop_assert_eq!(machine.sequence() > before.sequence(), told.is_some());
            if let Some(told) = told {
                prop_assert_eq!(told.sequence, machine.sequence());
                watched.observe(told.event, crate::follow::Delivery::Stream);
            }
        }
        // Who followed the events alone knows the same state and the same results.
        let watched = watched.task().unwrap();
        prop_assert_eq!(&watched.status, &machine.task().status);
        prop_assert_eq!(&watched.artifacts, &machine.task().artifacts);
    }
}
