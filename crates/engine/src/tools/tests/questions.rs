//! What a server asks back reaches the caller's person, and nobody else.

use std::pin::pin;

use super::*;
use crate::tools::handler::{Asked, Shared};
use agent::tools::question::Reply;
use futures_util::poll;
use rmcp::model::{ProgressToken, RequestId};
use rmcp::service::InboundStreamOrigin;
use serde_json::Map;
use testkit::tool_server::result;

fn form() -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}})
}

/// A server whose tool needs to know a name before it answers.
async fn curious(input: Value) -> ToolServer {
    ToolServer::start(move |request| {
        modern(request, |method| match method {
            "tools/list" => tools(request, &[reads("greet")]),
            "tools/call" if request["params"]["inputResponses"].is_null() => result(
                request,
                &json!({"resultType": "input_required", "requestState": "opaque",
                    "inputRequests": {"who": input}}),
            ),
            "tools/call" => {
                assert_eq!(request["params"]["requestState"], "opaque");
                said(request, &request["params"]["inputResponses"]["who"].to_string())
            }
            _ => Answer::Silence,
        })
    })
    .await
}

fn filled(values: &Value) -> Reply {
    Reply::Filled(values.as_object().cloned().unwrap_or_else(Map::new))
}

#[tokio::test]
async fn a_form_is_filled_in_by_the_caller() {
    let fake = curious(form()).await;
    let world = world(vec![at("new", &fake)]);
    world.will_say([filled(&json!({"name": "미나"}))]);
    let output = world.call("new__greet", json!({})).await.unwrap();
    assert!(output.text.contains("미나") && output.text.contains("accept"), "{}", output.text);
}

#[tokio::test]
async fn a_form_that_is_refused_or_filled_in_wrongly_gives_nothing_away() {
    let fake = curious(form()).await;
    let world = world(vec![at("new", &fake)]);
    for (reply, action) in [
        (Reply::No, "decline"),
        (Reply::Yes(Extent::Always), "decline"),
        (filled(&json!({"other": "x"})), "cancel"),
        (filled(&json!({"name": 3})), "cancel"),
    ] {
        world.will_say([reply]);
        let output = world.call("new__greet", json!({})).await.unwrap();
        assert!(output.text.contains(action), "{}", output.text);
        assert!(!output.text.contains("content"), "{}", output.text);
    }
}

#[tokio::test]
async fn a_form_that_asks_for_a_secret_is_not_shown_to_anybody() {
    let mut asks = form();
    asks["params"]["requestedSchema"] = json!({"type": "object",
        "properties": {"password": {"type": "string"}}, "required": ["password"]});
    let fake = curious(asks).await;
    let world = world(vec![at("new", &fake)]);
    world.will_say([filled(&json!({"password": "hush"}))]);
    let output = world.call("new__greet", json!({})).await.unwrap();
    assert!(output.text.contains("decline") && !output.text.contains("hush"), "{}", output.text);
    assert_eq!(world.asked(), 0);
}

#[tokio::test]
async fn an_address_is_shown_with_its_host_and_a_strange_one_is_not_shown_at_all() {
    let link = |url: &str| {
        json!({"method": "elicitation/create", "params": {"mode": "url", "message": "Log in",
            "url": url, "elicitationId": "1"}})
    };
    let fake = curious(link("https://login.example.com/a?b=c")).await;
    let world_of = world(vec![at("new", &fake)]);
    world_of.will_say([Reply::Yes(Extent::Once)]);
    let output = world_of.call("new__greet", json!({})).await.unwrap();
    assert!(output.text.contains("accept"), "{}", output.text);
    let asked = world_of.person.asked.lock().unwrap().clone();
    let [Question::Link { host, has_foreign_letters, .. }] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!((host.as_str(), *has_foreign_letters), ("login.example.com", false));
    // A Cyrillic letter in the name: it is shown as it is looked up, with a warning.
    let fake = curious(link("https://login.ex\u{430}mple.com/")).await;
    let world_of = world(vec![at("new", &fake)]);
    world_of.call("new__greet", json!({})).await.unwrap();
    let asked = world_of.person.asked.lock().unwrap().clone();
    let [Question::Link { host, has_foreign_letters, .. }] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!((host.as_str(), *has_foreign_letters), ("login.xn--exmple-4nf.com", true));
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://example.com",
        "https://a:b@example.com",
    ] {
        let fake = curious(link(url)).await;
        let world = world(vec![at("new", &fake)]);
        world.will_say([Reply::Yes(Extent::Once)]);
        let output = world.call("new__greet", json!({})).await.unwrap();
        assert!(output.text.contains("decline"), "{url} {}", output.text);
        assert_eq!(world.asked(), 0, "{url}");
    }
}

