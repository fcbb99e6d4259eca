//! A Saem of its own for each test: a data folder, commands on it, and a server when it is needed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

/// How long a test waits for anything: far more than it takes, so that only a hang ends here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file beside the data folder and gives its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join("files").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The folder that [`Self::file`] writes into.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saem"));
        command.args(arguments).arg("--data").arg(self.data()).env_remove("SAEM_DATA");
        // Whoever runs the tests may have a model running.
        command.env("SAEM_MODELS_DISCOVER", "false");
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a command to its end, with more of an environment.
    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied()).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts a command and leaves it running; it is killed when the value goes.
    pub(crate) fn start(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Child {
        let mut command = tokio::process::Command::from(self.command(arguments));
        command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
    }

    /// Starts a command that talks on its standard input and output; it is killed when the value goes.
    pub(crate) fn start_piped(&self, arguments: &[&str]) -> Child {
        let mut command = tokio::process::Command::from(self.command(arguments));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command.kill_on_drop(true).spawn().unwrap()
    }

    /// Runs a command without a data folder, with more of an environment.
    pub(crate) fn run_bare(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saem"));
        command.args(arguments).env_remove("SAEM_DATA").env("HOME", self.folder.path());
        command.envs(environment.iter().copied()).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a command with `input` on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let file = self.file("standard-input", input);
        let input = std::fs::File::open(file).unwrap();
        self.command(arguments).stdin(input).output().unwrap()
    }

    /// Runs a command that must succeed and gives what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = shown(&output);
        assert!(output.status.success(), "saem {arguments:?}: {text}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must succeed and gives the JSON values it printed.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let arguments = [arguments, &["--json"]].concat();
        let text = self.ok(&arguments);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs a command that must fail and gives its error.
    #[track_caller]
    pub(crate) fn error(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "saem {arguments:?}: {}", shown(&output));
        shown(&output)
    }

    /// Starts a server on a free port; it is killed when the value goes.
    pub(crate) async fn serve(&self) -> Served {
        self.serve_with(&[]).await
    }

    /// Starts a server with more of an environment.
    pub(crate) async fn serve_with(&self, environment: &[(&str, &str)]) -> Served {
        let mut command =
            tokio::process::Command::from(self.command(&["serve", "--listen", "127.0.0.1:0"]));
        command.envs(environment.iter().copied());
        Served::start(command).await
    }

    /// Starts a server that reads its settings from this text, too.
    pub(crate) async fn serve_configured(
        &self,
        settings: &str,
        environment: &[(&str, &str)],
    ) -> Served {
        let file = self.file("saem.toml", settings);
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
        let mut command = tokio::process::Command::from(self.command(&arguments));
        command.envs(environment.iter().copied());
        Served::start(command).await
    }
}

/// Both outputs of a command, for messages.
pub(crate) fn shown(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// A running server.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) client: reqwest::Client,
}

impl Served {
    pub(crate) async fn start(mut command: tokio::process::Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
        let line = line.expect("the server says where it listens");
        let address = line.rsplit(' ').next().unwrap().to_owned();
        _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { child, address, client }
    }

    /// Kills it and waits until it is gone: a command that comes sooner still finds its address.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.client.get(self.url(path)).send().await.unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        answer(self.client.delete(self.url(path)).send().await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        answer(self.client.post(self.url(path)).json(body).send().await.unwrap()).await
    }

    /// Puts a document in and waits until it is found or failed; gives the job.
    pub(crate) async fn add(&self, body: &Value) -> Value {
        let (status, job) = self.post("/api/documents", body).await;
        assert_eq!(status, 202, "{job}");
        self.finished(job["id"].as_str().unwrap()).await
    }

    /// Asks for a job until it is finished.
    pub(crate) async fn finished(&self, id: &str) -> Value {
        let waiting = async {
            loop {
                let (status, job) = self.get(&format!("/api/jobs/{id}")).await;
                assert_eq!(status, 200, "{job}");
                if job["state"] != "waiting" {
                    return job;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("the job comes to an end")
    }

    /// Asks and waits for the end of the answer; gives all that was told, by its name.
    pub(crate) async fn ask(&self, body: &Value) -> Vec<(String, Value)> {
        let response = self.client.post(self.url("/api/chat")).json(body).send().await.unwrap();
        assert_eq!(response.status(), 200, "{body}");
        let text = tokio::time::timeout(PATIENCE, response.text()).await.unwrap().unwrap();
        events(&text)
    }

    /// The turn that an answer is.
    pub(crate) async fn turn(&self, question: &str, session: &str) -> Value {
        let told = self.ask(&serde_json::json!({ "question": question, "session": session })).await;
        let (name, turn) = told.last().unwrap().clone();
        assert_eq!(name, "done", "{turn}");
        turn
    }

    /// The texts that a search finds.
    pub(crate) async fn search(&self, words: &str) -> Vec<String> {
        let words: String = words.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/search?q={words}");
        let (mut status, mut body) = self.get(&path).await;
        // Whoever asks until something is found may ask more often than callers should.
        while status == 429 {
            tokio::task::yield_now().await;
            (status, body) = self.get(&path).await;
        }
        assert_eq!(status, 200, "{body}");
        let passages = body["passages"].as_array().unwrap();
        passages.iter().map(|passage| passage["text"].as_str().unwrap().to_owned()).collect()
    }
}

/// Status and JSON body; an empty body is null.
pub(crate) async fn answer(response: reqwest::Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body =
        if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect(&text) };
    (status, body)
}

/// The demo's documents in the source tree.
pub(crate) fn cloudcost() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cloudcost")
}

/// The named events of a stream.
pub(crate) fn events(text: &str) -> Vec<(String, Value)> {
    let line = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned))
    };
    let named = |event: &str| {
        let data = line(event, "data: ")?;
        Some((line(event, "event: ")?, serde_json::from_str(&data).expect(&data)))
    };
    text.split("\n\n").filter_map(named).collect()
}
