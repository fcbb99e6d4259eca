//! Properties of the repository that no compiler checks.
//!
//! `cargo xtask tidy` prints the faults; the tests below run the same checks, so the gate needs no
//! second list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

/// Lines of code that a file may have, tests left out.
const FILE_LINES_MAX: usize = 500;

/// Files that are longer, each with the length it has now. The list may only get shorter.
const LONG_FILES: &[(&str, usize)] = &[];

/// Names that say nothing; what would go there lives with its only user.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "misc"];

/// Words that belong in few places, and the places. Elsewhere, a boundary has been crossed.
const HOMES: &[(&str, &[&str])] = &[
    (
        "rmcp::",
        &[
            "crates/bench/src/mcp/bare.rs",
            "crates/engine/src/tools",
            "crates/server/src/mcp",
            "crates/testkit/",
            "examples/snippet-server/",
        ],
    ),
    ("innerHTML", &[]),
];

/// What no pure room may bring in, however far down.
const NEVER_PURE: &[&str] = &["tokio", "mio", "hyper", "axum", "reqwest", "rmcp", "redb", "redis"];

/// Parts of `std` that a pure room has no business with; the clock is clippy's to ban.
const NEVER_PURE_STD: &[&str] = &["std::fs", "std::env", "std::process", "std::thread"];

/// A crate and what it may use.
struct Room {
    name: &'static str,
    /// Our crates; tests may use `testkit` besides.
    ours: &'static [&'static str],
    /// For a pure room, the only crates of others that it may use.
    theirs: Option<&'static [&'static str]>,
}

/// The map in ARCHITECTURE.md, checked.
const ROOMS: &[Room] = &[
    pure(
        "agent",
        &[],
        &[
            "futures-util",
            "schemars",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "simdutf8",
            "thiserror",
        ],
    ),
    pure(
        "extract",
        &["agent"],
        &[
            "chardetng",
            "csv",
            "dom_smoothie",
            "encoding_rs",
            "lopdf",
            "pulldown-cmark",
            "quick-xml",
            "serde",
            "serde_json",
            "simdutf8",
            "thiserror",
            "zip",
        ],
    ),
    pure("a2a", &[], &["base64", "serde", "serde_json", "thiserror"]),
    room("bench", &["agent", "engine", "extract", "index", "models", "store"]),
    room("index", &["agent"]),
    room("store", &["agent", "a2a"]),
    room("models", &["agent"]),
    room("sources", &["agent"]),
    room("engine", &["agent", "extract", "a2a"]),
    room("server", &["agent", "a2a", "engine"]),
    room(
        "saem",
        &["agent", "extract", "a2a", "index", "store", "models", "sources", "engine", "server"],
    ),
    room("testkit", &["agent", "a2a"]),
];

const fn pure(
    name: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
) -> Room {
    Room { name, ours, theirs: Some(theirs) }
}

const fn room(name: &'static str, ours: &'static [&'static str]) -> Room {
    Room { name, ours, theirs: None }
}

/// Prints the faults of this repository.
pub(crate) fn run() -> Result<()> {
    let faults = faults(&crate::gate::root());
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// Returns one line for each fault in the repository at `root`.
pub(crate) fn faults(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let folders_of_code = [("crates", "rs"), ("examples", "rs"), ("web", "js")];
    let sources = folders_of_code.map(|(folder, end)| files(&root.join(folder), end)).concat();
    let chores = files(&root.join("xtask"), "rs");
    for path in sources.iter().chain(&chores) {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => {
                faults.extend(first_line_fault(&name, &text));
                // The chores are about the rules, so they name what the rules forbid.
                if !name.starts_with("xtask/") {
                    faults.extend(file_faults(&name, &text));
                }
            }
            Err(error) => faults.push(format!("{name}: cannot be read: {error}")),
        }
    }
    for name in folders(&root.join("crates")) {
        if !ROOMS.iter().any(|room| room.name == name) {
            faults.push(format!("crates/{name}: has no line in ROOMS, so no reason to be there"));
        }
    }
    for room in ROOMS {
        match fs::read_to_string(root.join("crates").join(room.name).join("Cargo.toml")) {
            Ok(manifest) => faults.extend(room_faults(room, &manifest)),
            Err(error) => faults.push(format!("crates/{}: no manifest: {error}", room.name)),
        }
        if room.theirs.is_some() {
            faults.extend(tree_faults(root, room.name));
        }
    }
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    faults.extend(crate::versions::faults(&lock));
    faults
}

/// Tests are read too, so their files say what they are for as well.
fn first_line_fault(name: &str, text: &str) -> Option<String> {
    let opening = if name.ends_with(".js") { "// " } else { "//! " };
    let says = text.lines().next().and_then(|line| line.strip_prefix(opening));
    let says_nothing = says.is_none_or(|words| words.trim().is_empty());
    says_nothing.then(|| format!("{name}: its first line, `{opening}…`, says what the file is for"))
}

fn file_faults(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let is_test = name.ends_with("/tests.rs") || name.contains("/tests/");
    if name.split(['/', '.']).any(|part| EMPTY_NAMES.contains(&part)) {
        faults.push(format!("{name}: a name that says nothing; put the code with its only user"));
    }
    if text.contains("FIXME") {
        faults.push(format!("{name}: a FIXME is a note to yourself, for before the commit"));
    }
    for (word, homes) in HOMES {
        if text.contains(word) && !is_test && !homes.iter().any(|home| name.starts_with(home)) {
            faults.push(format!("{name}: `{word}` stops at {homes:?}"));
        }
    }
    let is_pure = ROOMS
        .iter()
        .any(|room| room.theirs.is_some() && name.starts_with(&format!("crates/{}/", room.name)));
    for word in NEVER_PURE_STD.iter().filter(|word| is_pure && !is_test && text.contains(**word)) {
        faults.push(format!("{name}: is in a pure room, so it may not use {word}"));
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().lines().count();
    let listed = LONG_FILES.iter().find(|(long, _)| *long == name).map(|(_, lines)| *lines);
    if code > listed.unwrap_or(FILE_LINES_MAX) && !is_test {
        faults.push(format!("{name}: {code} lines of code; cut it along a noun"));
    }
    if listed.is_some_and(|listed| code < listed) {
        faults.push(format!("{name}: {code} lines now; lower its number in LONG_FILES"));
    }
    faults
}

fn room_faults(room: &Room, manifest: &str) -> Vec<String> {
    dependencies(manifest)
        .into_iter()
        .filter(|dependency| {
            if ROOMS.iter().any(|other| other.name == *dependency) {
                return !room.ours.contains(dependency);
            }
            room.theirs.is_some_and(|allowed| !allowed.contains(dependency))
        })
        .map(|dependency| format!("crates/{}: may not depend on {dependency}", room.name))
        .collect()
}

/// The names in every table of dependencies but the tests'.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            let tests_only = header.contains("dev-dependencies");
            inside = header.ends_with("dependencies") && !tests_only;
            let named = header.rsplit_once("dependencies.").filter(|_| !tests_only);
            names.extend(named.map(|(_, name)| name));
        } else if inside && line.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            names.extend(line.split(['.', ' ', '=']).next());
        }
    }
    names
}

