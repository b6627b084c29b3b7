use std::fmt;
use std::io;
use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// A certificate chain and its key, in PEM.
pub(crate) struct Certificate {
    pub(crate) chain: String,
    pub(crate) private_key: String,
}

impl Certificate {
    /// A certificate for this machine and the address, and the authority that vouches for it, both in PEM.
    ///
    /// The authority's key is forgotten at once, so that it can vouch for nothing else: whoever trusts it trusts this one
    /// certificate.
    pub(crate) fn self_made(address: IpAddr) -> io::Result<(Self, String)> {
        Self::issue(address).map_err(io::Error::other)
    }

    fn issue(address: IpAddr) -> Result<(Self, String), rcgen::Error> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority.distinguished_name.push(DnType::CommonName, "payments sandbox authority");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

        let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let address = address.to_string();
        if !names.contains(&address) {
            names.push(address);
        }
        let mut leaf = CertificateParams::new(names)?;
        leaf.distinguished_name.push(DnType::CommonName, "payments sandbox");
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Strict clients, Python's since 3.13 among them, want to see which key signed.
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let leaf = leaf.signed_by(&key, &authority)?;
        let own = Self { chain: leaf.pem(), private_key: key.serialize_pem() };
        Ok((own, authority.pem()))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chain: _, private_key: _ } = self;
        f.write_str("Certificate([redacted])")
    }
}
