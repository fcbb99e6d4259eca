//! How a server is logged in at, as it is written down.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use engine::tools::{Grant, LoginSettings};
use serde::Deserialize;

/// Bytes of a key or token in a file.
const FILE_BYTES_MAX: u64 = 64 << 10;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OAuth {
    client_id: Option<String>,
    client_secret: Option<String>,
    client_metadata_url: Option<String>,
    scopes: Vec<String>,
    issuer: Option<String>,
    grant: Kind,
    private_key_file: Option<PathBuf>,
    token_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Browser,
    ClientCredentials,
    Workload,
}

/// Its secrets are not printed.
impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth").field("grant", &self.grant).finish_non_exhaustive()
    }
}

impl OAuth {
    /// Where variables are filled in.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        self.client_id.iter_mut().chain(&mut self.client_secret)
    }

    pub(super) fn settings(self) -> Result<LoginSettings> {
        let is_complete = self.client_id.is_some() || self.grant == Kind::Browser;
        if !is_complete || (self.client_secret.is_some() && self.client_id.is_none()) {
            bail!("oauth.client_id is missing");
        }
        let grant = match (self.grant, &self.private_key_file, &self.token_file) {
            (Kind::Browser, None, None) => Grant::Browser,
            (Kind::ClientCredentials, Some(file), None) => Grant::PrivateKey { pem: text(file)? },
            (Kind::ClientCredentials, None, None) if self.client_secret.is_some() => {
                Grant::ClientSecret
            }
            (Kind::ClientCredentials, ..) => {
                bail!("oauth.grant client-credentials needs client_secret or private_key_file")
            }
            (Kind::Workload, None, Some(file)) => {
                Grant::Workload { token: text(file)?.trim().to_owned() }
            }
            (Kind::Workload, ..) => bail!("oauth.grant workload needs token_file"),
            (Kind::Browser, ..) => {
                bail!("oauth.private_key_file and token_file are for other grants than browser")
            }
        };
        Ok(LoginSettings {
            client_id: self.client_id,
            client_secret: self.client_secret,
            client_metadata_url: self.client_metadata_url,
            scopes: self.scopes,
            issuer: self.issuer,
            grant,
        })
    }
}

fn text(path: &PathBuf) -> Result<String> {
    let shown = || format!("{} cannot be read", path.display());
    let about = std::fs::metadata(path).with_context(shown)?;
    if about.len() > FILE_BYTES_MAX {
        bail!("{} is too large", path.display());
    }
    std::fs::read_to_string(path).with_context(shown)
}
