//! `saem doctor`: what is configured, what is missing, and what each missing thing would add.

use std::process::ExitCode;

use agent::names::TenantId;
use agent::ports::Keys;
use anyhow::Result;
use serde_json::json;

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
            let findings = look(config, &installation).await?;
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

async fn look(config: &Config, installation: &Installation) -> Result<Vec<Finding>> {
    let well = |what, says: String| Finding { what, is_well: true, says };
    let mut findings = vec![well("data folder", installation.folder.display().to_string())];
    findings.push(Finding {
        what: "disk",
        is_well: installation.store.has_room(),
        says: if installation.store.has_room() {
            format!("more than {} MiB are free", config.data.reserve_mebibytes)
        } else {
            format!("less than {} MiB are free: writes are refused", config.data.reserve_mebibytes)
        },
    });
    let tenant = TenantId::local();
    installation.knowledge.indexed(&tenant, None).await?;
    findings.push(match installation.knowledge.index_state(&tenant).await? {
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
            installation.embedder.identity()
        ),
        EmbedderKind::None => "none: only keywords are searched; embedder.kind = \"built-in\" would find what is \
             worded differently, offline"
            .to_owned(),
        EmbedderKind::Openai => installation.embedder.identity().to_owned(),
    }));
    let keys = installation.store.keys(None).await?.len();
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
