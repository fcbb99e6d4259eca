//! Research by the other ways in: MCP, A2A and AG-UI, each asking about the plan as its protocol asks.

use serde_json::{Value, json};

use crate::mcp::{Caller, in_stream};
use crate::research::{QUESTION, library};
use crate::tenants::key;
use crate::world::{PATIENCE, Served};

#[tokio::test(flavor = "multi_thread")]
async fn the_tool_of_mcp_gives_a_report_and_asks_about_the_plan_where_the_client_can() {
    let world = library();
    let served = world.serve().await;
    let caller = Caller::of(&served, None);
    let wanted = json!({ "question": QUESTION });
    let done = caller.call("research", wanted.clone()).await;
    let report = &done["structuredContent"];
    assert_eq!((&report["ended"], &report["unsupported"]), (&json!("enough"), &json!(0)), "{done}");
    assert!(done["content"][0]["text"].as_str().unwrap().contains("## Sources"), "{done}");
    let able = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let call = json!({ "name": "research", "arguments": wanted, "_meta": able });
    let asked = caller.ask("tools/call", call.clone()).await.result().clone();
    let form = &asked["inputRequests"]["plan"]["params"];
    assert!(form["message"].as_str().unwrap().contains("1. "), "{asked}");
    let answer = json!({ "action": "accept", "content": { "decision": "approve", "steps": "1" } });
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({ "plan": answer });
    let done = caller.ask("tools/call", again).await.result().clone();
    assert!(done["structuredContent"]["report"].is_string(), "{done}");
    let (_, runs) = served.get("/api/research").await;
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2, "the second call went on with its run");
    let bad = caller.call("research", json!({ "question": "x", "sources": ["bing"] })).await;
    assert_eq!(bad["isError"], true, "{bad}");
    let run = &done["structuredContent"]["run"];
    let further = json!({ "question": "Who gets the mail of budget alerts?", "follows": run });
    let further = caller.call("research", further).await;
    let (_, view) = served
        .get(&format!("/api/research/{}", further["structuredContent"]["run"].as_str().unwrap()))
        .await;
    assert_eq!(&view["follows"], run, "{view}");
    let unknown = json!({ "question": "x", "follows": "550e8400-e29b-41d4-a716-446655440001" });
    let unknown = caller.call("research", unknown).await;
    assert_eq!(unknown["isError"], true, "{unknown}");
}

/// Sends a message to the agent; gives its task.
async fn send(served: &Served, id: &str, text: &str, task: Option<&Value>) -> Value {
    send_in(served, id, text, task.map(|task| ("taskId", task))).await
}

