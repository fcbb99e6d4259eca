//! Puts the copilot together: its models, prices, menu and limits, as the configuration has them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::context::{Budget, ToolBudget};
use agent::memory::MemoryLimits;
use agent::menu::{Menu, MenuEntry};
use agent::model::LanguageModel;
use agent::ports::Sessions;
use agent::price::{Cost, Price, PriceList};
use agent::turn::TurnLimits;
use anyhow::{Context, Result, bail};
use engine::chat::{Allowance, Copilot, CopilotParts, CopilotRules, Roles, Watcher};
use engine::telemetry::Content;
use engine::tools::Host;
use models::chat::{ChatModel, ChatSettings, Endpoint, EndpointSettings, SchemaMode, SecretKey};
use models::fallback::FallbackModel;
use models::tokens::TokenCounter;
use serde::Deserialize;
use store::redis::{RedisJournals, RedisSessions, RedisSettings, RedisTasks};

use super::Installation;
use crate::config::{Config, Memory, Models, SchemaKind, SessionStore};
use crate::system::{SystemClock, SystemEntropy};

/// Tokens that instructions need at least, and a whole context: less leaves nothing to answer from.
const SYSTEM_TOKENS_MIN: usize = 500;
const PASSAGES_TOKENS_MIN: usize = 200;

/// Bytes of a menu file: some thousand entries.
const MENU_BYTES_MAX: u64 = 4 << 20;

/// Where models come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The configuration names a server.
    Configured,
    /// An Ollama was found on this machine.
    Ollama,
    /// There is none.
    Nowhere { why: &'static str },
}

/// The models of an installation.
pub(crate) struct Found {
    pub(crate) roles: Roles,
    pub(crate) origin: Origin,
    counter: TokenCounter,
}

/// What to do about a Redis that does not answer.
const NO_REDIS: &str =
    "memory.store is redis: start it, check memory.redis_urls, or set memory.store = \"file\"";

/// The copilot over an installation's documents and sessions.
pub(crate) async fn copilot(
    config: &Config,
    installation: &Installation,
    host: Option<Host>,
    menu: Menu,
    watcher: Arc<dyn Watcher>,
) -> Result<Copilot> {
    let found = roles(&config.models).await?;
    let store = Arc::new(installation.store.clone());
    let sessions: Arc<dyn Sessions> = match config.memory.store {
        SessionStore::File => Arc::clone(&store) as Arc<dyn Sessions>,
        SessionStore::Redis => Arc::new(redis(&config.memory).await?),
    };
    let parts = CopilotParts {
        library: Arc::new(installation.knowledge.clone()),
        sessions,
        ledger: Arc::clone(&store) as Arc<dyn agent::ports::Ledger>,
        audit: store,
        models: found.roles,
        host,
        tokenizer: Arc::new(found.counter),
        prices: prices(&config.models.prices)?,
        menu,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        tasks: installation.tasks().clone(),
        watcher,
    };
    Ok(Copilot::new(parts, rules(config)?))
}

/// The conversations in the Redis of the configuration, if it answers.
pub(crate) async fn redis(memory: &Memory) -> Result<RedisSessions> {
    RedisSessions::connect(redis_settings(memory)).await.context(NO_REDIS)
}

/// The research runs there.
pub(crate) async fn redis_journals(memory: &Memory, lease: Duration) -> Result<RedisJournals> {
    RedisJournals::connect(redis_settings(memory), lease).await.context(NO_REDIS)
}

/// The same Redis for tasks of other agents; `server` is this server's name.
pub(crate) async fn redis_tasks(memory: &Memory, server: &str) -> Result<RedisTasks> {
    RedisTasks::connect(redis_settings(memory), server).await.context(NO_REDIS)
}

fn redis_settings(memory: &Memory) -> RedisSettings {
    RedisSettings {
        urls: memory.redis_urls.iter().map(|url| url.reveal().to_owned()).collect(),
        cluster: memory.redis_cluster,
        ..RedisSettings::default()
    }
}