#[tokio::test]
async fn our_model_is_not_lent_without_one_being_offered() {
    let input = json!({"method": "sampling/createMessage", "params": {"maxTokens": 10,
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}});
    let fake = curious(input).await;
    let world = world(vec![at("new", &fake)]);
    world.will_say([Reply::Yes(Extent::Once)]);
    let error = world.call("new__greet", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("not supported"), "{error}");
    assert_eq!(world.asked(), 0);
    let declared = &fake.messages("tools/call")[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(declared["sampling"].is_null() && declared["elicitation"].is_object(), "{declared}");
}

#[tokio::test]
async fn questions_lie_on_the_desk_for_their_own_person_alone() {
    let fake = honest(vec![silent("write")]).await;
    let world = world(vec![at("files", &fake)]);
    let clock = Arc::new(HandClock::at(5));
    let desk = Desk::new(clock, Duration::from_secs(60));
    let tenant = TenantId::local();
    let mut caller = world.caller();
    caller.person = desk.person(tenant.clone(), "owner".to_owned(), Some("s1".to_owned()));
    let tool = "files__write".parse().unwrap();
    let answer = async {
        let question = loop {
            if let Some(question) = desk.open(&tenant, "owner").pop() {
                break question;
            }
            tokio::task::yield_now().await;
        };
        assert!(desk.open(&tenant, "key:other").is_empty());
        assert!(desk.open(&"other".parse().unwrap(), "owner").is_empty());
        let yes = || Reply::Yes(Extent::Once);
        assert!(desk.answer(&tenant, "key:other", question.id, yes()).is_err());
        desk.answer(&tenant, "owner", question.id, yes()).unwrap();
        assert!(desk.answer(&tenant, "owner", question.id, yes()).is_err());
    };
    let (called, ()) = tokio::join!(world.host.call(&caller, &tool, json!({}), None), answer);
    assert_eq!(called.unwrap().text, "called write");
    assert!(desk.open(&tenant, "owner").is_empty());
}

#[tokio::test]
async fn a_question_that_comes_before_its_request_is_known_waits_for_it() {
    let server: ServerId = "new".parse().unwrap();
    let shared = Arc::new(Shared::new(server, Vec::new(), None));
    let asked = Asked { person: Arc::new(Scripted::default()), session: Some("own".to_owned()) };
    let origin = |number| InboundStreamOrigin::OutboundRequest(RequestId::Number(number));
    let token = || ProgressToken(RequestId::Number(1));
    let (first, second, third) = (origin(1), origin(2), origin(3));
    let mut stay = shared.enter("one", &asked);
    stay.sending();
    let mut early = pin!(shared.asked(Some(&first)));
    assert!(poll!(&mut early).is_pending());
    stay.sent(RequestId::Number(1), token(), None);
    assert_eq!(early.await.unwrap().session.as_deref(), Some("own"));
    assert!(shared.asked(Some(&second)).await.is_none(), "no call is about to be sent");
    // The call is asked back and sent again.
    stay.sending();
    let mut early = pin!(shared.asked(Some(&second)));
    let mut never = pin!(shared.asked(Some(&third)));
    assert!(poll!(&mut early).is_pending() && poll!(&mut never).is_pending());
    stay.sent(RequestId::Number(2), token(), None);
    assert!(early.await.is_some());
    stay.sending();
    assert!(poll!(&mut never).is_pending());
    drop(stay);
    assert!(never.await.is_none(), "nobody's call is left");
}
