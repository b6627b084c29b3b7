use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

/// A certificate authority created for one test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
    key: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "test authority");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    pub(crate) fn issue(&self, name: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params(name).signed_by(&key, &self.0).unwrap();
        Identity::new(&certificate, &key)
    }
}

impl Identity {
    pub(crate) fn self_signed(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params(name).self_signed(&key).unwrap();
        Self::new(&certificate, &key)
    }

    #[cfg(feature = "platform-verifier")]
    pub(crate) fn from_pem(certificate_pem: &str, key_pem: &str) -> Self {
        Self {
            certificate: CertificateDer::from_pem_slice(certificate_pem.as_bytes()).unwrap(),
            certificate_pem: certificate_pem.to_owned(),
            key_pem: key_pem.to_owned(),
            key: PrivatePkcs8KeyDer::from_pem_slice(key_pem.as_bytes()).unwrap().secret_pkcs8_der().to_vec(),
        }
    }

    fn new(certificate: &rcgen::Certificate, key: &KeyPair) -> Self {
        Self {
            certificate: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            key: key.serialize_der(),
        }
    }

    /// A server configuration that presents this certificate.
    pub(crate) fn server(&self) -> ServerConfig {
        self.server_for(rustls::ALL_VERSIONS, None)
    }

    /// The same for some TLS versions. It requires a client certificate of `clients`, if there is one.
    pub(crate) fn server_for(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        clients: Option<&Authority>,
    ) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .unwrap();
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.der()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
                config.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        config.with_single_cert(vec![self.certificate.clone()], key).unwrap()
    }
}

fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}
