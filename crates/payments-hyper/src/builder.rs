use std::fmt;
use std::time::Duration;

use crate::build_error::{BuildError, BuildErrorKind};
use crate::connector::Connector;
use crate::proxy::Proxy;
use crate::tls::{TlsProvider, TlsSettings, TrustedRoots};
use crate::transport::{HyperTransport, Limits};

/// Settings of a [`HyperTransport`]. Every one has a default that is safe to keep.
///
/// There is no setting that turns the verification of certificates off. To talk to a test server, give its certificate
/// or the authority's that issued it.
#[must_use = "a builder does nothing until it is built"]
pub struct HyperTransportBuilder {
    tls: TlsSettings,
    proxy: Option<Proxy>,
    limits: Limits,
    /// The first setting that could not be read, kept until `build` can return it.
    failure: Option<BuildError>,
}

impl HyperTransportBuilder {
    pub(crate) fn with_defaults() -> Self {
        Self {
            tls: TlsSettings::default(),
            proxy: None,
            limits: Limits {
                idle_timeout: Self::DEFAULT_POOL_IDLE_TIMEOUT,
                max_idle: Self::DEFAULT_MAX_IDLE_CONNECTIONS,
                max_under_way: None,
            },
            failure: None,
        }
    }

    /// Chosen by this SDK: 20 seconds.
    ///
    /// Servers and load balancers commonly keep idle connections for 60 seconds and more. A client that gives up first
    /// does not send a payment into a connection that is just being closed, which would make its outcome unknown.
    pub const DEFAULT_POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

    /// Chosen by this SDK: 512 connections.
    pub const DEFAULT_MAX_IDLE_CONNECTIONS: usize = 512;

    /// Trusts every certificate of this PEM text as an authority, in addition to the others.
    pub fn root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        let added = self.tls.add_roots_pem(pem.as_ref());
        self.keep_first_failure(added);
        self
    }

    /// Trusts this DER certificate as an authority, in addition to the others.
    pub fn root_certificate_der(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.tls.add_root_der(der.into());
        self
    }

    /// Trusts the certificates of this PEM text and any others that are given, but no public authority.
    pub fn only_root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.tls.only_given_roots = true;
        self.root_certificates_pem(pem)
    }

    /// Shows this certificate to servers that ask for one.
    ///
    /// `certificates` is the PEM chain, the client's own first; `private_key` is PEM in PKCS #8, PKCS #1 or SEC1.
    ///
    /// With TLS 1.3 a server judges the client's certificate only after the handshake has ended on this side, and the
    /// request may follow at once. A refused certificate is then an error of unknown outcome, because nothing that
    /// comes later proves that the request was not read. With TLS 1.2 it is a failed handshake: not processed.
    pub fn client_certificate_pem(
        mut self,
        certificates: impl AsRef<[u8]>,
        private_key: impl AsRef<[u8]>,
    ) -> Self {
        let set = self.tls.set_client_identity(certificates.as_ref(), private_key.as_ref());
        self.keep_first_failure(set);
        self
    }

    /// Chooses the TLS provider where more than one is compiled in.
    pub fn tls_provider(mut self, provider: TlsProvider) -> Self {
        self.tls.provider = Some(provider);
        self
    }

    /// Chooses the trusted authorities where more than one set is compiled in.
    pub fn trusted_roots(mut self, roots: TrustedRoots) -> Self {
        self.tls.trusted_roots = Some(roots);
        self
    }

    /// Connects through this egress proxy: `http://host:port`, or `http://user:password@host:port` with both percent-encoded.
    /// Without a port it is 80.
    ///
    /// Every connection is tunnelled by `CONNECT`. TLS is spoken with the service itself, so the proxy sees neither card data nor
    /// API key, and its own error pages are never taken for a response of the service. If the proxy refuses, does not respond
    /// or cannot be reached, the call is [`NotProcessed`](payments_core::Outcome::NotProcessed).
    ///
    /// Without this no proxy is used: none is read from the environment. A plain `http` address of the service cannot be
    /// used through a proxy on another machine; such a call is a configuration error, and nothing is sent.
    pub fn proxy(mut self, address: impl AsRef<str>) -> Self {
        match Proxy::parse(address.as_ref()) {
            Ok(proxy) => self.proxy = Some(proxy),
            Err(reason) => {
                self.keep_first_failure(Err(BuildError::of(BuildErrorKind::Proxy).with_source(reason)));
            }
        }
        self
    }

    /// Offers HTTP/2 to https servers; without this every connection is HTTP/1.1.
    ///
    /// Calls to a server that accepts it share one connection. Calls that begin while there is none may open one each,
    /// of which the first is kept.
    ///
    /// A request that the server itself refuses by `REFUSED_STREAM` was not processed. Its `GOAWAY` is no such proof:
    /// the outcome is unknown. Neither is a connection that the server has closed always found out before it is used,
    /// nor is the body kept from being copied: for both, stay with HTTP/1.1.
    ///
    /// A ping that is not acknowledged for 5 seconds ends the connection and every call on it, as unknown. That finds a
    /// network that dropped the connection. A program that stood still for so long, suspended or with a blocked runtime, can end
    /// its own connection in this way.
    #[cfg(feature = "http2")]
    pub fn allow_http2(mut self) -> Self {
        self.tls.http2 = true;
        self
    }

    /// How long a connection may be idle and still be used again.
    ///
    /// Keep it below the server's own keep-alive time. Zero means that every call has a connection of its own, closed when
    /// the call ends: slower by a handshake, and proof against a server that sends a late second answer.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle_timeout = timeout;
        self
    }

    /// How many idle connections are kept at most, for each server and each runtime.
    ///
    /// One that has been idle for too long is closed while its runtime runs.
    pub fn max_idle_connections(mut self, count: usize) -> Self {
        self.limits.max_idle = count;
        self
    }

    /// How many requests may be in flight at once, each with a connection of its own; unlimited by default.
    ///
    /// A request beyond waits for its turn, and its connect deadline runs meanwhile: if that ends, the request was not
    /// processed. At least one is always allowed.
    pub fn max_connections(mut self, count: usize) -> Self {
        self.limits.max_under_way = Some(count);
        self
    }

    /// Builds the transport. Needs no runtime, opens no connection.
    ///
    /// # Errors
    ///
    /// [`BuildError`] where a certificate or key could not be read, or where something is asked for that is not
    /// compiled in.
    pub fn build(self) -> Result<HyperTransport, BuildError> {
        let Self { tls, proxy, limits, failure } = self;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let connector = Connector::new(tls.build()?, proxy);
        Ok(HyperTransport::from_parts(connector, limits))
    }

    fn keep_first_failure(&mut self, result: Result<(), BuildError>) {
        if let (None, Err(failure)) = (&self.failure, result) {
            self.failure = Some(failure);
        }
    }
}

impl fmt::Debug for HyperTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tls: _, proxy: _, limits, failure } = self;
        f.debug_struct("HyperTransportBuilder")
            .field("limits", limits)
            .field("failure", failure)
            .finish_non_exhaustive()
    }
}
