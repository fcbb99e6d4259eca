//! `bench page`: the page opened by a browser that has nothing of it, again and again: how soon it can be used, and what it fetched.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::Places;
use crate::mcp::Packages;
use crate::peer::{Peer, number};
use crate::report::{judged, median, result, rounded, say, share_of};
use crate::saem::{Saem, fresh_folder};

/// From the beginning of a visit to a chat that can be used, at most.
const USABLE_MS_MAX: f64 = 500.0;

/// Bytes of a first visit, headers and answers of the API included, at most.
const BYTES_MAX: f64 = 150_000.0;

pub(crate) struct Size {
    pub(crate) visits: usize,
}

/// What was measured of one visit: its name in the browser's words.
const MEASURED: [&str; 6] =
    ["first_byte_ms", "dom_ready_ms", "usable_ms", "settled_ms", "requests", "bytes"];

#[derive(Serialize)]
struct Figures {
    bench: &'static str,
    browser: String,
    visits: usize,
    measured: Vec<Measured>,
}

#[derive(Serialize)]
struct Measured {
    what: &'static str,
    p50: f64,
    p95: f64,
}

pub(crate) fn run(places: &Places, packages: &Packages, size: &Size) -> Result<()> {
    let work = fresh_folder(&std::env::temp_dir())?;
    let data = work.path().join("data");
    let saem = Saem { program: places.program.clone(), data, embedder: "built-in", model: None };
    let server = saem.serve()?;
    let mut browser = browser(packages, &format!("http://{}", server.listen))?;
    let filled = browser.ask("fill")?;
    let name = filled.get("version").and_then(Value::as_str).context("a version")?.to_owned();
    // The browser itself starts slowly: its first visit is not what the page takes.
    browser.ask("visit")?;
    let visits = (0..size.visits).map(|_| browser.ask("visit"));
    let visits: Vec<Value> = visits.collect::<Result<_>>()?;
    let measured = MEASURED.iter().map(|what| Measured::of(what, &visits));
    let measured = measured.collect::<Result<Vec<_>>>()?;
    let figures = Figures { bench: "page", browser: name, visits: size.visits, measured };
    figures.compare();
    result(&figures)
}

fn browser(packages: &Packages, address: &str) -> Result<Peer> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/page_visits.mjs");
    let mut command = Command::new(&packages.node);
    command.arg(script).arg(address).arg(&packages.folder).env("NO_PROXY", "*");
    Peer::of(command)
}

impl Measured {
    fn of(what: &'static str, visits: &[Value]) -> Result<Self> {
        let all = visits.iter().map(|visit| number(visit, what));
        let all: Vec<f64> = all.collect::<Result<_>>()?;
        Ok(Self { what, p95: rounded(share_of(&all, 0.95)), p50: rounded(median(all)) })
    }
}

impl Figures {
    /// Says how the figures stand to what is wanted of them.
    fn compare(&self) {
        for Measured { what, p50, p95 } in &self.measured {
            say(&format!("{what}: {p50} in the middle, {p95} at the 95th percentile"));
            match *what {
                "usable_ms" => judged(what, *p95, *p95 <= USABLE_MS_MAX, "p95 at most 500"),
                "bytes" => judged(what, *p95, *p95 <= BYTES_MAX, "p95 at most 150,000"),
                _ => {}
            }
        }
    }
}