/// The models that the configuration names, or an Ollama that is there.
pub(crate) async fn roles(settings: &Models) -> Result<Found> {
    let (base_url, model, origin) = match (settings.base_url.as_str(), settings.model.as_str()) {
        ("", "") if !settings.discover => {
            (String::new(), String::new(), Origin::Nowhere { why: "none is configured" })
        }
        ("", _) => match models::discover::ollama(models::discover::OLLAMA_ADDRESS).await {
            Some(ollama) => match named(&settings.model, &ollama) {
                Some(model) => (ollama.base_url, model, Origin::Ollama),
                None => {
                    let why = "the Ollama on this machine has no chat model";
                    (String::new(), String::new(), Origin::Nowhere { why })
                }
            },
            None if settings.model.is_empty() => {
                let why = "none is configured, and no Ollama runs on this machine";
                (String::new(), String::new(), Origin::Nowhere { why })
            }
            None => bail!(
                "models.model is {}, but models.base_url is empty and no Ollama runs on this machine: set models.base_url",
                settings.model
            ),
        },
        (_, "") => bail!("models.base_url is set, but models.model is empty: name the model"),
        (base_url, model) => (base_url.to_owned(), model.to_owned(), Origin::Configured),
    };
    if model.is_empty() {
        let counter = TokenCounter::for_model("gpt-5");
        return Ok(Found { roles: Roles::default(), origin, counter });
    }
    let mut servers = Servers { settings, base_url: &base_url, endpoints: BTreeMap::new() };
    let role = |servers: &mut Servers<'_>, own: &str| -> Result<Option<Arc<dyn LanguageModel>>> {
        let own = if own.is_empty() { model.as_str() } else { own };
        servers.chain(own).map(Some)
    };
    let roles = Roles {
        judge: role(&mut servers, &settings.judge)?,
        answer: role(&mut servers, &settings.answer)?,
        memory: role(&mut servers, &settings.memory)?,
    };
    let counter = match settings.token_percent {
        0 => TokenCounter::for_model(&model),
        percent => TokenCounter::with_percent(percent),
    };
    Ok(Found { roles, origin, counter })
}

/// The model that is meant, or the latest that the Ollama has.
fn named(wanted: &str, ollama: &models::discover::Ollama) -> Option<String> {
    if !wanted.is_empty() {
        return Some(wanted.to_owned());
    }
    ollama.chat_models.first().map(|model| model.name.clone())
}

/// The servers that models are on, each connected to once.
struct Servers<'a> {
    settings: &'a Models,
    base_url: &'a str,
    endpoints: BTreeMap<String, Arc<Endpoint>>,
}

