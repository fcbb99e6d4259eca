//! Real Redis servers of a test's own, alone or as a cluster: on free ports, in a folder that goes with them.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// How long a server or a cluster may take until it is ready; a machine that is busy with other tests is slow.
const READY_TIME_MAX: Duration = Duration::from_secs(30);

/// How often is looked whether it is.
const POLL_TIME: Duration = Duration::from_millis(10);

/// How often another port is tried: between finding a free one and taking it, somebody else may.
const PORTS_TRIED_MAX: u32 = 5;

/// Slots of a cluster.
const SLOTS: usize = 16_384;

/// A Redis server; it is killed, and what it wrote deleted, when this is dropped.
pub struct RedisServer {
    child: Child,
    port: u16,
    /// Where nodes of a cluster talk to each other.
    bus_port: Option<u16>,
    options: Vec<String>,
    folder: TempDir,
}

impl RedisServer {
    /// Starts a server that logs its writes, and has them on disk a second or two later.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts it with these options besides, as on the command line.
    pub async fn start_with(options: &[&str]) -> Self {
        Self::launch(options, false).await
    }

    async fn launch(options: &[&str], is_node: bool) -> Self {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        for _ in 0..PORTS_TRIED_MAX {
            let folder = tempfile::tempdir().unwrap();
            let (port, bus_port) = (free_port(), is_node.then(free_port));
            let child = spawn(port, bus_port, &options, &folder);
            let mut server = Self { child, port, bus_port, options: options.clone(), folder };
            if server.is_ready_in_time().await {
                return server;
            }
        }
        panic!("redis-server did not start on any of {PORTS_TRIED_MAX} ports");
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills it without a warning, as a crash would.
    pub fn kill(&mut self) {
        _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Starts it again where it was, with what it had written.
    pub async fn revive(&mut self) {
        self.child = spawn(self.port, self.bus_port, &self.options, &self.folder);
        assert!(self.is_ready_in_time().await, "redis-server did not start again");
    }

    /// Kills it and starts it again.
    pub async fn restart(&mut self) {
        self.kill();
        self.revive().await;
    }

    /// The answer to a command, on a connection of its own: the lines of a list, or the one value.
    pub async fn ask(&self, words: &[&str]) -> String {
        let answer = tokio::time::timeout(READY_TIME_MAX, ask(self.port, words)).await;
        answer.unwrap_or_else(|_| panic!("no answer to {words:?}")).unwrap()
    }

    /// False if it has ended instead.
    async fn is_ready_in_time(&mut self) -> bool {
        let ready = async {
            while !answers(self.port).await {
                if self.child.try_wait().unwrap().is_some() {
                    return false;
                }
                tokio::time::sleep(POLL_TIME).await;
            }
            true
        };
        tokio::time::timeout(READY_TIME_MAX, ready).await.unwrap_or(false)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Starts a cluster of so many primaries, each with these options and its share of the slots.
pub async fn cluster(nodes: usize, options: &[&str]) -> Vec<RedisServer> {
    let mut servers = Vec::new();
    for _ in 0..nodes {
        let options = [&["--cluster-enabled", "yes"], options].concat();
        servers.push(RedisServer::launch(&options, true).await);
    }
    let (first_port, first_bus) = (servers[0].port, servers[0].bus_port.unwrap());
    for (place, server) in servers.iter().enumerate() {
        let (first, last) = (place * SLOTS / nodes, (place + 1) * SLOTS / nodes - 1);
        let (first, last) = (first.to_string(), last.to_string());
        assert_eq!(server.ask(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await, "OK");
        // Each its own epoch, or they spend seconds on settling whose slots are whose.
        let epoch = (place + 1).to_string();
        assert_eq!(server.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await, "OK");
        if place > 0 {
            let (port, bus) = (first_port.to_string(), first_bus.to_string());
            assert_eq!(server.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await, "OK");
        }
    }
    tokio::time::timeout(READY_TIME_MAX, agreed(&servers)).await.unwrap();
    servers
}

/// Returns when every node knows every other and all slots.
async fn agreed(servers: &[RedisServer]) {
    for server in servers {
        loop {
            let info = server.ask(&["CLUSTER", "INFO"]).await;
            let says = |line: &str| info.lines().any(|said| said.trim_end() == line);
            let all_known = says(&format!("cluster_known_nodes:{}", servers.len()));
            if says("cluster_state:ok") && says("cluster_slots_ok:16384") && all_known {
                break;
            }
            tokio::time::sleep(POLL_TIME).await;
        }
    }
}

fn spawn(port: u16, bus_port: Option<u16>, options: &[String], folder: &TempDir) -> Child {
    let mut command = Command::new("redis-server");
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "yes", "--dir"])
        .arg(folder.path());
    if let Some(bus_port) = bus_port {
        command.args(["--cluster-port", &bus_port.to_string()]);
    }
    let child = command
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    child.unwrap_or_else(|error| {
        panic!("redis-server cannot be started ({error}): `cargo xtask test` installs it on Debian")
    })
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether a server serves there; one that is still loading does not, one that wants a password does.
async fn answers(port: u16) -> bool {
    let answer = ask(port, &["PING"]).await;
    answer.is_ok_and(|answer| answer == "PONG" || answer.starts_with("NOAUTH"))
}

async fn ask(port: u16, words: &[&str]) -> std::io::Result<String> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    let mut command = format!("*{}\r\n", words.len());
    for word in words {
        command.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(command.as_bytes()).await?;
    let mut lines = Vec::new();
    let mut values_left = 1;
    while values_left > 0 {
        values_left -= 1;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let line = line.trim_end();
        match line.split_at_checked(1) {
            // A list: so many values follow. Lists in lists come out flat.
            Some(("*", count)) => values_left += count.parse::<usize>().unwrap(),
            // None.
            Some(("$", "-1")) => lines.push(String::new()),
            Some(("$", length)) => {
                let mut bytes = vec![0; length.parse::<usize>().unwrap() + 2];
                stream.read_exact(&mut bytes).await?;
                bytes.truncate(bytes.len() - 2);
                lines.push(String::from_utf8(bytes).unwrap());
            }
            Some(("+" | "-" | ":", text)) => lines.push(text.to_owned()),
            _ => return Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }
    Ok(lines.join("\n"))
}
