//! Skills as tools: listed, pinned, approved, called and noted like any other tool.

use agent::identity::Principal;
use agent::names::TenantId;
use agent::ports::ActivityList;
use agent::tools::activity::Ending;
use agent::tools::naming::ToolName;
use agent::tools::policy::{Attendance, Extent, Influence, ServerRules, Standing};
use agent::tools::question::{Person, Question, Reply as Said};
use testkit::tool_records::MemoryToolRecords;

use super::*;
use crate::tools::{
    CallError, Caller, Host, HostParts, HostRules, Launch, LoginSettings, ProgramLimits,
    ServerSettings,
};

/// Says yes to calls, and fills every form with the same word.
#[derive(Default)]
struct Agreeable(Mutex<Vec<Question>>);

impl Person for Agreeable {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Said> {
        self.0.lock().unwrap().push(question.clone());
        let reply = match question {
            Question::Form { .. } => {
                Said::Filled(json!({ "answer": "blue" }).as_object().unwrap().clone())
            }
            _ => Said::Yes(Extent::Once),
        };
        Box::pin(std::future::ready(reply))
    }
}

fn host(world: &World) -> Host {
    let settings = &world.peers.configured()[0];
    let server = ServerSettings {
        id: settings.id.clone(),
        name: settings.name.clone(),
        enabled: true,
        launch: Launch::Agent { shown: settings.source.shown() },
        rules: ServerRules::default(),
        waits: settings.waits,
        roots: Vec::new(),
        limits: ProgramLimits::default(),
        login: LoginSettings::default(),
    };
    let parts = HostParts {
        records: Arc::new(MemoryToolRecords::default()),
        clock: Arc::clone(&world.clock) as Arc<dyn agent::ports::Clock>,
        tasks: world.tasks.clone(),
        lending: None,
        logins: None,
    };
    let tenants = vec![TenantId::local()];
    let rules = HostRules { servers: vec![server], tenants, ..HostRules::default() };
    Host::new(parts, rules).with_agents(world.peers.clone())
}

fn caller(person: &Arc<Agreeable>, hops: u32) -> Caller {
    Caller {
        principal: Principal::local_owner(),
        session: None,
        turn: None,
        person: Arc::clone(person) as Arc<dyn Person>,
        attendance: Attendance::Attended,
        influence: Influence::Person,
        hops,
    }
}

fn world(script: impl Fn(&Heard) -> Reply + Send + Sync + 'static) -> World {
    let agents = vec![configured("painter", Source::Address(AT.to_owned()))];
    World::new(PeerRules { agents, ..rules() }, script)
}

fn quiet_card() -> Value {
    let mut card = card_of_1_0("JSONRPC", AT);
    card["capabilities"] = json!({});
    card
}

#[tokio::test]
async fn a_skill_is_called_after_a_yes_and_noted() {
    let world = world(|heard| {
        if is_card(heard) {
            return json_reply(&quiet_card());
        }
        let is_answer = heard.body["params"]["message"]["taskId"] == "t1";
        let mut answered = task(if is_answer { "COMPLETED" } else { "INPUT_REQUIRED" });
        if !is_answer {
            answered["artifacts"] = json!([]);
            answered["status"]["message"] = json!({ "messageId": "q", "role": "ROLE_AGENT", "parts": [{ "text": "Which colour?" }] });
        }
        result(heard, &json!({ "task": answered }))
    });
    let host = host(&world);
    let tenant = TenantId::local();
    let catalogue = host.catalogue(&tenant, None).await;
    let names: Vec<&str> = catalogue.tools.iter().map(|entry| entry.tool.name.as_str()).collect();
    assert_eq!(names, ["painter__paint"]);
    let description = &catalogue.tools[0].tool.description;
    assert!(description.contains("http://agent.test") && description.contains("Paint a spring."));
    assert_eq!(
        host.offered(&tenant, Duration::from_secs(20)).await.len(),
        1,
        "the copilot may have it"
    );
    let person = Arc::new(Agreeable::default());
    let name: ToolName = "painter__paint".parse().unwrap();
    let given =
        host.call(&caller(&person, 0), &name, json!({ "message": "샘" }), None).await.unwrap();
    assert_eq!((given.text.as_str(), given.is_error), ("a spring", false));
    let asked = person.0.lock().unwrap().clone();
    assert!(matches!(&asked[0], Question::Call { .. }), "{asked:?}");
    assert!(
        matches!(&asked[1], Question::Form { message, .. } if message == "Which colour?"),
        "{asked:?}"
    );
    assert_eq!(world.last().body["params"]["message"]["parts"][0]["text"], "blue");
    let list = ActivityList { limit: 10, ..ActivityList::default() };
    let activity = host.activity(&tenant, list).await.unwrap().items;
    assert_eq!((activity.len(), &activity[0].ending), (1, &Ending::Done));
}

