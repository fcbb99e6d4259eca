//! `saem serve` and `saem demo`: the server, from its first connection to its last.

mod door;
mod ready;

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agent::identity::Principal;
use agent::menu::Menu;
use agent::ports::{Fetched, Keys, Later};
use anyhow::{Context, Result, bail};
use engine::agents::serving::TaskService;
use engine::catalogue::Catalogue;
use engine::chat::Copilot;
use engine::research::Research;
use engine::tools::Host;
use engine::{NewDocument, Outcome};
use server::api::{self, Api, ApiParts};
use server::identity::jwks::JwksSource;
use server::identity::jwt::{Jwt, JwtSettings};
use server::identity::{Identity, Mode};
use server::limits::{Limits, Rate};
use server::mcp::{self, Mcp};
use server::metrics::{ChatMetrics, Metrics};
use server::routes::{Access, Table};
use server::{Parts, Server, Settings, Strands};
use store::{Health, Store};
use tokio_util::sync::CancellationToken;

use self::door::Door;
use self::ready::{IndexReady, StoreReady};
use super::demo_files::{self, DEMO_FILES, DEMO_MENU};
use super::doctor::Patient;
use crate::config::{self, Config};
use crate::output::Output;
use crate::system::{StopSignals, SystemClock, SystemEntropy};
use crate::wiring::a2a::{Audience, Wired};
use crate::wiring::{self, Installation, copilot};

/// A port that nobody has, on this machine alone.
const ANY_PORT: &str = "127.0.0.1:0";

/// Threads of a strand for what takes a moment: more than look-ups of names may hold up together, which leaves one to others.
const WORKING_THREADS_PER_STRAND: usize = 4;

/// Requests of a kit in a minute: it runs on this machine, and nobody else is served.
const KIT_REQUESTS_PER_MINUTE_MAX: u32 = 600_000;

/// Serves until it is asked to stop.
pub(crate) async fn serve(config: Config, output: &Output) -> Result<ExitCode> {
    let installation = Installation::open(&config).await?;
    let door = Door::open(&config, &installation).await?;
    let (folder, address) = (installation.folder.display(), door.address);
    let scheme = if door.tls.is_some() { "https" } else { "http" };
    output.line(&format!("saem serves {folder} on {scheme}://{address}"))?;
    let menu = copilot::menu(&config)?;
    Box::pin(run(config, installation, door, menu, Purpose::Callers)).await
}

/// Serves until it is asked to stop, and says where MCP clients find it.
pub(super) async fn serve_mcp(config: Config, output: &Output) -> Result<ExitCode> {
    let installation = Installation::open(&config).await?;
    let door = Door::open(&config, &installation).await?;
    output.line(&format!("saem serves MCP on http://{}/mcp", door.address))?;
    output.json(&serde_json::json!({ "url": format!("http://{}/mcp", door.address) }))?;
    let menu = copilot::menu(&config)?;
    Box::pin(run(config, installation, door, menu, Purpose::Callers)).await
}

/// Serves one MCP client on standard input and output, on a folder that is ours. Other commands, and other clients, find
/// it as they find any server.
pub(super) async fn serve_pipes(mut config: Config, store: Store) -> Result<ExitCode> {
    ANY_PORT.clone_into(&mut config.server.listen);
    let installation = Installation::on(&config, store).await?;
    let door = Door::open(&config, &installation).await?;
    let menu = copilot::menu(&config)?;
    Box::pin(run(config, installation, door, menu, Purpose::Pipes)).await
}

/// Serves the conformance suite on a free port, and says where on the first line.
pub(super) async fn serve_suite(mut config: Config, output: &Output) -> Result<ExitCode> {
    ANY_PORT.clone_into(&mut config.server.listen);
    let installation = Installation::open(&config).await?;
    let door = Door::open(&config, &installation).await?;
    output.line(&format!("http://{}/mcp", door.address))?;
    let menu = copilot::menu(&config)?;
    Box::pin(run(config, installation, door, menu, Purpose::Conformance)).await
}

/// Serves kits for A2A on a free port, and says where on the first line.
pub(super) async fn serve_kit(mut config: Config, output: &Output) -> Result<ExitCode> {
    ANY_PORT.clone_into(&mut config.server.listen);
    // A kit asks more often than callers should.
    config.server.requests_per_minute_max = KIT_REQUESTS_PER_MINUTE_MAX;
    config.a2a.enabled = true;
    let installation = Installation::open(&config).await?;
    let door = Door::open(&config, &installation).await?;
    output.line(&format!("http://{}{}", door.address, server::a2a::PATH))?;
    let menu = copilot::menu(&config)?;
    Box::pin(run(config, installation, door, menu, Purpose::Kit)).await
}

