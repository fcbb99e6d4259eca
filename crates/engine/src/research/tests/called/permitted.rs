//! Tools that need a yes: asked about, called, or done without.

use super::*;

#[tokio::test]
async fn a_tool_that_needs_a_yes_is_asked_about_once_for_the_run() {
    let scene = Scene::new(honest(changing()).await, Trust::Untrusted).await;
    let following = scene.begin(&[TOOL]).await.unwrap();
    let (messages, last) = answering(following, |question| {
        assert_eq!(question.provider.as_str(), TOOL);
        assert!(question.arguments["query"].is_string(), "{question:?}");
        true
    })
    .await;
    check_quotes(&report(last), &[SAID_BY_TOOL]);
    assert_eq!(questions(&messages), 1);
    let calls = scene.asked();
    assert!(calls.len() > 1, "{calls:?}");
    let list = ActivityList { limit: 100, ..ActivityList::default() };
    let noted = scene.host.activity(&scene.world.tenant, list).await.unwrap().items;
    assert_eq!(noted.len(), calls.len(), "what was only asked about is no call");
}

#[tokio::test]
async fn a_tool_that_says_nothing_of_itself_is_asked_about_each_time() {
    let scene = Scene::new(honest(json!({})).await, Trust::Trusted).await;
    let (messages, last) = answering(scene.begin(&[TOOL]).await.unwrap(), |_| true).await;
    check_quotes(&report(last), &[SAID_BY_TOOL]);
    assert_eq!(questions(&messages), scene.asked().len());
}

#[tokio::test]
async fn a_tool_that_may_not_be_called_is_out_for_the_run_and_that_is_told() {
    let scene = Scene::new(honest(changing()).await, Trust::Untrusted).await;
    let (messages, last) = answering(scene.begin(&[TOOL, AGENT]).await.unwrap(), |_| false).await;
    let report = report(last);
    assert_eq!(scene.server.count("tools/call"), 0);
    check_quotes(&report, &[SAID_BY_AGENT]);
    assert_eq!(questions(&messages), 1);
    let told = errors(&messages);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].error_message.contains("may not be called") && !told[0].recoverable);
    assert_eq!(told[0].details.as_ref().unwrap()["api"], TOOL);
    assert!(report.notes.iter().any(|note| note.contains("tool:notes__find did not answer")));
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_answered_with_no() {
    let scene = Scene::new(honest(changing()).await, Trust::Untrusted).await;
    let wanted = Wanted { answer_seconds: Some(0), ..naming(&[TOOL, AGENT]) };
    let begun = scene.world.process().begin(&scene.world.tenant, wanted).await.unwrap();
    let (messages, last) = to_the_end(begun).await;
    check_quotes(&report(last), &[SAID_BY_AGENT]);
    assert_eq!(scene.server.count("tools/call"), 0);
    assert!(errors(&messages)[0].error_message.contains("nobody answered in time"));
}