impl Servers<'_> {
    /// A model with those that are asked after it.
    fn chain(&mut self, first: &str) -> Result<Arc<dyn LanguageModel>> {
        let first_model = self.model(first)?;
        let others = self.settings.fallbacks.iter().filter(|name| *name != first);
        let others = others.map(|name| self.model(name)).collect::<Result<Vec<_>>>()?;
        Ok(match others.is_empty() {
            true => first_model,
            false => Arc::new(FallbackModel::new(first_model, others)),
        })
    }

    /// `name` or `name@address`.
    fn model(&mut self, text: &str) -> Result<Arc<dyn LanguageModel>> {
        let (name, address) = match text.split_once('@') {
            Some((name, address)) if !name.is_empty() => (name, address),
            Some(_) => bail!("models: {text:?} is not of the form name or name@address"),
            None => (text, self.base_url),
        };
        let settings = self.settings;
        let mut chat = ChatSettings::new(name);
        chat.first_token_time_max = Duration::from_secs(settings.first_token_seconds_max);
        chat.between_tokens_time_max = Duration::from_secs(settings.between_tokens_seconds_max);
        chat.total_time_max = Duration::from_secs(settings.total_seconds_max);
        chat.tries_max = settings.tries_max.max(1);
        match settings.schema {
            SchemaKind::Auto => {}
            SchemaKind::Native => chat.capabilities.schema = SchemaMode::Native,
            SchemaKind::Tool => chat.capabilities.schema = SchemaMode::Tool,
            SchemaKind::Prompted => chat.capabilities.schema = SchemaMode::Prompted,
        }
        if !settings.extra_body.is_empty() {
            chat.extra_body = serde_json::from_str(&settings.extra_body)
                .context("models.extra_body is no JSON object")?;
        }
        Ok(Arc::new(ChatModel::new(self.endpoint(address)?, chat)))
    }

    fn endpoint(&mut self, address: &str) -> Result<Arc<Endpoint>> {
        if let Some(known) = self.endpoints.get(address) {
            return Ok(Arc::clone(known));
        }
        let mut settings = EndpointSettings::new(address);
        settings.api_key = self.key(address)?;
        settings.connect_time_max = Duration::from_secs(self.settings.connect_seconds_max);
        settings.concurrency_max = self.settings.at_once_max.max(1);
        let endpoint = Endpoint::new(settings)?;
        self.endpoints.insert(address.to_owned(), Arc::clone(&endpoint));
        Ok(endpoint)
    }

    /// A key goes to the server that it is of, and to no other.
    fn key(&self, address: &str) -> Result<Option<SecretKey>> {
        let own = self.settings.api_key.reveal();
        if address == self.base_url {
            return Ok((!own.is_empty()).then(|| SecretKey::new(own)));
        }
        for entry in &self.settings.other_keys {
            // The entry is not repeated in the message: it holds a key.
            let Some((of, key)) = entry.reveal().rsplit_once('=') else {
                bail!("models.other_keys: an entry is not of the form address=key");
            };
            if of == address {
                return Ok(Some(SecretKey::new(key)));
            }
        }
        Ok(None)
    }
}

/// `model=input/cached/output`, in dollars for a million tokens; the cached price may be left out.
pub(super) fn prices(lines: &[String]) -> Result<PriceList> {
    let price = |line: &String| {
        let wrong =
            || format!("models.prices: {line:?} is not of the form model=input/cached/output");
        let (model, numbers) = line.rsplit_once('=').with_context(wrong)?;
        let numbers = numbers.split('/').map(str::parse).collect::<Result<Vec<f64>, _>>();
        let price = match numbers.with_context(wrong)?.as_slice() {
            [input, output] => Price::per_million(*input, None, *output),
            [input, cached, output] => Price::per_million(*input, Some(*cached), *output),
            _ => None,
        };
        Ok((model.to_owned(), price.with_context(wrong)?))
    };
    Ok(PriceList::new(lines.iter().map(price).collect::<Result<Vec<_>>>()?))
}

/// The menu of the configuration; empty without one.
pub(crate) fn menu(config: &Config) -> Result<Menu> {
    if config.copilot.menu.is_empty() {
        return Ok(Menu::default());
    }
    let path = Path::new(&config.copilot.menu);
    let unreadable = || format!("the menu {} cannot be read", path.display());
    if std::fs::metadata(path).with_context(unreadable)?.len() > MENU_BYTES_MAX {
        bail!("the menu {} is larger than {} MiB", path.display(), MENU_BYTES_MAX >> 20);
    }
    let text = std::fs::read_to_string(path).with_context(unreadable)?;
    read_menu(&text).with_context(|| format!("the menu {}", path.display()))
}

/// A menu as it is written down.
pub(crate) fn read_menu(text: &str) -> Result<Menu> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        menu: Vec<MenuEntry>,
    }
    let file: File = toml::from_str(text)?;
    Ok(Menu::new(file.menu))
}

