//! Asking: in every binding and version, to the end or until the agent asks back; and agents that never come to an end.

use a2a::error::ErrorKind;
use a2a::model::{Returns, Sent, TaskState};

use super::*;

fn text(sent: &Sent) -> String {
    let Sent::Task(task) = sent else { panic!("{sent:?}") };
    let parts = task.artifacts.iter().flat_map(|made| &made.parts);
    let texts = parts.map(|part| match &part.content {
        a2a::model::Content::Text(text) => text.as_str(),
        other => panic!("{other:?}"),
    });
    texts.collect()
}

fn state(sent: &Sent) -> TaskState {
    match sent {
        Sent::Task(task) => task.status.state,
        Sent::Message(_) => panic!("{sent:?}"),
    }
}

#[tokio::test]
async fn a_stream_is_followed_to_its_end() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            return json_reply(&card_of_1_0("JSONRPC", AT));
        }
        let mut begun = task("WORKING");
        begun["artifacts"] = json!([]);
        let piece = |text: &str, append: bool| {
            let artifact = json!({ "artifactId": "a1", "parts": [{ "text": text }] });
            json!({ "artifactUpdate": { "taskId": "t1", "contextId": "c1", "artifact": artifact, "append": append } })
        };
        let done = json!({ "statusUpdate": { "taskId": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" } } });
        events(heard, &[json!({ "task": begun }), piece("a ", false), piece("spring", true), done])
    });
    let order = Order { skill: Some("paint".to_owned()), hops: 1, ..Order::text("샘") };
    let sent = world.ask(AT, order).await.unwrap();
    assert_eq!((text(&sent).as_str(), state(&sent)), ("a spring", TaskState::Completed));
    let last = world.last();
    assert_eq!(last.body["method"], "SendStreamingMessage");
    assert_eq!((last.header("a2a-version"), last.header("saem-hops")), (Some("1.0"), Some("2")));
    let message = &last.body["params"]["message"];
    assert_eq!(message["metadata"], json!({ "saem-hops": 2, "skill": "paint" }));
    assert_eq!(message["parts"][0]["text"], "샘");
}

#[tokio::test]
async fn an_older_agent_is_spoken_to_in_its_own_words() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            return json_reply(&card_of_0_3(AT));
        }
        let done = json!({ "kind": "task", "id": "t1", "contextId": "c1", "status": { "state": "completed" },
            "artifacts": [{ "artifactId": "a1", "parts": [{ "kind": "text", "text": "old" }] }] });
        result(heard, &done)
    });
    let sent = world.ask(AT, Order::text("hi")).await.unwrap();
    assert_eq!(text(&sent), "old");
    let last = world.last();
    assert_eq!(last.body["method"], "message/send");
    assert_eq!(last.header("a2a-version"), None);
    assert_eq!(last.body["params"]["message"]["kind"], "message");
}

#[tokio::test]
async fn an_agent_that_does_not_say_its_version_may_turn_out_to_be_the_oldest() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            let mut card = card_of_0_3(AT);
            card.as_object_mut().unwrap().remove("protocolVersion");
            return json_reply(&card);
        }
        if heard.body["method"] != "tasks/send" {
            return error(heard, -32601, "Method not found");
        }
        let done = json!({ "id": heard.body["params"]["id"], "status": { "state": "completed" },
            "artifacts": [{ "index": 0, "parts": [{ "type": "text", "text": "oldest" }] }] });
        result(heard, &done)
    });
    let sent = world.ask(AT, Order::text("hi")).await.unwrap();
    assert_eq!(text(&sent), "oldest");
}