/// Loads the demo's documents, if they are not there yet, and serves them.
pub(crate) async fn demo(mut config: Config, output: &Output) -> Result<ExitCode> {
    if config.data.folder.is_empty() {
        let folder = config::platform_folder()?.join("saem-demo");
        config.data.folder = folder.display().to_string();
    }
    let installation = Installation::open(&config).await?;
    let door = Door::open(&config, &installation).await?;
    load_demo(&installation, output).await?;
    let address = door.address;
    output.line(&format!(
        "Saem answers on http://{address} from the documents of Nubi, an invented cloud-cost product.\n\n\
         Open http://{address} in a browser, or try, in another terminal:\n  \
         saem ask --server http://{address} 남은 예산을 다음 달로 이월할 수 있나요?\n  \
         saem chat --server http://{address}\n  \
         curl http://{address}/v1/chat/completions -H 'content-type: application/json' \\\n    \
         -d '{{\"messages\": [{{\"role\": \"user\", \"content\": \"how is idle cost shared in Kubernetes?\"}}]}}'\n  \
         curl --get http://{address}/api/search --data-urlencode 'q=웹훅 서명은 어떻게 검증하나요?' -d explain=true\n\n\
         Your own documents: saem ingest PATH, then saem serve. Ctrl-C ends this."
    ))?;
    let menu = if config.copilot.menu.is_empty() {
        copilot::read_menu(DEMO_MENU)?
    } else {
        copilot::menu(&config)?
    };
    Box::pin(run(config, installation, door, menu, Purpose::Callers)).await
}

async fn load_demo(installation: &Installation, output: &Output) -> Result<()> {
    let (knowledge, owner) = (&installation.knowledge, Principal::local_owner());
    let bar = output.progress(DEMO_FILES.len() as u64, "documents");
    for file in DEMO_FILES {
        let new = NewDocument {
            collection: file.collection.parse()?,
            source: file.source.to_owned(),
            bytes: file.bytes.to_vec(),
            media_type: None,
            doc_type: None,
            mapping: None,
            updated_at: None,
            accepted: None,
        };
        if let Outcome::Failed { reason } = knowledge.ingest(&owner, new).await?.outcome {
            bail!("the demo's {}: {reason}", file.source);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(output.while_indexing(knowledge.indexed(&owner.tenant, None)).await?)
}

/// What a server is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Callers,
    /// One MCP client on standard input and output, and whoever calls besides; it ends with that client.
    Pipes,
    /// The conformance suite, which finds what it looks for besides our own.
    Conformance,
    /// A kit for A2A, whose messages say what becomes of them.
    Kit,
}

async fn run(
    config: Config,
    installation: Installation,
    door: Door,
    menu: Menu,
    purpose: Purpose,
) -> Result<ExitCode> {
    let metrics = Arc::new(Metrics::default());
    let watcher = Arc::new(ChatMetrics::new(Arc::clone(&metrics)));
    let (host, _) = wiring::tools::host(&config, &installation).await?;
    let tools = Some(host.clone());
    let copilot = copilot::copilot(&config, &installation, tools, menu, watcher).await?;
    let catalogue = wiring::catalogue::catalogue(&config, &installation).await?;
    let callees = (host.clone(), catalogue.clone());
    let research = wiring::research::service(&config, &installation, callees).await?;
    let known = (copilot.clone(), research.clone(), catalogue.clone());
    let parts = wiring::mcp::parts(&config, &installation, known)?;
    let mcp = match purpose {
        Purpose::Callers | Purpose::Pipes | Purpose::Kit => Mcp::new(parts)?,
        Purpose::Conformance => Mcp::under_test(parts)?,
    };
    let audience = if purpose == Purpose::Kit { Audience::Kit } else { Audience::Callers };
    let known = (copilot.clone(), research.clone());
    let wired = wiring::a2a::agent(&config, &installation, known, audience).await?;
    let identity = identity(&config, &installation, door.address.ip(), purpose).await?;
    let identity = identity.with_owner(&door.token).with_visits(Arc::new(SystemEntropy));
    let ways = Ways {
        copilot: copilot.clone(),
        research: research.clone(),
        mcp: &mcp,
        host,
        catalogue: catalogue.clone(),
        wired: &wired,
    };
    // They end last: when nobody goes on with what a request has begun.
    let strands = Strands::start(crate::processors(), WORKING_THREADS_PER_STRAND)
        .context("the threads of the server cannot be started")?;
    let server = server(&config, &installation, identity, metrics, ways)?.in_strands(&strands);
    let Door { listener, own_listener, tls, announced, .. } = door;
    take_up(&installation, &copilot, &wired, &research).await?;
    let stop = CancellationToken::new();
    watch_signals(&installation, stop.clone())?;
    watch_store(&installation, stop.clone());
    clean_up_nightly(&config, &installation, copilot, wired.service.clone());
    catalogue.keep_checking();
    let own = async {
        match own_listener {
            Some(listener) => server.serve(listener, stop.clone()).await.cut,
            None => 0,
        }
    };
    // Nobody is sent to a server that is ending.
    let hide = async {
        stop.cancelled().await;
        drop(announced);
    };
    let pipes = async {
        if purpose == Purpose::Pipes {
            let talked = tokio::select! {
                talked = mcp::serve_stdio(&mcp, Principal::local_owner()) => talked,
                () = stop.cancelled() => Ok(()),
            };
            stop.cancel();
            return talked;
        }
        Ok(())
    };
    let serving = server.serve_with(listener, tls, stop.clone());
    let (drained, own_cut, (), talked) = tokio::join!(serving, own, hide, pipes);
    let cut = drained.cut + own_cut;
    if cut > 0 {
        tracing::warn!(cut, "some connections did not end in time and were cut");
    }
    let is_broken = matches!(*installation.store.health().borrow(), Health::Broken(_));
    installation.close().await;
    talked?;
    Ok(if is_broken { ExitCode::from(70) } else { ExitCode::SUCCESS })
}

/// Goes on with what the last process has left.
async fn take_up(
    installation: &Installation,
    copilot: &Copilot,
    wired: &Wired,
    research: &Research,
) -> Result<()> {
    installation.knowledge.resume().await?;
    copilot.resume().await?;
    wired.service.resume().await?;
    Ok(research.resume().await?)
}

/// What stands behind the ways in.
struct Ways<'a> {
    copilot: Copilot,
    research: Research,
    mcp: &'a Mcp,
    host: Host,
    catalogue: Catalogue,
    wired: &'a Wired,
}

