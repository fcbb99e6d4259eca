//! The rest of the protocol: progress, changes, roots, and what servers of the old era ask back.

use super::*;
use agent::ledger::{Component, Day};
use agent::ports::Ledger as _;
use agent::price::PriceList;
use testkit::scripted_model::ScriptedModel;
use testkit::sessions::MemorySessions;
use testkit::tool_server::result;

/// A server of the old era whose tool asks the client this before it answers; it answers with the reply.
async fn asking(request: Value) -> ToolServer {
    ToolServer::start(move |message| {
        legacy(message, |method| match method {
            "tools/list" => tools(message, &[reads("ask")]),
            "tools/call" => Answer::Ask { request: request.clone(), then: message["id"].clone() },
            // A reply of the client.
            "" => Answer::Accepted,
            _ => Answer::Hangup,
        })
    })
    .await
}

fn sampling() -> Value {
    json!({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {"maxTokens": 20,
        "systemPrompt": "Be short.", "messages": [{"role": "user", "content": {"type": "text", "text": "Hi\u{200b}?"}}]}})
}

#[tokio::test]
async fn a_form_of_the_old_era_reaches_the_person_whose_call_is_running() {
    let fake = asking(json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {
        "message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}))
    .await;
    let world = world(vec![at("old", &fake)]);
    let values = json!({"name": "미나"}).as_object().unwrap().clone();
    world.will_say([Reply::Filled(values)]);
    let output = world.call("old__ask", json!({})).await.unwrap();
    assert!(output.text.contains("미나") && output.text.contains("accept"), "{}", output.text);
}

#[tokio::test]
async fn our_model_answers_a_server_after_a_yes_and_only_as_much_as_is_left() {
    let model = ScriptedModel::new("ours").says("Hello.").says("Hi.").says("Yes?").says("Again?");
    let fake = asking(sampling()).await;
    let ledger = Arc::new(MemorySessions::default());
    let lending = Lending {
        model: Arc::new(model.clone()),
        ledger: Arc::clone(&ledger) as _,
        prices: PriceList::default(),
    };
    let world = world_with(vec![at("old", &fake)], Some(lending));
    let refused = world.call("old__ask", json!({})).await.unwrap();
    assert!(refused.text.contains("refused"), "{}", refused.text);
    assert_eq!(model.requests().len(), 0);
    // A hundred tokens are left: enough for this question, but not for its fifth repetition.
    let mut texts = Vec::new();
    for _ in 0..5 {
        world.will_say([Reply::Yes(Extent::Once)]);
        texts.push(world.call("old__ask", json!({})).await.unwrap().text);
    }
    assert!(texts[0].contains("Hello."), "{texts:?}");
    assert!(texts[4].contains("budget"), "{texts:?}");
    assert_eq!(model.requests().len(), 4);
    let booked = ledger.booked(&TenantId::local(), Day(0), Day(u32::MAX)).await.unwrap();
    let [booking] = booked.as_slice() else { panic!("{booked:?}") };
    assert_eq!(
        (booking.account.component, booking.account.session.as_str()),
        (Component::Tools, "s1")
    );
    assert_eq!(booking.spent.calls, 4);
    let asked = world.person.asked.lock().unwrap();
    let Question::Sample { prompt, tokens_max, .. } = &asked[0] else { panic!("{asked:?}") };
    assert_eq!((prompt.as_str(), *tokens_max), ("[system] Be short.\nHi?", 20));
}

#[tokio::test]
async fn a_server_is_told_the_folders_that_it_may_work_in() {
    let fake = asking(json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"})).await;
    let mut settings = at("old", &fake);
    settings.roots = vec!["/home/mina/docs".into()];
    let world = world(vec![settings]);
    let output = world.call("old__ask", json!({})).await.unwrap();
    assert!(output.text.contains("file:///home/mina/docs"), "{}", output.text);
}

#[tokio::test]
async fn progress_is_passed_on_to_whoever_waits() {
    let fake = ToolServer::start(|request| {
        legacy(request, |method| match method {
            "tools/list" => tools(request, &[reads("work")]),
            "tools/call" => {
                let token = &request["params"]["_meta"]["progressToken"];
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params":
                    {"progressToken": token, "progress": 1, "total": 2, "message": "half\u{1b}[2J"}});
                let own = json!({"jsonrpc": "2.0", "id": request["id"],
                    "result": {"content": [{"type": "text", "text": "done"}]}});
                Answer::Events(vec![progress, own])
            }
            _ => Answer::Hangup,
        })
    })
    .await;
    let world = world(vec![at("slow", &fake)]);
    let (tell, mut heard) = tokio::sync::mpsc::channel(8);
    let tool = "slow__work".parse().unwrap();
    world.host.call(&world.caller(), &tool, json!({}), Some(tell)).await.unwrap();
    let expected = Progress { done: 1.0, total: Some(2.0), message: Some("half[2J".to_owned()) };
    assert_eq!(heard.recv().await, Some(expected));
}

#[tokio::test]
async fn a_server_of_the_new_era_is_listened_to_and_its_changed_list_is_read_again() {
    let is_changed = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = Arc::clone(&is_changed);
    let fake = ToolServer::start(move |request| {
        modern(request, |method| match method {
            "tools/list" if flag.load(std::sync::atomic::Ordering::SeqCst) => {
                tools(request, &[reads("one"), reads("two")])
            }
            "tools/list" => tools(request, &[reads("one")]),
            "subscriptions/listen" => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": request["id"]});
                flag.store(true, std::sync::atomic::Ordering::SeqCst);
                let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}});
                let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                    "params": {"_meta": meta}});
                let open = Answer::Open(vec![acknowledged, changed]);
                // Only once the first list was read is it changed.
                Answer::After("tools/list", Box::new(open))
            }
            _ => Answer::Hangup,
        })
    })
    .await;
    let world = world(vec![at("new", &fake)]);
    while world.names().await.len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(fake.count("subscriptions/listen"), 1);
}

#[tokio::test]
async fn a_header_that_is_none_connects_to_nobody() {
    let fake = honest(vec![reads("x")]).await;
    let mut settings = at("odd", &fake);
    let headers = [("x-key".to_owned(), "a\r\nx-other: b".to_owned())];
    settings.launch = Launch::Address { url: fake.url.clone(), headers: headers.into() };
    let world = world(vec![settings]);
    let ServerState::Down { why } = &world.catalogue().await.servers[0].state else { panic!() };
    assert!(why.contains("not legal") && !why.contains("x-other"), "{why}");
    assert_eq!(fake.count("server/discover"), 0);
}

#[tokio::test]
async fn lists_of_a_server_that_has_no_such_thing_are_its_refusal_and_nothing_else() {
    let fake = ToolServer::start(|request| {
        legacy(request, |_| result(request, &json!({"unexpected": true})))
    })
    .await;
    let world = world(vec![at("odd", &fake)]);
    let docs = ServerId::for_name("odd");
    assert!(world.host.resources(&TenantId::local(), &docs).await.is_err());
    assert!(world.host.prompts(&TenantId::local(), &docs).await.is_err());
    let absent = world.host.prompts(&TenantId::local(), &ServerId::for_name("none")).await;
    assert!(matches!(absent, Err(CallError::Absent(_))));
}
