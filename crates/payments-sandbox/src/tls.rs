use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// Accepts connections over https, with one certificate.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

impl Tls {
    pub(crate) fn new(certificate_chain_pem: &str, private_key_pem: &str) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate_chain_pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| invalid("the certificate chain is not PEM"))?;
        let key = PrivateKeyDer::from_pem_slice(private_key_pem.as_bytes())
            .map_err(|_| invalid("the private key is not PEM"))?;
        // The provider is named, so that no other crate's choice for the whole process changes this server.
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// The encrypted connection, or nothing if the handshake failed or took too long.
    pub(crate) async fn accept(self, socket: TcpStream) -> Option<TlsStream<TcpStream>> {
        timeout(HANDSHAKE_TIMEOUT, self.0.accept(socket)).await.ok()?.ok()
    }
}

/// Chosen by this SDK: as long as the head of a request may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
