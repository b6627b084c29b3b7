use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority created for one contract.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "an authority of the conformance kit");
        Self(CertifiedIssuer::self_signed(params, key()).expect("the parameters are complete"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// The configuration of a server with a valid certificate for `localhost`.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        self.server_named("localhost")
    }

    /// Like `server`, with these ALPN protocols.
    pub(crate) fn server_speaking(&self, protocols: &[&str]) -> Arc<ServerConfig> {
        let mut config = Arc::unwrap_or_clone(self.server());
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    pub(crate) fn server_named(&self, name: &str) -> Arc<ServerConfig> {
        self.issue(&params(name))
    }

    pub(crate) fn expired_server(&self) -> Arc<ServerConfig> {
        let mut params = params("localhost");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.issue(&params)
    }

    fn issue(&self, params: &CertificateParams) -> Arc<ServerConfig> {
        let key = key();
        let certificate = params.signed_by(&key, &self.0).expect("the parameters are complete");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_protocol_versions(rustls::ALL_VERSIONS)
                .expect("ring speaks every version of TLS that rustls does")
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)
                .expect("the key belongs to the certificate");
        // So that a script can encrypt its own TLS alerts.
        config.enable_secret_extraction = true;
        Arc::new(config)
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("ring generates keys")
}

fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).expect("the name is ASCII")
}
