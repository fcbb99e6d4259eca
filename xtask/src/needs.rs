//! Programs that the tests start and that do not come with Rust.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program and the Debian package that brings it.
struct Need {
    program: &'static str,
    /// With these it ends well at once, if all of it is there.
    trial: &'static [&'static str],
    package: &'static str,
}

/// What the tests start.
const NEEDS: &[Need] = &[
    Need { program: "redis-server", trial: &["--version"], package: "redis-server" },
    // Debian has Python without the part that makes environments; that package brings Python and pip too.
    Need { program: "python3", trial: &["-c", "import ensurepip, venv"], package: "python3-venv" },
    // Only what installs packages is used of it: they bring a Node of their own.
    Need { program: "npm", trial: &["--version"], package: "npm" },
    // What documents tell people to type is typed.
    Need { program: "curl", trial: &["--version"], package: "curl" },
    Need { program: "openssl", trial: &["version"], package: "openssl" },
    // The page is walked by it.
    Need { program: "chromium", trial: &["--version"], package: "chromium" },
];

/// Sees that all of it is there, and installs what is missing where that can be done without asking anybody.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
pub(crate) fn install() -> Result<()> {
    for need in NEEDS.iter().filter(|need| !is_there(need)) {
        let Need { program, package, .. } = need;
        if !(is_debian() && is_root()) {
            bail!(
                "the tests start {program}, which is not here or not whole: install it (on Debian: apt-get install {package})"
            );
        }
        eprintln!("── {program} is not here or not whole: installing the package {package}");
        // The lists of a fresh machine may be missing or old: fetched only if it does not go without.
        if apt(&["install", "-y", "--no-install-recommends", package]).is_err() {
            apt(&["update"])?;
            apt(&["install", "-y", "--no-install-recommends", package])?;
        }
    }
    Ok(())
}

fn is_there(need: &Need) -> bool {
    let mut trial = Command::new(need.program);
    trial.args(need.trial).stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output();
    user.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn apt(arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get")
        .args(arguments)
        // Nobody is there to answer questions. Some packages start a service; the tests leave it alone and use their own.
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .context("apt-get could not be started")?;
    if !status.success() {
        bail!("apt-get {} failed", arguments.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_there_if_its_trial_ends_well() {
        let need = |program, trial| Need { program, trial, package: "" };
        assert!(is_there(&need("cargo", &["--version"])));
        assert!(!is_there(&need("cargo", &["--no-such-flag"])));
        assert!(!is_there(&need("no-program-is-called-this", &["--version"])));
    }
}