#[tokio::test]
async fn http_and_json_without_an_envelope_is_spoken_too() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            let mut card = card_of_1_0("HTTP+JSON", "http://agent.test/rest/");
            card["capabilities"]["streaming"] = json!(false);
            return json_reply(&card);
        }
        match heard.line.as_str() {
            "POST http://agent.test/rest/message:send" => {
                json_reply(&json!({ "task": task("COMPLETED") }))
            }
            "POST http://agent.test/rest/tasks/t1:cancel" => {
                let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_CANCELABLE" });
                status_reply(
                    400,
                    &json!({ "error": { "code": 400, "message": "done", "details": [info] } }),
                )
            }
            "GET http://agent.test/rest/tasks?pageSize=3" => json_reply(
                &json!({ "tasks": [task("COMPLETED")], "nextPageToken": "", "pageSize": 3, "totalSize": 1 }),
            ),
            _ => not_found(),
        }
    });
    let sent = world.ask(AT, Order::text("hi")).await.unwrap();
    assert_eq!(text(&sent), "a spring");
    let agent = world.peers.agent(AT).await.unwrap();
    let query = a2a::model::ListQuery { page_size: Some(3), ..Default::default() };
    assert_eq!(agent.tasks(query).await.unwrap().tasks.len(), 1);
    let refused = agent.cancel(&"t1".parse().unwrap()).await.unwrap_err();
    assert!(
        matches!(refused, PeerError::Refused { kind: ErrorKind::TaskNotCancelable, .. }),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_off_is_gone_on_with_by_asking() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            return json_reply(&card_of_1_0("JSONRPC", AT));
        }
        if heard.body["method"] == "GetTask" {
            return result(heard, &task("COMPLETED"));
        }
        let begun = events(heard, &[json!({ "task": task("WORKING") })]);
        let broken = stream::iter([Err(OutsideError::Lost("gone".to_owned()))]);
        Reply { body: begun.body.chain(broken).boxed(), ..begun }
    });
    let sent = world.ask(AT, Order::text("hi")).await.unwrap();
    assert_eq!(state(&sent), TaskState::Completed);
}

