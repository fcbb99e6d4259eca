//! Agents that offer gRPC alone: spoken to as gRPC has it, and what each of its ends means.

use a2a::error::ErrorKind;
use a2a::grpc::{Deframer, Method, Status, frame};
use a2a::model::{Event, Sent, TaskState};
use a2a::wire::{Form, read_event};

use super::*;

const GRPC_AT: &str = "http://agent.test:50051";

fn card(url: &str) -> Reply {
    json_reply(&card_of_1_0("GRPC", url))
}

/// The method that was called; what was sent has to be a message of it.
fn called(heard: &Heard) -> Method {
    let path = heard.line.strip_prefix(&format!("POST {GRPC_AT}")).unwrap();
    let method = Method::at_path(path, heard.header("a2a-version")).unwrap();
    let mut frames = Deframer::new(10_000);
    frames.push(&heard.bytes);
    let message = frames.next_message().unwrap().unwrap();
    method.read_call(&message, &"fresh".parse().unwrap()).unwrap();
    method
}

fn event(value: &Value) -> Event {
    read_event(Form::V1_0, value).unwrap()
}

/// Messages in pieces of three bytes, and the status after them.
fn told(messages: &[Vec<u8>], status: Option<&Status>) -> Reply {
    let framed: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
    let pieces: Vec<_> = framed.chunks(3).map(|piece| Ok(piece.to_vec())).collect();
    let trailers = Trailers::default();
    if let Some(status) = status {
        trailers
            .set(
                written(status)
                    .into_iter()
                    .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                    .collect(),
            )
            .unwrap();
    }
    Reply {
        status: 200,
        headers: vec![("content-type", "application/grpc".to_owned())],
        body: stream::iter(pieces).boxed(),
        trailers,
    }
}

fn written(status: &Status) -> Vec<(&'static str, String)> {
    vec![("grpc-status", status.code.to_string()), ("grpc-message", status.message.clone())]
}

#[tokio::test]
async fn an_agent_that_offers_grpc_alone_is_asked_over_it() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            // As gRPC names a place: as safe as the way to the card.
            return card("agent.test:50051");
        }
        let method = called(heard);
        let done = json!({ "statusUpdate": { "taskId": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" } } });
        let events = [json!({ "task": task("WORKING") }), done];
        let messages = events.map(|value| method.write_event(&event(&value)).unwrap());
        told(&messages, Some(&Status::new(0, "")))
    });
    let sent = world.ask(AT, Order { hops: 1, ..Order::text("샘") }).await.unwrap();
    let Sent::Task(task) = sent else { panic!("{sent:?}") };
    assert_eq!(task.status.state, TaskState::Completed);
    let last = world.last();
    assert_eq!(last.line, format!("POST {GRPC_AT}/lf.a2a.v1.A2AService/SendStreamingMessage"));
    assert_eq!((last.header("te"), last.header("saem-hops")), (Some("trailers"), Some("2")));
    assert_eq!(last.header("content-type"), Some("application/grpc"));
    assert_eq!(last.reach, Reach::Stranger, "only its card says that it is there");
}

#[tokio::test]
async fn json_is_preferred_where_both_are_offered() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            let mut card = card_of_1_0("GRPC", GRPC_AT);
            let rpc = json!({ "url": AT, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" });
            card["supportedInterfaces"].as_array_mut().unwrap().push(rpc);
            return json_reply(&card);
        }
        events(heard, &[json!({ "task": task("COMPLETED") })])
    });
    world.ask(AT, Order::text("hi")).await.unwrap();
    assert_eq!(world.last().body["method"], "SendStreamingMessage");
}

#[tokio::test]
async fn every_end_of_a_call_means_what_grpc_says() {
    type Is = fn(&PeerError) -> bool;
    let cases: [(fn() -> Reply, Is); 9] = [
        (
            || told(&[], Some(&Status::new(16, "who?"))),
            |error| matches!(error, PeerError::Closed(_)),
        ),
        (
            || told(&[], Some(&Status::new(14, "busy"))),
            |error| matches!(error, PeerError::Down(why) if why == "busy"),
        ),
        (|| told(&[], Some(&Status::new(4, "late"))), |error| matches!(error, PeerError::TimedOut)),
        (
            || told(&[], Some(&Status::new(5, "없음"))),
            |error| matches!(error, PeerError::Refused { kind: ErrorKind::TaskNotFound, words } if words == "없음"),
        ),
        (|| told(&[], None), |error| matches!(error, PeerError::Lost(_))),
        (
            || Reply { headers: written(&Status::new(7, "no")), ..told(&[], None) },
            |error| matches!(error, PeerError::Closed(_)),
        ),
        (|| Reply { status: 503, ..told(&[], None) }, |error| matches!(error, PeerError::Down(_))),
        (
            || told(&[], Some(&Status::new(0, ""))),
            |error| matches!(error, PeerError::Refused { .. }),
        ),
        (
            || Reply {
                body: stream::iter([Ok(vec![0, 0xff, 0, 0, 0])]).boxed(),
                ..told(&[], None)
            },
            |error| matches!(error, PeerError::Refused { words, .. } if words.contains("longer than")),
        ),
    ];
    for (number, (reply, is_right)) in cases.into_iter().enumerate() {
        let world =
            World::new(rules(), move |heard| if is_card(heard) { card(GRPC_AT) } else { reply() });
        let agent = world.peers.agent(AT).await.unwrap();
        let error = agent.task(&"t1".parse().unwrap()).await.unwrap_err();
        assert!(is_right(&error), "case {number}: {error:?}");
    }
}

#[tokio::test]
async fn an_answer_counts_only_with_a_good_end() {
    let world = World::new(rules(), |heard| {
        if is_card(heard) {
            return card(GRPC_AT);
        }
        let method = called(heard);
        let Event::Task(task) = event(&json!({ "task": task("COMPLETED") })) else { panic!() };
        let message = method.write_answer(&a2a::model::Answer::Task(task)).unwrap();
        let code = if heard.line.ends_with("GetTask") { 0 } else { 13 };
        told(&[message], Some(&Status::new(code, "")))
    });
    let agent = world.peers.agent(AT).await.unwrap();
    let task = agent.task(&"t1".parse().unwrap()).await.unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    let failed = agent.cancel(&task.id).await.unwrap_err();
    assert!(matches!(failed, PeerError::Refused { kind: ErrorKind::Internal, .. }), "{failed:?}");
}
