use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;

/// TLS that always verifies the certificate and its name: with the authorities of this file and no others, or with those
/// of Mozilla's programme.
pub(super) fn connector(root_file: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let roots = match root_file {
        None => RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
        Some(path) => roots_of(Path::new(path))?,
    };
    // Named, so that no other crate's choice for the whole process can change it or make it panic.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            StoreError::refused("TLS cannot be set up for the journal's database").because(error)
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // What a server asks for that is spoken to in TLS from the first byte on.
    config.alpn_protocols.push(b"postgresql".to_vec());
    Ok(MakeRustlsConnect::new(config))
}

fn roots_of(path: &Path) -> Result<RootCertStore, StoreError> {
    let refused = |what: &str| StoreError::refused(format!("the file that sslrootcert names {what}"));
    let pem = std::fs::read(path).map_err(|error| refused("cannot be read").because(error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|_| refused("is no PEM file"))?;
        roots.add(certificate).map_err(|error| refused("holds what is no certificate").because(error))?;
    }
    if roots.is_empty() {
        return Err(refused("holds no certificate"));
    }
    Ok(roots)
}
