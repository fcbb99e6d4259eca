//! `ingest --watch` follows a folder: what is made is found, what changes is swapped, what is deleted is gone.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::world::{PATIENCE, Served, World};

/// A command that stays, and what it prints.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    /// Starts to watch, and waits until it does.
    async fn start(world: &World, path: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saem"));
        command.args(["ingest", "--watch", "--type", "guide"]).arg(path);
        command.arg("--data").arg(world.data());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut watching = Self { child, lines };
        watching.until("watching").await;
        watching
    }

    /// Reads on to the line that starts like this.
    async fn until(&mut self, start: &str) {
        let reading = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if line.starts_with(start) {
                    return true;
                }
            }
            false
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        assert_eq!(read, Ok(true), "no {start:?}");
    }

    /// Asks it to end, and waits until it has.
    async fn end(mut self) {
        let pid = self.child.id().unwrap().to_string();
        let asked = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(asked.success());
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap();
        assert!(ended.success(), "{ended}");
    }
}

/// Puts a file into its place in one step, as editors do.
fn put(world: &World, name: &str, text: &str) -> PathBuf {
    let draft = world.file("drafts/draft", text);
    let path = world.files().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::rename(draft, &path).unwrap();
    path
}

/// A server that may be asked as often as it can answer: that is how a change is waited for here.
async fn watched(world: &World) -> Served {
    world.serve_with(&[("SAEM_SERVER_REQUESTS_PER_MINUTE_MAX", "100000000")]).await
}

/// Asks until the search finds exactly this.
async fn found(served: &Served, words: &str, expected: &[&str]) {
    let asking = async {
        while served.search(words).await != expected {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, asking).await;
    assert!(in_time.is_ok(), "{words}: {:?}, not {expected:?}", served.search(words).await);
}

async fn jobs(served: &Served) -> usize {
    served.get("/api/jobs").await.1["jobs"].as_array().unwrap().len()
}

#[tokio::test]
async fn what_happens_to_files_happens_to_documents_while_a_server_answers() {
    let world = World::new();
    let served = watched(&world).await;
    put(&world, "docs/first.md", "# First\n\nAn apple.");
    let docs = world.files().join("docs");
    std::fs::create_dir_all(docs.join("deep/down")).unwrap();
    let watching = Watching::start(&world, &docs).await;
    found(&served, "apple pear plum", &["An apple."]).await;
    let second = put(&world, "docs/deep/down/second.md", "# Second\n\nA pear.");
    found(&served, "pear", &["A pear.", "An apple."]).await;
    put(&world, "docs/deep/down/second.md", "# Second\n\nA plum.");
    found(&served, "plum", &["A plum.", "An apple."]).await;
    std::fs::remove_file(second).unwrap();
    found(&served, "plum", &["An apple."]).await;
    assert_eq!(jobs(&served).await, 3, "each version was loaded once, and nothing again and again");
    watching.end().await;
}

#[tokio::test]
async fn folders_that_move_take_their_documents_along() {
    let world = World::new();
    let served = watched(&world).await;
    put(&world, "docs/kept.md", "# Kept\n\nAn apple.");
    put(&world, "docs/part/one.md", "# One\n\nA pear.");
    let docs = world.files().join("docs");
    let watching = Watching::start(&world, &docs).await;
    let both = ["A pear.", "An apple."];
    found(&served, "pear", &both).await;
    let outside = world.files().join("outside");
    std::fs::rename(docs.join("part"), &outside).unwrap();
    found(&served, "pear", &["An apple."]).await;
    std::fs::rename(&outside, docs.join("part")).unwrap();
    found(&served, "pear", &both).await;
    // The whole folder goes, comes back, and is still followed.
    std::fs::rename(&docs, &outside).unwrap();
    found(&served, "pear", &[]).await;
    std::fs::rename(&outside, &docs).unwrap();
    found(&served, "pear", &both).await;
    put(&world, "docs/part/one.md", "# One\n\nA plum.");
    found(&served, "plum", &["A plum.", "An apple."]).await;
    watching.end().await;
}

#[tokio::test]
async fn a_single_file_is_followed_through_every_way_of_writing_it() {
    let world = World::new();
    let served = watched(&world).await;
    let file = put(&world, "notes.md", "# Notes\n\nAn apple.");
    let watching = Watching::start(&world, &file).await;
    found(&served, "notes", &["An apple."]).await;
    put(&world, "notes.md", "# Notes\n\nA pear.");
    found(&served, "notes", &["A pear."]).await;
    std::fs::write(&file, "# Notes\n\nA plum.").unwrap();
    found(&served, "notes", &["A plum."]).await;
    put(&world, "other.md", "# Notes\n\nNot asked for.");
    std::fs::remove_file(&file).unwrap();
    found(&served, "notes", &[]).await;
    put(&world, "notes.md", "# Notes\n\nA cherry.");
    found(&served, "notes", &["A cherry."]).await;
    watching.end().await;
}

#[tokio::test]
async fn without_a_server_it_says_what_it_does_and_ends_in_good_order() {
    let world = World::new();
    put(&world, "docs/first.md", "# First\n\nAn apple.");
    let docs = world.files().join("docs");
    let mut watching = Watching::start(&world, &docs).await;
    put(&world, "docs/second.md", "# Second\n\nA pear.");
    watching.until("1 loaded").await;
    put(&world, "docs/bad.json", "{");
    watching.until("0 loaded (0 chunks), 0 unchanged, 1 failed").await;
    std::fs::remove_file(docs.join("first.md")).unwrap();
    watching.until("0 loaded (0 chunks), 0 unchanged, 1 deleted, 0 failed").await;
    watching.end().await;
    let left = world.ok(&["search", "apple pear"]);
    assert!(left.contains("A pear.") && !left.contains("An apple."), "{left}");
}
