//! `saem doctor`: what is configured, what is missing, and what each missing thing would add.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agent::names::TenantId;
use agent::ports::{Embedder, Keys, Later};
use anyhow::Result;
use engine::Knowledge;
use serde_json::json;
use server::api::start::{Doctor, FindingBody};
use store::Store;

use crate::backend::Client;
use crate::config::{Config, EmbedderKind, SessionStore};
use crate::output::Output;
use crate::presence::Running;
use crate::wiring::copilot::{self, Origin};
use crate::wiring::{self, Claim, Installation};

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    is_well: bool,
    says: String,
}

/// What is looked at: an open data folder and its settings.
pub(crate) struct Patient {
    config: Config,
    folder: PathBuf,
    store: Store,
    knowledge: Knowledge,
    embedder: Arc<dyn Embedder>,
}

impl Patient {
    pub(crate) fn of(config: &Config, installation: &Installation) -> Self {
        Self {
            config: config.clone(),
            folder: installation.folder.clone(),
            store: installation.store.clone(),
            knowledge: installation.knowledge.clone(),
            embedder: Arc::clone(&installation.embedder),
        }
    }
}

/// The page shows what the command says, to whoever may administer the tenant.
impl Doctor for Patient {
    fn look<'a>(&'a self, tenant: &'a TenantId) -> Later<'a, Vec<FindingBody>> {
        Box::pin(async move {
            let found = look(self, tenant).await.unwrap_or_else(|error| {
                vec![Finding { what: "server", is_well: false, says: format!("{error:#}") }]
            });
            // Where things are on the machine is for those alone who are on it.
            let is_shown =
                |finding: &Finding| *tenant == TenantId::local() || finding.what != "data folder";
            let body = |Finding { what, is_well, says }| FindingBody {
                what: what.to_owned(),
                well: is_well,
                says,
            };
            Ok(found.into_iter().filter(is_shown).map(body).collect())
        })
    }
}

pub(crate) async fn run(config: Config, output: &Output) -> Result<ExitCode> {
    let findings = match findings(&config).await {
        Ok(findings) => findings,
        Err(error) => {
            vec![Finding { what: "data folder", is_well: false, says: format!("{error:#}") }]
        }
    };
    for Finding { what, is_well, says } in &findings {
        output.json(&json!({ "what": what, "well": is_well, "says": says }))?;
        output.line(&format!("{} {what}: {says}", if *is_well { "ok  " } else { "look" }))?;
    }
    let all_well = findings.iter().all(|finding| finding.is_well);
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn findings(config: &Config) -> Result<Vec<Finding>> {
    match wiring::claim(config).await? {
        Claim::Ours(store) => {
            let installation = Installation::on(config, store).await?;
            let findings = look(&Patient::of(config, &installation), &TenantId::local()).await?;
            installation.close().await;
            Ok(findings)
        }
        Claim::Served(running) => ask(config, &running).await,
    }
}

/// What can be seen while a server has the folder.
async fn ask(config: &Config, running: &Running) -> Result<Vec<Finding>> {
    let folder = config.data_folder()?.display().to_string();
    let troubles = Client::of_owner(running)?.troubles().await?;
    let says = match troubles.is_empty() {
        true => "ready; stop it to see the rest".to_owned(),
        false => troubles.join("; "),
    };
    let (pid, address) = (running.pid, running.address);
    Ok(vec![
        Finding { what: "data folder", is_well: true, says: folder },
        Finding {
            what: "server",
            is_well: troubles.is_empty(),
            says: format!("process {pid} on http://{address}: {says}"),
        },
    ])
}

async fn look(patient: &Patient, tenant: &TenantId) -> Result<Vec<Finding>> {
    let Patient { config, folder, store, knowledge, embedder } = patient;
    let well = |what, says: String| Finding { what, is_well: true, says };
    let mut findings = vec![well("data folder", folder.display().to_string())];
    findings.push(Finding {
        what: "disk",
        is_well: store.has_room(),
        says: if store.has_room() {
            format!("more than {} MiB are free", config.data.reserve_mebibytes)
        } else {
            format!("less than {} MiB are free: writes are refused", config.data.reserve_mebibytes)
        },
    });
    knowledge.indexed(tenant, None).await?;
    findings.push(match knowledge.index_state(tenant).await? {
        Some(state) if state.chunks > 0 => {
            well("documents", format!("{} chunks, {} vectors", state.chunks, state.vectors))
        }
        _ => well(
            "documents",
            "none yet: `saem ingest PATH` loads some, `saem demo` shows the demo's".to_owned(),
        ),
    });
    findings.push(well("embedder", match config.embedder.kind {
        EmbedderKind::BuiltIn => format!(
            "{} (built in, Korean and English, offline); a larger model behind /v1/embeddings would find \
             paraphrases better: set embedder.kind = \"openai\" and embedder.model",
            embedder.identity()
        ),
        EmbedderKind::None => "none: only keywords are searched; embedder.kind = \"built-in\" would find what is \
             worded differently, offline"
            .to_owned(),
        EmbedderKind::Openai => embedder.identity().to_owned(),
    }));
    let keys = store.keys(None).await?.len();
    findings.push(well(
        "API keys",
        match keys {
            0 => {
                "none: the server answers this machine only; `saem key create` makes one".to_owned()
            }
            keys => format!("{keys}: every request needs one"),
        },
    ));
    let issuer = &config.auth.jwt_issuer;
    findings.push(well("JWT issuer", if issuer.is_empty() {
        "none: with auth.jwt_issuer and auth.jwks_url people of your identity provider could sign in".to_owned()
    } else {
        issuer.clone()
    }));
    findings.push(language_model(config).await);
    findings.extend(conversations(config).await);
    Ok(findings)
}

async fn language_model(config: &Config) -> Finding {
    let what = "language model";
    let found = match copilot::roles(&config.models).await {
        Ok(found) => found,
        Err(error) => return Finding { what, is_well: false, says: format!("{error:#}") },
    };
    let name = found.roles.answer.as_ref().map_or("none", |model| model.name()).to_owned();
    let says = match found.origin {
        Origin::Configured => format!("{name} at {}", config.models.base_url),
        Origin::Ollama => format!("{name}, of the Ollama on this machine"),
        Origin::Nowhere { why } => format!(
            "{why}: answers are the documents' own sentences. Ollama with any chat model, or models.base_url and \
             models.model, would have them written"
        ),
    };
    Finding { what, is_well: true, says }
}

/// Where conversations are kept, and how safely.
async fn conversations(config: &Config) -> Vec<Finding> {
    let what = "conversations";
    let finding = |is_well, says: String| Finding { what, is_well, says };
    if config.memory.store == SessionStore::File {
        let says = "in the data folder, on disk before an answer is said to be kept; memory.store = \"redis\" would \
                    share them between several servers";
        return vec![finding(true, says.to_owned())];
    }
    let durability = match copilot::redis(&config.memory).await {
        Ok(redis) => redis.durability().await.map_err(Into::into),
        Err(error) => Err(error),
    };
    match durability {
        Ok(durability) => {
            let lines = durability.findings().into_iter();
            lines.map(|line| finding(!line.is_warning, line.text)).collect()
        }
        Err(error) => vec![finding(false, format!("{error:#}"))],
    }
}