fn rules(config: &Config) -> Result<CopilotRules> {
    let (copilot, memory) = (&config.copilot, &config.memory);
    if !(0.0..=1.0).contains(&copilot.confidence_min) {
        bail!("copilot.confidence_min is {}: give a number from 0 to 1", copilot.confidence_min);
    }
    if copilot.system_tokens < SYSTEM_TOKENS_MIN || copilot.passages_tokens < PASSAGES_TOKENS_MIN {
        bail!(
            "copilot.system_tokens must be at least {SYSTEM_TOKENS_MIN} and copilot.passages_tokens at least \
             {PASSAGES_TOKENS_MIN}: less leaves nothing to answer from"
        );
    }
    if copilot.calls_max == 0 || memory.turns == 0 || memory.versions_max == 0 {
        bail!("copilot.calls_max, memory.turns and memory.versions_max must be at least 1");
    }
    if !(0.0..=1_000.0).contains(&copilot.dollars_max) {
        bail!("copilot.dollars_max is {}: give dollars from 0 to 1000", copilot.dollars_max);
    }
    let cost_max =
        Some(Cost::from_dollars(copilot.dollars_max)).filter(|cost| cost.picodollars > 0);
    Ok(CopilotRules {
        turn: TurnLimits {
            calls_max: copilot.calls_max,
            confidence_min: copilot.confidence_min,
            ..TurnLimits::default()
        },
        memory: MemoryLimits {
            turns: memory.turns,
            sentences_max: memory.sentences_max,
            tokens_max: memory.tokens_max,
            entities_max: memory.entities_max,
            lost_percent_max: memory.lost_percent_max,
            versions_max: memory.versions_max,
        },
        budget: Budget {
            system: copilot.system_tokens,
            memory: copilot.memory_tokens,
            entities: copilot.entities_tokens,
            short_term: copilot.short_term_tokens,
            passages: copilot.passages_tokens,
            question: copilot.question_tokens,
        },
        tool_budget: ToolBudget {
            definitions: copilot.tools_tokens,
            results: copilot.tool_results_tokens,
        },
        tool_rounds: copilot.tool_rounds,
        recall_tokens: memory.recall.then_some(memory.recall_tokens),
        session_kept: Duration::from_secs(memory.hours_kept.saturating_mul(3600)),
        allowance: Allowance {
            requests_max: copilot.requests_max,
            tokens_max: copilot.tokens_max,
            cost_max,
        },
        answer_tokens_max: Some(config.models.answer_tokens_max).filter(|tokens| *tokens > 0),
        turn_time_max: Duration::from_secs(copilot.turn_seconds_max),
        traced: if config.telemetry.content { Content::Taken } else { Content::Left },
    })
}

#[cfg(test)]
mod tests {
    use agent::language::Language;

    use super::*;

    #[test]
    fn the_demo_has_a_menu_that_leads_somewhere() {
        let menu = read_menu(include_str!("../../../../examples/cloudcost/menu.toml")).unwrap();
        let found = menu.find("예산은 어디서 만드나요?", Language::Korean);
        assert_eq!(found.first().map(|link| link.link.as_str()), Some("/budgets"));
        assert!(read_menu("[[menu]]\nlink = 1").is_err());
        assert!(read_menu("[[menue]]").is_err());
    }

    #[test]
    fn prices_are_read_as_they_are_published() {
        let list = |lines: &[&str]| {
            prices(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
        };
        let prices = list(&["gpt-5-nano=0.05/0.005/0.40", "local=0/0"]).unwrap();
        let usage = agent::model::Usage { input: 1_000_000, ..Default::default() };
        assert_eq!(prices.cost("gpt-5-nano", &usage).unwrap().to_string(), "$0.050000");
        assert_eq!(prices.cost("local", &usage), Some(Cost::default()));
        for wrong in ["x", "x=", "x=1", "x=1/2/3/4", "x=-1/2", "x=a/b"] {
            assert!(list(&[wrong]).is_err(), "{wrong}");
        }
    }
}