/// What a pure crate's dependencies bring in turn.
fn tree_faults(root: &Path, name: &str) -> Vec<String> {
    let tree = ["tree", "--locked", "--edges", "normal", "--prefix", "none", "--package", name];
    let output = match Command::new("cargo").args(tree).current_dir(root).output() {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => return vec![String::from_utf8_lossy(&output.stderr).into_owned()],
        Err(error) => return vec![format!("cargo tree: {error}")],
    };
    String::from_utf8_lossy(&output)
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|package| NEVER_PURE.contains(package))
        .map(|package| format!("crates/{name}: is pure, but something it uses brings {package}"))
        .collect()
}

fn folders(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(faults(&root), Vec::<String>::new());
    }

    #[track_caller]
    fn check_room(name: &str, manifest: &str, expected: &[&str]) {
        let room = ROOMS.iter().find(|room| room.name == name).unwrap();
        assert_eq!(room_faults(room, manifest), expected);
    }

    #[test]
    fn a_pure_crate_takes_no_runtime_in_whatever_table_it_is_written() {
        let fault = ["crates/agent: may not depend on tokio"];
        check_room("agent", "[dependencies]\n# Why.\nserde = \"1\"\ntokio = \"1\"\n", &fault);
        check_room("agent", "[dependencies.tokio]\nversion = \"1\"\n", &fault);
        check_room("agent", "[target.'cfg(unix)'.dependencies]\ntokio.workspace = true\n", &fault);
        check_room("agent", "[dev-dependencies]\ntokio.workspace = true\n", &[]);
    }

    #[test]
    fn dependencies_point_inward() {
        check_room("engine", "[dependencies]\nagent.workspace = true\n", &[]);
        check_room(
            "engine",
            "[dependencies]\nstore.workspace = true\n",
            &["crates/engine: may not depend on store"],
        );
    }

    #[test]
    fn the_wire_types_of_mcp_stop_at_the_edge() {
        let text = "//! Tools.\nuse rmcp::model::Tool;\n";
        assert_eq!(file_faults("crates/engine/src/tools/list.rs", text), Vec::<String>::new());
        assert_eq!(file_faults("crates/engine/src/chat.rs", text).len(), 1);
    }

    #[test]
    fn a_pure_room_reads_no_file() {
        let text = "//! Takes a document apart.\nuse std::fs;\n";
        assert_eq!(file_faults("crates/extract/src/pdf.rs", text).len(), 1);
        assert_eq!(file_faults("crates/store/src/db.rs", text), Vec::<String>::new());
    }

    #[test]
    fn every_file_says_first_what_it_is_for_and_tests_are_no_exception() {
        for name in ["crates/agent/src/turn.rs", "crates/agent/src/turn/tests.rs", "xtask/src/a.rs"]
        {
            assert_eq!(first_line_fault(name, "//! Decides.\nuse x;\n"), None, "{name}");
            for text in ["", "use x;\n", "\n//! Late.\n", "//! \n", "// Not a doc.\n", "//!\n"] {
                assert!(first_line_fault(name, text).is_some(), "{name} {text:?}");
            }
        }
        assert_eq!(first_line_fault("web/page.js", "// The page.\n"), None);
        assert!(first_line_fault("web/page.js", "let x;\n").is_some());
    }

    #[test]
    fn a_long_file_is_a_fault_and_its_tests_do_not_count() {
        let long = format!("//! Long.\n{}", "\n".repeat(FILE_LINES_MAX));
        assert_eq!(file_faults("crates/agent/src/turn.rs", &long).len(), 1);
        assert_eq!(file_faults("crates/agent/src/turn/tests.rs", &long), Vec::<String>::new());
    }
}
