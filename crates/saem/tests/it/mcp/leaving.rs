//! A turn stops when whoever asked leaves, or takes the call back.

use serde_json::json;
use testkit::fault_server::{Fault, FaultServer};

use super::Caller;
use crate::chat::{QUESTION, borrowed, model_settings, small};
use crate::world::PATIENCE;

/// A verdict that cannot be read, twice, and an answer that never goes on: then the turn stands in its model.
const UNTIL_ANSWERING: usize = 3;

async fn stalling() -> FaultServer {
    FaultServer::start([Fault::WrongSchema, Fault::WrongSchema, Fault::Stall]).await
}

#[tokio::test]
async fn closing_the_stream_of_a_call_ends_the_call_of_the_model() {
    let world = small();
    let model = stalling().await;
    let served = world.serve_with(&borrowed(&model_settings(&model.base_url))).await;
    let call = json!({ "name": "ask", "arguments": { "question": QUESTION } });
    let asking = Caller::of(&served, None).asking(1, "tools/call", call).send();
    tokio::select! {
        answer = asking => panic!("there is no answer: {answer:?}"),
        () = model.saw_requests(UNTIL_ANSWERING) => {}
    }
    tokio::time::timeout(PATIENCE, model.saw_closed(1)).await.expect("the model is left alone");
}

#[tokio::test]
async fn a_call_that_is_taken_back_in_a_session_ends_the_call_of_the_model() {
    let world = small();
    let model = stalling().await;
    let served = world.serve_with(&borrowed(&model_settings(&model.base_url))).await;
    let session = Caller::of(&served, None).hello().await;
    let call = json!({ "name": "ask", "arguments": { "question": QUESTION } });
    let cancelling = async {
        model.saw_requests(UNTIL_ANSWERING).await;
        let params = json!({ "requestId": 1, "reason": "enough" });
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(session.say(&cancelled).await.status, 202);
        model.saw_closed(1).await;
    };
    let ended = async {
        tokio::select! {
            heard = session.say_method("tools/call", call) => {
                assert!(heard.messages.iter().all(|message| message["result"].is_null()));
                model.saw_closed(1).await;
            }
            () = cancelling => {}
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.expect("the model is left alone");
}