fn server(
    config: &Config,
    installation: &Installation,
    identity: Identity,
    metrics: Arc<Metrics>,
    ways: Ways<'_>,
) -> Result<Server> {
    let Ways { copilot, research, mcp, host, catalogue, wired } = ways;
    let upload_bytes_max = (config.server.body_mebibytes_max as u64) << 20;
    let settings = Settings {
        limits: limits(config),
        hosts: config.server.hosts.clone(),
        origins: config.server.origins.clone(),
        networks: config
            .server
            .networks
            .iter()
            .map(|rule| rule.parse())
            .collect::<Result<_, _>>()
            .context("server.networks")?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let parts = Parts {
        identity,
        metrics,
        ready: vec![
            Arc::new(StoreReady(installation.store.clone())),
            Arc::new(IndexReady(installation.knowledge.clone())),
        ],
    };
    let mut routes = api::routes(upload_bytes_max);
    routes.extend(mcp::routes(mcp));
    if config.mcp.sse {
        routes.extend(mcp::sse_routes(mcp, Arc::new(SystemEntropy)));
    }
    if config.a2a.enabled {
        routes.extend(server::a2a::routes(&wired.agent));
    }
    let table = Table::new(routes, Access::Needs(agent::identity::Scope::Admin))?;
    let api = ApiParts {
        knowledge: installation.knowledge.clone(),
        keys: wiring::keyring(&installation.store),
        copilot,
        research,
        tasks: installation.tasks().clone(),
        host,
        desk: wiring::tools::desk(config),
        doctor: Arc::new(Patient::of(config, installation)),
        samples: demo_files::samples(),
        catalogue,
        registry_address: wiring::catalogue::address(config)?,
        is_agent: config.a2a.enabled,
    };
    Ok(Server::new(settings, parts, table, Api::from(api))?)
}

fn limits(config: &Config) -> Limits {
    let server = &config.server;
    let per_second = f64::from(server.requests_per_minute_max) / 60.0;
    Limits {
        connections_max: server.connections_max,
        connections_per_address_max: server.connections_per_address_max,
        head_wait_max: Duration::from_secs(server.header_seconds_max),
        keep_alive_max: Duration::from_secs(server.idle_seconds_max),
        drain_max: Duration::from_secs(server.drain_seconds_max),
        caller_rate: Rate { per_second, burst: server.requests_per_minute_max.div_ceil(10).max(1) },
        caller_requests_max: server.requests_at_once_max,
        ..Limits::default()
    }
}

/// On loopback without keys there is one owner; everywhere else everybody says who they are.
async fn identity(
    config: &Config,
    installation: &Installation,
    address: IpAddr,
    purpose: Purpose,
) -> Result<Identity> {
    let has_keys = installation.store.has_keys().await?;
    let has_issuer = !config.auth.jwt_issuer.is_empty();
    if !address.is_loopback() && !has_keys && !has_issuer {
        bail!(
            "{address} can be reached by others, and nobody would be asked who they are: \
             make a key first with `saem key create --scopes admin`"
        );
    }
    // Whoever starts a client does not expect to open a port for everybody on the machine.
    let is_open = address.is_loopback() && !has_issuer && purpose != Purpose::Pipes;
    let mode = if is_open { Mode::LocalOwner } else { Mode::Required };
    let keys = Arc::new(installation.store.clone());
    let identity = Identity::new(mode, keys, Arc::new(SystemClock));
    if !has_issuer {
        return Ok(identity);
    }
    if config.auth.jwks_url.is_empty() || config.auth.jwt_audience.is_empty() {
        bail!("auth.jwt_issuer is set: auth.jwks_url and auth.jwt_audience are needed too");
    }
    let mut settings =
        JwtSettings::new(config.auth.jwt_issuer.clone(), config.auth.jwt_audience.clone());
    settings.tenant_claim.clone_from(&config.auth.tenant_claim);
    settings.scope_claim.clone_from(&config.auth.scope_claim);
    if !config.auth.resource.is_empty() {
        let is_web = ["https://", "http://"].iter().any(|it| config.auth.resource.starts_with(it));
        if !is_web || config.auth.resource.contains(['"', '?', '#', ' ']) {
            bail!("auth.resource is no address such as https://saem.example.com");
        }
        settings.resource = Some(config.auth.resource.clone());
    }
    let source = Arc::new(FetchedKeys {
        pages: installation.pages(),
        address: config.auth.jwks_url.clone(),
    });
    Ok(identity.with_jwt(Jwt::new(settings, source)?))
}

/// The issuer's keys, through the egress guard like everything else from outside.
struct FetchedKeys {
    pages: Arc<dyn agent::ports::Pages>,
    address: String,
}

impl JwksSource for FetchedKeys {
    fn fetch(&self) -> Later<'_, Vec<u8>> {
        Box::pin(async {
            let Fetched { bytes, .. } = self.pages.fetch(&self.address).await?;
            Ok(bytes)
        })
    }
}

