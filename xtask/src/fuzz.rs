//! Runs a fuzz target: builds it with coverage, feeds it for a while, and keeps what it learnt if asked to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::gate::root;

/// What can be fuzzed: a program in `fuzz/`, a corpus and a dictionary of that name each.
const TARGETS: [&str; 2] = ["chunker", "html"];

/// How long a target runs unless it is said otherwise: long enough to meet what a change has just broken.
const SECONDS: u32 = 60;

/// Longest input, in bytes: longer ones are slower and seldom find more.
const INPUT_BYTES_MAX: usize = 4096;

/// An input that takes longer is a hang: the slowest take milliseconds, but the machine may be busy with other things.
const HANG_SECONDS: u32 = 30;

const MEBIBYTES_MAX: u32 = 2048;

/// Coverage as libFuzzer wants it, which stable Rust can give; `fuzzing` makes `extract::checks` public.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
struct Order<'a> {
    targets: Vec<&'a str>,
    seconds: u32,
    /// Adds inputs that reach something new to the committed corpus.
    keeps: bool,
}

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let order = order(arguments)?;
    if Command::new("c++").arg("--version").output().is_err() {
        bail!(
            "fuzzing needs a C++ compiler for libFuzzer: install g++ or clang, so that there is a c++"
        );
    }
    let programs = build()?;
    for target in order.targets {
        fuzz(target, &programs.join(target), order.seconds)?;
        if order.keeps {
            keep(target, &programs.join(target))?;
        }
    }
    Ok(())
}

fn order<'a>(arguments: &[&'a str]) -> Result<Order<'a>> {
    let mut order = Order { targets: Vec::new(), seconds: SECONDS, keeps: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--keep" => order.keeps = true,
            "--seconds" => {
                let seconds = arguments.next().and_then(|text| text.parse().ok());
                order.seconds = seconds.context("--seconds wants a number, such as 600")?;
            }
            target if TARGETS.contains(&target) => order.targets.push(target),
            other => bail!("there is no fuzz target {other}: choose {}", TARGETS.join(" or ")),
        }
    }
    if order.targets.is_empty() {
        order.targets = TARGETS.to_vec();
    }
    Ok(order)
}

/// Builds all targets; gives the folder they are in.
fn build() -> Result<PathBuf> {
    let about = Command::new("rustc").arg("-vV").output().context("rustc could not be started")?;
    let about = String::from_utf8_lossy(&about.stdout).into_owned();
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not say what it builds for")?;
    // A named target keeps the flags away from build scripts, which have nobody to count for.
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "--target", host])
        .current_dir(root().join("fuzz"))
        .env("RUSTFLAGS", RUSTFLAGS)
        .status()
        .context("cargo could not be started")?;
    if !status.success() {
        bail!("the fuzz targets cannot be built");
    }
    Ok(root().join("fuzz/target").join(host).join("release"))
}

fn fuzz(target: &str, program: &Path, seconds: u32) -> Result<()> {
    let fuzz = root().join("fuzz");
    let (found, artifacts) = (found(target), fuzz.join("artifacts").join(target));
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&artifacts)?;
    let seeds = write_seeds(target)?;
    let status = Command::new(program)
        .arg(&found)
        .arg(committed(target))
        .args(seeds)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-timeout={HANG_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEBIBYTES_MAX}"))
        .arg(format!("-dict={}", fuzz.join(format!("{target}.dict")).display()))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        .status()
        .with_context(|| format!("{} could not be started", program.display()))?;
    if !status.success() {
        bail!(
            "{target}: an input breaks it; it is the newest file in {}: make it a test, then mend what it breaks",
            artifacts.display()
        );
    }
    Ok(())
}

/// Adds to the committed corpus what reaches something that it does not, as little as does it.
fn keep(target: &str, program: &Path) -> Result<()> {
    let status = Command::new(program)
        .arg("-set_cover_merge=1")
        .arg(committed(target))
        .arg(found(target))
        .status()
        .with_context(|| format!("{} could not be started", program.display()))?;
    if !status.success() {
        bail!("{target}: the corpus could not be merged");
    }
    Ok(())
}

/// Where inputs go that reached something new.
fn found(target: &str) -> PathBuf {
    root().join("fuzz/target/found").join(target)
}

fn committed(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

/// The demo's documents, with the bytes in front that choose how they are read and split.
fn write_seeds(target: &str) -> Result<Option<PathBuf>> {
    if target != "chunker" {
        return Ok(None);
    }
    let folder = root().join("fuzz/target/seeds").join(target);
    fs::create_dir_all(&folder)?;
    let demo = root().join("examples/cloudcost");
    for (from, kind) in [("guides/ko", 0), ("guides/en", 0), ("faq", 3)] {
        for entry in fs::read_dir(demo.join(from))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            let mut seed = vec![kind, 160, 160];
            seed.extend(fs::read(&path)?.into_iter().take(INPUT_BYTES_MAX - 3));
            fs::write(folder.join(from.replace('/', "-") + &name.to_string_lossy()), seed)?;
        }
    }
    Ok(Some(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fuzzed_and_for_how_long_is_said_in_words() {
        let both = Order { targets: TARGETS.to_vec(), seconds: SECONDS, keeps: false };
        assert_eq!(order(&[]).unwrap(), both);
        let html = Order { targets: vec!["html"], seconds: 600, keeps: true };
        assert_eq!(order(&["html", "--seconds", "600", "--keep"]).unwrap(), html);
        assert!(order(&["--seconds", "soon"]).is_err());
        assert!(order(&["pdf"]).unwrap_err().to_string().contains("chunker or html"));
    }

    #[test]
    fn every_target_has_a_program_a_corpus_and_a_dictionary() {
        for target in TARGETS {
            assert!(root().join(format!("fuzz/src/{target}.rs")).is_file());
            assert!(root().join(format!("fuzz/{target}.dict")).is_file());
            assert!(fs::read_dir(committed(target)).unwrap().count() > 20);
        }
    }
}
