//! Checks what is remembered of a conversation, and for how long.

use agent::identity::Principal;
use agent::memory::{MemoryEdit, NewEntity};

use super::*;

#[tokio::test]
async fn a_caller_who_remembers_by_itself_tells_what_was_said_and_nothing_is_kept() {
    let world = world();
    let copilot = world.copilot();
    let told = |number| SaidTurn {
        number,
        at: world.clock.now(),
        question: "11월 비용을 분석해줘".to_owned(),
        answer: "네.".to_owned(),
        is_complete: true,
    };
    let mut question = Question::new("1월은?".to_owned(), Talk::Unkept);
    question.told = vec![told(1)];
    let record = copilot.ask(&tenant(), question.clone()).unwrap().finish().await.unwrap();
    assert_eq!((record.query.as_str(), record.persisted), ("비용 분석 1월은?", false));
    assert!(copilot.sessions(&tenant(), None, 9).await.unwrap().items.is_empty());
    question.conversation = Talk::Known(id());
    question.told = (1..=7).map(told).collect();
    let record = copilot.ask(&tenant(), question).unwrap().finish().await.unwrap();
    assert_eq!((record.number, record.persisted), (8, true));
    let session = copilot.session(&tenant(), &id()).await.unwrap().session;
    assert_eq!((session.turns_said, session.title.as_str()), (8, "11월 비용을 분석해줘"));
}

#[tokio::test]
async fn what_left_the_memory_comes_back_word_for_word_if_that_is_wanted() {
    let secret = "비상 연락처는 010-1234-5678이야";
    for (recall_tokens, expected) in [(None, false), (Some(500), true)] {
        let mut world = world();
        world.rules.recall_tokens = recall_tokens;
        // A memory that keeps the last sentence or two, and no facts.
        (world.rules.memory.tokens_max, world.rules.memory.entities_max) = (12, 0);
        let copilot = world.copilot();
        ask(&copilot, secret).await;
        for number in 0..12 {
            ask(&copilot, &format!("My budget is ${number},000. When is a budget alert sent?"))
                .await;
        }
        copilot.settled().await;
        let record = ask(&copilot, "내가 말한 비상 연락처가 뭐였지?").await;
        assert_eq!(record.answer.contains("010-1234-5678"), expected, "{}", record.answer);
    }
}

async fn six_turns(copilot: &Copilot) {
    for number in 1..=6 {
        ask(copilot, &format!("My budget is ${number},000. When is a budget alert sent?")).await;
    }
}

#[tokio::test]
async fn the_sixth_turn_has_the_memory_rewritten_after_the_answer() {
    let mut world = world();
    let copilot = world.copilot();
    six_turns(&copilot).await;
    assert_eq!(world.updates.recv().await, Some(MemoryOutcome::Rewritten));
    let memory = copilot.memory(&tenant(), &id()).await.unwrap();
    assert_eq!((memory.memory.version, memory.memory.folded_to), (1, 5));
    assert_eq!(memory.memory.written_by, "offline");
    assert!(memory.memory.text.contains("$5,000"), "{}", memory.memory.text);
    assert_eq!(memory.entities.get("budget").map(|fact| fact.value.as_str()), Some("$5,000"));
    assert_eq!((memory.short_term, memory.unfolded), (5, 1));
    assert!(world.sessions.due().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_draft_that_loses_what_was_said_is_refused_and_nothing_is_lost() {
    let good = json!({"memory": "The user's budget was $5,000.", "entities": []}).to_string();
    let bad = json!({"memory": "They spoke of money.", "entities": []}).to_string();
    let keeper = ScriptedModel::new("keeper").says(&good).says(&bad).says(&bad);
    let mut world = world();
    world.models.memory = Some(Arc::new(keeper.clone()));
    let copilot = world.copilot();
    six_turns(&copilot).await;
    assert_eq!(world.updates.recv().await, Some(MemoryOutcome::Rewritten));
    for _ in 0..5 {
        ask(&copilot, "When is a budget alert sent?").await;
    }
    assert_eq!(world.updates.recv().await, Some(MemoryOutcome::Refused));
    let memory = copilot.memory(&tenant(), &id()).await.unwrap();
    assert_eq!(memory.memory.text, "The user's budget was $5,000.");
    assert!(memory.memory.refused.unwrap().contains("$5,000"));
    assert_eq!((memory.memory.version, memory.unfolded), (1, 6));
    // It was told what was missing, and the turns wait for another try.
    assert_eq!(keeper.requests().len(), 3);
    assert_eq!(world.sessions.due().await.unwrap(), [(tenant(), id())]);
}

#[tokio::test]
async fn a_memory_that_was_due_is_taken_up_by_the_next_process() {
    let keeper = ScriptedModel::new("keeper").hangs_after("{");
    let mut world = world();
    world.models.memory = Some(Arc::new(keeper));
    let first = world.copilot();
    six_turns(&first).await;
    drop(first);
    world.models.memory = None;
    let second = world.copilot();
    assert_eq!(second.resume().await.unwrap(), 1);
    assert_eq!(world.updates.recv().await, Some(MemoryOutcome::Rewritten));
    assert_eq!(second.memory(&tenant(), &id()).await.unwrap().memory.version, 1);
    assert!(world.sessions.due().await.unwrap().is_empty());
}

#[tokio::test]
async fn people_correct_take_back_and_forget_and_it_is_written_down() {
    let mut world = world();
    let copilot = world.copilot();
    let owner = Principal::local_owner();
    six_turns(&copilot).await;
    world.updates.recv().await;
    let fact = NewEntity { key: "budget".to_owned(), value: "$9".to_owned() };
    let edit = MemoryEdit { text: Some("Right.".to_owned()), entities: Some(vec![fact]) };
    let edited = copilot.edit_memory(&owner, &id(), edit).await.unwrap();
    assert_eq!((edited.memory.text.as_str(), edited.memory.version), ("Right.", 2));
    let back = copilot.roll_back(&owner, &id(), 0).await.unwrap();
    assert_eq!((back.memory.text.as_str(), back.unfolded), ("", 6));
    assert_eq!(world.updates.recv().await, Some(MemoryOutcome::Rewritten));
    assert!(copilot.roll_back(&owner, &id(), 77).await.is_err());
    copilot.rename(&owner, &id(), "budget talk").await.unwrap();
    let listed = copilot.sessions(&tenant(), None, 10).await.unwrap();
    assert_eq!(listed.items.first().map(|line| line.title.as_str()), Some("budget talk"));
    copilot.forget(&owner, &id()).await.unwrap();
    assert!(matches!(copilot.session(&tenant(), &id()).await, Err(EngineError::Absent { .. })));
    let actions: Vec<String> =
        world.audit.0.lock().unwrap().iter().map(|entry| entry.action.clone()).collect();
    assert_eq!(actions, ["memory.edit", "memory.roll_back", "session.forget"]);
}

#[tokio::test]
async fn a_session_is_gone_a_day_after_its_last_use() {
    let world = world();
    let copilot = world.copilot();
    ask(&copilot, "When is it sent?").await;
    world.clock.advance(24 * 3_600_000 - 1);
    ask(&copilot, "When is it sent?").await;
    world.clock.advance(24 * 3_600_000 - 1);
    assert_eq!(copilot.session(&tenant(), &id()).await.unwrap().turns.len(), 2);
    world.clock.advance(1);
    assert!(copilot.session(&tenant(), &id()).await.is_err());
    assert_eq!(ask(&copilot, "When is it sent?").await.number, 1);
}