#[tokio::test]
async fn an_agent_that_asks_back_is_answered_in_the_same_task() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            let mut card = card_of_1_0("JSONRPC", AT);
            card["capabilities"] = json!({});
            return json_reply(&card);
        }
        let is_answer = heard.body["params"]["message"]["taskId"] == "t1";
        let state = if is_answer { "COMPLETED" } else { "INPUT_REQUIRED" };
        result(heard, &json!({ "task": task(state) }))
    });
    let sent = world.ask(AT, Order::text("hi")).await.unwrap();
    assert_eq!(state(&sent), TaskState::InputRequired);
    let answer = Order { task: Some("t1".parse().unwrap()), ..Order::text("blue") };
    assert_eq!(state(&world.ask(AT, answer).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_end_is_left_and_told_to_stop() {
    let never: fn(&Heard) -> Reply = |heard| {
        let begun = events(heard, &[json!({ "task": task("WORKING") })]);
        Reply { body: begun.body.chain(stream::pending()).boxed(), ..begun }
    };
    let chatty: fn(&Heard) -> Reply = |heard| {
        let begun = events(heard, &[json!({ "task": task("WORKING") })]);
        let more = stream::repeat_with(|| Ok(b": still here\n\n".to_vec())).then(async |chunk| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            chunk
        });
        Reply { body: begun.body.chain(more).boxed(), ..begun }
    };
    let polled: fn(&Heard) -> Reply = |heard| match heard.body["method"].as_str() {
        Some("GetTask") => result(heard, &task("WORKING")),
        _ => result(heard, &json!({ "task": task("WORKING") })),
    };
    for (name, script) in [("silent", never), ("chatty", chatty), ("polled", polled)] {
        let world = World::new(rules(), move |heard| {
            if is_card(heard) {
                return json_reply(&card_of_1_0("JSONRPC", AT));
            }
            if heard.body["method"] == "CancelTask" {
                return result(heard, &task("CANCELED"));
            }
            script(heard)
        });
        let outcome = world.ask(AT, Order::text("hi")).await;
        assert_eq!(outcome, Err(PeerError::TimedOut), "{name}");
        assert!(world.tasks.stop(Duration::from_secs(5)).await);
        assert_eq!(world.last().body["method"], "CancelTask", "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_or_makes_no_sense_is_an_error() {
    let flood: fn(&Heard) -> Reply = |_| Reply {
        trailers: Trailers::default(),
        status: 200,
        headers: vec![("content-type", "text/event-stream".to_owned())],
        body: stream::repeat_with(|| Ok(vec![b'x'; 1 << 20])).boxed(),
    };
    let large: fn(&Heard) -> Reply = |_| Reply {
        trailers: Trailers::default(),
        status: 200,
        headers: vec![("content-type", "application/json".to_owned())],
        body: stream::repeat_with(|| Ok(vec![b' '; 1 << 20])).boxed(),
    };
    let many: fn(&Heard) -> Reply = |heard| {
        let one = format!(
            "data: {}\n\n",
            json!({ "jsonrpc": "2.0", "id": heard.body["id"], "result": { "task": task("WORKING") } })
        );
        let chunk = one.repeat(100).into_bytes();
        Reply {
            trailers: Trailers::default(),
            status: 200,
            headers: vec![("content-type", "text/event-stream".to_owned())],
            body: stream::repeat_with(move || Ok(chunk.clone())).boxed(),
        }
    };
    let nonsense: fn(&Heard) -> Reply = |heard| result(heard, &json!({ "neither": 1 }));
    let other: fn(&Heard) -> Reply = |_| {
        json_reply(&json!({ "jsonrpc": "2.0", "id": "x", "result": { "task": task("COMPLETED") } }))
    };
    let html: fn(&Heard) -> Reply = |_| Reply { body: bytes("<html>"), ..json_reply(&json!({})) };
    for (name, script) in [
        ("flood", flood),
        ("large", large),
        ("many", many),
        ("nonsense", nonsense),
        ("other", other),
        ("html", html),
    ] {
        let world = World::new(rules(), move |heard| {
            if is_card(heard) { json_reply(&card_of_1_0("JSONRPC", AT)) } else { script(heard) }
        });
        let refused = world.ask(AT, Order::text("hi")).await.unwrap_err();
        assert!(
            matches!(refused, PeerError::Refused { kind: ErrorKind::InvalidAgentResponse, .. }),
            "{name}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn agents_that_ask_each_other_in_a_circle_come_to_an_end() {
    // Each agent asks the next with what it was told, as Saem does: the second world is the first one's agent.
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            let mut card = card_of_1_0("JSONRPC", AT);
            card["capabilities"] = json!({});
            return json_reply(&card);
        }
        result(heard, &json!({ "task": task("COMPLETED") }))
    });
    let mut hops = 0;
    let refused = loop {
        match world.ask(AT, Order { hops, ..Order::text("you first") }).await {
            Ok(_) => {
                let heard = world.last();
                let call = &heard.body["params"]["message"]["metadata"]["saem-hops"];
                hops = u32::try_from(call.as_u64().unwrap()).unwrap();
            }
            Err(error) => break error,
        }
    };
    assert_eq!(refused, PeerError::Circle { hops: 4, hops_max: 4 });
    assert_eq!(world.lines().iter().filter(|line| line.starts_with("POST")).count(), 4);
}

#[tokio::test]
async fn who_does_not_wait_gets_the_task_as_it_begins() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            json_reply(&card_of_1_0("JSONRPC", AT))
        } else {
            result(heard, &json!({ "task": task("SUBMITTED") }))
        }
    });
    let order = Order { returns: Returns::Immediately, ..Order::text("hi") };
    assert_eq!(state(&world.ask(AT, order).await.unwrap()), TaskState::Submitted);
    let last = world.last();
    assert_eq!(last.body["method"], "SendMessage");
    assert_eq!(last.body["params"]["configuration"]["returnImmediately"], true);
}