/// The first signal ends things in good order, the second at once.
fn watch_signals(installation: &Installation, stop: CancellationToken) -> Result<()> {
    let mut signals = StopSignals::heard().context("the signals to stop cannot be heard")?;
    let done = installation.tasks().stopping();
    installation.tasks().spawn(async move {
        tokio::select! {
            () = done.cancelled() => return,
            () = signals.asked() => stop.cancel(),
        }
        tracing::info!("stopping; a second signal ends at once");
        tokio::select! {
            () = done.cancelled() => {}
            () = signals.asked() => {
                #[expect(clippy::exit, reason = "whoever asks twice does not want to wait")]
                std::process::exit(130);
            }
        }
    });
    Ok(())
}

/// A store that broke cannot be trusted any more: the process ends, and the next one opens what is on disk.
fn watch_store(installation: &Installation, stop: CancellationToken) {
    let (mut health, done) = (installation.store.health(), installation.tasks().stopping());
    installation.tasks().spawn(async move {
        let is_broken = |health: &Health| matches!(health, Health::Broken(_));
        tokio::select! {
            () = done.cancelled() => {}
            broken = health.wait_for(is_broken) => {
                if broken.is_ok() {
                    tracing::error!("the store is broken; ending, so that the next start can mend it");
                    stop.cancel();
                }
            }
        }
    });
}

/// Cleans up once a day, at the hour of the configuration.
fn clean_up_nightly(
    config: &Config,
    installation: &Installation,
    copilot: Copilot,
    service: TaskService,
) {
    let hour = config.cleanup.hour;
    if hour > 23 {
        return;
    }
    let (knowledge, done) = (installation.knowledge.clone(), installation.tasks().stopping());
    installation.tasks().spawn(async move {
        loop {
            tokio::select! {
                () = done.cancelled() => return,
                () = tokio::time::sleep(until(hour)) => {}
            }
            match knowledge.clean_up().await {
                Ok(report) => tracing::info!(?report, "cleaned up"),
                Err(error) => tracing::warn!(%error, "the nightly clean-up did not come to an end"),
            }
            if let Err(error) = copilot.sweep().await {
                tracing::warn!(%error, "expired conversations were not swept up");
            }
            if let Err(error) = service.forget_expired().await {
                tracing::warn!(%error, "expired tasks of other agents were not swept up");
            }
        }
    });
}

/// From now to the next time that it is `hour` o'clock in UTC.
fn until(hour: u8) -> Duration {
    const DAY: u64 = 86_400;
    let now = agent::ports::Clock::now(&SystemClock).0 / 1000 % DAY;
    let then = u64::from(hour) * 3600;
    Duration::from_secs(if then > now { then - now } else { then + DAY - now })
}
