//! The host as the suite's client: connects, logs in without a person, and does what a scenario looks for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::identity::Principal;
use agent::names::TenantId;
use agent::tools::naming::ServerId;
use agent::tools::policy::{Attendance, Extent, Influence, ServerRules, Trust};
use agent::tools::question::{Person, Question, Reply, defaults};
use anyhow::{Context, Result, bail};
use engine::tools::{
    Browser, Caller, Enterprise, Entry, Grant, Host, HostParts, HostRules, Launch, LoginParts,
    LoginSettings, ProgramLimits, ServerSettings, ServerState, Waits,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::config::{self, Config};
use crate::system::SystemClock;
use crate::wiring::{Installation, logins};

/// The suite ends a client after 30 seconds: what is not done before that is told as an error.
const WHOLE_TIME_MAX: Duration = Duration::from_secs(25);

/// The document that the suite takes for ours, and where its login sends browsers back to; nobody listens there.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT: &str = "http://localhost:3000/callback";

pub(super) async fn run(config: &Config, url: String) -> Result<()> {
    let scenario = config::variable("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = config::variable("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let installation = Installation::open(config).await?;
    let parts = HostParts {
        records: Arc::new(installation.store.clone()),
        clock: Arc::new(SystemClock),
        tasks: installation.tasks().clone(),
        lending: None,
        logins: Some(LoginParts {
            browser: Some(Arc::new(NoPerson)),
            ..logins::parts(&installation.folder, crate::wiring::egress(config)?)?
        }),
    };
    let server = server(url, &context);
    let tenants = vec![TenantId::local()];
    let rules = HostRules { servers: vec![server], tenants, ..HostRules::default() };
    let visit = Visit { host: Host::new(parts, rules), server: ServerId::for_name("suite") };
    let done = tokio::time::timeout(WHOLE_TIME_MAX, visit.play(&scenario, &context)).await;
    installation.close().await;
    done.unwrap_or_else(|_| bail!("the scenario takes too long"))
}

fn server(url: String, context: &Value) -> ServerSettings {
    let waits = Waits { connect: Duration::from_secs(8), ..Waits::default() };
    ServerSettings {
        id: ServerId::for_name("suite"),
        name: "suite".to_owned(),
        enabled: true,
        launch: Launch::Address { url, headers: BTreeMap::new() },
        rules: ServerRules { trust: Trust::Trusted, ..ServerRules::default() },
        waits,
        roots: Vec::new(),
        login: login(context),
        limits: ProgramLimits::default(),
    }
}

/// What a scenario gives its client to show.
fn login(context: &Value) -> LoginSettings {
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let scenario = text("name").unwrap_or_default();
    let company = || {
        Some(Enterprise {
            issuer: text("idp_issuer")?,
            token_endpoint: text("idp_token_endpoint")?,
            client_id: text("idp_client_id")?,
            id_token: text("idp_id_token")?,
        })
    };
    let grant = if let Some(company) = company() {
        Grant::Enterprise(company)
    } else if let Some(pem) = text("private_key_pem") {
        Grant::PrivateKey { pem }
    } else if let Some(token) = text("valid_jwt") {
        Grant::Workload { token }
    } else if scenario.contains("client-credentials") {
        Grant::ClientSecret
    } else {
        Grant::Browser
    };
    LoginSettings {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some(CLIENT_DOCUMENT.to_owned()),
        grant,
        ..LoginSettings::default()
    }
}

struct Visit {
    host: Host,
    server: ServerId,
}

impl Visit {
    async fn play(&self, scenario: &str, context: &Value) -> Result<()> {
        let catalogue = self.host.catalogue(&TenantId::local(), Some(&self.server)).await;
        if let Some(ServerState::Down { why }) = catalogue.servers.first().map(|line| &line.state) {
            bail!("{why}");
        }
        let tools = catalogue.tools;
        match scenario {
            "initialize" | "json-schema-ref-no-deref" => Ok(()),
            "http-custom-headers" => self.replay(&tools, context).await,
            "json-schema-2020-12-preservation" => self.echo(&tools).await,
            "http-standard-headers" => {
                self.call_all(&tools).await?;
                self.look_around().await
            }
            _ => self.call_all(&tools).await,
        }
    }

    async fn call_all(&self, tools: &[Entry]) -> Result<()> {
        for entry in tools {
            self.call(entry, sample(&entry.tool.input_schema)).await?;
        }
        Ok(())
    }

    /// The calls of the scenario as they are.
    async fn replay(&self, tools: &[Entry], context: &Value) -> Result<()> {
        let calls = context.get("toolCalls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
            let entry = tools.iter().find(|entry| entry.tool.original == name);
            let entry = entry.with_context(|| format!("there is no tool {name}"))?;
            self.call(entry, call.get("arguments").cloned().unwrap_or_default()).await?;
        }
        Ok(())
    }

    /// Gives a schema back as it came.
    async fn echo(&self, tools: &[Entry]) -> Result<()> {
        let named = |name: &str| tools.iter().find(|entry| entry.tool.original == name);
        let schema = named("json_schema_2020_12_tool").context("no tool with a schema")?;
        let echo = named("json_schema_echo").context("no tool that takes a schema")?;
        self.call(echo, serde_json::json!({"schema": schema.tool.input_schema})).await
    }

    async fn look_around(&self) -> Result<()> {
        let tenant = TenantId::local();
        for resource in self.host.resources(&tenant, &self.server).await? {
            self.host.read(&caller(), &self.server, &resource.address).await?;
        }
        for prompt in self.host.prompts(&tenant, &self.server).await? {
            let given =
                prompt.arguments.iter().map(|(name, _)| (name.clone(), Value::from("test")));
            self.host.prompt(&caller(), &self.server, &prompt.name, given.collect()).await?;
        }
        Ok(())
    }

    async fn call(&self, entry: &Entry, arguments: Value) -> Result<()> {
        self.host.call(&caller(), &entry.tool.name, arguments, None).await?;
        Ok(())
    }
}

/// Arguments of the right types.
fn sample(schema: &Value) -> Value {
    let fields = schema.get("properties").and_then(Value::as_object);
    let filled = fields.into_iter().flatten().map(|(name, field)| {
        let value = match field.get("type").and_then(Value::as_str) {
            Some("number" | "integer") => Value::from(5),
            Some("boolean") => Value::from(true),
            Some("object") => Value::Object(Map::new()),
            Some("array") => Value::Array(Vec::new()),
            _ => Value::from("test"),
        };
        (name.clone(), value)
    });
    Value::Object(filled.collect())
}

fn caller() -> Caller {
    Caller {
        principal: Principal::local_owner(),
        session: None,
        turn: None,
        person: Arc::new(Agreeable),
        attendance: Attendance::Attended,
        influence: Influence::Person,
        hops: 0,
    }
}

/// Says yes, and takes a form as it is filled in already.
struct Agreeable;

impl Person for Agreeable {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Reply> {
        let reply = match question {
            Question::Form { schema, .. } => Reply::Filled(defaults(schema)),
            Question::Call { .. } | Question::Link { .. } | Question::Sample { .. } => {
                Reply::Yes(Extent::Once)
            }
        };
        Box::pin(std::future::ready(reply))
    }
}

/// The suite's login says yes to whoever asks: its page is opened, and where it leads is the answer.
struct NoPerson;

impl Browser for NoPerson {
    fn redirect(&self) -> &str {
        REDIRECT
    }

    fn visit<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let plain = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
            let client =
                plain.no_proxy().http1_only().build().map_err(|error| error.to_string())?;
            let answer = client.get(address).send().await.map_err(|error| error.to_string())?;
            let place = answer.headers().get(reqwest::header::LOCATION);
            let place = place.and_then(|place| place.to_str().ok()).map(str::to_owned);
            place.ok_or_else(|| "the page leads nowhere".to_owned())
        })
    }
}