#[tokio::test]
async fn an_agent_that_has_moved_or_says_something_else_is_held_until_somebody_has_looked() {
    let moved = Arc::new(Mutex::new(quiet_card()));
    let served = Arc::clone(&moved);
    let world = world(move |heard| {
        if is_card(heard) {
            return json_reply(&served.lock().unwrap());
        }
        result(heard, &json!({ "task": task("COMPLETED") }))
    });
    let host = host(&world);
    let tenant = TenantId::local();
    let person = Arc::new(Agreeable::default());
    let name: ToolName = "painter__paint".parse().unwrap();
    host.call(&caller(&person, 0), &name, json!({ "message": "1" }), None).await.unwrap();
    moved.lock().unwrap()["supportedInterfaces"][0]["url"] = json!("http://elsewhere.test/");
    world.clock.advance(3_600_000);
    let entries = host.catalogue(&tenant, None).await.tools;
    assert_eq!(entries[0].standing, Standing::Changed);
    let held = host.call(&caller(&person, 0), &name, json!({ "message": "2" }), None).await;
    assert!(matches!(held, Err(CallError::Held(_))), "{held:?}");
    let server = world.peers.configured()[0].id.clone();
    host.accept(&Principal::local_owner(), &server, None).await.unwrap();
    host.call(&caller(&person, 0), &name, json!({ "message": "3" }), None).await.unwrap();
    assert_eq!(world.last().line, "POST http://elsewhere.test/");
    assert_eq!(world.last().reach, Reach::Stranger);
}

#[tokio::test]
async fn a_call_that_came_through_too_many_agents_is_denied() {
    let world = world(|heard| {
        if is_card(heard) {
            json_reply(&quiet_card())
        } else {
            result(heard, &json!({ "task": task("COMPLETED") }))
        }
    });
    let host = host(&world);
    let person = Arc::new(Agreeable::default());
    let name: ToolName = "painter__paint".parse().unwrap();
    let denied = host.call(&caller(&person, 4), &name, json!({ "message": "1" }), None).await;
    assert!(matches!(&denied, Err(CallError::Denied(why)) if why.contains("circle")), "{denied:?}");
    let done = host.call(&caller(&person, 3), &name, json!({ "message": "1" }), None).await;
    assert!(done.is_ok(), "{done:?}");
}

#[tokio::test]
async fn an_agent_has_neither_resources_nor_prompts_and_one_that_is_down_says_so() {
    let world = world(|_| status_reply(500, &json!({})));
    let host = host(&world);
    let server = world.peers.configured()[0].id.clone();
    let none = host.resources(&TenantId::local(), &server).await;
    assert!(matches!(&none, Err(CallError::Absent(why)) if why.contains("agent")), "{none:?}");
    let lines = host.catalogue(&TenantId::local(), None).await.servers;
    assert!(
        matches!(&lines[0].state, crate::tools::ServerState::Down { why } if why.contains("500")),
        "{lines:?}"
    );
}
