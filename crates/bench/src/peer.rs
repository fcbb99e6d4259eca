//! A peer: a program, mostly in Python, that does one thing for each line it is given, and answers in JSON.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A running peer; it ends with this value.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts one of the programs in `peers/`.
    pub(crate) fn start(python: &Path, name: &str, arguments: &[&Path]) -> Result<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
        let mut command = Command::new(python);
        // One thread each: that is what is compared.
        command.arg(&program).args(arguments).env("OMP_NUM_THREADS", "1");
        Self::of(command).with_context(|| format!("{} {}", python.display(), program.display()))
    }

    /// Starts a program that keeps to the same form.
    pub(crate) fn of(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        Ok(Self { child, input, output })
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Gives it a line and waits for the answer.
    pub(crate) fn ask(&mut self, line: &str) -> Result<Value> {
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            bail!("the peer has ended; what it wrote above says why");
        }
        serde_json::from_str(&answer).with_context(|| format!("the peer said {answer}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The other end, for peers that are in this program: gives the same answer to each line until there is nobody to give it to.
pub(crate) fn answer_lines(answer: &Value) {
    for _line in std::io::stdin().lock().lines() {
        let mut output = std::io::stdout().lock();
        // Nobody is there any more to whom it could be said.
        _ = writeln!(output, "{answer}").and_then(|()| output.flush());
    }
}

/// A text of an answer.
pub(crate) fn text(answer: &Value, name: &str) -> Result<String> {
    let text = answer.get(name).and_then(Value::as_str);
    Ok(text.with_context(|| format!("{name} in {answer}"))?.to_owned())
}

/// A number of an answer.
pub(crate) fn number(answer: &Value, name: &str) -> Result<f64> {
    answer.get(name).and_then(Value::as_f64).with_context(|| format!("{name} in {answer}"))
}
