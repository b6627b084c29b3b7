use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

/// A certificate chain and its key, in PEM.
pub(crate) struct Certificate {
    pub(crate) chain: String,
    pub(crate) private_key: String,
}

impl Certificate {
    /// An acceptor for TLS connections with this certificate.
    pub(crate) fn acceptor(&self) -> io::Result<TlsAcceptor> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(self.chain.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| invalid("the certificate chain is not PEM"))?;
        let key = PrivateKeyDer::from_pem_slice(self.private_key.as_bytes())
            .map_err(|_| invalid("the private key is not PEM"))?;
        // An explicit provider, so that the process-wide default of another crate does not change this server.
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Generates a certificate for this machine, the address and these names. Returns it and the authority that signed it, both
    /// in PEM.
    ///
    /// The authority's key is dropped at once, so that it can sign nothing else: trusting the authority means trusting this
    /// one certificate.
    pub(crate) fn generate(address: IpAddr, names: Vec<String>) -> io::Result<(Self, String)> {
        for name in &names {
            if ServerName::try_from(name.strip_prefix("*.").unwrap_or(name)).is_err() {
                let message = format!("{name:?} is neither a host name nor an IP address");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        Self::sign(address, names).map_err(io::Error::other)
    }

    fn sign(address: IpAddr, more_names: Vec<String>) -> Result<(Self, String), rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority.distinguished_name.push(DnType::CommonName, "payments sandbox authority");
        // Apple's clients reject every certificate that is valid for more than 825 days.
        let now = SystemTime::now();
        let (not_before, not_after) = ((now - 30 * DAY).into(), (now + 730 * DAY).into());
        (authority.not_before, authority.not_after) = (not_before, not_after);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

        let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        for name in more_names.into_iter().chain([address.to_string()]) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut leaf = CertificateParams::new(names)?;
        leaf.distinguished_name.push(DnType::CommonName, "payments sandbox");
        (leaf.not_before, leaf.not_after) = (not_before, not_after);
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Strict clients, such as Python since 3.13, require this extension.
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let leaf = leaf.signed_by(&key, &authority)?;
        let certificate = Self { chain: leaf.pem(), private_key: key.serialize_pem() };
        Ok((certificate, authority.pem()))
    }
}

const DAY: Duration = Duration::from_hours(24);
