//! Why a call failed and what to check: the likely cause of a failed connection, and a refusal by the service or by something
//! in front of it.

use std::error::Error as _;

use payments_core::transport::{ClientCertificateAlert, causes};
use payments_core::{CallError, Deadlines, Delivery, OperationName, TransportError, TransportErrorKind};

use crate::failure::{FailedOutcome, Failure, chain};
use crate::settings::{Settings, key_hint};

/// The failure of a call, with hints about the settings or the request that may be the cause.
pub(crate) fn failure(error: &impl CallError, settings: &Settings) -> Failure {
    failure_saying(error, error.to_string(), settings)
}

/// The same with another message, such as one that names the key.
pub(crate) fn failure_saying(error: &impl CallError, message: String, settings: &Settings) -> Failure {
    let call = error.failed_call();
    // Of something between here and the service, such as a proxy.
    let foreign_403 =
        if call.is_foreign_forbidden() { "; run `payments check` to find the cause" } else { "" };
    let mut failure = Failure { message: message + foreign_403, ..Failure::of(error) };
    failure.advice.what_happened = match failure.outcome {
        FailedOutcome::Unknown if foreign_403.is_empty() => {
            Some(format!("{call}; it may have been processed"))
        }
        FailedOutcome::NotProcessed => Some(call.to_string()),
        FailedOutcome::Rejected if error.as_payment().is_some() => Some(call.to_string()),
        // The headline does not say what to do.
        FailedOutcome::Unknown | FailedOutcome::Rejected | FailedOutcome::Invalid => None,
    };
    let likely = call.transport_error().and_then(likely_cause).map(str::to_owned);
    likely.into_iter().chain(about_settings(error, settings)).fold(failure, Failure::hint)
}

fn about_settings(error: &impl CallError, settings: &Settings) -> Vec<String> {
    let mut hints = Vec::new();
    let call = error.failed_call();
    let status = call.http_status().map(|status| status.as_u16());
    let moves_money = error.as_payment().is_some();
    if status == Some(401) {
        hints.push(key_hint(settings.key_source));
    }
    // The service itself never responds to a payment or a void with 404.
    if moves_money && status == Some(404) {
        hints.push(settings.path_hint());
    }
    // The service's message for any transaction that cannot be voided.
    let is_not_voidable =
        || call.reason().is_some_and(|it| it.eq_ignore_ascii_case("invalid transaction id"));
    if call.operation() == Some(OperationName::Void) && status == Some(400) && is_not_voidable() {
        hints.push("only an authorization that is not yet voided can be voided".to_owned());
    }
    let unsent = call.transport_error().filter(|error| error.delivery() == Delivery::NotProcessed);
    if let Some(unsent) = unsent {
        let (deadline, source) = (settings.timeout, settings.timeout_source);
        if unsent.kind() == TransportErrorKind::Timeout {
            hints.push(if deadline <= Deadlines::DEFAULT_CONNECT {
                format!(
                    "no connection was established within the call's deadline of {deadline:?}: raise the deadline, which \
                     came from {source}"
                )
            } else if settings.proxy().is_some() {
                PROXY_UNREACHABLE.to_owned()
            } else {
                SERVICE_UNREACHABLE.to_owned()
            });
        }
        hints.extend(settings.proxy().map(|(at, source)| {
            format!("the connection goes through the proxy {at}, which came from {source}")
        }));
        hints.extend(settings.ignored_proxy_variable().map(|variable| {
            format!(
                "{variable} is set, but this command ignores it: if connections must go through a proxy, set PAYMENTS_PROXY or --proxy"
            )
        }));
    }
    hints
}

/// The hint if no connection could be established.
const SERVICE_UNREACHABLE: &str = "check --base-url or PAYMENTS_BASE_URL: is the service running there?";

const PROXY_UNREACHABLE: &str =
    "check the proxy's address: is it running there, and can it reach the service?";

const PROXY_REFUSES: &str =
    "the proxy refused: check its credentials, and whether it allows the base URL's address";

/// The likely cause if no connection could be established, or if the server requires a client certificate. It needs no settings.
pub(crate) fn likely_cause(error: &TransportError) -> Option<&'static str> {
    use TransportErrorKind as Kind;

    // With TLS 1.3, the server says this after the handshake, when the request may have been sent.
    if requires_client_certificate(error) {
        return Some(CLIENT_CERTIFICATE);
    }
    if error.delivery() != Delivery::NotProcessed {
        return None;
    }
    match error.kind() {
        Kind::Tls => Some(tls_cause(causes(error).find_map(|cause| cause.downcast_ref()))),
        // The transport's wording. If it changes, another hint is shown, which is still correct.
        Kind::Resolve | Kind::Connect => {
            let is_proxy = chain(error.source()).is_some_and(|cause| cause.contains("through the proxy"));
            Some(match (is_proxy, error.is_permanent()) {
                (true, true) => PROXY_REFUSES,
                (true, false) => PROXY_UNREACHABLE,
                (false, _) => SERVICE_UNREACHABLE,
            })
        }
        // The hint after a deadline depends on the settings.
        _ => None,
    }
}

/// What to do if the server requires a client certificate.
const CLIENT_CERTIFICATE: &str = "the server wants a client certificate, which this command cannot present: ask the \
     server's owner for an address without one, or use the Rust library, whose hyper transport can present one";

/// Whether the server asked for a client certificate.
pub(crate) fn requires_client_certificate(error: &TransportError) -> bool {
    use ClientCertificateAlert::{Refused, Required};

    matches!(error.client_certificate(), Some(Required | Refused))
}

/// Why the two sides have nothing in common, which is also how a server may ask for a client certificate in TLS 1.2, or why its
/// certificate was refused.
fn tls_cause(error: Option<&rustls::Error>) -> &'static str {
    use rustls::AlertDescription::{HandshakeFailure, InsufficientSecurity, ProtocolVersion};
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
        UnknownIssuer,
    };
    use rustls::Error::{AlertReceived, InvalidCertificate, PeerIncompatible};

    match error {
        Some(AlertReceived(HandshakeFailure)) => {
            "the server has no TLS version or cipher in common with this command, or it requires a client certificate"
        }
        Some(AlertReceived(ProtocolVersion | InsufficientSecurity) | PeerIncompatible(_)) => {
            "the server has no TLS version or cipher in common with this command"
        }
        Some(InvalidCertificate(why)) => match why {
            UnknownIssuer => {
                "the certificate is not signed by a trusted authority: \
                 if the authority is your own, give its certificate with --ca-cert or PAYMENTS_CA_CERT"
            }
            NotValidForName | NotValidForNameContext { .. } => {
                "the certificate is for another name: check the host name in --base-url or PAYMENTS_BASE_URL"
            }
            NotValidYet | NotValidYetContext { .. } => {
                "the certificate is not valid yet: check this machine's clock, then ask the server's owner"
            }
            Expired | ExpiredContext { .. } => {
                "the certificate has expired: check this machine's clock, then ask the server's owner"
            }
            _ => "the certificate is not valid: check the authority of --ca-cert, and ask the server's owner",
        },
        _ => "does the server speak TLS there? check --base-url or PAYMENTS_BASE_URL",
    }
}
