//! Runs that stand on a finished one: a question that follows its report, and one step done anew, also after `kill -9`.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::model_server::ModelServer;

use crate::research::{
    QUESTION, environment, lasting, library, outlives_every_write, played, report,
};
use crate::tenants::key;
use crate::world::{Served, World, answer, shown};

const MAIL: &str = "Do budget alerts go to the owner by mail?";

/// The id of the run that was begun last.
fn last_run(world: &World) -> String {
    world.json(&["research", "--list"])[0]["id"].as_str().unwrap().to_owned()
}

fn messages<'a>(said: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let is_it = |it: &&Value| it["content"]["action"] == kind || it["content"]["event"] == kind;
    said.iter().filter(is_it).collect()
}

#[test]
fn a_question_follows_a_report_on_the_command_line() {
    let world = library();
    world.ok(&["research", QUESTION, "--yes"]);
    let first = last_run(&world);
    let said = world.json(&["research", "--follow", &first, MAIL, "--yes"]);
    let plan = messages(&said, "search")[0];
    assert_eq!(plan["content"]["stands_on"]["run"], json!(first), "{plan}");
    assert!(messages(&said, "search_progress").is_empty(), "all of it was known");
    let report = &said.last().unwrap()["report"];
    assert!(report.to_string().contains("go to the owner by mail"), "{report}");
    let shown = world.json(&["research", "--show", &last_run(&world)]);
    assert_eq!(shown[0]["follows"], json!(first));
    let unknown = "550e8400-e29b-41d4-a716-446655440001";
    assert!(world.error(&["research", "--follow", unknown, MAIL]).contains("run"));
    assert!(world.error(&["research", "--follow", "x", MAIL]).contains("is no run"));
}

#[test]
fn a_step_is_done_anew_on_the_command_line() {
    let world = library();
    world.ok(&["research", QUESTION, "--yes"]);
    let first = last_run(&world);
    world.file("new.md", "# New\n\nBudget alerts cost 7 dollars since the spring.\n");
    let folder = world.files();
    world.ok(&["ingest", folder.to_str().unwrap(), "--collection", "guides", "--type", "guide"]);
    let said = world.json(&["research", "--again", &first, "--step", "1"]);
    let steps: Vec<&Value> = messages(&said, "search_progress");
    assert!(!steps.is_empty());
    assert!(steps.iter().all(|step| step["content"]["step_number"] == 1), "{steps:?}");
    let report = &said.last().unwrap()["report"];
    assert!(report.to_string().contains("7 dollars"), "{report}");
    let again = &world.json(&["research", "--show", &last_run(&world)])[0]["again"];
    assert_eq!(*again, json!({ "run": first, "step": 1 }));
    assert!(world.error(&["research", "--again", &first, "--step", "99"]).contains("step"));
    assert!(world.error(&["research", "--again", &first]).contains("--step"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_done_anew_that_is_killed_at_any_place_of_its_journal_asks_nothing_twice() {
    let model = ModelServer::answering(Duration::ZERO, played).await;
    let environment = environment(&model);
    let world = library();
    let whole = world.run_with(&["research", QUESTION, "--yes"], &environment);
    assert!(whole.status.success(), "{}", shown(&whole));
    let first = last_run(&world);
    let before = model.requests().len();
    let arguments = ["research", "--again", &first, "--step", "2", "--json"];
    let whole = world.run_with(&arguments, &environment);
    assert!(whole.status.success(), "{}", shown(&whole));
    let expected = lasting(&report(&whole));
    // The plan is kept: a judge and two sections are asked for.
    let asked = model.requests().len() - before;
    assert_eq!(asked, 3);
    outlives_every_write(&world, &model, &arguments, asked, &expected);
}

/// Asks with a key.
async fn send(
    served: &Served,
    key: &str,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> (u16, Value) {
    let mut request = served.client.request(method, served.url(path)).bearer_auth(key);
    if let Some(body) = body {
        request = request.json(body);
    }
    answer(request.send().await.unwrap()).await
}

/// Begins a run and waits for its end; gives its id.
async fn ended(served: &Served, key: &str, body: &Value) -> String {
    let (status, run) = send(served, key, Method::POST, "/api/research", Some(body)).await;
    assert_eq!(status, 201, "{run}");
    let id = run["id"].as_str().unwrap().to_owned();
    let path = format!("/api/research/{id}/events");
    let watch = served.client.get(served.url(&path)).bearer_auth(key).send().await.unwrap();
    assert!(watch.text().await.unwrap().contains("event: end"));
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_wire_anothers_run_cannot_be_stood_on_and_looks_as_if_it_were_not_there() {
    let world = library();
    let (mine, theirs) = (key(&world, "one", "admin"), key(&world, "two", "admin"));
    let served = world.serve().await;
    let asked = json!({ "question": QUESTION, "approval": "given" });
    let run = ended(&served, &mine, &asked).await;
    let post = async |key: &str, path: &str, body: Option<&Value>| {
        send(&served, key, Method::POST, path, body).await
    };
    let follow = |run: &str| json!({ "question": MAIL, "approval": "given", "follows": run });
    let step = |run: &str, step: &str| format!("/api/research/{run}/steps/{step}/again");
    let unknown = "550e8400-e29b-41d4-a716-446655440001";
    for (foreign, absent) in [
        (
            post(&theirs, "/api/research", Some(&follow(&run))).await,
            post(&theirs, "/api/research", Some(&follow(unknown))).await,
        ),
        (
            post(&theirs, &step(&run, "1"), None).await,
            post(&theirs, &step(unknown, "1"), None).await,
        ),
    ] {
        assert_eq!((foreign.0, absent.0), (404, 404), "{}", foreign.1);
        assert_eq!(foreign.1["detail"], absent.1["detail"]);
    }
    for bad in ["99", "0", "x", "-1", "4294967296"] {
        assert_eq!(post(&mine, &step(&run, bad), None).await.0, 404, "{bad}");
    }
    let follower = ended(&served, &mine, &follow(&run)).await;
    let path = format!("/api/research/{follower}");
    assert_eq!(send(&served, &mine, Method::GET, &path, None).await.1["follows"], json!(run));
    let waiting = json!({ "question": QUESTION, "approval": "asked" });
    let waiting = post(&mine, "/api/research", Some(&waiting)).await.1;
    let waiting = waiting["id"].as_str().unwrap();
    assert_eq!(post(&mine, "/api/research", Some(&follow(waiting))).await.0, 409);
    assert_eq!(post(&mine, &step(waiting, "1"), None).await.0, 409);
    let again = post(&mine, &step(&run, "1"), None).await;
    assert_eq!(again.0, 201, "{}", again.1);
    assert_eq!(again.1["again"], json!({ "run": run, "step": 1 }));
}
