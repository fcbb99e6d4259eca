//! What it costs to stand between a caller and a server of tools: Saem as a host, and FastMCP's proxy.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::load::Request;
use super::{Contestant, SLOW_FACTOR, Size, TOOL, bare, contestant, served};
use crate::Places;
use crate::peer::Peer;
use crate::report::{median, rounded, say};
use crate::saem::Saem;

/// The server's name in Saem's configuration.
const SERVER: &str = "bare";

#[derive(Serialize)]
pub(super) struct Figures {
    /// A call that goes straight to the server.
    direct_p50_ms: f64,
    saem_p50_ms: f64,
    /// What a call takes longer through Saem, with identity, policy and the log of calls.
    pub(super) saem_hop_ms: f64,
    saem_cpu_us: f64,
    proxy: String,
    proxy_p50_ms: f64,
    proxy_hop_ms: f64,
    proxy_cpu_us: f64,
}

/// One round, one caller, in milliseconds and microseconds.
struct Round {
    direct_ms: f64,
    saem_ms: f64,
    saem_cpu_us: f64,
    proxy_ms: f64,
    proxy_cpu_us: f64,
}

/// Measures the same call straight to bare rmcp, through Saem and through FastMCP's proxy, in turns.
pub(super) fn run(
    places: &Places,
    work: &Path,
    material: &Path,
    call: &Request,
    size: &Size,
) -> Result<Figures> {
    let slow = (size.requests / SLOW_FACTOR).max(1);
    let direct = bare(material, slow)?;
    let url = format!("http://{}/mcp", direct.caller.address);
    let (saem, behind) = host(places, work, &url, slow)?;
    let arguments = [material, Path::new(&url)];
    let proxy = Peer::start(&places.python, "fastmcp_server.py", &arguments)?;
    // It makes a new connection for each call, and is slow in proportion.
    let proxy = contestant(proxy, (slow / SLOW_FACTOR).max(1))?;
    for (contestant, request) in [(&direct, call), (&saem, &behind), (&proxy, call)] {
        contestant.caller.play(request, SLOW_FACTOR, 1)?;
    }
    let mut rounds = Vec::new();
    for number in 1..=size.rounds {
        let (direct_ms, _) = alone(&direct, call)?;
        let (saem_ms, saem_cpu_us) = alone(&saem, &behind)?;
        let (proxy_ms, proxy_cpu_us) = alone(&proxy, call)?;
        say(&format!(
            "hop {number}: a call, ms: direct {direct_ms:.3}, Saem {saem_ms:.3}, {} {proxy_ms:.2}",
            proxy.name
        ));
        rounds.push(Round { direct_ms, saem_ms, saem_cpu_us, proxy_ms, proxy_cpu_us });
    }
    let middle = |figure: fn(&Round) -> f64| rounded(median(rounds.iter().map(figure).collect()));
    Ok(Figures {
        direct_p50_ms: middle(|round| round.direct_ms),
        saem_p50_ms: middle(|round| round.saem_ms),
        saem_hop_ms: middle(|round| round.saem_ms - round.direct_ms),
        saem_cpu_us: middle(|round| round.saem_cpu_us),
        proxy: proxy.name.clone(),
        proxy_p50_ms: middle(|round| round.proxy_ms),
        proxy_hop_ms: middle(|round| round.proxy_ms - round.direct_ms),
        proxy_cpu_us: middle(|round| round.proxy_cpu_us),
    })
}

/// The middle of the times that one caller waits, and the processor time of each call.
fn alone(contestant: &Contestant, request: &Request) -> Result<(f64, f64)> {
    let (cpu_us, played) = contestant.spent(request, 1)?;
    Ok((played.p50_ms, cpu_us))
}

/// Saem with the server behind it, and the call that reaches it.
fn host(places: &Places, work: &Path, url: &str, requests: usize) -> Result<(Contestant, Request)> {
    let data = work.join("host");
    std::fs::create_dir_all(&data)?;
    let servers = json!({ "mcpServers": { SERVER: { "url": url, "trust": "trusted" } } });
    std::fs::write(data.join("mcp.json"), servers.to_string())?;
    let saem = Saem { program: places.program.clone(), data, embedder: "none", model: None };
    saem.run(&["mcp".as_ref(), "accept".as_ref(), SERVER.as_ref()])?;
    let arguments = json!({ "section": "any" });
    let request = Request::behind(&format!("{SERVER}__{TOOL}"), &arguments);
    Ok((served(&saem, requests)?, request))
}
