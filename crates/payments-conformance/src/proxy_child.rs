use std::env;
use std::process::Command;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::{Journal, Setup};

/// The process that a contract about the environment starts: the same test again, in another environment.
pub(crate) struct ProxyChild {
    base_url: String,
    setup: Setup,
}

impl ProxyChild {
    /// The one contract that is checked in such a process.
    pub(crate) const CONTRACT: &str = "the_proxy_of_the_environment_is_ignored";

    /// Whether this process is one, and what it was told.
    pub(crate) fn of_this_process() -> Option<Self> {
        let base_url = env::var(BASE_URL).ok()?;
        let authority_pem = env::var(AUTHORITY).ok()?;
        let der = CertificateDer::from_pem_slice(authority_pem.as_bytes());
        let authority_der = der.expect("the parent's certificate").to_vec();
        let setup =
            Setup { authority_pem, authority_der, http2: false, script: None, journal: Journal::default() };
        Some(Self { base_url, setup })
    }

    /// Tells a process to be one.
    pub(crate) fn prepare(child: &mut Command, base_url: &str, authority: &str, proxy: &str) {
        child.env(BASE_URL, base_url).env(AUTHORITY, authority);
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            child.env(name, proxy).env(name.to_ascii_uppercase(), proxy);
        }
        for name in ["no_proxy", "NO_PROXY", "REQUEST_METHOD"] {
            child.env_remove(name);
        }
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }
}

const BASE_URL: &str = "PAYMENTS_CONFORMANCE_CHILD_URL";
const AUTHORITY: &str = "PAYMENTS_CONFORMANCE_CHILD_AUTHORITY";
