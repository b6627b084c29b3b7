//! The likely cause of a failed connection.

use std::fmt::Display;
use std::time::Duration;

use payments_core::transport::{ClientCertificateAlert, causes};
use payments_core::{Deadlines, Delivery, TransportError, TransportErrorKind};

/// The hint if no connection could be established.
const SERVICE_UNREACHABLE: &str = "check --base-url or PAYMENTS_BASE_URL: is the service running there?";

const PROXY: &str = "check the proxy: is it running, does it accept the credentials, and does it allow the base URL's address?";

const UNKNOWN_ISSUER: &str = "the certificate is not signed by a trusted authority: \
     if the authority is your own, give its certificate with --ca-cert or ca_cert";

/// The likely cause if no connection could be established, or if the server requires a client certificate.
pub(crate) fn likely_cause(error: &TransportError, cause: Option<&str>) -> Option<&'static str> {
    use TransportErrorKind as Kind;

    // With TLS 1.3, the server says this after the handshake, when the request may have been sent.
    if requires_client_certificate(error) {
        return Some(CLIENT_CERTIFICATE);
    }
    if error.delivery() != Delivery::NotProcessed {
        return None;
    }
    // The libraries' wording. If it changes, another hint is shown, which is still correct.
    let cause = cause.unwrap_or_default().to_ascii_lowercase();
    let Kind::Tls = error.kind() else {
        let hint = if cause.contains("through the proxy") { PROXY } else { SERVICE_UNREACHABLE };
        // The hint after a deadline depends on the settings.
        return matches!(error.kind(), Kind::Resolve | Kind::Connect).then_some(hint);
    };
    if let Some(why) = tls_error(error).and_then(no_common_tls) {
        return Some(why);
    }
    Some(if !cause.contains("certificate") {
        "does the server speak TLS there? check --base-url or PAYMENTS_BASE_URL"
    } else if cause.contains("unknownissuer") {
        UNKNOWN_ISSUER
    } else if cause.contains("not valid for name") || cause.contains("notvalidforname") {
        "the certificate is for another name: check the host name in --base-url or PAYMENTS_BASE_URL"
    } else if cause.contains("not valid yet") || cause.contains("notvalidyet") {
        "the certificate is not valid yet: check this machine's clock, then ask the server's owner"
    } else if cause.contains("certificate expired") || cause.contains("certificate: expired") {
        "the certificate has expired: check this machine's clock, then ask the server's owner"
    } else {
        "the certificate is not valid: check the authority of --ca-cert, and ask the server's owner"
    })
}

/// What to do if the server requires a client certificate.
pub(crate) const CLIENT_CERTIFICATE: &str = "the server wants a client certificate, which this command cannot present: ask the \
     server's owner for an address without one, or use the Rust library, whose hyper transport can present one";

/// Whether the server asked for a client certificate.
pub(crate) fn requires_client_certificate(error: &TransportError) -> bool {
    use ClientCertificateAlert::{Refused, Required};

    matches!(error.client_certificate(), Some(Required | Refused))
}

/// The error of the TLS library.
pub(crate) fn tls_error(error: &TransportError) -> Option<&rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// The cause if the two sides have nothing in common, which is also how a server may ask for a client certificate in TLS 1.2.
pub(crate) fn no_common_tls(error: &rustls::Error) -> Option<&'static str> {
    use rustls::AlertDescription::{HandshakeFailure, InsufficientSecurity, ProtocolVersion};
    use rustls::Error::{AlertReceived, PeerIncompatible};

    match error {
        AlertReceived(HandshakeFailure) => Some(
            "the server has no TLS version or cipher in common with this command, or it requires a client certificate",
        ),
        AlertReceived(ProtocolVersion | InsufficientSecurity) | PeerIncompatible(_) => {
            Some("the server has no TLS version or cipher in common with this command")
        }
        _ => None,
    }
}

/// What the settings say about the way to the service, each with its source.
pub(crate) struct Route<'a> {
    /// Of the whole call.
    pub(crate) deadline: (Duration, &'a dyn Display),
    pub(crate) proxy: Option<(&'a str, &'a dyn Display)>,
    /// The variable that names a proxy for other programs, if this command uses none.
    pub(crate) ignored_proxy: Option<&'static str>,
}

impl Route<'_> {
    /// What [`likely_cause`] cannot know, if nothing was sent.
    pub(crate) fn hints(&self, error: &TransportError) -> Vec<String> {
        let mut hints = Vec::new();
        if error.delivery() != Delivery::NotProcessed {
            return hints;
        }
        let (deadline, source) = self.deadline;
        if error.kind() == TransportErrorKind::Timeout {
            hints.push(if deadline <= Deadlines::DEFAULT_CONNECT {
                format!(
                    "no connection was established within the call's deadline of {deadline:?}: raise the deadline, which \
                     came from {source}"
                )
            } else {
                SERVICE_UNREACHABLE.to_owned()
            });
        }
        hints.extend(self.proxy.map(|(at, source)| {
            format!(
                "the connection goes through the proxy {at}, which came from {source}: is the proxy running, and does it \
                 accept this machine?"
            )
        }));
        hints.extend(self.ignored_proxy.map(ignored_proxy));
        hints
    }
}

/// The hint for a connection that failed although this variable names a proxy.
pub(crate) fn ignored_proxy(variable: &str) -> String {
    format!(
        "{variable} is set, but this command ignores it: if connections must go through a proxy, set PAYMENTS_PROXY or --proxy"
    )
}
