//! What the server offers: tools, resources, prompts, completions, and what it says when something is wrong.

use serde_json::json;

use super::Caller;
use crate::world::World;

const TEA: &str = "# Tea\n\nBarley tea is drunk cold in summer.\n\n## Brewing\n\nBoil the barley for ten minutes.";

#[tokio::test]
async fn a_document_goes_in_and_comes_out_through_every_tool_and_resource() {
    let world = World::new();
    let served = world.serve().await;
    let caller = Caller::of(&served, None);
    let added = caller.call("ingest_document", json!({ "name": "tea.md", "text": TEA })).await;
    assert_eq!(added["structuredContent"]["state"], "done", "{added}");

    let found = caller.call("search_all", json!({ "query": "how long to boil barley" })).await;
    let best = &found["structuredContent"]["passages"][0];
    assert_eq!(best["text"], "Boil the barley for ten minutes.");
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Tea › Brewing"), "{text}");
    let tagged = json!({ "conditions": ["has_code=false", "language=en"] });
    let tagged = caller.call("search_by_metadata", tagged).await;
    assert_eq!(tagged["structuredContent"]["passages"].as_array().unwrap().len(), 2, "{tagged}");

    let section = best["section"].as_str().unwrap();
    let read = caller.call("get_section", json!({ "section": section, "up": 1 })).await;
    let whole = read["structuredContent"]["text"].as_str().unwrap();
    assert!(whole.contains("summer") && whole.contains("ten minutes"), "{whole}");

    let asked = caller.call("ask", json!({ "question": "how long is barley boiled?" })).await;
    let answer = &asked["structuredContent"];
    assert_eq!(answer["citations"][0]["section"], section, "{asked}");
    let session = answer["session"].as_str().unwrap();
    let more = json!({ "question": "and in summer?", "session": session });
    assert_eq!(caller.call("ask", more).await["structuredContent"]["session"], session);

    let listed = caller.call("list_documents", json!({})).await;
    let id = listed["structuredContent"]["documents"][0]["id"].as_str().unwrap();
    let resources = caller.ask("resources/list", json!({})).await;
    let resource = &resources.result()["resources"][0];
    assert_eq!(resource["uri"], format!("saem://documents/{id}"));
    assert_eq!(resource["mimeType"], "text/markdown");
    let read = caller.ask("resources/read", json!({ "uri": resource["uri"] })).await;
    assert_eq!(read.result()["contents"][0]["text"], TEA);
    assert_eq!(read.result()["cacheScope"], "private");
    let part = format!("saem://documents/{id}/sections/2");
    let read = caller.ask("resources/read", json!({ "uri": part })).await;
    let text = read.result()["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("ten minutes") && !text.contains("summer"), "{text}");

    let template = "saem://documents/{id}/sections/{number}";
    let completing = json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": "number", "value": "" },
        "context": { "arguments": { "id": id } },
    });
    let completed = caller.ask("completion/complete", completing).await;
    assert_eq!(completed.result()["completion"]["values"], json!(["0", "1", "2"]));
}

#[tokio::test]
async fn every_tool_says_what_it_takes_gives_and_does() {
    let world = World::new();
    let served = world.serve().await;
    let listed = Caller::of(&served, None).ask("tools/list", json!({})).await;
    let result = listed.result();
    assert_eq!(result["cacheScope"], "private");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "saem");
    let mut names = Vec::new();
    for tool in result["tools"].as_array().unwrap() {
        names.push(tool["name"].as_str().unwrap());
        for part in ["title", "description", "inputSchema", "outputSchema", "annotations", "icons"]
        {
            assert!(!tool[part].is_null(), "{part} of {tool}");
        }
        let is_open = tool["inputSchema"]["additionalProperties"] != false;
        assert!(!is_open, "a mistyped argument is noticed: {tool}");
    }
    assert_eq!(
        names,
        [
            "search_all",
            "search_by_metadata",
            "get_section",
            "ask",
            "research",
            "list_documents",
            "ingest_document",
            "find_agents",
            "get_agent_card"
        ]
    );
}

