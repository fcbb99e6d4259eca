//! The promise of `Jobs`.

use agent::identity::Timestamp;
use agent::ports::{Job, JobState, Jobs};

use crate::samples::tenant;

/// Runs every part on a fresh store.
pub async fn keeps_its_promise(jobs: &dyn Jobs) {
    an_accepted_job_waits_with_its_upload(jobs).await;
    the_same_key_gives_the_same_job(jobs).await;
    a_finished_job_is_forgotten_in_time(jobs).await;
}

fn job(id: &str) -> Job {
    Job {
        id: id.to_owned(),
        principal: "tester".to_owned(),
        created_at: Timestamp(1),
        accepted: 0,
        finished_at: None,
        state: JobState::Waiting,
        order: serde_json::json!({ "source": "x" }),
        documents_done: 0,
        documents_unchanged: 0,
        chunks: 0,
        failures: vec![],
        tries: 0,
    }
}

async fn an_accepted_job_waits_with_its_upload(jobs: &dyn Jobs) {
    let (mine, other) = (tenant("jobs"), tenant("jobs2"));
    jobs.accept(&mine, job("1"), b"bytes".to_vec(), None).await.unwrap();
    jobs.accept(&mine, job("2"), vec![], None).await.unwrap();
    assert_eq!(jobs.upload(&mine, "1").await.unwrap(), Some(b"bytes".to_vec()));
    assert_eq!(jobs.job(&other, "1").await.unwrap(), None);
    assert_eq!(jobs.upload(&other, "1").await.unwrap(), None);
    let waiting = jobs.waiting().await.unwrap();
    let ids: Vec<&str> = waiting.iter().map(|(_, job)| job.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
    let newest: Vec<String> =
        jobs.jobs(&mine, 9).await.unwrap().into_iter().map(|job| job.id).collect();
    assert_eq!(newest, ["2", "1"]);
    for id in ["1", "2"] {
        let done = Job { state: JobState::Done, finished_at: Some(Timestamp(5)), ..job(id) };
        jobs.update(&mine, done).await.unwrap();
        assert_eq!(jobs.upload(&mine, id).await.unwrap(), None);
    }
    assert!(jobs.waiting().await.unwrap().is_empty());
}

async fn the_same_key_gives_the_same_job(jobs: &dyn Jobs) {
    let mine = tenant("keys");
    let key = || Some("again".to_owned());
    jobs.accept(&mine, job("a"), vec![], key()).await.unwrap();
    assert_eq!(jobs.accept(&mine, job("b"), vec![], key()).await.unwrap().id, "a");
    assert_eq!(jobs.job(&mine, "b").await.unwrap(), None);
    let other = tenant("keys2");
    assert_eq!(jobs.accept(&other, job("c"), vec![], key()).await.unwrap().id, "c");
}

async fn a_finished_job_is_forgotten_in_time(jobs: &dyn Jobs) {
    let mine = tenant("old");
    let done = Job { state: JobState::Done, finished_at: Some(Timestamp(100)), ..job("x") };
    jobs.accept(&mine, done, vec![], Some("key".to_owned())).await.unwrap();
    jobs.accept(&mine, job("y"), vec![], None).await.unwrap();
    jobs.forget_finished(Timestamp(100)).await.unwrap();
    assert!(jobs.job(&mine, "x").await.unwrap().is_some());
    jobs.forget_finished(Timestamp(101)).await.unwrap();
    assert_eq!(jobs.job(&mine, "x").await.unwrap(), None);
    assert!(jobs.job(&mine, "y").await.unwrap().is_some(), "a waiting job is never forgotten");
    let again = jobs.accept(&mine, job("z"), vec![], Some("key".to_owned())).await.unwrap();
    assert_eq!(again.id, "z", "a forgotten job's key is free again");
}
