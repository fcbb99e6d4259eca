//! Where a server is reached: the listener of the configuration, encrypted or not, and the way in of the folder's owner.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use engine::keys::Secret;
use server::Tls;
use server::identity::owner;
use tokio::net::TcpListener;

use super::ANY_PORT;
use crate::config::Config;
use crate::presence::Announced;
use crate::system::SystemEntropy;
use crate::wiring::Installation;

/// Where a server is reached: the listener of the configuration, and the way in of the folder's owner.
pub(super) struct Door {
    pub(super) address: SocketAddr,
    pub(super) listener: TcpListener,
    /// On loopback, for commands of the owner, if the listener cannot be reached there.
    pub(super) own_listener: Option<TcpListener>,
    /// What the listener encrypts with; the owner's own way in stays on this machine.
    pub(super) tls: Option<Tls>,
    pub(super) token: Secret,
    pub(super) announced: Announced,
}

impl Door {
    /// Listens, and says so in the data folder. Whoever comes before the server is ready waits in the line.
    pub(super) async fn open(config: &Config, installation: &Installation) -> Result<Self> {
        let listener = bind(&config.server.listen).await?;
        let address = listener.local_addr()?;
        let tls = tls(config)?;
        let (own_address, own_listener) = match loopback(address).filter(|_| tls.is_none()) {
            Some(same) => (same, None),
            None => {
                let own = bind(ANY_PORT).await?;
                (own.local_addr()?, Some(own))
            }
        };
        let token = owner::token(&SystemEntropy)?;
        let announced = Announced::write(&installation.folder, own_address, &token)?;
        Ok(Self { address, listener, own_listener, tls, token, announced })
    }
}

/// The address at which this machine itself reaches a listener, if that is a loopback one.
fn loopback(address: SocketAddr) -> Option<SocketAddr> {
    let ip = match address.ip() {
        ip if ip.is_loopback() => ip,
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(SocketAddr::new(ip, address.port()))
}

/// What the configuration has to encrypt with.
fn tls(config: &Config) -> Result<Option<Tls>> {
    let server = &config.server;
    let files = [&server.tls_certificate, &server.tls_key];
    if files.iter().all(|file| file.is_empty()) && server.tls_client_ca.is_empty() {
        return Ok(None);
    }
    if files.iter().any(|file| file.is_empty()) {
        bail!(
            "server.tls_certificate and server.tls_key go together, and server.tls_client_ca needs both"
        );
    }
    let read = |path: &str| std::fs::read(path).with_context(|| format!("{path} cannot be read"));
    let client_ca = match server.tls_client_ca.as_str() {
        "" => None,
        path => Some(read(path)?),
    };
    let (certificate, key) = (read(&server.tls_certificate)?, read(&server.tls_key)?);
    let tls = Tls::new(&certificate, &key, client_ca.as_deref());
    tls.map(Some).context("server.tls_certificate, server.tls_key and server.tls_client_ca")
}

async fn bind(listen: &str) -> Result<TcpListener> {
    TcpListener::bind(listen).await.with_context(|| {
        format!("cannot listen on {listen}: another program may be there; choose with --listen ADDR:PORT")
    })
}

#[cfg(test)]
mod tests {
    use super::loopback;

    #[track_caller]
    fn check(listen: &str, reached: Option<&str>) {
        let reached = reached.map(|address| address.parse().unwrap());
        assert_eq!(loopback(listen.parse().unwrap()), reached, "{listen}");
    }

    #[test]
    fn this_machine_reaches_a_listener_on_loopback_if_the_listener_is_there() {
        check("127.0.0.1:7", Some("127.0.0.1:7"));
        check("127.0.0.9:7", Some("127.0.0.9:7"));
        check("[::1]:7", Some("[::1]:7"));
        check("0.0.0.0:7", Some("127.0.0.1:7"));
        check("[::]:7", Some("[::1]:7"));
        check("10.0.0.7:7", None);
        check("[fd00::7]:7", None);
    }
}
