//! Clients are told when documents come, change and go: on a session's stream, and on one that was asked for.

use serde_json::{Value, json};

use super::{Caller, in_stream};
use crate::world::{PATIENCE, Served, World};

/// Reads a stream until it has told this.
async fn until(stream: &mut reqwest::Response, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut text = String::new();
    let reading = async {
        loop {
            let told = in_stream(&text);
            if told.iter().any(&is_it) {
                return told;
            }
            let piece = stream.chunk().await;
            let piece = piece.unwrap_or_else(|error| panic!("{error:?} after {text}"));
            let piece = piece.unwrap_or_else(|| panic!("the stream ended after {text}"));
            text.push_str(&String::from_utf8_lossy(&piece));
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("it is told")
}

fn method<'a>(name: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |message| message["method"] == name
}

async fn add(served: &Served, name: &str, text: &str) -> String {
    served.add(&json!({ "name": name, "text": text })).await;
    let (_, documents) = served.get("/api/documents").await;
    let documents = documents["documents"].as_array().unwrap().clone();
    let found = documents.iter().find(|document| document["source"] == name).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_is_told_what_it_watches_and_that_the_list_has_changed() {
    let world = World::new();
    let served = world.serve().await;
    let id = add(&served, "tea.md", "Barley tea.").await;
    let session = Caller::of(&served, None).hello().await;
    let uri = format!("saem://documents/{id}");
    let watch = session.say_method("resources/subscribe", json!({ "uri": uri })).await;
    assert_eq!(watch.status, 200, "{}", watch.answer());
    let mut stream = session.bare(reqwest::Method::GET).send().await.unwrap();
    add(&served, "other.md", "Coffee.").await;
    let told = until(&mut stream, method("notifications/resources/list_changed")).await;
    assert!(!told.iter().any(method("notifications/resources/updated")), "{told:?}");
    add(&served, "tea.md", "Green tea.").await;
    let told = until(&mut stream, method("notifications/resources/list_changed")).await;
    let updated = told.iter().find(|told| told["method"] == "notifications/resources/updated");
    assert_eq!(updated.unwrap()["params"]["uri"], uri);

    session.say_method("resources/unsubscribe", json!({ "uri": uri })).await;
    add(&served, "tea.md", "Black tea.").await;
    let told = until(&mut stream, method("notifications/resources/list_changed")).await;
    assert!(!told.iter().any(method("notifications/resources/updated")), "{told:?}");
}

#[tokio::test]
async fn a_stream_of_the_newer_era_tells_what_it_was_asked_for_and_nothing_else() {
    let world = World::new();
    let served = world.serve().await;
    let id = add(&served, "tea.md", "Barley tea.").await;
    let other = add(&served, "other.md", "Coffee.").await;
    let uri = format!("saem://documents/{id}/sections/0");
    let caller = Caller::of(&served, None);
    let wanted = json!({ "notifications": {
        "resourceSubscriptions": [uri, "saem://documents/none", "file:///etc/passwd"],
        "promptsListChanged": true,
    } });
    let asking = caller.asking(7, "subscriptions/listen", wanted);
    let mut stream = asking.send().await.unwrap();
    let told = until(&mut stream, method("notifications/subscriptions/acknowledged")).await;
    assert_eq!(
        told[0]["params"]["notifications"]["resourceSubscriptions"],
        json!([uri]),
        "{told:?}"
    );
    add(&served, "other.md", "Green coffee.").await;
    add(&served, "tea.md", "Green tea.").await;
    let told = until(&mut stream, method("notifications/resources/updated")).await;
    let text = json!(told).to_string();
    assert!(!text.contains(&other) && !text.contains("list_changed"), "{text}");
    let update = told.last().unwrap();
    assert_eq!(update["params"]["uri"], uri);
    assert_eq!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
}

#[tokio::test]
async fn a_deleted_document_is_told_too() {
    let world = World::new();
    let served = world.serve().await;
    let id = add(&served, "tea.md", "Barley tea.").await;
    let caller = Caller::of(&served, None);
    let wanted = json!({ "notifications": { "resourcesListChanged": true } });
    let mut stream = caller.asking(1, "subscriptions/listen", wanted).send().await.unwrap();
    until(&mut stream, method("notifications/subscriptions/acknowledged")).await;
    assert_eq!(served.delete(&format!("/api/documents/{id}")).await.0, 204);
    until(&mut stream, method("notifications/resources/list_changed")).await;
}

#[tokio::test]
async fn a_stream_says_that_it_is_over_when_the_server_is_to_end() {
    let world = World::new();
    let mut served = world.serve().await;
    let wanted = json!({ "notifications": { "resourcesListChanged": true } });
    let asking = Caller::of(&served, None).asking(9, "subscriptions/listen", wanted);
    let mut stream = asking.send().await.unwrap();
    until(&mut stream, method("notifications/subscriptions/acknowledged")).await;
    let pid = served.child.id().unwrap().to_string();
    let kill = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(kill.success());
    let told = until(&mut stream, |message| message["id"] == 9).await;
    assert_eq!(told.last().unwrap()["result"]["resultType"], "complete", "{told:?}");
    let ended = tokio::time::timeout(PATIENCE, served.child.wait()).await.unwrap().unwrap();
    assert!(ended.success());
}
