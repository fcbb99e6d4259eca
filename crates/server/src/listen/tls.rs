//! Encrypted connections, and callers that prove themselves with a certificate before they say a word.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Ending;
use super::http2::Spawner;
use crate::Server;

/// What clients may speak, the better first: gRPC needs the first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The server's certificate and key, and whose certificates its callers must have. Cheap to clone.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Files that cannot be used. What is in them is not repeated.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificate is no chain of certificates in PEM")]
    Certificate,
    #[error("the key is no private key in PEM")]
    Key,
    #[error("the client CA is no list of certificates in PEM")]
    ClientCa,
    #[error("certificate and key cannot be used together")]
    Together(#[source] rustls::Error),
}

impl Tls {
    /// Everything in PEM. With a client CA, only callers with a certificate of it get in.
    pub fn new(certificate: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, TlsError> {
        let certificates = certificates(certificate).ok_or(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Key)?;
        let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Together)?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(text) => {
                let mut roots = RootCertStore::empty();
                for one in self::certificates(text).ok_or(TlsError::ClientCa)? {
                    roots.add(one).map_err(|_| TlsError::ClientCa)?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = verifier.build().map_err(|_| TlsError::ClientCa)?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_single_cert(certificates, key).map_err(TlsError::Together)?;
        config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

/// One certificate at least.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty())
}

impl Server {
    /// Serves a connection once both sides have proven what they have to.
    pub(super) async fn greet_tls<H>(
        &self,
        tls: &Tls,
        stream: TcpStream,
        peer: SocketAddr,
        held: H,
        ending: Ending,
        spawner: &Spawner,
    ) where
        H: Send + Unpin + 'static,
    {
        let shaken = tokio::select! {
            shaken = timeout(self.shared.limits.head_wait_max, tls.0.accept(stream)) => shaken,
            () = ending.drain.cancelled() => return,
        };
        let stream = match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return self.not_shaken(peer, &error),
            // It took too long.
            Err(_) => return,
        };
        if stream.get_ref().1.alpn_protocol() == PROTOCOLS.first().copied() {
            self.converse_http2(stream, peer, held, ending, spawner).await;
        } else {
            self.converse(stream, peer, held, ending).await;
        }
    }

    fn not_shaken(&self, peer: SocketAddr, error: &io::Error) {
        self.shared.http.refused("tls");
        tracing::debug!(%peer, %error, "a connection was not encrypted");
    }
}
