//! What the tests need and does not come with Rust: programs that they start, and letters that readers show.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Something to have, how it is seen whether it is there, and the Debian packages that bring it.
struct Need {
    what: &'static str,
    /// A program, which ends well at once if all of it is there.
    trial: &'static [&'static str],
    packages: &'static [&'static str],
}

const NEEDS: &[Need] = &[
    Need {
        what: "redis-server",
        trial: &["redis-server", "--version"],
        packages: &["redis-server"],
    },
    // Debian has Python without the part that makes environments; that package brings Python and pip too.
    Need {
        what: "python3 with venv",
        trial: &["python3", "-c", "import ensurepip, venv"],
        packages: &["python3-venv"],
    },
    // Only what installs packages is used of it: they bring a Node of their own.
    Need { what: "npm", trial: &["npm", "--version"], packages: &["npm"] },
    // What documents tell people to type is typed.
    Need { what: "curl", trial: &["curl", "--version"], packages: &["curl"] },
    Need { what: "openssl", trial: &["openssl", "version"], packages: &["openssl"] },
    // The page is walked by it.
    Need { what: "chromium", trial: &["chromium", "--version"], packages: &["chromium"] },
    // Reports name a Korean font and do not bring it; some readers leave out the letters that no font here has.
    Need {
        what: "a font with Korean letters",
        trial: &["sh", "-c", "fc-list :lang=ko | grep -q ."],
        packages: &["fontconfig", "fonts-nanum"],
    },
];

/// Sees that all of it is there, and installs what is missing where that can be done without asking anybody.
#[expect(clippy::print_stderr, reason = "a chore talks to the person who started it")]
pub(crate) fn install() -> Result<()> {
    for need in NEEDS.iter().filter(|need| !is_there(need)) {
        let (what, packages) = (need.what, need.packages.join(" "));
        if !(is_debian() && is_root()) {
            bail!(
                "the tests need {what}, which is not here or not whole: install it (on Debian: apt-get install {packages})"
            );
        }
        eprintln!("── {what}: not here or not whole, installing {packages}");
        let install = [&["install", "-y", "--no-install-recommends"], need.packages].concat();
        // The lists of a fresh machine may be missing or old: fetched only if it does not go without.
        if apt(&install).is_err() {
            apt(&["update"])?;
            apt(&install)?;
        }
    }
    Ok(())
}

fn is_there(need: &Need) -> bool {
    let Some((program, arguments)) = need.trial.split_first() else { return true };
    let mut trial = Command::new(program);
    trial.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
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
        let need = |trial| Need { what: "it", trial, packages: &[] };
        assert!(is_there(&need(&["cargo", "--version"])));
        assert!(!is_there(&need(&["cargo", "--no-such-flag"])));
        assert!(!is_there(&need(&["no-program-is-called-this", "--version"])));
    }
}