/// The same, with a task or a context that it belongs to.
async fn send_in(served: &Served, id: &str, text: &str, to: Option<(&str, &Value)>) -> Value {
    let mut message = json!({
        "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }], "metadata": { "skill": "research" },
    });
    if let Some((name, of)) = to {
        message[name] = of.clone();
    }
    let params = json!({ "message": message });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
    let request = served.client.post(served.url("/a2a")).header("A2A-Version", "1.0");
    let answer: Value = request.json(&body).send().await.unwrap().json().await.unwrap();
    answer["result"]["task"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_skill_of_a2a_waits_for_a_word_about_the_plan_and_gives_the_report_in_pieces() {
    let world = library();
    let served = world.serve().await;
    let task = send(&served, "m1", QUESTION, None).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    let asked = &task["status"]["message"]["parts"];
    assert!(asked[0]["text"].as_str().unwrap().contains("1. "), "{asked}");
    assert!(asked[1]["data"]["plan"]["search_steps"].is_array(), "{asked}");
    let done = send(&served, "m2", "yes", Some(&task["id"])).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED", "{done}");
    let parts = done["artifacts"][0]["parts"].as_array().unwrap();
    let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    assert!(text.starts_with("# ") && text.contains("## Sources"), "{text}");
    assert_eq!(parts.last().unwrap()["data"]["report"]["question"], QUESTION);
    let (_, runs) = served.get("/api/research").await;
    let first = &runs["runs"][0];
    let further = Some(("contextId", &done["contextId"]));
    let task = send_in(&served, "m5", "Who gets the mail of budget alerts?", further).await;
    let stands_on = &task["status"]["message"]["parts"][1]["data"]["plan"]["stands_on"];
    assert_eq!(stands_on["run"], first["id"], "the same context goes on from its report: {task}");
    let refused = send(&served, "m3", QUESTION, None).await;
    let refused = send(&served, "m4", "no", Some(&refused["id"])).await;
    assert_eq!(refused["status"]["state"], "TASK_STATE_REJECTED", "{refused}");
}

async fn run(served: &Served, body: &Value) -> Vec<Value> {
    let response = served.client.post(served.url("/ag-ui")).json(body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    in_stream(&response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn ag_ui_interrupts_for_the_plan_and_goes_on_with_the_answer() {
    let world = library();
    let served = world.serve().await;
    let user = json!([{ "id": "1", "role": "user", "content": QUESTION }]);
    let first =
        json!({ "threadId": "t", "runId": "r1", "messages": user, "tools": [], "context": [] });
    let events = run(&served, &first).await;
    let kinds = |events: &[Value]| -> Vec<String> {
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&events)[..2], ["RUN_STARTED", "STATE_SNAPSHOT"]);
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{events:#?}");
    let interrupt = &outcome["interrupts"][0];
    assert_eq!(interrupt["id"], events[1]["snapshot"]["researchId"]);
    let steps = &interrupt["metadata"]["plan"]["search_steps"];
    assert!(steps.as_array().unwrap().len() > 1, "{interrupt}");
    let payload = json!({ "decision": "edit", "steps": [steps[0]] });
    let resume =
        json!([{ "interruptId": interrupt["id"], "status": "resolved", "payload": payload }]);
    let second = json!({ "threadId": "t", "runId": "r2", "messages": user, "resume": resume });
    let events = run(&served, &second).await;
    let names = kinds(&events);
    let count = |name: &str| names.iter().filter(|kind| *kind == name).count();
    assert_eq!(count("SUBAGENT_STARTED"), count("SUBAGENT_FINISHED"), "{names:?}");
    assert!(count("SUBAGENT_STARTED") >= 3 && count("ACTIVITY_SNAPSHOT") > 3, "{names:?}");
    let text = events.iter().find(|event| event["type"] == "TEXT_MESSAGE_CONTENT").unwrap();
    assert!(text["delta"].as_str().unwrap().contains("## Sources"));
    let last = events.last().unwrap();
    assert_eq!((&last["runId"], &last["outcome"]["type"]), (&json!("r2"), &json!("success")));
    let user = json!([{ "id": "2", "role": "user", "content": "Who gets the mail?" }]);
    let further = json!({ "threadId": "t", "runId": "r3", "messages": user });
    let events = run(&served, &further).await;
    let plan = &events.last().unwrap()["outcome"]["interrupts"][0]["metadata"]["plan"];
    assert_eq!(plan["stands_on"]["run"], interrupt["id"], "the thread goes on: {plan}");
    let other = json!({ "threadId": "other", "runId": "r4", "messages": user });
    let events = run(&served, &other).await;
    let plan = &events.last().unwrap()["outcome"]["interrupts"][0]["metadata"]["plan"];
    assert_eq!(plan["stands_on"], Value::Null, "another thread does not: {plan}");
    let bad = json!({ "threadId": "t", "runId": "r", "messages": [] });
    assert_eq!(served.post("/ag-ui", &bad).await.0, 400);
}

/// What a client can that follows tasks; with a person to ask, or without.
fn able(has_person: bool) -> Value {
    let mut can = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    if has_person {
        can["elicitation"] = json!({});
    }
    json!({ "io.modelcontextprotocol/clientCapabilities": can })
}

async fn task(caller: &Caller, method: &str, id: &Value, more: &Value) -> Value {
    let mut params = json!({ "taskId": id, "_meta": able(false) });
    if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
        params.extend(more.clone());
    }
    caller.ask(method, params).await.answer().clone()
}

/// Asks after a task until it is in this state.
async fn until(caller: &Caller, id: &Value, state: &str) -> Value {
    let asking = async {
        loop {
            let now = task(caller, "tasks/get", id, &json!({})).await["result"].clone();
            if now["status"] == state {
                return now;
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("it is not {state}"))
}

async fn begin(caller: &Caller, has_person: bool) -> Value {
    let arguments = json!({ "question": QUESTION });
    let call = json!({ "name": "research", "arguments": arguments, "_meta": able(has_person) });
    let begun = caller.ask("tools/call", call).await.result().clone();
    assert_eq!((&begun["resultType"], &begun["status"]), (&json!("task"), &json!("working")));
    begun["taskId"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tool_of_mcp_is_a_task_for_a_client_that_follows_tasks() {
    let world = library();
    let served = world.serve().await;
    let caller = Caller::of(&served, None);
    let id = begin(&caller, false).await;
    let done = until(&caller, &id, "completed").await;
    let report = &done["result"]["structuredContent"];
    assert_eq!((&report["run"], &report["unsupported"]), (&id, &json!(0)), "{done}");
    assert_eq!(done["ttlMs"], Value::Null, "it is there as long as its run: {done}");
    let asking = begin(&caller, true).await;
    let asked = until(&caller, &asking, "input_required").await;
    let form = &asked["inputRequests"]["plan"]["params"];
    assert!(form["message"].as_str().unwrap().contains("1. "), "{asked}");
    let yes = json!({ "action": "accept", "content": { "decision": "approve" } });
    let answers = json!({ "inputResponses": { "plan": yes, "other": 1 } });
    let taken = task(&caller, "tasks/update", &asking, &answers).await;
    assert_eq!(taken["result"]["resultType"], "complete", "{taken}");
    until(&caller, &asking, "completed").await;
    // A task that has ended stays as it is.
    let late = task(&caller, "tasks/cancel", &asking, &json!({})).await;
    assert_eq!(late["result"]["resultType"], "complete", "{late}");
    until(&caller, &asking, "completed").await;
    let unknown = json!("550e8400-e29b-41d4-a716-446655440001");
    for id in [unknown, json!("no uuid")] {
        let answer = task(&caller, "tasks/get", &id, &json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let plain = json!({ "taskId": id });
    let answer = caller.ask("tasks/get", plain).await.answer().clone();
    assert_eq!(answer["error"]["code"], -32021, "a client that knows no tasks: {answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_its_callers_alone_survives_the_server_and_stops_its_run_when_cancelled() {
    let world = library();
    let (mine, theirs) = (key(&world, "one", "admin"), key(&world, "one", "admin"));
    let served = world.serve().await;
    let (caller, stranger) = (Caller::of(&served, Some(&mine)), Caller::of(&served, Some(&theirs)));
    let id = begin(&caller, true).await;
    until(&caller, &id, "input_required").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answers = json!({ "inputResponses": {} });
        let more = if method == "tasks/update" { answers } else { json!({}) };
        let answer = task(&stranger, method, &id, &more).await;
        let absent = task(&stranger, method, &json!("x"), &more).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["error"], absent["error"]);
    }
    served.kill().await;
    let served = world.serve().await;
    let caller = Caller::of(&served, Some(&mine));
    until(&caller, &id, "input_required").await;
    task(&caller, "tasks/cancel", &id, &json!({})).await;
    until(&caller, &id, "cancelled").await;
    let path = format!("/api/research/{}", id.as_str().unwrap());
    let run = served.client.get(served.url(&path)).bearer_auth(&mine).send().await.unwrap();
    assert_eq!(run.json::<Value>().await.unwrap()["ended"], "stopped");
}
