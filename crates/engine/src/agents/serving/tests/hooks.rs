//! Webhooks of tasks: set, told in order, and told again until they take it.

use super::*;

pub(super) fn hook(task: Option<&TaskId>) -> PushConfig {
    PushConfig {
        id: None,
        task: task.cloned(),
        tenant: None,
        url: "https://hooks.example/x".to_owned(),
        token: Some("secret".to_owned()),
        authentication: Some(PushAuthentication {
            schemes: vec!["Bearer".to_owned()],
            credentials: Some("abc".to_owned()),
        }),
    }
}

fn pushed(message: Message) -> Send {
    let mut send = send(message, Returns::AtRest);
    send.configuration.push = Some(hook(None));
    send
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_told_in_order_and_again_until_they_take_it() {
    let world = World::new();
    let service = world.service();
    world.mail.answers.lock().unwrap().extend([500, 302]);
    let send = pushed(message("m", "work one done", None));
    service.send(&mina(), Version::V1_0, send).await.unwrap();
    let told = world.mail(5).await;
    let (working, completed) = ("TASK_STATE_WORKING", "TASK_STATE_COMPLETED");
    assert_eq!(told, [working, working, working, "one", completed]);
    let got = world.mail.got.lock().unwrap();
    for (name, value) in [
        ("X-A2A-Notification-Token", "secret"),
        ("A2A-Notification-Token", "secret"),
        ("Authorization", "Bearer abc"),
        ("Content-Type", "application/a2a+json"),
    ] {
        let header = (name.to_owned(), value.to_owned());
        assert!(got.iter().all(|(headers, _)| headers.contains(&header)), "{name}");
    }
}

#[tokio::test]
async fn a_webhook_that_wants_it_gets_a_signed_token() {
    let world = World::new();
    let service = world.service();
    let mut send = pushed(message("m", "done", None));
    let hook = send.configuration.push.as_mut().unwrap();
    hook.authentication =
        Some(PushAuthentication { schemes: vec!["jwt".to_owned()], credentials: None });
    service.send(&mina(), Version::V1_0, send).await.unwrap();
    world.mail(1).await;
    let got = world.mail.got.lock().unwrap();
    let token = got[0].0.iter().find(|(name, _)| name == "Authorization").unwrap();
    let claims: serde_json::Value =
        serde_json::from_str(token.1.strip_prefix("Bearer ").unwrap()).unwrap();
    assert_eq!(
        (&claims["iss"], &claims["aud"]),
        (&"saem".into(), &"https://hooks.example/x".into())
    );
    assert_eq!((&claims["iat"], &claims["exp"]), (&1_000.into(), &1_300.into()));
    assert_eq!(claims["request_body_sha256"].as_str().unwrap().len(), 64);
    assert!(claims["taskId"].is_string() && claims["jti"].is_string(), "{claims}");
}

#[tokio::test(start_paused = true)]
async fn what_a_webhook_was_not_told_it_is_told_by_the_next_process() {
    let world = World::new();
    let service = world.service();
    world.mail.answers.lock().unwrap().extend([503]);
    let send = pushed(message("m", "done", None));
    service.send(&mina(), Version::V1_0, send).await.unwrap();
    world.mail(1).await;
    service.inner.parts.spawner.stop(Duration::from_secs(5)).await;
    world.clock.advance(10_000);
    let next = world.service();
    next.resume().await.unwrap();
    assert_eq!(world.mail(2).await, ["TASK_STATE_COMPLETED", "TASK_STATE_COMPLETED"]);
}

#[tokio::test]
async fn webhooks_are_set_shown_and_taken_away() {
    let service = World::new().service();
    let task = sent(&service, message("m", "ask", None)).await;
    let inside = PushConfig { url: "http://127.0.0.1/x".to_owned(), ..hook(Some(&task.id)) };
    let refused = service.create_push(&mina(), Version::V1_0, inside).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidParams);
    let mut set = Vec::new();
    for _ in 0..3 {
        let config = service.create_push(&mina(), Version::V1_0, hook(Some(&task.id))).await;
        set.push(config.unwrap());
    }
    let id = set[1].id.clone().unwrap();
    assert_eq!(service.get_push(&mina(), &task.id, Some(&id)).await.unwrap(), set[1]);
    assert_eq!(service.get_push(&mina(), &task.id, None).await.unwrap(), set[0]);
    let page = service.list_push(&mina(), &task.id, Some(2), None).await.unwrap();
    assert_eq!(page.configs, set[..2]);
    let token = page.next_page_token.unwrap();
    let page = service.list_push(&mina(), &task.id, Some(2), Some(&token)).await.unwrap();
    assert_eq!((page.configs.as_slice(), page.next_page_token), (&set[2..], None));
    for _ in 0..2 {
        service.delete_push(&mina(), &task.id, &id).await.unwrap();
    }
    let gone = service.get_push(&mina(), &task.id, Some(&id)).await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::TaskNotFound);
}
