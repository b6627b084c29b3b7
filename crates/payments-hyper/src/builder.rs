use std::fmt;
use std::time::Duration;

use payments_core::transport::{BuildError, BuildErrorKind};

use crate::clients::Limits;
use crate::connector::Connector;
use crate::proxy::Proxy;
use crate::tls::{TlsProvider, TlsSettings, TrustedRoots};
use crate::transport::HyperTransport;

/// Settings of a [`HyperTransport`]. Every one has a default that is safe to keep.
///
/// No setting turns certificate verification off. To talk to a test server, add its certificate or that of the authority that
/// issued it.
#[must_use = "a builder does nothing until it is built"]
pub struct HyperTransportBuilder {
    tls: TlsSettings,
    proxy: Option<Proxy>,
    limits: Limits,
    /// The first invalid setting; `build` returns it.
    first_error: Option<BuildError>,
}

impl HyperTransportBuilder {
    pub(crate) fn with_defaults() -> Self {
        Self {
            tls: TlsSettings::default(),
            proxy: None,
            limits: Limits {
                idle_timeout: Self::DEFAULT_POOL_IDLE_TIMEOUT,
                max_idle: Self::DEFAULT_MAX_IDLE_CONNECTIONS,
                max_in_flight: None,
            },
            first_error: None,
        }
    }

    /// Chosen by this SDK: 20 seconds.
    ///
    /// Servers and load balancers commonly keep idle connections for 60 seconds or more. A client that closes first does not
    /// send a payment into a connection that the server is closing, which would make the outcome unknown.
    pub const DEFAULT_POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

    /// Chosen by this SDK: 512 connections.
    pub const DEFAULT_MAX_IDLE_CONNECTIONS: usize = 512;

    /// Trusts every certificate in this PEM text as an authority, in addition to the other roots.
    pub fn root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        let added = self.tls.add_roots_pem(pem.as_ref());
        self.keep_first_error(added);
        self
    }

    /// Trusts this DER certificate as an authority, in addition to the other roots.
    pub fn root_certificate_der(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.tls.add_root_der(der.into());
        self
    }

    /// Trusts the certificates in this PEM text and any others added to this builder, but no public authority.
    pub fn only_root_certificates_pem(mut self, pem: impl AsRef<[u8]>) -> Self {
        self.tls.only_added_roots = true;
        self.root_certificates_pem(pem)
    }

    /// Presents this certificate to servers that request one.
    ///
    /// `certificates` is the PEM chain, the client's own first; `private_key` is PEM in PKCS #8, PKCS #1 or SEC1.
    ///
    /// With TLS 1.3 a server checks the client's certificate after the client has finished the handshake, when the request may
    /// already be on its way. A refused certificate then makes the outcome unknown, because nothing that follows proves that the
    /// request was not read. With TLS 1.2 the handshake fails, and the request is not processed.
    pub fn client_certificate_pem(
        mut self,
        certificates: impl AsRef<[u8]>,
        private_key: impl AsRef<[u8]>,
    ) -> Self {
        let set = self.tls.set_client_identity(certificates.as_ref(), private_key.as_ref());
        self.keep_first_error(set);
        self
    }

    /// Chooses the TLS provider if more than one is compiled in.
    pub fn tls_provider(mut self, provider: TlsProvider) -> Self {
        self.tls.provider = Some(provider);
        self
    }

    /// Chooses the trusted authorities if more than one set is compiled in.
    pub fn trusted_roots(mut self, roots: TrustedRoots) -> Self {
        self.tls.trusted_roots = Some(roots);
        self
    }

    /// Connects through this egress proxy: `http://host:port`, or `http://user:password@host:port` with both percent-encoded.
    /// The default port is 80.
    ///
    /// Every connection is a `CONNECT` tunnel. TLS is end to end with the service, so the proxy sees neither card data nor the
    /// API key, and its error pages are never read as a response from the service. If the proxy refuses, does not respond or
    /// cannot be reached, the call is [`NotProcessed`](payments_core::Outcome::NotProcessed).
    ///
    /// Without this setting no proxy is used: none is read from the environment. A plain `http` address of the service cannot be
    /// used through a proxy on another machine: such a call fails with a configuration error, and nothing is sent.
    pub fn proxy(mut self, address: impl AsRef<str>) -> Self {
        match Proxy::parse(address.as_ref()) {
            Ok(proxy) => self.proxy = Some(proxy),
            Err(reason) => {
                let error = BuildError::new(
                    BuildErrorKind::Proxy,
                    "the proxy's address cannot be used",
                    "write http://host:port, or http://user:password@host:port with user and password percent-encoded",
                );
                self.keep_first_error(Err(error.with_source(reason)));
            }
        }
        self
    }

    /// Offers HTTP/2 to https servers; without this every connection is HTTP/1.1.
    ///
    /// Calls to a server that accepts HTTP/2 share one connection. Calls that start while there is none may each open one; the
    /// first is kept.
    ///
    /// A request that the server refuses with `REFUSED_STREAM` was not processed. A `GOAWAY` does not prove that: the outcome is
    /// unknown. Two guarantees hold over HTTP/1.1 only: a close that has arrived is detected before the connection is used,
    /// and the body is not copied.
    ///
    /// A ping that is not acknowledged within 5 seconds ends the connection, and every call on it ends as unknown. This detects a
    /// connection that the network dropped. A program that is suspended for that long, or whose runtime is blocked, can end its
    /// own connection this way.
    #[cfg(feature = "http2")]
    pub fn allow_http2(mut self) -> Self {
        self.tls.http2 = true;
        self
    }

    /// How long a connection may be idle and still be reused.
    ///
    /// Keep it below the server's keep-alive timeout. With zero, every call has its own connection, which is closed when the call
    /// ends. That costs a handshake per call, and protects against a server that sends a late second response.
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.limits.idle_timeout = timeout;
        self
    }

    /// The maximum number of idle connections to keep, for each server and each runtime.
    ///
    /// A connection that has been idle for too long is closed while its runtime runs.
    pub fn max_idle_connections(mut self, count: usize) -> Self {
        self.limits.max_idle = count;
        self
    }

    /// The maximum number of requests in flight; unlimited by default. Over HTTP/1.1, each has a connection of its own.
    ///
    /// Further requests wait, and their connect deadlines run meanwhile: if one ends, that request was not processed. At least
    /// one request is always allowed.
    pub fn max_requests_in_flight(mut self, count: usize) -> Self {
        self.limits.max_in_flight = Some(count);
        self
    }

    /// Builds the transport. Needs no runtime and opens no connection.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if a certificate, a key or the proxy's address could not be read, or if a setting needs a feature that is
    /// not enabled.
    pub fn build(self) -> Result<HyperTransport, BuildError> {
        let Self { tls, proxy, limits, first_error } = self;
        if let Some(error) = first_error {
            return Err(error);
        }
        let is_default = tls.is_default();
        let tls = match tls.build() {
            // A build without TLS still produces a transport for plain http to this machine.
            Err(error) if is_default && error.is_missing_feature() => Err(error.to_string()),
            built => Ok(built?),
        };
        let connector = Connector::new(tls, proxy);
        Ok(HyperTransport::from_parts(connector, limits))
    }

    fn keep_first_error(&mut self, result: Result<(), BuildError>) {
        if let (None, Err(error)) = (&self.first_error, result) {
            self.first_error = Some(error);
        }
    }
}

impl fmt::Debug for HyperTransportBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tls: _, proxy: _, limits, first_error } = self;
        f.debug_struct("HyperTransportBuilder")
            .field("limits", limits)
            .field("first_error", first_error)
            .finish_non_exhaustive()
    }
}
