//! Runs of many callers in one server.

use agent::identity::Principal;
use agent::research::run::Stage;

use super::*;

fn caller(name: &str) -> Principal {
    Principal { tenant: samples::tenant("mine"), name: name.to_owned(), scopes: vec![] }
}

fn asked(approval: Approval) -> Asked {
    let Wanted { question, sources, budget, .. } = wanted(approval);
    Asked { question, sources, approval: Some(approval), budget, ..Asked::default() }
}

fn service(world: &World, runs_max: usize) -> Research {
    Research::new(world.process(), ResearchRules { runs_max, ..ResearchRules::default() })
}

async fn all_of(mut watching: Watching) -> (Vec<u64>, Seen) {
    let mut seqs = Vec::new();
    loop {
        match watching.next().await.unwrap() {
            Seen::Said(line) => seqs.push(line.seq),
            last => return (seqs, last),
        }
    }
}

#[tokio::test]
async fn every_watcher_sees_everything_wherever_it_begins() {
    let world = World::new(Some(model()));
    let (research, mina) = (service(&world, 4), caller("mina"));
    let id = research.create(&mina, asked(Approval::Given)).await.unwrap().line.id;
    // One that never looks holds up nobody.
    let asleep = research.watch(&mina, id, 0).await.unwrap();
    let (seqs, last) = all_of(research.watch(&mina, id, 0).await.unwrap()).await;
    assert!(matches!(last, Seen::Over(Over::Ended { report: Some(_), .. })), "{last:?}");
    let count = seqs.len() as u64;
    assert_eq!(seqs, (1..=count).collect::<Vec<_>>());
    for after in 0..=count {
        let (rest, _) = all_of(research.watch(&mina, id, after).await.unwrap()).await;
        assert_eq!(rest, (after + 1..=count).collect::<Vec<_>>());
    }
    assert_eq!(all_of(asleep).await.0, seqs);
    let (none, last) = all_of(research.watch(&mina, id, count + 1).await.unwrap()).await;
    assert!(none.is_empty());
    assert!(matches!(last, Seen::Gap(Gap { earliest: 1, .. })), "{last:?}");
    let lines = research.messages(&mina, id, 2, 3).await.unwrap();
    assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [3, 4, 5]);
}

#[tokio::test]
async fn more_runs_than_seats_wait_until_one_is_free() {
    let hanging = ScriptedModel::answering("slow", |_| Script { events: vec![], hangs: true });
    let world = World::new(Some(hanging));
    let (research, mina) = (service(&world, 1), caller("mina"));
    let first = research.create(&mina, asked(Approval::Given)).await.unwrap().line.id;
    while world.calls() == 0 {
        tokio::task::yield_now().await;
    }
    let second = research.create(&mina, asked(Approval::Given)).await.unwrap_err();
    // The same bytes name the same run: the world draws no others.
    assert!(matches!(second, EngineError::Port(PortError::Refused(_))), "{second:?}");
    let other = Principal { tenant: samples::tenant("other"), ..caller("joon") };
    let second = research.create(&other, asked(Approval::Given)).await.unwrap().line.id;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.calls(), 1, "the second waits");
    research.steer(&mina, first, Steering::Stop).await.unwrap();
    while world.calls() == 1 {
        tokio::task::yield_now().await;
    }
    research.steer(&other, second, Steering::Stop).await.unwrap();
}

#[tokio::test]
async fn a_run_is_there_for_its_own_caller_alone_until_it_is_forgotten() {
    let world = World::new(None);
    let (research, mina, joon) = (service(&world, 4), caller("mina"), caller("joon"));
    let id = research.create(&mina, asked(Approval::Asked)).await.unwrap().line.id;
    assert!(research.list(&joon, None, 9).await.unwrap().items.is_empty());
    assert_eq!(research.list(&mina, None, 9).await.unwrap().items.len(), 1);
    let absent = |error: EngineError| matches!(error, EngineError::Absent { .. });
    assert!(absent(research.view(&joon, id).await.unwrap_err()));
    assert!(absent(research.watch(&joon, id, 0).await.unwrap_err()));
    assert!(absent(research.messages(&joon, id, 0, 9).await.unwrap_err()));
    assert!(absent(research.steer(&joon, id, Steering::Approve).await.unwrap_err()));
    assert!(absent(research.report(&joon, id).await.unwrap_err()));
    assert!(absent(research.forget(&joon, id).await.unwrap_err()));
    let watching = research.watch(&mina, id, 0).await.unwrap();
    research.forget(&mina, id).await.unwrap();
    assert!(matches!(all_of(watching).await.1, Seen::Over(Over::Ended { report: None, .. })));
    assert!(absent(research.view(&mina, id).await.unwrap_err()));
}

#[tokio::test]
async fn what_is_unfinished_at_the_end_of_a_process_goes_on_in_the_next() {
    let world = World::new(None);
    let mina = caller("mina");
    let before = world.process();
    let tasks = before.parts.tasks.clone();
    let research = Research::new(before, ResearchRules::default());
    let id = research.create(&mina, asked(Approval::Asked)).await.unwrap().line.id;
    let (seen, last) = {
        let watching = research.watch(&mina, id, 0).await.unwrap();
        assert!(tasks.stop(std::time::Duration::from_secs(60)).await);
        all_of(watching).await
    };
    assert!(matches!(last, Seen::Over(Over::Left)), "{last:?}");
    let research = service(&world, 4);
    assert!(!research.view(&mina, id).await.unwrap().is_on_its_way);
    research.resume().await.unwrap();
    let view = research.view(&mina, id).await.unwrap();
    assert!(view.is_on_its_way && view.status.unwrap().stage == Stage::Approving);
    let after = *seen.last().unwrap();
    let watching = research.watch(&mina, id, after).await.unwrap();
    research.steer(&mina, id, Steering::Approve).await.unwrap();
    let (rest, last) = all_of(watching).await;
    assert_eq!(rest.first(), Some(&(after + 1)));
    assert!(matches!(last, Seen::Over(Over::Ended { report: Some(_), .. })), "{last:?}");
    assert!(research.report(&mina, id).await.unwrap().claims().count() > 0);
}
