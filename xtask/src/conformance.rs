//! `cargo xtask conformance mcp`: the official suite against Saem as a server and as a client.

mod results;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::node::Peers;
use results::{Run, scenarios};

/// The suite's program among the packages, and the folder of its lists of what is required.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const REQUIREMENTS: &str = "@modelcontextprotocol/conformance/requirements";

/// Which half of Saem is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
}

impl Side {
    /// The suite's word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// What a whole run must bring. The suite ticks a scenario off whose checks were all skipped, so both numbers are
/// counted from what it wrote down.
pub(crate) struct Bar {
    pub(crate) side: Side,
    pub(crate) revision: &'static str,
    /// Scenarios that count towards conformance: all of them have to be run and to hold.
    pub(crate) scored: usize,
    /// Checks that hold, those of scenarios that do not count included.
    pub(crate) success_min: usize,
}

/// The runs, each with what the best that is known has reached: 48 and 69 scored scenarios for the two revisions.
const BARS: [Bar; 4] = [
    Bar { side: Side::Server, revision: "2025-11-25", scored: 30, success_min: 83 },
    Bar { side: Side::Server, revision: "2026-07-28", scored: 37, success_min: 196 },
    Bar { side: Side::Client, revision: "2025-11-25", scored: 18, success_min: 224 },
    Bar { side: Side::Client, revision: "2026-07-28", scored: 32, success_min: 408 },
];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options<'a> {
    side: Option<Side>,
    scenario: Option<&'a str>,
}

/// Builds Saem, runs the suite and says what came of it.
#[expect(clippy::print_stdout, reason = "a chore talks to the person who started it")]
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = options(arguments)?;
    let repository = crate::gate::root();
    let target = crate::python::target_folder(&repository)?;
    let peers = crate::node::peers(&crate::python::test_peers()?.join("node"))?;
    // With the tests that start it, as they are built with: alone it would be compiled another way, from the ground up.
    crate::bench::cargo(&repository, &["build", "--workspace", "--test", "it"])?;
    let bench =
        Bench { peers, saem: target.join("debug/saem"), output: target.join("conformance") };
    let mut faults = Vec::new();
    println!("{}", results::HEADING);
    for bar in BARS.iter().filter(|bar| options.side.is_none_or(|side| side == bar.side)) {
        let Some((run, succeeded)) = bench.run(bar, options.scenario)? else { continue };
        println!("{}", run.row(bar));
        for line in run.failures() {
            println!("    {line}");
        }
        if options.scenario.is_none() {
            faults.extend(run.faults(bar));
        }
        if !succeeded {
            faults.push(format!("{} {}: the suite is not content", bar.side.word(), bar.revision));
        }
    }
    ensure!(faults.is_empty(), "conformance:\n  {}", faults.join("\n  "));
    Ok(())
}

fn options<'a>(arguments: &[&'a str]) -> Result<Options<'a>> {
    let mut options = Options::default();
    let mut rest = arguments;
    loop {
        rest = match rest {
            [] => return Ok(options),
            ["--server", rest @ ..] => {
                options.side = Some(Side::Server);
                rest
            }
            ["--client", rest @ ..] => {
                options.side = Some(Side::Client);
                rest
            }
            ["--scenario", name, rest @ ..] => {
                options.scenario = Some(name);
                rest
            }
            [other, ..] => bail!("{other}: only --server, --client and --scenario NAME are known"),
        };
    }
}

/// Where things are.
struct Bench {
    peers: Peers,
    saem: PathBuf,
    output: PathBuf,
}

impl Bench {
    /// One run of the suite, and whether it was content; nothing if it does not know the scenario.
    fn run(&self, bar: &Bar, scenario: Option<&str>) -> Result<Option<(Run, bool)>> {
        let Bar { side, revision, .. } = bar;
        let list = self.peers.file(REQUIREMENTS).join(format!("{revision}.yaml"));
        let list = fs::read_to_string(&list)
            .with_context(|| format!("{} cannot be read", list.display()))?;
        if scenario.is_some_and(|name| !scenarios::are_there(&list, *side, name)) {
            return Ok(None);
        }
        let output = self.output.join(format!("{}-{revision}", side.word()));
        if output.exists() {
            fs::remove_dir_all(&output)?;
        }
        fs::create_dir_all(&output)?;
        let mut suite = self.peers.command(SUITE);
        suite.arg(side.word()).arg("-o").arg(&output);
        match scenario {
            Some(name) => suite.args(["--scenario", name, "--spec-version", revision]),
            None => suite.args(["--requirements", revision]),
        };
        let _server = match side {
            Side::Server => {
                let (server, url) = Server::start(&self.saem, &output)?;
                suite.args(["--url", &url]);
                Some(server)
            }
            Side::Client => {
                let saem =
                    self.saem.to_str().context("the path of the target folder is no text")?;
                suite.args(["--command", &format!("{saem} conformance mcp-client")]);
                None
            }
        };
        suite.stdin(Stdio::null());
        suite.stdout(File::create(output.join("suite.txt"))?);
        suite.stderr(File::create(output.join("suite-errors.txt"))?);
        let status = suite.status().context("the suite could not be started")?;
        let scored = scenarios::scored(&list, *side);
        Ok(Some((Run::read(&output, *side, &scored)?, status.success())))
    }
}

/// Saem with the suite's fixtures, until the value goes.
struct Server {
    child: Child,
}

impl Server {
    /// Starts it and waits for its address, the first line that it prints.
    fn start(saem: &Path, output: &Path) -> Result<(Self, String)> {
        let mut child = Command::new(saem)
            .args(["conformance", "mcp-server"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(output.join("server-errors.txt"))?)
            .spawn()
            .with_context(|| format!("{} could not be started", saem.display()))?;
        let stdout = child.stdout.take().context("the server has no standard output")?;
        let server = Self { child };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let url = line.trim().to_owned();
        ensure!(
            url.starts_with("http://"),
            "`saem conformance mcp-server` did not say where it listens: see {}",
            output.join("server-errors.txt").display()
        );
        Ok((server, url))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing left to do.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_and_a_scenario_can_be_chosen() {
        assert_eq!(options(&[]).unwrap(), Options::default());
        let chosen = options(&["--client", "--scenario", "auth/basic-cimd"]).unwrap();
        assert_eq!(chosen.side, Some(Side::Client));
        assert_eq!(chosen.scenario, Some("auth/basic-cimd"));
        assert!(options(&["--servers"]).is_err());
        assert!(options(&["--scenario"]).is_err());
    }

    #[test]
    fn the_scored_scenarios_are_those_of_the_two_revisions() {
        for (revision, expected) in [("2025-11-25", 48), ("2026-07-28", 69)] {
            let of_revision = BARS.iter().filter(|bar| bar.revision == revision);
            assert_eq!(of_revision.map(|bar| bar.scored).sum::<usize>(), expected, "{revision}");
        }
    }
}