#[tokio::test]
async fn agents_of_the_catalogue_are_found_and_their_cards_are_read() {
    let world = World::new();
    let served = world.serve().await;
    let card = json!({
        "name": "Painter", "description": "그림을 그립니다", "version": "1.0.0",
        "supportedInterfaces": [
            { "url": "https://p.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
        ],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["image/png"],
        "skills": [{ "id": "draw", "name": "Draw", "description": "Draws pictures", "tags": ["image"] }],
    });
    let (status, told) = served.post("/registry/agents", &json!({ "card": card })).await;
    assert_eq!(status, 201, "{told}");
    let caller = Caller::of(&served, None);
    let found = caller.call("find_agents", json!({ "query": "그림", "tags": ["image"] })).await;
    let agent = &found["structuredContent"]["agents"][0];
    assert_eq!(
        (&agent["name"], &agent["skills"]),
        (&json!("Painter"), &json!(["Draw"])),
        "{found}"
    );
    let wanted = json!({ "identifier": agent["identifier"] });
    let got = caller.call("get_agent_card", wanted).await;
    let url = &got["structuredContent"]["card"]["supportedInterfaces"][0]["url"];
    assert_eq!(url, "https://p.example.com/a2a", "{got}");
    let none = caller.call("get_agent_card", json!({ "identifier": "urn:air:x.example:y" })).await;
    assert_eq!(none["isError"], true, "{none}");
}

#[tokio::test]
async fn what_a_model_can_mend_is_a_result_and_what_nobody_offers_is_an_error() {
    let world = World::new();
    let served = world.serve().await;
    let caller = Caller::of(&served, None);
    for (tool, arguments, why) in [
        ("search_all", json!({}), "query"),
        ("search_all", json!({ "query": "x", "colour": 1 }), "colour"),
        ("search_all", json!({ "query": "x", "collection": "none" }), "there is no collection"),
        ("get_section", json!({ "section": "x" }), "section id"),
        ("get_section", json!({ "section": format!("{:032}.1", 0) }), "no such"),
        ("search_by_metadata", json!({ "conditions": ["nonsense"] }), "nonsense"),
        ("ask", json!({ "question": "" }), "empty"),
        ("ingest_document", json!({ "name": "x" }), "give text"),
        ("ingest_document", json!({ "url": "http://127.0.0.1:1/" }), "127.0.0.1"),
    ] {
        let result = caller.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(result.to_string().contains(why), "{tool}: {result}");
    }
    let unknown = caller.ask("tools/call", json!({ "name": "none", "arguments": {} })).await;
    assert_eq!(unknown.answer()["error"]["code"], -32602);
    let uri = format!("saem://documents/{:032}", 0);
    let absent = caller.ask("resources/read", json!({ "uri": uri })).await;
    assert_eq!(absent.answer()["error"]["code"], -32602);
    assert_eq!(absent.answer()["error"]["data"]["uri"], uri);
    let strange = caller.ask("tools/list", json!({ "cursor": "x" })).await;
    assert_eq!(strange.answer()["error"]["code"], -32602);
}

#[tokio::test]
async fn prompts_come_from_the_data_folder_and_from_a_configured_one() {
    let world = World::new();
    std::fs::create_dir_all(world.data().join("prompts")).unwrap();
    let own =
        "---\ntitle: 인사\narguments:\n  - name: who\n    required: true\n---\nGreet {{who}}.";
    std::fs::write(world.data().join("prompts/greet.md"), own).unwrap();
    world.file("more/greet.md", "Greet everybody.");
    world.file("more/part.md", "Say goodbye.");
    let served = world.serve().await;
    let get = json!({ "name": "greet", "arguments": { "who": "미나" } });
    let got = Caller::of(&served, None).ask("prompts/get", get.clone()).await;
    assert_eq!(got.result()["messages"][0]["content"]["text"], "Greet 미나.");
    let missing = Caller::of(&served, None).ask("prompts/get", json!({ "name": "greet" })).await;
    assert!(missing.answer()["error"]["message"].as_str().unwrap().contains("who is missing"));
    served.kill().await;

    let folder = world.files().join("more").display().to_string();
    let served = world.serve_with(&[("SAEM_MCP_PROMPTS", &folder)]).await;
    let got = Caller::of(&served, None).ask("prompts/get", get).await;
    assert_eq!(got.result()["messages"][0]["content"]["text"], "Greet everybody.");
    let listed = Caller::of(&served, None).ask("prompts/list", json!({})).await;
    let names: Vec<&str> = listed.result()["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| prompt["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["answer-from-documents", "greet", "part", "summarize-document"]);
}

#[tokio::test]
async fn progress_is_told_on_the_stream_of_a_call_in_both_eras() {
    let world = World::new();
    let served = world.serve().await;
    let caller = Caller::of(&served, None);
    caller.call("ingest_document", json!({ "name": "tea.md", "text": TEA })).await;
    let call = json!({
        "name": "ask",
        "arguments": { "question": "how long is barley boiled?" },
        "_meta": { "progressToken": "p" },
    });
    let old = caller.hello().await;
    for heard in
        [caller.ask("tools/call", call.clone()).await, old.say_method("tools/call", call).await]
    {
        let told: Vec<_> = heard
            .messages
            .iter()
            .filter(|message| message["method"] == "notifications/progress")
            .collect();
        assert!(told.len() >= 2, "{:?}", heard.messages);
        assert!(told.iter().all(|told| told["params"]["progressToken"] == "p"));
        assert!(heard.result()["structuredContent"]["answer"].is_string());
    }
}
