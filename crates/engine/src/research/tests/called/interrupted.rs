//! Calls of which nobody knows whether they were made, and runs that are cut off among them.

use super::*;

#[tokio::test]
async fn a_call_that_was_lost_is_asked_about_and_not_made_again() {
    let list = vec![tool("find", &changing())];
    let scene = Scene::new(notes(list, |_| Answer::Hangup).await, Trust::Untrusted).await;
    let is_unsure = |question: &ToolQuestion| question.reason.contains("may have been made");
    let following = scene.begin(&[TOOL, AGENT]).await.unwrap();
    let (messages, last) = answering(following, |question| !is_unsure(question)).await;
    check_quotes(&report(last), &[SAID_BY_AGENT]);
    let is_asked = |message: &AgentMessage| match &message.content {
        Content::ToolApproval(approval) => approval.request.as_ref().is_some_and(is_unsure),
        _ => false,
    };
    assert!(messages.iter().any(is_asked), "{messages:#?}");
    let calls = scene.asked();
    let mut each = calls.clone();
    each.dedup();
    assert!(calls.iter().any(|call| call.starts_with("tool")), "{calls:?}");
    assert_eq!(each, calls);
}

#[tokio::test]
async fn a_run_of_calls_that_is_cut_off_at_any_write_makes_none_of_them_twice() {
    let whole = Scene::new(honest(changing()).await, Trust::Untrusted).await;
    let begun = whole.begin(&[TOOL, AGENT]).await.unwrap();
    let expected = report(answering(begun, |_| true).await.1);
    let calls = whole.asked();
    assert!(calls.len() > 3, "{calls:?}");
    let (mut cuts, mut unsure) = (0, 0);
    for writes in 1.. {
        let scene = Scene::new(honest(changing()).await, Trust::Untrusted).await;
        scene.world.journals.break_after(Some(writes));
        let begun = scene.begin(&[TOOL, AGENT]).await.unwrap();
        let id = begun.id;
        let (_, last) = answering(begun, |_| true).await;
        if !matches!(last, Told::Failed(_)) {
            assert_eq!(report(last), expected);
            break;
        }
        cuts += 1;
        scene.world.journals.break_after(None);
        let taken = scene.world.process().resume(&scene.world.tenant, id).await.unwrap();
        let doubts = Mutex::new(0);
        // Whoever is asked about a call that may have been made says that it was.
        let (_, last) = answering(taken, |question| {
            let is_unsure = question.reason.contains("may have been made");
            *doubts.lock().unwrap() += usize::from(is_unsure);
            !is_unsure
        })
        .await;
        let (report, doubts) = (report(last), doubts.into_inner().unwrap());
        check_places(&report, &[SAID_BY_TOOL, SAID_BY_AGENT]);
        let mut made = scene.asked();
        let all = made.len();
        made.dedup();
        assert_eq!(made.len(), all, "cut after {writes} writes: {made:?}");
        if doubts == 0 {
            assert_eq!(
                (report, made),
                (expected.clone(), calls.clone()),
                "cut after {writes} writes"
            );
        }
        unsure += doubts;
    }
    assert!(cuts > 5 && unsure > 3, "{cuts} {unsure}");
}
